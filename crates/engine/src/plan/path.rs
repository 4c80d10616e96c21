//! The way to a relation's rows.
//!
//! A condition `column = value`, where the value is known before the row is, can be answered by an index; so can a list
//! of values, and a range. The best is all columns of a unique index: at most one row. What no index serves and what
//! joins two relations by equality is answered by a hash table, everything else by looking at all rows.

use std::sync::Arc;

use isolde_sql::Type;
use isolde_sql::catalog::{Catalog, Table};
use isolde_sql::typed::{self, ExprKind, Query};

use super::expr::{changes_nothing, comparison};
use super::facts::{RelSet, facts, query_rels};
use super::join::Condition;
use super::{Access, ReadPlan, Subquery, Values, expr};
use crate::eval::Comparison;
use crate::footprint::{ColumnSet, Predicate};

/// A way to a relation's rows.
pub(super) struct Path<'e> {
    way: Way<'e>,
    /// The positions of the conditions it sees to.
    uses: Vec<usize>,
}

enum Way<'e> {
    Scan,
    /// One row is `expected` by all columns of a unique index, also of one that can be deferred, which may have more
    /// for a while.
    Lookup {
        index: usize,
        keys: Vec<(usize, &'e typed::Expr)>,
        unique: bool,
        expected: bool,
    },
    EachOf {
        index: usize,
        column: usize,
        list: &'e [typed::Expr],
    },
    EachIn {
        index: usize,
        column: usize,
        query: &'e Query,
    },
    Range {
        index: usize,
        low: Option<Limit<'e>>,
        high: Option<Limit<'e>>,
    },
    Hash(Vec<(&'e typed::Expr, &'e typed::Expr)>),
}

/// A bound, and whether it is itself inside.
type Limit<'e> = (&'e typed::Expr, bool);

/// What looking at every row costs.
pub(super) const SCAN: i32 = 100;
/// What no path over an index exceeds.
pub(super) const INDEX_MAX: i32 = 50;

impl Path<'_> {
    /// All rows.
    pub(super) fn scan() -> Self {
        Path { way: Way::Scan, uses: Vec::new() }
    }

    /// A rank: smaller is better.
    pub(super) fn cost(&self) -> i32 {
        match &self.way {
            Way::Lookup { expected: true, .. } => 0,
            Way::Lookup { keys, .. } => 20 - (keys.len() as i32).min(9),
            Way::EachOf { .. } => 30,
            Way::EachIn { .. } => 31,
            Way::Range { low, high, .. } => INDEX_MAX - i32::from(low.is_some() && high.is_some()),
            Way::Hash(_) => SCAN - 1,
            Way::Scan => SCAN,
        }
    }

    /// Whether the condition at this position is seen to by following the path.
    pub(super) fn uses(&self, position: usize) -> bool {
        self.uses.contains(&position)
    }

    /// Compiles the path; counts the hash tables.
    pub(super) fn access(&self, catalog: &Catalog, hashes: &mut usize) -> Access {
        let compile = |e: &typed::Expr| expr(catalog, e);
        match &self.way {
            Way::Scan => Access::Scan,
            Way::Lookup { index, keys, unique, .. } => Access::Lookup {
                index: *index,
                columns: keys.iter().map(|(column, _)| *column).collect(),
                keys: keys.iter().map(|(_, e)| compile(e)).collect(),
                unique: *unique,
            },
            Way::EachOf { index, column, list } => {
                let values = Values::List(list.iter().map(compile).collect());
                Access::Each { index: *index, column: *column, values }
            }
            Way::EachIn { index, column, query } => {
                let values = Values::Query(Subquery::new(catalog, query));
                Access::Each { index: *index, column: *column, values }
            }
            Way::Range { index, low, high } => {
                let limit = |l: &Option<Limit<'_>>| l.map(|(e, inside)| (compile(e), inside));
                Access::Range { index: *index, low: limit(low), high: limit(high) }
            }
            Way::Hash(pairs) => {
                *hashes += 1;
                let (inner, outer) = pairs.iter().map(|(inner, outer)| (compile(inner), compile(outer))).unzip();
                Access::Hash { table: *hashes - 1, inner, outer }
            }
        }
    }
}

