//! What user code has answered so far.

use isolde_sql::catalog::RoutineId;
use isolde_sql::{Row, Value};

use super::Interrupt;

/// The results of the calls in one unit of evaluation, in the order in which evaluation meets them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    results: Vec<CallResult>,
    next: usize,
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
