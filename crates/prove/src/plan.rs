//! How many rows to track.
//!
//! Take a run that breaks a rule. Keep the rows that show the violation, the rows that lookups found, the rows that
//! made a subquery true, and the parents of all these; throw every other row away. The run is still a run and still
//! breaks the rule: a lookup finds the row it found, or nothing if it found nothing; keys and checks survive when rows
//! go; errors only become fewer. So it is enough to look at databases of that size, and the size can be read off the
//! program: this module does.
//!
//! A *demand* is a number of rows of a table. Some are fixed (a lookup needs one row), some are per row of other tables
//! (a subquery under a row of `a` needs one row of `b` for each row of `a`). Along a path demands add up; between paths
//! the larger counts.

use std::collections::{BTreeMap, BTreeSet};

use isolde_sql::ast::{JoinKind, ReferentialAction};
use isolde_sql::builtin::AggregateKind;
use isolde_sql::catalog::{Catalog, ForeignKey, TableId};
use isolde_sql::typed::{Expr, ExprKind, From, Query, QueryBody, RelSource, Select, StatementKind};

use crate::ir::{Action, Graph};
use crate::logic::pins_unique_key;
use crate::step::constraint::children;

/// More rows of one table than this are not tracked.
const ROWS_MAX: usize = 12;
/// More rows than this in all are not.
const TOTAL_MAX: usize = 40;

/// How many rows of each table to track.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The tables that matter, with the number of rows.
    pub counts: BTreeMap<TableId, usize>,
    /// The foreign keys for whose children the parents are tracked as well: child table and name.
    pub closed: BTreeSet<(TableId, std::sync::Arc<str>)>,
    /// Why these rows may not be enough.
    pub incomplete: BTreeSet<String>,
}

impl Plan {
    /// Whether a child's parent is among the tracked rows.
    pub fn is_closed(&self, child: TableId, fk: &ForeignKey) -> bool {
        self.closed.contains(&(child, fk.name.clone()))
    }
}

/// A number of rows: of a table, for each combination of rows of some others.
type Demand = BTreeMap<(Vec<TableId>, TableId), usize>;

/// Reads off a graph without loops, and a rule, how many rows suffice.
pub fn plan(catalog: &Catalog, graph: &Graph, rule: &Query, extra: usize) -> Plan {
    plan_with(catalog, graph, rule, &[], extra)
}

/// The same where other rules hold at the start as well.
pub(crate) fn plan_with(catalog: &Catalog, graph: &Graph, rule: &Query, others: &[&Query], extra: usize) -> Plan {
    planned(catalog, graph, Some(rule), others, extra, &BTreeMap::new())
}

/// The same where there is no rule: as many rows as decide whether the procedure succeeds.
pub(crate) fn plan_alone(catalog: &Catalog, graph: &Graph) -> Plan {
    planned(catalog, graph, None, &[], 0, &BTreeMap::new())
}

/// The same with so many rows of some tables on top, and what these need.
pub(crate) fn plan_beside(catalog: &Catalog, graph: &Graph, rule: &Query, beside: &BTreeMap<TableId, usize>) -> Plan {
    planned(catalog, graph, Some(rule), &[], 0, beside)
}

fn planned(
    catalog: &Catalog,
    graph: &Graph,
    rule: Option<&Query>,
    others: &[&Query],
    extra: usize,
    beside: &BTreeMap<TableId, usize>,
) -> Plan {
    let mut planner =
        Planner { catalog, graph, demand: Demand::new(), aggregated: BTreeSet::new(), tables: BTreeSet::new() };
    let rules: Vec<&Query> = rule.iter().chain(others).copied().collect();
    planner.mentioned(&rules);
    let mut total = planner.along_paths();
    planner.demand.clear();
    rule.iter().for_each(|rule| planner.rule(rule, true));
    others.iter().for_each(|other| planner.rule(other, false));
    add(&mut total, &planner.demand);
    let aggregated = planner.aggregated.clone();
    for table in aggregated.iter().filter(|_| extra > 0) {
        *total.entry((Vec::new(), *table)).or_default() += extra;
    }
    for (table, count) in beside {
        *total.entry((Vec::new(), *table)).or_default() += count;
        planner.tables.insert(*table);
    }
    let closed = planner.close(&mut total);
    let (counts, mut incomplete) = solve(&total, &planner.tables, catalog);
    incomplete.extend(planner.open_cascades(&closed));
    Plan { counts, closed, incomplete }
}

