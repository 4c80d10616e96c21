//! Foreign keys, seen to when the rows of a statement are done.
//!
//! A child's row locks its parent FOR KEY SHARE, so that the parent can be updated but not deleted or re-keyed until
//! the child's transaction ends. A parent that goes, or changes its key, looks for children with the *newest* state,
//! whatever the snapshot: they are refused (NO ACTION, RESTRICT), deleted, or changed. What a cascade does queues
//! checks of its own.

use std::sync::Arc;

use isolde_sql::ast::{Deferral, LockStrength, LockWait, ReferentialAction, TableLockMode};
use isolde_sql::budget::spend;
use isolde_sql::catalog::{ForeignKey, Table, TableId};
use isolde_sql::{Row, SqlError, SqlState, Value};

use super::constraint::key_text;
use super::running::AtHand;
use super::version::{Lock, Version, concurrent_update};
use super::{Executor, Running, Stop};
use crate::eval;
use crate::footprint::{ColumnSet, HeavyEvent, LockEventKind, Probe, ProbeKind};
use crate::lock::{LockKey, Modes, RowRef};
use crate::storage::{RowId, Tables, Tuple};
use crate::trigger::{Event, Fire, RowStage, TableTriggers};

/// One thing to see to after the rows.
#[derive(Clone, Debug)]
pub(crate) enum After {
    /// The parent of this row must exist, unless the version at this position has been replaced; the parent's version
    /// that was found is remembered while we wait for its lock, and which locks on its table we had `before` while we
    /// wait for that.
    Child { row: RowRef, at: u64, key: usize, parent: Option<(RowId, u64)>, before: Option<Modes> },
    /// The children of a parent must not be left behind.
    Parent(ParentCheck),
    /// No other row may have the key that this one has in an index.
    Unique { row: RowRef, index: usize, entered: Row },
    /// A child goes with its parent.
    CascadeDelete { found: Found, key: usize },
    /// A child follows its parent's key, or lets go of it.
    CascadeSet { found: Found, key: usize, set: Vec<(usize, Value)> },
    /// A cascade begins to change a table with triggers.
    Begin(Arc<TableTriggers>, Event, ColumnSet),
    /// It has changed its rows.
    End(Arc<TableTriggers>, Event, ColumnSet),
    /// An AFTER trigger fires.
    Fire(Fire),
}

/// A child, in the version that was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    row: RowRef,
    old: Tuple,
}

/// A parent had the values `old`, and now has `new` or is deleted.
#[derive(Clone, Debug)]
pub(crate) struct ParentCheck {
    parent: TableId,
    child: TableId,
    /// Which foreign key of the child.
    key: usize,
    old: Row,
    new: Option<Row>,
    action: ReferentialAction,
    /// The child in the way that we wait for, and its version.
    waits_for: Option<(RowId, u64)>,
}

impl ParentCheck {
    /// The table of the children.
    pub(crate) fn child(&self) -> TableId {
        self.child
    }

    /// The table of the parents.
    pub(crate) fn parent(&self) -> TableId {
        self.parent
    }

    /// What the parent was.
    pub(crate) fn old(&self) -> &Row {
        &self.old
    }

    /// Which of its foreign keys.
    pub(crate) fn key(&self) -> usize {
        self.key
    }
}

