//! CREATE TABLE, and types by their names.

use std::sync::Arc;

use super::constraint::{Draft, Names};
use super::scope::{Fields, shown_name};
use super::{Binder, Result};
use crate::ast::{self, ColumnConstraintKind as K, TypeName};
use crate::builtin;
use crate::catalog::{Column, Generated, Identity, Index, Sequence, Table, key, names};
use crate::error::{Diagnostic, Span, SqlState};
use crate::refused::Construct;
use crate::typed::{Change, Define, Edit, Expr, ExprKind};
use crate::types::{CastLevel, Type, TypeKind};
use crate::value::Value;

use super::expr::{constant, text};

/// `schema "x" does not exist`
pub(super) const INVALID_SCHEMA: SqlState = SqlState(*b"3F000");

impl Binder<'_> {
    /// `CREATE TABLE`
    pub(super) fn create_table(&mut self, create: &ast::CreateTable) -> Result<Define> {
        let schema = self.target_schema(&create.name)?;
        if let Some(skipped) = self.is_taken(&create.name, create.if_not_exists, "CREATE TABLE")? {
            return Ok(skipped);
        }
        let mut draft = self.draft(schema, create.name.name.name.clone());
        let mut edits = Vec::new();
        let mut likes = create.likes.iter().peekable();
        for (at, def) in create.columns.iter().map(Some).chain([None]).enumerate() {
            while let Some((_, like)) = likes.next_if(|(before, _)| *before <= at) {
                self.like(like, &mut draft, &mut edits)?;
            }
            if let Some(def) = def {
                let column = self.column(def, &mut draft, &mut edits)?;
                draft.table.columns.push(column);
            }
        }
        create.columns.iter().try_for_each(|def| self.generated_column(def, &mut draft.table))?;
        self.refuse_generated_of_generated(&create.columns, &draft.table)?;
        self.constraints(&create.columns, &create.constraints, &mut draft)?;
        for (_, like) in create.likes.iter().filter(|(_, like)| like.indexes) {
            self.like_indexes(like, &mut draft)?;
        }
        let mut table = draft.table;
        table.checks.sort_by(|a, b| a.name.cmp(&b.name));
        edits.push(Edit::AddTable(Box::new(table)));
        Ok(Define::Change(Arc::new(Change::new("CREATE TABLE", edits))))
    }

    /// A new table without anything.
    pub(super) fn draft(&self, schema: Option<Arc<str>>, name: Arc<str>) -> Draft {
        let mut names = Names::of(self.catalog, schema.as_deref());
        names.take(&name);
        let table = Table {
            id: self.catalog.next_table_id(),
            schema,
            name,
            columns: Vec::new(),
            indexes: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            triggers: Vec::new(),
            materialized: None,
            of_view: false,
        };
        Draft { table, names, is_new: true }
    }

    /// The schema of something new; `None` is `public`.
    pub(super) fn target_schema(&self, name: &ast::QualifiedName) -> Result<Option<Arc<str>>> {
        match name.qualifier() {
            None => Ok(self.catalog.creation_schema()),
            Some(schema) => self.existing_schema(schema),
        }
    }

    /// A schema that exists, by its name.
    pub(super) fn existing_schema(&self, schema: &ast::Ident) -> Result<Option<Arc<str>>> {
        match &*schema.name {
            "public" | "pg_temp" => Ok(None),
            name if self.catalog.has_schema(name) => Ok(Some(schema.name.clone())),
            name => {
                let message = format!("schema \"{name}\" does not exist");
                Err(Diagnostic::new(schema.span, INVALID_SCHEMA, message))
            }
        }
    }

    /// Whether a relation of this name exists: then an error, or nothing to do if that is fine.
    pub(super) fn is_taken(&self, name: &ast::QualifiedName, fine: bool, tag: &'static str) -> Result<Option<Define>> {
        let schema = self.target_schema(name)?;
        let name = &name.name;
        if !self.catalog.is_relation(&key(schema.as_deref(), &name.name)) {
            return Ok(None);
        }
        if fine {
            let notice = format!("relation \"{}\" already exists, skipping", name.name);
            return Ok(Some(Define::Change(Arc::new(Change::nothing(tag, vec![notice.into()])))));
        }
        let message = format!("relation \"{}\" already exists", name.name);
        Err(Diagnostic::new(name.span, SqlState::DUPLICATE_TABLE, message))
    }

    /// A column; what its sequence needs is added to `edits`.
    pub(super) fn column(&mut self, def: &ast::ColumnDef, draft: &mut Draft, edits: &mut Vec<Edit>) -> Result<Column> {
        let name = def.name.name.clone();
        if draft.table.column(&name).is_some() {
            let message = match draft.is_new {
                true => format!("column \"{name}\" specified more than once"),
                false => format!("column \"{name}\" of relation \"{}\" already exists", draft.table.name),
            };
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
        let mut column =
            Column { name, ty, not_null: false, default: None, sequence: None, identity: None, generated: None };
        if let Type::Domain(domain) = ty
            && let TypeKind::Domain { default, not_null, .. } = &domain.def().kind
            && (default.is_some() || *not_null)
        {
            let null = || constant(Value::Null, domain.domain_base());
            let given = default.clone().unwrap_or_else(null);
            column.default = Some(self.for_column(given, &column.name, ty, def.name.span)?);
        }
        let mut sequence = serial.then(|| draft.sequence(&column.name, ty));
        for constraint in &def.constraints {
            let twice = |what: &str| {
                let (name, table) = (&column.name, &draft.table.name);
                let message = format!("{what} for column \"{name}\" of table \"{table}\"");
                Err(Diagnostic::syntax(constraint.span, message))
            };
            match &constraint.kind {
                K::NotNull => column.not_null = true,
                K::Identity(_) if column.identity.is_some() => return twice("multiple identity specifications"),
                K::Identity(_) | K::Default(_) if column.default.is_some() && column.identity.is_none() => {
                    return twice(match &constraint.kind {
                        K::Identity(_) => "both default and identity specified",
                        _ => "multiple default values specified",
                    });
                }
                K::Default(_) if column.identity.is_some() => return twice("both default and identity specified"),
                K::Identity(identity) => {
                    self.identity_type(&column, constraint.span)?;
                    let named = draft.sequence(&column.name, ty);
                    sequence = Some(self.sequence_with(named, &identity.options, draft.table.schema.as_deref())?);
                    column.identity = Some(if identity.always { Identity::Always } else { Identity::ByDefault });
                }
                K::Default(expr) => column.default = Some(self.column_default(expr, &column.name, ty)?),
                _ => {}
            }
        }
        if let Some(mut sequence) = sequence {
            sequence.owner = Some((draft.table.id, column.name.clone()));
            column.default = Some(self.next_value(&sequence.name, ty, def.name.span)?);
            column.sequence = Some(sequence.name.clone());
            column.not_null = true;
            edits.push(Edit::Sequence(sequence));
        }
        Ok(column)
    }

    /// Only integers can be identity columns.
    pub(super) fn identity_type(&self, column: &Column, span: Span) -> Result<()> {
        match column.ty {
            Type::Int2 | Type::Int4 | Type::Int8 => Ok(()),
            _ => {
                let message = "identity column type must be smallint, integer, or bigint";
                Err(Diagnostic::new(span, SqlState::INVALID_PARAMETER_VALUE, message))
            }
        }
    }

    /// The expression of a generated column, once all columns are known.
    pub(super) fn generated_column(&mut self, def: &ast::ColumnDef, table: &mut Table) -> Result<()> {
        let generated = def.constraints.iter().find_map(|c| match &c.kind {
            K::Generated(expr) => Some((expr, c.span)),
            _ => None,
        });
        let Some((source, span)) = generated else { return Ok(()) };
        let Some(at) = table.column(&def.name.name) else { return Ok(()) };
        if table.columns[at].default.is_some() {
            let what = if table.columns[at].identity.is_some() { "identity" } else { "default" };
            let message = format!(
                "both {what} and generation expression specified for column \"{}\" of table \"{}\"",
                def.name.name, table.name
            );
            return Err(Diagnostic::syntax(span, message));
        }
        let expr = self.generation(source, table, at)?;
        table.columns[at].generated = Some(Generated { expr, source: Arc::new(source.clone()) });
        Ok(())
    }

    /// The value of a generated column from the others.
    pub(super) fn generation(&mut self, source: &ast::Expr, table: &Table, at: usize) -> Result<Expr> {
        let bound =
            self.over_row(table, source.span, |b| b.in_clause("column generation expressions", |b| b.expr(source)))?;
        let fail = |state, message: String| Err(Diagnostic::new(source.span, state, message));
        let (mut used, mut subquery, mut mutable) = (Vec::new(), false, false);
        bound.walk(0, &mut |e, _| {
            subquery |= e.subquery().is_some();
            mutable |= is_mutable(e);
            if let ExprKind::Column { col, .. } = e.kind {
                used.push(col as usize);
            }
        });
        if subquery {
            let message = "cannot use subquery in column generation expression".into();
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message);
        }
        if let Some(other) = used.iter().find(|&&c| c == at || table.columns[c].generated.is_some()) {
            let name = &table.columns[*other].name;
            let message = format!("cannot use generated column \"{name}\" in column generation expression");
            return fail(SqlState(*b"42P17"), message);
        }
        if mutable {
            return fail(SqlState(*b"42P17"), "generation expression is not immutable".into());
        }
        let (ty, name, from) = (table.columns[at].ty, &table.columns[at].name, bound.ty);
        self.convert(bound, ty, CastLevel::Assignment, source.span)?.ok_or_else(|| {
            let message =
                format!("column \"{name}\" is of type {ty} but default expression is of type {}", from.base());
            Diagnostic::new(source.span, SqlState::DATATYPE_MISMATCH, message)
                .hint("You will need to rewrite or cast the expression.")
        })
    }

    /// Generated columns may stand in any order, but not on each other.
    fn refuse_generated_of_generated(&self, defs: &[ast::ColumnDef], table: &Table) -> Result<()> {
        for column in &table.columns {
            let Some(generated) = &column.generated else { continue };
            let mut other: Option<Arc<str>> = None;
            generated.expr.walk(0, &mut |e, _| {
                if let ExprKind::Column { col, .. } = e.kind {
                    let used = &table.columns[col as usize];
                    if used.generated.is_some() {
                        other.get_or_insert_with(|| used.name.clone());
                    }
                }
            });
            if let Some(name) = other {
                let span = defs.iter().find(|d| d.name.name == column.name).map_or(Span::default(), |d| d.name.span);
                let message = format!("cannot use generated column \"{name}\" in column generation expression");
                return Err(Diagnostic::new(span, SqlState(*b"42P17"), message));
            }
        }
        Ok(())
    }

    /// `LIKE table`: its columns, and what is included.
    fn like(&mut self, like: &ast::LikeClause, draft: &mut Draft, edits: &mut Vec<Edit>) -> Result<()> {
        let source = self.table(&like.table)?.clone();
        for from in &source.columns {
            if draft.table.column(&from.name).is_some() {
                let message = format!("column \"{}\" specified more than once", from.name);
                return Err(Diagnostic::new(like.table.name.span, SqlState::DUPLICATE_COLUMN, message));
            }
            let mut column = Column {
                default: from.default.clone().filter(|_| like.defaults && from.identity.is_none()),
                sequence: None,
                identity: None,
                generated: from.generated.clone().filter(|_| like.generated),
                ..from.clone()
            };
            let found = from.sequence.as_ref().and_then(|name| self.catalog.sequence(name));
            if let (true, Some(identity), Some(sequence)) = (like.identity, from.identity, found) {
                let made = draft.sequence(&from.name, from.ty);
                let owner = Some((draft.table.id, from.name.clone()));
                column.default = Some(self.next_value(&made.name, from.ty, like.table.name.span)?);
                column.sequence = Some(made.name.clone());
                column.identity = Some(identity);
                edits.push(Edit::Sequence(Sequence { name: made.name, owner, ..(**sequence).clone() }));
            }
            draft.table.columns.push(column);
        }
        let same_place = draft.table.columns.len() == source.columns.len();
        if like.constraints && !source.checks.is_empty() {
            if !same_place {
                return Err(Diagnostic::unsupported(like.table.name.span, Construct::LIKE_CONSTRAINTS_BEHIND_COLUMNS));
            }
            draft.table.checks.extend(source.checks.iter().cloned());
        }
        Ok(())
    }

    fn like_indexes(&mut self, like: &ast::LikeClause, draft: &mut Draft) -> Result<()> {
        let source = self.table(&like.table)?.clone();
        for index in &source.indexes {
            let place = |c: &usize| draft.table.column(&source.columns[*c].name);
            let columns: Option<Vec<usize>> = index.columns.iter().map(place).collect();
            let (Some(columns), None) = (columns, &index.special) else {
                return Err(Diagnostic::unsupported(like.table.name.span, Construct::LIKE_SPECIAL_INDEXES));
            };
            let suffix = match (index.primary, index.constraint) {
                (true, _) => "pkey",
                (false, true) => "key",
                (false, false) => "idx",
            };
            let named: &[usize] = if index.primary { &[] } else { &columns };
            let name = draft.name(None, named, suffix, true)?;
            draft.table.indexes.push(Index { name, columns, ..index.clone() });
        }
        Ok(())
    }

    pub(super) fn column_default(&mut self, expr: &ast::Expr, name: &str, ty: Type) -> Result<Expr> {
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
    pub(super) fn next_value(&self, sequence: &Arc<str>, ty: Type, span: Span) -> Result<Expr> {
        let Some(nextval) = builtin::find("nextval", &[Type::Text]) else {
            return Err(Diagnostic::unsupported(span, Construct::SERIAL_COLUMN));
        };
        let call =
            Expr { kind: ExprKind::Call(nextval, vec![text(names::text_of_key(sequence))]), ty: nextval.returns };
        self.explicit(call, ty, span)
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
                let schema = name.qualifier_name();
                if let Some(ty) = self.catalog.user_type(&name.name.name).filter(|_| name.schema.is_none()) {
                    return Ok((ty.ty(), Some(ty.fields().into()).filter(|_| matches!(ty.ty(), Type::Composite(_)))));
                }
                match self.catalog.find_table(schema, &name.name.name) {
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
        let public = path.len() > 1 && &*path[0].name == "public";
        let (schema, path) = if public { (path.first(), &path[1..]) } else { (None, path) };
        if !row && let Some(variable) = self.frame.lookup(path) {
            let expr = self.variable(variable)?;
            return Ok((expr.ty, self.fields_of(&expr)));
        }
        match (path, row) {
            ([table], true) => {
                let table = self.table(&ast::QualifiedName::new(schema.cloned(), table.clone()))?;
                Ok((Type::Record, Some(row_fields(table))))
            }
            ([table, column], false) => {
                let table = self.table(&ast::QualifiedName::new(schema.cloned(), table.clone()))?;
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

/// Whether an expression may have another value tomorrow.
pub(super) fn is_mutable(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(builtin, _) => matches!(builtin.eval, builtin::Eval::Session(_)),
        _ => false,
    }
}

/// A table's row as fields.
pub(super) fn row_fields(table: &Table) -> Fields {
    table.columns.iter().map(|c| (c.name.clone(), c.ty)).collect()
}

fn no_type(name: &str, span: Span) -> Diagnostic {
    Diagnostic::new(span, SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
}
