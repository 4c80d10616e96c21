//! 128-bit hashes of logical content.
//!
//! Sets are hashed by *adding* the hashes of their members, so that the order in which rows arrived does not matter and
//! one row more or less is one addition. Members must therefore be mixed well before they are added: [`Hash128`] runs
//! two streams with different constants and finishes each with an avalanche.

use std::hash::{Hash, Hasher};

/// A 128-bit hasher; feed it anything that is `Hash`, then ask for [`Hash128::finish128`].
#[derive(Clone)]
pub(crate) struct Hash128 {
    a: u64,
    b: u64,
}

impl Hash128 {
    /// A hasher whose results differ from those under every other tag.
    pub(crate) fn tagged(tag: u64) -> Self {
        Hash128 { a: tag ^ 0x9e37_79b9_7f4a_7c15, b: tag.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ 0xc2b2_ae3d_27d4_eb4f }
    }

    /// The hash of one value under a tag.
    pub(crate) fn of(tag: u64, value: impl Hash) -> u128 {
        let mut hasher = Self::tagged(tag);
        value.hash(&mut hasher);
        hasher.finish128()
    }

    /// Both streams, finished.
    pub(crate) fn finish128(&self) -> u128 {
        (u128::from(avalanche(self.a)) << 64) | u128::from(avalanche(self.b ^ self.a.rotate_left(32)))
    }
}

fn avalanche(mut x: u64) -> u64 {
    x ^= x >> 32;
    x = x.wrapping_mul(0xe703_7ed1_a0b4_28db);
    x ^= x >> 29;
    x = x.wrapping_mul(0x8ebc_6af0_9c88_c6e3);
    x ^ (x >> 32)
}

impl Hasher for Hash128 {
    fn finish(&self) -> u64 {
        self.finish128() as u64
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
        self.write_u64(bytes.len() as u64);
    }

    fn write_u8(&mut self, x: u8) {
        self.write_u64(u64::from(x));
    }

    fn write_u32(&mut self, x: u32) {
        self.write_u64(u64::from(x));
    }

    fn write_usize(&mut self, x: usize) {
        self.write_u64(x as u64);
    }

    fn write_u64(&mut self, x: u64) {
        self.a = fold(self.a ^ x, 0xa076_1d64_78bd_642f);
        self.b = fold(self.b.wrapping_add(x), 0x1d8e_4e27_c47d_124f).wrapping_add(self.a);
    }
}

/// The two halves of a 64 by 64 bit product, together.
fn fold(x: u64, y: u64) -> u64 {
    let product = u128::from(x ^ 0x2d35_8dcc_aa6c_78a5) * u128::from(y);
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::Hash128;

    #[test]
    fn sums_of_members_tell_sets_apart() {
        let member = |x: u64| Hash128::of(1, x);
        assert_eq!(member(1).wrapping_add(member(2)), member(2).wrapping_add(member(1)));
        assert_ne!(member(1).wrapping_add(member(4)), member(2).wrapping_add(member(3)));
        assert_ne!(Hash128::of(1, 7u64), Hash128::of(2, 7u64));
    }
}
