//! What an event touches, in a form that is quick to compare.
//!
//! Footprints list everything in the order in which it happened. A relation between events is asked for every pair of
//! events of a run, so an event is summed up once: a bit for each table, one entry for each row and each lock. Nearly
//! all pairs are refuted by the bits.
//!
//! An event whose transaction begins and ends within it is *fleeting*: its locks came and went unseen, and what it
//! wrote was published at once. It reads whether others have locks, but nobody ever meets its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use isolde_engine::footprint::{
    ColumnSet, Footprint, HeavyEvent, LockEvent, LockEventKind, ProbeKind, TableSet, Watched, Write,
};
use isolde_engine::{LockKey, Outcome, RowId};
use isolde_sql::ast::{LockStrength, TableLockMode};
use isolde_sql::catalog::TableId;
use isolde_sql::{Row, Value};

use super::sound::Precision;

use crate::system::Event;

/// What an event touches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touch {
    /// Tables whose rows, keys or row locks it looked at or changed.
    pub(super) touched: TableSet,
    /// Tables whose rows or row locks it changed, as far as others can tell.
    pub(super) changed: TableSet,
    /// Tables in which it changed committed rows.
    pub(super) published: TableSet,
    /// Tables that later events may read from a snapshot that it took.
    pub(super) later: TableSet,
    /// Tables of which later events may read some rows from it.
    pub(super) kept: TableSet,
    /// Its locks were met by nobody.
    pub(super) fleeting: bool,
    /// No event of another thread commutes with it.
    pub(super) everything: bool,
    /// What it had to do with what serializable transactions share.
    pub(super) watched: Option<Box<Watched>>,
    /// It wrote, took writes back or ended a transaction, which those who watch serializable transactions notice.
    pub(super) acts: bool,
    /// It began to wait.
    pub(super) waits: bool,
    /// By row.
    pub(super) rows: Vec<(RowRef, RowTouch)>,
    /// The same for all rows of a table together.
    pub(super) tables: Vec<(TableId, RowTouch)>,
    /// Locks on tables, sequences and advisory keys.
    pub(super) locks: Vec<HeavyTouch>,
    /// Sequences drawn from.
    pub(super) sequences: Vec<Arc<str>>,
}

/// A row, in whichever table.
pub(super) type RowRef = (TableId, RowId);

/// What an event did with a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RowTouch {
    /// Locks it asked for, or had asked for.
    wants: Strengths,
    /// Locks that it took and keeps, gave up, waits for, or waits for no longer: what others can meet.
    holds: Strengths,
    /// It took one and keeps it.
    keeps: bool,
    /// It looked at the newest version, by more than a lock.
    looked: bool,
    /// It made an uncommitted version, or took one back.
    unsettles: bool,
    /// It changed the committed version.
    pub(super) published: bool,
    /// The row is new.
    inserted: bool,
    /// Columns that it gave a value.
    set: ColumnSet,
    /// Columns that it only added something small to.
    pub(super) added: ColumnSet,
    /// Columns whose value no other event can change at all, or not without being dependent on this one.
    pub(super) stable: ColumnSet,
}

/// A set of lock strengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Strengths(u8);

const STRENGTHS: [LockStrength; 4] =
    [LockStrength::KeyShare, LockStrength::Share, LockStrength::NoKeyUpdate, LockStrength::Update];

impl Strengths {
    fn add(&mut self, strength: LockStrength) {
        self.0 |= 1 << strength as u8;
    }

    fn iter(self) -> impl Iterator<Item = LockStrength> {
        STRENGTHS.into_iter().filter(move |s| self.0 & (1 << *s as u8) != 0)
    }

    /// Whether one of these keeps others from one of those.
    fn exclude(self, others: Strengths) -> bool {
        others.0 != 0 && self.iter().any(|a| others.iter().any(|b| LockEvent::excludes(a, b)))
    }
}

/// What an event did with a lock that is not on a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeavyTouch {
    key: LockKey,
    mode: TableLockMode,
    /// Others can meet it.
    meets: bool,
    /// It is, or was, in the queue.
    queues: bool,
}

impl HeavyTouch {
    pub(super) fn conflicts(&self, other: &HeavyTouch) -> bool {
        let excludes = (self.meets || other.meets) && HeavyEvent::excludes(self.mode, other.mode);
        self.key == other.key && (self.queues || other.queues || excludes)
    }

    /// It is in a queue.
    pub(super) fn queues(&self) -> bool {
        self.queues
    }
}

