//! SQLite: a store that is one file, or none.

use std::path::Path;

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, ErrorCode, params_from_iter};

use super::{Cell, Database, Relation, StoreError};
use crate::sql::Dialect;

/// A file, or memory.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
    place: String,
}

impl Sqlite {
    /// Opens a file, and makes it if there is none.
    pub fn open(path: &Path) -> Result<Sqlite, StoreError> {
        let place = path.display().to_string();
        let connection = Connection::open(path).map_err(|error| complain(&place, &error))?;
        let mut sqlite = Sqlite { connection, place };
        // Reading the header is how one learns that a file is no database.
        sqlite.number("SELECT count(*) FROM sqlite_schema")?;
        // A store can be made again, so it need not survive a loss of power; but it does survive our being killed.
        sqlite.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; PRAGMA temp_store = FILE")?;
        Ok(sqlite)
    }

    /// A store that is gone when it is closed.
    pub fn memory() -> Result<Sqlite, StoreError> {
        let place = "memory".to_string();
        let connection = Connection::open_in_memory().map_err(|error| complain(&place, &error))?;
        Ok(Sqlite { connection, place })
    }

    fn complain(&self, error: &rusqlite::Error) -> StoreError {
        complain(&self.place, error)
    }
}

fn complain(place: &str, error: &rusqlite::Error) -> StoreError {
    let code = error.sqlite_error_code();
    let message = match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    };
    match code {
        Some(ErrorCode::NotADatabase) => StoreError::new(format!("{place} is there already and is no SQLite database"))
            .with_hint("name another file"),
        Some(ErrorCode::DiskFull) => StoreError::new(format!("there is no room left for {place}"))
            .with_hint("what is stored is complete up to the last level"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::new(format!("{place} is in use by another program"))
        }
        Some(ErrorCode::CannotOpen) => StoreError::new(format!("{place} cannot be opened: {message}")),
        _ => StoreError::new(format!("{place}: {message}")),
    }
}

impl Database for Sqlite {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn execute(&mut self, sql: &str) -> Result<u64, StoreError> {
        self.connection.execute_batch(sql).map_err(|error| self.complain(&error))?;
        Ok(self.connection.changes())
    }

    fn each(&mut self, sql: &str, row: &mut dyn FnMut(&[Cell])) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare(sql).map_err(|error| self.complain(&error))?;
        let columns = statement.column_count();
        let mut rows = statement.query([]).map_err(|error| self.complain(&error))?;
        let mut cells = vec![Cell::Null; columns];
        while let Some(found) = rows.next().map_err(|error| self.complain(&error))? {
            for (place, cell) in cells.iter_mut().enumerate() {
                *cell = match found.get_ref(place).map_err(|error| self.complain(&error))? {
                    ValueRef::Null => Cell::Null,
                    ValueRef::Integer(value) => Cell::Int(value),
                    ValueRef::Real(value) => Cell::Text(value.to_string()),
                    ValueRef::Text(text) | ValueRef::Blob(text) => {
                        Cell::Text(String::from_utf8_lossy(text).into_owned())
                    }
                };
            }
            row(&cells);
        }
        Ok(())
    }

    fn load(&mut self, table: &str, rows: &mut dyn Iterator<Item = Vec<Cell>>) -> Result<(), StoreError> {
        let columns = self.columns(table)?.len();
        let marks = vec!["?"; columns].join(", ");
        let sql = format!("INSERT INTO {} VALUES ({marks})", self.dialect().name(table));
        let mut statement = self.connection.prepare(&sql).map_err(|error| complain(&self.place, &error))?;
        for row in rows {
            let values = row.into_iter().map(|cell| match cell {
                Cell::Null => Value::Null,
                Cell::Int(value) => Value::Integer(value),
                Cell::Text(text) => Value::Text(text),
            });
            statement.execute(params_from_iter(values)).map_err(|error| complain(&self.place, &error))?;
        }
        Ok(())
    }

    fn columns(&mut self, table: &str) -> Result<Vec<String>, StoreError> {
        let sql = format!("SELECT name FROM pragma_table_info({})", self.dialect().text(table));
        Ok(self.rows(&sql)?.iter().map(|row| row[0].text()).collect())
    }

    fn relations(&mut self, kind: Relation) -> Result<Vec<String>, StoreError> {
        let kind = if kind == Relation::Table { "table" } else { "view" };
        let sql =
            format!("SELECT name FROM sqlite_schema WHERE type = '{kind}' AND name NOT LIKE 'sqlite%' ORDER BY name");
        Ok(self.rows(&sql)?.iter().map(|row| row[0].text()).collect())
    }
}
