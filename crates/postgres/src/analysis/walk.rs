//! Through a bound statement, gathering what it touches.

use std::collections::BTreeSet;
use std::sync::Arc;

use isolde_engine::footprint::{ColumnSet, Predicate, Read};
use isolde_sql::ast::{JoinKind, TableLockMode};
use isolde_sql::builtin::{AdvisoryFunction, Eval, SessionFunction};
use isolde_sql::catalog::{RoutineId, TableId};
use isolde_sql::typed::*;
use isolde_sql::{Type, Value, bind};

use super::{Analyst, keys};
use crate::catalog::WHOLE;
use crate::live::{Look, NamedLock, Touched};

/// What has been gathered so far.
pub(super) struct Walk<'a> {
    analyst: &'a Analyst,
    pub(super) touched: Touched,
    pub(super) targets: BTreeSet<TableId>,
    /// Tables of which it may meet several rows.
    pub(super) scanned: BTreeSet<TableId>,
    /// Tables whose primary keys it may change.
    pub(super) rekeyed: BTreeSet<TableId>,
    /// A snapshot is needed.
    pub(super) looks: bool,
    /// Routines that were looked into.
    routines: BTreeSet<RoutineId>,
}

/// Adds what another statement touches.
pub(super) fn add(sum: &mut Touched, more: Touched) {
    sum.reads.extend(more.reads);
    sum.locks.extend(more.locks);
    sum.writes.extend(more.writes);
    sum.writes_all.extend(more.writes_all);
    sum.keys.extend(more.keys);
    sum.sequences.extend(more.sequences);
    sum.everything |= more.everything;
    sum.coarse.extend(more.coarse);
}

