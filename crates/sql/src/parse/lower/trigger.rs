//! CREATE TRIGGER, DROP TRIGGER, ENABLE and DISABLE TRIGGER.

use std::sync::Arc;

use squawk_syntax::ast::{self as cst, AstNode};

use super::{Lower, Result};
use crate::ast::{CreateTrigger, DropTrigger, ExprKind, QualifiedName, SwitchTriggers, TriggerEvent, TriggerTiming};
use crate::error::{Diagnostic, SqlState};
use crate::refused::Construct;

impl Lower {
    pub(super) fn create_trigger(&self, create: &cst::CreateTrigger) -> Result<CreateTrigger> {
        self.refuse(create.from_table(), Construct::CREATE_CONSTRAINT_TRIGGER_FROM)?;
        let constraint = create.constraint_token().is_some();
        let timing = match self.need(create.timing(), create)? {
            cst::Timing::TimingBefore(_) => TriggerTiming::Before,
            cst::Timing::TimingAfter(_) => TriggerTiming::After,
            cst::Timing::TimingInsteadOf(_) => TriggerTiming::InsteadOf,
        };
        let events = self.need(create.trigger_event_list(), create)?;
        let events = events.trigger_events().map(|event| self.trigger_event(&event)).collect();
        let (mut old_table, mut new_table) = (None, None);
        for table in create.referencing().iter().flat_map(|r| r.referencing_tables()) {
            let (name, place) = match &table {
                cst::ReferencingTable::OldTable(old) => (old.transition_relation_name(), &mut old_table),
                cst::ReferencingTable::NewTable(new) => (new.transition_relation_name(), &mut new_table),
            };
            *place = Some(self.ident(&self.need(name, &table)?));
        }
        let (mut deferrable, mut deferred) = (false, false);
        for option in create.constraint_options() {
            use cst::ConstraintOption as O;
            match option {
                O::DeferrableConstraintOption(_) => deferrable = true,
                O::InitiallyDeferredConstraintOption(_) => (deferrable, deferred) = (true, true),
                O::NotDeferrableConstraintOption(_) | O::InitiallyImmediateConstraintOption(_) => {}
                other => return Err(self.unsupported(&other, Construct::OPTION_OF_A_TRIGGER)),
            }
        }
        let (function, args) = self.trigger_function(create)?;
        Ok(CreateTrigger {
            or_replace: create.or_replace().is_some(),
            constraint,
            name: self.ident(&self.need(create.trigger(), create)?),
            timing,
            events,
            table: self.on_relation(create.on_relation(), create)?,
            deferrable,
            deferred,
            old_table,
            new_table,
            each_row: matches!(create.trigger_level(), Some(cst::TriggerLevel::ForEachRow(_))),
            when: create.when_condition().map(|when| self.sole(&when)).transpose()?,
            function,
            args,
        })
    }

    fn trigger_event(&self, event: &cst::TriggerEvent) -> TriggerEvent {
        match event {
            cst::TriggerEvent::TriggerEventInsert(_) => TriggerEvent::Insert,
            cst::TriggerEvent::TriggerEventDelete(_) => TriggerEvent::Delete,
            cst::TriggerEvent::TriggerEventTruncate(_) => TriggerEvent::Truncate,
            cst::TriggerEvent::TriggerEventUpdate(update) => {
                TriggerEvent::Update(update.column_name_refs().map(|column| self.ident(&column)).collect())
            }
        }
    }

    fn on_relation(&self, on: Option<cst::OnRelation>, parent: &impl AstNode) -> Result<QualifiedName> {
        let on = self.need(on, parent)?;
        self.name(&self.need(on.relation_name_ref(), &on)?)
    }

    /// `EXECUTE FUNCTION f(args)`: literals, and what looks like a name is text too.
    fn trigger_function(&self, create: &cst::CreateTrigger) -> Result<(QualifiedName, Vec<Arc<str>>)> {
        let call = self.call(&self.need(create.call_expr(), create)?)?;
        let ExprKind::Call(call) = call.kind else {
            return Err(Diagnostic::syntax(
                self.span(create.syntax()),
                "syntax error: EXECUTE FUNCTION needs a function",
            ));
        };
        let arg = |arg: &crate::ast::Expr| match &arg.kind {
            ExprKind::String(text) => Ok(text.clone()),
            ExprKind::Name(path) if path.len() == 1 => Ok(path[0].name.clone()),
            _ => {
                let text = arg.to_string();
                let number = text.chars().all(|c| c.is_ascii_digit() || c == '.');
                let message = "syntax error: the arguments of a trigger function are literals";
                number.then(|| text.into()).ok_or_else(|| Diagnostic::new(arg.span, SqlState::SYNTAX_ERROR, message))
            }
        };
        let args = call.args.iter().map(arg).collect::<Result<_>>()?;
        Ok((call.name.clone(), args))
    }

    pub(super) fn drop_trigger(&self, drop: &cst::DropTrigger) -> Result<DropTrigger> {
        Ok(DropTrigger {
            if_exists: drop.if_exists().is_some(),
            name: self.ident(&self.need(drop.trigger_ref(), drop)?),
            table: self.on_relation(drop.on_relation(), drop)?,
        })
    }

    /// `ENABLE | DISABLE TRIGGER name | ALL | USER`, if that is what an action of ALTER TABLE is.
    pub(super) fn switch_triggers(
        &self,
        table: &QualifiedName,
        action: &cst::AlterTableAction,
    ) -> Result<Option<SwitchTriggers>> {
        let (target, enabled) = match action {
            cst::AlterTableAction::EnableTrigger(enable) => (enable.trigger_target(), true),
            cst::AlterTableAction::DisableTrigger(disable) => (disable.trigger_target(), false),
            _ => return Ok(None),
        };
        let name = match self.need(target, action)? {
            cst::TriggerTarget::TriggerRef(name) => Some(self.ident(&name)),
            cst::TriggerTarget::All(_) | cst::TriggerTarget::User(_) => None,
        };
        Ok(Some(SwitchTriggers { table: table.clone(), name, enabled }))
    }
}