/// The tables that a procedure writes, and those whose rows change with theirs.
pub(crate) fn changed_tables(catalog: &Catalog, graph: &Graph) -> BTreeSet<TableId> {
    let mut tables = BTreeSet::new();
    for edge in &graph.edges {
        let Action::Write(write) = &edge.action else { continue };
        match &write.statement.kind {
            StatementKind::Insert(insert) => {
                tables.insert(insert.table);
            }
            StatementKind::Update(update) => {
                tables.insert(update.table);
            }
            StatementKind::Delete(delete) => {
                tables.insert(delete.table);
            }
            StatementKind::Truncate(truncate) => tables.extend(&truncate.tables),
            _ => tables.extend(write.statement.tables()),
        }
    }
    followed(catalog, &mut tables);
    tables
}

/// Adds the tables whose rows change when those of others go.
fn followed(catalog: &Catalog, tables: &mut BTreeSet<TableId>) {
    let mut todo: Vec<TableId> = tables.iter().copied().collect();
    while let Some(parent) = todo.pop() {
        for (child, fk) in children(catalog, parent) {
            if (follows(fk.on_delete) || follows(fk.on_update)) && tables.insert(child) {
                todo.push(child);
            }
        }
    }
}

fn add(total: &mut Demand, more: &Demand) {
    for (key, count) in more {
        *total.entry(key.clone()).or_default() += count;
    }
}

/// Rows of each table so that every demand is met.
fn solve(
    demand: &Demand,
    tables: &BTreeSet<TableId>,
    catalog: &Catalog,
) -> (BTreeMap<TableId, usize>, BTreeSet<String>) {
    let mut counts: BTreeMap<TableId, usize> = tables.iter().map(|table| (*table, 0)).collect();
    let mut incomplete = BTreeSet::new();
    loop {
        let mut next: BTreeMap<TableId, usize> = tables.iter().map(|table| (*table, 0)).collect();
        for ((per, table), count) in demand {
            let times: usize = per.iter().map(|outer| counts.get(outer).copied().unwrap_or(0)).product();
            *next.entry(*table).or_default() += count * times;
        }
        for (table, count) in &mut next {
            if *count > ROWS_MAX {
                incomplete.insert(format!("more than {ROWS_MAX} rows of {} may be needed", catalog.table(*table).name));
                *count = ROWS_MAX;
            }
        }
        if next == counts {
            break;
        }
        counts = next;
    }
    while counts.values().sum::<usize>() > TOTAL_MAX {
        incomplete.insert(format!("more than {TOTAL_MAX} rows may be needed"));
        if let Some(most) = counts.values_mut().max() {
            *most -= 1;
        }
    }
    (counts, incomplete)
}

struct Planner<'a> {
    catalog: &'a Catalog,
    graph: &'a Graph,
    demand: Demand,
    /// Tables that are counted or summed up.
    aggregated: BTreeSet<TableId>,
    /// Tables that matter.
    tables: BTreeSet<TableId>,
}

