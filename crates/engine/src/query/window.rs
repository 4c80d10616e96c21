//! Window functions.
//!
//! The rows are sorted by partition and order; each partition is then a list in which a row's frame is a range of
//! places, less what EXCLUDE takes out of it. Rows that are equal in the order are *peers*. An aggregate whose frame
//! begins with the partition is fed on as the frame grows; any other is computed anew for each frame.

use std::cmp::Ordering;
use std::ops::Range;

use isolde_sql::ast::{FrameExclude, FrameUnits};
use isolde_sql::budget::spend;
use isolde_sql::builtin::{Eval, WindowKind};
use isolde_sql::{SqlError, SqlState, Value, value};

use super::Level;
use super::group::{Keys, State};
use super::sort;
use super::stages::Base;
use crate::eval::{self, Context, Extra, Interrupt};
use crate::plan::{AggregatePlan, BoundPlan, CallPlan, Expr, FramePlan, WindowPlan};

/// What a row costs that an aggregate is fed.
const FEED_COST: u64 = 8;

/// Computes the functions of one window for all rows, which are then in its order.
pub(super) fn compute(
    ctx: &mut Context<'_>,
    plan: &WindowPlan,
    level: Level<'_>,
    bases: &mut Vec<Base>,
) -> Result<(), Interrupt> {
    let mut sorted: Vec<(Keys, Keys, Base)> = Vec::new();
    for base in std::mem::take(bases) {
        let extra = Extra { withs: level.withs(), windowed: &base.windowed, expanded: &[] };
        let env = base.env(level, &extra);
        let partition =
            plan.partition_by.iter().map(|k| eval::eval(ctx, &env, &k.expr)).collect::<Result<Keys, _>>()?;
        let order = plan.order_by.iter().map(|k| eval::eval(ctx, &env, &k.expr)).collect::<Result<Keys, _>>()?;
        sorted.push((partition, order, base));
    }
    if !plan.partition_by.is_empty() || !plan.order_by.is_empty() {
        sorted.sort_by(|a, b| {
            let partition = sort::compare(&plan.partition_by, &a.0, &b.0);
            partition.then_with(|| sort::compare(&plan.order_by, &a.1, &b.1))
        });
    }
    let bounds = (
        offset(ctx, level, &plan.frame.start, "starting", plan.frame.units)?,
        offset(ctx, level, &plan.frame.end, "ending", plan.frame.units)?,
    );
    let mut from = 0;
    while from < sorted.len() {
        let len = sorted[from..].iter().take_while(|row| row.0 == sorted[from].0).count();
        let mut partition = Partition::new(plan, &bounds, &mut sorted[from..from + len]);
        for (number, call) in &plan.calls {
            partition.call(ctx, level, *number, call)?;
        }
        from += len;
    }
    *bases = sorted.into_iter().map(|(_, _, base)| base).collect();
    Ok(())
}

/// The distance of a bound, if it has one.
fn offset(
    ctx: &mut Context<'_>,
    level: Level<'_>,
    bound: &BoundPlan,
    which: &str,
    units: FrameUnits,
) -> Result<Option<Value>, Interrupt> {
    let (BoundPlan::Preceding(distance, _) | BoundPlan::Following(distance, _)) = bound else { return Ok(None) };
    let distance = eval::eval(ctx, &level.env(), distance)?;
    let refuse = |state: &[u8; 5], message: String| Err(SqlError::new(SqlState(*state), message).into());
    if distance.is_null() {
        return refuse(b"22004", format!("frame {which} offset must not be null"));
    }
    let negative = match &distance {
        Value::Int(n) => *n < 0,
        Value::Float(x) => *x < 0.0 || x.is_nan(),
        Value::Interval(i) => *i < isolde_sql::value::Interval::default(),
        number => {
            *number < value::cast(&Value::Int(0), isolde_sql::Type::Int8, isolde_sql::Type::Numeric(None), false)?
        }
    };
    match (negative, units) {
        (true, FrameUnits::Range) => refuse(b"22013", "invalid preceding or following size in window function".into()),
        (true, _) => refuse(b"22013", format!("frame {which} offset must not be negative")),
        (false, _) => Ok(Some(distance)),
    }
}

