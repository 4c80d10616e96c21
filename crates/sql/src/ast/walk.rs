//! Every part of a statement, in the order in which PostgreSQL looks at it.
//!
//! WITH comes first, then the table that is written, then the rest from left to right. The name of a WITH query is no
//! table. A statement that only defines something (a routine, a view, a prepared statement) does not run what it
//! defines, so that is not visited; [`RoutineBody::walk`] visits what a routine does when it is called.

use std::sync::Arc;

use super::plpgsql::{self, DeclarationKind, OpenSource, Stmt, StmtKind};
use super::*;

/// A part of a statement.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// A statement: the one that was asked about, or one inside of a routine.
    Statement(&'a StatementKind),
    /// A query: the one that was asked about, or one inside of it.
    Query(&'a Query),
    /// A table or view that is read or referred to.
    Table(&'a QualifiedName),
    /// A table or view whose rows are written, or which is changed.
    Target(&'a QualifiedName),
    /// A function in FROM, or a procedure; calls in expressions are [`Part::Expr`].
    Routine(&'a QualifiedName, &'a [Expr]),
    /// An expression, before the expressions inside of it.
    Expr(&'a Expr),
    /// A block of PL/pgSQL.
    Block(&'a plpgsql::Block),
    /// A statement of PL/pgSQL, before those inside of it.
    Stmt(&'a StmtKind),
}

impl StatementKind {
    /// Visits every part.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        Walk { visit, names: Vec::new() }.statement(self);
    }
}

impl Query {
    /// Visits every part.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        Walk { visit, names: Vec::new() }.query(self);
    }
}

impl Expr {
    /// Visits every part.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        Walk { visit, names: Vec::new() }.expr(self);
    }

    /// Whether a query is written in it.
    pub fn contains_query(&self) -> bool {
        let mut found = false;
        self.walk(&mut |part| found |= matches!(part, Part::Query(_)));
        found
    }
}

impl plpgsql::Body {
    /// Visits every part.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        Walk { visit, names: Vec::new() }.block(&self.block);
    }
}

impl StmtKind {
    /// Visits every part.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        Walk { visit, names: Vec::new() }.stmt(self);
    }
}

impl RoutineBody {
    /// Visits every part of what a routine does when it is called.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        match self {
            RoutineBody::PlPgSql(body) => body.walk(visit),
            RoutineBody::Sql(statements) => statements.iter().for_each(|statement| statement.kind.walk(visit)),
        }
    }
}

struct Walk<'v, 'a> {
    visit: &'v mut dyn FnMut(Part<'a>),
    /// WITH queries in sight.
    names: Vec<Arc<str>>,
}

