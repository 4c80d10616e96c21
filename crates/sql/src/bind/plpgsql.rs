//! PL/pgSQL: blocks to structured code over slots.
//!
//! Each declaration gets a slot of its own, so a shadowed variable is simply another number; what a name means is
//! looked up in the stack of blocks. A `record` has no declared shape: the shape it was last given, reading from the
//! top, tells the types of its fields.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cursor::BoundCursor;
use super::expr::{boolean, constant};
use super::hint::did_you_mean;
use super::routine::outputs;
use super::scope::{Fields, Namespace, VariableRef};
use super::text::one_line;
use super::{Binder, Result};
use crate::ast::plpgsql::{self as pl, DeclarationKind, Target};
use crate::ast::{self, Ident, ParamMode, Subscript};
use crate::catalog::RoutineDef;
use crate::error::{Diagnostic, Span, SqlState};
use crate::refused::Construct;
use crate::typed::{
    Expr, ExprKind, FieldRef, Handler, Into, OutputColumn, Place, Statement, StatementKind, Stmt, StmtKind,
    Transaction, Variable,
};
use crate::types::Type;
use crate::value::Value;

/// A body being bound.
pub(super) struct Code<'a> {
    pub(super) binder: Binder<'a>,
    /// The routine; none for DO.
    pub(super) def: Option<&'a RoutineDef>,
    /// The slots that RETURN NEXT without an expression returns.
    pub(super) rows: Vec<usize>,
    body: &'a pl::Body,
    /// Loops and labelled blocks around the statement, innermost last.
    labels: Vec<Label>,
    labels_used: usize,
    /// Slots that may not be assigned.
    constants: BTreeSet<usize>,
    /// Cursors declared with their query, by slot.
    pub(super) cursors: BTreeMap<usize, BoundCursor>,
    /// What is wrong with a statement is found when it is reached.
    pub(super) late: bool,
    /// Handlers around the statement.
    pub(super) handlers: usize,
}

struct Label {
    name: Option<Arc<str>>,
    number: usize,
    is_loop: bool,
}

impl<'a> Code<'a> {
    /// The body of a routine or DO block.
    pub(super) fn new(binder: Binder<'a>, def: Option<&'a RoutineDef>, rows: Vec<usize>, body: &'a pl::Body) -> Self {
        let constants = BTreeSet::new();
        Code {
            binder,
            def,
            rows,
            body,
            labels: Vec::new(),
            labels_used: 0,
            constants,
            cursors: BTreeMap::new(),
            late: false,
            handlers: 0,
        }
    }

    /// What is wrong with a statement is to be found when it is reached.
    pub(super) fn late(self) -> Self {
        Code { late: true, ..self }
    }

    /// Binds it all.
    pub(super) fn bind(mut self, block: &pl::Block) -> Result<(Vec<Stmt>, Vec<Variable>)> {
        let mut code = Vec::new();
        self.block(block, &mut code)?;
        Ok((code, self.binder.frame.variables))
    }

    fn block(&mut self, block: &pl::Block, code: &mut Vec<Stmt>) -> Result<()> {
        let label = block.label.as_ref().map(|l| self.push_label(Some(l), false));
        let names = Namespace { label: block.label.as_ref().map(|l| l.name.clone()), ..Namespace::default() };
        self.binder.frame.blocks.push(names);
        let mut body = Vec::new();
        for declaration in &block.declarations {
            self.declare(declaration, &mut body)?;
        }
        let mut inner = Vec::new();
        self.stmts(&block.body, &mut inner)?;
        match block.handlers.is_empty() {
            true => body.extend(inner),
            false => body.push(self.handled(block, inner)?),
        }
        self.binder.frame.blocks.pop();
        match label {
            Some(label) => {
                self.labels.pop();
                code.push(Stmt { kind: StmtKind::Labelled { label, body }, span: block.span });
            }
            None => code.extend(body),
        }
        Ok(())
    }

