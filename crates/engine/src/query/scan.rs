//! The rows of one relation, and the read that looking for them is.
//!
//! Rows found through an index come in the order of the heap, as a bitmap scan returns them: what a step prints must
//! not depend on which index there happens to be.

use std::ops::Bound;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use isolde_sql::budget;
use isolde_sql::builtin::{SERIES_ROW_COST, SetFunction, series};
use isolde_sql::catalog::{RoutineId, TableId};
use isolde_sql::refused::Construct;
use isolde_sql::{Row, SqlError, SqlState, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::join::{Run, Sink};
use super::{Flow, GO_ON};
use crate::eval::{self, CallResult, Context, Env, Interrupt, RelRow, all_true};
use crate::footprint::Read;
use crate::plan::{Access, Expr, RelStep, Source, Values};
use crate::storage::{RowId, TableData, Tuple};

/// The rows of a relation by the values of some expressions over them.
pub(super) struct HashTable {
    rows: Vec<RelRow>,
    positions: FxHashMap<Key, SmallVec<[u32; 2]>>,
}

type Key = SmallVec<[Value; 2]>;
type Found<'t> = SmallVec<[(RowId, &'t Tuple); 4]>;

/// Up to this many rows, looking at all of them is quicker than building a hash table.
const FEW: usize = 8;

static NO_PARAMS: LazyLock<Arc<[Value]>> = LazyLock::new(|| Arc::new([]));

