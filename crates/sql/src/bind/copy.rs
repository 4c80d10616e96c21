//! COPY, TRUNCATE and SET CONSTRAINTS: what they mean in terms of tables.

use std::sync::Arc;

use super::{Binder, Result};
use crate::ast::{self, Deferral, ExprKind, InsertSource, Overriding, QueryBody};
use crate::error::{Diagnostic, Span, SqlState};
use crate::typed::{Insert, SetConstraints, Truncate};

impl Binder<'_> {
    /// `COPY ... FROM stdin`: an INSERT of strings, each read as a value of its column's type.
    pub(super) fn copy(&mut self, copy: &ast::Copy) -> Result<Insert> {
        let table = self.table(&copy.table)?;
        let span = copy.table.name.span;
        for name in &copy.columns {
            let at = self.column_of(table, name)?;
            if table.columns[at].generated.is_some() {
                let message = format!("column \"{}\" is a generated column", name.name);
                return Err(Diagnostic::new(name.span, SqlState::INVALID_COLUMN_REFERENCE, message)
                    .detail("Generated columns cannot be used in COPY."));
            }
        }
        let ident = |name: &Arc<str>| ast::Ident { name: name.clone(), span };
        let columns: Vec<ast::Ident> = match copy.columns.is_empty() {
            false => copy.columns.clone(),
            true => table.columns.iter().filter(|c| c.generated.is_none()).map(|c| ident(&c.name)).collect(),
        };
        for row in &copy.rows {
            let bad = |message: String| Err(Diagnostic::new(span, SqlState::BAD_COPY_FORMAT, message));
            if let Some(missing) = columns.get(row.len()) {
                return bad(format!("missing data for column \"{}\"", missing.name));
            }
            if row.len() > columns.len() {
                return bad("extra data after last expected column".into());
            }
        }
        let value = |field: &Option<Arc<str>>| {
            let kind = match field {
                Some(text) => ExprKind::String(text.clone()),
                None => ExprKind::Null,
            };
            ast::Expr { kind, span }
        };
        let mut rows: Vec<Vec<ast::Expr>> = copy.rows.iter().map(|row| row.iter().map(value).collect()).collect();
        if rows.is_empty() {
            // Bound like a row of NULLs, which is then left out.
            rows.push(columns.iter().map(|_| value(&None)).collect());
        }
        let query = ast::Query { body: QueryBody::Values(rows), ..empty_query(span) };
        let insert = ast::Insert {
            with: Vec::new(),
            table: copy.table.clone(),
            alias: None,
            columns,
            overriding: Some(Overriding::System),
            source: InsertSource::Query(Box::new(query)),
            on_conflict: None,
            returning: Vec::new(),
        };
        let mut bound = self.insert(&insert)?;
        if let (true, crate::typed::QueryBody::Values(rows)) = (copy.rows.is_empty(), &mut bound.source.body) {
            rows.clear();
        }
        Ok(Insert { verb: "COPY", ..bound })
    }

    /// `TRUNCATE`
    pub(super) fn truncate(&mut self, truncate: &ast::Truncate) -> Result<Truncate> {
        let mut tables = Vec::new();
        for name in &truncate.tables {
            if self.view(name).is_some() {
                let message = format!("\"{}\" is not a table", name.name.name);
                return Err(Diagnostic::new(name.name.span, SqlState::WRONG_OBJECT_TYPE, message));
            }
            let id = self.table(name)?.id;
            if !tables.contains(&id) {
                tables.push(id);
            }
        }
        let mut notices = Vec::new();
        let mut next = 0;
        while truncate.cascade && next < tables.len() {
            for (child, _) in self.catalog.references_to(tables[next]) {
                if !tables.contains(&child.id) {
                    tables.push(child.id);
                    notices.push(format!("truncate cascades to table \"{}\"", child.name).into());
                }
            }
            next += 1;
        }
        let owned = |s: &&Arc<crate::catalog::Sequence>| s.owner.as_ref().is_some_and(|(t, _)| tables.contains(t));
        let restart = match truncate.restart {
            true => self.catalog.sequences().filter(owned).map(|s| (s.name.clone(), s.start)).collect(),
            false => Vec::new(),
        };
        Ok(Truncate { tables, restart, notices })
    }

    /// `SET CONSTRAINTS`
    pub(super) fn set_constraints(&mut self, set: &ast::SetConstraints) -> Result<SetConstraints> {
        let Some(names) = &set.names else { return Ok(SetConstraints { constraints: None, deferred: set.deferred }) };
        let mut constraints = Vec::new();
        for name in names {
            let wanted = &name.name.name;
            let mut known = false;
            let mut refused = false;
            for table in self.catalog.tables() {
                let keys = table.foreign_keys.iter().map(|k| (&k.name, k.deferral));
                let indexes = table.indexes.iter().filter(|i| i.constraint).map(|i| (&i.name, i.deferral));
                for (_, deferral) in keys.chain(indexes).filter(|(n, _)| *n == wanted) {
                    known = true;
                    refused |= deferral == Deferral::NotDeferrable;
                    constraints.push((table.id, wanted.clone()));
                }
                let triggers = table.triggers.iter().filter(|t| t.constraint && t.name == *wanted);
                for trigger in triggers {
                    known = true;
                    refused |= !trigger.deferrable;
                    constraints.push((table.id, wanted.clone()));
                }
            }
            if !known {
                let message = format!("constraint \"{wanted}\" does not exist");
                return Err(Diagnostic::new(name.name.span, SqlState::UNDEFINED_OBJECT, message));
            }
            if refused {
                let message = format!("constraint \"{wanted}\" is not deferrable");
                return Err(Diagnostic::new(name.name.span, SqlState::WRONG_OBJECT_TYPE, message));
            }
        }
        Ok(SetConstraints { constraints: Some(constraints), deferred: set.deferred })
    }
}

fn empty_query(span: Span) -> ast::Query {
    ast::Query {
        with: Vec::new(),
        body: QueryBody::Values(Vec::new()),
        order_by: Vec::new(),
        limit: None,
        with_ties: false,
        offset: None,
        locking: Vec::new(),
        span,
    }
}