    /// `EXCEPTION WHEN`: SQLSTATE and SQLERRM are variables of the handlers.
    fn handled(&mut self, block: &pl::Block, body: Vec<Stmt>) -> Result<Stmt> {
        let state = self.binder.frame.add("sqlstate", Type::Text, None);
        let message = self.binder.frame.add("sqlerrm", Type::Text, None);
        let mut names = Namespace::default();
        names.names.insert("sqlstate".into(), state);
        names.names.insert("sqlerrm".into(), message);
        self.binder.frame.blocks.push(names);
        self.handlers += 1;
        let mut handlers = Vec::new();
        for handler in &block.handlers {
            let catches: Result<_> = handler.conditions.iter().map(super::raise::catch).collect();
            let mut body = Vec::new();
            self.stmts(&handler.body, &mut body)?;
            handlers.push(Handler { catches: catches?, body });
        }
        self.handlers -= 1;
        self.binder.frame.blocks.pop();
        Ok(Stmt { kind: StmtKind::Try { body, handlers, state, message }, span: block.span })
    }

    fn declare(&mut self, declaration: &pl::Declaration, code: &mut Vec<Stmt>) -> Result<()> {
        let name = &declaration.name;
        if self.names().names.contains_key(&name.name) {
            let message = format!("duplicate declaration at or near \"{}\"", name.name);
            return Err(Diagnostic::syntax(name.span, message));
        }
        match &declaration.kind {
            DeclarationKind::Variable { constant, ty, not_null, default } => {
                let (ty, fields) = self.binder.type_name(ty)?;
                let value = match default.as_ref().map(|e| self.assigned(e, ty)).transpose() {
                    Err(error) if self.late && is_late(&error) => {
                        code.push(Stmt { kind: StmtKind::Fail(error.into()), span: name.span });
                        None
                    }
                    value => value?,
                };
                if *not_null && default.is_none() {
                    let message =
                        format!("variable \"{}\" must have a default value, since it's declared NOT NULL", name.name);
                    return Err(Diagnostic::new(name.span, SqlState::NULL_VALUE_NOT_ALLOWED, message));
                }
                let slot = self.binder.frame.add(&name.name, ty, fields);
                self.binder.frame.variables[slot].not_null = *not_null;
                self.names().names.insert(name.name.clone(), slot);
                if *constant {
                    self.constants.insert(slot);
                }
                // A block in a loop is entered more than once: its variables begin anew.
                let again = self.labels.iter().any(|l| l.is_loop);
                let value = value.or_else(|| again.then(|| constant_null(ty)));
                if let Some(value) = value {
                    self.shape(slot, &value);
                    let shaped = self.shaped(slot, &value);
                    let place = Place { slot, field: None, ty };
                    code.push(Stmt { kind: StmtKind::Assign(place, value), span: name.span });
                    code.extend(shaped.map(|kind| Stmt { kind, span: name.span }));
                }
                Ok(())
            }
            DeclarationKind::Alias(of) => {
                let slot = match of.name.strip_prefix('$').and_then(|n| n.parse::<usize>().ok()) {
                    Some(n) => n.checked_sub(1).and_then(|i| self.binder.frame.dollars.get(i).copied()),
                    None => match self.binder.frame.lookup(std::slice::from_ref(of)) {
                        Some(VariableRef::Slot(slot)) => Some(slot),
                        _ => None,
                    },
                };
                let Some(slot) = slot else {
                    let message = format!("variable \"{}\" does not exist", of.name);
                    return Err(Diagnostic::new(of.span, SqlState::UNDEFINED_OBJECT, message));
                };
                self.names().names.insert(name.name.clone(), slot);
                Ok(())
            }
            DeclarationKind::Cursor { scroll, params, query } => {
                self.declare_cursor(name, *scroll, params, query, code)
            }
        }
    }

    /// Gives a slot its name in the innermost block.
    pub(super) fn name_variable(&mut self, name: &Ident, slot: usize) {
        self.names().names.insert(name.name.clone(), slot);
    }

    fn names(&mut self) -> &mut Namespace {
        self.binder.frame.blocks.last_mut().expect("a block being bound has its names on the stack")
    }