impl Run<'_> {
    /// Binds each row of a relation and calls `sink`.
    pub(super) fn rel(&mut self, ctx: &mut Context<'_>, step: &RelStep, sink: &mut Sink<'_>) -> Flow {
        if let Some(candidate) = self.fixed {
            return self.fixed_row(ctx, step, &candidate.rows[step.rel], sink);
        }
        match (&step.source, &step.access) {
            (Source::Table(table), Access::Hash { table: hash, .. })
                if self.hashes[*hash].is_none() && ctx.view.table(*table).len() <= FEW =>
            {
                self.table(ctx, step, *table, &mut |ctx, run| {
                    if run.holds(ctx, &step.implied)? { sink(ctx, run) } else { GO_ON }
                })
            }
            (_, Access::Hash { table, inner, outer }) => self.hashed(ctx, step, *table, inner, outer, sink),
            (Source::Table(table), _) => self.table(ctx, step, *table, sink),
            _ => self.source(ctx, step, sink),
        }
    }

    /// EvalPlanQual: the one row there is, if it still belongs.
    fn fixed_row(&mut self, ctx: &mut Context<'_>, step: &RelStep, row: &RelRow, sink: &mut Sink<'_>) -> Flow {
        if row.missing {
            return GO_ON;
        }
        self.slots[step.rel] = row.clone();
        if self.holds(ctx, &step.filter)? && self.holds(ctx, &step.implied)? { sink(ctx, self) } else { GO_ON }
    }

    /// The rows of a relation that is no table.
    fn source(&mut self, ctx: &mut Context<'_>, step: &RelStep, sink: &mut Sink<'_>) -> Flow {
        match &step.source {
            Source::Table(table) => self.table(ctx, step, *table, sink),
            Source::Query(query) => {
                let rows = eval::rows_of(ctx, &self.env(), query)?;
                self.each(ctx, step.rel, rows.iter().cloned(), sink)
            }
            Source::With { depth, index } => self.with(ctx, step.rel, *depth, *index, sink),
            Source::Working { depth, index } => {
                let rows = eval::working(self.env().up(*depth), *index);
                self.each(ctx, step.rel, rows.iter().cloned(), sink)
            }
            Source::RowsFrom { parts, ordinality } => {
                let rows = self.side_by_side(ctx, parts, *ordinality)?;
                self.each(ctx, step.rel, rows.into_iter(), sink)
            }
            Source::Function(SetFunction::Builtin(function), args) => {
                let args = eval::values(ctx, &self.env(), args)?;
                if function.strict && args.iter().any(Value::is_null) {
                    return GO_ON;
                }
                let rows = (function.rows)(&args)?;
                let width = self.plan.nulls[step.rel].len();
                self.each(ctx, step.rel, rows.into_iter().map(|row| spread(row, width)), sink)
            }
            Source::Function(SetFunction::GenerateSeries, args) => {
                let args = eval::values(ctx, &self.env(), args)?;
                if !matches!(args.first(), Some(Value::Int(_) | Value::Null)) {
                    let rows = series(&args)?;
                    return self.each(ctx, step.rel, rows.into_iter().map(|value| Arc::from([value])), sink);
                }
                self.series(ctx, step.rel, &args, sink)
            }
            Source::Function(SetFunction::Rows, args) => {
                let args = eval::values(ctx, &self.env(), args)?;
                let rows = if let [Value::Record(rows)] = &args[..] { rows.clone() } else { Arc::default() };
                let rows = rows.iter().filter_map(|row| if let Value::Record(row) = row { Some(row) } else { None });
                self.each(ctx, step.rel, rows.cloned(), sink)
            }
            Source::Routine { id, args, once } => {
                let rows = match self.kept.iter().find(|(rel, _)| *rel == step.rel) {
                    Some((_, rows)) => rows.clone(),
                    None => self.called(ctx, step.rel, *id, args)?,
                };
                if *once && !self.kept.iter().any(|(rel, _)| *rel == step.rel) {
                    self.kept.push((step.rel, rows.clone()));
                }
                self.each(ctx, step.rel, rows.iter().cloned(), sink)
            }
        }
    }

    /// The rows of a WITH query.
    fn with(&mut self, ctx: &mut Context<'_>, rel: usize, depth: u16, index: usize, sink: &mut Sink<'_>) -> Flow {
        // The level's environment without the rows of this run, which change while the query is read.
        let own = self.level.env();
        let env = own.up(depth);
        eval::each_with(ctx, env, index, &mut |ctx, row| {
            self.slots[rel] = RelRow::new(row.clone());
            sink(ctx, self)
        })
    }

    /// The rows of several functions, the shorter ones filled up with NULL.
    fn side_by_side(
        &mut self,
        ctx: &mut Context<'_>,
        parts: &[(Source, usize)],
        ordinality: bool,
    ) -> Result<Vec<Row>, Interrupt> {
        let mut columns: Vec<(Vec<Row>, usize)> = Vec::new();
        for (source, width) in parts {
            let rows = match source {
                Source::Function(function, args) => {
                    let args = eval::values(ctx, &self.env(), args)?;
                    set_rows(*function, &args, *width)?
                }
                Source::Routine { id, args, .. } => {
                    let args = eval::values(ctx, &self.env(), args)?;
                    rows_of_call(ctx.calls.take(|| (*id, args))?, *width)?
                }
                Source::Query(query) => eval::rows_of(ctx, &self.env(), query)?.to_vec(),
                _ => Vec::new(),
            };
            columns.push((rows, *width));
        }
        let count = columns.iter().map(|(rows, _)| rows.len()).max().unwrap_or(0);
        let row = |i: usize| {
            let mut row: Vec<Value> = Vec::new();
            for (rows, width) in &columns {
                match rows.get(i) {
                    Some(values) => row.extend(values.iter().cloned()),
                    None => row.extend(std::iter::repeat_n(Value::Null, *width)),
                }
            }
            if ordinality {
                row.push(Value::Int(i as i64 + 1));
            }
            row.into()
        };
        Ok((0..count).map(row).collect())
    }

    /// The rows that a routine returns.
    fn called(&self, ctx: &mut Context<'_>, rel: usize, id: RoutineId, args: &[Expr]) -> Result<Rc<[Row]>, Interrupt> {
        let args = eval::values(ctx, &self.env(), args)?;
        let result = ctx.calls.take(|| (id, args))?;
        Ok(rows_of_call(result, self.plan.nulls[rel].len())?.into())
    }

    fn each(
        &mut self,
        ctx: &mut Context<'_>,
        rel: usize,
        rows: impl Iterator<Item = Row>,
        sink: &mut Sink<'_>,
    ) -> Flow {
        for row in rows {
            self.slots[rel] = RelRow::new(row);
            if sink(ctx, self)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        GO_ON
    }

    /// `generate_series(from, to, step)`. The row is written in place as long as nobody has kept it.
    fn series(&mut self, ctx: &mut Context<'_>, rel: usize, args: &[Value], sink: &mut Sink<'_>) -> Flow {
        let Some((mut next, to, step)) = series_bounds(args)? else { return GO_ON };
        while if step > 0 { next <= to } else { next >= to } {
            let value = Value::Int(next);
            let slot = &mut self.slots[rel];
            match Arc::get_mut(&mut slot.values) {
                Some(values) if !slot.missing => values[0] = value,
                _ => *slot = RelRow::new(Arc::new([value])),
            }
            if sink(ctx, self)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            let Some(after) = next.checked_add(step) else { break };
            next = after;
        }
        GO_ON
    }

    /// The rows of a relation that agree with what is bound, from a hash table built at the first call.
    fn hashed(
        &mut self,
        ctx: &mut Context<'_>,
        step: &RelStep,
        table: usize,
        inner: &[Expr],
        outer: &[Expr],
        sink: &mut Sink<'_>,
    ) -> Flow {
        let hash = match &self.hashes[table] {
            Some(hash) => hash.clone(),
            None => {
                let hash = Rc::new(self.build(ctx, step, inner)?);
                self.hashes[table] = Some(hash.clone());
                hash
            }
        };
        let Some(key) = key(ctx, &self.env(), outer)? else { return GO_ON };
        for position in hash.positions.get(&key).into_iter().flatten() {
            self.slots[step.rel] = hash.rows[*position as usize].clone();
            if sink(ctx, self)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        GO_ON
    }

    fn build(&mut self, ctx: &mut Context<'_>, step: &RelStep, inner: &[Expr]) -> Result<HashTable, Interrupt> {
        let mut hash = HashTable { rows: Vec::new(), positions: FxHashMap::default() };
        let flow = self.source(ctx, step, &mut |ctx, run| {
            if let Some(key) = key(ctx, &run.env(), inner)? {
                hash.positions.entry(key).or_default().push(hash.rows.len() as u32);
                hash.rows.push(run.slots[step.rel].clone());
            }
            GO_ON
        });
        flow.map(|_| hash)
    }

    /// The rows of a table, by the step's access path.
    fn table(&mut self, ctx: &mut Context<'_>, step: &RelStep, table: TableId, sink: &mut Sink<'_>) -> Flow {
        if ctx.reader.is_some() {
            self.siread(ctx, step, table)?;
        }
        let view = ctx.view;
        let data = view.table(table);
        match &step.access {
            Access::Scan | Access::Hash { .. } => self.read(ctx, step, table, &[], &[], data.scan(), sink),
            Access::Lookup { index, columns, keys, unique } => {
                let Some(key) = key(ctx, &self.env(), keys)? else {
                    return GO_ON;
                };
                if *unique && !data.is_ambiguous() {
                    let row = data.find(*index, &key);
                    self.read(ctx, step, table, columns, &key, row.into_iter(), sink)
                } else {
                    let rows = in_heap_order(data.lookup(*index, &key));
                    self.read(ctx, step, table, columns, &key, rows.into_iter(), sink)
                }
            }
            Access::Each { index, column, values } => {
                let values = self.wanted(ctx, values)?;
                self.probes(ctx, step, table, (data, *index, *column), &values, sink)
            }
            Access::Ordered { index, columns, descending, low, high } => {
                let along = Along { index: *index, columns, descending: *descending, low, high };
                self.ordered(ctx, step, table, &along, sink)
            }
            Access::Range { index, low, high } => {
                let (low, high) = (self.limit(ctx, low)?, self.limit(ctx, high)?);
                let rows = match (&low, &high) {
                    (None, _) | (_, None) => Found::new(),
                    (Some(low), Some(high)) => in_heap_order(data.range(*index, low.as_ref(), high.as_ref())),
                };
                self.read(ctx, step, table, &[], &[], rows.into_iter(), sink)
            }
        }
    }

    /// The rows of a table along an index.
    fn ordered(
        &mut self,
        ctx: &mut Context<'_>,
        step: &RelStep,
        table: TableId,
        along: &Along<'_>,
        sink: &mut Sink<'_>,
    ) -> Flow {
        let data = ctx.view.table(table);
        let (low, high) = (self.limit(ctx, along.low)?, self.limit(ctx, along.high)?);
        match (low, high) {
            (Some(Bound::Unbounded), Some(Bound::Unbounded)) => {
                let range = (Bound::Unbounded, Bound::Unbounded);
                self.along(ctx, step, table, (along, range), data.ordered(along.index), sink)
            }
            (Some(low), Some(high)) => {
                let rows = data.range(along.index, low.as_ref(), high.as_ref());
                self.along(ctx, step, table, (along, (low.clone(), high.clone())), rows, sink)
            }
            _ => self.read(ctx, step, table, &[], &[], std::iter::empty(), sink),
        }
    }

    fn along<'t>(
        &mut self,
        ctx: &mut Context<'_>,
        step: &RelStep,
        table: TableId,
        (along, range): (&Along<'_>, (Bound<Value>, Bound<Value>)),
        rows: impl DoubleEndedIterator<Item = (RowId, &'t Tuple)>,
        sink: &mut Sink<'_>,
    ) -> Flow {
        if ctx.reader.as_mut().is_some_and(|r| r.watches() && r.follows(table, ctx.view)) {
            return match along.descending {
                true => {
                    let rows = Runs { backward: true, ..Runs::new(rows.rev(), along.columns) };
                    self.along_watched(ctx, step, table, (along, range), rows, sink)
                }
                false => self.along_watched(ctx, step, table, (along, range), Runs::new(rows, along.columns), sink),
            };
        }
        if along.descending {
            self.read(ctx, step, table, &[], &[], Runs::new(rows.rev(), along.columns), sink)
        } else {
            self.read(ctx, step, table, &[], &[], Runs::new(rows, along.columns), sink)
        }
    }

    /// A bound of a range; `None` if it is NULL, so that nothing is inside.
    pub(super) fn limit(
        &self,
        ctx: &mut Context<'_>,
        limit: &Option<(Expr, bool)>,
    ) -> Result<Option<Bound<Value>>, Interrupt> {
        let Some((expr, inside)) = limit else { return Ok(Some(Bound::Unbounded)) };
        Ok(match eval::eval(ctx, &self.env(), expr)? {
            Value::Null => None,
            value if *inside => Some(Bound::Included(value)),
            value => Some(Bound::Excluded(value)),
        })
    }

    /// The values that a column may have, each once.
    pub(super) fn wanted(&self, ctx: &mut Context<'_>, values: &Values) -> Result<Vec<Value>, Interrupt> {
        let mut wanted = match values {
            Values::List(list) => eval::values(ctx, &self.env(), list)?,
            Values::Query(query) => {
                let rows = eval::rows_of(ctx, &self.env(), query)?;
                rows.iter().filter_map(|row| row.first().cloned()).collect()
            }
        };
        wanted.retain(|v| !matches!(v, Value::Null));
        wanted.sort();
        wanted.dedup();
        Ok(wanted)
    }

    /// Several lookups whose rows come together in heap order; each is a read of its own.
    fn probes(
        &mut self,
        ctx: &mut Context<'_>,
        step: &RelStep,
        table: TableId,
        (data, index, column): (&TableData, usize, usize),
        values: &[Value],
        sink: &mut Sink<'_>,
    ) -> Flow {
        let mut found: Vec<RelRow> = Vec::new();
        for value in values {
            let rows = data.lookup(index, std::slice::from_ref(value));
            let flow = self.read(ctx, step, table, &[column], std::slice::from_ref(value), rows, &mut |_, run| {
                found.push(run.slots[step.rel].clone());
                GO_ON
            })?;
            debug_assert!(flow.is_continue(), "gathering never stops early");
        }
        found.sort_by_key(|row| row.position);
        for row in found {
            self.slots[step.rel] = row;
            if sink(ctx, self)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        GO_ON
    }

    /// Visits rows that were found by `key`, and leaves a read behind, also if something fails on the way.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn read<'t>(
        &mut self,
        ctx: &mut Context<'_>,
        step: &RelStep,
        table: TableId,
        columns: &[usize],
        key: &[Value],
        rows: impl Iterator<Item = (RowId, &'t Tuple)>,
        sink: &mut Sink<'_>,
    ) -> Flow {
        if !self.is_new(step, key) {
            return self.visit(ctx, step, rows, &mut |_, _| {}, sink);
        }
        let mut matched = Vec::new();
        let flow = self.visit(ctx, step, rows, &mut |id, position| matched.push((id, position)), sink);
        ctx.reads.push(Read {
            table,
            key: columns.iter().copied().zip(key.iter().cloned()).collect(),
            filter: step.read.filter.clone(),
            params: if step.read.uses_params { ctx.params.into() } else { NO_PARAMS.clone() },
            columns: step.read.columns,
            matched,
            current: false,
        });
        flow
    }

    /// Whether the footprint does not yet have this probe.
    fn is_new(&self, step: &RelStep, key: &[Value]) -> bool {
        if step.read.once && self.level.outer.is_none() {
            return true;
        }
        let cache = self.level.outer.and_then(Env::outermost_cache).unwrap_or(self.level.cache);
        cache.first_probe(std::ptr::from_ref(step) as usize, key)
    }

    fn visit<'t>(
        &mut self,
        ctx: &mut Context<'_>,
        step: &RelStep,
        rows: impl Iterator<Item = (RowId, &'t Tuple)>,
        matched: &mut dyn FnMut(RowId, u64),
        sink: &mut Sink<'_>,
    ) -> Flow {
        for (id, tuple) in rows {
            if !step.filter.is_empty() && !all_true(ctx, &Env::only(&tuple.values), &step.filter)? {
                continue;
            }
            matched(id, tuple.position);
            self.slots[step.rel] = RelRow::of_table(id, tuple.position, tuple.values.clone());
            if sink(ctx, self)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        GO_ON
    }
}

/// The parts of [`Access::Ordered`].
pub(super) struct Along<'p> {
    pub(super) index: usize,
    pub(super) columns: &'p [usize],
    pub(super) descending: bool,
    low: &'p Option<(Expr, bool)>,
    high: &'p Option<(Expr, bool)>,
}

/// Rows in the order of some columns, with those that are equal in all of them brought into heap order, or the opposite
/// one.
pub(super) struct Runs<'t, 'p, I: Iterator<Item = (RowId, &'t Tuple)>> {
    rows: std::iter::Peekable<I>,
    columns: &'p [usize],
    backward: bool,
    /// The rest of the present run, last row first.
    run: Found<'t>,
}

impl<'t, 'p, I: Iterator<Item = (RowId, &'t Tuple)>> Runs<'t, 'p, I> {
    fn new(rows: I, columns: &'p [usize]) -> Self {
        Runs { rows: rows.peekable(), columns, backward: false, run: Found::new() }
    }
}

impl<'t, I: Iterator<Item = (RowId, &'t Tuple)>> Iterator for Runs<'t, '_, I> {
    type Item = (RowId, &'t Tuple);

    fn next(&mut self) -> Option<Self::Item> {
        if self.run.is_empty() {
            let first = self.rows.next()?;
            let equal = |other: &Tuple| self.columns.iter().all(|&c| other.values[c] == first.1.values[c]);
            self.run.push(first);
            while let Some(row) = self.rows.next_if(|(_, tuple)| equal(tuple)) {
                self.run.push(row);
            }
            match self.backward {
                true => self.run.sort_by_key(|(_, tuple)| tuple.position),
                false => self.run.sort_by_key(|(_, tuple)| std::cmp::Reverse(tuple.position)),
            }
        }
        self.run.pop()
    }
}

/// The values of some expressions; `None` if one is NULL and so equal to nothing.
pub(super) fn key(ctx: &mut Context<'_>, env: &Env<'_>, list: &[Expr]) -> Result<Option<Key>, Interrupt> {
    let mut key = Key::new();
    for e in list {
        match eval::eval(ctx, env, e)? {
            Value::Null => return Ok(None),
            value => key.push(value),
        }
    }
    Ok(Some(key))
}

fn in_heap_order<'t>(rows: impl Iterator<Item = (RowId, &'t Tuple)>) -> Found<'t> {
    let mut rows: Found<'t> = rows.collect();
    rows.sort_by_key(|(_, tuple)| tuple.position);
    rows
}