impl Planner<'_> {
    fn need(&mut self, per: &[TableId], table: TableId, count: usize) {
        if count > 0 {
            *self.demand.entry((per.to_vec(), table)).or_default() += count;
        }
    }

    /// Every table that the program or the rule names, and those whose rows go with theirs.
    fn mentioned(&mut self, rules: &[&Query]) {
        let mut tables: BTreeSet<TableId> = rules.iter().flat_map(|rule| rule.tables()).collect();
        rules.iter().for_each(|rule| count_aggregated(rule, &mut self.aggregated));
        for edge in &self.graph.edges {
            match &edge.action {
                Action::Read(read) => tables.extend(read.query.tables()),
                Action::Open(_, query) => tables.extend(query.tables()),
                Action::Write(write) => tables.extend(write.statement.tables()),
                Action::Assign(_, expr) | Action::Assume(expr, _) => {
                    expr.walk(0, &mut |e, _| tables.extend(e.subquery().map(Query::tables).unwrap_or_default()));
                }
                _ => {}
            }
            each_query(&edge.action, &mut |query| count_aggregated(query, &mut self.aggregated));
        }
        followed(self.catalog, &mut tables);
        self.tables = tables;
    }

    /// The largest demand of any path to each place, and of all places the largest.
    fn along_paths(&mut self) -> Demand {
        let mut at: BTreeMap<usize, Demand> = BTreeMap::new();
        let mut most = Demand::new();
        for node in self.graph.order() {
            let here = at.remove(&node).unwrap_or_default();
            for edge in self.graph.edges.iter().filter(|edge| edge.from == node) {
                self.demand.clear();
                self.action(&edge.action, edge.on_error.is_some());
                let mut there = here.clone();
                add(&mut there, &self.demand);
                for to in [Some(edge.to), edge.on_error].into_iter().flatten() {
                    larger(at.entry(to).or_default(), &there);
                }
                larger(&mut most, &there);
            }
        }
        most
    }

    fn action(&mut self, action: &Action, handled: bool) {
        match action {
            // Where errors are handled, a second row may be the one that raises it.
            Action::Read(read) => (0..=usize::from(handled)).for_each(|_| self.query(&read.query, &[])),
            Action::Open(_, query) if handled => self.query(query, &[]),
            Action::Fetch(cursor, _) => {
                let graph = self.graph;
                let opened = graph.edges.iter().find_map(|edge| match &edge.action {
                    Action::Open(mark, query) if mark == cursor => Some(query.clone()),
                    _ => None,
                });
                if let Some(query) = opened {
                    self.query(&query, &[]);
                }
            }
            Action::Assign(_, expr) | Action::Assume(expr, _) => {
                (0..=usize::from(handled)).for_each(|_| self.expr(expr, &[]));
            }
            Action::Write(write) => self.write(write, handled),
            _ => {}
        }
    }

    fn write(&mut self, write: &crate::ir::Write, handled: bool) {
        // That some row was touched is seen in FOUND, in a count, in a handler, or in an aggregate.
        let found =
            write.found.is_some_and(|found| self.is_read(found)) || write.count.is_some() || !write.into.is_empty();
        let seen = usize::from(found) + usize::from(handled);
        match &write.statement.kind {
            StatementKind::Insert(insert) => {
                let table = insert.table;
                let conflict = usize::from(insert.on_conflict.is_some()) + usize::from(handled);
                let sources = from_tables(&insert.source);
                let rows = match &insert.source.body {
                    QueryBody::Values(rows) => rows.len(),
                    _ => 1,
                };
                self.need(&sources, table, conflict * rows);
                // Each row that matters may have come from a row of the source.
                for source in &sources {
                    self.need(&[table], *source, 1);
                    self.need(&[], *source, seen);
                }
                self.inner(&insert.source, &[table]);
                insert.values.iter().for_each(|value| self.expr(value, &[]));
                (0..rows).for_each(|_| self.parents(table, &sources, None));
            }
            StatementKind::Update(update) => {
                let one = seen + usize::from(self.is_followed(update.table, &update.select)) + usize::from(handled);
                self.need(&[], update.table, one);
                self.targeted(update.table, &update.select);
                update.set.iter().for_each(|(_, value)| self.expr(value, &[update.table]));
                let set: Vec<usize> = update.set.iter().map(|(column, _)| *column).collect();
                self.parents(update.table, &[update.table], Some(&set));
                self.successors(update.table, &set);
                if handled {
                    self.pointed_at(update.table);
                }
            }
            StatementKind::Delete(delete) => {
                self.need(&[], delete.table, seen + usize::from(self.is_followed(delete.table, &delete.select)));
                self.targeted(delete.table, &delete.select);
                if handled {
                    self.pointed_at(delete.table);
                }
            }
            _ => {}
        }
    }

    /// The row that a statement finds by its key matters to an aggregate over its table.
    fn is_followed(&self, table: TableId, select: &Select) -> bool {
        self.aggregated.contains(&table) && pins_unique_key(self.catalog, table, select.filter.as_ref())
    }

    /// Somebody looks at a variable.
    fn is_read(&self, variable: usize) -> bool {
        let mut read = false;
        for edge in &self.graph.edges {
            each_expr(&edge.action, &mut |expr| {
                expr.walk(0, &mut |e, _| read |= matches!(e.kind, ExprKind::Param(p) if p == variable));
            });
        }
        read
    }

    /// The parents of rows that are written.
    fn parents(&mut self, table: TableId, per: &[TableId], set: Option<&[usize]>) {
        let catalog = self.catalog;
        for fk in &catalog.table(table).foreign_keys {
            let concerned = set.is_none_or(|set| fk.columns.iter().any(|c| set.contains(c)));
            if concerned && self.tables.contains(&fk.parent) {
                self.need(per, fk.parent, 1);
            }
        }
    }

    /// The rows that take over the keys of others in the same statement: without them, children would be left alone and
    /// the statement would fail.
    fn successors(&mut self, parent: TableId, set: &[usize]) {
        for (child, fk) in children(self.catalog, parent) {
            if self.tables.contains(&child) && fk.parent_columns.iter().any(|c| set.contains(c)) {
                self.need(&[child], parent, 1);
            }
        }
    }

    /// A child that is in the way of a delete.
    fn pointed_at(&mut self, parent: TableId) {
        for (child, _) in children(self.catalog, parent) {
            if self.tables.contains(&child) {
                self.need(&[], child, 1);
            }
        }
    }

    /// What UPDATE and DELETE look at beside their target.
    fn targeted(&mut self, table: TableId, select: &Select) {
        let others = select.rels.iter().skip(1);
        let others: Vec<TableId> = others.flat_map(|rel| source_tables(&rel.source)).collect();
        for other in &others {
            self.need(&[table], *other, 1);
        }
        let mut around = vec![table];
        around.extend(others);
        select.exprs(&mut |expr| self.expr(expr, &around));
        select.queries(&mut |query| self.query(query, &[]));
    }

    /// A query: one row of each relation, for each combination of rows around it.
    fn query(&mut self, query: &Query, per: &[TableId]) {
        match &query.body {
            QueryBody::Select(select) => {
                let rows = match &select.grouping {
                    // Each extreme is that of some row; sums and counts are accounted for without rows.
                    Some(g) if g.keys.is_empty() => g.calls.iter().filter(|c| !is_counted(c.aggregate.kind)).count(),
                    _ => 1,
                };
                let tables = from_tables(query);
                for table in &tables {
                    self.need(per, *table, rows);
                    // Whether a row of an outer join has a partner is seen of every row.
                    if select.from.as_ref().is_some_and(has_outer_join) {
                        tables.iter().filter(|other| *other != table).for_each(|other| self.need(&[*other], *table, 1));
                    }
                }
                self.inner(query, per);
            }
            QueryBody::Values(rows) => rows.iter().flatten().for_each(|expr| self.expr(expr, per)),
            QueryBody::SetOperation { left, right, .. } => {
                self.query(left, per);
                self.query(right, per);
            }
        }
    }

    /// The subqueries of a query, for each combination of its rows.
    fn inner(&mut self, query: &Query, per: &[TableId]) {
        let mut around = per.to_vec();
        around.extend(from_tables(query));
        query.exprs(&mut |expr| self.expr(expr, &around));
        query.queries(&mut |inner| {
            let tables = from_tables(inner);
            let mut around = around.clone();
            around.extend(tables);
            inner.exprs(&mut |expr| self.expr(expr, &around));
        });
    }

    fn expr(&mut self, expr: &Expr, per: &[TableId]) {
        if let Some(query) = expr.subquery() {
            // One that does not depend on the rows around it is the same for all of them.
            self.query(query, if is_correlated(query) { per } else { &[] });
        }
        expr.children(&mut |child| self.expr(child, per));
    }

    // Rules.

    /// A rule: the rows that break it at the end, if that is asked, and those that made it true at the start.
    fn rule(&mut self, rule: &Query, breaks: bool) {
        let QueryBody::Select(select) = &rule.body else {
            self.query(rule, &[]);
            return;
        };
        let tables = from_tables(rule);
        let twice = select.grouping.is_some();
        for table in &tables {
            self.need(&[], *table, if twice { 2 } else { usize::from(breaks) });
        }
        select.projection.iter().for_each(|expr| self.wanted(expr, true, &tables));
        if let Some(grouping) = &select.grouping {
            grouping.calls.iter().flat_map(|c| &c.args).for_each(|arg| self.wanted(arg, true, &tables));
            grouping.having.iter().for_each(|having| self.wanted(having, false, &tables));
        }
        select.filter.iter().for_each(|filter| self.wanted(filter, false, &tables));
        select.queries(&mut |query| self.query(query, &[]));
    }

    /// A condition of the rule, which the rule wants to be true, or not true.
    fn wanted(&mut self, expr: &Expr, wanted: bool, per: &[TableId]) {
        match &expr.kind {
            ExprKind::Not(inner) => self.wanted(inner, !wanted, per),
            ExprKind::And(parts) | ExprKind::Or(parts) => parts.iter().for_each(|part| self.wanted(part, wanted, per)),
            ExprKind::Exists(query) => self.some(query, wanted, per),
            ExprKind::Quantified(q) => {
                q.left.iter().for_each(|left| self.either(left, per));
                self.some(&q.query, wanted != q.all, per);
            }
            _ => self.either(expr, per),
        }
    }

    /// That a query has a row: if the rule wants it, each combination of rows has one; if not, one row shows the
    /// violation.
    fn some(&mut self, query: &Query, wanted: bool, per: &[TableId]) {
        let tables = from_tables(query);
        for table in &tables {
            self.need(if wanted { per } else { &[] }, *table, 1);
            if wanted && !per.is_empty() {
                self.need(&[], *table, 1);
            }
        }
        let mut around = per.to_vec();
        around.extend(&tables);
        if let QueryBody::Select(select) = &query.body {
            select.filter.iter().for_each(|filter| self.wanted(filter, wanted, &around));
            if let Some(grouping) = &select.grouping {
                for table in &tables {
                    self.need(&[], *table, 2);
                }
                grouping.having.iter().for_each(|having| self.either(having, &around));
            }
        }
        query.queries(&mut |inner| self.query(inner, per));
    }

    fn either(&mut self, expr: &Expr, per: &[TableId]) {
        self.expr(expr, per);
        if expr.subquery().is_some() {
            self.expr(expr, &[]);
        }
    }

    /// Parents of tracked children, where that comes to an end.
    fn close(&mut self, total: &mut Demand) -> BTreeSet<(TableId, std::sync::Arc<str>)> {
        let mut closed = BTreeSet::new();
        for child in self.tables.clone() {
            for fk in &self.catalog.table(child).foreign_keys {
                if self.tables.contains(&fk.parent) && !self.reaches(fk.parent, child) {
                    *total.entry((vec![child], fk.parent)).or_default() += 1;
                    closed.insert((child, fk.name.clone()));
                }
            }
        }
        closed
    }

    /// Rows that change because of a parent that is not tracked: where foreign keys come round to the table they start
    /// from, no number of parents is enough.
    fn open_cascades(&self, closed: &BTreeSet<(TableId, std::sync::Arc<str>)>) -> Option<String> {
        let changed = |parent: TableId| {
            self.graph.edges.iter().any(|edge| match &edge.action {
                Action::Write(write) => match &write.statement.kind {
                    StatementKind::Delete(delete) => delete.table == parent || self.reaches(parent, delete.table),
                    StatementKind::Update(update) => update.table == parent || self.reaches(parent, update.table),
                    _ => false,
                },
                _ => false,
            })
        };
        self.tables.iter().find_map(|child| {
            let table = self.catalog.table(*child);
            let open = table.foreign_keys.iter().find(|fk| {
                (follows(fk.on_delete) || follows(fk.on_update))
                    && !closed.contains(&(*child, fk.name.clone()))
                    && changed(fk.parent)
            });
            open.map(|_| format!("rows of {} may change with any number of rows that they belong to", table.name))
        })
    }

    /// Whether foreign keys lead from one table to another.
    fn reaches(&self, from: TableId, to: TableId) -> bool {
        let (mut seen, mut todo) = (BTreeSet::new(), vec![from]);
        while let Some(table) = todo.pop() {
            if table == to {
                return true;
            }
            if seen.insert(table) {
                todo.extend(self.catalog.table(table).foreign_keys.iter().map(|fk| fk.parent));
            }
        }
        false
    }
}

