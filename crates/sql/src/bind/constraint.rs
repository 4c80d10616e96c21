//! Constraints, and the names PostgreSQL makes up for those that have none.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::coerce::{category, common_type};
use super::from::table_rel;
use super::hint::did_you_mean;
use super::{Binder, Result};
use crate::ast::{self, ColumnConstraintKind as K, Ident, TableConstraintKind};
use crate::catalog::{Catalog, Check, ForeignKey, Index, Sequence, Table, key};
use crate::error::{Diagnostic, Span, SqlState};
use crate::typed::ExprKind;
use crate::types::Type;

/// A table in the making.
pub(super) struct Draft {
    pub table: Table,
    pub names: Names,
    /// By CREATE TABLE rather than ALTER TABLE.
    pub is_new: bool,
}

/// Names that are taken: relations share one space, constraints another.
pub(super) struct Names {
    relations: BTreeSet<Arc<str>>,
    constraints: BTreeSet<Arc<str>>,
}

impl Names {
    /// Those of a schema; `None` is `public`.
    pub(super) fn of(catalog: &Catalog, schema: Option<&str>) -> Names {
        let mut names = Names { relations: BTreeSet::new(), constraints: BTreeSet::new() };
        for sequence in catalog.sequences() {
            let (inside, name) = match sequence.name.split_once('.') {
                Some((inside, name)) if catalog.has_schema(inside) => (Some(inside), name),
                _ => (None, &*sequence.name),
            };
            if inside == schema {
                names.relations.insert(name.into());
            }
        }
        names.relations.extend(catalog.views().filter(|v| v.schema.as_deref() == schema).map(|v| v.name.clone()));
        for table in catalog.tables().filter(|t| t.schema.as_deref() == schema) {
            names.relations.insert(table.name.clone());
            names.relations.extend(table.indexes.iter().map(|i| i.name.clone()));
            names.constraints.extend(table.checks.iter().map(|c| c.name.clone()));
            names.constraints.extend(table.foreign_keys.iter().map(|k| k.name.clone()));
        }
        names
    }

    pub(super) fn is_relation(&self, name: &str) -> bool {
        self.relations.contains(name)
    }

    pub(super) fn take(&mut self, name: &Arc<str>) {
        self.relations.insert(name.clone());
    }

    /// `table_column_suffix`, with a number behind it if that is taken.
    pub(super) fn choose(&mut self, table: &str, columns: &[&str], suffix: &str) -> Arc<str> {
        let columns = columns.join("_");
        let suffixes = std::iter::once(suffix.to_string()).chain((1..).map(|n| format!("{suffix}{n}")));
        let mut names = suffixes.map(|suffix| object_name(table, &columns, &suffix));
        let free = names.find(|n| !self.relations.contains(&**n) && !self.constraints.contains(&**n));
        let name: Arc<str> = free.expect("there are more numbers than names").into();
        self.relations.insert(name.clone());
        name
    }
}

/// The parts joined by underscores, the longer of the first two cut until the whole fits into 63 bytes.
fn object_name(table: &str, columns: &str, suffix: &str) -> String {
    let (mut a, mut b) = (table, columns);
    let extra = suffix.len() + 1 + usize::from(!columns.is_empty());
    while a.len() + b.len() + extra > 63 {
        let longer = if a.len() > b.len() { &mut a } else { &mut b };
        match longer.char_indices().next_back() {
            Some((cut, _)) => *longer = &longer[..cut],
            None => break,
        }
    }
    match b.is_empty() {
        true => format!("{a}_{suffix}"),
        false => format!("{a}_{b}_{suffix}"),
    }
}

impl Draft {
    /// The sequence of a serial column.
    pub(super) fn sequence(&mut self, column: &str, ty: Type) -> Sequence {
        let name = self.names.choose(&self.table.name, &[column], "seq");
        Sequence { name: key(self.table.schema.as_deref(), &name), ..super::sequence::plain(ty) }
    }

    fn column_names(&self, columns: &[usize]) -> Vec<String> {
        columns.iter().map(|c| self.table.columns[*c].name.to_string()).collect()
    }

