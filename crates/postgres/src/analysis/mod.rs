//! What a statement touches, as far as its text tells.
//!
//! A server says what a statement *wrote* (see [`crate::effects`]), but not what it *looked for*. That is read off the
//! statement: it is bound against the [catalog](crate::catalog) of the server, and each condition of its WHERE that
//! concerns one table alone becomes a predicate read, in the same words in which the embedded engine reports its own:
//!
//! ```text
//!   SELECT sum(n) FROM item JOIN stock USING (id) WHERE stock.free > 0 AND item.price < 5
//!     reads stock where free > 0, item where price < 5
//! ```
//!
//! Which rows were found is [asked again](Again), where the text does not tell.
//!
//! Whatever is not understood widens what is said, never narrows it: a condition over two tables is left out, a routine
//! stands for the tables of its body, a table behind an outer join is read whole, and a text that cannot be bound may
//! touch
//! [everything](Touched::everything). [`Touched::coarse`] says why.
//!
//! Which of this belongs to which transaction, and what its end releases, is kept in a [`Ledger`] per session.

mod again;
mod inline;
mod keys;
mod ledger;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use isolde_sql::ast::{Isolation, TransactionModes};
use isolde_sql::catalog::{Catalog, TableId};
use isolde_sql::facts::Facts;
use isolde_sql::parse::{self, Fragment};
use isolde_sql::typed::{SessionCommand, Statement, StatementKind, Transaction};
use isolde_sql::{Diagnostic, bind};

pub use again::Again;
pub(crate) use inline::substitute;
pub use inline::{inline, literal, replace_names};
pub use ledger::{Ledger, Status};
pub(crate) use walk::whole;

use crate::live::Touched;
use crate::reads::Reads;
use walk::Walk;

/// Texts are forgotten when so many are known: those of a program repeat, those with values in them may not.
const TEXTS_MAX: usize = 4096;

/// Knows the tables, and what statements do with them. Shared by all sessions.
#[derive(Debug, Default)]
pub struct Analyst {
    catalog: Catalog,
    /// Columns whose values cannot be compared here as the server compares them.
    opaque: BTreeSet<(TableId, usize)>,
    /// Tables whose rows somebody takes in the order in which they lie.
    ordered: BTreeSet<TableId>,
    known: Mutex<BTreeMap<Arc<str>, Arc<Analysis>>>,
}

/// What one statement does.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// What it touches if it runs to its end; rows it writes are not known yet.
    pub touched: Touched,
    /// Tables that it inserts into, changes or deletes from.
    pub targets: BTreeSet<TableId>,
    /// Tables of which it may meet several rows, in the order in which they lie: those that it does not reach by their
    /// whole primary key.
    pub scanned: BTreeSet<TableId>,
    /// Tables whose primary keys it may change.
    pub rekeyed: BTreeSet<TableId>,
    /// What it does about transactions.
    pub control: Control,
    /// It looks at rows: a transaction that keeps its snapshot takes it now.
    pub looks: bool,
    /// No other session can tell when it happens.
    pub quiet: bool,
    /// How to find out which rows it has found.
    pub again: Option<Arc<Again>>,
    /// It is not understood, but it is one that reads and writes rows.
    pub unknown: bool,
}

/// What a statement does about transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Control {
    /// Nothing: it runs within one.
    #[default]
    None,
    /// `BEGIN`
    Begin(TransactionModes),
    /// `COMMIT`
    Commit,
    /// `ROLLBACK`
    Rollback,
    /// `SAVEPOINT`
    Savepoint(Arc<str>),
    /// `ROLLBACK TO`
    RollbackTo(Arc<str>),
    /// `RELEASE`
    Release(Arc<str>),
    /// `SET TRANSACTION`
    Set(TransactionModes),
    /// `SET default_transaction_isolation`, or what amounts to that.
    Default(Option<Isolation>),
    /// `PREPARE name AS`: the name and the statement.
    Prepare(Arc<str>, Arc<str>),
    /// `EXECUTE name (args)`: the name and its arguments, as written.
    Execute(Arc<str>, Vec<String>),
}

impl Analyst {
    /// For the tables of a catalog. `opaque` are the columns whose type is not known here.
    pub fn new(catalog: Catalog, opaque: BTreeSet<(TableId, usize)>) -> Analyst {
        Analyst { catalog, opaque, ordered: BTreeSet::new(), known: Mutex::default() }
    }

    /// The same where somebody takes the rows of these tables in the order in which they lie.
    pub fn ordering(self, ordered: BTreeSet<TableId>) -> Analyst {
        Analyst { ordered, ..self }
    }

    /// Whether the order of a table's rows matters to somebody.
    pub(crate) fn orders(&self, table: TableId) -> bool {
        self.ordered.contains(&table)
    }

