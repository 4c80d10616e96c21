//! DDL: what each definition does to the catalog and to the rows.
//!
//! A definition changes the catalog it is given and the tables of `db.committed`; that both belong to its transaction
//! alone until it commits is the [`frame`]'s business.

mod edit;
pub(crate) mod frame;
pub(crate) mod sequence;
mod types;

use isolde_sql::SqlError;
use isolde_sql::Type;
use isolde_sql::catalog::{Catalog, Trigger};
use isolde_sql::typed::Define;

use crate::exec::Executor;

pub(crate) use edit::fill_statement;

impl Executor<'_> {
    /// Carries out a definition on a catalog and the tables of the database.
    pub(crate) fn define_in(&mut self, catalog: &mut Catalog, define: &Define) -> Result<&'static str, SqlError> {
        match define {
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
            Define::Change(change) => self.change(catalog, change),
        }
    }
}
