//! Evaluating expressions.
//!
//! [`eval`] computes a compiled expression over an [`Env`], the rows at hand, with the help of a [`Context`],
//! everything else: the snapshot, the variables, the session. Conditions go through [`truth`], which never builds a
//! [`Value`] for what is only asked.
//!
//! **A call to user code stops evaluation.** A function in PL/pgSQL runs statements, takes locks, may wait; none of
//! that can happen inside an expression on the Rust stack. So evaluation ends with [`Interrupt::Call`], the caller runs
//! the routine as a frame like any other, appends its result to [`Calls`] and evaluates again: the same calls come up
//! in the same order and find their results. The same list remembers what must not be drawn twice, like `nextval`.

mod calls;
mod subquery;
mod with;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use isolde_sql::budget::spend;
use isolde_sql::builtin::{Builtin, SessionFunction};
use isolde_sql::catalog::{Catalog, RoutineId};
use isolde_sql::{Row, SqlError, SqlState, Value, typed, value};
use smallvec::SmallVec;

pub(crate) use calls::{CallResult, Calls};
pub(crate) use subquery::{Cache, rows_of, run_source};
pub(crate) use with::{each_with, working};

use crate::footprint::Read;
use crate::lock::Target;
use crate::plan::WithPlan;
use crate::plan::expr::{AnyOf, DomainCast, Expr, IntegerOp, PureFn};
use crate::prepare::Prepared;
use crate::ssi::Reader;
use crate::storage::{RowId, Tables};

/// What evaluation needs besides rows.
pub(crate) struct Context<'a> {
    /// The statement's snapshot, own earlier writes included.
    pub(crate) view: &'a Tables,
    /// Variables of the routine, or `$n`.
    pub(crate) params: &'a [Value],
    /// The session.
    pub(crate) host: &'a mut dyn Host,
    /// Results of user functions already called in this unit of evaluation.
    pub(crate) calls: &'a mut Calls,
    /// The footprint.
    pub(crate) reads: &'a mut Vec<Read>,
    /// At SERIALIZABLE: who remembers what is read.
    pub(crate) reader: Option<Reader<'a>>,
}

/// What a session does for expressions.
pub(crate) trait Host {
    /// `now()`, `nextval('s')` and the like.
    fn session_function(&mut self, function: SessionFunction, args: &[Value]) -> Result<Value, Interrupt>;

    /// The position of a field in the record that a variable holds at present.
    fn field(&mut self, slot: usize, name: &str) -> Result<usize, SqlError> {
        let _ = slot;
        Err(SqlError::new(SqlState::UNDEFINED_COLUMN, format!("record has no field \"{name}\"")))
    }
}

/// Why evaluation stopped.
#[derive(Clone, Debug)]
pub(crate) enum Interrupt {
    /// It failed.
    Error(SqlError),
    /// It needs the result of this routine.
    Call(RoutineId, Vec<Value>),
    /// It needs the rows of this query, which locks them.
    Lock(Inner),
    /// It waits for this inside a function.
    Wait(Target),
    /// It needs the rows of this statement of WITH, to be kept in this slot.
    With(usize, Arc<Prepared>),
}

/// A query inside a statement that must be run as a statement itself.
#[derive(Clone, Debug)]
pub(crate) struct Inner {
    pub(crate) statement: Arc<Prepared>,
    /// Its parameters, if they are not those of the statement around it.
    pub(crate) params: Option<Arc<[Value]>>,
    /// It reads WITH queries of the statement around it.
    pub(crate) reads_with: bool,
}

impl From<SqlError> for Interrupt {
    fn from(error: SqlError) -> Self {
        Interrupt::Error(error)
    }
}

/// The row of a relation.
#[derive(Clone, Debug)]
pub(crate) struct RelRow {
    /// Which row of its table; `None` if it is from none.
    pub(crate) id: Option<RowId>,
    /// Which version of it.
    pub(crate) position: u64,
    /// Its values.
    pub(crate) values: Row,
    /// There is no row: an outer join found none, and `values` are NULLs.
    pub(crate) missing: bool,
}

