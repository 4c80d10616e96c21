//! What a transaction can still come to read, known before it begins.
//!
//! At REPEATABLE READ the first statement takes the snapshot that all later ones read from, so it depends on every
//! commit before it that those could see. Which rows they will ask for is not known yet, and must not be guessed from
//! one run: whether two events commute may not depend on what comes after them. But a thread's statements are written
//! down. From them, and from the routines, triggers and foreign keys behind them, follow the tables; and where a
//! condition says `column = value` with a value that is written down as well, or is a routine's argument that nobody
//! assigns to, the rows.
//!
//! ```text
//! CALL deposit(7, 50);      PROCEDURE deposit(a int, n int): UPDATE account SET balance = balance + n WHERE id = a;
//!                           reaches the rows of account with id = 7
//! ```
//!
//! Where something cannot be foreseen (dynamic SQL, definitions), nothing is promised for any thread. A serializable
//! transaction is taken to reach whole tables: what it is remembered to have read depends on their sizes.

use std::collections::BTreeSet;
use std::sync::Arc;

use isolde_engine::{Database, Key, Reach};
use isolde_sql::ast::{Isolation, JoinKind, TransactionModes};
use isolde_sql::bind;
use isolde_sql::catalog::{Catalog, RoutineId, TableId};
use isolde_sql::facts::SettingKind;
use isolde_sql::typed::{
    CursorCommand, Expansion, Expr, ExprKind, From, MergeWhen, Open, OpenSource, Place, Query, QueryBody, RelSource,
    Routine, Select, Statement, StatementKind, Stmt, StmtKind, Transaction, Update, With, WithBody,
};
use isolde_sql::{Type, Value};

use super::conflict::{self, Outlook, Written};
use crate::scenario::Thread;

/// For each thread, what a transaction reaches that begins with its n-th statement; nothing if that is not known.
pub(crate) fn of_threads(database: &mut Database, threads: &[Thread]) -> Option<Vec<Vec<Arc<Reach>>>> {
    let levels: Vec<Isolation> = threads.iter().map(|thread| database.options_mut(thread.session).isolation).collect();
    let catalog = database.catalog();
    let outlooks = threads.iter().zip(levels).enumerate().map(|(number, (thread, level))| {
        let statements: Vec<&Statement> = thread.statements.iter().map(|s| &*s.prepared.statement).collect();
        let of = |first| of_transaction(catalog, number, &statements[first..], level);
        (0..statements.len()).map(of).collect::<Option<Vec<Outlook>>>()
    });
    let outlooks: Vec<Outlook> = outlooks.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect();
    let mut reaches: Vec<Vec<Arc<Reach>>> = vec![Vec::new(); threads.len()];
    for (outlook, conflicts) in outlooks.iter().zip(conflict::of_all(database, &outlooks)) {
        let mut reach = settle(database.catalog(), outlook);
        reach.promise(conflicts);
        reaches[outlook.thread].push(Arc::new(reach));
    }
    Some(reaches)
}

fn of_transaction(catalog: &Catalog, thread: usize, statements: &[&Statement], level: Isolation) -> Option<Outlook> {
    let (reads, writes, serial) = (Reach::default(), Vec::new(), level == Isolation::Serializable);
    let found = Outlook { thread, serial, reads, writes, catches: false, plans: false, ordered: BTreeSet::new() };
    let mut finder = Finder { catalog, found, active: Vec::new() };
    statements[..length(statements)].iter().try_for_each(|statement| finder.statement(statement, &[]))?;
    Some(finder.found)
}

/// What a transaction may read from its snapshot: if it is serializable, whole tables.
fn settle(catalog: &Catalog, outlook: &Outlook) -> Reach {
    if !outlook.serial {
        return outlook.reads.clone();
    }
    let written = outlook.writes.iter().map(|(table, _)| *table);
    let read = catalog.tables().map(|table| table.id).filter(|table| outlook.reads.rows(*table).is_some());
    let mut whole = Reach::default();
    written.chain(read).for_each(|table| whole.insert(table, Vec::new()));
    whole
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
    found: Outlook,
    /// Routines that are being looked at.
    active: Vec<RoutineId>,
}

/// What is known of the variables.
type Known<'k> = &'k [Option<Value>];

