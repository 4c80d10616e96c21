//! The bases of generated values: what sequences, `random()` and `gen_random_uuid()` start from.
//!
//! The engine has no chance. Which values are generated is data of the [`Database`], so the same schedule can be run
//! twice with different [`Generators`]:
//!
//! ```text
//!   base          draws of order_no     orders.no             acct.n
//!   default       1      2              ORD-1    ORD-2        2
//!   another one   4272   4275           ORD-4272 ORD-4275     2
//! ```
//!
//! What differs between the two runs was generated; what is equal was not. Draws of another base are not evenly spaced
//! with the default ones, so `id + 1` is not mistaken for the next draw.
//!
//! Time stands still while a scenario is explored, so time stamps are the same in all of its runs and need no base.

use std::sync::Arc;

use isolde_sql::Value;
use isolde_sql::catalog::Sequence;

use crate::database::Database;
use crate::host::Drawn;
use crate::session::SessionId;

/// Random values of a session that are remembered, at most.
const RANDOMS_MAX: u64 = 10_000;

/// How much more each further sequence skips, so that equal draws of two sequences can be told apart.
const APART: i64 = 37;

/// What generated values start from. The default is what a new database does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Generators {
    /// Values that every sequence skips before its first draw.
    pub skipped: u32,
    /// Values that every sequence skips before each further draw.
    pub gap: u32,
    /// Decides random values.
    pub seed: u64,
}

impl Database {
    /// From now on values are generated from this base. A sequence that would leave its range stays as it is.
    pub fn set_generators(&mut self, generators: Generators) {
        self.generators = generators;
        if generators.skipped == 0 {
            return;
        }
        let schema = self.schema.clone();
        let sequences = Arc::make_mut(&mut self.sequences);
        for (number, sequence) in schema.catalog.sequences().enumerate() {
            let drawn = sequences.entry(sequence.name.clone()).or_default();
            let skipped = i64::from(generators.skipped) + number as i64 * APART;
            let next = match *drawn {
                None => moved(sequence, sequence.start, skipped).map(Drawn::Next),
                Some(Drawn::Next(next)) => moved(sequence, next, skipped).map(Drawn::Next),
                Some(Drawn::Last(last, logged)) => moved(sequence, last, skipped).map(|last| Drawn::Last(last, logged)),
            };
            *drawn = next.or(*drawn);
        }
    }

    /// How many random values a session has drawn.
    pub fn randoms(&self, session: SessionId) -> u64 {
        self.sessions[session.0].randoms
    }

    /// A session's next random values are those that followed when it had drawn this many: its client starts again and
    /// has forgotten what it had drawn since.
    pub fn return_randoms(&mut self, session: SessionId, randoms: u64) {
        if self.sessions[session.0].randoms != randoms {
            Arc::make_mut(&mut self.sessions[session.0]).randoms = randoms;
        }
    }

    /// The random values that a session has drawn, in order: each as `random()` and as `gen_random_uuid()` return it.
    pub fn random_values(&self, session: SessionId) -> Vec<[Value; 2]> {
        let drawn = 1..=self.randoms(session).min(RANDOMS_MAX);
        let bits = drawn.map(|number| self.generators.random(session, number));
        bits.map(|bits| [as_float(bits), as_uuid(bits)]).collect()
    }
}

impl Generators {
    /// The n-th random bits of a session.
    pub(crate) fn random(self, session: SessionId, number: u64) -> u128 {
        match self.seed {
            0 => isolde_digest::tagged(0x72, (session, number)),
            seed => isolde_digest::tagged(0x72, (session, number, seed)),
        }
    }
}

/// What `random()` makes of random bits.
pub(crate) fn as_float(bits: u128) -> Value {
    Value::Float((bits >> 75) as f64 / (1u64 << 53) as f64)
}

/// What `gen_random_uuid()` makes of random bits.
pub(crate) fn as_uuid(bits: u128) -> Value {
    let bits = bits & !(0xf << 76) & !(0x3 << 62);
    Value::Uuid(bits | (0x4 << 76) | (0x2 << 62))
}

/// The value that comes so many draws later, if the sequence reaches it without a new cycle.
fn moved(sequence: &Sequence, value: i64, skipped: i64) -> Option<i64> {
    let later = value.checked_add(skipped.checked_mul(sequence.increment)?)?;
    (sequence.min..=sequence.max).contains(&later).then_some(later)
}
