//! Digests of states.
//!
//! State matching believes two states equal if their digests are. With 128 well mixed bits and ten million states, the
//! chance that any two of them collide is about 10^-25, which is why the set of states seen holds digests only.
//!
//! A set is digested by *adding* the digests of its members: the order in which they arrived does not matter, and one
//! member more or less is one addition. That needs members that are mixed well before they are added, which a linear
//! hash does not do.

use std::hash::{Hash, Hasher};

/// The digest of a value, the same in every process on every machine with the same word size.
pub fn digest_of<T: Hash + ?Sized>(value: &T) -> u128 {
    let mut digester = Digester::default();
    value.hash(&mut digester);
    digester.digest()
}

/// The digest of a value as a thing of some kind: the same value under another tag has another digest.
pub fn tagged<T: Hash>(tag: u64, value: T) -> u128 {
    let mut digester = Digester::tagged(tag);
    value.hash(&mut digester);
    digester.digest()
}

/// A [`Hasher`] of 128 bits: two lanes, each a multiplication and a rotation per word, that feed each other.
#[derive(Clone, Debug)]
pub struct Digester {
    low: u64,
    high: u64,
}

impl Default for Digester {
    fn default() -> Self {
        // Digits of pi: anything that is not zero and not alike would do.
        Digester { low: 0x243f_6a88_85a3_08d3, high: 0x1319_8a2e_0370_7344 }
    }
}

impl Digester {
    /// A hasher for things of some kind.
    pub fn tagged(tag: u64) -> Digester {
        let mut digester = Digester::default();
        digester.word(tag);
        digester
    }

    /// All 128 bits of what was written.
    pub fn digest(&self) -> u128 {
        let low = mix(self.low ^ self.high.rotate_left(32));
        let high = mix(self.high.wrapping_add(low));
        u128::from(high) << 64 | u128::from(low)
    }

    fn word(&mut self, word: u64) {
        // Each line is a bijection of the pair of lanes, so words of equal count never collapse the state.
        self.low = (self.low ^ word).wrapping_mul(0x87c3_7b91_1142_53d5).rotate_left(31).wrapping_add(self.high);
        self.high = (self.high ^ mix(word)).wrapping_mul(0x4cf5_ad43_2745_937f).rotate_left(29).wrapping_add(self.low);
    }
}

impl Hasher for Digester {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.word(u64::from_le_bytes(word.try_into().expect("chunks of eight have eight bytes")));
        }
        let rest = words.remainder();
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.word(u64::from_le_bytes(word));
        }
        // The length, so that trailing zeros count.
        self.word(bytes.len() as u64);
    }

    fn write_u8(&mut self, value: u8) {
        self.word(value.into());
    }

    fn write_u16(&mut self, value: u16) {
        self.word(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.word(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.word(value);
    }

    fn write_u128(&mut self, value: u128) {
        self.word(value as u64);
        self.word((value >> 64) as u64);
    }

    fn write_usize(&mut self, value: usize) {
        self.word(value as u64);
    }

    fn finish(&self) -> u64 {
        self.digest() as u64
    }
}

/// Lets every bit of a word influence every bit of the result (the finaliser of splitmix64).
pub fn mix(mut word: u64) -> u64 {
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn neighbouring_values_differ_in_both_halves() {
        let digests: Vec<u128> = (0..300u32).flat_map(|a| (0..300u32).map(move |b| digest_of(&(a, b)))).collect();
        let low: BTreeSet<u64> = digests.iter().map(|&digest| digest as u64).collect();
        let high: BTreeSet<u64> = digests.iter().map(|&digest| (digest >> 64) as u64).collect();
        assert_eq!((low.len(), high.len()), (90_000, 90_000));
    }

    #[test]
    fn sums_tell_sets_apart() {
        let member = |x: u64| tagged(1, x);
        assert_eq!(member(1).wrapping_add(member(2)), member(2).wrapping_add(member(1)));
        assert_ne!(member(1).wrapping_add(member(4)), member(2).wrapping_add(member(3)));
        assert_ne!(tagged(1, 7u64), tagged(2, 7u64));
    }

    #[test]
    fn trailing_zeros_and_order_count() {
        let texts: [&[u8]; 5] = [b"", b"\0", b"\0\0", b"ab", b"ba"];
        let digests: BTreeSet<u128> = texts.iter().map(digest_of).collect();
        assert_eq!(digests.len(), texts.len());
        assert_ne!(digest_of(&[1u64, 2]), digest_of(&[2u64, 1]));
        assert_ne!(digest_of(&[0u64; 3]), digest_of(&[0u64; 4]));
    }

    #[test]
    fn one_bit_flips_about_half_of_the_digest() {
        let base = digest_of(&0u64);
        let flipped: u32 = (0..64).map(|bit| (digest_of(&(1u64 << bit)) ^ base).count_ones()).sum();
        let mean = flipped / 64;
        assert!((56..=72).contains(&mean), "{mean} of 128 bits flip on average");
    }
}
