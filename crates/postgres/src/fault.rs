//! Faults: errors of a server that say nothing about the statement they answer.

use isolde_wire::Complaint;

use crate::Trouble;

/// What a server's error means for a check, if it says nothing about the statement: nothing can be concluded.
pub(crate) fn fault(doing: &str, error: &Complaint) -> Option<Trouble> {
    let sentence = || format!("{doing}: {} ({}); run it again when that is mended", error.message, error.sqlstate);
    error.is_fault().then(|| Trouble::Fault(sentence()))
}