impl Executor<'_> {
    /// Queues a check for each foreign key of a row just inserted.
    pub(super) fn queue_child_checks(&mut self, run: &mut Running, row: RowRef, new: &Row) {
        // A NULL refers to nobody, but the parent's table is locked all the same.
        let locks = self.db.tracks_table_locks;
        self.queue_child_checks_if(run, row, |fk| locks || looked_for(fk, new));
    }

    /// Queues a check for each foreign key of a row just updated; those that are as in `old` need none.
    pub(super) fn queue_moved_child_checks(&mut self, run: &mut Running, row: RowRef, old: Option<&Row>, new: &Row) {
        let moved = |fk: &ForeignKey| old.is_none_or(|old| fk.columns.iter().any(|&c| old[c] != new[c]));
        self.queue_child_checks_if(run, row, |fk| moved(fk) && looked_for(fk, new));
    }

    fn queue_child_checks_if(&mut self, run: &mut Running, row: RowRef, wanted: impl Fn(&ForeignKey) -> bool) {
        let schema = self.schema().clone();
        let table = schema.catalog.table(row.0);
        if table.foreign_keys.is_empty() {
            return;
        }
        let Some(at) = self.newest(row).map(|tuple| tuple.position) else { return };
        for (key, fk) in table.foreign_keys.iter().enumerate() {
            if wanted(fk) {
                self.queue_check(
                    run,
                    After::Child { row, at, key, parent: None, before: None },
                    row.0,
                    &fk.name,
                    fk.deferral,
                );
            }
        }
    }

    /// Queues a look for children of a row deleted (`new` is none) or changed.
    pub(super) fn queue_parent_checks(&mut self, run: &mut Running, parent: TableId, old: &Row, new: Option<Row>) {
        let schema = self.schema().clone();
        for (child, key) in schema.catalog.references_to(parent) {
            let fk = &child.foreign_keys[key];
            let moved = new.as_ref().is_none_or(|new| fk.parent_columns.iter().any(|&c| old[c] != new[c]));
            if moved && !fk.parent_columns.iter().any(|&c| old[c].is_null()) {
                let action = if new.is_some() { fk.on_update } else { fk.on_delete };
                let (old, new, waits_for) = (old.clone(), new.clone(), None);
                let check = ParentCheck { parent, child: child.id, key, old, new, action, waits_for };
                let when = match action {
                    ReferentialAction::NoAction => fk.deferral,
                    _ => Deferral::NotDeferrable,
                };
                self.queue_check(run, After::Parent(check), child.id, &fk.name, when);
            }
        }
    }

    /// Sees to the next thing in the queue.
    pub(super) fn after(&mut self, run: &mut Running) -> Result<(), Stop> {
        let schema = self.schema().clone();
        let catalog = &schema.catalog;
        match run.check_mut().clone() {
            After::Child { row, at, .. } if self.newest(row).is_none_or(|tuple| tuple.position != at) => Ok(()),
            After::Child { row, key, parent, .. } => {
                let child = catalog.table(row.0);
                let owner = catalog.table(child.foreign_keys[key].parent);
                self.lock_parents(run, owner.id, &child.foreign_keys[key], row)?;
                self.child_check(run, child, key, owner, row, parent)
            }
            After::Parent(check) => {
                let looks = matches!(check.action, ReferentialAction::NoAction | ReferentialAction::Restrict);
                let mode = if looks { TableLockMode::RowShare } else { TableLockMode::RowExclusive };
                self.locks().lock_table(check.child, mode)?;
                self.parent_check(run, catalog.table(check.parent), catalog.table(check.child), &check)
            }
            After::Unique { row, index, ref entered } => self.check_deferred_key(row, index, entered),
            After::Begin(triggers, event, set) => self.before_statement(&triggers, event, set, run),
            After::End(triggers, event, set) => self.after_statement(&triggers, event, set, run),
            After::Fire(fire) => self.fire_after(&fire, run),
            After::CascadeDelete { found, key } => {
                let row = found.row;
                let staged = run.staged().and_then(|stage| stage.old.clone());
                let old = match staged {
                    Some(old) => old,
                    None => match self.cascade_target(catalog.table(row.0), key, &found, Lock::delete())? {
                        Some(current) => current.values,
                        None => return Ok(()),
                    },
                };
                match self.triggers_of(row.0) {
                    Some(triggers) => self.cascade_delete(&triggers, row, old, run)?,
                    None => self.delete_version(run, row, &old)?,
                }
                Ok(())
            }
            After::CascadeSet { found, key, set } => {
                let row = found.row;
                let table = catalog.table(row.0);
                let triggers = self.triggers_of(row.0);
                let columns: ColumnSet = set.iter().map(|(c, _)| *c).collect();
                if run.written().is_none() && run.staged().is_none() {
                    let changes_key = |old: &Row| set.iter().any(|(c, v)| table.is_key_column(*c) && old[*c] != *v);
                    let lock = Lock::update(changes_key(&found.old.values));
                    let Some(current) = self.cascade_target(table, key, &found, lock)? else { return Ok(()) };
                    if changes_key(&current.values) {
                        self.lock_row(row, LockStrength::Update)?;
                    }
                    let mut values = current.values.to_vec();
                    set.iter().for_each(|(column, value)| values[*column] = value.clone());
                    let (old, mut new): (Row, Row) = (current.values, values.into());
                    match &triggers {
                        Some(_) => {
                            let (old, new) = (Some(old), Some(new));
                            run.set_stage(RowStage { row: Some(row), old, new, ..RowStage::default() }, false);
                        }
                        None => {
                            self.check_row(row.0, &mut new, &crate::prepare::RowPlan::new(catalog, row.0), run)?;
                            self.update_version(run, row, old, new, ColumnSet::ALL)?;
                        }
                    }
                }
                if let Some(triggers) = triggers.as_ref().filter(|_| run.written().is_none())
                    && !self.cascade_update(triggers, columns, row, run)?
                {
                    return Ok(());
                }
                self.probe_unique(run, if triggers.is_some() { ColumnSet::ALL } else { columns })?;
                if let Some(triggers) = &triggers
                    && let Some(after) = self.written_triggers(triggers, columns, row, run)?
                {
                    self.queue_written(after, run);
                }
                run.at_hand = AtHand::Unwritten { again: false };
                Ok(())
            }
        }
    }

    fn child_check(
        &mut self,
        run: &mut Running,
        child: &Table,
        key_at: usize,
        parent: &Table,
        row: RowRef,
        found: Option<(RowId, u64)>,
    ) -> Result<(), Stop> {
        let fk = &child.foreign_keys[key_at];
        let Some(values) = self.newest(row).map(|t| t.values) else { return Ok(()) };
        let key: Vec<Value> = fk.columns.iter().map(|&c| values[c].clone()).collect();
        if fk.match_full && key.iter().any(Value::is_null) {
            if key.iter().all(Value::is_null) {
                return Ok(());
            }
            let message =
                format!("insert or update on table \"{}\" violates foreign key constraint \"{}\"", child.name, fk.name);
            return Err(SqlError::new(SqlState::FOREIGN_KEY_VIOLATION, message)
                .detail("MATCH FULL does not allow mixing of null and nonnull key values.")
                .constraint(fk.name.clone())
                .into());
        }
        if key.iter().any(Value::is_null) {
            return Ok(());
        }
        self.note_key(parent.id, &fk.parent_columns, &key);
        let candidate = match found {
            Some(found) => Some(found),
            None => {
                self.watch_parent(parent, fk, &key, self.transaction().view().clone())?;
                self.find_parent(parent, fk, &key)
            }
        };
        let missing = || {
            let message =
                format!("insert or update on table \"{}\" violates foreign key constraint \"{}\"", child.name, fk.name);
            let key = key_text(&child.columns, &fk.columns, &key);
            SqlError::new(SqlState::FOREIGN_KEY_VIOLATION, message)
                .detail(format!("Key {key} is not present in table \"{}\".", parent.name))
                .table(child.name.clone())
                .constraint(fk.name.clone())
        };
        let Some((id, seen)) = candidate else { return Err(missing().into()) };
        let target = (parent.id, id);
        if let After::Child { parent, .. } = run.check_mut() {
            *parent = candidate;
        }
        let lock = Lock::select(LockStrength::KeyShare, LockWait::Block);
        match self.lock_version(target, seen, u64::MAX, lock)? {
            Version::Same | Version::SameKey => Ok(()),
            Version::Gone | Version::Newer(_) if self.keeps_snapshot() => Err(concurrent_update().into()),
            Version::Newer(t) if fk.parent_columns.iter().zip(&key).all(|(&c, k)| t.values[c] == *k) => Ok(()),
            Version::Gone | Version::Newer(_) | Version::OwnCommand | Version::Skipped => Err(missing().into()),
        }
    }

    /// At SERIALIZABLE, remembers that a parent was looked for.
    fn watch_parent(&mut self, parent: &Table, fk: &ForeignKey, key: &[Value], view: Tables) -> Result<(), SqlError> {
        if self.transaction().serial.is_none() {
            return Ok(());
        }
        let key: Vec<(usize, Value)> = fk.parent_columns.iter().copied().zip(key.iter().cloned()).collect();
        self.look_up(&view, parent.id, Some(fk.parent_index), &key)
    }

    /// At SERIALIZABLE, remembers that children were looked for: in the newest state, as everybody does.
    fn watch_children(
        &mut self,
        parent: &Table,
        child: &Table,
        check: &ParentCheck,
        key: &[Value],
    ) -> Result<(), SqlError> {
        let fk = &child.foreign_keys[check.key];
        let newest = self.transaction().on_top_of(self.catalog(), &self.db.committed);
        if check.action == ReferentialAction::NoAction {
            self.watch_parent(parent, fk, key, newest.clone())?;
            if self.find_parent(parent, fk, key).is_some() {
                return Ok(());
            }
        }
        let served =
            child.indexes.iter().position(|i| i.columns.first().is_some_and(|first| fk.columns.contains(first)));
        if served.is_none() {
            spend(newest.table(child.id).len() as u64)?;
        }
        let key: Vec<(usize, Value)> = fk.columns.iter().copied().zip(key.iter().cloned()).collect();
        self.look_up(&newest, child.id, served, &key)
    }

    /// Locks the parents' table to look for one; a NULL looks for nobody, and lets go of it at once.
    fn lock_parents(&mut self, run: &mut Running, parents: TableId, fk: &ForeignKey, row: RowRef) -> Result<(), Stop> {
        let lock = LockKey::Table(parents);
        let held = |machine: &Self| machine.transaction().heavy.get(&lock).copied().unwrap_or_default();
        let now = held(self);
        let had = match run.check_mut() {
            After::Child { before, .. } => *before.get_or_insert(now),
            _ => now,
        };
        self.locks().lock_table(parents, TableLockMode::RowShare)?;
        let refers = self.newest(row).is_none_or(|t| fk.columns.iter().all(|&c| !t.values[c].is_null()));
        if refers || held(self) == had {
            return Ok(());
        }
        self.footprint.heavy.push(HeavyEvent {
            key: lock,
            mode: TableLockMode::RowShare,
            kind: LockEventKind::Released,
        });
        let heavy = &mut self.transaction_mut().heavy;
        match had == Modes::default() {
            true => heavy.remove(&lock),
            false => heavy.insert(lock, had),
        };
        Ok(())
    }

    /// The parent with a key: at READ COMMITTED the newest committed, else as the transaction's snapshot has it.
    fn find_parent(&self, parent: &Table, fk: &ForeignKey, key: &[Value]) -> Option<(RowId, u64)> {
        let mine = self.transaction();
        let own = |row: RowId| mine.writes.contains_key(&(parent.id, row));
        let index_key = index_key(parent, fk, key);
        let mut in_view = mine.view().table(parent.id).lookup(fk.parent_index, &index_key);
        let mut committed = self.latest(parent.id).lookup(fk.parent_index, &index_key);
        let found = match self.keeps_snapshot() {
            true => in_view.next(),
            false => in_view.find(|(row, _)| own(*row)).or_else(|| committed.find(|(row, _)| !own(*row))),
        };
        found.map(|(row, tuple)| (row, tuple.position))
    }

    /// A parent's key is gone: what that means for its children. What cascades runs next; the checks of what it changes
    /// come last, behind those already queued.
    fn parent_check(
        &mut self,
        run: &mut Running,
        parent: &Table,
        child: &Table,
        check: &ParentCheck,
    ) -> Result<(), Stop> {
        let fk = &child.foreign_keys[check.key];
        let old_key: Vec<Value> = fk.parent_columns.iter().map(|&c| check.old[c].clone()).collect();
        self.note_key(child.id, &fk.columns, &old_key);
        if self.transaction().serial.is_some() && check.waits_for.is_none() {
            self.watch_children(parent, child, check, &old_key)?;
        }
        if check.action == ReferentialAction::NoAction {
            self.note_key(parent.id, &fk.parent_columns, &old_key);
            if self.find_parent(parent, fk, &old_key).is_some() {
                return Ok(()); // Somebody else has the key by now: no child is left behind.
            }
        }
        let children = self.current_rows(child, &fk.columns, &old_key);
        let set: Option<Vec<Value>> = match check.action {
            ReferentialAction::NoAction | ReferentialAction::Restrict => {
                let first = children.first().map(|(row, tuple)| (*row, tuple.position));
                let Some((row, seen)) = check.waits_for.or(first) else { return Ok(()) };
                let waits_for = Some((row, seen));
                *run.check_mut() = After::Parent(ParentCheck { waits_for, ..check.clone() });
                let lock = Lock::select(LockStrength::KeyShare, LockWait::Block);
                let still = match self.lock_version((child.id, row), seen, u64::MAX, lock)? {
                    Version::Same | Version::SameKey => true,
                    Version::Gone | Version::Newer(_) if self.keeps_snapshot() => {
                        return Err(concurrent_update().into());
                    }
                    Version::Newer(t) => fk.columns.iter().zip(&old_key).all(|(&c, k)| t.values[c] == *k),
                    Version::Gone | Version::OwnCommand | Version::Skipped => false,
                };
                if still {
                    return Err(still_referenced(parent, child, fk, &old_key).into());
                }
                // That child is out of the way; is there another?
                return self.parent_check(run, parent, child, &ParentCheck { waits_for: None, ..check.clone() });
            }
            ReferentialAction::Cascade => {
                check.new.as_ref().map(|new| fk.parent_columns.iter().map(|&c| new[c].clone()).collect())
            }
            ReferentialAction::SetNull => Some(vec![Value::Null; fk.columns.len()]),
            ReferentialAction::SetDefault => Some(defaults(child, fk)?),
        };
        let mut next: Vec<After> = children
            .into_iter()
            .map(|(row, tuple)| {
                let (found, key) = (Found { row: (child.id, row), old: tuple }, check.key);
                match &set {
                    None => After::CascadeDelete { found, key },
                    Some(values) => {
                        let some = check.new.is_none() && !fk.on_delete_columns.is_empty();
                        let set = fk.columns.iter().copied().zip(values.iter().cloned());
                        let set = set.filter(|(c, _)| !some || fk.on_delete_columns.contains(c)).collect();
                        After::CascadeSet { found, key, set }
                    }
                }
            })
            .collect();
        if check.action == ReferentialAction::SetDefault {
            // The default may be the very key that is gone.
            next.push(After::Parent(ParentCheck { action: ReferentialAction::NoAction, ..check.clone() }));
        }
        if let Some(triggers) = self.triggers_of(child.id) {
            let (event, columns) = match set {
                None => (Event::Delete, ColumnSet::NONE),
                Some(_) => (Event::Update, fk.columns.iter().copied().collect()),
            };
            next.insert(0, After::Begin(triggers.clone(), event, columns));
            next.push(After::End(triggers, event, columns));
        }
        let at = run.check_at() + 1;
        run.after.splice(at..at, next);
        Ok(())
    }

    /// Locks a child that a cascade reaches and finds its newest version, unless it has gone or changed its mind.
    fn cascade_target(&mut self, child: &Table, key: usize, found: &Found, lock: Lock) -> Result<Option<Tuple>, Stop> {
        let row = found.row;
        // All of it counts: what is not set is carried along.
        self.footprint.looked.push(row);
        let version = self.lock_version(row, found.old.position, u64::MAX, lock)?;
        self.refuse_changed(row, &version)?;
        if self.keeps_snapshot() && !self.transaction().writes.contains_key(&row) {
            // A child that the snapshot does not show cannot be changed by this transaction.
            let shown = self.transaction().view().version(row).map(|tuple| tuple.position);
            if shown != Some(found.old.position) {
                return Err(concurrent_update().into());
            }
        }
        let columns = &child.foreign_keys[key].columns;
        Ok(self.newest(row).filter(|t| columns.iter().all(|&c| t.values[c] == found.old.values[c])))
    }

    /// The rows, committed or our own, with these values in these columns, in heap order.
    fn current_rows(&self, table: &Table, columns: &[usize], key: &[Value]) -> Vec<(RowId, Tuple)> {
        let mine = self.transaction();
        let matches = |t: &Tuple| columns.iter().zip(key).all(|(&c, k)| t.values[c] == *k);
        let served = table.indexes.iter().position(|i| i.is_plain() && i.columns.starts_with(columns));
        let find = |data: &crate::storage::TableData| -> Vec<(RowId, Tuple)> {
            match served {
                Some(index) => data.lookup(index, key).map(|(row, t)| (row, t.clone())).collect(),
                None => data.scan().filter(|(_, t)| matches(t)).map(|(row, t)| (row, t.clone())).collect(),
            }
        };
        let own = |row: RowId| mine.writes.contains_key(&(table.id, row));
        let mut rows: Vec<_> = find(self.latest(table.id)).into_iter().filter(|(r, _)| !own(*r)).collect();
        rows.extend(find(mine.view().table(table.id)).into_iter().filter(|(r, _)| own(*r)));
        rows.sort_by_key(|(_, tuple)| tuple.position);
        rows
    }

    fn note_key(&mut self, table: TableId, columns: &[usize], key: &[Value]) {
        let kind = ProbeKind::Reference;
        self.footprint.probes.push(Probe { table, columns: columns.to_vec(), key: key.to_vec(), kind });
    }
}

