//! GROUP BY and aggregates.
//!
//! One pass: every row finds its group by its keys (NULLs are equal here) and feeds the group's accumulators. Groups
//! come out in the order of their keys. Without GROUP BY there is one group, also when there are no rows.

use std::ops::ControlFlow;

use isolde_sql::builtin::Accumulator;
use isolde_sql::{Row, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::join::Run;
use super::ordered_set;
use super::sort::{self, Sorter};
use super::{Level, Window};
use crate::eval::{self, Context, Env, Interrupt};
use crate::plan::{AggregatePlan, GroupingPlan, QueryPlan, SelectPlan};

pub(super) type Keys = SmallVec<[Value; 2]>;

/// The rows of a select with grouping.
pub(super) fn run(
    ctx: &mut Context<'_>,
    plan: &QueryPlan,
    select: &SelectPlan,
    level: Level<'_>,
    window: Window,
) -> Result<Vec<Row>, Interrupt> {
    let Some(grouping) = &select.grouping else { return Ok(Vec::new()) };
    let mut sorter = Sorter::new(&plan.order_by);
    for (keys, aggregates) in groups(ctx, select, grouping, level)? {
        let env = level.env().grouped(&keys, &aggregates);
        if !has(ctx, &env, grouping)? {
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

/// All groups, with their keys and the results of their aggregates.
pub(super) fn groups(
    ctx: &mut Context<'_>,
    select: &SelectPlan,
    grouping: &GroupingPlan,
    level: Level<'_>,
) -> Result<Vec<(Keys, Vec<Value>)>, Interrupt> {
    let mut groups = Groups::new(grouping);
    Run::new(select, level).rows(ctx, &mut |ctx, run| {
        groups.add(ctx, &run.env())?;
        let decided = grouping.first_only && has_value(ctx, &run.env(), grouping)?;
        Ok(if decided { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    groups.finish()
}

/// Whether a group satisfies HAVING.
pub(super) fn has(ctx: &mut Context<'_>, env: &Env<'_>, grouping: &GroupingPlan) -> Result<bool, Interrupt> {
    grouping.having.as_ref().map_or(Ok(true), |having| eval::is_true(ctx, env, having))
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
        if plan.sets.is_empty() && plan.keys.is_empty() {
            groups.open(Keys::new());
        }
        for (number, _) in plan.sets.iter().enumerate().filter(|(_, set)| set.is_empty()) {
            let keys = groups.in_set(number, &vec![Value::Null; plan.keys.len()]);
            let position = groups.open(keys.clone());
            groups.positions.insert(keys, position);
        }
        groups
    }

    fn open(&mut self, keys: Keys) -> usize {
        self.groups.push((keys, self.plan.calls.iter().map(State::new).collect()));
        self.groups.len() - 1
    }

    fn add(&mut self, ctx: &mut Context<'_>, env: &Env<'_>) -> Result<(), Interrupt> {
        if !self.plan.sets.is_empty() {
            return self.add_to_sets(ctx, env);
        }
        let position = if self.plan.keys.is_empty() { 0 } else { self.position(ctx, env)? };
        self.feed(ctx, env, position)
    }

    /// GROUPING SETS: the row belongs to a group of each set.
    fn add_to_sets(&mut self, ctx: &mut Context<'_>, env: &Env<'_>) -> Result<(), Interrupt> {
        let all = eval::values(ctx, env, &self.plan.keys)?;
        for number in 0..self.plan.sets.len() {
            let keys = self.in_set(number, &all);
            let position = match self.positions.get(&keys) {
                Some(position) => *position,
                None => {
                    let position = self.open(keys.clone());
                    self.positions.insert(keys, position);
                    position
                }
            };
            self.feed(ctx, env, position)?;
        }
        Ok(())
    }

    /// The keys of a group of a set: its number, and the values that count.
    fn in_set(&self, number: usize, all: &[Value]) -> Keys {
        let set = &self.plan.sets[number];
        let value = |(i, v): (usize, &Value)| if set.contains(&i) { v.clone() } else { Value::Null };
        std::iter::once(Value::Int(number as i64)).chain(all.iter().enumerate().map(value)).collect()
    }

    fn feed(&mut self, ctx: &mut Context<'_>, env: &Env<'_>, position: usize) -> Result<(), Interrupt> {
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
        let groups = self.groups.into_iter();
        groups.map(|(keys, states)| Ok((with_masks(plan, keys), results(states)?))).collect()
    }
}

/// The keys of a group as expressions see them: the values of GROUPING(...) behind them.
fn with_masks(plan: &GroupingPlan, mut keys: Keys) -> Keys {
    let set = match plan.sets.is_empty() {
        true => None,
        false => match keys.remove(0) {
            Value::Int(number) => plan.sets.get(number as usize),
            _ => None,
        },
    };
    for mask in &plan.masks {
        let left_out = |key: &usize| set.is_some_and(|set| !set.contains(key));
        keys.push(Value::Int(mask.iter().fold(0, |bits, key| bits << 1 | i64::from(left_out(key)))));
    }
    keys
}

/// An aggregate half way.
#[derive(Clone)]
pub(super) enum State {
    /// Fed row by row.
    Running(Accumulator),
    /// DISTINCT or ORDER BY: all arguments, with their sort keys, until the end.
    Gathered(Vec<(Keys, Keys)>),
}

impl State {
    pub(super) fn new(call: &AggregatePlan) -> State {
        if call.distinct || !call.order_by.is_empty() {
            State::Gathered(Vec::new())
        } else {
            State::Running(Accumulator::new(call.aggregate))
        }
    }

    pub(super) fn add(&mut self, ctx: &mut Context<'_>, env: &Env<'_>, call: &AggregatePlan) -> Result<(), Interrupt> {
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

    pub(super) fn finish(self, call: &AggregatePlan) -> Result<Value, Interrupt> {
        match self {
            State::Running(accumulator) => Ok(accumulator.finish()?),
            State::Gathered(mut rows) => {
                if call.distinct {
                    rows.sort_by(|(_, a), (_, b)| a.cmp(b));
                    rows.dedup_by(|(_, a), (_, b)| a == b);
                }
                rows.sort_by(|(a, _), (b, _)| sort::compare(&call.order_by, a, b));
                if call.aggregate.kind.is_ordered_set() {
                    return Ok(ordered_set::finish(call, rows.into_iter().map(|(_, args)| args))?);
                }
                let mut accumulator = Accumulator::new(call.aggregate);
                for (_, args) in &rows {
                    accumulator.add(args)?;
                }
                Ok(accumulator.finish()?)
            }
        }
    }
}
