//! Expressions of a wanted type over the columns in scope.

use super::dice::Dice;
use super::schema::{Kind, Table};

/// The columns that an expression may use.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    columns: Vec<(String, Kind)>,
    /// Tables that subqueries may read; none where subqueries are unwelcome.
    pub(super) subqueries: Vec<&'static Table>,
}

impl Scope {
    /// All columns of a table under this name.
    pub(super) fn of(table: &Table, name: &str) -> Scope {
        let qualified = |column: &super::schema::Column| (format!("{name}.{}", column.name), column.kind);
        Scope { columns: table.columns.iter().map(qualified).collect(), subqueries: Vec::new() }
    }

    /// Variables instead of columns.
    pub(super) fn variables(variables: &[(&str, Kind)]) -> Scope {
        let columns = variables.iter().map(|(name, kind)| (name.to_string(), *kind)).collect();
        Scope { columns, subqueries: Vec::new() }
    }

    pub(super) fn with(mut self, other: Scope) -> Scope {
        self.columns.extend(other.columns);
        self
    }

    pub(super) fn reading(mut self, tables: &'static [Table]) -> Scope {
        self.subqueries = tables.iter().collect();
        self
    }

    /// The columns' names, in order.
    pub(super) fn names(&self) -> Vec<String> {
        self.columns.iter().map(|(name, _)| name.clone()).collect()
    }

    /// The kinds of the columns, each once.
    pub(super) fn kinds(&self) -> Vec<Kind> {
        let mut kinds = Vec::new();
        for (_, kind) in &self.columns {
            if !kinds.contains(kind) {
                kinds.push(*kind);
            }
        }
        kinds
    }

    pub(super) fn column(&self, dice: &mut Dice, kind: Kind) -> Option<String> {
        let fitting: Vec<&String> =
            self.columns.iter().filter(|(_, other)| *other == kind).map(|(name, _)| name).collect();
        if fitting.is_empty() { None } else { Some((*dice.pick(&fitting)).clone()) }
    }
}

/// An expression of this kind; `depth` bounds its nesting.
pub(super) fn expression(dice: &mut Dice, scope: &Scope, kind: Kind, depth: usize) -> String {
    match kind {
        Kind::Int => int(dice, scope, depth),
        Kind::Text => text(dice, scope, depth),
        Kind::Bool => condition(dice, scope, depth),
        Kind::Numeric => numeric(dice, scope, depth),
        Kind::Date | Kind::Mood | Kind::Ints | Kind::Jsonb => structured(dice, scope, kind, depth),
    }
}

/// A constant of this kind, sometimes NULL.
pub(super) fn literal(dice: &mut Dice, kind: Kind) -> String {
    let choices: &[&str] = match kind {
        Kind::Int => &["0", "1", "2", "3", "5", "10", "(-1)", "NULL::int"],
        Kind::Text => &["'a'", "'b'", "'ann'", "'x'", "''", "NULL::text"],
        Kind::Bool => &["true", "false", "true", "false", "NULL::boolean"],
        Kind::Numeric => &["1.5", "0.25", "2.00", "7", "(-0.5)", "NULL::numeric"],
        Kind::Date => &["DATE '2024-02-29'", "'2024-01-31'::date", "DATE '1999-12-31'", "NULL::date"],
        Kind::Mood => &["'low'::mood", "'mid'::mood", "'high'::mood", "NULL::mood"],
        Kind::Ints => &["ARRAY[1, 2]", "'{}'::int[]", "'{3,NULL,1}'::int[]", "ARRAY[5]", "NULL::int[]"],
        Kind::Jsonb => {
            &["'{\"k\": 1}'::jsonb", "'[1, \"a\", null]'::jsonb", "'{}'::jsonb", "'3'::jsonb", "NULL::jsonb"]
        }
    };
    dice.pick(choices).to_string()
}

fn leaf(dice: &mut Dice, scope: &Scope, kind: Kind) -> String {
    let column = if dice.one_in(4) { None } else { scope.column(dice, kind) };
    column.unwrap_or_else(|| literal(dice, kind))
}

fn int(dice: &mut Dice, scope: &Scope, depth: usize) -> String {
    if depth == 0 || dice.one_in(2) {
        return leaf(dice, scope, Kind::Int);
    }
    if dice.one_in(6)
        && let Some(measure) = int_of_structure(dice, scope)
    {
        return measure;
    }
    let a = int(dice, scope, depth - 1);
    match dice.below(10) {
        0..=2 => format!("({a} {} {})", dice.pick(&["+", "-", "*"]), int(dice, scope, depth - 1)),
        3 => format!("({a} {} {})", dice.pick(&["%", "/"]), dice.pick(&["2", "3", "(-2)"])),
        4 => format!("COALESCE({a}, {})", int(dice, scope, depth - 1)),
        5 => format!("NULLIF({a}, {})", int(dice, scope, depth - 1)),
        6 => format!("(- {a})"),
        7 => format!("abs({a})"),
        8 => format!("length({})", text(dice, scope, depth - 1)),
        _ => {
            format!("CASE WHEN {} THEN {a} ELSE {} END", condition(dice, scope, depth - 1), int(dice, scope, depth - 1))
        }
    }
}

fn text(dice: &mut Dice, scope: &Scope, depth: usize) -> String {
    if depth == 0 || dice.one_in(2) {
        return leaf(dice, scope, Kind::Text);
    }
    let a = text(dice, scope, depth - 1);
    match dice.below(6) {
        0 | 1 => format!("({a} || {})", text(dice, scope, depth - 1)),
        2 => format!("upper({a})"),
        3 => format!("COALESCE({a}, {})", text(dice, scope, depth - 1)),
        4 => format!("{}::text", int(dice, scope, 0)),
        _ => format!("CASE WHEN {} THEN {a} END", condition(dice, scope, depth - 1)),
    }
}

