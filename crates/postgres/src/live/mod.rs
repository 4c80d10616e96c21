//! Exploring what runs on a real server.
//!
//! # Events
//!
//! A step lets one thread send its next statement. What then happens, until everybody is at rest, is one event:
//!
//! ```text
//!   step alice        COMMIT                     alice's own part
//!                     bob's UPDATE goes on       a part of bob's: it had waited for alice
//!                     bob's UPDATE is done
//! ```
//!
//! On a server nobody can come between the commit and what it wakes, so on a [stage](Stage) it is no choice, unlike on
//! the embedded engine, where going on is a step of its own. Everything an event touched is the sum of its parts, and a
//! thread that took part in an event comes after it.
//!
//! # Answers
//!
//! Everything that is shown of a run (results, changed rows, who waits for whom) is kept in the words of
//! `isolde-report`. What is compared (predicates looked for, rows written) is kept in those of the engine's footprints,
//! over a catalog that was read from the server: so "does this write concern that read" is decided by the same code.
//!
//! # Judgements
//!
//! There are none here. [`LiveSystem`] is a [back-end](isolde_scenario::Backend) of the checker, which asks properties,
//! runs serial orders, compares and explains as it does on the embedded engine.

mod backend;
mod check;
mod dependence;
mod system;

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use isolde_engine::RowId;
use isolde_engine::footprint::{ColumnSet, Read, Write};
use isolde_report::{Place, StepKind, StepResult};
use isolde_scenario::{Completed, Outcome, Reaction, Runs};
use isolde_sql::catalog::{Catalog, TableId};
use isolde_sql::facts::Verb;
use isolde_sql::{Span, SqlError, SqlState};
use isolde_wire::{Complaint, Response};

use crate::Trouble;

pub use check::{Check, Question, check, check_all, replay};
pub use system::{Cursor, Event, LiveSystem, Spot};

/// Threads on a server, held at their next statement.
pub trait Stage {
    /// What it runs.
    fn runs(&self) -> Runs;

    /// The names of the threads, in order. There are as many standings.
    fn threads(&self) -> &[String];

    /// How often a thread starts again when it is aborted.
    fn retries(&self, thread: usize) -> u32;

    /// The errors that a thread may end with.
    fn expected(&self, thread: usize) -> &[SqlState];

    /// Sends everything back to the start: the data as set up, every thread at its first statement (or at its end).
    fn restart(&mut self) -> Result<(), Trouble>;

    /// What a thread is at.
    fn standing(&self, thread: usize) -> &Standing;

    /// Lets a thread that is [ready](Standing::Ready) go, and returns when everybody is ready, waits or has ended. The
    /// first part is the thread's own.
    fn step(&mut self, thread: usize) -> Result<Vec<Part>, Trouble>;

    /// The same on a way that was gone before, where it is known what the step touches: that need not be found out.
    fn step_again(&mut self, thread: usize) -> Result<Vec<Part>, Trouble> {
        self.step(thread)
    }

    /// The search is over, and what it found is repeated: the end of the time does not end that. The user can.
    fn release(&mut self) {}

    /// What a query says about the committed state.
    fn ask(&mut self, query: &str) -> Result<Response, Trouble>;

    /// How many statements a thread has completed, where that is known.
    fn statements_done(&self, thread: usize) -> usize {
        let _ = thread;
        0
    }

    /// Ends the session of a thread that stands between its statements.
    fn leave(&mut self, thread: usize) -> Result<Vec<Part>, Trouble> {
        let _ = thread;
        Ok(Vec::new())
    }

    /// What the run came to. Of each thread, only its first `limits` statements count; all or nothing where statements
    /// are not known.
    fn outcome(&mut self, limits: &[usize]) -> Result<Outcome, Trouble>;

    /// The effects of the run, as [`isolde_scenario::Backend::effects`]; `None` where they are not known.
    fn effects(&mut self, limits: &[usize]) -> Result<Option<Outcome>, Trouble> {
        let _ = limits;
        Ok(None)
    }

