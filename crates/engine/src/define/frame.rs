//! Definitions belong to their transaction until it commits.
//!
//! A transaction that defines something has a schema of its own, and tables of its own in place of those whose
//! structure it changes: its [`Definitions`]. Everybody else goes on with what is committed; the table locks taken
//! before make those wait who could tell. COMMIT puts both in place, and tells others:
//!
//! ```text
//!   committed schema ──clone──▶ own schema ──define──▶ own schema' ──COMMIT──▶ committed
//!   committed tables ──────────▶ rebuilt: { t: rows in their new shape } ──COMMIT──▶ committed
//! ```
//!
//! While a definition is carried out, `db.schema` and `db.committed` *are* what the transaction has, so that the code
//! of a definition need not know about any of this: it changes the catalog it is given and the tables of
//! `db.committed`. What it has changed is found out afterwards. A savepoint keeps a copy, like of everything else.
//!
//! Others who keep an old snapshot find a table that was truncated or rewritten *empty*, as in PostgreSQL; a new index
//! is built over what they see, and columns that come and go do so in their rows, too. Two transactions may both define
//! things, as long as these are different things.

use std::sync::Arc;

use imbl::OrdMap;
use isolde_sql::ast::TableLockMode;
use isolde_sql::ast::plpgsql::RaiseLevel;
use isolde_sql::builtin::Eval;
use isolde_sql::catalog::{Catalog, Table, TableId};
use isolde_sql::refused::Construct;
use isolde_sql::typed::{Define, Edit, Expr, ExprKind, Truncate};
use isolde_sql::{Row, SqlError, SqlState, Value};

use crate::database::{Database, Schema, row_digest};
use crate::define::sequence::OwnSequences;
use crate::exec::Executor;
use crate::footprint::{ColumnSet, Write};
use crate::lock::{LockKey, RowRef, Scope};
use crate::session::{Frame, Notice};
use crate::storage::{TableData, Tables, Tuple};
use crate::transaction::Transaction;

/// What a transaction has defined and not committed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Definitions {
    /// Its own schema, if that differs from the committed one.
    pub(crate) schema: Option<Arc<Schema>>,
    /// The tables it has made, emptied or changed: their committed rows to be, without its later writes.
    pub(crate) rebuilt: OrdMap<TableId, Rebuilt>,
    /// The sequences it has made anew.
    pub(crate) sequences: OwnSequences,
}

/// A table in its new shape.
#[derive(Clone, Debug)]
pub(crate) struct Rebuilt {
    pub(crate) data: Arc<TableData>,
    /// What that means for older snapshots.
    pub(crate) change: Rebuild,
    /// Over its rows.
    pub(crate) digest: u128,
}

/// What has become of a table's rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Rebuild {
    /// They are the same: only indexes are new.
    Indexes,
    /// Columns came, with one value for all rows, or went: each step makes a row of the row before.
    Columns(Vec<Arc<[Slot]>>),
    /// They are new: older snapshots see none.
    Rows,
}

/// Where a column of a row in its new shape comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Slot {
    Old(usize),
    Value(Value),
}

impl Rebuild {
    /// One thing after the other.
    fn then(self, next: Rebuild) -> Rebuild {
        match (self, next) {
            (Rebuild::Rows, _) | (_, Rebuild::Rows) => Rebuild::Rows,
            (Rebuild::Indexes, other) | (other, Rebuild::Indexes) => other,
            (Rebuild::Columns(first), Rebuild::Columns(then)) => Rebuild::Columns([first, then].concat()),
        }
    }

    /// What a table looks like in a snapshot from before.
    fn seen_before(&self, data: &TableData, table: &Table) -> TableData {
        match self {
            Rebuild::Indexes => data.reindexed(table),
            Rebuild::Columns(steps) => {
                data.reshaped(|row| steps.iter().fold(row.clone(), |row, step| shape(&row, step))).reindexed(table)
            }
            Rebuild::Rows => TableData::new(table.indexes.len()),
        }
    }
}

fn shape(row: &Row, slots: &[Slot]) -> Row {
    let value = |slot: &Slot| match slot {
        Slot::Old(column) => row.get(*column).cloned().unwrap_or(Value::Null),
        Slot::Value(value) => value.clone(),
    };
    slots.iter().map(value).collect()
}

impl Rebuilt {
    fn new(table: TableId, data: TableData, change: Rebuild) -> Self {
        let digest = data.iter().fold(0u128, |sum, (_, t)| sum.wrapping_add(row_digest(table, &t.values)));
        Rebuilt { data: Arc::new(data), change, digest }
    }
}

impl Definitions {
    pub(crate) fn is_empty(&self) -> bool {
        self.schema.is_none() && self.rebuilt.is_empty() && self.sequences.is_empty()
    }

