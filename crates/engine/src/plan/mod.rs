//! How a query will be run: decided once, carried out many times.
//!
//! A [`SelectPlan`] is a nest of loops. Each [`Step`] of a [`Nest`] binds the row of one relation, by the best way
//! there is: a key, a range of an index, a hash table, the whole table. A condition is checked at the first step where
//! everything it mentions is bound, so a row that cannot contribute is dropped before anything is joined to it:
//!
//! ```text
//!   FROM account a JOIN owner o ON o.id = a.owner LEFT JOIN note n ON n.account = a.id WHERE a.id = $1 AND o.age > 18
//!
//!   left    1  a   by key account_pkey ($1)
//!           2  o   by key owner_pkey (a.owner)          o.age > 18
//!   right   1  n   by hash of n.account, probe a.id     (none found: n is null)
//! ```
//!
//! Plans hold no rows and nothing of a session; they are shared between all executions.

mod constant_in;
pub(crate) mod early;
mod equal;
mod estimate;
pub(crate) mod expr;
pub(crate) mod facts;
mod inline;
mod join;
mod merge;
mod order;
mod outer;
mod path;
mod simplify;
pub(crate) mod siread;
mod stages;
mod with;

use std::sync::Arc;

use isolde_sql::ast::SetOperator;
use isolde_sql::builtin::{Aggregate, SetFunction};
use isolde_sql::catalog::{Catalog, RoutineId, TableId};
use isolde_sql::typed;
use isolde_sql::{Row, Value};

pub(crate) use expr::{Expr, Subquery, expr};
pub(crate) use merge::reads_target_first;
use siread::Siread;
pub(crate) use stages::{BoundPlan, CallPlan, ExpansionPlan, FramePlan, Reach, StagesPlan, WindowPlan};
pub(crate) use with::{WithPlan, WithScope, withs};

use crate::footprint::{ColumnSet, Predicate};
use expr::exprs;
use stages::stages;

/// How to run a query.
#[derive(Clone, Debug)]
pub(crate) struct QueryPlan {
    /// Its WITH queries.
    pub(crate) withs: Vec<WithPlan>,
    pub(crate) body: BodyPlan,
    pub(crate) order_by: Vec<SortKey>,
    /// The rows come in that order by themselves.
    pub(crate) sorted: bool,
    pub(crate) limit: Option<Expr>,
    pub(crate) with_ties: bool,
    pub(crate) offset: Option<Expr>,
    /// It locks its rows, so it must not be run as if it did not.
    pub(crate) locks: bool,
}

/// Where a query's rows come from.
#[derive(Clone, Debug)]
pub(crate) enum BodyPlan {
    Select(Box<SelectPlan>),
    Values(Vec<Vec<Expr>>),
    SetOperation { op: SetOperator, all: bool, left: Box<Subquery>, right: Box<Subquery> },
}

/// How to run a select, or to find the rows of an UPDATE or DELETE.
#[derive(Clone, Debug)]
pub(crate) struct SelectPlan {
    /// Per relation of FROM, a row of NULLs: what an outer join puts in its place.
    pub(crate) nulls: Vec<Row>,
    /// How rows are found and joined.
    pub(crate) nest: Nest,
    /// How many steps use a hash table.
    pub(crate) hashes: usize,
    pub(crate) grouping: Option<GroupingPlan>,
    pub(crate) projection: Vec<Expr>,
    /// The select list is all columns of this relation: the result is its row as it stands.
    pub(crate) whole: Option<usize>,
    pub(crate) distinct: bool,
    /// Windows, functions that yield rows and DISTINCT ON, if it has any of them.
    pub(crate) stages: Option<Box<StagesPlan>>,
    /// The select list has effects, so it is evaluated in the order of the result and for its rows alone.
    pub(crate) late: bool,
}

/// Loops inside each other, outermost first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nest {
    /// Conditions on what is bound before: checked once, and nothing is read if one fails.
    pub(crate) gates: Vec<Expr>,
    /// Tables behind IN that PostgreSQL would begin to read before anything else; if one is empty, nothing else is
    /// read.
    pub(crate) first: Vec<TableId>,
    pub(crate) steps: Vec<Step>,
}

/// One loop.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) item: Item,
    /// Checked once the item's rows are bound.
    pub(crate) conditions: Vec<Expr>,
}

/// What a loop runs over.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// The rows of a relation.
    Rel(Box<RelStep>),
    /// An outer join; a RIGHT JOIN is a left one with its sides exchanged.
    Left { left: Box<Nest>, right: Box<Nest>, right_rels: Vec<usize> },
    /// A full join: both sides are complete before the condition is looked at.
    Full { left: Box<Nest>, right: Box<Nest>, left_rels: Vec<usize>, right_rels: Vec<usize>, on: Vec<Expr> },
}

