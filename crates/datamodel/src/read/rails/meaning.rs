//! What a condition says of columns: `where(comment_id: nil)`, `where.not(kind: "draft")`,
//! `where("deleted_at IS NULL")`.
//!
//! A condition becomes facts about single columns, all of which must hold. Whatever does not fit this form (named
//! scopes, joins, ranges, values that are computed) makes the whole condition one that is not understood: `None`, never
//! a part of it.

use std::sync::Arc;

use isolde_sql::ast::{Expr, ExprKind, IsTest};
use isolde_sql::parse::{self, Fragment};

use super::ruby::{Block, Call, Kind, Node};
use super::scopes::{NEUTRAL, ORDERING};
use crate::model::{ColumnFact, Literal, Meaning};

/// What the body of a scope says.
pub(crate) fn of_block(block: &Block) -> Option<Meaning> {
    let mut facts = Meaning::new();
    for node in &block.body {
        chain(node, &mut facts)?;
    }
    consistent(facts)
}

/// What the option `conditions` of old says.
pub(crate) fn of_option(node: &Node) -> Option<Meaning> {
    let mut facts = Meaning::new();
    argument(node, true, &mut facts)?;
    consistent(facts)
}

/// What SQL says.
pub(crate) fn of_sql(text: &str) -> Option<Meaning> {
    let mut facts = Meaning::new();
    sql(text, &mut facts)?;
    consistent(facts)
}

/// A condition as SQL again.
pub(crate) fn to_sql(facts: &[ColumnFact]) -> String {
    let quoted = |literal: &Literal| match literal {
        Literal::Bool(value) => value.to_string(),
        Literal::Int(value) => value.to_string(),
        Literal::Text(text) => format!("'{}'", text.replace('\'', "''")),
    };
    let fact = |fact: &ColumnFact| {
        let column = isolde_sql::print::identifier(&fact.column);
        let some: Vec<String> = fact.values.iter().flatten().map(quoted).collect();
        let has_null = fact.values.contains(&None);
        let list = some.join(", ");
        match (fact.is_one, some.is_empty(), has_null) {
            (true, true, _) => format!("{column} IS NULL"),
            (true, false, false) => format!("{column} IN ({list})"),
            (true, false, true) => format!("({column} IS NULL OR {column} IN ({list}))"),
            (false, true, _) => format!("{column} IS NOT NULL"),
            (false, false, _) => format!("{column} NOT IN ({list})"),
        }
    };
    facts.iter().map(fact).collect::<Vec<_>>().join(" AND ")
}

/// Values of one column are of one type: a symbol and a number may be the same value of an enum.
fn consistent(facts: Meaning) -> Option<Meaning> {
    let kinds = |column: &Arc<str>| {
        let values =
            facts.iter().filter(move |fact| fact.column == *column).flat_map(|fact| fact.values.iter().flatten());
        values.map(std::mem::discriminant).collect::<Vec<_>>()
    };
    let mixed = |column: &Arc<str>| kinds(column).windows(2).any(|pair| pair[0] != pair[1]);
    (!facts.is_empty() && !facts.iter().any(|fact| mixed(&fact.column))).then_some(facts)
}

/// Follows `where(...).where.not(...).order(...)` from the right to the left.
fn chain(node: &Node, facts: &mut Meaning) -> Option<()> {
    let Kind::Call(call) = &node.kind else {
        return matches!(node.kind, Kind::SelfRef).then_some(());
    };
    let is_not = |receiver: &Call| receiver.name == "where" && receiver.args.is_empty();
    let mut receiver = call.receiver.as_ref();
    match call.name.as_str() {
        "where" | "rewhere" => arguments(call, true, facts)?,
        "not" => {
            let inner = receiver.and_then(Node::as_call).filter(|inner| is_not(inner))?;
            // `NOT (a AND b)` is no list of facts.
            if call.args.len() != 1 || call.args.iter().any(|arg| arg.pairs().len() != 1) {
                return None;
            }
            arguments(call, false, facts)?;
            receiver = inner.receiver.as_ref();
        }
        name if NEUTRAL.contains(&name)
            && !["unscope", "unscoped", "left_joins", "left_outer_joins"].contains(&name) => {}
        name if ORDERING.contains(&name) => {}
        _ => return None,
    }
    receiver.map_or(Some(()), |receiver| chain(receiver, facts))
}

fn arguments(call: &Call, is_one: bool, facts: &mut Meaning) -> Option<()> {
    match call.args.as_slice() {
        [only] => argument(only, is_one, facts),
        _ => None,
    }
}

fn argument(node: &Node, is_one: bool, facts: &mut Meaning) -> Option<()> {
    match &node.kind {
        Kind::Str(text) if is_one => sql(text, facts),
        Kind::Hash(pairs) => pairs.iter().try_for_each(|(key, value)| {
            let column = key.text().filter(|key| !key.contains('.'))?;
            facts.push(ColumnFact { column: column.into(), values: values(value)?, is_one });
            Some(())
        }),
        _ => None,
    }
}

fn values(node: &Node) -> Option<Vec<Option<Literal>>> {
    match &node.kind {
        Kind::Array(items) => items.iter().map(value).collect(),
        _ => Some(vec![value(node)?]),
    }
}

fn value(node: &Node) -> Option<Option<Literal>> {
    Some(match &node.kind {
        Kind::Nil => None,
        Kind::True => Some(Literal::Bool(true)),
        Kind::False => Some(Literal::Bool(false)),
        Kind::Int(number) => Some(Literal::Int(*number)),
        Kind::Str(text) | Kind::Symbol(text) => Some(Literal::Text(text.as_str().into())),
        _ => return None,
    })
}

fn sql(text: &str, facts: &mut Meaning) -> Option<()> {
    let text = text.replace('`', "\"");
    expression(&parse::expr(Fragment { text: &text, offset: 0 }).ok()?, facts)
}

fn expression(expr: &Expr, facts: &mut Meaning) -> Option<()> {
    let column = |expr: &Expr| match &expr.kind {
        ExprKind::Name(path) => path.last().map(|name| Arc::<str>::from(&*name.name)),
        _ => None,
    };
    let literal = |expr: &Expr| match &expr.kind {
        ExprKind::Bool(value) => Some(Literal::Bool(*value)),
        ExprKind::Integer(number) => Some(Literal::Int(*number)),
        ExprKind::String(text) => Some(Literal::Text(text.clone())),
        _ => None,
    };
    let mut fact = |column, values, is_one| {
        facts.push(ColumnFact { column, values, is_one });
        Some(())
    };
    match &expr.kind {
        ExprKind::And(parts) => parts.iter().try_for_each(|part| expression(part, facts)),
        ExprKind::Name(_) => fact(column(expr)?, vec![Some(Literal::Bool(true))], true),
        ExprKind::Not(inner) => fact(column(inner)?, vec![Some(Literal::Bool(true))], false),
        ExprKind::Is { expr, test: IsTest::Null, negated } => fact(column(expr)?, vec![None], !negated),
        ExprKind::Binary(operator, left, right) if &**operator == "=" || &**operator == "<>" => {
            fact(column(left)?, vec![Some(literal(right)?)], &**operator == "=")
        }
        ExprKind::InList { expr, list, negated } => {
            let values = list.iter().map(|item| literal(item).map(Some)).collect::<Option<Vec<_>>>()?;
            fact(column(expr)?, values, !negated)
        }
        _ => None,
    }
}
