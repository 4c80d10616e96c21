//! The statements of a program and where they stand: in a thread, or in a list of statements of a routine.
//!
//! A run knows its statements by their spans only. Fixes need more: what was written, what stands before and behind it,
//! and whose code it is.

use isolde_sql::Span;
use isolde_sql::ast::plpgsql::{Block, Body, Into, Stmt, StmtKind};
use isolde_sql::ast::{CreateRoutine, Expr, ExprKind, Part, Query, RoutineBody, Statement, StatementKind};

use super::sql;
use crate::file::{ClientStatement, ScenarioFile};

/// A statement and its surroundings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site<'f> {
    pub(super) span: Span,
    pub(super) code: Code<'f>,
    /// The list of statements it stands in, and its position there.
    pub(super) list: List<'f>,
    /// The routine whose statement it is.
    pub(super) routine: Option<&'f CreateRoutine>,
    /// The body in which it stands, if it is PL/pgSQL.
    pub(super) body: Option<&'f Body>,
}

/// A statement as written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Code<'f> {
    /// Sent by a client.
    Client(&'f ClientStatement),
    /// Of a PL/pgSQL body.
    Stmt(&'f Stmt),
    /// Of a routine in SQL.
    Sql(&'f Statement),
}

/// The list in which a statement stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum List<'f> {
    Thread(&'f [ClientStatement], usize),
    Body(&'f [Stmt], usize),
    Sql,
}

/// All statements of a program that threads may come to.
pub(super) fn sites(file: &ScenarioFile) -> Vec<Site<'_>> {
    let mut sites = Vec::new();
    for statement in &file.setup {
        if let StatementKind::CreateRoutine(routine) = &statement.ast.kind {
            match &routine.body {
                RoutineBody::PlPgSql(body) => {
                    Walk { routine: Some(routine), body, sites: &mut sites }.block(&body.block)
                }
                RoutineBody::Sql(statements) => sites.extend(statements.iter().map(|statement| Site {
                    span: statement.span,
                    code: Code::Sql(statement),
                    list: List::Sql,
                    routine: Some(routine),
                    body: None,
                })),
            }
        }
    }
    for (position, section) in file.threads.iter().enumerate() {
        // Copies of a thread are one text.
        if file.threads[..position].iter().any(|other| other.span == section.span) {
            continue;
        }
        for (i, statement) in section.body.iter().enumerate() {
            let list = List::Thread(&section.body, i);
            let span = statement.ast.span;
            sites.push(Site { span, code: Code::Client(statement), list, routine: None, body: None });
            if let StatementKind::Do(body) = &statement.ast.kind {
                Walk { routine: None, body, sites: &mut sites }.block(&body.block);
            }
        }
    }
    sites
}

/// A walk through a body.
struct Walk<'f, 's> {
    routine: Option<&'f CreateRoutine>,
    body: &'f Body,
    sites: &'s mut Vec<Site<'f>>,
}

impl<'f> Walk<'f, '_> {
    fn block(&mut self, block: &'f Block) {
        block.bodies().into_iter().for_each(|body| self.list(body));
    }

    fn list(&mut self, list: &'f [Stmt]) {
        for (i, stmt) in list.iter().enumerate() {
            let (routine, body) = (self.routine, Some(self.body));
            self.sites.push(Site { span: stmt.span, code: Code::Stmt(stmt), list: List::Body(list, i), routine, body });
            stmt.kind.bodies().into_iter().for_each(|body| self.list(body));
        }
    }
}

impl<'f> Site<'f> {
    /// The SQL statement, unless it is a query without one around it.
    pub(super) fn statement(&self) -> Option<&'f Statement> {
        match self.code {
            Code::Client(client) => Some(&client.ast),
            Code::Sql(statement) => Some(statement),
            Code::Stmt(Stmt { kind: StmtKind::Sql(statement, _), .. }) => Some(statement),
            Code::Stmt(_) => None,
        }
    }

    /// The query that it is.
    pub(super) fn query(&self) -> Option<&'f Query> {
        match self.code {
            Code::Stmt(Stmt { kind: StmtKind::Perform(query), .. }) => Some(query),
            Code::Stmt(Stmt { kind: StmtKind::ForQuery { query, .. }, .. }) => as_query(query),
            Code::Stmt(Stmt { kind: StmtKind::ReturnQuery(query), .. }) => as_query(query),
            _ => as_query(self.statement()?),
        }
    }

    /// The query by which it reads tables: itself, or one inside of it.
    pub(super) fn read(&self) -> Option<&'f Query> {
        self.query().or_else(|| self.inner_query())
    }

    /// A query inside of an expression that it evaluates: `IF EXISTS (SELECT ...)`, `n := (SELECT ...)`; or inside of a
    /// statement that writes: `UPDATE ... WHERE id = (SELECT ...)`, `INSERT ... SELECT`.
    pub(super) fn inner_query(&self) -> Option<&'f Query> {
        if let Some(statement) = self.statement() {
            return query_of_write(&statement.kind);
        }
        let Code::Stmt(stmt) = self.code else { return None };
        match &stmt.kind {
            StmtKind::If(branches, _) => branches.iter().find_map(|(condition, _)| query_in(condition)),
            StmtKind::Assign(_, value) => query_in(value),
            StmtKind::While(_, condition, _) => query_in(condition),
            StmtKind::Return(Some(value)) => query_in(value),
            StmtKind::Assert(condition, _) => query_in(condition),
            _ => None,
        }
    }

    /// Whether it writes rows of this table: itself, not by a trigger.
    pub(super) fn writes(&self, table: &str) -> bool {
        let Some(statement) = self.statement() else { return false };
        let mut found = false;
        statement.kind.walk(&mut |part| found |= matches!(part, Part::Target(name) if *name.name.name == *table));
        found && is_write(&statement.kind)
    }

    /// Whether the same thread or routine runs both.
    pub(super) fn same_program(&self, other: &Site<'_>) -> bool {
        match (self.body, other.body) {
            (Some(a), Some(b)) => std::ptr::eq(a, b),
            (None, None) => match (self.routine, other.routine) {
                (Some(a), Some(b)) => std::ptr::eq(a, b),
                (None, None) => self.same_list(other),
                _ => false,
            },
            _ => false,
        }
    }

    /// `INTO` of it.
    pub(super) fn stored_into(&self) -> Option<&'f Into> {
        match self.code {
            Code::Stmt(Stmt { kind: StmtKind::Sql(_, into), .. }) => into.as_ref(),
            _ => None,
        }
    }

    /// Names of the client's variables that `$1`, `$2`, ... stand for.
    pub(super) fn variables(&self) -> Vec<&'f str> {
        match self.code {
            Code::Client(client) => client.variables.iter().map(|(name, _)| &**name).collect(),
            _ => Vec::new(),
        }
    }

    /// The statements of its list behind it.
    pub(super) fn behind(&self) -> &'f [Stmt] {
        match self.list {
            List::Body(list, i) => &list[i + 1..],
            _ => &[],
        }
    }

    /// Whether its routine has a parameter of this name, which may be for the caller.
    pub(super) fn is_parameter(&self, name: &str) -> bool {
        let params = self.routine.iter().flat_map(|routine| &routine.params);
        params.filter_map(|param| param.name.as_ref()).any(|param| *param.name == *name)
    }

    /// Whether both stand in one list.
    pub(super) fn same_list(&self, other: &Site<'_>) -> bool {
        match (self.list, other.list) {
            (List::Body(a, _), List::Body(b, _)) => std::ptr::eq(a, b),
            (List::Thread(a, _), List::Thread(b, _)) => std::ptr::eq(a, b),
            _ => false,
        }
    }

    /// A client's statement rather than one of a routine.
    pub(super) fn is_client(&self) -> bool {
        matches!(self.code, Code::Client(_))
    }
}

