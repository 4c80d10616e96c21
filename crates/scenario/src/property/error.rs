//! No thread ends with an error, unless the file expects it. Aborts that a client would retry are no errors.

use isolde_sql::SqlState;

use super::{At, Property, Violation};
use crate::backend::{Backend, Failure, Fate};
use crate::trouble::Trouble;

pub(super) struct UncaughtError;

const NAME: &str = "uncaught error";

impl<B: Backend> Property<B> for UncaughtError {
    fn names(&self, _: B) -> Vec<String> {
        vec![NAME.into()]
    }

    /// One thread that fails says nothing about another one.
    fn is_same(&self, one: &Violation, other: &Violation) -> bool {
        one == other
    }

    fn at_state(&self, at: &At<'_, B>) -> Result<Vec<Violation>, Trouble> {
        let is_error = |failure: Failure<'_>| match failure {
            Failure::Sql(error) => error.state != SqlState::ASSERT_FAILURE,
            Failure::Program(_) => true,
        };
        let Some((thread, failure)) = unexpected(at).find(|(_, failure)| is_error(*failure)) else {
            return Ok(Vec::new());
        };
        let name = at.system.member(thread).name;
        Ok(vec![match failure {
            Failure::Program(how) => Violation::new(NAME, format!("{name} fails: {how}")),
            Failure::Sql(error) => {
                let mut violation = Violation::new(NAME, format!("{name} fails: {error}"));
                violation.remarks.extend(error.detail.iter().map(|d| format!("Detail: {d}")));
                let expect = format!("If that may happen, say so in the file: --@ expect error {}", error.state);
                violation.remarks.push(expect);
                violation
            }
        }])
    }
}

/// The threads that have failed, and why, where the file does not expect it.
pub(super) fn unexpected<'a, B: Backend>(at: &'a At<'_, B>) -> impl Iterator<Item = (usize, Failure<'a>)> {
    (0..at.system.threads()).filter_map(|thread| match at.system.fate(at.state, thread) {
        Fate::Failed(Failure::Sql(error))
            if error.is_cut() || at.system.member(thread).expected.contains(&error.state) =>
        {
            None
        }
        Fate::Failed(failure) => Some((thread, failure)),
        _ => None,
    })
}
