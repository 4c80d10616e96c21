//! A run as a history: which thread's statements touched what another's did, and who must therefore come first.
//!
//! Everything follows from footprints. A write counts once its transaction has committed, from the step that published it.
//! A read that a committed write of another thread *hits* either saw it or missed it:
//!
//! ```text
//!            snapshot of the read
//!                    │
//!   ─── published ───┼──────────────▶   seen: the writer comes first            (write-read)
//!   ─────────────────┼─── published ▶   missed: the reader comes first          (read-write)
//! ```
//!
//! A statement that locks or changes the rows it finds goes on to their newest versions, so for a row that it found, what
//! was published before the statement was through is seen as well.
//!
//! Transactions that were aborted and rolled back did not happen. One that failed, or is still open, has read but not
//! written.

use std::collections::BTreeMap;

use isolde_engine::footprint::{ColumnSet, Probe, Read, Write};
use isolde_engine::{Outcome, PendingKind, RowId, Step};
use isolde_history::{Conflict, ConflictKind, History, Item, Op, OpId, OpKind, UnitId};
use isolde_sql::Row;
use isolde_sql::catalog::{Table, TableId};
use isolde_sql::facts::Verb;

use crate::client::Reaction;
use crate::names;
use crate::system::Event;
use crate::trace::Run;

/// What was seen of one step of a run, on whatever database it ran.
#[derive(Clone, Debug)]
pub struct Observed<'r> {
    /// Whose step.
    pub thread: usize,
    /// What it does.
    pub kind: OpKind,
    /// Its text.
    pub statement: &'r str,
    /// The file it came from, if that is not the one that the run is about.
    pub file: Option<String>,
    /// Its line in that file.
    pub line: Option<u32>,
    /// It looks at a snapshot of its own, or takes the one that its transaction keeps.
    pub snapshot: bool,
    /// What it looked for.
    pub reads: Vec<&'r Read>,
    /// Keys it checked.
    pub probes: &'r [Probe],
    /// Rows it changed.
    pub writes: &'r [Write],
    /// Rows it made visible to all.
    pub published: &'r [Write],
    /// It is not through, but waits.
    pub waits: bool,
    /// It ended its transaction.
    pub ended: bool,
    /// Which rows a read has found was not observed: those it looked for, then.
    pub unmatched: bool,
    /// Then it may be known all the same that it has found none.
    pub none: bool,
    /// What the thread does after it: start its transaction again, which then did not happen.
    pub again: bool,
}

/// Looks up a table.
type TableOf<'r> = &'r dyn Fn(TableId) -> Option<&'r Table>;

/// The history of a run; its units are the threads.
pub fn history<'r>(
    threads: impl IntoIterator<Item = &'r str>,
    observed: impl IntoIterator<Item = Observed<'r>>,
    table: TableOf<'r>,
) -> History {
    let mut observer = Observer::new(threads, table);
    for (time, step) in observed.into_iter().enumerate() {
        let (thread, again) = (step.thread, step.again);
        observer.step(step, time);
        if again {
            observer.forget(thread);
        }
    }
    observer.conflicts();
    observer.history
}

/// The history of a run on the embedded engine.
pub(crate) fn of_run(run: &Run<'_>) -> History {
    let scenario = run.system.scenario;
    let threads = scenario.threads.iter().map(|t| &*t.name);
    let table = |id| names::table(scenario, run.end.database.catalog(), id);
    history(threads, run.events.iter().flat_map(|event| observed(run, event)), &table)
}

fn observed<'r>(run: &'r Run<'_>, event: &'r Event) -> impl Iterator<Item = Observed<'r>> {
    let retried = event.reactions.iter().any(|r| matches!(r, Reaction::Retried { .. }));
    let last = event.steps.len().saturating_sub(1);
    event.steps.iter().enumerate().map(move |(i, step)| {
        let (file, line) = run.system.scenario.sources.place(step.pending.span);
        let implicit = step.pending.kind == PendingKind::ImplicitCommit;
        let footprint = &step.footprint;
        Observed {
            thread: event.thread,
            kind: op_kind(step),
            statement: &step.pending.text,
            file: file.map(String::from).filter(|_| !implicit),
            line: (!implicit).then_some(line),
            snapshot: footprint.snapshot.is_some(),
            reads: footprint.reads.iter().collect(),
            probes: &footprint.probes,
            writes: &footprint.writes,
            published: &footprint.published,
            waits: matches!(step.outcome, Outcome::Blocked(_)),
            ended: footprint.ended.is_some(),
            unmatched: false,
            none: false,
            again: retried && i == last,
        }
    })
}

