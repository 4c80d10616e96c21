//! What must never happen.
//!
//! A property is looked at in every new state, or only where a run ends. One list, [`PROPERTIES`], names them all; the first
//! one that is broken ends the search. To add one: a file here, a line in the list, a golden test.

mod assertion;
mod deadlock;
mod error;
mod final_check;
mod invariant;
mod serial;

use isolde_history::History;
use isolde_report::Graph;
use isolde_sql::Value;

use crate::graph;
use crate::oracle::Oracle;
use crate::scenario::{Check, Scenario};
use crate::system::{Event, ScenarioSystem, State};
use crate::trace::Run;

/// Every property, in the order in which a state is asked about them.
pub(crate) const PROPERTIES: &[&dyn Property] = &[
    &assertion::FailedAssertion,
    &error::UncaughtError,
    &deadlock::Deadlock,
    &invariant::Invariants,
    &final_check::Finals,
    &serial::SerialOutcome,
];

/// Something that must never happen.
pub(crate) trait Property: Sync {
    /// The names it has in a report: one, or one per check in the file.
    fn names(&self, scenario: &Scenario) -> Vec<String>;

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

    /// Whether it has happened in this state.
    fn at_state(&self, at: &At<'_>) -> Option<Violation> {
        let _ = at;
        None
    }

    /// Whether a run that ended in this state has broken it.
    fn at_end(&self, at: &At<'_>, oracle: &mut Oracle<'_>) -> Result<Option<Violation>, Doubt> {
        let _ = (at, oracle);
        Ok(None)
    }

    /// Why it happened, and what that is called; the provided one looks for a cycle of dependencies.
    fn explain(&self, run: &Run<'_>) -> Explained {
        Explained::by_history(run)
    }
}

/// A place in a search.
pub(crate) struct At<'a> {
    pub(crate) system: ScenarioSystem<'a>,
    pub(crate) state: &'a State,
    /// What led here; nothing did to the initial state.
    pub(crate) event: Option<&'a Event>,
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

/// Why a property cannot be decided for some run, as a warning to the user.
pub(crate) type Doubt = String;

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
    fn by_history(run: &Run<'_>) -> Explained {
        Explained::of_history(&crate::conflicts::of_run(run))
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

/// Asks a check about the committed tables: what it says instead of yes.
fn refuted(check: &Check, state: &State) -> Option<String> {
    match state.database.query(&check.query) {
        Err(error) => Some(format!("cannot be evaluated: {error}")),
        Ok(rows) => match rows.iter().find_map(|row| row.first().filter(|v| !v.is_true())) {
            None => None,
            Some(Value::Null) => Some("is neither true nor false but NULL".into()),
            Some(_) => Some("is false".into()),
        },
    }
}
