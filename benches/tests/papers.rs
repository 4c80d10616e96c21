//! The papers' programs load, our searches miss nothing on them, and need no more than the papers' do.

#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use isolde_benches::configuration::{Configuration, Way, ours};
use isolde_benches::dpf::kernels::KERNELS;
use isolde_benches::measure::Measured;
use isolde_benches::{dpf, epor};
use isolde_explore::{Matching, Search, Strategy, System, Visit, on_state};
use isolde_scenario::dependence::Dependence;
use isolde_scenario::file::{FileOptions, Granularity};
use isolde_scenario::{Choice, Event, Scenario, ScenarioSystem, State};

const LONG: Duration = Duration::from_secs(600);

/// All programs, small.
fn programs() -> Vec<(String, Scenario)> {
    let dpf = dpf::programs(true).into_iter().map(|p| (p.name.to_string(), p.scenario()));
    let epor = epor::employees().into_iter().chain(epor::petclinic()).map(|p| (p.name.clone(), p.scenario()));
    dpf.chain(epor).map(|(name, scenario)| (name, scenario.unwrap())).collect()
}

/// The kernels as they are compared with the paper lie beside the applications, to be read and tried.
#[test]
fn the_kernels_files_are_as_generated() {
    for kernel in KERNELS {
        let name = format!("{}.sql", kernel.name.to_lowercase());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("dpf").join(name);
        let text = kernel.text(kernel.shape);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(written, text, "UPDATE_GOLDEN=1 writes {}", path.display());
    }
}

/// No search of ours explores more than the same search by a relation from a paper, unless that relation is wrong about
/// the program: in states where states are matched, in executions where they are not.
#[test]
fn ours_explores_no_more_than_the_papers_best_that_is_sound() {
    for (name, scenario) in programs() {
        let all = Configuration::NAIVE.measure(&scenario, LONG).ends;
        for (theirs, ours) in [
            (Way::States, Configuration::new(Way::States, ours())),
            (Way::Runs, Configuration::new(Way::OptimalRuns, ours())),
        ] {
            let mine = ours.measure(&scenario, LONG);
            assert_eq!(mine.ends, all, "{name}: {ours:?} finds every end");
            assert_eq!(mine.summary.sleep_blocked, 0, "{name}: {ours:?} begins no run in vain");
            for dependence in Dependence::ALL.into_iter().filter(|d| d.unsound().is_some()) {
                let paper = Configuration::new(theirs, dependence).measure(&scenario, LONG);
                let (mine, paper) = (explored(&mine, theirs), explored(&paper, theirs));
                assert!(
                    mine <= paper || !is_sound(&scenario, dependence),
                    "{name}: {mine} under {ours:?}, {paper} under {}",
                    dependence.name()
                );
            }
        }
    }
}

fn explored(measured: &Measured, way: Way) -> u64 {
    match way {
        Way::States => measured.summary.states_seen,
        _ => measured.summary.leaves,
    }
}

/// Whether what a relation takes to commute does so, in every state of a program.
fn is_sound(scenario: &Scenario, dependence: Dependence) -> bool {
    let granularity = Some(Granularity::Whole);
    let system = ScenarioSystem::new(scenario, &FileOptions { granularity, ..scenario.options().clone() });
    let mut sound = true;
    let search = Search { strategy: Strategy::Depth, matching: Matching::Digest, ..Search::default() };
    search.run(
        &system,
        &mut on_state(|at: &Visit<'_, ScenarioSystem<'_>>| {
            let mut steps = Vec::new();
            system.enabled(at.state, &mut steps);
            let pairs = steps.iter().flat_map(|a| steps.iter().filter(move |b| *b > a).map(move |b| (a, b)));
            for (first, second) in pairs {
                let (forward, after) = run(&system, at.state, [first, second]);
                let (_, instead) = run(&system, at.state, [second, first]);
                sound &= dependence.dependent(&forward[0], &forward[1]) || after == instead;
            }
            if sound { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        }),
    );
    sound
}

/// What two steps do one after the other, and a digest of what comes of it.
fn run(system: &ScenarioSystem<'_>, state: &State, steps: [&Choice; 2]) -> ([Event; 2], Option<u128>) {
    let mut state = state.clone();
    let events = steps.map(|step| system.execute(&mut state, step));
    (events, system.digest(&state))
}
