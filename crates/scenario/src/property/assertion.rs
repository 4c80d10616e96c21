//! No PL/pgSQL `ASSERT` fails.

use isolde_sql::SqlState;

use super::error::unexpected;
use super::{At, Property, Violation};
use crate::backend::{Backend, Failure};
use crate::trouble::Trouble;

pub(super) struct FailedAssertion;

const NAME: &str = "failed assertion";

impl<B: Backend> Property<B> for FailedAssertion {
    fn names(&self, _: B) -> Vec<String> {
        vec![NAME.into()]
    }

    /// One thread that fails says nothing about another one.
    fn is_same(&self, one: &Violation, other: &Violation) -> bool {
        one == other
    }

    fn at_state(&self, at: &At<'_, B>) -> Result<Vec<Violation>, Trouble> {
        let failed = unexpected(at).find_map(|(thread, failure)| match failure {
            Failure::Sql(error) if error.state == SqlState::ASSERT_FAILURE => Some((thread, error)),
            _ => None,
        });
        let violation = failed.map(|(thread, error)| {
            let name = at.system.member(thread).name;
            Violation::new(NAME, format!("an ASSERT of {name} fails: {}", error.message))
        });
        Ok(violation.into_iter().collect())
    }
}
