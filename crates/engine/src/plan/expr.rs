//! Expressions, compiled.
//!
//! The typed tree with every decision taken that does not depend on a row: conversions that change nothing are gone,
//! comparisons and integer arithmetic are nodes of their own instead of calls, calls on constants are their results,
//! subqueries are plans. What remains is a tree that `eval` walks.

use std::sync::Arc;

use isolde_sql::builtin::{Builtin, Eval, SessionFunction};
use isolde_sql::catalog::{Catalog, RoutineId};
use isolde_sql::typed::{self, ExprKind, QueryBody, RelSource};
use isolde_sql::types::TypeKind;
use isolde_sql::{Type, Value};
use rustc_hash::FxHashSet;

use super::{QueryPlan, facts, simplify};
use crate::eval::{self, Comparison};
use crate::prepare::Prepared;

/// A compiled expression. Variants not explained here are those of [`ExprKind`].
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Const(Value),
    /// A column of the row at hand.
    Column {
        rel: u16,
        col: u16,
    },
    /// A column of an enclosing query's row.
    Outer {
        depth: u16,
        rel: u16,
        col: u16,
    },
    WholeRow {
        depth: u16,
        rel: u16,
    },
    Param(usize),
    Field(Box<Expr>, usize),
    NamedField(usize, Arc<str>),
    Group {
        depth: u16,
        key: usize,
    },
    Aggregated {
        depth: u16,
        call: usize,
    },
    Windowed(usize),
    Expanded(usize),
    Output(usize),
    /// `=`, `<` and so on between values of one type, by the order of [`Value`].
    Compare(Comparison, Box<(Expr, Expr)>),
    /// `+`, `-`, `*` of integers; what leaves the range is left to the builtin, which knows the message.
    Integer(IntegerOp, std::ops::RangeInclusive<i64>, &'static Builtin, Box<(Expr, Expr)>),
    Pure(&'static Builtin, PureFn, Box<[Expr]>),
    Session(SessionFunction, bool, Box<[Expr]>),
    Routine(RoutineId, Box<[Expr]>),
    And(Box<[Expr]>),
    Or(Box<[Expr]>),
    Not(Box<Expr>),
    IsNull(Box<Expr>, bool),
    IsTruth(Box<Expr>, Option<bool>, bool),
    IsDistinct(Box<(Expr, Expr)>, bool),
    InList(Box<Expr>, Box<[Expr]>, bool),
    /// `IN` a longer list of constants.
    InSet(Box<Expr>, Arc<ConstSet>, bool),
    Case(Box<[(Expr, Expr)]>, Option<Box<Expr>>),
    Coalesce(Box<[Expr]>),
    Extreme(Box<[Expr]>, bool),
    Cast {
        expr: Box<Expr>,
        from: Type,
        to: Type,
        explicit: bool,
    },
    Row(Box<[Expr]>),
    Scalar(Box<Subquery>),
    ScalarRow(Box<Subquery>),
    Exists(Box<Subquery>),
    Quantified(Box<Quantified>),
    AnyOf(Box<AnyOf>),
    /// A cast to a domain, whose conditions are checked.
    Domain(Box<DomainCast>),
}

/// What a pure builtin computes.
pub(crate) type PureFn = fn(&[Value]) -> Result<Value, isolde_sql::SqlError>;

/// The integer operators that are worth a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntegerOp {
    Add,
    Subtract,
    Multiply,
}

/// The constants of an IN list.
#[derive(Debug)]
pub(crate) struct ConstSet {
    pub(crate) values: FxHashSet<Value>,
    pub(crate) has_null: bool,
}

/// A query inside an expression or FROM.
#[derive(Clone, Debug)]
pub(crate) struct Subquery {
    /// How to run it.
    pub(crate) plan: QueryPlan,
    /// The nearest enclosing query it refers to: 1 is the one it stands in, `None` is that it stands alone.
    pub(crate) outward: Option<u16>,
    /// The same as a statement of its own, if it locks rows: then it may have to wait.
    pub(crate) locking: Option<Box<LockingSubquery>>,
}

