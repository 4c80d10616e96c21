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
        eprintln!("seed {seed}");
        let text = common::generate(seed).to_string();
        // Where one commit wakes two sessions, these race on a server, and then no two runs need be the same.
        let attempts = (0..3).map(|_| compare(&text));
        let mut complaint = None;
        for attempt in attempts {
            match attempt {
                Ok(done) => {
                    compared += usize::from(done);
                    complaint = None;
                    break;
                }
                Err(difference) => complaint = Some(difference),
            }
        }
        assert!(complaint.is_none(), "seed {seed}: {}\n{text}", complaint.unwrap());
    }
    assert!(compared > 0, "all programs have too many runs");
    eprintln!("{compared} programs compared");
}

/// Compares the ends of a program; whether there are few enough runs for that.
fn compare(text: &str) -> Result<bool, String> {
    let scenario = common::scenario(text);
    let tables: Vec<&str> = scenario.database().catalog().tables().map(|table| &*table.name).collect();
    let file = read(text);
    let mut stage = stage(&file);
    let Some(all) = ends_on_server(&mut stage, &tables, false, RUNS_MAX).map_err(|trouble| trouble.to_string())? else {
        return Ok(false);
    };
    let reduced = ends_on_server(&mut stage, &tables, true, RUNS_MAX).map_err(|trouble| trouble.to_string())?;
    let reduced = reduced.ok_or("the reduction has more runs than there are")?;
    let missed: Vec<&String> = all.difference(&reduced).collect();
    if !missed.is_empty() {
        return Err(format!("the reduction misses {missed:#?}\nof {all:#?}"));
    }
    let engine = ends_on_engine(text, &tables);
    let strange: Vec<&String> = all.difference(&engine).collect();
    match strange.is_empty() {
        true => Ok(true),
        false => Err(format!("the engine does not know {strange:#?}\nbut {engine:#?}")),
    }
}