    fn stmts(&mut self, stmts: &[pl::Stmt], code: &mut Vec<Stmt>) -> Result<()> {
        stmts.iter().try_for_each(|stmt| self.stmt(stmt, code))
    }

    /// A statement; one that is wrong fails when it is reached, if that is how we bind.
    fn stmt(&mut self, stmt: &pl::Stmt, code: &mut Vec<Stmt>) -> Result<()> {
        let (labels, blocks, handlers) = (self.labels.len(), self.binder.frame.blocks.len(), self.handlers);
        match self.stmt_now(stmt, code) {
            Err(error) if self.late && is_late(&error) => {
                self.labels.truncate(labels);
                self.binder.frame.blocks.truncate(blocks);
                self.handlers = handlers;
                self.binder.levels.clear();
                self.binder.with.clear();
                code.push(Stmt { kind: StmtKind::Fail(error.into()), span: stmt.span });
                Ok(())
            }
            result => result,
        }
    }

    fn stmt_now(&mut self, stmt: &pl::Stmt, code: &mut Vec<Stmt>) -> Result<()> {
        use pl::StmtKind as P;
        let span = stmt.span;
        let kind = match &stmt.kind {
            P::Null => return Ok(()),
            P::Block(block) => return self.block(block, code),
            P::Assign(target, expr) => {
                let place = self.place(target)?;
                let value = match &target.subscripts[..] {
                    [] => self.assigned(expr, place.ty)?,
                    subscripts => self.assigned_element(&place, target, subscripts, expr)?,
                };
                if place.field.is_none() {
                    self.shape(place.slot, &value);
                    let shaped = self.shaped(place.slot, &value);
                    code.push(Stmt { kind: StmtKind::Assign(place, value), span });
                    code.extend(shaped.map(|kind| Stmt { kind, span }));
                    return Ok(());
                }
                StmtKind::Assign(place, value)
            }
            P::Sql(statement, into) => self.sql(statement, into.as_ref(), span)?,
            P::Perform(query) => StmtKind::Perform(self.query_statement(query, span)?),
            P::Execute { text, into, using } => {
                let (text, using) = self.dynamic(text, using)?;
                let into = into.as_ref().map(|i| self.into(i, None)).transpose()?;
                StmtKind::Execute { text, into, using }
            }
            P::If(branches, otherwise) => {
                let mut bound = Vec::new();
                let mut wrong = None;
                for (condition, body) in branches {
                    match self.assigned(condition, Type::Bool) {
                        // Only who comes to this condition finds out.
                        Err(error) if self.late && is_late(&error) && !bound.is_empty() => {
                            let kind = StmtKind::Fail(error.into());
                            wrong = Some(vec![Stmt { kind, span: condition.span }]);
                            break;
                        }
                        condition => bound.push((condition?, self.body(body)?)),
                    }
                }
                let otherwise = match (wrong, otherwise) {
                    (Some(wrong), _) => wrong,
                    (None, Some(body)) => self.body(body)?,
                    (None, None) => Vec::new(),
                };
                StmtKind::If { branches: bound, otherwise }
            }
            P::Case { operand, whens, otherwise } => {
                self.case(operand.as_ref(), whens, otherwise.as_deref(), span, code)?
            }
            P::Loop(label, body) => {
                let (label, body) = self.in_loop(label.as_ref(), None, body)?;
                StmtKind::Loop { label, body }
            }
            P::While(label, condition, body) => {
                let condition = self.assigned(condition, Type::Bool)?;
                let (label, body) = self.in_loop(label.as_ref(), None, body)?;
                StmtKind::While { label, condition, body }
            }
            P::ForRange { label, variable, reverse, from, to, by, body } => {
                let from = self.assigned(from, Type::Int4)?;
                let to = self.assigned(to, Type::Int4)?;
                let by = by.as_ref().map(|e| self.assigned(e, Type::Int4)).transpose()?;
                let slot = self.binder.frame.add(&variable.name, Type::Int4, None);
                let (label, body) = self.in_loop(label.as_ref(), Some((variable, slot)), body)?;
                StmtKind::ForRange { label, variable: slot, from, to, by, reverse: *reverse, body }
            }
            P::ForQuery { label, targets, query, body } => {
                let statement = self.statement(query)?;
                let columns = match outputs(&statement) {
                    Some(columns) => columns.to_vec(),
                    None => return Err(Diagnostic::syntax(query.span, "cannot open a query that returns no rows")),
                };
                let into = self.places(targets, Some(&columns))?;
                let (label, body) = self.in_loop(label.as_ref(), None, body)?;
                StmtKind::ForQuery { label, into, query: statement, body }
            }
            P::ForCursor { label, targets, cursor, args, body } => {
                self.for_cursor(label.as_ref(), targets, cursor, args, body, span)?
            }
            P::ForExecute { label, targets, text, using, body } => {
                self.for_execute(label.as_ref(), targets, (text, using), body)?
            }
            P::Foreach { label, targets, slice, array, body } => {
                self.foreach(label.as_ref(), targets, *slice, array, body)?
            }
            P::Open { cursor, scroll, source } => self.open_cursor(cursor, *scroll, source, span)?,
            P::Fetch { cursor, direction, into } => self.fetch_cursor(cursor, direction, into.as_deref())?,
            P::Close(cursor) => self.close_cursor(cursor)?,
            P::ReturnExecute { text, using } => {
                let (text, using) = self.dynamic(text, using)?;
                self.return_execute(text, using, span)?
            }
            P::Exit(label, when) => {
                let label = self.exit_label(label.as_ref(), span)?;
                StmtKind::Exit { label, when: self.when(when.as_ref())? }
            }
            P::Continue(label, when) => {
                let label = self.continue_label(label.as_ref(), span)?;
                StmtKind::Continue { label, when: self.when(when.as_ref())? }
            }
            P::Return(expr) => self.return_value(expr.as_ref(), span)?,
            P::ReturnNext(expr) => self.return_next(expr.as_ref(), span)?,
            P::ReturnQuery(query) => self.return_query(query, span)?,
            P::Raise(raise) => StmtKind::Raise(self.raise(raise, span)?),
            P::Assert(condition, message) => {
                let condition = self.assigned(condition, Type::Bool)?;
                let message = message.as_ref().map(|m| self.assigned(m, Type::Text)).transpose()?;
                StmtKind::Assert(condition, message)
            }
            P::GetDiagnostics { stacked, items } => return self.diagnostics(*stacked, items, span, code),
        };
        code.push(Stmt { kind, span });
        Ok(())
    }