/// A subquery that locks rows, as a statement. What it takes from the queries around it are parameters.
#[derive(Clone, Debug)]
pub(crate) struct LockingSubquery {
    pub(crate) statement: Arc<Prepared>,
    /// The parameters of the statement around it that it keeps, before those below.
    pub(crate) kept: usize,
    /// What it takes, seen from where it stands.
    pub(crate) taken: Vec<Expr>,
    /// It reads WITH queries of the query it stands in.
    pub(crate) reads_with: bool,
}

/// `left op ANY (array)`
#[derive(Clone, Debug)]
pub(crate) struct AnyOf {
    pub(crate) left: Expr,
    pub(crate) op: Operator,
    pub(crate) all: bool,
    pub(crate) array: Expr,
}

/// `expr::domain`
#[derive(Clone, Debug)]
pub(crate) struct DomainCast {
    /// The value, already of the type that the domain restricts.
    pub(crate) expr: Expr,
    pub(crate) name: &'static str,
    pub(crate) not_null: bool,
    /// Conditions over the value as the only column, with their names.
    pub(crate) checks: Box<[(Arc<str>, Expr)]>,
}

/// `left op ANY (query)`
#[derive(Clone, Debug)]
pub(crate) struct Quantified {
    pub(crate) left: Box<[Expr]>,
    pub(crate) ops: Box<[Operator]>,
    pub(crate) all: bool,
    pub(crate) query: Subquery,
}

/// A boolean operator of two values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operator {
    Compare(Comparison),
    Pure(&'static Builtin, PureFn),
    /// Nothing a comparison could be: always NULL.
    Unknown,
}

impl Subquery {
    pub(crate) fn new(catalog: &Catalog, query: &typed::Query) -> Subquery {
        Subquery::of_rows(catalog, query, None)
    }

    /// The same where no more than so many rows are asked for.
    fn of_rows(catalog: &Catalog, query: &typed::Query, rows_max: Option<usize>) -> Subquery {
        let outward = facts::outward(query);
        let locking = if query.locking.is_empty() { None } else { locking_subquery(catalog, query, rows_max) };
        Subquery { plan: super::query(catalog, query), outward, locking: locking.map(Box::new) }
    }
}

/// A locking subquery as a statement of its own; `None` if it reads what such a statement cannot see.
fn locking_subquery(catalog: &Catalog, query: &typed::Query, rows_max: Option<usize>) -> Option<LockingSubquery> {
    let (mut reads_with, mut out_of_reach) = (false, false);
    query.sources(0, &mut |source, level| match source {
        RelSource::With { depth, .. } if *depth > level => {
            reads_with = true;
            out_of_reach |= *depth > level + 1;
        }
        RelSource::Working { depth, .. } => out_of_reach |= *depth > level,
        _ => {}
    });
    if out_of_reach {
        return None;
    }
    let mut kept = 0;
    query.walk(0, &mut |e, _| {
        if let ExprKind::Param(slot) | ExprKind::NamedField(slot, _) = &e.kind {
            kept = kept.max(slot + 1);
        }
    });
    let mut taken: Vec<typed::Expr> = Vec::new();
    let mut query = query.clone();
    query.walk_mut(0, &mut |e, level| {
        let mut outer = e.clone();
        match &mut outer.kind {
            ExprKind::Column { depth, .. } | ExprKind::WholeRow { depth, .. } if *depth > level => *depth -= level + 1,
            ExprKind::Group { depth, .. } | ExprKind::Aggregated { depth, .. } if *depth > level => {
                *depth -= level + 1;
            }
            _ => return true,
        }
        let known = taken.iter().position(|t| t.same_as(&outer));
        let at = known.unwrap_or_else(|| {
            taken.push(outer);
            taken.len() - 1
        });
        e.kind = ExprKind::Param(kept + at);
        false
    });
    let statement = Arc::new(Prepared::inner(catalog, &query, rows_max));
    Some(LockingSubquery { statement, kept, taken: exprs(catalog, &taken), reads_with })
}

