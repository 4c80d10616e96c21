//! Taking back what was told.
//!
//! The triggers tell a client of every row that is written (see [`crate::effects`]), and its answers tell what became
//! of the transaction. Where nothing writes but the statements of clients, which succeed or fail as a whole, the rows
//! that a run has committed are therefore known here, and nothing need be written down in the database for the way
//! back:
//!
//! ```text
//!   alice   UPDATE account ... WHERE id = 1    told: (1,100) became (1,40)     committed
//!   bob     UPDATE account ... WHERE id = 1    told: (1,40) became (1,-20)     committed
//!   undo    UPDATE account SET balance = $1 WHERE id = $2         100, 1
//! ```
//!
//! In which order the transactions have committed need not be known, and is not: of two sessions that go on at once,
//! either may be heard first. What counts is of which rows there are more than at the start, and of which fewer. First
//! those that are too many go, then those that have changed become what they were, then those that are missing come
//! back; unique keys never meet. Tables of which a copy is kept are filled again.
//!
//! This is for [`crate::Restore`] to decide: a routine can catch an error, or commit by itself, and then what was told
//! is not what was done.

use std::collections::{BTreeMap, BTreeSet};

use isolde_wire::{Connection, Response, Row};

use crate::Trouble;
use crate::effects::Effect;

/// A row as text, column by column.
type Texts = Vec<Option<String>>;

/// A statement that takes something back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Undo {
    /// The same for the same kind of change, whatever the values.
    pub(crate) sql: String,
    /// Its parameters, as text.
    pub(crate) params: Texts,
}

impl Undo {
    /// Without parameters.
    pub(crate) fn text(sql: &str) -> Undo {
        Undo { sql: sql.into(), params: Vec::new() }
    }
}

/// What was told of a run, and how to take it back.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    tables: BTreeMap<u32, Table>,
    /// Of each session, what its open transaction has written, in order.
    open: BTreeMap<usize, Vec<Effect>>,
    /// What is committed: per table, how many more there are of a row, or fewer.
    net: BTreeMap<u32, BTreeMap<Texts, i64>>,
}

/// A table whose rows can be put back.
#[derive(Clone, Debug, Default)]
struct Table {
    name: String,
    columns: Vec<Column>,
    /// Fills it again from its copy, first to last.
    refill: Vec<Undo>,
}

#[derive(Clone, Debug)]
struct Column {
    name: String,
    /// It is made from others.
    generated: bool,
    /// It can be set by an UPDATE.
    settable: bool,
    /// It is part of the primary key.
    key: bool,
    /// It decides about the uniqueness of something.
    unique: bool,
}

/// The columns of all tables that are put back.
const COLUMNS: &str = "
SELECT t.tab, format('%I.%I', n.nspname, c.relname), t.copied, t.columns, quote_ident(a.attname), a.attgenerated <> '', a.attidentity = 'a',
  EXISTS (SELECT FROM pg_index i WHERE i.indrelid = t.tab AND i.indisprimary
    AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])),
  EXISTS (SELECT FROM pg_index i WHERE i.indrelid = t.tab AND (i.indisunique OR i.indisexclusion)
    AND (a.attnum = ANY (i.indkey) OR 0 = ANY (i.indkey) OR i.indpred IS NOT NULL))
FROM isolde.tables t JOIN pg_class c ON c.oid = t.tab JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = t.tab AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY t.tab, a.attnum";

impl Told {
    /// For the tables of a database, whose changes are told if they are among `known`; none if some row could not be
    /// found again.
    pub(crate) fn read(connection: &mut Connection, known: &BTreeSet<u32>) -> Result<Option<Told>, Trouble> {
        let answers = connection.execute(COLUMNS)?;
        let mut tables: BTreeMap<u32, Table> = BTreeMap::new();
        for row in answers.iter().flat_map(Response::rows) {
            let Some(oid) = text(row, 0).parse().ok().filter(|oid| known.contains(oid)) else { return Ok(None) };
            let is = |at: usize| text(row, at) == "t";
            let table = tables.entry(oid).or_insert_with(|| Table {
                name: text(row, 1).to_string(),
                refill: if is(2) { refill(text(row, 1), text(row, 3), oid) } else { Vec::new() },
                ..Table::default()
            });
            let settable = !is(5) && !is(6);
            table.columns.push(Column {
                name: text(row, 4).to_string(),
                generated: is(5),
                settable,
                key: is(7),
                unique: is(8),
            });
        }
        let found_again = |table: &Table| !table.refill.is_empty() || table.columns.iter().any(|column| column.key);
        Ok(tables.values().all(found_again).then(|| Told { tables, open: BTreeMap::new(), net: BTreeMap::new() }))
    }