    /// A given name that must be new, or one made up.
    pub(super) fn name(
        &mut self,
        given: Option<&Ident>,
        columns: &[usize],
        suffix: &str,
        is_index: bool,
    ) -> Result<Arc<str>> {
        let Some(given) = given else {
            let names = self.column_names(columns);
            let names: Vec<&str> = names.iter().map(|n| &**n).collect();
            return Ok(self.names.choose(&self.table.name, &names, suffix));
        };
        let name = given.name.clone();
        if is_index && self.names.is_relation(&name) {
            let message = format!("relation \"{name}\" already exists");
            return Err(Diagnostic::new(given.span, SqlState::DUPLICATE_TABLE, message));
        }
        let table = &self.table;
        let own = table.checks.iter().any(|c| c.name == name) || table.foreign_keys.iter().any(|k| k.name == name);
        if own || table.indexes.iter().any(|i| i.name == name) {
            let message = match self.is_new && table.checks.iter().any(|c| c.name == name) {
                true => format!("check constraint \"{name}\" already exists"),
                false => format!("constraint \"{name}\" for relation \"{}\" already exists", table.name),
            };
            return Err(Diagnostic::new(given.span, SqlState::DUPLICATE_OBJECT, message));
        }
        match is_index {
            true => self.names.relations.insert(name.clone()),
            false => self.names.constraints.insert(name.clone()),
        };
        Ok(name)
    }

    fn key_columns(&self, names: &[Ident]) -> Result<Vec<usize>> {
        let mut columns = Vec::new();
        for name in names {
            let Some(column) = self.table.column(&name.name) else {
                let message = format!("column \"{}\" named in key does not exist", name.name);
                let mut error = Diagnostic::new(name.span, SqlState::UNDEFINED_COLUMN, message);
                error.hint = did_you_mean(&name.name, self.table.columns.iter().map(|c| &*c.name));
                return Err(error);
            };
            if columns.contains(&column) {
                let message = format!("column \"{}\" appears twice in unique constraint", name.name);
                return Err(Diagnostic::new(name.span, SqlState::DUPLICATE_COLUMN, message));
            }
            columns.push(column);
        }
        Ok(columns)
    }

    fn add_primary_key(&mut self, constraint: &ast::TableConstraint, columns: Vec<usize>) -> Result<()> {
        if self.table.primary_key().is_some() {
            let message = format!("multiple primary keys for table \"{}\" are not allowed", self.table.name);
            return Err(Diagnostic::new(constraint.span, SqlState::INVALID_TABLE_DEFINITION, message));
        }
        columns.iter().for_each(|&c| self.table.columns[c].not_null = true);
        let name = self.name(constraint.name.as_ref(), &[], "pkey", true)?;
        self.table.indexes.push(Index { primary: true, ..key_index(name, columns, &constraint.options) });
        Ok(())
    }

    fn add_unique(&mut self, constraint: &ast::TableConstraint, columns: Vec<usize>) -> Result<()> {
        // `PRIMARY KEY UNIQUE` is one index.
        let given = constraint.name.as_ref();
        if given.is_none() && self.is_new && self.table.indexes.iter().any(|i| i.columns == columns && i.unique) {
            return Ok(());
        }
        let name = self.name(given, &columns, "key", true)?;
        self.table.indexes.push(key_index(name, columns, &constraint.options));
        Ok(())
    }

