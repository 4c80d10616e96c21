//! What statements have read, told by the server itself where it has the module.
//!
//! Sessions that have loaded `isolde_reads` (see `crates/postgres/module`) say which rows each table gave to a
//! statement, and which columns decided that it were these:
//!
//! ```text
//!   UPDATE item SET price = 5 WHERE name = 'pen'
//!     INFO     isolde-read 16385 l 2        the table's oid; its rows are locked; by its third column
//!     DETAIL   ("7")                        the primary keys of the rows
//!     INFO     isolde-ran 16385             done, having written to this table
//! ```
//!
//! These are rows, not conditions: a row that is inserted may belong to them, and so may one whose deciding columns
//! change. So they are kept beside the condition that was [read off the text](crate::analysis), and say of it which
//! rows it has
//! [found](Found). Of a statement whose text is not understood they are all that is known, and it reads these tables
//! instead of everything.
//!
//! The module is never needed. Where it cannot be loaded, queries are [asked again](crate::analysis::Again).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use isolde_engine::RowId;
use isolde_engine::footprint::ColumnSet;
use isolde_sql::catalog::{Catalog, TableId};
use isolde_wire::quote::identifier;
use isolde_wire::{Complaint, Connection, Response};

use crate::analysis::{literal, whole};
use crate::catalog::Known;
use crate::effects;
use crate::live::{By, Found, Look, Touched};
use crate::{Home, Trouble};

/// Where the module is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Module {
    /// Where `make install` puts it, if it is there: every role may load it.
    #[default]
    Installed,
    /// In this file of the server's, which only a superuser may load. It must be there.
    At(String),
    /// Nowhere: it is not used.
    Unused,
}

impl Module {
    /// Lets sessions that are opened from now on load it, where their role may not.
    pub(crate) fn admit(&self, home: &mut Home) -> Result<(), Trouble> {
        match self {
            Module::At(library) => home.preset("session_preload_libraries", &identifier(library)).map(drop),
            Module::Installed | Module::Unused => Ok(()),
        }
    }

    /// Loads it into a session; whether it is there.
    pub fn load(&self, session: &mut Connection) -> Result<bool, Trouble> {
        let load = |library: &str| format!("LOAD {}", literal(library));
        match self {
            Module::Unused => Ok(false),
            Module::Installed => {
                let responses = session.query(&load("$libdir/plugins/isolde_reads"))?;
                Ok(!responses.iter().any(Response::is_error))
            }
            Module::At(_) if is_preloaded(session, self)? => Ok(true),
            Module::At(library) => session.execute(&load(library)).map(|_| true).map_err(Trouble::from),
        }
    }

    /// How a session is told to load it when it begins, if it is not [admitted](Module::admit) anyway; it must be
    /// there.
    pub(crate) fn option(&self) -> Option<String> {
        match self {
            Module::Unused | Module::At(_) => None,
            Module::Installed => Some("-c local_preload_libraries=isolde_reads".into()),
        }
    }
}

/// Whether a session has loaded the module when it began.
fn is_preloaded(session: &mut Connection, module: &Module) -> Result<bool, Trouble> {
    let Module::At(library) = module else { return Ok(false) };
    let asked = format!("SELECT current_setting('session_preload_libraries') = {}", literal(&identifier(library)));
    let answer = session.execute(&asked)?;
    Ok(answer.iter().any(|response| response.rows() == [[Some("t".to_string())]]))
}

/// Says that the module is used, if it is, for `--stats`.
pub(crate) fn described(used: bool) -> &'static str {
    if used { "; isolde_reads tells which rows are read" } else { "" }
}

/// Whether a message is one of the module's, which users are not shown.
pub(crate) fn is_told(notice: &Complaint) -> bool {
    strip(notice).is_some()
}

/// One message of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Read(ReadOf),
    /// A statement has run that writes to these tables.
    Ran(Vec<u32>),
    /// A function that is VOLATILE may be called.
    Call(String),
}

/// What a statement has read of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ReadOf {
    table: u32,
    locked: bool,
    subplans: bool,
    asked: ColumnSet,
    /// The primary keys of the rows, one after the other, if they are known.
    keys: Option<Vec<String>>,
}

/// Volatile functions of which nobody else can tell that they were called.
const HARMLESS: &[&str] = &[
    "clock_timestamp",
    "currval",
    "gen_random_uuid",
    "lastval",
    "random",
    "random_normal",
    "timeofday",
    "txid_current",
    "uuidv4",
    "uuidv7",
];

/// All that statements have told since somebody asked.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    tables: BTreeMap<TableId, TableRead>,
    /// Tables that were written to.
    pub(crate) targets: BTreeSet<TableId>,
    /// Something was told, so a module is there.
    told: bool,
    /// A plan had subplans.
    subplans: bool,
    /// What was read or done cannot be said in tables.
    strange: Option<String>,
}

/// What was read of one table.
#[derive(Clone, Debug)]
struct TableRead {
    locked: bool,
    /// `None`: any row.
    found: Option<Found>,
}

impl Reads {
    /// Takes in a message if it is one of the module's; whoever shows messages to users leaves these out.
    pub fn take(&mut self, known: &Known, notice: &Complaint) -> bool {
        let Some(told) = strip(notice) else { return false };
        match told {
            Told::Read(read) => self.read(known, read),
            Told::Ran(tables) => {
                self.told = true;
                for oid in tables {
                    match known.oids.get(&oid) {
                        Some(table) => drop(self.targets.insert(*table)),
                        None => self.is_strange("a table that is not known"),
                    }
                }
            }
            Told::Call(function) if HARMLESS.contains(&&*function) => {}
            Told::Call(function) => self.is_strange(&function),
        }
        true
    }

