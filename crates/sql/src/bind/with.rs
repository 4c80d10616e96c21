//! WITH: queries bound once, where they are written, and named where they are used.
//!
//! A WITH query stands one level inside of the query it belongs to, so that it can name its siblings as any other query
//! inside can; but it sees nothing of FROM. With RECURSIVE it may name itself: then it must be
//! `first UNION [ALL] step`, and within `step` its name means what the last round has found.

use std::sync::Arc;

use super::coerce::common_type;
use super::from::rename;
use super::scope::{WithQuery, WithState};
use super::text::one_line;
use super::{Binder, Result};
use crate::ast::{self, Cte, CteBody, SetOperator};
use crate::error::{Diagnostic, Span, SqlState};
use crate::typed::{
    OutputColumn, Query, QueryBody, Rel, RelSource, Returning, Select, Statement, StatementKind, With, WithBody,
};
use crate::types::Type;

const INVALID_RECURSION: SqlState = SqlState(*b"42P19");

impl Binder<'_> {
    /// Makes WITH queries known, each to those after it; returns how many there were before, and what they are.
    pub(super) fn push_with(&mut self, ctes: &[Cte]) -> Result<(usize, Vec<With>)> {
        let before = self.with.len();
        let mut bound = Vec::new();
        for (index, cte) in ctes.iter().enumerate() {
            if ctes[..index].iter().any(|other| other.name.name == cte.name.name) {
                let message = format!("WITH query name \"{}\" specified more than once", cte.name.name);
                return Err(Diagnostic::new(cte.name.span, SqlState::DUPLICATE_ALIAS, message));
            }
            let (mut columns, body) = self.with_body(cte, index)?;
            if let Some(columns) = &mut columns {
                name_columns(columns, cte)?;
            }
            let name = cte.name.name.clone();
            let level = self.levels.len();
            self.with.push(WithQuery { name: name.clone(), level, index, columns, state: WithState::Known });
            bound.push(With { name, body });
        }
        Ok((before, bound))
    }

    /// Runs `bind` one level inside, where nothing of FROM is seen.
    pub(super) fn inside<T>(&mut self, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let (result, _) = self.in_level(|b| {
            b.level().closed = true;
            bind(b)
        })?;
        Ok(result)
    }

    fn with_body(&mut self, cte: &Cte, index: usize) -> Result<(Option<Vec<OutputColumn>>, WithBody)> {
        match &cte.body {
            CteBody::Query(query) if cte.recursive => self.recursive(cte, query, index),
            CteBody::Query(query) => {
                let query = self.inside(|b| b.query(query))?;
                Ok((Some(query.columns.clone()), WithBody::Query(Box::new(query))))
            }
            _ if !self.levels.is_empty() => {
                let message = "WITH clause containing a data-modifying statement must be at the top level";
                Err(Diagnostic::new(cte.name.span, SqlState::FEATURE_NOT_SUPPORTED, message))
            }
            CteBody::Insert(insert) => {
                let insert = self.inside(|b| b.insert(insert))?;
                let columns = returned(insert.returning.as_ref());
                Ok((columns, modify(StatementKind::Insert(insert), cte)))
            }
            CteBody::Update(update) => {
                let update = self.inside(|b| b.update(update))?;
                let columns = returned(update.returning.as_ref());
                Ok((columns, modify(StatementKind::Update(update), cte)))
            }
            CteBody::Delete(delete) => {
                let delete = self.inside(|b| b.delete(delete))?;
                let columns = returned(delete.returning.as_ref());
                Ok((columns, modify(StatementKind::Delete(delete), cte)))
            }
        }
    }

    /// A query of WITH RECURSIVE: `first UNION [ALL] step`, or one that does not name itself after all.
    fn recursive(
        &mut self,
        cte: &Cte,
        query: &ast::Query,
        index: usize,
    ) -> Result<(Option<Vec<OutputColumn>>, WithBody)> {
        let before = self.with.len();
        let union = match &query.body {
            ast::QueryBody::SetOperation { op: SetOperator::Union, all, left, right } if query.with.is_empty() => {
                Some((*all, left, right))
            }
            _ => None,
        };
        let state = WithState::Unfit(match union {
            Some(_) => "recursive reference to query \"_\" must not appear within its non-recursive term",
            None => "recursive query \"_\" does not have the form non-recursive-term UNION [ALL] recursive-term",
        });
        let (name, level) = (cte.name.name.clone(), self.levels.len());
        self.with.push(WithQuery { name, level, index, columns: Some(Vec::new()), state });
        let bound = match union {
            Some((all, left, right)) => self.recursive_union(cte, query, all, left, right),
            None => Ok(None),
        };
        if let Some(with) = self.with.get_mut(before)
            && bound.is_ok()
        {
            with.state = state;
        }
        let result = match bound {
            Ok(Some(recursive)) => Ok(recursive),
            Ok(None) => {
                self.inside(|b| b.query(query)).map(|q| (Some(q.columns.clone()), WithBody::Query(Box::new(q))))
            }
            Err(error) => Err(error),
        };
        self.with.truncate(before);
        result
    }

    /// `first UNION [ALL] step`; `None` if `step` does not name the query.
    fn recursive_union(
        &mut self,
        cte: &Cte,
        query: &ast::Query,
        all: bool,
        left: &ast::Query,
        right: &ast::Query,
    ) -> Result<Option<(Option<Vec<OutputColumn>>, WithBody)>> {
        let at = self.with.len() - 1;
        let name = &cte.name.name;
        let first = self.inside(|b| b.query(left))?;
        let mut columns = first.columns.clone();
        name_columns(&mut columns, cte)?;
        self.with[at].columns = Some(columns.clone());
        self.with[at].state = WithState::Working { named: false };
        let step = self.inside(|b| b.query_open(right));
        if self.with[at].state == (WithState::Working { named: false }) {
            return Ok(None);
        }
        let mut step = step?;
        let refuse = |span: Span, state: SqlState, message: String| Err(Diagnostic::new(span, state, message));
        let tail = [
            (!query.order_by.is_empty(), "ORDER BY"),
            (query.offset.is_some(), "OFFSET"),
            (query.limit.is_some(), "LIMIT"),
            (!query.locking.is_empty(), "FOR UPDATE/SHARE"),
        ];
        if let Some((_, what)) = tail.iter().find(|(there, _)| *there) {
            let message = format!("{what} in a recursive query is not implemented");
            return refuse(query.span, SqlState::FEATURE_NOT_SUPPORTED, message);
        }
        if columns.len() != step.columns.len() {
            let message = "each UNION query must have the same number of columns";
            return Err(Diagnostic::syntax(right.span, message));
        }
        for (i, column) in columns.iter().enumerate() {
            let (from, to) = (step.columns[i].ty, column.ty);
            let overall = common_type(&[to, from]).unwrap_or(to);
            if overall.base() != to.base() {
                let message = format!(
                    "recursive query \"{name}\" column {} has type {to} in non-recursive term but type {overall} overall",
                    i + 1
                );
                return refuse(left.span, SqlState::DATATYPE_MISMATCH, message);
            }
            self.convert_column(&mut step, i, to, right.span)?;
        }
        self.check_recursion(&step, name, right.span)?;
        Ok(Some((
            Some(first.columns.clone()),
            WithBody::Recursive { first: Box::new(first), step: Box::new(step), all },
        )))
    }

    /// Where a recursive reference must not stand.
    fn check_recursion(&self, step: &Query, name: &str, span: Span) -> Result<()> {
        let refuse = |what: &str| {
            let message = format!("recursive reference to query \"{name}\" must not appear {what}");
            Err(Diagnostic::new(span, INVALID_RECURSION, message))
        };
        if count_working(step) > 1 {
            return refuse("more than once");
        }
        let QueryBody::Select(select) = &step.body else { return Ok(()) };
        if select.grouping.is_some() && select.rels.iter().any(|r| matches!(r.source, RelSource::Working { .. })) {
            let message = "aggregate functions are not allowed in a recursive query's recursive term";
            return Err(Diagnostic::new(span, INVALID_RECURSION, message));
        }
        let mut subquery = false;
        step.exprs(&mut |e| {
            e.walk(0, &mut |e, _| subquery |= e.subquery().is_some_and(|q| count_working(q) > 0));
        });
        if subquery {
            return refuse("within a subquery");
        }
        if let Some(from) = &select.from
            && let Some(nullable) = nullable_working(from, select, false)
            && nullable
        {
            return refuse("within an outer join");
        }
        Ok(())
    }

    /// A WITH query as a relation.
    pub(super) fn with_rel(&mut self, at: usize, span: Span) -> Result<Rel> {
        let here = self.levels.len() - 1;
        let with = &mut self.with[at];
        let depth = (here - with.level) as u16;
        let index = with.index;
        let source = match &mut with.state {
            WithState::Known => RelSource::With { depth, index },
            WithState::Working { named } => {
                *named = true;
                RelSource::Working { depth, index }
            }
            WithState::Unfit(message) => {
                let message = message.replace('_', &with.name);
                return Err(Diagnostic::new(span, INVALID_RECURSION, message));
            }
        };
        let Some(columns) = &with.columns else {
            let message = format!("WITH query \"{}\" does not have a RETURNING clause", with.name);
            return Err(Diagnostic::new(span, SqlState::FEATURE_NOT_SUPPORTED, message));
        };
        let columns = columns.iter().map(|c| (c.name.clone(), c.ty)).collect();
        Ok(Rel { alias: "".into(), source, columns })
    }

    /// What a column of a WITH query shows unchanged.
    pub(super) fn with_origin(&self, depth: u16, index: usize, col: usize) -> Option<(crate::catalog::TableId, usize)> {
        let level = (self.levels.len() - 1).checked_sub(depth.into())?;
        let with = self.with.iter().rev().find(|w| w.level == level && w.index == index)?;
        with.columns.as_ref()?.get(col)?.origin
    }
}

