//! Which locks on tables and sequences a statement takes before it begins.

use super::LockKey;
use isolde_sql::ast::{Maintenance, TableLockMode};
use isolde_sql::catalog::{Catalog, ForeignKey, Table, TableId};
use isolde_sql::typed::{
    self, CursorCommand, Define, Edit, MergeWhen, QueryBody, RelSource, SessionCommand, StatementKind, TableEdit,
    Validate, With, WithBody,
};

/// The locks that a statement takes before it begins. What foreign keys need is locked when they are looked at, and a
/// sequence when something is drawn from it.
pub(crate) fn locks(catalog: &Catalog, statement: &StatementKind) -> Box<[Lock]> {
    let mut locks = Locks::default();
    match statement {
        StatementKind::Query(query) => {
            locks.withs(catalog, &query.with);
            locks.query(query);
        }
        StatementKind::Insert(insert) => {
            locks.withs(catalog, &insert.with);
            locks.add(insert.table, TableLockMode::RowExclusive);
            locks.query(&insert.source);
            locks.exprs(&insert.values);
            if let Some(update) = insert.on_conflict.as_ref().and_then(|c| c.update.as_ref()) {
                locks.exprs(update.set.iter().map(|(_, e)| e).chain(&update.filter));
            }
            locks.exprs(insert.returning.iter().flat_map(|r| &r.exprs));
        }
        StatementKind::Update(update) => {
            locks.withs(catalog, &update.with);
            locks.add(update.table, TableLockMode::RowExclusive);
            locks.select(&update.select);
            locks.exprs(update.set.iter().map(|(_, e)| e));
            locks.exprs(update.returning.iter().flat_map(|r| &r.exprs));
        }
        StatementKind::Delete(delete) => {
            locks.withs(catalog, &delete.with);
            locks.add(delete.table, TableLockMode::RowExclusive);
            locks.select(&delete.select);
            locks.exprs(delete.returning.iter().flat_map(|r| &r.exprs));
        }
        StatementKind::Merge(merge) => {
            locks.withs(catalog, &merge.with);
            locks.add(merge.table, TableLockMode::RowExclusive);
            locks.select(&merge.select);
            locks.exprs(merge.whens.iter().flat_map(MergeWhen::exprs));
        }
        StatementKind::Truncate(truncate) => {
            truncate.tables.iter().for_each(|t| locks.add(*t, TableLockMode::AccessExclusive));
            for (sequence, _) in &truncate.restart {
                rewritten(sequence, TableLockMode::AccessExclusive, &mut locks.0);
            }
        }
        StatementKind::LockTable { tables, mode, .. } => tables.iter().for_each(|t| locks.add(*t, *mode)),
        StatementKind::Define(define) => {
            of_definition(catalog, define).into_iter().for_each(|(key, mode)| locks.add_key(key, mode));
        }
        StatementKind::Call(_, args) => locks.exprs(args),
        StatementKind::Cursor(CursorCommand::Declare { query, .. }) => return self::locks(catalog, &query.kind),
        StatementKind::Cursor(_) => {}
        StatementKind::Session(SessionCommand::Maintain { work, tables }) => {
            for &table in tables {
                let indexed = !catalog.table(table).indexes.is_empty();
                let mode = match work {
                    Maintenance::Vacuum | Maintenance::Analyze => TableLockMode::ShareUpdateExclusive,
                    // It locks the indexes fully, which everybody who has read the table holds.
                    Maintenance::Reindex if indexed => TableLockMode::AccessExclusive,
                    Maintenance::Reindex => TableLockMode::Share,
                    Maintenance::Cluster => TableLockMode::AccessExclusive,
                    Maintenance::Checkpoint => continue,
                };
                locks.add(table, mode);
            }
        }
        StatementKind::Session(_) | StatementKind::SetConstraints(_) => {}
        StatementKind::Transaction(_) | StatementKind::Set { .. } | StatementKind::Do(_) | StatementKind::Late(_) => {}
    }
    locks.0.into()
}

/// A lock on a table or a sequence.
type Lock = (LockKey, TableLockMode);

/// Locks, in the order in which they are asked for first.
#[derive(Default)]
struct Locks(Vec<Lock>);

impl Locks {
    fn add(&mut self, table: TableId, mode: TableLockMode) {
        self.add_key(LockKey::Table(table), mode);
    }

    fn add_key(&mut self, key: LockKey, mode: TableLockMode) {
        // What reads a table that it also locks more strongly takes the stronger lock first.
        let reads = mode == TableLockMode::AccessShare;
        if !self.0.iter().any(|(k, m)| *k == key && (reads || *m == mode)) {
            self.0.push((key, mode));
        }
    }

    /// What the statements of WITH need; its queries are among those of the statement.
    fn withs(&mut self, catalog: &Catalog, withs: &[With]) {
        for with in withs {
            match &with.body {
                WithBody::Modify(statement) => {
                    let needed = locks(catalog, &statement.kind);
                    needed.iter().for_each(|(key, mode)| self.add_key(*key, *mode));
                }
                WithBody::Query(query) => self.query(query),
                WithBody::Recursive { first, step, .. } => {
                    self.query(first);
                    self.query(step);
                }
            }
        }
    }

    fn query(&mut self, query: &typed::Query) {
        if let QueryBody::Select(select) = &query.body {
            self.rels(select, |rel| query.locking.iter().any(|clause| clause.rels.contains(&rel)));
        }
        query.exprs(&mut |e| self.expr(e));
        query.queries(&mut |q| self.query(q));
    }

    fn select(&mut self, select: &typed::Select) {
        self.rels(select, |_| false);
        select.exprs(&mut |e| self.expr(e));
        select.queries(&mut |q| self.query(q));
    }

