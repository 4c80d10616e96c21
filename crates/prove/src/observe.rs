//! Counts and sums that a proof about loops looks at, beside rows.
//!
//! "The total of an order is the sum of its lines" is about one arbitrary order, and about a number: the sum of all
//! lines of that order. "Every pet has an owner" is about one arbitrary pet, and about a number too: how many owners
//! have the key that it names. So a rule of this kind is one about a row ([`Universal`](crate::universal::Universal))
//! in which every subquery is an *observed* number. What holds at the head of a loop is said of the row and of its
//! numbers; what a round of the loop does to them is worked out where they are evaluated, from the rows that are
//! tracked and what is known of the others ([`Residue`](crate::logic::Residue)).
//!
//! ```text
//!   SELECT total = (SELECT sum(amount) FROM line WHERE ord = o.id) FROM orders o
//!          total = n1                                               n1 observed: sum of line
//!   SELECT NOT EXISTS (SELECT FROM pet p WHERE NOT EXISTS (SELECT FROM owner WHERE id = p.owner))
//!          a pet with NOT (n1 > 0)                                  n1 observed: count of owner
//! ```
//!
//! A procedure that looks up the parent before a loop, and adds children inside of it, needs one thing more: that the
//! parent is still there. So lookups by a key of variables are observed as well, as counts, where the tables are ones
//! that the rule counts.

use std::collections::BTreeSet;

use isolde_smt::{Sort, Term};
use isolde_sql::builtin::{self, AggregateKind};
use isolde_sql::catalog::{Catalog, TableId};
use isolde_sql::typed::{
    AggregateCall, Expr, ExprKind, From, Grouping, OutputColumn, Quantified, Query, QueryBody, RelSource,
};
use isolde_sql::{Type, Value};

use crate::ir::{Action, Graph};
use crate::logic::{Context, Evaluator, Level, Result, Sym, sort_of};
use crate::plan::{each_expr, is_correlated};
use crate::state::State;

/// What the names of sums begin with.
const SUM: &str = "sum";

/// A count or a sum.
#[derive(Clone, Debug)]
pub struct Observed {
    /// What it is called: `count of booking`.
    pub name: String,
    /// A scalar subquery.
    pub expr: Expr,
    /// The table that it counts.
    pub table: TableId,
}

impl Observed {
    /// What it comes to in a state, under a row if it is about one.
    pub(crate) fn value(
        &self,
        ctx: &mut Context,
        catalog: &Catalog,
        state: &State,
        row: Option<&[Sym]>,
    ) -> Result<Sym> {
        let levels = row.map(|columns| Level::of([columns.to_vec()])).into_iter().collect();
        // That a sum is too large for its type is the business of whoever computes it.
        let (value, _) = ctx.caught(|ctx| Evaluator { ctx, catalog, state, levels }.expr(&self.expr))?;
        Ok(value)
    }

    /// Lets what it comes to go by its name in a context: of rows that are not tracked, it is the name without what is
    /// tracked.
    pub(crate) fn go_by_name(&self, ctx: &mut Context, catalog: &Catalog, state: &State, row: &[Sym]) {
        let before = ctx.groups.clone();
        ctx.residues = false;
        let tracked = self.value(ctx, catalog, state, Some(row));
        ctx.residues = true;
        let (Ok(tracked), Ok(_)) = (tracked, self.value(ctx, catalog, state, Some(row))) else { return };
        let kind = if self.name.starts_with(SUM) { ":sum:" } else { ":count:" };
        for (question, answers) in &mut ctx.groups {
            let is_new = answers.len() > before.get(question).map_or(0, Vec::len) && question.contains(kind);
            if let Some((_, answer)) = answers.last_mut().filter(|_| is_new && sort_of(self.expr.ty) == Some(Sort::Int))
            {
                *answer = Term::constant(self.name.as_str()).minus(tracked.value.clone());
            }
        }
    }

