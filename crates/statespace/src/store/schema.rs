//! The tables and views, made and dropped.

use super::columns::{Columns, dict_table};
use super::{Cell, Database, Relation, Run, StoreError};
use crate::packed::{Action, Layout, SlotKind};
use crate::space::Way;
use crate::sql::Dialect;

/// What a specification is stored with.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// What keys mean.
    pub layout: &'a Layout,
    /// The actions.
    pub actions: &'a [Action],
    /// The ways to take them.
    pub ways: &'a [Way],
}

/// The one table that says whose tables these are.
pub(super) const RUN: &str = "isolde_run";

/// Makes an empty store, instead of what was there.
pub(super) fn create(database: &mut dyn Database, subject: &Subject, run: &Run) -> Result<(), StoreError> {
    clear(database)?;
    let dialect = database.dialect();
    let (columns, key, unlogged) = (Columns::new(subject.layout), dialect.key_type(), unlogged(dialect));
    let unique = dialect.unique_key();
    let words: String = (0..columns.words()).map(|word| format!(", w{word} {key} NOT NULL")).collect();
    // Here the table can be its own index.
    let tail = if dialect == Dialect::Sqlite { ", PRIMARY KEY (src, act, dst)) WITHOUT ROWID" } else { ")" };
    database.execute(&format!(
        "CREATE {unlogged}TABLE {RUN} (name TEXT NOT NULL, spec TEXT NOT NULL, layout TEXT NOT NULL, engine TEXT NOT NULL, \
         complete INTEGER NOT NULL, depth INTEGER, states {key}, transitions {key}, forms TEXT NOT NULL);\n\
         CREATE {unlogged}TABLE state (k {unique}, lvl INTEGER{words});\n\
         CREATE {unlogged}TABLE action (id INTEGER PRIMARY KEY, name TEXT NOT NULL, binding TEXT NOT NULL, file TEXT NOT NULL, \
         line INTEGER NOT NULL);\n\
         CREATE {unlogged}TABLE trans (src {key} NOT NULL, act INTEGER NOT NULL, dst {key} NOT NULL{tail};\n\
         CREATE {unlogged}TABLE slot (id INTEGER PRIMARY KEY, variable TEXT NOT NULL, name TEXT NOT NULL, low INTEGER NOT NULL, \
         width INTEGER NOT NULL, bias {key} NOT NULL, kind TEXT NOT NULL, codes TEXT NOT NULL);\n\
         CREATE {unlogged}TABLE component (k {unique}, component INTEGER NOT NULL);\n\
         CREATE {unlogged}TABLE label (formula TEXT PRIMARY KEY, relation TEXT NOT NULL, states {key} NOT NULL)"
    ))?;
    fill(database, subject, run)?;
    views(database, &columns, subject.layout)
}

fn fill(database: &mut dyn Database, subject: &Subject, run: &Run) -> Result<(), StoreError> {
    let row = [run.name.as_str(), &run.spec, &layout_digest(subject.layout), &run.engine].map(Cell::from);
    let rest = [Cell::Int(0), Cell::Null, Cell::Null, Cell::Null, run.forms.as_str().into()];
    database.load(RUN, &mut std::iter::once(row.into_iter().chain(rest).collect()))?;
    let actions = subject.ways.iter().enumerate().map(|(id, way)| {
        let action = subject.actions.get(way.action);
        let (name, file) = action.map_or(("", ""), |action| (&action.name, &action.file));
        let line = action.map_or(0, |action| action.line as i64);
        vec![Cell::Int(id as i64), name.into(), way.binding.as_str().into(), file.into(), Cell::Int(line)]
    });
    database.load("action", &mut { actions })?;
    database.load("slot", &mut slot_rows(subject.layout))?;
    for (dict, values) in subject.layout.dicts.iter().enumerate() {
        let name = dict_table(subject.layout, dict);
        let quoted = database.dialect().name(&name);
        let unlogged = unlogged(database.dialect());
        database.execute(&format!("CREATE {unlogged}TABLE {quoted} (id INTEGER PRIMARY KEY, value TEXT NOT NULL)"))?;
        let rows = values.iter().enumerate().map(|(id, value)| vec![Cell::Int(id as i64), value.as_str().into()]);
        database.load(&name, &mut { rows })?;
    }
    Ok(())
}

