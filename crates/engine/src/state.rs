//! The digest of a whole database: equal exactly when nobody could tell two databases apart.
//!
//! Rows count by content, never by [`RowId`](crate::RowId) or position, so that two orders of the same inserts lead to
//! one state; except in tables where [their order](crate::order) is part of the state. What hangs on a
//! row (a lock, an uncommitted change, a wait) is hashed with the row's committed values. Waits count by the order in
//! which they began, snapshots by what has been published since. The committed rows' part is kept up to date
//! row by row; the sessions' part is small and computed when asked for.

use std::hash::{Hash, Hasher};

use crate::database::{Database, row_digest};
use crate::define::frame::Definitions;
use crate::exec::{After, AtHand, Input, Phase, Running};
use crate::lock::{RowRef, Target, Wants, row};
use crate::routine::RoutineFrame;
use crate::session::{Frame, Progress, Session, StatementFrame};
use crate::storage::{TableData, Tables};
use crate::transaction::{Snapshot, Transaction};
use crate::trigger::Triggered;
use isolde_digest::Digester;
use isolde_sql::catalog::TableId;

impl Database {
    /// A 128-bit digest of the logical content: committed rows, sequences, open transactions with their locks and
    /// waits, the position and variables of everything that runs.
    pub fn digest(&self) -> u128 {
        self.digest_with_rows(self.committed_digest)
    }

    /// The same digest, with the part of the committed rows computed from all of them: what a database that keeps
    /// nothing up to date would have to do.
    pub fn digest_from_scratch(&self) -> u128 {
        let tables = (0..self.committed.len()).map(|i| TableId(i as u32));
        let rows = tables.flat_map(|table| self.committed.table(table).iter().map(move |(_, tuple)| (table, tuple)));
        self.digest_with_rows(
            rows.fold(0, |sum: u128, (table, tuple)| sum.wrapping_add(row_digest(table, &tuple.values))),
        )
    }

    /// Tells apart databases of equal [digest](Database::digest) whose rows have other ids: which ids the rows have
    /// that differ from `origin`, an older version of both, and which rows open transactions have to do with.
    ///
    /// Footprints name rows by their ids. Who compares footprints from different runs must know that the ids mean the
    /// same rows in both.
    pub fn identity(&self, origin: &Database) -> u128 {
        let mut h = Digester::tagged(0x1d);
        hash_ids(&origin.committed, &self.committed, &mut h);
        for (id, session) in self.all_sessions() {
            let Some(t) = &session.transaction else { continue };
            id.hash(&mut h);
            for (row, change) in &t.writes {
                (row, change.after.as_ref().map(|tuple| &tuple.values)).hash(&mut h);
            }
            t.locks.iter().for_each(|(row, _)| row.hash(&mut h));
            if let Some(snapshot) = &t.snapshot {
                hash_ids(&origin.committed, &snapshot.tables, &mut h);
            }
            if let Some(Target::Row(target)) = session.wait.as_ref().map(|wait| &wait.target) {
                target.row.hash(&mut h);
            }
            for frame in &session.stack.frames {
                if let Frame::Statement(frame) = frame
                    && let Some(run) = frame.progress.running()
                {
                    run.candidates_left().iter().for_each(|c| c.rows.iter().for_each(|r| r.id.hash(&mut h)));
                }
            }
        }
        h.digest()
    }

    fn digest_with_rows(&self, rows: u128) -> u128 {
        let mut h = Digester::tagged(0xdb);
        rows.hash(&mut h);
        self.schema.digest().hash(&mut h);
        self.sequences.hash(&mut h);
        for session in &self.sessions {
            self.session_digest(session).hash(&mut h);
        }
        self.hash_waits(&mut h);
        for (key, queue) in self.queues.iter() {
            (key, queue).hash(&mut h);
        }
        if let Some(ssi) = &self.ssi {
            self.hash_ssi(ssi, &mut h);
        }
        if let Some(ordered) = &self.ordered {
            self.hash_order(ordered, &mut h);
        }
        h.digest()
    }