    /// The variables that it depends on.
    pub(crate) fn variables(&self) -> BTreeSet<usize> {
        let mut variables = BTreeSet::new();
        self.expr.walk(0, &mut |e, _| {
            if let ExprKind::Param(variable) = e.kind {
                variables.insert(variable);
            }
        });
        variables
    }
}

/// Puts observed numbers in the place of the subqueries of a condition of a rule: the nth is `Param(n)`. Says whether
/// all could be. `positive` is whether the condition only matters as far as it is true, so that NULL may stand for
/// false.
pub(crate) fn observe(expr: &mut Expr, positive: bool, catalog: Names<'_>, seen: &mut Vec<Observed>) -> bool {
    let counted = match &expr.kind {
        ExprKind::Exists(query) => Some(count(query, None)),
        ExprKind::Quantified(quantified) if positive && !quantified.all => {
            Some(count(&quantified.query, Some(quantified)))
        }
        ExprKind::Scalar(query) => return observe_scalar(query.clone(), expr, catalog, seen),
        _ => None,
    };
    if let Some(counted) = counted {
        let Some(mut number) = counted.map(scalar) else { return false };
        let Some(above) = builtin::functions().find(|f| f.name == ">" && f.args == [Type::Unknown, Type::Unknown])
        else {
            return false;
        };
        let ExprKind::Scalar(query) = &number.kind else { return false };
        if !observe_scalar(query.clone(), &mut number, catalog, seen) {
            return false;
        }
        let zero = Expr { kind: ExprKind::Const(Value::Int(0)), ty: Type::Int8 };
        expr.kind = ExprKind::Call(above, vec![number, zero]);
        return true;
    }
    if expr.subquery().is_some() || matches!(expr.kind, ExprKind::Routine(..)) {
        return false;
    }
    let positive = positive && matches!(expr.kind, ExprKind::And(_) | ExprKind::Or(_));
    let mut all = true;
    expr.children_mut(&mut |child| all = all && observe(child, positive, catalog, seen));
    all
}

/// What tables are called.
pub(crate) type Names<'a> = &'a dyn Fn(TableId) -> String;

/// A subquery that counts or sums up the rows of one table.
fn observe_scalar(query: Box<Query>, expr: &mut Expr, names: Names<'_>, seen: &mut Vec<Observed>) -> bool {
    let Some((table, word)) = aggregates(&query) else { return false };
    let known = seen.iter().position(|other| format!("{:?}", other.expr.kind) == format!("{:?}", expr.kind));
    let at = known.unwrap_or_else(|| {
        let name = format!("{word} of {}", names(table));
        let same = seen.iter().filter(|other| other.name.starts_with(&name)).count();
        let name = if same == 0 { name } else { format!("{name} {}", same + 1) };
        seen.push(Observed { name, expr: expr.clone(), table });
        seen.len() - 1
    });
    expr.kind = ExprKind::Param(at);
    true
}

/// The one table that a query counts or sums up, and which of these it does.
fn aggregates(query: &Query) -> Option<(TableId, &'static str)> {
    let QueryBody::Select(select) = &query.body else { return None };
    let grouping =
        select.grouping.as_ref().filter(|g| g.keys.is_empty() && g.having.is_none() && g.calls.len() == 1)?;
    let word = match grouping.calls[0].aggregate.kind {
        AggregateKind::CountRows | AggregateKind::Count => "count",
        AggregateKind::Sum => SUM,
        _ => return None,
    };
    let single =
        single_table(query).filter(|_| query.with.is_empty() && query.offset.is_none() && query.limit.is_none());
    single.filter(|_| !grouping.calls[0].distinct).map(|table| (table, word))
}

/// The table of a query over one table.
fn single_table(query: &Query) -> Option<TableId> {
    let QueryBody::Select(select) = &query.body else { return None };
    match (&select.from, select.rels.as_slice()) {
        (Some(From::Rel(0)), [rel]) => match rel.source {
            RelSource::Table(table) => Some(table),
            _ => None,
        },
        _ => None,
    }
}