/// Children do something when their parent goes.
fn follows(action: ReferentialAction) -> bool {
    !matches!(action, ReferentialAction::NoAction | ReferentialAction::Restrict)
}

fn has_outer_join(from: &From) -> bool {
    match from {
        From::Rel(_) => false,
        From::Join { kind, left, right, .. } => {
            !matches!(kind, JoinKind::Inner | JoinKind::Cross) || has_outer_join(left) || has_outer_join(right)
        }
    }
}

/// Whether a query looks at rows of the queries around it.
pub(crate) fn is_correlated(query: &Query) -> bool {
    let mut correlated = false;
    query.walk(0, &mut |e, depth| match e.kind {
        ExprKind::Column { depth: d, .. } | ExprKind::WholeRow { depth: d, .. } => correlated |= d > depth,
        ExprKind::Group { depth: d, .. } | ExprKind::Aggregated { depth: d, .. } => correlated |= d > depth,
        _ => {}
    });
    correlated
}

fn larger(at: &mut Demand, other: &Demand) {
    for (key, count) in other {
        let mine = at.entry(key.clone()).or_default();
        *mine = (*mine).max(*count);
    }
}

/// Whether rows that are not tracked are accounted for.
fn is_counted(kind: AggregateKind) -> bool {
    matches!(kind, AggregateKind::CountRows | AggregateKind::Count | AggregateKind::Sum)
}