    fn session_digest(&self, session: &Session) -> u128 {
        let mut h = Digester::tagged(0x5e);
        session.options.hash(&mut h);
        if !session.kept.is_plain() {
            session.kept.hash(&mut h);
        }
        (session.stack.part, &session.prepared_as).hash(&mut h);
        session.drawn.hash(&mut h);
        session.randoms.hash(&mut h);
        for (key, counts) in &session.advisory {
            (key, counts).hash(&mut h);
        }
        if self.timed {
            (self.clock - session.statement_began).hash(&mut h);
        }
        session.stack.committing.is_some().hash(&mut h);
        if let Some(produced) = &session.stack.committing_inside {
            (&produced.rows, produced.count).hash(&mut h);
        }
        session.stack.frames.len().hash(&mut h);
        for frame in &session.stack.frames {
            self.hash_frame(frame, &mut h);
        }
        session.stack.portals.hash(&mut h);
        for cursor in &session.stack.cursors {
            (&cursor.name, &cursor.rows, cursor.at, cursor.scrolls, cursor.held, cursor.depth).hash(&mut h);
            if let Some(rest) = &cursor.rest {
                self.hash_statement(rest, &mut h);
            }
        }
        session.transaction.is_some().hash(&mut h);
        if let Some(t) = &session.transaction {
            self.hash_transaction(t, &mut h);
            self.locks_digest(t).hash(&mut h);
        }
        h.digest()
    }

    fn hash_transaction(&self, t: &Transaction, h: &mut Digester) {
        (t.isolation, t.read_only, t.deferrable, t.explicit, t.failed, t.queried).hash(h);
        (t.xid.is_some(), t.serial.is_some()).hash(h);
        // Whether it has run one statement or more decides how it is committed, and whether modes may be set.
        t.statements.min(2).hash(h);
        if let Some(snapshot) = &t.snapshot {
            hash_snapshot(snapshot, h);
        }
        let mut writes: u128 = 0;
        for ((table, _), change) in &t.writes {
            let after = change.after.as_ref().map(|tuple| &tuple.values);
            writes = writes.wrapping_add(isolde_digest::tagged(0x77, (table, &change.before, after)));
        }
        for ((table, _), versions) in &t.replaced {
            writes = versions.iter().fold(writes, |sum, v| sum.wrapping_add(isolde_digest::tagged(0x78, (table, v))));
        }
        writes.hash(h);
        if !t.deferred.checks.is_empty() || !t.deferred.modes.is_empty() {
            self.hash_deferred(t, h);
        }
        for (key, modes) in &t.heavy {
            (key, modes).hash(h);
        }
        hash_definitions(&t.definitions, h);
        if !t.definitions.sequences.is_empty() {
            t.definitions.sequences.hash(h);
        }
        if self.timed {
            (self.clock - t.began).hash(h);
        }
        t.savepoints.len().hash(h);
        for savepoint in &t.savepoints {
            (&savepoint.name, savepoint.modes()).hash(h);
            let mut saved: u128 = 0;
            for ((table, _), change) in savepoint.writes() {
                let after = change.after.as_ref().map(|tuple| &tuple.values);
                saved = saved.wrapping_add(isolde_digest::tagged(0x73, (table, &change.before, after)));
            }
            for (row, held) in savepoint.locks() {
                saved = saved.wrapping_add(isolde_digest::tagged(0x6c, (self.content(*row), held.strength)));
            }
            saved.hash(h);
            for (key, modes) in savepoint.heavy() {
                (key, modes).hash(h);
            }
            hash_definitions(savepoint.definitions(), h);
        }
    }