/// How many rows a query over one table has; only those that equal something, if that is asked.
fn count(query: &Query, equal: Option<&Quantified>) -> Option<Query> {
    let QueryBody::Select(select) = &query.body else { return None };
    let plain = select.grouping.is_none() && select.windows.is_empty() && select.expansions.is_empty();
    if !plain || !query.with.is_empty() || query.limit.is_some() || query.offset.is_some() {
        return None;
    }
    single_table(query)?;
    let aggregate = builtin::aggregates("count").find(|a| a.kind == AggregateKind::CountRows)?;
    let mut select = select.clone();
    let mut filter: Vec<Expr> = select.filter.take().into_iter().collect();
    for ((left, op), column) in equal.iter().flat_map(|q| q.left.iter().zip(&q.ops).zip(&select.projection)) {
        let mut left = left.clone();
        left.walk_mut(0, &mut |e, depth| deeper(e, depth));
        filter.push(Expr { kind: ExprKind::Call(op, vec![column.clone(), left]), ty: Type::Bool });
    }
    select.filter = match filter.len() {
        0 => None,
        1 => filter.pop(),
        _ => Some(Expr { kind: ExprKind::And(filter), ty: Type::Bool }),
    };
    let call = AggregateCall {
        aggregate,
        args: Vec::new(),
        distinct: false,
        order_by: Vec::new(),
        filter: None,
        ty: Type::Int8,
    };
    let grouping = Grouping { keys: Vec::new(), sets: Vec::new(), masks: Vec::new(), calls: vec![call], having: None };
    select.grouping = Some(grouping);
    select.projection = vec![Expr { kind: ExprKind::Aggregated { depth: 0, call: 0 }, ty: Type::Int8 }];
    (select.distinct, select.distinct_on) = (false, 0);
    let columns = vec![OutputColumn { name: "count".into(), ty: Type::Int8, origin: None }];
    Some(Query { columns, body: QueryBody::Select(select), order_by: Vec::new(), locking: Vec::new(), ..query.clone() })
}

/// An expression that now stands in a query inside of the one it stood in.
fn deeper(expr: &mut Expr, at: u16) -> bool {
    match &mut expr.kind {
        ExprKind::Column { depth, .. } | ExprKind::WholeRow { depth, .. } if *depth >= at => *depth += 1,
        _ => {}
    }
    true
}

fn scalar(query: Query) -> Expr {
    Expr { kind: ExprKind::Scalar(Box::new(query)), ty: Type::Int8 }
}

/// The lookups of a procedure by a key of variables, as counts, in the tables that a rule counts.
pub(crate) fn lookups(graph: &Graph, tables: &BTreeSet<TableId>, names: Names<'_>) -> Vec<Observed> {
    let mut queries: Vec<Query> = Vec::new();
    for edge in &graph.edges {
        match &edge.action {
            Action::Read(read) => queries.extend(count(&Query { limit: None, ..(*read.query).clone() }, None)),
            Action::Assume(..) | Action::Assign(..) => each_expr(&edge.action, &mut |expr| {
                expr.walk(0, &mut |e, depth| match &e.kind {
                    ExprKind::Exists(query) if depth == 0 => queries.extend(count(query, None)),
                    ExprKind::Quantified(q) if depth == 0 && !q.all => queries.extend(count(&q.query, Some(q))),
                    _ => {}
                });
            }),
            _ => {}
        }
    }
    let mut seen = Vec::new();
    for query in queries {
        let own = single_table(&query).is_some_and(|table| tables.contains(&table)) && !is_correlated(&query);
        let mut expr = scalar(query.clone());
        if own && names_variables(&expr) {
            observe_scalar(Box::new(query), &mut expr, &|table| format!("{} looked up", names(table)), &mut seen);
        }
    }
    seen
}

fn names_variables(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(0, &mut |e, _| found |= matches!(e.kind, ExprKind::Param(_)));
    found
}
