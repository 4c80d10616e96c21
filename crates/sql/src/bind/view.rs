//! Definitions that stand on queries: views, CREATE TABLE AS, materialized views.
//!
//! A view is bound when it is created and stored bound, so that later changes of names cannot change what it shows.
//! Where a query names it, the bound query stands in its place: it refers to nothing outside of itself.

use std::sync::Arc;

use super::{Binder, Result};
use crate::ast::{self, Ident};
use crate::budget;
use crate::catalog::{Catalog, Column, View, key};
use crate::error::{Diagnostic, Span, SqlState};
use crate::refused::Construct;
use crate::typed::{Change, Define, Edit, Fill, Query, Rel, RelSource};
use crate::types::Type;

/// What a node of a view costs where the view is written out.
const NODE_COST: u64 = 500;

impl<'a> Binder<'a> {
    /// The view with this name.
    pub(super) fn view(&self, name: &ast::QualifiedName) -> Option<&'a Arc<View>> {
        self.catalog.find_view(name.qualifier_name(), &name.name.name)
    }

    /// `CREATE [MATERIALIZED] VIEW`
    pub(super) fn create_view(&mut self, create: &ast::CreateView) -> Result<Define> {
        let schema = self.target_schema(&create.name)?;
        let name = &create.name.name;
        let (query, uses) = bind_alone(self.catalog, &create.query)?;
        let columns = named(&query, &create.columns, name.span, "CREATE VIEW")?;
        if let Some(with_data) = create.materialized {
            return self.create_materialized(create, schema, query, columns, with_data);
        }
        let key = key(schema.as_deref(), &name.name);
        let old = self.catalog.view(&key).filter(|_| create.or_replace);
        if let Some(old) = old {
            replaceable(old, &columns, name.span)?;
        } else {
            if create.or_replace && self.catalog.is_relation(&key) {
                let message = format!("\"{}\" is not a view", name.name);
                return Err(Diagnostic::new(name.span, SqlState::WRONG_OBJECT_TYPE, message));
            }
            self.is_taken(&create.name, false, "CREATE VIEW")?;
        }
        let view = View {
            schema,
            name: name.name.clone(),
            columns,
            query: query.into(),
            check: create.check,
            uses,
            stand_in: old.and_then(|old| old.stand_in),
            source: Arc::new(create.clone()),
        };
        if view.check.is_some()
            && let Err(reason) = super::updatable::base(self.catalog, &view)
        {
            let message = "WITH CHECK OPTION is supported only on automatically updatable views";
            return Err(Diagnostic::new(name.span, SqlState::FEATURE_NOT_SUPPORTED, message).hint(reason));
        }
        let mut edits = vec![Edit::View(Box::new(view.clone()))];
        if old.is_some() {
            let mut catalog = self.catalog.clone();
            catalog.add_view(view.clone());
            rebind_users(&mut catalog, &view.key(), name.span, &mut edits)?;
        }
        Ok(Define::Change(Arc::new(Change::new("CREATE VIEW", edits))))
    }

    fn create_materialized(
        &mut self,
        create: &ast::CreateView,
        schema: Option<Arc<str>>,
        query: Query,
        columns: Vec<(Arc<str>, Type)>,
        with_data: bool,
    ) -> Result<Define> {
        let tag = if with_data { "SELECT" } else { "CREATE MATERIALIZED VIEW" };
        if let Some(skipped) = self.is_taken(&create.name, create.if_not_exists, "CREATE MATERIALIZED VIEW")? {
            return Ok(skipped);
        }
        let mut change = self.table_of(schema, create.name.name.name.clone(), columns, query.clone(), with_data, tag);
        if let Some(Edit::AddTable(table)) = change.edits.first_mut() {
            table.materialized = Some(Arc::new(query));
        }
        Ok(Define::Change(Arc::new(change)))
    }

    /// `REFRESH MATERIALIZED VIEW`
    pub(super) fn refresh(&mut self, refresh: &ast::Refresh) -> Result<Define> {
        let table = self.table(&refresh.name)?;
        let Some(query) = table.materialized.clone() else {
            let message = format!("\"{}\" is not a materialized view", table.name);
            return Err(Diagnostic::new(refresh.name.name.span, SqlState::FEATURE_NOT_SUPPORTED, message));
        };
        let mut change = Change::new("REFRESH MATERIALIZED VIEW", vec![Edit::Clear(table.id)]);
        change.fill = refresh.with_data.then_some(Fill { table: table.id, query });
        Ok(Define::Change(Arc::new(change)))
    }

    /// `CREATE TABLE ... AS`
    pub(super) fn create_table_as(&mut self, create: &ast::CreateTableAs) -> Result<Define> {
        let schema = self.target_schema(&create.name)?;
        if let Some(skipped) = self.is_taken(&create.name, create.if_not_exists, "CREATE TABLE AS")? {
            return Ok(skipped);
        }
        let query = self.query(&create.query)?;
        let columns = named(&query, &create.columns, create.name.name.span, "CREATE TABLE AS")?;
        let tag = if create.with_data { "SELECT" } else { "CREATE TABLE AS" };
        let name = create.name.name.name.clone();
        Ok(Define::Change(Arc::new(self.table_of(schema, name, columns, query, create.with_data, tag))))
    }

    /// A table with the columns of a query, and its rows.
    fn table_of(
        &self,
        schema: Option<Arc<str>>,
        name: Arc<str>,
        columns: Vec<(Arc<str>, Type)>,
        query: Query,
        with_data: bool,
        tag: &'static str,
    ) -> Change {
        let mut table = self.draft(schema, name).table;
        table.columns = columns.into_iter().map(|(name, ty)| Column::plain(name, ty)).collect();
        let fill = with_data.then(|| Fill { table: table.id, query: Arc::new(query) });
        Change { tag, edits: vec![Edit::AddTable(Box::new(table))], notices: Vec::new(), fill }
    }

    /// A view as a relation of FROM.
    pub(super) fn view_rel(&mut self, view: &View, span: Span) -> Result<Rel> {
        self.uses.push(view.key());
        // Its query is shared, but whoever walks or plans it meets every copy: views of views of views double at each
        // level.
        let mut size = 1;
        view.query.walk(0, &mut |_, _| size += 1);
        budget::spend(size * NODE_COST).map_err(|cut| Diagnostic::new(span, cut.state, cut.message.to_string()))?;
        let source = RelSource::Query { query: view.query.clone(), lateral: false };
        Ok(Rel { alias: view.name.clone(), source, columns: view.columns.clone() })
    }
}

