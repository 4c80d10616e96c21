//! Names: what they mean at a place in a statement.
//!
//! A [`Binder`] holds a stack of [`Level`]s, one per query around the expression at hand, innermost last; a column
//! found `d` levels out gets depth `d`. A level that must not be seen (the one around a subquery of FROM that is not
//! LATERAL, those between a WITH query and its use) stays on the stack, so that depths keep counting it, but is
//! *closed*.
//!
//! Variables of a routine live in a [`Frame`]. A name that could be both a column and a variable is an error in
//! PL/pgSQL (`plpgsql.variable_conflict = error`, the default); in a SQL function the column wins.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::hint::did_you_mean;
use super::{Binder, Result};
use crate::ast::{self, Ident};
use crate::builtin::SetFunction;
pub(super) use crate::catalog::Fields;
use crate::catalog::Table;
use crate::error::{Diagnostic, Span, SqlState};
use crate::typed::{AggregateCall, Expansion, Expr, ExprKind, OutputColumn, Rel, RelSource, Variable, Window};
use crate::types::Type;

/// One query's names.
#[derive(Default)]
pub(super) struct Level {
    /// The relations of FROM so far.
    pub rels: Vec<Rel>,
    /// Which of them are WITH queries.
    pub with_rels: Vec<usize>,
    /// Which of them a qualified name reaches now.
    pub visible: Vec<usize>,
    /// What an unqualified name and `*` reach now.
    pub columns: Vec<ScopeColumn>,
    /// Not to be looked into.
    pub closed: bool,
    /// The clause being bound, if aggregates are not allowed in it.
    pub clause: Option<&'static str>,
    /// The clause being bound, if window functions are not allowed in it though aggregates are.
    pub windowless: Option<&'static str>,
    /// Aggregates found so far.
    pub calls: Vec<AggregateCall>,
    /// WINDOW definitions.
    pub named_windows: Vec<(Ident, ast::WindowSpec)>,
    /// Windows found so far, in the order of PostgreSQL's list: those of WINDOW first.
    pub windows: Vec<Window>,
    /// How many window functions they have.
    pub windowed: usize,
    /// Functions of the select list that yield rows.
    pub expansions: Vec<Expansion>,
    /// GROUPING(...) found so far: their operands.
    pub masks: Vec<Vec<Expr>>,
    /// Columns of this level that were named outside an aggregate, for errors about grouping.
    pub uses: Vec<(u16, u16, Span)>,
}

/// A column that an unqualified name can mean.
#[derive(Clone)]
pub(super) struct ScopeColumn {
    /// Its name.
    pub name: Arc<str>,
    /// Its value, seen from its own level. More than a column only for `FULL JOIN ... USING`.
    pub expr: Expr,
}

/// A WITH query in sight.
pub(super) struct WithQuery {
    pub name: Arc<str>,
    /// The level of the query that has it.
    pub level: usize,
    /// Which of its WITH queries it is.
    pub index: usize,
    /// Its columns; `None` if it changes rows and returns none.
    pub columns: Option<Vec<OutputColumn>>,
    pub state: WithState,
}

/// What can be said of a WITH query at the place at hand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WithState {
    /// It is complete.
    Known,
    /// Its recursive part is being bound, and this says whether it has been named.
    Working { named: bool },
    /// It is being bound, or comes later in a WITH RECURSIVE.
    Unfit(&'static str),
}

/// The variables of a routine, or the parameters of a client's statement.
#[derive(Default)]
pub(super) struct Frame {
    /// All of them; a slot is a position here.
    pub variables: Vec<Variable>,
    /// Slots of `$1`, `$2`, ...
    pub dollars: Vec<usize>,
    /// Blocks around the statement at hand, innermost last.
    pub blocks: Vec<Namespace>,
    /// A SQL function: where a name is both, it is the column.
    pub columns_win: bool,
    /// Shapes that `record` variables were last given.
    pub shapes: BTreeMap<usize, Fields>,
    /// A DO block is looked through before it runs.
    pub strict: bool,
    /// A trigger function's transition tables.
    pub transitions: Vec<TransitionTable>,
    /// A literal that does not fit its type fails when it is reached, not now.
    pub late: bool,
    /// Types that parameters without one were given by their place, by slot.
    pub inferred: RefCell<BTreeMap<usize, Type>>,
}

/// Rows that a trigger's statement has changed, held by a variable and named like a table.
pub(super) struct TransitionTable {
    pub name: Arc<str>,
    pub slot: usize,
    pub fields: Fields,
}

