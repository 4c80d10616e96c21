//! Where the order of rows shows.
//!
//! The rows of a table have an order that no statement asked for: that of the heap, in which each new version of a row
//! goes to the end. Mostly it is nothing: rows without ORDER BY are a set. But `LIMIT 1` takes whichever row comes
//! first, `array_agg` and `row_number() OVER ()` keep the order of arrival, a loop runs in it, and a statement that
//! locks several rows locks them in it, which shows when it has to wait. A statement *reads the order* of a table if
//! its result, or the order of what it does, may depend on how the rows lie.
//!
//! What is found here is a fact about the bound statement, on the safe side: a sort that leaves no ties, a condition
//! that at most one row fulfils and an aggregate that forgets the order are recognised, everything else is taken to
//! read it.

use std::collections::BTreeSet;

use super::*;
use crate::ast::{FrameUnits, Volatility};
use crate::builtin::{AggregateKind, Eval, WindowKind};
use crate::catalog::Catalog;

/// What is done with the rows of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// They are a set.
    Set,
    /// One after another: a loop, a cursor.
    Sequence,
    /// The first of them counts, the others are dropped.
    First,
}

/// A table whose order is read: of its rows, those with these values in these columns.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderRead {
    /// The table.
    pub table: TableId,
    /// Rows with other values are not looked at.
    pub key: Vec<(usize, Value)>,
}

/// How a statement lets the order of rows decide what it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OrderCause {
    /// LIMIT, OFFSET or FETCH FIRST.
    Limit,
    /// DISTINCT ON.
    DistinctOn,
    /// A window function that goes by places: `row_number() OVER ()`.
    Window,
    /// An aggregate that keeps the order: `array_agg`.
    Aggregate,
    /// The first of several rows is stored.
    First,
    /// A loop or a cursor goes through them.
    Sequence,
}

impl OrderCause {
    /// What the statement does, behind its place: "takes ...".
    pub fn about(self) -> &'static str {
        match self {
            OrderCause::Limit | OrderCause::First => "takes the first of several rows that it does not order",
            OrderCause::DistinctOn => "keeps one of several rows that it does not order (DISTINCT ON)",
            OrderCause::Window => "counts or compares rows that it does not order (OVER)",
            OrderCause::Aggregate => "gathers rows that it does not order into one value",
            OrderCause::Sequence => "goes through rows one by one that it does not order",
        }
    }
}

/// Where the order of rows shows in a statement.
#[derive(Clone, Debug, Default)]
pub struct OrderReads {
    /// The tables whose order matters.
    pub reads: Vec<OrderRead>,
    /// Routines whose rows are taken in their order.
    pub routines: BTreeSet<RoutineId>,
    /// Why the result depends on it. The order in which rows are locked is not among these: it is no choice of the
    /// author.
    pub causes: BTreeSet<OrderCause>,
}

impl Statement {
    /// Where the order of rows shows in it, if its own rows are taken in this manner.
    pub fn order_reads(&self, catalog: &Catalog, taken: Taken) -> OrderReads {
        let mut finder = Finder { catalog, found: OrderReads::default(), withs: false };
        finder.statement(self, taken);
        finder.found
    }
}

impl Expr {
    /// Where the order of rows shows in the queries inside of it.
    pub fn order_reads(&self, catalog: &Catalog) -> OrderReads {
        let mut finder = Finder { catalog, found: OrderReads::default(), withs: false };
        finder.expr(self);
        finder.found
    }
}

impl SelectKeys<'_> {
    fn of(keys: &[OrderKey]) -> SelectKeys<'_> {
        SelectKeys(keys.iter().map(|key| &key.expr).collect())
    }
}

/// What rows are sorted by.
struct SelectKeys<'k>(Vec<&'k Expr>);

struct Finder<'c> {
    catalog: &'c Catalog,
    found: OrderReads,
    /// The rows of some WITH query are taken in their order.
    withs: bool,
}

