//! Schemas from a number: one to three tables with every kind of constraint, index, default and trigger that we know.
//!
//! There are [`WORLDS`] of them; each is made when it is first wanted, and kept. The first column of a table is `id`,
//! an int that is nearly always a key; what refers to another table is called `parent_id`, as in the hand-made schemas,
//! so that the statements of [`super::statement`] fit. A world has more than tables, and [`super::surface`] uses it.

use std::sync::OnceLock;

use super::dice::Dice;
use super::schema::{Column, Kind, Schema, Table};
use super::trigger;

/// How many worlds there are.
pub(super) const WORLDS: usize = 4096;

/// A generated schema.
#[derive(Debug)]
pub(super) struct World {
    /// What creates it, and its tables.
    pub(super) schema: Schema,
    /// Views, to be read like tables.
    pub(super) views: &'static [Table],
    /// Everything that is looked at in the end.
    pub(super) look: &'static [&'static str],
    /// Constraints that can be deferred.
    pub(super) deferrable: bool,
}

/// The world of this number, modulo [`WORLDS`].
pub(super) fn world(number: usize) -> &'static World {
    static MADE: [OnceLock<World>; WORLDS] = [const { OnceLock::new() }; WORLDS];
    MADE[number % WORLDS].get_or_init(|| Maker::new(number % WORLDS).world())
}

/// A world in the making.
struct Maker {
    dice: Dice,
    setup: Vec<String>,
    tables: Vec<Table>,
    views: Vec<Table>,
    look: Vec<&'static str>,
    deferrable: bool,
    has_mood: bool,
}

const NAMES: &[&str] = &["t", "u", "v"];

/// Columns that a table may have beside its key.
const COLUMNS: &[(&str, Kind, &str)] = &[
    ("n", Kind::Int, "int"),
    ("n", Kind::Int, "int"),
    ("m", Kind::Int, "int"),
    ("s", Kind::Text, "text"),
    ("s", Kind::Text, "text"),
    ("b", Kind::Bool, "boolean"),
    ("p", Kind::Numeric, "numeric(6,2)"),
    ("d", Kind::Date, "date"),
    ("e", Kind::Mood, "mood"),
    ("xs", Kind::Ints, "int[]"),
    ("j", Kind::Jsonb, "jsonb"),
];

