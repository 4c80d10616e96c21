//! The rows of WITH queries.
//!
//! A WITH query is computed when somebody first asks for its rows, and its result kept for all who ask later. A
//! recursive one yields its rows as it finds them, round by round, so that a LIMIT above it can stop what would never
//! end. One that changes rows is a statement of its own: evaluation stops until it has run.

use std::ops::ControlFlow;
use std::rc::Rc;

use isolde_sql::Row;
use isolde_sql::budget::spend;
use rustc_hash::FxHashSet;

use super::subquery::{Cached, rows_of};
use super::{Context, Env, Interrupt};
use crate::plan::WithPlan;

/// Whether to go on.
type Flow = Result<ControlFlow<()>, Interrupt>;

/// What a row of a recursive query costs, which is kept until the last one is found: a million are too many.
const ROW_COST: u64 = 100;

/// Calls `visit` with each row of a WITH query of the level `env`.
pub(crate) fn each_with(
    ctx: &mut Context<'_>,
    env: &Env<'_>,
    index: usize,
    visit: &mut dyn FnMut(&mut Context<'_>, &Row) -> Flow,
) -> Flow {
    let Some(with) = env.extra.and_then(|extra| extra.withs.get(index)) else {
        unreachable!("a WITH query is read below the query that has it")
    };
    match with {
        WithPlan::Query(query) => {
            let rows = rows_of(ctx, env, query)?;
            visit_all(ctx, &rows, visit)
        }
        WithPlan::Modify { slot, statement } => match ctx.calls.with(*slot) {
            Some(rows) => rows.iter().try_fold(ControlFlow::Continue(()), |flow, row| match flow {
                ControlFlow::Continue(()) => visit(ctx, row),
                stop => Ok(stop),
            }),
            None => Err(Interrupt::With(*slot, statement.clone())),
        },
        WithPlan::Recursive { .. } => recursive(ctx, env, with, visit),
    }
}

/// The rows that the last round of a recursive WITH query found.
pub(crate) fn working(env: &Env<'_>, index: usize) -> Rc<[Row]> {
    let with = env.extra.and_then(|extra| extra.withs.get(index)).map(address);
    let found = with.zip(env.cache).and_then(|(with, cache)| cache.working.borrow().get(&with).cloned());
    found.unwrap_or_else(|| Rc::new([]))
}

fn address(with: &WithPlan) -> usize {
    std::ptr::from_ref(with) as usize
}

fn visit_all(ctx: &mut Context<'_>, rows: &[Row], visit: &mut dyn FnMut(&mut Context<'_>, &Row) -> Flow) -> Flow {
    for row in rows {
        if visit(ctx, row)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn recursive(
    ctx: &mut Context<'_>,
    env: &Env<'_>,
    with: &WithPlan,
    visit: &mut dyn FnMut(&mut Context<'_>, &Row) -> Flow,
) -> Flow {
    let (WithPlan::Recursive { first, step, all }, Some(cache)) = (with, env.cache) else {
        unreachable!("a recursive WITH query belongs to a query that is being run")
    };
    if let Some(Cached::Rows(rows)) = cache.results.borrow().get(&address(with)).cloned().as_ref() {
        return visit_all(ctx, rows, visit);
    }
    let mut seen: FxHashSet<Row> = FxHashSet::default();
    let mut found: Vec<Row> = Vec::new();
    let mut round = crate::query::run(ctx, &first.plan, Some(env))?;
    loop {
        if !all {
            round.retain(|row| seen.insert(row.clone()));
        }
        if round.is_empty() {
            break;
        }
        if visit_all(ctx, &round, visit)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        found.extend(round.iter().cloned());
        spend(round.len() as u64 * ROW_COST)?;
        let before = cache.working.borrow_mut().insert(address(with), round.into());
        let next = crate::query::run(ctx, &step.plan, Some(env));
        match before {
            Some(before) => drop(cache.working.borrow_mut().insert(address(with), before)),
            None => drop(cache.working.borrow_mut().remove(&address(with))),
        }
        round = next?;
    }
    cache.results.borrow_mut().insert(address(with), Cached::Rows(found.into()));
    Ok(ControlFlow::Continue(()))
}
