//! Triggers: their definition, and their function bound to the table it fires for.
//!
//! A trigger function is bound once per trigger, as PostgreSQL compiles it: NEW and OLD then have the columns of that
//! table, and the transition tables their names. What the trigger is told is in variables that stand before all others,
//! see
//! [`TRIGGER_VARIABLES`].
//!
//! A view that gets its first trigger gets a table that stands for it: with its columns, but without rows.

use std::sync::Arc;

use super::ddl::row_fields;
use super::plpgsql::Code;
use super::scope::{Frame, Namespace, TransitionTable, shown_name};
use super::{Binder, Result};
use crate::ast::{self, RoutineBody, TriggerEvent, TriggerTiming};
use crate::catalog::{Catalog, ReturnsDef, Table, Trigger, View};
use crate::error::{Diagnostic, Span, SqlState};
use crate::refused::Construct;
use crate::typed::{Change, Define, Edit, Expr, ExprKind, Rel, RelSource, Routine, RoutineReturns};
use crate::types::Type;

/// The variables of a trigger function, in the order of their slots; the two unnamed ones hold the transition tables.
pub const TRIGGER_VARIABLES: [(&str, Type); 14] = [
    ("new", Type::Record),
    ("old", Type::Record),
    ("tg_name", Type::Text),
    ("tg_when", Type::Text),
    ("tg_level", Type::Text),
    ("tg_op", Type::Text),
    ("tg_relid", Type::Int8),
    ("tg_relname", Type::Text),
    ("tg_table_name", Type::Text),
    ("tg_table_schema", Type::Text),
    ("tg_nargs", Type::Int4),
    ("tg_argv", Type::Array(&Type::Text)),
    ("", Type::Record),
    ("", Type::Record),
];

/// Binds the function of a trigger.
pub(super) fn bind(catalog: &Catalog, table: &Table, trigger: &Trigger) -> Result<Routine> {
    let def = catalog.routine(trigger.function);
    let RoutineBody::PlPgSql(body) = &def.body else {
        return Err(Diagnostic::unsupported(def.span, Construct::TRIGGER_FUNCTION_IN_SQL));
    };
    let mut frame = Frame { late: true, ..Frame::default() };
    let mut names = Namespace { label: Some(def.name.clone()), ..Namespace::default() };
    for (name, ty) in TRIGGER_VARIABLES {
        let is_row = matches!(name, "new" | "old");
        let slot = frame.add(name, ty, is_row.then(|| row_fields(table)));
        if !name.is_empty() {
            names.names.insert(name.into(), slot);
        }
    }
    let first = TRIGGER_VARIABLES.len() - 2;
    for (at, name) in [&trigger.old_table, &trigger.new_table].into_iter().enumerate() {
        if let Some(name) = name {
            frame.transitions.push(TransitionTable { name: name.clone(), slot: first + at, fields: row_fields(table) });
        }
    }
    let params = frame.variables.len();
    let found = frame.add("found", Type::Bool, None);
    names.names.insert("found".into(), found);
    frame.blocks.push(names);
    let in_sight = def.names(catalog);
    let binder = Binder::new(&in_sight, frame);
    let (code, variables) = Code::new(binder, Some(def), Vec::new(), body).late().bind(&body.block)?;
    let returns = RoutineReturns::Trigger(table.columns.len());
    let (text, offset) = (body.text.clone(), body.span.start);
    Ok(Routine { name: def.name.clone(), variables, params, found, returns, body: code, text, offset })
}

