//! GROUP BY and aggregates.
//!
//! One pass: every row finds its group by its keys (NULLs are equal here) and feeds the group's accumulators. Groups come out
//! in the order of their keys. Without GROUP BY there is one group, also when there are no rows.

use std::ops::ControlFlow;

use isolde_sql::builtin::Accumulator;
use isolde_sql::{Row, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::join::Run;
use super::sort::{self, Sorter};
use super::{Level, Window};
use crate::eval::{self, Context, Env, Interrupt};
use crate::plan::{AggregatePlan, GroupingPlan, QueryPlan, SelectPlan};

type Keys = SmallVec<[Value; 2]>;

/// The rows of a select with grouping.
pub(super) fn run(
    ctx: &mut Context<'_>,
    plan: &QueryPlan,
    select: &SelectPlan,
    level: Level<'_>,
    window: Window,
) -> Result<Vec<Row>, Interrupt> {
    let Some(grouping) = &select.grouping else { return Ok(Vec::new()) };
    let mut groups = Groups::new(grouping);
    Run::new(select, level).rows(ctx, &mut |ctx, run| {
        groups.add(ctx, &run.env())?;
        let decided = grouping.first_only && has_value(ctx, &run.env(), grouping)?;
        Ok(if decided { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    let mut sorter = Sorter::new(&plan.order_by);
    for (keys, aggregates) in groups.finish()? {
        let env = level.env().grouped(&keys, &aggregates);
        if let Some(having) = &grouping.having
            && !eval::is_true(ctx, &env, having)?
        {
            continue;
        }
        let row = eval::row(ctx, &env, &select.projection)?;
        sorter.push(ctx, &env.with_outputs(&row), row.clone())?;
    }
    if select.distinct {
        sorter.distinct();
    }
    Ok(window.of(sorter.finish()))
}

/// Whether the row at hand has a value for the only aggregate.
fn has_value(ctx: &mut Context<'_>, env: &Env<'_>, grouping: &GroupingPlan) -> Result<bool, Interrupt> {
    match grouping.calls.first().and_then(|call| call.args.first()) {
        Some(arg) => Ok(!eval::operand(ctx, env, arg)?.is_null()),
        None => Ok(false),
    }
}

struct Groups<'p> {
    plan: &'p GroupingPlan,
    positions: FxHashMap<Keys, usize>,
    groups: Vec<(Keys, Vec<State>)>,
}

impl<'p> Groups<'p> {
    fn new(plan: &'p GroupingPlan) -> Self {
        let mut groups = Groups { plan, positions: FxHashMap::default(), groups: Vec::new() };
        if plan.keys.is_empty() {
            groups.open(Keys::new());
        }
        groups
    }

    fn open(&mut self, keys: Keys) -> usize {
        self.groups.push((keys, self.plan.calls.iter().map(State::new).collect()));
        self.groups.len() - 1
    }

    fn add(&mut self, ctx: &mut Context<'_>, env: &Env<'_>) -> Result<(), Interrupt> {
        let position = if self.plan.keys.is_empty() { 0 } else { self.position(ctx, env)? };
        for (call, state) in self.plan.calls.iter().zip(&mut self.groups[position].1) {
            let wanted = match &call.filter {
                Some(filter) => eval::is_true(ctx, env, filter)?,
                None => true,
            };
            if wanted {
                state.add(ctx, env, call)?;
            }
        }
        Ok(())
    }

    fn position(&mut self, ctx: &mut Context<'_>, env: &Env<'_>) -> Result<usize, Interrupt> {
        let mut keys = Keys::new();
        for key in &self.plan.keys {
            keys.push(eval::eval(ctx, env, key)?);
        }
        if let Some(position) = self.positions.get(&keys) {
            return Ok(*position);
        }
        let position = self.open(keys.clone());
        self.positions.insert(keys, position);
        Ok(position)
    }

    /// The groups by their keys, with the results of their aggregates.
    fn finish(mut self) -> Result<Vec<(Keys, Vec<Value>)>, Interrupt> {
        self.groups.sort_by(|(a, _), (b, _)| a.cmp(b));
        let plan = self.plan;
        let results = |states: Vec<State>| {
            let calls = states.into_iter().zip(&plan.calls);
            calls.map(|(state, call)| state.finish(call)).collect::<Result<Vec<_>, Interrupt>>()
        };
        self.groups.into_iter().map(|(keys, states)| Ok((keys, results(states)?))).collect()
    }
}

/// An aggregate half way.
enum State {
    /// Fed row by row.
    Running(Accumulator),
    /// DISTINCT or ORDER BY: all arguments, with their sort keys, until the end.
    Gathered(Vec<(Keys, Keys)>),
}

impl State {
    fn new(call: &AggregatePlan) -> State {
        if call.distinct || !call.order_by.is_empty() {
            State::Gathered(Vec::new())
        } else {
            State::Running(Accumulator::new(call.aggregate))
        }
    }

    fn add(&mut self, ctx: &mut Context<'_>, env: &Env<'_>, call: &AggregatePlan) -> Result<(), Interrupt> {
        let mut args = Keys::new();
        for arg in &call.args {
            args.push(eval::eval(ctx, env, arg)?);
        }
        match self {
            State::Running(accumulator) => accumulator.add(&args)?,
            State::Gathered(rows) => {
                let mut keys = Keys::new();
                for key in &call.order_by {
                    keys.push(eval::eval(ctx, env, &key.expr)?);
                }
                rows.push((keys, args));
            }
        }
        Ok(())
    }

    fn finish(self, call: &AggregatePlan) -> Result<Value, Interrupt> {
        match self {
            State::Running(accumulator) => Ok(accumulator.finish()?),
            State::Gathered(mut rows) => {
                if call.distinct {
                    rows.sort_by(|(_, a), (_, b)| a.cmp(b));
                    rows.dedup_by(|(_, a), (_, b)| a == b);
                }
                rows.sort_by(|(a, _), (b, _)| sort::compare(&call.order_by, a, b));
                let mut accumulator = Accumulator::new(call.aggregate);
                for (_, args) in &rows {
                    accumulator.add(args)?;
                }
                Ok(accumulator.finish()?)
            }
        }
    }
}
