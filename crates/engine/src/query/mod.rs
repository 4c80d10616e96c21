//! Running plans.
//!
//! Rows are pushed, not pulled: the loops of [`join`] call a sink with every joined row, and the sink projects, groups
//! or collects, and says when it has had enough. So `EXISTS` and `LIMIT` stop the scan they sit on, and nothing is
//! materialised that a loop can visit in place.
//!
//! Where PostgreSQL's order is that of a hash table (GROUP BY, DISTINCT, UNION), ours is that of the values: an order
//! that depends neither on chance nor on who wrote first.

mod group;
mod join;
mod ordered_set;
mod scan;
mod siread;
mod sort;
mod stages;
mod window;

#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use isolde_sql::ast::SetOperator;
use isolde_sql::refused::Construct;
use isolde_sql::{Row, SqlError, SqlState, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::eval::{self, Cache, Context, Env, Extra, Interrupt, RelRow};
use crate::plan::{BodyPlan, Expr, QueryPlan, SelectPlan, WithPlan, WithScope};
use join::Run;
use sort::Sorter;

/// Whether to go on.
type Flow = Result<ControlFlow<()>, Interrupt>;

const GO_ON: Flow = Ok(ControlFlow::Continue(()));

/// Where a query runs: inside what, and with which memory.
#[derive(Clone, Copy)]
pub(crate) struct Level<'l> {
    outer: Option<&'l Env<'l>>,
    cache: &'l Cache,
    extra: Option<&'l Extra<'l>>,
}

impl<'l> Level<'l> {
    /// The query's own level, without rows.
    fn env(self) -> Env<'l> {
        Env::EMPTY.within(self.outer).cached(self.cache).extended(self.extra)
    }

    /// The level with these rows.
    pub(crate) fn of(self, rows: &'l [RelRow]) -> Env<'l> {
        Env::new(rows).within(self.outer).cached(self.cache).extended(self.extra)
    }

    /// Its WITH queries.
    fn withs(self) -> &'l [WithPlan] {
        self.extra.map_or(&[], |extra| extra.withs)
    }
}

/// What a query or statement with these WITH queries has to extend its level with.
fn extra_of(withs: &[WithPlan]) -> Option<Extra<'_>> {
    (!withs.is_empty()).then(|| Extra { withs, ..Extra::default() })
}

/// Runs `act` at the level of a statement that sees these WITH queries.
pub(crate) fn in_scope<T>(scope: &WithScope, act: impl FnOnce(Level<'_>) -> T) -> T {
    let cache = Cache::default();
    let around = scope.around.as_deref().and_then(extra_of);
    let outer = Env::EMPTY.cached(&cache).extended(around.as_ref());
    let own = scope.own.as_deref().and_then(extra_of);
    act(Level { outer: around.is_some().then_some(&outer), cache: &cache, extra: own.as_ref() })
}

/// One joined row, before projection: a row per relation of FROM.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// The rows.
    pub(crate) rows: SmallVec<[RelRow; 2]>,
}

/// The rows of a query: everything but row locks.
pub(crate) fn run(ctx: &mut Context<'_>, plan: &QueryPlan, outer: Option<&Env<'_>>) -> Result<Vec<Row>, Interrupt> {
    at_most(ctx, plan, outer, u64::MAX)
}

