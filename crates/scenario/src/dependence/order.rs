//! Which events move rows that somebody takes in the order in which they lie.
//!
//! Each new version of a row goes to the end of the heap. Two events that write different rows commute, except where
//! some statement can tell which of them came first: `LIMIT 1` without a total order takes the row that lies first, and
//! a statement that locks several rows has locked the first ones when it waits for the next
//! ([`isolde_sql::typed::OrderReads`]). Which statements do so is known before the search, as [what is
//! reached](super::reach) is: from the statements of all threads, their routines and triggers, from foreign keys that
//! change rows, and from the queries of properties.
//!
//! ```text
//! a  UPDATE t SET n = 1 WHERE id = 1      moves row 1 behind row 2 ┐
//! b  UPDATE t SET n = 1 WHERE id = 2      moves row 2 behind row 1 ┴ dependent, because of r
//! r  INSERT INTO l SELECT id FROM t LIMIT 1
//! ```
//!
//! Where something cannot be foreseen (dynamic SQL, definitions), the order of all tables counts.

use std::collections::BTreeSet;

use isolde_engine::footprint::{ColumnSet, TableSet, Write};
use isolde_engine::{Database, OrderedRows};
use isolde_sql::ast::ReferentialAction;
use isolde_sql::catalog::{Catalog, RoutineId, TableId};
use isolde_sql::typed::{
    Expr, Open, OpenSource, OrderCause, OrderRead, Routine, RoutineReturns, SessionCommand, Statement, StatementKind,
    Stmt, StmtKind, Taken, With, WithBody,
};
use isolde_sql::{Span, bind};

/// What is known of the order of rows before the search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    /// Whose order is read, and of which rows.
    reads: Vec<OrderRead>,
    /// Statements whose result depends on the order of rows in these tables.
    pub(crate) causes: Vec<(Span, OrderCause, BTreeSet<TableId>)>,
    /// Tables in which rows are written.
    written: BTreeSet<TableId>,
    /// It is not known who reads what.
    open: bool,
}

/// Readers that are told apart; those beyond share a bit.
const READERS_MAX: usize = 126;
/// The bit of what is not foreseen.
const UNKNOWN: usize = 127;

impl Order {
    /// What these statements, and the queries of properties, have to do with the order of rows.
    pub(crate) fn of<'s>(
        database: &Database,
        constant: &[ColumnSet],
        statements: impl IntoIterator<Item = &'s Statement>,
        checks: impl IntoIterator<Item = &'s Statement>,
    ) -> Order {
        let mut finder = Finder {
            catalog: database.catalog(),
            found: Order::default(),
            seen: BTreeSet::new(),
            inserted: BTreeSet::new(),
            cascading: BTreeSet::new(),
        };
        let mut all = Some(());
        for statement in statements.into_iter().chain(checks) {
            all = all.and(finder.statement(statement, Taken::Set));
        }
        all = all.and(finder.triggers());
        finder.references();
        let (mut order, inserted) = (finder.found, finder.inserted);
        order.open = all.is_none();
        // A table of one row that never gets another has no order.
        let several = |table: &TableId| inserted.contains(table) || database.committed().table(*table).len() > 1;
        order.reads.retain(|read| several(&read.table));
        order.causes.retain(|(_, _, tables)| tables.iter().any(several));
        let mut reads: Vec<OrderRead> = Vec::new();
        for mut read in order.reads {
            // A row may come to have another value only where somebody changes it.
            let constant = constant.get(read.table.0 as usize).copied().unwrap_or(ColumnSet::NONE);
            read.key.retain(|(column, _)| constant.contains(*column));
            if !reads.contains(&read) {
                reads.push(read);
            }
        }
        order.reads = reads;
        order
    }

    /// The rows whose order is part of the state.
    pub(crate) fn rows(&self) -> OrderedRows {
        match self.open {
            true => OrderedRows::All,
            false => OrderedRows::Of(self.reads.iter().map(|read| (read.table, read.key.clone())).collect()),
        }
    }

    /// Their tables.
    pub(crate) fn tables(&self) -> TableSet {
        match self.open {
            true => TableSet::ALL,
            false => self.reads.iter().map(|read| read.table.0 as usize).collect(),
        }
    }

    /// Whether rows of these tables may change places while threads run.
    pub(crate) fn may_change(&self, tables: &BTreeSet<TableId>) -> bool {
        self.open || tables.iter().any(|table| self.written.contains(table))
    }

    /// The readers that could tell when this version of a row was written.
    pub(crate) fn moved(&self, write: &Write) -> ColumnSet {
        let Some(after) = &write.after else { return ColumnSet::NONE };
        if self.open {
            return [UNKNOWN].into_iter().collect();
        }
        let has = |(column, value): &(usize, isolde_sql::Value)| after.get(*column) == Some(value);
        let sees = |read: &OrderRead| read.table == write.table && read.key.iter().all(has);
        let readers = self.reads.iter().enumerate().filter(|(_, read)| sees(read));
        readers.map(|(number, _)| number.min(READERS_MAX)).collect()
    }
}