/// A view that is replaced shows something else wherever it is used.
fn rebind_users(catalog: &mut Catalog, changed: &Arc<str>, span: Span, edits: &mut Vec<Edit>) -> Result<()> {
    let users: Vec<Arc<View>> = catalog.views().filter(|v| v.uses.contains(changed)).cloned().collect();
    for user in users {
        let (query, uses) = bind_alone(catalog, &user.source.query).map_err(|error| match error.state.is_cut() {
            true => error,
            false => Diagnostic::unsupported(span, Construct::REPLACE_VIEW_AFTER_RENAME),
        })?;
        let view = View { query: query.into(), uses, ..(*user).clone() };
        catalog.add_view(view.clone());
        edits.push(Edit::View(Box::new(view)));
        rebind_users(catalog, &user.key(), span, edits)?;
    }
    Ok(())
}

/// Binds a query that sees nothing but the catalog; also which views it names.
fn bind_alone(catalog: &Catalog, query: &ast::Query) -> Result<(Query, Vec<Arc<str>>)> {
    let mut binder = Binder::new(catalog, Default::default());
    let query = binder.query(query)?;
    let mut uses = binder.uses;
    uses.sort();
    uses.dedup();
    Ok((query, uses))
}

/// The columns of a query under the names given for them.
fn named(query: &Query, names: &[Ident], span: Span, command: &str) -> Result<Vec<(Arc<str>, Type)>> {
    if names.len() > query.columns.len() {
        let message = match command {
            "CREATE VIEW" => "CREATE VIEW specifies more column names than columns",
            _ => "too many column names were specified",
        };
        return Err(Diagnostic::syntax(span, message));
    }
    let mut columns: Vec<(Arc<str>, Type)> = Vec::new();
    for (at, column) in query.columns.iter().enumerate() {
        let name = names.get(at).map_or(&column.name, |n| &n.name).clone();
        if columns.iter().any(|(known, _)| *known == name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Diagnostic::new(span, SqlState::DUPLICATE_COLUMN, message));
        }
        if matches!(column.ty, Type::Record | Type::Void) {
            let message = format!("column \"{name}\" has pseudo-type {}", column.ty);
            return Err(Diagnostic::new(span, SqlState::INVALID_TABLE_DEFINITION, message));
        }
        columns.push((name, column.ty));
    }
    Ok(columns)
}

/// OR REPLACE may only add columns at the end.
fn replaceable(old: &View, new: &[(Arc<str>, Type)], span: Span) -> Result<()> {
    let fail = |message: String| Err(Diagnostic::new(span, SqlState::INVALID_TABLE_DEFINITION, message));
    if new.len() < old.columns.len() {
        return fail("cannot drop columns from view".into());
    }
    for ((was, from), (is, to)) in old.columns.iter().zip(new) {
        if was != is {
            return match fail(format!("cannot change name of view column \"{was}\" to \"{is}\"")) {
                Err(error) => {
                    Err(error.hint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead."))
                }
                Ok(()) => Ok(()),
            };
        }
        if from != to {
            return fail(format!("cannot change data type of view column \"{was}\" from {from} to {to}"));
        }
    }
    Ok(())
}
