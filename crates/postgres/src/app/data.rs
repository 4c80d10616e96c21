//! The data of an application: a database of its own, as set up, and back to that after each run.
//!
//! The [home](crate::Home) is made and dropped, its tables [tell](crate::effects) what is written, and [restoring](crate::Restore) puts
//! back what was changed. Where the role may not do that, the whole database is made again from a copy, for which everybody has
//! to leave it.

use std::collections::BTreeMap;

use isolde_engine::footprint::Write;
use isolde_wire::{Complaint, Connection, Response, Row, Settings};

use crate::catalog::{self, Known};
use crate::effects::{self, Rows};
use crate::{Home, Restore, Trouble};

/// A database that was made for the check, dropped with this.
#[derive(Debug)]
pub(super) struct Data {
    /// For asking and restoring. Closed before its database is dropped.
    control: Option<Connection>,
    home: Home,
    known: Known,
    rows: Rows,
    restore: Option<Restore>,
    /// `table.column`s that are not compared.
    ignored: Vec<(String, String)>,
}

/// How a table differs from the start: what it is called, the rows it has more, and those it has fewer.
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
            restore: None,
            ignored: ignored.to_vec(),
        })
    }

    /// How to reach it.
    pub(super) fn settings(&self) -> &Settings {
        self.home.settings()
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
        let restore = Restore::prepare(control, false)?;
        if !restore.undoes() {
            self.control = None;
            self.home.copy()?;
        }
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
        self.control()?.execute("DELETE FROM isolde.log").map(drop).map_err(Trouble::from)
    }

    /// The rows that notices tell of.
    pub(super) fn writes(&mut self, notices: &[Complaint]) -> Vec<Write> {
        let told = notices.iter().filter_map(effects::strip);
        told.filter_map(|effect| self.rows.write(&self.known, effect)).collect()
    }

    /// What is different from the start, per table that has a difference.
    pub(super) fn differences(&mut self) -> Result<Vec<Difference>, Trouble> {
        let mut net: BTreeMap<String, BTreeMap<String, i64>> = BTreeMap::new();
        for row in self.rows("SELECT tab, old, new FROM isolde.log ORDER BY n")? {
            let [Some(oid), old, new] = &row[..] else { continue };
            let (name, hidden) = self.table(oid);
            let table = net.entry(name).or_default();
            for (text, by) in [(old, -1), (new, 1)] {
                if let Some(text) = text {
                    *table.entry(without(text, &hidden)).or_default() += by;
                }
            }
        }
        let sides = |(name, rows): (String, BTreeMap<String, i64>)| {
            let side = |sign: i64| -> Vec<String> {
                let those = rows.iter().filter(|(_, count)| **count * sign > 0);
                those.flat_map(|(row, count)| std::iter::repeat_n(row.clone(), count.unsigned_abs() as usize)).collect()
            };
            (name, side(1), side(-1))
        };
        let all = net.into_iter().map(sides);
        Ok(all.filter(|(_, more, fewer)| !more.is_empty() || !fewer.is_empty()).collect())
    }

    /// What a table is called, and the positions of its columns that are not compared.
    fn table(&self, oid: &str) -> (String, Vec<usize>) {
        let id = oid.parse::<u32>().ok().and_then(|oid| self.known.oids.get(&oid));
        let Some(table) = id.map(|id| self.known.catalog.table(*id)) else { return (oid.to_string(), Vec::new()) };
        let name = match &table.schema {
            None => table.name.to_string(),
            Some(schema) => format!("{schema}.{}", table.name),
        };
        let is_hidden =
            |column: &str| self.ignored.iter().any(|(t, c)| (*t == name || **t == *table.name) && c == column);
        let hidden = table.columns.iter().enumerate().filter(|(_, column)| is_hidden(&column.name));
        (name.clone(), hidden.map(|(at, _)| at).collect())
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

/// A row as printed, without some of its columns.
fn without(row: &str, hidden: &[usize]) -> String {
    if hidden.is_empty() {
        return row.to_string();
    }
    let columns = effects::fields(row).into_iter().enumerate().filter(|(at, _)| !hidden.contains(at));
    let shown: Vec<String> = columns.map(|(_, column)| column.unwrap_or_default()).collect();
    format!("({})", shown.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_left_out() {
        assert_eq!(without("(1,\"a b\",3)", &[1]), "(1,3)");
        assert_eq!(without("(1,\"a b\",3)", &[]), "(1,\"a b\",3)");
    }
}
