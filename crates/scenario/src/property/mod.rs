//! What must never happen.
//!
//! A property is looked at in every new state, or only where a run ends. One list, [`properties`], names them all; the
//! first one that is broken ends the search. To add one: a file here, a line in the list, a golden test. It is then
//! checked on every
//! [back-end](crate::Backend), because it knows of a run only what was observed.

mod assertion;
mod deadlock;
mod error;
mod final_check;
mod invariant;
mod serial;

use isolde_explore::{Limit, Schedule};
use isolde_history::History;
use isolde_report::Graph;

use crate::backend::{Backend, Truth, When};
use crate::graph;
use crate::oracle::{Oracle, Watch};
use crate::system::Choice;
use crate::trace::RunOf;
use crate::trouble::Trouble;

/// Every property, in the order in which a state is asked about them.
pub(crate) fn properties<'p, B: Backend + 'p>() -> [&'p dyn Property<B>; 6] {
    [
        &assertion::FailedAssertion,
        &error::UncaughtError,
        &deadlock::Deadlock,
        &invariant::Invariants,
        &final_check::Finals,
        &serial::SerialOutcome,
    ]
}

/// A property by its position in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PropertyId(pub(crate) usize);

impl PropertyId {
    /// The property.
    pub(crate) fn on<'p, B: Backend + 'p>(self) -> &'p dyn Property<B> {
        properties()[self.0]
    }
}

/// Something that must never happen.
pub(crate) trait Property<B: Backend> {
    /// The names it has in a report: none if it is not asked for, one, or one per check in the file.
    fn names(&self, system: B) -> Vec<String>;

    /// By what it is judged, if the user has a choice.
    fn judged_by(&self, system: B) -> Option<&'static str> {
        let _ = system;
        None
    }

    /// Whether it is about what all threads together come to, so that none can be left out of a counterexample.
    fn needs_all_threads(&self) -> bool {
        false
    }

    /// Whether two violations of it are the same thing gone wrong, by whatever thread.
    fn is_same(&self, one: &Violation, other: &Violation) -> bool {
        one.name == other.name
    }

    /// Whether it compares the end of a run with the ends of serial orders.
    fn compares_ends(&self) -> bool {
        false
    }

    /// What has happened of it in this state: at most one violation for each of its names.
    fn at_state(&self, at: &At<'_, B>) -> Result<Vec<Violation>, Trouble> {
        let _ = at;
        Ok(Vec::new())
    }

    /// What a run that ended in this state has broken of it, likewise.
    fn at_end(&self, at: &At<'_, B>, oracle: &mut Oracle<B>, watch: Watch<'_>) -> Result<Vec<Violation>, Unclear> {
        let _ = (at, oracle, watch);
        Ok(Vec::new())
    }

    /// Why it happened, and what that is called; the provided one looks for a cycle of dependencies.
    fn explain(&self, run: &RunOf<B>) -> Result<Explained, Trouble> {
        Ok(Explained::by_history(run))
    }
}

/// A place in a search.
pub(crate) struct At<'a, B: Backend> {
    pub(crate) system: B,
    pub(crate) state: &'a B::State,
    /// What led here; nothing did to the initial state.
    pub(crate) event: Option<&'a B::Event>,
    /// All choices that led here, if they are known.
    pub(crate) schedule: Option<&'a dyn Fn() -> Schedule<Choice>>,
}

/// A property that is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Its name in the report.
    pub(crate) name: String,
    /// What happened, in a sentence.
    pub(crate) headline: String,
    /// More to say about it, after the explanation.
    pub(crate) remarks: Vec<String>,
}

impl Violation {
    fn new(name: impl Into<String>, headline: impl Into<String>) -> Violation {
        Violation { name: name.into(), headline: headline.into(), remarks: Vec::new() }
    }
}

/// Why the end of a run is not judged.
#[derive(Clone, Debug)]
pub(crate) enum Unclear {
    /// The property cannot be decided for this run, as a warning to the user.
    Doubt(String),
    /// The user does not want to wait any longer.
    Stopped(Limit),
    /// Something else went wrong.
    Trouble(Trouble),
}

impl From<Trouble> for Unclear {
    fn from(trouble: Trouble) -> Unclear {
        Unclear::Trouble(trouble)
    }
}

/// Why something happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explained {
    /// What the literature calls it.
    pub anomaly: Option<String>,
    /// In words, one paragraph each.
    pub paragraphs: Vec<String>,
    /// Who must come before whom, or waits for whom.
    pub graph: Option<Graph>,
}

impl Explained {
    /// By the cycle of dependencies between the threads, if there is one.
    fn by_history<B: Backend>(run: &RunOf<B>) -> Explained {
        Explained::of_history(&run.system.history(run))
    }

    /// The same of a history that was observed elsewhere.
    pub fn of_history(history: &History) -> Explained {
        match isolde_history::explain(history) {
            Some(explanation) => Explained {
                anomaly: Some(explanation.anomaly.name.to_string()),
                paragraphs: vec![explanation.to_string()],
                graph: Some(graph::of_history(history, &explanation)),
            },
            None => Explained::default(),
        }
    }
}

/// The checks that are not true here, by their names, and what they say instead of yes.
fn refuted<'a, B: Backend>(at: &'a At<'_, B>, when: When) -> Result<Vec<(&'a str, String)>, Trouble> {
    let mut refuted = Vec::new();
    for check in 0..at.system.checks(when) {
        let how = match at.system.ask(at.state, when, check)? {
            Truth::Holds | Truth::Cut => continue,
            Truth::Fails => "is false".into(),
            Truth::Unknown => "is neither true nor false but NULL".into(),
            Truth::Error(error) => format!("cannot be evaluated: {error}"),
        };
        refuted.push((at.system.check_name(when, check), how));
    }
    Ok(refuted)
}