/// Compiles an expression.
pub(crate) fn expr(catalog: &Catalog, e: &typed::Expr) -> Expr {
    let one = |e: &typed::Expr| Box::new(expr(catalog, e));
    let all = |list: &[typed::Expr]| list.iter().map(|e| expr(catalog, e)).collect::<Box<[Expr]>>();
    match &e.kind {
        ExprKind::Const(value) => Expr::Const(value.clone()),
        ExprKind::Column { depth: 0, rel, col } => Expr::Column { rel: *rel, col: *col },
        ExprKind::Column { depth, rel, col } => Expr::Outer { depth: *depth, rel: *rel, col: *col },
        ExprKind::WholeRow { depth, rel } => Expr::WholeRow { depth: *depth, rel: *rel },
        ExprKind::Param(slot) => Expr::Param(*slot),
        ExprKind::Field(record, field) => Expr::Field(one(record), *field),
        ExprKind::NamedField(slot, name) => Expr::NamedField(*slot, name.clone()),
        ExprKind::Group { depth, key } => Expr::Group { depth: *depth, key: *key },
        ExprKind::Aggregated { depth, call } => Expr::Aggregated { depth: *depth, call: *call },
        ExprKind::Windowed(n) => Expr::Windowed(*n),
        ExprKind::Expanded(n) => Expr::Expanded(*n),
        ExprKind::Output(n) => Expr::Output(*n),
        ExprKind::Call(builtin, args) => call(builtin, args, all(args)),
        ExprKind::Routine(id, args) => Expr::Routine(*id, all(args)),
        ExprKind::And(list) => Expr::And(all(list)),
        ExprKind::Or(list) => Expr::Or(all(list)),
        ExprKind::Not(e) => Expr::Not(one(e)),
        ExprKind::IsNull(e, negated) => Expr::IsNull(one(e), *negated),
        ExprKind::IsTruth(e, truth, negated) => Expr::IsTruth(one(e), *truth, *negated),
        ExprKind::IsDistinct(a, b, negated) => {
            Expr::IsDistinct(Box::new((expr(catalog, a), expr(catalog, b))), *negated)
        }
        ExprKind::InList(e, list, negated) => in_list(e.ty, expr(catalog, e), all(list), *negated),
        ExprKind::Case(whens, otherwise) => {
            let whens = whens.iter().map(|(c, r)| (expr(catalog, c), expr(catalog, r)));
            Expr::Case(whens.collect(), otherwise.as_deref().map(one))
        }
        ExprKind::Coalesce(list) => Expr::Coalesce(all(list)),
        ExprKind::Extreme(list, greatest) => Expr::Extreme(all(list), *greatest),
        ExprKind::Cast { expr: inner, .. } if matches!(e.ty, Type::Domain(_)) => domain(catalog, inner, e.ty),
        ExprKind::Cast { expr: inner, explicit } => cast(expr(catalog, inner), inner.ty, e.ty, *explicit),
        ExprKind::Row(list) => Expr::Row(all(list)),
        ExprKind::Scalar(query) => Expr::Scalar(Box::new(Subquery::of_rows(catalog, query, Some(2)))),
        ExprKind::ScalarRow(query) => Expr::ScalarRow(Box::new(Subquery::of_rows(catalog, query, Some(2)))),
        ExprKind::Exists(query) => Expr::Exists(Box::new(Subquery::of_rows(catalog, &without_outputs(query), Some(1)))),
        ExprKind::AnyOf(any) => Expr::AnyOf(Box::new(AnyOf {
            left: expr(catalog, &any.left),
            op: operator(any.op, any.left.ty),
            all: any.all,
            array: expr(catalog, &any.array),
        })),
        ExprKind::Quantified(q) => Expr::Quantified(Box::new(Quantified {
            left: all(&q.left),
            ops: q.ops.iter().zip(&q.left).map(|(op, left)| operator(op, left.ty)).collect(),
            all: q.all,
            query: Subquery::new(catalog, &q.query),
        })),
    }
}

