//! A run as a history: which thread's statements touched what another's did, and who must therefore come first.
//!
//! Everything follows from footprints. A write counts once its transaction has committed, from the step that published
//! it. A read that a committed write of another thread *hits* either saw it or missed it:
//!
//! ```text
//!            snapshot of the read
//!                    │
//!   ─── published ───┼──────────────▶   seen: the writer comes first            (write-read)
//!   ─────────────────┼─── published ▶   missed: the reader comes first          (read-write)
//! ```
//!
//! A statement that locks or changes the rows it finds goes on to their newest versions, so for a row that it found,
//! what was published before the statement was through is seen as well.
//!
//! A transaction that the database aborted (40001, 40P01) did not happen, whether its client starts it again or gives
//! up: what it read is no read. One that failed otherwise, was rolled back by its client or is still open has read, but
//! not written.
//!
//! Every conflict comes with the [`Claim`] that it makes about the run. Of a run on the embedded engine, only those are
//! kept that
//! [`verify`](crate::verify) finds true.

use std::collections::BTreeMap;

use isolde_engine::footprint::{ColumnSet, Probe, Read, SnapshotTaken, Write};
use isolde_engine::{Outcome, PendingKind, RowId, Step};
use isolde_history::{Change, Conflict, ConflictKind, History, Item, Op, OpId, OpKind, UnitId};
use isolde_sql::Row;
use isolde_sql::catalog::{Table, TableId};
use isolde_sql::facts::Verb;

use crate::names;
use crate::serially;
use crate::system::Event;
use crate::trace::Run;
use crate::verify::{Claim, How, Verifier};

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
    /// Its transaction keeps one snapshot (REPEATABLE READ and above).
    pub keeps: bool,
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
    /// The database aborted its transaction (40001, 40P01), which then did not happen.
    pub aborted: bool,
}

/// Looks up a table.
type TableOf<'r> = &'r dyn Fn(TableId) -> Option<&'r Table>;

/// The history of a run; its units are the threads.
pub fn history<'r>(
    threads: impl IntoIterator<Item = &'r str>,
    observed: impl IntoIterator<Item = Observed<'r>>,
    table: TableOf<'r>,
) -> History {
    observe(threads, observed, table).history
}

fn observe<'r>(
    threads: impl IntoIterator<Item = &'r str>,
    observed: impl IntoIterator<Item = Observed<'r>>,
    table: TableOf<'r>,
) -> Claimed {
    let mut observer = Observer::new(threads, table);
    for (time, step) in observed.into_iter().enumerate() {
        observer.step(step, time);
    }
    observer.conclude()
}

/// A history, and what each of its conflicts says about the run.
struct Claimed {
    history: History,
    /// As many as there are conflicts, in the same order.
    claims: Vec<Claim>,
}

/// The history of a run on the embedded engine, every conflict of it verified.
pub(crate) fn of_run(run: &Run<'_>) -> History {
    let scenario = run.system.scenario;
    let threads = scenario.threads.iter().map(|t| &*t.name);
    let table = |id| names::table(scenario, run.end.database.catalog(), id);
    let Claimed { mut history, claims } =
        observe(threads, run.events.iter().flat_map(|event| observed(run, event)), &table);
    let verifier = Verifier::new(run);
    let conflicts = std::mem::take(&mut history.conflicts).into_iter().zip(&claims);
    history.conflicts = conflicts.filter(|(_, claim)| verifier.holds(claim)).map(|(conflict, _)| conflict).collect();
    let mut overwritten: BTreeMap<(TableId, RowId), ColumnSet> = BTreeMap::new();
    let mut blind: BTreeMap<(TableId, RowId), ColumnSet> = BTreeMap::new();
    for (row, columns, by) in claims.iter().filter_map(Claim::overwritten) {
        let known = overwritten.entry(row).or_default();
        *known = known.union(columns);
        let known = blind.entry(row).or_default();
        *known = known.union(columns.without(verifier.computed(by, row)));
    }
    let mut kept = serially::ends_serially(run, &overwritten);
    for (row, columns) in overwritten {
        let known = kept.entry(row).or_default();
        *known = known.union(columns.without(blind[&row]));
    }
    for ((id, row), columns) in kept {
        let Some(table) = table(id) else { continue };
        let names = table.columns.iter().enumerate().filter(|(column, _)| columns.contains(*column));
        let known = names.map(|(_, column)| (table.name.to_string(), row.0, column.name.to_string()));
        history.kept.extend(known);
    }
    history
}

