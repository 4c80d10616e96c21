//! What user code has answered so far.

use std::sync::Arc;

use isolde_sql::catalog::RoutineId;
use isolde_sql::{Row, Value};

use super::Interrupt;

/// The results of the calls in one unit of evaluation, in the order in which evaluation meets them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    results: Vec<CallResult>,
    next: usize,
    /// The rows of WITH statements that have run, by their slots. They stay for the whole statement.
    withs: Vec<Option<Arc<[Row]>>>,
}

/// What a call gave.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CallResult {
    /// A value, or a record for several.
    Value(Value),
    /// The rows of a set-returning routine.
    Rows(Vec<Row>),
}

impl CallResult {
    /// As a value; of rows, the first column of the first.
    pub(crate) fn into_value(self) -> Value {
        match self {
            CallResult::Value(value) => value,
            CallResult::Rows(rows) => rows.first().and_then(|row| row.first()).cloned().unwrap_or(Value::Null),
        }
    }
}

impl Calls {
    /// Appends the result of the call that stopped evaluation.
    pub(crate) fn push(&mut self, result: CallResult) {
        self.results.push(result);
    }

    /// Before evaluating again from the start.
    pub(crate) fn rewind(&mut self) {
        self.next = 0;
    }

    /// Before another unit of evaluation.
    pub(crate) fn clear(&mut self) {
        self.results.clear();
        self.next = 0;
    }

    /// All results: they are part of the state of a statement that waits.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &CallResult> {
        self.results.iter()
    }

    /// The rows of a WITH statement, if it has run.
    pub(crate) fn with(&self, slot: usize) -> Option<Arc<[Row]>> {
        self.withs.get(slot).cloned().flatten()
    }

    /// A WITH statement has run.
    pub(crate) fn keep_with(&mut self, slot: usize, rows: Arc<[Row]>) {
        if self.withs.len() <= slot {
            self.withs.resize(slot + 1, None);
        }
        self.withs[slot] = Some(rows);
    }

    /// The WITH statements that have run, for a statement inside of the same.
    pub(crate) fn withs(&self) -> &[Option<Arc<[Row]>>] {
        &self.withs
    }

    /// Calls of a statement that knows what these WITH statements gave.
    pub(crate) fn knowing(withs: &[Option<Arc<[Row]>>]) -> Self {
        Calls { withs: withs.to_vec(), ..Calls::default() }
    }

    /// The result of the call now met, if it has been made.
    pub(crate) fn next(&mut self) -> Option<CallResult> {
        let result = self.results.get(self.next).cloned();
        self.next += usize::from(result.is_some());
        result
    }

    /// The result of the call now met, or the request to make it.
    pub(crate) fn take(&mut self, call: impl FnOnce() -> (RoutineId, Vec<Value>)) -> Result<CallResult, Interrupt> {
        self.next().ok_or_else(|| {
            let (routine, args) = call();
            Interrupt::Call(routine, args)
        })
    }

    /// Appends a result that evaluation came by itself, and passes it.
    pub(super) fn record(&mut self, result: CallResult) {
        self.results.push(result);
        self.next = self.results.len();
    }
}