impl RelRow {
    /// A row of no table.
    pub(crate) fn new(values: Row) -> RelRow {
        RelRow { id: None, position: 0, values, missing: false }
    }

    /// A version of a table's row.
    pub(crate) fn of_table(id: RowId, position: u64, values: Row) -> RelRow {
        RelRow { id: Some(id), position, values, missing: false }
    }
}

/// The rows an expression sees.
#[derive(Clone, Copy)]
pub(crate) struct Env<'a> {
    rows: Rows<'a>,
    outer: Option<&'a Env<'a>>,
    groups: &'a [Value],
    aggregates: &'a [Value],
    outputs: &'a [Value],
    cache: Option<&'a Cache>,
    extra: Option<&'a Extra<'a>>,
}

/// What few queries have.
#[derive(Clone, Copy, Default)]
pub(crate) struct Extra<'a> {
    /// The query's WITH queries.
    pub(crate) withs: &'a [WithPlan],
    /// The values of window functions.
    pub(crate) windowed: &'a [Value],
    /// The values of functions that yield rows.
    pub(crate) expanded: &'a [Value],
}

/// The rows of one level.
#[derive(Clone, Copy)]
enum Rows<'a> {
    /// One per relation.
    All(&'a [RelRow]),
    /// The only one that is looked at, whatever its number.
    Only(&'a [Value]),
}

impl<'a> Env<'a> {
    /// No row at all.
    pub(crate) const EMPTY: Env<'static> =
        Env { rows: Rows::All(&[]), outer: None, groups: &[], aggregates: &[], outputs: &[], cache: None, extra: None };

    /// One row per relation.
    pub(crate) fn new(rows: &'a [RelRow]) -> Env<'a> {
        Env { rows: Rows::All(rows), ..Env::EMPTY }
    }

    /// The values of the only relation.
    pub(crate) fn only(values: &'a [Value]) -> Env<'a> {
        Env { rows: Rows::Only(values), ..Env::EMPTY }
    }

    /// The same inside another query.
    pub(crate) fn within(self, outer: Option<&'a Env<'a>>) -> Env<'a> {
        Env { outer, ..self }
    }

    /// The same with a memory for subqueries whose result does not depend on the rows.
    /// It must be fresh whenever evaluation starts again after a call.
    pub(crate) fn cached(self, cache: &'a Cache) -> Env<'a> {
        Env { cache: Some(cache), ..self }
    }

    /// The same after grouping.
    pub(crate) fn grouped(self, groups: &'a [Value], aggregates: &'a [Value]) -> Env<'a> {
        Env { groups, aggregates, ..self }
    }

    /// The same with what few queries have.
    pub(crate) fn extended(self, extra: Option<&'a Extra<'a>>) -> Env<'a> {
        Env { extra, ..self }
    }

    /// The same with a result row, for sort keys.
    pub(crate) fn with_outputs(self, outputs: &'a [Value]) -> Env<'a> {
        Env { outputs, ..self }
    }

    #[inline]
    pub(crate) fn up(&self, depth: u16) -> &Env<'a> {
        let mut env = self;
        for _ in 0..depth {
            env = env.outer.expect("a reference leads no further out than its query stands");
        }
        env
    }

    #[inline]
    fn column(&self, rel: u16, col: u16) -> &'a Value {
        match self.rows {
            Rows::All(rows) => &rows[usize::from(rel)].values[usize::from(col)],
            Rows::Only(values) => &values[usize::from(col)],
        }
    }

    fn whole_row(&self, rel: u16) -> Value {
        match self.rows {
            Rows::All(rows) => {
                let row = &rows[usize::from(rel)];
                if row.missing { Value::Null } else { Value::Record(row.values.clone()) }
            }
            Rows::Only(values) => Value::Record(values.into()),
        }
    }
}

