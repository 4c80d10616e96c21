//! What depends on what: why a thing cannot be dropped, and what CASCADE takes with it.
//!
//! [`Doomed`] starts with what a statement names and grows by what depends on it. Things that belong to another
//! (indexes and checks of a column, the sequence of a serial column) go without a word; views, foreign keys, defaults
//! and routines must be asked for with CASCADE. The order of discovery is the order of the DETAIL lines.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Binder, Result};
use crate::catalog::{Catalog, RoutineId, TableId, View, names};
use crate::error::{Diagnostic, Span, SqlState};
use crate::typed::{Edit, Expr, ExprKind, Query, QueryBody, RelSource, TableEdit};

/// A thing that can be dropped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Object {
    Table(TableId),
    Column(TableId, usize),
    View(Arc<str>),
    Sequence(Arc<str>),
    Routine(RoutineId),
    /// A foreign key or check, or the index of a key.
    Constraint(TableId, Arc<str>),
    /// The default of a column.
    Default(TableId, usize),
    /// A trigger.
    Trigger(TableId, Arc<str>),
    Schema(Arc<str>),
}

/// Things to be dropped.
pub(super) struct Doomed {
    /// In the order in which they were found, each with what it depends on unless the statement names it.
    objects: Vec<(Object, Option<Object>)>,
    /// Those that go without being mentioned.
    silent: BTreeSet<Object>,
}

impl Object {
    /// As in DETAIL: `view v`, `constraint c on table t`.
    pub(super) fn shown(&self, catalog: &Catalog) -> String {
        let table = |id: &TableId| {
            let table = catalog.table(*id);
            let kind = match table.materialized {
                _ if table.of_view => "view",
                Some(_) => "materialized view",
                None => "table",
            };
            format!("{kind} {}", shown_key(&table.key(), catalog))
        };
        match self {
            Object::Table(id) => table(id),
            Object::Column(id, column) => {
                format!("column {} of {}", catalog.table(*id).columns[*column].name, table(id))
            }
            Object::View(key) => format!("view {}", shown_key(key, catalog)),
            Object::Sequence(key) => format!("sequence {}", shown_key(key, catalog)),
            Object::Routine(id) => {
                let def = catalog.routine(*id);
                let types: Vec<String> = def.input_types().map(|t| t.to_string()).collect();
                let kind = if def.procedure { "procedure" } else { "function" };
                format!("{kind} {}({})", def.name, types.join(","))
            }
            Object::Constraint(id, name) => format!("constraint {name} on {}", table(id)),
            Object::Default(id, column) => {
                let of = &catalog.table(*id).columns[*column].name;
                format!("default value for column {of} of {}", table(id))
            }
            Object::Trigger(id, name) => format!("trigger {name} on {}", table(id)),
            Object::Schema(name) => format!("schema {name}"),
        }
    }
}

/// A key as PostgreSQL shows it: without the schema where the search path finds it.
pub(super) fn shown_key(key: &str, _catalog: &Catalog) -> String {
    key.to_string()
}

impl Doomed {
    /// Everything that must go with these.
    pub(super) fn of(catalog: &Catalog, named: Vec<Object>) -> Doomed {
        let mut doomed =
            Doomed { objects: named.into_iter().map(|object| (object, None)).collect(), silent: BTreeSet::new() };
        let mut next = 0;
        while next < doomed.objects.len() {
            let object = doomed.objects[next].0.clone();
            for (dependent, silent) in dependents(catalog, &object) {
                if doomed.objects.iter().any(|(known, _)| *known == dependent) {
                    continue;
                }
                if silent || doomed.silent.contains(&object) && matches!(object, Object::Schema(_)) {
                    doomed.silent.insert(dependent.clone());
                }
                doomed.objects.push((dependent, Some(object.clone())));
            }
            next += 1;
        }
        doomed
    }

    /// Those that the statement does not name and that do not simply belong to one that it names.
    pub(super) fn others(&self) -> impl Iterator<Item = &(Object, Option<Object>)> {
        // A table that goes takes its own parts with it.
        let whole = |id: &TableId| self.objects.iter().any(|(o, _)| *o == Object::Table(*id));
        self.objects.iter().filter(move |(object, because)| {
            let part = match object {
                Object::Constraint(id, _) | Object::Default(id, _) | Object::Trigger(id, _) | Object::Column(id, _) => {
                    whole(id)
                }
                _ => false,
            };
            because.is_some() && !part && !self.silent.contains(object)
        })
    }

