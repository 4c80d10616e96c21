//! TrOOP's client programs, as SQL.
//!
//! TrOOP (Bouajjani, Enea and Román-Calvo, *Dynamic partial order reduction for checking correctness against
//! transaction isolation levels*) explores programs on a mock key-value store: five applications, five clients each,
//! three sessions of three transactions. Here the applications are tables and procedures (`benches/troop/*.sql`), and a
//! client is written in a compact notation, sessions apart by `|` and transactions by `;`:
//!
//! ```text
//! e(1,1);g;e(1,2) | e(2,1);g;del(2) | e(2,1);close(1);del(1)
//! ```
//!
//! A [`Shape`] says how many sessions and transactions to make of it, going round where there are not enough. The
//! result is a scenario that a person can read: a thread for each session, a CALL for each transaction.
//!
//! What differs from the original: rows are rows and predicates are predicates, so that two inserts into a table do not
//! conflict by themselves; generated keys come from sequences, not from the largest one present; times are counters.

mod clients;

use std::fmt::Write as _;

use isolde_scenario::file::{Include, Included};
use isolde_scenario::{Scenario, ScenarioError};

pub use clients::APPLICATIONS;

/// An application: its tables and procedures, how its transactions are written, and its clients.
#[derive(Clone, Copy, Debug)]
pub struct Application {
    /// `courseware`.
    pub name: &'static str,
    /// Tables, rows and procedures.
    pub setup: &'static str,
    /// Words of the notation, and the procedures they call.
    pub words: &'static [(&'static str, &'static str)],
    /// Names of arguments, and what they stand for.
    pub names: &'static [(&'static str, &'static str)],
    /// The clients, first to last.
    pub clients: [Notation; 5],
}

/// A client in the compact notation, and what TrOOP has published about it.
#[derive(Clone, Copy, Debug)]
pub struct Notation {
    /// Its sessions and transactions.
    pub text: &'static str,
    /// Histories that TrOOP's table counts under causal consistency, snapshot isolation and serializability.
    pub histories: [u64; 3],
    /// Seconds that TrOOP's table gives for causal consistency, on its authors' machine.
    pub seconds: u64,
}

/// One of the 25 clients.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// What it is a client of.
    pub application: &'static Application,
    /// Counted from 1.
    pub number: usize,
}

/// How many sessions, and how many transactions in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Sessions.
    pub sessions: usize,
    /// Transactions of a session.
    pub transactions: usize,
}

impl Shape {
    /// Three sessions of three transactions, as TrOOP's clients are.
    pub const PUBLISHED: Shape = Shape { sessions: 3, transactions: 3 };
}

/// What a step is, and what a transaction sees of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A transaction is a single step: what TrOOP calls serializability.
    Atomic,
    /// A step is a statement, and transactions are at this level of PostgreSQL.
    Level(&'static str),
}

impl Mode {
    /// Every mode.
    pub const ALL: [Mode; 4] =
        [Mode::Atomic, Mode::Level("read committed"), Mode::Level("repeatable read"), Mode::Level("serializable")];

    /// For headings.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Atomic => "each transaction one step",
            Mode::Level(level) => level,
        }
    }

    fn options(self) -> String {
        match self {
            Mode::Atomic => "--@ option atomic on".into(),
            Mode::Level(level) => format!("--@ option isolation {level}"),
        }
    }
}

/// All clients, application by application.
pub fn clients() -> impl Iterator<Item = Client> {
    APPLICATIONS.iter().flat_map(|application| (1..=5).map(|number| Client { application, number }))
}

impl Client {
    /// `courseware-1`.
    pub fn name(&self) -> String {
        format!("{}-{}", self.application.name, self.number)
    }

    /// The client as its authors wrote it, and what they say about it.
    pub fn notation(&self) -> &'static Notation {
        &self.application.clients[self.number - 1]
    }

    /// The scenario: the application's file included, then the threads.
    pub fn text(&self, shape: Shape) -> String {
        let Application { name, .. } = self.application;
        let mut text = format!("-- TrOOP's client {}, written by benches/src/troop.\n\\ir {name}.sql\n", self.name());
        for (number, session) in self.sessions(shape).into_iter().enumerate() {
            let _ = writeln!(text, "\n--@ thread s{}", number + 1);
            session.iter().for_each(|call| text.extend([call.as_str(), "\n"]));
        }
        text
    }

    /// The scenario in a mode, ready to run.
    pub fn scenario(&self, shape: Shape, mode: Mode) -> Result<Scenario, ScenarioError> {
        let text = format!("{}\n{}", mode.options(), self.text(shape));
        Scenario::parse(&format!("{}.sql", self.name()), &text, &mut include)
    }

    /// The calls of each session.
    fn sessions(&self, shape: Shape) -> Vec<Vec<String>> {
        let written: Vec<Vec<&str>> = self.notation().text.split('|').map(|s| s.split(';').collect()).collect();
        let session = |number: usize| {
            let transactions = written[number % written.len()].iter().cycle().take(shape.transactions).enumerate();
            transactions.map(|(i, t)| self.application.call(t.trim(), (number + 1) * 100 + i + 1)).collect()
        };
        (0..shape.sessions).map(session).collect()
    }
}

impl Application {
    /// `e(1,2)` as `CALL enroll(1, 2);`. An argument `#` is a number that nobody else uses.
    fn call(&self, transaction: &str, unique: usize) -> String {
        let (word, arguments) =
            transaction.strip_suffix(')').and_then(|t| t.split_once('(')).unwrap_or((transaction, ""));
        let procedure = self.words.iter().find(|(name, _)| *name == word).map_or(word, |(_, procedure)| procedure);
        let arguments: Vec<String> =
            arguments.split(',').filter(|a| !a.is_empty()).map(|a| self.argument(a.trim(), unique)).collect();
        format!("CALL {procedure}({});", arguments.join(", "))
    }

    fn argument(&self, argument: &str, unique: usize) -> String {
        let named = self.names.iter().find(|(name, _)| *name == argument);
        match (argument, named) {
            ("#", _) => unique.to_string(),
            (_, Some((_, value))) => value.to_string(),
            _ if argument.starts_with(char::is_alphabetic) => format!("'{argument}'"),
            _ => argument.into(),
        }
    }
}

/// Gives a client the file of its application.
fn include(include: Include<'_>) -> Result<Included, String> {
    let name = include.path.strip_suffix(".sql").unwrap_or(include.path);
    let application = APPLICATIONS.iter().find(|a| a.name == name);
    let application = application.ok_or_else(|| format!("{} is no application of TrOOP's", include.path))?;
    Ok(Included { name: include.path.into(), text: application.setup.into() })
}
