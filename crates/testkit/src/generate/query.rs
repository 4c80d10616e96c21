//! Queries: plain, joined, grouped, combined.

use super::advanced::advanced;
use super::dice::Dice;
use super::expression::{Scope, condition, expression, literal};
use super::schema::{Kind, Table};

const KINDS: &[Kind] = &[Kind::Int, Kind::Int, Kind::Text, Kind::Bool];

/// A query over these tables.
pub(super) fn query(dice: &mut Dice, tables: &'static [Table]) -> String {
    match dice.below(14) {
        10.. => advanced(dice, tables),
        0..=3 => plain(dice, tables),
        4 | 5 => grouped(dice, tables),
        6 | 7 => joined(dice, tables),
        8 => combined(dice, tables),
        _ => nested(dice, tables),
    }
}

/// `SELECT ... FROM t WHERE ...`, with an order, a limit, DISTINCT.
fn plain(dice: &mut Dice, tables: &'static [Table]) -> String {
    let table = dice.pick(tables);
    let scope = Scope::of(table, "t").reading(tables);
    let filter = filter(dice, &scope);
    if dice.one_in(4) {
        return format!("SELECT * FROM {} AS t{filter}{}", table.name, order_by_all(dice, &scope));
    }
    let distinct = if dice.one_in(5) { "DISTINCT " } else { "" };
    let order = if distinct.is_empty() { order_by_all(dice, &scope) } else { String::new() };
    format!("SELECT {distinct}{} FROM {} AS t{filter}{order}", select_list(dice, &scope), table.name)
}

/// Aggregates, with or without GROUP BY and HAVING.
fn grouped(dice: &mut Dice, tables: &'static [Table]) -> String {
    let table = dice.pick(tables);
    let scope = Scope::of(table, "t").reading(tables);
    let filter = filter(dice, &scope);
    let aggregates: Vec<String> = (0..1 + dice.below(3)).map(|_| aggregate(dice, &scope)).collect();
    let aggregates = aggregates.join(", ");
    if dice.one_in(3) {
        return format!("SELECT {aggregates} FROM {} AS t{filter}", table.name);
    }
    let key = dice.pick(&scope.names()).clone();
    let having = if dice.one_in(3) { format!(" HAVING count(*) > {}", dice.below(3)) } else { String::new() };
    format!("SELECT {key}, {aggregates} FROM {} AS t{filter} GROUP BY {key}{having}", table.name)
}

fn aggregate(dice: &mut Dice, scope: &Scope) -> String {
    let kind = *dice.pick(&[Kind::Int, Kind::Int, Kind::Text]);
    let operand = expression(dice, scope, kind, 1);
    match dice.below(9) {
        0 | 1 => "count(*)".to_string(),
        2 => format!("count({operand})"),
        3 => format!("count(DISTINCT {operand})"),
        4 => format!("min({operand})"),
        5 => format!("max({operand})"),
        6 => format!("sum({})", expression(dice, scope, Kind::Int, 1)),
        7 => format!("avg({})", expression(dice, scope, Kind::Int, 0)),
        _ => format!("bool_{}({})", dice.pick(&["and", "or"]), condition(dice, scope, 1)),
    }
}

/// Two tables, or one with itself, by every kind of join.
fn joined(dice: &mut Dice, tables: &'static [Table]) -> String {
    let (left, right) = (dice.pick(tables), dice.pick(tables));
    let scope = Scope::of(left, "l").with(Scope::of(right, "r"));
    let list = select_list(dice, &scope);
    let kind = dice.pick(&["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"]);
    // FULL JOIN wants a condition that can be hashed or merged: an equality of one column each.
    let on = match *kind {
        "CROSS JOIN" => String::new(),
        "FULL JOIN" => format!(" ON l.{} = r.{}", left.columns[0].name, right.columns[0].name),
        _ => format!(" ON {}", condition(dice, &scope, 1)),
    };
    let filter = filter(dice, &scope);
    format!(
        "SELECT {list} FROM {} AS l {kind} {} AS r{on}{filter}{}",
        left.name,
        right.name,
        order_by_all(dice, &scope)
    )
}

/// UNION and its kin, on the first column of two tables and constants.
fn combined(dice: &mut Dice, tables: &'static [Table]) -> String {
    let (left, right) = (dice.pick(tables), dice.pick(tables));
    let operator = dice.pick(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL"]);
    let (left_scope, right_scope) = (Scope::of(left, "l"), Scope::of(right, "r"));
    let (left_filter, right_filter) = (filter(dice, &left_scope), filter(dice, &right_scope));
    let a = expression(dice, &left_scope, Kind::Int, 1);
    let b = expression(dice, &right_scope, Kind::Int, 1);
    format!(
        "SELECT {a} AS v FROM {} AS l{left_filter} {operator} SELECT {b} FROM {} AS r{right_filter}",
        left.name, right.name
    )
}

/// A subquery in FROM, a WITH query, or VALUES.
fn nested(dice: &mut Dice, tables: &'static [Table]) -> String {
    let table = dice.pick(tables);
    let scope = Scope::of(table, "t");
    let inner_filter = filter(dice, &scope);
    let inner =
        format!("SELECT {} AS v FROM {} AS t{inner_filter}", expression(dice, &scope, Kind::Int, 1), table.name);
    match dice.below(3) {
        0 => format!("SELECT q.v, count(*) FROM ({inner}) AS q GROUP BY q.v"),
        1 => format!("WITH w AS ({inner}) SELECT sum(w.v), count(w.v) FROM w WHERE w.v > {}", literal(dice, Kind::Int)),
        _ => {
            let (a, b) = (literal(dice, Kind::Int), literal(dice, Kind::Text));
            format!("SELECT * FROM (VALUES ({a}, {b}), (2, 'x')) AS c (k, name) WHERE c.k IN ({inner})")
        }
    }
}

/// A select list of one to three items, some of them named. Only here may an expression fail.
pub(super) fn select_list(dice: &mut Dice, scope: &Scope) -> String {
    let mut items = Vec::new();
    for position in 0..1 + dice.below(3) {
        let kind = if dice.one_in(4) { *dice.pick(&scope.kinds()) } else { *dice.pick(KINDS) };
        // A column: a constant divided by a constant fails even if there are no rows.
        let divisor = if dice.one_in(40) { scope.column(dice, Kind::Int) } else { None };
        let item = match divisor {
            Some(divisor) => format!("({} / {divisor})", expression(dice, scope, Kind::Int, 1)),
            None => expression(dice, scope, kind, 2),
        };
        items.push(if dice.one_in(2) { format!("{item} AS c{position}") } else { item });
    }
    items.join(", ")
}

/// Mostly a WHERE clause.
pub(super) fn filter(dice: &mut Dice, scope: &Scope) -> String {
    if dice.one_in(5) { String::new() } else { format!(" WHERE {}", condition(dice, scope, 2)) }
}

/// Perhaps an order by all columns, and then perhaps a limit: a total order up to equal rows.
fn order_by_all(dice: &mut Dice, scope: &Scope) -> String {
    if !dice.one_in(3) {
        return String::new();
    }
    let direction = *dice.pick(&["", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
    let keys: Vec<String> = scope.names().into_iter().map(|name| format!("{name}{direction}")).collect();
    let limit = match dice.below(4) {
        0 => format!(" LIMIT {}", dice.below(4)),
        1 => format!(" LIMIT 2 OFFSET {}", dice.below(3)),
        _ => String::new(),
    };
    format!(" ORDER BY {}{limit}", keys.join(", "))
}
