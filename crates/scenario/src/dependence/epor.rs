//! EPOR's dependence, as its authors printed it (M. A. Ghafoor, M. S. Mahmood, J. H. Siddiqui: Effective Partial Order
//! Reduction in Model Checking Database Applications, ICST 2016, Table II).
//!
//! Operations are run, and run again, and the identifiers of the rows that they return are compared. `Sa` is S once
//! more:
//!
//! ```text
//!                  run           dependent if
//!   S S, I I, D D                never
//!   S X            S, X, Sa      rowId(S) ∩ rowId(Sa) ≠ rowId(S)
//!   U1 U2          U1, U2        rowId(U1) ∩ rowId(U2) ≠ ∅
//!   I U            I, U          rowId(I) ∩ rowId(U) ≠ ∅
//!   D U            D, U          rowId(D) ∩ rowId(U) ≠ ∅
//!   D I            D, I          rowId(D) ∩ rowId(I) ≠ ∅
//! ```
//!
//! It is here to be compared with, not to be trusted. Rows that *enter* what S finds leave the intersection as it is: S
//! and INSERT never depend on each other, nor do S and an UPDATE that makes rows qualify. Once D has run, neither U nor
//! I can return its rows: D depends on nothing but S. Two INSERTs of one key are taken to commute, and so are two
//! DELETEs.
//!
//! The paper says both that a row's identifier (`ctid`) changes when it is updated and that two updates of a row return
//! the same one. We read each line so that it finds more: an updated row has left what S found before, but U1 and U2
//! have a row in common if both updated it.

use super::operation::{Kind, Operation};

/// What a search misses that trusts it.
pub(super) const OVERLOOKS: &str = "it does not see rows that come into a result (phantoms), and takes DELETE to commute with \
                                    every INSERT, UPDATE and DELETE, and INSERTs of the same key with each other";

/// Whether two operations on one table depend on each other; the first is of no later kind.
pub(super) fn dependent(a: &Operation<'_>, b: &Operation<'_>) -> bool {
    match (a.kind, b.kind) {
        (Kind::Select, _) => b.writes().any(|w| a.selects(&w.before)),
        (Kind::Insert, Kind::Update) => a.writes().any(|w| b.selects(&w.after)),
        (Kind::Update, Kind::Update) => a.writes().any(|x| b.writes().any(|y| x.row == y.row)),
        _ => false,
    }
}
