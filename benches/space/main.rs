//! State spaces of TLA+ specifications: `cargo bench -p isolde-benches --bench space`.
//!
//! Counters, a lock and two-phase commit, from 10^5 to 10^7 states, from the specifications in
//! `crates/statespace/tests/specs` as they are written: read, compiled and explored, with every invariant checked in
//! every state. Beside it, on the same states:
//!
//! | engine | what it is |
//! |---|---|
//! | evaluated | our evaluator, which is what everything without a packed form is left to |
//! | Stateright, Spin | the same model written by hand for them ([`stateright`], [`spin`]) |
//! | TLC | the same specification, if the environment names a jar: `TLC_JAR` |
//! | SQLite, PostgreSQL, DuckDB | the program as SQL ([`databases`]); DuckDB with `--features duckdb` |
//!
//! Every run is a process of its own (PostgreSQL: a session), and its time is that of the processor, user and system,
//! of the whole process. Bytes are those that the process had in use at most. What finds another number of states fails
//! the benchmark.
//!
//! `ISOLDE_BENCH=quick` takes the smallest of each; `ISOLDE_BENCH_ONLY=commit:8` one model.

mod databases;
mod models;
mod spin;
mod stateright;
mod tlc;

use std::process::Command;
use std::time::Duration;

use isolde_benches::measure::{children_time, peak_bytes, quick};
use isolde_benches::table::{Table, number, ratio};
use isolde_statespace::explore::Options;
use isolde_statespace::explored::Explored;
use models::Model;

/// As in the `isolde` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Who explores, and how many states it is given at most.
const ENGINES: &[(&str, usize, Run)] = &[
    ("isolde", usize::MAX, |model| in_process("isolde", model)),
    ("evaluated", 200_000, |model| in_process("evaluated", model)),
    ("Stateright", usize::MAX, |model| in_process("stateright", model)),
    ("Spin", usize::MAX, by_spin),
    ("TLC", usize::MAX, by_tlc),
    ("SQLite, one query", 3_000_000, |model| in_process("sqlite-query", model)),
    ("SQLite, levels", 3_000_000, |model| in_process("sqlite-levels", model)),
    ("PostgreSQL, one query", 3_000_000, databases::postgres),
    ("DuckDB, one query", usize::MAX, by_duckdb),
];

type Run = fn(Model) -> Option<Ran>;

/// What a run found, and what it took.
pub(crate) struct Ran {
    states: usize,
    generated: Option<u64>,
    depth: Option<usize>,
    time: Duration,
    bytes: Option<u64>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, engine, model] = &arguments[..]
        && flag == "--worker"
    {
        return work(engine, Model::named(model).expect("we name models only"));
    }
    let mut table =
        Table::new(["model", "engine", "states", "generated", "depth", "CPU", "states/s", "to isolde", "bytes/state"]);
    for model in models() {
        let mut ours: Option<(usize, f64)> = None;
        for (engine, states_max, run) in ENGINES {
            if ours.is_some_and(|(states, _)| states > *states_max) {
                continue;
            }
            let Some(ran) = run(model) else { continue };
            let seconds = ran.time.as_secs_f64();
            let (states, first) = *ours.get_or_insert((ran.states, seconds));
            assert_eq!(ran.states, states, "{} by {engine}", model.title());
            table.row([
                model.title(),
                (*engine).into(),
                number(ran.states as u64),
                ran.generated.map_or("-".into(), number),
                ran.depth.map_or("-".into(), |depth| depth.to_string()),
                format!("{seconds:.2} s"),
                number((ran.states as f64 / seconds) as u64),
                ratio(first, seconds),
                ran.bytes.map_or("-".into(), |bytes| number(bytes / states.max(1) as u64)),
            ]);
            eprintln!("{} by {engine}: {seconds:.2} s", model.title());
        }
    }
    println!("{table}");
}

/// What is explored, smallest first.
fn models() -> Vec<Model> {
    use Model::{Commit, Grid, Lock};
    if let Some(model) = std::env::var("ISOLDE_BENCH_ONLY").ok().and_then(|name| Model::named(&name)) {
        return vec![model];
    }
    match quick() {
        true => vec![Grid(3), Lock(3), Commit(4)],
        false => vec![Grid(5), Grid(6), Grid(7), Lock(5), Lock(6), Commit(6), Commit(8), Commit(9)],
    }
}

/// Runs this program once more, for one model by one engine.
fn in_process(engine: &str, model: Model) -> Option<Ran> {
    let program = std::env::current_exe().ok()?;
    let before = children_time();
    let output = Command::new(program).args(["--worker", engine, &model.name()]).output().ok()?;
    let time = children_time() - before;
    assert!(output.status.success(), "{engine}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let said: Vec<Option<u64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    let [Some(states), generated, depth, bytes] = said[..] else { panic!("{engine} says {text}") };
    Some(Ran { states: states as usize, generated, depth: depth.map(|depth| depth as usize), time, bytes })
}

/// Explores, and says: states, generated, depth, bytes; `-` where that is not known.
fn work(engine: &str, model: Model) {
    let (states, generated, depth) = match engine {
        "isolde" | "evaluated" => {
            let explored = explore(model, engine == "evaluated");
            (explored.count(), Some(explored.generated), Some(explored.depth()))
        }
        "stateright" => (stateright::states(model), None, None),
        _ => (databases::states(engine, model), None, None),
    };
    let said = |value: Option<u64>| value.map_or("-".into(), |value| value.to_string());
    let depth = depth.map(|depth| depth as u64);
    println!("{states} {} {} {}", said(generated), said(depth), said(peak_bytes()));
}

fn explore(model: Model, evaluate: bool) -> Explored {
    let spec = model.load();
    let options = Options { deadlock: false, graph: false, stop: true, states_max: usize::MAX };
    let explored = match evaluate {
        true => Explored::by_evaluation(&spec, &options, &mut ()),
        false => Explored::explore(&spec, &options, &mut ()),
    };
    let explored = explored.expect("the specification is right");
    assert!(explored.wrong.is_none() && (evaluate || explored.not_compiled.is_none()), "{:?}", explored.not_compiled);
    explored
}

/// A verifier of Spin; making it is not counted.
fn by_spin(model: Model) -> Option<Ran> {
    let verifier = spin::make(model)?;
    let before = children_time();
    let said = verifier.states(if quick() { 16 } else { 24 })?;
    Some(Ran { states: said.states, generated: None, depth: None, time: children_time() - before, bytes: said.bytes })
}

fn by_tlc(model: Model) -> Option<Ran> {
    let jar = std::env::var("TLC_JAR").ok()?;
    let before = children_time();
    let said = tlc::run(&jar, model)?;
    let (states, generated) = (said.distinct, Some(said.generated));
    Some(Ran { states, generated, depth: said.depth, time: children_time() - before, bytes: None })
}

fn by_duckdb(model: Model) -> Option<Ran> {
    databases::HAS_DUCKDB.then(|| in_process("duckdb-query", model))?
}