    /// A session has written a row.
    pub(crate) fn hear(&mut self, session: usize, effect: &Effect) {
        if self.tables.contains_key(&effect.table) {
            self.open.entry(session).or_default().push(effect.clone());
        }
    }

    /// A session has committed its transaction, or has given up the last `writes` of it.
    pub(crate) fn settle(&mut self, session: usize, committed: bool, writes: usize) {
        let Some(open) = self.open.get_mut(&session) else { return };
        if !committed {
            return open.truncate(open.len().saturating_sub(writes));
        }
        for effect in open.drain(..) {
            let rows = self.net.entry(effect.table).or_default();
            for (row, by) in [(effect.before, -1), (effect.after, 1)] {
                *row.map_or(&mut 0, |row| rows.entry(row).or_default()) += by;
            }
        }
    }

    /// What takes back all that is committed, in one transaction. After it, nothing was told.
    pub(crate) fn take_back(&mut self) -> Vec<Undo> {
        self.open.clear();
        let mut out = Vec::new();
        for (oid, rows) in std::mem::take(&mut self.net) {
            match self.tables.get(&oid) {
                Some(table) if table.refill.is_empty() => table.take_back(&rows, &mut out),
                Some(table) => out.extend(table.refill.iter().cloned()),
                None => {}
            }
        }
        out
    }
}

impl Table {
    /// Takes rows away of which there are more than there were, and brings those back of which there are fewer.
    fn take_back(&self, rows: &BTreeMap<Texts, i64>, out: &mut Vec<Undo>) {
        let many = rows.iter().filter(|(_, count)| **count > 0).map(|(row, _)| (self.key(row), row));
        let mut missing: BTreeMap<Vec<&str>, &Texts> =
            rows.iter().filter(|(_, count)| **count < 0).map(|(row, _)| (self.key(row), row)).collect();
        let mut changed = Vec::new();
        for (key, now) in many {
            match missing.get(&key).filter(|before| self.is_same_place(before, now)) {
                Some(before) => {
                    changed.push((now, *before));
                    missing.remove(&key);
                }
                None => out.push(self.delete(now)),
            }
        }
        out.extend(changed.into_iter().filter_map(|(now, before)| self.update(now, before)));
        out.extend(missing.into_values().map(|row| self.insert(row)));
    }

    /// Whether a row can be changed in place: in no column that anything unique depends on.
    fn is_same_place(&self, before: &Texts, now: &Texts) -> bool {
        self.columns.iter().zip(before.iter().zip(now)).all(|(column, (old, new))| !column.unique || old == new)
    }

    fn delete(&self, now: &Texts) -> Undo {
        let mut params = Vec::new();
        let condition = self.condition(now, &mut params);
        Undo { sql: format!("DELETE FROM ONLY {} WHERE {condition}", self.name), params }
    }

    /// Gives a row what it had before where that differs.
    fn update(&self, now: &Texts, before: &Texts) -> Option<Undo> {
        let columns = self.columns.iter().zip(before.iter().zip(now));
        let differing = columns.filter(|(column, (old, new))| column.settable && old != new);
        let mut params = Vec::new();
        let set: Vec<String> =
            differing.map(|(column, (old, _))| format!("{} = {}", column.name, param(old, &mut params))).collect();
        let condition = self.condition(now, &mut params);
        let sql = format!("UPDATE ONLY {} SET {} WHERE {condition}", self.name, set.join(", "));
        (!set.is_empty()).then_some(Undo { sql, params })
    }

    fn insert(&self, row: &Texts) -> Undo {
        let kept = || self.columns.iter().zip(row).filter(|(column, _)| !column.generated);
        let mut params = Vec::new();
        let names: Vec<&str> = kept().map(|(column, _)| column.name.as_str()).collect();
        let values: Vec<String> = kept().map(|(_, value)| param(value, &mut params)).collect();
        let (names, values) = (names.join(", "), values.join(", "));
        Undo { sql: format!("INSERT INTO {} ({names}) OVERRIDING SYSTEM VALUE VALUES ({values})", self.name), params }
    }