const ACTIONS: &[&str] =
    &["", "", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON DELETE SET DEFAULT", " ON DELETE RESTRICT"];
const UPDATE_ACTIONS: &[&str] = &["", "", "", " ON UPDATE CASCADE", " ON UPDATE SET NULL", " ON UPDATE RESTRICT"];
const DEFERRED: &[&str] = &[" DEFERRABLE INITIALLY DEFERRED", " DEFERRABLE INITIALLY DEFERRED", " DEFERRABLE"];

impl Maker {
    fn new(number: usize) -> Maker {
        let seed = u64::try_from(number).expect("a number of a world is small");
        Maker {
            dice: Dice::new(seed ^ 0x5_eed0_fa11),
            setup: Vec::new(),
            tables: Vec::new(),
            views: Vec::new(),
            look: Vec::new(),
            deferrable: false,
            has_mood: false,
        }
    }

    fn world(mut self) -> World {
        let count = *self.dice.pick(&[1, 1, 2, 2, 2, 3]);
        for name in &NAMES[..count] {
            self.table(name);
        }
        for index in 0..count {
            self.rows(index);
        }
        if self.dice.one_in(4) {
            self.view();
        }
        if self.dice.one_in(3) {
            self.triggers();
        }
        let setup: Vec<&'static str> = self.setup.into_iter().map(kept).collect();
        World {
            schema: Schema { setup: setup.leak(), tables: self.tables.leak() },
            views: self.views.leak(),
            look: self.look.leak(),
            deferrable: self.deferrable,
        }
    }

    fn table(&mut self, name: &'static str) {
        let mut columns = vec![plain("id", Kind::Int)];
        let mut keys: Vec<&'static [&'static str]> = Vec::new();
        let mut parts = vec![self.key_column(&mut keys)];
        for _ in 0..1 + self.dice.below(3) {
            let (column, kind, type_name) = *self.dice.pick(COLUMNS);
            if columns.iter().all(|other: &Column| other.name != column) {
                columns.push(plain(column, kind));
                parts.push(self.column(column, kind, type_name));
            }
        }
        if columns.len() == 1 {
            columns.push(plain("n", Kind::Int));
            parts.push("n int".to_string());
        }
        if let Some(reference) = self.reference() {
            columns.push(plain("parent_id", Kind::Int));
            parts.push(reference);
        }
        let has_n = columns.iter().any(|column| column.name == "n");
        if has_n && self.dice.one_in(8) {
            columns.push(Column { name: "g", kind: Kind::Int, writable: false });
            let computed = self.dice.pick(&["n * 2", "COALESCE(n, 0) + id", "n % 3"]).to_string();
            parts.push(format!("g int GENERATED ALWAYS AS ({computed}) STORED"));
        }
        self.table_constraints(&columns, &mut parts, &mut keys);
        self.setup.push(format!("CREATE TABLE {name} ({})", parts.join(", ")));
        self.indexes(name, &columns);
        self.look.push(name);
        self.tables.push(Table { name, columns: columns.leak(), keys: keys.leak() });
    }

    /// `id`, mostly a primary key.
    fn key_column(&mut self, keys: &mut Vec<&'static [&'static str]>) -> String {
        let choice = self.dice.below(16);
        if choice < 14 {
            keys.push(&["id"]);
        }
        match choice {
            0 => "id serial PRIMARY KEY".to_string(),
            1 => "id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY".to_string(),
            2 => "id int UNIQUE NOT NULL".to_string(),
            3 => "id int UNIQUE".to_string(),
            14 => {
                self.deferrable = true;
                format!("id int PRIMARY KEY{}", self.dice.pick(DEFERRED))
            }
            15 => "id int".to_string(),
            _ => "id int PRIMARY KEY".to_string(),
        }
    }

    fn column(&mut self, name: &str, kind: Kind, type_name: &str) -> String {
        if kind == Kind::Mood && !self.has_mood {
            self.has_mood = true;
            self.setup.insert(0, "CREATE TYPE mood AS ENUM ('low', 'mid', 'high')".to_string());
        }
        let mut text = format!("{name} {type_name}");
        let default = match kind {
            Kind::Int => "7",
            Kind::Text => "'new'",
            Kind::Bool => "true",
            Kind::Numeric => "1.25",
            Kind::Date => "'2024-03-01'",
            Kind::Mood => "'mid'",
            Kind::Ints => "'{1}'",
            Kind::Jsonb => "'{}'",
        };
        if self.dice.one_in(3) {
            text += &format!(" DEFAULT {default}");
        }
        if self.dice.one_in(6) {
            text += " NOT NULL";
        }
        if kind == Kind::Int && self.dice.one_in(5) {
            text += &format!(" CHECK ({name} {})", self.dice.pick(&[">= 0", "< 20", "<> 5", "BETWEEN 0 AND 12"]));
        }
        if kind == Kind::Text && self.dice.one_in(8) {
            text += &format!(" CHECK ({name} {})", self.dice.pick(&["<> ''", "= lower(s)", "NOT LIKE 'x%'"]));
        }
        text
    }

    /// `parent_id`, to an earlier table if there is one.
    fn reference(&mut self) -> Option<String> {
        let earlier: Vec<&Table> = self.tables.iter().filter(|table| table.keys.contains(&(&["id"] as &[_]))).collect();
        let parent = match earlier.as_slice() {
            [] if self.dice.one_in(6) => return Some("parent_id int".to_string()),
            [] => return None,
            _ if self.dice.one_in(5) => return None,
            tables => self.dice.pick(tables).name,
        };
        let default = if self.dice.one_in(4) { " DEFAULT 1" } else { "" };
        let (delete, update) = (*self.dice.pick(ACTIONS), *self.dice.pick(UPDATE_ACTIONS));
        let deferred = if self.dice.one_in(4) {
            self.deferrable = true;
            *self.dice.pick(DEFERRED)
        } else {
            ""
        };
        Some(format!("parent_id int{default} REFERENCES {parent} (id){delete}{update}{deferred}"))
    }

    fn table_constraints(
        &mut self,
        columns: &[Column],
        parts: &mut Vec<String>,
        keys: &mut Vec<&'static [&'static str]>,
    ) {
        let second = &columns[1];
        if is_distinct(second) && self.dice.one_in(6) {
            if self.dice.one_in(5) {
                self.deferrable = true;
                parts.push(format!("UNIQUE ({}){}", second.name, self.dice.pick(DEFERRED)));
            } else {
                parts.push(format!("UNIQUE{} ({})", self.dice.pick(&["", "", " NULLS NOT DISTINCT"]), second.name));
                keys.push(vec![second.name].leak());
            }
        }
        if columns.len() > 2 && (is_distinct(second) || is_distinct(&columns[2])) && self.dice.one_in(8) {
            let pair = vec![columns[1].name, columns[2].name].leak();
            parts.push(format!("UNIQUE ({})", pair.join(", ")));
            keys.push(pair);
        }
        if columns.iter().any(|column| column.name == "n") && self.dice.one_in(8) {
            parts.push("CONSTRAINT sane CHECK (n IS NULL OR n > id - 10)".to_string());
        }
    }

    fn indexes(&mut self, table: &str, columns: &[Column]) {
        let named = |name: &str| columns.iter().any(|column| column.name == name);
        if named("n") && self.dice.one_in(6) {
            let index = *self.dice.pick(&[
                "CREATE UNIQUE INDEX ON {} (n) WHERE n > 5",
                "CREATE UNIQUE INDEX ON {} ((n % 7))",
                "CREATE INDEX ON {} (n)",
                "CREATE UNIQUE INDEX ON {} (n, id)",
                "CREATE INDEX ON {} (n DESC, id) WHERE n IS NOT NULL",
            ]);
            self.setup.push(index.replace("{}", table));
        }
        if named("s") && self.dice.one_in(6) {
            let index = *self.dice.pick(&["CREATE UNIQUE INDEX ON {} (lower(s))", "CREATE INDEX ON {} (s)"]);
            self.setup.push(index.replace("{}", table));
        }
    }

    /// Three or four rows that break no rule: values that are distinct where they are not NULL.
    fn rows(&mut self, index: usize) {
        let table = &self.tables[index];
        let names: Vec<&str> = table.writable().iter().map(|column| column.name).collect();
        let mut rows = Vec::new();
        for id in 1..=3 + self.dice.below(2) {
            let values: Vec<String> = table.writable().iter().map(|column| first_value(column, id)).collect();
            rows.push(format!("({})", values.join(", ")));
        }
        self.setup.push(format!("INSERT INTO {} ({}) VALUES {}", table.name, names.join(", "), rows.join(", ")));
    }

    fn view(&mut self) {
        let table = &self.tables[0];
        let columns: Vec<Column> =
            table.columns.iter().take(2).map(|column| Column { writable: true, ..*column }).collect();
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        let filter = self.dice.pick(&["", " WHERE id > 1", " WHERE id <> 2"]);
        self.setup.push(format!("CREATE VIEW w AS SELECT {} FROM {}{filter}", names.join(", "), table.name));
        self.views.push(Table { name: "w", columns: columns.leak(), keys: &[] });
    }

    fn triggers(&mut self) {
        self.setup.push("CREATE TABLE log (k int, line text)".to_string());
        self.look.push("log");
        for number in 0..1 + self.dice.below(2) {
            let table = self.dice.below(self.tables.len());
            self.setup.extend(trigger::trigger(&mut self.dice, &self.tables[table], number));
        }
    }
}

