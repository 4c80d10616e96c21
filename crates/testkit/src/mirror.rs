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

use std::fmt;

use crate::program::{Observation, Outcome, Program, Response};
use crate::shrink::shrink;
use crate::skipped;
use crate::version::{self, Version};

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
    /// Forgets everything and runs the set-up; a driver may know a faster way than statement by statement.
    fn reset_and_setup(&mut self, sessions: usize, statements: &[String]) -> Result<(), SetupFailure> {
        setup_one_by_one(self, sessions, statements)
    }
    /// From now on, let this number decide who goes first where several sessions could; 0 is the usual order. Is there
    /// anything to decide?
    fn choose(&mut self, _order: u64) -> bool {
        false
    }
    /// The version of a server; `None` for what is always the newest.
    fn version(&self) -> Option<Version> {
        None
    }
}

/// Empties the database and runs the statements of the set-up, each to its end.
pub fn setup_one_by_one<D: Driver + ?Sized>(
    driver: &mut D,
    sessions: usize,
    statements: &[String],
) -> Result<(), SetupFailure> {
    driver.reset(sessions);
    for statement in statements {
        if let Some(error) = driver.setup(statement).into_iter().find(Response::is_error) {
            return Err(SetupFailure { statement: statement.clone(), error });
        }
    }
    Ok(())
}

/// A statement of the set-up that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct SetupFailure {
    /// The statement.
    pub statement: String,
    /// Its error.
    pub error: Response,
}

impl fmt::Display for SetupFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the set-up failed: {}\nin: {}", self.error, self.statement)
    }
}

/// What is seen of a program: an observation per step, if there was anything to take steps on.
pub type Run = Result<Vec<Observation>, SetupFailure>;

/// Something that runs programs; every [`Driver`] does.
pub trait Runner {
    /// Runs a program on an empty database: one observation per step.
    ///
    /// # Panics
    /// If a statement of the set-up fails.
    fn run(&mut self, program: &Program) -> Vec<Observation>;

    /// The same for programs whose set-up may fail.
    fn try_run(&mut self, program: &Program) -> Run {
        Ok(self.run(program))
    }

    /// The same with another order where several sessions could go on at the same time; `None` if there is no other.
    fn run_in_order(&mut self, _program: &Program, _order: u64) -> Option<Run> {
        None
    }

    /// The version of a server; `None` for what is always the newest.
    fn version(&self) -> Option<Version> {
        None
    }
}

impl<D: Driver> Runner for D {
    fn run(&mut self, program: &Program) -> Vec<Observation> {
        self.try_run(program).unwrap_or_else(|failure| panic!("{failure}\nprogram:\n{program}"))
    }

    fn try_run(&mut self, program: &Program) -> Run {
        let mut progress = Progress::begin(self, program)?;
        Ok(std::iter::from_fn(|| progress.step(self)).collect())
    }

    fn run_in_order(&mut self, program: &Program, order: u64) -> Option<Run> {
        let observed = self.choose(order).then(|| self.try_run(program));
        self.choose(0);
        observed
    }

    fn version(&self) -> Option<Version> {
        Driver::version(self)
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
        Progress::begin(driver, program).unwrap_or_else(|failure| panic!("{failure}\nprogram:\n{program}"))
    }

