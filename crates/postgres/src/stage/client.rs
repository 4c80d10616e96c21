//! How far the client behind a thread has come.
//!
//! It behaves as the one on the embedded engine does: an error ends the thread and its transaction, an abort is tried again as
//! often as the file says, and what it saw in an attempt that was aborted it has not seen.

use std::sync::Arc;

use isolde_report::{Place, StepResult};
use isolde_wire::{Complaint, Field, Row};

use super::script::{Script, Variables};
use crate::analysis::Ledger;
use crate::gate::GatePlace;
use crate::live::{Ending, Part};

/// A client at work.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) progress: Progress,
    /// Where it was when its current transaction began.
    pub(super) checkpoint: Progress,
    pub(super) retries_left: u32,
    pub(super) ledger: Ledger,
    pub(super) doing: Doing,
    /// What it is part of, while something is under way.
    pub(super) part: Option<Part>,
    /// Gates that its statement has passed, and the last of them.
    pub(super) passed: usize,
    pub(super) at: Option<usize>,
    /// The transaction was opened for a routine that it calls.
    pub(super) wrapped: bool,
}

/// Position, variables and observations: what a retry sets back.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    pub(super) next: usize,
    pub(super) variables: Variables,
    pub(super) seen: Vec<Observation>,
    /// What it drew from sequences, in order.
    pub(super) draws: Vec<(Arc<str>, i64)>,
}

/// What a client is at.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Doing {
    /// Its next statement, which it has not sent.
    Next,
    /// It has sent a statement that nobody can notice.
    Quiet,
    /// It has sent its statement.
    Statement,
    /// Its statement runs a routine that stands before a gate, at this place.
    AtGate(Stop),
    /// The routine is through; the COMMIT is to come.
    Committing,
    /// It has sent that.
    Commit,
    /// It rolls back, and then does this.
    RollBack(After),
    /// It gives up what a session keeps.
    Closing,
    /// It has ended.
    Ended(Ending),
}

/// What comes after a rollback.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum After {
    Retry,
    End(Ending),
}

/// A gate that a session stands before.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stop {
    /// The key of the lock that keeps it there.
    pub(super) key: i64,
    /// The place in the routine.
    pub(super) place: usize,
    /// The values of the variables that the statement names, and their types.
    pub(super) values: Vec<Option<String>>,
}

/// Something a client has seen.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    /// Where the statement stands that it belongs to.
    pub(super) place: Place,
    pub(super) what: What,
    /// A routine has seen it, the client has not.
    pub(super) inner: bool,
}

/// What was seen.
#[derive(Clone, Debug)]
pub(super) enum What {
    Rows { rows: Vec<Row>, fields: Vec<Field>, ordered: bool },
    Tag(String),
    Notice(String),
    Error(String),
}

impl Client {
    /// The commit of its statement has failed, and so has the statement: its answer never came.
    pub(super) fn unsee(&mut self) {
        let answers = |seen: &Observation| !seen.inner && !matches!(seen.what, What::Notice(_));
        if let Some(at) = self.progress.seen.iter().rposition(answers) {
            self.progress.seen.remove(at);
            self.progress.next = self.progress.next.saturating_sub(1);
        }
    }

    pub(super) fn new(script: &Script, variables: Variables, ledger: Ledger) -> Client {
        let progress = Progress { variables, ..Progress::default() };
        Client {
            checkpoint: progress.clone(),
            progress,
            retries_left: script.retries,
            ledger,
            doing: Doing::Next,
            part: None,
            passed: 0,
            at: None,
            wrapped: false,
        }
    }

    /// How an error ends the thread, or what comes before.
    pub(super) fn judge(&mut self, script: &Script, error: &Complaint) -> After {
        let sentence = format!("{} ({})", error.message, error.sqlstate);
        let code = error.sqlstate.as_str();
        if matches!(code, "40001" | "40P01") {
            self.progress = self.checkpoint.clone();
            return match self.retries_left.checked_sub(1) {
                Some(left) => {
                    self.retries_left = left;
                    After::Retry
                }
                None => After::End(Ending::Aborted(sentence)),
            };
        }
        let place = self.part.as_ref().and_then(|part| part.place.clone());
        let place = place.unwrap_or(Place { file: None, line: 0 });
        self.progress.seen.push(Observation { place, what: What::Error(code.into()), inner: false });
        After::End(match code {
            _ if script.expected.iter().any(|expected| expected == code) => Ending::Expected(sentence),
            "P0004" => Ending::Assertion(error.message.clone()),
            _ => Ending::Failed(sentence),
        })
    }

    /// What a statement inside of a routine came to is seen by the thread. Seeing the same again in the next round of a loop is
    /// not seeing something new.
    pub(super) fn see_inside(&mut self, gate: &GatePlace, result: &StepResult) {
        let what = match result {
            StepResult::Rows { rows, .. } => What::Rows { rows: rows.clone(), fields: Vec::new(), ordered: false },
            StepResult::Done { tag } => What::Tag(tag.clone()),
            StepResult::Waits { .. } | StepResult::Error { .. } => return,
        };
        self.progress.seen.push(Observation { place: gate.place.clone(), what, inner: true });
    }

    /// What its retry is worth saying.
    pub(super) fn starts_again(&self, name: &str) -> String {
        match self.retries_left {
            0 => format!("{name} starts again, for the last time"),
            left => format!("{name} starts again; {left} more times possible"),
        }
    }

    /// Adds a remark to what is under way.
    pub(super) fn note(&mut self, note: String) {
        self.part.iter_mut().for_each(|part| part.notes.push(note.clone()));
    }
}

/// What a response is in a report.
pub(super) fn result(response: &isolde_wire::Response) -> StepResult {
    use isolde_wire::Response;
    match response {
        Response::Rows { columns, rows, .. } => StepResult::Rows { columns: columns.clone(), rows: rows.clone() },
        Response::Done { tag } if tag == "COMMIT" => StepResult::Done { tag: String::new() },
        Response::Done { tag } => StepResult::Done { tag: tag.clone() },
        Response::Error(error) => StepResult::Error { code: error.sqlstate.clone(), message: error.message.clone() },
    }
}
