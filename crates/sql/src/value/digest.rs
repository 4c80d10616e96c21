//! A 128-bit fingerprint of a row.
//!
//! A state's hash is the *sum* of the digests of its rows, kept up to date as rows come and go. A sum forgives
//! nothing: were the digest linear in some column, `{1, 4}` and `{2, 3}` would collide. So every word is folded by a
//! full 64×64→128 multiplication into two lanes with constants of their own, and both lanes are avalanched at the end.
//! The result depends on nothing but the values: it is the same in every run and on every machine.
//!
//! Equal rows have equal digests (see [`super::order`] for what is equal); other rows collide by chance only.

use super::numeric::Canonical;
use super::{Value, numeric, order};

/// The digest of a row.
pub fn digest_row(values: &[Value]) -> u128 {
    let mut lanes = Lanes::new(values.len());
    values.iter().for_each(|value| lanes.value(value));
    lanes.finish()
}

/// Odd constants without structure: digits of the fractional parts of square roots of 2, 3, 5, 7.
const K: [u64; 4] = [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1];

struct Lanes(u64, u64);

impl Lanes {
    fn new(length: usize) -> Lanes {
        Lanes(K[0] ^ length as u64, K[1])
    }

    fn word(&mut self, word: u64) {
        self.0 = fold(self.0 ^ word, K[2]);
        self.1 = fold(self.1.rotate_left(23) ^ word, K[3]).wrapping_add(word);
    }

    fn words(&mut self, word: u128) {
        self.word(word as u64);
        self.word((word >> 64) as u64);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }

    fn value(&mut self, value: &Value) {
        self.word(u64::from(order::rank(value)) + 1);
        match value {
            Value::Null => {}
            Value::Bool(b) => self.word(u64::from(*b)),
            Value::Int(i) => self.word(*i as u64),
            Value::Float(f) => self.word(order::float_bits(*f)),
            Value::Numeric(n) => self.numeric(numeric::canonical(n)),
            Value::Text(t) => self.bytes(t.as_bytes()),
            Value::Date(d) => self.word(*d as u64),
            Value::Timestamp(t) | Value::Timestamptz(t) => self.word(*t as u64),
            Value::Interval(i) => self.words(i.span() as u128),
            Value::Uuid(u) => self.words(*u),
            Value::Record(fields) => {
                self.word(fields.len() as u64);
                fields.iter().for_each(|field| self.value(field));
            }
        }
    }

    fn numeric(&mut self, number: Canonical) {
        match number {
            Canonical::Small(digits, scale) => {
                self.words(digits as u128);
                self.word(scale as u64);
            }
            Canonical::Large(digits, scale) => {
                self.bytes(&digits.to_signed_bytes_le());
                self.word(scale as u64);
            }
        }
    }

    fn finish(self) -> u128 {
        let a = avalanche(self.0 ^ self.1.rotate_left(32));
        let b = avalanche(self.1.wrapping_add(fold(self.0, K[1])));
        u128::from(a) << 64 | u128::from(b)
    }
}

/// Both halves of the product, laid over each other.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Every bit of the input reaches every bit of the output.
fn avalanche(mut x: u64) -> u64 {
    for k in [K[2] | 1, K[3] | 1] {
        x = (x ^ (x >> 32)).wrapping_mul(k);
    }
    x ^ (x >> 29)
}
