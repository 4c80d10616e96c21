//! What a transaction can still come to read, known before it begins.
//!
//! At REPEATABLE READ the first statement takes the snapshot that all later ones read from, so it depends on every commit
//! before it that those could see. Which rows they will ask for is not known yet, and must not be guessed from one run:
//! whether two events commute may not depend on what comes after them. But a thread's statements are written down. From
//! them, and from the routines, triggers and foreign keys behind them, follow the tables; and where a condition says
//! `column = value` with a value that is written down as well, or is a routine's argument that nobody assigns to, the rows.
//!
//! ```text
//! CALL deposit(7, 50);      PROCEDURE deposit(a int, n int): UPDATE account SET balance = balance + n WHERE id = a;
//!                           reaches the rows of account with id = 7
//! ```
//!
//! Where something cannot be foreseen (dynamic SQL, definitions), nothing is promised for any thread. A serializable transaction
//! is taken to reach whole tables: what it is remembered to have read depends on their sizes.

use std::sync::Arc;

use isolde_engine::{Database, Key, Reach};
use isolde_sql::ast::{Isolation, JoinKind, TransactionModes};
use isolde_sql::bind;
use isolde_sql::catalog::{Catalog, RoutineId, TableId};
use isolde_sql::typed::{
    CursorCommand, Expansion, Expr, ExprKind, From, MergeAction, Open, OpenSource, Place, Query, QueryBody,
    RaiseMessage, RelSource, Routine, Select, Statement, StatementKind, Stmt, StmtKind, Transaction, With, WithBody,
};
use isolde_sql::{Type, Value};

use crate::scenario::Thread;

/// For each thread, what a transaction reaches that begins with its n-th statement; nothing if that is not known.
pub(crate) fn of_threads(database: &mut Database, threads: &[Thread]) -> Option<Vec<Vec<Arc<Reach>>>> {
    let isolation: Vec<Isolation> =
        threads.iter().map(|thread| database.options_mut(thread.session).isolation).collect();
    let catalog = database.catalog();
    threads.iter().zip(isolation).map(|(thread, level)| of_thread(catalog, thread, level)).collect()
}

fn of_thread(catalog: &Catalog, thread: &Thread, level: Isolation) -> Option<Vec<Arc<Reach>>> {
    let statements: Vec<&Statement> = thread.statements.iter().map(|s| &*s.prepared.statement).collect();
    (0..statements.len())
        .map(|first| {
            let mut finder = Finder { catalog, found: Reach::default(), active: Vec::new(), whole: false };
            finder.whole = level == Isolation::Serializable;
            let transaction = &statements[first..];
            transaction[..length(transaction)].iter().try_for_each(|statement| finder.statement(statement, &[]))?;
            Some(Arc::new(finder.settle()))
        })
        .collect()
}

/// How many statements belong to the transaction that begins with the first.
fn length(statements: &[&Statement]) -> usize {
    let is = |s: &Statement, f: fn(&Transaction) -> bool| matches!(&s.kind, StatementKind::Transaction(t) if f(t));
    let ends =
        |t: &Transaction| matches!(t, Transaction::Commit { chain: false } | Transaction::Rollback { chain: false });
    if !statements.first().is_some_and(|s| is(s, |t| matches!(t, Transaction::Begin(_)))) {
        return 1;
    }
    statements.iter().position(|s| is(s, ends)).map_or(statements.len(), |end| end + 1)
}

/// Gathers what statements reach; `None` from its methods: there may be more.
struct Finder<'c> {
    catalog: &'c Catalog,
    found: Reach,
    /// Routines that are being looked at.
    active: Vec<RoutineId>,
    /// All rows of a table, if any.
    whole: bool,
}

/// What is known of the variables.
type Known<'k> = &'k [Option<Value>];