/// The names a block declares.
#[derive(Default)]
pub(super) struct Namespace {
    /// The block's label, or the routine's name.
    pub label: Option<Arc<str>>,
    /// Names to slots.
    pub names: BTreeMap<Arc<str>, usize>,
}

/// What a dotted name means among variables.
pub(super) enum VariableRef {
    /// A whole variable.
    Slot(usize),
    /// A field of one.
    Field(usize, Ident),
}

impl Frame {
    /// A new variable; not yet named.
    pub(super) fn add(&mut self, name: &str, ty: Type, fields: Option<Fields>) -> usize {
        // A row is a record whose fields are known.
        let (ty, fields) = match ty {
            Type::Composite(user) => (Type::Record, Some(user.fields().into())),
            _ => (ty, fields),
        };
        self.variables.push(Variable { name: name.into(), ty, fields, not_null: false });
        self.variables.len() - 1
    }

    /// What a dotted name means, if its first part is a variable or a block that has the second.
    pub(super) fn lookup(&self, path: &[Ident]) -> Option<VariableRef> {
        for block in self.blocks.iter().rev() {
            if let Some(&slot) = block.names.get(&path[0].name) {
                match path {
                    [_] => return Some(VariableRef::Slot(slot)),
                    [_, field] if self.variables[slot].ty == Type::Record => {
                        return Some(VariableRef::Field(slot, field.clone()));
                    }
                    _ => {}
                }
            }
            if path.len() > 1
                && block.label.as_ref() == Some(&path[0].name)
                && let Some(&slot) = block.names.get(&path[1].name)
            {
                match path {
                    [_, _] => return Some(VariableRef::Slot(slot)),
                    [_, _, field] => return Some(VariableRef::Field(slot, field.clone())),
                    _ => return None,
                }
            }
        }
        None
    }

    /// Whether a variable is known to have the field that is asked of it.
    fn exists(&self, variable: &VariableRef) -> bool {
        match variable {
            VariableRef::Slot(_) => true,
            VariableRef::Field(slot, field) => {
                self.fields(*slot).is_some_and(|fields| fields.iter().any(|(name, _)| *name == field.name))
            }
        }
    }

    /// The fields of a variable, where they are known.
    pub(super) fn fields(&self, slot: usize) -> Option<Fields> {
        self.variables[slot].fields.clone().or_else(|| self.shapes.get(&slot).cloned())
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().flat_map(|b| b.names.keys()).map(|n| &**n)
    }
}

impl<'a> Binder<'a> {
    /// The innermost level.
    pub(super) fn level(&mut self) -> &mut Level {
        self.levels.last_mut().expect("a query being bound has its level on the stack")
    }

    /// Runs `bind` with a fresh level on top, which is then taken off and returned.
    pub(super) fn in_level<T>(&mut self, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<(T, Level)> {
        self.levels.push(Level::default());
        let result = bind(self);
        let level = self.levels.pop().expect("levels are pushed and popped in pairs");
        Ok((result?, level))
    }

    /// Runs `bind` with the levels from `first` on closed.
    pub(super) fn closing<T>(&mut self, first: usize, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before: Vec<bool> = self.levels.iter().map(|l| l.closed).collect();
        self.levels.iter_mut().skip(first).for_each(|l| l.closed = true);
        let result = bind(self);
        self.levels.iter_mut().zip(before).for_each(|(l, closed)| l.closed = closed);
        result
    }

    /// Runs `bind` in a clause where aggregates are not allowed.
    pub(super) fn in_clause<T>(
        &mut self,
        clause: &'static str,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = self.level().clause.replace(clause);
        let result = bind(self);
        self.level().clause = before;
        result
    }

    /// A table by its name.
    pub(super) fn table(&self, name: &ast::QualifiedName) -> Result<&'a Arc<Table>> {
        let found = self.catalog.find_table(name.qualifier_name(), &name.name.name);
        found.ok_or_else(|| self.no_relation(name))
    }

    /// `relation "x" does not exist`
    pub(super) fn no_relation(&self, name: &ast::QualifiedName) -> Diagnostic {
        let (shown, span) = shown_name(name);
        let mut error =
            Diagnostic::new(span, SqlState::UNDEFINED_TABLE, format!("relation \"{shown}\" does not exist"));
        error.hint = did_you_mean(&name.name.name, self.catalog.tables().map(|t| &*t.name));
        error
    }

