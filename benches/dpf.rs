//! Database PathFinder's programs: `cargo bench -p isolde-benches --bench dpf`.
//!
//! States and time under the configurations of its Figure 2, re-created here, and under ours. The paper's figures stand
//! beside ours as it published them: another machine, another language, other sources. `ISOLDE_BENCH=quick` makes the
//! programs small.

use std::time::Duration;

use isolde_benches::configuration::{Configuration, Way, ours};
use isolde_benches::dpf::kernels::{KERNELS, Shape};
use isolde_benches::dpf::{Program, programs};
use isolde_benches::measure::{Measured, quick, time_max};
use isolde_benches::table::{Table, number, ratio};
use isolde_explore::Restore;
use isolde_scenario::Scenario;
use isolde_scenario::dependence::Dependence;
use isolde_scenario::file::{Hashing, no_includes};

/// As in the `isolde` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The paper's levels that were implemented, first to last: naïve, relation, cell.
const LEVELS: [Configuration; 3] = [
    Configuration::NAIVE,
    Configuration::new(Way::States, Dependence::DpfRelation),
    Configuration::new(Way::States, Dependence::DpfCell),
];

/// The paper's ways to hash the database and to restore it.
const WAYS: [(Hashing, Restore); 4] = [
    (Hashing::Full, Restore::Replay),
    (Hashing::Full, Restore::Rollback),
    (Hashing::Incremental, Restore::Replay),
    (Hashing::Incremental, Restore::Rollback),
];

fn main() {
    let quick = quick();
    let time_max = time_max(Duration::from_secs(20));
    let programs: Vec<(Program, Scenario)> = programs(quick)
        .into_iter()
        .map(|program| {
            let scenario = program.scenario().expect("the paper's programs are supported");
            (program, scenario)
        })
        .collect();
    states(&programs, time_max);
    executions(&programs, time_max);
    times(&programs, time_max);
    sweep(if quick { 2..=3 } else { 2..=9 }, time_max);
}

/// How many of the ends of runs a search has found: all, or so many of them; unknown if one of the two did not come to
/// its end.
fn found(measured: &Measured, all: &Measured) -> String {
    if !measured.summary.is_complete() || !all.summary.is_complete() {
        return "?".into();
    }
    let (found, of) = (measured.ends.intersection(&all.ends).count(), all.ends.len());
    if found == of { "all".into() } else { format!("{found} of {of}") }
}

/// States: the measure of the paper.
fn states(programs: &[(Program, Scenario)], time_max: Duration) {
    println!("\n### States\n");
    let mut table = Table::new([
        "program",
        "paper: naive",
        "relation",
        "cell",
        "here: naive",
        "dpf-relation",
        "dpf-cell",
        ours().name(),
        "naive / ours",
        "different ends",
        "found by dpf-relation",
        "by dpf-cell",
        "by ours",
    ]);
    for (program, scenario) in programs {
        let [naive, relation, cell] = LEVELS.map(|level| level.measure(scenario, time_max));
        let best = Configuration::new(Way::States, ours()).measure(scenario, time_max);
        let states = |m: &Measured| m.count(m.summary.states_seen);
        let published = program.published.states.map(number);
        table.row(
            std::iter::once(program.name.to_string())
                .chain(published)
                .chain([&naive, &relation, &cell, &best].map(states))
                .chain([
                    ratio(best.summary.states_seen as f64, naive.summary.states_seen as f64),
                    naive.count(naive.ends.len() as u64),
                    found(&relation, &naive),
                    found(&cell, &naive),
                    found(&best, &naive),
                ]),
        );
    }
    println!("{table}");
}