/// The first rows of a query; more may be returned where stopping early saves nothing.
pub(crate) fn at_most(
    ctx: &mut Context<'_>,
    plan: &QueryPlan,
    outer: Option<&Env<'_>>,
    wanted: u64,
) -> Result<Vec<Row>, Interrupt> {
    if plan.locks {
        return Err(locks_where_it_cannot_wait().into());
    }
    unread(ctx, |ctx| {
        let cache = Cache::default();
        let extra = extra_of(&plan.withs);
        let level = Level { outer, cache: &cache, extra: extra.as_ref() };
        let env = level.env();
        let mut window = Window::new(ctx, &env, plan)?;
        window.take = window.take.min(wanted);
        if window.take == 0 {
            return Ok(Vec::new());
        }
        match &plan.body {
            BodyPlan::Select(select) if select.stages.is_some() || plan.with_ties => {
                stages::run(ctx, plan, select, level, window)
            }
            BodyPlan::Select(select) if select.grouping.is_some() => group::run(ctx, plan, select, level, window),
            BodyPlan::Select(select) => select_rows(ctx, plan, select, level, window),
            BodyPlan::Values(rows) => {
                let rows = rows.iter().map(|row| eval::row(ctx, &env, row)).collect::<Result<Vec<_>, _>>()?;
                sorted_window(ctx, plan, &env, rows, window)
            }
            BodyPlan::SetOperation { op, all, left, right } => {
                let left = eval::run_source(ctx, &env, left)?;
                let right = eval::run_source(ctx, &env, right)?;
                sorted_window(ctx, plan, &env, set_operation(*op, *all, left, right), window)
            }
        }
    })
}

pub(crate) fn locks_where_it_cannot_wait() -> SqlError {
    SqlError::unsupported(Construct::LOCKING_WITH_FROM_OUTSIDE).hint("run it on a real server: --on postgres://...")
}

/// Whether a query has a row.
pub(crate) fn exists(ctx: &mut Context<'_>, plan: &QueryPlan, outer: Option<&Env<'_>>) -> Result<bool, Interrupt> {
    match plan.select().filter(|_| !plan.locks) {
        Some(select)
            if select.grouping.is_none()
                && select.stages.is_none()
                && plan.limit.is_none()
                && plan.offset.is_none() =>
        {
            unread(ctx, |ctx| {
                let cache = Cache::default();
                let mut found = false;
                let extra = extra_of(&plan.withs);
                Run::new(select, Level { outer, cache: &cache, extra: extra.as_ref() }).rows(ctx, &mut |_, _| {
                    found = true;
                    Ok(ControlFlow::Break(()))
                })?;
                Ok(found)
            })
        }
        _ => Ok(!at_most(ctx, plan, outer, 1)?.is_empty()),
    }
}

/// The joined rows that satisfy WHERE, for UPDATE and DELETE.
pub(crate) fn candidates(
    ctx: &mut Context<'_>,
    plan: &SelectPlan,
    withs: &WithScope,
) -> Result<Vec<Candidate>, Interrupt> {
    unread(ctx, |ctx| {
        let mut found = Vec::new();
        in_scope(withs, |level| {
            Run::new(plan, level).rows(ctx, &mut |_, run| {
                found.push(Candidate { rows: run.slots.clone() });
                GO_ON
            })
        })?;
        Ok(found)
    })
}

/// The candidates of a `SELECT ... FOR UPDATE`, sorted, with its LIMIT and OFFSET still to be applied.
pub(crate) fn locking_candidates(
    ctx: &mut Context<'_>,
    plan: &QueryPlan,
    withs: &WithScope,
) -> Result<(Vec<Candidate>, Option<u64>, u64), Interrupt> {
    unread(ctx, |ctx| in_scope(withs, |level| locking_candidates_at(ctx, plan, level)))
}

fn locking_candidates_at(
    ctx: &mut Context<'_>,
    plan: &QueryPlan,
    level: Level<'_>,
) -> Result<(Vec<Candidate>, Option<u64>, u64), Interrupt> {
    let window = Window::new(ctx, &level.env(), plan)?;
    let limit = (window.take != u64::MAX).then_some(window.take);
    let Some(select) = plan.select().filter(|_| window.take > 0) else {
        return Ok((Vec::new(), limit, window.skip));
    };
    let mut sorter = Sorter::new(&plan.order_by);
    Run::new(select, level).rows(ctx, &mut |ctx, run| {
        let outputs = if sorter.uses_outputs() { project_slots(ctx, select, run)? } else { Row::default() };
        let env = run.env().with_outputs(&outputs);
        sorter.push(ctx, &env, Candidate { rows: run.slots.clone() })?;
        GO_ON
    })?;
    Ok((sorter.finish(), limit, window.skip))
}

