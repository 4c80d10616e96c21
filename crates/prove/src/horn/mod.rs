//! Loops: an invariant per loop, found by Horn clauses.
//!
//! A procedure with loops is cut at the heads of its loops. What holds at a head, whatever happened before, is a
//! predicate that is not known: over the variables that are still read, and over *one arbitrary row* of each table
//! (two, where the rule speaks about pairs). Between two heads there is no loop, so what happens there is worked out
//! exactly, as in [`exact`](crate::exact). That gives one clause per piece:
//!
//! ```text
//!   start(vars, row)                                  ──▶  Inv(vars, row)
//!   Inv(vars, row)  and  a round of the loop           ──▶  Inv(vars', row')
//!   Inv(vars, row)  and  the way out                   ──▶  the rule holds of row'
//! ```
//!
//! A round also reads and writes other rows than the arbitrary one. Of each of these the same is known: the predicate
//! holds for it too, since it holds for all rows. So a clause has the predicate several times in front of the arrow,
//! once per row. (Monniaux and Gonnord call this cell morphing.) A row that a round inserts may be the arbitrary row of
//! the next one.
//!
//! Spacer, inside z3, looks for predicates that meet all clauses. What it finds is not believed: [`certificate`] puts
//! the predicates back into the clauses and has each of them checked by itself.

mod certificate;
mod clause;
mod live;

pub use certificate::{Certificate, Rejected};
pub use clause::{Clause, Clauses, Predicate, clauses};
pub(crate) use clause::{arbitrary, called, called_pending, called_row, clauses_at, kept, piece, places};

use std::time::Duration;

use isolde_smt::{Answer, Silence, Solver};

/// What came of looking for invariants.
pub enum Search {
    /// These are.
    Found(Certificate),
    /// There are none of this kind.
    None,
    /// It is not known.
    Open(String),
}

/// Looks for predicates that meet the clauses, and checks them.
pub fn search(clauses: &Clauses, solver: &Solver, timeout: Duration) -> Result<Search, Silence> {
    let mut session = solver.start_for("HORN")?;
    session.tell(&clauses.to_string());
    match session.check(timeout) {
        Ok(Answer::Unsat) => return Ok(Search::None),
        Ok(Answer::Sat) => {}
        Err(silence @ (Silence::Unknown | Silence::Timeout(_) | Silence::Stopped(_))) => {
            return Ok(Search::Open(silence.to_string()));
        }
        // A solver that has no Horn clauses says so by an error.
        Err(Silence::Crash(why)) => return Ok(Search::Open(format!("the solver failed: {why}"))),
        Err(silence) => return Err(silence),
    }
    let model = match session.answer("(get-model)", timeout) {
        Ok(model) => model,
        Err(silence) => return Ok(Search::Open(silence.to_string())),
    };
    let certificate = Certificate::read(clauses, &model);
    match certificate.check(clauses, solver, timeout)? {
        Ok(()) => Ok(Search::Found(certificate)),
        Err(rejected) => Ok(Search::Open(format!("the invariants that were found do not stand up: {rejected}"))),
    }
}