/// Runs, one of each class: what a search without state matching explores.
fn executions(programs: &[(Program, Scenario)], time_max: Duration) {
    println!("\n### Executions, no states matched\n");
    let head = [
        "program",
        "dpf-relation",
        "dpf-cell",
        "source, ours",
        "in vain",
        "optimal, ours (default)",
        "in vain",
        "states",
        "time",
        "steps/s",
    ];
    let mut table = Table::new(head);
    for (program, scenario) in programs {
        let run = |way, dependence| Configuration::new(way, dependence).measure(scenario, time_max);
        let relation = run(Way::Runs, Dependence::DpfRelation);
        let cell = run(Way::Runs, Dependence::DpfCell);
        let source = run(Way::Runs, ours());
        let optimal = run(Way::OptimalRuns, ours());
        table.row([
            program.name.to_string(),
            relation.count(relation.summary.leaves),
            cell.count(cell.summary.leaves),
            source.count(source.summary.leaves),
            source.count(source.summary.sleep_blocked),
            optimal.count(optimal.summary.leaves),
            optimal.count(optimal.summary.sleep_blocked),
            optimal.count(optimal.summary.states_seen),
            optimal.time(),
            number(optimal.rate() as u64),
        ]);
    }
    println!("{table}");
}

/// Time under the paper's configurations.
fn times(programs: &[(Program, Scenario)], time_max: Duration) {
    println!("\n### Time: the paper's, in ms (its machine)\n");
    let ways = WAYS.map(|(hash, restore)| format!("{}, {}", hash.name(), restore.name()));
    let ways = ways.each_ref().map(String::as_str);
    let mut table = Table::new(["program", "in memory"].into_iter().chain(ways));
    for (program, _) in programs {
        let cells = program
            .published
            .ms
            .map(|levels| levels.map(|ms| if ms == 0 { "?".to_string() } else { number(ms) }).join(" / "));
        let in_memory = program.published.in_memory.map_or("-".into(), |(_, ms)| number(ms));
        table.row([program.name.to_string(), in_memory].into_iter().chain(cells));
    }
    println!("{table}\nnaive / relation / cell.");

    println!("\n### Time: here, under the same configurations and ours\n");
    let head = ["program", "in memory"].into_iter().chain(ways).chain(["ours (default)", "incremental, naive / ours"]);
    let mut table = Table::new(head);
    for (program, scenario) in programs {
        let timed =
            |hash, restore| LEVELS.map(|level| Configuration { hash, restore, ..level }.measure(scenario, time_max));
        // The database as a part of the state, kept whole and hashed whole.
        let in_memory = Configuration { hash: Hashing::Full, ..Configuration::NAIVE }.measure(scenario, time_max);
        let cells = WAYS.map(|(hash, restore)| timed(hash, restore));
        let best = Configuration::new(Way::OptimalRuns, ours()).measure(scenario, time_max);
        let naive = cells[2][0].elapsed.as_secs_f64();
        let texts = cells.map(|levels| levels.map(|m| m.time()).join(" / "));
        let ours = [best.time(), ratio(best.elapsed.as_secs_f64(), naive)];
        table.row([program.name.to_string(), in_memory.time()].into_iter().chain(texts).chain(ours));
    }
    println!("{table}\nnaive / dpf-relation / dpf-cell.");
}

/// The paper's Figure 3: more and more statements in each thread of Entries.
fn sweep(statements: std::ops::RangeInclusive<usize>, time_max: Duration) {
    println!("\n### Entries: more statements in each thread (the paper's Figure 3)\n");
    let head =
        ["statements", "naive: states", "time", "dpf-relation", "time", "dpf-cell", "time", "ours: executions", "time"];
    let mut table = Table::new(head);
    let Some(kernel) = KERNELS.iter().find(|k| k.name == "Entries") else { return };
    for statements in statements {
        let text = kernel.text(Shape { statements, ..kernel.shape });
        let scenario = Scenario::parse("entries.sql", &text, &mut no_includes).expect("the kernel is supported");
        let levels = LEVELS.map(|level| level.measure(&scenario, time_max));
        let best = Configuration::new(Way::OptimalRuns, ours()).measure(&scenario, time_max);
        let cells = levels.iter().flat_map(|m| [m.count(m.summary.states_seen), m.time()]);
        table.row(
            std::iter::once(statements.to_string()).chain(cells).chain([best.count(best.summary.leaves), best.time()]),
        );
    }
    println!("{table}");
}