impl<'a> Walk<'_, 'a> {
    fn statement(&mut self, statement: &'a StatementKind) {
        use StatementKind as S;
        (self.visit)(Part::Statement(statement));
        match statement {
            S::Query(query) => self.query(query),
            S::Insert(insert) => self.insert(insert),
            S::Update(update) => self.update(update),
            S::Delete(delete) => self.delete(delete),
            S::Merge(merge) => self.merge(merge),
            S::CreateTable(table) => {
                table.likes.iter().for_each(|(_, like)| self.table(&like.table));
                let constraints = table.columns.iter().flat_map(|column| &column.constraints);
                constraints.for_each(|constraint| self.column_constraint(&constraint.kind));
                table.constraints.iter().for_each(|constraint| self.constraint(&constraint.kind));
            }
            S::CreateIndex(index) => {
                self.target(&index.table);
                self.exprs(index.keys.iter().chain(&index.filter));
            }
            S::CreateTrigger(trigger) => self.target(&trigger.table),
            S::DropTrigger(drop) => self.target(&drop.table),
            S::SwitchTriggers(switch) => self.target(&switch.table),
            S::AlterTable(alter) => {
                self.target(&alter.table);
                alter.actions.iter().for_each(|action| self.action(action));
            }
            S::AlterObject(alter) => self.target(&alter.name),
            S::Refresh(refresh) => self.target(&refresh.name),
            S::CreateTableAs(create) => self.query(&create.query),
            S::CreateSchema(schema) => schema.elements.iter().for_each(|element| self.statement(&element.kind)),
            S::Drop(drop) => drop.names.iter().for_each(|name| self.target(name)),
            S::Truncate(truncate) => truncate.tables.iter().for_each(|name| self.target(name)),
            S::Copy(copy) => self.target(&copy.table),
            S::LockTable(lock) => lock.tables.iter().for_each(|name| self.target(name)),
            S::DeclareCursor(cursor) => self.query(&cursor.query),
            S::Call { name, args, named } => {
                (self.visit)(Part::Routine(name, args));
                self.exprs(args.iter().chain(named.iter().map(|(_, value)| value)));
            }
            S::Do(body) => self.block(&body.block),
            S::Session(SessionCommand::Execute { args, .. }) => self.exprs(args),
            S::Session(SessionCommand::Maintain { tables, .. }) => tables.iter().for_each(|name| self.target(name)),
            // What a view or a routine would do is not done yet.
            S::CreateView(_) | S::CreateRoutine(_) => {}
            S::CreateSequence(_) | S::AlterSequence(_) | S::CreateType(_) | S::CreateDomain(_) | S::AlterType(_) => {}
            S::Fetch(_) | S::CloseCursor(_) | S::SetConstraints(_) | S::Ignored(_) | S::Session(_) => {}
            S::Begin(_) | S::Commit { .. } | S::Rollback { .. } | S::Savepoint(_) | S::RollbackTo(_) => {}
            S::Release(_) | S::SetTransaction(_) | S::SetSessionCharacteristics(_) | S::Set(_) => {}
        }
    }

    fn table(&mut self, name: &'a QualifiedName) {
        if name.qualifier().is_some() || !self.names.contains(&name.name.name) {
            (self.visit)(Part::Table(name));
        }
    }

    fn target(&mut self, name: &'a QualifiedName) {
        (self.visit)(Part::Target(name));
    }

    /// WITH queries come into sight one after the other, all at once if they are recursive; the caller lets them go.
    fn with(&mut self, with: &'a [Cte]) -> usize {
        let known = self.names.len();
        let recursive = with.iter().filter(|cte| cte.recursive).map(|cte| cte.name.name.clone());
        self.names.extend(recursive);
        for cte in with {
            match &cte.body {
                CteBody::Query(query) => self.query(query),
                CteBody::Insert(insert) => self.insert(insert),
                CteBody::Update(update) => self.update(update),
                CteBody::Delete(delete) => self.delete(delete),
            }
            self.names.push(cte.name.name.clone());
        }
        known
    }

    fn query(&mut self, query: &'a Query) {
        (self.visit)(Part::Query(query));
        let known = self.with(&query.with);
        match &query.body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Values(rows) => self.exprs(rows.iter().flatten()),
            QueryBody::SetOperation { left, right, .. } => {
                self.query(left);
                self.query(right);
            }
        }
        self.keys(&query.order_by);
        self.exprs(query.limit.iter().chain(&query.offset));
        self.names.truncate(known);
    }

    fn select(&mut self, select: &'a Select) {
        select.from.iter().for_each(|from| self.from(from));
        self.exprs(&select.distinct_on);
        self.items(&select.items);
        self.exprs(&select.filter);
        select.group_by.iter().for_each(|item| self.group(item));
        self.exprs(&select.having);
        select.windows.iter().for_each(|(_, window)| self.window(window));
    }

    fn group(&mut self, item: &'a GroupItem) {
        match item {
            GroupItem::Expr(expr) => self.expr(expr),
            GroupItem::Empty(_) => {}
            GroupItem::Rollup(exprs) | GroupItem::Cube(exprs) => self.exprs(exprs),
            GroupItem::Sets(items) => items.iter().for_each(|item| self.group(item)),
        }
    }

    fn items(&mut self, items: &'a [SelectItem]) {
        for item in items {
            if let SelectItem::Expr { expr, .. } = item {
                self.expr(expr);
            }
        }
    }

    fn from(&mut self, from: &'a TableRef) {
        match from {
            TableRef::Table { name, .. } => self.table(name),
            TableRef::Subquery { query, .. } => self.query(query),
            TableRef::Function { name, args, .. } => {
                (self.visit)(Part::Routine(name, args));
                self.exprs(args);
            }
            TableRef::RowsFrom { functions, .. } => {
                for function in functions {
                    (self.visit)(Part::Routine(&function.name, &function.args));
                    self.exprs(&function.args);
                }
            }
            TableRef::Join { left, right, on, .. } => {
                self.from(left);
                self.from(right);
                if let JoinCondition::On(condition) = on {
                    self.expr(condition);
                }
            }
        }
    }

    fn insert(&mut self, insert: &'a Insert) {
        let known = self.with(&insert.with);
        self.target(&insert.table);
        if let InsertSource::Query(query) = &insert.source {
            self.query(query);
        }
        if let Some(conflict) = &insert.on_conflict {
            if let Some(ConflictTarget::Index { keys, filter }) = &conflict.target {
                self.exprs(keys.iter().chain(filter));
            }
            if let Some(update) = &conflict.update {
                self.assignments(&update.set);
                self.exprs(&update.filter);
            }
        }
        self.items(&insert.returning);
        self.names.truncate(known);
    }

    fn update(&mut self, update: &'a Update) {
        let known = self.with(&update.with);
        self.target(&update.table);
        update.from.iter().for_each(|from| self.from(from));
        self.assignments(&update.set);
        self.exprs(&update.filter);
        self.items(&update.returning);
        self.names.truncate(known);
    }

    fn delete(&mut self, delete: &'a Delete) {
        let known = self.with(&delete.with);
        self.target(&delete.table);
        delete.using.iter().for_each(|from| self.from(from));
        self.exprs(&delete.filter);
        self.items(&delete.returning);
        self.names.truncate(known);
    }

    fn merge(&mut self, merge: &'a Merge) {
        let known = self.with(&merge.with);
        self.target(&merge.table);
        self.from(&merge.source);
        self.expr(&merge.on);
        for when in &merge.whens {
            self.exprs(&when.condition);
            match &when.action {
                MergeAction::Update(set) => self.assignments(set),
                MergeAction::Insert { values, .. } => self.exprs(values.iter().flatten()),
                MergeAction::Delete | MergeAction::Nothing => {}
            }
        }
        self.names.truncate(known);
    }

    fn assignments(&mut self, set: &'a [Assignment]) {
        for assignment in set {
            self.subscripts(&assignment.subscripts);
            self.expr(&assignment.value);
        }
    }

    fn column_constraint(&mut self, constraint: &'a ColumnConstraintKind) {
        match constraint {
            ColumnConstraintKind::Default(expr)
            | ColumnConstraintKind::Generated(expr)
            | ColumnConstraintKind::Check(expr) => self.expr(expr),
            ColumnConstraintKind::References(references) => self.table(&references.table),
            _ => {}
        }
    }

    fn constraint(&mut self, constraint: &'a TableConstraintKind) {
        match constraint {
            TableConstraintKind::Check(expr) => self.expr(expr),
            TableConstraintKind::ForeignKey(_, references) => self.table(&references.table),
            TableConstraintKind::PrimaryKey(_) | TableConstraintKind::Unique(_) => {}
        }
    }

    fn action(&mut self, action: &'a AlterAction) {
        match action {
            AlterAction::AddColumn { def, .. } => {
                def.constraints.iter().for_each(|constraint| self.column_constraint(&constraint.kind));
            }
            AlterAction::AddConstraint(constraint) => self.constraint(&constraint.kind),
            AlterAction::AlterColumn(_, ColumnAction::Type(_, Some(expr)) | ColumnAction::SetDefault(expr)) => {
                self.expr(expr);
            }
            _ => {}
        }
    }

    fn keys(&mut self, keys: &'a [OrderKey]) {
        self.exprs(keys.iter().map(|key| &key.expr));
    }

    fn window(&mut self, window: &'a WindowSpec) {
        self.exprs(&window.partition_by);
        self.keys(&window.order_by);
        for bound in window.frame.iter().flat_map(|frame| [&frame.start, &frame.end]) {
            if let FrameBound::Preceding(expr) | FrameBound::Following(expr) = bound {
                self.expr(expr);
            }
        }
    }

    fn exprs(&mut self, exprs: impl IntoIterator<Item = &'a Expr>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    fn subscripts(&mut self, subscripts: &'a [Subscript]) {
        for subscript in subscripts {
            match subscript {
                Subscript::At(at) => self.expr(at),
                Subscript::Slice(from, to) => self.exprs(from.iter().chain(to)),
            }
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        use ExprKind as E;
        (self.visit)(Part::Expr(expr));
        match &expr.kind {
            E::Null | E::Bool(_) | E::Integer(_) | E::Decimal(_) | E::String(_) | E::Default => {}
            E::Name(_) | E::WholeRow(_) | E::Param(_) => {}
            E::Unary(_, one) | E::Not(one) | E::Is { expr: one, .. } | E::Cast(one, _) | E::Field(one, _) => {
                self.expr(one);
            }
            E::Binary(_, left, right) | E::IsDistinct { left, right, .. } => self.exprs([&**left, &**right]),
            E::And(all) | E::Or(all) | E::Row(all) | E::Array(all) | E::Grouping(all) => self.exprs(all),
            E::Between { expr, low, high, .. } => self.exprs([&**expr, &**low, &**high]),
            E::InList { expr, list, .. } => {
                self.expr(expr);
                self.exprs(list);
            }
            E::InQuery { expr, query, .. } | E::Quantified { expr, query, .. } => {
                self.expr(expr);
                self.query(query);
            }
            E::AnyOf { expr, array, .. } => self.exprs([&**expr, &**array]),
            E::Exists(query) | E::Subquery(query) | E::SubqueryColumn(query, _) | E::ArrayQuery(query) => {
                self.query(query);
            }
            E::Call(call) => self.call(call),
            E::Case { operand, whens, otherwise } => {
                self.exprs(operand.iter().map(|operand| &**operand));
                self.exprs(whens.iter().flat_map(|(when, then)| [when, then]));
                self.exprs(otherwise.iter().map(|otherwise| &**otherwise));
            }
            E::Subscript(of, subscripts) => {
                self.expr(of);
                self.subscripts(subscripts);
            }
        }
    }

    fn call(&mut self, call: &'a Call) {
        self.exprs(call.args.iter().chain(call.named.iter().map(|(_, value)| value)));
        self.keys(&call.order_by);
        self.exprs(&call.filter);
        self.keys(&call.within_group);
        if let Some(Over::Spec(window)) = &call.over {
            self.window(window);
        }
    }

    fn block(&mut self, block: &'a plpgsql::Block) {
        (self.visit)(Part::Block(block));
        for declaration in &block.declarations {
            match &declaration.kind {
                DeclarationKind::Variable { default, .. } => self.exprs(default),
                DeclarationKind::Cursor { query, .. } => self.query(query),
                DeclarationKind::Alias(_) => {}
            }
        }
        block.bodies().into_iter().for_each(|body| self.stmts(body));
    }

    fn stmts(&mut self, stmts: &'a [Stmt]) {
        stmts.iter().for_each(|stmt| self.stmt(&stmt.kind));
    }

    fn stmt(&mut self, stmt: &'a StmtKind) {
        use StmtKind as S;
        (self.visit)(Part::Stmt(stmt));
        match stmt {
            S::Block(block) => return self.block(block),
            S::Assign(target, expr) => {
                self.exprs(&target.subscripts);
                self.expr(expr);
            }
            S::Sql(statement, _) | S::ReturnQuery(statement) => self.statement(&statement.kind),
            S::ForQuery { query, .. } => self.statement(&query.kind),
            S::Perform(query) => self.query(query),
            S::Execute { text, using, .. } | S::ForExecute { text, using, .. } | S::ReturnExecute { text, using } => {
                self.expr(text);
                self.exprs(using);
            }
            S::If(branches, _) => self.exprs(branches.iter().map(|(condition, _)| condition)),
            S::Case { operand, whens, .. } => {
                self.exprs(operand);
                self.exprs(whens.iter().flat_map(|(values, _)| values));
            }
            S::While(_, condition, _) => self.expr(condition),
            S::ForRange { from, to, by, .. } => self.exprs([from, to].into_iter().chain(by)),
            S::ForCursor { args, .. } => self.exprs(args.iter().map(|(_, arg)| arg)),
            S::Foreach { array, .. } => self.expr(array),
            S::Open { source, .. } => match source {
                OpenSource::Bound(args) => self.exprs(args.iter().map(|(_, arg)| arg)),
                OpenSource::Query(statement) => self.statement(&statement.kind),
                OpenSource::Execute(text, using) => {
                    self.expr(text);
                    self.exprs(using);
                }
            },
            S::Fetch { direction, .. } => match direction {
                plpgsql::Direction::Forward(count) | plpgsql::Direction::Backward(count) => self.exprs(count),
                plpgsql::Direction::Absolute(count) | plpgsql::Direction::Relative(count) => self.expr(count),
            },
            S::Exit(_, when) | S::Continue(_, when) => self.exprs(when),
            S::Return(value) | S::ReturnNext(value) => self.exprs(value),
            S::Raise(raise) => {
                if let plpgsql::RaiseWhat::Format(_, args) = &raise.what {
                    self.exprs(args);
                }
                self.exprs(raise.using.iter().map(|(_, value)| value));
            }
            S::Assert(condition, message) => self.exprs([condition].into_iter().chain(message)),
            S::Loop(..) | S::Close(_) | S::GetDiagnostics { .. } | S::Null => {}
        }
        stmt.bodies().into_iter().for_each(|body| self.stmts(body));
    }
}