/// The tables of a query's FROM, subqueries in it included.
fn from_tables(query: &Query) -> Vec<TableId> {
    match &query.body {
        QueryBody::Select(select) => select.rels.iter().flat_map(|rel| source_tables(&rel.source)).collect(),
        QueryBody::Values(_) => Vec::new(),
        QueryBody::SetOperation { left, right, .. } => {
            let mut tables = from_tables(left);
            tables.extend(from_tables(right));
            tables
        }
    }
}

fn source_tables(source: &RelSource) -> Vec<TableId> {
    match source {
        RelSource::Table(table) => vec![*table],
        RelSource::Query { query, .. } => from_tables(query),
        _ => Vec::new(),
    }
}

fn count_aggregated(query: &Query, tables: &mut BTreeSet<TableId>) {
    if let QueryBody::Select(select) = &query.body
        && select.grouping.as_ref().is_some_and(|g| g.calls.iter().any(|c| is_counted(c.aggregate.kind)))
    {
        tables.extend(from_tables(query));
    }
    query.queries(&mut |inner| count_aggregated(inner, tables));
    query.exprs(&mut |expr| subqueries(expr, &mut |inner| count_aggregated(inner, tables)));
}

fn subqueries(expr: &Expr, f: &mut dyn FnMut(&Query)) {
    if let Some(query) = expr.subquery() {
        f(query);
    }
    expr.children(&mut |child| subqueries(child, f));
}

