//! State spaces as tables: written, read, explored by the database itself, and asked.

#![allow(clippy::unwrap_used)]

mod explore;
mod keep;
mod programs;
mod recipes;
mod scripts;

use isolde_statespace::store::{Run, Store};
use isolde_testkit::Cluster;

fn run(spec: &str) -> Run {
    Run { name: "Spec".into(), spec: spec.into(), engine: "test".into(), ..Run::default() }
}

/// A schema on a real server, dropped with the database it is in.
fn postgres() -> Store {
    let cluster = Cluster::shared();
    let database = cluster.create_database().unwrap();
    Store::postgres(&cluster.settings(&database), "isolde_spec").unwrap()
}

/// Rows as text, values separated by bars.
fn rows(store: &mut Store, sql: &str) -> Vec<String> {
    let line =
        |row: &Vec<isolde_statespace::store::Cell>| row.iter().map(|cell| cell.text()).collect::<Vec<_>>().join("|");
    store.database().rows(sql).unwrap().iter().map(line).collect()
}