    /// The tables of FROM, in the order in which they stand there.
    fn rels(&mut self, select: &typed::Select, is_locked: impl Fn(usize) -> bool) {
        for (rel, source) in select.rels.iter().enumerate() {
            if let RelSource::Table(table) = &source.source {
                self.add(*table, if is_locked(rel) { TableLockMode::RowShare } else { TableLockMode::AccessShare });
            }
        }
    }

    fn exprs<'a>(&mut self, exprs: impl IntoIterator<Item = &'a typed::Expr>) {
        exprs.into_iter().for_each(|e| self.expr(e));
    }

    fn expr(&mut self, expr: &typed::Expr) {
        expr.children(&mut |child| self.expr(child));
        if let Some(query) = expr.subquery() {
            self.query(query);
        }
    }
}

/// The locks that a definition takes on tables and sequences that exist.
fn of_definition(catalog: &Catalog, define: &Define) -> Vec<Lock> {
    use TableLockMode::{AccessExclusive, ShareRowExclusive};
    match define {
        Define::Change(change) => {
            let mut locks = Vec::new();
            for edit in &change.edits {
                of_edit(catalog, edit, &mut locks);
            }
            locks
        }
        Define::Trigger { table, .. } | Define::SwitchTriggers { table, .. } => {
            vec![(LockKey::Table(*table), ShareRowExclusive)]
        }
        Define::DropTrigger { table, .. } => vec![(LockKey::Table(*table), AccessExclusive)],
        Define::Routine(_) | Define::Type(_) | Define::AlterType(..) | Define::DropType { .. } => Vec::new(),
    }
}

/// VALIDATE CONSTRAINT: nothing is added or dropped, and rows are only looked at.
fn validates_only(old: &Table, edit: &TableEdit) -> bool {
    let new = &edit.table;
    !edit.validate.is_empty()
        && edit.validate.iter().all(|v| !matches!(v, Validate::NotNull(_)))
        && old.foreign_keys.len() == new.foreign_keys.len()
        && old.checks.len() == new.checks.len()
        && old.indexes.len() == new.indexes.len()
}

fn of_edit(catalog: &Catalog, edit: &Edit, locks: &mut Vec<Lock>) {
    use TableLockMode::{AccessExclusive, Share, ShareRowExclusive};
    let exists = |table: TableId| (table.0 as usize) < catalog.table_count();
    match edit {
        Edit::AddTable(table) => {
            let parents = table.foreign_keys.iter().map(|fk| fk.parent).filter(|parent| exists(*parent));
            locks.extend(parents.map(|parent| (LockKey::Table(parent), ShareRowExclusive)));
        }
        Edit::Table(edit) => {
            let (old, new) = (catalog.table(edit.table.id), &edit.table);
            let parents: Vec<TableId> =
                new.foreign_keys.iter().skip(old.foreign_keys.len()).map(|fk| fk.parent).collect();
            let only_constraints = edit.rows.is_none() && old.columns.len() == new.columns.len();
            let one_more_index = new.indexes.len() == old.indexes.len() + 1 && new.checks.len() == old.checks.len();
            if only_constraints && validates_only(old, edit) {
                locks.push((LockKey::Table(new.id), TableLockMode::ShareUpdateExclusive));
                let validated = |fk: &&ForeignKey| {
                    edit.validate.iter().any(|v| matches!(v, Validate::ForeignKey(name) if *name == fk.name))
                };
                locks.extend(
                    new.foreign_keys
                        .iter()
                        .filter(validated)
                        .map(|fk| (LockKey::Table(fk.parent), TableLockMode::RowShare)),
                );
                return;
            }
            let own = match (only_constraints, parents.is_empty()) {
                (true, false) => ShareRowExclusive,
                (true, true) if one_more_index && new.indexes.last().is_some_and(|i| !i.constraint) => Share,
                _ => AccessExclusive,
            };
            locks.push((LockKey::Table(new.id), own));
            locks.extend(parents.into_iter().map(|parent| (LockKey::Table(parent), ShareRowExclusive)));
        }
        Edit::DropTable(table) => {
            // The triggers of foreign keys go too, on either side.
            locks.push((LockKey::Table(*table), AccessExclusive));
            locks.extend(
                catalog.table(*table).foreign_keys.iter().map(|fk| (LockKey::Table(fk.parent), AccessExclusive)),
            );
            let sequences = catalog.table(*table).columns.iter().filter_map(|c| c.sequence.as_ref());
            locks.extend(sequences.map(|name| (LockKey::sequence(name), AccessExclusive)));
            locks.extend(catalog.references_to(*table).map(|(child, _)| (LockKey::Table(child.id), AccessExclusive)));
        }
        Edit::Clear(table) => locks.push((LockKey::Table(*table), AccessExclusive)),
        Edit::Sequence(new) if catalog.sequence(&new.name).is_some_and(|old| !old.same_but_owner(new)) => {
            rewritten(&new.name, ShareRowExclusive, locks);
        }
        Edit::RestartSequence(name, _) => rewritten(name, ShareRowExclusive, locks),
        Edit::RenameSequence(name, _) | Edit::DropSequence(name) => {
            locks.push((LockKey::sequence(name), AccessExclusive));
        }
        _ => {}
    }
}

/// Who writes a sequence anew first locks it, and then opens it like those who draw from it.
fn rewritten(name: &str, mode: TableLockMode, locks: &mut Vec<Lock>) {
    let key = LockKey::sequence(name);
    locks.extend([(key, mode), (key, TableLockMode::RowExclusive)]);
}
