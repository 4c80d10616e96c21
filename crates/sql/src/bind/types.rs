//! Types that users define: CREATE TYPE, CREATE DOMAIN, ALTER TYPE and their end.

use std::sync::Arc;

use super::scope::shown_name;
use super::{Binder, Result};
use crate::ast::{self, AlterTypeAction, ColumnConstraintKind as K, CreateTypeKind, DropObject, LabelPlace};
use crate::builtin::SetFunction;
use crate::error::{Diagnostic, Span, SqlState};
use crate::refused::Construct;
use crate::typed::{Define, Rel, RelSource};
use crate::types::{DomainCheck, Type, TypeDef, TypeKind, UserType};
use crate::value::EnumLabel;

impl Binder<'_> {
    /// `CREATE TYPE`
    pub(super) fn create_type(&mut self, create: &ast::CreateType) -> Result<Define> {
        let name = self.new_type_name(&create.name)?;
        let kind = match &create.kind {
            CreateTypeKind::Enum(labels) => {
                let label =
                    |(i, l): (usize, &Arc<str>)| Arc::new(EnumLabel { position: (i + 1) as f64, label: l.clone() });
                TypeKind::Enum(labels.iter().enumerate().map(label).collect())
            }
            CreateTypeKind::Composite(fields) => {
                let mut resolved = Vec::new();
                for (field, ty) in fields {
                    if resolved.iter().any(|(n, _)| *n == field.name) {
                        let message = format!("column \"{}\" specified more than once", field.name);
                        return Err(Diagnostic::new(field.span, SqlState::DUPLICATE_COLUMN, message));
                    }
                    resolved.push((field.name.clone(), self.type_name(ty)?.0));
                }
                TypeKind::Composite(resolved.into())
            }
        };
        Ok(Define::Type(UserType::new(TypeDef { name, kind })))
    }

    fn new_type_name(&self, name: &ast::QualifiedName) -> Result<Arc<str>> {
        let (shown, span) = shown_name(name);
        if name.schema.is_some() {
            return Err(Diagnostic::new(span, SqlState(*b"3F000"), format!("schema \"{shown}\" does not exist")));
        }
        let bare = &name.name.name;
        if self.catalog.user_type(bare).is_some() || self.catalog.table_by_name(bare).is_some() {
            return Err(Diagnostic::new(span, SqlState::DUPLICATE_OBJECT, format!("type \"{bare}\" already exists")));
        }
        Ok(bare.clone())
    }

    /// `CREATE DOMAIN`
    pub(super) fn create_domain(&mut self, create: &ast::CreateDomain, span: Span) -> Result<Define> {
        let name = self.new_type_name(&create.name)?;
        let (base, _) = self.type_name(&create.base)?;
        if base.is_row() || base == Type::Void {
            let message = format!("\"{base}\" is not a valid base type for a domain");
            return Err(Diagnostic::new(span, SqlState::DATATYPE_MISMATCH, message));
        }
        let (mut not_null, mut default, mut checks) = (false, None, Vec::<DomainCheck>::new());
        for constraint in &create.constraints {
            match &constraint.kind {
                K::NotNull => not_null = true,
                K::Null => {}
                K::Default(expr) => {
                    let bound = self.expr(expr)?;
                    default = Some(self.for_column(bound, &name, base, expr.span)?);
                }
                K::Check(expr) => {
                    let made_up = || unused(&format!("{name}_check"), &checks);
                    let check = constraint.name.as_ref().map_or_else(made_up, |n| n.name.clone());
                    checks.push(DomainCheck { name: check, expr: self.domain_check(base, expr)? });
                }
                _ => return Err(Diagnostic::unsupported(constraint.span, Construct::CONSTRAINT_OF_A_DOMAIN)),
            }
        }
        checks.sort_by(|a, b| a.name.cmp(&b.name));
        let kind = TypeKind::Domain { base, not_null, default, checks };
        Ok(Define::Type(UserType::new(TypeDef { name, kind })))
    }

    /// A condition over VALUE, which is the only column in sight.
    fn domain_check(&mut self, base: Type, expr: &ast::Expr) -> Result<crate::typed::Expr> {
        let (bound, _) = self.in_level(|b| {
            // Where the value comes from does not matter: it is always given.
            let source = RelSource::Function(SetFunction::GenerateSeries, Vec::new());
            let rel = Rel { alias: "".into(), source, columns: vec![("value".into(), base)] };
            let part = b.add_rel("".into(), rel, expr.span)?;
            b.show(part);
            b.condition(expr, "CHECK")
        })?;
        Ok(bound)
    }

    /// `ALTER TYPE`
    pub(super) fn alter_type(&mut self, alter: &ast::AlterType, span: Span) -> Result<Define> {
        let (shown, at) = shown_name(&alter.name);
        let Some(ty) = self.catalog.user_type(&alter.name.name.name).filter(|_| alter.name.schema.is_none()) else {
            return Err(Diagnostic::new(at, SqlState::UNDEFINED_OBJECT, format!("type \"{shown}\" does not exist")));
        };
        let mut def = ty.def().clone();
        if let AlterTypeAction::Rename(name) = &alter.action {
            def.name = self.new_type_name(&ast::QualifiedName::bare(name.clone()))?;
            return Ok(Define::AlterType(ty.def().name.clone(), UserType::new(def)));
        }
        let TypeKind::Enum(labels) = &mut def.kind else {
            return Err(Diagnostic::new(at, SqlState::WRONG_OBJECT_TYPE, format!("{shown} is not an enum")));
        };
        let position = |labels: &[Arc<EnumLabel>], label: &str| {
            labels.iter().position(|l| &*l.label == label).ok_or_else(|| {
                let message = format!("\"{label}\" is not an existing enum label");
                Diagnostic::new(span, SqlState::INVALID_PARAMETER_VALUE, message)
            })
        };
        let exists = |label: &str| {
            let message = format!("enum label \"{label}\" already exists");
            Err(Diagnostic::new(span, SqlState::DUPLICATE_OBJECT, message))
        };
        match &alter.action {
            AlterTypeAction::AddValue { if_not_exists, label, place } => {
                if labels.iter().any(|l| l.label == *label) {
                    return if *if_not_exists { Ok(Define::AlterType(def.name.clone(), ty)) } else { exists(label) };
                }
                let at = match place {
                    None => labels.len(),
                    Some(LabelPlace::Before(other)) => position(labels, other)?,
                    Some(LabelPlace::After(other)) => position(labels, other)? + 1,
                };
                let before = at.checked_sub(1).and_then(|i| labels.get(i)).map(|l| l.position);
                let after = labels.get(at).map(|l| l.position);
                let position = match (before, after) {
                    (Some(a), Some(b)) => (a + b) / 2.0,
                    (Some(a), None) => a + 1.0,
                    (None, Some(b)) => b - 1.0,
                    (None, None) => 1.0,
                };
                labels.insert(at, Arc::new(EnumLabel { position, label: label.clone() }));
            }
            AlterTypeAction::RenameValue(from, to) => {
                let at = position(labels, from)?;
                if labels.iter().any(|l| l.label == *to) {
                    return exists(to);
                }
                labels[at] = Arc::new(EnumLabel { position: labels[at].position, label: to.clone() });
            }
            AlterTypeAction::Rename(_) => {}
        }
        Ok(Define::AlterType(def.name.clone(), UserType::new(def)))
    }

    /// `DROP TYPE`, `DROP DOMAIN`
    pub(super) fn drop_types(&self, drop: &ast::Drop) -> Result<Define> {
        let domain = drop.object == DropObject::Domain;
        let mut names = Vec::new();
        for name in &drop.names {
            let (shown, span) = shown_name(name);
            let Some(ty) = self.catalog.user_type(&name.name.name).filter(|_| name.schema.is_none()) else {
                if drop.if_exists {
                    continue;
                }
                let message = format!("type \"{shown}\" does not exist");
                return Err(Diagnostic::new(span, SqlState::UNDEFINED_OBJECT, message));
            };
            if domain && !matches!(ty.ty(), Type::Domain(_)) {
                let message = format!("\"{shown}\" is not a domain");
                return Err(Diagnostic::new(span, SqlState::WRONG_OBJECT_TYPE, message));
            }
            if self.catalog.type_is_used(ty) {
                if drop.cascade {
                    return Err(Diagnostic::unsupported(span, Construct::DROP_TYPE_IN_USE));
                }
                let message = format!("cannot drop type {shown} because other objects depend on it");
                return Err(Diagnostic::new(span, SqlState(*b"2BP01"), message)
                    .hint("Use DROP ... CASCADE to drop the dependent objects too."));
            }
            names.push(ty.def().name.clone());
        }
        Ok(Define::DropType { names, domain })
    }
}

/// `base`, or with the first number behind it that makes it new.
fn unused(base: &str, checks: &[DomainCheck]) -> Arc<str> {
    let taken = |name: &str| checks.iter().any(|c| &*c.name == name);
    let numbered = (1..).map(|n| format!("{base}{n}"));
    let found = std::iter::once(base.to_owned()).chain(numbered).find(|name| !taken(name));
    found.unwrap_or_else(|| base.to_owned()).into()
}