    /// Whether a thread that could have written has decided to leave nothing.
    fn gave_up(&self, thread: usize) -> bool {
        let _ = thread;
        false
    }

    /// Where a statement stands, if there is a file.
    fn place(&self, span: Span) -> Option<Place> {
        let _ = span;
        None
    }

    /// The tables of the database; the ids in [`Touched`] are of this catalog.
    fn catalog(&self) -> &Catalog;
}

/// What a thread is at, when all are at rest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It is about to send this; what varies between runs without meaning anything is left out of it.
    Ready(Arc<str>),
    /// Its statement waits for these threads.
    Waiting(Vec<usize>),
    /// It has ended.
    Ended(Ending),
}

/// How a thread has ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// As it should.
    Done,
    /// Its transaction was aborted (40001 or 40P01), and it did not try again; which part of it counts.
    Aborted(SqlError, Completed),
    /// By an error.
    Failed(SqlError),
    /// A program failed, in a few words.
    Program(String),
}

/// What a server complains of, as the error of a statement.
pub(crate) fn sql_error(complaint: &Complaint) -> SqlError {
    let state = SqlState::parse(&complaint.sqlstate).unwrap_or(SqlState::INTERNAL_ERROR);
    let error = SqlError::new(state, complaint.message.as_str());
    match &complaint.detail {
        // It names processes, which are others in each run.
        Some(detail) if !error.is_abort() => error.detail(detail.as_str()),
        _ => error,
    }
}

/// The threads of a deadlock, each before the one that it waits for, as the error of its victim tells: in the first
/// number of each line of its DETAIL, whatever the language. Empty if the error is none of a deadlock that the server
/// has found.
pub(crate) fn wait_cycle(complaint: &Complaint, thread_of: impl Fn(i32) -> Option<usize>) -> Vec<usize> {
    if complaint.sqlstate != SqlState::DEADLOCK_DETECTED.code() {
        return Vec::new();
    }
    let lines = complaint.detail.iter().flat_map(|detail| detail.lines());
    let process = |line: &str| line.split(|c: char| !c.is_ascii_digit()).find(|n| !n.is_empty())?.parse().ok();
    let members: Option<Vec<usize>> = lines.map(|line| process(line).and_then(&thread_of)).collect();
    members.filter(|members| members.len() > 1).unwrap_or_default()
}

/// What one thread did in an event.
#[derive(Clone, Debug)]
pub struct Part {
    /// Who.
    pub thread: usize,
    /// By which of its connections, counted as they first say something; none if nothing was said.
    pub connection: Option<usize>,
    /// What it said there before about its transaction and nobody could notice: `BEGIN`, `SAVEPOINT`.
    pub before: Vec<String>,
    /// Whether it began, went on, or was chosen to end a deadlock.
    pub kind: StepKind,
    /// The statement, its parameters written out.
    pub statement: String,
    /// What kind of statement it is.
    pub verb: Verb,
    /// Where it stands, if that is known.
    pub place: Option<Place>,
    /// What came back.
    pub result: StepResult,
    /// What the client made of it.
    pub reactions: Vec<Reaction>,
    /// It is the victim of a deadlock: the threads that waited for each other, each before the one that it waited for.
    pub cycle: Vec<usize>,
    /// More to say: notices.
    pub notes: Vec<String>,
    /// What it touched.
    pub touched: Touched,
}

/// A lock that is not on a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedLock {
    /// On a table as such, by its name.
    Table(String),
    /// On an advisory key.
    Advisory(String),
}

