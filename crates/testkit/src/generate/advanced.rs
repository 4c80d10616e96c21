//! Queries that few write by hand: windows, recursion, grouping sets, DISTINCT ON, functions that yield rows.
//!
//! Whatever depends on an order says a total one: windows are ordered by all columns where a row's place shows.

use super::dice::Dice;
use super::expression::{Scope, condition, expression, literal};
use super::query::filter;
use super::schema::{Kind, Table};

/// Such a query over these tables.
pub(super) fn advanced(dice: &mut Dice, tables: &'static [Table]) -> String {
    match dice.below(12) {
        0..=4 => windowed(dice, tables),
        5 => grouping_sets(dice, tables),
        6 => distinct_on(dice, tables),
        7 => recursive(dice, tables),
        8 => expanded(dice, tables),
        9 => ties(dice, tables),
        10 => row_value(dice, tables),
        _ => shared(dice, tables),
    }
}

/// One to three window functions.
fn windowed(dice: &mut Dice, tables: &'static [Table]) -> String {
    let table = dice.pick(tables);
    let scope = Scope::of(table, "t");
    let filter = filter(dice, &scope);
    let calls: Vec<String> = (0..1 + dice.below(3)).map(|_| window_call(dice, &scope)).collect();
    let names = scope.names().join(", ");
    // The windows leave the rows in an order of their own.
    let order: Vec<String> = (1..=scope.names().len() + calls.len()).map(|position| position.to_string()).collect();
    format!("SELECT {names}, {} FROM {} AS t{filter} ORDER BY {}", calls.join(", "), table.name, order.join(", "))
}

fn window_call(dice: &mut Dice, scope: &Scope) -> String {
    let partition = match dice.one_in(2) {
        true => format!("PARTITION BY {} ", expression(dice, scope, Kind::Int, 1)),
        false => String::new(),
    };
    let total = scope.names().join(", ");
    let operand = expression(dice, scope, Kind::Int, 1);
    if dice.one_in(2) {
        let function = match dice.below(8) {
            0 => "row_number()".to_string(),
            1 => format!("ntile({})", 1 + dice.below(4)),
            2 => format!("lag({operand})"),
            3 => format!("lead({operand}, {}, 0)", dice.below(3)),
            4 => format!("first_value({operand})"),
            5 => format!("last_value({operand})"),
            6 => format!("nth_value({operand}, {})", 1 + dice.below(3)),
            _ => format!("string_agg({operand}::text, '-')"),
        };
        return format!("{function} OVER ({partition}ORDER BY {total}{})", frame(dice, "ROWS"));
    }
    let function = match dice.below(8) {
        0 => "rank()".to_string(),
        1 => "dense_rank()".to_string(),
        2 => "percent_rank()".to_string(),
        3 => "cume_dist()".to_string(),
        4 => format!("sum({operand})"),
        5 => format!("count({operand})"),
        6 => format!("max({operand}) FILTER (WHERE {})", condition(dice, scope, 1)),
        _ => format!("min({operand})"),
    };
    let direction = *dice.pick(&["", " DESC", " NULLS FIRST"]);
    let key = expression(dice, scope, Kind::Int, 1);
    let units = *dice.pick(&["RANGE", "GROUPS"]);
    match dice.below(3) {
        0 => format!("{function} OVER ({})", partition.trim()),
        _ => format!("{function} OVER ({partition}ORDER BY {key}{direction}{})", frame(dice, units)),
    }
}

