//! DROP, and ALTER of what only has a name; schemas.

use std::sync::Arc;

use super::alter::rename_draws;
use super::depend::Object;
use super::scope::shown_name;
use super::{Binder, Result};
use crate::ast::{self, DropObject, ObjectAction};
use crate::catalog::{RoutineDef, RoutineId, Table, View, key};
use crate::error::{Diagnostic, Span, SqlState};
use crate::refused::Construct;
use crate::typed::{Change, Define, Edit, TableEdit};

impl Binder<'_> {
    /// `DROP ...`
    pub(super) fn drop(&mut self, drop: &ast::Drop, span: Span) -> Result<Define> {
        if matches!(drop.object, DropObject::Type | DropObject::Domain) {
            return self.drop_types(drop);
        }
        let (mut named, mut notices) = (Vec::new(), Vec::new());
        for (at, name) in drop.names.iter().enumerate() {
            let signature = drop.signatures.get(at).and_then(Option::as_deref);
            match self.droppable(drop, name, signature)? {
                Some(object) => named.push(object),
                None => notices.push(self.skipped(drop, name, signature)),
            }
        }
        let tag = drop_tag(drop.object);
        if named.is_empty() {
            return Ok(Define::Change(Arc::new(Change::nothing(tag, notices))));
        }
        let (edits, cascades) = self.doom(named, drop.cascade, span)?;
        notices.extend(cascades);
        Ok(Define::Change(Arc::new(Change { tag, edits, notices, fill: None })))
    }

    /// What a name means in this DROP; `None` if it does not exist and need not.
    fn droppable(
        &self,
        drop: &ast::Drop,
        name: &ast::QualifiedName,
        signature: Option<&[ast::TypeName]>,
    ) -> Result<Option<Object>> {
        let schema = name.qualifier_name();
        if let (Some(schema), false) = (&name.schema, drop.if_exists) {
            self.existing_schema(schema)?;
        }
        let (_, span) = shown_name(name);
        let bare = &*name.name.name;
        let catalog = self.catalog;
        let table = catalog.find_table(schema, bare);
        let object = match drop.object {
            DropObject::Table => table.filter(|t| t.materialized.is_none()).map(|t| Object::Table(t.id)),
            DropObject::MaterializedView => table.filter(|t| t.materialized.is_some()).map(|t| Object::Table(t.id)),
            DropObject::View => catalog.find_view(schema, bare).map(|v| Object::View(v.key())),
            DropObject::Sequence => catalog.find_sequence(schema, bare).map(|s| Object::Sequence(s.name.clone())),
            DropObject::Index => {
                self.index_named(schema, bare).map(|(t, at)| Object::Constraint(t.id, t.indexes[at].name.clone()))
            }
            DropObject::Schema => catalog.schemas().find(|s| &***s == bare).map(|s| Object::Schema(s.clone())),
            DropObject::Function | DropObject::Procedure | DropObject::Routine => {
                return self.droppable_routine(drop, name, signature);
            }
            DropObject::Type | DropObject::Domain => None,
        };
        if let (DropObject::Sequence, Some(Object::Sequence(key))) = (drop.object, &object)
            && let Some(sequence) = catalog.sequence(key)
            && let Some((table, column)) = &sequence.owner
            && let Some(column) = catalog.table(*table).columns.iter().find(|c| c.name == *column)
            && column.identity.is_some()
        {
            let table = &catalog.table(*table).name;
            let message =
                format!("cannot drop sequence {key} because column {} of table {table} requires it", column.name);
            return Err(Diagnostic::new(span, SqlState(*b"2BP01"), message)
                .hint(format!("You can drop column {} of table {table} instead.", column.name)));
        }
        if let (DropObject::Index, Some(Object::Constraint(table, index))) = (drop.object, &object) {
            let table = catalog.table(*table);
            if table.indexes.iter().any(|i| i.name == *index && i.constraint) {
                let message =
                    format!("cannot drop index {index} because constraint {index} on table {} requires it", table.name);
                return Err(Diagnostic::new(span, SqlState(*b"2BP01"), message)
                    .hint(format!("You can drop constraint {index} on table {} instead.", table.name)));
            }
        }
        if object.is_some() || drop.if_exists && !self.is_other_kind(drop, schema, bare) {
            return Ok(object);
        }
        let what = noun(drop.object);
        if self.is_other_kind(drop, schema, bare) {
            let article = if matches!(drop.object, DropObject::Index) { "an" } else { "a" };
            let message = format!("\"{bare}\" is not {article} {what}");
            return Err(Diagnostic::new(span, SqlState::WRONG_OBJECT_TYPE, message).hint(format!(
                "Use DROP {} to remove a {}.",
                self.right_verb(schema, bare),
                self.right_noun(schema, bare)
            )));
        }
        let state = match drop.object {
            DropObject::Index => SqlState::UNDEFINED_OBJECT,
            DropObject::Schema => super::ddl::INVALID_SCHEMA,
            _ => SqlState::UNDEFINED_TABLE,
        };
        Err(Diagnostic::new(span, state, format!("{what} \"{bare}\" does not exist")))
    }

    fn is_other_kind(&self, drop: &ast::Drop, schema: Option<&str>, name: &str) -> bool {
        drop.object != DropObject::Schema && !self.right_noun(schema, name).is_empty()
    }

    /// What a name is the name of.
    fn right_noun(&self, schema: Option<&str>, name: &str) -> &'static str {
        let catalog = self.catalog;
        match catalog.find_table(schema, name) {
            Some(table) if table.materialized.is_some() => "materialized view",
            Some(_) => "table",
            None if catalog.find_view(schema, name).is_some() => "view",
            None if catalog.find_sequence(schema, name).is_some() => "sequence",
            None if self.index_named(schema, name).is_some() => "index",
            None => "",
        }
    }

    fn right_verb(&self, schema: Option<&str>, name: &str) -> String {
        self.right_noun(schema, name).to_uppercase()
    }

    /// The index with this name: its table and its position there.
    pub(super) fn index_named(&self, schema: Option<&str>, name: &str) -> Option<(&Arc<Table>, usize)> {
        self.catalog.tables().find_map(|table| {
            let here = match schema {
                None => table.schema.is_none() || table.schema == self.catalog.creation_schema(),
                Some(schema) => table.schema.as_deref().unwrap_or("public") == schema,
            };
            let at = table.indexes.iter().position(|i| &*i.name == name).filter(|_| here)?;
            Some((table, at))
        })
    }

    fn droppable_routine(
        &self,
        drop: &ast::Drop,
        name: &ast::QualifiedName,
        signature: Option<&[ast::TypeName]>,
    ) -> Result<Option<Object>> {
        let what = noun(drop.object);
        let fits = |procedure: bool| match drop.object {
            DropObject::Function => !procedure,
            DropObject::Procedure => procedure,
            _ => true,
        };
        let schema = name.schema.as_ref().map(|s| &s.name).filter(|s| &***s != "public");
        let types = match signature {
            Some(types) => Some(types.iter().map(|t| Ok(self.type_name(t)?.0.base())).collect::<Result<Vec<_>>>()?),
            None => None,
        };
        let found: Vec<RoutineId> = self
            .catalog
            .routines_by_name(&name.name.name)
            .filter(|(_, r)| fits(r.procedure) && schema.is_none_or(|s| r.schema.as_ref() == Some(s)))
            .filter(|(_, r)| types.as_ref().is_none_or(|types| r.input_types().eq(types.iter().copied())))
            .map(|(id, _)| id)
            .collect();
        let (shown, span) = shown_name(name);
        match &found[..] {
            [one] => Ok(Some(Object::Routine(*one))),
            [] if drop.if_exists => Ok(None),
            [] => {
                let of_types = |r: &RoutineDef| types.as_ref().is_some_and(|t| r.input_types().eq(t.iter().copied()));
                if self.catalog.routines_by_name(&name.name.name).any(|(_, r)| of_types(r)) {
                    let types: Vec<String> = types.iter().flatten().map(|t| t.to_string()).collect();
                    let message = format!("{shown}({}) is not a {what}", types.join(", "));
                    return Err(Diagnostic::new(span, SqlState::WRONG_OBJECT_TYPE, message));
                }
                let message = match &types {
                    None => format!("could not find a {what} named \"{shown}\""),
                    Some(types) => {
                        let types: Vec<String> = types.iter().map(|t| t.to_string()).collect();
                        format!("{what} {shown}({}) does not exist", types.join(", "))
                    }
                };
                Err(Diagnostic::new(span, SqlState::UNDEFINED_FUNCTION, message))
            }
            _ => {
                let message = format!("{what} name \"{shown}\" is not unique");
                let hint = format!("Specify the argument list to select the {what} unambiguously.");
                Err(Diagnostic::new(span, SqlState::AMBIGUOUS_FUNCTION, message).hint(hint))
            }
        }
    }

    /// `table "x" does not exist, skipping`
    fn skipped(&self, drop: &ast::Drop, name: &ast::QualifiedName, signature: Option<&[ast::TypeName]>) -> Arc<str> {
        let what = noun(drop.object);
        if let Some(schema) = &name.schema
            && !self.catalog.has_schema(&schema.name)
        {
            return format!("schema \"{}\" does not exist, skipping", schema.name).into();
        }
        match (drop.object, signature) {
            (DropObject::Function | DropObject::Procedure | DropObject::Routine, given) => {
                let types: Vec<String> = given
                    .unwrap_or_default()
                    .iter()
                    .map(|t| self.type_name(t).map_or_else(|_| t.to_string(), |(ty, _)| ty.base().to_string()))
                    .collect();
                format!("{what} {}({}) does not exist, skipping", name.name.name, types.join(",")).into()
            }
            _ => format!("{what} \"{}\" does not exist, skipping", name.name.name).into(),
        }
    }

    /// `CREATE SCHEMA`
    pub(super) fn create_schema(&mut self, create: &ast::CreateSchema) -> Result<Define> {
        let name = &create.name.name;
        if self.catalog.has_schema(name) {
            let message = format!("schema \"{name}\" already exists");
            if create.if_not_exists {
                let notice = format!("{message}, skipping");
                return Ok(Define::Change(Arc::new(Change::nothing("CREATE SCHEMA", vec![notice.into()]))));
            }
            return Err(Diagnostic::new(create.name.span, SqlState(*b"42P06"), message));
        }
        if name.starts_with("pg_") {
            let message = format!("unacceptable schema name \"{name}\"");
            return Err(Diagnostic::new(create.name.span, SqlState(*b"42939"), message));
        }
        if let Some(element) = create.elements.first() {
            return Err(Diagnostic::unsupported(element.span, Construct::DEFINITION_INSIDE_CREATE_SCHEMA));
        }
        let edits = vec![Edit::AddSchema(name.clone())];
        Ok(Define::Change(Arc::new(Change::new("CREATE SCHEMA", edits))))
    }

    /// `ALTER ... RENAME TO`, `ALTER ... SET SCHEMA`
    pub(super) fn alter_object(&mut self, alter: &ast::AlterObject, tag: &'static str) -> Result<Define> {
        let schema = alter.name.qualifier_name();
        let name = &*alter.name.name.name;
        let edits = match alter.object {
            DropObject::View => match self.catalog.find_view(schema, name).cloned() {
                Some(view) => Some(self.alter_view(&view, &alter.action)?),
                None => None,
            },
            DropObject::MaterializedView => {
                match self.catalog.find_table(schema, name).filter(|t| t.materialized.is_some()).cloned() {
                    Some(table) => Some(self.alter_named_table(&table, &alter.action)?),
                    None => None,
                }
            }
            DropObject::Sequence => match self.catalog.find_sequence(schema, name).map(|s| s.name.clone()) {
                Some(sequence) => Some(self.alter_named_sequence(&sequence, &alter.action)?),
                None => None,
            },
            DropObject::Index => match self.index_named(schema, name).map(|(t, at)| (t.clone(), at)) {
                Some((table, at)) => Some(self.alter_named_index(&table, at, &alter.action)?),
                None => None,
            },
            DropObject::Schema => return self.rename_schema(alter),
            _ => return Err(Diagnostic::unsupported(alter.name.name.span, Construct::ALTER)),
        };
        match edits {
            Some(edits) => Ok(Define::Change(Arc::new(Change::new(tag, edits)))),
            None if alter.if_exists => {
                let notice = format!("relation \"{name}\" does not exist, skipping");
                Ok(Define::Change(Arc::new(Change::nothing(tag, vec![notice.into()]))))
            }
            None => Err(self.no_relation(&alter.name)),
        }
    }

    /// The name must be free in its schema.
    fn free(&self, schema: Option<&str>, name: &ast::Ident) -> Result<()> {
        if !self.catalog.is_relation(&key(schema, &name.name)) {
            return Ok(());
        }
        let message = format!("relation \"{}\" already exists", name.name);
        Err(Diagnostic::new(name.span, SqlState::DUPLICATE_TABLE, message))
    }

    fn alter_view(&mut self, view: &View, action: &ObjectAction) -> Result<Vec<Edit>> {
        let mut new = view.clone();
        match action {
            ObjectAction::RenameTo(to) => {
                self.free(view.schema.as_deref(), to)?;
                new.name = to.name.clone();
            }
            ObjectAction::SetSchema(schema) => new.schema = self.existing_schema(schema)?,
            ObjectAction::RenameColumn(from, to) => {
                let Some(column) = new.columns.iter_mut().find(|(n, _)| *n == from.name) else {
                    let message = format!("column \"{}\" does not exist", from.name);
                    return Err(Diagnostic::new(from.span, SqlState::UNDEFINED_COLUMN, message));
                };
                column.0 = to.name.clone();
            }
            ObjectAction::Ignored => return Ok(Vec::new()),
        }
        let (before, after) = (view.key(), new.key());
        let mut edits = vec![Edit::DropView(before.clone()), Edit::View(Box::new(new))];
        for other in self.catalog.views().filter(|v| v.uses.contains(&before)) {
            let uses = other.uses.iter().map(|u| if *u == before { after.clone() } else { u.clone() }).collect();
            edits.push(Edit::View(Box::new(View { uses, ..(**other).clone() })));
        }
        Ok(edits)
    }

    fn alter_named_table(&mut self, table: &Table, action: &ObjectAction) -> Result<Vec<Edit>> {
        let mut new = table.clone();
        match action {
            ObjectAction::RenameTo(to) => {
                self.free(table.schema.as_deref(), to)?;
                new.name = to.name.clone();
            }
            ObjectAction::SetSchema(schema) => new.schema = self.existing_schema(schema)?,
            ObjectAction::RenameColumn(from, to) => {
                let at = self.column_of(table, from)?;
                new.columns[at].name = to.name.clone();
            }
            ObjectAction::Ignored => return Ok(Vec::new()),
        }
        Ok(vec![Edit::Table(Box::new(TableEdit { table: new, rows: None, validate: Vec::new() }))])
    }

    fn alter_named_sequence(&mut self, from: &Arc<str>, action: &ObjectAction) -> Result<Vec<Edit>> {
        let (schema, bare) = match from.split_once('.') {
            Some((schema, bare)) if self.catalog.has_schema(schema) => (Some(schema.to_string()), bare),
            _ => (None, &**from),
        };
        let to = match action {
            ObjectAction::RenameTo(to) => {
                self.free(schema.as_deref(), to)?;
                key(schema.as_deref(), &to.name)
            }
            ObjectAction::SetSchema(schema) => key(self.existing_schema(schema)?.as_deref(), bare),
            ObjectAction::RenameColumn(from, _) => {
                return Err(Diagnostic::new(from.span, SqlState::WRONG_OBJECT_TYPE, "cannot rename this column"));
            }
            ObjectAction::Ignored => return Ok(Vec::new()),
        };
        let mut edits = vec![Edit::RenameSequence(from.clone(), to.clone())];
        for table in self.catalog.tables() {
            let draws = |c: &crate::catalog::Column| {
                c.default.as_ref().is_some_and(|d| super::depend::draws_from(d, from, self.catalog))
            };
            if table.columns.iter().any(|c| c.sequence.as_ref() == Some(from) || draws(c)) {
                let mut table = (**table).clone();
                rename_draws(&mut table, from, &to);
                edits.push(Edit::Table(Box::new(TableEdit { table, rows: None, validate: Vec::new() })));
            }
        }
        Ok(edits)
    }

    fn alter_named_index(&mut self, table: &Table, at: usize, action: &ObjectAction) -> Result<Vec<Edit>> {
        let ObjectAction::RenameTo(to) = action else { return Ok(Vec::new()) };
        self.free(table.schema.as_deref(), to)?;
        let mut table = table.clone();
        table.indexes[at].name = to.name.clone();
        Ok(vec![Edit::Table(Box::new(TableEdit { table, rows: None, validate: Vec::new() }))])
    }

    fn rename_schema(&mut self, alter: &ast::AlterObject) -> Result<Define> {
        let name = &alter.name.name;
        self.existing_schema(name)?;
        if let ObjectAction::RenameTo(_) = &alter.action {
            return Err(Diagnostic::unsupported(name.span, Construct::ALTER_SCHEMA_RENAME));
        }
        Ok(Define::nothing("ALTER SCHEMA"))
    }
}

