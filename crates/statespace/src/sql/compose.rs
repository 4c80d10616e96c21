//! Two components as one system: their spaces joined on the variables they share.
//!
//! Each component was explored alone, with the other one as its environment. Together they are the pairs of states that
//! agree on the shared variables. A step that changes a shared variable is one that both take, to the same new values;
//! any other step is taken by one of them while the other stays. (In TLA+: `[NextA]_a /\ [NextB]_b` without two
//! unrelated steps at once.)
//!
//! ```text
//!   left_state  ⨝ shared  right_state          k = left * size of right + right
//!   left moves alone    ∪   right moves alone   ∪   both move, to the same shared values
//! ```
//!
//! All of it is joins, level by level, in the store that is made; the result has the tables of any other store.

use std::path::Path;

use crate::packed::Layout;
use crate::store::{self, Cell, Database, Run, Store, StoreError, Subject};

/// What two components come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composed {
    /// The variables, or elements of variables, on which they agree.
    pub shared: Vec<String>,
    /// How many states there are.
    pub states: usize,
    /// How many transitions.
    pub transitions: usize,
    /// How many levels.
    pub depth: usize,
}

/// Composes the spaces in two files of SQLite into a store, instead of what was there.
pub fn compose(into: &mut Store, left: &Path, right: &Path) -> Result<Composed, StoreError> {
    let (mut left, mut right) = (part("left", left)?, part("right", right)?);
    let shared: Vec<String> = left.columns.iter().filter(|name| right.columns.contains(name)).cloned().collect();
    if shared.is_empty() {
        let hint = format!("one has {}; the other {}", left.columns.join(", "), right.columns.join(", "));
        return Err(StoreError::new("the two spaces share no variable").with_hint(hint));
    }
    let run = Run {
        name: format!("{} and {}", left.name, right.name),
        spec: format!("{} {}", left.spec, right.spec),
        engine: "compose".into(),
        ..Run::default()
    };
    into.begin(&Subject { layout: &Layout::default(), actions: &[], ways: &[] }, &run)?;
    for part in [&mut left, &mut right] {
        part.copy(&mut *into.database, &shared)?;
    }
    let join = Join { shared, left, right, width: into.database.number("SELECT count(*) FROM right_state")? };
    into.database.atomically(|database| join.run(database))
}

/// A component.
struct Part {
    side: &'static str,
    store: Store,
    name: String,
    spec: String,
    columns: Vec<String>,
}

fn part(side: &'static str, path: &Path) -> Result<Part, StoreError> {
    if !path.exists() {
        return Err(StoreError::new(format!("{} does not exist", path.display())));
    }
    let mut store = Store::sqlite(path)?;
    let held = store.held()?.filter(|held| held.complete && held.transitions.is_some());
    let Some(held) = held else {
        return Err(StoreError::new(format!("{} holds no complete state space with transitions", path.display()))
            .with_hint("make it with isolde space SPEC --db FILE --keep"));
    };
    let columns = store.database.columns("state_v")?.split_off(2);
    Ok(Part { side, store, name: held.run.name, spec: held.run.spec, columns })
}

