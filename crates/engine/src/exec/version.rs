//! Which version of a row a statement gets.
//!
//! A statement finds rows in its snapshot, but what it locks and changes is the newest version.
//! [`Executor::lock_version`] is where the two meet. What came in between is settled before anybody waits: a row that
//! is gone is not locked, and a transaction that keeps its snapshot is refused at once, even if somebody else holds the
//! row by now. FOR KEY SHARE alone does not mind a newer version, as long as the keys are the same.

use isolde_sql::ast::{LockStrength, LockWait};
use isolde_sql::catalog::TableId;
use isolde_sql::{Row, SqlError, SqlState};

use super::{Executor, Stop};
use crate::eval::RelRow;
use crate::lock::{self, RowRef, RowWait, Target, Wants};
use crate::storage::{Tuple, is_same};
use crate::transaction::First;

/// How the version of a row that was seen relates to its newest.
pub(super) enum Version {
    /// It is the newest.
    Same,
    /// There is a newer one, committed, which FOR KEY SHARE need not know about.
    SameKey,
    /// There is a newer one, committed.
    Newer(Tuple),
    /// The row was deleted, and that is committed.
    Gone,
    /// This very statement has changed or deleted it already.
    OwnCommand,
    /// Somebody else has it, and the statement does not want to wait.
    Skipped,
}

/// How a statement wants a row.
#[derive(Clone, Copy)]
pub(crate) struct Lock {
    /// If what it saw is the newest version.
    pub(super) seen: LockStrength,
    /// If there is a newer one.
    pub(super) newer: LockStrength,
    pub(super) wait: LockWait,
    /// Whoever has waited for an update goes on to what it made, even to be refused. UPDATE and DELETE do not.
    pub(super) follows: bool,
}

impl Lock {
    /// As SELECT takes it.
    pub(super) fn select(strength: LockStrength, wait: LockWait) -> Self {
        Lock { seen: strength, newer: strength, wait, follows: true }
    }

    /// As UPDATE takes it: a changed key needs the strongest lock, any other update the one below it. What becomes of
    /// the version it saw decides, also where it goes on to a newer one.
    pub(crate) fn update(changes_key: bool) -> Self {
        Lock::merge(changes_key, changes_key)
    }

    /// As the UPDATE of a MERGE takes it, to which the columns that it sets count where it goes on to a newer version.
    pub(super) fn merge(changes_key: bool, sets_key: bool) -> Self {
        let strength = |key| if key { LockStrength::Update } else { LockStrength::NoKeyUpdate };
        Lock { seen: strength(changes_key), newer: strength(sets_key), wait: LockWait::Block, follows: false }
    }

    /// As DELETE takes it.
    pub(super) fn delete() -> Self {
        Lock::update(true)
    }
}