impl Touch {
    /// Sums an event up.
    pub(crate) fn new(event: &Event) -> Touch {
        let footprints = || event.steps.iter().map(|step| &step.footprint);
        let quiet_before = footprints().next().is_some_and(|f| f.quiet.0);
        let quiet_after = footprints().next_back().is_some_and(|f| f.quiet.1);
        let mut touch = Touch { fleeting: quiet_before && quiet_after, ..Touch::default() };
        let mut rows = BTreeMap::new();
        for footprint in footprints() {
            touch.add(footprint, &mut rows);
        }
        touch.waits |= event.steps.last().is_some_and(|step| matches!(step.outcome, Outcome::Blocked(_)));
        touch.add_up(event, &mut rows);
        touch.settle(event, rows);
        touch
    }

    /// Notes the sums of an event that is one statement.
    fn add_up(&self, event: &Event, rows: &mut BTreeMap<RowRef, RowTouch>) {
        let [step] = event.steps.as_slice() else { return };
        for (at, added) in step.footprint.added.iter().filter(|_| self.fleeting) {
            let mut writes = step.footprint.writes.iter().filter(|w| (w.table, w.row) == *at);
            if let (Some(write), None, Some(row)) = (writes.next(), writes.next(), rows.get_mut(at)) {
                row.added = (0..128).filter(|&c| added.contains(c) && is_small_sum(write, c)).collect();
            }
        }
    }

    /// Whether others can tell that it happened.
    pub(super) fn is_noticed(&self) -> bool {
        self.everything || self.acts || !self.changed.is_empty() || !self.locks.is_empty() || !self.sequences.is_empty()
    }

    /// Whether it has anything to do with the database.
    pub(super) fn is_touching(&self) -> bool {
        self.is_noticed()
            || !self.touched.is_empty()
            || self.watched.is_some()
            || !self.later.union(self.kept).is_empty()
    }

    /// What it did with a row.
    pub(super) fn row(&self, row: RowRef) -> Option<&RowTouch> {
        self.rows.binary_search_by_key(&row, |(row, _)| *row).ok().map(|at| &self.rows[at].1)
    }

    fn add(&mut self, footprint: &Footprint, rows: &mut BTreeMap<RowRef, RowTouch>) {
        let fresh = footprint.snapshot.is_some();
        self.later = self.later.union(footprint.later);
        self.kept = footprint.kept.as_ref().map_or(self.kept, |reach| self.kept.union(reach.tables()));
        self.everything |= footprint.everything || !footprint.defined.is_empty();
        match (&mut self.watched, &footprint.watched) {
            (Some(all), Some(new)) => all.absorb(new),
            (all, new) => *all = all.take().or(new.clone()),
        }
        self.acts |= footprint.ended.is_some() || !footprint.writes.is_empty() || !footprint.undone.is_empty();
        for read in footprint.reads.iter().filter(|_| fresh) {
            self.touched.insert(bit(read.table));
        }
        for probe in &footprint.probes {
            self.touched.insert(bit(probe.table));
            if probe.kind == ProbeKind::Entry && !self.fleeting {
                self.changed.insert(bit(probe.table));
            }
        }
        for lock in &footprint.locks {
            self.waits |= lock.kind == LockEventKind::Queued;
            rows.entry((lock.table, lock.row)).or_default().lock(lock, fresh, self.fleeting);
        }
        footprint.looked.iter().for_each(|row| rows.entry(*row).or_default().looked = true);
        for write in &footprint.writes {
            let row = rows.entry((write.table, write.row)).or_default();
            row.set = row.set.union(write.set);
            row.inserted |= write.before.is_none();
            if !self.fleeting {
                row.unsettles = true;
                row.holds.add(LockStrength::NoKeyUpdate);
            }
        }
        for write in footprint.undone.iter().filter(|_| !self.fleeting) {
            let row = rows.entry((write.table, write.row)).or_default();
            row.unsettles = true;
        }
        for write in &footprint.published {
            let row = rows.entry((write.table, write.row)).or_default();
            row.published = true;
            if !self.fleeting || write.before.is_none() || write.after.is_none() {
                row.set = ColumnSet::ALL;
            }
            self.published.insert(bit(write.table));
        }
        for lock in &footprint.heavy {
            self.waits |= lock.kind == LockEventKind::Queued;
            self.locks.push(self.heavy(lock));
        }
        self.sequences.extend(footprint.sequences.iter().map(|(name, _)| name.clone()));
    }