/// How the rows of a relation are found.
#[derive(Clone, Debug)]
pub(crate) struct RelStep {
    pub(crate) rel: usize,
    pub(crate) source: Source,
    pub(crate) access: Access,
    /// Conditions on this row and the variables alone; part of the footprint.
    pub(crate) filter: Vec<Expr>,
    /// The conditions that `access` sees to: to be checked where it is not used.
    pub(crate) implied: Vec<Expr>,
    /// What a read of it says.
    pub(crate) read: ReadPlan,
    /// The path that PostgreSQL would take, which is what is remembered at SERIALIZABLE.
    pub(crate) siread: Siread,
}

/// What a relation is.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Table(TableId),
    Query(Subquery),
    /// A WITH query of the query `depth` levels outward.
    With {
        depth: u16,
        index: usize,
    },
    /// What the last round of a recursive WITH query found.
    Working {
        depth: u16,
        index: usize,
    },
    Function(SetFunction, Vec<Expr>),
    RowsFrom {
        parts: Vec<(Source, usize)>,
        ordinality: bool,
    },
    /// `once`: the arguments are the same for all rows of the other relations, and so is the result.
    Routine {
        id: RoutineId,
        args: Vec<Expr>,
        once: bool,
    },
}

/// How rows are found in a relation.
#[derive(Clone, Debug)]
pub(crate) enum Access {
    /// All of them.
    Scan,
    /// By the first columns of an index; `unique` if they are all of a unique one.
    Lookup { index: usize, columns: Vec<usize>, keys: Vec<Expr>, unique: bool },
    /// By each of several values of an index's first column.
    Each { index: usize, column: usize, values: Values },
    /// By a range of an index's first column; each bound may include its value.
    Range { index: usize, low: Option<(Expr, bool)>, high: Option<(Expr, bool)> },
    /// All rows, or those in a range of its first column, in the order of an index; among rows equal in `columns` in
    /// that of the heap.
    Ordered {
        index: usize,
        columns: Vec<usize>,
        descending: bool,
        low: Option<(Expr, bool)>,
        high: Option<(Expr, bool)>,
    },
    /// By a hash table over `inner`, probed with `outer`.
    Hash { table: usize, inner: Vec<Expr>, outer: Vec<Expr> },
}

/// Where the values of [`Access::Each`] come from.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    List(Vec<Expr>),
    Query(Subquery),
}

/// The parts of a [`crate::footprint::Read`] that no execution changes.
#[derive(Clone, Debug)]
pub(crate) struct ReadPlan {
    pub(crate) filter: Option<Arc<Predicate>>,
    pub(crate) uses_params: bool,
    pub(crate) columns: ColumnSet,
    /// The step runs once per execution of its query, so its reads need not be told apart.
    pub(crate) once: bool,
}

/// How to group.
#[derive(Clone, Debug)]
pub(crate) struct GroupingPlan {
    pub(crate) keys: Vec<Expr>,
    /// GROUPING SETS; none is one of all keys.
    pub(crate) sets: Vec<Vec<usize>>,
    /// GROUPING(...): the keys that each asks about.
    pub(crate) masks: Vec<Vec<usize>>,
    pub(crate) calls: Vec<AggregatePlan>,
    pub(crate) having: Option<Expr>,
    /// The first row that has a value for the only aggregate decides it.
    pub(crate) first_only: bool,
}

/// How to aggregate.
#[derive(Clone, Debug)]
pub(crate) struct AggregatePlan {
    pub(crate) aggregate: &'static Aggregate,
    pub(crate) args: Vec<Expr>,
    pub(crate) distinct: bool,
    pub(crate) order_by: Vec<SortKey>,
    pub(crate) filter: Option<Expr>,
}

