//! State spaces as tables.
//!
//! What was explored can be kept, and then it is a database like any other: `sqlite3 states.sqlite` or psql answer what
//! nobody thought of beforehand. The schema is the same for every specification and on every database:
//!
//! | table | one row for |
//! |---|---|
//! | `state(k, lvl)` | each state: its key, and the number of steps to it (0: it starts there) |
//! | `trans(src, act, dst)` | each transition, by the keys of its states and a way to take an action |
//! | `action(id, name, binding, file, line)` | each way to take an action: `RMPrepare`, `r = r1` |
//! | `label(formula, relation, states)` | each formula that was decided, with the table `label_<hash>(k)` of its states |
//! | `component(k, component)` | each state on a cycle, with its strongly connected component |
//! | `slot(id, variable, name, low, width, bias, kind, codes)` | each part of a key: which bits, and what they mean |
//! | `dict_<variable>(id, value)` | each value of a variable that has no packed form |
//! | `isolde_run(name, spec, ...)` | the run: which specification (by a hash), by which engine, how much |
//!
//! | view | shows |
//! |---|---|
//! | `state_v` | states with a column for each variable, or element of one, to compare with |
//! | `state_text` | states with the TLA+ text of each variable |
//! | `trans_v` | transitions with names |
//! | `trans_total` | transitions, and a stuttering step (`act` is NULL) where there is none |
//! | `deadlock` | states that no step leaves |
//!
//! The key *is* the state ([`packed`](crate::packed)), so there is no surrogate and no lookup; only layouts of more
//! than 63 bits are numbered instead. Everything is written entirely or not at all: a run that is interrupted leaves a
//! store that is complete, that is complete up to a level, or that is not there; never a label of some of its states.

mod ask;
pub(crate) mod columns;
mod condition;
mod database;
#[cfg(feature = "duckdb")]
mod duckdb;
pub(crate) mod labels;
mod postgres;
mod schema;
mod sqlite;

use std::path::Path;

use isolde_wire::Settings;
use rustc_hash::FxHashMap;

use crate::graph::{Graph, StateId, Tarjan};
use crate::packed::{Action, Layout};
use crate::space::{Space, Way};
use crate::sql::Dialect;

pub(crate) use ask::label_atom;
pub use ask::{Asked, Passed};
pub use columns::Columns;
pub use database::{Cell, Database, Relation, StoreError};
#[cfg(feature = "duckdb")]
pub use duckdb::Duckdb;
pub use labels::StoredLabels;
pub use postgres::Postgres;
pub use schema::Subject;
pub use sqlite::Sqlite;

/// Who explored what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The name of the specification.
    pub name: String,
    /// A hash of everything on which its states depend.
    pub spec: String,
    /// What explored it.
    pub engine: String,
    /// How values lie in the keys, for whoever wants to understand them again; may be empty.
    pub forms: String,
}

/// What a store holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The run that made it.
    pub run: Run,
    /// Nothing is missing; otherwise the levels up to `depth` are complete.
    pub complete: bool,
    /// How many levels there are.
    pub depth: Option<usize>,
    /// How many states there are.
    pub states: usize,
    /// How many transitions, if they are stored.
    pub transitions: Option<usize>,
    layout: String,
}

/// A state space in a database.
pub struct Store {
    pub(crate) database: Box<dyn Database>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("dialect", &self.database.dialect()).finish_non_exhaustive()
    }
}

/// The states of a store with numbers, and how they follow each other.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The keys, by number; levels first, then keys, are in order.
    pub keys: Vec<i64>,
    /// The levels.
    pub levels: Vec<u32>,
    /// How they follow each other.
    pub graph: Graph,
}

impl Store {
    /// A store in a database.
    pub fn new(database: impl Database + 'static) -> Store {
        Store { database: Box::new(database) }
    }

    /// A store in a file of SQLite.
    pub fn sqlite(path: &Path) -> Result<Store, StoreError> {
        Sqlite::open(path).map(Store::new)
    }

