//! Statements that change or lock rows, and the choice among all statements.

use super::dice::Dice;
use super::expression::{Scope, condition, expression, literal};
use super::merge;
use super::query::{filter, query, select_list};
use super::schema::{Column, Kind, Schema, Table};
use super::surface;
use super::world::World;

/// Statements over one schema.
#[derive(Debug)]
pub(super) struct Statements {
    tables: &'static [Table],
    /// The rest of a generated schema: what there is beside tables.
    world: Option<&'static World>,
    /// Several sessions act: more writes and locks, and no conditions whose plan decides the order of locking.
    among_others: bool,
}

impl Statements {
    pub(super) fn alone(schema: &'static Schema) -> Statements {
        Statements { tables: schema.tables, world: None, among_others: false }
    }

    pub(super) fn among_others(schema: &'static Schema) -> Statements {
        Statements { tables: schema.tables, world: None, among_others: true }
    }

    pub(super) fn in_world(world: &'static World, among_others: bool) -> Statements {
        Statements { tables: world.schema.tables, world: Some(world), among_others }
    }

    /// Any statement but transaction control.
    pub(super) fn any(&mut self, dice: &mut Dice) -> String {
        if let Some(world) = self.world
            && dice.one_in(3)
        {
            return surface::statement(dice, world, self.among_others);
        }
        let queries_percent = if self.among_others { 15 } else { 55 };
        if dice.below(100) < queries_percent {
            return query(dice, self.tables);
        }
        match dice.below(14) {
            12 => merge::merge(dice, self.tables, !self.among_others),
            13 => merge::modifying_with(dice, self.tables),
            0 | 1 => self.insert(dice),
            2 if !self.among_others => self.insert(dice),
            2..=7 => self.update(dice),
            8 | 9 => self.delete(dice),
            _ => self.lock(dice),
        }
    }

    fn insert(&self, dice: &mut Dice) -> String {
        let table = dice.pick(self.tables);
        let source = if dice.one_in(6) { self.rows_selected(dice, table) } else { rows_given(dice, table) };
        format!("INSERT INTO {} {source}{}{}", table.name, on_conflict(dice, table), returning(dice, table))
    }

    /// Rows of the same table with other keys.
    fn rows_selected(&self, dice: &mut Dice, table: &Table) -> String {
        let names: Vec<&str> = table.writable().iter().map(|column| column.name).collect();
        let mut items: Vec<String> = names.iter().map(|name| format!("t.{name}")).collect();
        if table.columns[0].kind == Kind::Int {
            items[0] = format!("{} + {}", items[0], 1 + dice.below(4));
        }
        let chosen = self.rows_chosen(dice, table, "t");
        format!("({}) SELECT {} FROM {} AS t{chosen}", names.join(", "), items.join(", "), table.name)
    }

    fn update(&self, dice: &mut Dice) -> String {
        let table = dice.pick(self.tables);
        if self.tables.len() >= 2 && dice.one_in(8) {
            return update_from(dice, &self.tables[0], &self.tables[1]);
        }
        let scope = Scope::of(table, table.name);
        let set = assignments(dice, table, &scope);
        let chosen = self.rows_chosen(dice, table, table.name);
        format!("UPDATE {} SET {set}{chosen}{}", table.name, returning(dice, table))
    }

    fn delete(&self, dice: &mut Dice) -> String {
        let table = dice.pick(self.tables);
        if self.tables.len() >= 2 && dice.one_in(8) {
            let (name, other, key) = (table.name, dice.pick(self.tables), 1 + dice.below(4));
            let (column, other_column) = (table.columns[0].name, other.columns[0].name);
            let condition = format!("{name}.{column} = {key} AND o.{other_column} = {key}");
            return format!("DELETE FROM {name} USING {} AS o WHERE {condition}", other.name);
        }
        format!("DELETE FROM {}{}{}", table.name, self.rows_chosen(dice, table, table.name), returning(dice, table))
    }

    fn lock(&self, dice: &mut Dice) -> String {
        let table = dice.pick(self.tables);
        let chosen = self.rows_chosen(dice, table, "t");
        let order = if dice.one_in(3) {
            format!(" ORDER BY {}", Scope::of(table, "t").names().join(", "))
        } else {
            String::new()
        };
        let strength = dice.pick(&["UPDATE", "UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"]);
        let wait = dice.pick(&["", "", "", " NOWAIT", " SKIP LOCKED"]);
        if self.tables.len() >= 2 && dice.one_in(6) {
            let (left, right, key) = (&self.tables[0], &self.tables[1], 1 + dice.below(4));
            let condition = format!("l.{} = {key} AND r.{} = {key}", left.columns[0].name, right.columns[0].name);
            let of = dice.pick(&["", " OF l", " OF r"]);
            let from = format!("{} AS l JOIN {} AS r ON {condition}", left.name, right.name);
            return format!("SELECT * FROM {from} FOR {strength}{of}{wait}");
        }
        let limit =
            if !order.is_empty() && dice.one_in(2) { format!(" LIMIT {}", 1 + dice.below(2)) } else { String::new() };
        let order = format!("{order}{limit}");
        format!("SELECT * FROM {} AS t{chosen}{order} FOR {strength}{wait}", table.name)
    }