/// `=`, `<` and their kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison that an operator symbol stands for.
    pub(crate) fn named(name: &str) -> Option<Comparison> {
        Some(match name {
            "=" => Comparison::Equal,
            "<>" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            _ => return None,
        })
    }

    /// The same with its operands exchanged.
    pub(crate) fn turned(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            same => same,
        }
    }

    /// NULL if an operand is.
    #[inline]
    fn of(self, a: &Value, b: &Value) -> Option<bool> {
        let order = match (a, b) {
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::Null, _) | (_, Value::Null) => return None,
            (a, b) => a.cmp(b),
        };
        Some(match self {
            Comparison::Equal => order == Ordering::Equal,
            Comparison::NotEqual => order != Ordering::Equal,
            Comparison::Less => order == Ordering::Less,
            Comparison::LessOrEqual => order != Ordering::Greater,
            Comparison::Greater => order == Ordering::Greater,
            Comparison::GreaterOrEqual => order != Ordering::Less,
        })
    }
}

/// SQL's `=`: NULL if that hangs on a NULL, also one inside a record.
pub(crate) fn equal(a: &Value, b: &Value) -> Option<bool> {
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Record(a), Value::Record(b)) if a.len() == b.len() => {
            all_of(a.iter().zip(b.iter()).map(|(a, b)| equal(a, b)))
        }
        (a, b) => Some(a == b),
    }
}

/// Kleene's conjunction.
fn all_of(mut list: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut result = Some(true);
    while result != Some(false) {
        match list.next() {
            None => break,
            Some(Some(true)) => {}
            Some(other) => result = other,
        }
    }
    result
}

/// The value of an expression.
pub(crate) fn eval(ctx: &mut Context<'_>, env: &Env<'_>, expr: &Expr) -> Result<Value, Interrupt> {
    Ok(match expr {
        Expr::Const(value) => value.clone(),
        Expr::Column { rel, col } => env.column(*rel, *col).clone(),
        Expr::Outer { depth, rel, col } => env.up(*depth).column(*rel, *col).clone(),
        Expr::WholeRow { depth, rel } => env.up(*depth).whole_row(*rel),
        Expr::Param(slot) => param(ctx, *slot)?.clone(),
        Expr::Field(record, field) => field_of(eval(ctx, env, record)?, *field),
        Expr::NamedField(slot, name) => {
            let field = ctx.host.field(*slot, name)?;
            field_of(param(ctx, *slot)?.clone(), field)
        }
        Expr::Group { depth, key } => env.up(*depth).groups[*key].clone(),
        Expr::Aggregated { depth, call } => env.up(*depth).aggregates[*call].clone(),
        Expr::Windowed(n) => env.extra.map_or(Value::Null, |extra| extra.windowed[*n].clone()),
        Expr::Expanded(n) => env.extra.map_or(Value::Null, |extra| extra.expanded[*n].clone()),
        Expr::Output(n) => env.outputs[*n].clone(),
        Expr::Integer(op, range, builtin, ab) => integer(ctx, env, (*op, range, builtin), &ab.0, &ab.1)?,
        Expr::Pure(builtin, function, args) => pure(ctx, env, builtin, *function, args)?,
        Expr::Session(function, strict, args) => session(ctx, env, *function, *strict, args)?,
        Expr::Routine(id, args) => {
            let args = values(ctx, env, args)?;
            ctx.calls.take(|| (*id, args))?.into_value()
        }
        Expr::Case(whens, otherwise) => case(ctx, env, whens, otherwise.as_deref())?,
        Expr::Coalesce(list) => coalesce(ctx, env, list)?,
        Expr::Extreme(list, greatest) => extreme(ctx, env, list, *greatest)?,
        Expr::Cast { expr, from, to, explicit } => value::cast(&*operand(ctx, env, expr)?, *from, *to, *explicit)?,
        Expr::Row(list) => Value::Record(values(ctx, env, list)?.into()),
        Expr::Scalar(query) => subquery::scalar(ctx, env, query)?,
        Expr::ScalarRow(query) => subquery::scalar_row(ctx, env, query)?,
        Expr::Compare(..) | Expr::And(_) | Expr::Or(_) | Expr::Not(_) | Expr::IsNull(..) | Expr::IsTruth(..) => {
            truth_value(truth(ctx, env, expr)?)
        }
        Expr::Domain(domain) => domain_value(ctx, env, domain)?,
        Expr::IsDistinct(..)
        | Expr::InList(..)
        | Expr::InSet(..)
        | Expr::Exists(_)
        | Expr::Quantified(_)
        | Expr::AnyOf(_) => truth_value(truth(ctx, env, expr)?),
    })
}