/// The rows that a routine's result is in FROM.
pub(super) fn rows_of_call(result: CallResult, width: usize) -> Result<Vec<Row>, SqlError> {
    let rows: Vec<Row> = match result {
        CallResult::Rows(rows) => rows,
        CallResult::Value(Value::Record(fields)) if fields.len() == width => vec![fields],
        CallResult::Value(Value::Null) => vec![std::iter::repeat_n(Value::Null, width).collect()],
        CallResult::Value(value) => vec![Arc::new([value])],
    };
    match rows.iter().all(|row| row.len() == width) {
        true => Ok(rows),
        false => {
            let message = "function return row and query-specified return row do not match";
            Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message))
        }
    }
}

/// A row of one record as the row of its fields, where those are what the columns are.
fn spread(row: Row, width: usize) -> Row {
    match &row[..] {
        [Value::Record(fields)] if width > 1 && fields.len() == width => fields.clone(),
        [Value::Null] if width > 1 => std::iter::repeat_n(Value::Null, width).collect(),
        _ => row,
    }
}

/// The rows that a function yields, of so many columns.
pub(super) fn set_rows(function: SetFunction, args: &[Value], width: usize) -> Result<Vec<Row>, SqlError> {
    Ok(match function {
        SetFunction::GenerateSeries => series_values(args)?.into_iter().map(|v| Row::from([v])).collect(),
        SetFunction::Builtin(function) if function.strict && args.iter().any(Value::is_null) => Vec::new(),
        SetFunction::Builtin(function) => (function.rows)(args)?.into_iter().map(|row| spread(row, width)).collect(),
        SetFunction::Rows => Vec::new(),
    })
}