    fn hash_deferred(&self, t: &Transaction, h: &mut Digester) {
        t.deferred.modes.hash(h);
        let own = |row: &RowRef| t.writes.get(row).and_then(|change| change.after.as_ref());
        for check in &t.deferred.checks {
            match check {
                After::Child { row, at, .. } if own(row).is_none_or(|tuple| tuple.position != *at) => {}
                After::Child { row, key, parent, .. } => {
                    let values = own(row).map(|tuple| row_digest(row.0, &tuple.values));
                    (0u8, values, key, parent.is_some()).hash(h);
                }
                After::Unique { row, index, entered } => (1u8, row_digest(row.0, entered), index).hash(h),
                After::Parent(check) => (2u8, check.child(), check.key(), check.old()).hash(h),
                other => hash_after(other, h),
            }
        }
    }

    /// Locks count by the content of the rows they are on.
    fn locks_digest(&self, t: &Transaction) -> u128 {
        t.locks.iter().fold(0u128, |sum, (row, held)| {
            let own = t.writes.get(row).and_then(|c| c.after.as_ref()).map(|tuple| row_digest(row.0, &tuple.values));
            let outdated = self.committed.version(*row).is_some_and(|tuple| held.oldest < tuple.position);
            sum.wrapping_add(isolde_digest::tagged(0x4c, (self.content(*row).or(own), held.strength, outdated)))
        })
    }

    /// The committed content of a row; `None` for one that is nobody's but its inserter's.
    fn content(&self, row: RowRef) -> Option<u128> {
        self.committed.version(row).map(|tuple| row_digest(row.0, &tuple.values))
    }

    /// Waits, each with those it is behind. In which order two waits began that have nothing to do with each other is
    /// nobody's business, unless there are timers.
    fn hash_waits(&self, h: &mut Digester) {
        let mut waits: Vec<_> = self.all_sessions().filter_map(|(id, s)| Some((s.wait.as_ref()?, id))).collect();
        if self.timed {
            waits.sort_by_key(|(wait, _)| wait.ticket);
        }
        for (wait, id) in waits {
            if self.timed {
                (self.clock - wait.began, wait.checked, wait.first).hash(h);
            }
            match &wait.target {
                Target::Row(target) => {
                    let pending = self.all_sessions().find_map(|(_, s)| {
                        let change = s.transaction.as_ref()?.writes.get(&target.row)?;
                        Some(isolde_digest::tagged(0x70, change.after.as_ref().map(|t| &t.values)))
                    });
                    // Who keeps no snapshot cannot be refused, however the row has changed.
                    let fate = target.seen.map(|_| (target.follows, target.is_lost(&self.committed)));
                    (id, self.content(target.row), pending, fate).hash(h);
                    match target.wants {
                        Wants::Lock(strength) => (0u8, strength).hash(h),
                        Wants::Upgrade(strength) => (1u8, strength).hash(h),
                        Wants::Outcome(of) => (2u8, row::writer(self, target.row, of)).hash(h),
                    }
                    for ahead in row::ahead(self.all_sessions(), id, target, wait.ticket) {
                        ahead.hash(h);
                    }
                }
                Target::Heavy { key, mode, scope } => (id, key, mode, scope).hash(h),
                Target::Time(until) => (id, until - self.clock).hash(h),
                Target::SafeSnapshot(_) => id.hash(h),
            }
        }
    }

    fn hash_frame(&self, frame: &Frame, h: &mut Digester) {
        match frame {
            Frame::Statement(frame) => self.hash_statement(frame, h),
            Frame::Routine(frame) => {
                hash_routine(frame, h);
                for rest in frame.loops.iter().flatten().filter_map(|open| open.rest.as_ref()) {
                    self.hash_statement(rest, h);
                }
            }
        }
    }

    fn hash_statement(&self, frame: &StatementFrame, h: &mut Digester) {
        (0u8, frame.prepared.id, frame.fetch).hash(h);
        frame.params.hash(h);
        std::mem::discriminant(&frame.progress).hash(h);
        match &frame.progress {
            Progress::New | Progress::Called => {}
            Progress::Arguments(run) | Progress::Running(run) | Progress::Between(run) => self.hash_running(run, h),
        }
    }

