//! From bound PL/pgSQL to the graph.
//!
//! One pass over the structured code. [`Lowering`] carries where errors go, which loops are around, and for each
//! routine being written out (the procedure itself, or one that it calls) a [`Frame`] that says which variable of the
//! graph stands for which of the routine's. What the graph has no action for is a [`Refusal`] with its place.

use std::collections::BTreeMap;
use std::sync::Arc;

use isolde_sql::ast::plpgsql::RaiseLevel;
use isolde_sql::ast::{ParamMode, Volatility};
use isolde_sql::catalog::{Catalog, RoutineId};
use isolde_sql::typed::{
    Expr, ExprKind, FieldRef, Handler, Into, OpenSource, Place, Query, QueryBody, RaiseMessage, Routine,
    RoutineReturns, Statement, StatementKind, Stmt, StmtKind, Transaction,
};
use isolde_sql::{Span, SqlState, Type, Value, bind};

use super::expand::each_expr;
use super::loops::Range;
use super::with::inlined;
use super::{Action, Edge, Graph, Node, Read, Variable, Write, records};
use crate::logic::{Refusal, Result, sort_of};

/// The graph of a routine.
pub fn lower(catalog: &Catalog, id: RoutineId) -> Result<Graph> {
    let def = catalog.routine(id);
    let graph = Graph {
        name: def.name.clone(),
        routine: id,
        variables: Vec::new(),
        nodes: Vec::new(),
        edges: Vec::new(),
        entry: 0,
        exit: 0,
        heads: Vec::new(),
        commits: false,
        cut: false,
    };
    let mut lowering =
        Lowering { catalog, graph, frames: Vec::new(), loops: Vec::new(), handler: None, calls: vec![id], marks: 0 };
    let entry = lowering.node(def.span);
    let exit = lowering.node(def.span);
    (lowering.graph.entry, lowering.graph.exit) = (entry, exit);
    let routine = bound(catalog, id)?;
    lowering.enter(&routine, exit)?;
    for (at, param) in def.params.iter().enumerate() {
        if param.mode != ParamMode::Out {
            let variable = lowering.scalar(at)?;
            lowering.graph.variables[variable].input = Some(at);
        }
    }
    if let Some(end) = lowering.block(entry, &routine.body)? {
        lowering.edge(end, exit, Action::Skip, def.span);
    }
    lowering.remember_the_start(def.span);
    Ok(lowering.graph)
}

pub(super) fn bound(catalog: &Catalog, id: RoutineId) -> Result<Arc<Routine>> {
    let def = catalog.routine(id);
    bind::routine(catalog, def).map_err(|d| Refusal::new(d.message.clone()).at(d.span))
}

pub(super) struct Lowering<'c> {
    pub(super) catalog: &'c Catalog,
    pub(super) graph: Graph,
    pub(super) frames: Vec<Frame>,
    /// The heads of the loops around.
    pub(super) loops: Vec<usize>,
    /// Where errors go.
    pub(super) handler: Option<usize>,
    /// The routines being written out.
    pub(super) calls: Vec<RoutineId>,
    /// Numbers given to cursors and blocks.
    pub(super) marks: usize,
}

/// A routine that is being written out.
pub(super) struct Frame {
    /// What stands for each of its variables.
    pub(super) slots: Vec<Stands>,
    pub(super) found: usize,
    /// Where RETURN goes.
    pub(super) exit: usize,
    /// Where the value of RETURN goes.
    pub(super) result: Option<usize>,
    /// For each label: where EXIT and CONTINUE go.
    pub(super) labels: BTreeMap<usize, (usize, Option<usize>)>,
}

/// What stands for a variable of a routine.
#[derive(Clone)]
pub(super) enum Stands {
    Scalar(usize),
    Row(Vec<(Arc<str>, usize)>),
    Nothing,
}

