//! The same program, as SQL: the database explores by itself.

use isolde_benches::measure::{Stopwatch, quick};
use isolde_statespace::keep;
use isolde_statespace::sql::{self, Form};
use isolde_statespace::store::{Run, Store};
use isolde_testkit::Cluster;

use super::Ran;
use super::models::Model;

/// Whether DuckDB is linked.
pub(crate) const HAS_DUCKDB: bool = cfg!(feature = "duckdb");

/// How many states a database in this process finds.
pub(crate) fn states(engine: &str, model: Model) -> usize {
    let folder = tempfile::tempdir().expect("there is room for files");
    match engine {
        "sqlite-query" => explore(&mut file(&folder), model, Form::Closure),
        "sqlite-levels" => explore(&mut file(&folder), model, Form::Levels),
        #[cfg(feature = "duckdb")]
        "duckdb-query" => {
            let path = folder.path().join("bench.duckdb");
            explore(&mut Store::duckdb(&path).expect("the folder is new"), model, Form::Closure)
        }
        other => panic!("{other} is no engine"),
    }
}

fn file(folder: &tempfile::TempDir) -> Store {
    Store::sqlite(&folder.path().join("bench.sqlite")).expect("the folder is new")
}

/// On a server: the time of its process, and of ours.
pub(crate) fn postgres(model: Model) -> Option<Ran> {
    // Not while many tests run at once.
    let cluster = (!quick()).then(Cluster::shared)?;
    let database = cluster.create_database().ok()?;
    let mut store = Store::postgres(&cluster.settings(&database), "bench").ok()?;
    let server = store.database().number("SELECT pg_backend_pid()").ok()?;
    let (there, here) = (Stopwatch::of_process(server as u32), Stopwatch::start());
    let states = explore(&mut store, model, Form::Closure);
    let time = there.elapsed() + here.elapsed();
    drop(store);
    // A database that stays behind goes with the cluster.
    let _ = cluster.drop_database(&database);
    Some(Ran { states, generated: None, depth: None, time, bytes: None })
}

fn explore(store: &mut Store, model: Model, form: Form) -> usize {
    let (program, _) = keep::program(&model.load()).expect("the specification is compiled");
    let mut options = sql::Options { form, deadlock: false, proceed: &mut |_, _| true };
    let found = sql::explore(store, &program, &Run::default(), &mut options).expect("the database explores");
    assert_eq!((found.stop, found.form), (None, form));
    found.states
}