impl Finder<'_> {
    fn settle(self) -> Reach {
        if !self.whole {
            return self.found;
        }
        let mut whole = Reach::default();
        let tables = self.catalog.tables().map(|table| table.id);
        tables.filter(|table| self.found.tables().contains(table.0 as usize)).for_each(|t| whole.insert(t, Vec::new()));
        whole
    }

    fn statement(&mut self, statement: &Statement, known: Known<'_>) -> Option<()> {
        match &statement.kind {
            StatementKind::Query(query) => self.query(query, known),
            StatementKind::Insert(insert) => {
                self.withs(&insert.with, known)?;
                self.query(&insert.source, known)?;
                self.exprs(&insert.values, known)?;
                self.exprs(insert.view_checks.iter().map(|check| &check.condition), known)?;
                self.exprs(insert.returning.iter().flat_map(|r| &r.exprs), known)?;
                if let Some(conflict) = &insert.on_conflict {
                    // The row in the way must be one that the snapshot shows.
                    self.found.insert(insert.table, Vec::new());
                    let update = conflict.update.iter();
                    self.exprs(update.flat_map(|u| u.set.iter().map(|(_, e)| e).chain(&u.filter)), known)?;
                }
                if self.whole {
                    self.found.insert(insert.table, Vec::new());
                }
                self.written(insert.table, &mut Vec::new())
            }
            StatementKind::Update(update) => {
                self.withs(&update.with, known)?;
                self.select(&update.select, known)?;
                self.exprs(update.set.iter().map(|(_, e)| e), known)?;
                self.exprs(update.view_checks.iter().map(|check| &check.condition), known)?;
                self.exprs(update.returning.iter().flat_map(|r| &r.exprs), known)?;
                self.written(update.table, &mut Vec::new())
            }
            StatementKind::Delete(delete) => {
                self.withs(&delete.with, known)?;
                self.select(&delete.select, known)?;
                self.exprs(delete.returning.iter().flat_map(|r| &r.exprs), known)?;
                self.written(delete.table, &mut Vec::new())
            }
            StatementKind::Merge(merge) => {
                self.withs(&merge.with, known)?;
                self.select(&merge.select, known)?;
                self.found.insert(merge.table, Vec::new());
                for when in &merge.whens {
                    self.exprs(&when.condition, known)?;
                    match &when.action {
                        MergeAction::Update(set) => self.exprs(set.iter().map(|(_, e)| e), known)?,
                        MergeAction::Insert(values) => self.exprs(values, known)?,
                        MergeAction::Delete | MergeAction::Nothing => {}
                    }
                }
                self.written(merge.table, &mut Vec::new())
            }
            StatementKind::Call(id, args) => {
                self.exprs(args, known)?;
                let args: Vec<Option<Value>> = args.iter().map(|arg| value(arg, known)).collect();
                self.call(*id, &args)
            }
            StatementKind::Do(routine) => self.routine(routine, &[]),
            StatementKind::Cursor(CursorCommand::Declare { query, hold: false, .. }) => self.statement(query, known),
            StatementKind::Cursor(CursorCommand::Declare { .. }) => None,
            StatementKind::Cursor(_) | StatementKind::SetConstraints(_) | StatementKind::LockTable { .. } => Some(()),
            StatementKind::Transaction(transaction) => self.control(transaction),
            // What is bound late stands as a SET of nothing.
            StatementKind::Set { name, .. } if name.is_empty() => None,
            StatementKind::Set { name, .. } => {
                self.whole |= name.contains("isolation");
                Some(())
            }
            StatementKind::Define(_) | StatementKind::Session(_) | StatementKind::Truncate(_) => None,
        }
    }

    fn control(&mut self, transaction: &Transaction) -> Option<()> {
        use Transaction as T;
        match transaction {
            T::Begin(modes) | T::Set(modes) | T::SetSession(modes) => {
                self.whole |= matches!(modes, TransactionModes { isolation: Some(Isolation::Serializable), .. });
                Some(())
            }
            T::Commit { .. } | T::Rollback { .. } | T::Savepoint(_) | T::RollbackTo(_) | T::Release(_) => Some(()),
            T::Prepare(_) | T::CommitPrepared(_) | T::RollbackPrepared(_) => None,
        }
    }

    /// Rows of a table come, go or change: what triggers, constraints and foreign keys look at.
    fn written(&mut self, table: TableId, seen: &mut Vec<TableId>) -> Option<()> {
        if seen.contains(&table) {
            return Some(());
        }
        seen.push(table);
        let catalog = self.catalog;
        let definition = catalog.table(table);
        let generated = definition.columns.iter().filter_map(|c| c.generated.as_ref()).map(|g| &g.expr);
        let special = definition.indexes.iter().filter_map(|index| index.special.as_ref());
        let keys = special.flat_map(|index| index.keys.iter().chain(&index.filter));
        self.exprs(definition.checks.iter().map(|check| &check.expr).chain(generated).chain(keys), &[])?;
        for trigger in &definition.triggers {
            self.exprs(&trigger.when, &[])?;
            self.entered(trigger.function, |finder| {
                let routine = bind::trigger(catalog, definition, trigger).ok()?;
                finder.routine(&routine, &[])
            })?;
        }
        for key in &definition.foreign_keys {
            self.found.insert(key.parent, Vec::new());
        }
        let children = catalog.tables().filter(|child| child.foreign_keys.iter().any(|key| key.parent == table));
        for child in children {
            self.found.insert(child.id, Vec::new());
            self.written(child.id, seen)?;
        }
        Some(())
    }

    fn withs(&mut self, withs: &[With], known: Known<'_>) -> Option<()> {
        withs.iter().try_for_each(|with| match &with.body {
            WithBody::Modify(statement) => self.statement(statement, known),
            WithBody::Query(query) => self.query(query, known),
            WithBody::Recursive { first, step, .. } => {
                self.query(first, known)?;
                self.query(step, known)
            }
        })
    }

    fn query(&mut self, query: &Query, known: Known<'_>) -> Option<()> {
        self.withs(&query.with, known)?;
        match &query.body {
            QueryBody::Select(select) => self.select(select, known)?,
            QueryBody::Values(rows) => self.exprs(rows.iter().flatten(), known)?,
            QueryBody::SetOperation { left, right, .. } => {
                self.query(left, known)?;
                self.query(right, known)?;
            }
        }
        let keys = query.order_by.iter().map(|key| &key.expr);
        self.exprs(keys.chain(&query.limit).chain(&query.offset), known)
    }

    fn select(&mut self, select: &Select, known: Known<'_>) -> Option<()> {
        let by_key = is_plain(select);
        for (number, rel) in select.rels.iter().enumerate() {
            match &rel.source {
                RelSource::Table(table) if by_key => self.found.insert(*table, key(select, number, known)),
                RelSource::Table(table) => self.found.insert(*table, Vec::new()),
                source => self.source(source)?,
            }
        }
        for expansion in &select.expansions {
            if let Expansion::Routine(id, _) = expansion {
                self.call(*id, &[])?;
            }
        }
        let mut all = Some(());
        select.exprs(&mut |e| all = all.and_then(|()| self.expr(e, known)));
        select.queries(&mut |q| all = all.and_then(|()| self.query(q, known)));
        all
    }

    /// What is not a table; subqueries are seen to elsewhere.
    fn source(&mut self, source: &RelSource) -> Option<()> {
        match source {
            RelSource::Routine(id, _) => self.call(*id, &[]),
            RelSource::RowsFrom { parts, .. } => parts.iter().try_for_each(|part| self.source(&part.source)),
            RelSource::Table(table) => {
                self.found.insert(*table, Vec::new());
                Some(())
            }
            RelSource::Query { .. } | RelSource::Function(..) | RelSource::With { .. } | RelSource::Working { .. } => {
                Some(())
            }
        }
    }

    fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>, known: Known<'_>) -> Option<()> {
        exprs.into_iter().try_for_each(|e| self.expr(e, known))
    }

    fn expr(&mut self, expr: &Expr, known: Known<'_>) -> Option<()> {
        if matches!(expr.ty, Type::Domain(_)) && matches!(expr.kind, ExprKind::Cast { .. }) {
            return None; // Its CHECK may call anything.
        }
        if let ExprKind::Routine(id, _) = &expr.kind {
            self.call(*id, &[])?;
        }
        let mut all = Some(());
        expr.children(&mut |child| all = all.and_then(|()| self.expr(child, known)));
        all?;
        expr.subquery().map_or(Some(()), |query| self.query(query, known))
    }

    fn call(&mut self, id: RoutineId, args: Known<'_>) -> Option<()> {
        let catalog = self.catalog;
        self.entered(id, |finder| {
            let routine = bind::routine(catalog, catalog.routine(id)).ok()?;
            finder.routine(&routine, args)
        })
    }

    /// Looks into a routine, once at a time.
    fn entered(&mut self, id: RoutineId, look: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        if self.active.contains(&id) {
            return None;
        }
        self.active.push(id);
        look(self)?;
        self.active.pop();
        Some(())
    }

    fn routine(&mut self, routine: &Routine, args: Known<'_>) -> Option<()> {
        if routine.variables.iter().any(|variable| matches!(variable.ty, Type::Domain(_))) {
            return None;
        }
        let mut known: Vec<Option<Value>> = vec![None; routine.variables.len()];
        for (slot, arg) in known.iter_mut().zip(args).take(routine.params) {
            slot.clone_from(arg);
        }
        let mut assigned = Vec::new();
        assigned_in(&routine.body, &mut assigned);
        for slot in assigned {
            if let Some(value) = known.get_mut(slot) {
                *value = None;
            }
        }
        self.block(&routine.body, &known)
    }

    fn block(&mut self, body: &[Stmt], known: Known<'_>) -> Option<()> {
        body.iter().try_for_each(|statement| self.inner(statement, known))
    }

    fn inner(&mut self, statement: &Stmt, known: Known<'_>) -> Option<()> {
        use StmtKind as S;
        match &statement.kind {
            S::Try { body, handlers, .. } => {
                self.block(body, known)?;
                handlers.iter().try_for_each(|handler| self.block(&handler.body, known))
            }
            S::If { branches, otherwise } => {
                for (condition, body) in branches {
                    self.expr(condition, known)?;
                    self.block(body, known)?;
                }
                self.block(otherwise, known)
            }
            S::Loop { body, .. } | S::Labelled { body, .. } => self.block(body, known),
            S::While { condition, body, .. } => {
                self.expr(condition, known)?;
                self.block(body, known)
            }
            S::ForRange { from, to, by, body, .. } => {
                self.exprs([from, to].into_iter().chain(by), known)?;
                self.block(body, known)
            }
            S::Foreach { array, body, .. } => {
                self.expr(array, known)?;
                self.block(body, known)
            }
            S::ForQuery { query, body, .. } => {
                self.statement(query, known)?;
                self.block(body, known)
            }
            S::ForCursor { open, body, .. } => {
                self.opened(open, known)?;
                self.block(body, known)
            }
            S::Open(_, open) => self.opened(open, known),
            S::Sql { statement, .. } | S::Perform(statement) | S::ReturnQuery(statement) => {
                self.statement(statement, known)
            }
            S::Execute { .. } | S::ForExecute { .. } | S::ReturnExecute { .. } => None,
            S::Assign(_, e) => self.expr(e, known),
            S::Exit { when, .. } | S::Continue { when, .. } | S::Return(when) => self.exprs(when, known),
            S::ReturnNext(exprs) => self.exprs(exprs, known),
            S::Assert(condition, message) => self.exprs([condition].into_iter().chain(message), known),
            S::Raise(raise) => {
                let message: &[Expr] = match &raise.message {
                    RaiseMessage::Format(_, args) => args,
                    RaiseMessage::Expr(e) => std::slice::from_ref(e),
                    RaiseMessage::Again => &[],
                };
                let about = raise.about.iter().map(|(_, e)| e);
                let rest = raise.detail.iter().chain(&raise.hint).chain(&raise.code).chain(about);
                self.exprs(message.iter().chain(rest), known)
            }
            S::Shape(..) | S::ShapeOf(..) | S::Fetch { .. } | S::Close(_) | S::Fail(_) => Some(()),
            S::RowCount(_) | S::StackedDiagnostics(_) | S::CaseNotFound => Some(()),
        }
    }

    fn opened(&mut self, open: &Open, known: Known<'_>) -> Option<()> {
        self.exprs(open.args.iter().map(|(_, e)| e), known)?;
        match &open.source {
            OpenSource::Query(query) => self.statement(query, known),
            OpenSource::Execute { .. } => None,
        }
    }
}