    /// The edits that drop everything, dependents first.
    pub(super) fn edits(&self, catalog: &Catalog) -> Vec<Edit> {
        let mut edits = Vec::new();
        let dropped: BTreeSet<TableId> =
            self.objects.iter().filter_map(|(o, _)| if let Object::Table(id) = o { Some(*id) } else { None }).collect();
        let mut changed: std::collections::BTreeMap<TableId, crate::catalog::Table> = Default::default();
        for (object, _) in self.objects.iter().rev() {
            let mut change = |id: &TableId, act: &mut dyn FnMut(&mut crate::catalog::Table)| {
                if !dropped.contains(id) {
                    act(changed.entry(*id).or_insert_with(|| (**catalog.table(*id)).clone()));
                }
            };
            match object {
                Object::View(key) => {
                    edits.push(Edit::DropView(key.clone()));
                    edits.extend(catalog.view(key).and_then(|view| view.stand_in).map(Edit::DropTable));
                }
                Object::Sequence(key) => edits.push(Edit::DropSequence(key.clone())),
                Object::Routine(id) => edits.push(Edit::DropRoutine(*id)),
                Object::Table(_) | Object::Column(..) => {}
                Object::Constraint(id, name) => change(id, &mut |t| {
                    t.foreign_keys.retain(|fk| fk.name != *name);
                    t.checks.retain(|c| c.name != *name);
                    t.indexes.retain(|i| i.name != *name);
                }),
                Object::Default(id, column) => change(id, &mut |t| {
                    t.columns[*column].default = None;
                    t.columns[*column].sequence = None;
                    t.columns[*column].identity = None;
                }),
                Object::Trigger(id, name) => change(id, &mut |t| t.triggers.retain(|x| x.name != *name)),
                Object::Schema(name) => edits.push(Edit::DropSchema(name.clone())),
            }
        }
        let mut all: Vec<Edit> = changed
            .into_values()
            .map(|table| Edit::Table(Box::new(TableEdit { table, rows: None, validate: Vec::new() })))
            .collect();
        all.extend(dropped.iter().rev().map(|id| Edit::DropTable(*id)));
        all.extend(edits);
        all
    }
}

