//! Carrying out a change of what is defined, one [`Edit`] after the other.
//!
//! The catalog's half of the work is [`Edit::apply`]; here is what becomes of rows. Rows are written anew in place:
//! they keep their identity and their order in the heap. What all rows must fulfil is looked at when everything else is
//! done, with the transaction's own rows among them.

use std::sync::Arc;

use isolde_sql::ast::plpgsql::RaiseLevel;
use isolde_sql::catalog::{Catalog, ForeignKey, Index, Table};
use isolde_sql::refused::Construct;
use isolde_sql::typed::{self, Change, Edit, TableEdit, Validate};
use isolde_sql::{Row, SqlError, SqlState, Value};

use crate::database::Schema;
use crate::eval::{self, Calls, Env, Interrupt, RelRow};
use crate::exec::Executor;
use crate::session::Notice;
use crate::storage::{Key, TableData, Tuple, key_of};

impl Executor<'_> {
    /// Carries out a change; `catalog` ends as what it shall be.
    pub(super) fn change(&mut self, catalog: &mut Catalog, change: &Change) -> Result<&'static str, SqlError> {
        for notice in &change.notices {
            self.notices.push(Notice { level: RaiseLevel::Notice, message: notice.clone() });
        }
        for edit in &change.edits {
            self.edit(catalog, edit)?;
        }
        for edit in &change.edits {
            if let Edit::Table(edit) = edit {
                self.validate(catalog, edit)?;
            }
        }
        Ok(change.tag)
    }

    fn edit(&mut self, catalog: &mut Catalog, edit: &Edit) -> Result<(), SqlError> {
        match edit {
            Edit::AddTable(table) => self.db.committed.push(TableData::new(table.indexes.len())),
            Edit::Table(edit) => {
                let old = catalog.table(edit.table.id).clone();
                edit_apply(catalog, edit);
                return self.change_table(catalog, &old, edit);
            }
            Edit::DropTable(table) | Edit::Clear(table) => {
                let count = catalog.table(*table).indexes.len();
                if matches!(edit, Edit::DropTable(_)) {
                    let columns = &catalog.table(*table).columns;
                    columns.iter().filter_map(|c| c.sequence.as_ref()).for_each(|name| self.drop_sequence(name));
                }
                *self.db.committed.table_mut(*table) = TableData::new(count);
            }
            Edit::RestartSequence(name, value) => self.restart_sequence(name, *value),
            Edit::Sequence(sequence) => self.change_sequence(catalog, sequence),
            Edit::RenameSequence(from, to) => self.rename_sequence(from, to),
            Edit::DropSequence(name) => self.drop_sequence(name),
            _ => {}
        }
        edit.apply(catalog);
        Ok(())
    }

    fn change_table(&mut self, catalog: &Catalog, old: &Table, edit: &TableEdit) -> Result<(), SqlError> {
        let table = &edit.table;
        let same = |(a, b): (&Index, &Index)| {
            let special = match (&a.special, &b.special) {
                (None, None) => true,
                (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                _ => false,
            };
            special && a.columns == b.columns && a.unique == b.unique
        };
        let indexes_stay = old.indexes.len() == table.indexes.len() && old.indexes.iter().zip(&table.indexes).all(same);
        if edit.rows.is_none() && indexes_stay {
            return Ok(());
        }
        let data = match &edit.rows {
            Some(rows) => {
                // Sequences that new columns draw from are those of the new catalog.
                self.work_with(catalog);
                let rows: Vec<crate::plan::Expr> = rows.iter().map(|e| crate::plan::expr(catalog, e)).collect();
                self.rewrite(table, &rows)?
            }
            None => self.db.committed.table(table.id).reindexed(table),
        };
        if !data.is_empty() {
            // Building indexes has counted the rows.
            Arc::make_mut(&mut self.db.ambient).statistics.known.insert(table.id);
        }
        *self.db.committed.table_mut(table.id) = data;
        Ok(())
    }

    /// From now on the statement works with this catalog.
    fn work_with(&mut self, catalog: &Catalog) {
        let schema = Arc::new(Schema::new(catalog.clone()));
        if let Some(own) = self.session.transaction.as_mut().and_then(|t| t.definitions.schema.as_mut()) {
            *own = schema.clone();
        }
        self.db.schema = schema;
    }

    /// Every row of a table becomes what the expressions make of it.
    fn rewrite(&mut self, table: &Table, exprs: &[crate::plan::Expr]) -> Result<TableData, SqlError> {
        let rows: Vec<_> = self.db.committed.table(table.id).scan().map(|(row, t)| (row, t.clone())).collect();
        let mut data = TableData::new(table.indexes.len());
        for (row, tuple) in rows {
            let values = self.rewritten(&tuple.values, exprs)?;
            data.put(table, row, Tuple { values, ..tuple });
        }
        Ok(data)
    }

    fn rewritten(&mut self, old: &Row, exprs: &[crate::plan::Expr]) -> Result<Row, SqlError> {
        let view = crate::storage::Tables::none();
        let rows = [RelRow::new(old.clone())];
        let mut calls = Calls::default();
        let values = self.with_context(view, &[], &mut calls, |ctx| {
            exprs.iter().map(|e| eval::eval(ctx, &Env::new(&rows), e)).collect::<Result<Vec<Value>, _>>()
        });
        match values {
            Ok(values) => Ok(values.into()),
            Err(Interrupt::Error(error)) => Err(error),
            Err(_) => Err(SqlError::unsupported(Construct::ROUTINE_IN_CHANGE_OF_TABLE)),
        }
    }

    /// What all rows must fulfil.
    fn validate(&self, catalog: &Catalog, edit: &TableEdit) -> Result<(), SqlError> {
        // A later step of the same statement may have dropped it.
        if !catalog.has_table(edit.table.id) {
            return Ok(());
        }
        let table = catalog.table(edit.table.id);
        let unique: Vec<&Index> = table.indexes.iter().filter(|i| i.unique).collect();
        if edit.validate.is_empty() && unique.is_empty() {
            return Ok(());
        }
        let tables = &self.db.committed;
        let rows: Vec<&Tuple> = tables.table(table.id).scan().map(|(_, tuple)| tuple).collect();
        for index in unique {
            check_unique(table, index, &rows)?;
        }
        for validate in &edit.validate {
            match validate {
                Validate::NotNull(column) => check_not_null(table, *column, &rows)?,
                Validate::Check(name) => {
                    if let Some(check) = table.checks.iter().find(|c| c.name == *name) {
                        check_rows(table, check, &rows)?;
                    }
                }
                Validate::ForeignKey(name) => {
                    if let Some(fk) = table.foreign_keys.iter().find(|k| k.name == *name) {
                        let parent = catalog.table(fk.parent);
                        check_parents(table, parent, fk, &rows, tables.table(fk.parent))?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn edit_apply(catalog: &mut Catalog, edit: &TableEdit) {
    catalog.replace_table(edit.table.clone());
}

fn check_unique(table: &Table, index: &Index, rows: &[&Tuple]) -> Result<(), SqlError> {
    let mut keys: Vec<Key> = rows.iter().filter_map(|t| key_of(index, &t.values)).collect();
    keys.retain(|key| !index.allows_twins(key));
    keys.sort();
    match keys.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => {
            let message = format!("could not create unique index \"{}\"", index.name);
            let key = crate::exec::index_key_text(&table.columns, index, &pair[0]);
            Err(SqlError::new(SqlState::UNIQUE_VIOLATION, message)
                .detail(format!("Key {key} is duplicated."))
                .constraint(index.name.clone()))
        }
    }
}

fn check_not_null(table: &Table, column: usize, rows: &[&Tuple]) -> Result<(), SqlError> {
    if !rows.iter().any(|t| t.values[column].is_null()) {
        return Ok(());
    }
    let name = &table.columns[column].name;
    let message = format!("column \"{name}\" of relation \"{}\" contains null values", table.name);
    Err(SqlError::new(SqlState::NOT_NULL_VIOLATION, message))
}

fn check_rows(table: &Table, check: &isolde_sql::catalog::Check, rows: &[&Tuple]) -> Result<(), SqlError> {
    let condition = eval::compile_local(&check.expr);
    for tuple in rows {
        if eval::local_truth(&condition, &tuple.values, &[])? == Some(false) {
            let message =
                format!("check constraint \"{}\" of relation \"{}\" is violated by some row", check.name, table.name);
            return Err(SqlError::new(SqlState::CHECK_VIOLATION, message).constraint(check.name.clone()));
        }
    }
    Ok(())
}

fn check_parents(
    table: &Table,
    parent: &Table,
    fk: &ForeignKey,
    rows: &[&Tuple],
    parents: &TableData,
) -> Result<(), SqlError> {
    for tuple in rows {
        let key: Vec<Value> = fk.columns.iter().map(|&c| tuple.values[c].clone()).collect();
        let nulls = key.iter().filter(|v| v.is_null()).count();
        let fail = |detail: String| {
            let message =
                format!("insert or update on table \"{}\" violates foreign key constraint \"{}\"", table.name, fk.name);
            Err(SqlError::new(SqlState::FOREIGN_KEY_VIOLATION, message).detail(detail).constraint(fk.name.clone()))
        };
        if fk.match_full && nulls > 0 && nulls < key.len() {
            return fail("MATCH FULL does not allow mixing of null and nonnull key values.".into());
        }
        if nulls == 0 && parents.lookup(fk.parent_index, &key).next().is_none() {
            let shown = crate::exec::key_text(&table.columns, &fk.columns, &key);
            return fail(format!("Key {shown} is not present in table \"{}\".", parent.name));
        }
    }
    Ok(())
}

/// The INSERT that fills a table from a query.
pub(crate) fn fill_statement(catalog: &Catalog, fill: &typed::Fill, verb: &'static str) -> typed::Statement {
    let table = catalog.table(fill.table);
    let column = |(i, c): (usize, &isolde_sql::catalog::Column)| typed::Expr {
        kind: typed::ExprKind::Column { depth: 0, rel: 0, col: i as u16 },
        ty: c.ty,
    };
    let insert = typed::Insert {
        with: Default::default(),
        table: fill.table,
        source: (*fill.query).clone(),
        values: table.columns.iter().enumerate().map(column).collect(),
        on_conflict: None,
        returning: None,
        verb,
        view_checks: Vec::new(),
    };
    typed::Statement {
        kind: typed::StatementKind::Insert(insert),
        text: verb.into(),
        span: isolde_sql::Span::default(),
    }
}