fn frame(dice: &mut Dice, units: &str) -> String {
    if dice.one_in(3) {
        return String::new();
    }
    let starts = ["UNBOUNDED PRECEDING", "2 PRECEDING", "1 PRECEDING", "CURRENT ROW", "1 FOLLOWING"];
    let ends = ["1 PRECEDING", "CURRENT ROW", "1 FOLLOWING", "2 FOLLOWING", "UNBOUNDED FOLLOWING"];
    let start = dice.below(starts.len());
    // An end never lies before its start, as the grammar wants it.
    let first = [0, 0, 0, 1, 2][start];
    let end = ends[first + dice.below(ends.len() - first)];
    let exclude = *dice.pick(&["", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES"]);
    format!(" {units} BETWEEN {} AND {end}{exclude}", starts[start])
}

fn grouping_sets(dice: &mut Dice, tables: &'static [Table]) -> String {
    let table = dice.pick(tables);
    let scope = Scope::of(table, "t");
    let names = scope.names();
    let (a, b) = (dice.pick(&names).clone(), dice.pick(&names).clone());
    let sets = match dice.below(5) {
        0 => format!("ROLLUP ({a}, {b})"),
        1 => format!("CUBE ({a}, {b})"),
        2 => format!("GROUPING SETS (({a}), ({b}), ())"),
        3 => format!("{a}, ROLLUP ({b})"),
        _ => format!("DISTINCT ROLLUP ({a}, {b}), CUBE ({a})"),
    };
    let filter = filter(dice, &scope);
    let sum = expression(dice, &scope, Kind::Int, 1);
    format!(
        "SELECT {a}, {b}, grouping({a}), grouping({a}, {b}), count(*), sum({sum}) FROM {} AS t{filter} GROUP BY {sets}",
        table.name
    )
}

fn distinct_on(dice: &mut Dice, tables: &'static [Table]) -> String {
    let table = dice.pick(tables);
    let scope = Scope::of(table, "t");
    let key = expression(dice, &scope, Kind::Int, 1);
    let filter = filter(dice, &scope);
    // Behind the key, the columns make the order total. Constants are no sort keys, so it is made an expression.
    let rest = scope.names().join(", ");
    format!("SELECT DISTINCT ON (({key}) + 0) * FROM {} AS t{filter} ORDER BY ({key}) + 0, {rest}", table.name)
}

fn recursive(dice: &mut Dice, tables: &'static [Table]) -> String {
    let table = dice.pick(tables);
    let scope = Scope::of(table, "t");
    let (filter, all) = (filter(dice, &scope), dice.pick(&["UNION", "UNION ALL"]));
    let first = expression(dice, &scope, Kind::Int, 1);
    match dice.below(3) {
        0 => format!(
            "WITH RECURSIVE r(n) AS (SELECT 1 {all} SELECT n + 1 FROM r WHERE n < {}) SELECT sum(n), count(*) FROM r",
            1 + dice.below(9)
        ),
        1 => format!(
            "WITH RECURSIVE r(n, depth) AS (SELECT {first}, 0 FROM {} AS t{filter} {all} SELECT n + 1, depth + 1 FROM r \
             WHERE depth < 3) SELECT n, depth FROM r",
            table.name
        ),
        _ => format!(
            "WITH RECURSIVE r(n, depth) AS (SELECT 1, 0 {all} SELECT {first}, depth + 1 FROM r, {} AS t \
             WHERE depth < 2) SELECT n, depth, count(*) FROM r GROUP BY n, depth",
            table.name
        ),
    }
}

/// Functions that yield rows, in the select list and side by side.
fn expanded(dice: &mut Dice, tables: &'static [Table]) -> String {
    let table = dice.pick(tables);
    let scope = Scope::of(table, "t");
    let filter = filter(dice, &scope);
    let item = expression(dice, &scope, Kind::Int, 1);
    let (a, b) = (dice.below(3), dice.below(4));
    match dice.below(4) {
        0 => format!("SELECT {item}, generate_series({a}, {b}) FROM {} AS t{filter}", table.name),
        1 => {
            format!("SELECT generate_series(1, {b}), generate_series({a}, 3), {item} FROM {} AS t{filter}", table.name)
        }
        2 => format!(
            "SELECT {item}, g.* FROM {} AS t, generate_series({a}, {b}) WITH ORDINALITY AS g{filter}",
            table.name
        ),
        _ => format!(
            "SELECT {item}, x.* FROM {} AS t CROSS JOIN ROWS FROM (generate_series({a}, {b}), generate_series(1, 2)) AS \
             x(i, j){filter}",
            table.name
        ),
    }
}

fn ties(dice: &mut Dice, tables: &'static [Table]) -> String {
    let table = dice.pick(tables);
    let scope = Scope::of(table, "t");
    let (filter, key) = (filter(dice, &scope), expression(dice, &scope, Kind::Int, 1));
    let (skip, take) = (dice.below(2), dice.below(3));
    // Only the keys are shown: which of equal rows OFFSET skips is not decided.
    format!(
        "SELECT ({key}) + 0 AS k FROM {} AS t{filter} ORDER BY k OFFSET {skip} FETCH FIRST {take} ROWS WITH TIES",
        table.name
    )
}

/// Rows compared as rows.
fn row_value(dice: &mut Dice, tables: &'static [Table]) -> String {
    let (table, other) = (dice.pick(tables), dice.pick(tables));
    let (scope, inner) = (Scope::of(table, "t"), Scope::of(other, "u"));
    let int = |dice: &mut Dice, scope: &Scope| expression(dice, scope, Kind::Int, 1);
    let (a, b) = (int(dice, &scope), int(dice, &scope));
    let (x, y) = (int(dice, &inner), int(dice, &inner));
    let query = format!("SELECT {x}, {y} FROM {} AS u{}", other.name, filter(dice, &inner));
    let condition = match dice.below(7) {
        0 => format!("({a}, {b}) IN ({query})"),
        1 => format!("({a}, {b}) NOT IN ({query})"),
        2 => format!("({a}, {b}) <> ALL ({query})"),
        3 => format!("({a}, {b}) = ANY ({query})"),
        4 => format!("({a}, {b}) {} ({query} ORDER BY 1, 2 LIMIT 1)", dice.pick(&["=", "<>", "<", ">="])),
        5 => {
            let values: Vec<String> = (0..4).map(|_| literal(dice, Kind::Int)).collect();
            format!("({a}, {b}) IN (({}, {}), ({}, {}))", values[0], values[1], values[2], values[3])
        }
        _ => {
            let op = dice.pick(&["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM"]);
            format!("({a}, {b}) {op} ({}, {})", literal(dice, Kind::Int), int(dice, &scope))
        }
    };
    format!("SELECT * FROM {} AS t WHERE {condition}", table.name)
}

/// WITH queries that are read more than once, and that read each other.
fn shared(dice: &mut Dice, tables: &'static [Table]) -> String {
    let table = dice.pick(tables);
    let scope = Scope::of(table, "t");
    let (filter, v, w) = (
        filter(dice, &scope),
        expression(dice, &scope, Kind::Int, 1),
        expression(dice, &Scope::variables(&[("x.v", Kind::Int)]), Kind::Int, 1),
    );
    let hint = dice.pick(&["", "MATERIALIZED ", "NOT MATERIALIZED "]);
    format!(
        "WITH x AS {hint}(SELECT {v} AS v FROM {} AS t{filter}), y AS (SELECT {w} AS w FROM x) SELECT x.v, (SELECT count(*) \
         FROM y WHERE y.w = x.v), x.v IN (SELECT w FROM y) FROM x",
        table.name
    )
}
