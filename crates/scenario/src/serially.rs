//! A run beside the serial orders of its threads: which values it does not share with any of them, and whether what it
//! breaks is broken without any overlap too.
//!
//! An update is *lost* if its effect is missing at the end: it was overwritten by a value that was not computed from
//! it, and the column has no value that it also has in a serial order with the same writers. Otherwise nothing is lost,
//! however stale the reads were. And a property that a serial order breaks is no matter of isolation; that is said
//! first.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use isolde_engine::footprint::ColumnSet;
use isolde_engine::{RowId, Step};
use isolde_explore::System;
use isolde_sql::catalog::{Table, TableId};
use isolde_sql::{Row, Value};

use crate::backend::{Backend, Fate};
use crate::clock::Pace;
use crate::names;
use crate::oracle::Oracle;
use crate::outcome::{Generated, generated};
use crate::property::{At, Property, Violation};
use crate::system::{Choice, ScenarioSystem, State};
use crate::trace::Run;
use crate::trouble::Trouble;

/// Threads up to which all serial orders are run.
const THREADS_MAX: usize = 5;

/// The same where a step takes milliseconds.
const SLOW_THREADS_MAX: usize = 3;

/// A thread that takes more steps than this on its own is not waited for.
const STEPS_MAX: usize = 10_000;

/// Rows of a table up to which it is compared.
const ROWS_MAX: usize = 1_000;

/// A row of a table.
type RowRef = (TableId, RowId);

/// The columns that end, in a run, with a value that they also have at the end of a serial order in which the same
/// threads write their row. If not all of the orders are known, there are none.
pub(crate) fn ends_serially(run: &Run<'_>, rows: &BTreeMap<RowRef, ColumnSet>) -> BTreeMap<RowRef, ColumnSet> {
    let mut same: BTreeMap<RowRef, ColumnSet> = BTreeMap::new();
    if rows.is_empty() {
        return same;
    }
    let steps = run.events.iter().flat_map(|event| event.steps.iter().map(|step| (event.thread, step)));
    let wrote: BTreeSet<(usize, RowRef)> = steps.flat_map(|(thread, step)| published(thread, step)).collect();
    for End { state, wrote: there } in ends(run).unwrap_or_default() {
        for (&row, &columns) in rows {
            // An order in which one of the writers is refused says nothing about what becomes of its update.
            if wrote.iter().any(|write| write.1 == row && !there.contains(write)) {
                continue;
            }
            let equal = equal_columns(&run.end, &state, row).common(columns);
            let known = same.entry(row).or_default();
            *known = known.union(equal);
        }
    }
    same
}

/// What the run leaves in the tables that no serial order leaves there, in a sentence; `None` if there is nothing of
/// the kind, or not all orders are known.
pub(crate) fn summary(run: &Run<'_>) -> Option<String> {
    let serial: Vec<State> = ends(run)?.into_iter().map(|end| end.state).collect();
    let steps = run.events.iter().flat_map(|event| &event.steps);
    let changed: BTreeSet<TableId> =
        steps.flat_map(|step| &step.footprint.published).map(|write| write.table).collect();
    let generated = generated(run.system.scenario.database.catalog());
    let differs = |id: TableId| {
        let table = names::table(run.system.scenario, run.end.database.catalog(), id)?;
        difference(table, &generated, &run.end, &serial)
    };
    let threads: Vec<&str> = run.system.present().map(|t| &*run.system.scenario.threads[t].name).collect();
    let (here, there) = changed.into_iter().find_map(differs)?;
    Some(format!("{here}; one after another, {} leave {there}.", names::listed(&threads)))
}

