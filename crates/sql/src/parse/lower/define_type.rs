//! CREATE TYPE, CREATE DOMAIN, ALTER TYPE.

use squawk_syntax::ast::{self as cst, AstNode};

use super::{Lower, Result};
use crate::ast::{
    AlterType, AlterTypeAction, CreateDomain, CreateType, CreateTypeKind, Ident, LabelPlace, QualifiedName,
    StatementKind,
};
use crate::error::Diagnostic;
use crate::refused::Construct;

impl Lower {
    pub(super) fn create_type(&self, create: &cst::CreateType) -> Result<StatementKind> {
        let name = self.name(&self.need(create.type_name(), create)?)?;
        let kind = match self.need(create.kind(), create)? {
            cst::CreateTypeKind::EnumType(labels) => {
                let list = self.need(labels.variant_list(), &labels)?;
                let label = |v: cst::Variant| Ok(self.string(&self.need(v.literal(), &v)?)?.into());
                CreateTypeKind::Enum(list.variants().map(label).collect::<Result<_>>()?)
            }
            cst::CreateTypeKind::CompositeType(composite) => {
                let list = self.need(composite.composite_field_list(), &composite)?;
                let mut fields = Vec::new();
                for field in list.composite_field_defs() {
                    if let Some(collate) = field.collate() {
                        self.collate(&collate)?;
                    }
                    let name: Ident = self.ident(&self.need(field.name(), &field)?);
                    fields.push((name, self.ty(&self.need(field.ty(), &field)?)?));
                }
                CreateTypeKind::Composite(fields)
            }
            cst::CreateTypeKind::RangeType(range) => {
                return Err(self.unsupported(&range, Construct::CREATE_TYPE_AS_RANGE));
            }
            cst::CreateTypeKind::BaseType(base) => return Err(self.unsupported(&base, Construct::BASE_TYPE)),
        };
        Ok(StatementKind::CreateType(Box::new(CreateType { name, kind })))
    }

    pub(super) fn create_domain(&self, create: &cst::CreateDomain) -> Result<StatementKind> {
        let name = self.name(&self.need(create.domain(), create)?)?;
        let base = self.ty(&self.need(create.ty(), create)?)?;
        let mut constraints = Vec::new();
        for qualifier in create.domain_qualifiers() {
            match &qualifier {
                cst::DomainQualifier::Collate(collate) => self.collate(collate)?,
                cst::DomainQualifier::Constraint(constraint) => {
                    let node = constraint.syntax().clone();
                    match cst::ColumnConstraint::cast(node) {
                        Some(constraint) => constraints.push(self.column_constraint(&constraint)?),
                        None => return Err(self.unsupported(constraint, Construct::CONSTRAINT_OF_A_DOMAIN)),
                    }
                }
            }
        }
        Ok(StatementKind::CreateDomain(Box::new(CreateDomain { name, base, constraints })))
    }

    pub(super) fn alter_type(&self, alter: &cst::AlterType) -> Result<StatementKind> {
        let name: QualifiedName = self.name(&self.need(alter.type_name_ref(), alter)?)?;
        let text = |literal: Option<cst::Literal>, of: &dyn Fn() -> Diagnostic| match literal {
            Some(literal) => Ok(self.string(&literal)?.into()),
            None => Err(of()),
        };
        let missing = || Diagnostic::syntax(self.span(alter.syntax()), "syntax error: a label is missing");
        let action = match self.need(alter.action(), alter)? {
            cst::AlterTypeAction::AddValue(add) => AlterTypeAction::AddValue {
                if_not_exists: add.if_not_exists().is_some(),
                label: text(add.literal(), &missing)?,
                place: match add.value_position() {
                    None => None,
                    Some(cst::ValuePosition::BeforeValue(v)) => Some(LabelPlace::Before(text(v.literal(), &missing)?)),
                    Some(cst::ValuePosition::AfterValue(v)) => Some(LabelPlace::After(text(v.literal(), &missing)?)),
                },
            },
            cst::AlterTypeAction::RenameValue(rename) => {
                AlterTypeAction::RenameValue(text(rename.from(), &missing)?, text(rename.to(), &missing)?)
            }
            cst::AlterTypeAction::TypeRenameTo(rename) => {
                AlterTypeAction::Rename(self.name(&self.need(rename.type_name(), &rename)?)?.name)
            }
            other => return Err(self.unsupported(&other, Construct::FORM_OF_ALTER_TYPE)),
        };
        Ok(StatementKind::AlterType(Box::new(AlterType { name, action })))
    }
}
