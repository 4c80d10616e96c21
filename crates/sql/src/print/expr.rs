//! Expressions, with parentheses only where precedence asks for them.

use std::fmt::{self, Display, Formatter};

use super::name::Path;
use super::{ListClause, Quoted, commas};
use crate::ast::{Call, Expr, ExprKind, Ident, IsTest, OrderKey, Query, Subscript};

/// How tightly an expression holds together: PostgreSQL's table of operators, loosest first.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub(super) enum Level {
    Or,
    And,
    Not,
    Is,
    Comparison,
    /// `BETWEEN`, `IN`, `LIKE`
    Membership,
    /// `||` and every operator without a level of its own
    Operator,
    Sum,
    Product,
    Power,
    Sign,
    /// `::`
    Cast,
    Atom,
}

impl Level {
    fn above(self) -> Level {
        use Level::*;
        match self {
            Or => And,
            And => Not,
            Not => Is,
            Is => Comparison,
            Comparison => Membership,
            Membership => Operator,
            Operator => Sum,
            Sum => Product,
            Product => Power,
            Power => Sign,
            Sign => Cast,
            Cast | Atom => Atom,
        }
    }

    fn of_operator(op: &str) -> Level {
        match op {
            "<" | ">" | "=" | "<=" | ">=" | "<>" => Level::Comparison,
            "~~" | "~~*" => Level::Membership,
            "+" | "-" => Level::Sum,
            "*" | "/" | "%" => Level::Product,
            "^" => Level::Power,
            _ => Level::Operator,
        }
    }

    fn of(expr: &Expr) -> Level {
        match &expr.kind {
            ExprKind::Or(list) | ExprKind::And(list) if list.len() < 2 => list.first().map_or(Level::Atom, Level::of),
            ExprKind::Or(_) => Level::Or,
            ExprKind::And(_) => Level::And,
            ExprKind::Not(operand) if like(operand).is_some() => Level::Membership,
            ExprKind::Not(_) => Level::Not,
            ExprKind::Is { .. } | ExprKind::IsDistinct { .. } => Level::Is,
            ExprKind::Quantified { op, .. } | ExprKind::AnyOf { op, .. } | ExprKind::Binary(op, ..) => {
                Level::of_operator(op)
            }
            ExprKind::Between { .. } | ExprKind::InList { .. } | ExprKind::InQuery { .. } => Level::Membership,
            ExprKind::Unary(op, _) if is_sign(op) => Level::Sign,
            ExprKind::Unary(..) => Level::Operator,
            ExprKind::Integer(value) if *value < 0 => Level::Sign,
            ExprKind::Decimal(text) if text.starts_with('-') => Level::Sign,
            ExprKind::Cast(..) => Level::Cast,
            _ => Level::Atom,
        }
    }
}

fn is_sign(op: &str) -> bool {
    matches!(op, "-" | "+")
}

/// An expression in a place that needs at least this level: in parentheses if it has less.
pub(super) struct At<'a>(pub(super) &'a Expr, pub(super) Level);