impl Finder<'_> {
    fn statement(&mut self, statement: &Statement, taken: Taken) {
        match &statement.kind {
            StatementKind::Query(query) => {
                // The answer to a query with ORDER BY is a sequence, ties included.
                let shows = taken != Taken::Set || !query.order_by.is_empty();
                let cause = match taken {
                    Taken::Set => None,
                    Taken::First => Some(OrderCause::First),
                    Taken::Sequence => Some(OrderCause::Sequence),
                };
                self.query(query, shows, cause);
            }
            StatementKind::Insert(insert) => {
                // Rows go into the heap, and into indexes, one after another.
                self.query(&insert.source, true, None);
                self.exprs(&insert.values);
                if let Some(update) = insert.on_conflict.as_ref().and_then(|c| c.update.as_ref()) {
                    self.exprs(update.set.iter().map(|(_, e)| e).chain(&update.filter));
                }
                self.returning(&insert.returning);
                self.with(&insert.with);
            }
            StatementKind::Update(update) => {
                self.select(&update.select, true);
                self.exprs(update.set.iter().map(|(_, e)| e));
                self.returning(&update.returning);
                self.with(&update.with);
            }
            StatementKind::Delete(delete) => {
                self.select(&delete.select, true);
                self.returning(&delete.returning);
                self.with(&delete.with);
            }
            StatementKind::Merge(merge) => {
                self.select(&merge.select, true);
                self.exprs(merge.whens.iter().flat_map(MergeWhen::exprs));
                self.with(&merge.with);
            }
            StatementKind::Call(_, args) => self.exprs(args),
            StatementKind::Cursor(CursorCommand::Declare { query, .. }) => self.statement(query, Taken::Sequence),
            StatementKind::Session(SessionCommand::Prepare { prepared, .. }) => {
                self.statement(&prepared.statement, taken);
            }
            _ => {}
        }
    }

    fn returning(&mut self, returning: &Option<Returning>) {
        self.exprs(returning.iter().flat_map(|r| &r.exprs));
    }

    fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        exprs.into_iter().for_each(|e| self.expr(e));
    }

    fn expr(&mut self, expr: &Expr) {
        expr.children(&mut |child| self.expr(child));
        if let Some(query) = expr.subquery() {
            // More than one row is an error, or they are a set.
            self.query(query, false, None);
        }
    }

    /// WITH queries, after what reads them: a later one may read an earlier one.
    fn with(&mut self, withs: &[With]) {
        for with in withs.iter().rev() {
            let shows = self.withs;
            match &with.body {
                WithBody::Query(query) => self.query(query, shows, None),
                WithBody::Recursive { first, step, .. } => {
                    self.query(step, shows, None);
                    self.query(first, self.withs, None);
                }
                WithBody::Modify(statement) => self.statement(statement, Taken::Set),
            }
        }
    }

    /// A query, and whether the order of its rows shows, for this reason.
    fn query(&mut self, query: &Query, shows: bool, cause: Option<OrderCause>) {
        let cut = query.limit.is_some() || query.offset.is_some();
        let waits = query.locking.iter().any(|locking| locking.wait == crate::ast::LockWait::Block);
        match &query.body {
            QueryBody::Select(select) => {
                let distinct_on = select.distinct_on > 0;
                let keys = SelectKeys::of(&query.order_by);
                let sorted = self.is_total(select, &keys)
                    || (query.locking.is_empty() && !distinct_on && covers_output(select, &keys))
                    || (select.distinct && query.locking.is_empty() && select.projection.iter().all(is_exact));
                let open = !sorted && !self.is_single(select);
                let before = self.found.reads.len() + self.found.routines.len();
                self.select(select, open && (shows || cut || waits || distinct_on));
                let reads = self.found.reads.len() + self.found.routines.len() > before;
                if open && reads {
                    self.found.causes.extend(cause.filter(|_| query.order_by.is_empty()));
                    self.found.causes.extend(cut.then_some(OrderCause::Limit));
                    self.found.causes.extend(distinct_on.then_some(OrderCause::DistinctOn));
                }
            }
            QueryBody::Values(_) => {}
            QueryBody::SetOperation { left, right, all, .. } => {
                let outputs: BTreeSet<usize> = query.order_by.iter().filter_map(|key| output(&key.expr)).collect();
                let exact = query.columns.iter().all(|column| is_exact_type(column.ty));
                let open = outputs.len() < query.columns.len() || !exact;
                let shows = open && (shows || cut) || (!*all && !exact);
                self.query(left, shows, None);
                self.query(right, shows, None);
                self.found.causes.extend((open && cut).then_some(OrderCause::Limit));
            }
        }
        if !matches!(query.body, QueryBody::Select(_)) {
            query.exprs(&mut |e| self.expr(e));
        } else {
            self.exprs(query.order_by.iter().map(|key| &key.expr).chain(&query.limit).chain(&query.offset));
        }
        self.with(&query.with);
    }

    /// A select, and whether the order of its rows shows.
    fn select(&mut self, select: &Select, shows: bool) {
        let aggregate = self.has_ordered_aggregate(select);
        let window = self.has_ordered_window(select);
        self.found.causes.extend(aggregate.then_some(OrderCause::Aggregate));
        self.found.causes.extend(window.then_some(OrderCause::Window));
        let mut volatile = false;
        select.exprs(&mut |e| volatile |= self.is_volatile(e));
        let inexact = select.grouping.as_ref().is_some_and(|g| !g.keys.iter().all(is_exact))
            || (select.distinct && !select.projection.iter().all(is_exact));
        let shows = shows || aggregate || window || volatile || inexact;
        for (number, rel) in select.rels.iter().enumerate() {
            match &rel.source {
                RelSource::Table(table) if shows && !self.is_pinned(select, number, *table) => {
                    let key = key_of(select, number);
                    self.found.reads.push(OrderRead { table: *table, key });
                }
                RelSource::Query { query, .. } => self.query(query, shows, None),
                RelSource::Routine(id, _) if shows => drop(self.found.routines.insert(*id)),
                RelSource::RowsFrom { parts, .. } if shows => {
                    for part in parts {
                        if let RelSource::Routine(id, _) = &part.source {
                            self.found.routines.insert(*id);
                        }
                    }
                }
                RelSource::With { .. } | RelSource::Working { .. } => self.withs |= shows,
                RelSource::Table(_) | RelSource::Function(..) | RelSource::Routine(..) | RelSource::RowsFrom { .. } => {
                }
            }
        }
        select.exprs(&mut |e| self.expr(e));
    }

    /// Whether an aggregate keeps the order in which rows come.
    fn has_ordered_aggregate(&self, select: &Select) -> bool {
        let calls = select.grouping.iter().flat_map(|grouping| &grouping.calls);
        calls
            .into_iter()
            .any(|call| keeps_order(call) && !self.tells_rows_apart(select, &SelectKeys::of(&call.order_by)))
    }

    fn has_ordered_window(&self, select: &Select) -> bool {
        select.windows.iter().any(|window| {
            let mut keys = SelectKeys::of(&window.order_by);
            keys.0.extend(&window.partition_by);
            let by_place = |call: &WindowCall| match call {
                WindowCall::Function { function, .. } => !matches!(
                    function.kind,
                    WindowKind::Rank | WindowKind::DenseRank | WindowKind::PercentRank | WindowKind::CumeDist
                ),
                WindowCall::Aggregate(call) => keeps_order(call) || window.frame.units == FrameUnits::Rows,
            };
            window.calls.iter().any(|(_, call)| by_place(call)) && !self.is_total(select, &keys)
        })
    }

    /// Whether no two rows of a select are equal in all these keys.
    fn is_total(&self, select: &Select, keys: &SelectKeys<'_>) -> bool {
        if let Some(grouping) = &select.grouping {
            let sorted = |n: usize| {
                let is = |e: &&&Expr| matches!(shown(select, e).kind, ExprKind::Group { depth: 0, key } if key == n);
                keys.0.iter().any(|e| is(&e))
            };
            return grouping.sets.is_empty() && (0..grouping.keys.len()).all(sorted);
        }
        self.tells_rows_apart(select, keys)
    }

    /// The same for the rows of its relations, before they are grouped.
    fn tells_rows_apart(&self, select: &Select, keys: &SelectKeys<'_>) -> bool {
        let has = |rel: usize, column: usize| keys.0.iter().any(|e| is_column(shown(select, e), rel, column));
        select.expansions.is_empty()
            && select.rels.iter().enumerate().all(|(number, rel)| match &rel.source {
                RelSource::Table(id) => {
                    let table = self.catalog.table(*id);
                    let unique = |c: &usize| has(number, *c) && table.columns[*c].not_null;
                    let tells = |index: &crate::catalog::Index| index.is_key() && index.columns.iter().all(unique);
                    self.is_pinned(select, number, *id) || table.indexes.iter().any(tells)
                }
                RelSource::Query { query, .. } => self.is_one_row(query),
                _ => false,
            })
    }

    /// Whether a select has at most one row.
    fn is_single(&self, select: &Select) -> bool {
        if !select.expansions.is_empty() {
            return false;
        }
        let one_group = |g: &Grouping| g.keys.is_empty() && g.sets.is_empty();
        select.grouping.as_ref().is_some_and(one_group)
            || select.rels.iter().enumerate().all(|(number, rel)| match &rel.source {
                RelSource::Table(table) => self.is_pinned(select, number, *table),
                RelSource::Query { query, .. } => self.is_one_row(query),
                _ => false,
            })
    }

    fn is_one_row(&self, query: &Query) -> bool {
        match &query.body {
            QueryBody::Select(select) => self.is_single(select),
            QueryBody::Values(rows) => rows.len() <= 1,
            QueryBody::SetOperation { .. } => false,
        }
    }

    /// Whether at most one row of a table can be among a select's: all columns of a key are given.
    fn is_pinned(&self, select: &Select, rel: usize, table: TableId) -> bool {
        let mut given: BTreeSet<usize> = BTreeSet::new();
        conditions(select, &mut |e| given.extend(equality(e, rel).map(|(column, _)| column)));
        let table = self.catalog.table(table);
        table.indexes.iter().any(|index| {
            index.is_key() && !index.columns.is_empty() && index.columns.iter().all(|column| given.contains(column))
        })
    }

    /// Whether evaluating it once more, or for another row first, may give something else.
    fn is_volatile(&self, expr: &Expr) -> bool {
        let mut volatile = false;
        expr.walk(0, &mut |e, _| match &e.kind {
            ExprKind::Routine(id, _) => volatile |= self.catalog.routine(*id).volatility == Volatility::Volatile,
            ExprKind::Call(builtin, _) => {
                volatile |= matches!(builtin.eval, Eval::Session(function) if !function.is_stable());
            }
            _ => {}
        });
        volatile
    }
}

