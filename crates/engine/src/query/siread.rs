//! What a scan leaves behind at SERIALIZABLE.
//!
//! Rows are found by whatever path is quickest here; what is remembered is the path that PostgreSQL would have taken
//! ([`Siread`]). So this is a pass of its own, before the rows are looked at, except where a scan follows an index and
//! may stop early: then it is the rows that it came to.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::ops::Bound;

use isolde_sql::catalog::TableId;
use isolde_sql::{Row, Value};

use super::Flow;
use super::join::{Run, Sink};
use super::scan::{Along, Runs, key};
use crate::eval::{Context, Interrupt, RelRow};
use crate::plan::siread::{Search, Siread};
use crate::plan::{Access, RelStep};
use crate::ssi::Met;
use crate::storage::{RowId, TableData, Tuple};

type Visited = Vec<(RowId, u64, Row)>;
/// An entry of an index: the place of its row in the heap, and the row's values.
type Entry = (u64, Row);
/// The bounds of a range.
type Range = (Bound<Value>, Bound<Value>);

impl Run<'_> {
    /// Remembers that a table is scanned, and looks for what others have written on the way.
    pub(super) fn siread(&mut self, ctx: &mut Context<'_>, step: &RelStep, table: TableId) -> Result<(), Interrupt> {
        let view = ctx.view;
        let Some(reader) = ctx.reader.as_mut() else { return Ok(()) };
        if !reader.watches() {
            return Ok(());
        }
        let follows = reader.follows(table, view);
        match &step.siread {
            _ if matches!(step.access, Access::Ordered { .. }) && follows => Ok(()),
            Siread::Index(searches)
                if reader.searches(table, view) && (follows || searches.iter().all(|s| !s.conditions.is_empty())) =>
            {
                searches.iter().try_for_each(|search| self.search(ctx, step, table, search))
            }
            _ => Ok(reader.scan(view, table)?),
        }
    }

    /// The same for tables behind IN that would be read before all others; false: one is empty, and so is the result.
    pub(super) fn siread_first(&self, ctx: &mut Context<'_>, tables: &[TableId]) -> Result<bool, Interrupt> {
        let view = ctx.view;
        let Some(reader) = ctx.reader.as_mut() else { return Ok(true) };
        if !reader.watches() {
            return Ok(true);
        }
        for &table in tables {
            reader.scan(view, table)?;
            if view.table(table).iter().next().is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn search(
        &mut self,
        ctx: &mut Context<'_>,
        step: &RelStep,
        table: TableId,
        search: &Search,
    ) -> Result<(), Interrupt> {
        let view = ctx.view;
        if search.exact && self.contradicts(ctx, step, search)? {
            return Ok(());
        }
        let Some((leading, found)) = self.found(ctx, view.table(table), search)? else { return Ok(()) };
        let Some(reader) = ctx.reader.as_mut() else { return Ok(()) };
        if leading.is_empty() {
            reader.search(view, table, search.index, None);
        }
        leading.iter().for_each(|value| reader.search(view, table, search.index, Some(value)));
        let unseen = reader.unseen(view, table);
        let dead = reader.dead(view, table, search.index);
        let mut met: Vec<(u64, Met<'_>)> = Vec::new();
        for (row, position, values) in found {
            self.slots[step.rel] = RelRow::of_table(row, position, values.clone());
            if self.holds(ctx, &search.conditions)? {
                met.push((position, Met::Seen(row, position, values)));
            }
        }
        for version in &unseen {
            let Some((at, values)) = version.behind_entry(view, search.index) else { continue };
            self.slots[step.rel] = RelRow::new(values.clone());
            if self.holds(ctx, &search.conditions)? {
                met.push((at, Met::Unseen(version)));
            }
        }
        for values in dead {
            self.slots[step.rel] = RelRow::new(values);
            if self.holds(ctx, &search.conditions)?
                && let Some(reader) = &ctx.reader
            {
                reader.visit()?;
            }
        }
        met.sort_by_key(|(at, _)| *at);
        let Some(reader) = ctx.reader.as_mut() else { return Ok(()) };
        Ok(reader.walk(view, table, &unseen, met.into_iter().map(|(_, met)| met))?)
    }

    /// Whether an entry with the values that are searched for would not be what is searched for: then nothing is.
    fn contradicts(&mut self, ctx: &mut Context<'_>, step: &RelStep, search: &Search) -> Result<bool, Interrupt> {
        let Access::Lookup { columns, keys, .. } = &search.access else { return Ok(false) };
        let Some(key) = key(ctx, &self.env(), keys)? else { return Ok(true) };
        let mut entry = vec![Value::Null; columns.iter().max().map_or(0, |last| last + 1)];
        columns.iter().zip(key).for_each(|(&column, value)| entry[column] = value);
        self.slots[step.rel] = RelRow::new(entry.into());
        Ok(!self.holds(ctx, &search.conditions)?)
    }

    /// The values of the index's first column that are searched for, if they are known, and at least the rows that a
    /// search finds. `None`: a value is NULL, so that nothing is searched at all.
    fn found(
        &self,
        ctx: &mut Context<'_>,
        data: &TableData,
        search: &Search,
    ) -> Result<Option<(Vec<Value>, Visited)>, Interrupt> {
        let index = search.index;
        let visited = |rows: &mut dyn Iterator<Item = (RowId, &Tuple)>| -> Visited {
            rows.map(|(row, tuple)| (row, tuple.position, tuple.values.clone())).collect()
        };
        Ok(match &search.access {
            Access::Lookup { keys, .. } => {
                let Some(key) = key(ctx, &self.env(), keys)? else { return Ok(None) };
                let rows = visited(&mut data.lookup(index, &key));
                Some((key.into_iter().take(1).collect(), rows))
            }
            Access::Each { values, .. } => {
                let wanted = self.wanted(ctx, values)?;
                let rows = wanted.iter().flat_map(|v| visited(&mut data.lookup(index, std::slice::from_ref(v))));
                let rows = rows.collect();
                (!wanted.is_empty()).then_some((wanted, rows))
            }
            Access::Range { low, high, .. } => {
                let (Some(low), Some(high)) = (self.limit(ctx, low)?, self.limit(ctx, high)?) else { return Ok(None) };
                Some((Vec::new(), visited(&mut data.range(index, low.as_ref(), high.as_ref()))))
            }
            _ => Some((Vec::new(), visited(&mut data.iter()))),
        })
    }

    /// A scan along an index, which remembers the rows it came to.
    pub(super) fn along_watched<'t>(
        &mut self,
        ctx: &mut Context<'_>,
        step: &RelStep,
        table: TableId,
        (along, range): (&Along<'_>, Range),
        rows: Runs<'t, '_, impl Iterator<Item = (RowId, &'t Tuple)>>,
        sink: &mut Sink<'_>,
    ) -> Flow {
        let visited = RefCell::new(Visited::new());
        let exhausted = Cell::new(false);
        let mut rows = rows;
        let told = std::iter::from_fn(|| {
            let next = rows.next();
            match next {
                Some((row, tuple)) => visited.borrow_mut().push((row, tuple.position, tuple.values.clone())),
                None => exhausted.set(true),
            }
            next
        });
        let flow = self.read(ctx, step, table, &[], &[], told, sink)?;
        let visited = visited.into_inner();
        let view = ctx.view;
        let nulls = !self.plan.grouping.as_ref().is_some_and(|g| g.first_only);
        let Some(reader) = ctx.reader.as_mut() else { return Ok(flow) };
        reader.search(view, table, along.index, None);
        let unseen = reader.unseen(view, table);
        let first = along.columns.first().copied().unwrap_or_default();
        let last = visited.last().filter(|_| !exhausted.get()).map(|(_, at, values)| (*at, values.clone()));
        // Entries of equal keys stand in the order of the heap.
        let order = |a: &Entry, b: &Entry| {
            let keys = along.columns.iter().map(|&c| a.1[c].cmp(&b.1[c]));
            let order = keys.fold(Ordering::Equal, Ordering::then).then(a.0.cmp(&b.0));
            if along.descending { order.reverse() } else { order }
        };
        let inside = |values: &Row| (nulls || !values[first].is_null()) && inside(&values[first], &range);
        let passed = |entry: &Entry| inside(&entry.1) && last.as_ref().is_none_or(|last| order(entry, last).is_le());
        let behind = unseen.iter().filter_map(|u| Some((u.behind_entry(view, along.index)?, u)));
        let behind = behind.map(|((at, values), u)| ((at, values.clone()), Met::Unseen(u)));
        let mut met: Vec<(Entry, Met<'_>)> = behind.filter(|(entry, _)| passed(entry)).collect();
        let seen = visited.into_iter().filter(|(_, _, values)| nulls || !values[first].is_null());
        met.extend(seen.map(|(row, at, values)| ((at, values.clone()), Met::Seen(row, at, values))));
        met.sort_by(|(a, _), (b, _)| order(a, b));
        let first_of_its_key = if along.descending { u64::MAX } else { 0 };
        if reader.dead(view, table, along.index).into_iter().any(|values| passed(&(first_of_its_key, values))) {
            reader.visit()?;
        }
        reader.walk(view, table, &unseen, met.into_iter().map(|(_, met)| met))?;
        Ok(flow)
    }
}

/// Whether a value lies in a range; NULL lies in none but the whole.
fn inside(value: &Value, (low, high): &Range) -> bool {
    let above = match low {
        Bound::Unbounded => true,
        Bound::Included(low) => value >= low,
        Bound::Excluded(low) => value > low,
    };
    let below = match high {
        Bound::Unbounded => true,
        Bound::Included(high) => value <= high,
        Bound::Excluded(high) => value < high,
    };
    let bounded = !matches!((low, high), (Bound::Unbounded, Bound::Unbounded));
    above && below && !(bounded && value.is_null())
}