/// What a statement touched: more than it did if that is not known, never less.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    /// What it looked for in the committed tables.
    pub reads: Vec<Look>,
    /// What it looked for in order to lock or change it, holding these locks until its transaction ends.
    pub locks: Vec<Look>,
    /// Rows it changed; others see them when they are [settled](Touched::settled).
    pub writes: Vec<Write>,
    /// It may change any row of these tables, or insert any.
    pub writes_all: Vec<TableId>,
    /// Locks that are not on rows, by name: of a table that was locked as such, of an advisory key.
    pub keys: Vec<NamedLock>,
    /// Sequences it drew from, by name.
    pub sequences: Vec<String>,
    /// It took the snapshot that its transaction keeps.
    pub snapshot: bool,
    /// It read from the snapshot that its transaction had taken before.
    pub kept: bool,
    /// Its transaction is SERIALIZABLE.
    pub serializable: bool,
    /// It ended its transaction: committed (true) or rolled back; or rolled back to a savepoint (false).
    pub ended: Option<bool>,
    /// If it ended one: all that the transaction wrote.
    pub settled: Vec<Write>,
    /// If it ended one: all that the transaction had locked.
    pub released: Vec<Look>,
    /// The same of [`Touched::writes_all`] and [`Touched::keys`].
    pub settled_all: Vec<TableId>,
    /// What the transaction had locked by name.
    pub released_keys: Vec<NamedLock>,
    /// Tables in which it put rows at the end, and whose rows somebody takes in the order in which they lie.
    pub moves: Vec<TableId>,
    /// It may have touched anything: definitions were changed, or what it does is not understood.
    pub everything: bool,
    /// Why less is known than could be: a reason for each read that is as wide as its table, for `--stats`.
    pub coarse: Vec<String>,
}

impl Touched {
    /// Whether rows became visible to all.
    pub fn publishes(&self) -> bool {
        self.ended == Some(true) && !(self.settled.is_empty() && self.settled_all.is_empty())
    }
}

/// What was looked for, and what was found.
#[derive(Clone, Debug)]
pub struct Look {
    /// The condition.
    pub read: Read,
    /// How it was looked for.
    pub by: By,
    /// What was found, if that is known.
    pub found: Option<Arc<Found>>,
}

/// How something was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By going through rows, in a snapshot.
    Scan,
    /// By a key, among the rows that are there now.
    Key,
    /// The same, only to know whether there is a row: none is locked.
    Probe,
}

/// The rows that were found. One that was not found is not found either when columns of it have changed that nobody
/// asked about.
#[derive(Clone, Debug)]
pub struct Found {
    /// The columns that decide which rows are found.
    pub asked: ColumnSet,
    /// Those that were.
    pub rows: BTreeSet<RowId>,
}

impl Look {
    /// For rows of a table.
    pub fn scan(read: Read) -> Look {
        Look { read, by: By::Scan, found: None }
    }

    /// Whether a change of a row does not concern it: the row was not found, and would not be found after the change.
    pub fn misses(&self, write: &Write) -> bool {
        let is_update = write.before.is_some() && write.after.is_some();
        let misses = |found: &Arc<Found>| !write.changed().meets(found.asked) && !found.rows.contains(&write.row);
        self.table == write.table && is_update && self.found.as_ref().is_some_and(misses)
    }
}

impl From<Read> for Look {
    fn from(read: Read) -> Look {
        Look { read, by: By::Key, found: None }
    }
}

impl Deref for Look {
    type Target = Read;

    fn deref(&self) -> &Read {
        &self.read
    }
}

impl Found {
    /// What two have found.
    pub fn and(mut self, other: Found) -> Found {
        self.rows.extend(other.rows);
        Found { asked: self.asked.union(other.asked), rows: self.rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deadlock(detail: &str) -> Complaint {
        Complaint { sqlstate: "40P01".into(), detail: Some(detail.into()), ..Complaint::default() }
    }

    #[test]
    fn the_members_of_a_deadlock_are_those_that_the_server_lists() {
        let threads = |pid: i32| [(17, 0), (18, 2), (740, 1)].into_iter().find(|(p, _)| *p == pid).map(|(_, t)| t);
        let detail = "Process 18 waits for ShareLock on transaction 740; blocked by process 17.\n\
                      Process 17 waits for ShareLock on transaction 741; blocked by process 18.";
        assert_eq!(wait_cycle(&deadlock(detail), threads), [2, 0]);
        let raised = Complaint { detail: None, ..deadlock("") };
        assert_eq!(wait_cycle(&raised, threads), [0; 0]);
        assert_eq!(wait_cycle(&deadlock("Process 99 waits"), threads), [0; 0]);
    }
}
