//! Loops and the ways out of them.
//!
//! A loop has a head, to which each round comes back, and a place behind it. An integer loop counts in a hidden
//! variable, as PL/pgSQL does: what the body stores in the loop's variable does not change how often it goes round.

use std::collections::BTreeMap;
use std::sync::Arc;

use isolde_sql::builtin;
use isolde_sql::typed::{Expr, ExprKind, Place, Statement, StatementKind, Stmt};
use isolde_sql::{Span, SqlState, Type, Value};

use super::Action;
use super::lower::{Lowering, refuse_calls};
use crate::logic::{Refusal, Result};

/// What an integer loop runs over.
pub(super) struct Range<'a> {
    pub(super) variable: usize,
    pub(super) from: &'a Expr,
    pub(super) to: &'a Expr,
    pub(super) by: Option<&'a Expr>,
    pub(super) reverse: bool,
}

impl Lowering<'_> {
    pub(super) fn labels(&mut self) -> &mut BTreeMap<usize, (usize, Option<usize>)> {
        &mut self.frames.last_mut().expect("a routine is being written out").labels
    }

    /// The place behind the loop with this label.
    pub(super) fn behind(&self, label: usize) -> Result<usize> {
        let known = self.frame().labels.get(&label).map(|(out, _)| *out);
        known.ok_or_else(|| Refusal::new("a loop without an end"))
    }

    /// A loop: `test` leads from its head into its body.
    pub(super) fn looping(
        &mut self,
        at: usize,
        label: usize,
        body: &[Stmt],
        span: Span,
        test: impl FnOnce(&mut Self, usize) -> Result<usize>,
    ) -> Result<Option<usize>> {
        self.rounds(at, label, body, span, test, |_, end| Ok(end))
    }

    /// The same, with something done behind each round.
    pub(super) fn rounds(
        &mut self,
        at: usize,
        label: usize,
        body: &[Stmt],
        span: Span,
        test: impl FnOnce(&mut Self, usize) -> Result<usize>,
        step: impl FnOnce(&mut Self, usize) -> Result<usize>,
    ) -> Result<Option<usize>> {
        let out = self.node(span);
        let head = self.graph.nodes.len();
        self.loops.push(head);
        let head = self.node(span);
        self.graph.heads.push(head);
        let next = self.node(span);
        self.labels().insert(label, (out, Some(next)));
        self.edge(at, head, Action::Skip, span);
        let inside = test(self, head)?;
        if let Some(end) = self.block(inside, body)? {
            self.edge(end, next, Action::Skip, span);
        }
        let end = step(self, next)?;
        self.edge(end, head, Action::Skip, span);
        self.loops.pop();
        Ok(Some(out))
    }

    pub(super) fn for_range(
        &mut self,
        at: usize,
        label: usize,
        range: &Range<'_>,
        body: &[Stmt],
        span: Span,
    ) -> Result<Option<usize>> {
        let variable = self.scalar(range.variable)?;
        let counter = self.variable("counter", Type::Int4, true);
        let bound = self.variable("bound", Type::Int4, true);
        let any = self.variable("any", Type::Bool, false);
        let (at, from) = self.expr(at, range.from, span)?;
        let at = self.act(at, Action::Assign(counter, from), span);
        let (at, to) = self.expr(at, range.to, span)?;
        let at = self.act(at, Action::Assign(bound, to), span);
        let (at, step) = self.step_of(at, range.by, span)?;
        let at = self.act(at, Action::Assign(any, boolean(false)), span);
        let (mine, theirs) = (param(counter, Type::Int4), param(bound, Type::Int4));
        let inside = if range.reverse { comparison(">=", mine, theirs)? } else { comparison("<=", mine, theirs)? };
        let reverse = range.reverse;
        let out = self.rounds(
            at,
            label,
            body,
            span,
            |this, head| {
                let out = this.behind(label)?;
                this.edge(head, out, Action::Assume(inside.clone(), false), span);
                let at = this.act(head, Action::Assume(inside.clone(), true), span);
                let at = this.act(at, Action::Assign(any, boolean(true)), span);
                Ok(this.act(at, Action::Assign(variable, param(counter, Type::Int4)), span))
            },
            |this, next| {
                // A counter that would leave its range has reached its end.
                let wide = Type::Int8;
                let moved = arithmetic(if reverse { "-" } else { "+" }, param(counter, wide), step)?;
                let past = comparison(if reverse { "<" } else { ">" }, moved.clone(), param(bound, wide))?;
                let out = this.behind(label)?;
                this.edge(next, out, Action::Assume(past.clone(), true), span);
                let at = this.act(next, Action::Assume(past, false), span);
                Ok(this.act(at, Action::Assign(counter, moved), span))
            },
        )?;
        self.after_loop(out, any, span)
    }

    /// How far an integer loop goes each time: by one, or by what is worked out once and must be positive.
    fn step_of(&mut self, at: usize, by: Option<&Expr>, span: Span) -> Result<(usize, Expr)> {
        let Some(by) = by else { return Ok((at, Expr { ty: Type::Int8, ..integer(1) })) };
        let step = self.variable("step", Type::Int4, true);
        let (at, by) = self.expr(at, by, span)?;
        let at = self.act(at, Action::Assign(step, by), span);
        let backwards = comparison("<=", param(step, Type::Int4), integer(0))?;
        let bad = self.act(at, Action::Assume(backwards.clone(), true), span);
        self.fail(bad, Action::Raise(Some(SqlState::INVALID_PARAMETER_VALUE)), span);
        Ok((self.act(at, Action::Assume(backwards, false), span), param(step, Type::Int8)))
    }

    /// FOUND says whether a FOR loop went round at all.
    pub(super) fn after_loop(&mut self, out: Option<usize>, any: usize, span: Span) -> Result<Option<usize>> {
        let found = self.frame().found;
        Ok(out.map(|out| self.act(out, Action::Assign(found, param(any, Type::Bool)), span)))
    }

    pub(super) fn for_query(
        &mut self,
        at: usize,
        label: usize,
        into: &[Place],
        query: &Statement,
        body: &[Stmt],
        span: Span,
    ) -> Result<Option<usize>> {
        let (at, statement) = self.statement(at, query)?;
        refuse_calls(&statement)?;
        let StatementKind::Query(query) = &statement.kind else {
            return Err(Refusal::new("a loop over a statement that writes"));
        };
        let types: Vec<Type> = query.columns.iter().map(|column| column.ty).collect();
        let into = self.takers(into, &types)?;
        let any = self.variable("any", Type::Bool, false);
        let cursor = self.mark();
        let at = self.act(at, Action::Assign(any, boolean(false)), span);
        let at = self.act(at, Action::Open(cursor, Arc::new(query.clone())), span);
        let out = self.looping(at, label, body, span, |this, head| {
            let out = this.behind(label)?;
            let drained = this.act(head, Action::Drained(cursor), span);
            this.edge(drained, out, Action::Assume(param(any, Type::Bool), true), span);
            // A query without rows leaves NULLs in the variables of its loop.
            let mut none = this.act(drained, Action::Assume(param(any, Type::Bool), false), span);
            for (variable, _) in &into {
                let null = Expr { kind: ExprKind::Const(Value::Null), ty: this.graph.variables[*variable].ty };
                none = this.act(none, Action::Assign(*variable, null), span);
            }
            this.edge(none, out, Action::Skip, span);
            let at = this.act(head, Action::Fetch(cursor, into), span);
            Ok(this.act(at, Action::Assign(any, boolean(true)), span))
        })?;
        self.after_loop(out, any, span)
    }

    pub(super) fn leave(
        &mut self,
        at: usize,
        label: usize,
        when: Option<&Expr>,
        again: bool,
        span: Span,
    ) -> Result<Option<usize>> {
        let target = self.frame().labels.get(&label).copied();
        let (out, next) = target.ok_or_else(|| Refusal::new("EXIT or CONTINUE of something that is no loop"))?;
        let target = if again { next.ok_or_else(|| Refusal::new("CONTINUE of a block"))? } else { out };
        match when {
            None => {
                self.edge(at, target, Action::Skip, span);
                Ok(None)
            }
            Some(condition) => {
                let (at, condition) = self.expr(at, condition, span)?;
                self.edge(at, target, Action::Assume(condition.clone(), true), span);
                Ok(Some(self.act(at, Action::Assume(condition, false), span)))
            }
        }
    }

    pub(super) fn returned(&mut self, at: usize, value: Option<&Expr>, span: Span) -> Result<Option<usize>> {
        let (exit, result) = (self.frame().exit, self.frame().result);
        let at = match (value, result) {
            (Some(value), Some(result)) => {
                let (at, value) = self.expr(at, value, span)?;
                self.act(at, Action::Assign(result, value), span)
            }
            (Some(value), None) => self.evaluated(at, std::slice::from_ref(value), span)?,
            (None, _) => at,
        };
        self.edge(at, exit, Action::Skip, span);
        Ok(None)
    }
}

pub(super) fn param(variable: usize, ty: Type) -> Expr {
    Expr { kind: ExprKind::Param(variable), ty }
}

fn integer(value: i64) -> Expr {
    Expr { kind: ExprKind::Const(Value::Int(value)), ty: Type::Int4 }
}

fn boolean(value: bool) -> Expr {
    Expr { kind: ExprKind::Const(Value::Bool(value)), ty: Type::Bool }
}

fn comparison(name: &str, a: Expr, b: Expr) -> Result<Expr> {
    let op = builtin::functions().find(|f| f.name == name && f.args == [Type::Unknown, Type::Unknown]);
    let op = op.ok_or_else(|| Refusal::new("a comparison"))?;
    Ok(Expr { kind: ExprKind::Call(op, vec![a, b]), ty: Type::Bool })
}

fn arithmetic(name: &str, a: Expr, b: Expr) -> Result<Expr> {
    let op = builtin::functions().find(|f| f.name == name && f.args == [Type::Int8, Type::Int8]);
    let op = op.ok_or_else(|| Refusal::new("an operator"))?;
    Ok(Expr { kind: ExprKind::Call(op, vec![a, b]), ty: Type::Int8 })
}