    /// Puts its tables in place of those of a snapshot; `keeps` says that rows are to be as the snapshot has them.
    pub(crate) fn apply(&self, catalog: &Catalog, tables: &mut Tables, keeps: bool) {
        tables.grow(catalog);
        for (id, rebuilt) in &self.rebuilt {
            match keeps && rebuilt.change == Rebuild::Indexes && catalog.has_table(*id) {
                true => *tables.table_mut(*id) = tables.table(*id).reindexed(catalog.table(*id)),
                false => tables.replace(*id, rebuilt.data.clone()),
            }
        }
    }
}

impl Executor<'_> {
    /// The newest rows of a table that are committed, or were when this transaction made the table its own.
    pub(crate) fn latest(&self, table: TableId) -> &TableData {
        let definitions = self.session.transaction.as_ref().map(|t| &t.definitions);
        let own = definitions.filter(|d| !d.rebuilt.is_empty()).and_then(|d| d.rebuilt.get(&table));
        own.map_or_else(|| self.db.committed.table(table), |rebuilt| &rebuilt.data)
    }

    /// The newest version of a row in [`Executor::latest`].
    pub(crate) fn latest_version(&self, row: RowRef) -> Option<&Tuple> {
        match &self.session.transaction {
            Some(t) if !t.definitions.rebuilt.is_empty() => self.latest(row.0).get(row.1),
            _ => self.db.committed.version(row),
        }
    }

    /// Carries out a definition.
    pub(crate) fn define(&mut self, define: &Define) -> Result<&'static str, SqlError> {
        self.footprint.everything = true;
        let before = self.working_tables();
        let own = self.schema().clone();
        let mut catalog = own.catalog.clone();
        let (schema, digest) = (std::mem::replace(&mut self.db.schema, own), self.db.committed_digest);
        let committed = std::mem::replace(&mut self.db.committed, before.clone());
        let done = self.define_in(&mut catalog, define);
        let after = std::mem::replace(&mut self.db.committed, committed);
        (self.db.schema, self.db.committed_digest) = (schema, digest);
        let verb = done?;
        self.refuse_clash(&catalog)?;
        self.keep_rebuilt(define, &before, &after, &catalog);
        self.set_schema(catalog);
        Ok(verb)
    }

    /// TRUNCATE has locked a table, and refuses it before it looks for the next if checks of its rows are still to
    /// come.
    pub(crate) fn refuse_pending(&mut self, truncate: &Truncate, table: TableId) -> Result<(), SqlError> {
        if !self.session.transaction.as_ref().is_some_and(|t| t.deferred.concerns(table)) {
            return Ok(());
        }
        // What it has come to by CASCADE is last, and has been told.
        let place = truncate.tables.iter().position(|t| *t == table).map_or(0, |place| place + 1);
        let named = truncate.tables.len() - truncate.notices.len();
        for notice in truncate.notices.iter().take(place.saturating_sub(named)) {
            self.notices.push(Notice { level: RaiseLevel::Notice, message: notice.clone() });
        }
        let name = &self.catalog().table(table).name;
        let message = format!("cannot TRUNCATE \"{name}\" because it has pending trigger events");
        Err(SqlError::new(SqlState::OBJECT_IN_USE, message))
    }

    /// TRUNCATE leaves a table of its own without rows.
    pub(crate) fn truncate(&mut self, truncate: &Truncate) -> Result<&'static str, SqlError> {
        self.footprint.everything = true;
        let schema = self.schema().clone();
        let tables = &truncate.tables;
        for notice in &truncate.notices {
            self.notices.push(Notice { level: RaiseLevel::Notice, message: notice.clone() });
        }
        for &table in tables {
            let referenced = schema.catalog.references_to(table).find(|(child, _)| !tables.contains(&child.id));
            if let Some((child, _)) = referenced {
                let message = "cannot truncate a table referenced in a foreign key constraint";
                let name = &schema.catalog.table(table).name;
                let detail = format!("Table \"{}\" references \"{name}\".", child.name);
                let hint = format!("Truncate table \"{}\" at the same time, or use TRUNCATE ... CASCADE.", child.name);
                return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message).detail(detail).hint(hint));
            }
        }
        let working = self.working_tables();
        for &table in tables {
            self.check_truncate(table)?;
            let rows = working.table(table).scan();
            let gone = rows.map(|(row, t)| (row, Some(t.values.clone())));
            let set = ColumnSet::ALL;
            self.footprint.writes.extend(gone.map(|(row, before)| Write { table, row, before, after: None, set }));
            let empty = TableData::new(schema.catalog.table(table).indexes.len()).in_new_heap(self.db.next_position);
            self.transaction_mut().rebuild(table, Rebuilt::new(table, empty, Rebuild::Rows), true);
            if self.db.tracks_table_locks {
                // Its indexes are built again, which takes a lock of its own.
                self.session.take_heavy(LockKey::Table(table), TableLockMode::Share, Scope::Transaction);
            }
        }
        for (sequence, start) in &truncate.restart {
            self.restart_sequence(sequence, *start);
        }
        Ok("TRUNCATE TABLE")
    }

    /// Everything committed, with what this transaction has done to it.
    fn working_tables(&self) -> Tables {
        let catalog = &self.schema().catalog;
        let mut tables = self.db.committed.clone();
        tables.grow(catalog);
        if let Some(t) = &self.session.transaction {
            t.definitions.apply(catalog, &mut tables, false);
            t.apply_writes(catalog, &mut tables);
        }
        tables
    }

    /// Remembers the tables that a definition has changed.
    fn keep_rebuilt(&mut self, define: &Define, before: &Tables, after: &Tables, catalog: &Catalog) {
        for id in (0..after.len()).map(|id| TableId(id as u32)).filter(|id| !after.same_table(before, *id)) {
            let same_rows =
                catalog.has_table(id) && before.len() > id.0 as usize && after.table(id).same_rows(before.table(id));
            let earlier =
                self.transaction().definitions.rebuilt.get(&id).map_or(Rebuild::Indexes, |r| r.change.clone());
            let (data, change) = match same_rows {
                true => (self.latest(id).reindexed(catalog.table(id)), Rebuild::Indexes),
                false => (after.table(id).clone(), self.change_of_rows(define, id, after.table(id))),
            };
            let data = if change == Rebuild::Rows { data.in_new_heap(self.db.next_position) } else { data };
            let rebuilt = Rebuilt::new(id, data, earlier.then(change));
            self.transaction_mut().rebuild(id, rebuilt, !same_rows);
        }
    }

    /// Whether a definition has only made columns come and go, as PostgreSQL does without touching the rows.
    fn change_of_rows(&self, define: &Define, id: TableId, data: &TableData) -> Rebuild {
        let Define::Change(change) = define else { return Rebuild::Rows };
        let mut edits = change.edits.iter().filter_map(|edit| match edit {
            Edit::Table(edit) if edit.table.id == id => edit.rows.as_ref(),
            _ => None,
        });
        let (Some(columns), None, true) = (edits.next(), edits.next(), self.catalog().has_table(id)) else {
            return Rebuild::Rows;
        };
        let old = &self.catalog().table(id).columns;
        let row = data.iter().next().map(|(_, tuple)| &tuple.values);
        let slot = |(i, e): (usize, &Expr)| match e.kind {
            ExprKind::Column { col, .. } => {
                let same = old.get(usize::from(col)).is_some_and(|c| c.ty == e.ty || c.ty.is_text() && e.ty.is_text());
                same.then_some(Slot::Old(usize::from(col)))
            }
            _ if is_one_value(e) => Some(Slot::Value(row.and_then(|row| row.get(i)).cloned().unwrap_or(Value::Null))),
            _ => None,
        };
        let slots: Option<Arc<[Slot]>> = columns.iter().enumerate().map(slot).collect();
        slots.map_or(Rebuild::Rows, |slots| Rebuild::Columns(vec![slots]))
    }

    fn set_schema(&mut self, mut catalog: Catalog) {
        catalog.set_version(self.db.next_schema_version());
        let t = self.transaction_mut();
        t.definitions.schema = Some(Arc::new(Schema::new(catalog)));
        t.invalidate_view();
    }

    /// Definitions of transactions that are open at the same time must be of different things.
    fn refuse_clash(&self, mine: &Catalog) -> Result<(), SqlError> {
        let base = &self.db.schema.catalog;
        for (_, session) in self.others() {
            let theirs = session.transaction.as_ref().and_then(|t| t.definitions.schema.as_ref());
            if theirs.is_some_and(|theirs| Catalog::merged(base, mine, &theirs.catalog).is_none()) {
                return Err(SqlError::unsupported(Construct::CLASHING_DEFINITIONS)
                    .hint("run it on a real server: --on postgres://..."));
            }
        }
        Ok(())
    }

    /// Numbers of tables and routines that open transactions have given out are not given out again.
    pub(crate) fn reserve_numbers(&mut self) {
        let others = self.others().filter_map(|(_, s)| s.transaction.as_ref()?.definitions.schema.as_ref());
        let counts = others.map(|s| (s.catalog.table_count(), s.catalog.routine_count()));
        let Some((tables, routines)) = counts.reduce(|a, b| (a.0.max(b.0), a.1.max(b.1))) else { return };
        self.footprint.everything = true;
        let mine = &self.schema().catalog;
        if mine.table_count() < tables || mine.routine_count() < routines {
            let mut catalog = mine.clone();
            catalog.reserve(tables, routines);
            self.set_schema(catalog);
        }
    }

    /// COMMIT makes definitions everybody's. Says what open snapshots must know of.
    pub(crate) fn publish_definitions(&mut self, t: &Transaction) -> Vec<(TableId, u128)> {
        self.footprint.everything = true;
        let Definitions { schema, rebuilt, sequences } = &t.definitions;
        let old = self.db.schema.clone();
        let new = schema.clone().unwrap_or_else(|| old.clone());
        self.db.committed.grow(&new.catalog);
        let mut published = Vec::new();
        for (id, table) in rebuilt {
            self.publish_table(*id, &old.catalog, &new.catalog, &table.data);
            published.push((*id, isolde_digest::tagged(0x52, (id, &table.change, table.digest))));
            self.db.recount_table(*id, &table.data);
            self.footprint.defined.push(*id);
        }
        sequences.publish(&mut self.db.sequences);
        if schema.is_some() {
            self.footprint.defined.extend(new.catalog.changed_tables(&old.catalog));
            self.db.schema = new.clone();
        }
        self.db.epoch += 1;
        self.tell_of_definitions(&t.definitions, &old.catalog, &new.catalog);
        published
    }

    /// The rows that changed hands, if the table still has the same columns.
    fn publish_table(&mut self, id: TableId, old: &Catalog, new: &Catalog, data: &TableData) {
        let width = |catalog: &Catalog| catalog.has_table(id).then(|| catalog.table(id).columns.len());
        if width(new).is_none_or(|columns| width(old).is_some_and(|before| before != columns)) {
            return;
        }
        let changes = self.db.committed.table(id).changed_rows(data);
        self.footprint.published.extend(changes.into_iter().map(|(row, before, after)| Write {
            table: id,
            row,
            before,
            after,
            set: ColumnSet::ALL,
        }));
    }

    /// Other transactions build on what is now committed, and keep their snapshots of it.
    fn tell_of_definitions(&mut self, definitions: &Definitions, old: &Catalog, new: &Catalog) {
        let me = self.me;
        let mut version = self.db.schema_versions;
        for slot in self.db.sessions.iter_mut().enumerate().filter(|(id, _)| *id != me.0).map(|(_, slot)| slot) {
            let Some(t) = &slot.transaction else { continue };
            let defines = t.definitions.schema.is_some();
            if !defines && t.snapshot.is_none() && slot.stack.frames.iter().all(|f| f.running().next().is_none()) {
                continue;
            }
            let session = Arc::make_mut(slot);
            if let Some(t) = &mut session.transaction {
                t.see_definitions(definitions, new);
                t.each_definitions(|own| rebase(own, old, new, &mut version));
            }
            for run in session.stack.frames.iter_mut().flat_map(Frame::running_mut) {
                older(&mut run.view.tables, definitions, new);
            }
        }
        self.db.schema_versions = version;
    }
}