/// What is at the end of the run and in no serial order, and what these have instead.
fn difference(table: &Table, generated: &Generated, end: &State, serial: &[State]) -> Option<(String, String)> {
    let here = by_key(table, end)?;
    let there: Vec<BTreeMap<String, Row>> = serial.iter().map(|end| by_key(table, end)).collect::<Option<_>>()?;
    let name = &table.name;
    for (key, row) in &here {
        if there.iter().all(|rows| !rows.contains_key(key)) {
            return Some((format!("{name} ends with a row {key}"), "no such row".into()));
        }
        for (column, definition) in table.columns.iter().enumerate() {
            let values: BTreeSet<Option<&Value>> = there.iter().map(|rows| rows.get(key)?.get(column)).collect();
            let value = row.get(column)?;
            if values.contains(&Some(value)) || generated.contains_key(&(table.id, column)) {
                continue;
            }
            let others = values.iter().map(|value| value.map_or("no such row".into(), names::value));
            let others: Vec<String> = others.collect();
            let ends = format!("{name} {key} ends with {} = {}", definition.name, names::value(value));
            return Some((ends, others.join(" or ")));
        }
    }
    let lost =
        there.first()?.keys().find(|key| !here.contains_key(*key) && there.iter().all(|r| r.contains_key(*key)))?;
    Some((format!("{name} ends without a row {lost}"), "one".into()))
}

/// The rows of a table by their primary keys; `None` if it has none, a generated one tells nothing, or there are too
/// many rows.
fn by_key(table: &Table, state: &State) -> Option<BTreeMap<String, Row>> {
    let tables = state.database.committed();
    let data = ((table.id.0 as usize) < tables.len()).then(|| tables.table(table.id))?;
    let index = table.primary_key()?;
    if index.columns.iter().any(|&column| table.columns.get(column).is_some_and(|c| c.sequence.is_some())) {
        return None;
    }
    (data.len() <= ROWS_MAX)
        .then(|| data.iter().map(|(_, tuple)| (names::key(table, &tuple.values), tuple.values.clone())).collect())
}

/// A serial order that breaks the same property, as far as it is needed for that; empty if none is known. A run that
/// cannot be repeated on a server tells nothing.
pub(crate) fn breaks<B: Backend>(system: B, property: &dyn Property<B>, found: &Violation) -> Vec<String> {
    let order = Serial { system, property, found }.order().unwrap_or_else(|_| {
        system.forget_trouble();
        None
    });
    order.into_iter().flatten().map(|thread| system.member(thread).name.to_string()).collect()
}

/// What is looked for in serial orders.
struct Serial<'s, B: Backend> {
    system: B,
    property: &'s dyn Property<B>,
    found: &'s Violation,
}

/// What becomes of a thread that runs alone.
enum Ran<S> {
    Breaks,
    Ends(S),
    /// It takes too many steps.
    Endless,
}

impl<B: Backend> Serial<'_, B> {
    fn order(&self) -> Result<Option<Vec<usize>>, Trouble> {
        let system = self.system;
        let threads: Vec<usize> = system.present().collect();
        let threads_max = if system.capabilities().slow { SLOW_THREADS_MAX } else { THREADS_MAX };
        if threads.len() > threads_max {
            return Ok(None);
        }
        let start = system.initial();
        // Statements that no other thread notices are through before the first step, and may have failed.
        if self.is_broken(&start, None)? {
            let failed = |&thread: &usize| matches!(system.fate(&start, thread), Fate::Failed(_));
            return Ok(threads.iter().copied().find(failed).map(|thread| vec![thread]));
        }
        let mut oracle = Oracle::new(system);
        let mut places: Vec<(B::State, Vec<usize>)> = vec![(start, Vec::new())];
        for _ in 0..=threads.len() {
            let mut next = Vec::new();
            for (state, order) in places {
                if order.len() == threads.len() {
                    let at = At { system, state: &state, event: None, schedule: None };
                    let broken = self.property.at_end(&at, &mut oracle, &mut || ControlFlow::Continue(()));
                    if broken.unwrap_or_default().iter().any(|broken| self.property.is_same(broken, self.found)) {
                        return Ok(Some(order));
                    }
                }
                for &thread in threads.iter().filter(|thread| !order.contains(thread)) {
                    let order = [order.as_slice(), &[thread]].concat();
                    match self.alone(state.clone(), thread)? {
                        Ran::Breaks => return Ok(Some(order)),
                        Ran::Ends(states) => next.extend(states.into_iter().map(|state| (state, order.clone()))),
                        Ran::Endless => return Ok(None),
                    }
                }
            }
            places = next;
        }
        Ok(None)
    }

    /// Runs a thread to its end. Where time may pass, it may do so before each of its steps.
    fn alone(&self, state: B::State, thread: usize) -> Result<Ran<Vec<B::State>>, Trouble> {
        let (mut open, mut ends, mut seen) = (vec![state], Vec::new(), BTreeSet::new());
        for _ in 0..STEPS_MAX {
            let Some(state) = open.pop() else { return Ok(Ran::Ends(ends)) };
            let mut choices = Vec::new();
            self.system.enabled(&state, &mut choices);
            let steps = choices.into_iter().filter(|c| matches!(c, Choice::Pass(_)) || *c == Choice::Step(thread));
            let steps: Vec<Choice> = steps.collect();
            if !steps.contains(&Choice::Step(thread)) {
                ends.push(state);
                continue;
            }
            for choice in steps {
                let mut next = state.clone();
                let event = self.system.execute(&mut next, &choice);
                if let Some(trouble) = self.system.trouble() {
                    return Err(trouble);
                }
                if self.is_broken(&next, Some(&event))? {
                    return Ok(Ran::Breaks);
                }
                let passes = self.system.clock_name().and_then(|_| self.system.digest(&next));
                if passes.is_none_or(|digest| seen.insert(digest)) {
                    open.push(next);
                }
            }
        }
        Ok(Ran::Endless)
    }

    fn is_broken(&self, state: &B::State, event: Option<&B::Event>) -> Result<bool, Trouble> {
        let broken = self.property.at_state(&At { system: self.system, state, event, schedule: None })?;
        Ok(broken.iter().any(|broken| self.property.is_same(broken, self.found)))
    }
}

