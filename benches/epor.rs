//! EPOR's programs: `cargo bench -p isolde-benches --bench epor`.
//!
//! The employee system and PetClinic, at as many queries as the paper's tables have, under EPOR's relation, DPF's at
//! record and cell level, none, and ours. The paper's figures stand beside ours as it published them: another machine,
//! another database, and programs that it describes in part.

use std::time::Duration;

use isolde_benches::configuration::{Configuration, Way, ours};
use isolde_benches::epor::{Program, employees, petclinic};
use isolde_benches::measure::{Measured, time_max};
use isolde_benches::table::{Table, number, ratio};
use isolde_scenario::dependence::Dependence;

/// As in the `isolde` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let time_max = time_max(Duration::from_secs(20));
    table("The employee system", &employees(), time_max);
    table("PetClinic", &petclinic(), time_max);
}

fn table(title: &str, programs: &[Program], time_max: Duration) {
    println!("\n### {title}: states and time\n");
    let mut states = Table::new([
        "program",
        "paper: EPOR",
        "DPF",
        "basic",
        "here: epor",
        "dpf-record",
        "dpf-cell",
        "naive",
        ours().name(),
        "different ends",
        "missed by epor",
        "paper: EPOR",
        "ours: executions",
        "time",
        "EPOR / ours",
    ]);
    for program in programs {
        let scenario = program.scenario().expect("the paper's programs are supported");
        let run = |way, dependence| Configuration::new(way, dependence).measure(&scenario, time_max);
        let naive = Configuration::NAIVE.measure(&scenario, time_max);
        let reduced = [Dependence::Epor, Dependence::DpfRecord, Dependence::DpfCell].map(|d| run(Way::States, d));
        let best = run(Way::States, ours());
        let optimal = run(Way::OptimalRuns, ours());
        let count = |m: &Measured| m.count(m.summary.states_seen);
        let published = |figure: Option<(u64, u64)>| figure.map_or("-".into(), |(states, _)| number(states));
        let missed = naive.ends.difference(&reduced[0].ends).count() as u64;
        let theirs_ms = program.published[0].map_or(0, |(_, ms)| ms);
        let mut cells = vec![program.name.clone()];
        cells.extend(program.published.map(published));
        cells.extend(reduced.iter().chain([&naive, &best]).map(count));
        cells.extend([
            naive.count(naive.ends.len() as u64),
            number(missed),
            format!("{} ms", number(theirs_ms)),
            optimal.count(optimal.summary.leaves),
            optimal.time(),
            ratio(optimal.elapsed.as_secs_f64() * 1e3, theirs_ms as f64),
        ]);
        states.row(cells);
    }
    println!("{states}");
}
