//! DDL: what each definition does to the catalog and to the rows.
//!
//! A definition changes the catalog it is given and the tables of `db.committed`; that both belong to its transaction
//! alone until it commits is the [`frame`]'s business.

pub(crate) mod frame;
mod types;

use std::sync::Arc;

use isolde_sql::catalog::{Catalog, Index, Table, TableConstraintDef, TableId, Trigger};
use isolde_sql::typed::Define;
use isolde_sql::{SqlError, SqlState, Type, Value};

use crate::eval;
use crate::machine::Machine;
use crate::storage::{TableData, key_of};

impl Machine<'_> {
    /// Carries out a definition on a catalog and the tables of the database.
    pub(crate) fn define_in(&mut self, catalog: &mut Catalog, define: &Define) -> Result<&'static str, SqlError> {
        match define {
            Define::Table { table, sequences } => {
                sequences.iter().for_each(|s| catalog.add_sequence(s.clone()));
                self.db.committed.push(TableData::new(table.indexes.len()));
                catalog.add_table((**table).clone());
                Ok("CREATE TABLE")
            }
            Define::Index { table, index } => {
                self.add_index(catalog, *table, index)?;
                Ok("CREATE INDEX")
            }
            Define::Constraint { table, constraint } => {
                self.add_constraint(catalog, *table, constraint)?;
                Ok("ALTER TABLE")
            }
            Define::Sequence(sequence) => {
                catalog.add_sequence(sequence.clone());
                Ok("CREATE SEQUENCE")
            }
            Define::Routine(routine) => {
                let verb = if routine.procedure { "CREATE PROCEDURE" } else { "CREATE FUNCTION" };
                catalog.add_routine((**routine).clone());
                Ok(verb)
            }
            Define::Trigger { table, trigger } => {
                catalog.alter_table(*table, |t| {
                    t.triggers.retain(|other| other.name != trigger.name);
                    t.triggers.push((**trigger).clone());
                    t.triggers.sort_by(|a, b| a.name.cmp(&b.name));
                });
                Ok("CREATE TRIGGER")
            }
            Define::DropTrigger { table, name } => {
                catalog.alter_table(*table, |t| t.triggers.retain(|trigger| trigger.name != *name));
                Ok("DROP TRIGGER")
            }
            Define::SwitchTriggers { table, name, enabled } => {
                catalog.alter_table(*table, |t| {
                    let named = |trigger: &&mut Trigger| name.as_ref().is_none_or(|name| *name == trigger.name);
                    t.triggers.iter_mut().filter(named).for_each(|trigger| trigger.enabled = *enabled);
                });
                Ok("ALTER TABLE")
            }
            Define::DropTable(tables) => {
                for &table in tables {
                    let count = catalog.table(table).indexes.len();
                    self.db.recount_table(table, &TableData::new(count));
                    catalog.drop_table(table);
                }
                Ok("DROP TABLE")
            }
            Define::DropIndex(table, name) => {
                let position = catalog.table(*table).indexes.iter().position(|i| i.name == *name);
                if let Some(position) = position {
                    self.db.committed.table_mut(*table).remove_index(position);
                    catalog.alter_table(*table, |t| drop(t.indexes.remove(position)));
                }
                Ok("DROP INDEX")
            }
            Define::DropSequence(names) => {
                names.iter().for_each(|n| catalog.drop_sequence(n));
                Ok("DROP SEQUENCE")
            }
            Define::DropRoutine(routines) => {
                routines.iter().for_each(|r| catalog.drop_routine(*r));
                Ok("DROP ROUTINE")
            }
            Define::Type(ty) => {
                catalog.add_type(*ty);
                Ok(if matches!(ty.ty(), Type::Domain(_)) { "CREATE DOMAIN" } else { "CREATE TYPE" })
            }
            Define::AlterType(name, ty) => {
                self.rename_labels(catalog, name, *ty);
                catalog.alter_type(name, *ty);
                Ok("ALTER TYPE")
            }
            Define::DropType { names, domain } => {
                names.iter().for_each(|name| catalog.drop_type(name));
                Ok(if *domain { "DROP DOMAIN" } else { "DROP TYPE" })
            }
            Define::Nothing => Ok("CREATE TABLE"),
        }
    }

    fn add_index(&mut self, catalog: &mut Catalog, table: TableId, index: &Index) -> Result<(), SqlError> {
        let data = self.db.committed.table_mut(table);
        if index.unique {
            let mut keys: Vec<_> = data.iter().map(|(_, t)| key_of(index, &t.values)).collect();
            keys.retain(|k| !k.iter().any(Value::is_null));
            keys.sort();
            if keys.windows(2).any(|pair| pair[0] == pair[1]) {
                let message = format!("could not create unique index \"{}\"", index.name);
                return Err(SqlError::new(SqlState::UNIQUE_VIOLATION, message));
            }
        }
        data.add_index(index);
        if !data.is_empty() {
            // Building it has counted the rows.
            Arc::make_mut(&mut self.db.statistics).known.insert(table);
        }
        catalog.alter_table(table, |t| t.indexes.push(index.clone()));
        Ok(())
    }

    fn add_constraint(
        &mut self,
        catalog: &mut Catalog,
        table: TableId,
        constraint: &TableConstraintDef,
    ) -> Result<(), SqlError> {
        match constraint {
            TableConstraintDef::Index(index) => {
                self.add_index(catalog, table, index)?;
                if index.primary {
                    self.check_no_nulls(catalog.table(table), index)?;
                    catalog.alter_table(table, |t| index.columns.iter().for_each(|&c| t.columns[c].not_null = true));
                }
            }
            TableConstraintDef::Check(check) => {
                let name = catalog.table(table).name.clone();
                for (_, tuple) in self.db.committed.table(table).iter() {
                    if matches!(eval::local(&check.expr, &tuple.values, &[])?, Value::Bool(false)) {
                        let message = format!(
                            "check constraint \"{}\" of relation \"{name}\" is violated by some row",
                            check.name
                        );
                        return Err(SqlError::new(SqlState::CHECK_VIOLATION, message));
                    }
                }
                catalog.alter_table(table, |t| {
                    t.checks.push(check.clone());
                    t.checks.sort_by(|a, b| a.name.cmp(&b.name));
                });
            }
            TableConstraintDef::ForeignKey(fk) => {
                let parent = self.db.committed.table(fk.parent);
                for (_, tuple) in self.db.committed.table(table).iter() {
                    let key: Vec<Value> = fk.columns.iter().map(|&c| tuple.values[c].clone()).collect();
                    let matches =
                        |t: &crate::storage::Tuple| fk.parent_columns.iter().zip(&key).all(|(&c, k)| t.values[c] == *k);
                    if !key.iter().any(Value::is_null) && !parent.iter().any(|(_, t)| matches(t)) {
                        let name = &catalog.table(table).name;
                        let message = format!(
                            "insert or update on table \"{name}\" violates foreign key constraint \"{}\"",
                            fk.name
                        );
                        return Err(SqlError::new(SqlState::FOREIGN_KEY_VIOLATION, message));
                    }
                }
                catalog.alter_table(table, |t| t.foreign_keys.push(fk.clone()));
            }
        }
        Ok(())
    }

    fn check_no_nulls(&self, table: &Table, index: &Index) -> Result<(), SqlError> {
        for &column in &index.columns {
            if self.db.committed.table(table.id).iter().any(|(_, t)| t.values[column].is_null()) {
                let message = format!(
                    "column \"{}\" of relation \"{}\" contains null values",
                    table.columns[column].name, table.name
                );
                return Err(SqlError::new(SqlState::NOT_NULL_VIOLATION, message));
            }
        }
        Ok(())
    }
}