/// A read, with when it looked.
struct Seen<'r> {
    op: OpId,
    thread: usize,
    transaction: usize,
    read: &'r Read,
    /// Which rows it found is not known.
    unmatched: bool,
    /// But that it found none.
    none: bool,
    /// When its snapshot was taken.
    snapshot: usize,
    /// When its statement was through.
    through: usize,
}

/// A key that was checked, and when.
struct Probed<'r> {
    op: OpId,
    thread: usize,
    probe: &'r Probe,
    time: usize,
}

/// A committed write.
struct Published<'r> {
    op: OpId,
    thread: usize,
    write: &'r Write,
    time: usize,
}

/// What is known of a thread's current transaction.
#[derive(Clone, Default)]
struct Current {
    transaction: usize,
    snapshot: usize,
    /// The last operation that wrote each row.
    writers: BTreeMap<(TableId, RowId), OpId>,
    /// Where the reads of the statement under way begin, if it waits.
    waiting_since: Option<usize>,
}

struct Observer<'r> {
    table: TableOf<'r>,
    history: History,
    threads: Vec<Current>,
    transactions: usize,
    reads: Vec<Seen<'r>>,
    probes: Vec<Probed<'r>>,
    writes: Vec<Published<'r>>,
}

impl<'r> Observer<'r> {
    fn new(threads: impl IntoIterator<Item = &'r str>, table: TableOf<'r>) -> Observer<'r> {
        let mut history = History::default();
        threads.into_iter().for_each(|name| {
            history.unit(name);
        });
        let count = history.units.len();
        let current = (0..count).map(|i| Current { transaction: i, ..Current::default() });
        Observer {
            table,
            history,
            threads: current.collect(),
            transactions: count,
            reads: Vec::new(),
            probes: Vec::new(),
            writes: Vec::new(),
        }
    }

    fn step(&mut self, step: Observed<'r>, time: usize) {
        let op = self.history.op(self.op(&step, time));
        let Observed { thread, unmatched, none, .. } = step;
        let current = &mut self.threads[thread];
        if step.snapshot {
            current.snapshot = time;
        }
        let first_read = self.reads.len();
        let Current { transaction, snapshot, .. } = *current;
        let reads = step.reads.into_iter();
        let seen = |read| Seen { op, thread, transaction, read, unmatched, none, snapshot, through: time };
        self.reads.extend(reads.map(seen));
        self.probes.extend(step.probes.iter().map(|probe| Probed { op, thread, probe, time }));
        if let Some(since) = current.waiting_since {
            let own = self.reads[since..].iter_mut().filter(|r| r.thread == thread);
            own.for_each(|r| r.through = time);
        }
        current.waiting_since = step.waits.then(|| current.waiting_since.unwrap_or(first_read));
        for write in step.writes {
            current.writers.insert((write.table, write.row), op);
        }
        for write in step.published {
            let op = current.writers.get(&(write.table, write.row)).copied().unwrap_or(op);
            self.writes.push(Published { op, thread, write, time });
        }
        if step.ended {
            self.transactions += 1;
            *current = Current { transaction: self.transactions, ..Current::default() };
        }
    }

    /// The transaction that a thread has just given up is to be started again: it did not happen.
    fn forget(&mut self, thread: usize) {
        // The rollback has opened a new number already.
        let last = self.reads.iter().rev().find(|r| r.thread == thread).map(|r| r.transaction);
        self.reads.retain(|r| r.thread != thread || Some(r.transaction) != last);
    }

    fn op(&self, step: &Observed<'_>, time: usize) -> Op {
        let searched = !step.reads.is_empty() && (!step.unmatched || step.none);
        Op {
            unit: UnitId(step.thread),
            transaction: self.threads[step.thread].transaction,
            step: time,
            kind: step.kind,
            statement: step.statement.to_string(),
            file: step.file.clone(),
            line: step.line,
            found_none: searched && step.reads.iter().all(|read| read.matched.is_empty()),
        }
    }

    fn conflicts(&mut self) {
        let mut conflicts = Vec::new();
        for seen in &self.reads {
            for published in self.writes.iter().filter(|w| w.thread != seen.thread) {
                conflicts.extend(self.read_conflict(seen, published));
            }
        }
        for probed in &self.probes {
            for published in self.writes.iter().filter(|w| w.thread != probed.thread) {
                conflicts.extend(self.probe_conflict(probed, published));
            }
        }
        for (i, first) in self.writes.iter().enumerate() {
            for second in self.writes[i + 1..].iter().filter(|w| w.thread != first.thread) {
                conflicts.extend(self.write_conflict(first, second));
            }
        }
        self.history.conflicts = conflicts;
    }

    fn read_conflict(&self, seen: &Seen<'_>, published: &Published<'_>) -> Option<Conflict> {
        let (read, write) = (seen.read, published.write);
        if !read.hit(write) {
            return None;
        }
        let found = match seen.unmatched {
            true => !seen.none && write.before.as_deref().is_some_and(|row| read.wants(row)),
            false => read.matched.iter().any(|(row, _)| *row == write.row),
        };
        let saw = published.time < seen.snapshot || (read.current && found && published.time < seen.through);
        let changed = write.before.is_some() && write.after.is_some();
        let item =
            self.item(write, |column| changed && write.changed().contains(column) && read.columns.contains(column));
        let predicate = !found;
        Some(match saw {
            true => Conflict { from: published.op, to: seen.op, kind: ConflictKind::WriteRead, item, predicate },
            false => Conflict { from: seen.op, to: published.op, kind: ConflictKind::ReadWrite, item, predicate },
        })
    }

    /// A key that was checked has seen what decided about it, whether or not a snapshot would.
    fn probe_conflict(&self, probed: &Probed<'_>, published: &Published<'_>) -> Option<Conflict> {
        let (probe, write) = (probed.probe, published.write);
        let has_key = |row: &Option<Row>| probe.matches(row.as_deref());
        // A check of all rows is about none in particular.
        let particular = !probe.columns.is_empty() && probe.table == write.table;
        if !particular || has_key(&write.before) == has_key(&write.after) {
            return None;
        }
        let item = self.item(write, |_| false);
        Some(match published.time < probed.time {
            true => {
                Conflict { from: published.op, to: probed.op, kind: ConflictKind::WriteRead, item, predicate: false }
            }
            false => {
                Conflict { from: probed.op, to: published.op, kind: ConflictKind::ReadWrite, item, predicate: true }
            }
        })
    }

    /// Two updates that change different columns of a row do not disturb each other. One that changes nothing has
    /// written all the same.
    fn write_conflict(&self, first: &Published<'_>, second: &Published<'_>) -> Option<Conflict> {
        let (a, b) = (first.write, second.write);
        let (changed_a, changed_b): (ColumnSet, ColumnSet) = (a.changed(), b.changed());
        if (a.table, a.row) != (b.table, b.row)
            || (!changed_a.is_empty() && !changed_b.is_empty() && !changed_a.meets(changed_b))
        {
            return None;
        }
        let updates = [a, b].iter().all(|w| w.before.is_some() && w.after.is_some());
        let item = self.item(b, |column| updates && changed_a.contains(column) && changed_b.contains(column));
        Some(Conflict { from: first.op, to: second.op, kind: ConflictKind::WriteWrite, item, predicate: false })
    }

    fn item(&self, write: &Write, matters: impl Fn(usize) -> bool) -> Item {
        let Some(table) = (self.table)(write.table) else {
            return Item { table: String::new(), id: write.row.0, row: String::new(), columns: Vec::new() };
        };
        let values = write.before.as_ref().or(write.after.as_ref());
        let columns = table.columns.iter().enumerate().filter(|(i, _)| matters(*i));
        Item {
            table: table.name.to_string(),
            id: write.row.0,
            row: values.map_or(String::new(), |values| names::key(table, values)),
            columns: columns.map(|(_, c)| c.name.to_string()).collect(),
        }
    }
}

fn op_kind(step: &Step) -> OpKind {
    let kind = match (step.pending.kind, &step.pending.statement) {
        (PendingKind::ImplicitCommit, _) => OpKind::Commit,
        (_, Some(statement)) => kind_of(Verb::of_bound(statement)),
        (_, None) => OpKind::Other,
    };
    match kind {
        // FETCH, and whatever else only looks.
        OpKind::Other if !step.footprint.reads.is_empty() && step.footprint.writes.is_empty() => OpKind::Select,
        kind => kind,
    }
}

/// What a statement does to rows.
pub fn kind_of(verb: Verb) -> OpKind {
    match verb {
        Verb::Select => OpKind::Select,
        Verb::Insert | Verb::Copy => OpKind::Insert,
        Verb::Update => OpKind::Update,
        Verb::Delete => OpKind::Delete,
        Verb::Commit | Verb::CommitPrepared => OpKind::Commit,
        _ => OpKind::Other,
    }
}
