//! PostgreSQL: a store in a schema of its own.
//!
//! Tables are unlogged: what can be computed again need not be written twice. The schema is the space's, everything in
//! it is made by us, and it is dropped when the space is not to be kept.

use std::fmt::Write;

use isolde_wire::{Answer, Connection, Message, Response, Settings};

use super::{Cell, Database, Relation, StoreError};
use crate::sql::Dialect;

/// Rows that are sent at once.
const ROWS_AT_ONCE: usize = 50_000;

/// A session with a server.
#[derive(Debug)]
pub struct Postgres {
    connection: Connection,
    schema: String,
}

impl Postgres {
    /// Connects, and makes the schema if there is none.
    pub fn open(settings: &Settings, schema: &str) -> Result<Postgres, StoreError> {
        let connection = Connection::open(&settings.with_application_name("isolde space"))
            .map_err(|error| StoreError::new(format!("the database server cannot be reached: {error}")))?;
        let mut postgres = Postgres { connection, schema: schema.to_string() };
        let name = postgres.dialect().name(schema);
        postgres.execute(&format!(
            "SET client_min_messages = warning; SET jit = off; SET synchronous_commit = off; SET work_mem = '256MB'; \
             CREATE SCHEMA IF NOT EXISTS {name}; SET search_path = {name}"
        ))?;
        Ok(postgres)
    }

    fn answer(&mut self) -> Result<Vec<Response>, StoreError> {
        let mut answer = Answer::default();
        loop {
            let message = self.connection.receive(None).map_err(gone)?;
            if let Some(responses) = message.and_then(|message| answer.push(message)) {
                return responses.into_iter().map(checked).collect();
            }
        }
    }
}

fn gone(error: std::io::Error) -> StoreError {
    StoreError::new(format!("the database server is gone: {error}"))
        .with_hint("what is stored is complete up to the last level")
}

fn checked(response: Response) -> Result<Response, StoreError> {
    match response {
        Response::Error(complaint) => Err(StoreError {
            message: format!("the database server says: {}", complaint.message),
            hint: complaint.hint,
        }),
        other => Ok(other),
    }
}

impl Database for Postgres {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn execute(&mut self, sql: &str) -> Result<u64, StoreError> {
        self.connection.send(sql).map_err(gone)?;
        let tag = match self.answer()?.pop() {
            Some(Response::Done { tag } | Response::Rows { tag, .. }) => tag,
            _ => String::new(),
        };
        Ok(tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0))
    }

    fn each(&mut self, sql: &str, row: &mut dyn FnMut(&[Cell])) -> Result<(), StoreError> {
        self.connection.send(sql).map_err(gone)?;
        let mut failed = None;
        loop {
            match self.connection.receive(None).map_err(gone)? {
                Some(Message::Row(values)) => {
                    let cell = |value: Option<String>| value.map_or(Cell::Null, Cell::Text);
                    row(&values.into_iter().map(cell).collect::<Vec<_>>());
                }
                Some(Message::Error(complaint)) => failed = Some(Response::Error(complaint)),
                Some(Message::Ready) => return failed.map_or(Ok(()), |failed| checked(failed).map(drop)),
                _ => {}
            }
        }
    }

    fn load(&mut self, table: &str, rows: &mut dyn Iterator<Item = Vec<Cell>>) -> Result<(), StoreError> {
        let sql = format!("COPY {} FROM stdin", self.dialect().name(table));
        loop {
            let mut lines = String::new();
            let count = rows.take(ROWS_AT_ONCE).map(|row| push_line(&mut lines, &row)).count();
            if count == 0 {
                return Ok(());
            }
            self.connection.send_copy(&sql, &lines).map_err(gone)?;
            self.answer()?;
        }
    }

    fn discard(&mut self) -> Result<(), StoreError> {
        let name = self.dialect().name(&self.schema);
        self.execute(&format!("DROP SCHEMA IF EXISTS {name} CASCADE")).map(drop)
    }

    fn columns(&mut self, table: &str) -> Result<Vec<String>, StoreError> {
        let (schema, table) = (self.dialect().text(&self.schema), self.dialect().text(table));
        let sql = format!(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = {schema} AND table_name = {table} \
             ORDER BY ordinal_position"
        );
        Ok(self.rows(&sql)?.iter().map(|row| row[0].text()).collect())
    }

    fn relations(&mut self, kind: Relation) -> Result<Vec<String>, StoreError> {
        let kind = if kind == Relation::Table { "BASE TABLE" } else { "VIEW" };
        let schema = self.dialect().text(&self.schema);
        let sql = format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = {schema} AND table_type = '{kind}' \
             ORDER BY table_name"
        );
        Ok(self.rows(&sql)?.iter().map(|row| row[0].text()).collect())
    }
}

/// A row as COPY reads it.
fn push_line(lines: &mut String, row: &[Cell]) {
    for (place, cell) in row.iter().enumerate() {
        if place > 0 {
            lines.push('\t');
        }
        match cell {
            Cell::Null => lines.push_str("\\N"),
            Cell::Int(value) => write!(lines, "{value}").expect("writing to a string cannot fail"),
            Cell::Text(text) => {
                let escaped = text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r");
                lines.push_str(&escaped);
            }
        }
    }
    lines.push('\n');
}
