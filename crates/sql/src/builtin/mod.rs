//! Builtin functions, operators and aggregates: one list each.
//!
//! An operator is a function with a symbol for a name. An overload is an entry of its own, with the exact types it
//! takes: the binder has inserted the casts. To add a function: a line in the list of its family and, if it is new, its
//! few lines of code beside it; the tests loop over the families.

mod aggregate;
mod args;
mod arithmetic;
pub mod array;
mod bits;
mod bytea;
mod clock;
mod compare;
mod field;
mod immutable;
mod json;
pub mod json_build;
mod like;
mod list;
mod math;
mod md5;
mod quote;
mod range;
mod regex;
mod regex_syntax;
mod series;
mod statistics;
mod text;
mod time;
mod to_char;
mod to_char_number;
mod window;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use aggregate::{AGGREGATES, Accumulator, JSON_ROWS_AGG};
pub use immutable::is_immutable_cast;
pub use series::{SERIES_ROW_COST, series};
pub use window::{WINDOW_FUNCTIONS, WindowFunction, WindowKind, window_functions};

use crate::error::SqlError;
use crate::types::Type;
use crate::value::{Row, Value};

/// Whether a function of this name reads a clock, also the one of its transaction.
pub fn reads_clock(name: &str) -> bool {
    use SessionFunction::{ClockTimestamp, StatementTimestamp, TransactionTimestamp};
    let is_time =
        |function: &SessionFunction| matches!(function, ClockTimestamp | StatementTimestamp | TransactionTimestamp);
    overloads(name).any(|builtin| matches!(&builtin.eval, Eval::Session(function) if is_time(function)))
}

/// Every function and operator, by family.
static FAMILIES: &[&[Builtin]] = &[
    list::FUNCTIONS,
    array::FUNCTIONS,
    json::FUNCTIONS,
    json_build::FUNCTIONS,
    regex::FUNCTIONS,
    clock::FUNCTIONS,
    to_char::FUNCTIONS,
    to_char_number::FUNCTIONS,
    bits::FUNCTIONS,
    bytea::FUNCTIONS,
    range::FUNCTIONS,
    range::INT4_RANGES,
    range::INT8_RANGES,
    range::NUM_RANGES,
    range::TS_RANGES,
    range::TSTZ_RANGES,
    range::DATE_RANGES,
];

/// Every function and operator.
pub fn functions() -> impl Iterator<Item = &'static Builtin> {
    FAMILIES.iter().copied().flatten()
}

/// A function or operator with one signature.
#[derive(Debug)]
pub struct Builtin {
    /// Its name, or operator symbol (`+`, `<>`, `~~` for LIKE).
    pub name: &'static str,
    /// The types it takes. [`Type::Unknown`] stands for any type, the same for all such parameters.
    pub args: &'static [Type],
    /// The last parameter repeats (`concat`); if it takes any type, then a different one each time.
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

/// Functions that need a session. A moment is a `timestamptz`, cast to what the builtin [returns](Builtin::returns):
/// `current_date` is the transaction's timestamp as a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum SessionFunction {
    /// `now()`, `current_timestamp`, `transaction_timestamp()`; `localtimestamp`, `current_date`
    TransactionTimestamp,
    /// `statement_timestamp()`
    StatementTimestamp,
    /// `clock_timestamp()`
    ClockTimestamp,
    NextVal,
    CurrVal,
    SetVal,
    LastVal,
    /// A field of `SELECT * FROM sequence`.
    Sequence(SequenceField),
    Random,
    GenRandomUuid,
    PgSleep,
    /// `pg_advisory_lock` and its family.
    Advisory(AdvisoryFunction),
    CurrentUser,
    CurrentSetting,
    SetConfig,
    Notify,
    TxidCurrent,
    BackendPid,
}

/// What can be read of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum SequenceField {
    /// `pg_sequence_last_value`: NULL before the first draw.
    LastDrawn,
    LastValue,
    /// Values that the log holds in advance.
    LogCount,
    IsCalled,
}

impl SessionFunction {
    /// Whether it has one value throughout a statement.
    pub fn is_stable(self) -> bool {
        use SessionFunction as F;
        match self {
            F::TransactionTimestamp | F::StatementTimestamp | F::CurrentUser => true,
            F::CurrentSetting | F::TxidCurrent | F::BackendPid => true,
            F::ClockTimestamp | F::NextVal | F::CurrVal | F::SetVal | F::LastVal => false,
            F::Random | F::GenRandomUuid | F::PgSleep | F::Advisory(_) | F::SetConfig | F::Notify => false,
            F::Sequence(_) => false,
        }
    }
}