/// The variables that some statement gives a value.
fn assigned_in(body: &[Stmt], slots: &mut Vec<usize>) {
    use StmtKind as S;
    let places = |places: &[Place], slots: &mut Vec<usize>| slots.extend(places.iter().map(|place| place.slot));
    for statement in body {
        match &statement.kind {
            S::Try { body, handlers, state, message } => {
                slots.extend([*state, *message]);
                assigned_in(body, slots);
                handlers.iter().for_each(|handler| assigned_in(&handler.body, slots));
            }
            S::If { branches, otherwise } => {
                branches.iter().for_each(|(_, body)| assigned_in(body, slots));
                assigned_in(otherwise, slots);
            }
            S::Loop { body, .. } | S::While { body, .. } | S::Labelled { body, .. } => assigned_in(body, slots),
            S::ForRange { variable, body, .. } => {
                slots.push(*variable);
                assigned_in(body, slots);
            }
            S::ForQuery { into, body, .. } | S::ForExecute { into, body, .. } | S::Foreach { into, body, .. } => {
                places(into, slots);
                assigned_in(body, slots);
            }
            S::ForCursor { into, cursor, open, body, .. } => {
                places(into, slots);
                slots.push(*cursor);
                slots.extend(open.args.iter().map(|(slot, _)| *slot));
                assigned_in(body, slots);
            }
            S::Open(slot, open) => {
                slots.push(*slot);
                slots.extend(open.args.iter().map(|(slot, _)| *slot));
            }
            S::Sql { into, .. } | S::Execute { into, .. } => {
                into.iter().for_each(|into| places(&into.places, slots));
            }
            S::Fetch { into, .. } => into.iter().for_each(|into| places(into, slots)),
            S::Assign(place, _) | S::RowCount(place) => slots.push(place.slot),
            S::StackedDiagnostics(items) => slots.extend(items.iter().map(|(place, _)| place.slot)),
            S::Shape(slot, _) | S::ShapeOf(slot, _) => slots.push(*slot),
            S::Perform(_) | S::ReturnQuery(_) | S::ReturnExecute { .. } | S::Close(_) | S::Fail(_) => {}
            S::Exit { .. } | S::Continue { .. } | S::Return(_) | S::ReturnNext(_) | S::Raise(_) => {}
            S::Assert(..) | S::CaseNotFound => {}
        }
    }
}