fn noun(object: DropObject) -> &'static str {
    match object {
        DropObject::Table => "table",
        DropObject::Index => "index",
        DropObject::Sequence => "sequence",
        DropObject::Function => "function",
        DropObject::Procedure => "procedure",
        DropObject::Routine => "routine",
        DropObject::View => "view",
        DropObject::MaterializedView => "materialized view",
        DropObject::Schema => "schema",
        DropObject::Type => "type",
        DropObject::Domain => "domain",
    }
}

/// The command tag.
fn drop_tag(object: DropObject) -> &'static str {
    match object {
        DropObject::Table => "DROP TABLE",
        DropObject::Index => "DROP INDEX",
        DropObject::Sequence => "DROP SEQUENCE",
        DropObject::Function => "DROP FUNCTION",
        DropObject::Procedure => "DROP PROCEDURE",
        DropObject::Routine => "DROP ROUTINE",
        DropObject::View => "DROP VIEW",
        DropObject::MaterializedView => "DROP MATERIALIZED VIEW",
        DropObject::Schema => "DROP SCHEMA",
        DropObject::Type => "DROP TYPE",
        DropObject::Domain => "DROP DOMAIN",
    }
}

/// The command tag of ALTER.
pub(super) fn alter_tag(object: DropObject) -> &'static str {
    match object {
        DropObject::Index => "ALTER INDEX",
        DropObject::Sequence => "ALTER SEQUENCE",
        DropObject::View => "ALTER VIEW",
        DropObject::MaterializedView => "ALTER MATERIALIZED VIEW",
        DropObject::Schema => "ALTER SCHEMA",
        _ => "ALTER TABLE",
    }
}
