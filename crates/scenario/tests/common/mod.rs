//! What tests of the reduction stand on: small scenarios from a seed, and a way to make a failing one smaller.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

pub mod generate;
pub mod program;
pub mod unordered;
pub mod versions;

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use isolde_scenario::dependence::Dependence;
use isolde_scenario::file::no_includes;
use isolde_scenario::{Scenario, ScenarioSystem};

pub use generate::{INSIDE, SERIALIZABLE, generate};
pub use program::Program;

/// A scenario of a text that is known to be right.
pub fn scenario(text: &str) -> Scenario {
    Scenario::parse("generated.sql", text, &mut no_includes).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The system of a scenario, with its own options and the closest look at what commutes.
pub fn system(scenario: &Scenario) -> ScenarioSystem<'_> {
    let system = ScenarioSystem::new(scenario, scenario.options());
    ScenarioSystem { dependence: Dependence::Effect, ..system }
}

/// The seeds to try: from 0 up to a number that an environment variable may raise (`4000`) or move (`4000..8000`);
/// `SEED` tries one alone.
pub fn seeds(variable: &str, usual: u64) -> Range<u64> {
    let value = |name: &str| std::env::var(name).ok();
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{text:?} is no number of programs"));
    if let Some(seed) = value("SEED") {
        let seed = number(&seed);
        return seed..seed + 1;
    }
    match value(variable) {
        None => 0..usual,
        Some(text) => text.split_once("..").map_or_else(|| 0..number(&text), |(from, to)| number(from)..number(to)),
    }
}

/// The same, for programs whose threads are all serializable. (Seeds of one range can be given as they were told.)
pub fn serializable_seeds(variable: &str, usual: u64) -> Range<u64> {
    let Range { start, end } = seeds(variable, usual);
    start % SERIALIZABLE + SERIALIZABLE..(end - 1) % SERIALIZABLE + 1 + SERIALIZABLE
}

/// The same, for programs whose statements have statements inside.
pub fn inside_seeds(variable: &str, usual: u64) -> Range<u64> {
    let Range { start, end } = seeds(variable, usual);
    start % INSIDE + INSIDE..(end - 1) % INSIDE + 1 + INSIDE
}

/// Complains about a program that fails a check, as small as it can be made.
pub fn check_all(seeds: Range<u64>, check: impl Fn(&Program) -> Result<(), String> + Sync) {
    check_all_of(generate, seeds, check);
}

/// The same for the programs of another generator.
pub fn check_all_of(
    generate: fn(u64) -> Program,
    seeds: Range<u64>,
    check: impl Fn(&Program) -> Result<(), String> + Sync,
) {
    if let Some((seed, complaint)) = first_failure_of(generate, seeds, &check) {
        let (small, why) = smaller(generate(seed), complaint, &check);
        panic!("seed {seed}: {why}\n\n{small}");
    }
}

/// The first seed that fails a check, and how; all cores look for it.
pub fn first_failure(
    seeds: Range<u64>,
    check: &(impl Fn(&Program) -> Result<(), String> + Sync),
) -> Option<(u64, String)> {
    first_failure_of(generate, seeds, check)
}

fn first_failure_of(
    generate: fn(u64) -> Program,
    seeds: Range<u64>,
    check: &(impl Fn(&Program) -> Result<(), String> + Sync),
) -> Option<(u64, String)> {
    let next = AtomicU64::new(seeds.start);
    let found: Mutex<Option<(u64, String)>> = Mutex::new(None);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end || found.lock().unwrap().is_some() {
                return;
            }
            if let Err(complaint) = check(&generate(seed)) {
                let mut found = found.lock().unwrap();
                if found.as_ref().is_none_or(|(other, _)| seed < *other) {
                    *found = Some((seed, complaint));
                }
            }
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    found.into_inner().unwrap()
}

/// Leaves out what need not be there for a check to fail.
fn smaller(
    mut program: Program,
    mut why: String,
    check: &impl Fn(&Program) -> Result<(), String>,
) -> (Program, String) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let found = program.reductions().into_iter().filter(|_| Instant::now() < end).find_map(|candidate| {
            // What is left out may be needed by the rest: then it is no scenario.
            Scenario::parse("generated.sql", &candidate.to_string(), &mut no_includes).ok()?;
            Some((check(&candidate).err()?, candidate))
        });
        match found {
            Some((complaint, candidate)) => (program, why) = (candidate, complaint),
            None => return (program, why),
        }
    }
}
