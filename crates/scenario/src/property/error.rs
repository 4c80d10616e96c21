//! No thread ends with an error, unless the file expects it. Aborts that a client would retry are no errors.

use isolde_sql::{SqlError, SqlState};

use super::{At, Explained, Property, Violation};
use crate::client::{Client, Status};
use crate::oracle::{Oracle, SERIAL_THREADS_MAX};
use crate::outcome::Outcome;
use crate::scenario::Scenario;
use crate::trace::Run;

pub(super) struct UncaughtError;

const NAME: &str = "uncaught error";

impl Property for UncaughtError {
    fn names(&self, _: &Scenario) -> Vec<String> {
        vec![NAME.into()]
    }

    fn at_state(&self, at: &At<'_>) -> Option<Violation> {
        let (thread, error) = unexpected(at).find(|(_, error)| error.state != SqlState::ASSERT_FAILURE)?;
        let mut violation = Violation::new(NAME, format!("{thread} fails: {error}"));
        violation.remarks.extend(error.detail.iter().map(|d| format!("Detail: {d}")));
        violation.remarks.push(format!("If that may happen, say so in the file: --@ expect error {}", error.state));
        Some(violation)
    }

    fn explain(&self, run: &Run<'_>) -> Explained {
        let explained = Explained::by_history(run);
        if explained.anomaly.is_some() {
            return explained;
        }
        let serial = serial_order(run).map(|order| match &order[..] {
            [alone] => format!("No overlap is needed: {alone} fails alone."),
            order => format!("No overlap is needed: it also happens serially, {}.", order.join(" then ")),
        });
        Explained { paragraphs: serial.into_iter().collect(), ..explained }
    }
}

/// A serial order in which some thread fails with the error that one has failed with in this run.
fn serial_order<'a>(run: &Run<'a>) -> Option<Vec<&'a str>> {
    let scenario = run.system.scenario;
    if run.system.present().count() > SERIAL_THREADS_MAX {
        return None;
    }
    let fails = |client: &Client| match &client.status {
        Status::Failed(error) => Some(error.state),
        _ => None,
    };
    let failures: Vec<_> = run.end.clients.iter().map(|c| fails(c)).collect();
    let mut limits = vec![0; scenario.threads.len()];
    run.system.present().for_each(|t| limits[t] = scenario.threads[t].statements.len());
    let serial = Oracle::new(run.system).serial_outcomes(&limits);
    let same = |outcome: &Outcome| {
        outcome.threads.iter().zip(&failures).any(|(seen, failed)| failed.is_some() && seen.failed == *failed)
    };
    let (_, order) = serial.outcomes.iter().find(|(outcome, _)| same(outcome))?;
    Some(order.iter().map(|&t| &*scenario.threads[t].name).collect())
}

/// The threads that have failed, with their errors, where the file does not expect them.
pub(super) fn unexpected<'a>(at: &'a At<'_>) -> impl Iterator<Item = (&'a str, &'a SqlError)> {
    let threads = at.system.scenario.threads.iter().zip(&at.state.clients);
    threads.filter_map(|(thread, client)| match &client.status {
        Status::Failed(error) if !thread.expects(error) && !error.is_cut() => Some((&*thread.name, error)),
        _ => None,
    })
}