/// Every row of a table, whatever it holds.
pub(crate) fn whole(table: TableId, current: bool) -> Read {
    Read {
        table,
        key: Vec::new(),
        filter: None,
        params: Arc::default(),
        columns: ColumnSet::ALL,
        matched: Vec::new(),
        current,
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(analyst: &'a Analyst) -> Walk<'a> {
        Walk {
            analyst,
            touched: Touched::default(),
            targets: BTreeSet::new(),
            scanned: BTreeSet::new(),
            rekeyed: BTreeSet::new(),
            looks: false,
            routines: BTreeSet::new(),
        }
    }

    pub(super) fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Query(query) => {
                self.looks = true;
                self.query(query);
            }
            StatementKind::Insert(insert) => self.insert(insert),
            StatementKind::Update(update) => {
                self.with(&update.with);
                let returned = update.returning.iter().flat_map(|r| &r.exprs);
                let asked = update.set.iter().map(|(_, e)| e).chain(returned);
                self.target(update.table, &update.select, mentioned_by(asked, 0));
                self.sets(update.table, update.set.iter().map(|(column, _)| *column));
                self.exprs(update.set.iter().map(|(_, e)| e));
                self.exprs(update.returning.iter().flat_map(|r| &r.exprs));
            }
            StatementKind::Delete(delete) => {
                self.with(&delete.with);
                let returned = delete.returning.iter().flat_map(|r| &r.exprs);
                self.target(delete.table, &delete.select, mentioned_by(returned, 0));
                self.exprs(delete.returning.iter().flat_map(|r| &r.exprs));
            }
            StatementKind::Merge(merge) => self.merge(merge),
            StatementKind::LockTable { tables, mode, .. } => self.lock_tables(tables, *mode),
            StatementKind::Call(routine, args) => {
                self.looks = true;
                self.exprs(args);
                self.routine(*routine);
            }
            StatementKind::Do(routine) => {
                self.looks = true;
                self.body(&routine.body);
            }
            StatementKind::Cursor(CursorCommand::Declare { query, .. }) => self.statement(query),
            StatementKind::Cursor(CursorCommand::Close(_)) => {}
            StatementKind::Cursor(CursorCommand::Fetch { .. }) => self.all("a cursor is read"),
            StatementKind::Define(_) | StatementKind::Truncate(_) => self.all("definitions change"),
            StatementKind::Transaction(
                Transaction::Prepare(_) | Transaction::CommitPrepared(_) | Transaction::RollbackPrepared(_),
            ) => self.all("a transaction is prepared"),
            StatementKind::Transaction(_) | StatementKind::Set { .. } => {}
            StatementKind::SetConstraints(_) => self.all("constraints are checked"),
            StatementKind::Late(_) => self.all("a statement that is bound when it runs"),
            StatementKind::Session(command) => match command {
                SessionCommand::Execute { .. } => self.all("a prepared statement that is not known"),
                SessionCommand::Listen(_) | SessionCommand::Unlisten(_) | SessionCommand::Notify { .. } => {
                    self.all("a channel is used");
                }
                _ => {}
            },
        }
    }

    /// Nothing is known.
    fn all(&mut self, reason: &str) {
        self.looks = true;
        self.touched.everything = true;
        self.coarse(reason.to_string());
    }

    fn coarse(&mut self, reason: String) {
        if !self.touched.coarse.contains(&reason) {
            self.touched.coarse.push(reason);
        }
    }

    fn insert(&mut self, insert: &Insert) {
        self.looks = true;
        self.with(&insert.with);
        self.query(&insert.source);
        self.exprs(&insert.values);
        if let Some(conflict) = &insert.on_conflict {
            match keys::proposed(self.analyst, insert) {
                Some(looks) => self.touched.locks.extend(looks),
                None => {
                    self.touched.locks.push(whole(insert.table, true).into());
                    self.coarse(format!("ON CONFLICT may meet any row of {}", self.name(insert.table)));
                }
            }
            if let Some(update) = &conflict.update {
                self.sets(insert.table, update.set.iter().map(|(column, _)| *column));
                self.exprs(update.set.iter().map(|(_, e)| e).chain(&update.filter));
            }
        }
        self.exprs(insert.returning.iter().flat_map(|r| &r.exprs));
        self.written(insert.table);
    }

    fn merge(&mut self, merge: &Merge) {
        self.with(&merge.with);
        self.target(merge.table, &merge.select, ColumnSet::ALL);
        for when in &merge.whens {
            self.exprs(&when.condition);
            match &when.action {
                MergeAction::Update(set) => {
                    self.sets(merge.table, set.iter().map(|(column, _)| *column));
                    self.exprs(set.iter().map(|(_, e)| e));
                }
                MergeAction::Insert(values) => self.exprs(values),
                MergeAction::Delete | MergeAction::Nothing => {}
            }
        }
    }

    /// UPDATE and DELETE: the first relation is locked where it fulfils the condition, the others are read.
    fn target(&mut self, table: TableId, select: &Select, also: ColumnSet) {
        self.looks = true;
        for (rel, source) in tables_of(select) {
            let columns = match rel {
                0 => also.union(mentioned_in(select, 0)),
                _ => ColumnSet::ALL,
            };
            let look = Look::scan(Read { columns, current: rel == 0, ..self.part(select, rel, source) });
            match rel {
                0 => self.touched.locks.push(look),
                _ => self.touched.reads.push(look),
            }
        }
        self.sources(select);
        select.exprs(&mut |e| self.expr(e));
        select.queries(&mut |q| self.query(q));
        self.written(table);
    }

    /// Columns are given other values, which foreign keys may hand on.
    fn sets(&mut self, table: TableId, columns: impl Iterator<Item = usize>) {
        let columns: Vec<usize> = columns.collect();
        let catalog = &self.analyst.catalog;
        let is_key =
            catalog.table(table).primary_key().is_some_and(|key| key.columns.iter().any(|c| columns.contains(c)));
        if is_key && !self.rekeyed.insert(table) {
            return;
        }
        for (child, position) in catalog.references_to(table) {
            let Some(key) = child.foreign_keys.get(position) else { continue };
            if key.parent_columns.iter().any(|column| columns.contains(column)) && child.id != table {
                self.sets(child.id, key.columns.iter().copied());
            }
        }
    }

    /// Rows of a table are written: its triggers may do anything.
    pub(super) fn written(&mut self, table: TableId) {
        self.kin(table);
        self.targets.insert(table);
        let triggers = self.analyst.catalog.table(table).triggers.clone();
        for trigger in triggers.iter().filter(|trigger| trigger.enabled) {
            if self.routines.insert(trigger.function) {
                match bind::trigger(&self.analyst.catalog, self.analyst.catalog.table(table), trigger) {
                    Ok(routine) => self.body(&routine.body),
                    Err(error) => self.all(&format!("trigger {}: {}", trigger.name, error.message)),
                }
            }
        }
    }

    /// What is read from one of several tables that share rows may be written to another.
    fn kin(&mut self, table: TableId) {
        if self.analyst.opaque.contains(&(table, WHOLE)) {
            self.all(&format!("{} shares rows with its partitions or parents", self.name(table)));
        }
    }

    fn lock_tables(&mut self, tables: &[TableId], mode: TableLockMode) {
        for &table in tables {
            self.touched.keys.push(NamedLock::Table(self.name(table).to_string()));
            match mode {
                TableLockMode::AccessShare | TableLockMode::RowShare => {}
                TableLockMode::AccessExclusive => self.touched.writes_all.push(table),
                _ => self.touched.locks.push(whole(table, true).into()),
            }
        }
    }

    fn with(&mut self, with: &[With]) {
        for with in with {
            match &with.body {
                WithBody::Query(query) => self.query(query),
                WithBody::Recursive { first, step, .. } => {
                    self.query(first);
                    self.query(step);
                }
                WithBody::Modify(statement) => self.statement(statement),
            }
        }
    }

    fn query(&mut self, query: &Query) {
        self.with(&query.with);
        if let QueryBody::Select(select) = &query.body {
            for (rel, table) in tables_of(select) {
                let locked = query.locking.iter().any(|locking| locking.rels.contains(&rel));
                let read = self.part(select, rel, table);
                let look = Look::scan(Read { columns: mentioned(query, rel), current: locked, ..read });
                match locked {
                    true => self.touched.locks.push(look),
                    false => self.touched.reads.push(look),
                }
            }
            self.sources(select);
        }
        query.exprs(&mut |e| self.expr(e));
        query.queries(&mut |q| self.query(q));
    }

    /// Routines in FROM and in the select list.
    fn sources(&mut self, select: &Select) {
        for rel in &select.rels {
            match &rel.source {
                RelSource::Routine(id, _) => self.routine(*id),
                RelSource::RowsFrom { parts, .. } => {
                    for part in parts {
                        if let RelSource::Routine(id, _) = &part.source {
                            self.routine(*id);
                        }
                    }
                }
                _ => {}
            }
        }
        for expansion in &select.expansions {
            if let Expansion::Routine(id, _) = expansion {
                self.routine(*id);
            }
        }
    }

    /// The rows of one relation that can matter: those that fulfil the conditions that are about it alone.
    fn part(&mut self, select: &Select, rel: usize, table: TableId) -> Read {
        self.kin(table);
        let mut conjuncts = Vec::new();
        if let Some(from) = &select.from
            && inner(from)
        {
            select.filter.iter().for_each(|filter| split(filter, &mut conjuncts));
            conditions(from, &mut conjuncts);
            if !self.is_one_row(&conjuncts, rel, table) {
                self.scanned.insert(table);
            }
            let all = conjuncts.len();
            conjuncts.retain(|condition| self.is_about(condition, rel, table));
            if conjuncts.is_empty() && all > 0 {
                let name = self.name(table);
                self.coarse(format!("{name} is read whole: its conditions are not about one row of it alone"));
            }
        } else {
            self.scanned.insert(table);
            if select.filter.is_some() {
                self.coarse(format!("{} is read whole: it is part of an outer join", self.name(table)));
            }
        }
        let mut key = Vec::new();
        conjuncts.retain(|condition| match equality(condition) {
            Some(part) => {
                key.push(part);
                false
            }
            None => true,
        });
        let mut filter = match conjuncts.len() {
            0 => None,
            1 => conjuncts.pop(),
            _ => Some(Expr { kind: ExprKind::And(conjuncts), ty: Type::Bool }),
        };
        if let Some(filter) = &mut filter {
            filter.walk_mut(0, &mut |e, _| {
                if let ExprKind::Column { rel, .. } | ExprKind::WholeRow { rel, .. } = &mut e.kind {
                    *rel = 0;
                }
                true
            });
        }
        Read { key, filter: filter.map(|f| Arc::new(Predicate::new(f))), ..whole(table, false) }
    }

    /// Whether conditions fix the whole primary key of a relation, so that they can be true of one row at most.
    fn is_one_row(&self, conjuncts: &[Expr], this: usize, table: TableId) -> bool {
        let ours = |e: &Expr| match &e.kind {
            ExprKind::Column { depth: 0, rel, col } if usize::from(*rel) == this => Some(usize::from(*col)),
            _ => None,
        };
        let pairs = conjuncts.iter().filter_map(compared).flat_map(|(one, other)| [(one, other), (other, one)]);
        let fixed: Vec<usize> = pairs.filter(|(_, value)| is_settled(value)).filter_map(|(one, _)| ours(one)).collect();
        let key = self.analyst.catalog.table(table).primary_key();
        key.is_some_and(|index| index.columns.iter().all(|column| fixed.contains(column)))
    }

    /// Whether a condition can be asked about a row of one relation, by anybody, at any time.
    fn is_about(&self, condition: &Expr, this: usize, table: TableId) -> bool {
        let mut about = true;
        condition.walk(0, &mut |e, _| {
            about &= match &e.kind {
                ExprKind::Column { depth, rel, col } => {
                    *depth == 0
                        && usize::from(*rel) == this
                        && !self.analyst.opaque.contains(&(table, usize::from(*col)))
                }
                ExprKind::WholeRow { .. } | ExprKind::Param(_) | ExprKind::NamedField(..) => false,
                ExprKind::Group { .. } | ExprKind::Aggregated { .. } | ExprKind::Output(_) => false,
                ExprKind::Windowed(_) | ExprKind::Expanded(_) | ExprKind::Routine(..) => false,
                ExprKind::Call(builtin, _) => matches!(builtin.eval, Eval::Pure(_)),
                _ => e.subquery().is_none(),
            }
        });
        about
    }

    fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        exprs.into_iter().for_each(|e| self.expr(e));
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Routine(id, _) => self.routine(*id),
            ExprKind::Call(builtin, args) => {
                if let Eval::Session(function) = builtin.eval {
                    self.session_function(function, args);
                }
            }
            _ => {}
        }
        expr.children(&mut |child| self.expr(child));
        if let Some(query) = expr.subquery() {
            self.query(query);
        }
    }

    fn session_function(&mut self, function: SessionFunction, args: &[Expr]) {
        let constant = |e: &Expr| match &e.kind {
            ExprKind::Const(value) => Some(value.to_string()),
            ExprKind::Cast { expr, .. } => match &expr.kind {
                ExprKind::Const(value) => Some(value.to_string()),
                _ => None,
            },
            _ => None,
        };
        match function {
            SessionFunction::NextVal | SessionFunction::SetVal | SessionFunction::Sequence(_) => {
                match args.first().and_then(constant) {
                    Some(name) => self.touched.sequences.push(name),
                    None => self.all("a sequence whose name is computed"),
                }
            }
            SessionFunction::Advisory(AdvisoryFunction::UnlockAll) => self.all("all advisory locks are released"),
            SessionFunction::Advisory(_) => match args.iter().map(constant).collect::<Option<Vec<_>>>() {
                Some(key) => self.touched.keys.push(NamedLock::Advisory(key.join(" "))),
                None => self.all("an advisory lock whose key is computed"),
            },
            SessionFunction::Notify => self.all("a channel is used"),
            _ => {}
        }
    }

    fn routine(&mut self, id: RoutineId) {
        if !self.routines.insert(id) {
            return;
        }
        let definition = self.analyst.catalog.routine(id).clone();
        match bind::routine(&self.analyst.catalog, &definition) {
            Ok(routine) => self.body(&routine.body),
            Err(error) => self.all(&format!("{}: {}", definition.name, error.message)),
        }
    }

    /// The code of a routine, whichever way it takes.
    fn body(&mut self, body: &[Stmt]) {
        body.iter().for_each(|stmt| self.stmt(&stmt.kind));
    }

    fn stmt(&mut self, kind: &StmtKind) {
        match kind {
            StmtKind::Try { body, handlers, .. } => {
                self.body(body);
                handlers.iter().for_each(|handler| self.body(&handler.body));
            }
            StmtKind::Assign(_, e) => self.expr(e),
            StmtKind::Sql { statement, .. } | StmtKind::Perform(statement) | StmtKind::ReturnQuery(statement) => {
                self.statement(statement);
            }
            StmtKind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    self.expr(condition);
                    self.body(body);
                }
                self.body(otherwise);
            }
            StmtKind::Loop { body, .. } | StmtKind::Labelled { body, .. } => self.body(body),
            StmtKind::While { condition, body, .. } => {
                self.expr(condition);
                self.body(body);
            }
            StmtKind::ForRange { from, to, by, body, .. } => {
                self.exprs([from, to].into_iter().chain(by));
                self.body(body);
            }
            StmtKind::ForQuery { query, body, .. } => {
                self.statement(query);
                self.body(body);
            }
            StmtKind::Foreach { array, body, .. } => {
                self.expr(array);
                self.body(body);
            }
            StmtKind::Exit { when, .. } | StmtKind::Continue { when, .. } => self.exprs(when),
            StmtKind::Return(e) => self.exprs(e),
            StmtKind::ReturnNext(list) => self.exprs(list),
            StmtKind::Assert(condition, message) => self.exprs(std::iter::once(condition).chain(message)),
            StmtKind::Shape(..) | StmtKind::ShapeOf(..) | StmtKind::Fail(_) | StmtKind::RowCount(_) => {}
            StmtKind::StackedDiagnostics(_) | StmtKind::CaseNotFound | StmtKind::Close(_) => {}
            StmtKind::Raise(_) => {}
            StmtKind::Execute { .. } | StmtKind::ForExecute { .. } | StmtKind::ReturnExecute { .. } => {
                self.all("a routine runs a text that it computes");
            }
            StmtKind::ForCursor { .. } | StmtKind::Open(..) | StmtKind::Fetch { .. } => self.all("a cursor is read"),
        }
    }

    fn name(&self, table: TableId) -> Arc<str> {
        self.analyst.catalog.table(table).name.clone()
    }
}