fn returned(returning: Option<&Returning>) -> Option<Vec<OutputColumn>> {
    returning.map(|r| r.columns.clone())
}

fn modify(kind: StatementKind, cte: &Cte) -> WithBody {
    let text = match &cte.body {
        CteBody::Insert(insert) => insert.to_string(),
        CteBody::Update(update) => update.to_string(),
        CteBody::Delete(delete) => delete.to_string(),
        CteBody::Query(query) => query.to_string(),
    };
    WithBody::Modify(Box::new(Statement { kind, text: one_line(&text), span: cte.name.span }))
}

fn name_columns(columns: &mut [OutputColumn], cte: &Cte) -> Result<()> {
    let mut named: Vec<(Arc<str>, Type)> = columns.iter().map(|c| (c.name.clone(), c.ty)).collect();
    if cte.columns.len() > columns.len() {
        let (has, given) = (columns.len(), cte.columns.len());
        let message =
            format!("WITH query \"{}\" has {has} columns available but {given} columns specified", cte.name.name);
        return Err(Diagnostic::new(cte.name.span, SqlState::INVALID_COLUMN_REFERENCE, message));
    }
    rename(&mut named, &cte.columns, &cte.name.name, cte.name.span)?;
    columns.iter_mut().zip(named).for_each(|(column, (name, _))| column.name = name);
    Ok(())
}