/// The truth of a condition; `None` is NULL.
pub(crate) fn truth(ctx: &mut Context<'_>, env: &Env<'_>, expr: &Expr) -> Result<Option<bool>, Interrupt> {
    Ok(match expr {
        Expr::Compare(comparison, ab) => {
            let a = operand(ctx, env, &ab.0)?;
            let b = operand(ctx, env, &ab.1)?;
            comparison.of(&a, &b)
        }
        Expr::And(list) => junction(ctx, env, list, false)?,
        Expr::Or(list) => junction(ctx, env, list, true)?,
        Expr::Not(e) => truth(ctx, env, e)?.map(|t| !t),
        Expr::IsNull(e, negated) => Some(is_null(&*operand(ctx, env, e)?, *negated)),
        Expr::IsTruth(e, wanted, negated) => Some((truth(ctx, env, e)? == *wanted) != *negated),
        Expr::IsDistinct(ab, negated) => {
            let a = operand(ctx, env, &ab.0)?;
            let b = operand(ctx, env, &ab.1)?;
            Some((a != b) != *negated)
        }
        Expr::InList(e, list, negated) => in_list(ctx, env, e, list)?.map(|t| t != *negated),
        Expr::InSet(e, set, negated) => {
            let value = operand(ctx, env, e)?;
            let found = match &*value {
                Value::Null => None,
                value if set.values.contains(value) => Some(true),
                _ => (!set.has_null).then_some(false),
            };
            found.map(|t| t != *negated)
        }
        Expr::Exists(query) => Some(subquery::exists(ctx, env, query)?),
        Expr::Quantified(q) => subquery::quantified(ctx, env, q)?,
        Expr::AnyOf(any) => any_of(ctx, env, any)?,
        other => match &*operand(ctx, env, other)? {
            Value::Bool(b) => Some(*b),
            _ => None,
        },
    })
}