impl Part {
    /// Copies states with numbers from 0, and moves with whether they change what is shared.
    fn copy(&mut self, database: &mut dyn Database, shared: &[String]) -> Result<(), StoreError> {
        let (side, dialect) = (self.side, database.dialect());
        let key = dialect.key_type();
        let mut columns = String::new();
        for name in &self.columns {
            columns += &format!(", {} {}", dialect.name(name), column_type(&mut *self.store.database, name, key)?);
        }
        database.execute(&format!(
            "CREATE TABLE {side}_state (id {key} NOT NULL, key {key} NOT NULL, start INTEGER, shared TEXT NOT NULL{columns});\n\
             CREATE TABLE {side}_trans (src {key} NOT NULL, act INTEGER NOT NULL, dst {key} NOT NULL);\n\
             CREATE TABLE {side}_action (id INTEGER, name TEXT NOT NULL, binding TEXT NOT NULL, file TEXT NOT NULL, line INTEGER NOT NULL)"
        ))?;
        self.copy_states(database, shared)?;
        self.copy_rows(database, "SELECT src, act, dst FROM trans", &format!("{side}_trans"))?;
        self.copy_rows(
            database,
            "SELECT id, name, binding, file, line FROM action ORDER BY id",
            &format!("{side}_action"),
        )?;
        database.execute(&format!(
            "CREATE UNIQUE INDEX {side}_id ON {side}_state (id);\n\
             CREATE UNIQUE INDEX {side}_key ON {side}_state (key);\n\
             CREATE TABLE {side}_move AS SELECT a.id AS src, t.act, b.id AS dst, \
             CASE WHEN a.shared = b.shared THEN 1 ELSE 0 END AS alone, b.shared AS shared \
             FROM {side}_trans t JOIN {side}_state a ON a.key = t.src JOIN {side}_state b ON b.key = t.dst;\n\
             DROP TABLE {side}_trans;\n\
             CREATE INDEX {side}_src ON {side}_move (src, alone)"
        ))?;
        Ok(())
    }

    /// What is shared is one text, so that states agree on it if it is the same.
    fn copy_states(&mut self, database: &mut dyn Database, shared: &[String]) -> Result<(), StoreError> {
        let places: Vec<usize> = shared.iter().filter_map(|name| self.columns.iter().position(|c| c == name)).collect();
        let mut rows = Vec::new();
        self.store.database.each("SELECT * FROM state_v ORDER BY k", &mut |row| {
            let agreed: Vec<String> = places.iter().map(|place| format!("{:?}", row[place + 2])).collect();
            let mut copied = vec![Cell::Int(rows.len() as i64), row[0].clone(), row[1].clone()];
            copied.push(Cell::Text(agreed.join(", ")));
            copied.extend_from_slice(&row[2..]);
            rows.push(copied);
        })?;
        database.load(&format!("{}_state", self.side), &mut rows.into_iter())
    }

    fn copy_rows(&mut self, database: &mut dyn Database, from: &str, to: &str) -> Result<(), StoreError> {
        let rows = self.store.database.rows(from)?;
        database.load(to, &mut rows.into_iter())
    }
}