impl Display for At<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match Level::of(self.0) < self.1 {
            true => write!(f, "({})", self.0),
            false => self.0.fmt(f),
        }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl Display for ExprKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ExprKind::Null => f.write_str("NULL"),
            ExprKind::Bool(true) => f.write_str("TRUE"),
            ExprKind::Bool(false) => f.write_str("FALSE"),
            ExprKind::Integer(value) => value.fmt(f),
            ExprKind::Decimal(text) => f.write_str(text),
            ExprKind::String(text) => Quoted(text).fmt(f),
            ExprKind::Default => f.write_str("DEFAULT"),
            ExprKind::Name(path) => Path(path).fmt(f),
            ExprKind::WholeRow(name) => write!(f, "{name}.*"),
            ExprKind::Param(number) => write!(f, "${number}"),
            ExprKind::Unary(op, operand) => unary(f, op, operand),
            ExprKind::Binary(op, left, right) => binary(f, op, left, right),
            ExprKind::And(list) => chain(f, list, "AND", Level::And),
            ExprKind::Or(list) => chain(f, list, "OR", Level::Or),
            ExprKind::Not(operand) => match like(operand) {
                Some((op, left, right)) => {
                    write!(f, "{} NOT {} {}", At(left, Level::Operator), spelling(op), At(right, Level::Operator))
                }
                None => write!(f, "NOT {}", At(operand, Level::Not)),
            },
            ExprKind::Is { expr, test, negated } => {
                write!(f, "{} IS {}{}", At(expr, Level::Comparison), not(*negated), name_of(*test))
            }
            ExprKind::IsDistinct { left, right, negated } => {
                let left = At(left, Level::Comparison).to_string();
                let left = if has_between(&left) { format!("({left})") } else { left };
                write!(f, "{left} IS {}DISTINCT FROM {}", not(*negated), At(right, Level::Comparison))
            }
            ExprKind::Between { expr, low, high, symmetric, negated } => {
                let symmetric = if *symmetric { "SYMMETRIC " } else { "" };
                write!(f, "{} {}BETWEEN {symmetric}", At(expr, Level::Operator), not(*negated))?;
                write!(f, "{} AND {}", At(low, Level::Operator), At(high, Level::Operator))
            }
            ExprKind::InList { expr, list, negated } => {
                write!(f, "{} {}IN ({})", At(expr, Level::Operator), not(*negated), commas(list))
            }
            ExprKind::InQuery { expr, query, negated } => {
                write!(f, "{} {}IN ({query})", At(expr, Level::Operator), not(*negated))
            }
            ExprKind::Quantified { expr, op, all, query } => {
                let quantifier = if *all { "ALL" } else { "ANY" };
                write!(f, "{} {} {quantifier} ({query})", At(expr, Level::Operator), spelling(op))
            }
            ExprKind::AnyOf { expr, op, all, array } => {
                let quantifier = if *all { "ALL" } else { "ANY" };
                write!(f, "{} {} {quantifier} ({array})", At(expr, Level::Operator), spelling(op))
            }
            ExprKind::Exists(query) => write!(f, "EXISTS ({query})"),
            ExprKind::Subquery(query) | ExprKind::SubqueryColumn(query, _) => write!(f, "({query})"),
            ExprKind::Grouping(list) => write!(f, "GROUPING({})", commas(list)),
            ExprKind::Call(call) => call.fmt(f),
            ExprKind::Case { operand, whens, otherwise } => case(f, operand.as_deref(), whens, otherwise.as_deref()),
            ExprKind::Cast(operand, ty) => write!(f, "{}::{ty}", At(operand, Level::Cast)),
            ExprKind::Row(fields) => write!(f, "ROW({})", commas(fields)),
            ExprKind::Field(operand, field) => write!(f, "({operand}).{field}"),
            ExprKind::Array(elements) => write!(f, "ARRAY[{}]", commas(elements)),
            ExprKind::ArrayQuery(query) => write!(f, "ARRAY({query})"),
            ExprKind::Subscript(operand, subscripts) => {
                match &operand.kind {
                    ExprKind::Name(_) => write!(f, "{operand}")?,
                    _ => write!(f, "({operand})")?,
                }
                subscripts.iter().try_for_each(|s| s.fmt(f))
            }
        }
    }
}

fn not(negated: bool) -> &'static str {
    if negated { "NOT " } else { "" }
}

fn name_of(test: IsTest) -> &'static str {
    match test {
        IsTest::Null => "NULL",
        IsTest::True => "TRUE",
        IsTest::False => "FALSE",
        IsTest::Unknown => "UNKNOWN",
    }
}

/// LIKE and its family are operators with a word for a name.
fn spelling(op: &str) -> &str {
    match op {
        "~~" => "LIKE",
        "~~*" => "ILIKE",
        op => op,
    }
}

/// `a LIKE b`, whose negation is written `a NOT LIKE b`.
fn like(expr: &Expr) -> Option<(&str, &Expr, &Expr)> {
    match &expr.kind {
        ExprKind::Binary(op, left, right) if matches!(&**op, "~~" | "~~*") => Some((op, left, right)),
        _ => None,
    }
}

/// `-x`. Two signs in a row would be a comment, two operators a third one: hence the parentheses around a second.
fn unary(f: &mut Formatter<'_>, op: &str, operand: &Expr) -> fmt::Result {
    let level = if is_sign(op) { Level::Cast } else { Level::Sum };
    let text = At(operand, level).to_string();
    match text.starts_with(|c: char| "+-*/<>=~!@#%^&|`?".contains(c)) {
        true => write!(f, "{op}({text})"),
        false => write!(f, "{op}{text}"),
    }
}

/// Comparisons and LIKE do not chain; the others group to the left.
fn binary(f: &mut Formatter<'_>, op: &str, left: &Expr, right: &Expr) -> fmt::Result {
    let level = Level::of_operator(op);
    let chains = !matches!(level, Level::Comparison | Level::Membership);
    let left_level = if chains { level } else { level.above() };
    write!(f, "{} {} {}", At(left, left_level), spelling(op), At(right, level.above()))
}