/// Calls `f` with the expressions of an action.
pub(crate) fn each_expr(action: &Action, f: &mut dyn FnMut(&Expr)) {
    let mut in_query = |query: &Query| query.walk(0, &mut |e, _| f(e));
    match action {
        Action::Read(read) => in_query(&read.query),
        Action::Open(_, query) => in_query(query),
        Action::Assign(_, expr) | Action::Assume(expr, _) => f(expr),
        Action::Write(write) => match &write.statement.kind {
            StatementKind::Insert(insert) => {
                in_query(&insert.source);
                insert.values.iter().for_each(&mut *f);
                if let Some(update) = insert.on_conflict.as_ref().and_then(|c| c.update.as_ref()) {
                    update.set.iter().map(|(_, e)| e).chain(&update.filter).for_each(&mut *f);
                }
            }
            StatementKind::Update(update) => {
                update.select.exprs(&mut *f);
                update.set.iter().for_each(|(_, e)| f(e));
            }
            StatementKind::Delete(delete) => delete.select.exprs(&mut *f),
            _ => {}
        },
        _ => {}
    }
}

/// Calls `f` with the queries of an action.
fn each_query(action: &Action, f: &mut dyn FnMut(&Query)) {
    match action {
        Action::Read(read) => f(&read.query),
        Action::Open(_, query) => f(query),
        Action::Write(write) => {
            if let StatementKind::Insert(insert) = &write.statement.kind {
                f(&insert.source);
            }
            each_expr(action, &mut |expr| subqueries(expr, f));
        }
        _ => each_expr(action, &mut |expr| subqueries(expr, f)),
    }
}