/// Where everything is in a key, and what codes mean: one to a line, as TLA+ text.
fn slot_rows(layout: &Layout) -> impl Iterator<Item = Vec<Cell>> + '_ {
    let slots = layout.variables.iter().flat_map(|variable| variable.slots.clone().map(move |place| (place, variable)));
    slots.map(|(place, variable)| {
        let slot = &layout.slots[place];
        let (kind, codes) = match &slot.kind {
            SlotKind::Int => ("int", String::new()),
            SlotKind::Bool => ("bool", String::new()),
            SlotKind::Enum(values) => ("enum", values.join("\n")),
            SlotKind::Mask(values) => ("set", values.join("\n")),
            SlotKind::Dict(dict) => ("dict", dict_table(layout, *dict)),
        };
        let number = |number: u32| Cell::Int(number.into());
        let names = [Cell::Int(place as i64), variable.name.as_str().into(), slot.name.as_str().into()];
        let numbers =
            [number(slot.offset), number(slot.width), Cell::Int(slot.bias), kind.into(), codes.as_str().into()];
        names.into_iter().chain(numbers).collect()
    })
}

fn unlogged(dialect: Dialect) -> &'static str {
    if dialect == Dialect::Postgres { "UNLOGGED " } else { "" }
}

fn views(database: &mut dyn Database, columns: &Columns, layout: &Layout) -> Result<(), StoreError> {
    let dialect = database.dialect();
    let listed = |columns: Vec<(String, String)>| -> String {
        columns.into_iter().map(|(name, value)| format!(",\n  {value} AS {}", dialect.name(&name))).collect()
    };
    let (values, texts) = (listed(columns.values(dialect, layout)), listed(columns.texts(dialect, layout)));
    database.execute(&format!(
        "CREATE VIEW state_v AS SELECT k, lvl{values}\nFROM state;\n\
         CREATE VIEW state_text AS SELECT k, lvl{texts}\nFROM state;\n\
         CREATE VIEW deadlock AS SELECT k FROM state WHERE NOT EXISTS (SELECT 1 FROM trans WHERE src = k);\n\
         CREATE VIEW trans_total AS SELECT src, act, dst FROM trans UNION ALL SELECT k, NULL, k FROM deadlock;\n\
         CREATE VIEW trans_v AS SELECT src, name || CASE WHEN binding = '' THEN '' ELSE '(' || binding || ')' END AS step, \
         name AS action, dst FROM trans JOIN action ON id = act"
    ))?;
    Ok(())
}

/// Drops what an earlier run left; what others left is not touched.
pub(super) fn clear(database: &mut dyn Database) -> Result<(), StoreError> {
    let (views, tables) = (database.relations(Relation::View)?, database.relations(Relation::Table)?);
    if views.is_empty() && tables.is_empty() {
        return Ok(());
    }
    if !tables.iter().any(|table| table == RUN) {
        let hint = "name a database that is empty or that isolde has made";
        return Err(StoreError::new("there are tables of somebody else in this database").with_hint(hint));
    }
    let dialect = database.dialect();
    let cascade = if dialect == Dialect::Postgres { " CASCADE" } else { "" };
    for (kind, names) in [("VIEW", views), ("TABLE", tables)] {
        for name in names {
            database.execute(&format!("DROP {kind} IF EXISTS {}{cascade}", dialect.name(&name)))?;
        }
    }
    Ok(())
}

/// What tells one layout from another.
pub(super) fn layout_digest(layout: &Layout) -> String {
    format!("{:032x}", isolde_digest::digest_of(&format!("{layout:?}")))
}
