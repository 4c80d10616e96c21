//! DuckDB: a store in a file, linked when the feature `duckdb` is on.
//!
//! The fastest of the databases at exploring: it works on columns and keeps them compressed. It pays for indexes, so
//! there are none on keys; what is new is found by anti joins.

use std::path::Path;

use duckdb::types::{Value, ValueRef};
use duckdb::{Connection, appender_params_from_iter};

use super::{Cell, Database, Relation, StoreError};
use crate::sql::Dialect;

/// A file.
pub struct Duckdb {
    connection: Connection,
    place: String,
}

impl Duckdb {
    /// Opens a file, and makes it if there is none.
    pub fn open(path: &Path) -> Result<Duckdb, StoreError> {
        let place = path.display().to_string();
        let connection = Connection::open(path).map_err(|error| complain(&place, &error))?;
        Ok(Duckdb { connection, place })
    }
}

fn complain(place: &str, error: &duckdb::Error) -> StoreError {
    let message = match error {
        duckdb::Error::DuckDBFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    };
    match message.contains("not a valid DuckDB database file") {
        true => StoreError::new(format!("{place} is there already and is no DuckDB database"))
            .with_hint("name another file"),
        false => StoreError::new(format!("{place}: {message}")),
    }
}

impl std::fmt::Debug for Duckdb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Duckdb").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Database for Duckdb {
    fn dialect(&self) -> Dialect {
        Dialect::Duckdb
    }

    fn execute(&mut self, sql: &str) -> Result<u64, StoreError> {
        let changed = self.connection.execute(sql, []).map_err(|error| complain(&self.place, &error))?;
        Ok(changed as u64)
    }

    fn each(&mut self, sql: &str, row: &mut dyn FnMut(&[Cell])) -> Result<(), StoreError> {
        let complain = |error: duckdb::Error| complain(&self.place, &error);
        let mut statement = self.connection.prepare(sql).map_err(complain)?;
        let mut rows = statement.query([]).map_err(complain)?;
        let columns = rows.as_ref().map_or(0, |statement| statement.column_count());
        let mut cells = vec![Cell::Null; columns];
        while let Some(found) = rows.next().map_err(complain)? {
            for (place, cell) in cells.iter_mut().enumerate() {
                *cell = cell_of(found.get_ref(place).map_err(complain)?);
            }
            row(&cells);
        }
        Ok(())
    }

    fn load(&mut self, table: &str, rows: &mut dyn Iterator<Item = Vec<Cell>>) -> Result<(), StoreError> {
        let complain = |error: duckdb::Error| complain(&self.place, &error);
        let mut appender = self.connection.appender(table).map_err(complain)?;
        for row in rows {
            let values = row.into_iter().map(|cell| match cell {
                Cell::Null => Value::Null,
                Cell::Int(value) => Value::BigInt(value),
                Cell::Text(text) => Value::Text(text),
            });
            appender.append_row(appender_params_from_iter(values)).map_err(complain)?;
        }
        appender.flush().map_err(complain)
    }

    fn columns(&mut self, table: &str) -> Result<Vec<String>, StoreError> {
        let table = self.dialect().text(table);
        let sql = format!("SELECT column_name FROM duckdb_columns() WHERE table_name = {table} ORDER BY column_index");
        Ok(self.rows(&sql)?.iter().map(|row| row[0].text()).collect())
    }

    fn relations(&mut self, kind: Relation) -> Result<Vec<String>, StoreError> {
        let sql = match kind {
            Relation::Table => "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary ORDER BY 1",
            Relation::View => "SELECT view_name FROM duckdb_views() WHERE NOT internal AND NOT temporary ORDER BY 1",
        };
        Ok(self.rows(sql)?.iter().map(|row| row[0].text()).collect())
    }
}

fn cell_of(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Boolean(value) => Cell::Int(value.into()),
        ValueRef::TinyInt(value) => Cell::Int(value.into()),
        ValueRef::SmallInt(value) => Cell::Int(value.into()),
        ValueRef::Int(value) => Cell::Int(value.into()),
        ValueRef::BigInt(value) => Cell::Int(value),
        ValueRef::HugeInt(value) => Cell::Text(value.to_string()),
        ValueRef::UTinyInt(value) => Cell::Int(value.into()),
        ValueRef::USmallInt(value) => Cell::Int(value.into()),
        ValueRef::UInt(value) => Cell::Int(value.into()),
        ValueRef::UBigInt(value) => Cell::Text(value.to_string()),
        ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
        other => Cell::Text(format!("{other:?}")),
    }
}
