//! The states of a scenario as rows, for whoever wants to ask something of them that is no invariant.
//!
//! Every state that a search with matching of states comes to is a row: how far each thread is, and what is committed.
//! Of a table whose primary key is one column, every value of every row is a column of its own (`orders_1_status`), as
//! far as that stays within reason; and every table is a column with all its rows as text. Nothing here knows what will
//! be done with the rows.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow::{self, Continue};

use isolde_engine::Activity;
use isolde_explore::{Completeness, Matching, Progress, Search, Strategy, System, Visit, Visitor};
use isolde_sql::catalog::Table;

use crate::backend::Backend;
use crate::check::OnProgress;
use crate::client::Status;
use crate::clock;
use crate::file::FileOptions;
use crate::names;
use crate::scenario::Scenario;
use crate::search;
use crate::system::{Choice, Event, ScenarioSystem, State};

/// More columns than this for single values are not made.
pub const CELLS_MAX: usize = 300;

/// The states of a scenario, and how they follow each other.
#[derive(Clone, Debug, Default)]
pub struct StateRows {
    /// What the values of a state are, by name.
    pub columns: Vec<String>,
    /// For each state its values; nothing for NULL and for rows that are not there.
    pub states: Vec<Vec<Option<String>>>,
    /// How many steps each is away from the start.
    pub levels: Vec<u32>,
    /// From which state which kind of step leads where.
    pub transitions: Vec<(u32, u32, u32)>,
    /// The kinds of steps.
    pub steps: Vec<StateStep>,
}

/// A kind of step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StateStep {
    /// Who takes it.
    pub thread: String,
    /// The statement, on one line.
    pub text: String,
    /// The file it is written in.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

/// All states of a scenario; or why there are not all of them.
pub fn state_rows(scenario: &Scenario, settings: &FileOptions, progress: OnProgress<'_>) -> Result<StateRows, String> {
    let system = ScenarioSystem::new(scenario, settings);
    let plain = search::search(&FileOptions { search: None, ..settings.clone() });
    let search = Search { strategy: Strategy::Breadth, matching: Matching::Digest, ..plain };
    let mut seen = Collector { states: Vec::new(), progress };
    let summary = search.run(&system, &mut seen);
    if let Completeness::Stopped(limit) = summary.completeness {
        return Err(format!("the states were not all looked at: {limit}, after {} states", seen.states.len()));
    }
    let mut rows = StateRows { levels: seen.states.iter().map(|(_, depth)| *depth).collect(), ..StateRows::default() };
    let states: Vec<State> = seen.states.into_iter().map(|(state, _)| state).collect();
    rows.follow(&system, &states);
    rows.describe(scenario, &states);
    Ok(rows)
}

/// Keeps every state that is new.
struct Collector<'p> {
    states: Vec<(State, u32)>,
    progress: OnProgress<'p>,
}

impl<'s> Visitor<ScenarioSystem<'s>> for Collector<'_> {
    fn leaf(&mut self, _: &Visit<'_, ScenarioSystem<'s>>) -> ControlFlow<()> {
        Continue(())
    }

    fn state(&mut self, at: &Visit<'_, ScenarioSystem<'s>>) -> ControlFlow<()> {
        self.states.push((at.state.clone(), at.depth() as u32));
        Continue(())
    }

    fn progress(&mut self, progress: &Progress) -> ControlFlow<isolde_explore::Limit> {
        (self.progress)(progress)
    }
}

impl StateRows {
    /// Takes every step from every state.
    fn follow(&mut self, system: &ScenarioSystem<'_>, states: &[State]) {
        let digests = states.iter().enumerate().map(|(number, state)| (system.digest(state), number as u32));
        let numbers: BTreeMap<Option<u128>, u32> = digests.collect();
        let mut kinds: BTreeMap<StateStep, u32> = BTreeMap::new();
        let mut enabled = Vec::new();
        for (number, state) in states.iter().enumerate() {
            enabled.clear();
            system.enabled(state, &mut enabled);
            for choice in &enabled {
                let mut next = state.clone();
                let event = system.execute(&mut next, choice);
                let Some(&target) = numbers.get(&system.digest(&next)) else { continue };
                let fresh = kinds.len() as u32;
                let kind = *kinds.entry(kind(system, choice, &event)).or_insert(fresh);
                self.transitions.push((number as u32, kind, target));
            }
        }
        let mut steps: Vec<(StateStep, u32)> = kinds.into_iter().collect();
        steps.sort_by_key(|(_, kind)| *kind);
        self.steps = steps.into_iter().map(|(step, _)| step).collect();
    }