/// What rows are sorted by.
#[derive(Clone, Debug)]
pub(crate) struct SortKey {
    pub(crate) expr: Expr,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

impl QueryPlan {
    /// The select, if that is what the query is: for row locks and EvalPlanQual.
    pub(crate) fn select(&self) -> Option<&SelectPlan> {
        match &self.body {
            BodyPlan::Select(select) => Some(select),
            _ => None,
        }
    }
}

/// Plans a query, with all queries inside it.
pub(crate) fn query(catalog: &Catalog, q: &typed::Query) -> QueryPlan {
    let outer_scope: Vec<&typed::Expr> = q.order_by.iter().map(|k| &k.expr).chain(&q.limit).chain(&q.offset).collect();
    let body = match &q.body {
        typed::QueryBody::Select(s) => {
            let inlined = inline::with_queries(q);
            BodyPlan::Select(Box::new(select(catalog, inlined.as_ref().unwrap_or(s), &outer_scope)))
        }
        typed::QueryBody::Values(rows) => BodyPlan::Values(rows.iter().map(|row| exprs(catalog, row)).collect()),
        typed::QueryBody::SetOperation { op, all, left, right } => BodyPlan::SetOperation {
            op: *op,
            all: *all,
            left: Box::new(Subquery::new(catalog, left)),
            right: Box::new(Subquery::new(catalog, right)),
        },
    };
    let mut plan = QueryPlan {
        withs: withs(catalog, &q.with),
        body,
        order_by: sort_keys(catalog, &q.order_by),
        sorted: false,
        limit: q.limit.as_ref().map(|e| expr(catalog, e)),
        with_ties: q.with_ties,
        offset: q.offset.as_ref().map(|e| expr(catalog, e)),
        locks: !q.locking.is_empty(),
    };
    name_outputs(&mut plan);
    order::by_index(catalog, &mut plan);
    siread::for_order(catalog, &mut plan);
    plan
}

/// Sort keys that name an output column which is a table's column mean that column.
fn name_outputs(plan: &mut QueryPlan) {
    let BodyPlan::Select(select) = &plan.body else { return };
    for key in &mut plan.order_by {
        if let Expr::Output(n) = key.expr
            && let Some(column @ Expr::Column { .. }) = select.projection.get(n)
        {
            key.expr = column.clone();
        }
    }
}

/// Plans a select. `also_used` are expressions elsewhere in the statement that see its rows: SET, RETURNING, sort keys.
pub(crate) fn select(catalog: &Catalog, s: &typed::Select, also_used: &[&typed::Expr]) -> SelectPlan {
    let (nest, hashes) = join::nest(catalog, s, also_used);
    let projection = exprs(catalog, &s.projection);
    let whole = if s.grouping.is_none() && s.expansions.is_empty() { whole_row(s, &projection) } else { None };
    let mut plan = SelectPlan {
        nulls: s.rels.iter().map(|rel| rel.columns.iter().map(|_| Value::Null).collect()).collect(),
        nest,
        hashes,
        grouping: s.grouping.as_ref().map(|g| grouping(catalog, g)),
        projection,
        whole,
        distinct: s.distinct,
        stages: stages(catalog, s),
        late: !s.distinct && s.projection.iter().any(has_effects),
    };
    order::for_extreme(catalog, &mut plan);
    plan
}

/// Whether it matters how often and when an expression is evaluated.
fn has_effects(e: &typed::Expr) -> bool {
    let mut calls = crate::routine::draws(e);
    e.walk(0, &mut |e, _| calls |= matches!(e.kind, typed::ExprKind::Routine(..)));
    calls
}

/// The relation whose row is the result, unchanged.
fn whole_row(s: &typed::Select, projection: &[Expr]) -> Option<usize> {
    let Some(Expr::Column { rel, col: 0 }) = projection.first() else { return None };
    let rel = *rel;
    let width = s.rels.get(usize::from(rel))?.columns.len();
    let in_order =
        |(i, e): (usize, &Expr)| matches!(e, Expr::Column { rel: r, col } if *r == rel && usize::from(*col) == i);
    (projection.len() == width && projection.iter().enumerate().all(in_order)).then_some(rel.into())
}

fn grouping(catalog: &Catalog, g: &typed::Grouping) -> GroupingPlan {
    GroupingPlan {
        keys: exprs(catalog, &g.keys),
        sets: g.sets.clone(),
        masks: g.masks.clone(),
        calls: g.calls.iter().map(|c| aggregate(catalog, c)).collect(),
        having: g.having.as_ref().map(|e| expr(catalog, e)),
        first_only: false,
    }
}

fn aggregate(catalog: &Catalog, c: &typed::AggregateCall) -> AggregatePlan {
    AggregatePlan {
        aggregate: c.aggregate,
        args: exprs(catalog, &c.args),
        distinct: c.distinct,
        order_by: sort_keys(catalog, &c.order_by),
        filter: c.filter.as_ref().map(|e| expr(catalog, e)),
    }
}

fn sort_keys(catalog: &Catalog, keys: &[typed::OrderKey]) -> Vec<SortKey> {
    let key = |k: &typed::OrderKey| SortKey {
        expr: expr(catalog, &k.expr),
        descending: k.descending,
        nulls_first: k.nulls_first,
    };
    keys.iter().map(key).collect()
}