/// A cast to a domain: the base type first, then its conditions.
fn domain(catalog: &Catalog, inner: &typed::Expr, to: Type) -> Expr {
    let Type::Domain(user) = to else { return expr(catalog, inner) };
    let value = cast(expr(catalog, inner), inner.ty, to.underlying(), true);
    // The conditions of a domain that this one restricts come first.
    let (mut forbids_null, mut conditions, mut ty) = (false, Vec::new(), to);
    while let Type::Domain(user) = ty
        && let TypeKind::Domain { base, not_null, checks, .. } = &user.def().kind
    {
        forbids_null |= *not_null;
        conditions.splice(0..0, checks.iter().map(|c| (c.name.clone(), expr(catalog, &c.expr))));
        ty = *base;
    }
    if !forbids_null && conditions.is_empty() {
        return value;
    }
    let checks = conditions.into();
    Expr::Domain(Box::new(DomainCast { expr: value, name: user.name(), not_null: forbids_null, checks }))
}

/// A query of which only the existence of rows matters: `EXISTS (SELECT * ...)` depends on no column of the list.
fn without_outputs(query: &typed::Query) -> typed::Query {
    let mut query = query.clone();
    if let QueryBody::Select(select) = &mut query.body
        && select.grouping.is_none()
        && !select.distinct
        && select.windows.is_empty()
        && select.expansions.is_empty()
        && select.distinct_on == 0
        && !query.with_ties
    {
        select.projection.clear();
        query.order_by.clear();
    }
    query
}

/// Compiles a list of expressions.
pub(crate) fn exprs(catalog: &Catalog, list: &[typed::Expr]) -> Vec<Expr> {
    list.iter().map(|e| expr(catalog, e)).collect()
}

/// Whether it is NULL because an argument is, and nothing is to be complained about in the others.
fn is_settled(builtin: &Builtin, typed: &[typed::Expr], args: &[Expr]) -> bool {
    let is_null = |arg: &Expr| matches!(arg, Expr::Const(Value::Null));
    let is_const = |arg: &Expr| matches!(arg, Expr::Const(_));
    let rest = || typed.iter().zip(args).filter(|(_, arg)| !is_const(arg));
    builtin.strict && args.iter().any(is_null) && !rest().any(|(e, _)| simplify::fails_early(e))
}

fn call(builtin: &'static Builtin, typed: &[typed::Expr], args: Box<[Expr]>) -> Expr {
    match builtin.eval {
        Eval::Session(function) => Expr::Session(function, builtin.strict, args),
        Eval::Pure(_) if is_settled(builtin, typed, &args) => Expr::Const(Value::Null),
        Eval::Pure(function) => {
            if let Some(comparison) = comparison(builtin, typed) {
                return fold(|| Expr::Compare(comparison, pair(args)));
            }
            if let Some((op, range)) = integer(builtin) {
                return fold(|| Expr::Integer(op, range, builtin, pair(args)));
            }
            fold(|| Expr::Pure(builtin, function, args))
        }
    }
}

fn pair(args: Box<[Expr]>) -> Box<(Expr, Expr)> {
    let mut args = args.into_vec().into_iter();
    let mut next = || args.next().expect("a binary operator has two operands");
    Box::new((next(), next()))
}

/// The comparison a builtin is, when [`Value`]'s own order decides it. Records do not qualify: their NULL fields count.
pub(super) fn comparison(builtin: &Builtin, args: &[typed::Expr]) -> Option<Comparison> {
    let [a, b] = args else { return None };
    let same =
        a.ty.base() == b.ty.base() || (a.ty.is_integer() && b.ty.is_integer()) || (a.ty.is_text() && b.ty.is_text());
    let plain = !matches!(a.ty, Type::Record | Type::Unknown | Type::Void);
    if same && plain { Comparison::named(builtin.name) } else { None }
}