    fn hash_running(&self, run: &Running, h: &mut Digester) {
        hash_snapshot(&run.view, h);
        run.calls.iter().for_each(|result| result.hash(h));
        run.calls.withs().hash(h);
        (run.slot, run.count, run.after.len()).hash(h);
        run.output.hash(h);
        if let Some(triggered) = &run.triggered {
            hash_triggered(triggered, h);
        }
        if let AtHand::Written { row, index, enters } = run.at_hand {
            (self.content(row), index, enters).hash(h);
        }
        let queued = match &run.phase {
            Phase::Scan => {
                0u8.hash(h);
                0
            }
            Phase::Rows { input: Input::Rows(rows), next } => {
                (1u8, next, rows.get(*next..)).hash(h);
                0
            }
            Phase::Rows { input: Input::Candidates(_) | Input::Limited(..), next } => {
                (2u8, next).hash(h);
                run.candidates_left().iter().for_each(|c| c.rows.iter().for_each(|r| r.values.hash(h)));
                0
            }
            Phase::After { next } => {
                (3u8, next).hash(h);
                *next
            }
        };
        run.after.iter().skip(queued).for_each(|after| hash_after(after, h));
    }
}

/// Rows that differ, with their ids.
fn hash_ids(origin: &Tables, tables: &Tables, h: &mut Digester) {
    for table in (0..tables.len()).map(|i| TableId(i as u32)) {
        if tables.same_table(origin, table) {
            continue;
        }
        let none = TableData::default();
        let before = if (table.0 as usize) < origin.len() { origin.table(table) } else { &none };
        for (row, _, after) in before.changed_rows(tables.table(table)) {
            (table, row, after).hash(h);
        }
    }
}

fn hash_definitions(definitions: &Definitions, h: &mut Digester) {
    if definitions.is_empty() {
        return;
    }
    definitions.schema.as_ref().map(|schema| schema.digest()).hash(h);
    for (table, rebuilt) in &definitions.rebuilt {
        (table, &rebuilt.change, rebuilt.digest).hash(h);
    }
    // A savepoint knows how many there were, not what was drawn from them.
    definitions.sequences.len().hash(h);
}

fn hash_snapshot(snapshot: &Snapshot, h: &mut Digester) {
    snapshot.published_since.hash(h);
}

fn hash_routine(frame: &RoutineFrame, h: &mut Digester) {
    (1u8, frame.code.id, frame.at).hash(h);
    frame.locals.hash(h);
    for columns in frame.shapes.iter().flatten() {
        columns.iter().for_each(|column| column.name.hash(h));
    }
    frame.returned.hash(h);
    frame.row_count.hash(h);
    for open in frame.loops.iter().flatten() {
        open.rows.get(open.next..).hash(h);
    }
    for error in &frame.caught {
        (error.state, &error.message).hash(h);
    }
    h.write_u8(2);
}

/// Of what is to be seen to after the rows, triggers: the rest follows from what was written.
fn hash_after(after: &After, h: &mut Digester) {
    match after {
        After::Fire(fire) => (1u8, fire.triggers.table.id, fire.at, fire.event, &fire.old, &fire.new).hash(h),
        After::Begin(triggers, event, _) => (2u8, triggers.table.id, event).hash(h),
        After::End(triggers, event, _) => (3u8, triggers.table.id, event).hash(h),
        _ => {}
    }
}

fn hash_triggered(triggered: &Triggered, h: &mut Digester) {
    (&triggered.begun, triggered.firing, triggered.ended, &triggered.written).hash(h);
    for stage in triggered.row.iter().chain(&triggered.conflict) {
        (4u8, stage.fired, &stage.old, &stage.new).hash(h);
    }
    for rows in &triggered.transitions {
        (5u8, rows.table, rows.event, &rows.old, &rows.new, rows.seen).hash(h);
    }
}