fn observed<'r>(run: &'r Run<'_>, event: &'r Event) -> impl Iterator<Item = Observed<'r>> {
    event.steps.iter().map(move |step| {
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
            keeps: footprint.snapshot == Some(SnapshotTaken::Transaction),
            reads: footprint.reads.iter().collect(),
            probes: &footprint.probes,
            writes: &footprint.writes,
            published: &footprint.published,
            waits: matches!(step.outcome, Outcome::Blocked(_)),
            ended: footprint.ended.is_some(),
            unmatched: false,
            none: false,
            aborted: matches!(&step.reply, Some(Err(error)) if error.is_abort()),
        }
    })
}

/// A read, with when it looked.
struct Seen<'r> {
    op: OpId,
    thread: usize,
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
    /// The statements of the transaction that wrote the row, first to last.
    by: Vec<(OpId, &'r Write)>,
    /// The statement that committed it.
    commit: OpId,
    thread: usize,
    write: &'r Write,
    time: usize,
}

impl Published<'_> {
    /// The statement that gave some of these columns the values that were committed.
    fn writer(&self, columns: ColumnSet) -> OpId {
        let committed = self.write.after.as_ref();
        let gave = |write: &Write| match (&write.after, committed) {
            (Some(after), Some(committed)) => {
                let same = |column: usize| after.get(column) == committed.get(column);
                write.changed().common(columns).iter().any(|column| column < committed.len() && same(column))
            }
            (after, committed) => after.is_none() == committed.is_none(),
        };
        let wrote = self.by.iter().rev().find(|(_, write)| gave(write)).or(self.by.last());
        wrote.map_or(self.commit, |(op, _)| *op)
    }

    /// The statement by which those who read see a difference: the one that added the row, or [`writer`](Self::writer).
    fn source(&self, columns: ColumnSet) -> OpId {
        let adds = |write: &Write| write.before.is_none() && write.after.is_some();
        let added = self.by.iter().rev().find(|(_, write)| adds(write)).filter(|_| self.change() == Change::Added);
        added.map_or_else(|| self.writer(columns), |(op, _)| *op)
    }

    /// Whether the transaction wrote the row again after this statement.
    fn rewritten(&self, writer: OpId) -> bool {
        self.by.iter().any(|(op, _)| *op > writer)
    }

    fn change(&self) -> Change {
        match (&self.write.before, &self.write.after) {
            (None, _) => Change::Added,
            (_, None) => Change::Removed,
            _ => Change::Changed,
        }
    }
}

/// What is known of a thread's current transaction. Its reads are kept here until it ends: if it is aborted, they go
/// with it.
#[derive(Default)]
struct Current<'r> {
    transaction: usize,
    snapshot: usize,
    /// The operations that wrote each row, first to last.
    writers: BTreeMap<(TableId, RowId), Vec<(OpId, &'r Write)>>,
    reads: Vec<Seen<'r>>,
    probes: Vec<Probed<'r>>,
    /// The first operation of the statement under way, if it waits.
    waiting: Option<OpId>,
}

