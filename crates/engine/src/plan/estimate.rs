//! How many rows PostgreSQL's planner expects of a table that it has never looked at.
//!
//! It takes such a table for ten pages long, and knows of conditions only what kind they are. Of two tables that are
//! joined without an index the one with more rows is read first and the other for each of its rows, from memory; so if
//! the first has none, the other is not read at all:
//!
//! ```text
//!   Nested Loop
//!     ->  Seq Scan on pair      rows=543
//!     ->  Materialize
//!           ->  Seq Scan on note   rows=6
//! ```

use isolde_sql::Type;
use isolde_sql::catalog::Table;
use isolde_sql::typed::{Expr, ExprKind};

use super::facts::{RelSet, facts};
use super::join::Condition;
use crate::eval::Comparison;

const PAGES: f64 = 10.0;
/// What is equal to something, NULL, or between two values.
const FEW: f64 = 0.005;
/// What lies on one side of a value, or is whatever a function says.
const MANY: f64 = 1.0 / 3.0;

/// How many rows of a table satisfy its own conditions.
pub(super) fn rows(table: &Table, rel: usize, conditions: &[Condition<'_>]) -> f64 {
    let width: usize = table.columns.iter().map(|c| width(c.ty)).sum();
    let all = (8_168 / (width + 28)) as f64 * PAGES;
    let only_this = RelSet::from([rel]);
    let own = conditions.iter().filter(|c| c.facts.rels == only_this).map(|c| c.expr);
    (all * all_of(table, all, own)).round_ties_even().max(1.0)
}

/// The bytes that a value is taken to have.
fn width(ty: Type) -> usize {
    let text = |bytes: usize| match bytes {
        ..=32 => bytes,
        33..1000 => 32 + (bytes - 32) / 2,
        _ => 32 + (1000 - 32) / 2,
    };
    match ty.underlying() {
        Type::Bool => 1,
        Type::Int2 => 2,
        Type::Int4 | Type::Float4 | Type::Date | Type::Enum(_) => 4,
        Type::Int8 | Type::Float8 | Type::Time => 8,
        Type::Timestamp | Type::Timestamptz | Type::TimestampTo(_) | Type::TimestamptzTo(_) => 8,
        Type::Timetz => 12,
        Type::Interval | Type::Uuid => 16,
        Type::Numeric(Some((precision, _))) => text(8 + (usize::from(precision) + 6) / 4 * 2),
        Type::Varchar(Some(n)) => text(n as usize * 4 + 4),
        Type::Bpchar(Some(n)) => n as usize * 4 + 4,
        _ => 32,
    }
}

/// The share of rows that satisfy all of some conditions. A column between two values counts once.
fn all_of<'e>(table: &Table, rows: f64, conditions: impl Iterator<Item = &'e Expr>) -> f64 {
    let mut sides: Vec<(&Expr, bool)> = Vec::new();
    let mut product = 1.0;
    for e in conditions {
        match one_side(e) {
            Some(side) => sides.push(side),
            None => product *= share(table, rows, e),
        }
    }
    while let Some((column, below)) = sides.pop() {
        let other = sides.iter().position(|(e, b)| *b != below && e.same_as(column));
        product *= if other.map(|at| sides.swap_remove(at)).is_some() { FEW } else { MANY };
    }
    product
}

/// A comparison that leaves what is below, or above, a constant: of what.
fn one_side(e: &Expr) -> Option<(&Expr, bool)> {
    let ExprKind::Call(builtin, args) = &e.kind else { return None };
    let [a, b] = args.as_slice() else { return None };
    let op = Comparison::named(builtin.name)?;
    let fixed = |e: &Expr| facts(e).rels.is_empty();
    let (operand, op) = match (fixed(a), fixed(b)) {
        (false, true) => (a, op),
        (true, false) => (b, op.turned()),
        _ => return None,
    };
    match op {
        Comparison::Less | Comparison::LessOrEqual => Some((operand, true)),
        Comparison::Greater | Comparison::GreaterOrEqual => Some((operand, false)),
        Comparison::Equal | Comparison::NotEqual => None,
    }
}

/// The share of rows that satisfy a condition.
fn share(table: &Table, rows: f64, e: &Expr) -> f64 {
    let of = |e: &Expr| share(table, rows, e);
    let share = match &e.kind {
        ExprKind::Const(isolde_sql::Value::Bool(true)) => 1.0,
        ExprKind::Const(_) => 0.0,
        ExprKind::And(list) => all_of(table, rows, list.iter()),
        ExprKind::Or(list) => list.iter().map(of).fold(0.0, |a, b| a + b - a * b),
        ExprKind::Not(e) => 1.0 - of(e),
        ExprKind::IsNull(_, false) | ExprKind::IsTruth(_, None, false) => FEW,
        ExprKind::IsNull(_, true) | ExprKind::IsTruth(_, None, true) => 1.0 - FEW,
        ExprKind::IsTruth(e, Some(truth), negated) => {
            if *truth != *negated {
                of(e)
            } else {
                1.0 - of(e)
            }
        }
        ExprKind::IsDistinct(a, b, negated) => opposite_if(!*negated, equal(table, rows, a, b)),
        ExprKind::InList(a, list, negated) => {
            let sum: f64 = list.iter().map(|b| equal(table, rows, a, b)).sum();
            opposite_if(*negated, sum)
        }
        ExprKind::Call(builtin, args) => match (Comparison::named(builtin.name), args.as_slice()) {
            (Some(Comparison::Equal), [a, b]) => equal(table, rows, a, b),
            (Some(Comparison::NotEqual), [a, b]) => 1.0 - equal(table, rows, a, b),
            _ if matches!(builtin.name, "~~" | "~~*" | "~" | "~*") => FEW,
            _ if matches!(builtin.name, "!~~" | "!~~*" | "!~" | "!~*") => 1.0 - FEW,
            _ => MANY,
        },
        ExprKind::Routine(..) => MANY,
        _ => 0.5,
    };
    share.clamp(0.0, 1.0)
}

fn opposite_if(opposite: bool, share: f64) -> f64 {
    if opposite { 1.0 - share } else { share }
}

/// The share of rows in which two things are equal: of a column that is a key by itself, one row has a value.
fn equal(table: &Table, rows: f64, a: &Expr, b: &Expr) -> f64 {
    let is_key = |e: &Expr| match e.kind {
        ExprKind::Column { depth: 0, col, .. } => {
            table.indexes.iter().any(|i| i.unique && i.is_plain() && i.columns == [usize::from(col)])
        }
        _ => false,
    };
    let is_bool = a.ty == Type::Bool;
    match () {
        () if is_key(a) || is_key(b) => 1.0 / rows,
        () if is_bool => 0.5,
        () => FEW,
    }
}