    fn body(&mut self, stmts: &[pl::Stmt]) -> Result<Vec<Stmt>> {
        let mut code = Vec::new();
        self.stmts(stmts, &mut code)?;
        Ok(code)
    }

    /// An expression, converted as PL/pgSQL converts what it assigns.
    pub(super) fn assigned(&mut self, expr: &ast::Expr, ty: Type) -> Result<Expr> {
        let value = self.binder.expr(expr)?;
        match ty {
            Type::Record => Ok(self.binder.settled(value)),
            _ => self.binder.for_variable(value, ty, expr.span),
        }
    }

    /// The array in a place, with one of its elements assigned.
    fn assigned_element(
        &mut self,
        place: &Place,
        target: &Target,
        subscripts: &[ast::Expr],
        expr: &ast::Expr,
    ) -> Result<Expr> {
        let Some(found) = self.binder.frame.lookup(&target.path) else {
            return Err(Diagnostic::syntax(target.span, "not a known variable"));
        };
        let array = Expr { ty: place.ty, ..self.binder.variable(found)? };
        let value = self.binder.expr(expr)?;
        let subscripts: Vec<Subscript> = subscripts.iter().map(|at| Subscript::At(at.clone())).collect();
        self.binder.assigned_subscript(array, &subscripts, (value, expr.span), target.span)
    }

    fn when(&mut self, when: Option<&ast::Expr>) -> Result<Option<Expr>> {
        when.map(|e| self.assigned(e, Type::Bool)).transpose()
    }

    /// Remembers what shape a record variable was given.
    fn shape(&mut self, slot: usize, value: &Expr) {
        let fields = self.binder.fields_of(value);
        self.set_shape(slot, fields);
    }

