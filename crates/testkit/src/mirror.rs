//! Driving a database through a program.
//!
//! What a client can see of a database with several sessions is the same for every database, so the bookkeeping is
//! written once, here: which sessions wait, which steps are skipped, whose waiting a step has ended. A database only
//! offers a [`Driver`]: reset, submit a statement, let everything come to rest.
//!
//! *Coming to rest* makes the observation independent of time: after each step, all sessions run until each has been
//! answered or waits for a lock.
//!
//! A deadlock needs a victim, and PostgreSQL's choice depends on timers. All drivers follow one rule: **the victim is
//! the session whose wait closes the cycle** (in PostgreSQL: every session looks for a cycle once, as soon as it
//! waits, and those that waited before have already looked in vain).

use crate::program::{Observation, Outcome, Program, Response};
use crate::shrink::shrink;

/// A database that can be driven step by step.
pub trait Driver {
    /// Forgets everything: an empty database with this many idle sessions.
    fn reset(&mut self, sessions: usize);
    /// Runs one statement of the set-up to its end.
    fn setup(&mut self, statement: &str) -> Vec<Response>;
    /// Sends a statement from an idle session.
    fn submit(&mut self, session: usize, statement: &str);
    /// Lets all sessions run until each is idle or waits; the answers that arrived.
    fn settle(&mut self) -> Vec<(usize, Vec<Response>)>;
    /// From now on, let this number decide who goes first where several sessions could; 0 is the usual order. Is there
    /// anything to decide?
    fn choose(&mut self, _order: u64) -> bool {
        false
    }
}

/// Something that runs programs; every [`Driver`] does.
pub trait Runner {
    /// Runs a program on an empty database: one observation per step.
    ///
    /// # Panics
    /// If a statement of the set-up fails.
    fn run(&mut self, program: &Program) -> Vec<Observation>;

    /// The same with another order where several sessions could go on at the same time; `None` if there is no other.
    fn run_in_order(&mut self, _program: &Program, _order: u64) -> Option<Vec<Observation>> {
        None
    }
}

impl<D: Driver> Runner for D {
    fn run(&mut self, program: &Program) -> Vec<Observation> {
        let mut progress = Progress::new(self, program);
        std::iter::from_fn(|| progress.step(self)).collect()
    }

    fn run_in_order(&mut self, program: &Program, order: u64) -> Option<Vec<Observation>> {
        let observed = self.choose(order).then(|| self.run(program));
        self.choose(0);
        observed
    }
}

/// How far a program has come on a database.
#[derive(Clone, Debug)]
pub struct Progress<'p> {
    steps: &'p [(usize, String)],
    /// The statement that each session waits with.
    waiting: Vec<Option<&'p str>>,
}

impl<'p> Progress<'p> {
    /// Empties the database and sets it up.
    ///
    /// # Panics
    /// If a statement of the set-up fails.
    pub fn new<D: Driver + ?Sized>(driver: &mut D, program: &'p Program) -> Progress<'p> {
        driver.reset(program.sessions);
        for statement in &program.setup {
            if let Some(error) = driver.setup(statement).into_iter().find(Response::is_error) {
                panic!("the set-up of a program failed: {error}\nin: {statement}\nprogram:\n{program}");
            }
        }
        Progress { steps: &program.steps, waiting: vec![None; program.sessions] }
    }

    /// Runs the next step; `None` after the last.
    pub fn step<D: Driver + ?Sized>(&mut self, driver: &mut D) -> Option<Observation> {
        let ((session, statement), rest) = self.steps.split_first()?;
        self.steps = rest;
        if self.waiting[*session].is_some() {
            return Some(Observation { outcome: Outcome::Skipped, released: Vec::new() });
        }
        driver.submit(*session, statement);
        self.waiting[*session] = Some(statement);
        let mut answers = driver.settle();
        answers.sort_by_key(|(session, _)| *session);
        let mut outcome = Outcome::Waits;
        let mut released = Vec::new();
        for (who, responses) in answers {
            let statement = self.waiting[who].take().expect("only a session that was sent something answers");
            let responses = responses.into_iter().map(|response| response.canonical(statement)).collect();
            if who == *session {
                outcome = Outcome::Answered(responses);
            } else {
                released.push((who, responses));
            }
        }
        Some(Observation { outcome, released })
    }
}

/// Runs a program on both and compares. `None` if they agree; otherwise a report with the program shrunk to what is
/// needed, as a golden script with the expected answers, ready to be kept.
///
/// Where two sessions wake at the same moment even PostgreSQL answers now one way, now another. What `expected` does must
/// be *one* of the things that `actual` does in some order of those who could go on; and a program that does not repeat
/// itself on `expected` proves nothing and counts as agreement.
pub fn compare(program: &Program, expected: &mut impl Runner, actual: &mut impl Runner) -> Option<String> {
    let mut differs = |program: &Program| {
        let first = expected.run(program);
        first != actual.run(program)
            && first == expected.run(program)
            && !(1..=ORDERS_MAX).map_while(|order| actual.run_in_order(program, order)).any(|other| other == first)
    };
    if !differs(program) {
        return None;
    }
    let small = shrink(program, differs);
    let (truth, claim) = (expected.run(&small), actual.run(&small));
    let difference = first_difference(&small, &truth, &claim)?;
    Some(format!("{difference}\n=== what should happen\n{}", small.script(&truth)))
}

/// How many orders are tried before two databases are said to differ.
const ORDERS_MAX: u64 = 24;

/// Compares on programs generated from consecutive seeds: `count` of them, from 0.
///
/// A long run: `ISOLDE_MIRROR_PROGRAMS=20000 ISOLDE_MIRROR_SEED=1000000 cargo test -p isolde-testkit`.
///
/// # Panics
/// If a program shows a difference; the message holds its seed and the report of [`compare`].
pub fn compare_generated(
    generate: impl Fn(u64) -> Program,
    count: u64,
    expected: &mut impl Runner,
    actual: &mut impl Runner,
) {
    let first = number_from_environment("ISOLDE_MIRROR_SEED").unwrap_or(0);
    let count = number_from_environment("ISOLDE_MIRROR_PROGRAMS").unwrap_or(count);
    let differences: Vec<String> = (first..first + count)
        .filter_map(|seed| Some((seed, compare(&generate(seed), expected, actual)?)))
        .map(|(seed, report)| format!("seed {seed} shows a difference:\n{report}"))
        .take(DIFFERENCES_MAX)
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// One cause often shows in many programs: after so many differences there is no point in looking for more.
const DIFFERENCES_MAX: usize = 8;

fn number_from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}")))
}

fn first_difference(program: &Program, expected: &[Observation], actual: &[Observation]) -> Option<String> {
    let index = (0..program.steps.len()).find(|index| expected.get(*index) != actual.get(*index))?;
    let (session, statement) = &program.steps[index];
    let show = |observations: &[Observation]| observations.get(index).map(Observation::to_string).unwrap_or_default();
    let (expected, actual) = (show(expected), show(actual));
    Some(format!("s{session}> {statement}\n--- expected\n{expected}--- actual\n{actual}"))
}
