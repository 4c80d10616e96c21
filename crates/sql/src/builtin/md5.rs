//! MD5, as RFC 1321 describes it: applications make tokens of it.

use super::args::{Args, Result};
use crate::value::Value;

pub(super) fn md5(args: &[Value]) -> Result {
    let bytes = digest(args.text(0)?.as_bytes());
    Ok(Value::text(bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()))
}

/// Of a `bytea`.
pub(super) fn md5_bytes(args: &[Value]) -> Result {
    let bytes = digest(args.bytes(0)?);
    Ok(Value::text(bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()))
}

/// How far each round's four steps rotate.
const ROTATIONS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

fn digest(message: &[u8]) -> [u8; 16] {
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize((message.len() + 9).next_multiple_of(64), 0);
    let bits = (message.len() as u64).wrapping_mul(8);
    let tail = padded.len() - 8;
    padded[tail..].copy_from_slice(&bits.to_le_bytes());

    let mut state = [0x6745_2301u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in padded.chunks_exact(64) {
        let words: Vec<u32> = block.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
        let mixed = mix(state, &words);
        for (s, m) in state.iter_mut().zip(mixed) {
            *s = s.wrapping_add(m);
        }
    }
    let mut digest = [0; 16];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    digest
}

fn mix([mut a, mut b, mut c, mut d]: [u32; 4], words: &[u32]) -> [u32; 4] {
    for i in 0..64 {
        let (f, word) = match i / 16 {
            0 => ((b & c) | (!b & d), i),
            1 => ((d & b) | (!d & c), (5 * i + 1) % 16),
            2 => (b ^ c ^ d, (3 * i + 5) % 16),
            _ => (c ^ (b | !d), (7 * i) % 16),
        };
        // The table of the RFC: the integer part of 2^32 |sin(i + 1)|.
        let constant = ((i as f64 + 1.0).sin().abs() * 4_294_967_296.0) as u32;
        let sum = a.wrapping_add(f).wrapping_add(constant).wrapping_add(words[word]);
        (a, d, c) = (d, c, b);
        b = b.wrapping_add(sum.rotate_left(ROTATIONS[i / 16][i % 4]));
    }
    [a, b, c, d]
}