/// Numbers, if there is nothing else in a column.
fn column_type(database: &mut dyn Database, name: &str, key: &'static str) -> Result<&'static str, StoreError> {
    let name = database.dialect().name(name);
    let sql = format!(
        "SELECT count(*) FROM (SELECT 1 FROM state_v WHERE typeof({name}) NOT IN ('integer', 'null') LIMIT 1) x"
    );
    Ok(if database.number(&sql)? == 0 { key } else { "TEXT" })
}

struct Join {
    shared: Vec<String>,
    left: Part,
    right: Part,
    /// How many states the right component has.
    width: i64,
}

impl Join {
    fn run(&self, database: &mut dyn Database) -> Result<Composed, StoreError> {
        let key = database.dialect().unique_key();
        database.execute(&format!(
            "CREATE TEMPORARY TABLE pair_frontier (k {key}); CREATE TEMPORARY TABLE pair_next (k {key})"
        ))?;
        let start = format!(
            "INSERT INTO pair_next SELECT a.id * {} + b.id FROM left_state a JOIN right_state b USING (shared) \
             WHERE a.start = 0 AND b.start = 0",
            self.width
        );
        let mut found = database.execute(&start)?;
        let mut depth = 0;
        let step = format!(
            "INSERT INTO pair_next SELECT DISTINCT dst FROM ({}) x WHERE NOT EXISTS (SELECT 1 FROM state s WHERE s.k = dst)",
            self.moves("pair_frontier")
        );
        while found > 0 {
            database.execute(&format!(
                "INSERT INTO state (k, lvl) SELECT k, {depth} FROM pair_next; DELETE FROM pair_frontier; \
                 INSERT INTO pair_frontier SELECT k FROM pair_next; DELETE FROM pair_next"
            ))?;
            database.execute(&step)?;
            found = database.number("SELECT count(*) FROM pair_next")? as u64;
            depth += 1;
        }
        database
            .execute(&format!("INSERT INTO trans SELECT DISTINCT src, act, dst FROM ({}) x", self.moves("state")))?;
        database.execute("DROP TABLE pair_frontier; DROP TABLE pair_next")?;
        self.views(database)?;
        store::index_transitions(database)?;
        let transitions = database.number("SELECT count(*) FROM trans")? as usize;
        store::finish(database, Some(depth), Some(transitions))?;
        let states = database.number("SELECT count(*) FROM state")? as usize;
        Ok(Composed { shared: self.shared.clone(), states, transitions, depth })
    }

    /// The steps from the pairs of a table. Actions of the left come first, then those of the right, then pairs of
    /// them.
    fn moves(&self, from: &str) -> String {
        let width = self.width;
        let (left, right) = ("(SELECT count(*) FROM left_action)", "(SELECT count(*) FROM right_action)");
        format!(
            "SELECT f.k AS src, t.act AS act, t.dst * {width} + f.k % {width} AS dst \
             FROM {from} f JOIN left_move t ON t.src = f.k / {width} AND t.alone = 1\n\
             UNION ALL SELECT f.k, {left} + t.act, f.k / {width} * {width} + t.dst \
             FROM {from} f JOIN right_move t ON t.src = f.k % {width} AND t.alone = 1\n\
             UNION ALL SELECT f.k, {left} + {right} + t.act * {right} + u.act, t.dst * {width} + u.dst \
             FROM {from} f JOIN left_move t ON t.src = f.k / {width} AND t.alone = 0 \
             JOIN right_move u ON u.src = f.k % {width} AND u.alone = 0 AND u.shared = t.shared"
        )
    }

    /// Names for the steps, and the columns of both.
    fn views(&self, database: &mut dyn Database) -> Result<(), StoreError> {
        let dialect = database.dialect();
        let own = |part: &Part, table: &str, skip: &[String]| -> String {
            let column = |name: &&String| !skip.contains(name);
            part.columns.iter().filter(column).map(|name| format!(", {table}.{}", dialect.name(name))).collect()
        };
        let columns = own(&self.left, "a", &[]) + &own(&self.right, "b", &self.shared);
        let select = format!(
            "SELECT s.k, s.lvl{columns} FROM state s JOIN left_state a ON a.id = s.k / {0} JOIN right_state b ON b.id = s.k % {0}",
            self.width
        );
        database.execute(&format!(
            "DROP VIEW state_v; DROP VIEW state_text; CREATE VIEW state_v AS {select}; CREATE VIEW state_text AS {select};\n\
             INSERT INTO action SELECT * FROM left_action;\n\
             INSERT INTO action SELECT id + (SELECT count(*) FROM left_action), name, binding, file, line FROM right_action;\n\
             INSERT INTO action SELECT (SELECT count(*) FROM left_action) + n + a.id * n + b.id, a.name || ' and ' || b.name, \
             trim(a.binding || ', ' || b.binding, ', '), a.file, a.line \
             FROM left_action a, right_action b, (SELECT count(*) AS n FROM right_action) c"
        ))?;
        // What nothing was ever done by need not be listed: pairs are many.
        let alone =
            database.number("SELECT (SELECT count(*) FROM left_action) + (SELECT count(*) FROM right_action)")?;
        database
            .execute(&format!("DELETE FROM action WHERE id >= {alone} AND id NOT IN (SELECT act FROM trans)"))
            .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_is_said_to_be() {
        let mut store = Store::memory().expect("memory can be opened");
        let error =
            compose(&mut store, Path::new("/nowhere/a.sqlite"), Path::new("/nowhere/b.sqlite")).expect_err("no file");
        assert_eq!(error.message, "/nowhere/a.sqlite does not exist");
        assert_eq!(store.database.rows("SELECT 1"), Ok(vec![vec![store::Cell::Int(1)]]));
    }
}
