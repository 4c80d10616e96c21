//! Values that no two runs agree on.
//!
//! Times, random numbers and random keys differ from run to run whatever the schedule, so they must not be compared. Which
//! they are is found out: the threads run one after another, twice in the same order, and what differs then is left
//! out from then on, by column.

use std::collections::BTreeSet;

use isolde_report::Place;
use isolde_sql::catalog::{Catalog, TableId};

use super::client::{Observation, What};
use super::outcome::Net;

/// What is shown in place of a value that is not compared.
pub(super) const MASKED: &str = "\u{2026}";

/// Columns whose values are not compared.
#[derive(Clone, Debug, Default)]
pub(super) struct Masks {
    columns: BTreeSet<(TableId, usize)>,
    /// Columns of answers, by the place of the statement; messages have number `None`.
    answers: BTreeSet<(Option<String>, u32, Option<usize>)>,
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
            (What::Rows { rows: ours_rows, .. }, What::Rows { rows: their_rows, .. }) => {
                for (a, b) in ours_rows.iter().zip(their_rows) {
                    let columns = a.iter().zip(b).enumerate().filter(|(_, (a, b))| a != b);
                    self.answers.extend(columns.map(|(column, _)| key(&ours.place, Some(column))));
                }
            }
            (What::Notice(a), What::Notice(b)) if a != b => drop(self.answers.insert(key(&ours.place, None))),
            _ => {}
        }
    }

    /// Whether a column of a table is not compared.
    pub(super) fn hides_column(&self, table: TableId, column: usize) -> bool {
        self.columns.contains(&(table, column))
    }

    /// Whether a column of an answer is not compared.
    pub(super) fn hides_answer(&self, place: &Place, column: Option<usize>) -> bool {
        !self.answers.is_empty() && self.answers.contains(&key(place, column))
    }

    /// What is not compared, in a sentence.
    pub(super) fn describe(&self, catalog: &Catalog) -> Option<String> {
        let column = |&(table, column): &(TableId, usize)| {
            let table = catalog.table(table);
            table.columns.get(column).map(|column| format!("{}.{}", table.name, column.name))
        };
        let mut named: Vec<String> = self.columns.iter().filter_map(column).collect();
        named.extend(self.answers.iter().map(|(_, line, _)| format!("what line {line} returns")));
        named.dedup();
        let differ = "differs from run to run, whatever the schedule, and is not compared";
        (!named.is_empty()).then(|| format!("{} {differ}", isolde_scenario::listed(&named)))
    }
}

fn key(place: &Place, column: Option<usize>) -> (Option<String>, u32, Option<usize>) {
    (place.file.clone(), place.line, column)
}