/// EvalPlanQual: whether exactly these rows still satisfy all join conditions and WHERE.
pub(crate) fn recheck(
    ctx: &mut Context<'_>,
    plan: &SelectPlan,
    withs: &WithScope,
    candidate: &Candidate,
) -> Result<bool, Interrupt> {
    let mut holds = false;
    in_scope(withs, |level| {
        Run::fixed(plan, candidate, level).rows(ctx, &mut |_, _| {
            holds = true;
            Ok(ControlFlow::Break(()))
        })
    })?;
    Ok(holds)
}

/// EvalPlanQual for MERGE: whether the target, which comes first, still belongs to the other rows.
pub(crate) fn still_joined(
    ctx: &mut Context<'_>,
    plan: &SelectPlan,
    withs: &WithScope,
    candidate: &Candidate,
) -> Result<bool, Interrupt> {
    let mut joined = false;
    in_scope(withs, |level| {
        Run::fixed(plan, candidate, level).rows(ctx, &mut |_, run| {
            joined = !run.slots[0].missing;
            Ok(ControlFlow::Break(()))
        })
    })?;
    Ok(joined)
}

/// The result row of a candidate.
pub(crate) fn project(
    ctx: &mut Context<'_>,
    plan: &QueryPlan,
    withs: &WithScope,
    candidate: &Candidate,
) -> Result<Row, Interrupt> {
    let select = plan.select().expect("only a select has candidates");
    in_scope(withs, |level| eval::row(ctx, &level.of(&candidate.rows), &select.projection))
}

/// Runs `f`; if it stops at a call, it will run again, so what it has read so far is forgotten.
fn unread<T>(ctx: &mut Context<'_>, f: impl FnOnce(&mut Context<'_>) -> Result<T, Interrupt>) -> Result<T, Interrupt> {
    let before = ctx.reads.len();
    let result = f(ctx);
    if let Err(Interrupt::Call(..) | Interrupt::Lock(_) | Interrupt::With(..)) = result {
        ctx.reads.truncate(before);
    }
    result
}

