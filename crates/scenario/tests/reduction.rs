//! A reduction leaves out interleavings, never outcomes.
//!
//! For each small scenario the ends of all runs (final tables, what every thread saw, how it ended) and the answers of
//! its invariants are collected: once by a search that leaves out nothing, then under every sound dependence by every
//! search that leaves something out. They must be the same. Optimal-DPOR must besides begin no run in vain, and come to
//! no class of runs twice.
//!
//! A few thousand scenarios by default;
//! `REDUCTION_PROGRAMS=100000 cargo test --release -p isolde-scenario --test reduction` for a long run, and `SEED=n`
//! for a single one.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use isolde_explore::{Limits, Matching, Reduction, Schedule, Search, Strategy, System, Visit, Visitor};
use isolde_scenario::dependence::Dependence;
use isolde_scenario::{Choice, Event, ScenarioSystem, describe_end, describe_invariants};

use common::{Program, check_all, first_failure, inside_seeds, scenario, seeds, serializable_seeds, system};

/// Scenarios with more states than this are left out.
const STATES_MAX: u64 = 80;
/// So are searches that take more steps than this: they are too many runs, not wrong.
const STEPS_MAX: u64 = 500;

/// The searches that leave something out.
const SEARCHES: [(&str, Strategy, Matching); 3] = [
    ("optimal", Strategy::Dpor(Reduction::Optimal), Matching::Off),
    ("source", Strategy::Dpor(Reduction::Source), Matching::Off),
    ("stateful", Strategy::Reduced, Matching::Digest),
];

#[test]
fn reductions_keep_all_outcomes() {
    check_all(seeds("REDUCTION_PROGRAMS", 1500), |program| keeps_outcomes(program, &sound()));
}

#[test]
fn reductions_keep_all_outcomes_of_serializable_programs() {
    check_all(serializable_seeds("REDUCTION_PROGRAMS", 1500), |program| keeps_outcomes(program, &sound()));
}

#[test]
fn reductions_keep_all_outcomes_of_statements_inside_statements() {
    check_all(inside_seeds("REDUCTION_PROGRAMS", 400), |program| {
        keeps_outcomes(program, &sound())?;
        let text = format!("--@ option granularity row\n{program}");
        outcomes_kept(&text, &[Dependence::default()])
    });
}

/// Runs that were once missed.
const STORIES: &[(&str, &str)] = &[(
    "who is tried again overtakes a waiter twice before somebody reads",
    "CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
     --@ thread a
     SELECT count(*) FROM t;
     --@ thread b
     UPDATE t SET a = a + 1 WHERE id = 1; DELETE FROM t WHERE id <= 3;
     --@ thread c retry 1
     BEGIN; UPDATE t SET a = a + 5 WHERE id = 1; UPDATE t SET a = 3 WHERE id = 3;",
)];

#[test]
fn what_was_missed_is_found() {
    for (story, text) in STORIES {
        let text = text.replace("; ", ";\n");
        outcomes_kept(&text, &sound()).unwrap_or_else(|why| panic!("{story}: {why}\n{text}"));
    }
}

/// What the papers' relations overlook is noticed by the same test.
#[test]
fn unsound_relations_lose_outcomes() {
    for dependence in [Dependence::DpfCell, Dependence::Epor] {
        let found = first_failure(0..2000, &|program| keeps_outcomes(program, &[dependence]));
        assert!(found.is_some(), "{} passes for sound", dependence.name());
    }
}

fn sound() -> Vec<Dependence> {
    Dependence::ALL.into_iter().filter(|level| level.unsound().is_none()).collect()
}

fn keeps_outcomes(program: &Program, levels: &[Dependence]) -> Result<(), String> {
    outcomes_kept(&program.to_string(), levels)
}

fn outcomes_kept(text: &str, levels: &[Dependence]) -> Result<(), String> {
    let scenario = scenario(text);
    let everything = system(&scenario);
    let Some(expected) = explore(&everything, Strategy::Depth, Matching::Digest)? else { return Ok(()) };
    for &dependence in levels {
        let system = ScenarioSystem { dependence, ..everything };
        for (name, strategy, matching) in SEARCHES {
            let Some(found) = explore(&system, strategy, matching)? else { continue };
            let which = format!("{name} with {}", dependence.name());
            same(&which, "end", &expected.ends, &found.ends)?;
            same(&which, "answer of an invariant", &expected.answers, &found.answers)?;
        }
        if let Some(ends) = explore_by_two(&system) {
            let which = format!("two jobs with {}", dependence.name());
            same(&which, "end", &expected.ends, &ends)?;
        }
    }
    Ok(())
}