    /// What a dotted name means: a column, a variable, a field of either, or a whole row.
    pub(super) fn name(&mut self, path: &[Ident], span: Span) -> Result<Expr> {
        let path = if path.len() > 2 && self.catalog.has_schema(&path[0].name) { &path[1..] } else { path };
        let column = match path {
            [name] => self.unqualified(name)?.or_else(|| self.whole_row(name)),
            [table, name] => self.qualified(table, name)?,
            _ => None,
        };
        let variable = self.frame.lookup(path);
        match (column, variable) {
            (Some(_), Some(variable)) if !self.frame.columns_win && self.frame.exists(&variable) => {
                let shown = path.iter().map(|i| &*i.name).collect::<Vec<_>>().join(".");
                Err(ambiguous(&shown, span).hint("It could refer to either a PL/pgSQL variable or a table column."))
            }
            (Some(column), _) => Ok(column),
            (None, Some(variable)) => self.variable(variable),
            (None, None) => Err(self.no_column(path, span)),
        }
    }

    fn unqualified(&mut self, name: &Ident) -> Result<Option<Expr>> {
        let top = self.levels.len();
        for index in (0..top).rev() {
            let level = &mut self.levels[index];
            if level.closed {
                continue;
            }
            let mut matches = level.columns.iter().filter(|c| c.name == name.name);
            let Some(found) = matches.next() else { continue };
            if matches.next().is_some() {
                return Err(ambiguous(&name.name, name.span));
            }
            let found = found.expr.clone();
            found.walk(0, &mut |e, _| {
                if let ExprKind::Column { rel, col, .. } = e.kind {
                    level.uses.push((rel, col, name.span));
                }
            });
            return Ok(Some(outward(found, (top - 1 - index) as u16)));
        }
        Ok(None)
    }

    fn qualified(&mut self, table: &Ident, name: &Ident) -> Result<Option<Expr>> {
        let Some((index, rel)) = self.find_rel(&table.name) else { return Ok(None) };
        let depth = (self.levels.len() - 1 - index) as u16;
        let level = &mut self.levels[index];
        let columns = &level.rels[rel].columns;
        let mut matches = columns.iter().enumerate().filter(|(_, (n, _))| *n == name.name);
        let Some((col, (_, ty))) = matches.next() else {
            if self.frame.lookup(&[table.clone(), name.clone()]).is_some() {
                return Ok(None);
            }
            let message = format!("column {}.{} does not exist", table.name, name.name);
            let mut error = Diagnostic::new(table.span.to(name.span), SqlState::UNDEFINED_COLUMN, message);
            error.hint = did_you_mean(&name.name, columns.iter().map(|(n, _)| &**n));
            return Err(error);
        };
        if matches.next().is_some() {
            return Err(ambiguous(&name.name, name.span));
        }
        let expr = Expr { kind: ExprKind::Column { depth, rel: rel as u16, col: col as u16 }, ty: *ty };
        level.uses.push((rel as u16, col as u16, table.span.to(name.span)));
        Ok(Some(expr))
    }

    /// The nearest relation with this alias: its level and its position there.
    fn find_rel(&self, alias: &str) -> Option<(usize, usize)> {
        let open = self.levels.iter().enumerate().rev().filter(|(_, level)| !level.closed);
        open.filter_map(|(i, level)| {
            let rel = level.visible.iter().copied().find(|&rel| &*level.rels[rel].alias == alias)?;
            Some((i, rel))
        })
        .next()
    }

    /// `t` or `t.*` as a value.
    pub(super) fn whole_row(&mut self, alias: &Ident) -> Option<Expr> {
        let (index, rel) = self.find_rel(&alias.name)?;
        let depth = (self.levels.len() - 1 - index) as u16;
        let columns = &self.levels[index].rels[rel].columns;
        // A function that returns one value is that value.
        if let (RelSource::Function(SetFunction::GenerateSeries | SetFunction::Builtin(_), _), [(_, ty)]) =
            (&self.levels[index].rels[rel].source, &columns[..])
        {
            return Some(Expr { kind: ExprKind::Column { depth, rel: rel as u16, col: 0 }, ty: *ty });
        }
        Some(Expr { kind: ExprKind::WholeRow { depth, rel: rel as u16 }, ty: Type::Record })
    }

    /// The visible relation of the innermost level with this alias.
    pub(super) fn visible_rel(&mut self, alias: &Ident) -> Result<usize> {
        let level = self.level();
        let found = level.visible.iter().copied().find(|&rel| level.rels[rel].alias == alias.name);
        found.ok_or_else(|| self.missing_from(alias))
    }

    /// A variable's value.
    pub(super) fn variable(&self, variable: VariableRef) -> Result<Expr> {
        match variable {
            VariableRef::Slot(slot) => Ok(Expr { kind: ExprKind::Param(slot), ty: self.frame.variables[slot].ty }),
            VariableRef::Field(slot, field) => self.variable_field(slot, &field),
        }
    }