/// The best way to the rows of a table, given what is bound.
pub(super) fn choose<'e>(table: &Table, rel: usize, conditions: &[Condition<'e>], bound: &RelSet) -> Path<'e> {
    let indexes = (0..table.indexes.len()).filter(|i| table.indexes[*i].is_plain());
    let best = indexes.filter_map(|i| by_index(table, i, rel, conditions, bound)).min_by_key(Path::cost);
    best.unwrap_or_else(|| without_index(rel, conditions, bound))
}

/// The best way to the rows of a relation that has no index.
pub(super) fn without_index<'e>(rel: usize, conditions: &[Condition<'e>], bound: &RelSet) -> Path<'e> {
    let pairs = conditions.iter().enumerate().filter_map(|(i, c)| Some((i, hash_pair(c, rel, bound)?)));
    let (uses, pairs): (Vec<_>, Vec<_>) = pairs.unzip();
    if pairs.is_empty() { Path::scan() } else { Path { way: Way::Hash(pairs), uses } }
}

pub(super) fn by_index<'e>(
    table: &Table,
    index: usize,
    rel: usize,
    conditions: &[Condition<'e>],
    bound: &RelSet,
) -> Option<Path<'e>> {
    let columns = &table.indexes[index].columns;
    let mut keys = Vec::new();
    let mut uses = Vec::new();
    for &column in columns {
        let Some((position, known)) = find(conditions, |c| equal_to(c, rel, column, bound)) else { break };
        keys.push((column, known));
        uses.push(position);
    }
    if !keys.is_empty() {
        let expected = table.indexes[index].is_locked_as_key() && keys.len() == columns.len();
        let unique = expected && table.indexes[index].is_key();
        return Some(Path { way: Way::Lookup { index, keys, unique, expected }, uses });
    }
    let column = *columns.first()?;
    by_list(index, rel, column, conditions, bound).or_else(|| by_range(index, rel, column, conditions, bound))
}

fn by_list<'e>(
    index: usize,
    rel: usize,
    column: usize,
    conditions: &[Condition<'e>],
    bound: &RelSet,
) -> Option<Path<'e>> {
    let (position, way) = find(conditions, |c| match &c.expr.kind {
        ExprKind::InList(operand, list, false) if is_column(operand, rel, column) => {
            let known = list.iter().all(|e| is_known(e, bound)) && operand.ty != Type::Record;
            known.then_some(Way::EachOf { index, column, list })
        }
        ExprKind::Quantified(q) if !q.all => {
            let ([left], [op]) = (q.left.as_slice(), q.ops.as_slice()) else { return None };
            let plain = op.name == "=" && is_column(left, rel, column) && left.ty != Type::Record;
            let known = plain && !c.facts.volatile && query_rels(&q.query).is_subset(bound);
            known.then_some(Way::EachIn { index, column, query: &q.query })
        }
        _ => None,
    })?;
    Some(Path { way, uses: vec![position] })
}

fn by_range<'e>(
    index: usize,
    rel: usize,
    column: usize,
    conditions: &[Condition<'e>],
    bound: &RelSet,
) -> Option<Path<'e>> {
    use Comparison as C;
    let limit = |inside: C, outside: C| {
        find(conditions, |c| {
            let (op, known) = column_versus(c, rel, column, bound)?;
            (op == inside || op == outside).then_some((known, op == inside))
        })
    };
    let (low, high) = (limit(C::GreaterOrEqual, C::Greater), limit(C::LessOrEqual, C::Less));
    if low.is_none() && high.is_none() {
        return None;
    }
    let uses = low.iter().chain(&high).map(|(position, _)| *position).collect();
    Some(Path { way: Way::Range { index, low: low.map(|(_, l)| l), high: high.map(|(_, l)| l) }, uses })
}