/// Whether an aggregate's value depends on the order in which it is given its rows.
fn keeps_order(call: &AggregateCall) -> bool {
    use AggregateKind as K;
    let exact = call.args.iter().all(is_exact);
    match call.aggregate.kind {
        K::StringAgg | K::ArrayAgg => !call.distinct,
        K::JsonAgg | K::JsonRowsAgg | K::JsonbAgg | K::JsonObjectAgg | K::JsonbObjectAgg => true,
        // Floating-point sums round in the order of arrival.
        K::Sum | K::Avg | K::StddevSamp | K::StddevPop | K::VarSamp | K::VarPop => {
            call.args.iter().any(|arg| matches!(arg.ty, Type::Float8 | Type::Float4))
        }
        // Of equal values that look different, one is returned.
        K::Min | K::Max | K::PercentileDisc | K::Mode => !exact,
        K::CountRows | K::Count | K::BoolAnd | K::BoolOr | K::BitAnd | K::BitOr | K::BitXor | K::PercentileCont => {
            false
        }
    }
}

/// Whether sort keys decide the whole output: rows that are equal in them are equal.
fn covers_output(select: &Select, keys: &SelectKeys<'_>) -> bool {
    let sorted = |e: &Expr| keys.0.iter().any(|key| shown(select, key).same_as(e));
    !keys.0.is_empty() && select.projection.iter().all(|e| is_exact(e) && sorted(e))
}