/// The rows of one partition.
struct Partition<'p> {
    plan: &'p WindowPlan,
    bounds: &'p (Option<Value>, Option<Value>),
    rows: &'p mut [(Keys, Keys, Base)],
    /// For each row, the places of its peers.
    peers: Vec<Range<usize>>,
    /// For each row, the number of its group of peers.
    group: Vec<usize>,
    /// The places of each group.
    groups: Vec<Range<usize>>,
}

impl<'p> Partition<'p> {
    fn new(
        plan: &'p WindowPlan,
        bounds: &'p (Option<Value>, Option<Value>),
        rows: &'p mut [(Keys, Keys, Base)],
    ) -> Self {
        let mut groups: Vec<Range<usize>> = Vec::new();
        for i in 0..rows.len() {
            match groups.last_mut() {
                Some(group) if rows[group.start].1 == rows[i].1 => group.end = i + 1,
                _ => groups.push(i..i + 1),
            }
        }
        let peers: Vec<Range<usize>> = groups.iter().flat_map(|g| g.clone().map(|_| g.clone())).collect();
        let group = groups.iter().enumerate().flat_map(|(n, g)| g.clone().map(move |_| n)).collect();
        Partition { plan, bounds, rows, peers, group, groups }
    }

    fn call(
        &mut self,
        ctx: &mut Context<'_>,
        level: Level<'_>,
        number: usize,
        call: &CallPlan,
    ) -> Result<(), Interrupt> {
        match call {
            CallPlan::Aggregate(aggregate) => self.aggregate(ctx, level, number, aggregate),
            CallPlan::Function(kind, args) => {
                for row in 0..self.rows.len() {
                    let result = self.function(ctx, level, *kind, args, row)?;
                    self.rows[row].2.windowed[number] = result;
                }
                Ok(())
            }
        }
    }

    /// An argument, as the row at this place sees it.
    fn argument(&self, ctx: &mut Context<'_>, level: Level<'_>, row: usize, arg: &Expr) -> Result<Value, Interrupt> {
        let base = &self.rows[row].2;
        let extra = Extra { withs: level.withs(), windowed: &base.windowed, expanded: &[] };
        eval::eval(ctx, &base.env(level, &extra), arg)
    }

    fn function(
        &self,
        ctx: &mut Context<'_>,
        level: Level<'_>,
        kind: WindowKind,
        args: &[Expr],
        row: usize,
    ) -> Result<Value, Interrupt> {
        let count = self.rows.len();
        let peers = &self.peers[row];
        Ok(match kind {
            WindowKind::RowNumber => Value::Int(row as i64 + 1),
            WindowKind::Rank => Value::Int(peers.start as i64 + 1),
            WindowKind::DenseRank => Value::Int(self.group[row] as i64 + 1),
            WindowKind::PercentRank if count <= 1 => Value::Float(0.0),
            WindowKind::PercentRank => Value::Float(peers.start as f64 / (count - 1) as f64),
            WindowKind::CumeDist => Value::Float(peers.end as f64 / count as f64),
            WindowKind::Ntile => self.ntile(ctx, level, args, row)?,
            WindowKind::Lag | WindowKind::Lead => self.neighbour(ctx, level, kind, args, row)?,
            WindowKind::FirstValue => match self.counted(row)?.first() {
                Some(Some(at)) => self.argument(ctx, level, *at, &args[0])?,
                _ => Value::Null,
            },
            WindowKind::LastValue => match self.counted(row)?.last() {
                Some(Some(at)) => self.argument(ctx, level, *at, &args[0])?,
                _ => Value::Null,
            },
            WindowKind::NthValue => match self.argument(ctx, level, row, &args[1])? {
                Value::Int(n) if n > 0 => match self.counted(row)?.get(n as usize - 1) {
                    Some(Some(at)) => self.argument(ctx, level, *at, &args[0])?,
                    _ => Value::Null,
                },
                Value::Int(_) => {
                    let message = "argument of nth_value must be greater than zero";
                    return Err(SqlError::new(SqlState(*b"22016"), message).into());
                }
                _ => Value::Null,
            },
        })
    }

