//! Cursors of PL/pgSQL, and the loops that are like them.
//!
//! A cursor variable holds the name of a cursor, as text. A bound one starts out with its own name, and knows its
//! query: that is bound where it is declared, its parameters being variables of their own.

use std::sync::Arc;

use super::Result;
use super::expr::text;
use super::plpgsql::Code;
use super::routine::outputs;
use super::scope::{Namespace, VariableRef};
use crate::ast::plpgsql::{self as pl, Target};
use crate::ast::{self, Ident};
use crate::error::{Diagnostic, Span, SqlState};
use crate::typed::{Direction, Expr, Open, OpenSource, Place, Statement, Stmt, StmtKind};
use crate::types::Type;

/// A cursor that was declared with its query.
pub(super) struct BoundCursor {
    params: Vec<(Arc<str>, usize, Type)>,
    query: std::result::Result<Arc<Statement>, Diagnostic>,
    scroll: Option<bool>,
}

impl Code<'_> {
    /// `c CURSOR (params) FOR query`
    pub(super) fn declare_cursor(
        &mut self,
        name: &Ident,
        scroll: Option<bool>,
        params: &[(Ident, ast::TypeName)],
        query: &ast::Query,
        code: &mut Vec<Stmt>,
    ) -> Result<()> {
        let mut names = Namespace::default();
        let mut bound = Vec::new();
        for (param, ty) in params {
            let (ty, fields) = self.binder.type_name(ty)?;
            let slot = self.binder.frame.add(&param.name, ty, fields);
            names.names.insert(param.name.clone(), slot);
            bound.push((param.name.clone(), slot, ty));
        }
        self.binder.frame.blocks.push(names);
        let statement = self.query_statement(query, query.span);
        self.binder.frame.blocks.pop();
        let slot = self.binder.frame.add(&name.name, Type::Text, None);
        self.name_variable(name, slot);
        self.cursors.insert(slot, BoundCursor { params: bound, query: statement, scroll });
        let place = Place { slot, field: None, ty: Type::Text };
        code.push(Stmt { kind: StmtKind::Assign(place, text(name.name.clone())), span: name.span });
        Ok(())
    }

    /// The slot of a cursor variable.
    fn cursor(&mut self, target: &Target) -> Result<usize> {
        match self.binder.frame.lookup(&target.path) {
            Some(VariableRef::Slot(slot)) if self.binder.frame.variables[slot].ty == Type::Text => Ok(slot),
            Some(_) => {
                let name = target.path.last().map_or("", |i| &i.name);
                let message = format!("variable \"{name}\" must be of type cursor or refcursor");
                Err(Diagnostic::new(target.span, SqlState::DATATYPE_MISMATCH, message))
            }
            None => {
                let shown = target.path.iter().map(|i| &*i.name).collect::<Vec<_>>().join(".");
                Err(Diagnostic::syntax(target.span, format!("\"{shown}\" is not a known variable")))
            }
        }
    }

    /// `OPEN`
    pub(super) fn open_cursor(
        &mut self,
        cursor: &Target,
        scroll: Option<bool>,
        source: &pl::OpenSource,
        span: Span,
    ) -> Result<StmtKind> {
        let slot = self.cursor(cursor)?;
        let source = match source {
            pl::OpenSource::Bound(args) => {
                return Ok(StmtKind::Open(slot, Box::new(self.open_bound(slot, args, span)?)));
            }
            pl::OpenSource::Query(query) => {
                let statement = self.row_statement(query)?;
                OpenSource::Query(statement)
            }
            pl::OpenSource::Execute(text, using) => {
                let (text, using) = self.dynamic(text, using)?;
                OpenSource::Execute { text, using }
            }
        };
        Ok(StmtKind::Open(slot, Box::new(Open { args: Vec::new(), source, scroll })))
    }

    fn open_bound(&mut self, slot: usize, given: &[pl::CursorArg], span: Span) -> Result<Open> {
        let name = self.binder.frame.variables[slot].name.clone();
        let Some(bound) = self.cursors.get(&slot) else {
            let message = format!("cursor FOR loop must use a bound cursor variable: \"{name}\"");
            return Err(Diagnostic::syntax(span, message));
        };
        let (params, query, scroll) = (bound.params.clone(), bound.query.clone(), bound.scroll);
        if params.is_empty() && !given.is_empty() {
            return Err(Diagnostic::syntax(span, format!("cursor \"{name}\" has no arguments")));
        }
        if !params.is_empty() && given.is_empty() {
            return Err(Diagnostic::syntax(span, format!("cursor \"{name}\" has arguments")));
        }
        let mut args = Vec::new();
        for (i, (param, slot, ty)) in params.iter().enumerate() {
            let by_name = given.iter().find(|(n, _)| n.as_ref().is_some_and(|n| n.name == *param));
            let by_position = given.get(i).filter(|(n, _)| n.is_none());
            let Some((_, value)) = by_name.or(by_position) else {
                return Err(Diagnostic::syntax(span, format!("not enough arguments for cursor \"{name}\"")));
            };
            args.push((*slot, self.assigned(value, *ty)?));
        }
        if given.len() > params.len() {
            return Err(Diagnostic::syntax(span, format!("too many arguments for cursor \"{name}\"")));
        }
        Ok(Open { args, source: OpenSource::Query(query?), scroll })
    }

    /// `FETCH` and `MOVE`
    pub(super) fn fetch_cursor(
        &mut self,
        cursor: &Target,
        direction: &pl::Direction,
        into: Option<&[Target]>,
    ) -> Result<StmtKind> {
        let cursor = self.cursor(cursor)?;
        let mut count = |e: &ast::Expr| self.assigned(e, Type::Int8);
        let direction = match direction {
            pl::Direction::Forward(n) => Direction::Forward(n.as_ref().map(&mut count).transpose()?),
            pl::Direction::Backward(n) => Direction::Backward(n.as_ref().map(&mut count).transpose()?),
            pl::Direction::Absolute(n) => Direction::Absolute(count(n)?),
            pl::Direction::Relative(n) => Direction::Relative(count(n)?),
        };
        let columns = self.cursors.get(&cursor).and_then(|bound| bound.query.as_ref().ok());
        let columns = columns.and_then(|query| outputs(query)).map(<[_]>::to_vec);
        let into = into.map(|targets| self.places(targets, columns.as_deref())).transpose()?;
        Ok(StmtKind::Fetch { cursor, direction, into })
    }

    /// `CLOSE`
    pub(super) fn close_cursor(&mut self, cursor: &Target) -> Result<StmtKind> {
        self.cursor(cursor).map(StmtKind::Close)
    }

    /// `FOR r IN c (args) LOOP`; the record is the loop's own.
    pub(super) fn for_cursor(
        &mut self,
        label: Option<&Ident>,
        targets: &[Target],
        cursor: &Ident,
        args: &[pl::CursorArg],
        body: &[pl::Stmt],
        span: Span,
    ) -> Result<StmtKind> {
        let target = Target { path: vec![cursor.clone()], subscripts: Vec::new(), span: cursor.span };
        let slot = self.cursor(&target)?;
        let open = self.open_bound(slot, args, span)?;
        let OpenSource::Query(query) = &open.source else { unreachable!("a bound cursor has a query") };
        let columns = outputs(query).map(<[_]>::to_vec).unwrap_or_default();
        let [Target { path, .. }] = targets else {
            return Err(Diagnostic::syntax(span, "cursor FOR loop must have only one target variable"));
        };
        let [name] = &path[..] else {
            return Err(Diagnostic::syntax(span, "cursor FOR loop must have only one target variable"));
        };
        let record = self.binder.frame.add(&name.name, Type::Record, None);
        self.set_shape(record, Some(columns.iter().map(|c| (c.name.clone(), c.ty)).collect()));
        let into = vec![Place { slot: record, field: None, ty: Type::Record }];
        let (label, body) = self.in_loop(label, Some((name, record)), body)?;
        Ok(StmtKind::ForCursor { label, into, cursor: slot, open: Box::new(open), body })
    }

    /// `FOR r IN EXECUTE text USING ... LOOP`
    pub(super) fn for_execute(
        &mut self,
        label: Option<&Ident>,
        targets: &[Target],
        (text, using): (&ast::Expr, &[ast::Expr]),
        body: &[pl::Stmt],
    ) -> Result<StmtKind> {
        let (text, using) = self.dynamic(text, using)?;
        let into = self.places(targets, None)?;
        let (label, body) = self.in_loop(label, None, body)?;
        Ok(StmtKind::ForExecute { label, into, text, using, body })
    }

    /// `FOREACH x IN ARRAY a LOOP`
    pub(super) fn foreach(
        &mut self,
        label: Option<&Ident>,
        targets: &[Target],
        slice: i64,
        array: &ast::Expr,
        body: &[pl::Stmt],
    ) -> Result<StmtKind> {
        let value = self.binder.value(array)?;
        if value.ty.element().is_none() {
            let message = format!("FOREACH expression must yield an array, not type {}", value.ty);
            return Err(Diagnostic::new(array.span, SqlState::DATATYPE_MISMATCH, message));
        }
        let into = self.places(targets, None)?;
        let slice = usize::try_from(slice).unwrap_or_default();
        let (label, body) = self.in_loop(label, None, body)?;
        Ok(StmtKind::Foreach { label, into, array: value, slice, body })
    }

    /// A text to be executed and what it uses.
    pub(super) fn dynamic(&mut self, text: &ast::Expr, using: &[ast::Expr]) -> Result<(Expr, Vec<Expr>)> {
        let text = self.assigned(text, Type::Text)?;
        let using: Result<Vec<Expr>> = using.iter().map(|e| self.binder.value(e)).collect();
        Ok((text, using?))
    }

    /// The same, shown as the whole statement that it is part of.
    pub(super) fn row_statement_at(&mut self, statement: &ast::Statement, span: Span) -> Result<Arc<Statement>> {
        let bound = self.row_statement(statement)?;
        Ok(Arc::new(Statement { text: self.text(span), span, ..(*bound).clone() }))
    }

    /// A statement that returns rows.
    pub(super) fn row_statement(&mut self, statement: &ast::Statement) -> Result<Arc<Statement>> {
        let bound = self.statement(statement)?;
        match outputs(&bound) {
            Some(_) => Ok(bound),
            None => Err(Diagnostic::syntax(statement.span, "cannot open a query that returns no rows")),
        }
    }
}