/// What a sort key stands for.
fn shown<'e>(select: &'e Select, key: &'e Expr) -> &'e Expr {
    output(key).and_then(|n| select.projection.get(n)).unwrap_or(key)
}

fn output(key: &Expr) -> Option<usize> {
    if let ExprKind::Output(n) = key.kind { Some(n) } else { None }
}

fn is_exact(expr: &Expr) -> bool {
    is_exact_type(expr.ty)
}

/// Whether values of a type that are equal cannot be told apart.
fn is_exact_type(ty: Type) -> bool {
    ty.is_integer()
        || ty.is_text()
        || matches!(ty, Type::Bool | Type::Date | Type::Uuid | Type::Timestamp | Type::Timestamptz)
}

/// The conditions that every row of a select fulfils: those of WHERE and of inner joins.
fn conditions<'s>(select: &'s Select, f: &mut dyn FnMut(&'s Expr)) {
    fn joined<'s>(from: &'s From, f: &mut dyn FnMut(&'s Expr)) {
        if let From::Join { kind: JoinKind::Inner | JoinKind::Cross, left, right, on } = from {
            joined(left, f);
            joined(right, f);
            on.iter().for_each(|on| conjuncts(on, f));
        }
    }
    select.filter.iter().for_each(|filter| conjuncts(filter, f));
    select.from.iter().for_each(|from| joined(from, f));
}

