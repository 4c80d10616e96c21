//! How far the client behind a thread has come.
//!
//! It behaves as the one on the embedded engine does: an error ends the thread and its transaction, an abort is tried
//! again as often as the file says, and what it saw in an attempt that was aborted it has not seen.

use std::collections::BTreeMap;
use std::sync::Arc;

use isolde_report::StepResult;
use isolde_scenario::{Completed, Reaction};
use isolde_sql::catalog::TableId;
use isolde_sql::typed::OutputColumn;
use isolde_sql::{Row, Span, SqlError};

use super::observe;
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
    /// A routine has committed part of the statement that it is at.
    pub(super) partly: bool,
    /// How many rows it has committed, by table.
    pub(super) published: BTreeMap<TableId, u64>,
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
    Retry(Reaction),
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
    /// The client's statement that it belongs to, by number.
    pub(super) statement: usize,
    /// Where the statement stands that it belongs to, be it inside of a routine.
    pub(super) at: Span,
    pub(super) what: What,
    /// A routine has seen it, the client has not.
    pub(super) inner: bool,
}

/// What was seen.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// The answer to a statement: its tag, or its rows.
    Answer { text: Arc<str>, columns: Vec<OutputColumn>, rows: Vec<Row>, ordered: bool },
    /// A message.
    Notice(Arc<str>),
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
            partly: false,
            published: BTreeMap::new(),
        }
    }

    /// How an error ends the thread, or what comes before.
    pub(super) fn judge(&mut self, error: SqlError) -> After {
        if !error.is_abort() {
            return After::End(Ending::Failed(error));
        }
        self.progress = self.checkpoint.clone();
        match self.retries_left.checked_sub(1) {
            Some(left) => {
                self.retries_left = left;
                After::Retry(Reaction::Retried { error, left })
            }
            None if self.partly => After::End(Ending::Aborted(error, Completed::Unknown)),
            None => After::End(Ending::Aborted(error, Completed::Statements(self.progress.next))),
        }
    }

    /// What a statement inside of a routine came to is seen by the thread. Seeing the same again in the next round of a
    /// loop is not seeing something new.
    pub(super) fn see_inside(&mut self, gate: &GatePlace, result: &StepResult) {
        if gate.loops {
            return;
        }
        let (text, rows) = match result {
            StepResult::Rows { rows, .. } => ("".into(), rows.iter().map(|row| observe::row(row, &[])).collect()),
            StepResult::Done { tag } => (tag.as_str().into(), Vec::new()),
            StepResult::Waits { .. } | StepResult::Error { .. } => return,
        };
        let what = What::Answer { text, columns: Vec::new(), rows, ordered: false };
        self.progress.seen.push(Observation { statement: self.progress.next, at: gate.span, what, inner: true });
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