    fn read(&mut self, known: &Known, read: ReadOf) {
        self.subplans |= read.subplans;
        let Some(&table) = known.oids.get(&read.table) else { return self.is_strange("a table that is not known") };
        let rows = read.keys.and_then(|keys| rows(&known.catalog, table, keys));
        let new = TableRead { locked: read.locked, found: rows.map(|rows| Found { asked: read.asked, rows }) };
        match self.tables.get_mut(&table) {
            None => drop(self.tables.insert(table, new)),
            Some(old) => {
                old.locked |= new.locked;
                old.found = old.found.take().zip(new.found).map(|(old, new)| old.and(new));
            }
        }
    }

    fn is_strange(&mut self, what: &str) {
        self.strange.get_or_insert_with(|| what.to_string());
    }

    /// Whether a module has told anything.
    pub fn is_told(&self) -> bool {
        self.told
    }

    /// The same of a statement that had to wait: what it has read through subplans after that, nobody told.
    pub fn after_waiting(self) -> Reads {
        if self.subplans { Reads { told: self.told, ..Reads::default() } } else { self }
    }

    /// Says which rows the scans of a statement have found.
    pub(crate) fn refine(&self, catalog: &Catalog, touched: &mut Touched) {
        let Touched { reads, locks, coarse, .. } = touched;
        for look in reads.iter_mut().chain(locks).filter(|look| look.by == By::Scan) {
            if let Some(TableRead { found: Some(found), .. }) = self.tables.get(&look.read.table) {
                let whole = format!("{} is read whole", catalog.table(look.read.table).name);
                coarse.retain(|reason| !reason.starts_with(&whole));
                look.found = Some(Arc::new(found.clone()));
            }
        }
    }

    /// What is touched by a statement of which no more is known: the tables it has read. `None` if it may have touched
    /// other things than tables.
    pub(crate) fn touched(&self) -> Option<Touched> {
        if !self.told || self.strange.is_some() {
            return None;
        }
        let mut touched = Touched::default();
        for (&table, TableRead { locked, found }) in &self.tables {
            let mut look = Look::scan(whole(table, *locked));
            look.found = found.clone().map(Arc::new);
            match locked {
                true => touched.locks.push(look),
                false => touched.reads.push(look),
            }
        }
        Some(touched)
    }
}

/// Reads a message.
fn strip(notice: &Complaint) -> Option<Told> {
    let words = notice.message.strip_prefix("isolde-")?;
    match words.split_once(' ').unwrap_or((words, "")) {
        ("read", words) => {
            let mut words = words.split(' ');
            let (table, how, asked) = (words.next()?.parse().ok()?, words.next()?, words.next()?);
            let asked = match asked {
                "*" => ColumnSet::ALL,
                "-" => ColumnSet::NONE,
                list => list.split(',').map(|column| column.parse::<usize>().ok()).collect::<Option<_>>()?,
            };
            let keys = notice.detail.as_deref().map(|keys| match keys {
                "()" => Vec::new(),
                keys => effects::fields(keys).into_iter().flatten().collect(),
            });
            let (locked, subplans) = (how.starts_with('l'), how.ends_with('s'));
            Some(Told::Read(ReadOf { table, locked, subplans, asked, keys }))
        }
        ("ran", tables) => {
            let tables = tables.split(',').filter(|oid| !oid.is_empty());
            Some(Told::Ran(tables.map(|oid| oid.parse().ok()).collect::<Option<_>>()?))
        }
        ("call", function) => Some(Told::Call(function.to_string())),
        _ => None,
    }
}

/// Rows by their primary keys; `None` if the table has none here.
fn rows(catalog: &Catalog, table: TableId, keys: Vec<String>) -> Option<BTreeSet<RowId>> {
    let definition = catalog.table(table);
    let columns = &definition.primary_key()?.columns;
    let id = |key: &[String]| {
        let typed = columns.iter().zip(key);
        let values: Vec<_> =
            typed.map(|(&column, text)| effects::value(text.clone(), definition.columns[column].ty)).collect();
        effects::number(table, values.iter())
    };
    keys.len().is_multiple_of(columns.len()).then(|| keys.chunks(columns.len()).map(id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(message: &str, detail: Option<&str>) -> Complaint {
        Complaint { message: message.into(), detail: detail.map(Into::into), ..Complaint::default() }
    }

    #[test]
    fn messages_are_read() {
        let told = strip(&notice("isolde-read 16385 ls 0,2", Some("(\"1\",\"a \"\"b\"\"\")")));
        let asked = [0, 2].into_iter().collect();
        let keys = Some(vec!["1".to_string(), "a \"b\"".to_string()]);
        assert_eq!(told, Some(Told::Read(ReadOf { table: 16385, locked: true, subplans: true, asked, keys })));
        let told = strip(&notice("isolde-read 7 r -", Some("()")));
        let none = ReadOf { table: 7, locked: false, subplans: false, asked: ColumnSet::NONE, keys: Some(Vec::new()) };
        assert_eq!(told, Some(Told::Read(none.clone())));
        let told = strip(&notice("isolde-read 7 r *", None));
        assert_eq!(told, Some(Told::Read(ReadOf { asked: ColumnSet::ALL, keys: None, ..none })));
        assert_eq!(strip(&notice("isolde-ran ", None)), Some(Told::Ran(Vec::new())));
        assert_eq!(strip(&notice("isolde-ran 7,9", None)), Some(Told::Ran(vec![7, 9])));
        assert_eq!(strip(&notice("isolde-call nextval", None)), Some(Told::Call("nextval".into())));
        assert_eq!(strip(&notice("isolde-effect 7 T", None)), None);
        assert_eq!(strip(&notice("hello", None)), None);
    }
}