    /// `ADD ... USING INDEX`: an index becomes a constraint.
    fn adopt_index(&mut self, constraint: &ast::TableConstraint, index: &Ident, primary: bool) -> Result<()> {
        let Some(at) = self.table.indexes.iter().position(|i| i.name == index.name) else {
            let message = format!("index \"{}\" does not exist", index.name);
            return Err(Diagnostic::new(index.span, SqlState::UNDEFINED_OBJECT, message));
        };
        let found = &self.table.indexes[at];
        let wrong = |message: String| Err(Diagnostic::new(index.span, SqlState::WRONG_OBJECT_TYPE, message));
        if found.constraint {
            let message = format!("index \"{}\" is already associated with a constraint", index.name);
            return Err(Diagnostic::new(index.span, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        if !found.unique {
            return wrong(format!("\"{}\" is not a unique index", index.name));
        }
        if let Some(special) = &found.special {
            return wrong(match special.filter {
                Some(_) => format!("\"{}\" is a partial index", index.name),
                None => format!("index \"{}\" contains expressions", index.name),
            });
        }
        if primary && self.table.primary_key().is_some() {
            let message = format!("multiple primary keys for table \"{}\" are not allowed", self.table.name);
            return Err(Diagnostic::new(constraint.span, SqlState::INVALID_TABLE_DEFINITION, message));
        }
        let columns = found.columns.clone();
        if primary {
            columns.iter().for_each(|&c| self.table.columns[c].not_null = true);
        }
        let renamed = constraint.name.as_ref().map(|n| n.name.clone());
        let index = &mut self.table.indexes[at];
        index.constraint = true;
        index.primary = primary;
        index.deferral = constraint.options.deferral;
        index.name = renamed.unwrap_or_else(|| index.name.clone());
        Ok(())
    }
}

/// The index behind a constraint.
fn key_index(name: Arc<str>, columns: Vec<usize>, options: &ast::ConstraintOptions) -> Index {
    Index {
        name,
        columns,
        unique: true,
        primary: false,
        constraint: true,
        deferral: options.deferral,
        nulls_not_distinct: options.nulls_not_distinct,
        special: None,
    }
}

impl Binder<'_> {
    /// All constraints of a new table: the primary key first, foreign keys last.
    pub(super) fn constraints(
        &mut self,
        columns: &[ast::ColumnDef],
        table: &[ast::TableConstraint],
        draft: &mut Draft,
    ) -> Result<()> {
        let mut all = Vec::new();
        for def in columns {
            for constraint in &def.constraints {
                let column = || vec![def.name.clone()];
                let kind = match &constraint.kind {
                    K::Check(expr) => TableConstraintKind::Check(expr.clone()),
                    K::PrimaryKey => TableConstraintKind::PrimaryKey(column()),
                    K::Unique => TableConstraintKind::Unique(column()),
                    K::References(references) => TableConstraintKind::ForeignKey(column(), references.clone()),
                    K::Null | K::NotNull | K::Default(_) | K::Identity(_) | K::Generated(_) => continue,
                };
                let (name, options) = (constraint.name.clone(), constraint.options.clone());
                all.push(ast::TableConstraint { name, kind, options, span: constraint.span });
            }
        }
        all.extend(table.iter().cloned());
        all.sort_by_key(|c| match c.kind {
            TableConstraintKind::PrimaryKey(_) => 0,
            TableConstraintKind::Unique(_) => 1,
            TableConstraintKind::Check(_) => 2,
            TableConstraintKind::ForeignKey(..) => 3,
        });
        all.iter().try_for_each(|constraint| self.constraint(constraint, draft))
    }

    /// One constraint, added to its table.
    pub(super) fn constraint(&mut self, constraint: &ast::TableConstraint, draft: &mut Draft) -> Result<()> {
        let options = &constraint.options;
        match &constraint.kind {
            TableConstraintKind::PrimaryKey(names) => match &options.using_index {
                Some(index) => draft.adopt_index(constraint, index, true),
                None => {
                    let columns = draft.key_columns(names)?;
                    draft.add_primary_key(constraint, columns)
                }
            },
            TableConstraintKind::Unique(names) => match &options.using_index {
                Some(index) => draft.adopt_index(constraint, index, false),
                None => {
                    let columns = draft.key_columns(names)?;
                    draft.add_unique(constraint, columns)
                }
            },
            TableConstraintKind::Check(expr) => self.check(constraint, expr, draft),
            TableConstraintKind::ForeignKey(names, references) => {
                self.foreign_key(constraint, names, references, draft)
            }
        }
    }

    fn check(&mut self, constraint: &ast::TableConstraint, expr: &ast::Expr, draft: &mut Draft) -> Result<()> {
        if constraint.options.deferral != ast::Deferral::NotDeferrable {
            let message = "CHECK constraints cannot be marked DEFERRABLE";
            return Err(Diagnostic::new(constraint.span, SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let condition = self.check_condition(expr, &draft.table)?;
        let mut columns: BTreeSet<usize> = BTreeSet::new();
        condition.walk(0, &mut |e, _| {
            if let ExprKind::Column { col, .. } = e.kind {
                columns.insert(col as usize);
            }
        });
        // A check of a single column is named after it, wherever it was written.
        let columns: Vec<usize> = if columns.len() == 1 { columns.into_iter().collect() } else { Vec::new() };
        let name = draft.name(constraint.name.as_ref(), &columns, "check", false)?;
        let (validated, source) = (!constraint.options.not_valid, Arc::new(expr.clone()));
        draft.table.checks.push(Check { name, expr: condition, validated, source });
        Ok(())
    }

    /// A condition over one row of a table.
    pub(super) fn check_condition(&mut self, expr: &ast::Expr, table: &Table) -> Result<crate::typed::Expr> {
        let condition =
            self.over_row(table, expr.span, |b| b.in_clause("check constraints", |b| b.condition(expr, "CHECK")))?;
        let mut subquery = false;
        condition.walk(0, &mut |e, _| subquery |= e.subquery().is_some());
        if subquery {
            let message = "cannot use subquery in check constraint";
            return Err(Diagnostic::new(expr.span, SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        Ok(condition)
    }

    /// Binds with the columns of a table in sight, as rel 0.
    pub(super) fn over_row<T>(
        &mut self,
        table: &Table,
        span: Span,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let (bound, _) = self.in_level(|b| {
            let part = b.add_rel(table.name.clone(), table_rel(table), span)?;
            b.show(part);
            bind(b)
        })?;
        Ok(bound)
    }

    fn foreign_key(
        &mut self,
        constraint: &ast::TableConstraint,
        names: &[Ident],
        references: &ast::References,
        draft: &mut Draft,
    ) -> Result<()> {
        let span = constraint.span;
        let is_self = self.target_schema(&references.table)? == draft.table.schema
            && references.table.name.name == draft.table.name;
        let parent = if is_self { draft.table.clone() } else { (**self.table(&references.table)?).clone() };
        let columns = referenced(&draft.table, names)?;
        let parent_columns = match (references.columns.is_empty(), parent.primary_key()) {
            (false, _) => referenced(&parent, &references.columns)?,
            (true, Some(key)) => key.columns.clone(),
            (true, None) => {
                let message = format!("there is no primary key for referenced table \"{}\"", parent.name);
                return Err(Diagnostic::new(references.table.name.span, SqlState::UNDEFINED_OBJECT, message));
            }
        };
        if columns.len() != parent_columns.len() {
            let message = "number of referencing and referenced columns for foreign key disagree";
            return Err(Diagnostic::new(span, SqlState::INVALID_FOREIGN_KEY, message));
        }
        let matches = |index: &Index| {
            index.is_key()
                && index.columns.len() == parent_columns.len()
                && index.columns.iter().all(|c| parent_columns.contains(c))
        };
        let Some(parent_index) = parent.indexes.iter().position(matches) else {
            let later = |i: &Index| i.deferral != ast::Deferral::NotDeferrable && i.columns == parent_columns;
            if parent.indexes.iter().any(later) {
                let message =
                    format!("cannot use a deferrable unique constraint for referenced table \"{}\"", parent.name);
                let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
                return Err(Diagnostic::new(references.table.name.span, state, message));
            }
            let message =
                format!("there is no unique constraint matching given keys for referenced table \"{}\"", parent.name);
            return Err(Diagnostic::new(references.table.name.span, SqlState::INVALID_FOREIGN_KEY, message));
        };
        let name = draft.name(constraint.name.as_ref(), &columns, "fkey", false)?;
        let on_delete_columns = referenced(&draft.table, &references.on_delete_columns)?;
        if let Some(at) = on_delete_columns.iter().position(|c| !columns.contains(c)) {
            let name = &references.on_delete_columns[at];
            let message =
                format!("column \"{}\" referenced in ON DELETE SET action must be part of foreign key", name.name);
            return Err(Diagnostic::new(name.span, SqlState::INVALID_COLUMN_REFERENCE, message));
        }
        for (child, key) in columns.iter().zip(&parent_columns) {
            let (a, b) = (draft.table.columns[*child].ty, parent.columns[*key].ty);
            if common_type(&[a, b]).is_err() || category(a) != category(b) {
                let message = format!("foreign key constraint \"{name}\" cannot be implemented");
                return Err(Diagnostic::new(span, SqlState::DATATYPE_MISMATCH, message).hint(format!(
                    "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
                    draft.table.columns[*child].name,
                    parent.columns[*key].name,
                    a.base(),
                    b.base()
                )));
            }
        }
        // In the order of the parent's index, so that a key can be looked up as it is.
        let order = &parent.indexes[parent_index].columns;
        let pairs: Vec<(usize, usize)> = order
            .iter()
            .filter_map(|c| parent_columns.iter().position(|p| p == c).map(|at| (columns[at], *c)))
            .collect();
        let (columns, parent_columns) = pairs.into_iter().unzip();
        let (on_delete, on_update) = (references.on_delete, references.on_update);
        let parent = parent.id;
        let key = ForeignKey {
            name,
            columns,
            parent,
            parent_columns,
            parent_index,
            on_delete,
            on_update,
            on_delete_columns,
            match_full: references.match_full,
            deferral: constraint.options.deferral,
            validated: !constraint.options.not_valid,
        };
        draft.table.foreign_keys.push(key);
        Ok(())
    }
}

fn referenced(table: &Table, names: &[Ident]) -> Result<Vec<usize>> {
    let find = |name: &Ident| {
        table.column(&name.name).ok_or_else(|| {
            let message = format!("column \"{}\" referenced in foreign key constraint does not exist", name.name);
            let mut error = Diagnostic::new(name.span, SqlState::UNDEFINED_COLUMN, message);
            error.hint = did_you_mean(&name.name, table.columns.iter().map(|c| &*c.name));
            error
        })
    };
    names.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::object_name;

    #[test]
    fn long_names_are_cut_like_postgres_cuts_them() {
        assert_eq!(object_name("t", "", "pkey"), "t_pkey");
        assert_eq!(object_name("t", "a_b", "key"), "t_a_b_key");
        let long = "x".repeat(60);
        assert_eq!(object_name(&long, "abcdef", "key").len(), 63);
        assert!(object_name(&long, "abcdef", "key").ends_with("_abcdef_key"));
    }
}
