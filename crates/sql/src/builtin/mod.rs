//! Builtin functions, operators and aggregates: one list each.
//!
//! An operator is a function with a symbol for a name. An overload is an entry of its own, with the exact types it takes:
//! the binder has inserted the casts. To add a function: a line in [`FUNCTIONS`] and, if it is new, its few lines of code in the
//! file of its kind; the tests loop over the list.

use crate::error::SqlError;
use crate::types::Type;
use crate::value::Value;

/// A function or operator with one signature.
#[derive(Debug)]
pub struct Builtin {
    /// Its name, or operator symbol (`+`, `<>`, `~~` for LIKE).
    pub name: &'static str,
    /// The types it takes. [`Type::Unknown`] stands for any type, the same for all such parameters.
    pub args: &'static [Type],
    /// The last parameter repeats (`concat`).
    pub variadic: bool,
    /// The type of its result; [`Type::Unknown`] is that of its any-typed parameters.
    pub returns: Type,
    /// NULL in, NULL out; the function is then not called.
    pub strict: bool,
    /// What it does.
    pub eval: Eval,
}

/// How a builtin computes.
#[derive(Clone, Copy, Debug)]
pub enum Eval {
    /// From its arguments alone.
    Pure(fn(&[Value]) -> Result<Value, SqlError>),
    /// With the session's help; the engine knows how.
    Session(SessionFunction),
}

/// Functions that need a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum SessionFunction {
    /// `now()`, `current_timestamp`, `transaction_timestamp()`
    TransactionTimestamp,
    /// `statement_timestamp()`
    StatementTimestamp,
    /// `clock_timestamp()`
    ClockTimestamp,
    NextVal,
    CurrVal,
    SetVal,
    LastVal,
    Random,
    GenRandomUuid,
    PgSleep,
    CurrentUser,
    CurrentSetting,
    TxidCurrent,
    BackendPid,
}

/// An aggregate with one signature.
#[derive(Debug)]
pub struct Aggregate {
    /// Its name.
    pub name: &'static str,
    /// The types it takes; none for `count(*)`.
    pub args: &'static [Type],
    /// The type of its result; [`Type::Unknown`] is that of its argument.
    pub returns: Type,
    /// What it computes.
    pub kind: AggregateKind,
}

/// What an aggregate computes; the accumulator is [`Accumulator`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum AggregateKind {
    CountRows,
    Count,
    Sum,
    Avg,
    Min,
    Max,
    BoolAnd,
    BoolOr,
    StringAgg,
}

/// A function in FROM that yields rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum SetFunction {
    GenerateSeries,
}

/// An aggregate half way.
#[derive(Clone, Debug)]
pub struct Accumulator {
    _kind: AggregateKind,
}

impl Accumulator {
    /// Before any row.
    pub fn new(aggregate: &'static Aggregate) -> Self {
        Accumulator { _kind: aggregate.kind }
    }

    /// One row more; `args` as the aggregate takes them.
    pub fn add(&mut self, _args: &[Value]) -> Result<(), SqlError> {
        Ok(())
    }

    /// The result.
    pub fn finish(self) -> Result<Value, SqlError> {
        Ok(Value::Null)
    }
}

/// Every function and operator.
pub static FUNCTIONS: &[Builtin] = &[];

/// Every aggregate.
pub static AGGREGATES: &[Aggregate] = &[];

/// The builtin with this name and these exact parameter types, for code that needs a particular one (`=` for CASE).
pub fn find(name: &str, args: &[Type]) -> Option<&'static Builtin> {
    FUNCTIONS.iter().find(|f| f.name == name && f.args == args)
}
