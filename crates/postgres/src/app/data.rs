//! The data of an application: a database of its own, as set up, and back to that after each run.
//!
//! The [home](crate::Home) is made and dropped, its tables [tell](crate::effects) what is written, and [restoring](crate::Restore) puts
//! back what was changed. Where the role may not do that, the whole database is made again from a copy, for which everybody has
//! to leave it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use isolde_engine::footprint::Write;
use isolde_scenario::Generated;
use isolde_sql::Value;
use isolde_sql::print::identifier;
use isolde_wire::{Complaint, Connection, Response, Row, Settings};

use crate::analysis::Again;
use crate::catalog::{self, Known};
use crate::effects::{self, Rows};
use crate::live::Touched;
use crate::reads::{Module, Reads};
use crate::restore::Plan;
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
    /// Who drew which number, in order.
    draws: Vec<(usize, Arc<str>, i64)>,
    restore: Option<Restore>,
    /// `table.column`s that are not compared.
    ignored: Vec<(String, String)>,
}

/// Names for numbers that were drawn from sequences.
type Names = BTreeMap<(Arc<str>, i64), String>;

/// How a table differs from the start: what it is called in SQL, the rows it has more, and those it has fewer.
pub(super) type Difference = (String, Vec<String>, Vec<String>);

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
            draws: Vec::new(),
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
                    self.draws.push((thread, sequence.clone(), *number));
                }
            }
        }
    }

    /// What is different from the start, per table that has a difference.
    pub(super) fn differences(&mut self) -> Result<Vec<Difference>, Trouble> {
        let mut net: BTreeMap<u32, BTreeMap<Vec<Option<String>>, i64>> = BTreeMap::new();
        for row in self.rows("SELECT tab, old, new FROM isolde.log ORDER BY n")? {
            let [Some(oid), old, new] = &row[..] else { continue };
            let rows = net.entry(oid.parse().unwrap_or_default()).or_default();
            for (text, by) in [(old, -1), (new, 1)] {
                if let Some(text) = text {
                    *rows.entry(effects::fields(text)).or_default() += by;
                }
            }
        }
        net.values_mut().for_each(|rows| rows.retain(|_, count| *count != 0));
        let names = self.names(&net);
        let all = net.into_iter().map(|(oid, rows)| self.difference(oid, rows, &names));
        Ok(all.filter(|(_, more, fewer)| !more.is_empty() || !fewer.is_empty()).collect())
    }

    /// A table's difference as it is compared: without what is ignored, numbers from sequences by their names.
    fn difference(&self, oid: u32, rows: BTreeMap<Vec<Option<String>>, i64>, names: &Names) -> Difference {
        let table = self.known.oids.get(&oid).map(|id| self.known.catalog.table(*id));
        let name = table.map_or_else(
            || format!("table {oid}"),
            |table| match &table.schema {
                None => table.name.to_string(),
                Some(schema) => format!("{schema}.{}", table.name),
            },
        );
        let is_ignored = |at: usize| {
            let column = table.and_then(|table| Some((table.name.clone(), table.columns.get(at)?.name.clone())));
            column.is_some_and(|(short, column)| {
                self.ignored.iter().any(|(t, c)| (*t == name || **t == *short) && **c == *column)
            })
        };
        let value = |(at, value): (usize, &Option<String>)| {
            let sequence = table.and_then(|table| self.generated.get(&(table.id, at)));
            let number = value.as_deref().and_then(|value| value.parse().ok());
            let named = sequence.zip(number).and_then(|(sequence, number)| names.get(&(sequence.clone(), number)));
            named.cloned().or_else(|| value.clone()).unwrap_or_default()
        };
        let mut compared: BTreeMap<String, i64> = BTreeMap::new();
        for (row, count) in &rows {
            let shown: Vec<String> = row.iter().enumerate().filter(|(at, _)| !is_ignored(*at)).map(value).collect();
            *compared.entry(format!("({})", shown.join(","))).or_default() += count;
        }
        let side = |sign: i64| -> Vec<String> {
            let those = compared.iter().filter(|(_, count)| **count * sign > 0);
            those.flat_map(|(row, count)| std::iter::repeat_n(row.clone(), count.unsigned_abs() as usize)).collect()
        };
        let written = table.map_or(name, |table| match &table.schema {
            None => identifier(&table.name),
            Some(schema) => format!("{}.{}", identifier(schema), identifier(&table.name)),
        });
        (written, side(1), side(-1))
    }

    /// Names for the numbers that were drawn and can be seen: the thread, and the how-many-eth of its draws. Which of two threads drew
    /// 1 and which 2 is nobody's business.
    fn names(&self, net: &BTreeMap<u32, BTreeMap<Vec<Option<String>>, i64>>) -> Names {
        let mut visible = BTreeSet::new();
        for (oid, rows) in net {
            let Some(table) = self.known.oids.get(oid) else { continue };
            for ((_, column), sequence) in self.generated.range((*table, 0)..=(*table, usize::MAX)) {
                let numbers = rows.keys().filter_map(|row| row.get(*column)?.as_deref()?.parse::<i64>().ok());
                visible.extend(numbers.map(|number| (sequence.clone(), number)));
            }
        }
        let mut names = Names::new();
        let mut ranks: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        for (thread, sequence, number) in &self.draws {
            let draw = (sequence.clone(), *number);
            if visible.contains(&draw) && !names.contains_key(&draw) {
                let rank = ranks.entry((*thread, sequence)).or_default();
                *rank += 1;
                names.insert(draw, format!("<{}:{thread}:{rank}>", sequence));
            }
        }
        names
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
