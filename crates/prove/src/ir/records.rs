//! Which fields the row variables of a routine have.
//!
//! A `record` takes the shape of what it is given. One that is given the same shape everywhere is as good as a
//! `%ROWTYPE`, and is taken apart into one variable per field; one that changes its shape is refused.

use std::collections::BTreeMap;
use std::sync::Arc;

use isolde_sql::Type;
use isolde_sql::catalog::Fields;
use isolde_sql::typed::{OutputColumn, Place, Routine, Statement, StatementKind, Stmt, StmtKind};

use crate::logic::{Refusal, Result};

/// The fields of each variable that is a row.
pub(super) fn fields(routine: &Routine) -> Result<BTreeMap<usize, Fields>> {
    let declared = routine.variables.iter().enumerate().filter_map(|(slot, v)| Some((slot, v.fields.clone()?)));
    let mut shapes = Shapes { known: declared.collect(), routine };
    shapes.block(&routine.body)?;
    Ok(shapes.known)
}

struct Shapes<'r> {
    known: BTreeMap<usize, Fields>,
    routine: &'r Routine,
}

impl Shapes<'_> {
    fn block(&mut self, body: &[Stmt]) -> Result<()> {
        body.iter().try_for_each(|stmt| self.stmt(stmt).map_err(|refusal| refusal.at(stmt.span)))
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<()> {
        match &stmt.kind {
            StmtKind::Shape(slot, fields) => self.set(*slot, fields.clone()),
            StmtKind::ShapeOf(slot, other) => match self.known.get(other).cloned() {
                Some(fields) => self.set(*slot, fields),
                None => Ok(()),
            },
            StmtKind::Sql { statement, into: Some(into) } => self.into(&into.places, statement),
            StmtKind::ForQuery { into, query, body, .. } => {
                self.into(into, query)?;
                self.block(body)
            }
            StmtKind::ForCursor { into, open, body, .. } => {
                if let isolde_sql::typed::OpenSource::Query(query) = &open.source {
                    self.into(into, query)?;
                }
                self.block(body)
            }
            StmtKind::Try { body, handlers, .. } => {
                self.block(body)?;
                handlers.iter().try_for_each(|handler| self.block(&handler.body))
            }
            StmtKind::If { branches, otherwise } => {
                branches.iter().try_for_each(|(_, body)| self.block(body))?;
                self.block(otherwise)
            }
            StmtKind::Loop { body, .. }
            | StmtKind::While { body, .. }
            | StmtKind::ForRange { body, .. }
            | StmtKind::ForExecute { body, .. }
            | StmtKind::Foreach { body, .. }
            | StmtKind::Labelled { body, .. } => self.block(body),
            _ => Ok(()),
        }
    }

    fn into(&mut self, places: &[Place], statement: &Statement) -> Result<()> {
        match places {
            [Place { slot, field: None, ty: Type::Record }]
                if !self.known.contains_key(slot) || self.is_record(*slot) =>
            {
                let fields = columns(statement).iter().map(|column| (column.name.clone(), column.ty)).collect();
                self.set(*slot, fields)
            }
            _ => Ok(()),
        }
    }

    /// It is a `record`, not a `%ROWTYPE`.
    fn is_record(&self, slot: usize) -> bool {
        self.routine.variables.get(slot).is_some_and(|variable| variable.fields.is_none())
    }

    fn set(&mut self, slot: usize, fields: Fields) -> Result<()> {
        match self.known.get(&slot) {
            Some(known) if *known != fields => {
                let name: &Arc<str> = &self.routine.variables[slot].name;
                Err(Refusal::new(format!("the record {name}, which is given rows of different shapes")))
            }
            _ => {
                self.known.insert(slot, fields);
                Ok(())
            }
        }
    }
}

/// The columns that a statement gives.
pub(super) fn columns(statement: &Statement) -> &[OutputColumn] {
    match &statement.kind {
        StatementKind::Query(query) => &query.columns,
        StatementKind::Insert(insert) => insert.returning.as_ref().map_or(&[], |r| &r.columns),
        StatementKind::Update(update) => update.returning.as_ref().map_or(&[], |r| &r.columns),
        StatementKind::Delete(delete) => delete.returning.as_ref().map_or(&[], |r| &r.columns),
        _ => &[],
    }
}