fn operator(builtin: &'static Builtin, left: Type) -> Operator {
    let plain = !matches!(left, Type::Record | Type::Unknown | Type::Void);
    match (Comparison::named(builtin.name), builtin.eval) {
        (Some(comparison), _) if plain && same_arguments(builtin) => Operator::Compare(comparison),
        (_, Eval::Pure(function)) => Operator::Pure(builtin, function),
        (_, Eval::Session(_)) => Operator::Unknown,
    }
}

fn same_arguments(builtin: &Builtin) -> bool {
    matches!(builtin.args, [a, b] if a == b || (a.is_integer() && b.is_integer()))
}

fn integer(builtin: &Builtin) -> Option<(IntegerOp, std::ops::RangeInclusive<i64>)> {
    let op = match builtin.name {
        "+" => IntegerOp::Add,
        "-" => IntegerOp::Subtract,
        "*" => IntegerOp::Multiply,
        _ => return None,
    };
    let [a, b] = builtin.args else { return None };
    if !a.is_integer() || !b.is_integer() {
        return None;
    }
    let range = match builtin.returns {
        Type::Int2 => i16::MIN.into()..=i16::MAX.into(),
        Type::Int4 => i32::MIN.into()..=i32::MAX.into(),
        Type::Int8 => i64::MIN..=i64::MAX,
        _ => return None,
    };
    Some((op, range))
}

fn in_list(ty: Type, operand: Expr, list: Box<[Expr]>, negated: bool) -> Expr {
    const SHORT: usize = 8;
    let constants = || list.iter().map(|e| if let Expr::Const(v) = e { Some(v) } else { None });
    if list.len() > SHORT && ty != Type::Record && constants().all(|v| v.is_some()) {
        let has_null = constants().flatten().any(|v| matches!(v, Value::Null));
        let values = constants().flatten().filter(|v| !matches!(v, Value::Null)).cloned().collect();
        return Expr::InSet(Box::new(operand), Arc::new(ConstSet { values, has_null }), negated);
    }
    Expr::InList(Box::new(operand), list, negated)
}

fn cast(expr: Expr, from: Type, to: Type, explicit: bool) -> Expr {
    if changes_nothing(from, to) {
        return expr;
    }
    fold(|| Expr::Cast { expr: Box::new(expr), from, to, explicit })
}

/// Whether every value of the one type is, as it stands, a value of the other.
pub(super) fn changes_nothing(from: Type, to: Type) -> bool {
    let unlimited = to == to.base();
    match (from, to) {
        _ if from == to => true,
        (Type::Int2, Type::Int4 | Type::Int8) | (Type::Int4, Type::Int8) => true,
        (Type::Varchar(_) | Type::Text, Type::Text | Type::Varchar(None)) => true,
        (Type::Numeric(_), Type::Numeric(_)) => unlimited,
        (Type::TimestampTo(_), Type::Timestamp) | (Type::TimestamptzTo(_), Type::Timestamptz) => true,
        _ => false,
    }
}

/// The node, or its value if its operands are constants and it has one. An error is left for when it is reached.
fn fold(node: impl FnOnce() -> Expr) -> Expr {
    let node = node();
    let constant = |e: &Expr| matches!(e, Expr::Const(_));
    let foldable = match &node {
        Expr::Compare(_, ab) | Expr::Integer(.., ab) => constant(&ab.0) && constant(&ab.1),
        Expr::Pure(_, _, args) => args.iter().all(constant),
        Expr::Cast { expr, .. } => constant(expr),
        _ => false,
    };
    if foldable && let Ok(value) = eval::local_compiled(&node, &[], &[]) { Expr::Const(value) } else { node }
}
