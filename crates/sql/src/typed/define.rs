//! DDL, ready to be carried out.
//!
//! A statement becomes a list of [`Edit`]s: each says what the catalog is to hold afterwards and, where rows are
//! concerned, what becomes of them. The binder has seen to names, dependencies and CASCADE; whoever carries the edits
//! out only looks at rows. [`Edit::apply`] is the catalog's half of the work.

use std::sync::Arc;

use super::{Expr, Query};
use crate::catalog::{Catalog, RoutineDef, RoutineId, Sequence, Table, TableId, Trigger, View};
use crate::types::UserType;

/// DDL.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Define {
    /// A routine; its body is bound when first called, as PostgreSQL does.
    Routine(Box<RoutineDef>),
    /// A trigger, or another of its name in its place.
    Trigger {
        table: TableId,
        trigger: Box<Trigger>,
    },
    DropTrigger {
        table: TableId,
        name: Arc<str>,
    },
    /// One trigger, or all of the table's, fires or does not.
    SwitchTriggers {
        table: TableId,
        name: Option<Arc<str>>,
        enabled: bool,
    },
    /// CREATE TYPE or CREATE DOMAIN
    Type(UserType),
    /// ALTER TYPE: the new definition of the type with this name.
    AlterType(Arc<str>, UserType),
    DropType {
        names: Vec<Arc<str>>,
        domain: bool,
    },
    Change(Arc<Change>),
}

/// A change of what is defined.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its command tag.
    pub tag: &'static str,
    /// What happens, in order.
    pub edits: Vec<Edit>,
    /// What the client is told.
    pub notices: Vec<Arc<str>>,
    /// Rows that are stored once the definitions are in place: CREATE TABLE AS, REFRESH.
    pub fill: Option<Fill>,
}

/// Rows for a table, one value per column.
#[derive(Clone, Debug)]
pub struct Fill {
    /// Into.
    pub table: TableId,
    /// The rows.
    pub query: Arc<Query>,
}

/// One step of a change.
#[derive(Clone, Debug)]
pub enum Edit {
    /// A table under the next number.
    AddTable(Box<Table>),
    /// A table in place of the one with its number.
    Table(Box<TableEdit>),
    /// A table goes, with its rows.
    DropTable(TableId),
    /// All rows of a table go.
    Clear(TableId),
    /// A sequence, in place of the one with its name.
    Sequence(Sequence),
    /// A sequence, and what it has counted, gets another name.
    RenameSequence(Arc<str>, Arc<str>),
    /// The next value of a sequence is this one.
    RestartSequence(Arc<str>, i64),
    /// A sequence goes.
    DropSequence(Arc<str>),
    /// A view, in place of the one with its name.
    View(Box<View>),
    /// A view goes.
    DropView(Arc<str>),
    /// A routine, in place of the one with its number.
    Routine(RoutineId, Arc<RoutineDef>),
    /// A routine goes.
    DropRoutine(RoutineId),
    /// A schema.
    AddSchema(Arc<str>),
    /// A schema goes.
    DropSchema(Arc<str>),
    /// Names are looked for here.
    SearchPath(Vec<Arc<str>>),
}

/// A table that changes.
#[derive(Clone, Debug)]
pub struct TableEdit {
    /// What it is to be.
    pub table: Table,
    /// Its new columns, over the old row as rel 0; `None` if rows stay as they are.
    pub rows: Option<Vec<Expr>>,
    /// What the rows must fulfil for the change to take place.
    pub validate: Vec<Validate>,
}

/// Something that all rows must fulfil.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Validate {
    NotNull(usize),
    /// By its name.
    Check(Arc<str>),
    /// By its name.
    ForeignKey(Arc<str>),
}

/// `TRUNCATE`
#[derive(Clone, Debug)]
pub struct Truncate {
    /// The tables, those that CASCADE reaches included.
    pub tables: Vec<TableId>,
    /// Sequences that start again, with their first values.
    pub restart: Vec<(Arc<str>, i64)>,
    /// What the client is told.
    pub notices: Vec<Arc<str>>,
}

