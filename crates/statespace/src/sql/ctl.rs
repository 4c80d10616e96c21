//! CTL by SQL, for stores whose graph does not fit into memory.
//!
//! The same three operators as in memory, as statements on `trans`: what was labelled in the last round is a table of
//! its own (the frontier), so that every round looks at what is new and not at everything again; and `EG` counts how
//! many steps each state has left inside instead of looking for components.
//!
//! ```text
//!   E[f U g]   label := g;   repeat  new := sources of transitions into new that are in f and not in label;  label += new
//!   EG f       label := f;   left(s) := steps of s inside f;   repeat  take out states with left = 0; lower their predecessors
//! ```
//!
//! A label is entered into the table of labels when it is complete, in the transaction that completes it.

use crate::ctl::{Core, Formula};
use crate::store::labels::{create, enter, relation};
use crate::store::{Database, Store, StoreError};

/// Decides formulas about what is in a store, there.
#[derive(Debug)]
pub struct SqlChecker<'s> {
    store: &'s mut Store,
}

impl<'s> SqlChecker<'s> {
    /// About a store with transitions.
    pub fn new(store: &'s mut Store) -> SqlChecker<'s> {
        SqlChecker { store }
    }

    /// Whether a formula holds in every state in which the system starts.
    pub fn holds(&mut self, formula: &Formula) -> Result<bool, StoreError> {
        let label = self.label(&Core::of(formula))?;
        let sql = format!("SELECT count(*) FROM state WHERE lvl = 0 AND k NOT IN (SELECT k FROM {label})");
        Ok(self.store.database.number(&sql)? == 0)
    }

    /// The table of the states in which a formula holds.
    pub fn states(&mut self, formula: &Formula) -> Result<String, StoreError> {
        self.label(&Core::of(formula))
    }

    fn label(&mut self, core: &Core) -> Result<String, StoreError> {
        let name = core.to_string();
        let text = self.store.database.dialect().text(&name);
        let known = self.store.database.rows(&format!("SELECT relation FROM label WHERE formula = {text}"))?;
        if let Some(row) = known.first() {
            return Ok(row[0].text());
        }
        let label = relation(&name);
        let parts: Vec<String> = match core {
            Core::True => Vec::new(),
            Core::Atom(text) => return crate::store::label_atom(&mut *self.store.database, text),
            Core::Not(f) | Core::Ex(f) | Core::Eg(f) => vec![self.label(f)?],
            Core::And(f, g) | Core::Or(f, g) | Core::Eu(f, g) => vec![self.label(f)?, self.label(g)?],
        };
        self.store.database.atomically(|database| {
            create(database, &label)?;
            compute(database, core, &label, &parts)?;
            enter(database, &name, &label)
        })?;
        Ok(label)
    }
}

fn compute(database: &mut dyn Database, core: &Core, label: &str, parts: &[String]) -> Result<(), StoreError> {
    let insert = format!("INSERT INTO {label}");
    match (core, parts) {
        (Core::Not(_), [f]) => {
            database.execute(&format!("{insert} SELECT k FROM state WHERE k NOT IN (SELECT k FROM {f})"))
        }
        (Core::And(..), [f, g]) => {
            database.execute(&format!("{insert} SELECT k FROM {f} WHERE k IN (SELECT k FROM {g})"))
        }
        (Core::Or(..), [f, g]) => database.execute(&format!("{insert} SELECT k FROM {f} UNION SELECT k FROM {g}")),
        (Core::Ex(_), [f]) => {
            database.execute(&format!("{insert} SELECT DISTINCT src FROM trans_total JOIN {f} f ON f.k = dst"))
        }
        (Core::Eu(..), [f, g]) => return until(database, label, f, g),
        (Core::Eg(_), [f]) => return globally(database, label, f),
        _ => database.execute(&format!("{insert} SELECT k FROM state")),
    }
    .map(drop)
}

fn until(database: &mut dyn Database, label: &str, over: &str, goal: &str) -> Result<(), StoreError> {
    scratch(database, &["isolde_new k", "isolde_newer k"])?;
    database
        .execute(&format!("INSERT INTO {label} SELECT k FROM {goal}; INSERT INTO isolde_new SELECT k FROM {goal}"))?;
    loop {
        let found = database.execute(&format!(
            "INSERT INTO isolde_newer SELECT DISTINCT t.src FROM isolde_new n JOIN trans t ON t.dst = n.k \
             WHERE EXISTS (SELECT 1 FROM {over} f WHERE f.k = t.src) AND NOT EXISTS (SELECT 1 FROM {label} l WHERE l.k = t.src)"
        ))?;
        if found == 0 {
            return Ok(());
        }
        database.execute(&format!(
            "INSERT INTO {label} SELECT k FROM isolde_newer; DELETE FROM isolde_new; \
             INSERT INTO isolde_new SELECT k FROM isolde_newer; DELETE FROM isolde_newer"
        ))?;
    }
}

fn globally(database: &mut dyn Database, label: &str, inside: &str) -> Result<(), StoreError> {
    scratch(database, &["isolde_left k n", "isolde_new k", "isolde_newer k"])?;
    // A state that no step leaves stays where it is, so it always has one.
    database.execute(&format!(
        "INSERT INTO isolde_left SELECT f.k, (SELECT count(*) FROM trans t JOIN {inside} g ON g.k = t.dst WHERE t.src = f.k) \
         + CASE WHEN EXISTS (SELECT 1 FROM trans t WHERE t.src = f.k) THEN 0 ELSE 1 END FROM {inside} f; \
         INSERT INTO isolde_new SELECT k FROM isolde_left WHERE n = 0"
    ))?;
    while database.number("SELECT count(*) FROM (SELECT 1 FROM isolde_new LIMIT 1) x")? > 0 {
        database.execute(
            "DELETE FROM isolde_left WHERE k IN (SELECT k FROM isolde_new); \
             UPDATE isolde_left SET n = isolde_left.n - d.n FROM (SELECT t.src AS k, count(*) AS n FROM isolde_new x JOIN trans t \
             ON t.dst = x.k GROUP BY t.src) d WHERE d.k = isolde_left.k; \
             INSERT INTO isolde_newer SELECT DISTINCT t.src FROM isolde_new x JOIN trans t ON t.dst = x.k \
             JOIN isolde_left l ON l.k = t.src WHERE l.n = 0; \
             DELETE FROM isolde_new; INSERT INTO isolde_new SELECT k FROM isolde_newer; DELETE FROM isolde_newer",
        )?;
    }
    database.execute(&format!("INSERT INTO {label} SELECT k FROM isolde_left")).map(drop)
}

/// Empty tables of numbers for the time of a transaction: a name, then columns, the first of them unique.
fn scratch(database: &mut dyn Database, tables: &[&str]) -> Result<(), StoreError> {
    let (key, unique) = (database.dialect().key_type(), database.dialect().unique_key());
    for table in tables {
        let mut words = table.split(' ');
        let (name, first) = (words.next().unwrap_or_default(), words.next().unwrap_or("k"));
        let rest: String = words.map(|column| format!(", {column} {key}")).collect();
        database
            .execute(&format!("DROP TABLE IF EXISTS {name}; CREATE TEMPORARY TABLE {name} ({first} {unique}{rest})"))?;
    }
    Ok(())
}
