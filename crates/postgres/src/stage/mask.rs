//! Values that no two runs agree on.
//!
//! Times, random numbers and random keys differ from run to run whatever the schedule, so they must not be compared.
//! Which they are is found out: the threads run one after another, twice in the same order, and what differs then is
//! left out from then on, by column.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use isolde_sql::catalog::{Catalog, TableId};
use isolde_sql::{Row, Span, Value};

use super::client::{Observation, What};
use super::net::Net;

/// What is shown in place of a value that is not compared.
pub(crate) const MASKED: &str = "\u{2026}";

/// Columns whose values are not compared.
#[derive(Clone, Debug, Default)]
pub(super) struct Masks {
    columns: BTreeSet<(TableId, usize)>,
    /// Columns of answers, by the place of the statement; messages have number `None`.
    answers: BTreeSet<(Span, Option<usize>)>,
}

impl Masks {
    /// What differs between two runs of the same schedule.
    pub(super) fn between(one: &(Vec<Vec<Observation>>, Net), other: &(Vec<Vec<Observation>>, Net)) -> Masks {
        let mut masks = Masks { columns: one.1.differing_columns(&other.1), ..Masks::default() };
        for (ours, theirs) in one.0.iter().zip(&other.0).flat_map(|(ours, theirs)| ours.iter().zip(theirs)) {
            masks.compare(ours, theirs);
        }
        masks
    }

    fn compare(&mut self, ours: &Observation, theirs: &Observation) {
        match (&ours.what, &theirs.what) {
            (What::Answer { rows: ours_rows, .. }, What::Answer { rows: their_rows, .. }) => {
                for (a, b) in ours_rows.iter().zip(their_rows.iter()) {
                    let columns = a.iter().zip(b.iter()).enumerate().filter(|(_, (a, b))| a != b);
                    self.answers.extend(columns.map(|(column, _)| (ours.at, Some(column))));
                }
            }
            (What::Notice(a), What::Notice(b)) if a != b => drop(self.answers.insert((ours.at, None))),
            _ => {}
        }
    }

    /// Whether a column of an answer is not compared; `None` is a message.
    pub(super) fn hides_answer(&self, at: Span, column: Option<usize>) -> bool {
        !self.answers.is_empty() && self.answers.contains(&(at, column))
    }

    /// The rows of an answer as they are compared.
    pub(super) fn rows<'o>(&self, observation: &'o Observation) -> Cow<'o, [Row]> {
        let What::Answer { rows, .. } = &observation.what else { return Cow::Borrowed(&[]) };
        let width = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        if !(0..width).any(|column| self.hides_answer(observation.at, Some(column))) {
            return Cow::Borrowed(rows);
        }
        let value = |(column, value): (usize, &Value)| match self.hides_answer(observation.at, Some(column)) {
            true => Value::text(MASKED),
            false => value.clone(),
        };
        Cow::Owned(rows.iter().map(|row| row.iter().enumerate().map(value).collect()).collect())
    }

    /// The changes of a table as they are compared.
    pub(super) fn changes(&self, table: TableId, rows: &BTreeMap<Vec<Value>, i64>) -> Vec<(Vec<Value>, i64)> {
        let value = |(column, value): (usize, &Value)| match self.columns.contains(&(table, column)) {
            true => Value::text(MASKED),
            false => value.clone(),
        };
        rows.iter().map(|(row, count)| (row.iter().enumerate().map(value).collect(), *count)).collect()
    }

    /// What is not compared, in a sentence. `line` is that of a statement.
    pub(super) fn describe(&self, catalog: &Catalog, line: impl Fn(Span) -> u32) -> Option<String> {
        let column = |&(table, column): &(TableId, usize)| {
            let table = catalog.table(table);
            table.columns.get(column).map(|column| format!("{}.{}", table.name, column.name))
        };
        let mut named: Vec<String> = self.columns.iter().filter_map(column).collect();
        named.extend(self.answers.iter().map(|(at, _)| format!("what line {} returns", line(*at))));
        named.dedup();
        let differ = "differs from run to run, whatever the schedule, and is not compared";
        (!named.is_empty()).then(|| format!("{} {differ}", isolde_scenario::listed(&named)))
    }
}
