//! Columns that no row ever changes.
//!
//! An update's picture of a row may be trusted only in columns that nobody else changes (see [`super::sound`]). Most
//! columns of an application are never updated at all: keys, owners, dates of birth. A row has the same value there for
//! as long as it exists, so whoever looks for another value can be told apart from an update of something else in that
//! row.
//!
//! It is decided once for a scenario, from all statements of its threads and of all routines. Where something cannot be
//! foreseen (dynamic SQL, triggers, definitions), no column is constant.

use isolde_engine::footprint::ColumnSet;
use isolde_sql::ast::ReferentialAction;
use isolde_sql::bind;
use isolde_sql::catalog::{Catalog, TableId};
use isolde_sql::typed::{
    CursorCommand, MergeAction, OpenSource, Routine, Statement, StatementKind, Stmt, StmtKind, With, WithBody,
};

/// The constant columns of each table, by its number.
pub(crate) fn columns<'s>(catalog: &Catalog, statements: impl IntoIterator<Item = &'s Statement>) -> Vec<ColumnSet> {
    find(catalog, statements).unwrap_or_default()
}

fn find<'s>(catalog: &Catalog, statements: impl IntoIterator<Item = &'s Statement>) -> Option<Vec<ColumnSet>> {
    if catalog.tables().any(|table| !table.triggers.is_empty()) {
        return None;
    }
    let mut set = Assigned::default();
    for table in catalog.tables() {
        let generated = table.columns.iter().enumerate().filter(|(_, c)| c.generated.is_some());
        generated.for_each(|(column, _)| set.insert(table.id, column));
        for key in &table.foreign_keys {
            let still = |action| matches!(action, ReferentialAction::NoAction | ReferentialAction::Restrict);
            if !still(key.on_update) || !(still(key.on_delete) || key.on_delete == ReferentialAction::Cascade) {
                key.columns.iter().for_each(|&column| set.insert(table.id, column));
            }
        }
    }
    statements.into_iter().try_for_each(|statement| set.statement(statement))?;
    for (_, routine) in catalog.routines() {
        set.routine(&*bind::routine(catalog, routine).ok()?)?;
    }
    let tables = catalog.tables().map(|table| table.id.0 as usize + 1).max().unwrap_or(0);
    Some((0..tables).map(|table| set.of(table).complement()).collect())
}

/// Columns that some statement gives a new value; `None` from its methods: there may be others.
#[derive(Default)]
struct Assigned(Vec<ColumnSet>);

impl Assigned {
    fn of(&self, table: usize) -> ColumnSet {
        self.0.get(table).copied().unwrap_or(ColumnSet::NONE)
    }

    fn insert(&mut self, table: TableId, column: usize) {
        let table = table.0 as usize;
        if self.0.len() <= table {
            self.0.resize(table + 1, ColumnSet::NONE);
        }
        self.0[table].insert(column);
    }

    fn statement(&mut self, statement: &Statement) -> Option<()> {
        match &statement.kind {
            StatementKind::Query(query) => self.withs(&query.with),
            StatementKind::Insert(insert) => {
                let update = insert.on_conflict.as_ref().and_then(|c| c.update.as_ref());
                update.iter().flat_map(|u| &u.set).for_each(|(column, _)| self.insert(insert.table, *column));
                self.withs(&insert.with)
            }
            StatementKind::Update(update) => {
                update.set.iter().for_each(|(column, _)| self.insert(update.table, *column));
                self.withs(&update.with)
            }
            StatementKind::Delete(delete) => self.withs(&delete.with),
            StatementKind::Merge(merge) => {
                for when in &merge.whens {
                    if let MergeAction::Update(set) = &when.action {
                        set.iter().for_each(|(column, _)| self.insert(merge.table, *column));
                    }
                }
                self.withs(&merge.with)
            }
            StatementKind::Do(routine) => self.routine(routine),
            StatementKind::Cursor(CursorCommand::Declare { query, .. }) => self.statement(query),
            StatementKind::Cursor(_) | StatementKind::Call(..) | StatementKind::Transaction(_) => Some(()),
            StatementKind::Truncate(_) | StatementKind::LockTable { .. } | StatementKind::SetConstraints(_) => Some(()),
            StatementKind::Set { .. } => Some(()),
            StatementKind::Define(_) | StatementKind::Session(_) | StatementKind::Late(_) => None,
        }
    }

    fn withs(&mut self, withs: &[With]) -> Option<()> {
        withs.iter().try_for_each(|with| match &with.body {
            WithBody::Modify(statement) => self.statement(statement),
            WithBody::Query(_) | WithBody::Recursive { .. } => Some(()),
        })
    }

    fn routine(&mut self, routine: &Routine) -> Option<()> {
        self.block(&routine.body)
    }

    fn block(&mut self, body: &[Stmt]) -> Option<()> {
        body.iter().try_for_each(|statement| self.inner(statement))
    }

    fn inner(&mut self, statement: &Stmt) -> Option<()> {
        use StmtKind as S;
        match &statement.kind {
            S::Try { body, handlers, .. } => {
                self.block(body)?;
                handlers.iter().try_for_each(|handler| self.block(&handler.body))
            }
            S::If { branches, otherwise } => {
                branches.iter().try_for_each(|(_, body)| self.block(body))?;
                self.block(otherwise)
            }
            S::Loop { body, .. } | S::While { body, .. } | S::ForRange { body, .. } => self.block(body),
            S::Foreach { body, .. } | S::Labelled { body, .. } => self.block(body),
            S::ForQuery { query, body, .. } => {
                self.statement(query)?;
                self.block(body)
            }
            S::ForCursor { open, body, .. } => {
                self.opened(&open.source)?;
                self.block(body)
            }
            S::Open(_, open) => self.opened(&open.source),
            S::Sql { statement, .. } | S::Perform(statement) | S::ReturnQuery(statement) => self.statement(statement),
            S::Execute { .. } | S::ForExecute { .. } | S::ReturnExecute { .. } => None,
            S::Assign(..) | S::Shape(..) | S::ShapeOf(..) | S::Fetch { .. } | S::Close(_) | S::Fail(_) => Some(()),
            S::Exit { .. } | S::Continue { .. } | S::Return(_) | S::ReturnNext(_) | S::Raise(_) => Some(()),
            S::Assert(..) | S::RowCount(_) | S::StackedDiagnostics(_) | S::CaseNotFound => Some(()),
        }
    }

    fn opened(&mut self, source: &OpenSource) -> Option<()> {
        match source {
            OpenSource::Query(query) => self.statement(query),
            OpenSource::Execute { .. } => None,
        }
    }
}