/// Gathers; `None` from its methods: there may be more.
struct Finder<'c> {
    catalog: &'c Catalog,
    found: Order,
    /// Routines that were looked into, and whether the order of what they return matters.
    seen: BTreeSet<(RoutineId, bool)>,
    /// Tables that get new rows.
    inserted: BTreeSet<TableId>,
    /// Tables whose rows are changed or deleted.
    cascading: BTreeSet<TableId>,
}

impl Finder<'_> {
    fn statement(&mut self, statement: &Statement, taken: Taken) -> Option<()> {
        self.writes(statement);
        let found = statement.order_reads(self.catalog, taken);
        let mut tables: BTreeSet<TableId> = found.reads.iter().map(|read| read.table).collect();
        if !found.routines.is_empty() {
            // What a routine reads is not told apart from what it returns.
            tables.extend(self.catalog.tables().map(|table| table.id));
        }
        self.found.causes.extend(found.causes.iter().map(|cause| (statement.span, *cause, tables.clone())));
        self.found.reads.extend(found.reads);
        for id in found.routines {
            self.call(id, true)?;
        }
        for id in statement.routines() {
            self.call(id, false)?;
        }
        match &statement.kind {
            StatementKind::Do(routine) => self.routine(routine, false),
            // What is bound late stands as a SET of nothing.
            StatementKind::Set { name, .. } => (!name.is_empty()).then_some(()),
            StatementKind::Define(_) | StatementKind::Session(SessionCommand::Execute { .. }) => None,
            _ => Some(()),
        }
    }

    /// The tables that a statement writes.
    fn writes(&mut self, statement: &Statement) {
        let (written, withs): (_, &[With]) = match &statement.kind {
            StatementKind::Query(query) => (None, &query.with),
            StatementKind::Insert(insert) => {
                if insert.on_conflict.as_ref().is_some_and(|conflict| conflict.update.is_some()) {
                    self.cascading.insert(insert.table);
                }
                self.inserted.insert(insert.table);
                (Some(insert.table), &insert.with)
            }
            StatementKind::Update(update) => {
                self.cascading.insert(update.table);
                (Some(update.table), &update.with)
            }
            StatementKind::Delete(delete) => {
                self.cascading.insert(delete.table);
                (None, &delete.with)
            }
            StatementKind::Merge(merge) => {
                self.cascading.insert(merge.table);
                self.inserted.insert(merge.table);
                (Some(merge.table), &merge.with)
            }
            _ => (None, &[]),
        };
        self.found.written.extend(written);
        for with in withs {
            if let WithBody::Modify(statement) = &with.body {
                self.writes(statement);
            }
        }
    }

    /// Foreign keys that change the rows which refer to one: these are found as they lie.
    fn references(&mut self) {
        let catalog = self.catalog;
        let acts = |action| !matches!(action, ReferentialAction::NoAction | ReferentialAction::Restrict);
        loop {
            let children = catalog.tables().filter(|child| {
                let follows = |key: &isolde_sql::catalog::ForeignKey| {
                    self.cascading.contains(&key.parent) && (acts(key.on_delete) || acts(key.on_update))
                };
                child.foreign_keys.iter().any(follows)
            });
            let new: Vec<TableId> = children.map(|child| child.id).filter(|id| !self.cascading.contains(id)).collect();
            let own: Vec<TableId> = catalog
                .tables()
                .filter(|t| t.foreign_keys.iter().any(|k| k.parent == t.id && (acts(k.on_delete) || acts(k.on_update))))
                .map(|t| t.id)
                .filter(|id| self.cascading.contains(id))
                .collect();
            let reads = new.iter().chain(&own).map(|&table| OrderRead { table, key: Vec::new() });
            self.found.reads.extend(reads);
            if new.is_empty() {
                return;
            }
            self.found.written.extend(&new);
            self.cascading.extend(new);
        }
    }

    /// Triggers of all tables, and what CHECKs call.
    fn triggers(&mut self) -> Option<()> {
        let catalog = self.catalog;
        for table in catalog.tables() {
            for trigger in &table.triggers {
                let routine = bind::trigger(catalog, table, trigger).ok()?;
                self.exprs(&trigger.when)?;
                self.routine(&routine, false)?;
            }
            self.exprs(table.checks.iter().map(|check| &check.expr))?;
        }
        Some(())
    }

    fn call(&mut self, id: RoutineId, ordered: bool) -> Option<()> {
        if !self.seen.insert((id, ordered)) {
            return Some(());
        }
        let routine = bind::routine(self.catalog, self.catalog.routine(id)).ok()?;
        self.routine(&routine, ordered)
    }

    fn routine(&mut self, routine: &Routine, ordered: bool) -> Option<()> {
        let returns = match &routine.returns {
            RoutineReturns::Set(_) if !ordered => Taken::Set,
            RoutineReturns::Set(_) => Taken::Sequence,
            _ => Taken::First,
        };
        self.block(&routine.body, returns)
    }

    fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) -> Option<()> {
        exprs.into_iter().try_for_each(|e| self.expr(e))
    }

    fn expr(&mut self, expr: &Expr) -> Option<()> {
        let found = expr.order_reads(self.catalog);
        self.found.reads.extend(found.reads);
        found.routines.into_iter().try_for_each(|id| self.call(id, true))?;
        let mut routines = BTreeSet::new();
        expr.routines(&mut routines);
        routines.into_iter().try_for_each(|id| self.call(id, false))
    }

    fn block(&mut self, body: &[Stmt], returns: Taken) -> Option<()> {
        body.iter().try_for_each(|statement| self.inner(statement, returns))
    }

    fn inner(&mut self, statement: &Stmt, returns: Taken) -> Option<()> {
        use StmtKind as S;
        match &statement.kind {
            S::Try { body, handlers, .. } => {
                self.block(body, returns)?;
                handlers.iter().try_for_each(|handler| self.block(&handler.body, returns))
            }
            S::If { branches, otherwise } => {
                for (condition, body) in branches {
                    self.expr(condition)?;
                    self.block(body, returns)?;
                }
                self.block(otherwise, returns)
            }
            S::Loop { body, .. } | S::Labelled { body, .. } => self.block(body, returns),
            S::While { condition, body, .. } => {
                self.expr(condition)?;
                self.block(body, returns)
            }
            S::ForRange { from, to, by, body, .. } => {
                self.exprs([from, to].into_iter().chain(by))?;
                self.block(body, returns)
            }
            S::Foreach { array, body, .. } => {
                self.expr(array)?;
                self.block(body, returns)
            }
            S::ForQuery { query, body, .. } => {
                self.statement(query, Taken::Sequence)?;
                self.block(body, returns)
            }
            S::ForCursor { open, body, .. } => {
                self.opened(open)?;
                self.block(body, returns)
            }
            S::Open(_, open) => self.opened(open),
            S::Sql { statement, into } => {
                let first = into.as_ref().is_some_and(|into| !into.strict);
                self.statement(statement, if first { Taken::First } else { Taken::Set })
            }
            S::Perform(statement) => self.statement(statement, Taken::Set),
            S::ReturnQuery(statement) => self.statement(statement, returns),
            S::Execute { .. } | S::ForExecute { .. } | S::ReturnExecute { .. } => None,
            S::Assign(_, e) => self.expr(e),
            S::Exit { when, .. } | S::Continue { when, .. } | S::Return(when) => self.exprs(when),
            S::ReturnNext(exprs) => self.exprs(exprs),
            S::Assert(condition, message) => self.exprs([condition].into_iter().chain(message)),
            S::Raise(raise) => self.exprs(raise.exprs()),
            S::Shape(..) | S::ShapeOf(..) | S::Fetch { .. } | S::Close(_) | S::Fail(_) => Some(()),
            S::RowCount(_) | S::StackedDiagnostics(_) | S::CaseNotFound => Some(()),
        }
    }

    fn opened(&mut self, open: &Open) -> Option<()> {
        self.exprs(open.args.iter().map(|(_, e)| e))?;
        match &open.source {
            OpenSource::Query(query) => self.statement(query, Taken::Sequence),
            OpenSource::Execute { .. } => None,
        }
    }
}
