//! Statements beyond SELECT, INSERT, UPDATE and DELETE: what generated schemas are for.
//!
//! MERGE, data-modifying WITH, locks on tables and on numbers, constraints deferred, sequences, views, tables emptied.

use super::dice::Dice;
use super::expression::{Scope, expression};
use super::merge;
use super::query::query;
use super::schema::{Kind, Table};
use super::statement::{assignments, rows_given};
use super::world::World;

/// One of them.
pub(super) fn statement(dice: &mut Dice, world: &'static World, among_others: bool) -> String {
    let table = dice.pick(world.schema.tables);
    match dice.below(16) {
        0..=2 => merge::merge(dice, world.schema.tables, !among_others),
        3..=5 => merge::modifying_with(dice, world.schema.tables),
        6 | 7 if among_others => lock_table(dice, table),
        8 | 9 if among_others => advisory(dice),
        10 if world.deferrable => set_constraints(dice),
        11 if dice.one_in(2) => format!("TRUNCATE {}{}", table.name, dice.pick(&["", " CASCADE", " RESTART IDENTITY"])),
        12 | 13 if !world.views.is_empty() => through_view(dice, world.views),
        14 => update_row(dice, table),
        _ => merge::merge(dice, world.schema.tables, !among_others),
    }
}

fn lock_table(dice: &mut Dice, table: &Table) -> String {
    let mode = dice.pick(&[
        "ACCESS SHARE",
        "ROW SHARE",
        "ROW EXCLUSIVE",
        "SHARE UPDATE EXCLUSIVE",
        "SHARE",
        "SHARE ROW EXCLUSIVE",
        "EXCLUSIVE",
        "ACCESS EXCLUSIVE",
    ]);
    format!("LOCK TABLE {} IN {mode} MODE{}", table.name, dice.pick(&["", "", "", " NOWAIT"]))
}

fn advisory(dice: &mut Dice) -> String {
    let key = 1 + dice.below(2);
    let function = dice.pick(&[
        "pg_advisory_xact_lock",
        "pg_advisory_xact_lock",
        "pg_advisory_xact_lock_shared",
        "pg_try_advisory_xact_lock",
        "pg_try_advisory_xact_lock_shared",
        "pg_advisory_lock",
        "pg_advisory_unlock",
        "pg_try_advisory_lock",
    ]);
    format!("SELECT {function}({key})")
}

fn set_constraints(dice: &mut Dice) -> String {
    dice.pick(&["SET CONSTRAINTS ALL DEFERRED", "SET CONSTRAINTS ALL DEFERRED", "SET CONSTRAINTS ALL IMMEDIATE"])
        .to_string()
}

fn through_view(dice: &mut Dice, views: &'static [Table]) -> String {
    let view = dice.pick(views);
    let scope = Scope::of(view, view.name);
    let key = 1 + dice.below(4);
    match dice.below(6) {
        0 => format!("UPDATE {} SET {} WHERE id = {key}", view.name, assignments(dice, view, &scope)),
        1 => format!("DELETE FROM {} WHERE id = {key}", view.name),
        2 => format!("INSERT INTO {} {}", view.name, rows_given(dice, view)),
        _ => query(dice, views),
    }
}

/// Several columns at once, from a row or a subquery.
fn update_row(dice: &mut Dice, table: &Table) -> String {
    let (name, key) = (table.name, 1 + dice.below(4));
    let columns = table.writable();
    let (a, b) = (columns[columns.len() - 2], columns[columns.len() - 1]);
    let scope = Scope::of(table, if dice.one_in(2) { "q" } else { name });
    let names = format!("({}, {})", a.name, b.name);
    let values = format!("{}, {}", expression(dice, &scope, a.kind, 1), expression(dice, &scope, b.kind, 1));
    let order = Scope::of(table, "q").column(dice, Kind::Int).unwrap_or_else(|| "1".to_string());
    let limit = format!("ORDER BY {order}, q.id LIMIT 1");
    match scope.names()[0].starts_with("q.") {
        true => {
            format!("UPDATE {name} SET {names} = (SELECT {values} FROM {name} AS q {limit}) WHERE {name}.id = {key}")
        }
        false => format!("UPDATE {name} SET {names} = ROW ({values}) WHERE {name}.id = {key}"),
    }
}