    /// What a `record` variable must be told about the value it is given.
    fn shaped(&self, slot: usize, value: &Expr) -> Option<StmtKind> {
        let variable = &self.binder.frame.variables[slot];
        if variable.ty != Type::Record || variable.fields.is_some() {
            return None;
        }
        match (self.binder.fields_of(value), &value.kind) {
            (_, ExprKind::Param(other)) if self.binder.frame.variables[*other].fields.is_none() => {
                Some(StmtKind::ShapeOf(slot, *other))
            }
            (Some(fields), _) => Some(StmtKind::Shape(slot, fields)),
            _ => None,
        }
    }

    pub(super) fn set_shape(&mut self, slot: usize, fields: Option<Fields>) {
        let variable = &self.binder.frame.variables[slot];
        if variable.ty != Type::Record || variable.fields.is_some() {
            return;
        }
        match fields {
            Some(fields) => self.binder.frame.shapes.insert(slot, fields),
            None => self.binder.frame.shapes.remove(&slot),
        };
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        whens: &[(Vec<ast::Expr>, Vec<pl::Stmt>)],
        otherwise: Option<&[pl::Stmt]>,
        span: Span,
        code: &mut Vec<Stmt>,
    ) -> Result<StmtKind> {
        let slot = match operand {
            Some(operand) => {
                let value = self.binder.value(operand)?;
                let name = format!("__Case__Variable_{}__", self.binder.frame.variables.len());
                let (slot, ty) = (self.binder.frame.add(&name, value.ty, None), value.ty);
                let place = Place { slot, field: None, ty };
                code.push(Stmt { kind: StmtKind::Assign(place, value), span });
                Some((slot, ty))
            }
            None => None,
        };
        let mut branches = Vec::new();
        for (values, body) in whens {
            let mut tests = Vec::new();
            for value in values {
                tests.push(match slot {
                    Some((slot, ty)) => {
                        let operand = Expr { kind: ExprKind::Param(slot), ty };
                        let bound = self.binder.expr(value)?;
                        self.binder.equal((operand, value.span), (bound, value.span), value.span)?
                    }
                    None => self.assigned(value, Type::Bool)?,
                });
            }
            let condition = match tests.len() {
                1 => tests.remove(0),
                _ => boolean(ExprKind::Or(tests)),
            };
            branches.push((condition, self.body(body)?));
        }
        let otherwise = match otherwise {
            Some(body) => self.body(body)?,
            None => vec![Stmt { kind: StmtKind::CaseNotFound, span }],
        };
        Ok(StmtKind::If { branches, otherwise })
    }

    fn push_label(&mut self, name: Option<&Ident>, is_loop: bool) -> usize {
        let number = self.labels_used;
        self.labels_used += 1;
        self.labels.push(Label { name: name.map(|n| n.name.clone()), number, is_loop });
        number
    }

    pub(super) fn in_loop(
        &mut self,
        label: Option<&Ident>,
        variable: Option<(&Ident, usize)>,
        body: &[pl::Stmt],
    ) -> Result<(usize, Vec<Stmt>)> {
        let number = self.push_label(label, true);
        let mut names = Namespace { label: label.map(|l| l.name.clone()), ..Namespace::default() };
        names.names.extend(variable.map(|(name, slot)| (name.name.clone(), slot)));
        self.binder.frame.blocks.push(names);
        let body = self.body(body)?;
        self.binder.frame.blocks.pop();
        self.labels.pop();
        Ok((number, body))
    }

    fn exit_label(&self, label: Option<&Ident>, span: Span) -> Result<usize> {
        let Some(label) = label else {
            let innermost = self.labels.iter().rev().find(|l| l.is_loop);
            return innermost
                .map(|l| l.number)
                .ok_or_else(|| Diagnostic::syntax(span, "EXIT cannot be used outside a loop, unless it has a label"));
        };
        self.labelled(label).map(|l| l.number)
    }

