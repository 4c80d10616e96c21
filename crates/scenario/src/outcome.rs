//! What a run comes to: what each thread saw, and what is in the tables at the end.
//!
//! Two runs come to the same if an application could not tell them apart. So rows of a table are a multiset, and so are
//! the rows of a query without ORDER BY. And generated values are compared [up to renaming](crate::renaming): by their
//! columns ([`RawOutcome::outcome`]), or, where the same schedule was run twice, wherever they are
//! ([`RawOutcome::beside`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use isolde_sql::catalog::{Catalog, TableId};
use isolde_sql::typed::OutputColumn;
use isolde_sql::{Row, Span, SqlState, Value};

use crate::renaming::{Cell, DrawnTwice, Generator, Origin, Twice};

/// What a run comes to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outcome {
    /// What each thread saw, in the order of the file.
    pub(crate) threads: Vec<Seen>,
    /// How the rows of each table differ from those after set-up. Tables that do not differ are left out.
    pub(crate) tables: BTreeMap<TableId, Difference>,
}

/// How a multiset of rows differs from another: how many more of a row there are, or fewer.
pub(crate) type Difference = BTreeMap<Vec<Cell>, i64>;

/// What one thread saw.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    /// The error it ended with.
    pub(crate) failed: Option<SqlState>,
    /// Answers and messages, in order.
    pub(crate) answers: Vec<Answer>,
}

impl Seen {
    /// Where the first statement stands that is answered differently, if that is known; `None` if nothing differs.
    pub(crate) fn first_difference(&self, other: &Seen) -> Option<Option<Span>> {
        let longer = self.answers.len().max(other.answers.len());
        let differs = (0..longer).find(|&at| self.answers.get(at) != other.answers.get(at))?;
        let at = |seen: &Seen| match seen.answers.get(differs) {
            Some(Answer::Statement { at, .. }) => *at,
            _ => None,
        };
        Some(at(self).or(at(other)))
    }
}

/// Something that a thread saw.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Answer {
    /// A message.
    Message(Cell),
    /// A line that it showed to its user.
    Line(Arc<str>),
    /// The answer to the statement at this place.
    Statement { at: Option<Span>, text: Arc<str>, rows: Vec<Vec<Cell>> },
}

/// What was observed of a run, value by value.
#[derive(Clone, Debug, Default)]
pub struct RawOutcome<'r> {
    /// What each thread saw, in the order of the file.
    pub threads: Vec<RawSeen<'r>>,
    /// The committed rows that are new since set-up (a positive count) or gone (a negative one).
    pub changed: BTreeMap<TableId, Vec<(&'r [Value], i64)>>,
}

/// What one thread saw, value by value.
#[derive(Clone, Debug, Default)]
pub struct RawSeen<'r> {
    /// The error it ended with.
    pub failed: Option<SqlState>,
    /// Answers and messages, in order.
    pub answers: Vec<RawAnswer<'r>>,
    /// What it drew from sequences, in order.
    pub draws: Vec<&'r (Arc<str>, i64)>,
}

/// Something that a thread saw, value by value.
#[derive(Clone, Debug)]
pub enum RawAnswer<'r> {
    /// A message.
    Message(Arc<str>),
    /// A line that it showed to its user.
    Line(Arc<str>),
    /// The answer to a statement.
    Statement {
        /// Where the statement stands.
        at: Option<Span>,
        /// The command tag, or an error that was caught.
        text: Arc<str>,
        /// Its columns, as far as they are known.
        columns: &'r [OutputColumn],
        /// Its rows.
        rows: &'r [Row],
        /// The order of its rows is part of the answer.
        ordered: bool,
    },
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