impl Binder<'_> {
    /// `CREATE TRIGGER`
    pub(super) fn create_trigger(&mut self, create: &ast::CreateTrigger, span: Span) -> Result<Define> {
        let invalid = |message: &str| Diagnostic::new(span, SqlState::INVALID_OBJECT_DEFINITION, message);
        let unsupported = |message: &str| Diagnostic::new(span, SqlState::FEATURE_NOT_SUPPORTED, message);
        let table = self.triggered(&create.table)?;
        suits(&table, create, span)?;
        let mut trigger = Trigger {
            name: create.name.name.clone(),
            function: self.trigger_function(&create.function)?,
            args: create.args.clone(),
            timing: create.timing,
            each_row: create.each_row,
            insert: false,
            update: false,
            update_columns: Vec::new(),
            delete: false,
            truncate: false,
            when: None,
            old_table: create.old_table.as_ref().map(|n| n.name.clone()),
            new_table: create.new_table.as_ref().map(|n| n.name.clone()),
            constraint: create.constraint,
            deferrable: create.deferrable,
            deferred: create.deferred,
            enabled: true,
        };
        for event in &create.events {
            match event {
                TriggerEvent::Insert => trigger.insert = true,
                TriggerEvent::Delete => trigger.delete = true,
                TriggerEvent::Truncate => trigger.truncate = true,
                TriggerEvent::Update(columns) => {
                    trigger.update = true;
                    for column in columns {
                        trigger.update_columns.push(self.column_of(&table, column)?);
                    }
                }
            }
        }
        if trigger.constraint && trigger.timing == TriggerTiming::Before {
            return Err(Diagnostic::syntax(span, "syntax error at or near \"BEFORE\""));
        }
        if trigger.constraint && !trigger.each_row {
            return Err(Diagnostic::syntax(span, "syntax error: a constraint trigger is FOR EACH ROW"));
        }
        if trigger.truncate && trigger.each_row {
            return Err(unsupported("TRUNCATE FOR EACH ROW triggers are not supported"));
        }
        if trigger.old_table.is_some() || trigger.new_table.is_some() {
            if trigger.timing != TriggerTiming::After {
                return Err(invalid("transition table name can only be specified for an AFTER trigger"));
            }
            if trigger.truncate {
                return Err(unsupported("TRUNCATE triggers with transition tables are not supported"));
            }
            if create.events.len() > 1 {
                return Err(unsupported("transition tables cannot be specified for triggers with more than one event"));
            }
            if !trigger.update_columns.is_empty() {
                return Err(unsupported("transition tables cannot be specified for triggers with column lists"));
            }
            if trigger.new_table.is_some() && trigger.delete {
                return Err(invalid("NEW TABLE can only be specified for an INSERT or UPDATE trigger"));
            }
            if trigger.old_table.is_some() && trigger.insert {
                return Err(invalid("OLD TABLE can only be specified for a DELETE or UPDATE trigger"));
            }
        }
        trigger.when = create.when.as_ref().map(|when| self.trigger_when(&table, &trigger, when)).transpose()?;
        if table.triggers.iter().any(|t| t.name == trigger.name) && !create.or_replace {
            let message = format!("trigger \"{}\" for relation \"{}\" already exists", trigger.name, table.name);
            return Err(Diagnostic::new(create.name.span, SqlState::DUPLICATE_OBJECT, message));
        }
        match self.view(&create.table) {
            Some(view) if view.stand_in.is_none() => {
                let view = View { stand_in: Some(table.id), ..(**view).clone() };
                let table = Table { triggers: vec![trigger], ..(*table).clone() };
                let edits = vec![Edit::AddTable(Box::new(table)), Edit::View(Box::new(view))];
                Ok(Define::Change(Arc::new(Change::new("CREATE TRIGGER", edits))))
            }
            _ => Ok(Define::Trigger { table: table.id, trigger: Box::new(trigger) }),
        }
    }

    /// The table that triggers are about, or that which stands for the view: one that is to be made if it had none.
    fn triggered(&self, name: &ast::QualifiedName) -> Result<Arc<Table>> {
        let Some(view) = self.view(name) else { return self.table(name).cloned() };
        Ok(match view.stand_in {
            Some(table) => self.catalog.table(table).clone(),
            None => {
                let mut table = self.draft(view.schema.clone(), view.name.clone()).table;
                table.stand_for(view);
                Arc::new(table)
            }
        })
    }

    fn trigger_function(&self, name: &ast::QualifiedName) -> Result<crate::catalog::RoutineId> {
        let (shown, span) = shown_name(name);
        let inside = |def: &crate::catalog::RoutineDef| match name.qualifier() {
            None => self.catalog.is_on_path(def.schema.as_deref()),
            Some(schema) => def.schema.as_deref().unwrap_or("public") == &*schema.name,
        };
        let mut named = self.catalog.routines_by_name(&name.name.name).filter(|(_, def)| inside(def));
        let found = named.find(|(_, def)| !def.procedure && def.input_types().next().is_none());
        let Some((id, def)) = found else {
            let message = format!("function {shown}() does not exist");
            return Err(Diagnostic::new(span, SqlState::UNDEFINED_FUNCTION, message));
        };
        match def.returns {
            ReturnsDef::Trigger => Ok(id),
            _ => {
                let message = format!("function {shown} must return type trigger");
                Err(Diagnostic::new(span, SqlState::INVALID_OBJECT_DEFINITION, message))
            }
        }
    }

    /// `WHEN (condition)`: OLD is relation 0, NEW relation 1.
    fn trigger_when(&mut self, table: &Table, trigger: &Trigger, when: &ast::Expr) -> Result<Expr> {
        let (bound, _) = self.in_level(|b| {
            for alias in ["old", "new"] {
                let columns = table.columns.iter().map(|c| (c.name.clone(), c.ty)).collect();
                let rel = Rel { alias: alias.into(), source: RelSource::Table(table.id), columns };
                let part = b.add_rel(alias.into(), rel, when.span)?;
                b.show_qualified(part);
            }
            b.in_clause("trigger WHEN conditions", |b| b.condition(when, "WHEN"))
        })?;
        let (mut old, mut new, mut subquery) = (false, false, false);
        bound.walk(0, &mut |e, _| {
            match e.kind {
                ExprKind::Column { rel, .. } | ExprKind::WholeRow { rel, .. } if rel == 0 => old = true,
                ExprKind::Column { .. } | ExprKind::WholeRow { .. } => new = true,
                _ => {}
            }
            subquery |= e.subquery().is_some();
        });
        let refuse = |message: &str| Err(Diagnostic::new(when.span, SqlState::INVALID_OBJECT_DEFINITION, message));
        if subquery {
            let message = "cannot use subquery in trigger WHEN condition";
            return Err(Diagnostic::new(when.span, SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        if (old || new) && !trigger.each_row {
            return refuse("statement trigger's WHEN condition cannot reference column values");
        }
        if old && trigger.insert {
            return refuse("INSERT trigger's WHEN condition cannot reference OLD values");
        }
        if new && trigger.delete {
            return refuse("DELETE trigger's WHEN condition cannot reference NEW values");
        }
        Ok(bound)
    }

    /// `DROP TRIGGER`
    pub(super) fn drop_trigger(&self, drop: &ast::DropTrigger) -> Result<Define> {
        let table = match self.triggered(&drop.table) {
            Ok(table) => table,
            Err(_) if drop.if_exists => return Ok(Define::nothing("DROP TRIGGER")),
            Err(error) => return Err(error),
        };
        match drop.if_exists || table.triggers.iter().any(|t| t.name == drop.name.name) {
            true if !self.catalog.has_table(table.id) => Ok(Define::nothing("DROP TRIGGER")),
            true => Ok(Define::DropTrigger { table: table.id, name: drop.name.name.clone() }),
            false => Err(no_trigger(&table, &drop.name)),
        }
    }

    /// `ALTER TABLE ... ENABLE | DISABLE TRIGGER`
    pub(super) fn switch_triggers(&self, switch: &ast::SwitchTriggers) -> Result<Define> {
        if let Some(view) = self.view(&switch.table) {
            let action = if switch.enabled { "ENABLE" } else { "DISABLE" };
            let message = format!("ALTER action {action} TRIGGER cannot be performed on relation \"{}\"", view.name);
            return Err(Diagnostic::new(switch.table.name.span, SqlState::WRONG_OBJECT_TYPE, message)
                .detail("This operation is not supported for views."));
        }
        let table = self.table(&switch.table)?;
        if let Some(name) = &switch.name
            && !table.triggers.iter().any(|t| t.name == name.name)
        {
            return Err(no_trigger(table, name));
        }
        let name: Option<Arc<str>> = switch.name.as_ref().map(|n| n.name.clone());
        Ok(Define::SwitchTriggers { table: table.id, name, enabled: switch.enabled })
    }
}

/// Views have INSTEAD OF triggers and such of statements, tables all others.
fn suits(table: &Table, create: &ast::CreateTrigger, span: Span) -> Result<()> {
    let kind = if table.of_view { "view" } else { "table" };
    let wrong = |detail: &str| {
        let message = format!("\"{}\" is a {kind}", table.name);
        Err(Diagnostic::new(span, SqlState::WRONG_OBJECT_TYPE, message).detail(detail))
    };
    let unsupported = |message: &str| Err(Diagnostic::new(span, SqlState::FEATURE_NOT_SUPPORTED, message));
    let instead = create.timing == TriggerTiming::InsteadOf;
    if instead && !table.of_view {
        return wrong("Tables cannot have INSTEAD OF triggers.");
    }
    if table.of_view && !instead && create.each_row {
        return wrong("Views cannot have row-level BEFORE or AFTER triggers.");
    }
    if table.of_view && create.events.iter().any(|event| matches!(event, TriggerEvent::Truncate)) {
        return wrong("Views cannot have TRUNCATE triggers.");
    }
    if instead && !create.each_row {
        return unsupported("INSTEAD OF triggers must be FOR EACH ROW");
    }
    if instead && create.when.is_some() {
        return unsupported("INSTEAD OF triggers cannot have WHEN conditions");
    }
    let lists = |event: &TriggerEvent| matches!(event, TriggerEvent::Update(columns) if !columns.is_empty());
    if instead && create.events.iter().any(lists) {
        return unsupported("INSTEAD OF triggers cannot have column lists");
    }
    if table.of_view && (create.old_table.is_some() || create.new_table.is_some()) {
        return wrong("Triggers on views cannot have transition tables.");
    }
    Ok(())
}

fn no_trigger(table: &Table, name: &ast::Ident) -> Diagnostic {
    let message = format!("trigger \"{}\" for table \"{}\" does not exist", name.name, table.name);
    Diagnostic::new(name.span, SqlState::UNDEFINED_OBJECT, message)
}
