//! The data of an application: a database of its own, as set up, and back to that after each run.
//!
//! The [home](crate::Home) is made and dropped, its tables [tell](crate::effects) what is written, and
//! [restoring](crate::Restore) puts back what was changed. Where the role may not do that, the whole database is made
//! again from a copy, for which everybody has to leave it.

use std::collections::BTreeMap;
use std::sync::Arc;

use isolde_engine::footprint::Write;
use isolde_scenario::{Generated, Outcome, RawAnswer, RawOutcome, RawSeen};
use isolde_sql::Value;
use isolde_sql::catalog::{Table, TableId};
use isolde_sql::print::identifier;
use isolde_wire::{Complaint, Connection, Response, Row, Settings};

use crate::analysis::Again;
use crate::catalog::{self, Known};
use crate::effects::{self, Rows};
use crate::live::Touched;
use crate::reads::{Module, Reads};
use crate::restore::Plan;
use crate::stage::MASKED;
use crate::{Home, Restore, Trouble};

/// A database that was made for the check, dropped with this.
#[derive(Debug)]
pub(super) struct Data {
    /// For asking and restoring. Closed before its database is dropped.
    control: Option<Connection>,
    home: Home,
    known: Known,
    rows: Rows,
    /// The columns whose values come from sequences.
    generated: Generated,
    /// The numbers that each thread drew, in order.
    draws: BTreeMap<usize, Vec<(Arc<str>, i64)>>,
    restore: Option<Restore>,
    /// `table.column`s that are not compared.
    ignored: Vec<(String, String)>,
}

/// How tables differ from the start: how many more of a row there are, or fewer.
pub(super) type Changes = BTreeMap<TableId, BTreeMap<Vec<Value>, i64>>;

impl Data {
    /// Makes an empty database on the server.
    pub(super) fn create(server: &Settings, ignored: &[(String, String)]) -> Result<Data, Trouble> {
        let home = Home::create(server)?;
        Ok(Data {
            control: None,
            home,
            known: Known::default(),
            rows: Rows::default(),
            generated: Generated::new(),
            draws: BTreeMap::new(),
            restore: None,
            ignored: ignored.to_vec(),
        })
    }

    /// The home itself.
    pub(super) fn home(&mut self) -> &mut Home {
        &mut self.home
    }

    /// How to reach it.
    pub(super) fn settings(&self) -> &Settings {
        self.home.settings()
    }

    /// The server, and how its data is put back.
    pub(super) fn describe(&self) -> String {
        let restore = self.restore.as_ref().map(Restore::describe).unwrap_or_default();
        format!("PostgreSQL {} through the proxy; {restore}{}", self.home.version().text, self.home.describe())
    }

    /// What is known of its tables.
    pub(super) fn known(&self) -> &Known {
        &self.known
    }

    /// The session for asking.
    pub(super) fn control(&mut self) -> Result<&mut Connection, Trouble> {
        if self.control.is_none() {
            self.control = Some(self.home.connect("")?);
        }
        Ok(self.control.as_mut().expect("it was just opened"))
    }

    /// Remembers everything as it is now. Nobody else may be connected.
    pub(super) fn capture(&mut self) -> Result<(), Trouble> {
        let control = self.control()?;
        effects::install(control)?;
        let known = catalog::read(control)?;
        let restore = Restore::prepare(control, &Plan::default())?;
        if !restore.undoes() {
            self.control = None;
            self.home.copy()?;
        }
        self.generated = isolde_scenario::generated(&known.catalog);
        (self.known, self.restore) = (known, Some(restore));
        Ok(())
    }

    /// Whether everybody must leave the database for it to be restored.
    pub(super) fn must_be_left(&self) -> bool {
        self.restore.as_ref().is_some_and(|restore| !restore.undoes())
    }

    /// Puts everything back.
    pub(super) fn restore(&mut self) -> Result<(), Trouble> {
        self.rows.restart();
        self.draws.clear();
        if self.must_be_left() {
            self.control = None;
            return self.home.return_to_copy();
        }
        self.control()?;
        match (&mut self.restore, &mut self.control) {
            (Some(restore), Some(control)) => restore.undo(control),
            _ => Ok(()),
        }
    }

    /// Takes what the user's own reset has written as the start.
    pub(super) fn forget_log(&mut self) -> Result<(), Trouble> {
        self.rows.restart();
        self.draws.clear();
        self.control()?.execute("DELETE FROM isolde.log").map(drop).map_err(Trouble::from)
    }

    /// The rows that notices tell of.
    pub(super) fn writes(&mut self, notices: &[Complaint]) -> Vec<Write> {
        let told = notices.iter().filter_map(effects::strip);
        told.filter_map(|effect| self.rows.write(&self.known, effect)).collect()
    }

    /// The reads that notices tell of.
    pub(super) fn reads(&self, notices: &[Complaint]) -> Reads {
        let mut reads = Reads::default();
        for notice in notices {
            reads.take(&self.known, notice);
        }
        reads
    }