    /// Says what is in every state.
    fn describe(&mut self, scenario: &Scenario, states: &[State]) {
        let cells = Cells::of(scenario, states);
        for thread in &scenario.threads {
            self.columns.extend([thread.name.to_string(), format!("{}_at", thread.name)]);
        }
        self.columns.extend(scenario.clock.runs().then(|| clock::NAME.to_string()));
        let tables: Vec<&Table> = scenario.database.catalog().tables().map(|table| &**table).collect();
        self.columns.extend(tables.iter().map(|table| table.name.to_string()));
        self.columns.extend(cells.names(&tables));
        self.states = states.iter().map(|state| row(scenario, &tables, &cells, state)).collect();
    }
}

fn kind(system: &ScenarioSystem<'_>, choice: &Choice, event: &Event) -> StateStep {
    let scenario = system.scenario;
    let pending = event.steps.first().map(|step| &step.pending);
    let (file, line) = pending.map_or((None, 0), |pending| scenario.sources.place(pending.span));
    let text = match (choice, pending) {
        (Choice::Pass(_), _) => clock::passing(event.passed.unwrap_or_default()),
        (Choice::Victim(_), _) => "is the victim of a deadlock".into(),
        (_, Some(pending)) => pending.text.to_string(),
        (_, None) => String::new(),
    };
    let name = system.member(choice.thread()).name.to_string();
    StateStep { thread: name, text, file: file.unwrap_or(scenario.sources.name()).into(), line }
}

fn row(scenario: &Scenario, tables: &[&Table], cells: &Cells, state: &State) -> Vec<Option<String>> {
    let mut row = Vec::new();
    for (client, thread) in state.clients.iter().zip(&scenario.threads) {
        let status = match &client.status {
            Status::Running if matches!(state.database.activity(thread.session), Activity::Blocked(_)) => "waits",
            Status::Running => "ready",
            Status::Done => "done",
            Status::Aborted(_) => "aborted",
            Status::Failed(_) => "failed",
        };
        row.push(Some(status.to_string()));
        row.push(Some((client.progress.next + 1).to_string()));
    }
    row.extend(scenario.clock.runs().then(|| Some(format!("{} s", state.database.clock() / 1_000_000))));
    let committed = state.database.committed();
    for table in tables {
        let mut rows: Vec<String> =
            committed.table(table.id).iter().map(|(_, tuple)| names::tuple(&tuple.values)).collect();
        rows.sort();
        row.push(Some(format!("{{{}}}", rows.join(", "))));
    }
    for (place, keys) in &cells.keys {
        let table = tables[*place];
        let rows: BTreeMap<String, _> = committed
            .table(table.id)
            .iter()
            .filter_map(|(_, tuple)| Some((names::value(tuple.values.get(key_column(table)?)?), tuple)))
            .collect();
        for key in keys {
            for column in other_columns(table) {
                row.push(rows.get(key).and_then(|tuple| names::optional(tuple.values.get(column)?)));
            }
        }
    }
    row
}

/// The rows that are there in some state, by their keys, of tables whose keys are one column.
struct Cells {
    keys: Vec<(usize, Vec<String>)>,
}

impl Cells {
    fn of(scenario: &Scenario, states: &[State]) -> Cells {
        let mut cells = Cells { keys: Vec::new() };
        let mut count = 0;
        for (place, table) in scenario.database.catalog().tables().enumerate() {
            let Some(column) = key_column(table) else { continue };
            let mut keys = BTreeSet::new();
            for state in states {
                let rows = state.database.committed().table(table.id).iter();
                keys.extend(rows.filter_map(|(_, tuple)| tuple.values.get(column).map(names::value)));
                // Whatever is more than that is not made, so it need not be counted.
                if keys.len() > CELLS_MAX {
                    break;
                }
            }
            let more = keys.len() * other_columns(table).count();
            if count + more <= CELLS_MAX {
                count += more;
                cells.keys.push((place, keys.into_iter().collect()));
            }
        }
        cells
    }

    fn names(&self, tables: &[&Table]) -> Vec<String> {
        let mut names = Vec::new();
        for (place, keys) in &self.keys {
            let table = tables[*place];
            for key in keys {
                names.extend(
                    other_columns(table).map(|column| format!("{}_{key}_{}", table.name, table.columns[column].name)),
                );
            }
        }
        names
    }
}

/// The column of a primary key that is one.
fn key_column(table: &Table) -> Option<usize> {
    match table.primary_key()?.columns.as_slice() {
        [column] => Some(*column),
        _ => None,
    }
}

fn other_columns(table: &Table) -> impl Iterator<Item = usize> + use<> {
    let key = key_column(table);
    (0..table.columns.len()).filter(move |&column| Some(column) != key)
}
