//! How things are called in reports: rows, lines, lists of names.

use isolde_engine::{RowId, Tables};
use isolde_report::Place;
use isolde_sql::catalog::{Catalog, Table, TableId};
use isolde_sql::{Span, Value};

use crate::scenario::Scenario;

/// `alice`, `alice and bob`, `alice, bob and carol`.
pub fn listed<S: AsRef<str>>(names: &[S]) -> String {
    match names {
        [] => "nobody".into(),
        [one] => one.as_ref().into(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(S::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

/// `(1, ann, NULL)`
pub fn tuple(row: &[Value]) -> String {
    format!("({})", row.iter().map(value).collect::<Vec<_>>().join(", "))
}

/// A value as psql shows it, and NULL as NULL.
pub(crate) fn value(value: &Value) -> String {
    if value.is_null() { "NULL".into() } else { value.to_string() }
}

/// A value as reports hold it.
pub(crate) fn optional(value: &Value) -> Option<String> {
    (!value.is_null()).then(|| value.to_string())
}

/// `line 7`, or `schema.sql line 7` in an included file.
pub(crate) fn line_of(place: &Place) -> String {
    match &place.file {
        None => format!("line {}", place.line),
        Some(file) => format!("{file} line {}", place.line),
    }
}

/// Where a statement stands.
pub(crate) fn place(scenario: &Scenario, span: Span) -> Place {
    let (file, line) = scenario.sources.place(span);
    Place { file: file.map(String::from), line }
}

/// A table as it is at the end of a run, or as set-up made it if it has been dropped since.
pub(crate) fn table<'c>(scenario: &'c Scenario, end: &'c Catalog, id: TableId) -> Option<&'c Table> {
    let known = [end, scenario.database.catalog()];
    known.into_iter().find(|catalog| catalog.has_table(id)).map(|catalog| &**catalog.table(id))
}

/// A row by its primary key: `id = 1`; by all its values if it has none.
pub(crate) fn key(table: &Table, row: &[Value]) -> String {
    let columns: Vec<usize> = match table.primary_key() {
        Some(index) => index.columns.clone(),
        None => (0..table.columns.len()).collect(),
    };
    let parts =
        columns.iter().filter_map(|&c| Some(format!("{} = {}", table.columns.get(c)?.name, value(row.get(c)?))));
    parts.collect::<Vec<_>>().join(", ")
}

/// A row of a table, as committed: `account id = 1`.
pub(crate) fn row(catalog: &Catalog, tables: &Tables, table: TableId, row: RowId) -> String {
    if !catalog.has_table(table) {
        return "a row of a table that is gone".into();
    }
    let name = &catalog.table(table).name;
    match tables.table(table).get(row) {
        Some(tuple) => format!("{name} {}", key(catalog.table(table), &tuple.values)),
        None => format!("a new row of {name}"),
    }
}