/// Whether nothing but the rows that fulfil its conditions can matter to a select: they are joined without outer joins, and
/// no condition can fail.
fn is_plain(select: &Select) -> bool {
    fn joins(from: &From) -> bool {
        match from {
            From::Rel(_) => true,
            From::Join { kind, left, right, on } => {
                matches!(kind, JoinKind::Inner | JoinKind::Cross)
                    && joins(left)
                    && joins(right)
                    && on.as_ref().is_none_or(never_fails)
            }
        }
    }
    select.from.as_ref().is_none_or(joins) && select.filter.as_ref().is_none_or(never_fails)
}

/// Comparisons of columns, variables and constants, and what is made of them by AND, OR and NOT.
fn never_fails(expr: &Expr) -> bool {
    use ExprKind as E;
    let plain = match &expr.kind {
        E::Const(_) | E::Column { .. } | E::Param(_) | E::And(_) | E::Or(_) | E::Not(_) => true,
        E::IsNull(..) | E::IsTruth(..) | E::InList(..) => true,
        E::Call(builtin, args) => {
            matches!(builtin.name, "=" | "<>" | "<" | "<=" | ">" | ">=") && args.iter().all(|arg| is_comparable(arg.ty))
        }
        _ => false,
    };
    let mut all = plain;
    expr.children(&mut |child| all = all && never_fails(child));
    all
}