fn plain(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, writable: true }
}

fn kept(text: String) -> &'static str {
    text.leak()
}

/// Whether the first rows have another value each.
fn is_distinct(column: &Column) -> bool {
    let kinds = [Kind::Int, Kind::Text, Kind::Numeric, Kind::Date, Kind::Ints, Kind::Jsonb];
    kinds.contains(&column.kind) && column.writable && column.name != "parent_id"
}

/// The value of a column in the row of this id: within all checks, and another one in every row.
fn first_value(column: &Column, id: usize) -> String {
    if column.name == "id" {
        return id.to_string();
    }
    if column.name == "parent_id" {
        return if id == 3 { "NULL".to_string() } else { "1".to_string() };
    }
    match column.kind {
        Kind::Int => format!("{}", id * 2),
        Kind::Text => format!("'{}'", ["a", "ann", "bob", "c", "d"][id - 1]),
        Kind::Bool => "true".to_string(),
        Kind::Numeric => format!("{id}.5"),
        Kind::Date => format!("'2024-01-0{id}'"),
        Kind::Mood => format!("'{}'", ["low", "mid", "high", "mid"][id - 1]),
        Kind::Ints => format!("'{{{id},2}}'"),
        Kind::Jsonb => format!("'{{\"k\": {id}}}'"),
    }
}
