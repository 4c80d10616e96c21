//! What a run came to, compared as the embedded engine compares: rows are a multiset, and which thread drew which number from a
//! sequence is nobody's business.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use isolde_engine::footprint::Write;
use isolde_scenario::{Generated, tuple};
use isolde_sql::Value;
use isolde_sql::catalog::TableId;
use isolde_wire::Field;

use super::client::{Client, Observation, What};
use super::mask::{MASKED, Masks};
use crate::catalog::Known;
use crate::live::Outcome;

/// How the committed rows of each table differ from those after set-up: how many more of a row there are, or fewer.
#[derive(Clone, Debug, Default)]
pub(super) struct Net(BTreeMap<TableId, BTreeMap<Vec<Value>, i64>>);

impl Net {
    /// The columns in which the rows that are new differ.
    pub(super) fn differing_columns(&self, other: &Net) -> BTreeSet<(TableId, usize)> {
        let column = |net: &Net, table: TableId, column: usize| -> Vec<Value> {
            let rows = net.0.get(&table).into_iter().flatten().filter(|(_, count)| **count > 0);
            let mut values: Vec<Value> = rows.filter_map(|(row, _)| row.get(column).cloned()).collect();
            values.sort();
            values
        };
        let mut differing = BTreeSet::new();
        for (&table, rows) in &self.0 {
            let width = rows.keys().map(Vec::len).max().unwrap_or(0);
            differing
                .extend((0..width).filter(|&c| column(self, table, c) != column(other, table, c)).map(|c| (table, c)));
        }
        differing
    }

    /// A transaction has made these changes visible.
    pub(super) fn settle(&mut self, writes: &[Write]) {
        for write in writes {
            let table = self.0.entry(write.table).or_default();
            for (row, by) in [(&write.before, -1), (&write.after, 1)] {
                if let Some(row) = row {
                    let count = table.entry(row.to_vec()).or_default();
                    *count += by;
                    if *count == 0 {
                        table.remove(&row.to_vec());
                    }
                }
            }
        }
    }
}

/// What the clients have seen. `inner` says whether what routines saw counts.
pub(super) fn seen(clients: &[Client], inner: bool) -> Vec<Vec<Observation>> {
    let seen = |client: &Client| client.progress.seen.iter().filter(|o| inner || !o.inner).cloned().collect();
    clients.iter().map(seen).collect()
}

/// What the clients have seen and left behind.
pub(super) fn outcome(
    known: &Known,
    generated: &Generated,
    clients: &[Client],
    net: &Net,
    masks: &Masks,
    inner: bool,
) -> Outcome {
    let seen = seen(clients, inner);
    let names = Names { known, generated, masks, names: names(known, generated, clients, net, &seen) };
    let threads = seen.iter().map(|seen| seen.iter().map(|o| names.line(o)).collect()).collect();
    let tables = net.0.iter().filter_map(|(id, rows)| {
        let (mut more, mut fewer) = (Vec::new(), Vec::new());
        for (row, &count) in rows {
            let renamed: Vec<Value> =
                row.iter().enumerate().map(|(column, value)| names.shown(value, *id, column)).collect();
            let side = if count > 0 { &mut more } else { &mut fewer };
            side.extend(std::iter::repeat_n(tuple(&renamed), count.unsigned_abs() as usize));
        }
        more.sort();
        fewer.sort();
        (!more.is_empty() || !fewer.is_empty()).then(|| (known.catalog.table(*id).name.to_string(), more, fewer))
    });
    Outcome { threads, tables: tables.collect() }
}

/// New names for values that were drawn from sequences.
struct Names<'k> {
    known: &'k Known,
    generated: &'k Generated,
    masks: &'k Masks,
    names: BTreeMap<(Arc<str>, i64), Arc<str>>,
}

impl Names<'_> {
    /// `(40) at line 8`
    fn line(&self, observation: &Observation) -> String {
        let what = match &observation.what {
            What::Tag(tag) => tag.clone(),
            What::Notice(_) if self.masks.hides_answer(&observation.place, None) => return MASKED.into(),
            What::Notice(message) => return message.clone(),
            What::Error(code) => format!("error {code}"),
            What::Rows { rows, fields, ordered } => {
                let shown = |row: &isolde_wire::Row| {
                    let origins = fields.iter().map(|field| self.known.origin(field)).chain(std::iter::repeat(None));
                    let values = row.iter().zip(origins).enumerate().map(|(at, (value, origin))| match value {
                        _ if self.masks.hides_answer(&observation.place, Some(at)) => Value::text(MASKED),
                        None => Value::Null,
                        Some(text) => match (origin, text.parse()) {
                            (Some(origin), Ok(number)) => self.value(&Value::Int(number), Some(origin)),
                            _ => Value::text(text.as_str()),
                        },
                    });
                    tuple(&values.collect::<Vec<_>>())
                };
                let mut rows: Vec<String> = rows.iter().map(shown).collect();
                if !ordered {
                    rows.sort();
                }
                if rows.is_empty() { "no rows".into() } else { rows.join(" ") }
            }
        };
        match &observation.place.file {
            None => format!("{what} at line {}", observation.place.line),
            Some(file) => format!("{what} at {file} line {}", observation.place.line),
        }
    }

    fn shown(&self, value: &Value, table: TableId, column: usize) -> Value {
        match self.masks.hides_column(table, column) {
            true => Value::text(MASKED),
            false => self.value(value, Some((table, column))),
        }
    }

    fn value(&self, value: &Value, origin: Option<(TableId, usize)>) -> Value {
        let name = match (origin.and_then(|o| self.generated.get(&o)), value) {
            (Some(sequence), Value::Int(n)) => self.names.get(&(sequence.clone(), *n)),
            _ => None,
        };
        name.map_or_else(|| value.clone(), |name| Value::Text(name.clone()))
    }
}

impl Known {
    /// The column that a field of a result shows, if it is one of ours.
    fn origin(&self, field: &Field) -> Option<(TableId, usize)> {
        self.columns.get(&(field.table, field.column)).copied()
    }
}

/// A name for each number that was drawn and can be seen: the thread, and the how-many-eth of its draws.
fn names(
    known: &Known,
    generated: &Generated,
    clients: &[Client],
    net: &Net,
    seen: &[Vec<Observation>],
) -> BTreeMap<(Arc<str>, i64), Arc<str>> {
    let mut visible = BTreeSet::new();
    for ((table, column), sequence) in generated {
        for row in net.0.get(table).into_iter().flat_map(BTreeMap::keys) {
            if let Some(Value::Int(number)) = row.get(*column) {
                visible.insert((sequence.clone(), *number));
            }
        }
    }
    for observation in seen.iter().flatten() {
        let What::Rows { rows, fields, .. } = &observation.what else { continue };
        for (at, field) in fields.iter().enumerate() {
            let Some(sequence) = known.origin(field).and_then(|origin| generated.get(&origin)) else { continue };
            let numbers = rows.iter().filter_map(|row| row.get(at)?.as_ref()?.parse().ok());
            visible.extend(numbers.map(|number: i64| (sequence.clone(), number)));
        }
    }
    let mut names = BTreeMap::new();
    for (thread, client) in clients.iter().enumerate() {
        let mut ranks: BTreeMap<&str, usize> = BTreeMap::new();
        for draw in client.progress.draws.iter().filter(|draw| visible.contains(*draw)) {
            let rank = ranks.entry(&draw.0).or_default();
            *rank += 1;
            names.insert(draw.clone(), format!("{}:{thread}:{rank}", draw.0).into());
        }
    }
    names
}