    /// The tables.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// What a query string does, parameters written into it.
    pub fn analyse(&self, text: &str) -> Arc<Analysis> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(analysis) = known.get(text) {
            return analysis.clone();
        }
        if known.len() >= TEXTS_MAX {
            known.clear();
        }
        let analysis = Arc::new(self.string(text));
        known.insert(text.into(), analysis.clone());
        analysis
    }

    /// A query string may hold several statements. Transaction control among them is not taken apart.
    fn string(&self, text: &str) -> Analysis {
        match parse::split(text).as_slice() {
            [] => Analysis { quiet: true, ..Analysis::default() },
            [one] => self.one(one.of(text)),
            several => {
                let mut sum = Analysis { quiet: true, ..Analysis::default() };
                for span in several {
                    let part = self.one(span.of(text));
                    sum.quiet &= part.quiet;
                    sum.looks |= part.looks;
                    sum.targets.extend(part.targets);
                    sum.scanned.extend(part.scanned);
                    sum.rekeyed.extend(part.rekeyed);
                    walk::add(&mut sum.touched, part.touched);
                    if !matches!(part.control, Control::None) {
                        sum.touched.everything = true;
                        sum.touched.coarse.push("several statements with transaction control in one string".into());
                    }
                }
                sum
            }
        }
    }

    fn one(&self, text: &str) -> Analysis {
        match self.bound(text) {
            Ok((control, Some(statement))) => self.bound_statement(control, &statement, text),
            Ok((control, None)) => Analysis { quiet: true, control, ..Analysis::default() },
            Err(diagnostic) => Analysis {
                touched: Touched {
                    everything: true,
                    coarse: vec![format!("`{}`: {}", shortened(text), diagnostic.message)],
                    ..Touched::default()
                },
                looks: true,
                // It reads and writes rows, and does nothing else: `SELECT INTO` makes a table.
                unknown: Facts::of_text(text).verb.is_planned(),
                ..Analysis::default()
            },
        }
    }

    /// What a statement has touched that is not understood, if it has told so itself.
    fn told(&self, reads: &Reads, analysis: &Analysis) -> Option<Touched> {
        let mut walk = Walk::new(self);
        walk.touched = reads.touched().filter(|_| analysis.unknown)?;
        reads.targets.iter().for_each(|table| walk.written(*table));
        walk.touched.coarse.extend(analysis.touched.coarse.iter().cloned());
        Some(walk.touched).filter(|touched| !touched.everything)
    }

    /// The statement and what it does about transactions; no statement if it is about the session alone.
    fn bound(&self, text: &str) -> Result<(Control, Option<Statement>), Diagnostic> {
        use isolde_sql::ast::{SessionCommand as S, StatementKind as A};
        let parsed = parse::statement(Fragment { text, offset: 0 })?;
        match &parsed.kind {
            A::Session(S::Prepare { name, statement, .. }) => {
                return Ok((Control::Prepare(name.name.clone(), statement.span.of(text).into()), None));
            }
            A::Session(S::Execute { name, args }) => {
                let args = args.iter().map(|arg| arg.span.of(text).to_string()).collect();
                return Ok((Control::Execute(name.name.clone(), args), None));
            }
            _ => {}
        }
        let statement = bind::statement(&self.catalog, &parsed, text, &[])?;
        let control = match &statement.kind {
            StatementKind::Transaction(transaction) => match transaction {
                Transaction::Begin(modes) => Control::Begin(*modes),
                Transaction::Commit { .. } => Control::Commit,
                Transaction::Rollback { .. } => Control::Rollback,
                Transaction::Savepoint(name) => Control::Savepoint(name.clone()),
                Transaction::RollbackTo(name) => Control::RollbackTo(name.clone()),
                Transaction::Release(name) => Control::Release(name.clone()),
                Transaction::Set(modes) => Control::Set(*modes),
                Transaction::SetSession(modes) => Control::Default(modes.isolation),
                Transaction::Prepare(_) | Transaction::CommitPrepared(_) | Transaction::RollbackPrepared(_) => {
                    Control::None
                }
            },
            StatementKind::Set { name, value, .. } if &**name == "default_transaction_isolation" => {
                Control::Default(value.as_deref().map(level_named))
            }
            StatementKind::Session(SessionCommand::Reset(name))
                if name.as_deref().is_none_or(|name| name == "default_transaction_isolation") =>
            {
                Control::Default(None)
            }
            _ => Control::None,
        };
        Ok((control, Some(statement)))
    }

    fn bound_statement(&self, control: Control, statement: &Statement, text: &str) -> Analysis {
        let mut walk = Walk::new(self);
        walk.statement(statement);
        let Walk { touched, targets, scanned, rekeyed, looks, .. } = walk;
        let quiet = match &statement.kind {
            StatementKind::Transaction(transaction) => matches!(
                transaction,
                Transaction::Begin(_)
                    | Transaction::Savepoint(_)
                    | Transaction::Release(_)
                    | Transaction::Set(_)
                    | Transaction::SetSession(_)
            ),
            StatementKind::Set { .. } => true,
            StatementKind::Session(command) => {
                use SessionCommand as S;
                matches!(command, S::Show(_) | S::Reset(_) | S::Deallocate(_) | S::Discard(_) | S::Prepare { .. })
            }
            StatementKind::Query(query) => query.is_local() && touched.is_nothing(),
            _ => false,
        };
        let again = Again::of(&self.catalog, statement, text, &touched).map(Arc::new);
        Analysis { touched, targets, scanned, rekeyed, control, looks, quiet, again, unknown: false }
    }
}

fn level_named(name: &str) -> Isolation {
    match name.trim_matches('\'').to_ascii_lowercase().as_str() {
        "serializable" => Isolation::Serializable,
        "repeatable read" => Isolation::RepeatableRead,
        _ => Isolation::ReadCommitted,
    }
}

/// The first words of a statement.
fn shortened(text: &str) -> String {
    const LENGTH: usize = 60;
    let line = bind::one_line(text);
    match line.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line.to_string(),
    }
}

#[cfg(test)]
mod tests;