/// A schema that was made from an older one, made from a newer one. What cannot be merged was refused when it was made.
fn rebase(own: &mut Definitions, old: &Catalog, new: &Catalog, version: &mut u64) {
    let Some(schema) = &mut own.schema else { return };
    if let Some(mut merged) = Catalog::merged(old, &schema.catalog, new) {
        *version += 1;
        merged.set_version(*version);
        *schema = Arc::new(Schema::new(merged));
    }
}

/// What a snapshot taken before shows of tables that have been redefined since.
pub(crate) fn older(tables: &mut Tables, definitions: &Definitions, new: &Catalog) {
    tables.grow(new);
    for (id, rebuilt) in definitions.rebuilt.iter().filter(|(id, _)| new.has_table(**id)) {
        let table = new.table(*id);
        let data = rebuilt.change.seen_before(tables.table(*id), table);
        tables.replace(*id, Arc::new(data.in_heap_of(&rebuilt.data)));
    }
}

/// Whether an expression has one value for all rows.
fn is_one_value(e: &Expr) -> bool {
    let mut one = true;
    e.walk(0, &mut |e, _| {
        one &= match &e.kind {
            ExprKind::Column { .. } | ExprKind::WholeRow { .. } | ExprKind::Routine(..) => false,
            ExprKind::Call(function, _) => match function.eval {
                Eval::Session(function) => function.is_stable(),
                _ => true,
            },
            _ => e.subquery().is_none(),
        };
    });
    one
}

impl Database {
    pub(crate) fn next_schema_version(&mut self) -> u64 {
        self.schema_versions += 1;
        self.schema_versions
    }
}
