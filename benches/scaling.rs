//! How far a search comes: `cargo bench -p isolde-benches --bench scaling`.
//!
//! Threads of autocommitted updates, more and more of them, until a search takes longer than the limit (10 s, or what
//! `ISOLDE_BENCH_SECONDS` says). Ours beside naive search, which executes every interleaving; where naive search does
//! not come to its end, the ratio is a lower bound. Then what a state costs in memory, and what a second worker
//! gains, by the clock on the wall.
//!
//! `ISOLDE_BENCH=quick` gives each search a moment only.

use std::ops::ControlFlow;
use std::time::Duration;

use isolde_benches::configuration::Configuration;
use isolde_benches::measure::{Measured, resident_bytes, time_max};
use isolde_benches::scaling::{MIXES, Mix, Size, scenario};
use isolde_benches::table::{Table, number, ratio};
use isolde_explore::{Limits, Search, Visit, on_state};
use isolde_scenario::{ScenarioSystem, State};

/// As in the `isolde` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Sizes are tried in this order, until one takes too long.
const STATEMENTS: [usize; 6] = [2, 3, 4, 6, 8, 12];
const THREADS: [usize; 5] = [2, 3, 4, 5, 6];
/// States kept to see what they take.
const STATES_KEPT: u64 = 100_000;

fn main() {
    let time_max = time_max(Duration::from_secs(10));
    for mix in MIXES {
        sizes(*mix, time_max);
    }
    memory(time_max);
    jobs(time_max);
}

fn run(mix: Mix, size: Size, configuration: Configuration, time_max: Duration) -> Measured {
    configuration.measure(&scenario(mix, size).expect("the programs are supported"), time_max)
}

/// Larger and larger programs, ours against naive.
fn sizes(mix: Mix, time_max: Duration) {
    println!("\n### Threads x statements: {}\n", mix.name);
    let head = ["size", "interleavings", "naive time", "executions", "different ends", "time", "steps/s", "ratio"];
    let mut table = Table::new(head);
    for threads in THREADS {
        for statements in STATEMENTS {
            let size = Size { threads, statements };
            let ours = run(mix, size, Configuration::ours(), time_max);
            let naive = run(mix, size, Configuration::EVERY_RUN, time_max);
            let gain = ratio(ours.elapsed.as_secs_f64(), naive.elapsed.as_secs_f64());
            table.row([
                format!("{threads} x {statements}"),
                interleavings(size),
                naive.time(),
                ours.count(ours.summary.leaves),
                ours.count(ours.ends.len() as u64),
                ours.time(),
                number(ours.rate() as u64),
                match (ours.summary.is_complete(), naive.summary.is_complete()) {
                    (true, true) => gain,
                    (true, false) => format!(">{gain}"),
                    (false, _) => "-".into(),
                },
            ]);
            if !ours.summary.is_complete() {
                break;
            }
        }
    }
    println!("{table}");
}

fn interleavings(size: Size) -> String {
    match size.interleavings() {
        n if n < 1e9 => number(n as u64),
        n => format!("{n:.1e}"),
    }
}

/// What it takes to keep a state, beside what it shares with the others.
fn memory(time_max: Duration) {
    println!("\n### Memory: states kept, and what they take\n");
    let mut table = Table::new(["mix, 4 threads x 6 statements", "states", "bytes per state"]);
    for mix in MIXES {
        let scenario = scenario(*mix, Size { threads: 4, statements: 6 }).expect("the programs are supported");
        let system = ScenarioSystem::new(&scenario, scenario.options());
        let states_max = if time_max < Duration::from_secs(1) { 1_000 } else { STATES_KEPT };
        let search =
            Search { limits: Limits { states_max: Some(states_max), ..Limits::default() }, ..Search::default() };
        let before = resident_bytes();
        let mut kept: Vec<State> = Vec::with_capacity(states_max as usize);
        search.run(
            &system,
            &mut on_state(|at: &Visit<'_, ScenarioSystem<'_>>| {
                kept.push(at.state.clone());
                ControlFlow::Continue(())
            }),
        );
        let bytes = resident_bytes().zip(before).map(|(after, before)| after.saturating_sub(before));
        let each = bytes.map_or("not known here".into(), |bytes| number(bytes / kept.len().max(1) as u64));
        table.row([mix.name.into(), number(kept.len() as u64), each]);
    }
    println!("{table}");
}

/// What more workers gain, where there is much to do.
fn jobs(time_max: Duration) {
    println!("\n### Workers, by the clock\n");
    let mut table = Table::new(["program", "workers", "executions", "time", "steps/s", "ratio"]);
    let mix = MIXES[MIXES.len() - 1];
    for size in [Size { threads: 3, statements: 4 }, Size { threads: 4, statements: 3 }] {
        let scenario = scenario(mix, size).expect("the programs are supported");
        let mut alone: Option<Measured> = None;
        for jobs in [1, 2] {
            let ours = Configuration::ours().measure_jobs(&scenario, jobs, time_max * 3);
            let both = alone.as_ref().filter(|alone| alone.summary.is_complete() && ours.summary.is_complete());
            table.row([
                format!("{}, {} x {}", mix.name, size.threads, size.statements),
                jobs.to_string(),
                ours.count(ours.summary.leaves),
                ours.time(),
                number(ours.rate() as u64),
                both.map_or("-".into(), |alone| ratio(ours.elapsed.as_secs_f64(), alone.elapsed.as_secs_f64())),
            ]);
            alone.get_or_insert(ours);
        }
    }
    println!("{table}");
}
