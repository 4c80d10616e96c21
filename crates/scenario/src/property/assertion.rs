//! No PL/pgSQL `ASSERT` fails.

use isolde_sql::SqlState;

use super::error::unexpected;
use super::{At, Property, Violation};
use crate::scenario::Scenario;

pub(super) struct FailedAssertion;

const NAME: &str = "failed assertion";

impl Property for FailedAssertion {
    fn names(&self, _: &Scenario) -> Vec<String> {
        vec![NAME.into()]
    }

    /// One thread that fails says nothing about another one.
    fn is_same(&self, one: &Violation, other: &Violation) -> bool {
        one == other
    }

    fn at_state(&self, at: &At<'_>) -> Option<Violation> {
        let (thread, error) = unexpected(at).find(|(_, error)| error.state == SqlState::ASSERT_FAILURE)?;
        Some(Violation::new(NAME, format!("an ASSERT of {thread} fails: {}", error.message)))
    }
}