impl Binder<'_> {
    /// Drops these: the edits, and what the client is told; an error if something depends on them and CASCADE is
    /// missing.
    pub(super) fn doom(&self, named: Vec<Object>, cascade: bool, span: Span) -> Result<(Vec<Edit>, Vec<Arc<str>>)> {
        let doomed = Doomed::of(self.catalog, named.clone());
        let others: Vec<&(Object, Option<Object>)> = doomed.others().collect();
        if !others.is_empty() && !cascade {
            let what = match &named[..] {
                [one] => format!("cannot drop {} because other objects depend on it", one.shown(self.catalog)),
                _ => "cannot drop desired object(s) because other objects depend on them".into(),
            };
            let lines: Vec<String> = others
                .iter()
                .filter_map(|(object, because)| {
                    let because = because.as_ref()?;
                    Some(format!("{} depends on {}", object.shown(self.catalog), because.shown(self.catalog)))
                })
                .collect();
            return Err(Diagnostic::new(span, SqlState(*b"2BP01"), what)
                .detail(lines.join("\n"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let mut notices: Vec<Arc<str>> = Vec::new();
        match &others[..] {
            [] => {}
            [(one, _)] => notices.push(format!("drop cascades to {}", one.shown(self.catalog)).into()),
            many => notices.push(format!("drop cascades to {} other objects", many.len()).into()),
        }
        Ok((doomed.edits(self.catalog), notices))
    }
}

/// What depends on a thing directly, and whether it simply belongs to it.
fn dependents(catalog: &Catalog, object: &Object) -> Vec<(Object, bool)> {
    let mut found = Vec::new();
    match object {
        Object::Table(id) => {
            for sequence in catalog.sequences().filter(|s| s.owner.as_ref().is_some_and(|(table, _)| table == id)) {
                found.push((Object::Sequence(sequence.name.clone()), true));
            }
            found.extend(views_over(catalog, *id, None).map(|v| (Object::View(v.key()), false)));
            found.extend(materialized_over(catalog, *id, None).map(|t| (Object::Table(t), false)));
            for (child, key) in catalog.references_to(*id).filter(|(child, _)| child.id != *id) {
                found.push((Object::Constraint(child.id, child.foreign_keys[key].name.clone()), false));
            }
        }
        Object::Column(id, column) => {
            let table = catalog.table(*id);
            let name = &table.columns[*column].name;
            for sequence in catalog.sequences().filter(|s| s.owner.as_ref().is_some_and(|(t, c)| t == id && c == name))
            {
                found.push((Object::Sequence(sequence.name.clone()), true));
            }
            for index in table.indexes.iter().filter(|i| i.mentions().contains(column)) {
                found.push((Object::Constraint(*id, index.name.clone()), true));
            }
            for check in table.checks.iter().filter(|c| mentions(&c.expr, *column)) {
                found.push((Object::Constraint(*id, check.name.clone()), true));
            }
            for fk in table.foreign_keys.iter().filter(|fk| fk.columns.contains(column)) {
                found.push((Object::Constraint(*id, fk.name.clone()), true));
            }
            for (at, other) in table.columns.iter().enumerate() {
                if other.generated.as_ref().is_some_and(|g| mentions(&g.expr, *column)) {
                    found.push((Object::Column(*id, at), false));
                }
            }
            found.extend(views_over(catalog, *id, Some(*column)).map(|v| (Object::View(v.key()), false)));
            found.extend(materialized_over(catalog, *id, Some(*column)).map(|t| (Object::Table(t), false)));
        }
        Object::Constraint(id, name) => {
            // Foreign keys stand on the parent's unique key.
            let table = catalog.table(*id);
            let Some(at) = table.indexes.iter().position(|i| i.name == *name) else { return found };
            for (child, key) in catalog.references_to(*id) {
                let fk = &child.foreign_keys[key];
                if fk.parent_index == at {
                    found.push((Object::Constraint(child.id, fk.name.clone()), false));
                }
            }
        }
        Object::View(key) => {
            found.extend(catalog.views().filter(|v| v.uses.contains(key)).map(|v| (Object::View(v.key()), false)));
        }
        Object::Sequence(key) => {
            for table in catalog.tables() {
                for (at, column) in table.columns.iter().enumerate() {
                    let draws = column.default.as_ref().is_some_and(|d| draws_from(d, key, catalog));
                    if draws || column.sequence.as_ref() == Some(key) {
                        found.push((Object::Default(table.id, at), false));
                    }
                }
            }
        }
        Object::Routine(id) => {
            for table in catalog.tables().chain(catalog.stand_ins()) {
                for (at, column) in table.columns.iter().enumerate() {
                    if column.default.as_ref().is_some_and(|d| calls(d, *id)) {
                        found.push((Object::Default(table.id, at), false));
                    }
                }
                let checks = table.checks.iter().filter(|c| calls(&c.expr, *id));
                found.extend(checks.map(|c| (Object::Constraint(table.id, c.name.clone()), false)));
                let triggers = table.triggers.iter().filter(|t| t.function == *id);
                found.extend(triggers.map(|t| (Object::Trigger(table.id, t.name.clone()), false)));
            }
            let called = |view: &&Arc<View>| {
                let mut called = false;
                view.query.walk(0, &mut |e, _| called |= matches!(e.kind, ExprKind::Routine(r, _) if r == *id));
                called
            };
            found.extend(catalog.views().filter(called).map(|v| (Object::View(v.key()), false)));
        }
        Object::Schema(name) => {
            let inside = |schema: Option<&str>| schema == Some(&**name);
            let tables = catalog.tables().filter(|t| inside(t.schema.as_deref()));
            found.extend(tables.map(|t| (Object::Table(t.id), false)));
            found.extend(
                catalog.views().filter(|v| inside(v.schema.as_deref())).map(|v| (Object::View(v.key()), false)),
            );
            for sequence in catalog.sequences().filter(|s| s.owner.is_none()) {
                if sequence.name.split_once('.').is_some_and(|(schema, _)| schema == &**name) {
                    found.push((Object::Sequence(sequence.name.clone()), false));
                }
            }
            let routines = catalog.routines().filter(|(_, r)| inside(r.schema.as_deref()));
            found.extend(routines.map(|(id, _)| (Object::Routine(id), false)));
        }
        Object::Default(..) | Object::Trigger(..) => {}
    }
    found
}

fn mentions(expr: &Expr, column: usize) -> bool {
    let mut found = false;
    expr.walk(0, &mut |e, _| found |= matches!(e.kind, ExprKind::Column { col, .. } if col as usize == column));
    found
}

fn calls(expr: &Expr, routine: RoutineId) -> bool {
    let mut found = false;
    expr.walk(0, &mut |e, _| found |= matches!(e.kind, ExprKind::Routine(r, _) if r == routine));
    found
}

/// Whether a default draws from a sequence.
pub(super) fn draws_from(default: &Expr, sequence: &str, catalog: &Catalog) -> bool {
    let mut found = false;
    default.walk(0, &mut |e, _| {
        if let ExprKind::Call(builtin, args) = &e.kind
            && builtin.name == "nextval"
            && let Some(Expr { kind: ExprKind::Const(crate::Value::Text(name)), .. }) = args.first()
        {
            let named = || catalog.sequence_by_text(name).is_some_and(|s| *s.name == *sequence);
            found |= names::is_named(name, sequence) || named();
        }
    });
    found
}

/// The views that name a table, or a column of it, themselves.
fn views_over(catalog: &Catalog, table: TableId, column: Option<usize>) -> impl Iterator<Item = &Arc<View>> {
    catalog.views().filter(move |view| {
        let through = view.uses.iter().filter_map(|key| catalog.view(key));
        reads(&view.query, table, column) && !through.into_iter().any(|v| reads(&v.query, table, column))
    })
}

fn materialized_over(catalog: &Catalog, table: TableId, column: Option<usize>) -> impl Iterator<Item = TableId> + '_ {
    let reading = move |query: &Arc<Query>| reads(query, table, column);
    catalog.tables().filter(move |t| t.materialized.as_ref().is_some_and(reading)).map(|t| t.id)
}

/// Whether a query reads a table, or a column of it.
pub(super) fn reads(query: &Query, table: TableId, column: Option<usize>) -> bool {
    let Some(column) = column else { return query.tables().contains(&table) };
    let mut found = false;
    columns_read(query, &mut Vec::new(), &mut |t, c| found |= t == table && c as usize == column);
    found
}

/// For each query around an expression, nearest last: the table that each of its relations is.
type Levels = Vec<Vec<Option<TableId>>>;

fn level_of(query: &Query) -> Vec<Option<TableId>> {
    let table = |rel: &crate::typed::Rel| if let RelSource::Table(id) = rel.source { Some(id) } else { None };
    match &query.body {
        QueryBody::Select(select) => select.rels.iter().map(table).collect(),
        _ => Vec::new(),
    }
}

fn table_at(levels: &Levels, depth: u16, rel: u16) -> Option<TableId> {
    let level = levels.get(levels.len().checked_sub(1 + usize::from(depth))?)?;
    *level.get(usize::from(rel))?
}

/// Calls `f` with every column of a table that a query names. Nothing is copied: the query may share its parts.
fn columns_read(query: &Query, levels: &mut Levels, f: &mut dyn FnMut(TableId, u16)) {
    levels.push(level_of(query));
    query.exprs(&mut |e| columns_read_by(e, levels, f));
    query.queries(&mut |q| columns_read(q, levels, f));
    levels.pop();
}

fn columns_read_by(expr: &Expr, levels: &mut Levels, f: &mut dyn FnMut(TableId, u16)) {
    if let ExprKind::Column { depth, rel, col } = expr.kind
        && let Some(table) = table_at(levels, depth, rel)
    {
        f(table, col);
    }
    expr.children(&mut |child| columns_read_by(child, levels, f));
    if let Some(query) = expr.subquery() {
        columns_read(query, levels, f);
    }
}

/// Calls `f` with every column of a table that a query names, to change its number.
pub(super) fn each_column(query: &mut Query, levels: &mut Levels, f: &mut dyn FnMut(TableId, &mut u16)) {
    levels.push(level_of(query));
    query.exprs_mut(&mut |e| expr_columns(e, levels, f));
    query.queries_mut(&mut |q| each_column(q, levels, f));
    levels.pop();
}

fn expr_columns(expr: &mut Expr, levels: &mut Levels, f: &mut dyn FnMut(TableId, &mut u16)) {
    if let ExprKind::Column { depth, rel, col } = &mut expr.kind
        && let Some(table) = table_at(levels, *depth, *rel)
    {
        f(table, col);
    }
    expr.children_mut(&mut |child| expr_columns(child, levels, f));
    if let Some(query) = expr.subquery_mut() {
        each_column(query, levels, f);
    }
}