impl Executor<'_> {
    /// Locks the newest version of a row that was seen at a position, if there is a point in it, and says which it is.
    pub(super) fn lock_version(&mut self, row: RowRef, seen: u64, start: u64, lock: Lock) -> Result<Version, Stop> {
        let version = match self.version(row, seen, start) {
            Version::Newer(t) if lock.newer == LockStrength::KeyShare && t.key_position <= seen => Version::SameKey,
            version => version,
        };
        if self.is_looked_at(row, &version) {
            self.footprint.looked.push(row);
        }
        let strength = match &version {
            Version::OwnCommand => {
                // Not what it saw, but what somebody else has made of it.
                let changed_later = self.transaction().locks.get(&row).is_some_and(|held| held.oldest > seen);
                if changed_later {
                    self.await_old_holders(row, seen, lock)?;
                }
                return Ok(version);
            }
            Version::Gone | Version::Skipped => return Ok(version),
            Version::Same => lock.seen,
            Version::Newer(_) if self.keeps_snapshot() => {
                self.await_old_holders(row, seen, lock)?;
                self.await_new_holders(row, seen, lock)?;
                return Ok(version);
            }
            Version::Newer(_) | Version::SameKey => lock.newer,
        };
        let position = if let Version::Newer(newer) = &version { newer.position } else { seen };
        let waits = lock.wait == LockWait::Block;
        let acquired = match matches!(version, Version::Newer(_)) && self.writer_of(row).is_some() {
            // On its way to the newest version it waits for whoever makes one more, whether or not their locks
            // conflict.
            true => {
                self.locks().note_conflict(row, strength, waits);
                Err(self.outcome_of(row))
            }
            false => self.locks().acquire(row, position, strength, waits),
        };
        let Err(wants) = acquired else { return Ok(version) };
        let must_remain = matches!(version, Version::Same).then_some(seen).filter(|_| self.keeps_snapshot());
        let follows = must_remain.is_some() && lock.follows && self.writer_of(row).is_some();
        let wait = |wants| Err(Stop::Wait(Target::Row(RowWait { row, wants, seen: must_remain, follows })));
        match lock.wait {
            // The version it saw is free. On its way along the newer ones PostgreSQL always waits, and in no queue.
            _ if matches!(version, Version::SameKey) => wait(Wants::Upgrade(strength)),
            LockWait::Block => wait(wants),
            // The version itself is free; it is for a later one of the same holder, whom PostgreSQL always waits for.
            _ if self.is_held_later(row, strength) => wait(Wants::Upgrade(strength)),
            LockWait::SkipLocked => Ok(Version::Skipped),
            LockWait::NoWait => {
                let table = &self.catalog().table(row.0).name;
                let message = format!("could not obtain lock on row in relation \"{table}\"");
                Err(SqlError::new(SqlState::LOCK_NOT_AVAILABLE, message).into())
            }
        }
    }

    /// Whether what is done with a version depends on more than a lock event tells: it is not the newest; or it is
    /// locked already, but so weakly that others may change it.
    fn is_looked_at(&self, row: RowRef, version: &Version) -> bool {
        let held = || self.transaction().locks.get(&row).map(|held| held.strength);
        !matches!(version, Version::Same | Version::OwnCommand) || held() == Some(LockStrength::KeyShare)
    }

    /// A transaction that will be refused waits all the same for those who share a lock on the version that it saw.
    fn await_old_holders(&mut self, row: RowRef, seen: u64, lock: Lock) -> Result<(), Stop> {
        if lock.wait != LockWait::Block {
            return Ok(());
        }
        let held = !lock::old_holders(self.others(), self.me, row, seen, lock.seen).is_empty();
        // It has asked in any case.
        self.locks().note_conflict(row, lock.seen, held);
        if held { Err(Stop::Wait(Target::row(row, Wants::Lock(lock.seen), Some(seen)))) } else { Ok(()) }
    }

    /// To PostgreSQL, a version that somebody still has a lock on is one that is being changed, though the change is
    /// committed: so whoever locks it goes on along the newer ones, and waits there, before it is refused.
    fn await_new_holders(&mut self, row: RowRef, seen: u64, lock: Lock) -> Result<(), Stop> {
        if !lock.follows {
            return Ok(());
        }
        let shared = !lock::old_holders(self.others(), self.me, row, seen, LockStrength::Update).is_empty();
        let held = shared && !lock::holders(self.others(), self.me, row, lock.seen).is_empty();
        // Whether it waits depends on who has any lock at all.
        self.locks().note_conflict(row, LockStrength::Update, held);
        if held { Err(Stop::Wait(Target::row(row, Wants::Upgrade(lock.seen), None))) } else { Ok(()) }
    }

    /// How a version that was seen relates to the newest one. Other sessions' uncommitted versions do not count.
    fn version(&self, row: RowRef, seen: u64, start: u64) -> Version {
        if let Some(change) = self.transaction().writes.get(&row) {
            return match &change.after {
                Some(tuple) if tuple.position < start => Version::Same,
                _ => Version::OwnCommand,
            };
        }
        match self.latest_version(row) {
            // A row of our own that is gone leaves nothing behind but our lock; nobody else can have deleted what we
            // have locked.
            None if seen >= start || self.transaction().locks.contains_key(&row) => Version::OwnCommand,
            None => Version::Gone,
            Some(tuple) if tuple.position == seen => Version::Same,
            Some(tuple) => Version::Newer(tuple.clone()),
        }
    }

    /// Whether this very statement has changed a row already.
    pub(crate) fn is_own_command(&self, row: RowRef, seen: u64, start: u64) -> bool {
        matches!(self.version(row, seen, start), Version::OwnCommand)
    }

    /// What REPEATABLE READ says to an UPDATE or DELETE of a row that changed after its snapshot.
    pub(super) fn refuse_changed(&self, row: RowRef, version: &Version) -> Result<(), SqlError> {
        match version {
            _ if !self.keeps_snapshot() => Ok(()),
            Version::Gone => Err(self.concurrent_delete(row)),
            Version::Newer(_) => Err(concurrent_update()),
            Version::Same | Version::SameKey | Version::OwnCommand | Version::Skipped => Ok(()),
        }
    }

    /// The row is gone. If the version that the snapshot shows was updated first, that is what is reported.
    pub(super) fn concurrent_delete(&self, row: RowRef) -> SqlError {
        let updated_first = self.transaction().snapshot.as_ref().is_some_and(|s| s.updated_first.contains(&row));
        if updated_first {
            return concurrent_update();
        }
        SqlError::new(SqlState::SERIALIZATION_FAILURE, "could not serialize access due to concurrent delete")
    }

    /// The newest version that is committed or our own.
    pub(crate) fn newest(&self, row: RowRef) -> Option<Tuple> {
        match self.transaction().writes.get(&row) {
            Some(change) => change.after.clone(),
            None => self.latest_version(row).cloned(),
        }
    }

    /// The version of a row that we have just written.
    pub(super) fn own_version(&self, row: RowRef) -> RelRow {
        let tuple = self.transaction().view().version(row).expect("a row just written is in the view");
        RelRow::of_table(row.1, tuple.position, tuple.values.clone())
    }

    /// ON CONFLICT at REPEATABLE READ: the row in the way must be there as the snapshot shows it.
    pub(super) fn refuse_unseen(&self, row: RowRef) -> Result<(), SqlError> {
        let shown = self.transaction().view().version(row).map(|tuple| tuple.position);
        match self.newest(row) {
            _ if !self.keeps_snapshot() => Ok(()),
            Some(newest) if shown == Some(newest.position) => Ok(()),
            Some(_) => Err(concurrent_update()),
            None => Err(self.concurrent_delete(row)),
        }
    }

    /// Locks the newest version of a row, whatever was seen of it.
    pub(crate) fn lock_row(&mut self, row: RowRef, strength: LockStrength) -> Result<(), Stop> {
        let version = self.newest(row).map_or(u64::MAX, |tuple| tuple.position);
        self.locks().acquire(row, version, strength, true).map_err(|wants| Stop::Wait(Target::row(row, wants, None)))
    }

    /// Whether two versions agree in all columns of unique indexes.
    pub(crate) fn same_keys(&self, table: TableId, old: &Row, new: &Row) -> bool {
        let table = self.catalog().table(table);
        table
            .indexes
            .iter()
            .filter(|i| i.is_locked_as_key())
            .flat_map(|i| &i.columns)
            .all(|&c| is_same(&old[c], &new[c]))
    }

    /// Whether FOR KEY SHARE conflicts only with what its holders did to the row after updating it.
    fn is_held_later(&self, row: RowRef, strength: LockStrength) -> bool {
        strength == LockStrength::KeyShare
            && lock::holders(self.others(), self.me, row, strength).iter().all(|id| {
                let writes = self.db.sessions[id.0].transaction.as_ref().map(|t| &t.writes);
                writes.and_then(|writes| writes.get(&row)).is_some_and(|change| change.first == First::KeepsKey)
            })
    }
}

/// What REPEATABLE READ says of a row that changed after its snapshot.
pub(super) fn concurrent_update() -> SqlError {
    SqlError::new(SqlState::SERIALIZATION_FAILURE, "could not serialize access due to concurrent update")
}