impl Finder<'_> {
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
                    self.read(insert.table, Vec::new());
                    let update = conflict.update.iter();
                    self.exprs(update.flat_map(|u| u.set.iter().map(|(_, e)| e).chain(&u.filter)), known)?;
                }
                self.written(insert.table, Written::Enters, &mut Vec::new())
            }
            StatementKind::Update(update) => {
                self.withs(&update.with, known)?;
                self.select(&update.select, known)?;
                self.exprs(update.set.iter().map(|(_, e)| e), known)?;
                self.exprs(update.view_checks.iter().map(|check| &check.condition), known)?;
                self.exprs(update.returning.iter().flat_map(|r| &r.exprs), known)?;
                let written = match self.is_in_place(update) {
                    true => Written::InPlace(target_key(&update.select, known)),
                    false => Written::Enters,
                };
                self.written(update.table, written, &mut Vec::new())
            }
            StatementKind::Delete(delete) => {
                self.withs(&delete.with, known)?;
                self.select(&delete.select, known)?;
                self.exprs(delete.returning.iter().flat_map(|r| &r.exprs), known)?;
                let written = Written::InPlace(target_key(&delete.select, known));
                self.written(delete.table, written, &mut Vec::new())
            }
            StatementKind::Merge(merge) => {
                self.withs(&merge.with, known)?;
                self.select(&merge.select, known)?;
                self.read(merge.table, Vec::new());
                self.exprs(merge.whens.iter().flat_map(MergeWhen::exprs), known)?;
                self.written(merge.table, Written::Enters, &mut Vec::new())
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
            StatementKind::Set { name, .. } => {
                let kind = SettingKind::of(name);
                self.found.serial |= kind == SettingKind::Level;
                self.found.plans |= kind == SettingKind::Planner;
                Some(())
            }
            StatementKind::Define(_) | StatementKind::Session(_) | StatementKind::Truncate(_) => None,
            StatementKind::Late(_) => None,
        }
    }

    fn control(&mut self, transaction: &Transaction) -> Option<()> {
        use Transaction as T;
        match transaction {
            T::Begin(modes) | T::Set(modes) | T::SetSession(modes) => {
                self.found.serial |= matches!(modes, TransactionModes { isolation: Some(Isolation::Serializable), .. });
                Some(())
            }
            T::RollbackTo(_) => {
                self.found.catches = true;
                Some(())
            }
            T::Commit { .. } | T::Rollback { .. } | T::Savepoint(_) | T::Release(_) => Some(()),
            T::Prepare(_) | T::CommitPrepared(_) | T::RollbackPrepared(_) => None,
        }
    }

    fn read(&mut self, table: TableId, key: Key) {
        self.found.reads.insert(table, key);
    }

    /// Whether an UPDATE leaves all index entries as they are.
    fn is_in_place(&self, update: &Update) -> bool {
        let table = self.catalog.table(update.table);
        let mut indexed = table.indexes.iter().flat_map(|index| index.mentions());
        let set =
            |column: usize| update.set.iter().any(|(c, _)| *c == column) || table.columns[column].generated.is_some();
        table.triggers.is_empty() && !indexed.any(|column| set(*column))
    }

    /// Rows of a table come, go or change: what triggers, constraints and foreign keys look at.
    fn written(&mut self, table: TableId, written: Written, seen: &mut Vec<TableId>) -> Option<()> {
        self.found.writes.push((table, written));
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
            self.read(key.parent, Vec::new());
        }
        let children = catalog.tables().filter(|child| child.foreign_keys.iter().any(|key| key.parent == table));
        for child in children {
            self.read(child.id, Vec::new());
            self.written(child.id, Written::Enters, seen)?;
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
            QueryBody::Select(select) => {
                if !query.order_by.is_empty() || select.grouping.is_some() {
                    self.found.ordered.extend(query.tables());
                }
                self.select(select, known)?
            }
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
                RelSource::Table(table) if by_key => self.read(*table, key(select, number, known)),
                RelSource::Table(table) => self.read(*table, Vec::new()),
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
                self.read(*table, Vec::new());
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
                self.found.catches = true;
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
            S::Raise(raise) => self.exprs(raise.exprs(), known),
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

/// Whether nothing but the rows that fulfil its conditions can matter to a select: they are joined without outer joins,
/// and no condition can fail.
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

/// The values of the rows that an UPDATE or DELETE changes.
fn target_key(select: &Select, known: Known<'_>) -> Key {
    if is_plain(select) { key(select, 0, known) } else { Key::new() }
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
