//! Two components as one system: their spaces joined on the variables they share.
//!
//! Each component was explored alone, with the other one as its environment. Together they are the pairs of states that agree on the
//! shared variables. A step that changes a shared variable is one that both take, to the same new values; any other step is taken by
//! one of them while the other stays. (In TLA+: `[NextA]_a /\ [NextB]_b` without two unrelated steps at once.)
//!
//! ```text
//!   left_state  ⨝ shared  right_state          k = left * size of right + right
//!   left moves alone    ∪   right moves alone   ∪   both move, to the same shared values
//! ```
//!
//! All of it is joins, level by level, in the store that is made; the result has the tables of any other store.

use std::path::Path;

use crate::packed::Layout;
use crate::store::{self, Database, Run, Store, StoreError, Subject};

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

/// Composes the spaces in two files of SQLite into a store of SQLite, instead of what was there.
pub fn compose(into: &mut Store, left: &Path, right: &Path) -> Result<Composed, StoreError> {
    if into.database.dialect() != super::Dialect::Sqlite {
        return Err(StoreError::new("spaces are composed in SQLite only").with_hint("name a file as the database"));
    }
    let (left, right) = (part("left", left)?, part("right", right)?);
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
    for part in [&left, &right] {
        part.copy(&mut *into.database, &shared)?;
    }
    let join = Join { shared, left, right, width: into.database.number("SELECT count(*) FROM right_state")? };
    into.database.atomically(|database| join.run(database))
}

/// A component.
struct Part {
    side: &'static str,
    path: String,
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
    Ok(Part { side, path: path.display().to_string(), name: held.run.name, spec: held.run.spec, columns })
}

impl Part {
    /// Copies states with numbers from 0, and moves with whether they change what is shared.
    fn copy(&self, database: &mut dyn Database, shared: &[String]) -> Result<(), StoreError> {
        let (side, dialect) = (self.side, database.dialect());
        let quoted: Vec<String> = self.columns.iter().map(|name| dialect.name(name)).collect();
        let agreed: Vec<String> = shared.iter().map(|name| format!("quote({})", dialect.name(name))).collect();
        database.execute(&format!("ATTACH {} AS part", dialect.text(&self.path)))?;
        let copied = database.execute(&format!(
            "CREATE TABLE {side}_state AS SELECT row_number() OVER (ORDER BY k) - 1 AS id, k AS key, lvl AS start, {} AS shared, {} \
             FROM part.state_v;\n\
             CREATE UNIQUE INDEX {side}_id ON {side}_state (id);\n\
             CREATE UNIQUE INDEX {side}_key ON {side}_state (key);\n\
             CREATE TABLE {side}_move AS SELECT a.id AS src, t.act, b.id AS dst, a.shared = b.shared AS alone, b.shared \
             FROM part.trans t JOIN {side}_state a ON a.key = t.src JOIN {side}_state b ON b.key = t.dst;\n\
             CREATE INDEX {side}_src ON {side}_move (src, alone);\n\
             CREATE TABLE {side}_action AS SELECT * FROM part.action",
            agreed.join(" || ',' || "),
            quoted.join(", ")
        ));
        database.execute("DETACH part")?;
        copied.map(drop)
    }
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
        database.execute(
            "CREATE TEMPORARY TABLE pair_frontier (k INTEGER PRIMARY KEY); CREATE TEMPORARY TABLE pair_next (k INTEGER PRIMARY KEY)",
        )?;
        let start = format!(
            "INSERT INTO pair_next SELECT a.id * {} + b.id FROM left_state a JOIN right_state b USING (shared) \
             WHERE a.start = 0 AND b.start = 0",
            self.width
        );
        let mut found = database.execute(&start)?;
        let mut depth = 0;
        let step = format!(
            "INSERT OR IGNORE INTO pair_next SELECT dst FROM ({}) WHERE dst NOT IN (SELECT k FROM state)",
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
        database.execute(&format!("INSERT INTO trans SELECT DISTINCT src, act, dst FROM ({})", self.moves("state")))?;
        database.execute("DROP TABLE pair_frontier; DROP TABLE pair_next")?;
        self.views(database)?;
        store::index_transitions(database)?;
        let transitions = database.number("SELECT count(*) FROM trans")? as usize;
        store::finish(database, Some(depth), Some(transitions))?;
        let states = database.number("SELECT count(*) FROM state")? as usize;
        Ok(Composed { shared: self.shared.clone(), states, transitions, depth })
    }

    /// The steps from the pairs of a table. Actions of the left come first, then those of the right, then pairs of them.
    fn moves(&self, from: &str) -> String {
        let width = self.width;
        let (left, right) = ("(SELECT count(*) FROM left_action)", "(SELECT count(*) FROM right_action)");
        format!(
            "SELECT f.k AS src, t.act AS act, t.dst * {width} + f.k % {width} AS dst \
             FROM {from} f JOIN left_move t ON t.src = f.k / {width} AND t.alone\n\
             UNION ALL SELECT f.k, {left} + t.act, f.k / {width} * {width} + t.dst \
             FROM {from} f JOIN right_move t ON t.src = f.k % {width} AND t.alone\n\
             UNION ALL SELECT f.k, {left} + {right} + t.act * {right} + u.act, t.dst * {width} + u.dst \
             FROM {from} f JOIN left_move t ON t.src = f.k / {width} AND NOT t.alone \
             JOIN right_move u ON u.src = f.k % {width} AND NOT u.alone AND u.shared = t.shared"
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
             FROM left_action a, right_action b, (SELECT count(*) AS n FROM right_action)"
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