struct Observer<'r> {
    table: TableOf<'r>,
    history: History,
    threads: Vec<Current<'r>>,
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
        if step.keeps {
            self.history.snapshots.insert(current.transaction);
        }
        let snapshot = current.snapshot;
        let reads = step.reads.into_iter();
        let seen = |read| Seen { op, thread, read, unmatched, none, snapshot, through: time };
        current.reads.extend(reads.map(seen));
        current.probes.extend(step.probes.iter().map(|probe| Probed { op, thread, probe, time }));
        if let Some(first) = current.waiting {
            current.reads.iter_mut().filter(|read| read.op >= first).for_each(|read| read.through = time);
            let own = self.history.ops[first.0..].iter_mut().filter(|op| op.unit.0 == thread);
            own.for_each(|op| op.through = time);
        }
        current.waiting = step.waits.then(|| current.waiting.unwrap_or(op));
        for write in step.writes {
            current.writers.entry((write.table, write.row)).or_default().push((op, write));
        }
        for write in step.published {
            let by = current.writers.get(&(write.table, write.row)).cloned().unwrap_or_default();
            self.writes.push(Published { by, commit: op, thread, write, time });
        }
        if step.aborted {
            *current = Current { transaction: current.transaction, ..Current::default() };
        }
        if step.ended {
            self.transactions += 1;
            let next = Current { transaction: self.transactions, ..Current::default() };
            let Current { reads, probes, .. } = std::mem::replace(current, next);
            self.reads.extend(reads);
            self.probes.extend(probes);
        }
    }

    fn op(&self, step: &Observed<'_>, time: usize) -> Op {
        let searched = !step.reads.is_empty() && (!step.unmatched || step.none);
        Op {
            unit: UnitId(step.thread),
            transaction: self.threads[step.thread].transaction,
            step: time,
            through: time,
            kind: step.kind,
            statement: step.statement.to_string(),
            file: step.file.clone(),
            line: step.line,
            found_none: searched && step.reads.iter().all(|read| read.matched.is_empty()),
        }
    }

    fn conclude(mut self) -> Claimed {
        for current in std::mem::take(&mut self.threads) {
            self.reads.extend(current.reads);
            self.probes.extend(current.probes);
        }
        // In the order of the run, whichever transaction ended first.
        self.reads.sort_by_key(|read| read.op);
        self.probes.sort_by_key(|probed| probed.op);
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
        let (conflicts, claims) = conflicts.into_iter().unzip();
        Claimed { history: History { conflicts, ..self.history }, claims }
    }

    fn read_conflict(&self, seen: &Seen<'_>, published: &Published<'_>) -> Option<(Conflict, Claim)> {
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
        let writer = published.source(read.columns);
        let how = if found { How::Row } else { How::Condition };
        let (mut conflict, claim) =
            met(Meeting { reader: seen.op, through: seen.through, writer, how, saw }, published, item);
        // Another version of the row may have come between, the reader's own included.
        conflict.direct = !saw
            || !published.rewritten(writer)
                && !self.writes.iter().any(|other| {
                    let later =
                        other.time > published.time && (other.write.table, other.write.row) == (write.table, write.row);
                    let own = other.thread == seen.thread && other.by.iter().any(|(op, _)| *op < seen.op);
                    later && (own || other.time < seen.snapshot || (read.current && other.time < seen.through))
                });
        Some((conflict, claim))
    }

    /// A key that was checked has seen what decided about it, whether or not a snapshot would.
    fn probe_conflict(&self, probed: &Probed<'_>, published: &Published<'_>) -> Option<(Conflict, Claim)> {
        let (probe, write) = (probed.probe, published.write);
        let has_key = |row: &Option<Row>| probe.matches(row.as_deref());
        // A check of all rows is about none in particular.
        let particular = !probe.columns.is_empty() && probe.table == write.table;
        if !particular || has_key(&write.before) == has_key(&write.after) {
            return None;
        }
        let item = self.item(write, |_| false);
        let writer = published.source(probe.columns.iter().copied().collect());
        let saw = published.time < probed.time;
        let meeting = Meeting { reader: probed.op, through: probed.time, writer, how: How::Key, saw };
        Some(met(meeting, published, item))
    }

    /// Two updates that change different columns of a row do not disturb each other. One that changes nothing has
    /// written all the same.
    fn write_conflict(&self, first: &Published<'_>, second: &Published<'_>) -> Option<(Conflict, Claim)> {
        let (a, b) = (first.write, second.write);
        let (changed_a, changed_b): (ColumnSet, ColumnSet) = (a.changed(), b.changed());
        if (a.table, a.row) != (b.table, b.row)
            || (!changed_a.is_empty() && !changed_b.is_empty() && !changed_a.meets(changed_b))
        {
            return None;
        }
        let updates = [a, b].iter().all(|w| w.before.is_some() && w.after.is_some());
        let common = changed_a.common(changed_b);
        let item = self.item(b, |column| updates && common.contains(column));
        let between = |other: &Published<'_>| {
            let same_row = (other.write.table, other.write.row) == (a.table, a.row);
            same_row && first.time < other.time && other.time < second.time && other.write.changed().meets(common)
        };
        let (from, to) = (first.writer(common), second.writer(common));
        let conflict = Conflict {
            from,
            to,
            kind: ConflictKind::WriteWrite,
            item,
            predicate: false,
            change: second.change(),
            key: false,
            direct: !self.writes.iter().any(between),
        };
        let row = (a.table, a.row);
        let (first, second) = ((from.0, first.time), (to.0, second.time));
        Some((conflict, Claim::Wrote { first, second, row, columns: if updates { common } else { ColumnSet::NONE } }))
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

/// A read and a write of the same row.
struct Meeting {
    reader: OpId,
    /// When the reading statement was complete.
    through: usize,
    writer: OpId,
    how: How,
    saw: bool,
}

fn met(meeting: Meeting, published: &Published<'_>, item: Item) -> (Conflict, Claim) {
    let Meeting { reader, through, writer, how, saw } = meeting;
    let (from, to, kind) = match saw {
        true => (writer, reader, ConflictKind::WriteRead),
        false => (reader, writer, ConflictKind::ReadWrite),
    };
    // A key that is there is met as a row is; one that is not, is missed as a condition misses.
    let predicate = how == How::Condition || (how == How::Key && !saw);
    let (change, key) = (published.change(), how == How::Key);
    let conflict = Conflict { from, to, kind, item, predicate, change, key, direct: true };
    let row = (published.write.table, published.write.row);
    let claim = Claim::Met { saw, reader: (reader.0, through), row, written: (writer.0, published.time), how };
    (conflict, claim)
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