fn chain(f: &mut Formatter<'_>, list: &[Expr], word: &str, level: Level) -> fmt::Result {
    if list.is_empty() {
        return f.write_str(if level == Level::And { "TRUE" } else { "FALSE" });
    }
    for (index, item) in list.iter().enumerate() {
        if index > 0 {
            write!(f, " {word} ")?;
        }
        let text = At(item, level).to_string();
        match level == Level::Or && has_between(&text) && index + 1 < list.len() {
            true => write!(f, "({text})")?,
            false => f.write_str(&text)?,
        }
    }
    Ok(())
}

/// Our parser takes too much for the upper bound of BETWEEN, and stumbles over a NOT there:
/// `a BETWEEN b AND c OR NOT d`. So the printer adds parentheses that PostgreSQL would not need.
fn has_between(text: &str) -> bool {
    text.contains(" BETWEEN ")
}

fn case(
    f: &mut Formatter<'_>,
    operand: Option<&Expr>,
    whens: &[(Expr, Expr)],
    otherwise: Option<&Expr>,
) -> fmt::Result {
    f.write_str("CASE")?;
    if let Some(operand) = operand {
        write!(f, " {operand}")?;
    }
    for (when, then) in whens {
        write!(f, " WHEN {when} THEN {then}")?;
    }
    if let Some(otherwise) = otherwise {
        write!(f, " ELSE {otherwise}")?;
    }
    f.write_str(" END")
}

/// Functions that are called without parentheses.
const BARE: [&str; 11] = [
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
    "session_user",
    "user",
];

/// Functions whose names are keywords and whose arguments are an ordinary list.
const ORDINARY: [&str; 6] = ["coalesce", "greatest", "least", "nullif", "overlay", "substring"];

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = if self.name.schema.is_none() { &*self.name.name.name } else { "" };
        let plain = self.named.is_empty() && !self.star && !self.distinct && self.order_by.is_empty();
        match (name, self.args.as_slice()) {
            (name, []) if plain && BARE.contains(&name) => f.write_str(name)?,
            ("extract", [Expr { kind: ExprKind::String(field), .. }, from]) if plain => {
                write!(f, "extract({} FROM {from})", Quoted(field))?;
            }
            ("position", [part, whole]) if plain => write!(f, "position({} IN {whole})", At(part, Level::Operator))?,
            (name, _) if ORDINARY.contains(&name) => write!(f, "{name}({})", Arguments(self))?,
            _ => write!(f, "{}({})", self.name, Arguments(self))?,
        }
        if !self.within_group.is_empty() {
            write!(f, " WITHIN GROUP (ORDER BY {})", commas(&self.within_group))?;
        }
        if let Some(filter) = &self.filter {
            write!(f, " FILTER (WHERE {filter})")?;
        }
        match &self.over {
            Some(over) => over.fmt(f),
            None => Ok(()),
        }
    }
}

/// What stands between a call's parentheses.
struct Arguments<'a>(&'a Call);

impl Display for Arguments<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Arguments(call) = self;
        if call.star {
            return f.write_str("*");
        }
        if call.distinct {
            f.write_str("DISTINCT ")?;
        }
        let named = call.named.iter().map(|(name, value)| Named(name, value).to_string());
        let all: Vec<String> = call.args.iter().map(Expr::to_string).chain(named).collect();
        write!(f, "{}{}", commas(&all), ListClause("ORDER BY", &call.order_by))
    }
}

/// `name => value`
struct Named<'a>(&'a Ident, &'a Expr);

impl Display for Named<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} => {}", self.0, self.1)
    }
}

impl Display for OrderKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)?;
        if self.descending {
            f.write_str(" DESC")?;
        }
        match self.nulls_first {
            Some(true) => f.write_str(" NULLS FIRST"),
            Some(false) => f.write_str(" NULLS LAST"),
            None => Ok(()),
        }
    }
}

/// A query in parentheses.
pub(super) struct Parenthesized<'a>(pub(super) &'a Query);

impl Display for Parenthesized<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "({})", self.0)
    }
}

impl Display for Subscript {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Subscript::At(at) => write!(f, "[{at}]"),
            Subscript::Slice(from, to) => {
                f.write_str("[")?;
                from.iter().try_for_each(|e| e.fmt(f))?;
                f.write_str(":")?;
                to.iter().try_for_each(|e| e.fmt(f))?;
                f.write_str("]")
            }
        }
    }
}