    /// The first row that nobody has locked, or the first of all.
    fn next_in_queue(&self, dice: &mut Dice, table: &Table) -> String {
        let (key, order) = (table.columns[0].name, Scope::of(table, "q").names().join(", "));
        let filter = filter(dice, &Scope::of(table, "q"));
        let wait = dice.pick(&["", " SKIP LOCKED", " SKIP LOCKED"]);
        format!("SELECT q.{key} FROM {} AS q{filter} ORDER BY {order} LIMIT 1 FOR UPDATE{wait}", table.name)
    }

    /// WHERE for a statement that writes or locks: often one key, so that sessions meet on it.
    fn rows_chosen(&self, dice: &mut Dice, table: &Table, name: &str) -> String {
        let first = &table.columns[0];
        let keys = if self.among_others { 2 } else { 4 };
        if dice.one_in(2) {
            return format!(" WHERE {name}.{} = {}", first.name, 1 + dice.below(keys));
        }
        if table.keys.iter().any(|key| key == &[first.name]) && dice.one_in(8) {
            return format!(" WHERE {name}.{} = ({})", first.name, self.next_in_queue(dice, table));
        }
        let scope = Scope::of(table, name);
        if !self.among_others {
            return filter(dice, &scope.reading(self.tables));
        }
        if dice.one_in(8) {
            return format!(" WHERE {}", scalar_subquery(dice, table, &scope));
        }
        filter(dice, &scope)
    }
}

/// A condition with a subquery that stays one: it is run as it stands, not turned into a join.
fn scalar_subquery(dice: &mut Dice, table: &Table, scope: &Scope) -> String {
    let operand = expression(dice, scope, Kind::Int, 0);
    let inner = Scope::of(table, "q");
    format!("{operand} <= (SELECT count(*) FROM {} AS q WHERE {})", table.name, condition(dice, &inner, 1))
}

pub(super) fn rows_given(dice: &mut Dice, table: &Table) -> String {
    let row = |dice: &mut Dice| {
        let values: Vec<String> = table.columns.iter().map(|column| value(dice, table, column)).collect();
        format!("({})", values.join(", "))
    };
    let first = row(dice);
    if dice.one_in(4) { format!("VALUES {first}, {}", row(dice)) } else { format!("VALUES {first}") }
}

/// A value to insert: for keys and references a small number, otherwise a constant or the default.
pub(super) fn value(dice: &mut Dice, table: &Table, column: &Column) -> String {
    let small = column.name == "parent_id" || table.keys.iter().any(|key| key.contains(&column.name));
    if small && column.kind == Kind::Int && !dice.one_in(20) {
        return dice.pick(&["1", "2", "3", "4", "5", "5", "6", "6"]).to_string();
    }
    if !column.writable || dice.one_in(8) { "DEFAULT".to_string() } else { literal(dice, column.kind) }
}

fn on_conflict(dice: &mut Dice, table: &Table) -> String {
    if table.keys.is_empty() || !dice.one_in(3) {
        return String::new();
    }
    let target = dice.pick(table.keys).join(", ");
    match dice.below(4) {
        0 => " ON CONFLICT DO NOTHING".to_string(),
        1 => format!(" ON CONFLICT ({target}) DO NOTHING"),
        _ => {
            let last = last_writable(table);
            let scope = Scope::of(table, table.name).with(Scope::of(table, "excluded"));
            let new = expression(dice, &scope, last.kind, 1);
            let filter = if dice.one_in(3) { filter(dice, &scope) } else { String::new() };
            format!(" ON CONFLICT ({target}) DO UPDATE SET {} = {new}{filter}", last.name)
        }
    }
}

pub(super) fn last_writable(table: &Table) -> &Column {
    table.columns.iter().rfind(|column| column.writable).expect("every table has a column to write")
}

/// SET of a column or two; keys change rarely.
pub(super) fn assignments(dice: &mut Dice, table: &Table, scope: &Scope) -> String {
    let first_plain = if dice.one_in(8) { 0 } else { 1 };
    let columns = table.writable();
    let column = columns[first_plain + dice.below(columns.len() - first_plain)];
    let set = format!("{} = {}", column.name, expression(dice, scope, column.kind, 1));
    let last = last_writable(table);
    if last.name != column.name && dice.one_in(4) {
        return format!("{set}, {} = {}", last.name, expression(dice, scope, last.kind, 1));
    }
    set
}

/// UPDATE ... FROM by the first columns: one row of the target meets at most one key of the other table.
fn update_from(dice: &mut Dice, target: &Table, other: &Table) -> String {
    let last = last_writable(target);
    let key = 1 + dice.below(4);
    let scope = Scope::of(target, target.name);
    format!(
        "UPDATE {} SET {} = {} FROM {} AS o WHERE {}.{} = {key} AND o.{} = {key}",
        target.name,
        last.name,
        expression(dice, &scope, last.kind, 1),
        other.name,
        target.name,
        target.columns[0].name,
        other.columns[0].name,
    )
}

fn returning(dice: &mut Dice, table: &Table) -> String {
    match dice.below(6) {
        0 => " RETURNING *".to_string(),
        1 => format!(" RETURNING {}", select_list(dice, &Scope::of(table, table.name))),
        _ => String::new(),
    }
}
