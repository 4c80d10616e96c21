//! Schedules: the choices of one run, on one line.
//!
//! ```text
//! alice bob alice*3 bob
//! ```
//!
//! Three or more equal steps in a row are written once, with their number. A schedule is all that is needed to see a
//! run again, because a [`System`] leaves nothing else to chance.

use crate::frontier::Replay;
use crate::{Search, Summary, System, Visitor};
use std::fmt;

/// The choices of one run, first to last.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Schedule<T> {
    /// The steps taken.
    pub steps: Vec<T>,
}

/// Runs again what `schedule` says, and shows `visitor` every state on the way.
///
/// The schedule may end before the run does. It is an error if a step is not enabled when its turn comes, unless the
/// visitor stopped the replay before.
pub fn replay<S: System>(
    system: &S,
    schedule: &Schedule<S::Step>,
    visitor: &mut impl Visitor<S>,
) -> Result<Summary, NotEnabled<S::Step>> {
    let mut frontier = Replay::new(&schedule.steps);
    let summary = Search::default().drive(system, &mut frontier, visitor);
    match frontier.refused {
        None => Ok(summary),
        Some(refused) => Err(refused),
    }
}

impl<T> Schedule<T> {
    /// The schedule on one line, in tokens that [`Schedule::parse`] reads.
    pub fn line<S: System<Step = T>>(&self, system: &S) -> String
    where
        T: PartialEq,
    {
        let mut tokens = Vec::new();
        for run in self.steps.chunk_by(T::eq) {
            let name = system.name(&run[0]);
            match run.len() {
                1 => tokens.push(name),
                2 => tokens.extend([name.clone(), name]),
                count => tokens.push(format!("{name}*{count}")),
            }
        }
        tokens.join(" ")
    }

    /// Reads a schedule: tokens between white space, each the name of a step, or of `N` equal steps as `name*N`.
    pub fn parse<S: System<Step = T>>(system: &S, text: &str) -> Result<Self, ParseError>
    where
        T: Clone,
    {
        let mut steps = Vec::new();
        for (index, token) in text.split_whitespace().enumerate() {
            let (name, count) = split_count(token);
            let fail = |problem| ParseError { position: index + 1, token: token.to_string(), problem };
            if count == 0 || count > COUNT_MAX {
                return Err(fail(ParseProblem::Count));
            }
            let Some(step) = system.parse(name) else {
                return Err(fail(ParseProblem::Unknown { expected: names_at_start(system) }));
            };
            steps.resize(steps.len() + count, step);
        }
        Ok(Schedule { steps })
    }
}

impl<T> From<Vec<T>> for Schedule<T> {
    fn from(steps: Vec<T>) -> Self {
        Schedule { steps }
    }
}

/// More equal steps than this in a row are a typing mistake, not worth the memory.
const COUNT_MAX: usize = 1_000_000;

/// `alice*3` is alice, three times; anything else is once itself. A count too long for a number is too large.
fn split_count(token: &str) -> (&str, usize) {
    match token.rsplit_once('*') {
        Some((name, digits)) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            (name, digits.parse().unwrap_or(usize::MAX))
        }
        _ => (token, 1),
    }
}

fn names_at_start<S: System>(system: &S) -> Vec<String> {
    let mut steps = Vec::new();
    system.enabled(&system.initial(), &mut steps);
    steps.iter().map(|step| system.name(step)).collect()
}

/// A token of a schedule that is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Which token, counted from one.
    pub position: usize,
    /// The token as written.
    pub token: String,
    /// What is wrong with it.
    pub problem: ParseProblem,
}

/// What is wrong with a token of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseProblem {
    /// It names no step.
    Unknown {
        /// Names of the steps enabled at the start, as examples.
        expected: Vec<String>,
    },
    /// It repeats a step zero times, or absurdly often.
    Count,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "token {} of the schedule, `{}`, ", self.position, self.token)?;
        match &self.problem {
            ParseProblem::Unknown { expected } if expected.is_empty() => f.write_str("names no step"),
            ParseProblem::Unknown { expected } => {
                write!(f, "names no step; at the start there are: {}", expected.join(", "))
            }
            ParseProblem::Count => write!(f, "must repeat its step between 1 and {COUNT_MAX} times"),
        }
    }
}

impl std::error::Error for ParseError {}

/// A step of a schedule that was not possible when its turn came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotEnabled<T> {
    /// How many steps were taken before it.
    pub position: usize,
    /// The step that was wanted.
    pub step: T,
    /// The steps that were possible instead; none if the run had ended.
    pub enabled: Vec<T>,
}

impl<T> NotEnabled<T> {
    /// The error as a sentence, in the tokens of a schedule.
    pub fn describe<S: System<Step = T>>(&self, system: &S) -> String {
        let name = |step: &T| system.name(step);
        let wanted = format!("step {} of the schedule, `{}`, is not possible", self.position + 1, name(&self.step));
        if self.enabled.is_empty() {
            return format!("{wanted}: the run has ended");
        }
        let enabled: Vec<String> = self.enabled.iter().map(name).collect();
        format!("{wanted}; possible here: {}", enabled.join(", "))
    }
}

impl<T: fmt::Debug> fmt::Display for NotEnabled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} of the schedule, {:?}, is not possible", self.position + 1, self.step)?;
        match self.enabled.is_empty() {
            true => f.write_str(": the run has ended"),
            false => write!(f, "; possible here: {:?}", self.enabled),
        }
    }
}

impl<T: fmt::Debug> std::error::Error for NotEnabled<T> {}