/// The relations of a select that are tables.
pub(super) fn tables_of(select: &Select) -> Vec<(usize, TableId)> {
    let tables = select.rels.iter().enumerate().filter_map(|(rel, source)| match source.source {
        RelSource::Table(table) => Some((rel, table)),
        _ => None,
    });
    tables.collect()
}

/// Whether all joins are inner: only then does a row that fails a condition not matter.
fn inner(from: &From) -> bool {
    match from {
        From::Rel(_) => true,
        From::Join { kind, left, right, .. } => {
            matches!(kind, JoinKind::Inner | JoinKind::Cross) && inner(left) && inner(right)
        }
    }
}

/// The conditions of joins.
fn conditions(from: &From, conjuncts: &mut Vec<Expr>) {
    if let From::Join { left, right, on, .. } = from {
        conditions(left, conjuncts);
        conditions(right, conjuncts);
        on.iter().for_each(|on| split(on, conjuncts));
    }
}

fn split(condition: &Expr, conjuncts: &mut Vec<Expr>) {
    match &condition.kind {
        ExprKind::And(parts) => parts.iter().for_each(|part| split(part, conjuncts)),
        _ => conjuncts.push(condition.clone()),
    }
}

/// `column = constant`
fn equality(condition: &Expr) -> Option<(usize, Value)> {
    let ExprKind::Call(builtin, args) = &condition.kind else { return None };
    let [left, right] = args.as_slice() else { return None };
    match (&left.kind, &right.kind) {
        (ExprKind::Column { col, .. }, ExprKind::Const(value))
        | (ExprKind::Const(value), ExprKind::Column { col, .. })
            if builtin.name == "=" && left.ty.base() == right.ty.base() && !value.is_null() =>
        {
            Some((usize::from(*col), value.clone()))
        }
        _ => None,
    }
}