/// `left op ANY (array)`: Kleene's or, ALL his and, over the elements.
fn any_of(ctx: &mut Context<'_>, env: &Env<'_>, any: &AnyOf) -> Result<Option<bool>, Interrupt> {
    let left = operand(ctx, env, &any.left)?.into_owned();
    let Value::Array(array) = eval(ctx, env, &any.array)? else { return Ok(None) };
    let mut result = Some(any.all);
    for element in &array.elements {
        match subquery::compared(any.op, &left, element)? {
            Some(holds) if holds != any.all => return Ok(Some(holds)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(result)
}

/// A value of a domain, if it meets its conditions.
fn domain_value(ctx: &mut Context<'_>, env: &Env<'_>, domain: &DomainCast) -> Result<Value, Interrupt> {
    let value = eval(ctx, env, &domain.expr)?;
    if value.is_null() && domain.not_null {
        let message = format!("domain {} does not allow null values", domain.name);
        return Err(SqlError::new(SqlState::NOT_NULL_VIOLATION, message).into());
    }
    for (name, check) in &domain.checks {
        if truth(ctx, &Env::only(std::slice::from_ref(&value)), check)? == Some(false) {
            let message = format!("value for domain {} violates check constraint \"{name}\"", domain.name);
            return Err(SqlError::new(SqlState::CHECK_VIOLATION, message).constraint(name.clone()).into());
        }
    }
    Ok(value)
}

/// Whether a condition holds; NULL does not.
pub(crate) fn is_true(ctx: &mut Context<'_>, env: &Env<'_>, expr: &Expr) -> Result<bool, Interrupt> {
    Ok(truth(ctx, env, expr)? == Some(true))
}

/// Whether all conditions hold, asked in order.
pub(crate) fn all_true(ctx: &mut Context<'_>, env: &Env<'_>, list: &[Expr]) -> Result<bool, Interrupt> {
    for e in list {
        if !is_true(ctx, env, e)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The values of a list of expressions.
pub(crate) fn values(ctx: &mut Context<'_>, env: &Env<'_>, list: &[Expr]) -> Result<Vec<Value>, Interrupt> {
    list.iter().map(|e| eval(ctx, env, e)).collect()
}

/// The values of a list of expressions as a row, in one allocation.
pub(crate) fn row(ctx: &mut Context<'_>, env: &Env<'_>, list: &[Expr]) -> Result<Row, Interrupt> {
    let mut stopped = None;
    let mut value = |e: &Expr| match stopped {
        Some(_) => Value::Null,
        None => eval(ctx, env, e).unwrap_or_else(|why| {
            stopped = Some(why);
            Value::Null
        }),
    };
    let row = list.iter().map(&mut value).collect();
    match stopped {
        None => Ok(row),
        Some(why) => Err(why),
    }
}

/// The value of an expression that needs no tables, no session and no routines: CHECKs and footprints.
pub(crate) fn local_compiled(expr: &Expr, row: &[Value], params: &[Value]) -> Result<Value, SqlError> {
    nowhere(params, |ctx| eval(ctx, &Env::only(row), expr))
}

/// Whether such a condition holds.
pub(crate) fn local_truth(expr: &Expr, row: &[Value], params: &[Value]) -> Result<Option<bool>, SqlError> {
    nowhere(params, |ctx| truth(ctx, &Env::only(row), expr))
}

/// The same for an expression that is evaluated so seldom that compiling it ahead is not worth while.
pub(crate) fn local(expr: &typed::Expr, row: &[Value], params: &[Value]) -> Result<Value, SqlError> {
    local_compiled(&compile_local(expr), row, params)
}

/// Compiles an expression without subqueries.
pub(crate) fn compile_local(expr: &typed::Expr) -> Expr {
    crate::plan::expr(&NO_CATALOG, expr)
}

/// The key of a row in an index over expressions or some of the rows; none if it is not in it.
pub(crate) fn special_key(
    special: &isolde_sql::catalog::SpecialIndex,
    row: &[Value],
) -> Result<Option<crate::storage::Key>, SqlError> {
    let compiled = special.compiled.get(|| {
        let keys: Vec<Expr> = special.keys.iter().map(compile_local).collect();
        (keys, special.filter.as_ref().map(compile_local))
    });
    let Some((keys, filter)) = compiled else { return Ok(None) };
    if let Some(filter) = filter
        && local_truth(filter, row, &[])? != Some(true)
    {
        return Ok(None);
    }
    keys.iter().map(|key| local_compiled(key, row, &[])).collect::<Result<_, _>>().map(Some)
}

static NO_CATALOG: LazyLock<Catalog> = LazyLock::new(Catalog::default);
static NO_TABLES: LazyLock<Tables> = LazyLock::new(Tables::default);

struct NoHost;

impl Host for NoHost {
    fn session_function(&mut self, _: SessionFunction, _: &[Value]) -> Result<Value, Interrupt> {
        Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, "this function needs a session").into())
    }
}

fn nowhere<T>(
    params: &[Value],
    evaluate: impl FnOnce(&mut Context<'_>) -> Result<T, Interrupt>,
) -> Result<T, SqlError> {
    let (mut host, mut calls, mut reads) = (NoHost, Calls::default(), Vec::new());
    let (host, calls, reads) = (&mut host, &mut calls, &mut reads);
    let mut ctx = Context { view: &NO_TABLES, params, host, calls, reads, reader: None };
    evaluate(&mut ctx).map_err(|why| match why {
        Interrupt::Error(error) => error,
        Interrupt::Call(..) | Interrupt::Lock(_) | Interrupt::Wait(_) | Interrupt::With(..) => {
            SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, "this function needs a session")
        }
    })
}

/// The value of an expression, borrowed where it lies ready.
#[inline]
pub(crate) fn operand<'e, 'a: 'e>(
    ctx: &mut Context<'a>,
    env: &Env<'e>,
    expr: &'e Expr,
) -> Result<Cow<'e, Value>, Interrupt> {
    Ok(match expr {
        Expr::Const(value) => Cow::Borrowed(value),
        Expr::Column { rel, col } => Cow::Borrowed(env.column(*rel, *col)),
        Expr::Outer { depth, rel, col } => Cow::Borrowed(env.up(*depth).column(*rel, *col)),
        Expr::Param(slot) => Cow::Borrowed(param(ctx, *slot)?),
        Expr::Group { depth, key } => Cow::Borrowed(&env.up(*depth).groups[*key]),
        Expr::Aggregated { depth, call } => Cow::Borrowed(&env.up(*depth).aggregates[*call]),
        Expr::Output(n) => Cow::Borrowed(&env.outputs[*n]),
        other => Cow::Owned(eval(ctx, env, other)?),
    })
}

fn param<'a>(ctx: &Context<'a>, slot: usize) -> Result<&'a Value, SqlError> {
    let missing = || SqlError::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter ${}", slot + 1));
    ctx.params.get(slot).ok_or_else(missing)
}

