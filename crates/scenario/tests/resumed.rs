//! What a thread sees does not depend on whether it had to wait for it.
//!
//! A statement may have statements inside: WITH that writes, the query of a cursor, EXECUTE, the body of DO or of a
//! function. If one of them meets a lock, the statement stops there and resumes later. Its answer is recorded where the
//! client receives it, once, and what a routine's statement returns is recorded when that statement ends.
//!
//! The law: take a run in which somebody waited, and leave out the steps that only began to wait. Where that is a run
//! as well and its clients get the same answers and the same tables, its twin, everything else that was recorded is the
//! same.
//!
//! `RESUMED_PROGRAMS=100000 cargo test --release -p isolde-scenario --test resumed` for a long run, `SEED=n` for a
//! single one.
#![allow(clippy::unwrap_used)]

mod common;

use std::ops::ControlFlow;

use isolde_engine::Outcome;
use isolde_explore::{Limits, Matching, Schedule, Search, Strategy, System, Visit, Visitor};
use isolde_scenario::{Choice, Event, ScenarioSystem, State, describe_answers, describe_end};

use common::{Program, check_all, inside_seeds, scenario, system};

/// Programs with more runs than this are looked at in part.
const RUNS_MAX: usize = 300;
const STEPS_MAX: u64 = 4000;

#[test]
fn a_run_with_waits_records_what_its_twin_without_them_records() {
    check_all(inside_seeds("RESUMED_PROGRAMS", 300), |program| has_twins(program).map(drop));
}

/// The test above compares something: most programs have twins.
#[test]
fn twins_are_found() {
    let twins: usize =
        inside_seeds("RESUMED_PROGRAMS", 40).map(|seed| has_twins(&common::generate(seed)).unwrap()).sum();
    assert!(twins > 40, "only {twins} twins");
}

/// A statement that is no routine's leaves nothing but its answer, however much is inside it.
#[test]
fn parts_of_a_statement_are_no_observations() {
    let text = "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 10), (2, 20);
     --@ thread a
     WITH z AS (UPDATE t SET v = v + 1 RETURNING v) SELECT sum(v) FROM z;
     PREPARE q AS WITH z AS (UPDATE t SET v = v + 1 RETURNING v) SELECT sum(v) FROM z;
     EXECUTE q;
     BEGIN; DECLARE k CURSOR FOR SELECT v FROM t ORDER BY id FOR UPDATE; FETCH 1 FROM k; FETCH 1 FROM k; COMMIT;
     --@ thread b
     BEGIN; UPDATE t SET v = v * 2; COMMIT;"
        .replace("; ", ";\n");
    let full = scenario(&text);
    let system = system(&full);
    let runs = runs(&system);
    assert!(runs.iter().any(|run| run.blocked.contains(&true)) && runs.len() > 3);
    for run in runs {
        assert_eq!(describe_end(&system, &run.end), describe_answers(&system, &run.end));
    }
}

/// How many runs with waits have a twin; an error if one records something else.
fn has_twins(program: &Program) -> Result<usize, String> {
    let scenario = scenario(&program.to_string());
    let system = system(&scenario);
    let mut twins = 0;
    for run in runs(&system).iter().filter(|run| run.blocked.contains(&true)) {
        let Some(end) = twin(&system, run) else { continue };
        if describe_answers(&system, &run.end) != describe_answers(&system, &end) {
            continue;
        }
        twins += 1;
        let (waited, twin) = (describe_end(&system, &run.end), describe_end(&system, &end));
        if waited != twin {
            let schedule = Schedule { steps: run.steps.clone() }.line(&system);
            return Err(format!("{schedule}\nwaited: {waited}\ntwin:   {twin}"));
        }
    }
    Ok(twins)
}

/// The run without the steps that only began to wait, if there is one.
fn twin(system: &ScenarioSystem<'_>, run: &Run) -> Option<State> {
    let mut state = system.initial();
    let mut enabled = Vec::new();
    for (step, _) in run.steps.iter().zip(&run.blocked).filter(|(_, blocked)| !**blocked) {
        enabled.clear();
        system.enabled(&state, &mut enabled);
        if !enabled.contains(step) || waits(&system.execute(&mut state, step)) {
            return None;
        }
    }
    enabled.clear();
    system.enabled(&state, &mut enabled);
    enabled.is_empty().then_some(state)
}

fn waits(event: &Event) -> bool {
    event.steps.iter().any(|step| matches!(step.outcome, Outcome::Blocked(_)))
}

/// One run to its end.
struct Run {
    steps: Vec<Choice>,
    /// Which of them only began to wait.
    blocked: Vec<bool>,
    end: State,
}

/// All runs, or the first of them.
fn runs(system: &ScenarioSystem<'_>) -> Vec<Run> {
    let limits = Limits { states_max: Some(STEPS_MAX), ..Limits::default() };
    let search = Search { strategy: Strategy::Depth, matching: Matching::Off, limits, ..Search::default() };
    let mut runs = Runs(Vec::new());
    search.run(system, &mut runs);
    runs.0
}

struct Runs(Vec<Run>);

impl<'a> Visitor<ScenarioSystem<'a>> for Runs {
    fn leaf(&mut self, at: &Visit<'_, ScenarioSystem<'a>>) -> ControlFlow<()> {
        let steps = at.schedule().steps;
        let mut state = at.system.initial();
        let blocked = steps.iter().map(|step| waits(&at.system.execute(&mut state, step))).collect();
        self.0.push(Run { steps, blocked, end: at.state.clone() });
        if self.0.len() < RUNS_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}