/// The rows of a select without grouping.
fn select_rows(
    ctx: &mut Context<'_>,
    plan: &QueryPlan,
    select: &SelectPlan,
    level: Level<'_>,
    window: Window,
) -> Result<Vec<Row>, Interrupt> {
    let mut run = Run::new(select, level);
    if (plan.order_by.is_empty() || plan.sorted) && !select.distinct {
        let mut rows = Vec::new();
        let mut skip = window.skip;
        run.rows(ctx, &mut |ctx, run| {
            if skip > 0 {
                skip -= 1;
                return GO_ON;
            }
            rows.push(project_slots(ctx, select, run)?);
            Ok(if rows.len() as u64 >= window.take { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        return Ok(rows);
    }
    let wanted = if select.distinct { u64::MAX } else { window.skip.saturating_add(window.take) };
    let mut sorter = Sorter::new(&plan.order_by).first(wanted);
    if select.late && !sorter.uses_outputs() {
        return late_rows(ctx, plan, select, level, window);
    }
    run.rows(ctx, &mut |ctx, run| {
        let row = project_slots(ctx, select, run)?;
        let env = run.env().with_outputs(&row);
        sorter.push(ctx, &env, row.clone())?;
        GO_ON
    })?;
    if select.distinct {
        sorter.distinct();
    }
    Ok(window.of(sorter.finish()))
}

/// The same where the select list is evaluated last, because it has effects.
fn late_rows(
    ctx: &mut Context<'_>,
    plan: &QueryPlan,
    select: &SelectPlan,
    level: Level<'_>,
    window: Window,
) -> Result<Vec<Row>, Interrupt> {
    let mut sorter = Sorter::new(&plan.order_by).first(window.skip.saturating_add(window.take));
    Run::new(select, level).rows(ctx, &mut |ctx, run| {
        sorter.push(ctx, &run.env(), run.slots.clone())?;
        GO_ON
    })?;
    let found = window.of(sorter.finish());
    found
        .iter()
        .map(|slots| {
            let env = Env::new(slots).within(level.outer).cached(level.cache).extended(level.extra);
            eval::row(ctx, &env, &select.projection)
        })
        .collect()
}

fn project_slots(ctx: &mut Context<'_>, select: &SelectPlan, run: &Run<'_>) -> Result<Row, Interrupt> {
    match select.whole {
        Some(rel) => Ok(run.slots[rel].values.clone()),
        None => eval::row(ctx, &run.env(), &select.projection),
    }
}

/// Sorts rows by keys that see nothing but them, and cuts the window out.
fn sorted_window(
    ctx: &mut Context<'_>,
    plan: &QueryPlan,
    env: &Env<'_>,
    rows: Vec<Row>,
    window: Window,
) -> Result<Vec<Row>, Interrupt> {
    if plan.order_by.is_empty() {
        return Ok(window.of(rows));
    }
    let mut sorter = Sorter::new(&plan.order_by);
    for row in rows {
        sorter.push(ctx, &env.with_outputs(&row), row.clone())?;
    }
    Ok(sorter.finish_within(window, plan.with_ties))
}

/// UNION, INTERSECT, EXCEPT; rows are the same if they are not distinct. Without ALL the result is sorted.
fn set_operation(op: SetOperator, all: bool, mut left: Vec<Row>, right: Vec<Row>) -> Vec<Row> {
    match op {
        SetOperator::Union => left.extend(right),
        SetOperator::Intersect | SetOperator::Except => {
            let keeps_found = op == SetOperator::Intersect;
            let mut counts: FxHashMap<Row, usize> = FxHashMap::default();
            right.into_iter().for_each(|row| *counts.entry(row).or_default() += 1);
            left.retain(|row| {
                let found = counts.get_mut(row).is_some_and(|n| {
                    let found = *n > 0;
                    *n -= usize::from(found && all);
                    found
                });
                found == keeps_found
            });
        }
    }
    if !all {
        left.sort();
        left.dedup();
    }
    left
}

/// LIMIT and OFFSET.
#[derive(Clone, Copy)]
struct Window {
    skip: u64,
    take: u64,
}

impl Window {
    fn new(ctx: &mut Context<'_>, env: &Env<'_>, plan: &QueryPlan) -> Result<Window, Interrupt> {
        let skip = count(ctx, env, plan.offset.as_ref(), OFFSET)?.unwrap_or(0);
        let take = count(ctx, env, plan.limit.as_ref(), LIMIT)?.unwrap_or(u64::MAX);
        Ok(Window { skip, take })
    }

    fn of<T>(self, mut rows: Vec<T>) -> Vec<T> {
        let len = rows.len() as u64;
        let skip = self.skip.min(len);
        rows.truncate(skip.saturating_add(self.take).min(len) as usize);
        rows.drain(..skip as usize);
        rows
    }
}

const LIMIT: (SqlState, &str) = (SqlState::INVALID_ARGUMENT_FOR_LIMIT, "LIMIT must not be negative");
const OFFSET: (SqlState, &str) = (SqlState(*b"2201X"), "OFFSET must not be negative");

/// The number of rows that LIMIT or OFFSET says; `None` for none or NULL.
fn count(
    ctx: &mut Context<'_>,
    env: &Env<'_>,
    expr: Option<&Expr>,
    (state, message): (SqlState, &str),
) -> Result<Option<u64>, Interrupt> {
    let Some(expr) = expr else { return Ok(None) };
    match eval::eval(ctx, env, expr)? {
        Value::Int(n) => match u64::try_from(n) {
            Ok(n) => Ok(Some(n)),
            Err(_) => Err(SqlError::new(state, message).into()),
        },
        _ => Ok(None),
    }
}
