//! `.spec` files: the format of PostgreSQL's isolationtester, run on the embedded engine, byte for byte.
//!
//! A spec has sessions with steps, and permutations that say in which order the steps are sent:
//!
//! ```text
//! setup { CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0); }
//! teardown { DROP TABLE t; }
//!
//! session alice
//! step a1 { BEGIN; UPDATE t SET n = n + 1; }
//! step a2 { COMMIT; }
//! session bob
//! step b1 { UPDATE t SET n = n + 1; }
//!
//! permutation a1 b1 a2
//! ```
//!
//! Where the real tester asks a server every ten milliseconds whether a step waits for a lock, the engine simply knows;
//! where it waits for a timeout, the engine's clock jumps there. So a run takes no time, and prints the same whenever
//! it is run.
//!
//! [`parse`] reads the file, [`run`] sends steps and decides what is reported when, [`print`] draws the tables.

pub mod connections;
mod draft;
mod emit;
mod engine;
mod parse;
mod print;
mod run;
mod scenario;

use std::ops::Range;
use std::sync::Arc;

use isolde_sql::{Diagnostic, Span};

use self::connections::Block;
use crate::ScenarioError;

pub use draft::{Draft, DraftSession};
pub use emit::{emit, emit_as};
pub use print::table;
pub use run::{Progress, Run, run, run_on};

/// A spec file, understood.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The file's name.
    pub file: String,
    text: Arc<str>,
    setups: Vec<Sql>,
    teardown: Option<Sql>,
    sessions: Vec<Session>,
    steps: Vec<Step>,
    /// How dates are printed.
    style: Style,
    /// As written; none means all interleavings.
    permutations: Vec<Permutation>,
}

/// How dates and times are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// As a server with its default settings prints them: in ISO style and UTC.
    #[default]
    Plain,
    /// As under pg_isolation_regress: in the style of old, `Postgres, MDY`, and in California's time.
    Regress,
}

/// A block of SQL: where it stands in the file.
#[derive(Clone, Debug)]
struct Sql(Range<usize>);

#[derive(Clone, Debug)]
struct Session {
    name: String,
    setup: Option<Sql>,
    teardown: Option<Sql>,
    /// Its steps, as positions in [`Spec::steps`].
    steps: Range<usize>,
}

#[derive(Clone, Debug)]
struct Step {
    name: String,
    session: usize,
    sql: Sql,
}

type Permutation = Vec<PermutationStep>;

/// A step at its place in a permutation.
#[derive(Clone, Debug)]
struct PermutationStep {
    step: usize,
    blockers: Vec<Blocker>,
}

/// What keeps a step from being reported as completed.
#[derive(Clone, Debug)]
enum Blocker {
    /// It is reported as waiting once, in any case.
    Once,
    /// As long as this step has not completed.
    Step(usize),
    /// Until the session of this step has raised so many notices more.
    Notices(usize, u64),
}

/// More interleavings than anybody wants to read.
const PERMUTATIONS_MAX: u128 = 100_000;

impl Spec {
    /// Reads a spec file.
    pub fn parse(file: &str, text: &str) -> Result<Spec, ScenarioError> {
        parse::parse(file, text).map_err(|diagnostic| ScenarioError {
            file: file.into(),
            text: text.into(),
            diagnostic,
        })
    }

    /// The same spec with this permutation only: names of steps, as a permutation line would have them.
    pub fn only(mut self, permutation: &str) -> Result<Spec, String> {
        self.permutations = vec![parse::permutation(permutation, &self).map_err(|d| d.message)?];
        Ok(self)
    }

    /// The same spec, with dates printed in this style.
    pub fn in_style(mut self, style: Style) -> Spec {
        self.style = style;
        self
    }

    /// How many permutations will be run.
    pub fn permutation_count(&self) -> u128 {
        match self.permutations.len() {
            0 => interleavings(self.sessions.iter().map(|s| s.steps.len() as u128)),
            n => n as u128,
        }
    }