    fn variable_field(&self, slot: usize, field: &Ident) -> Result<Expr> {
        let declared = self.frame.variables[slot].fields.as_ref();
        let Some(fields) = self.frame.fields(slot) else {
            return Ok(Expr { kind: ExprKind::NamedField(slot, field.name.clone()), ty: Type::Unknown });
        };
        let Some(at) = fields.iter().position(|(n, _)| *n == field.name) else {
            return Err(self.no_field(slot, field, &fields));
        };
        let ty = fields[at].1;
        let kind = match declared {
            Some(_) => {
                let row = Expr { kind: ExprKind::Param(slot), ty: Type::Record };
                ExprKind::Field(Box::new(row), at)
            }
            None => ExprKind::NamedField(slot, field.name.clone()),
        };
        Ok(Expr { kind, ty })
    }

    /// `record "r" has no field "x"`
    pub(super) fn no_field(&self, slot: usize, field: &Ident, fields: &[(Arc<str>, Type)]) -> Diagnostic {
        let message = format!("record \"{}\" has no field \"{}\"", self.frame.variables[slot].name, field.name);
        let mut error = Diagnostic::new(field.span, SqlState::UNDEFINED_COLUMN, message);
        error.hint = did_you_mean(&field.name, fields.iter().map(|(n, _)| &**n));
        error
    }

    fn no_column(&self, path: &[Ident], span: Span) -> Diagnostic {
        if path.len() > 1 {
            return self.missing_from(&path[0]);
        }
        let name = &path[0].name;
        let mut error = Diagnostic::new(span, SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist"));
        let open = self.levels.iter().filter(|l| !l.closed);
        let columns = open.flat_map(|l| &l.columns).map(|c| &*c.name);
        error.hint = did_you_mean(name, columns.chain(self.frame.names()));
        error
    }

    /// `missing FROM-clause entry for table "t"`, or that it is there but out of sight.
    pub(super) fn missing_from(&self, table: &Ident) -> Diagnostic {
        let rels = || self.levels.iter().flat_map(|l| &l.rels);
        let hint = if rels().any(|r| r.alias == table.name) {
            Some(format!(
                "There is an entry for table \"{}\", but it cannot be referenced from this part of the query.",
                table.name
            ))
        } else {
            let renamed = rels().find(|r| self.is_table(r, &table.name));
            renamed.map(|r| format!("Perhaps you meant to reference the table alias \"{}\".", r.alias))
        };
        let message = match hint {
            Some(_) => format!("invalid reference to FROM-clause entry for table \"{}\"", table.name),
            None => format!("missing FROM-clause entry for table \"{}\"", table.name),
        };
        let mut error = Diagnostic::new(table.span, SqlState::UNDEFINED_TABLE, message);
        let visible = self.levels.iter().filter(|l| !l.closed);
        let visible = visible.flat_map(|l| l.visible.iter().map(|&r| &*l.rels[r].alias));
        error.hint = hint.or_else(|| did_you_mean(&table.name, visible.chain(self.frame.names())));
        error
    }

    /// Whether a relation is this table, whatever its alias.
    fn is_table(&self, rel: &Rel, name: &str) -> bool {
        matches!(rel.source, RelSource::Table(id) if self.catalog.table_by_name(name).is_some_and(|t| t.id == id))
    }
}

/// `column reference "x" is ambiguous`
pub(super) fn ambiguous(name: &str, span: Span) -> Diagnostic {
    Diagnostic::new(span, SqlState::AMBIGUOUS_COLUMN, format!("column reference \"{name}\" is ambiguous"))
}

/// The same value, seen from `by` queries further in.
pub(super) fn outward(mut expr: Expr, by: u16) -> Expr {
    if by > 0 {
        expr.walk_mut(0, &mut |e, inside| {
            match &mut e.kind {
                ExprKind::Column { depth, .. } | ExprKind::WholeRow { depth, .. } if *depth >= inside => *depth += by,
                ExprKind::Group { depth, .. } | ExprKind::Aggregated { depth, .. } if *depth >= inside => *depth += by,
                _ => {}
            }
            true
        });
    }
    expr
}

/// A name as it was written, and where.
pub(super) fn shown_name(name: &ast::QualifiedName) -> (String, Span) {
    match name.qualifier() {
        Some(schema) => (format!("{}.{}", schema.name, name.name.name), schema.span.to(name.name.span)),
        None => (name.name.name.to_string(), name.name.span),
    }
}
