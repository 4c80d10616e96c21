//! What a session's transaction has done so far, and what its end makes of it.
//!
//! A change is seen by others when its transaction commits, a lock is in others' way until its transaction ends; so
//! what a COMMIT touches is what came before it. The ledger of a session is told each statement before it is sent and
//! its answer after, and says what the statement touched:
//!
//! ```text
//!   ledger.statement("UPDATE ...", &[])             it is sent
//!   ledger.waits()                                  it waits: what it may have touched on the way
//!   ledger.done(failed, status, writes) -> Touched  it is answered
//! ```
//!
//! Savepoints are layers: what was done since one is given up with it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use isolde_engine::footprint::{ColumnSet, Write};
use isolde_sql::ast::Isolation;
use isolde_sql::catalog::TableId;

use super::inline::{inline, substitute};
use super::walk::whole;
use super::{Again, Analysis, Analyst, Control, keys};
use crate::live::{Look, NamedLock, Touched};
use crate::reads::Reads;

/// What the server says about the session's transaction behind each answer.
pub use isolde_wire::TransactionStatus as Status;

/// The transactions of one session.
#[derive(Clone, Debug)]
pub struct Ledger {
    analyst: Arc<Analyst>,
    /// The level of transactions that name none: now, and as the session began.
    default: Isolation,
    reset: Isolation,
    /// The level of the transaction that is open.
    level: Isolation,
    /// The transaction itself and its savepoints; empty if none is open.
    layers: Vec<Layer>,
    has_snapshot: bool,
    failed: bool,
    /// What was sent and is not answered.
    pending: Option<Arc<Analysis>>,
    /// What it has told of its reads.
    reads: Reads,
    /// Keys that the session keeps beyond its transaction.
    kept: Vec<NamedLock>,
    prepared: BTreeMap<Arc<str>, Arc<str>>,
    /// Transactions that are over.
    over: usize,
}

/// What was done since a savepoint.
#[derive(Clone, Debug, Default)]
struct Layer {
    name: Option<Arc<str>>,
    writes: Vec<Write>,
    locks: Vec<Look>,
    writes_all: Vec<TableId>,
    keys: Vec<NamedLock>,
}

impl Ledger {
    /// Of a session whose transactions have this level unless they say otherwise.
    pub fn new(analyst: Arc<Analyst>, level: Isolation) -> Ledger {
        Ledger {
            analyst,
            default: level,
            reset: level,
            level,
            layers: Vec::new(),
            has_snapshot: false,
            failed: false,
            pending: None,
            reads: Reads::default(),
            kept: Vec::new(),
            prepared: BTreeMap::new(),
            over: 0,
        }
    }

    /// Whether a transaction is open, begun by BEGIN.
    pub fn is_open(&self) -> bool {
        !self.layers.is_empty()
    }

    /// How many transactions are over.
    pub fn over(&self) -> usize {
        self.over
    }

    /// Whether others could tell that a transaction is open: it has locked or written something.
    pub fn is_noticeable(&self) -> bool {
        let empty = |layer: &Layer| {
            layer.writes.is_empty() && layer.locks.is_empty() && layer.writes_all.is_empty() && layer.keys.is_empty()
        };
        self.level == Isolation::Serializable || !self.layers.iter().all(empty)
    }

    /// Whether others could tell that the transaction of a lone statement is open. Advisory locks do not count: most of
    /// them are the session's, which its commit leaves as they are.
    pub fn is_noticeable_alone(&self) -> bool {
        let is_table = |key: &NamedLock| matches!(key, NamedLock::Table(_));
        let empty = |layer: &Layer| {
            layer.writes.is_empty()
                && layer.locks.is_empty()
                && layer.writes_all.is_empty()
                && !layer.keys.iter().any(is_table)
        };
        self.level == Isolation::Serializable || !self.layers.iter().all(empty)
    }

    /// Whether the statement that was sent ends a transaction.
    pub fn ends(&self) -> bool {
        let ends = |analysis: &Arc<Analysis>| matches!(analysis.control, Control::Commit | Control::Rollback);
        self.pending.as_ref().is_some_and(ends)
    }