    /// A store in a file of DuckDB.
    #[cfg(feature = "duckdb")]
    pub fn duckdb(path: &Path) -> Result<Store, StoreError> {
        Duckdb::open(path).map(Store::new)
    }

    /// A store that is gone afterwards.
    pub fn memory() -> Result<Store, StoreError> {
        Sqlite::memory().map(Store::new)
    }

    /// A store in a schema of a server.
    pub fn postgres(settings: &Settings, schema: &str) -> Result<Store, StoreError> {
        Postgres::open(settings, schema).map(Store::new)
    }

    /// A store whose run was interrupted, as far as it got: its states, up to the last complete level.
    pub(crate) fn frontier_level(&mut self, spec: &str, layout: &Layout) -> Result<Option<usize>, StoreError> {
        Ok(self.holds(spec, layout)?.filter(|held| !held.complete).and_then(|held| held.depth))
    }

    /// Drops everything that is ours; whatever is done with the store afterwards fails.
    pub fn discard(&mut self) -> Result<(), StoreError> {
        schema::clear(&mut *self.database)?;
        self.database.discard()
    }

    /// The database, to ask it anything.
    pub fn database(&mut self) -> &mut dyn Database {
        &mut *self.database
    }

    /// What is there.
    pub fn held(&mut self) -> Result<Option<Held>, StoreError> {
        if !self.database.has(schema::RUN)? {
            return Ok(None);
        }
        let sql = format!(
            "SELECT name, spec, engine, complete, depth, states, transitions, layout, forms FROM {}",
            schema::RUN
        );
        let count = |cell: &Cell| usize::try_from(cell.int()).ok().filter(|_| *cell != Cell::Null);
        Ok(self.database.rows(&sql)?.first().map(|row| Held {
            run: Run { name: row[0].text(), spec: row[1].text(), engine: row[2].text(), forms: row[8].text() },
            complete: row[3].int() == 1,
            depth: count(&row[4]),
            states: count(&row[5]).unwrap_or(0),
            transitions: count(&row[6]),
            layout: row[7].text(),
        }))
    }

    /// Whether what is there is this specification, in this layout, so that only questions need to be asked.
    pub fn holds(&mut self, spec: &str, layout: &Layout) -> Result<Option<Held>, StoreError> {
        let digest = schema::layout_digest(layout);
        Ok(self.held()?.filter(|held| held.run.spec == spec && held.layout == digest))
    }

    /// An empty store for a specification, instead of what was there.
    pub fn begin(&mut self, subject: &Subject, run: &Run) -> Result<(), StoreError> {
        self.database.atomically(|database| schema::create(database, subject, run))
    }

    /// Writes a whole space, instead of what was there.
    pub fn write(&mut self, space: &Space, run: &Run) -> Result<(), StoreError> {
        let subject = Subject { layout: &space.layout, actions: &space.actions, ways: &space.ways };
        self.database.atomically(|database| {
            schema::create(database, &subject, run)?;
            write_states(database, space)?;
            write_transitions(database, space)?;
            write_components(database, &Numbering::of(space).keys, &space.graph)?;
            finish(database, Some(space.depth()), Some(space.graph.transitions()))
        })
    }

    /// Reads the space back, if transitions are stored.
    pub fn read(&mut self, subject: &Subject) -> Result<Space, StoreError> {
        let stored = self.stored()?;
        let columns = Columns::new(subject.layout);
        let mut words: FxHashMap<i64, Vec<i64>> = FxHashMap::default();
        if columns.words() > 0 {
            let listed: String = (0..columns.words()).map(|word| format!(", w{word}")).collect();
            self.database.each(&format!("SELECT k{listed} FROM state"), &mut |row| {
                words.insert(row[0].int(), row[1..].iter().map(Cell::int).collect());
            })?;
        }
        let none = Vec::new();
        let key = |&k: &i64| columns.join(subject.layout, k, words.get(&k).unwrap_or(&none));
        Ok(Space {
            layout: subject.layout.clone(),
            actions: subject.actions.to_vec(),
            ways: subject.ways.to_vec(),
            keys: stored.keys.iter().map(key).collect(),
            levels: stored.levels,
            graph: stored.graph,
        })
    }