    fn continue_label(&self, label: Option<&Ident>, span: Span) -> Result<usize> {
        let found = match label {
            Some(label) => self.labelled(label)?,
            None => match self.labels.iter().rev().find(|l| l.is_loop) {
                Some(innermost) => innermost,
                None => return Err(Diagnostic::syntax(span, "CONTINUE cannot be used outside a loop")),
            },
        };
        if !found.is_loop {
            let name = label.map_or("", |l| &l.name);
            return Err(Diagnostic::syntax(span, format!("block label \"{name}\" cannot be used in CONTINUE")));
        }
        Ok(found.number)
    }

    fn labelled(&self, label: &Ident) -> Result<&Label> {
        let found = self.labels.iter().rev().find(|l| l.name.as_ref() == Some(&label.name));
        found.ok_or_else(|| {
            let message =
                format!("there is no label \"{}\" attached to any block or loop enclosing this statement", label.name);
            let mut error = Diagnostic::syntax(label.span, message);
            error.hint = did_you_mean(&label.name, self.labels.iter().filter_map(|l| l.name.as_deref()));
            error
        })
    }

    /// What an assignment stores into.
    fn place(&mut self, target: &Target) -> Result<Place> {
        let Some(found) = self.binder.frame.lookup(&target.path) else {
            let shown = target.path.iter().map(|i| &*i.name).collect::<Vec<_>>().join(".");
            let mut error = Diagnostic::syntax(target.span, format!("\"{shown}\" is not a known variable"));
            let names = self.binder.frame.blocks.iter().flat_map(|b| b.names.keys());
            error.hint = did_you_mean(&shown, names.map(|n| &**n));
            return Err(error);
        };
        let (VariableRef::Slot(slot) | VariableRef::Field(slot, _)) = &found;
        if self.constants.contains(slot) {
            let name = &self.binder.frame.variables[*slot].name;
            let message = format!("variable \"{name}\" is declared CONSTANT");
            return Err(Diagnostic::new(target.span, SqlState(*b"22005"), message));
        }
        match found {
            VariableRef::Slot(slot) => Ok(Place { slot, field: None, ty: self.binder.frame.variables[slot].ty }),
            VariableRef::Field(slot, field) => {
                let value = self.binder.variable(VariableRef::Field(slot, field.clone()))?;
                let reference = match value.kind {
                    ExprKind::Field(_, at) => FieldRef::At(at),
                    _ => FieldRef::Named(field.name),
                };
                let ty = if value.ty == Type::Unknown { Type::Text } else { value.ty };
                Ok(Place { slot, field: Some(reference), ty })
            }
        }
    }

    fn into(&mut self, into: &pl::Into, columns: Option<&[OutputColumn]>) -> Result<Into> {
        Ok(Into { strict: into.strict, places: self.places(&into.targets, columns)? })
    }

    /// The places that a row of `columns` goes to.
    pub(super) fn places(&mut self, targets: &[Target], columns: Option<&[OutputColumn]>) -> Result<Vec<Place>> {
        let places: Result<Vec<Place>> = targets.iter().map(|t| self.place(t)).collect();
        let places = places?;
        if let [Place { slot, field: None, ty: Type::Record }] = &places[..] {
            let fields = columns.map(|c| c.iter().map(|c| (c.name.clone(), c.ty)).collect());
            self.set_shape(*slot, fields);
            return Ok(places);
        }
        let row = places.iter().position(|p| p.field.is_none() && p.ty == Type::Record);
        if let Some(row) = row {
            let message = match row {
                0 => "record variable cannot be part of multiple-item INTO list".to_string(),
                _ => format!("\"{}\" is not a scalar variable", self.binder.frame.variables[places[row].slot].name),
            };
            return Err(Diagnostic::syntax(targets[row].span, message));
        }
        Ok(places)
    }

    pub(super) fn text(&self, span: Span) -> Arc<str> {
        let start = self.body.span.start;
        let inside = Span { start: span.start.saturating_sub(start), end: span.end.saturating_sub(start) };
        one_line(inside.of(&self.body.text))
    }

    pub(super) fn statement(&mut self, statement: &ast::Statement) -> Result<Arc<Statement>> {
        let text = self.text(statement.span);
        Ok(Arc::new(self.binder.statement(statement, text)?))
    }

