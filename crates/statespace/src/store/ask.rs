//! Questions to a store alone: CTL whose atoms are conditions on the columns of `state_v`.
//!
//! A store outlives its specification, and one that was made of a database scenario never had any. So atoms can be read
//! as SQL over the named columns, with TLA+'s signs: `status = "cancelled" /\ paid # 0`. They are true or false in
//! every state, also where a column is NULL ([`condition`](super::condition)).

use super::condition::condition;
use super::labels::{create, enter, relation};
use super::{Cell, Store, StoreError, Stored};
use crate::ctl::{Checker, Evidence, Formula, Labels};
use crate::graph::{BitSet, Path, StateId};
use crate::sql::Dialect;

/// The answer to a question.
#[derive(Clone, Debug)]
pub struct Asked {
    /// It holds in every state in which the system starts.
    pub holds: bool,
    /// In how many states it holds.
    pub states: usize,
    /// Why, in the first state in which it fails; or, if it holds, in the first.
    pub evidence: Option<Evidence>,
    /// The states of the path.
    pub path: Vec<Passed>,
    /// The place to which the path comes back.
    pub back_to: Option<usize>,
}

/// A state of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The step that leads to it; nothing at the start.
    pub step: Option<String>,
    /// The variables, each with its text.
    pub values: Vec<(String, String)>,
}

impl Store {
    /// Asks a formula of what is stored.
    pub fn ask(&mut self, formula: &Formula) -> Result<Asked, StoreError> {
        let stored = self.stored()?;
        self.ask_of(&stored, formula)
    }

    /// Asks a formula of what was read before.
    pub fn ask_of(&mut self, stored: &Stored, formula: &Formula) -> Result<Asked, StoreError> {
        let dialect = self.database.dialect();
        let no_atoms = |_: &str| -> Result<BitSet, StoreError> { unreachable!("atoms are selected") };
        let labels = Selected { labels: self.labels(stored.keys.clone(), no_atoms), dialect };
        let mut checker = Checker::new(&stored.graph, labels);
        let holding = checker.states(formula)?.clone();
        let initial: Vec<StateId> =
            (0..stored.keys.len() as StateId).filter(|&state| stored.levels[state as usize] == 0).collect();
        let failing = initial.iter().copied().find(|&state| !holding.contains(state));
        let subject = failing.or(initial.first().copied());
        let evidence = subject.map(|state| checker.explain(formula, state)).transpose()?;
        drop(checker);
        let path = evidence.as_ref().map(Evidence::path);
        Ok(Asked {
            holds: failing.is_none(),
            states: holding.count(),
            path: path.as_ref().map(|path| self.show(stored, path)).transpose()?.unwrap_or_default(),
            back_to: path.and_then(|path| path.back_to),
            evidence,
        })
    }

    /// The states of a path with their columns, each with the step that leads to it.
    fn show(&mut self, stored: &Stored, path: &Path) -> Result<Vec<Passed>, StoreError> {
        let names = self.database.columns("state_text")?;
        let mut shown = Vec::new();
        for (place, &state) in path.states.iter().enumerate() {
            let sql = format!("SELECT * FROM state_text WHERE k = {}", stored.keys[state as usize]);
            let rows = self.database.rows(&sql)?;
            let cells = rows.first().map(|row| row.iter().map(Cell::text).collect::<Vec<_>>()).unwrap_or_default();
            let values = names.iter().cloned().zip(cells).skip(2).collect();
            let before = place.checked_sub(1).and_then(|before| path.edges[before]);
            let step = before.map(|edge| self.step_name(stored.graph.action(edge))).transpose()?;
            shown.push(Passed { step, values });
        }
        Ok(shown)
    }

    fn step_name(&mut self, act: u32) -> Result<String, StoreError> {
        let rows = self.database.rows(&format!("SELECT name, binding FROM action WHERE id = {act}"))?;
        Ok(rows.first().map_or(String::new(), |row| match row[1].text().as_str() {
            "" => row[0].text(),
            binding => format!("{}({binding})", row[0].text()),
        }))
    }
}

/// Labels whose atoms are selected.
struct Selected<'s, A> {
    labels: super::StoredLabels<'s, A>,
    dialect: Dialect,
}

impl<A: FnMut(&str) -> Result<BitSet, StoreError>> Labels for Selected<'_, A> {
    type Error = StoreError;

    fn atom(&mut self, text: &str) -> Result<BitSet, StoreError> {
        let condition = condition(self.dialect, text);
        self.labels.select(&format!("SELECT k FROM state_v WHERE {condition}")).map_err(|error| {
            let hint = "conditions are about the columns of the view state_v";
            StoreError::new(format!("`{text}` is no condition on the states of this store: {error}")).with_hint(hint)
        })
    }

    fn known(&mut self, name: &str) -> Result<Option<BitSet>, StoreError> {
        self.labels.known(name)
    }

    fn learned(&mut self, name: &str, label: &BitSet) -> Result<(), StoreError> {
        self.labels.learned(name, label)
    }
}

/// The label of an atom as a table, made in the database.
pub(crate) fn label_atom(database: &mut dyn super::Database, text: &str) -> Result<String, StoreError> {
    let condition = condition(database.dialect(), text);
    let relation = relation(text);
    database.atomically(|database| {
        create(database, &relation)?;
        let name = database.dialect().name(&relation);
        database.execute(&format!("INSERT INTO {name} SELECT k FROM state_v WHERE {condition}"))?;
        enter(database, text, &relation)
    })?;
    Ok(relation)
}
