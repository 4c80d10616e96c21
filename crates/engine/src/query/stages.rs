//! Selects with windows, functions that yield rows, DISTINCT ON or ties.
//!
//! They are computed in stages, all rows of one before the next: join or group, windows, then for each row the
//! functions that yield rows and the select list, then sort. What has none of this never comes here.

use isolde_sql::{Row, Value};
use smallvec::SmallVec;

use super::group::{self, Keys};
use super::join::Run;
use super::scan::{rows_of_call, set_rows};
use super::sort::Sorter;
use super::{GO_ON, Level, Window, window};
use crate::eval::{self, Context, Env, Extra, Interrupt, RelRow};
use crate::plan::{ExpansionPlan, QueryPlan, SelectPlan, StagesPlan};

/// A joined row or a group.
pub(super) struct Base {
    rows: SmallVec<[RelRow; 2]>,
    keys: Keys,
    aggregates: Vec<Value>,
    /// The values of window functions.
    pub(super) windowed: Vec<Value>,
}

impl Base {
    /// What expressions see of it.
    pub(super) fn env<'e>(&'e self, level: Level<'e>, extra: &'e Extra<'e>) -> Env<'e> {
        let env = Env::new(&self.rows).within(level.outer).cached(level.cache);
        env.grouped(&self.keys, &self.aggregates).extended(Some(extra))
    }
}

/// The rows of such a select.
pub(super) fn run(
    ctx: &mut Context<'_>,
    plan: &QueryPlan,
    select: &SelectPlan,
    level: Level<'_>,
    limit: Window,
) -> Result<Vec<Row>, Interrupt> {
    let mut bases = bases(ctx, select, level)?;
    let none = StagesPlan { windows: Vec::new(), windowed: 0, expansions: Vec::new(), distinct_on: 0 };
    let stages = select.stages.as_deref().unwrap_or(&none);
    bases.iter_mut().for_each(|base| base.windowed = vec![Value::Null; stages.windowed]);
    for plan in &stages.windows {
        window::compute(ctx, plan, level, &mut bases)?;
    }
    let mut sorter = Sorter::new(&plan.order_by);
    for base in &bases {
        let extra = Extra { withs: level.withs(), windowed: &base.windowed, expanded: &[] };
        let expanded = expand(ctx, &base.env(level, &extra), &stages.expansions)?;
        for values in &expanded {
            let extra = Extra { expanded: values, ..extra };
            let env = base.env(level, &extra);
            let row = eval::row(ctx, &env, &select.projection)?;
            sorter.push(ctx, &env.with_outputs(&row), row.clone())?;
        }
    }
    if select.distinct {
        sorter.distinct();
    }
    if stages.distinct_on > 0 {
        sorter.distinct_on(stages.distinct_on);
    }
    Ok(sorter.finish_within(limit, plan.with_ties))
}

fn bases(ctx: &mut Context<'_>, select: &SelectPlan, level: Level<'_>) -> Result<Vec<Base>, Interrupt> {
    let mut bases = Vec::new();
    match &select.grouping {
        Some(grouping) => {
            for (keys, aggregates) in group::groups(ctx, select, grouping, level)? {
                if group::has(ctx, &level.env().grouped(&keys, &aggregates), grouping)? {
                    bases.push(Base { rows: SmallVec::new(), keys, aggregates, windowed: Vec::new() });
                }
            }
        }
        None => Run::new(select, level).rows(ctx, &mut |_, run| {
            let rows = run.slots.clone();
            bases.push(Base { rows, keys: Keys::new(), aggregates: Vec::new(), windowed: Vec::new() });
            GO_ON
        })?,
    }
    Ok(bases)
}

/// The values of the functions that yield rows, side by side; one row if there are no such functions.
fn expand(ctx: &mut Context<'_>, env: &Env<'_>, expansions: &[ExpansionPlan]) -> Result<Vec<Vec<Value>>, Interrupt> {
    if expansions.is_empty() {
        return Ok(vec![Vec::new()]);
    }
    let mut columns: Vec<Vec<Value>> = Vec::new();
    for expansion in expansions {
        columns.push(match expansion {
            ExpansionPlan::Function(function, args) => {
                let args = eval::values(ctx, env, args)?;
                set_rows(*function, &args, 1)?.into_iter().map(as_value).collect()
            }
            ExpansionPlan::Routine(id, args) => {
                let args = eval::values(ctx, env, args)?;
                let rows = match ctx.calls.take(|| (*id, args))? {
                    crate::eval::CallResult::Rows(rows) => rows,
                    one => rows_of_call(one, 1)?,
                };
                rows.into_iter().map(as_value).collect()
            }
        });
    }
    let count = columns.iter().map(Vec::len).max().unwrap_or(0);
    let row = |i: usize| columns.iter().map(|c| c.get(i).cloned().unwrap_or(Value::Null)).collect();
    Ok((0..count).map(row).collect())
}

/// A row of one column is its value, of several a record.
fn as_value(row: Row) -> Value {
    match &row[..] {
        [value] => value.clone(),
        _ => Value::Record(row),
    }
}