impl Lowering<'_> {
    // Building blocks.

    pub(super) fn node(&mut self, span: Span) -> usize {
        self.graph.nodes.push(Node { span, loops: self.loops.clone() });
        self.graph.nodes.len() - 1
    }

    pub(super) fn edge(&mut self, from: usize, to: usize, action: Action, span: Span) {
        let on_error = self.handler;
        self.graph.edges.push(Edge { from, to, action, span, on_error });
    }

    /// Does something, and gives the place behind it.
    pub(super) fn act(&mut self, from: usize, action: Action, span: Span) -> usize {
        let to = self.node(span);
        self.edge(from, to, action, span);
        to
    }

    pub(super) fn variable(&mut self, name: &str, ty: Type, not_null: bool) -> usize {
        self.graph.variables.push(Variable { name: name.into(), ty, not_null, input: None, starts_false: false });
        self.graph.variables.len() - 1
    }

    pub(super) fn mark(&mut self) -> usize {
        self.marks += 1;
        self.marks
    }

    pub(super) fn frame(&self) -> &Frame {
        self.frames.last().expect("a routine is being written out")
    }

    pub(super) fn found(&self) -> Option<usize> {
        Some(self.frame().found)
    }

    /// FOUND is false when a routine that is called begins, however often.
    pub(super) fn found_nothing(&mut self, at: usize, span: Span) -> usize {
        let found = self.frame().found;
        self.act(at, Action::Assign(found, Expr { kind: ExprKind::Const(Value::Bool(false)), ty: Type::Bool }), span)
    }

    /// Makes variables for those of a routine.
    pub(super) fn enter(&mut self, routine: &Routine, exit: usize) -> Result<()> {
        let fields = records::fields(routine)?;
        let mut slots = Vec::new();
        for (slot, variable) in routine.variables.iter().enumerate() {
            slots.push(match (fields.get(&slot), sort_of(variable.ty)) {
                (Some(fields), None) => {
                    let one = |(name, ty): &(Arc<str>, Type)| {
                        sort_of(*ty)?;
                        Some((name.clone(), self.variable(&format!("{}.{name}", variable.name), *ty, false)))
                    };
                    fields.iter().map(one).collect::<Option<Vec<_>>>().map_or(Stands::Nothing, Stands::Row)
                }
                (_, Some(_)) => Stands::Scalar(self.variable(&variable.name, variable.ty, variable.not_null)),
                (None, None) => Stands::Nothing,
            });
        }
        let Stands::Scalar(found) = slots[routine.found] else { return Err(Refusal::new("a routine without FOUND")) };
        self.graph.variables[found].starts_false = true;
        let result = match &routine.returns {
            RoutineReturns::Value(ty) if sort_of(*ty).is_some() => Some(self.variable("result", *ty, false)),
            _ => None,
        };
        self.frames.push(Frame { slots, found, exit, result, labels: BTreeMap::new() });
        Ok(())
    }

    pub(super) fn scalar(&self, slot: usize) -> Result<usize> {
        match self.frame().slots.get(slot) {
            Some(Stands::Scalar(variable)) => Ok(*variable),
            _ => Err(Refusal::new("a parameter or variable that is a row")),
        }
    }

    // Expressions.

    /// An expression over the variables of the graph.
    pub(super) fn renamed(&self, expr: &Expr) -> Expr {
        let mut expr = expr.clone();
        expr.walk_mut(0, &mut |e, _| {
            e.subquery_mut().into_iter().for_each(inlined);
            self.rename(e)
        });
        expr
    }

    pub(super) fn rename(&self, expr: &mut Expr) -> bool {
        let row = |slot: usize| match self.frame().slots.get(slot) {
            Some(Stands::Row(fields)) => Some(fields),
            _ => None,
        };
        let variable = match &expr.kind {
            // A row that is used as a whole has no variable, and is refused when it is evaluated.
            ExprKind::Param(slot) => Some(self.scalar(*slot).unwrap_or(usize::MAX)),
            ExprKind::Field(inner, at) => match inner.kind {
                ExprKind::Param(slot) => row(slot).and_then(|fields| fields.get(*at)).map(|(_, variable)| *variable),
                _ => None,
            },
            ExprKind::NamedField(slot, name) => row(*slot)
                .and_then(|fields| fields.iter().find(|(field, _)| field == name))
                .map(|(_, variable)| *variable),
            _ => None,
        };
        if let Some(variable) = variable {
            expr.kind = ExprKind::Param(variable);
            return false;
        }
        true
    }

    /// The same, with calls of routines done before it.
    pub(super) fn expr(&mut self, at: usize, expr: &Expr, span: Span) -> Result<(usize, Expr)> {
        self.may_be_unset(at, [expr], span);
        let mut expr = self.renamed(expr);
        self.order_of_calls([&expr], span)?;
        let at = self.hoist(at, &mut expr, span)?;
        Ok((at, expr))
    }

    /// A record that nothing was stored in has no fields: to look at one is an error.
    fn may_be_unset<'e>(&mut self, at: usize, exprs: impl IntoIterator<Item = &'e Expr>, span: Span) {
        let mut named = false;
        for expr in exprs {
            expr.walk(0, &mut |e, _| named |= matches!(e.kind, ExprKind::NamedField(..)));
        }
        if named {
            self.may_fail(at, span);
        }
    }

    /// Calls are done before the expression that they stand in. The queries of that expression see the rows as they
    /// were before all calls, so a call that writes has to stand by itself.
    fn order_of_calls<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>, span: Span) -> Result<()> {
        let (mut writes, mut others) = (false, 0);
        for expr in exprs {
            let alone = matches!(&expr.kind, ExprKind::Routine(_, args) if !args.iter().any(has_routine));
            expr.walk(0, &mut |e, _| match &e.kind {
                ExprKind::Routine(id, _) => {
                    let is_writing = self.catalog.routine(*id).volatility == Volatility::Volatile;
                    writes |= is_writing;
                    others += usize::from(!is_writing);
                }
                _ if e.subquery().is_some() && !alone => others += 1,
                _ => {}
            });
        }
        match writes && others > 0 {
            true => Err(Refusal::new("a call that writes beside a query in one expression").at(span)),
            false => Ok(()),
        }
    }

    /// Does the calls of routines in an expression, innermost first. A call that may be skipped is left, and refused
    /// later.
    pub(super) fn hoist(&mut self, mut at: usize, expr: &mut Expr, span: Span) -> Result<usize> {
        let lazy = matches!(expr.kind, ExprKind::Case(..) | ExprKind::Coalesce(_) | ExprKind::And(_) | ExprKind::Or(_));
        if lazy {
            return Ok(at);
        }
        let mut children = Vec::new();
        expr.children_mut(&mut |child| children.push(child));
        for child in children {
            at = self.hoist(at, child, span)?;
        }
        if let ExprKind::Routine(id, args) = &expr.kind {
            let (after, result) = self.call(at, *id, args, span)?;
            match result.as_slice() {
                [variable] => expr.kind = ExprKind::Param(*variable),
                // A function that returns nothing gives a value that nothing is done with.
                [] if expr.ty == Type::Void => {
                    *expr = Expr { kind: ExprKind::Const(Value::Null), ty: Type::Int4 };
                }
                _ => return Err(Refusal::new("a function that gives several values").at(span)),
            }
            return Ok(after);
        }
        Ok(at)
    }

    pub(super) fn statement(&mut self, at: usize, statement: &Statement) -> Result<(usize, Arc<Statement>)> {
        let mut statement = statement.clone();
        let mut named = false;
        each_expr(&mut statement, &mut |e| {
            named |= matches!(e.kind, ExprKind::NamedField(..));
            self.rename(e)
        });
        if named {
            self.may_fail(at, statement.span);
        }
        match &mut statement.kind {
            StatementKind::Query(query) => inlined(query),
            StatementKind::Insert(insert) => inlined(&mut insert.source),
            _ => {}
        }
        let mut at = at;
        // A single row of values is evaluated once: its calls can come before.
        if let StatementKind::Insert(insert) = &mut statement.kind
            && let QueryBody::Values(rows) = &mut insert.source.body
        {
            self.order_of_calls(rows.iter().flatten(), statement.span)?;
            for value in rows.iter_mut().flatten() {
                at = self.hoist(at, value, statement.span)?;
            }
        }
        if let StatementKind::Query(query) = &mut statement.kind {
            at = self.hoist_select(at, query, statement.span)?;
        }
        Ok((at, Arc::new(statement)))
    }

    /// `SELECT f(x)` calls f once.
    pub(super) fn hoist_select(&mut self, mut at: usize, query: &mut Query, span: Span) -> Result<usize> {
        if let QueryBody::Select(select) = &mut query.body
            && select.is_bare()
        {
            self.order_of_calls(select.projection.iter().chain(&select.filter), span)?;
            for value in &mut select.projection {
                at = self.hoist(at, value, span)?;
            }
        }
        Ok(at)
    }

    // Statements.

    /// Statements one after another; the place behind them, if it can be reached.
    pub(super) fn block(&mut self, at: usize, body: &[Stmt]) -> Result<Option<usize>> {
        let mut at = at;
        for stmt in body {
            match self.stmt(at, stmt).map_err(|refusal| refusal.at(stmt.span))? {
                Some(next) => at = next,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    pub(super) fn stmt(&mut self, at: usize, stmt: &Stmt) -> Result<Option<usize>> {
        let span = stmt.span;
        self.graph.nodes[at].span = span;
        match &stmt.kind {
            StmtKind::Assign(place, expr) => self.assign(at, place, expr, span).map(Some),
            StmtKind::Shape(..) | StmtKind::ShapeOf(..) => Ok(Some(at)),
            StmtKind::Sql { statement, into } => self.sql(at, statement, into.as_ref(), span).map(Some),
            StmtKind::Perform(statement) => self.perform(at, statement).map(Some),
            StmtKind::If { branches, otherwise } => self.branches(at, branches, otherwise, span),
            StmtKind::Loop { label, body } => self.looping(at, *label, body, span, |_, head| Ok(head)),
            StmtKind::While { label, condition, body } => self.looping(at, *label, body, span, |this, head| {
                let (at, condition) = this.expr(head, condition, span)?;
                let out = this.behind(*label)?;
                this.edge(at, out, Action::Assume(condition.clone(), false), span);
                Ok(this.act(at, Action::Assume(condition, true), span))
            }),
            StmtKind::ForRange { label, variable, from, to, by, reverse, body } => {
                let range = Range { variable: *variable, from, to, by: by.as_ref(), reverse: *reverse };
                self.for_range(at, *label, &range, body, span)
            }
            StmtKind::ForQuery { label, into, query, body } => self.for_query(at, *label, into, query, body, span),
            StmtKind::ForCursor { label, into, open, body, .. } => match &open.source {
                OpenSource::Query(query) if open.args.is_empty() => self.for_query(at, *label, into, query, body, span),
                _ => Err(Refusal::new("a loop over a cursor with arguments")),
            },
            StmtKind::Exit { label, when } => self.leave(at, *label, when.as_ref(), false, span),
            StmtKind::Continue { label, when } => self.leave(at, *label, when.as_ref(), true, span),
            StmtKind::Labelled { label, body } => {
                let out = self.node(span);
                self.labels().insert(*label, (out, None));
                if let Some(end) = self.block(at, body)? {
                    self.edge(end, out, Action::Skip, span);
                }
                Ok(Some(out))
            }
            StmtKind::Return(value) => self.returned(at, value.as_ref(), span),
            StmtKind::ReturnNext(values) => self.evaluated(at, values, span).map(Some),
            StmtKind::ReturnQuery(statement) => self.perform(at, statement).map(Some),
            StmtKind::Raise(raise) => {
                let at = self.evaluated(at, &raise.exprs().cloned().collect::<Vec<_>>(), span)?;
                let action = match (raise.level, &raise.message) {
                    (RaiseLevel::Exception, RaiseMessage::Again) => Action::Again,
                    (RaiseLevel::Exception, _) if raise.code.is_some() => Action::Raise(None),
                    (RaiseLevel::Exception, _) => Action::Raise(Some(raise.state)),
                    _ => return Ok(Some(at)),
                };
                self.fail(at, action, span);
                Ok(None)
            }
            StmtKind::Fail(error) => {
                self.fail(at, Action::Raise(Some(error.state)), span);
                Ok(None)
            }
            StmtKind::CaseNotFound => {
                self.fail(at, Action::Raise(Some(SqlState::CASE_NOT_FOUND)), span);
                Ok(None)
            }
            StmtKind::Assert(condition, message) => {
                let (at, condition) = self.expr(at, condition, span)?;
                let failed = self.act(at, Action::Assume(condition.clone(), false), span);
                let failed = self.evaluated(failed, message.as_slice(), span)?;
                self.fail(failed, Action::Raise(Some(SqlState::ASSERT_FAILURE)), span);
                Ok(Some(self.act(at, Action::Assume(condition, true), span)))
            }
            StmtKind::Try { body, handlers, state, message } => {
                self.handled(at, body, handlers, [*state, *message], span)
            }
            StmtKind::RowCount(place) => {
                let (variable, _) = self.place(place)?;
                // The statement before has counted its rows there, if it is one that does.
                match self.last_write(at) {
                    Some(edge) => {
                        set_count(&mut self.graph.edges[edge].action, variable)?;
                        Ok(Some(at))
                    }
                    None => Ok(Some(self.act(at, Action::Havoc(variable), span))),
                }
            }
            StmtKind::StackedDiagnostics(items) => {
                let mut at = at;
                for (place, _) in items {
                    let (variable, _) = self.place(place)?;
                    at = self.act(at, Action::Havoc(variable), span);
                }
                Ok(Some(at))
            }
            StmtKind::Execute { .. } | StmtKind::ForExecute { .. } | StmtKind::ReturnExecute { .. } => {
                Err(Refusal::new("dynamic SQL (EXECUTE)"))
            }
            StmtKind::Foreach { .. } => Err(Refusal::new("FOREACH")),
            StmtKind::Open(..) | StmtKind::Fetch { .. } | StmtKind::Close(_) => Err(Refusal::new("a cursor variable")),
        }
    }

    /// An error: nowhere to go on, unless there is a handler.
    pub(super) fn fail(&mut self, at: usize, action: Action, span: Span) {
        let nowhere = self.node(span);
        self.edge(at, nowhere, action, span);
    }

    /// Something may go wrong here that is not modelled further: if there is a handler, it may be entered with any
    /// error.
    pub(super) fn may_fail(&mut self, at: usize, span: Span) {
        if self.handler.is_some() {
            self.fail(at, Action::Raise(None), span);
        }
    }

    /// Expressions whose values do not matter: what they call is called, and evaluating them may fail.
    pub(super) fn evaluated(&mut self, at: usize, exprs: &[Expr], span: Span) -> Result<usize> {
        let mut at = at;
        for expr in exprs {
            let (next, expr) = self.expr(at, expr, span)?;
            at = next;
            if has_routine(&expr) {
                return Err(Refusal::new("a call of a function inside of an expression").at(span));
            }
            if !matches!(expr.kind, ExprKind::Param(_) | ExprKind::Const(_)) {
                self.may_fail(at, span);
            }
        }
        Ok(at)
    }

    /// The edge that has just led here, if it writes rows.
    pub(super) fn last_write(&self, at: usize) -> Option<usize> {
        let mut into = self.graph.edges.iter().enumerate().filter(|(_, edge)| edge.to == at);
        let (index, edge) = into.next()?;
        (into.next().is_none() && matches!(edge.action, Action::Write(_))).then_some(index)
    }

    pub(super) fn place(&self, place: &Place) -> Result<(usize, Type)> {
        match (self.frame().slots.get(place.slot), &place.field) {
            (Some(Stands::Scalar(variable)), None) => Ok((*variable, place.ty)),
            (Some(Stands::Row(fields)), Some(FieldRef::At(at))) => fields
                .get(*at)
                .map(|(_, variable)| (*variable, place.ty))
                .ok_or_else(|| Refusal::new("a field that is not there")),
            (Some(Stands::Row(fields)), Some(FieldRef::Named(name))) => {
                let field = fields.iter().find(|(field, _)| field == name);
                field
                    .map(|(_, variable)| (*variable, place.ty))
                    .ok_or_else(|| Refusal::new("a field that is not there"))
            }
            _ => Err(Refusal::new("a variable that is a row, stored as a whole")),
        }
    }

    /// The variables that take the columns of a statement, with the types of these.
    pub(super) fn takers(&self, places: &[Place], columns: &[Type]) -> Result<Vec<(usize, Type)>> {
        if let [Place { slot, field: None, .. }] = places {
            match self.frame().slots.get(*slot) {
                Some(Stands::Row(fields)) => {
                    return Ok(self.paired(fields.iter().map(|(_, variable)| *variable), columns));
                }
                Some(Stands::Nothing) => return Err(Refusal::new("a record whose fields are not all scalars")),
                _ => {}
            }
        }
        let variables =
            places.iter().map(|place| self.place(place).map(|(variable, _)| variable)).collect::<Result<Vec<_>>>()?;
        Ok(self.paired(variables.into_iter(), columns))
    }

    /// Each variable with the type of its column. Variables beyond the last column become NULL; columns beyond the last
    /// variable are dropped.
    fn paired(&self, variables: impl Iterator<Item = usize>, columns: &[Type]) -> Vec<(usize, Type)> {
        let with = |(at, variable): (usize, usize)| {
            (variable, columns.get(at).copied().unwrap_or(self.graph.variables[variable].ty))
        };
        variables.enumerate().map(with).collect()
    }

    pub(super) fn assign(&mut self, at: usize, place: &Place, expr: &Expr, span: Span) -> Result<usize> {
        if let (Some(Stands::Row(fields)), None) = (self.frame().slots.get(place.slot).cloned(), &place.field) {
            let mut at = at;
            let values: Vec<Expr> = match &expr.kind {
                ExprKind::Row(values) => values.clone(),
                ExprKind::Const(Value::Null) => {
                    let types = fields.iter().map(|(_, variable)| self.graph.variables[*variable].ty);
                    types.map(|ty| Expr { kind: ExprKind::Const(Value::Null), ty }).collect()
                }
                _ => return Err(Refusal::new("a row stored as a whole")),
            };
            for ((_, variable), value) in fields.iter().zip(&values) {
                let (before, value) = self.expr(at, value, span)?;
                at = self.act(before, Action::Assign(*variable, value), span);
            }
            return Ok(at);
        }
        let (variable, _) = self.place(place)?;
        let (at, expr) = self.expr(at, expr, span)?;
        // `x := (SELECT ...)` of a record's whole row and the like has no sort, and is refused where it is evaluated.
        Ok(self.act(at, Action::Assign(variable, expr), span))
    }

    pub(super) fn sql(&mut self, at: usize, statement: &Statement, into: Option<&Into>, span: Span) -> Result<usize> {
        if let StatementKind::Call(id, args) = &statement.kind {
            let args: Vec<Expr> = args.iter().map(|arg| self.renamed(arg)).collect();
            let (mut at, outs) = self.call(at, *id, &args, span)?;
            if let Some(into) = into {
                let types: Vec<Type> = outs.iter().map(|out| self.graph.variables[*out].ty).collect();
                for (n, (variable, ty)) in self.takers(&into.places, &types)?.into_iter().enumerate() {
                    let kind = outs.get(n).map_or(ExprKind::Const(Value::Null), |out| ExprKind::Param(*out));
                    at = self.act(at, Action::Assign(variable, Expr { kind, ty }), span);
                }
            }
            return Ok(at);
        }
        let (at, statement) = self.statement(at, statement)?;
        let types: Vec<Type> = records::columns(&statement).iter().map(|column| column.ty).collect();
        let targets = into.map_or(Ok(Vec::new()), |into| self.takers(&into.places, &types))?;
        let strict = into.is_some_and(|into| into.strict);
        let action = match &statement.kind {
            StatementKind::Query(query) => {
                refuse_calls(&statement)?;
                if into.is_none() {
                    // PL/pgSQL wants to know where a result goes.
                    self.may_fail(at, span);
                }
                Action::Read(Read { query: Arc::new(query.clone()), into: targets, strict, found: self.found() })
            }
            StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
            | StatementKind::Truncate(_) => {
                refuse_calls(&statement)?;
                let found = if matches!(statement.kind, StatementKind::Truncate(_)) { None } else { self.found() };
                Action::Write(Write { statement, into: targets, strict, found, count: None })
            }
            // Locks and such settings change no row.
            StatementKind::LockTable { .. } => Action::Skip,
            StatementKind::Set { name, .. } if HARMLESS_SETTINGS.contains(&&**name) => Action::Skip,
            StatementKind::Set { name, .. } => return Err(Refusal::new(format!("SET {name}"))),
            StatementKind::Transaction(Transaction::Commit { .. }) => return Ok(self.committed(at, span)),
            StatementKind::Transaction(Transaction::Rollback { .. }) => return Ok(self.rolled_back(at, span)),
            StatementKind::Merge(_) => return Err(Refusal::new("MERGE")),
            StatementKind::Define(_) => return Err(Refusal::new("a definition (DDL) inside of a procedure")),
            _ => return Err(Refusal::new("this statement")),
        };
        Ok(self.act(at, action, span))
    }

    pub(super) fn perform(&mut self, at: usize, statement: &Statement) -> Result<usize> {
        let span = statement.span;
        if !matches!(statement.kind, StatementKind::Query(_)) {
            return self.sql(at, statement, None, span);
        }
        let (at, statement) = self.statement(at, statement)?;
        refuse_calls(&statement)?;
        let StatementKind::Query(query) = &statement.kind else { return Err(Refusal::new("this statement")) };
        let read = Read { query: Arc::new(query.clone()), into: Vec::new(), strict: false, found: self.found() };
        Ok(self.act(at, Action::Read(read), span))
    }

    pub(super) fn branches(
        &mut self,
        at: usize,
        branches: &[(Expr, Vec<Stmt>)],
        otherwise: &[Stmt],
        span: Span,
    ) -> Result<Option<usize>> {
        let mut at = at;
        let mut ends = Vec::new();
        for (condition, body) in branches {
            let (here, condition) = self.expr(at, condition, span)?;
            let inside = self.act(here, Action::Assume(condition.clone(), true), span);
            ends.extend(self.block(inside, body)?);
            at = self.act(here, Action::Assume(condition, false), span);
        }
        ends.extend(self.block(at, otherwise)?);
        if ends.is_empty() {
            return Ok(None);
        }
        let after = self.node(span);
        for end in ends {
            self.edge(end, after, Action::Skip, span);
        }
        Ok(Some(after))
    }

    // Errors.

    /// BEGIN ... EXCEPTION: rows go back to what they were, variables do not.
    pub(super) fn handled(
        &mut self,
        at: usize,
        body: &[Stmt],
        handlers: &[Handler],
        about: [usize; 2],
        span: Span,
    ) -> Result<Option<usize>> {
        let (mark, outer) = (self.mark(), self.handler);
        let at = self.act(at, Action::Save(mark), span);
        let after = self.node(span);
        let dispatch = self.node(span);
        self.handler = Some(dispatch);
        let end = self.block(at, body);
        self.handler = outer;
        if let Some(end) = end? {
            self.edge(end, after, Action::Skip, span);
        }
        let mut at = dispatch;
        for handler in handlers {
            let inside = self.act(at, Action::Catch(handler.catches.clone(), true), span);
            let mut inside = self.act(inside, Action::Restore(mark), span);
            for slot in about {
                if let Ok(variable) = self.scalar(slot) {
                    inside = self.act(inside, Action::Havoc(variable), span);
                }
            }
            if let Some(end) = self.block(inside, &handler.body)? {
                self.edge(end, after, Action::Skip, span);
            }
            at = self.act(at, Action::Catch(handler.catches.clone(), false), span);
        }
        self.fail(at, Action::Again, span);
        Ok(Some(after))
    }
}

/// Settings that no statement of a procedure depends on.
const HARMLESS_SETTINGS: &[&str] = &[
    "application_name",
    "client_min_messages",
    "lock_timeout",
    "log_statement",
    "maintenance_work_mem",
    "statement_timeout",
    "synchronous_commit",
    "work_mem",
];

fn has_routine(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(0, &mut |e, _| found |= matches!(e.kind, ExprKind::Routine(..)));
    found
}

fn set_count(action: &mut Action, variable: usize) -> Result<()> {
    match action {
        Action::Write(write) if write.count.is_none() => {
            write.count = Some(variable);
            Ok(())
        }
        _ => Err(Refusal::new("GET DIAGNOSTICS twice")),
    }
}

/// A routine that is called per row of a query has no place in the graph.
pub(super) fn refuse_calls(statement: &Statement) -> Result<()> {
    match statement.routines().is_empty() {
        true => Ok(()),
        false => Err(Refusal::new("a call of a function inside of a query")),
    }
}
