//! What the papers call an operation: SELECT, INSERT, UPDATE or DELETE on one table, done at once.
//!
//! Database PathFinder and EPOR know programs whose statements are transactions of their own, or whose transactions
//! happen as a whole. Here that is a step that begins a transaction and ends it: an autocommit statement, or a
//! transaction with `--atomic`. Such an event is a list of operations, and it depends on another one if one of its
//! operations depends on one of the other's. The papers say nothing about the steps of a longer transaction, about
//! waiting, or about other statements: these are taken to depend on everything.
//!
//! The papers speak of the table `R` before two operations and of what selections `σ` find in it and in the table after
//! one of them. We do not need to run anything again to know: a footprint has the predicate, so that it can be asked
//! about the rows that the other operation has written, as they were before and as they are after.

use isolde_engine::footprint::{ColumnSet, Probe, ProbeKind, Read, Write};
use isolde_engine::{Outcome, PendingKind, Step};
use isolde_sql::catalog::TableId;
use isolde_sql::typed::{Expr, ExprKind, Query, QueryBody, RelSource, Select, Statement, StatementKind};
use isolde_sql::{Row, Value};

use crate::system::Event;

/// The four kinds, in the order in which the papers list pairs of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Select,
    Insert,
    Delete,
    Update,
}

/// One statement and one table that it is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation<'e> {
    pub(super) kind: Kind,
    pub(super) table: TableId,
    step: &'e Step,
    statement: &'e Statement,
}

/// Whether some operation of one event depends on one of the other's; true as well if there is more to an event than
/// its operations. `dependent` is asked about two on the same table, in the order of their kinds.
pub(super) fn any_pair(
    first: &Event,
    second: &Event,
    dependent: impl Fn(&Operation<'_>, &Operation<'_>) -> bool,
) -> bool {
    let (Some(first), Some(second)) = (operations(first), operations(second)) else { return true };
    first.iter().any(|a| {
        second.iter().any(|b| {
            let (a, b) = if a.kind <= b.kind { (a, b) } else { (b, a) };
            a.table == b.table && dependent(a, b)
        })
    })
}

/// The operations of an event that is a whole transaction.
fn operations(event: &Event) -> Option<Vec<Operation<'_>>> {
    if !is_whole(event) {
        return None;
    }
    let mut operations = Vec::new();
    for step in event.steps.iter().filter(|s| s.pending.kind == PendingKind::Statement) {
        let statement = step.pending.statement.as_deref()?;
        let target = match &statement.kind {
            StatementKind::Query(_) => None,
            StatementKind::Insert(insert) => Some((Kind::Insert, insert.table)),
            StatementKind::Update(update) => Some((Kind::Update, update.table)),
            StatementKind::Delete(delete) => Some((Kind::Delete, delete.table)),
            _ => return None,
        };
        operations.extend(target.map(|(kind, table)| Operation { kind, table, step, statement }));
        for read in &step.footprint.reads {
            // What UPDATE and DELETE look for in their own table is their predicate.
            let own = target.is_some_and(|(kind, table)| kind != Kind::Insert && table == read.table);
            let known = operations.iter().any(|o| o.kind == Kind::Select && o.is_of(step) && o.table == read.table);
            if !own && !known {
                operations.push(Operation { kind: Kind::Select, table: read.table, step, statement });
            }
        }
    }
    Some(operations)
}

/// Whether an event begins its transaction and ends it, without having waited.
fn is_whole(event: &Event) -> bool {
    let footprints = || event.steps.iter().map(|s| &s.footprint);
    let written = |w: &Write| footprints().flat_map(|f| &f.writes).any(|own| (own.table, own.row) == (w.table, w.row));
    let blocked = event.steps.iter().any(|s| matches!(s.outcome, Outcome::Blocked(_)));
    let first_reads =
        event.steps.first().is_some_and(|s| s.footprint.snapshot.is_some() || s.footprint.reads.is_empty());
    let ended = footprints().any(|f| f.ended.is_some());
    ended
        && first_reads
        && !blocked
        && !event.victim
        && !event.resumed
        && footprints().flat_map(|f| &f.published).all(written)
}

