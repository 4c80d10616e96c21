//! What a run comes to: what each thread saw, and what is in the tables at the end.
//!
//! Two runs come to the same if an application could not tell them apart. So rows of a table are a multiset, and so are
//! the rows of a query without ORDER BY. And generated keys do not count as such: which of two threads drew 1 and which
//! drew 2 is nobody's business. A value of a serial column, or of a foreign key to one, that a thread drew during the run is
//! named after its origin instead: the thread, and the how-many-eth of its surviving draws.
//!
//! What is not recognised as generated (an id that a function returns, or that was pasted into a text) is compared as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use isolde_engine::{TableData, Tables};
use isolde_sql::catalog::{Catalog, TableId};
use isolde_sql::{Row, Span, SqlState, Value};

use crate::client::{Observation, Status};
use crate::file::SerialCheck;
use crate::scenario::{Scenario, Thread};
use crate::system::{ScenarioSystem, State};

/// What a run comes to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Outcome {
    /// What each thread saw, in the order of the file.
    pub(crate) threads: Vec<Seen>,
    /// How the rows of each table differ from those after set-up. Tables that do not differ are left out.
    pub(crate) tables: BTreeMap<TableId, Difference>,
}

/// How a multiset of rows differs from another: how many more of a row there are, or fewer.
pub(crate) type Difference = BTreeMap<Vec<Value>, i64>;

/// What one thread saw.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    /// The error it ended with.
    pub(crate) failed: Option<SqlState>,
    /// Answers and messages, in order.
    pub(crate) answers: Vec<Answer>,
}

/// An answer to a statement, or a message without rows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Answer {
    /// The statement; a message has none.
    pub(crate) span: Option<Span>,
    pub(crate) text: Arc<str>,
    pub(crate) rows: Vec<Vec<Value>>,
}

/// The sequence that each generated column gets its values from, directly or through foreign keys.
pub type Generated = BTreeMap<(TableId, usize), Arc<str>>;

/// Finds the generated columns of a catalog.
pub fn generated(catalog: &Catalog) -> Generated {
    let mut generated = Generated::new();
    for table in catalog.tables() {
        for (column, definition) in table.columns.iter().enumerate() {
            if let Some(sequence) = &definition.sequence {
                generated.insert((table.id, column), sequence.clone());
            }
        }
    }
    // Foreign keys to foreign keys: until nothing is new.
    loop {
        let mut more = Vec::new();
        for table in catalog.tables() {
            for key in &table.foreign_keys {
                for (&column, &parent) in key.columns.iter().zip(&key.parent_columns) {
                    let sequence = generated.get(&(key.parent, parent));
                    if let Some(sequence) = sequence.filter(|_| !generated.contains_key(&(table.id, column))) {
                        more.push(((table.id, column), sequence.clone()));
                    }
                }
            }
        }
        if more.is_empty() {
            return generated;
        }
        generated.extend(more);
    }
}

/// What a run that has ended in `state` comes to. Of each thread, only its first `limits` statements count.
pub(crate) fn outcome(scenario: &Scenario, generated: &Generated, state: &State, limits: &[usize]) -> Outcome {
    let changed = changed_rows(scenario, state);
    let inner = scenario.options.serial.unwrap_or_default() == SerialCheck::On;
    let seen: Vec<Vec<&Observation>> = state
        .clients
        .iter()
        .zip(limits)
        .map(|(client, &limit)| {
            let seen = client.progress.seen.to_vec().into_iter().filter(|o| o.statement() < limit);
            seen.filter(|o| inner || !matches!(o, Observation::Inner { .. })).collect()
        })
        .collect();
    let renaming = Renaming { generated, names: names_of_draws(generated, state, &changed, &seen) };
    let threads = state.clients.iter().zip(&scenario.threads).zip(&seen).map(|((client, thread), seen)| {
        let failed = match &client.status {
            Status::Failed(error) => Some(error.state),
            _ => None,
        };
        Seen { failed, answers: seen.iter().map(|o| answer(thread, o, &renaming)).collect() }
    });
    let tables = changed.iter().filter_map(|(table, rows)| {
        let mut difference = Difference::new();
        for (row, count) in rows {
            let origins = (0..row.len()).map(|column| Some((*table, column)));
            *difference.entry(renaming.row(row, origins)).or_default() += count;
        }
        difference.retain(|_, count| *count != 0);
        (!difference.is_empty()).then_some((*table, difference))
    });
    Outcome { threads: threads.collect(), tables: tables.collect() }
}

/// The end of a run as a text: equal for two runs if nobody could tell them apart. For tests of searches.
#[doc(hidden)]
pub fn describe_end(system: &ScenarioSystem<'_>, state: &State) -> String {
    let scenario = system.scenario;
    let limits = vec![usize::MAX; scenario.threads.len()];
    let outcome = outcome(scenario, &generated(scenario.database.catalog()), state, &limits);
    let fates = state.clients.iter().map(|client| match &client.status {
        Status::Running => "stuck".to_string(),
        Status::Done => "done".to_string(),
        Status::Aborted(error) => format!("aborted: {error}"),
        Status::Failed(error) => format!("failed: {error}"),
    });
    format!("{:?}\n{outcome:?}", fates.collect::<Vec<_>>())
}