fn truth_value(truth: Option<bool>) -> Value {
    truth.map_or(Value::Null, Value::Bool)
}

fn field_of(record: Value, field: usize) -> Value {
    match record {
        Value::Record(fields) => fields.get(field).cloned().unwrap_or(Value::Null),
        _ => Value::Null,
    }
}

/// A record is (not) null if all its fields are.
fn is_null(value: &Value, negated: bool) -> bool {
    match value {
        Value::Null => !negated,
        Value::Record(fields) => fields.iter().all(|f| matches!(f, Value::Null) != negated),
        _ => negated,
    }
}

/// AND and OR: `decides` is the operand that settles it.
fn junction(ctx: &mut Context<'_>, env: &Env<'_>, list: &[Expr], decides: bool) -> Result<Option<bool>, Interrupt> {
    let mut result = Some(!decides);
    for e in list {
        match truth(ctx, env, e)? {
            Some(t) if t == decides => return Ok(Some(decides)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(result)
}

#[inline(never)]
fn in_list(ctx: &mut Context<'_>, env: &Env<'_>, e: &Expr, list: &[Expr]) -> Result<Option<bool>, Interrupt> {
    let value = operand(ctx, env, e)?;
    let mut result = Some(false);
    for e in list {
        match equal(&value, &*operand(ctx, env, e)?) {
            Some(true) => return Ok(Some(true)),
            Some(false) => {}
            None => result = None,
        }
    }
    Ok(result)
}

fn integer(
    ctx: &mut Context<'_>,
    env: &Env<'_>,
    (op, range, builtin): (IntegerOp, &std::ops::RangeInclusive<i64>, &'static Builtin),
    a: &Expr,
    b: &Expr,
) -> Result<Value, Interrupt> {
    let a = operand(ctx, env, a)?;
    let b = operand(ctx, env, b)?;
    if let (Value::Int(a), Value::Int(b)) = (&*a, &*b) {
        let result = match op {
            IntegerOp::Add => a.checked_add(*b),
            IntegerOp::Subtract => a.checked_sub(*b),
            IntegerOp::Multiply => a.checked_mul(*b),
        };
        if let Some(result) = result.filter(|r| range.contains(r)) {
            return Ok(Value::Int(result));
        }
    }
    call_builtin(builtin, &[a.into_owned(), b.into_owned()])
}

#[inline(never)]
fn call_builtin(builtin: &Builtin, args: &[Value]) -> Result<Value, Interrupt> {
    match builtin.eval {
        isolde_sql::builtin::Eval::Pure(function) => Ok(apply(builtin.strict, function, args)?),
        isolde_sql::builtin::Eval::Session(_) => Ok(Value::Null),
    }
}

/// Calls a pure function; a strict one is not asked about NULL.
pub(crate) fn apply(strict: bool, function: PureFn, args: &[Value]) -> Result<Value, SqlError> {
    if strict && args.iter().any(|v| matches!(v, Value::Null)) {
        return Ok(Value::Null);
    }
    // Most values weigh nothing. What makes larger ones looks to that itself.
    let weight: u64 = args.iter().map(Value::weight).sum();
    if weight > 0 {
        spend(weight)?;
    }
    function(args)
}

/// Arguments on the stack, for the few that calls usually have.
type Args = SmallVec<[Value; 3]>;

fn arguments(ctx: &mut Context<'_>, env: &Env<'_>, list: &[Expr]) -> Result<Args, Interrupt> {
    let mut args = Args::new();
    for e in list {
        args.push(eval(ctx, env, e)?);
    }
    Ok(args)
}

#[inline(never)]
fn pure(
    ctx: &mut Context<'_>,
    env: &Env<'_>,
    builtin: &Builtin,
    function: PureFn,
    args: &[Expr],
) -> Result<Value, Interrupt> {
    let args = arguments(ctx, env, args)?;
    Ok(apply(builtin.strict, function, &args)?)
}

#[inline(never)]
fn session(
    ctx: &mut Context<'_>,
    env: &Env<'_>,
    function: SessionFunction,
    strict: bool,
    args: &[Expr],
) -> Result<Value, Interrupt> {
    let args = arguments(ctx, env, args)?;
    if strict && args.iter().any(|v| matches!(v, Value::Null)) {
        return Ok(Value::Null);
    }
    if function.is_stable() {
        return ctx.host.session_function(function, &args);
    }
    if let Some(result) = ctx.calls.next() {
        return Ok(result.into_value());
    }
    let value = ctx.host.session_function(function, &args)?;
    ctx.calls.record(CallResult::Value(value.clone()));
    Ok(value)
}

#[inline(never)]
fn case(
    ctx: &mut Context<'_>,
    env: &Env<'_>,
    whens: &[(Expr, Expr)],
    otherwise: Option<&Expr>,
) -> Result<Value, Interrupt> {
    for (condition, result) in whens {
        if is_true(ctx, env, condition)? {
            return eval(ctx, env, result);
        }
    }
    otherwise.map_or(Ok(Value::Null), |e| eval(ctx, env, e))
}

#[inline(never)]
fn coalesce(ctx: &mut Context<'_>, env: &Env<'_>, list: &[Expr]) -> Result<Value, Interrupt> {
    for e in list {
        let value = eval(ctx, env, e)?;
        if !matches!(value, Value::Null) {
            return Ok(value);
        }
    }
    Ok(Value::Null)
}

#[inline(never)]
fn extreme(ctx: &mut Context<'_>, env: &Env<'_>, list: &[Expr], greatest: bool) -> Result<Value, Interrupt> {
    let wanted = if greatest { Ordering::Greater } else { Ordering::Less };
    let mut best = Value::Null;
    for e in list {
        let value = eval(ctx, env, e)?;
        if !matches!(value, Value::Null) && (matches!(best, Value::Null) || value.cmp(&best) == wanted) {
            best = value;
        }
    }
    Ok(best)
}