fn numeric(dice: &mut Dice, scope: &Scope, depth: usize) -> String {
    if depth == 0 || dice.one_in(2) {
        return leaf(dice, scope, Kind::Numeric);
    }
    let a = numeric(dice, scope, depth - 1);
    match dice.below(4) {
        0 | 1 => format!("({a} {} {})", dice.pick(&["+", "-", "*"]), numeric(dice, scope, depth - 1)),
        2 => format!("COALESCE({a}, {})", int(dice, scope, 0)),
        _ => format!("round({a})"),
    }
}

/// Values that are more than a number or a text, by the operations that never fail on them.
fn structured(dice: &mut Dice, scope: &Scope, kind: Kind, depth: usize) -> String {
    let a = leaf(dice, scope, kind);
    if depth == 0 || dice.one_in(2) {
        return a;
    }
    let b = leaf(dice, scope, kind);
    match (dice.below(4), kind) {
        (0, _) => format!("COALESCE({a}, {b})"),
        (1, _) => format!("CASE WHEN {} THEN {a} ELSE {b} END", condition(dice, scope, 0)),
        (_, Kind::Date) => format!("({a} {} {})", dice.pick(&["+", "-"]), dice.pick(&["1", "30", "366"])),
        (2, Kind::Ints) => format!("({a} || {})", int(dice, scope, 0)),
        (_, Kind::Ints) => format!("array_remove({a}, {})", int(dice, scope, 0)),
        (2, Kind::Jsonb) => format!("jsonb_build_object('k', {}, 'w', {a})", int(dice, scope, 0)),
        (_, Kind::Jsonb) => format!("({a} -> 'k')"),
        _ => format!("{}({a}, {b})", dice.pick(&["GREATEST", "LEAST"])),
    }
}

/// A number that says something about a date, an array or a document, if one is in scope.
fn int_of_structure(dice: &mut Dice, scope: &Scope) -> Option<String> {
    let kind = *dice.pick(&[Kind::Date, Kind::Ints, Kind::Jsonb]);
    let column = scope.column(dice, kind)?;
    Some(match kind {
        Kind::Date => format!("({column} - DATE '2024-01-01')"),
        Kind::Ints if dice.one_in(2) => format!("cardinality({column})"),
        Kind::Ints => format!("{column}[{}]", 1 + dice.below(2)),
        _ => format!("length({column} ->> 'k')"),
    })
}

/// A condition, three-valued like all conditions.
pub(super) fn condition(dice: &mut Dice, scope: &Scope, depth: usize) -> String {
    if depth > 0 {
        let inner = depth - 1;
        match dice.below(12) {
            0 | 1 => return format!("({} AND {})", condition(dice, scope, inner), condition(dice, scope, inner)),
            2 | 3 => return format!("({} OR {})", condition(dice, scope, inner), condition(dice, scope, inner)),
            4 => return format!("(NOT {})", condition(dice, scope, inner)),
            5 if !scope.subqueries.is_empty() => return subquery_condition(dice, scope),
            _ => {}
        }
    }
    comparison(dice, scope, depth.saturating_sub(1))
}

fn comparison(dice: &mut Dice, scope: &Scope, depth: usize) -> String {
    let kind = match dice.below(4) {
        0 | 1 => Kind::Int,
        2 => Kind::Text,
        _ => *dice.pick(&scope.kinds()),
    };
    let kind = if kind == Kind::Bool { Kind::Int } else { kind };
    let a = expression(dice, scope, kind, depth);
    let operators = ["=", "=", "<>", "<", "<=", ">", ">="];
    match dice.below(12) {
        0..=5 => format!("({a} {} {})", dice.pick(&operators), expression(dice, scope, kind, depth)),
        6 => format!("({a} IS {}NULL)", dice.pick(&["", "NOT "])),
        7 => format!("({a} {}IN ({}, {}))", dice.pick(&["", "NOT "]), literal(dice, kind), literal(dice, kind)),
        8 => format!("({a} BETWEEN {} AND {})", literal(dice, kind), literal(dice, kind)),
        9 => format!("({a} IS {}DISTINCT FROM {})", dice.pick(&["", "NOT "]), expression(dice, scope, kind, 0)),
        10 => match scope.column(dice, Kind::Bool) {
            Some(column) => column,
            None => format!("({a} {} {})", dice.pick(&operators), literal(dice, kind)),
        },
        _ => format!("({} LIKE {})", text(dice, scope, 0), dice.pick(&["'a%'", "'%b'", "'_'", "'%n%'", "''"])),
    }
}

/// A condition that asks another table, or the same one under another name.
fn subquery_condition(dice: &mut Dice, scope: &Scope) -> String {
    let table = *dice.pick(&scope.subqueries);
    let inner = Scope::of(table, "q");
    let both = inner.clone().with(Scope { columns: scope.columns.clone(), subqueries: Vec::new() });
    let filter = condition(dice, &both, 1);
    let wanted = inner.column(dice, Kind::Int).unwrap_or_else(|| "1".to_string());
    let a = int(dice, scope, 0);
    match dice.below(4) {
        0 => format!("EXISTS (SELECT 1 FROM {} AS q WHERE {filter})", table.name),
        1 => format!("({a} IN (SELECT {wanted} FROM {} AS q WHERE {filter}))", table.name),
        2 => format!("({a} >= (SELECT max({wanted}) FROM {} AS q WHERE {filter}))", table.name),
        _ => format!("({a} < (SELECT count(*) FROM {} AS q WHERE {filter}))", table.name),
    }
}