/// What each invariant answers in a state. For tests of searches.
#[doc(hidden)]
pub fn describe_invariants(system: &ScenarioSystem<'_>, state: &State) -> Vec<String> {
    let invariants = system.scenario.invariants.iter();
    invariants.map(|check| format!("{}: {:?}", check.name, state.database.query(&check.query))).collect()
}

fn answer(thread: &Thread, observation: &Observation, renaming: &Renaming<'_>) -> Answer {
    let (span, text, columns, rows, ordered) = match observation {
        Observation::Notice { message, .. } => {
            return Answer { span: None, text: message.clone(), rows: Vec::new() };
        }
        Observation::Answer { statement, tag, columns, rows } => {
            let submission = thread.statements.get(*statement);
            let span = submission.map(|s| s.prepared.statement.span);
            (span, tag, columns, rows, submission.is_some_and(|s| s.ordered))
        }
        Observation::Inner { span, ordered, text, columns, rows, .. } => (Some(*span), text, columns, rows, *ordered),
    };
    let renamed =
        rows.iter().map(|row| renaming.row(row, columns.iter().map(|c| c.origin).chain(std::iter::repeat(None))));
    let mut rows: Vec<Vec<Value>> = renamed.collect();
    if !ordered {
        rows.sort();
    }
    Answer { span, text: text.clone(), rows }
}

/// The rows that are new since set-up (1) or gone (-1), by table.
fn changed_rows<'s>(scenario: &'s Scenario, state: &'s State) -> BTreeMap<TableId, Vec<(&'s Row, i64)>> {
    let (before, after) = (scenario.database.committed(), state.database.committed());
    static NONE: LazyLock<TableData> = LazyLock::new(TableData::default);
    let data = |tables: &'s Tables, id: TableId| if (id.0 as usize) < tables.len() { tables.table(id) } else { &NONE };
    let tables = (0..after.len()).map(|id| {
        let id = TableId(id as u32);
        let changes = data(before, id).changes(data(after, id));
        let rows = changes.flat_map(|(old, new)| {
            old.map(|tuple| (&tuple.values, -1)).into_iter().chain(new.map(|tuple| (&tuple.values, 1)))
        });
        (id, rows.collect())
    });
    tables.collect()
}

/// New names for generated values.
struct Renaming<'g> {
    generated: &'g Generated,
    names: BTreeMap<(Arc<str>, i64), Arc<str>>,
}

impl Renaming<'_> {
    fn row(&self, row: &[Value], origins: impl Iterator<Item = Option<(TableId, usize)>>) -> Vec<Value> {
        row.iter().zip(origins).map(|(value, origin)| self.value(value, origin)).collect()
    }

    fn value(&self, value: &Value, origin: Option<(TableId, usize)>) -> Value {
        let name = match (origin.and_then(|o| self.generated.get(&o)), value) {
            (Some(sequence), Value::Int(n)) => self.names.get(&(sequence.clone(), *n)),
            _ => None,
        };
        name.map_or_else(|| value.clone(), |name| Value::Text(name.clone()))
    }
}

/// A name for each value that was drawn from a sequence and can be seen.
fn names_of_draws(
    generated: &Generated,
    state: &State,
    changed: &BTreeMap<TableId, Vec<(&Row, i64)>>,
    seen: &[Vec<&Observation>],
) -> BTreeMap<(Arc<str>, i64), Arc<str>> {
    if state.clients.iter().all(|c| c.progress.draws.is_empty()) {
        return BTreeMap::new();
    }
    let visible = visible_keys(generated, changed, seen);
    let mut names = BTreeMap::new();
    for (thread, client) in state.clients.iter().enumerate() {
        let mut ranks: BTreeMap<&str, usize> = BTreeMap::new();
        for draw in client.progress.draws.to_vec().into_iter().filter(|draw| visible.contains(*draw)) {
            let rank = ranks.entry(&draw.0).or_default();
            *rank += 1;
            names.insert(draw.clone(), format!("{}:{thread}:{rank}", draw.0).into());
        }
    }
    names
}

/// All values in generated columns of changed rows and of answers.
fn visible_keys(
    generated: &Generated,
    changed: &BTreeMap<TableId, Vec<(&Row, i64)>>,
    seen: &[Vec<&Observation>],
) -> BTreeSet<(Arc<str>, i64)> {
    let mut visible = BTreeSet::new();
    let mut see = |sequence: &Arc<str>, value: Option<&Value>| {
        if let Some(Value::Int(n)) = value {
            visible.insert((sequence.clone(), *n));
        }
    };
    for ((table, column), sequence) in generated {
        changed.get(table).into_iter().flatten().for_each(|(row, _)| see(sequence, row.get(*column)));
    }
    for observation in seen.iter().flatten() {
        let (Observation::Answer { columns, rows, .. } | Observation::Inner { columns, rows, .. }) = observation else {
            continue;
        };
        for (i, column) in columns.iter().enumerate() {
            if let Some(sequence) = column.origin.and_then(|origin| generated.get(&origin)) {
                rows.iter().for_each(|row| see(sequence, row.get(i)));
            }
        }
    }
    visible
}
