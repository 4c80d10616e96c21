//! No thread ends with an error, unless the file expects it. Aborts that a client would retry are no errors.

use isolde_engine::is_endless;
use isolde_sql::{SqlError, SqlState};

use super::{At, Property, Violation};
use crate::client::Status;
use crate::scenario::Scenario;

pub(super) struct UncaughtError;

const NAME: &str = "uncaught error";

impl Property for UncaughtError {
    fn names(&self, _: &Scenario) -> Vec<String> {
        vec![NAME.into()]
    }

    /// One thread that fails says nothing about another one.
    fn is_same(&self, one: &Violation, other: &Violation) -> bool {
        one == other
    }

    fn at_state(&self, at: &At<'_>) -> Option<Violation> {
        let (thread, error) = unexpected(at).find(|(_, error)| error.state != SqlState::ASSERT_FAILURE)?;
        let mut violation = Violation::new(NAME, format!("{thread} fails: {error}"));
        violation.remarks.extend(error.detail.iter().map(|d| format!("Detail: {d}")));
        violation.remarks.push(format!("If that may happen, say so in the file: --@ expect error {}", error.state));
        Some(violation)
    }
}

/// The threads that have failed, with their errors, where the file does not expect them.
pub(super) fn unexpected<'a>(at: &'a At<'_>) -> impl Iterator<Item = (&'a str, &'a SqlError)> {
    let threads = at.system.scenario.threads.iter().zip(&at.state.clients);
    threads.filter_map(|(thread, client)| match &client.status {
        Status::Failed(error) if !thread.expects(error) && !is_endless(error) => Some((&*thread.name, error)),
        _ => None,
    })
}
