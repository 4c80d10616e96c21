//! DDL: definitions, ready to be put into the catalog.

use std::sync::Arc;

use super::constraint::{Draft, Names};
use super::hint::did_you_mean;
use super::scope::{Fields, shown_name};
use super::{Binder, Result};
use crate::ast::{self, ColumnConstraintKind as K, DropObject, TypeName};
use crate::builtin;
use crate::catalog::{Column, Index, RoutineId, Sequence, Table, TableConstraintDef};
use crate::error::{Diagnostic, Span, SqlState};
use crate::typed::{Define, Expr, ExprKind};
use crate::types::{CastLevel, Type, TypeKind};
use crate::value::Value;

use super::expr::{constant, text};

impl Binder<'_> {
    /// `CREATE TABLE`
    pub(super) fn create_table(&mut self, create: &ast::CreateTable) -> Result<Define> {
        if self.is_taken(&create.name, create.if_not_exists)? {
            return Ok(Define::Nothing);
        }
        let mut draft = Draft {
            table: Table {
                id: self.catalog.next_table_id(),
                name: create.name.name.name.clone(),
                columns: Vec::new(),
                indexes: Vec::new(),
                checks: Vec::new(),
                foreign_keys: Vec::new(),
                triggers: Vec::new(),
            },
            names: Names::of(self.catalog),
            is_new: true,
        };
        draft.names.take(&draft.table.name.clone());
        let mut sequences = Vec::new();
        for def in &create.columns {
            let column = self.column(def, &mut draft, &mut sequences)?;
            draft.table.columns.push(column);
        }
        self.constraints(create, &mut draft)?;
        let mut table = draft.table;
        table.checks.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Define::Table { table: Box::new(table), sequences })
    }

    /// Whether a relation of this name exists; an error unless that is fine.
    fn is_taken(&self, name: &ast::QualifiedName, fine: bool) -> Result<bool> {
        let (shown, span) = shown_name(name);
        if name.schema.is_some() {
            return Err(Diagnostic::unsupported(span, "a schema other than public"));
        }
        let taken = Names::of(self.catalog).is_relation(&name.name.name);
        if taken && !fine {
            let message = format!("relation \"{shown}\" already exists");
            return Err(Diagnostic::new(span, SqlState::DUPLICATE_TABLE, message));
        }
        Ok(taken)
    }

    fn column(&mut self, def: &ast::ColumnDef, draft: &mut Draft, sequences: &mut Vec<Sequence>) -> Result<Column> {
        let name = def.name.name.clone();
        if draft.table.column(&name).is_some() {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Diagnostic::new(def.name.span, SqlState::DUPLICATE_COLUMN, message));
        }
        let (ty, serial) = match &def.ty {
            TypeName::Serial(2, _) => (Type::Int2, true),
            TypeName::Serial(4, _) => (Type::Int4, true),
            TypeName::Serial(..) => (Type::Int8, true),
            other => (self.type_name(other)?.0, false),
        };
        if matches!(ty, Type::Record | Type::Void) {
            let message = format!("column \"{name}\" has pseudo-type {ty}");
            return Err(Diagnostic::new(def.name.span, SqlState::INVALID_TABLE_DEFINITION, message));
        }
        let mut column = Column {
            name,
            ty,
            not_null: false,
            default: None,
            sequence: None,
            identity_always: false,
            identity: false,
        };
        if let Type::Domain(domain) = ty
            && let TypeKind::Domain { default, not_null, .. } = &domain.def().kind
            && (default.is_some() || *not_null)
        {
            let null = || constant(Value::Null, domain.domain_base());
            let given = default.clone().unwrap_or_else(null);
            column.default = Some(self.for_column(given, &column.name, ty, def.name.span)?);
        }
        let mut owned = serial;
        for constraint in &def.constraints {
            match &constraint.kind {
                K::NotNull => column.not_null = true,
                K::Identity(always) => {
                    column.identity_always = *always;
                    column.identity = true;
                    owned = true;
                }
                K::Default(expr) => column.default = Some(self.column_default(expr, &column.name, ty)?),
                _ => {}
            }
        }
        if owned {
            let sequence = draft.sequence(&column.name, ty);
            column.default = Some(self.next_value(&sequence.name, ty, def.name.span)?);
            column.sequence = Some(sequence.name.clone());
            column.not_null = true;
            sequences.push(sequence);
        }
        Ok(column)
    }

    fn column_default(&mut self, expr: &ast::Expr, name: &str, ty: Type) -> Result<Expr> {
        let bind = |b: &mut Self| b.in_clause("DEFAULT expressions", |b| b.expr(expr));
        let (bound, _) = self.in_level(bind).map_err(|e| match e.state {
            SqlState::UNDEFINED_COLUMN => {
                let message = "cannot use column reference in DEFAULT expression";
                Diagnostic::new(e.span, SqlState::FEATURE_NOT_SUPPORTED, message)
            }
            _ => e,
        })?;
        if bound.subquery().is_some() {
            let message = "cannot use subquery in DEFAULT expression";
            return Err(Diagnostic::new(expr.span, SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let from = bound.ty;
        self.convert(bound, ty, CastLevel::Assignment, expr.span)?.ok_or_else(|| {
            let message =
                format!("column \"{name}\" is of type {ty} but default expression is of type {}", from.base());
            Diagnostic::new(expr.span, SqlState::DATATYPE_MISMATCH, message)
                .hint("You will need to rewrite or cast the expression.")
        })
    }

    /// `nextval('sequence')` as a value of the column's type.
    fn next_value(&self, sequence: &Arc<str>, ty: Type, span: Span) -> Result<Expr> {
        let Some(nextval) = builtin::find("nextval", &[Type::Text]) else {
            return Err(Diagnostic::unsupported(span, "a serial column"));
        };
        let call = Expr { kind: ExprKind::Call(nextval, vec![text(sequence.clone())]), ty: nextval.returns };
        self.explicit(call, ty, span)
    }

    /// `CREATE INDEX`
    pub(super) fn create_index(&mut self, create: &ast::CreateIndex, span: Span) -> Result<Define> {
        let table = self.table(&create.table)?;
        if let Some(filter) = &create.filter {
            return Err(Diagnostic::unsupported(filter.span, "a partial index"));
        }
        let mut columns = Vec::new();
        for key in &create.keys {
            match &key.kind {
                ast::ExprKind::Name(path) if path.len() == 1 => {
                    let column = table.column(&path[0].name).ok_or_else(|| {
                        let message = format!("column \"{}\" does not exist", path[0].name);
                        let mut error = Diagnostic::new(key.span, SqlState::UNDEFINED_COLUMN, message);
                        error.hint = did_you_mean(&path[0].name, table.columns.iter().map(|c| &*c.name));
                        error
                    })?;
                    columns.push(column);
                }
                _ => return Err(Diagnostic::unsupported(key.span, "an index over expressions")),
            }
        }
        let mut names = Names::of(self.catalog);
        let name = match &create.name {
            Some(name) if names.is_relation(&name.name) && create.if_not_exists => return Ok(Define::Nothing),
            Some(name) if names.is_relation(&name.name) => {
                let message = format!("relation \"{}\" already exists", name.name);
                return Err(Diagnostic::new(name.span, SqlState::DUPLICATE_TABLE, message));
            }
            Some(name) => name.name.clone(),
            None => {
                let shown: Vec<&str> = columns.iter().map(|c| &*table.columns[*c].name).collect();
                names.choose(&table.name, &shown, "idx")
            }
        };
        let _ = span;
        let index = Index { name, columns, unique: create.unique, primary: false };
        Ok(Define::Index { table: table.id, index: Box::new(index) })
    }

    /// `CREATE SEQUENCE`
    pub(super) fn create_sequence(&mut self, create: &ast::CreateSequence) -> Result<Define> {
        self.is_taken(&create.name, false)?;
        let increment = create.increment.unwrap_or(1);
        if increment == 0 {
            let message = "INCREMENT must not be zero";
            return Err(Diagnostic::new(create.name.name.span, SqlState::INVALID_PARAMETER_VALUE, message));
        }
        let start = create.start.unwrap_or(if increment < 0 { -1 } else { 1 });
        let max = if increment < 0 { -1 } else { i64::MAX };
        Ok(Define::Sequence(Sequence { name: create.name.name.name.clone(), start, increment, max }))
    }

    /// `ALTER TABLE ... ADD CONSTRAINT`
    pub(super) fn add_constraint(
        &mut self,
        name: &ast::QualifiedName,
        constraint: &ast::TableConstraint,
    ) -> Result<Define> {
        let table = self.table(name)?;
        let (indexes, checks, keys) = (table.indexes.len(), table.checks.len(), table.foreign_keys.len());
        let mut draft = Draft { table: (**table).clone(), names: Names::of(self.catalog), is_new: false };
        self.constraint(constraint, &mut draft)?;
        let changed = draft.table;
        let index = changed.indexes.into_iter().nth(indexes).map(TableConstraintDef::Index);
        let check = changed.checks.into_iter().nth(checks).map(TableConstraintDef::Check);
        let key = changed.foreign_keys.into_iter().nth(keys).map(TableConstraintDef::ForeignKey);
        Ok(match index.or(check).or(key) {
            Some(constraint) => Define::Constraint { table: table.id, constraint: Box::new(constraint) },
            None => Define::Nothing,
        })
    }

    /// `DROP ...`
    pub(super) fn drop(&mut self, drop: &ast::Drop, span: Span) -> Result<Define> {
        match drop.object {
            DropObject::Table => self.drop_tables(drop),
            DropObject::Index => self.drop_index(drop, span),
            DropObject::Sequence => {
                let known = |b: &Self, name: &str| b.catalog.sequence(name).is_some();
                let error = SqlState::UNDEFINED_TABLE;
                let names = self.existing(drop, known, |n| format!("sequence \"{n}\" does not exist"), error)?;
                Ok(if names.is_empty() { Define::Nothing } else { Define::DropSequence(names) })
            }
            DropObject::Routine => self.drop_routines(drop),
            DropObject::Type | DropObject::Domain => self.drop_types(drop),
        }
    }

    /// The names that exist; an error for the others unless IF EXISTS.
    fn existing(
        &self,
        drop: &ast::Drop,
        known: impl Fn(&Self, &str) -> bool,
        message: impl Fn(&str) -> String,
        state: SqlState,
    ) -> Result<Vec<Arc<str>>> {
        let mut names = Vec::new();
        for name in &drop.names {
            let (shown, span) = shown_name(name);
            if name.schema.is_none() && known(self, &name.name.name) {
                names.push(name.name.name.clone());
            } else if !drop.if_exists {
                return Err(Diagnostic::new(span, state, message(&shown)));
            }
        }
        Ok(names)
    }

    fn drop_tables(&self, drop: &ast::Drop) -> Result<Define> {
        let known = |b: &Self, name: &str| b.catalog.table_by_name(name).is_some();
        let missing = |n: &str| format!("table \"{n}\" does not exist");
        let names = self.existing(drop, known, missing, SqlState::UNDEFINED_TABLE)?;
        let tables: Vec<_> = names.iter().filter_map(|n| self.catalog.table_by_name(n)).map(|t| t.id).collect();
        for &id in &tables {
            let holder = self.catalog.references_to(id).find(|(child, _)| !tables.contains(&child.id));
            if let (Some((child, fk)), false) = (holder, drop.cascade) {
                let name = &self.catalog.table(id).name;
                let message = format!("cannot drop table {name} because other objects depend on it");
                let span = drop.names.first().map_or(Span::default(), |n| n.name.span);
                let key = &child.foreign_keys[fk].name;
                return Err(Diagnostic::new(span, SqlState(*b"2BP01"), message).hint(format!(
                    "constraint {key} on table {} depends on it; use DROP ... CASCADE to drop that too",
                    child.name
                )));
            }
        }
        Ok(if tables.is_empty() { Define::Nothing } else { Define::DropTable(tables) })
    }

    fn drop_index(&self, drop: &ast::Drop, span: Span) -> Result<Define> {
        let find = |name: &str| self.catalog.tables().find(|t| t.indexes.iter().any(|i| &*i.name == name));
        let missing = |n: &str| format!("index \"{n}\" does not exist");
        let names = self.existing(drop, |_, name| find(name).is_some(), missing, SqlState::UNDEFINED_OBJECT)?;
        match &names[..] {
            [] => Ok(Define::Nothing),
            [name] => match find(name) {
                Some(table) => Ok(Define::DropIndex(table.id, name.clone())),
                None => Ok(Define::Nothing),
            },
            _ => Err(Diagnostic::unsupported(span, "DROP INDEX of several indexes")),
        }
    }

    fn drop_routines(&self, drop: &ast::Drop) -> Result<Define> {
        let known = |b: &Self, name: &str| b.catalog.routines_by_name(name).next().is_some();
        let missing = |n: &str| format!("could not find a function named \"{n}\"");
        let names = self.existing(drop, known, missing, SqlState::UNDEFINED_FUNCTION)?;
        let mut ids = Vec::new();
        for name in &names {
            let mut found = self.catalog.routines_by_name(name);
            ids.extend(found.next().map(|(id, _)| id));
            if found.next().is_some() {
                let message = format!("function name \"{name}\" is not unique");
                let span = drop.names.first().map_or(Span::default(), |n| n.name.span);
                return Err(Diagnostic::new(span, SqlState::AMBIGUOUS_FUNCTION, message)
                    .hint("Specify the argument list to select the function unambiguously."));
            }
        }
        for &id in ids.iter().filter(|_| !drop.cascade) {
            self.refuse_in_use(id, drop)?;
        }
        Ok(if ids.is_empty() { Define::Nothing } else { Define::DropRoutine(ids) })
    }

    /// The function of a trigger cannot go before it.
    fn refuse_in_use(&self, id: RoutineId, drop: &ast::Drop) -> Result<()> {
        let used = |t: &&Arc<Table>| t.triggers.iter().any(|trigger| trigger.function == id);
        let Some(table) = self.catalog.tables().find(used) else { return Ok(()) };
        let def = self.catalog.routine(id);
        let types: Vec<String> = def.input_types().map(|ty| ty.to_string()).collect();
        let message =
            format!("cannot drop function {}({}) because other objects depend on it", def.name, types.join(","));
        let span = drop.names.first().map_or(Span::default(), |n| n.name.span);
        Err(Diagnostic::new(span, SqlState(*b"2BP01"), message)
            .hint(format!("a trigger on table {} depends on it; use DROP ... CASCADE to drop that too", table.name)))
    }

    /// A type as written; rows come with their fields.
    pub(super) fn type_name(&self, ty: &TypeName) -> Result<(Type, Option<Fields>)> {
        match ty {
            TypeName::Known(ty, _) => Ok((*ty, None)),
            TypeName::Serial(bytes, span) => {
                let name = match bytes {
                    2 => "smallserial",
                    4 => "serial",
                    _ => "bigserial",
                };
                Err(no_type(name, *span))
            }
            TypeName::Named(name) => {
                let (shown, span) = shown_name(name);
                if let Some(ty) = self.catalog.user_type(&name.name.name).filter(|_| name.schema.is_none()) {
                    return Ok((ty.ty(), Some(ty.fields().into()).filter(|_| matches!(ty.ty(), Type::Composite(_)))));
                }
                match self.catalog.table_by_name(&name.name.name).filter(|_| name.schema.is_none()) {
                    Some(table) => Ok((Type::Record, Some(row_fields(table)))),
                    None => Err(no_type(&shown, span)),
                }
            }
            TypeName::Array(element, _) => Ok((self.type_name(element)?.0.array(), None)),
            TypeName::Reference { path, row, span } => self.type_reference(path, *row, *span),
        }
    }

    /// `table%ROWTYPE`, `table.column%TYPE`, `variable%TYPE`
    fn type_reference(&self, path: &[ast::Ident], row: bool, span: Span) -> Result<(Type, Option<Fields>)> {
        let path = if path.len() > 1 && &*path[0].name == "public" { &path[1..] } else { path };
        if !row && let Some(variable) = self.frame.lookup(path) {
            let expr = self.variable(variable)?;
            return Ok((expr.ty, self.fields_of(&expr)));
        }
        match (path, row) {
            ([table], true) => {
                let table = self.table(&ast::QualifiedName { schema: None, name: table.clone() })?;
                Ok((Type::Record, Some(row_fields(table))))
            }
            ([table, column], false) => {
                let table = self.table(&ast::QualifiedName { schema: None, name: table.clone() })?;
                let column = self.column_of(table, column)?;
                Ok((table.columns[column].ty, None))
            }
            _ => {
                let shown = path.iter().map(|i| &*i.name).collect::<Vec<_>>().join(".");
                Err(Diagnostic::syntax(span, format!("invalid type name \"{shown}%TYPE\"")))
            }
        }
    }
}

/// A table's row as fields.
pub(super) fn row_fields(table: &Table) -> Fields {
    table.columns.iter().map(|c| (c.name.clone(), c.ty)).collect()
}

fn no_type(name: &str, span: Span) -> Diagnostic {
    Diagnostic::new(span, SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
}
