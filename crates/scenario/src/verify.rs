//! What an explanation says is checked against the run before it is printed.
//!
//! `conflicts` derives from snapshots and times who saw whom. Here the same is asked of the row versions themselves. A
//! version has a position that no other one has, and a read records the positions of the versions that it returned. So
//! we run the schedule once more, write down which commit put which version of each row in place, and look the
//! positions up:
//!
//! ```text
//!   account id = 1:   set-up ──▶ position 3     bob's COMMIT ──▶ position 7     alice's COMMIT ──▶ position 9
//!   "alice read it and did not see bob's UPDATE":  her SELECT returned position 3, which is older than 7: true
//! ```
//!
//! A conflict whose claim is not found true is left out. The explanation then has fewer words, or there is none.

use std::collections::{BTreeMap, BTreeSet};

use isolde_engine::footprint::{ColumnSet, Read};
use isolde_engine::{RowId, Step};
use isolde_explore::System;
use isolde_sql::catalog::TableId;
use isolde_sql::typed::{Expr, ExprKind, StatementKind, Update};

use crate::system::State;
use crate::trace::Run;

/// A row of a table.
type RowRef = (TableId, RowId);

/// What a conflict says about a run. Steps are counted over all events, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// A statement read a row, or looked for it, after (`saw`) or before another thread wrote it.
    Met {
        saw: bool,
        /// The step of the reading statement, and the one at which that statement was complete.
        reader: (usize, usize),
        row: RowRef,
        /// The step that wrote the row, and the one that committed it.
        written: (usize, usize),
        how: How,
    },
    /// Two threads wrote a row, the first one's version before the second one's: steps that wrote and that committed.
    Wrote {
        first: (usize, usize),
        second: (usize, usize),
        row: RowRef,
        /// The columns that both changed; none if one of them is no update.
        columns: ColumnSet,
    },
}

/// How a read met a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// It returned, locked or changed the row.
    Row,
    /// It looked for rows, and this one was not among those it found.
    Condition,
    /// It checked a unique or foreign key.
    Key,
}

impl Claim {
    /// The columns of a row in which one thread has overwritten what another one wrote, and the step that did.
    pub(crate) fn overwritten(&self) -> Option<(RowRef, ColumnSet, usize)> {
        match self {
            Claim::Wrote { row, columns, second, .. } if !columns.is_empty() => Some((*row, *columns, second.0)),
            _ => None,
        }
    }
}

/// Knows which versions of rows there were in a run, and which of them its reads returned.
pub(crate) struct Verifier<'r> {
    /// Each step with its thread.
    steps: Vec<(usize, &'r Step)>,
    /// The position of each version of a row that was committed, by the step that committed it. A removed row has none.
    versions: BTreeMap<RowRef, BTreeMap<usize, Option<u64>>>,
}

