//! State spaces of TLA+ specifications: `cargo bench -p isolde-benches --bench space`.
//!
//! Counters, a lock and two-phase commit, from 10^5 to 10^7 states, from the specifications in `crates/statespace/tests/specs` as
//! they are written: read, compiled and explored, with every invariant checked in every state. Beside the program, the evaluator, which is
//! what everything without a packed form is left to; the ratio is what compiling is worth. Memory is what the process has in use
//! while the whole space is in it.
//!
//! `ISOLDE_BENCH=quick` takes the smallest of each.

use isolde_benches::measure::{Stopwatch, quick, resident_bytes};
use isolde_benches::table::{Table, number, ratio};
use isolde_statespace::explore::Options;
use isolde_statespace::explored::Explored;
use isolde_statespace::tla::Spec;
use isolde_statespace::tla::spec::Files;

/// As in the `isolde` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const GRID: &str = include_str!("../crates/statespace/tests/specs/Grid.tla");
const LOCK: &str = include_str!("../crates/statespace/tests/specs/FilterLock.tla");
const COMMIT: &str = include_str!("../crates/statespace/tests/specs/TwoPhase.tla");

/// More states than this are not evaluated one by one.
const EVALUATED_MAX: usize = 200_000;

fn main() {
    let mut table =
        Table::new(["model", "states", "generated", "depth", "CPU", "states/s", "bytes/state", "evaluated", "ratio"]);
    for (name, text, config) in models() {
        let spec = load(text, &config);
        let before = resident_bytes();
        let start = Stopwatch::start();
        let explored = explore(&spec, false);
        let seconds = start.elapsed().as_secs_f64();
        let bytes = resident_bytes().zip(before).map(|(after, before)| after.saturating_sub(before));
        let states = explored.count();
        let evaluated = (states <= EVALUATED_MAX).then(|| {
            let start = Stopwatch::start();
            let evaluated = explore(&spec, true);
            assert_eq!(evaluated.count(), states, "{name}: the program and the evaluator");
            start.elapsed().as_secs_f64()
        });
        table.row([
            name,
            number(states as u64),
            number(explored.generated),
            explored.depth().to_string(),
            format!("{seconds:.2} s"),
            number((states as f64 / seconds) as u64),
            bytes.map_or("-".into(), |bytes| number(bytes / states.max(1) as u64)),
            evaluated.map_or("-".into(), |seconds| format!("{seconds:.2} s")),
            evaluated.map_or("-".into(), |other| ratio(seconds, other)),
        ]);
    }
    println!("{table}");
}

/// What is explored, smallest first: a name, the text, the configuration.
fn models() -> Vec<(String, &'static str, String)> {
    let grid = |n: usize| {
        let config = format!("SPECIFICATION Spec\nCONSTANTS N = {n} Top = 9\nINVARIANT TypeOK\n");
        (format!("grid, {n} counters of 10"), GRID, config)
    };
    let lock = |n: usize| {
        let config = format!("SPECIFICATION Spec\nCONSTANT N = {n}\nINVARIANTS TypeOK Exclusion\n");
        (format!("filter lock, {n} processes"), LOCK, config)
    };
    let commit = |n: usize| {
        let managers: Vec<String> = (1..=n).map(|r| format!("r{r}")).collect();
        let managers = managers.join(", ");
        let config = format!("SPECIFICATION Spec\nCONSTANT RM = {{{managers}}}\nINVARIANTS TypeOK Consistent\n");
        (format!("two-phase commit, {n} managers"), COMMIT, config)
    };
    match quick() {
        true => vec![grid(4), lock(4), commit(5)],
        false => {
            vec![grid(5), grid(6), grid(7), lock(4), lock(5), lock(6), commit(6), commit(7), commit(8), commit(9)]
        }
    }
}

fn load(text: &str, config: &str) -> Spec {
    let files = Files { name: "bench.tla", text, config: Some(("bench.cfg", config)) };
    Spec::load(&files, &mut |_| None).expect("the specification is right")
}

fn explore(spec: &Spec, evaluate: bool) -> Explored {
    let options = Options { deadlock: false, graph: false, stop: true, states_max: usize::MAX };
    let explored = match evaluate {
        true => Explored::by_evaluation(spec, &options, &mut ()),
        false => Explored::explore(spec, &options, &mut ()),
    };
    let explored = explored.expect("the specification is right");
    assert!(explored.wrong.is_none() && (evaluate || explored.not_compiled.is_none()), "{:?}", explored.not_compiled);
    explored
}