/// The first condition that `matches` accepts, and what it made of it.
fn find<'e, T>(conditions: &[Condition<'e>], matches: impl Fn(&Condition<'e>) -> Option<T>) -> Option<(usize, T)> {
    conditions.iter().enumerate().find_map(|(i, c)| Some((i, matches(c)?)))
}

/// What the column must equal.
fn equal_to<'e>(c: &Condition<'e>, rel: usize, column: usize, bound: &RelSet) -> Option<&'e typed::Expr> {
    let (op, known) = column_versus(c, rel, column, bound)?;
    (op == Comparison::Equal).then_some(known)
}

/// A comparison of the column with something known: seen from the column.
pub(super) fn column_versus<'e>(
    c: &Condition<'e>,
    rel: usize,
    column: usize,
    bound: &RelSet,
) -> Option<(Comparison, &'e typed::Expr)> {
    let ExprKind::Call(builtin, args) = &c.expr.kind else { return None };
    let op = comparison(builtin, args)?;
    let [a, b] = args.as_slice() else { return None };
    if is_column(a, rel, column) && is_known(b, bound) {
        Some((op, b))
    } else if is_column(b, rel, column) && is_known(a, bound) {
        Some((op.turned(), a))
    } else {
        None
    }
}

/// The column itself, possibly under a conversion that leaves it as it is.
pub(super) fn is_column(e: &typed::Expr, rel: usize, column: usize) -> bool {
    match &e.kind {
        ExprKind::Column { depth: 0, rel: r, col } => (usize::from(*r), usize::from(*col)) == (rel, column),
        ExprKind::Cast { expr, .. } => changes_nothing(expr.ty, e.ty) && is_column(expr, rel, column),
        _ => false,
    }
}

/// Whether the value is there before the row is, and stays what it is.
pub(super) fn is_known(e: &typed::Expr, bound: &RelSet) -> bool {
    let facts = facts(e);
    !facts.volatile && facts.rels.is_subset(bound)
}

/// The two sides of an equality between this relation alone and relations that are bound.
fn hash_pair<'e>(c: &Condition<'e>, rel: usize, bound: &RelSet) -> Option<(&'e typed::Expr, &'e typed::Expr)> {
    if c.facts.volatile || c.facts.subquery {
        return None;
    }
    let ExprKind::Call(builtin, args) = &c.expr.kind else { return None };
    if comparison(builtin, args)? != Comparison::Equal {
        return None;
    }
    let [a, b] = args.as_slice() else { return None };
    let (left, right) = (facts(a).rels, facts(b).rels);
    let own = RelSet::from([rel]);
    let joined = |other: &RelSet| !other.is_empty() && other.is_subset(bound);
    match () {
        () if left == own && joined(&right) => Some((a, b)),
        () if right == own && joined(&left) => Some((b, a)),
        () => None,
    }
}

/// What a read of this relation says, given the conditions on its row alone.
pub(super) fn read(rel: usize, conditions: &[&Condition<'_>], columns: ColumnSet, once: bool) -> ReadPlan {
    let mut list: Vec<typed::Expr> = conditions.iter().map(|c| renumbered(c.expr, rel)).collect();
    let filter = match list.len() {
        0 => None,
        1 => list.pop(),
        _ => Some(typed::Expr { kind: ExprKind::And(list), ty: Type::Bool }),
    };
    ReadPlan {
        filter: filter.map(|e| Arc::new(Predicate::new(e))),
        uses_params: conditions.iter().any(|c| c.facts.params),
        columns,
        once,
    }
}

/// The same condition with the row as relation 0.
pub(super) fn renumbered(e: &typed::Expr, from: usize) -> typed::Expr {
    let mut e = e.clone();
    e.walk_mut(0, &mut |e, _| {
        if let ExprKind::Column { rel, .. } | ExprKind::WholeRow { rel, .. } = &mut e.kind
            && usize::from(*rel) == from
        {
            *rel = 0;
        }
        true
    });
    e
}