    /// Whether the session keeps locks beyond its transactions.
    pub fn keeps(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Whether each statement of the open transaction, or of the next one, has a snapshot of its own.
    pub fn is_read_committed(&self) -> bool {
        let level = if self.is_open() { self.level } else { self.default };
        level == Isolation::ReadCommitted
    }

    /// Whether this statement begins a transaction, and does nothing else.
    pub fn begins(&self, text: &str) -> bool {
        !self.is_open() && matches!(self.analysis(text, &[]).control, Control::Begin(_))
    }

    /// Whether nobody can tell when this statement is sent.
    pub fn is_quiet(&self, text: &str, params: &[Option<String>]) -> bool {
        let analysis = self.analysis(text, params);
        let keeps = self.level != Isolation::ReadCommitted && self.is_open() && !self.has_snapshot;
        analysis.quiet && !(keeps && analysis.looks)
    }

    /// A statement is about to be sent; parameters are texts.
    pub fn statement(&mut self, text: &str, params: &[Option<String>]) {
        self.pending = Some(self.analysis(text, params));
    }

    /// What the statement that was sent and waits may have touched.
    pub fn waits(&self) -> Touched {
        let Some(analysis) = &self.pending else { return Touched::default() };
        let mut touched = analysis.touched.clone();
        self.widen(&mut touched, analysis);
        self.mark(&mut touched, analysis);
        // What it has written before it waited is told when it is through.
        touched.moves.extend(analysis.targets.iter().filter(|table| self.analyst.orders(**table)));
        self.order(&mut touched);
        touched
    }

    /// Who takes rows as they lie reads all their columns: an update of any of them moves the row.
    fn order(&self, touched: &mut Touched) {
        let looks = touched.reads.iter_mut().chain(&mut touched.locks);
        looks.filter(|look| self.analyst.orders(look.table)).for_each(|look| look.read.columns = ColumnSet::ALL);
        let written = touched.writes.iter().filter(|write| write.after.is_some()).map(|write| write.table);
        let moved: BTreeSet<TableId> = written.filter(|table| self.analyst.orders(*table)).collect();
        touched.moves.extend(moved);
    }

    /// How to find out which rows the statement that was sent finds, where that can be asked again.
    pub fn again(&self) -> Option<Arc<Again>> {
        let again = self.pending.as_ref()?.again.clone();
        again.filter(|_| self.is_read_committed())
    }

    /// Whether the transaction sees what is committed and nothing else.
    pub fn is_clean(&self) -> bool {
        self.layers.iter().all(|layer| layer.writes.is_empty() && layer.writes_all.is_empty())
    }

    /// What the statement that was sent has told of its reads, before its answer.
    pub fn told(&mut self, reads: Reads) {
        self.reads = reads;
    }

    /// The statement was answered: with an error or not, leaving the transaction like this, having written these rows.
    pub fn done(&mut self, failed: bool, status: Status, writes: Vec<Write>) -> Touched {
        let reads = std::mem::take(&mut self.reads);
        let Some(analysis) = self.pending.take() else { return Touched::default() };
        let told = self.analyst.told(&reads, &analysis).filter(|_| !failed);
        let mut touched = told.unwrap_or_else(|| analysis.touched.clone());
        if !failed {
            reads.refine(self.analyst.catalog(), &mut touched);
        }
        if failed {
            self.widen(&mut touched, &analysis);
            touched.everything |= analysis.control == Control::Commit;
        }
        keys::implied(&self.analyst, &writes, &mut touched);
        touched.writes = writes;
        self.mark(&mut touched, &analysis);
        self.order(&mut touched);
        if !failed {
            self.remember(&analysis);
        }
        self.enter(&analysis, &touched, status);
        self.end(&analysis, &mut touched, failed, status);
        touched
    }

    /// The session is over, and with it what it had.
    pub fn disconnect(&mut self) -> Touched {
        let mut touched = Touched { released_keys: std::mem::take(&mut self.kept), ..Touched::default() };
        if self.is_open() && !self.failed {
            touched.ended = Some(false);
            self.settle(&mut touched, 0);
        }
        *self = Ledger::new(self.analyst.clone(), self.reset);
        touched
    }

    fn analysis(&self, text: &str, params: &[Option<String>]) -> Arc<Analysis> {
        let text = if params.is_empty() { text.into() } else { inline(text, params) };
        let analysis = self.analyst.analyse(&text);
        match &analysis.control {
            Control::Execute(name, args) => match self.prepared.get(name) {
                Some(text) => self.analyst.analyse(&substitute(text, args)),
                None => {
                    let touched = Touched { everything: true, ..Touched::default() };
                    Arc::new(Analysis { touched, looks: true, ..Analysis::default() })
                }
            },
            _ => analysis,
        }
    }

    /// Snapshots and levels.
    fn mark(&self, touched: &mut Touched, analysis: &Analysis) {
        let level = if self.is_open() { self.level } else { self.default };
        touched.serializable = level == Isolation::Serializable && !matches!(analysis.control, Control::Begin(_));
        touched.snapshot = level != Isolation::ReadCommitted && analysis.looks && !self.has_snapshot;
        touched.kept = level != Isolation::ReadCommitted && self.has_snapshot;
    }

    /// A statement that waits or fails has met rows that it does not tell: any of the tables that it writes, and of
    /// those that foreign keys tie to them.
    fn widen(&self, touched: &mut Touched, analysis: &Analysis) {
        let catalog = self.analyst.catalog();
        let met =
            |touched: &Touched, table: TableId| touched.locks.iter().any(|l| l.table == table && l.filter.is_none());
        for &table in &analysis.targets {
            let inserts = !touched.locks.iter().any(|lock| lock.table == table);
            let mut tables: Vec<TableId> = catalog.table(table).foreign_keys.iter().map(|fk| fk.parent).collect();
            tables.extend(catalog.references_to(table).map(|(child, _)| child.id));
            tables.extend(inserts.then_some(table));
            for table in tables {
                if !met(touched, table) {
                    touched.locks.push(whole(table, true).into());
                }
            }
        }
    }

    /// Settings and prepared statements.
    fn remember(&mut self, analysis: &Analysis) {
        match &analysis.control {
            Control::Default(level) => self.default = level.unwrap_or(self.reset),
            Control::Set(modes) if self.is_open() => self.level = modes.isolation.unwrap_or(self.level),
            Control::Prepare(name, text) => drop(self.prepared.insert(name.clone(), text.clone())),
            _ => {}
        }
    }

    /// Adds what was done to the transaction, which may begin with it.
    fn enter(&mut self, analysis: &Analysis, touched: &Touched, status: Status) {
        if self.layers.is_empty() {
            if status == Status::Idle && matches!(analysis.control, Control::Commit | Control::Rollback) {
                return;
            }
            self.layers.push(Layer::default());
            self.level = match &analysis.control {
                Control::Begin(modes) => modes.isolation.unwrap_or(self.default),
                _ => self.default,
            };
        }
        self.has_snapshot |= analysis.looks;
        let Some(top) = self.layers.last_mut() else { return };
        top.writes.extend(touched.writes.iter().cloned());
        top.locks.extend(touched.locks.iter().cloned());
        top.writes_all.extend(&touched.writes_all);
        for key in &touched.keys {
            top.keys.push(key.clone());
            // A lock of the transaction is released with it, one of the session stays: both are told, later at worst.
            if matches!(key, NamedLock::Advisory(_)) {
                self.kept.push(key.clone());
            }
        }
    }

    /// What the statement ended: the transaction, or the part of it behind a savepoint.
    fn end(&mut self, analysis: &Analysis, touched: &mut Touched, failed: bool, status: Status) {
        match (status, &analysis.control) {
            (Status::Idle, control) if self.is_open() => {
                let committed = !failed && !self.failed && *control != Control::Rollback;
                touched.ended = Some(committed);
                self.over += 1;
                self.settle(touched, 0);
                (self.failed, self.has_snapshot) = (false, false);
                self.layers.clear();
            }
            (Status::Idle, _) => {}
            (Status::Failed, _) if !self.failed => {
                touched.ended = Some(false);
                // Without a savepoint all of it is undone at once.
                let top = self.layers.len().saturating_sub(1);
                self.settle(touched, top);
                self.failed = true;
            }
            (Status::Failed, _) => {}
            (Status::Open, Control::Savepoint(name)) => {
                self.layers.push(Layer { name: Some(name.clone()), ..Layer::default() });
            }
            (Status::Open, Control::RollbackTo(name)) => {
                self.failed = false;
                if let Some(at) = self.layers.iter().rposition(|layer| layer.name.as_ref() == Some(name)) {
                    touched.ended = Some(false);
                    self.settle(touched, at);
                    self.layers.truncate(at + 1);
                }
            }
            (Status::Open, Control::Release(name)) => {
                if let Some(at) = self.layers.iter().rposition(|layer| layer.name.as_ref() == Some(name)) {
                    for layer in self.layers.split_off(at) {
                        if let Some(below) = self.layers.last_mut() {
                            below.take(layer);
                        }
                    }
                }
            }
            (Status::Open, Control::Commit | Control::Rollback) => {
                // AND CHAIN: the next one is open already.
                touched.ended = Some(!failed && !self.failed && analysis.control == Control::Commit);
                self.settle(touched, 0);
                self.layers = vec![Layer::default()];
                (self.failed, self.has_snapshot) = (false, false);
            }
            (Status::Open, _) => {}
        }
    }

    /// Takes what the layers from `first` on hold as settled.
    fn settle(&mut self, touched: &mut Touched, first: usize) {
        for layer in self.layers.iter_mut().skip(first) {
            let Layer { writes, locks, writes_all, keys, .. } = std::mem::take(layer);
            touched.settled.extend(writes);
            touched.released.extend(locks);
            touched.settled_all.extend(writes_all);
            touched.released_keys.extend(keys);
        }
    }
}

impl Layer {
    fn take(&mut self, other: Layer) {
        self.writes.extend(other.writes);
        self.locks.extend(other.locks);
        self.writes_all.extend(other.writes_all);
        self.keys.extend(other.keys);
    }
}
