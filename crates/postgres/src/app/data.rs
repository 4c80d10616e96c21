//! The data of an application: a database of its own, as set up, and back to that after each run.
//!
//! What the set-up made is copied into tables of the schema `isolde`. To restore, what differs from the copies is put back, with
//! triggers and foreign keys off, in one round trip; sequences are set back, too.

use isolde_wire::{Connection, Response, Settings};

use crate::Trouble;

/// A database that was made for the check, dropped with this.
#[derive(Debug)]
pub(super) struct Data {
    maintenance: Connection,
    settings: Settings,
    /// For asking and restoring.
    control: Option<Connection>,
    tables: Vec<Table>,
    restore: String,
}

/// A table and its copy.
#[derive(Clone, Debug)]
struct Table {
    name: String,
    copy: String,
    columns: Vec<String>,
    /// Columns that are not compared.
    ignored: Vec<String>,
}

/// How a table differs from its copy: what it is called, the rows it has more, and those it has fewer.
pub(super) type Difference = (String, Vec<String>, Vec<String>);

impl Data {
    /// Makes an empty database on the server.
    pub(super) fn create(server: &Settings) -> Result<Data, Trouble> {
        let refused = |error: std::io::Error| Trouble::Server(format!("{server}: {error}"));
        let mut maintenance = Connection::open(server).map_err(refused)?;
        let name = format!("isolde_{}_{}", std::process::id(), maintenance.pid());
        maintenance.execute(&format!("CREATE DATABASE {name}")).map_err(refused)?;
        let settings = server.with_database(&name);
        Ok(Data { maintenance, settings, control: None, tables: Vec::new(), restore: String::new() })
    }

    /// How to reach it.
    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The session for asking.
    pub(super) fn control(&mut self) -> Result<&mut Connection, Trouble> {
        if self.control.is_none() {
            self.control = Some(Connection::open(&self.settings.with_application_name("isolde control"))?);
        }
        Ok(self.control.as_mut().expect("it was just opened"))
    }

    /// Remembers everything as it is now.
    pub(super) fn capture(&mut self, ignored: &[(String, String)]) -> Result<(), Trouble> {
        let rows = self.rows(TABLES)?;
        let control = self.control()?;
        control.execute("CREATE SCHEMA isolde")?;
        let mut tables = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let [Some(name), Some(columns)] = &row[..] else { continue };
            let copy = format!("isolde.copy_{at}");
            control.execute(&format!("CREATE TABLE {copy} AS TABLE ONLY {name}"))?;
            let of_table = |(table, _): &&(String, String)| table == name || name.ends_with(&format!(".{table}"));
            let ignored = ignored.iter().filter(of_table).map(|(_, column)| column.clone()).collect();
            let columns = columns.split('\u{1f}').map(String::from).collect();
            tables.push(Table { name: name.clone(), copy, columns, ignored });
        }
        let mut restore = String::from("BEGIN; SET LOCAL session_replication_role = replica;\n");
        for Table { name, copy, columns, .. } in &tables {
            let columns = columns.join(", ");
            restore += &format!(
                "DELETE FROM ONLY {name}; INSERT INTO {name} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM {copy};\n"
            );
        }
        for row in self.rows(SEQUENCES)? {
            let [Some(name), value] = &row[..] else { continue };
            let (value, called) = value.as_ref().map_or(("1", false), |value| (value, true));
            restore += &format!("SELECT setval('{}', {value}, {called});\n", name.replace('\'', "''"));
        }
        self.restore = restore + "COMMIT";
        self.tables = tables;
        Ok(())
    }

    /// Puts everything back.
    pub(super) fn restore(&mut self) -> Result<(), Trouble> {
        let restore = std::mem::take(&mut self.restore);
        let done = self.control()?.execute(&restore);
        self.restore = restore;
        done.map(drop).map_err(Trouble::from)
    }

    /// What is different from the start, per table that has a difference.
    pub(super) fn differences(&mut self) -> Result<Vec<Difference>, Trouble> {
        let mut found = Vec::new();
        for table in self.tables.clone() {
            let shown: Vec<&String> = table.columns.iter().filter(|column| !table.ignores(column)).collect();
            let row = format!("ROW({})::text", shown.iter().map(|c| c.as_str()).collect::<Vec<_>>().join(", "));
            let (name, copy) = (&table.name, &table.copy);
            let more =
                self.texts(&format!("SELECT {row} FROM ONLY {name} EXCEPT ALL SELECT {row} FROM {copy} ORDER BY 1"))?;
            let fewer =
                self.texts(&format!("SELECT {row} FROM {copy} EXCEPT ALL SELECT {row} FROM ONLY {name} ORDER BY 1"))?;
            if !more.is_empty() || !fewer.is_empty() {
                found.push((name.trim_start_matches("public.").to_string(), more, fewer));
            }
        }
        Ok(found)
    }

    /// Ends sessions and waits until they are gone.
    pub(super) fn terminate(&mut self, pids: &[i32]) -> Result<(), Trouble> {
        if pids.is_empty() {
            return Ok(());
        }
        let list: Vec<String> = pids.iter().map(i32::to_string).collect();
        let list = list.join(", ");
        self.control()?.execute(&format!("SELECT pg_terminate_backend(pid) FROM unnest(ARRAY[{list}]) AS pid"))?;
        let alive = format!("SELECT 1 FROM pg_stat_activity WHERE pid IN ({list})");
        for _ in 0..2_000 {
            if self.rows(&alive)?.is_empty() {
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        Err(Trouble::Server("sessions of the application cannot be ended".into()))
    }

    /// The rows of a query that must not fail.
    pub(super) fn rows(&mut self, query: &str) -> Result<Vec<isolde_wire::Row>, Trouble> {
        let responses = self.control()?.execute(query)?;
        Ok(responses.last().map(Response::rows).unwrap_or_default().to_vec())
    }

    fn texts(&mut self, query: &str) -> Result<Vec<String>, Trouble> {
        Ok(self.rows(query)?.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }
}

impl Table {
    fn ignores(&self, column: &str) -> bool {
        self.ignored.iter().any(|ignored| ignored == column.trim_matches('"'))
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        self.control = None;
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.settings.database);
        // Who cannot reach the server any more cannot clean up either.
        let _ = self.maintenance.query(&drop);
    }
}

/// Tables of the user's, with their columns that can be written.
const TABLES: &str = "SELECT c.oid::regclass::text, string_agg(quote_ident(a.attname), E'\\x1f' ORDER BY a.attnum) \
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' \
    WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND n.nspname NOT LIKE 'pg\\_%' \
    AND n.nspname NOT IN ('information_schema', 'isolde') GROUP BY c.oid ORDER BY c.oid";

const SEQUENCES: &str = "SELECT c.oid::regclass::text, pg_sequence_last_value(c.oid)::text \
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'S' \
    AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'isolde' ORDER BY c.oid";
