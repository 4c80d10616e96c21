//! No thread ends with an error, unless the file expects it. Aborts that a client would retry are no errors.

use std::ops::ControlFlow;

use isolde_sql::SqlState;

use super::{At, Explained, Property, Violation};
use crate::backend::{Backend, Failure, Fate};
use crate::oracle::{Oracle, SERIAL_THREADS_MAX};
use crate::outcome::Outcome;
use crate::trace::RunOf;
use crate::trouble::Trouble;

pub(super) struct UncaughtError;

const NAME: &str = "uncaught error";

impl<B: Backend> Property<B> for UncaughtError {
    fn names(&self, _: B) -> Vec<String> {
        vec![NAME.into()]
    }

    fn at_state(&self, at: &At<'_, B>) -> Result<Option<Violation>, Trouble> {
        let is_error = |failure: Failure<'_>| match failure {
            Failure::Sql(error) => error.state != SqlState::ASSERT_FAILURE,
            Failure::Program(_) => true,
        };
        let Some((thread, failure)) = unexpected(at).find(|(_, failure)| is_error(*failure)) else { return Ok(None) };
        let name = at.system.member(thread).name;
        Ok(Some(match failure {
            Failure::Program(how) => Violation::new(NAME, format!("{name} fails: {how}")),
            Failure::Sql(error) => {
                let mut violation = Violation::new(NAME, format!("{name} fails: {error}"));
                violation.remarks.extend(error.detail.iter().map(|d| format!("Detail: {d}")));
                let expect = format!("If that may happen, say so in the file: --@ expect error {}", error.state);
                violation.remarks.push(expect);
                violation
            }
        }))
    }

    fn explain(&self, run: &RunOf<B>) -> Result<Explained, Trouble> {
        let explained = Explained::by_history(run);
        if explained.anomaly.is_some() {
            return Ok(explained);
        }
        let serial = serial_order(run)?.map(|order| match &order[..] {
            [alone] => format!("No overlap is needed: {alone} fails alone."),
            order => format!("No overlap is needed: it also happens serially, {}.", order.join(" then ")),
        });
        Ok(Explained { paragraphs: serial.into_iter().collect(), ..explained })
    }
}

/// A serial order in which some thread fails with the error that one has failed with in this run.
fn serial_order<B: Backend>(run: &RunOf<B>) -> Result<Option<Vec<&str>>, Trouble> {
    let system = &run.system;
    let fails = |thread| match system.fate(&run.end, thread) {
        Fate::Failed(Failure::Sql(error)) => Some(error.state),
        _ => None,
    };
    let failures: Vec<Option<SqlState>> = (0..system.threads()).map(fails).collect();
    if system.present().count() > SERIAL_THREADS_MAX || failures.iter().all(Option::is_none) {
        return Ok(None);
    }
    let mut limits = vec![0; system.threads()];
    system.present().for_each(|t| limits[t] = usize::MAX);
    let watch = &mut || ControlFlow::Continue(());
    let ControlFlow::Continue(serial) = Oracle::new(*system).serial_outcomes(&limits, watch)? else { return Ok(None) };
    let same = |outcome: &Outcome| {
        outcome.threads.iter().zip(&failures).any(|(seen, failed)| failed.is_some() && seen.failed == *failed)
    };
    let found = serial.outcomes.iter().find(|(outcome, _)| same(outcome));
    Ok(found.map(|(_, order)| order.iter().map(|&t| system.member(t).name).collect()))
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