    pub(super) fn query_statement(&mut self, query: &ast::Query, span: Span) -> Result<Arc<Statement>> {
        let kind = StatementKind::Query(self.binder.query(query)?);
        Ok(Arc::new(Statement { kind, text: self.text(span), span }))
    }

    fn sql(&mut self, statement: &ast::Statement, into: Option<&pl::Into>, span: Span) -> Result<StmtKind> {
        let text = self.text(span);
        let bound = Arc::new(self.binder.statement(statement, text)?);
        if let StatementKind::Transaction(transaction) = &bound.kind
            && !matches!(transaction, Transaction::Commit { .. } | Transaction::Rollback { .. } | Transaction::Set(_))
        {
            let message = "unsupported transaction command in PL/pgSQL";
            return Err(Diagnostic::new(span, SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let columns = outputs(&bound).map(<[OutputColumn]>::to_vec);
        let into = match (into, columns, &bound.kind) {
            (Some(into), Some(columns), _) => Some(self.into(into, Some(&columns))?),
            (Some(_), None, _) => {
                return Err(Diagnostic::syntax(span, "INTO used with a command that cannot return data"));
            }
            (None, Some(_), kind) => {
                let error = Diagnostic::syntax(span, "query has no destination for result data");
                return Err(match kind {
                    StatementKind::Query(_) => {
                        error.hint("If you want to discard the results of a SELECT, use PERFORM instead.")
                    }
                    _ => error,
                });
            }
            (None, None, StatementKind::Call(id, _)) => {
                let def = self.binder.catalog.routine(*id).clone();
                self.call_outs(&def, statement)?
            }
            (None, None, _) => None,
        };
        Ok(StmtKind::Sql { statement: bound, into })
    }

    /// `CALL p(x)`: what INOUT and OUT parameters are stored into.
    fn call_outs(&mut self, def: &RoutineDef, statement: &ast::Statement) -> Result<Option<Into>> {
        let ast::StatementKind::Call { args, named, .. } = &statement.kind else { return Ok(None) };
        let mut places = Vec::new();
        for (i, param) in def.params.iter().enumerate().filter(|(_, p)| p.mode != ParamMode::In) {
            let by_name = || named.iter().find(|(name, _)| name.name == param.name).map(|(_, arg)| arg);
            let Some(arg) = args.get(i).or_else(by_name) else { continue };
            let place = match &arg.kind {
                ast::ExprKind::Name(path) => {
                    self.place(&Target { path: path.clone(), subscripts: Vec::new(), span: arg.span }).ok()
                }
                _ => None,
            };
            let Some(place) = place else {
                let message = format!(
                    "procedure parameter \"{}\" is an output parameter but corresponding argument is not writable",
                    param.name
                );
                return Err(Diagnostic::syntax(arg.span, message));
            };
            places.push(place);
        }
        Ok((!places.is_empty()).then_some(Into { strict: false, places }))
    }

    fn diagnostics(
        &mut self,
        stacked: bool,
        items: &[(Target, Arc<str>)],
        span: Span,
        code: &mut Vec<Stmt>,
    ) -> Result<()> {
        if stacked {
            let bound: Result<Vec<_>> = items.iter().map(|(t, item)| Ok((self.place(t)?, item.clone()))).collect();
            code.push(Stmt { kind: StmtKind::StackedDiagnostics(bound?), span });
            return Ok(());
        }
        for (target, item) in items {
            if &**item != "ROW_COUNT" {
                return Err(Diagnostic::unsupported(span, Construct::DIAGNOSTICS_ITEM.of(item)));
            }
            let place = self.place(target)?;
            code.push(Stmt { kind: StmtKind::RowCount(place), span });
        }
        Ok(())
    }
}

fn constant_null(ty: Type) -> Expr {
    constant(Value::Null, ty)
}

/// Whether PostgreSQL would find a mistake only on coming to it: syntax is checked before.
fn is_late(error: &Diagnostic) -> bool {
    error.state != SqlState::SYNTAX_ERROR
}
