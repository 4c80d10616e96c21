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
//! On a server nobody can come between the commit and what it wakes, so on a [stage](Stage) it is no choice, unlike on the
//! embedded engine, where going on is a step of its own. Everything an event touched is the sum of its parts, and a thread
//! that took part in an event comes after it.
//!
//! # Answers
//!
//! Everything that is shown of a run (results, changed rows, who waits for whom) is kept in the words of
//! `isolde-report`. What is compared (predicates looked for, rows written) is kept in those of the engine's footprints, over a
//! catalog that was read from the server: so "does this write concern that read" is decided by the same code.

mod check;
mod dependence;
mod oracle;
mod property;
mod simplify;
mod system;
mod trace;

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use isolde_engine::RowId;
use isolde_engine::footprint::{ColumnSet, Read, Write};
use isolde_report::{Place, StepKind, StepResult};
use isolde_sql::catalog::{Catalog, TableId};
use isolde_wire::Response;

use crate::Trouble;

pub use check::{Check, Question, check, replay};
pub use system::{Event, LiveSystem, Spot};

/// Threads on a server, held at their next statement.
pub trait Stage {
    /// The names of the threads, in order. There are as many standings.
    fn threads(&self) -> &[String];

    /// Sends everything back to the start: the data as set up, every thread at its first statement (or at its end).
    fn restart(&mut self) -> Result<(), Trouble>;

    /// What a thread is at.
    fn standing(&self, thread: usize) -> &Standing;

    /// Lets a thread that is [ready](Standing::Ready) go, and returns when everybody is ready, waits or has ended. The first
    /// part is the thread's own.
    fn step(&mut self, thread: usize) -> Result<Vec<Part>, Trouble>;

    /// The same on a way that was gone before, where it is known what the step touches: that need not be found out.
    fn step_again(&mut self, thread: usize) -> Result<Vec<Part>, Trouble> {
        self.step(thread)
    }

    /// What a query says about the committed state.
    fn ask(&mut self, query: &str) -> Result<Response, Trouble>;

    /// What the run that has just ended came to, in a form that equals another run's if nobody could tell them apart.
    fn outcome(&mut self) -> Result<Outcome, Trouble>;

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
    /// By an error that it is allowed to end with.
    Expected(String),
    /// Its transaction was aborted (40001 or 40P01), and it did not try again.
    Aborted(String),
    /// By an assertion that failed, in a sentence.
    Assertion(String),
    /// By an error that nobody caught, in a sentence.
    Failed(String),
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
    /// Where it stands, if that is known.
    pub place: Option<Place>,
    /// What came back.
    pub result: StepResult,
    /// More to say: notices, retries.
    pub notes: Vec<String>,
    /// What it touched.
    pub touched: Touched,
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
    pub keys: Vec<String>,
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
    pub released_keys: Vec<String>,
    /// Tables in which it put rows at the end, and whose rows somebody takes in the order in which they lie.
    pub moves: Vec<TableId>,
    /// It may have touched anything: definitions were changed, or what it does is not understood.
    pub everything: bool,
    /// Why less is known than could be: a reason for each read that is as wide as its table, for `--stats`.
    pub coarse: Vec<String>,
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

/// The rows that were found. One that was not found is not found either when columns of it have changed that nobody asked about.
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

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outcome {
    /// Per thread, what it showed to its user: answers, output, how it ended. One line each, to be compared and printed.
    pub threads: Vec<Vec<String>>,
    /// Per table that changed, the rows that it has more than at the start, and those that it has fewer, as printed.
    pub tables: Vec<(String, Vec<String>, Vec<String>)>,
}