/// The foreign key's values in the order of the parent's index, which need not be that of the REFERENCES clause.
fn index_key(parent: &Table, fk: &ForeignKey, key: &[Value]) -> Vec<Value> {
    let columns = &parent.indexes[fk.parent_index].columns;
    columns
        .iter()
        .filter_map(|column| fk.parent_columns.iter().position(|c| c == column).map(|i| key[i].clone()))
        .collect()
}

fn still_referenced(parent: &Table, child: &Table, fk: &ForeignKey, key: &[Value]) -> SqlError {
    let message = format!(
        "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
        parent.name, fk.name, child.name
    );
    let key = key_text(&parent.columns, &fk.parent_columns, key);
    SqlError::new(SqlState::FOREIGN_KEY_VIOLATION, message)
        .detail(format!("Key {key} is still referenced from table \"{}\".", child.name))
        .table(child.name.clone())
        .constraint(fk.name.clone())
}

/// The defaults of a foreign key's columns.
fn defaults(child: &Table, fk: &ForeignKey) -> Result<Vec<Value>, SqlError> {
    let default = |c: &usize| child.columns[*c].default.as_ref().map_or(Ok(Value::Null), |d| eval::local(d, &[], &[]));
    fk.columns.iter().map(default).collect()
}

/// Whether a row refers to a parent: NULL refers to nobody, unless MATCH FULL minds that only some are.
fn looked_for(fk: &ForeignKey, row: &Row) -> bool {
    let nulls = fk.columns.iter().filter(|&&c| row[c].is_null()).count();
    nulls == 0 || fk.match_full && nulls < fk.columns.len()
}
