//! Queries inside expressions.
//!
//! A subquery that does not look at the row at hand has one result for all rows: PostgreSQL runs it once, and so do we.
//! The
//! [`Cache`] of the nearest query it does depend on keeps the result, or of the outermost if it stands alone.

use std::cell::RefCell;
use std::rc::Rc;

use isolde_sql::{Row, SqlError, SqlState, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::{CallResult, Context, Env, Inner, Interrupt, apply, operand, values};
use crate::plan::expr::{LockingSubquery, Operator, Quantified, Subquery};
use crate::query;

/// What one execution of a query remembers.
#[derive(Default)]
pub(crate) struct Cache {
    pub(super) results: RefCell<FxHashMap<usize, Cached>>,
    /// What the last rounds of recursive WITH queries found.
    pub(super) working: RefCell<FxHashMap<usize, Rc<[Row]>>>,
    /// Probes already in the footprint: the step, and its key.
    probes: RefCell<FxHashSet<(usize, SmallVec<[Value; 1]>)>>,
}

#[derive(Clone)]
pub(super) enum Cached {
    Value(Value),
    Exists(bool),
    Rows(Rc<[Row]>),
    Set(Rc<ValueSet>),
}

/// The one column of a subquery, for IN.
pub(super) struct ValueSet {
    values: FxHashSet<Value>,
    has_null: bool,
}

impl Cache {
    /// Whether this probe is made for the first time; remembers it.
    pub(crate) fn first_probe(&self, step: usize, key: &[Value]) -> bool {
        self.probes.borrow_mut().insert((step, key.into()))
    }
}

impl<'a> Env<'a> {
    /// The memory that lasts longest.
    pub(crate) fn outermost_cache(&self) -> Option<&'a Cache> {
        let mut found = self.cache;
        let mut env = self;
        while let Some(outer) = env.outer {
            found = outer.cache.or(found);
            env = outer;
        }
        found
    }

    /// The memory that lasts as long as the subquery's result.
    pub(super) fn cache_for(&self, query: &Subquery) -> Option<&'a Cache> {
        match query.outward {
            None => self.outermost_cache(),
            Some(0 | 1) => None,
            Some(n) => self.up(n - 2).cache,
        }
    }
}