/// All values of `generate_series(from, to, step)`.
fn series_values(args: &[Value]) -> Result<Vec<Value>, SqlError> {
    if !matches!(args.first(), Some(Value::Int(_) | Value::Null)) {
        return series(args);
    }
    let Some((mut next, to, step)) = series_bounds(args)? else { return Ok(Vec::new()) };
    let mut values = Vec::new();
    while if step > 0 { next <= to } else { next >= to } {
        budget::spend(SERIES_ROW_COST)?;
        values.push(Value::Int(next));
        let Some(after) = next.checked_add(step) else { break };
        next = after;
    }
    Ok(values)
}

/// Start, end and step; `None` if one of them is NULL.
fn series_bounds(args: &[Value]) -> Result<Option<(i64, i64, i64)>, SqlError> {
    let unsupported = || SqlError::unsupported(Construct::GENERATE_SERIES_OVER_THESE_TYPES);
    let mut numbers = SmallVec::<[i64; 3]>::new();
    for arg in args {
        match arg {
            Value::Null => return Ok(None),
            Value::Int(n) => numbers.push(*n),
            _ => return Err(unsupported()),
        }
    }
    match numbers.as_slice() {
        [_, _, 0] => Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, "step size cannot equal zero")),
        [from, to] => Ok(Some((*from, *to, 1))),
        [from, to, step] => Ok(Some((*from, *to, *step))),
        _ => Err(unsupported()),
    }
}