    fn ntile(&self, ctx: &mut Context<'_>, level: Level<'_>, args: &[Expr], row: usize) -> Result<Value, Interrupt> {
        // The number of buckets is that of the partition's first row.
        let buckets = match self.argument(ctx, level, 0, &args[0])? {
            Value::Int(n) if n > 0 => n as usize,
            Value::Int(_) => {
                let message = "argument of ntile must be greater than zero";
                return Err(SqlError::new(SqlState(*b"22014"), message).into());
            }
            _ => return Ok(Value::Null),
        };
        let count = self.rows.len();
        let (size, larger) = (count / buckets, count % buckets);
        let bucket = match row < larger * (size + 1) {
            true => row / (size + 1),
            false => larger + (row - larger * (size + 1)) / size.max(1),
        };
        Ok(Value::Int(bucket as i64 + 1))
    }

    fn neighbour(
        &self,
        ctx: &mut Context<'_>,
        level: Level<'_>,
        kind: WindowKind,
        args: &[Expr],
        row: usize,
    ) -> Result<Value, Interrupt> {
        let distance = match args.get(1) {
            None => 1,
            Some(arg) => match self.argument(ctx, level, row, arg)? {
                Value::Int(n) => n,
                _ => return Ok(Value::Null),
            },
        };
        let at = if kind == WindowKind::Lag { row as i64 - distance } else { row as i64 + distance };
        match usize::try_from(at).ok().filter(|at| *at < self.rows.len()) {
            Some(at) => self.argument(ctx, level, at, &args[0]),
            None => args.get(2).map_or(Ok(Value::Null), |default| self.argument(ctx, level, row, default)),
        }
    }

    /// The places of the rows in a row's frame.
    fn frame(&self, row: usize) -> Result<Vec<usize>, Interrupt> {
        let (start, end) = self.extent(row)?;
        spend(end.saturating_sub(start) as u64)?;
        let excluded = |at: &usize| match self.plan.frame.exclude {
            FrameExclude::NoOthers => false,
            FrameExclude::CurrentRow => *at == row,
            FrameExclude::Group => self.peers[row].contains(at),
            FrameExclude::Ties => *at != row && self.peers[row].contains(at),
        };
        Ok((start..end.max(start)).filter(|at| !excluded(at)).collect())
    }

    /// The same, as functions that ask for one of them count. In the place of the ties that are left out PostgreSQL
    /// counts the row itself, even where that is not in its frame: then there is nothing in that place.
    fn counted(&self, row: usize) -> Result<Vec<Option<usize>>, Interrupt> {
        let mut places: Vec<Option<usize>> = self.frame(row)?.into_iter().map(Some).collect();
        let (start, end) = self.extent(row)?;
        let ties = self.peers[row].start.max(start)..self.peers[row].end.min(end);
        let is_outside = !(start..end).contains(&row);
        if self.plan.frame.exclude == FrameExclude::Ties && is_outside && !ties.is_empty() {
            places.insert(ties.start - start, None);
        }
        Ok(places)
    }

    /// Where a row's frame begins and ends.
    fn extent(&self, row: usize) -> Result<(usize, usize), Interrupt> {
        let frame = &self.plan.frame;
        let count = self.rows.len();
        let start = self.bound(row, frame, &frame.start, self.bounds.0.as_ref(), false)?;
        let end = self.bound(row, frame, &frame.end, self.bounds.1.as_ref(), true)?;
        Ok((start.min(count), end.min(count)))
    }