fn as_query(statement: &Statement) -> Option<&Query> {
    match &statement.kind {
        StatementKind::Query(query) => Some(query),
        _ => None,
    }
}

fn is_write(kind: &StatementKind) -> bool {
    use StatementKind::{Delete, Insert, Merge, Update};
    matches!(kind, Insert(_) | Update(_) | Delete(_) | Merge(_))
}

/// The first query of a statement that writes which reads tables.
fn query_of_write(kind: &StatementKind) -> Option<&Query> {
    let mut first = None;
    kind.walk(&mut |part| match part {
        Part::Query(query) if first.is_none() && sql::reads_tables(query) => first = Some(query),
        _ => {}
    });
    first.filter(|_| is_write(kind))
}

/// The first query in an expression.
fn query_in(expr: &Expr) -> Option<&Query> {
    match &expr.kind {
        ExprKind::Exists(query) | ExprKind::Subquery(query) => Some(query),
        ExprKind::InQuery { query, .. } | ExprKind::Quantified { query, .. } => Some(query),
        ExprKind::Not(inner) | ExprKind::Unary(_, inner) | ExprKind::Cast(inner, _) => query_in(inner),
        ExprKind::Is { expr, .. } => query_in(expr),
        ExprKind::Binary(_, left, right) => query_in(left).or_else(|| query_in(right)),
        ExprKind::And(parts) | ExprKind::Or(parts) => parts.iter().find_map(query_in),
        ExprKind::Call(call) => call.args.iter().find_map(query_in),
        _ => None,
    }
}