/// What a function of the family `pg_advisory_lock` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum AdvisoryFunction {
    /// `pg_[try_]advisory_[xact_]lock[_shared]`
    Lock {
        shared: bool,
        transaction: bool,
        tries: bool,
    },
    /// `pg_advisory_unlock[_shared]`
    Unlock {
        shared: bool,
    },
    UnlockAll,
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
    ArrayAgg,
    BitAnd,
    BitOr,
    BitXor,
    StddevSamp,
    StddevPop,
    VarSamp,
    VarPop,
    JsonAgg,
    JsonRowsAgg,
    JsonbAgg,
    JsonObjectAgg,
    JsonbObjectAgg,
    /// `percentile_cont(fraction) WITHIN GROUP (ORDER BY x)`, over numbers or intervals
    PercentileCont,
    /// `percentile_disc(fraction) WITHIN GROUP (ORDER BY x)`
    PercentileDisc,
    /// `mode() WITHIN GROUP (ORDER BY x)`
    Mode,
}

impl AggregateKind {
    /// A standard deviation or a variance, computed once all values are known.
    fn is_statistic(self) -> bool {
        use AggregateKind::{StddevPop, StddevSamp, VarPop, VarSamp};
        matches!(self, StddevSamp | StddevPop | VarSamp | VarPop)
    }

    /// Whether it looks at its rows in the order that WITHIN GROUP says.
    pub fn is_ordered_set(self) -> bool {
        matches!(self, AggregateKind::PercentileCont | AggregateKind::PercentileDisc | AggregateKind::Mode)
    }
}

/// A function in FROM that yields rows.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum SetFunction {
    GenerateSeries,
    /// The rows in a variable: a transition table.
    Rows,
    /// Any other, computed from its arguments alone.
    Builtin(&'static SetBuiltin),
}

/// A function that yields rows.
#[derive(Debug)]
pub struct SetBuiltin {
    /// Its name.
    pub name: &'static str,
    /// The types it takes, as in [`Builtin`].
    pub args: &'static [Type],
    /// The columns it yields; the only one of a function without names of its own is called after the function.
    pub columns: &'static [(&'static str, Type)],
    /// NULL in, no rows out.
    pub strict: bool,
    /// The rows.
    pub rows: fn(&[Value]) -> Result<Vec<Row>, SqlError>,
}

/// Every function that yields rows with this name.
pub fn set_functions(name: &str) -> impl Iterator<Item = &'static SetBuiltin> + '_ {
    SETS.iter().copied().flatten().filter(move |f| f.name == name)
}

/// Every function that yields rows, by family.
static SETS: &[&[SetBuiltin]] = &[array::SETS, json::SETS, regex::SETS];

/// The builtin with this name for these exact parameter types, for code that needs a particular one (`=` for CASE).
/// A signature of exactly these types is preferred to one that takes any.
pub fn find(name: &str, args: &[Type]) -> Option<&'static Builtin> {
    let exact = overloads(name).find(|f| f.args == args);
    exact.or_else(|| overloads(name).find(|f| accepts(f.args, args)))
}

/// Every builtin function or operator with this name, in the order of their families.
pub fn overloads(name: &str) -> impl Iterator<Item = &'static Builtin> + use<> {
    static BY_NAME: LazyLock<HashMap<&'static str, Vec<&'static Builtin>>> = LazyLock::new(|| {
        let mut by_name: HashMap<_, Vec<_>> = HashMap::new();
        functions().for_each(|f| by_name.entry(f.name).or_default().push(f));
        by_name
    });
    BY_NAME.get(name).map_or(&[][..], Vec::as_slice).iter().copied()
}

/// Every aggregate with this name, in the order of [`AGGREGATES`].
pub fn aggregates(name: &str) -> impl Iterator<Item = &'static Aggregate> + '_ {
    AGGREGATES.iter().filter(move |a| a.name == name)
}

/// These types are what the parameters say, where those that take any type all take the same.
fn accepts(params: &[Type], args: &[Type]) -> bool {
    let mut any = None;
    params.len() == args.len()
        && params.iter().zip(args).all(|(param, arg)| match param {
            Type::Unknown => same(*any.get_or_insert(*arg), *arg),
            _ => same(*param, *arg),
        })
}

fn same(a: Type, b: Type) -> bool {
    a.base() == b.base() || a.is_text() && b.is_text()
}