impl RawOutcome<'_> {
    /// The run in a form that equals another run's if an application could not tell them apart.
    pub fn outcome(&self, generated: &Generated) -> Outcome {
        let renaming = Renaming { generated, names: self.names_of_draws(generated) };
        let threads = self.threads.iter().map(|thread| Seen {
            failed: thread.failed,
            answers: thread.answers.iter().map(|answer| renaming.answer(answer)).collect(),
        });
        let tables = self.changed.iter().filter_map(|(table, rows)| {
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

    /// The same of a schedule that was run twice, with different generators: what was generated is recognised wherever
    /// it is. `None` if the two runs differ in shape, so that nothing can be said. `random` holds what each thread drew
    /// by chance.
    pub(crate) fn beside(&self, other: &RawOutcome<'_>, random: Vec<DrawnTwice>) -> Option<Outcome> {
        if self.threads.len() != other.threads.len() {
            return None;
        }
        let pairs = || self.threads.iter().zip(&other.threads);
        let mut drawn = Vec::new();
        for ((one, other), random) in pairs().zip(random) {
            let draws = || one.draws.iter().zip(&other.draws);
            if one.draws.len() != other.draws.len() || draws().any(|(one, other)| one.0 != other.0) {
                return None;
            }
            let sequences = draws()
                .map(|(one, other)| (Generator::Sequence(one.0.clone()), (Value::Int(one.1), Value::Int(other.1))));
            drawn.push(sequences.chain(random).collect());
        }
        let mut twice = Twice::new(drawn);
        // First to see which draws are visible, then to count these.
        self.cells_beside(other, &twice)?;
        twice.count_visible();
        self.cells_beside(other, &twice)
    }

    fn cells_beside(&self, other: &RawOutcome<'_>, twice: &Twice) -> Option<Outcome> {
        let threads = self.threads.iter().zip(&other.threads).map(|(one, other)| {
            let same = one.failed == other.failed && one.answers.len() == other.answers.len();
            let answers = same.then(|| one.answers.iter().zip(&other.answers))?;
            let answers = answers.map(|(one, other)| answer_beside(one, other, twice)).collect::<Option<_>>()?;
            Some(Seen { failed: one.failed, answers })
        });
        let threads = threads.collect::<Option<_>>()?;
        let mut tables = BTreeMap::new();
        if !self.changed.keys().eq(other.changed.keys()) {
            return None;
        }
        for ((table, one), other) in self.changed.iter().zip(other.changed.values()) {
            let mut difference = Difference::new();
            if one.len() != other.len() {
                return None;
            }
            for ((one, count), (other, other_count)) in one.iter().zip(other) {
                let row = (count == other_count).then(|| row_beside(one, other, twice))??;
                *difference.entry(row).or_default() += count;
            }
            difference.retain(|_, count| *count != 0);
            if !difference.is_empty() {
                tables.insert(*table, difference);
            }
        }
        Some(Outcome { threads, tables })
    }

    /// The origin of each value that was drawn from a sequence and can be seen.
    fn names_of_draws(&self, generated: &Generated) -> BTreeMap<(Arc<str>, i64), Origin> {
        if self.threads.iter().all(|thread| thread.draws.is_empty()) {
            return BTreeMap::new();
        }
        let visible = self.visible_keys(generated);
        let mut names = BTreeMap::new();
        for (number, thread) in self.threads.iter().enumerate() {
            let mut ranks: BTreeMap<&str, usize> = BTreeMap::new();
            for draw in thread.draws.iter().filter(|draw| visible.contains(**draw)) {
                let rank = ranks.entry(&draw.0).or_default();
                *rank += 1;
                let generator = Generator::Sequence(draw.0.clone());
                names.insert((*draw).clone(), Origin { generator, thread: number, rank: *rank });
            }
        }
        names
    }

    /// All values in generated columns of changed rows and of answers.
    fn visible_keys(&self, generated: &Generated) -> BTreeSet<(Arc<str>, i64)> {
        let mut visible = BTreeSet::new();
        let mut see = |sequence: &Arc<str>, value: Option<&Value>| {
            if let Some(Value::Int(n)) = value {
                visible.insert((sequence.clone(), *n));
            }
        };
        for ((table, column), sequence) in generated {
            self.changed.get(table).into_iter().flatten().for_each(|(row, _)| see(sequence, row.get(*column)));
        }
        for answer in self.threads.iter().flat_map(|thread| &thread.answers) {
            let RawAnswer::Statement { columns, rows, .. } = answer else { continue };
            for (i, column) in columns.iter().enumerate() {
                if let Some(sequence) = column.origin.and_then(|origin| generated.get(&origin)) {
                    rows.iter().for_each(|row| see(sequence, row.get(i)));
                }
            }
        }
        visible
    }
}

/// New names for generated values.
struct Renaming<'g> {
    generated: &'g Generated,
    names: BTreeMap<(Arc<str>, i64), Origin>,
}

impl Renaming<'_> {
    fn answer(&self, answer: &RawAnswer<'_>) -> Answer {
        let (at, text, columns, rows, ordered) = match answer {
            RawAnswer::Message(message) => return Answer::Message(Cell::Value(Value::Text(message.clone()))),
            RawAnswer::Line(line) => return Answer::Line(line.clone()),
            RawAnswer::Statement { at, text, columns, rows, ordered } => (*at, text, columns, rows, *ordered),
        };
        let origins = || columns.iter().map(|column| column.origin).chain(std::iter::repeat(None));
        let mut rows: Vec<Vec<Cell>> = rows.iter().map(|row| self.row(row, origins())).collect();
        if !ordered {
            rows.sort();
        }
        Answer::Statement { at, text: text.clone(), rows }
    }

    fn row(&self, row: &[Value], origins: impl Iterator<Item = Option<(TableId, usize)>>) -> Vec<Cell> {
        row.iter().zip(origins).map(|(value, origin)| self.value(value, origin)).collect()
    }

    fn value(&self, value: &Value, origin: Option<(TableId, usize)>) -> Cell {
        let name = match (origin.and_then(|o| self.generated.get(&o)), value) {
            (Some(sequence), Value::Int(n)) => self.names.get(&(sequence.clone(), *n)),
            _ => None,
        };
        name.map_or_else(|| Cell::Value(value.clone()), |name| Cell::draw(name.clone()))
    }
}

fn answer_beside(one: &RawAnswer<'_>, other: &RawAnswer<'_>, twice: &Twice) -> Option<Answer> {
    match (one, other) {
        (RawAnswer::Message(one), RawAnswer::Message(other)) => {
            Some(Answer::Message(twice.cell(&Value::Text(one.clone()), &Value::Text(other.clone()))))
        }
        (RawAnswer::Line(one), RawAnswer::Line(other)) if one == other => Some(Answer::Line(one.clone())),
        (
            RawAnswer::Statement { at, text, rows, ordered, .. },
            RawAnswer::Statement { at: other_at, text: other_text, rows: other_rows, .. },
        ) if (at, text, rows.len()) == (other_at, other_text, other_rows.len()) => {
            let rows = rows.iter().zip(*other_rows).map(|(one, other)| row_beside(one, other, twice));
            let mut rows = rows.collect::<Option<Vec<Vec<Cell>>>>()?;
            if !ordered {
                rows.sort();
            }
            Some(Answer::Statement { at: *at, text: text.clone(), rows })
        }
        _ => None,
    }
}

fn row_beside(one: &[Value], other: &[Value], twice: &Twice) -> Option<Vec<Cell>> {
    (one.len() == other.len()).then(|| one.iter().zip(other).map(|(one, other)| twice.cell(one, other)).collect())
}