/// The ends that two jobs come to, from the first step on.
fn explore_by_two(system: &ScenarioSystem<'_>) -> Option<BTreeSet<String>> {
    let (strategy, limits) =
        (Strategy::Dpor(Reduction::Optimal), Limits { states_max: Some(STEPS_MAX), ..Limits::default() });
    let search = Search { strategy, limits, steps_alone: 1, ..Search::default() };
    let done = search.run_jobs(system, 2, None, Found::default).ok()?;
    done.summary.is_complete().then(|| done.visitors.into_iter().flat_map(|found| found.ends).collect())
}

fn same(which: &str, what: &str, expected: &BTreeSet<String>, found: &BTreeSet<String>) -> Result<(), String> {
    match (expected.difference(found).next(), found.difference(expected).next()) {
        (None, None) => Ok(()),
        (Some(lost), _) => Err(format!("{which} misses an {what}: {lost}")),
        (_, Some(new)) => Err(format!("{which} invents an {what}: {new}")),
    }
}

/// What a search has come to.
#[derive(Default)]
struct Found {
    ends: BTreeSet<String>,
    answers: BTreeSet<String>,
    /// The classes of runs, where they are to be different.
    classes: Option<BTreeMap<Class, Schedule<Choice>>>,
    twice: Option<[Schedule<Choice>; 2]>,
}

/// Which event of which thread.
type Place = (usize, usize);

/// Pairs of dependent events, the first of them first.
type Class = Vec<(Place, Place)>;

fn explore(system: &ScenarioSystem<'_>, strategy: Strategy, matching: Matching) -> Result<Option<Found>, String> {
    let naive = strategy == Strategy::Depth;
    let states_max = Some(if naive { STATES_MAX } else { STEPS_MAX });
    let search = Search { strategy, matching, limits: Limits { states_max, ..Limits::default() }, ..Search::default() };
    let optimal = strategy == Strategy::Dpor(Reduction::Optimal);
    let mut found = Found { classes: optimal.then(BTreeMap::new), ..Found::default() };
    found.answers.extend(describe_invariants(system, &system.initial()));
    let summary = search.run(system, &mut found);
    if !summary.is_complete() {
        return Ok(None);
    }
    if optimal && summary.sleep_blocked > 0 {
        return Err(format!("{} of {} runs are begun in vain", summary.sleep_blocked, summary.leaves));
    }
    if let Some(runs) = found.twice {
        return Err(format!("{}: two runs are of one class: {runs:?}", system.dependence.name()));
    }
    Ok(Some(found))
}

impl<'a> Visitor<ScenarioSystem<'a>> for Found {
    fn leaf(&mut self, at: &Visit<'_, ScenarioSystem<'a>>) -> ControlFlow<()> {
        self.ends.insert(describe_end(at.system, at.state));
        if let Some(classes) = &mut self.classes {
            let mut run = Run::default();
            isolde_explore::replay(at.system, &at.schedule(), &mut run).expect("what was run can be run again");
            if let Some(other) = classes.insert(run.class.expect("a run has an end"), at.schedule()) {
                self.twice = Some([other, at.schedule()]);
            }
        }
        ControlFlow::Continue(())
    }

    fn step(&mut self, at: &Visit<'_, ScenarioSystem<'a>>, event: &Event) -> ControlFlow<()> {
        if event.published() {
            self.answers.extend(describe_invariants(at.system, at.state));
        }
        ControlFlow::Continue(())
    }
}

/// A run, made again for what its events were.
#[derive(Default)]
struct Run {
    class: Option<Class>,
}

impl<'a> Visitor<ScenarioSystem<'a>> for Run {
    fn leaf(&mut self, at: &Visit<'_, ScenarioSystem<'a>>) -> ControlFlow<()> {
        self.class = at.events().map(|events| class(at.system, events));
        ControlFlow::Continue(())
    }
}

/// What all runs of a class have in common: which of two dependent events came first.
fn class(system: &ScenarioSystem<'_>, events: &[Event]) -> Class {
    let mut counts = vec![0; events.iter().map(|e| e.thread + 1).max().unwrap_or(0)];
    let mut places = Vec::new();
    for event in events {
        counts[event.thread] += 1;
        // A victim's end and its going on are different events.
        places.push((event.thread, 2 * counts[event.thread] + usize::from(event.victim)));
    }
    let mut pairs: Vec<(Place, Place)> = places.iter().map(|place| (*place, *place)).collect();
    for (i, first) in events.iter().enumerate() {
        for (j, second) in events.iter().enumerate().skip(i + 1) {
            if first.thread != second.thread && system.dependent(first, second) {
                pairs.push((places[i], places[j]));
            }
        }
    }
    pairs.sort_unstable();
    pairs
}
