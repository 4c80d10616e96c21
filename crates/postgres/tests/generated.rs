//! Generated scenarios on a real server and on the embedded engine.
//!
//! Two claims. What the reduction leaves out on a server comes to nothing new: the ends of its runs are those of all runs.
//! And the engine knows everything that a server does: each end on the server is one on the engine. (Not the other way
//! round: on a server nobody comes between a commit and what it wakes, and the server chooses the victims of deadlocks.)

#![allow(clippy::unwrap_used)]

mod both;
#[path = "../../scenario/tests/common/mod.rs"]
mod common;

use both::{ends_on_engine, ends_on_server, read, stage};

/// Runs of one program that are worth the time.
const RUNS_MAX: u64 = 150;

#[test]
fn servers_do_what_the_engine_does_and_the_reduction_loses_nothing() {
    let mut compared = 0;
    let first = std::env::var("ISOLDE_SERVER_FIRST").map_or(0, |first| first.parse().unwrap());
    for seed in common::seeds("ISOLDE_SERVER_SEEDS", 12).skip_while(|seed| *seed < first) {
        let program = common::generate(seed);
        eprintln!("seed {seed}");
        let text = program.to_string();
        let scenario = common::scenario(&text);
        let catalog = scenario.database().catalog();
        let tables: Vec<&str> = catalog.tables().map(|table| &*table.name).collect();
        let file = read(&text);
        let mut stage = stage(&file);
        let all = ends_on_server(&mut stage, &tables, false, RUNS_MAX);
        let all = match all.unwrap_or_else(|trouble| panic!("seed {seed}: {trouble}\n{text}")) {
            Some(all) => all,
            None => continue,
        };
        let reduced = ends_on_server(&mut stage, &tables, true, RUNS_MAX);
        let reduced = reduced.unwrap_or_else(|trouble| panic!("seed {seed}: {trouble}\n{text}")).unwrap();
        let missed: Vec<&String> = all.difference(&reduced).collect();
        assert!(missed.is_empty(), "seed {seed}: the reduction misses {missed:#?}\nof {all:#?}\n{text}");
        let engine = ends_on_engine(&text, &tables);
        let strange: Vec<&String> = all.difference(&engine).collect();
        assert!(strange.is_empty(), "seed {seed}: the engine does not know {strange:#?}\nbut {engine:#?}\n{text}");
        compared += 1;
    }
    assert!(compared > 0, "all programs have too many runs");
    eprintln!("{compared} programs compared");
}