impl<'e> Operation<'e> {
    fn is_of(&self, step: &Step) -> bool {
        std::ptr::eq(self.step, step)
    }

    /// It ended in an error: the papers suppose that none does.
    pub(super) fn failed(&self) -> bool {
        matches!(self.step.outcome, Outcome::Error(_))
    }

    fn reads(&self) -> impl Iterator<Item = &'e Read> {
        let table = self.table;
        self.step.footprint.reads.iter().filter(move |r| r.table == table)
    }

    /// The rows of its table that it changed; what foreign keys and triggers do elsewhere is not seen.
    pub(super) fn writes(&self) -> impl Iterator<Item = &'e Write> {
        let table = self.table;
        self.step.footprint.writes.iter().filter(move |w| w.table == table)
    }

    /// The unique keys of its table that it gives to rows.
    fn keys(&self) -> impl Iterator<Item = &'e Probe> {
        let table = self.table;
        self.step.footprint.probes.iter().filter(move |p| p.table == table && p.kind != ProbeKind::Reference)
    }

    /// `σ`: whether a row satisfies its predicate.
    pub(super) fn selects(&self, row: &Option<Row>) -> bool {
        row.as_deref().is_some_and(|row: &[Value]| self.reads().any(|read| read.wants(row)))
    }

    /// Whether it finds other records after `other` than before.
    pub(super) fn is_changed_by(&self, other: &Operation<'_>) -> bool {
        other.writes().any(|w| w.before != w.after && (self.selects(&w.before) || self.selects(&w.after)))
    }

    /// Whether both give a row the same key.
    pub(super) fn shares_key(&self, other: &Operation<'_>) -> bool {
        self.keys().any(|a| other.keys().any(|b| a.columns == b.columns && a.key == b.key))
    }

    /// The columns that SELECT shows of its table: those of its select list, and not those of its conditions.
    pub(super) fn shown(&self) -> ColumnSet {
        match &self.statement.kind {
            StatementKind::Query(Query { body: QueryBody::Select(select), .. }) if self.is_in(select) => {
                let mut columns = ColumnSet::NONE;
                let mut note = |e: &Expr| e.walk(0, &mut |e, level| self.note(select, e, level, &mut columns));
                select.projection.iter().for_each(&mut note);
                if let Some(grouping) = &select.grouping {
                    grouping.keys.iter().chain(grouping.calls.iter().flat_map(|c| &c.args)).for_each(&mut note);
                }
                columns
            }
            // A subquery, a view: every column that matters.
            _ => self.reads().fold(ColumnSet::NONE, |columns, read| columns.union(read.columns)),
        }
    }

    fn is_in(&self, select: &Select) -> bool {
        select.rels.iter().any(|rel| matches!(rel.source, RelSource::Table(table) if table == self.table))
    }

    fn note(&self, select: &Select, e: &Expr, level: u16, columns: &mut ColumnSet) {
        let mine = |rel: u16| {
            let rel = select.rels.get(usize::from(rel));
            rel.is_some_and(|rel| matches!(rel.source, RelSource::Table(table) if table == self.table))
        };
        match e.kind {
            ExprKind::Column { depth, rel, col } if depth == level && mine(rel) => columns.insert(col.into()),
            ExprKind::WholeRow { depth, rel } if depth == level && mine(rel) => *columns = ColumnSet::ALL,
            _ => {}
        }
    }

    /// The columns that UPDATE sets.
    pub(super) fn set(&self) -> ColumnSet {
        match &self.statement.kind {
            StatementKind::Update(update) => update.set.iter().map(|(column, _)| *column).collect(),
            _ => ColumnSet::NONE,
        }
    }
}