/// Takes a result from the cache, or computes it and puts it there.
fn remember(
    ctx: &mut Context<'_>,
    env: &Env<'_>,
    query: &Subquery,
    compute: impl FnOnce(&mut Context<'_>) -> Result<Cached, Interrupt>,
) -> Result<Cached, Interrupt> {
    let Some(cache) = env.cache_for(query) else { return compute(ctx) };
    let address = std::ptr::from_ref(query) as usize;
    if let Some(found) = cache.results.borrow().get(&address) {
        return Ok(found.clone());
    }
    let result = compute(ctx)?;
    cache.results.borrow_mut().insert(address, result.clone());
    Ok(result)
}

/// The rows of a subquery, or the first so many; locked, if it says so.
fn run(ctx: &mut Context<'_>, env: &Env<'_>, query: &Subquery, wanted: u64) -> Result<Vec<Row>, Interrupt> {
    match &query.locking {
        None => query::at_most(ctx, &query.plan, Some(env), wanted),
        Some(locking) => match ctx.calls.next() {
            Some(CallResult::Rows(rows)) => Ok(rows),
            Some(CallResult::Value(_)) => unreachable!("calls are met in the order in which they were made"),
            None => Err(Interrupt::Lock(inner(ctx, env, locking)?)),
        },
    }
}

/// A locking subquery, ready to be run as a statement: with what it takes from the rows at hand.
fn inner(ctx: &mut Context<'_>, env: &Env<'_>, locking: &LockingSubquery) -> Result<Inner, Interrupt> {
    if locking.reads_with && env.outer.is_some() {
        return Err(query::locks_where_it_cannot_wait().into());
    }
    let statement = locking.statement.clone();
    if locking.taken.is_empty() {
        return Ok(Inner { statement, params: None, reads_with: locking.reads_with });
    }
    let kept = (0..locking.kept).map(|slot| ctx.params.get(slot).cloned().unwrap_or(Value::Null));
    let mut params: Vec<Value> = kept.collect();
    params.extend(values(ctx, env, &locking.taken)?);
    Ok(Inner { statement, params: Some(params.into()), reads_with: locking.reads_with })
}

/// The rows that a statement starts from.
pub(crate) fn run_source(ctx: &mut Context<'_>, env: &Env<'_>, query: &Subquery) -> Result<Vec<Row>, Interrupt> {
    run(ctx, env, query, u64::MAX)
}

/// `(SELECT a, b)` as a record.
pub(super) fn scalar_row(ctx: &mut Context<'_>, env: &Env<'_>, query: &Subquery) -> Result<Value, Interrupt> {
    let result = remember(ctx, env, query, |ctx| {
        let rows = run(ctx, env, query, 2)?;
        match rows.as_slice() {
            [] => Ok(Cached::Value(Value::Null)),
            [row] => Ok(Cached::Value(Value::Record(row.clone()))),
            _ => Err(too_many().into()),
        }
    })?;
    match result {
        Cached::Value(value) => Ok(value),
        _ => Ok(Value::Null),
    }
}

/// `(SELECT ...)`
pub(super) fn scalar(ctx: &mut Context<'_>, env: &Env<'_>, query: &Subquery) -> Result<Value, Interrupt> {
    let result = remember(ctx, env, query, |ctx| {
        let rows = run(ctx, env, query, 2)?;
        match rows.as_slice() {
            [] => Ok(Cached::Value(Value::Null)),
            [row] => Ok(Cached::Value(row.first().cloned().unwrap_or(Value::Null))),
            _ => Err(too_many().into()),
        }
    })?;
    match result {
        Cached::Value(value) => Ok(value),
        _ => Ok(Value::Null),
    }
}

fn too_many() -> SqlError {
    SqlError::new(SqlState::CARDINALITY_VIOLATION, "more than one row returned by a subquery used as an expression")
}

/// `EXISTS (SELECT ...)`
pub(super) fn exists(ctx: &mut Context<'_>, env: &Env<'_>, query: &Subquery) -> Result<bool, Interrupt> {
    let result = remember(ctx, env, query, |ctx| match query.locking {
        None => Ok(Cached::Exists(query::exists(ctx, &query.plan, Some(env))?)),
        Some(_) => Ok(Cached::Exists(!run(ctx, env, query, 1)?.is_empty())),
    })?;
    Ok(matches!(result, Cached::Exists(true)))
}

/// All rows of a subquery; computed once if they are the same for all rows of `env`.
pub(crate) fn rows_of(ctx: &mut Context<'_>, env: &Env<'_>, query: &Subquery) -> Result<Rc<[Row]>, Interrupt> {
    let result = remember(ctx, env, query, |ctx| Ok(Cached::Rows(run(ctx, env, query, u64::MAX)?.into())))?;
    match result {
        Cached::Rows(rows) => Ok(rows),
        _ => Ok(Rc::new([])),
    }
}

/// `left op ANY (SELECT ...)`
pub(super) fn quantified(ctx: &mut Context<'_>, env: &Env<'_>, q: &Quantified) -> Result<Option<bool>, Interrupt> {
    if let ([left], [Operator::Compare(super::Comparison::Equal)], false) = (&*q.left, &*q.ops, q.all)
        && env.cache_for(&q.query).is_some()
    {
        let value = operand(ctx, env, left)?;
        return Ok(value_set(ctx, env, &q.query)?.find(&value));
    }
    let left = values(ctx, env, &q.left)?;
    let rows = rows_of(ctx, env, &q.query)?;
    let mut result = Some(q.all);
    for row in rows.iter() {
        match compare_row(&left, &q.ops, row)? {
            Some(t) if t != q.all => return Ok(Some(t)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(result)
}

fn compare_row(left: &[Value], ops: &[Operator], row: &[Value]) -> Result<Option<bool>, SqlError> {
    let mut result = Some(true);
    for ((a, op), b) in left.iter().zip(ops).zip(row) {
        match op.of(a, b)? {
            Some(true) => {}
            Some(false) => return Ok(Some(false)),
            None => result = None,
        }
    }
    Ok(result)
}

/// What an operator says of two values.
pub(super) fn compared(op: Operator, a: &Value, b: &Value) -> Result<Option<bool>, SqlError> {
    op.of(a, b)
}

impl Operator {
    fn of(&self, a: &Value, b: &Value) -> Result<Option<bool>, SqlError> {
        match self {
            Operator::Compare(comparison) => Ok(comparison.of(a, b)),
            Operator::Pure(builtin, function) => match apply(builtin.strict, *function, &[a.clone(), b.clone()])? {
                Value::Bool(b) => Ok(Some(b)),
                _ => Ok(None),
            },
            Operator::Unknown => Ok(None),
        }
    }
}

fn value_set(ctx: &mut Context<'_>, env: &Env<'_>, query: &Subquery) -> Result<Rc<ValueSet>, Interrupt> {
    let result = remember(ctx, env, query, |ctx| {
        let mut set = ValueSet { values: FxHashSet::default(), has_null: false };
        for row in run(ctx, env, query, u64::MAX)? {
            match row.first() {
                None | Some(Value::Null) => set.has_null = true,
                Some(value) => drop(set.values.insert(value.clone())),
            }
        }
        Ok(Cached::Set(Rc::new(set)))
    })?;
    match result {
        Cached::Set(set) => Ok(set),
        _ => Ok(Rc::new(ValueSet { values: FxHashSet::default(), has_null: false })),
    }
}

impl ValueSet {
    fn find(&self, value: &Value) -> Option<bool> {
        match value {
            _ if self.values.is_empty() && !self.has_null => Some(false),
            Value::Null => None,
            value if self.values.contains(value) => Some(true),
            _ => (!self.has_null).then_some(false),
        }
    }
}