    /// Whether a session can load the module that tells of reads.
    pub(super) fn has(&self, module: &Module) -> Result<bool, Trouble> {
        Ok(*module != Module::Unused && module.load(&mut self.home.connect("")?)?)
    }

    /// Finds out which rows a statement has found.
    pub(super) fn ask_again(&mut self, again: &Again, touched: &mut Touched) {
        if let Some(control) = &mut self.control {
            again.ask(control, &self.known.catalog, touched);
        }
    }

    /// Takes note of the numbers that a thread drew from sequences for the rows it inserted.
    pub(super) fn note_draws(&mut self, thread: usize, writes: &[Write]) {
        for write in writes.iter().filter(|write| write.before.is_none()) {
            let columns = &self.known.catalog.table(write.table).columns;
            for (column, value) in columns.iter().zip(write.after.iter().flat_map(|row| row.iter())) {
                if let (Some(sequence), Value::Int(number)) = (&column.sequence, value) {
                    self.draws.entry(thread).or_default().push((sequence.clone(), *number));
                }
            }
        }
    }

    /// The rows of each table that are new since the start (a positive count) or gone (a negative one); columns that
    /// are not compared are masked.
    pub(super) fn changes(&mut self) -> Result<Changes, Trouble> {
        let mut changes = Changes::new();
        for row in self.rows("SELECT tab, old, new FROM isolde.log ORDER BY n")? {
            let [Some(oid), old, new] = &row[..] else { continue };
            let table = self.table(oid.parse().unwrap_or_default());
            for (text, by) in [(old, -1), (new, 1)] {
                if let Some(text) = text {
                    let row = self.compared(table, &effects::fields(text));
                    *changes.entry(table).or_default().entry(row).or_default() += by;
                }
            }
        }
        changes.values_mut().for_each(|rows| rows.retain(|_, count| *count != 0));
        changes.retain(|_, rows| !rows.is_empty());
        Ok(changes)
    }

    /// The names of the tables that have changed, in quotes.
    pub(super) fn changed_tables(&mut self) -> Result<Vec<String>, Trouble> {
        let catalog = self.known.catalog.clone();
        let tables = self.changes()?.into_keys().filter(|id| catalog.has_table(*id)).map(|id| catalog.table(id));
        let name = |table: &Arc<Table>| match &table.schema {
            None => identifier(&table.name),
            Some(schema) => format!("{}.{}", identifier(schema), identifier(&table.name)),
        };
        Ok(tables.map(name).collect())
    }

    /// A table by its oid. One that is not understood gets a number that no other one has.
    fn table(&self, oid: u32) -> TableId {
        self.known.oids.get(&oid).copied().unwrap_or(TableId(u32::MAX - oid))
    }

    /// A row as it is compared.
    fn compared(&self, table: TableId, row: &[Option<String>]) -> Vec<Value> {
        let catalog = &self.known.catalog;
        let definition = catalog.has_table(table).then(|| catalog.table(table));
        let is_ignored = |at: usize| {
            let column = definition.and_then(|table| Some((table, &table.columns.get(at)?.name)));
            column.is_some_and(|(table, column)| {
                let name = table.schema.as_ref().map(|schema| format!("{schema}.{}", table.name));
                let is_table = |known: &String| **known == *table.name || name.as_ref() == Some(known);
                self.ignored.iter().any(|(table, known)| is_table(table) && **known == **column)
            })
        };
        let value = |(at, value): (usize, &Option<String>)| match value {
            _ if is_ignored(at) => Value::text(MASKED),
            None => Value::Null,
            Some(text) => match (self.generated.contains_key(&(table, at)), text.parse()) {
                (true, Ok(number)) => Value::Int(number),
                _ => Value::text(text.as_str()),
            },
        };
        row.iter().enumerate().map(value).collect()
    }

    /// What the run came to: lines that the threads showed to their users, and what has changed.
    pub(super) fn outcome(&mut self, shown: Vec<Vec<String>>) -> Result<Outcome, Trouble> {
        let changes = self.changes()?;
        let threads = shown.into_iter().enumerate().map(|(thread, lines)| RawSeen {
            answers: lines.into_iter().map(|line| RawAnswer::Line(line.into())).collect(),
            draws: self.draws.get(&thread).into_iter().flatten().collect(),
            ..RawSeen::default()
        });
        let changed = changes.iter().map(|(table, rows)| {
            let rows = rows.iter().map(|(row, count)| (&**row, *count));
            (*table, rows.collect())
        });
        Ok(RawOutcome { threads: threads.collect(), changed: changed.collect() }.outcome(&self.generated))
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
    pub(super) fn rows(&mut self, query: &str) -> Result<Vec<Row>, Trouble> {
        let responses = self.control()?.execute(query)?;
        Ok(responses.last().map(Response::rows).unwrap_or_default().to_vec())
    }
}
