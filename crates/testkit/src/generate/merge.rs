//! MERGE, and changes inside WITH.

use super::dice::Dice;
use super::expression::{Scope, condition, expression};
use super::schema::{Kind, Table};
use super::statement::{last_writable, rows_given, value};

/// MERGE by the first column, from a few keys or from another table.
pub(super) fn merge(dice: &mut Dice, tables: &'static [Table], alone: bool) -> String {
    let target = dice.pick(tables);
    let first = target.columns[0].name;
    // Several rows only where their order does not show: alone, and where no key is changed.
    let unordered = alone && !target.keys.iter().any(|key| key.contains(&last_writable(target).name));
    let source = match dice.below(3) {
        1 if unordered => "(VALUES (1), (2), (5), (6))".to_string(),
        2 if unordered => format!("(VALUES ({}), ({}))", 1 + dice.below(3), 4 + dice.below(3)),
        _ => format!("(VALUES ({}))", 1 + dice.below(4)),
    };
    let scope = Scope::of(target, "t").with(Scope::variables(&[("s.k", Kind::Int)]));
    let source_scope = Scope::variables(&[("s.k", Kind::Int)]);
    let mut whens = Vec::new();
    if dice.one_in(2) {
        let condition = condition(dice, &scope, 1);
        whens.push(format!("WHEN MATCHED AND {condition} THEN {}", matched(dice, target, &scope)));
    }
    if dice.one_in(4) {
        let condition = condition(dice, &source_scope, 1);
        whens.push(format!("WHEN NOT MATCHED AND {condition} THEN DO NOTHING"));
    }
    whens.push(format!("WHEN MATCHED THEN {}", matched(dice, target, &scope)));
    if dice.one_in(2) {
        whens.push(format!("WHEN NOT MATCHED THEN {}", unmatched(dice, target)));
    }
    format!("MERGE INTO {} AS t USING {source} AS s(k) ON t.{first} = s.k {}", target.name, whens.join(" "))
}

fn matched(dice: &mut Dice, table: &Table, scope: &Scope) -> String {
    let last = last_writable(table);
    match dice.below(5) {
        0 => "DELETE".to_string(),
        1 => "DO NOTHING".to_string(),
        _ => format!("UPDATE SET {} = {}", last.name, expression(dice, scope, last.kind, 1)),
    }
}

fn unmatched(dice: &mut Dice, table: &Table) -> String {
    let mut values: Vec<String> = table.columns.iter().map(|column| value(dice, table, column)).collect();
    if table.columns[0].kind == Kind::Int && table.columns[0].writable {
        values[0] = "s.k".to_string();
    }
    format!("INSERT VALUES ({})", values.join(", "))
}

/// A statement whose WITH clause changes rows by key.
pub(super) fn modifying_with(dice: &mut Dice, tables: &'static [Table]) -> String {
    let (table, other) = (dice.pick(tables), dice.pick(tables));
    let (key, name) = (1 + dice.below(4), table.name);
    let first = table.columns[0].name;
    let last = last_writable(table);
    let scope = Scope::of(table, name);
    let new = expression(dice, &scope, last.kind, 1);
    let change = match dice.below(4) {
        0 => format!("DELETE FROM {name} WHERE {first} = {key} RETURNING *"),
        1 => format!("INSERT INTO {name} {} ON CONFLICT DO NOTHING RETURNING *", rows_given(dice, table)),
        _ => format!("UPDATE {name} SET {} = {new} WHERE {name}.{first} = {key} RETURNING *", last.name),
    };
    let column = other.columns[0].name;
    match dice.below(4) {
        0 => format!("WITH c AS ({change}) SELECT count(*) FROM c"),
        1 => format!("WITH c AS ({change}) SELECT * FROM c"),
        2 => format!("WITH c AS ({change}) SELECT count(*) FROM {}", other.name),
        _ => format!(
            "WITH c AS ({change}) DELETE FROM {} WHERE {column} = {key} AND (SELECT count(*) FROM c) < 2",
            other.name
        ),
    }
}
