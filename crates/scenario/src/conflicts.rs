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

use isolde_engine::footprint::{ColumnSet, Probe, Read, SnapshotTaken, Write};
use isolde_engine::{Outcome, PendingKind, RowId, Step};
use isolde_history::{Conflict, ConflictKind, History, Item, Op, OpId, OpKind, UnitId};
use isolde_sql::Row;
use isolde_sql::catalog::{Table, TableId};

use crate::client::Reaction;
use crate::names;
use crate::trace::Run;

/// The history of a run; its units are the threads.
pub(crate) fn history(run: &Run<'_>) -> History {
    let mut observer = Observer::new(run);
    let mut time = 0;
    for event in &run.events {
        for step in &event.steps {
            observer.step(event.thread, step, time);
            time += 1;
        }
        if event.reactions.iter().any(|r| matches!(r, Reaction::Retried { .. })) {
            observer.forget(event.thread);
        }
    }
    observer.conflicts();
    observer.history
}

/// A read, with when it looked.
struct Seen<'r> {
    op: OpId,
    thread: usize,
    transaction: usize,
    read: &'r Read,
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
    run: &'r Run<'r>,
    history: History,
    threads: Vec<Current>,
    transactions: usize,
    reads: Vec<Seen<'r>>,
    probes: Vec<Probed<'r>>,
    writes: Vec<Published<'r>>,
}

impl<'r> Observer<'r> {
    fn new(run: &'r Run<'r>) -> Observer<'r> {
        let mut history = History::default();
        let threads = &run.system.scenario.threads;
        threads.iter().for_each(|t| {
            history.unit(&*t.name);
        });
        let current = (0..threads.len()).map(|i| Current { transaction: i, ..Current::default() });
        Observer {
            run,
            history,
            threads: current.collect(),
            transactions: threads.len(),
            reads: Vec::new(),
            probes: Vec::new(),
            writes: Vec::new(),
        }
    }

    fn step(&mut self, thread: usize, step: &'r Step, time: usize) {
        let op = self.history.op(self.op(thread, step, time));
        let footprint = &step.footprint;
        let current = &mut self.threads[thread];
        match footprint.snapshot {
            Some(SnapshotTaken::Statement | SnapshotTaken::Transaction) => current.snapshot = time,
            None => {}
        }
        let first_read = self.reads.len();
        let Current { transaction, snapshot, .. } = *current;
        let reads = footprint.reads.iter();
        self.reads.extend(reads.map(|read| Seen { op, thread, transaction, read, snapshot, through: time }));
        self.probes.extend(footprint.probes.iter().map(|probe| Probed { op, thread, probe, time }));
        if let Some(since) = current.waiting_since {
            let own = self.reads[since..].iter_mut().filter(|r| r.thread == thread);
            own.for_each(|r| r.through = time);
        }
        current.waiting_since = match step.outcome {
            Outcome::Blocked(_) => Some(current.waiting_since.unwrap_or(first_read)),
            _ => None,
        };
        for write in &footprint.writes {
            current.writers.insert((write.table, write.row), op);
        }
        for write in &footprint.published {
            let op = current.writers.get(&(write.table, write.row)).copied().unwrap_or(op);
            self.writes.push(Published { op, thread, write, time });
        }
        if footprint.ended.is_some() {
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

    fn op(&self, thread: usize, step: &Step, time: usize) -> Op {
        let (file, line) = self.run.system.scenario.sources.place(step.pending.span);
        let implicit = step.pending.kind == PendingKind::ImplicitCommit;
        let reads = &step.footprint.reads;
        Op {
            unit: UnitId(thread),
            transaction: self.threads[thread].transaction,
            step: time,
            kind: op_kind(step),
            statement: step.pending.text.to_string(),
            file: file.map(String::from).filter(|_| !implicit),
            line: (!implicit).then_some(line),
            found_none: !reads.is_empty() && reads.iter().all(|read| read.matched.is_empty()),
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
        let found = read.matched.iter().any(|(row, _)| *row == write.row);
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
        let catalog = self.run.end.database.catalog();
        let Some(table): Option<&Table> = names::table(self.run.system.scenario, catalog, write.table) else {
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
    let word = step.pending.text.split_whitespace().next().unwrap_or("").to_ascii_uppercase();
    match word.as_str() {
        "INSERT" => OpKind::Insert,
        "UPDATE" => OpKind::Update,
        "DELETE" => OpKind::Delete,
        "COMMIT" | "END" => OpKind::Commit,
        "SELECT" | "PERFORM" | "WITH" | "VALUES" => OpKind::Select,
        // An expression of a routine, evaluated by the server: IF EXISTS (SELECT ...).
        _ if !step.footprint.reads.is_empty() && step.footprint.writes.is_empty() => OpKind::Select,
        _ => OpKind::Other,
    }
}
