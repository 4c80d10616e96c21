//! The effects of a run: what its threads leave in the tables, and what they were told as far as it was used.
//!
//! With `serial effects`, the default, a run is accepted if it is accepted by `serial strict`, or if its effects are
//! those of a serial order:
//!
//! - of every thread, the error that it ended with and its messages;
//! - of a thread that can write, the answers that [can matter](crate::uses), and how many rows it wrote in which
//!   tables;
//! - of a thread whose text writes nothing, everything it saw;
//! - of the tables, their rows at the end.
//!
//! How many rows a thread wrote tells two withdrawals that both succeeded from one that was refused, even if they leave
//! the same balance.
//!
//! A thread that can decide, and has ended without leaving anything (UPDATE 0 after a version check, "409 in progress",
//! SKIP LOCKED that finds nothing), has *given up*, as an abort does: the run is also compared with the serial orders
//! of the other threads.

use std::collections::BTreeMap;
use std::sync::Arc;

use isolde_sql::catalog::TableId;
use isolde_sql::typed::OutputColumn;
use isolde_sql::{Row, Span};

use crate::client::{Client, Observation, Status};
use crate::names;
use crate::outcome::{RawAnswer, RawSeen};
use crate::scenario::{Scenario, Thread};
use crate::uses::Counts;

/// How many rows a thread has written and committed, by table.
pub(crate) type Published = Arc<BTreeMap<TableId, u64>>;

/// Whether a thread has given up: it could have written, and ended as if it had not run.
pub(crate) fn gave_up(client: &Client, thread: &Thread) -> bool {
    let failed = match &client.status {
        Status::Done => None,
        Status::Failed(error) => Some(error.state),
        Status::Running | Status::Aborted(_) => return false,
    };
    client.published.is_empty() && thread.uses.gives_up(failed)
}

/// What counts of an answer.
pub(crate) struct Told<'s> {
    at: Option<Span>,
    said: Said<'s>,
}

enum Said<'s> {
    All(&'s Observation),
    Message(Arc<str>),
    Rows { columns: Vec<OutputColumn>, rows: Vec<Row>, ordered: bool },
    Wrote(Arc<str>),
}

/// What counts of all that a thread saw in its first `limit` statements.
pub(crate) fn told<'s>(scenario: &Scenario, client: &'s Client, thread: &Thread, limit: usize) -> Vec<Told<'s>> {
    let seen = client.progress.seen.to_vec().into_iter().filter(|o| o.statement() < limit);
    if !thread.uses.writes {
        return seen.map(|observation| Told { at: None, said: Said::All(observation) }).collect();
    }
    let mut told: Vec<Told<'s>> = seen.filter_map(|observation| used(thread, observation)).collect();
    if limit > 0 && client.status == Status::Done {
        let catalog = scenario.database.catalog();
        let name = |table| if catalog.has_table(table) { &*catalog.table(table).name } else { "a new table" };
        told.push(Told { at: None, said: Said::Wrote(wrote(&client.published, name)) });
    }
    told
}

/// What is used of an answer, if anything is.
fn used<'s>(thread: &Thread, observation: &'s Observation) -> Option<Told<'s>> {
    let (statement, columns, rows) = match observation {
        Observation::Inner { statement, .. } => {
            let counts = *thread.uses.counts(*statement, true) == Counts::All;
            return counts.then_some(Told { at: None, said: Said::All(observation) });
        }
        Observation::Notice { message, .. } => {
            return Some(Told { at: None, said: Said::Message(message.clone()) });
        }
        Observation::Answer { statement, columns, rows, .. } => (*statement, columns, rows),
    };
    let submission = thread.statements.get(statement)?;
    let kept: Vec<usize> = match thread.uses.counts(statement, false) {
        Counts::All => (0..columns.len()).collect(),
        Counts::Columns(kept) => kept.clone(),
        Counts::Nothing => return None,
    };
    if kept.is_empty() {
        return None;
    }
    let said = Said::Rows {
        columns: kept.iter().filter_map(|&column| columns.get(column).cloned()).collect(),
        rows: rows.iter().map(|row| only(row, &kept)).collect(),
        ordered: submission.ordered,
    };
    Some(Told { at: Some(submission.prepared.statement.span), said })
}

/// These columns of a row.
pub fn only(row: &Row, columns: &[usize]) -> Row {
    columns.iter().filter_map(|&column| row.get(column).cloned()).collect::<Vec<_>>().into()
}

/// How many rows were written where, as what a thread "gets".
pub fn wrote<'n>(published: &BTreeMap<TableId, u64>, name: impl Fn(TableId) -> &'n str) -> Arc<str> {
    let counts = published
        .iter()
        .map(|(&table, &count)| format!("{count} {} of {}", if count == 1 { "row" } else { "rows" }, name(table)));
    let counts: Vec<String> = counts.collect();
    let what = if counts.is_empty() { "nothing".into() } else { names::listed(&counts) };
    format!("to write {what}").into()
}

/// The same as it is compared.
pub(crate) fn seen<'t>(client: &'t Client, thread: &Thread, told: &'t [Told<'t>], limit: usize) -> RawSeen<'t> {
    let answers = told.iter().map(|told| match &told.said {
        Said::All(observation) => crate::embedded::answer(thread, observation),
        Said::Message(message) => RawAnswer::Message(message.clone()),
        Said::Wrote(what) => RawAnswer::Line(what.clone()),
        Said::Rows { columns, rows, ordered } => {
            RawAnswer::Statement { at: told.at, text: "".into(), columns, rows, ordered: *ordered }
        }
    });
    RawSeen {
        failed: match &client.status {
            Status::Failed(error) if limit > 0 => Some(error.state),
            _ => None,
        },
        answers: answers.collect(),
        draws: client.progress.draws.to_vec(),
    }
}