    fn bound(
        &self,
        row: usize,
        frame: &FramePlan,
        bound: &BoundPlan,
        distance: Option<&Value>,
        is_end: bool,
    ) -> Result<usize, Interrupt> {
        let (following, reach) = match bound {
            BoundPlan::UnboundedPreceding => return Ok(0),
            BoundPlan::UnboundedFollowing => return Ok(self.rows.len()),
            BoundPlan::CurrentRow => {
                let peers = if frame.units == FrameUnits::Rows { row..row + 1 } else { self.peers[row].clone() };
                return Ok(if is_end { peers.end } else { peers.start });
            }
            BoundPlan::Preceding(_, reach) => (false, reach),
            BoundPlan::Following(_, reach) => (true, reach),
        };
        let distance = distance.unwrap_or(&Value::Null);
        let far = |n: i64| usize::try_from(n).unwrap_or(usize::MAX);
        match (frame.units, distance) {
            (FrameUnits::Rows, Value::Int(n)) => {
                let at = match following {
                    true => row.saturating_add(far(*n)),
                    // Before the first row: nothing comes before an end, everything after a start.
                    false if far(*n) > row => return Ok(0),
                    false => row - far(*n),
                };
                Ok(if is_end { at.saturating_add(1) } else { at })
            }
            (FrameUnits::Groups, Value::Int(n)) => {
                let group = self.group[row];
                let at = match following {
                    true => group.saturating_add(far(*n)),
                    false if far(*n) > group => return Ok(0),
                    false => group - far(*n),
                };
                Ok(match self.groups.get(at) {
                    Some(group) => {
                        if is_end {
                            group.end
                        } else {
                            group.start
                        }
                    }
                    None => self.rows.len(),
                })
            }
            _ => self.in_range(row, frame, distance, following, is_end, *reach),
        }
    }

    /// RANGE: the first row within the distance, or the one behind the last.
    fn in_range(
        &self,
        row: usize,
        frame: &FramePlan,
        distance: &Value,
        following: bool,
        is_end: bool,
        reach: Option<crate::plan::Reach>,
    ) -> Result<usize, Interrupt> {
        let (Some((minus, plus)), Some((from, to)), Some(order)) = (reach, frame.measured, self.plan.order_by.first())
        else {
            return Ok(0);
        };
        let key = &self.rows[row].1[0];
        let peers = &self.peers[row];
        if key.is_null() {
            return Ok(if is_end { peers.end } else { peers.start });
        }
        let measured = |v: &Value| value::cast(v, from, to, false);
        // Going on in descending order means smaller keys.
        let operator = if following != order.descending { plus } else { minus };
        let limit = match operator.eval {
            Eval::Pure(function) => function(&[measured(key)?, distance.clone()]),
            Eval::Session(_) => Ok(Value::Null),
        };
        let Ok(limit) = limit else { return Ok(if following { self.rows.len() } else { 0 }) };
        // The place of each row relative to the limit, in the order of the window.
        let is_before = |other: &Value| -> Result<bool, SqlError> {
            if other.is_null() {
                return Ok(order.nulls_first);
            }
            let order_of = match order.descending {
                true => limit.cmp(&measured(other)?),
                false => measured(other)?.cmp(&limit),
            };
            Ok(order_of == Ordering::Less || (is_end && order_of == Ordering::Equal))
        };
        let mut at = 0;
        while at < self.rows.len() && is_before(&self.rows[at].1[0])? {
            at += 1;
        }
        Ok(at)
    }

    fn aggregate(
        &mut self,
        ctx: &mut Context<'_>,
        level: Level<'_>,
        number: usize,
        plan: &AggregatePlan,
    ) -> Result<(), Interrupt> {
        let grows = matches!(self.plan.frame.start, BoundPlan::UnboundedPreceding)
            && self.plan.frame.exclude == FrameExclude::NoOthers;
        let mut running = State::new(plan);
        let mut fed = 0;
        for row in 0..self.rows.len() {
            let result = if grows {
                let end = self.extent(row)?.1;
                while fed < end {
                    self.feed(ctx, level, plan, &mut running, fed)?;
                    fed += 1;
                }
                running.clone().finish(plan)?
            } else {
                let mut state = State::new(plan);
                for at in self.frame(row)? {
                    self.feed(ctx, level, plan, &mut state, at)?;
                }
                state.finish(plan)?
            };
            self.rows[row].2.windowed[number] = result;
        }
        Ok(())
    }

    fn feed(
        &self,
        ctx: &mut Context<'_>,
        level: Level<'_>,
        plan: &AggregatePlan,
        state: &mut State,
        row: usize,
    ) -> Result<(), Interrupt> {
        spend(FEED_COST)?;
        let base = &self.rows[row].2;
        let extra = Extra { withs: level.withs(), windowed: &base.windowed, expanded: &[] };
        let env = base.env(level, &extra);
        if let Some(filter) = &plan.filter
            && !eval::is_true(ctx, &env, filter)?
        {
            return Ok(());
        }
        state.add(ctx, &env, plan)
    }
}
