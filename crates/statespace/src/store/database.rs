//! What a store needs of a database: statements, rows, and many rows at once.

use std::fmt;

use crate::sql::Dialect;
use crate::tla::fault::Fault;

/// A connection to a database.
pub trait Database {
    /// How it wants its SQL.
    fn dialect(&self) -> Dialect;

    /// Runs statements, and says how many rows the last one changed.
    fn execute(&mut self, sql: &str) -> Result<u64, StoreError>;

    /// Shows every row of a query.
    fn each(&mut self, sql: &str, row: &mut dyn FnMut(&[Cell])) -> Result<(), StoreError>;

    /// Adds rows to a table, in the order of its columns.
    fn load(&mut self, table: &str, rows: &mut dyn Iterator<Item = Vec<Cell>>) -> Result<(), StoreError>;

    /// The columns of a table or view, as they are named; none, if there is no such thing.
    fn columns(&mut self, table: &str) -> Result<Vec<String>, StoreError>;

    /// The names of all tables, or of all views.
    fn relations(&mut self, kind: Relation) -> Result<Vec<String>, StoreError>;

    /// Takes away what the store is in, when nothing of it is to be left.
    fn discard(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Whether there is such a table or view.
    fn has(&mut self, table: &str) -> Result<bool, StoreError> {
        Ok(!self.columns(table)?.is_empty())
    }

    /// Every row of a query.
    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Cell>>, StoreError> {
        let mut rows = Vec::new();
        self.each(sql, &mut |row| rows.push(row.to_vec()))?;
        Ok(rows)
    }

    /// The number in the first column of the first row; 0, if there is none.
    fn number(&mut self, sql: &str) -> Result<i64, StoreError> {
        let mut number = 0;
        self.each(sql, &mut |row| number = row.first().map_or(0, Cell::int))?;
        Ok(number)
    }
}

impl dyn Database + '_ {
    /// Does something entirely or not at all.
    pub fn atomically<T>(
        &mut self,
        work: impl FnOnce(&mut dyn Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.execute("BEGIN")?;
        match work(self) {
            Ok(value) => self.execute("COMMIT").map(|_| value),
            Err(error) => {
                // The first error is the one to report: a connection that is gone cannot roll back, and need not.
                let _ = self.execute("ROLLBACK");
                Err(error)
            }
        }
    }
}

/// What rows can be had from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Rows that are stored.
    Table,
    /// Rows that are computed.
    View,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A number.
    Int(i64),
    /// Text.
    Text(String),
}

impl Cell {
    /// The number that it is or that it shows; else 0.
    pub fn int(&self) -> i64 {
        match self {
            Cell::Null => 0,
            Cell::Int(value) => *value,
            Cell::Text(text) => text.parse().unwrap_or(0),
        }
    }

    /// As text; nothing is empty.
    pub fn text(&self) -> String {
        match self {
            Cell::Null => String::new(),
            Cell::Int(value) => value.to_string(),
            Cell::Text(text) => text.clone(),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.into())
    }
}

/// Why a store did not do what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError {
    /// A sentence.
    pub message: String,
    /// What to try.
    pub hint: Option<String>,
}

impl StoreError {
    /// An error that says everything in one sentence.
    pub fn new(message: impl Into<String>) -> StoreError {
        StoreError { message: message.into(), hint: None }
    }

    /// With what to try.
    pub fn with_hint(mut self, hint: impl Into<String>) -> StoreError {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StoreError {}

/// What goes wrong with a database is a mistake that stands nowhere.
impl From<StoreError> for Box<Fault> {
    fn from(error: StoreError) -> Box<Fault> {
        Box::new(Fault { at: Default::default(), message: error.message, hint: error.hint, is_limit: true })
    }
}