/// The two sides of an equation.
fn compared(condition: &Expr) -> Option<(&Expr, &Expr)> {
    match &condition.kind {
        ExprKind::Call(builtin, args) if builtin.name == "=" => match args.as_slice() {
            [left, right] => Some((left, right)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether an expression has the same value for all rows of the query it stands in.
fn is_settled(expr: &Expr) -> bool {
    let mut settled = true;
    expr.walk(0, &mut |e, _| {
        settled &= match &e.kind {
            ExprKind::Column { depth, .. } | ExprKind::WholeRow { depth, .. } => *depth > 0,
            _ => e.subquery().is_none(),
        }
    });
    settled
}

/// The columns of a relation that a query asks for, anywhere in it.
fn mentioned(query: &Query, this: usize) -> ColumnSet {
    let mut columns = ColumnSet::NONE;
    query.walk(0, &mut |e, level| mention(e, level, this, &mut columns));
    columns
}

/// The same of a select without a query around it.
fn mentioned_in(select: &Select, this: usize) -> ColumnSet {
    let mut columns = ColumnSet::NONE;
    select.exprs(&mut |e| e.walk(0, &mut |e, level| mention(e, level, this, &mut columns)));
    select.queries(&mut |q| q.walk(1, &mut |e, level| mention(e, level, this, &mut columns)));
    columns
}

/// The columns of a relation that FROM and WHERE ask about.
pub(super) fn asked_about(select: &Select, this: usize) -> ColumnSet {
    let mut conjuncts = Vec::new();
    select.from.iter().for_each(|from| conditions(from, &mut conjuncts));
    mentioned_by(conjuncts.iter().chain(&select.filter), this)
}

/// The same of expressions.
fn mentioned_by<'e>(exprs: impl Iterator<Item = &'e Expr>, this: usize) -> ColumnSet {
    let mut columns = ColumnSet::NONE;
    exprs.for_each(|e| e.walk(0, &mut |e, level| mention(e, level, this, &mut columns)));
    columns
}

fn mention(e: &Expr, level: u16, this: usize, columns: &mut ColumnSet) {
    match &e.kind {
        ExprKind::Column { depth, rel, col } if *depth == level && usize::from(*rel) == this => {
            columns.insert(usize::from(*col));
        }
        ExprKind::WholeRow { depth, rel } if *depth == level && usize::from(*rel) == this => *columns = ColumnSet::ALL,
        _ => {}
    }
}