impl<'r> Verifier<'r> {
    /// Runs the schedule of a run once more.
    pub(crate) fn new(run: &'r Run<'_>) -> Verifier<'r> {
        let mut state = run.system.initial();
        let mut verifier = Verifier { steps: Vec::new(), versions: BTreeMap::new() };
        for event in &run.events {
            run.system.execute(&mut state, &event.choice());
            for step in &event.steps {
                for write in &step.footprint.published {
                    let row = (write.table, write.row);
                    let versions = verifier.versions.entry(row).or_default();
                    versions.insert(verifier.steps.len(), position(&state, row));
                }
                verifier.steps.push((event.thread, step));
            }
        }
        verifier
    }

    /// Whether a claim is true of the run.
    pub(crate) fn holds(&self, claim: &Claim) -> bool {
        match *claim {
            Claim::Wrote { first, second, row, .. } => {
                let threads = (self.committed(first, row), self.committed(second, row));
                matches!(threads, (Some(a), Some(b)) if a != b) && first.1 < second.1
            }
            Claim::Met { saw, reader, row, written, how } => {
                let Some((thread, step)) = self.steps.get(reader.0) else { return false };
                self.committed(written, row).is_some_and(|writer| writer != *thread)
                    && match how {
                        How::Key => saw == (written.1 < reader.0) && self.checked_key(step, row, written.1),
                        How::Row if saw => self.saw(reader, row, written.1),
                        How::Row => self.missed(reader, row, written.1),
                        How::Condition => {
                            let looked = self.reads(step, row.0).any(|read| read.matched.iter().all(|m| m.0 != row.1));
                            looked && saw == (written.1 < self.snapshot(reader.0))
                        }
                    }
            }
        }
    }

    /// The columns of a row whose new values the step that wrote them computed from the version that it replaced.
    ///
    /// Of an UPDATE, its text tells: `SET n = n + 1`, and a condition on the column, which was asked of that version.
    /// What else the step read of the row, to hand it to a trigger, or to return it, computes nothing.
    pub(crate) fn computed(&self, wrote: usize, row: RowRef) -> ColumnSet {
        let Some((_, step)) = self.steps.get(wrote) else { return ColumnSet::NONE };
        if let Some(StatementKind::Update(update)) = step.pending.statement.as_ref().map(|statement| &statement.kind)
            && update.table == row.0
        {
            return computed_by(update);
        }
        let reads = self.reads(step, row.0).filter(|read| read.current).map(|read| read.columns);
        let added = step.footprint.added.iter().filter(|(other, _)| *other == row).map(|(_, columns)| *columns);
        reads.chain(added).fold(ColumnSet::NONE, ColumnSet::union)
    }

    /// The thread whose step wrote a row, if another step of that thread then committed it.
    fn committed(&self, (wrote, published): (usize, usize), row: RowRef) -> Option<usize> {
        let ((thread, wrote), (same, commit)) = (self.steps.get(wrote)?, self.steps.get(published)?);
        let touches = wrote.footprint.writes.iter().any(|write| (write.table, write.row) == row);
        let commits = self.versions.get(&row)?.contains_key(&published) && commit.footprint.ended == Some(true);
        (thread == same && touches && commits).then_some(*thread)
    }

    /// Whether a statement returned the version that was committed then, or a later one, or went on to it after it
    /// waited.
    fn saw(&self, reader: (usize, usize), row: RowRef, written: usize) -> bool {
        let (thread, step) = self.steps[reader.0];
        let Some(versions) = self.versions.get(&row) else { return false };
        let later: BTreeSet<u64> = versions.range(written..).filter_map(|(_, position)| *position).collect();
        if self.returned(step, row).any(|position| later.contains(&position)) {
            return true;
        }
        let touches = |step: &Step| {
            let footprint = &step.footprint;
            footprint.locks.iter().any(|lock| (lock.table, lock.row) == row)
                || footprint.looked.contains(&row)
                || footprint.writes.iter().any(|write| (write.table, write.row) == row)
        };
        let current = self.reads(step, row.0).any(|read| read.current);
        let since = self.steps.get(reader.0..=reader.1).unwrap_or_default().iter().enumerate();
        let mut own = since.filter(|(_, (whose, _))| *whose == thread);
        current && own.any(|(at, (_, step))| reader.0 + at > written && touches(step))
    }

    /// Whether all that a statement returned of a row is older than the version that was committed then.
    fn missed(&self, reader: (usize, usize), row: RowRef, written: usize) -> bool {
        let (_, step) = self.steps[reader.0];
        let Some(versions) = self.versions.get(&row) else { return false };
        let later: BTreeSet<u64> = versions.range(written..).filter_map(|(_, position)| *position).collect();
        let mut returned = self.returned(step, row).peekable();
        returned.peek().is_some()
            && returned.all(|position| !later.contains(&position))
            && written > self.snapshot(reader.0)
    }

    /// Whether a step checked a key that a row has before or after the commit.
    fn checked_key(&self, step: &Step, row: RowRef, written: usize) -> bool {
        let published = self.steps.get(written).into_iter().flat_map(|(_, commit)| &commit.footprint.published);
        let mut writes = published.filter(|write| (write.table, write.row) == row);
        writes.any(|write| step.footprint.probes.iter().any(|probe| probe.concerns(write)))
    }

    /// The positions of the versions of a row that a step returned.
    fn returned<'s>(&self, step: &'s Step, row: RowRef) -> impl Iterator<Item = u64> + use<'s> {
        let reads = step.footprint.reads.iter().filter(move |read| read.table == row.0);
        reads.flat_map(|read| &read.matched).filter(move |(id, _)| *id == row.1).map(|(_, position)| *position)
    }

    fn reads<'s>(&self, step: &'s Step, table: TableId) -> impl Iterator<Item = &'s Read> + use<'s> {
        step.footprint.reads.iter().filter(move |read| read.table == table)
    }

    /// The step that took the snapshot which a step reads from: the last one of its transaction that took any.
    fn snapshot(&self, at: usize) -> usize {
        let thread = self.steps[at].0;
        let own = self.steps[..=at].iter().enumerate().rev().filter(|(_, (whose, _))| *whose == thread);
        let within = own.take_while(|(step, (_, done))| *step == at || done.footprint.ended.is_none());
        let mut taken = within.filter(|(_, (_, step))| step.footprint.snapshot.is_some());
        taken.next().map_or(at, |(step, _)| step)
    }
}

/// The columns whose new values an UPDATE computes from their old ones, or asks for.
fn computed_by(update: &Update) -> ColumnSet {
    let own = |expr: &Expr| {
        let mut columns = ColumnSet::NONE;
        expr.walk(0, &mut |part, depth| match part.kind {
            ExprKind::Column { depth: d, rel: 0, col } if d == depth => {
                columns = columns.union([usize::from(col)].into_iter().collect());
            }
            _ => {}
        });
        columns
    };
    let mut computed = ColumnSet::NONE;
    update.select.exprs(&mut |expr| computed = computed.union(own(expr)));
    let set = update.set.iter().filter(|(column, value)| own(value).contains(*column)).map(|(column, _)| *column);
    computed.union(set.collect())
}

fn position(state: &State, (table, row): RowRef) -> Option<u64> {
    let tables = state.database.committed();
    let known = (table.0 as usize) < tables.len();
    known.then(|| tables.table(table).get(row)).flatten().map(|tuple| tuple.position)
}