    /// A lock of a transaction goes with it; an advisory one may be the session's.
    fn heavy(&self, lock: &HeavyEvent) -> HeavyTouch {
        let passes = self.fleeting && matches!(lock.key, LockKey::Table(_) | LockKey::Sequence(_));
        let queues = matches!(lock.kind, LockEventKind::Queued | LockEventKind::Left | LockEventKind::Moved);
        let meets = !passes && lock.kind != LockEventKind::Refused;
        HeavyTouch { key: lock.key, mode: lock.mode, meets, queues }
    }

    fn settle(&mut self, event: &Event, mut rows: BTreeMap<RowRef, RowTouch>) {
        for ((table, _), row) in &mut rows {
            let constant = event.constant.get(bit(*table)).copied().unwrap_or(ColumnSet::NONE);
            row.stable = if self.fleeting && !row.looked { row.set.union(constant) } else { ColumnSet::ALL };
            self.touched.insert(bit(*table));
            if row.is_noticed() {
                self.changed.insert(bit(*table));
            }
        }
        if !self.published.is_empty() && self.fleeting {
            for read in event.steps.iter().filter(|s| s.footprint.snapshot.is_some()).flat_map(|s| &s.footprint.reads) {
                for (found, _) in &read.matched {
                    if let Some(row) = rows.get_mut(&(read.table, *found)) {
                        row.stable = row.stable.union(read.columns);
                    }
                }
            }
        }
        self.sequences.sort_unstable();
        if let Some(watched) = &mut self.watched {
            watched.held.sort_unstable();
            watched.checked.sort_unstable();
        }
        let mut tables: BTreeMap<TableId, RowTouch> = BTreeMap::new();
        for ((table, _), row) in &rows {
            tables.entry(*table).or_default().merge(row);
        }
        self.tables = tables.into_iter().collect();
        self.rows = rows.into_iter().collect();
    }
}

impl RowTouch {
    fn lock(&mut self, lock: &LockEvent, fresh: bool, fleeting: bool) {
        match lock.kind {
            LockEventKind::Taken => {
                self.wants.add(lock.strength);
                self.looked |= !fresh;
                if !fleeting {
                    self.holds.add(lock.strength);
                    self.keeps = true;
                }
            }
            LockEventKind::Refused => {
                self.wants.add(lock.strength);
                self.looked |= !fresh;
            }
            LockEventKind::Queued => {
                self.wants.add(lock.strength);
                self.holds.add(lock.strength);
                // What it waits for depends on who is writing.
                self.looked = true;
            }
            LockEventKind::Left | LockEventKind::Moved => {
                self.wants.add(lock.strength);
                self.holds.add(lock.strength);
            }
            LockEventKind::Released if !fleeting => self.holds.add(lock.strength),
            LockEventKind::Released => {}
        }
    }

    /// Whether others can tell.
    fn is_noticed(&self) -> bool {
        self.holds != Strengths::default() || self.unsettles || self.published
    }

    /// The same for both rows together.
    fn merge(&mut self, other: &RowTouch) {
        self.wants.0 |= other.wants.0;
        self.holds.0 |= other.holds.0;
        self.keeps |= other.keeps;
        self.looked |= other.looked;
        self.unsettles |= other.unsettles;
        self.published |= other.published;
        self.set = self.set.union(other.set);
    }

    /// Whether two events are in each other's way at a row; what they read of it apart.
    pub(super) fn conflicts(&self, other: &RowTouch, precision: Precision) -> bool {
        if self.inserted && other.inserted {
            return false; // Two new rows: numbers are given out in the order of the run.
        }
        let disturbs = |a: &RowTouch, b: &RowTouch| {
            a.holds.exclude(b.wants) || ((a.published || a.unsettles) && b.looked) || (a.published && b.keeps)
        };
        let sums = if precision.sums { self.added.common(other.added) } else { ColumnSet::NONE };
        let meets = || !precision.columns || self.set.common(other.set).without(sums) != ColumnSet::NONE;
        let overwrites = self.published && other.published && meets();
        disturbs(self, other) || disturbs(other, self) || overwrites
    }
}

/// Whether a number stays so small that no order of a few such sums can overflow.
fn is_small_sum(write: &Write, column: usize) -> bool {
    let value = |row: &Option<Row>| row.as_ref().and_then(|row| row.get(column).cloned());
    match (value(&write.before), value(&write.after)) {
        (Some(Value::Int(before)), Some(Value::Int(after))) => {
            before.abs() < 1 << 29 && after.abs() < 1 << 29 && (after - before).abs() < 1 << 20
        }
        _ => false,
    }
}

fn bit(table: TableId) -> usize {
    table.0 as usize
}