    /// Its name without directory and extension: that of its expected output.
    pub fn name(&self) -> &str {
        let base = self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file);
        base.strip_suffix(".spec").unwrap_or(base)
    }

    fn sql(&self, sql: &Sql) -> &str {
        self.text.get(sql.0.clone()).unwrap_or_default()
    }

    /// A block of SQL, with its place.
    fn block(&self, sql: &Sql) -> Block<'_> {
        Block { text: self.sql(sql), span: Span::new(sql.0.start, sql.0.end) }
    }

    /// The names of its sessions, in order.
    pub fn sessions(&self) -> impl Iterator<Item = &str> {
        self.sessions.iter().map(|session| session.name.as_str())
    }

    /// How dates and times are printed.
    pub fn style(&self) -> Style {
        self.style
    }

    /// A mistake at a place of the file.
    pub fn mistake(&self, diagnostic: Diagnostic) -> ScenarioError {
        ScenarioError { file: self.file.as_str().into(), text: self.text.clone(), diagnostic }
    }

    /// The file has more interleavings than are run.
    fn check_count(&self) -> Result<(), ScenarioError> {
        let count = self.permutation_count();
        if count <= PERMUTATIONS_MAX {
            return Ok(());
        }
        let count = if count == u128::MAX { "more than can be counted".to_string() } else { count.to_string() };
        let message =
            format!("the steps of this file can be interleaved in {count} ways; at most {PERMUTATIONS_MAX} are run");
        let hint = "name those to be run with permutation lines";
        Err(self.mistake(Diagnostic::syntax(Span::default(), message).hint(hint)))
    }

    /// Calls `f` with every permutation, in the order in which isolationtester runs them, until it says stop.
    fn each_permutation<E>(&self, f: &mut dyn FnMut(&[PermutationStep]) -> Result<(), E>) -> Result<(), E> {
        if !self.permutations.is_empty() {
            return self.permutations.iter().try_for_each(|p| f(p));
        }
        let mut next: Vec<usize> = self.sessions.iter().map(|s| s.steps.start).collect();
        self.interleave(&mut next, &mut Vec::new(), f)
    }

    /// At each place, each session's next step is tried, in the order of the file.
    fn interleave<E>(
        &self,
        next: &mut Vec<usize>,
        so_far: &mut Permutation,
        f: &mut dyn FnMut(&[PermutationStep]) -> Result<(), E>,
    ) -> Result<(), E> {
        if so_far.len() == self.steps.len() {
            return f(so_far);
        }
        for session in 0..self.sessions.len() {
            if next[session] < self.sessions[session].steps.end {
                so_far.push(PermutationStep { step: next[session], blockers: Vec::new() });
                next[session] += 1;
                self.interleave(next, so_far, f)?;
                next[session] -= 1;
                so_far.pop();
            }
        }
        Ok(())
    }
}

/// In how many ways sequences of these lengths interleave; as many as fit.
fn interleavings(lengths: impl Iterator<Item = u128>) -> u128 {
    let (mut total, mut ways) = (0u128, 1u128);
    for length in lengths {
        for i in 1..=length {
            total += 1;
            match ways.checked_mul(total) {
                Some(product) => ways = product / i,
                None => return u128::MAX,
            }
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleavings_are_counted() {
        assert_eq!(interleavings([2, 2].into_iter()), 6);
        assert_eq!(interleavings([3, 3, 3].into_iter()), 1680);
        assert_eq!(interleavings([].into_iter()), 1);
        assert_eq!(interleavings([1000, 1000].into_iter()), u128::MAX);
    }

    #[test]
    fn the_first_session_runs_to_its_end_first() {
        let text = "session a step a1 { } step a2 { } session b step b1 { }";
        let spec = Spec::parse("x.spec", text).expect("this is a spec");
        let mut orders = Vec::new();
        let run = spec.each_permutation::<()>(&mut |p| {
            orders.push(p.iter().map(|s| spec.steps[s.step].name.as_str()).collect::<Vec<_>>().join(" "));
            Ok(())
        });
        assert_eq!(run, Ok(()));
        assert_eq!(orders, ["a1 a2 b1", "a1 b1 a2", "b1 a1 a2"]);
    }
}