/// The end of a serial order, and which threads have written which rows.
#[derive(Clone)]
struct End {
    state: State,
    wrote: BTreeSet<(usize, RowRef)>,
}

fn published(thread: usize, step: &Step) -> impl Iterator<Item = (usize, RowRef)> {
    step.footprint.published.iter().map(move |write| (thread, (write.table, write.row)))
}

/// The ends of all serial orders, each thread taking as many statements as in the run; `None` if not all of them are
/// known.
fn ends(run: &Run<'_>) -> Option<Vec<End>> {
    let system = ScenarioSystem { atomic: false, ..run.system };
    let threads: Vec<usize> = system.present().collect();
    if threads.len() > THREADS_MAX {
        return None;
    }
    let limits = run.end.clients.iter().zip(&system.scenario.threads);
    let limits: Vec<usize> = limits.map(|(client, thread)| client.completed(thread)).collect();
    let mut ends = Vec::new();
    let start = End { state: system.initial(), wrote: BTreeSet::new() };
    extend(system, &start, &threads, &limits, &system.times(&run.end), &mut ends).then_some(ends)
}

fn extend(
    system: ScenarioSystem<'_>,
    from: &End,
    left: &[usize],
    limits: &[usize],
    pace: &Pace,
    ends: &mut Vec<End>,
) -> bool {
    if left.is_empty() {
        ends.push(from.clone());
    }
    left.iter().all(|&thread| {
        let rest: Vec<usize> = left.iter().copied().filter(|other| *other != thread).collect();
        let next = followed(system, from.clone(), thread, limits[thread], pace);
        next.is_some_and(|next| extend(system, &next, &rest, limits, pace, ends))
    })
}

/// Runs the first `limit` statements of a thread; `None` if that takes too many steps.
fn followed(system: ScenarioSystem<'_>, mut end: End, thread: usize, limit: usize, pace: &Pace) -> Option<End> {
    for _ in 0..STEPS_MAX {
        let mut choices = Vec::new();
        system.enabled(&end.state, &mut choices);
        if end.state.clients[thread].progress.next >= limit || !choices.contains(&Choice::Step(thread)) {
            return Some(end);
        }
        system.keep_pace(&mut end.state, thread, pace);
        let event = system.execute(&mut end.state, &Choice::Step(thread));
        end.wrote.extend(event.steps.iter().flat_map(|step| published(thread, step)));
    }
    None
}

fn equal_columns(one: &State, other: &State, (table, row): RowRef) -> ColumnSet {
    let values = |state: &State| {
        let tables = state.database.committed();
        let known = (table.0 as usize) < tables.len();
        known.then(|| tables.table(table).get(row).map(|tuple| tuple.values.clone())).flatten()
    };
    match (values(one), values(other)) {
        (Some(one), Some(other)) => (0..one.len()).filter(|&column| one.get(column) == other.get(column)).collect(),
        _ => ColumnSet::NONE,
    }
}