/// `SET CONSTRAINTS`
#[derive(Clone, Debug)]
pub struct SetConstraints {
    /// Which, as table and name; `None` for ALL.
    pub constraints: Option<Vec<(TableId, Arc<str>)>>,
    /// Until COMMIT, rather than behind each statement.
    pub deferred: bool,
}

impl Change {
    /// A change that is only told about.
    pub fn nothing(tag: &'static str, notices: Vec<Arc<str>>) -> Change {
        Change { tag, edits: Vec::new(), notices, fill: None }
    }

    /// A change without further ado.
    pub fn new(tag: &'static str, edits: Vec<Edit>) -> Change {
        Change { tag, edits, notices: Vec::new(), fill: None }
    }

    /// The tables that are changed, dropped or emptied.
    pub fn tables(&self) -> impl Iterator<Item = TableId> + '_ {
        self.edits.iter().filter_map(|edit| match edit {
            Edit::Table(edit) => Some(edit.table.id),
            Edit::DropTable(table) | Edit::Clear(table) => Some(*table),
            _ => None,
        })
    }
}

impl Define {
    /// Nothing is defined.
    pub fn nothing(tag: &'static str) -> Define {
        Define::Change(Arc::new(Change::nothing(tag, Vec::new())))
    }

    /// Puts the definition into a catalog.
    pub fn apply(&self, catalog: &mut Catalog) {
        match self {
            Define::Routine(routine) => drop(catalog.add_routine((**routine).clone())),
            Define::Trigger { table, trigger } => catalog.alter_table(*table, |t| {
                t.triggers.retain(|known| known.name != trigger.name);
                t.triggers.push((**trigger).clone());
                t.triggers.sort_by(|a, b| a.name.cmp(&b.name));
            }),
            Define::DropTrigger { table, name } => {
                catalog.alter_table(*table, |t| t.triggers.retain(|x| x.name != *name))
            }
            Define::SwitchTriggers { table, name, enabled } => catalog.alter_table(*table, |t| {
                let named = t.triggers.iter_mut().filter(|t| name.as_ref().is_none_or(|n| t.name == *n));
                named.for_each(|t| t.enabled = *enabled);
            }),
            Define::Type(ty) => catalog.add_type(*ty),
            Define::AlterType(name, ty) => catalog.alter_type(name, *ty),
            Define::DropType { names, .. } => names.iter().for_each(|name| catalog.drop_type(name)),
            Define::Change(change) => change.edits.iter().for_each(|edit| edit.apply(catalog)),
        }
    }
}

impl Edit {
    /// Puts what is defined into a catalog; rows are not its business.
    pub fn apply(&self, catalog: &mut Catalog) {
        match self {
            Edit::AddTable(table) => drop(catalog.add_table((**table).clone())),
            Edit::Table(edit) => catalog.replace_table(edit.table.clone()),
            Edit::DropTable(table) => catalog.drop_table(*table),
            Edit::Sequence(sequence) => catalog.add_sequence(sequence.clone()),
            Edit::RenameSequence(from, to) => catalog.rename_sequence(from, to),
            Edit::DropSequence(name) => catalog.drop_sequence(name),
            Edit::View(view) => catalog.add_view((**view).clone()),
            Edit::DropView(name) => catalog.drop_view(name),
            Edit::Routine(id, routine) => catalog.replace_routine(*id, routine.clone()),
            Edit::DropRoutine(routine) => catalog.drop_routine(*routine),
            Edit::AddSchema(name) => catalog.add_schema(name.clone()),
            Edit::DropSchema(name) => catalog.drop_schema(name),
            Edit::SearchPath(path) => catalog.set_search_path(path.clone()),
            Edit::Clear(_) | Edit::RestartSequence(..) => {}
        }
    }
}