    /// The actions, and the ways to take them.
    pub fn actions(&mut self) -> Result<(Vec<Action>, Vec<Way>), StoreError> {
        let mut actions: Vec<Action> = Vec::new();
        let mut ways = Vec::new();
        for row in self.database.rows("SELECT name, binding, file, line FROM action ORDER BY id")? {
            let action = Action { name: row[0].text(), file: row[2].text(), line: row[3].int() as usize };
            let place = actions.iter().position(|other| *other == action).unwrap_or_else(|| {
                actions.push(action);
                actions.len() - 1
            });
            ways.push(Way { action: place, binding: row[1].text() });
        }
        Ok((actions, ways))
    }

    /// Adds what the database has not found by itself: the levels, if it has none, and the components.
    pub(crate) fn complete(&mut self, space: &Space) -> Result<(), StoreError> {
        let keys = Numbering::of(space).keys;
        self.database.atomically(|database| {
            if database.number("SELECT count(*) FROM (SELECT 1 FROM state WHERE lvl IS NULL LIMIT 1) x")? > 0 {
                let key = database.dialect().key_type();
                database.execute(&format!(
                    "DROP TABLE IF EXISTS isolde_level; CREATE TEMPORARY TABLE isolde_level (k {key} PRIMARY KEY, lvl INTEGER)"
                ))?;
                let rows = keys.iter().zip(&space.levels).map(|(&key, &level)| vec![Cell::Int(key), Cell::Int(level.into())]);
                database.load("isolde_level", &mut { rows })?;
                database.execute(&format!(
                    "UPDATE state SET lvl = (SELECT l.lvl FROM isolde_level l WHERE l.k = state.k); \
                     DROP TABLE isolde_level; UPDATE {} SET depth = {}",
                    schema::RUN,
                    space.depth()
                ))?;
            }
            database.execute("DELETE FROM component")?;
            write_components(database, &keys, &space.graph)
        })
    }

    /// The states with numbers, and how they follow each other.
    pub fn stored(&mut self) -> Result<Stored, StoreError> {
        let (mut keys, mut levels) = (Vec::new(), Vec::new());
        // Who has no level yet comes last everywhere.
        self.database.each("SELECT k, lvl FROM state ORDER BY lvl IS NULL, lvl, k", &mut |row| {
            keys.push(row[0].int());
            levels.push(if row[1] == Cell::Null { u32::MAX } else { row[1].int() as u32 });
        })?;
        let numbering = Numbering { keys };
        let index = numbering.index();
        let mut edges = Vec::new();
        let mut strangers = 0;
        self.database.each("SELECT src, act, dst FROM trans", &mut |row| match (
            index.get(&row[0].int()),
            index.get(&row[2].int()),
        ) {
            (Some(&source), Some(&target)) => edges.push((source, row[1].int() as u32, target)),
            _ => strangers += 1,
        })?;
        if strangers > 0 {
            return Err(StoreError::new(format!(
                "{strangers} transitions of the store are of states that it does not have"
            )));
        }
        let graph = Graph::new(numbering.keys.len(), edges).map_err(|error| StoreError::new(error.to_string()))?;
        measure(&graph, &mut levels);
        Ok(Stored { keys: numbering.keys, levels, graph })
    }

    /// Labels of a space that is stored here: known ones are read, new ones kept. Atoms are decided by `atom`.
    pub fn labels<A>(&mut self, keys: Vec<i64>, atom: A) -> StoredLabels<'_, A> {
        StoredLabels::new(&mut *self.database, Numbering { keys }, atom)
    }
}

/// Gives levels to states that have none, from those that do.
fn measure(graph: &Graph, levels: &mut [u32]) {
    if !levels.contains(&u32::MAX) {
        return;
    }
    let mut queue: std::collections::VecDeque<StateId> =
        (0..levels.len() as StateId).filter(|&state| levels[state as usize] != u32::MAX).collect();
    while let Some(state) = queue.pop_front() {
        for &target in graph.successors(state) {
            if levels[target as usize] == u32::MAX {
                levels[target as usize] = levels[state as usize] + 1;
                queue.push_back(target);
            }
        }
    }
}