    fn key<'r>(&self, row: &'r Texts) -> Vec<&'r str> {
        let key = self.columns.iter().zip(row).filter(|(column, _)| column.key);
        key.map(|(_, value)| value.as_deref().unwrap_or_default()).collect()
    }

    /// What holds of the row with the same key.
    fn condition(&self, row: &Texts, params: &mut Texts) -> String {
        let key = self.columns.iter().zip(row).filter(|(column, _)| column.key);
        let conditions: Vec<String> =
            key.map(|(column, value)| format!("{} = {}", column.name, param(value, params))).collect();
        conditions.join(" AND ")
    }
}

fn refill(name: &str, columns: &str, oid: u32) -> Vec<Undo> {
    let copied =
        format!("INSERT INTO {name} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM isolde.copy_{oid}");
    vec![Undo::text(&format!("DELETE FROM ONLY {name}")), Undo::text(&copied)]
}

/// A value becomes the next parameter.
fn param(value: &Option<String>, params: &mut Texts) -> String {
    params.push(value.clone());
    format!("${}", params.len())
}

fn text(row: &Row, at: usize) -> &str {
    row.get(at).and_then(Option::as_deref).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effects::EffectKind;

    fn told() -> Told {
        let column =
            |name: &str, key: bool| Column { name: name.into(), generated: false, settable: true, key, unique: key };
        let columns = vec![column("id", true), column("balance", false), column("note", false)];
        let table = Table { name: "public.account".into(), columns, refill: Vec::new() };
        Told { tables: BTreeMap::from([(7, table)]), open: BTreeMap::new(), net: BTreeMap::new() }
    }

    fn effect(before: Option<&str>, after: Option<&str>) -> Effect {
        let kind = match (before, after) {
            (None, _) => EffectKind::Insert,
            (_, None) => EffectKind::Delete,
            _ => EffectKind::Update,
        };
        let row = |text: &str| crate::effects::fields(text);
        Effect { table: 7, kind, before: before.map(row), after: after.map(row) }
    }

    /// One line per statement.
    fn taken_back(told: &mut Told) -> Vec<String> {
        let shown = |value: &Option<String>| value.clone().unwrap_or("NULL".into());
        let line = |undo: Undo| {
            let params: Vec<String> = undo.params.iter().map(shown).collect();
            format!("{} <- {}", undo.sql, params.join(", "))
        };
        told.take_back().into_iter().map(line).collect()
    }

    #[test]
    fn what_was_only_changed_becomes_what_it_was_first_in_whatever_order_it_was_heard() {
        let mut told = told();
        told.hear(1, &effect(Some("(1,40,a)"), Some("(1,-20,)")));
        told.hear(1, &effect(Some("(2,5,it's)"), Some("(2,6,it's)")));
        told.settle(1, true, 2);
        told.hear(0, &effect(Some("(1,100,a)"), Some("(1,40,a)")));
        told.settle(0, true, 1);
        assert_eq!(
            taken_back(&mut told),
            [
                "UPDATE ONLY public.account SET balance = $1, note = $2 WHERE id = $3 <- 100, a, 1",
                "UPDATE ONLY public.account SET balance = $1 WHERE id = $2 <- 5, 2",
            ]
        );
        assert!(told.take_back().is_empty());
    }

    #[test]
    fn who_is_too_much_goes_before_anybody_comes_back() {
        let mut told = told();
        told.hear(0, &effect(Some("(1,100,)"), None));
        told.hear(0, &effect(None, Some("(1,7,)")));
        told.hear(0, &effect(Some("(2,5,)"), Some("(3,5,)")));
        told.settle(0, true, 3);
        assert_eq!(
            taken_back(&mut told),
            [
                "DELETE FROM ONLY public.account WHERE id = $1 <- 3",
                "UPDATE ONLY public.account SET balance = $1 WHERE id = $2 <- 100, 1",
                "INSERT INTO public.account (id, balance, note) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3) <- 2, 5, NULL",
            ]
        );
    }

    #[test]
    fn what_was_given_up_is_not_taken_back() {
        let mut told = told();
        told.hear(0, &effect(Some("(1,100,)"), Some("(1,1,)")));
        told.hear(0, &effect(Some("(2,5,)"), Some("(2,6,)")));
        // ROLLBACK TO a savepoint between the two.
        told.settle(0, false, 1);
        told.settle(0, true, 1);
        told.hear(1, &effect(Some("(3,5,)"), Some("(3,6,)")));
        assert_eq!(taken_back(&mut told), ["UPDATE ONLY public.account SET balance = $1 WHERE id = $2 <- 100, 1"]);
        assert!(told.take_back().is_empty());
    }
}