    /// Empties the database and sets it up, if that succeeds.
    pub fn begin<D: Driver + ?Sized>(driver: &mut D, program: &'p Program) -> Result<Progress<'p>, SetupFailure> {
        driver.reset_and_setup(program.sessions, &program.setup)?;
        Ok(Progress { steps: &program.steps, waiting: vec![None; program.sessions] })
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
pub fn compare(program: &Program, expected: &mut impl Runner, actual: &mut impl Runner) -> Option<String> {
    match comparison_of_supported(program.clone(), expected, actual).0 {
        Comparison::Different(difference) => Some(difference.shrunk(expected, actual).to_string()),
        Comparison::Equal | Comparison::Unstable | Comparison::TooNew => None,
    }
}

/// What came of comparing two databases on one program.
#[derive(Clone, Debug)]
pub enum Comparison {
    /// They do the same.
    Equal,
    /// The program does not repeat itself on the database that is the measure, so it proves nothing.
    Unstable,
    /// The server that is the measure is older than the program's SQL.
    TooNew,
    /// They do not.
    Different(Box<Difference>),
}

/// A program on which two databases differ, and what they did.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The program.
    pub program: Program,
    /// What should be.
    pub expected: Run,
    /// What is.
    pub actual: Run,
}

/// Runs a program on both and compares.
///
/// Where two sessions wake at the same moment even PostgreSQL answers now one way, now another. What `expected` does
/// must be *one* of the things that `actual` does in some order of those who could go on; and a program that does not
/// repeat itself on `expected` proves nothing.
pub fn comparison(program: &Program, expected: &mut impl Runner, actual: &mut impl Runner) -> Comparison {
    let version = expected.version();
    let mut expect = || in_words_of_the_reference(expected.try_run(program), version);
    let first = expect();
    let second = actual.try_run(program);
    if first == second || comes_in_another_order(program, &first, actual) {
        return Comparison::Equal;
    }
    if errors(&first).any(|sqlstate| version::is_too_old(version, sqlstate)) {
        return Comparison::TooNew;
    }
    if (0..REPEATS).any(|_| first != expect()) {
        return Comparison::Unstable;
    }
    Comparison::Different(Box::new(Difference { program: program.clone(), expected: first, actual: second }))
}

/// Whether a database does this, too, if it lets others go first where several sessions could go on.
pub fn comes_in_another_order(program: &Program, run: &Run, actual: &mut impl Runner) -> bool {
    (1..=ORDERS_MAX).map_while(|order| actual.run_in_order(program, order)).any(|other| other == *run)
}

/// The codes of all errors of a run.
fn errors(run: &Run) -> impl Iterator<Item = &str> {
    let (observations, failure) = match run {
        Ok(observations) => (observations.as_slice(), None),
        Err(failure) => (&[][..], Some(&failure.error)),
    };
    let responses = observations.iter().flat_map(Observation::responses).chain(failure);
    responses.filter_map(|response| match response {
        Response::Error { sqlstate, .. } => Some(&**sqlstate),
        _ => None,
    })
}

/// A run with its errors in the words of the reference.
fn in_words_of_the_reference(mut run: Run, version: Option<Version>) -> Run {
    let reword = |response: &mut Response| {
        if let Response::Error { sqlstate, message } = response {
            version::in_words_of_the_reference(version, sqlstate, message);
        }
    };
    match &mut run {
        Ok(observations) => observations.iter_mut().flat_map(Observation::responses_mut).for_each(reword),
        Err(failure) => reword(&mut failure.error),
    }
    run
}

/// Compares on a program, or on what is left of it without the statements that `actual` says it does not support; and
/// these refusals, by signature.
pub fn comparison_of_supported(
    mut program: Program,
    expected: &mut impl Runner,
    actual: &mut impl Runner,
) -> (Comparison, Vec<String>) {
    let mut refusals = Vec::new();
    loop {
        let outcome = comparison(&program, expected, actual);
        let Comparison::Different(difference) = &outcome else { return (outcome, refusals) };
        let Some(without) = difference.without_refused() else { return (outcome, refusals) };
        refusals.push(difference.signature());
        program = without;
    }
}

impl Difference {
    /// The same difference, or one of its kind, in a smaller program.
    pub fn shrunk(&self, expected: &mut impl Runner, actual: &mut impl Runner) -> Difference {
        let mut smallest = self.clone();
        let refused = self.refusal().is_some();
        shrink(&self.program, |candidate| match comparison(candidate, expected, actual) {
            Comparison::Different(other) if refused == other.refusal().is_some() && other.is_sensible() => {
                smallest = *other;
                true
            }
            _ => false,
        });
        smallest
    }

    /// Shrinking must not break the set-up: that would be another difference.
    fn is_sensible(&self) -> bool {
        self.expected.is_ok()
    }

    /// The construct that the actual database says it does not support, if that is the difference.
    pub fn refusal(&self) -> Option<String> {
        let (_, actual) = self.first()?;
        let line =
            actual.lines().find(|line| line.contains("ERROR 0A000") && line.contains(" not supported by the "))?;
        Some(line.trim().to_string())
    }

    /// The program without the statement that the actual database refuses, if that is the difference.
    pub fn without_refused(&self) -> Option<Program> {
        self.refusal()?;
        let mut program = self.program.clone();
        match (&self.actual, self.first_index()) {
            (Err(failure), _) => program.setup.retain(|statement| *statement != failure.statement),
            (Ok(_), Some(index)) => {
                program.steps.remove(index);
            }
            (Ok(_), None) => return None,
        }
        Some(program)
    }

    /// The statement where the two first differ, with what was observed there: expected, actual.
    fn first(&self) -> Option<(String, String)> {
        let (expected, actual) = match (&self.expected, &self.actual) {
            (Ok(expected), Ok(actual)) => (expected, actual),
            (expected, actual) => return Some((setup_text(expected), setup_text(actual))),
        };
        let index = self.first_index()?;
        let show = |run: &[Observation]| run.get(index).map(Observation::to_string).unwrap_or_default();
        Some((show(expected), show(actual)))
    }

    fn first_index(&self) -> Option<usize> {
        let (Ok(expected), Ok(actual)) = (&self.expected, &self.actual) else { return None };
        (0..self.program.steps.len()).find(|index| expected.get(*index) != actual.get(*index))
    }

    /// What differences with the same cause probably have in common: the verb, and both answers without their values.
    pub fn signature(&self) -> String {
        if let Some(refusal) = self.refusal() {
            return format!("refused: {}", without_values(&refusal));
        }
        let statement = self.first_index().map_or("set-up", |index| self.program.steps[index].1.as_str());
        let verb = statement.split_whitespace().next().unwrap_or_default();
        let (expected, actual) = self.first().unwrap_or_default();
        let differing = expected.lines().zip(actual.lines()).find(|(expected, actual)| expected != actual);
        let (expected, actual) = differing.unwrap_or_else(|| {
            (expected.lines().last().unwrap_or_default(), actual.lines().last().unwrap_or_default())
        });
        format!("{verb}: {} / {}", without_values(expected), without_values(actual))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (expected, actual) = self.first().unwrap_or_default();
        if let Some(index) = self.first_index() {
            let (session, statement) = &self.program.steps[index];
            writeln!(f, "s{session}> {statement}")?;
        }
        writeln!(f, "--- expected\n{expected}--- actual\n{actual}")?;
        let truth = self.expected.as_deref().unwrap_or_default();
        write!(f, "=== what should happen\n{}", self.program.script(truth))
    }
}

fn setup_text(run: &Run) -> String {
    run.as_ref().map_or_else(|failure| format!("{failure}\n"), |_| "the set-up succeeded\n".to_string())
}

/// A line with its numbers and quoted names replaced: other values, same cause.
fn without_values(line: &str) -> String {
    if !line.contains("ERROR ") {
        let tag = line.rsplit(": ").next().unwrap_or_default().split(' ').next().unwrap_or_default();
        let is_tag = !tag.is_empty() && tag.chars().all(|c| c.is_ascii_uppercase());
        return if is_tag || line == "waits" { tag.to_string() } else { "row".to_string() };
    }
    let mut text = String::new();
    for (index, piece) in line.split('"').enumerate() {
        text += if index % 2 == 0 { piece } else { "\"...\"" };
    }
    let error = text.find("ERROR").map_or(text.as_str(), |start| &text[start..]);
    let (code, message) = error.split_at(error.len().min("ERROR 12345".len()));
    format!("{code}{}", message.chars().filter(|c| !c.is_ascii_digit()).collect::<String>())
}

/// How often a program must repeat itself before it proves anything: races of sessions that wake up go one way nearly
/// always.
const REPEATS: usize = 8;

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
    let (mut differences, mut too_new) = (Vec::new(), 0);
    for seed in first..first + count {
        match comparison_of_supported(generate(seed), expected, actual).0 {
            Comparison::Different(difference) => {
                let report = difference.shrunk(expected, actual);
                differences.push(format!("seed {seed} shows a difference:\n{report}"));
            }
            Comparison::TooNew => too_new += 1,
            Comparison::Equal | Comparison::Unstable => {}
        }
        if differences.len() == DIFFERENCES_MAX {
            break;
        }
    }
    if let Some(version) = expected.version().filter(|_| too_new > 0) {
        let why = format!("they are written in newer SQL than the server, {version}, has");
        skipped::note(&format!("{too_new} of {count} generated programs"), &why);
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// One cause often shows in many programs: after so many differences there is no point in looking for more.
const DIFFERENCES_MAX: usize = 8;

fn number_from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}")))
}
