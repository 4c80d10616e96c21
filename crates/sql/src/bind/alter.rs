//! ALTER TABLE.
//!
//! All actions of a statement work on one [`Alteration`]: a copy of the table that ends as what the catalog will hold,
//! and for each of its columns an expression over the *old* row, so that rows are written anew once, however many
//! columns come, go or change their type. As in PostgreSQL, what is dropped goes first and constraints come last.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::coerce::cast;
use super::constraint::{Draft, Names};
use super::depend::{Object, each_column, reads};
use super::expr::constant;
use super::{Binder, Result};
use crate::ast::{self, AlterAction as A, ColumnAction, Ident};
use crate::catalog::{Identity, Table, TableId, key, names};
use crate::error::{Diagnostic, SqlState};
use crate::refused::Construct;
use crate::typed::{Change, Define, Edit, Expr, ExprKind, TableEdit, Validate};
use crate::types::{CastLevel, Type};
use crate::value::Value;

/// A table on its way to what it will be.
struct Alteration {
    draft: Draft,
    /// As it was.
    old: Arc<Table>,
    /// For each column of the draft, its value from the old row; `None` while rows stay as they are.
    rows: Option<Vec<Expr>>,
    validate: Vec<Validate>,
    /// Edits of other things, before and behind that of the table.
    before: Vec<Edit>,
    behind: Vec<Edit>,
    notices: Vec<Arc<str>>,
}