/// Which key a state has in the tables.
#[derive(Clone, Debug)]
pub(crate) struct Numbering {
    pub(crate) keys: Vec<i64>,
}

impl Numbering {
    pub(crate) fn of(space: &Space) -> Numbering {
        let fits = space.layout.fits_sql();
        let key = |(number, key): (usize, &crate::packed::Key)| if fits { key.to_sql() } else { number as i64 };
        Numbering { keys: space.keys.iter().enumerate().map(key).collect() }
    }

    pub(crate) fn index(&self) -> FxHashMap<i64, StateId> {
        self.keys.iter().enumerate().map(|(number, &key)| (key, number as StateId)).collect()
    }
}

impl Space {
    /// The keys that its states have in a store, by number.
    pub fn stored_keys(&self) -> Vec<i64> {
        Numbering::of(self).keys
    }
}

fn write_states(database: &mut dyn Database, space: &Space) -> Result<(), StoreError> {
    let columns = Columns::new(&space.layout);
    let keys = Numbering::of(space).keys;
    // In the order of keys the tree of the table grows at its end only.
    let mut order: Vec<StateId> = (0..space.states() as StateId).collect();
    order.sort_unstable_by_key(|&state| keys[state as usize]);
    let row = |state: StateId| {
        let state = state as usize;
        let words = columns.split(&space.layout, space.keys[state]).map(Cell::Int);
        [Cell::Int(keys[state]), Cell::Int(space.levels[state].into())].into_iter().chain(words).collect()
    };
    database.load("state", &mut order.into_iter().map(row))
}

fn write_transitions(database: &mut dyn Database, space: &Space) -> Result<(), StoreError> {
    let keys = Numbering::of(space).keys;
    let mut order: Vec<StateId> = (0..space.states() as StateId).collect();
    order.sort_unstable_by_key(|&state| keys[state as usize]);
    let graph = &space.graph;
    let key = |state: StateId| Cell::Int(keys[state as usize]);
    let rows = order.into_iter().flat_map(|state| {
        graph
            .edges(state)
            .map(move |edge| vec![key(state), Cell::Int(graph.action(edge).into()), key(graph.target(edge))])
    });
    database.load("trans", &mut { rows })?;
    index_transitions(database)
}

/// So that one can go both ways.
pub(crate) fn index_transitions(database: &mut dyn Database) -> Result<(), StoreError> {
    if database.dialect() == Dialect::Duckdb {
        // It scans faster than it looks up.
        return Ok(());
    }
    if database.dialect() == Dialect::Postgres {
        database.execute("CREATE INDEX trans_src ON trans (src)")?;
    }
    database.execute("CREATE INDEX trans_dst ON trans (dst)").map(drop)
}

/// The components that have a cycle.
pub(crate) fn write_components(database: &mut dyn Database, keys: &[i64], graph: &Graph) -> Result<(), StoreError> {
    let components = Tarjan::new(graph.states()).components(graph, 0..graph.states() as StateId, |_| true);
    let round =
        |component: &Vec<StateId>| component.len() > 1 || graph.successors(component[0]).contains(&component[0]);
    let rows = components.into_iter().filter(round).enumerate().flat_map(|(number, component)| {
        component.into_iter().map(move |state| vec![Cell::Int(keys[state as usize]), Cell::Int(number as i64)])
    });
    database.load("component", &mut { rows })
}

/// Says that everything is there.
pub(crate) fn finish(
    database: &mut dyn Database,
    depth: Option<usize>,
    transitions: Option<usize>,
) -> Result<(), StoreError> {
    let number = |number: Option<usize>| number.map_or("NULL".into(), |number| number.to_string());
    database
        .execute(&format!(
            "UPDATE {} SET complete = 1, depth = {}, states = (SELECT count(*) FROM state), transitions = {}",
            schema::RUN,
            number(depth),
            number(transitions)
        ))
        .map(drop)
}