fn conjuncts<'e>(e: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    match &e.kind {
        ExprKind::And(list) => list.iter().for_each(|e| conjuncts(e, f)),
        _ => f(e),
    }
}

/// `column = something` that is the same for all rows of the select.
fn equality(e: &Expr, rel: usize) -> Option<(usize, &Expr)> {
    let ExprKind::Call(builtin, args) = &e.kind else { return None };
    let ("=", [a, b]) = (builtin.name, args.as_slice()) else { return None };
    let column = |e: &Expr| match e.kind {
        ExprKind::Column { depth: 0, rel: r, col } if usize::from(r) == rel => Some(usize::from(col)),
        _ => None,
    };
    let (column, other) = column(a).map(|c| (c, b)).or_else(|| column(b).map(|c| (c, a)))?;
    is_given(other).then_some((column, other))
}

/// Whether an expression has one value for all rows of its select.
fn is_given(e: &Expr) -> bool {
    let mut given = e.subquery().is_none();
    e.walk(0, &mut |e, _| {
        given &= e.subquery().is_none();
        match &e.kind {
            ExprKind::Const(_) | ExprKind::Param(_) | ExprKind::Cast { .. } | ExprKind::NamedField(..) => {}
            ExprKind::Column { depth, .. } => given &= *depth > 0,
            ExprKind::Call(builtin, _) => given &= !matches!(builtin.eval, Eval::Session(f) if !f.is_stable()),
            _ => given = false,
        }
    });
    given
}

/// The constants that rows of a relation must have in some columns.
fn key_of(select: &Select, rel: usize) -> Vec<(usize, Value)> {
    let mut key = Vec::new();
    conditions(select, &mut |e| {
        if let Some((column, Expr { kind: ExprKind::Const(value), ty })) = equality(e, rel)
            && is_exact_type(*ty)
            && !matches!(value, Value::Null)
        {
            key.push((column, value.clone()));
        }
    });
    key
}

fn is_column(e: &Expr, rel: usize, column: usize) -> bool {
    matches!(e.kind, ExprKind::Column { depth: 0, rel: r, col } if (usize::from(r), usize::from(col)) == (rel, column))
}