impl Binder<'_> {
    /// `ALTER TABLE`
    pub(super) fn alter_table(&mut self, alter: &ast::AlterTable) -> Result<Define> {
        let schema = alter.table.qualifier_name();
        let Some(table) = self.catalog.find_table(schema, &alter.table.name.name).cloned() else {
            if let Some(define) = self.alter_other(alter)? {
                return Ok(define);
            }
            if alter.if_exists {
                let notice = format!("relation \"{}\" does not exist, skipping", alter.table.name.name);
                return Ok(Define::Change(Arc::new(Change::nothing("ALTER TABLE", vec![notice.into()]))));
            }
            return Err(self.no_relation(&alter.table));
        };
        let names = Names::of(self.catalog, table.schema.as_deref());
        let mut work = Alteration {
            draft: Draft { table: (*table).clone(), names, is_new: false },
            old: table,
            rows: None,
            validate: Vec::new(),
            before: Vec::new(),
            behind: Vec::new(),
            notices: Vec::new(),
        };
        let mut actions: Vec<&A> = alter.actions.iter().collect();
        actions.sort_by_key(|action| pass(action));
        for action in actions {
            self.alter_action(action, &mut work)?;
        }
        work.draft.table.checks.sort_by(|a, b| a.name.cmp(&b.name));
        let Alteration { draft, rows, validate, before, behind, notices, .. } = work;
        let mut edits = before;
        edits.push(Edit::Table(Box::new(TableEdit { table: draft.table, rows, validate })));
        edits.extend(behind);
        Ok(Define::Change(Arc::new(Change { tag: "ALTER TABLE", edits, notices, fill: None })))
    }

    /// Dumps say ALTER TABLE of views and sequences too.
    fn alter_other(&mut self, alter: &ast::AlterTable) -> Result<Option<Define>> {
        let schema = alter.table.qualifier_name();
        let name = &alter.table.name.name;
        let is_view = self.catalog.find_view(schema, name).is_some();
        if !is_view && self.catalog.find_sequence(schema, name).is_none() {
            return Ok(None);
        }
        let object = if is_view { ast::DropObject::View } else { ast::DropObject::Sequence };
        let action = match &alter.actions[..] {
            [A::RenameTo(to)] => ast::ObjectAction::RenameTo(to.clone()),
            [A::SetSchema(schema)] => ast::ObjectAction::SetSchema(schema.clone()),
            [A::RenameColumn(from, to)] => ast::ObjectAction::RenameColumn(from.clone(), to.clone()),
            all if all.iter().all(|a| matches!(a, A::Ignored)) => ast::ObjectAction::Ignored,
            _ => {
                let message = format!("\"{name}\" is not a table");
                return Err(Diagnostic::new(alter.table.name.span, SqlState::WRONG_OBJECT_TYPE, message));
            }
        };
        let alter = ast::AlterObject { object, if_exists: alter.if_exists, name: alter.table.clone(), action };
        self.alter_object(&alter, "ALTER TABLE").map(Some)
    }

    fn alter_action(&mut self, action: &A, work: &mut Alteration) -> Result<()> {
        match action {
            A::AddColumn { if_not_exists, def } => self.add_column(*if_not_exists, def, work),
            A::DropColumn { name, if_exists, cascade } => self.drop_column(name, *if_exists, *cascade, work),
            A::AlterColumn(name, action) => self.alter_column(name, action, work),
            A::RenameColumn(from, to) => self.rename_column(from, to, work),
            A::AddConstraint(constraint) => self.add_constraint(constraint, work),
            A::DropConstraint { name, if_exists, cascade } => self.drop_constraint(name, *if_exists, *cascade, work),
            A::ValidateConstraint(name) => self.validate_constraint(name, work),
            A::AlterConstraint(name, deferral) => {
                let table = &mut work.draft.table;
                let Some(fk) = table.foreign_keys.iter_mut().find(|fk| fk.name == name.name) else {
                    let known = constraint_exists(table, &name.name);
                    let message = match known {
                        true => format!(
                            "constraint \"{}\" of relation \"{}\" is not a foreign key constraint",
                            name.name, table.name
                        ),
                        false => no_constraint(table, name),
                    };
                    let state = if known { SqlState::WRONG_OBJECT_TYPE } else { SqlState::UNDEFINED_OBJECT };
                    return Err(Diagnostic::new(name.span, state, message));
                };
                fk.deferral = *deferral;
                Ok(())
            }
            A::RenameConstraint(from, to) => rename_constraint(from, to, &mut work.draft),
            A::RenameTo(to) => {
                let table = &mut work.draft.table;
                if self.catalog.is_relation(&key(table.schema.as_deref(), &to.name)) {
                    let message = format!("relation \"{}\" already exists", to.name);
                    return Err(Diagnostic::new(to.span, SqlState::DUPLICATE_TABLE, message));
                }
                table.name = to.name.clone();
                Ok(())
            }
            A::SetSchema(schema) => {
                work.draft.table.schema = self.existing_schema(schema)?;
                let new = work.draft.table.schema.clone();
                let owned = |s: &&Arc<crate::catalog::Sequence>| {
                    s.owner.as_ref().is_some_and(|(table, _)| *table == work.draft.table.id)
                };
                let moved: Vec<Arc<str>> = self.catalog.sequences().filter(owned).map(|s| s.name.clone()).collect();
                for from in moved {
                    let bare = from.rsplit_once('.').map_or(&*from, |(_, name)| name);
                    let to = key(new.as_deref(), bare);
                    rename_draws(&mut work.draft.table, &from, &to);
                    work.before.push(Edit::RenameSequence(from, to));
                }
                Ok(())
            }
            A::Ignored => Ok(()),
        }
    }

    fn add_column(&mut self, if_not_exists: bool, def: &ast::ColumnDef, work: &mut Alteration) -> Result<()> {
        let (name, table) = (&def.name.name, &work.draft.table.name);
        if if_not_exists && work.draft.table.column(name).is_some() {
            let notice = format!("column \"{name}\" of relation \"{table}\" already exists, skipping");
            work.notices.push(notice.into());
            return Ok(());
        }
        let mut edits = Vec::new();
        let column = self.column(def, &mut work.draft, &mut edits)?;
        work.before.extend(edits);
        let (ty, default) = (column.ty, column.default.clone());
        if column.not_null {
            work.validate.push(Validate::NotNull(work.draft.table.columns.len()));
        }
        work.draft.table.columns.push(column);
        self.generated_column(def, &mut work.draft.table)?;
        let generated = work.draft.table.columns.last().and_then(|c| c.generated.clone());
        let value = match (generated, default) {
            // Written over the new row; the values it needs are those of the old one.
            (Some(generated), _) => over_old(generated.expr, work.old_values()),
            (None, Some(default)) => default,
            (None, None) => constant(Value::Null, ty),
        };
        work.rows_mut().push(value);
        let before = counts(&work.draft.table);
        self.constraints(std::slice::from_ref(def), &[], &mut work.draft)?;
        work.note_new(before);
        Ok(())
    }

    fn drop_column(&mut self, name: &Ident, if_exists: bool, cascade: bool, work: &mut Alteration) -> Result<()> {
        let table = &work.draft.table;
        let Some(at) = table.column(&name.name) else {
            if if_exists {
                let notice =
                    format!("column \"{}\" of relation \"{}\" does not exist, skipping", name.name, table.name);
                work.notices.push(notice.into());
                return Ok(());
            }
            return Err(self.no_column_of(table, name));
        };
        // Dependencies are those of the table as it was; only what was added since cannot be asked about.
        if let Some(was) = work.old.column(&name.name) {
            let (edits, notices) = self.doom(vec![Object::Column(work.old.id, was)], cascade, name.span)?;
            work.notices.extend(notices);
            // What concerns this table is seen to below.
            let others = edits.into_iter().filter(|e| !matches!(e, Edit::Table(e) if e.table.id == work.old.id));
            work.before.extend(others);
        }
        let gone = dependent_generated(&work.draft.table, at);
        for at in gone.into_iter().rev() {
            self.remove_column(at, work);
        }
        Ok(())
    }

    /// A column goes; everything behind it moves up by one.
    fn remove_column(&mut self, at: usize, work: &mut Alteration) {
        let id = work.old.id;
        work.rows_mut().remove(at);
        let shift = |c: &mut usize| *c -= usize::from(*c > at);
        remove_column_from(&mut work.draft.table, at);
        work.validate.retain(|v| !matches!(v, Validate::NotNull(c) if *c == at));
        for check in &mut work.validate {
            if let Validate::NotNull(column) = check {
                shift(column);
            }
        }
        let catalog = self.catalog;
        let dropped_views: Vec<Arc<str>> =
            work.before.iter().filter_map(|e| if let Edit::DropView(v) = e { Some(v.clone()) } else { None }).collect();
        let renumber = |query: &mut crate::typed::Query| {
            each_column(query, &mut Vec::new(), &mut |table, col| {
                if table == id && *col as usize > at {
                    *col -= 1;
                }
            });
        };
        for view in catalog.views().filter(|v| reads(&v.query, id, None) && !dropped_views.contains(&v.key())) {
            let pending = work.behind.iter_mut().find_map(|e| match e {
                Edit::View(v) if v.key() == view.key() => Some(v),
                _ => None,
            });
            match pending {
                Some(view) => renumber(&mut view.query),
                None => {
                    let mut view = (**view).clone();
                    renumber(&mut view.query);
                    work.behind.push(Edit::View(Box::new(view)));
                }
            }
        }
        // Children that point at a column behind it.
        let mut children: BTreeMap<TableId, Table> = BTreeMap::new();
        for (child, key) in catalog.references_to(id).filter(|(child, _)| child.id != id) {
            let pending = work.before.iter().rev().find_map(|e| match e {
                Edit::Table(e) if e.table.id == child.id => Some(e.table.clone()),
                _ => None,
            });
            let child = children.entry(child.id).or_insert_with(|| pending.unwrap_or_else(|| (**child).clone()));
            if let Some(fk) = child.foreign_keys.get_mut(key) {
                fk.parent_columns.iter_mut().for_each(shift);
            }
        }
        for table in children.into_values() {
            work.before.push(Edit::Table(Box::new(TableEdit { table, rows: None, validate: Vec::new() })));
        }
    }

    fn alter_column(&mut self, name: &Ident, action: &ColumnAction, work: &mut Alteration) -> Result<()> {
        let table = &work.draft.table;
        let at = table.column(&name.name).ok_or_else(|| self.no_column_of(table, name))?;
        let (column, shown) = (&table.columns[at], format!("column \"{}\" of relation \"{}\"", name.name, table.name));
        let fail = |state, message: String| Err(Diagnostic::new(name.span, state, message));
        match action {
            ColumnAction::Type(ty, using) => return self.alter_column_type(at, name, ty, using.as_ref(), work),
            ColumnAction::SetDefault(_) | ColumnAction::DropDefault if column.identity.is_some() => {
                return fail(SqlState::SYNTAX_ERROR, format!("{shown} is an identity column"));
            }
            ColumnAction::SetDefault(_) | ColumnAction::DropDefault if column.generated.is_some() => {
                return fail(SqlState::SYNTAX_ERROR, format!("{shown} is a generated column"));
            }
            ColumnAction::SetDefault(expr) => {
                let default = self.column_default(expr, &name.name, column.ty)?;
                work.draft.table.columns[at].default = Some(default);
            }
            ColumnAction::DropDefault => work.draft.table.columns[at].default = None,
            ColumnAction::SetNotNull => {
                work.validate.push(Validate::NotNull(at));
                work.draft.table.columns[at].not_null = true;
            }
            ColumnAction::DropNotNull => {
                if column.identity.is_some() {
                    return fail(SqlState::SYNTAX_ERROR, format!("{shown} is an identity column"));
                }
                if table.primary_key().is_some_and(|key| key.columns.contains(&at)) {
                    let message = format!("column \"{}\" is in a primary key", name.name);
                    return fail(SqlState::INVALID_TABLE_DEFINITION, message);
                }
                work.draft.table.columns[at].not_null = false;
            }
            ColumnAction::AddIdentity(identity) => self.add_identity(at, name, identity, work)?,
            ColumnAction::SetIdentity { always, options } => {
                let Some(identity) = column.identity else {
                    return fail(
                        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                        format!("{shown} is not an identity column"),
                    );
                };
                let identity = match always {
                    None => identity,
                    Some(true) => Identity::Always,
                    Some(false) => Identity::ByDefault,
                };
                let sequence = column.sequence.as_ref().and_then(|name| self.catalog.sequence(name)).cloned();
                work.draft.table.columns[at].identity = Some(identity);
                if let Some(sequence) = sequence {
                    work.before.extend(self.changed_sequence((*sequence).clone(), options)?);
                }
            }
            ColumnAction::DropIdentity { if_exists } => {
                if column.identity.is_none() && *if_exists {
                    work.notices.push(format!("{shown} is not an identity column, skipping").into());
                    return Ok(());
                }
                if column.identity.is_none() {
                    return fail(
                        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                        format!("{shown} is not an identity column"),
                    );
                }
                let column = &mut work.draft.table.columns[at];
                (column.identity, column.default) = (None, None);
                if let Some(sequence) = column.sequence.take() {
                    work.behind.push(Edit::DropSequence(sequence));
                }
            }
            ColumnAction::DropExpression { if_exists } => {
                if column.generated.is_none() && *if_exists {
                    work.notices.push(format!("{shown} is not a stored generated column, skipping").into());
                    return Ok(());
                }
                if column.generated.is_none() {
                    return fail(
                        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                        format!("{shown} is not a stored generated column"),
                    );
                }
                work.draft.table.columns[at].generated = None;
            }
            ColumnAction::Ignored => {}
        }
        Ok(())
    }

    fn add_identity(
        &mut self,
        at: usize,
        name: &Ident,
        identity: &ast::IdentityDef,
        work: &mut Alteration,
    ) -> Result<()> {
        let table = &work.draft.table;
        let (column, shown) = (&table.columns[at], format!("column \"{}\" of relation \"{}\"", name.name, table.name));
        let fail =
            |message: String| Err(Diagnostic::new(name.span, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        self.identity_type(column, name.span)?;
        if column.identity.is_some() {
            return fail(format!("{shown} is already an identity column"));
        }
        if column.default.is_some() {
            return fail(format!("{shown} already has a default value"));
        }
        if !column.not_null {
            return fail(format!("{shown} must be declared NOT NULL before identity can be added"));
        }
        let ty = column.ty;
        let named = work.draft.sequence(&name.name, ty);
        let mut sequence = self.sequence_with(named, &identity.options, work.draft.table.schema.as_deref())?;
        sequence.owner = Some((work.old.id, name.name.clone()));
        let default = self.next_value(&sequence.name, ty, name.span)?;
        let column = &mut work.draft.table.columns[at];
        column.default = Some(default);
        column.sequence = Some(sequence.name.clone());
        column.identity = Some(if identity.always { Identity::Always } else { Identity::ByDefault });
        work.before.push(Edit::Sequence(sequence));
        Ok(())
    }

    fn alter_column_type(
        &mut self,
        at: usize,
        name: &Ident,
        ty: &ast::TypeName,
        using: Option<&ast::Expr>,
        work: &mut Alteration,
    ) -> Result<()> {
        let (to, _) = self.type_name(ty)?;
        let from = work.draft.table.columns[at].ty;
        let id = work.old.id;
        if let Some(view) = self.catalog.views().find(|v| reads(&v.query, id, work.old.column(&name.name))) {
            let message = "cannot alter type of a column used by a view or rule";
            let detail = format!("rule _RETURN on view {} depends on column \"{}\"", view.key(), name.name);
            return Err(Diagnostic::new(name.span, SqlState::FEATURE_NOT_SUPPORTED, message).detail(detail));
        }
        if work.draft.table.columns.iter().any(|c| c.generated.as_ref().is_some_and(|g| mentions(&g.expr, at))) {
            let message = "cannot alter type of a column used by a generated column";
            return Err(Diagnostic::new(name.span, SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let current = work.old_values()[at].clone();
        let value = match using {
            None => {
                let converted = self.convert(current, to, CastLevel::Assignment, name.span)?;
                converted.ok_or_else(|| {
                    let message =
                        format!("column \"{}\" cannot be cast automatically to type {}", name.name, to.base());
                    Diagnostic::new(name.span, SqlState::DATATYPE_MISMATCH, message)
                        .hint(format!("You might need to specify \"USING {}::{}\".", name.name, to))
                })?
            }
            Some(expr) => {
                let old = work.old.clone();
                let bound =
                    self.over_row(&old, expr.span, |b| b.in_clause("transform expressions", |b| b.expr(expr)))?;
                self.convert(bound, to, CastLevel::Assignment, expr.span)?.ok_or_else(|| {
                    let message = format!(
                        "result of USING clause for column \"{}\" cannot be cast automatically to type {}",
                        name.name,
                        to.base()
                    );
                    Diagnostic::new(expr.span, SqlState::DATATYPE_MISMATCH, message)
                        .hint("You might need to add an explicit cast.")
                })?
            }
        };
        work.rows_mut()[at] = value;
        if let Some(default) = work.draft.table.columns[at].default.clone() {
            let converted = self.convert(default, to, CastLevel::Assignment, name.span)?.ok_or_else(|| {
                let message =
                    format!("default for column \"{}\" cannot be cast automatically to type {}", name.name, to.base());
                Diagnostic::new(name.span, SqlState::DATATYPE_MISMATCH, message)
            })?;
            work.draft.table.columns[at].default = Some(converted);
        }
        let column = &mut work.draft.table.columns[at];
        column.ty = to;
        if let Some(sequence) = column.sequence.as_ref().and_then(|s| self.catalog.sequence(s))
            && column.identity.is_some()
            && matches!(to, Type::Int2 | Type::Int4 | Type::Int8)
        {
            let options = ast::SequenceOptions { ty: Some(to), span: name.span, ..Default::default() };
            work.before.extend(self.changed_sequence((**sequence).clone(), &options)?);
        }
        if from != to {
            self.rebind(at, name, work)?;
        }
        Ok(())
    }

    /// Checks and indexes that look at a column whose type has changed mean something new.
    fn rebind(&mut self, at: usize, name: &Ident, work: &mut Alteration) -> Result<()> {
        let table = work.draft.table.clone();
        let stale = |_: Diagnostic| Diagnostic::unsupported(name.span, Construct::ALTER_TYPE_AFTER_RENAME);
        for check in work.draft.table.checks.iter_mut().filter(|c| mentions(&c.expr, at)) {
            let source = check.source.clone();
            check.expr = self.check_condition(&source, &table).map_err(stale)?;
            work.validate.push(Validate::Check(check.name.clone()));
        }
        for index in &mut work.draft.table.indexes {
            if let Some(special) = index.special.clone().filter(|s| s.columns.contains(&at)) {
                index.special = self.index(&special.source, &table).map_err(stale)?.special;
            }
        }
        for fk in work.draft.table.foreign_keys.iter().filter(|fk| fk.columns.contains(&at)) {
            work.validate.push(Validate::ForeignKey(fk.name.clone()));
        }
        Ok(())
    }

    fn rename_column(&mut self, from: &Ident, to: &Ident, work: &mut Alteration) -> Result<()> {
        let table = &work.draft.table;
        let at = table.column(&from.name).ok_or_else(|| {
            let message = format!("column \"{}\" does not exist", from.name);
            Diagnostic::new(from.span, SqlState::UNDEFINED_COLUMN, message)
        })?;
        if table.column(&to.name).is_some() {
            let message = format!("column \"{}\" of relation \"{}\" already exists", to.name, table.name);
            return Err(Diagnostic::new(to.span, SqlState::DUPLICATE_COLUMN, message));
        }
        work.draft.table.columns[at].name = to.name.clone();
        for sequence in self.catalog.sequences() {
            if sequence.owner.as_ref().is_some_and(|(table, column)| *table == work.old.id && *column == from.name) {
                let owner = Some((work.old.id, to.name.clone()));
                work.behind.push(Edit::Sequence(crate::catalog::Sequence { owner, ..(**sequence).clone() }));
            }
        }
        Ok(())
    }

    fn add_constraint(&mut self, constraint: &ast::TableConstraint, work: &mut Alteration) -> Result<()> {
        let before = counts(&work.draft.table);
        let nullable: Vec<bool> = work.draft.table.columns.iter().map(|c| c.not_null).collect();
        self.constraint(constraint, &mut work.draft)?;
        for (at, was) in nullable.into_iter().enumerate() {
            if !was && work.draft.table.columns[at].not_null {
                work.validate.push(Validate::NotNull(at));
            }
        }
        work.note_new(before);
        Ok(())
    }

    fn drop_constraint(&mut self, name: &Ident, if_exists: bool, cascade: bool, work: &mut Alteration) -> Result<()> {
        let table = &work.draft.table;
        if !constraint_exists(table, &name.name) {
            if if_exists {
                let notice =
                    format!("constraint \"{}\" of relation \"{}\" does not exist, skipping", name.name, table.name);
                work.notices.push(notice.into());
                return Ok(());
            }
            return Err(Diagnostic::new(name.span, SqlState::UNDEFINED_OBJECT, no_constraint(table, name)));
        }
        let (edits, notices) =
            self.doom(vec![Object::Constraint(work.old.id, name.name.clone())], cascade, name.span)?;
        work.notices.extend(notices);
        let others = edits.into_iter().filter(|e| !matches!(e, Edit::Table(e) if e.table.id == work.old.id));
        work.before.extend(others);
        let table = &mut work.draft.table;
        table.checks.retain(|c| c.name != name.name);
        table.foreign_keys.retain(|k| k.name != name.name);
        table.indexes.retain(|i| i.name != name.name);
        Ok(())
    }

    fn validate_constraint(&mut self, name: &Ident, work: &mut Alteration) -> Result<()> {
        let table = &mut work.draft.table;
        if let Some(check) = table.checks.iter_mut().find(|c| c.name == name.name) {
            if !std::mem::replace(&mut check.validated, true) {
                work.validate.push(Validate::Check(name.name.clone()));
            }
            return Ok(());
        }
        if let Some(fk) = table.foreign_keys.iter_mut().find(|k| k.name == name.name) {
            if !std::mem::replace(&mut fk.validated, true) {
                work.validate.push(Validate::ForeignKey(name.name.clone()));
            }
            return Ok(());
        }
        let known = constraint_exists(table, &name.name);
        let message = match known {
            true => format!(
                "constraint \"{}\" of relation \"{}\" is not a foreign key or check constraint",
                name.name, table.name
            ),
            false => no_constraint(table, name),
        };
        let state = if known { SqlState::WRONG_OBJECT_TYPE } else { SqlState::UNDEFINED_OBJECT };
        Err(Diagnostic::new(name.span, state, message))
    }

    fn no_column_of(&self, table: &Table, name: &Ident) -> Diagnostic {
        match self.column_of(table, name) {
            Err(error) => error,
            Ok(_) => Diagnostic::syntax(name.span, "no such column"),
        }
    }
}

impl Alteration {
    /// The value of each column of the draft, from the old row.
    fn rows_mut(&mut self) -> &mut Vec<Expr> {
        let old = &self.old;
        self.rows.get_or_insert_with(|| old.columns.iter().enumerate().map(|(i, c)| old_column(i, c.ty)).collect())
    }

    fn old_values(&mut self) -> Vec<Expr> {
        self.rows_mut().clone()
    }

    /// Constraints beyond these counts are new: the rows that are there must fulfil them.
    fn note_new(&mut self, (checks, keys): (usize, usize)) {
        let table = &self.draft.table;
        for check in table.checks.iter().skip(checks).filter(|c| c.validated) {
            self.validate.push(Validate::Check(check.name.clone()));
        }
        for fk in table.foreign_keys.iter().skip(keys).filter(|k| k.validated) {
            self.validate.push(Validate::ForeignKey(fk.name.clone()));
        }
    }
}

/// PostgreSQL's order of actions, whatever the order they are written in.
fn pass(action: &A) -> u8 {
    match action {
        A::DropColumn { .. } | A::DropConstraint { .. } => 0,
        A::AlterColumn(_, ColumnAction::Type(..)) => 1,
        A::AddColumn { .. } => 2,
        A::AlterColumn(..) => 3,
        A::AddConstraint(c) => match c.kind {
            ast::TableConstraintKind::ForeignKey(..) => 5,
            _ => 4,
        },
        _ => 6,
    }
}

fn counts(table: &Table) -> (usize, usize) {
    (table.checks.len(), table.foreign_keys.len())
}

fn old_column(at: usize, ty: Type) -> Expr {
    Expr { kind: ExprKind::Column { depth: 0, rel: 0, col: at as u16 }, ty }
}

/// An expression over the new row, written over the old one.
fn over_old(mut expr: Expr, values: Vec<Expr>) -> Expr {
    expr.walk_mut(0, &mut |e, _| match e.kind {
        ExprKind::Column { col, .. } => {
            if let Some(value) = values.get(col as usize) {
                *e = cast(value.clone(), e.ty, false);
            }
            false
        }
        _ => true,
    });
    expr
}

fn mentions(expr: &Expr, column: usize) -> bool {
    let mut found = false;
    expr.walk(0, &mut |e, _| found |= matches!(e.kind, ExprKind::Column { col, .. } if col as usize == column));
    found
}

/// A column and the generated ones that stand on it, ascending.
fn dependent_generated(table: &Table, at: usize) -> Vec<usize> {
    let stands = |c: &crate::catalog::Column| c.generated.as_ref().is_some_and(|g| mentions(&g.expr, at));
    let mut all: Vec<usize> = (0..table.columns.len()).filter(|&i| i == at || stands(&table.columns[i])).collect();
    all.sort_unstable();
    all
}

/// Takes a column out of its table, with what stands on it, and counts the others anew.
fn remove_column_from(table: &mut Table, at: usize) {
    table.columns.remove(at);
    table.indexes.retain(|i| !i.mentions().contains(&at));
    table.checks.retain(|c| !mentions(&c.expr, at));
    let id = table.id;
    table.foreign_keys.retain(|fk| !(fk.columns.contains(&at) || fk.parent == id && fk.parent_columns.contains(&at)));
    let shift = |c: &mut usize| *c -= usize::from(*c > at);
    let shift_expr = |expr: &mut Expr| {
        expr.walk_mut(0, &mut |e, _| {
            if let ExprKind::Column { col, .. } = &mut e.kind
                && *col as usize > at
            {
                *col -= 1;
            }
            true
        });
    };
    for index in &mut table.indexes {
        index.columns.iter_mut().for_each(shift);
        if let Some(special) = &mut index.special {
            let special = Arc::make_mut(special);
            special.columns.iter_mut().for_each(shift);
            special.keys.iter_mut().chain(&mut special.filter).for_each(shift_expr);
        }
    }
    table.checks.iter_mut().for_each(|c| shift_expr(&mut c.expr));
    for fk in &mut table.foreign_keys {
        fk.columns.iter_mut().chain(&mut fk.on_delete_columns).for_each(shift);
        if fk.parent == id {
            fk.parent_columns.iter_mut().for_each(shift);
        }
    }
    for generated in table.columns.iter_mut().filter_map(|c| c.generated.as_mut()) {
        shift_expr(&mut generated.expr);
    }
    for trigger in &mut table.triggers {
        trigger.update_columns.retain(|c| *c != at);
        trigger.update_columns.iter_mut().for_each(shift);
        trigger.when.iter_mut().for_each(shift_expr);
    }
}

/// Defaults draw from a sequence under its new name.
pub(super) fn rename_draws(table: &mut Table, from: &str, to: &Arc<str>) {
    for column in &mut table.columns {
        if column.sequence.as_deref() == Some(from) {
            column.sequence = Some(to.clone());
        }
        if let Some(default) = &mut column.default {
            default.walk_mut(0, &mut |e, _| {
                if let ExprKind::Call(builtin, args) = &mut e.kind
                    && builtin.name == "nextval"
                    && let Some(Expr { kind: ExprKind::Const(Value::Text(name)), .. }) = args.first_mut()
                    && names::is_named(name, from)
                {
                    *name = names::text_of_key(to).into();
                }
                true
            });
        }
    }
}

fn constraint_exists(table: &Table, name: &str) -> bool {
    table.checks.iter().any(|c| &*c.name == name)
        || table.foreign_keys.iter().any(|k| &*k.name == name)
        || table.indexes.iter().any(|i| i.constraint && &*i.name == name)
}

fn no_constraint(table: &Table, name: &Ident) -> String {
    format!("constraint \"{}\" of relation \"{}\" does not exist", name.name, table.name)
}

fn rename_constraint(from: &Ident, to: &Ident, draft: &mut Draft) -> Result<()> {
    let table = &mut draft.table;
    if !constraint_exists(table, &from.name) {
        let message = format!("constraint \"{}\" for table \"{}\" does not exist", from.name, table.name);
        return Err(Diagnostic::new(from.span, SqlState::UNDEFINED_OBJECT, message));
    }
    if constraint_exists(table, &to.name) {
        let message = format!("constraint \"{}\" for relation \"{}\" already exists", to.name, table.name);
        return Err(Diagnostic::new(to.span, SqlState::DUPLICATE_OBJECT, message));
    }
    let rename = |name: &mut Arc<str>| {
        if *name == from.name {
            *name = to.name.clone();
        }
    };
    table.checks.iter_mut().for_each(|c| rename(&mut c.name));
    table.foreign_keys.iter_mut().for_each(|k| rename(&mut k.name));
    table.indexes.iter_mut().for_each(|i| rename(&mut i.name));
    Ok(())
}
