//! CREATE and ALTER SEQUENCE, and the sequences of identity columns.

use squawk_syntax::ast::{self as cst, AstNode};

use super::{Lower, Result};
use crate::ast::{
    AlterObject, AlterSequence, CreateSequence, DropObject, ExprKind, ObjectAction, SequenceOptions, StatementKind,
    TypeName,
};
use crate::error::{Diagnostic, SqlState};

impl Lower {
    pub(super) fn create_sequence(&self, create: &cst::CreateSequence) -> Result<CreateSequence> {
        let mut options = SequenceOptions { span: self.span(create.syntax()), ..SequenceOptions::default() };
        create.sequence_options().try_for_each(|option| self.sequence_option(&option, &mut options))?;
        Ok(CreateSequence {
            if_not_exists: create.if_not_exists().is_some(),
            name: self.name(&self.need(create.sequence(), create)?)?,
            options,
        })
    }

    pub(super) fn alter_sequence(&self, alter: &cst::AlterSequence) -> Result<StatementKind> {
        let if_exists = alter.if_exists().is_some();
        let name = self.name(&self.need(alter.sequence_ref(), alter)?)?;
        let object = |action| {
            let (object, name) = (DropObject::Sequence, name.clone());
            StatementKind::AlterObject(Box::new(AlterObject { object, if_exists, name, action }))
        };
        let mut options = SequenceOptions { span: self.span(alter.syntax()), ..SequenceOptions::default() };
        for action in alter.actions() {
            match &action {
                cst::AlterSequenceAction::SequenceRenameTo(to) => {
                    let to = self.name(&self.need(to.sequence(), to)?)?.name;
                    return Ok(object(ObjectAction::RenameTo(to)));
                }
                cst::AlterSequenceAction::SetSchema(schema) => {
                    return Ok(object(ObjectAction::SetSchema(self.schema_of(schema)?)));
                }
                cst::AlterSequenceAction::OwnerTo(_)
                | cst::AlterSequenceAction::SetLogged(_)
                | cst::AlterSequenceAction::SetUnlogged(_) => return Ok(object(ObjectAction::Ignored)),
                cst::AlterSequenceAction::SequenceOption(option) => self.sequence_option(option, &mut options)?,
            }
        }
        Ok(StatementKind::AlterSequence(Box::new(AlterSequence { if_exists, name, options })))
    }

    /// What stands in parentheses behind `AS IDENTITY`.
    pub(super) fn sequence_options(
        &self,
        list: Option<cst::SequenceOptionList>,
        parent: &impl AstNode,
    ) -> Result<SequenceOptions> {
        let mut options = SequenceOptions { span: self.span(parent.syntax()), ..SequenceOptions::default() };
        for option in list.iter().flat_map(|list| list.sequence_options()) {
            self.sequence_option(&option, &mut options)?;
        }
        Ok(options)
    }

    pub(super) fn sequence_option(&self, option: &cst::SequenceOption, options: &mut SequenceOptions) -> Result<()> {
        use cst::SequenceOption as O;
        match option {
            O::OptionStart(start) => options.start = Some(self.number(start)?),
            O::OptionIncrement(increment) => options.increment = Some(self.number(increment)?),
            O::OptionMinValue(min) => options.min = Some(Some(self.number(min)?)),
            O::OptionNoMinValue(_) => options.min = Some(None),
            O::OptionMaxValue(max) => options.max = Some(Some(self.number(max)?)),
            O::OptionNoMaxValue(_) => options.max = Some(None),
            O::OptionCache(cache) => options.cache = Some(self.number(cache)?),
            O::OptionCycle(_) => options.cycle = Some(true),
            O::OptionNoCycle(_) => options.cycle = Some(false),
            O::OptionRestart(restart) => {
                options.restart = Some(restart.expr().map(|_| self.number(restart)).transpose()?);
            }
            O::OptionAsType(as_type) => {
                let ty = self.ty(&self.need(as_type.ty(), as_type)?)?;
                options.ty = match ty {
                    TypeName::Known(ty, _) => Some(ty),
                    _ => {
                        let message = "sequence type must be smallint, integer, or bigint";
                        return Err(Diagnostic::new(options.span, SqlState::INVALID_PARAMETER_VALUE, message));
                    }
                };
            }
            O::OptionOwnedBy(owned) => {
                options.owned_by = Some(match self.need(owned.owned_by_target(), owned)? {
                    cst::OwnedByTarget::OwnedByNone(_) => None,
                    cst::OwnedByTarget::QualifiedColumnNameRef(column) => Some(self.path(column.syntax())),
                });
            }
            O::OptionSequenceName(name) => options.name = Some(self.name(&self.need(name.sequence(), name)?)?),
            O::OptionLogged(_) | O::OptionUnlogged(_) => {}
        }
        Ok(())
    }

    pub(super) fn number(&self, option: &impl AstNode) -> Result<i64> {
        let expr = self.sole(option)?;
        match expr.kind {
            ExprKind::Integer(n) => Ok(n),
            _ => Err(Diagnostic::syntax(expr.span, "an integer is expected here")),
        }
    }
}
