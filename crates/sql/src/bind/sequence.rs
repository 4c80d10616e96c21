//! CREATE and ALTER SEQUENCE.

use std::sync::Arc;

use super::{Binder, Result};
use crate::ast::{self, SequenceOptions};
use crate::catalog::{Sequence, TableId, key};
use crate::error::{Diagnostic, SqlState};
use crate::typed::{Change, Define, Edit};
use crate::types::Type;

/// A sequence of an integer type, without a name: what CREATE SEQUENCE makes of no options.
pub(super) fn plain(ty: Type) -> Sequence {
    let max = bounds(ty).1;
    Sequence { name: "".into(), start: 1, increment: 1, min: 1, max, cycle: false, ty, owner: None }
}

fn bounds(ty: Type) -> (i64, i64) {
    match ty {
        Type::Int2 => (i16::MIN.into(), i16::MAX.into()),
        Type::Int4 => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    }
}

impl Binder<'_> {
    /// `CREATE SEQUENCE`
    pub(super) fn create_sequence(&mut self, create: &ast::CreateSequence) -> Result<Define> {
        let schema = self.target_schema(&create.name)?;
        if let Some(skipped) = self.is_taken(&create.name, create.if_not_exists, "CREATE SEQUENCE")? {
            return Ok(skipped);
        }
        let ty = create.options.ty.unwrap_or(Type::Int8);
        let named = Sequence { name: key(schema.as_deref(), &create.name.name.name), ..plain(ty) };
        let sequence = self.sequence_with(named, &create.options, schema.as_deref())?;
        let mut edits = self.adopt(&sequence, &create.options)?;
        edits.insert(0, Edit::Sequence(sequence));
        Ok(Define::Change(Arc::new(Change::new("CREATE SEQUENCE", edits))))
    }

    /// `ALTER SEQUENCE` with options
    pub(super) fn alter_sequence(&mut self, alter: &ast::AlterSequence) -> Result<Define> {
        let schema = alter.name.qualifier_name();
        let Some(found) = self.catalog.find_sequence(schema, &alter.name.name.name).cloned() else {
            if alter.if_exists {
                let notice = format!("relation \"{}\" does not exist, skipping", alter.name.name.name);
                return Ok(Define::Change(Arc::new(Change::nothing("ALTER SEQUENCE", vec![notice.into()]))));
            }
            return Err(self.no_relation(&alter.name));
        };
        let edits = self.changed_sequence((*found).clone(), &alter.options)?;
        Ok(Define::Change(Arc::new(Change::new("ALTER SEQUENCE", edits))))
    }

    /// What options do to a sequence that exists.
    pub(super) fn changed_sequence(&mut self, old: Sequence, options: &SequenceOptions) -> Result<Vec<Edit>> {
        let mut named = old.clone();
        if let Some(ty) = options.ty {
            // Bounds that were its type's own follow it.
            let (before, after) = (bounds(old.ty), bounds(ty));
            named.ty = ty;
            if old.max == before.1 {
                named.max = after.1;
            }
            if old.min == before.0 {
                named.min = after.0;
            }
        }
        let schema = old.name.split_once('.').map(|(schema, _)| schema.to_string());
        let sequence = self.sequence_with(named, options, schema.as_deref())?;
        let mut edits = self.adopt(&sequence, options)?;
        let (name, start) = (sequence.name.clone(), sequence.start);
        if let Some(restart) = options.restart {
            let value = restart.unwrap_or(start);
            self.within("RESTART", value, &sequence, options)?;
            edits.push(Edit::RestartSequence(name, value));
        }
        edits.insert(0, Edit::Sequence(sequence));
        Ok(edits)
    }

    /// A sequence with these options, checked as PostgreSQL checks them.
    pub(super) fn sequence_with(
        &self,
        mut sequence: Sequence,
        options: &SequenceOptions,
        schema: Option<&str>,
    ) -> Result<Sequence> {
        let wrong = |message: String| Err(Diagnostic::new(options.span, SqlState::INVALID_PARAMETER_VALUE, message));
        if let Some(name) = &options.name {
            sequence.name = key(name.qualifier_name().or(schema), &name.name.name);
        }
        let ty = match options.ty {
            Some(ty @ (Type::Int2 | Type::Int4 | Type::Int8)) => ty,
            None => sequence.ty,
            Some(_) => return wrong("sequence type must be smallint, integer, or bigint".into()),
        };
        sequence.ty = ty;
        let (lowest, highest) = bounds(ty);
        let was_up = sequence.increment > 0;
        sequence.increment = options.increment.unwrap_or(sequence.increment);
        if sequence.increment == 0 {
            return wrong("INCREMENT must not be zero".into());
        }
        let up = sequence.increment > 0;
        let turned = up != was_up && sequence.start == 1;
        match options.max {
            Some(Some(max)) => sequence.max = max,
            Some(None) => sequence.max = if up { highest } else { -1 },
            None if turned => sequence.max = if up { highest } else { -1 },
            None => {}
        }
        match options.min {
            Some(Some(min)) => sequence.min = min,
            Some(None) => sequence.min = if up { 1 } else { lowest },
            None if turned => sequence.min = if up { 1 } else { lowest },
            None => {}
        }
        if !(lowest..=highest).contains(&sequence.max) {
            return wrong(format!("MAXVALUE ({}) is out of range for sequence data type {ty}", sequence.max));
        }
        if !(lowest..=highest).contains(&sequence.min) {
            return wrong(format!("MINVALUE ({}) is out of range for sequence data type {ty}", sequence.min));
        }
        if sequence.min >= sequence.max {
            return wrong(format!("MINVALUE ({}) must be less than MAXVALUE ({})", sequence.min, sequence.max));
        }
        let is_new = options.start.is_none() && self.catalog.sequence(&sequence.name).is_none();
        sequence.start = match options.start {
            Some(start) => start,
            None if is_new => {
                if up {
                    sequence.min
                } else {
                    sequence.max
                }
            }
            None => sequence.start,
        };
        self.within("START", sequence.start, &sequence, options)?;
        if options.cache.is_some_and(|cache| cache < 1) {
            return wrong(format!("CACHE ({}) must be greater than zero", options.cache.unwrap_or_default()));
        }
        sequence.cycle = options.cycle.unwrap_or(sequence.cycle);
        match &options.owned_by {
            Some(None) => sequence.owner = None,
            Some(Some(path)) => sequence.owner = Some(self.owner(path, options)?),
            None => {}
        }
        Ok(sequence)
    }

    fn within(&self, what: &str, value: i64, sequence: &Sequence, options: &SequenceOptions) -> Result<()> {
        let (bound, limit, relation) = if value < sequence.min {
            ("MINVALUE", sequence.min, "less than")
        } else if value > sequence.max {
            ("MAXVALUE", sequence.max, "greater than")
        } else {
            return Ok(());
        };
        let message = format!("{what} value ({value}) cannot be {relation} {bound} ({limit})");
        Err(Diagnostic::new(options.span, SqlState::INVALID_PARAMETER_VALUE, message))
    }

    /// `OWNED BY table.column`
    fn owner(&self, path: &[ast::Ident], options: &SequenceOptions) -> Result<(TableId, Arc<str>)> {
        let (schema, table, column) = match path {
            [table, column] => (None, table, column),
            [schema, table, column] => (Some(schema.clone()), table, column),
            _ => {
                let message = "invalid OWNED BY option";
                return Err(
                    Diagnostic::syntax(options.span, message).hint("Specify OWNED BY table.column or OWNED BY NONE.")
                );
            }
        };
        let table = self.table(&ast::QualifiedName::new(schema, table.clone()))?;
        self.column_of(table, column)?;
        Ok((table.id, column.name.clone()))
    }

    /// The owner's column knows its sequence.
    fn adopt(&self, sequence: &Sequence, options: &SequenceOptions) -> Result<Vec<Edit>> {
        let Some(Some(_)) = &options.owned_by else { return Ok(Vec::new()) };
        let Some((id, column)) = &sequence.owner else { return Ok(Vec::new()) };
        let mut table = (**self.catalog.table(*id)).clone();
        if let Some(column) = table.columns.iter_mut().find(|c| c.name == *column) {
            column.sequence.get_or_insert_with(|| sequence.name.clone());
        }
        let edit = crate::typed::TableEdit { table, rows: None, validate: Vec::new() };
        Ok(vec![Edit::Table(Box::new(edit))])
    }
}