/// Types whose values are equal to SQL exactly where they are to us.
fn is_comparable(ty: Type) -> bool {
    ty.is_integer() || ty.is_text() || matches!(ty, Type::Bool | Type::Date | Type::Uuid)
}

/// The values that a select wants rows of one of its relations to have.
fn key(select: &Select, rel: usize, known: Known<'_>) -> Key {
    let column = |e: &Expr| match e.kind {
        ExprKind::Column { depth: 0, rel: r, col } if usize::from(r) == rel => Some(usize::from(col)),
        _ => None,
    };
    let mut key = Key::new();
    let mut note = |e: &Expr| {
        if let ExprKind::Call(builtin, args) = &e.kind
            && let ("=", [a, b]) = (builtin.name, args.as_slice())
            && same_kind(a.ty, b.ty)
            && let Some(pair) = column(a).zip(value(b, known)).or_else(|| column(b).zip(value(a, known)))
        {
            key.push(pair);
        }
    };
    match select.filter.as_ref().map(|filter| (&filter.kind, filter)) {
        Some((ExprKind::And(conditions), _)) => conditions.iter().for_each(note),
        Some((_, filter)) => note(filter),
        None => {}
    }
    key
}

fn same_kind(a: Type, b: Type) -> bool {
    is_comparable(a) && (a == b || (a.is_integer() && b.is_integer()) || (a.is_text() && b.is_text()))
}

/// The value of an expression, if it is known.
fn value(expr: &Expr, known: Known<'_>) -> Option<Value> {
    match &expr.kind {
        ExprKind::Const(Value::Null) => None,
        ExprKind::Const(value) => Some(value.clone()),
        ExprKind::Param(slot) => known.get(*slot).cloned().flatten(),
        _ => None,
    }
}
