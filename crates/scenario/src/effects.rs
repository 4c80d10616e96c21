//! The effects of a run: what its threads leave in the tables, and what they were told as far as it was used.
//!
//! With `serial effects` a run is accepted if it is accepted by `serial on`, or if its effects are those of a serial
//! order:
//!
//! - of every thread, the error that it ended with and its messages;
//! - of a thread that can write, the columns of a `\gset` whose variable is used later, what a statement that can write
//!   returns, and how many rows it wrote in which tables;
//! - of a thread whose text writes nothing, everything it saw;
//! - of the tables, their rows at the end.
//!
//! What the statements inside of a routine returned counts by what the routine wrote and answered. How many rows a
//! thread wrote tells two withdrawals that both succeeded from one that was refused, even if they leave the same
//! balance.
//!
//! A thread that can write and has ended without leaving anything (UPDATE 0 after a version check, "409 in progress",
//! SKIP LOCKED that finds nothing) has *given up*, as an abort does: the run is also compared with the serial orders of
//! the other threads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use isolde_sql::ast;
use isolde_sql::catalog::{Catalog, TableId};
use isolde_sql::facts::{Facts, Verb};
use isolde_sql::typed::OutputColumn;
use isolde_sql::{Row, Span};

use crate::client::{Client, Observation, Status};
use crate::names;
use crate::outcome::{RawAnswer, RawSeen};
use crate::scenario::{Scenario, Thread};

/// How many rows a thread has written and committed, by table.
pub(crate) type Published = Arc<BTreeMap<TableId, u64>>;

/// Whether a statement may write rows, by itself or through the routines that it calls.
pub(crate) fn writes(catalog: &Catalog, statement: &ast::Statement) -> bool {
    let facts = Facts::of(statement);
    if matches!(facts.verb, Verb::Do | Verb::Call | Verb::Execute) || writes_itself(&facts) {
        return true;
    }
    let routines: Vec<(&str, Facts)> =
        catalog.routines().map(|(_, routine)| (&*routine.name, Facts::of_routine(&routine.body))).collect();
    let (mut called, mut next) = (BTreeSet::new(), vec![facts.clone()]);
    while let Some(facts) = next.pop() {
        for function in &facts.functions {
            let found = routines.iter().filter(|(name, _)| bare(name) == &*function.name);
            for (name, facts) in found {
                if writes_itself(facts) {
                    return true;
                }
                if called.insert(*name) {
                    next.push(facts.clone());
                }
            }
        }
    }
    false
}

fn writes_itself(facts: &Facts) -> bool {
    let effects = facts.effects;
    let does = effects.truncates || effects.defines || effects.executes || effects.two_phase || effects.outside;
    !facts.understood || does || facts.tables.iter().any(|table| table.written)
}

/// A routine's name without its schema.
fn bare(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, name)| name)
}

/// Whether a thread has given up: it could have written, and ended as if it had not run.
pub(crate) fn gave_up(client: &Client, thread: &Thread) -> bool {
    client.status == Status::Done && client.published.is_empty() && can_write(thread)
}

fn can_write(thread: &Thread) -> bool {
    thread.statements.iter().any(|statement| statement.writes)
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
    if !can_write(thread) {
        return seen.map(|observation| Told { at: None, said: Said::All(observation) }).collect();
    }
    let mut told: Vec<Told<'s>> = seen.filter_map(|observation| used(thread, observation)).collect();
    if limit > 0 && client.status == Status::Done {
        told.push(Told { at: None, said: Said::Wrote(wrote(scenario, &client.published)) });
    }
    told
}

/// What is used of an answer, if anything is.
fn used<'s>(thread: &Thread, observation: &'s Observation) -> Option<Told<'s>> {
    let (statement, columns, rows) = match observation {
        Observation::Inner { .. } => return None,
        Observation::Notice { message, .. } => {
            return Some(Told { at: None, said: Said::Message(message.clone()) });
        }
        Observation::Answer { statement, columns, rows, .. } => (*statement, columns, rows),
    };
    let submission = thread.statements.get(statement)?;
    let kept: Vec<usize> = match &submission.gset {
        None if submission.writes => (0..columns.len()).collect(),
        None => Vec::new(),
        Some(slots) => {
            let later = &thread.statements[statement + 1..];
            let is_used = |slot: &usize| later.iter().any(|submission| submission.params.contains(slot));
            slots.iter().enumerate().filter(|(_, slot)| is_used(slot)).map(|(column, _)| column).collect()
        }
    };
    if kept.is_empty() {
        return None;
    }
    let row = |row: &Row| kept.iter().filter_map(|&column| row.get(column).cloned()).collect::<Vec<_>>().into();
    let said = Said::Rows {
        columns: kept.iter().filter_map(|&column| columns.get(column).cloned()).collect(),
        rows: rows.iter().map(row).collect(),
        ordered: submission.ordered,
    };
    Some(Told { at: Some(submission.prepared.statement.span), said })
}

/// How many rows were written where, as what a thread "gets".
fn wrote(scenario: &Scenario, published: &Published) -> Arc<str> {
    let catalog = scenario.database.catalog();
    let counts = published.iter().map(|(&table, &count)| {
        let name = if catalog.has_table(table) { &*catalog.table(table).name } else { "a new table" };
        format!("{count} {} of {name}", if count == 1 { "row" } else { "rows" })
    });
    let counts: Vec<String> = counts.collect();
    let what = if counts.is_empty() { "nothing".into() } else { names::listed(&counts) };
    format!("to write {what}").into()
}

/// The same as it is compared.
pub(crate) fn seen<'t>(client: &'t Client, thread: &Thread, told: &'t [Told<'t>]) -> RawSeen<'t> {
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
            Status::Failed(error) => Some(error.state),
            _ => None,
        },
        answers: answers.collect(),
        draws: client.progress.draws.to_vec(),
    }
}