/// How often a query names what the last round found.
fn count_working(query: &Query) -> usize {
    let mut count = 0;
    if let QueryBody::Select(select) = &query.body {
        count += select.rels.iter().filter(|r| matches!(r.source, RelSource::Working { .. })).count();
    }
    query.queries(&mut |q| count += count_working(q));
    query.exprs(&mut |e| {
        e.walk(0, &mut |e, _| {
            if let Some(query) = e.subquery() {
                count += count_own(query);
            }
        });
    });
    count
}

fn count_own(query: &Query) -> usize {
    let mut count = 0;
    if let QueryBody::Select(select) = &query.body {
        count += select.rels.iter().filter(|r| matches!(r.source, RelSource::Working { .. })).count();
    }
    query.queries(&mut |q| count += count_own(q));
    count
}

/// Whether the working table stands on the side of an outer join that may be missing; `None` if it is not there.
fn nullable_working(from: &crate::typed::From, select: &Select, nullable: bool) -> Option<bool> {
    use crate::ast::JoinKind;
    use crate::typed::From;
    match from {
        From::Rel(rel) => matches!(select.rels[*rel].source, RelSource::Working { .. }).then_some(nullable),
        From::Join { kind, left, right, .. } => {
            let left_null = nullable || matches!(kind, JoinKind::Right | JoinKind::Full);
            let right_null = nullable || matches!(kind, JoinKind::Left | JoinKind::Full);
            nullable_working(left, select, left_null).or_else(|| nullable_working(right, select, right_null))
        }
    }
}
