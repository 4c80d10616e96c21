//! What happened along a schedule, for people.

use isolde_engine::footprint::Write;
use isolde_explore::System;
use isolde_report::{ChangeKind, ColumnChange, RowChange, Trace};
use isolde_sql::Row;
use isolde_sql::catalog::Table;

use crate::backend::Backend;
use crate::client::Reaction;
use crate::names;
use crate::system::ScenarioSystem;
use crate::trouble::Trouble;

/// Rows of a table that a report holds; enough to see what is wrong, whatever the size of the table.
pub const ROWS_MAX: usize = 100;

/// A schedule that was followed.
#[derive(Clone, Debug)]
pub struct RunOf<B: System> {
    /// On which back-end.
    pub system: B,
    /// What happened, in order.
    pub events: Vec<B::Event>,
    /// Where it ended.
    pub end: B::State,
}

/// A schedule that was followed on the embedded engine.
pub(crate) type Run<'a> = RunOf<ScenarioSystem<'a>>;

impl<B: Backend> RunOf<B> {
    /// The run as a report shows it.
    pub(crate) fn trace(&self) -> Result<Trace, Trouble> {
        let threads = (0..self.system.threads()).map(|thread| self.system.member(thread).name.to_string());
        let threads = threads.chain(self.system.clock_name().map(String::from)).collect();
        let steps = self.events.iter().flat_map(|event| self.system.trace_steps(self, event)).collect();
        Ok(Trace { threads, steps, tables: self.system.final_tables(self)? })
    }

    /// The last event of the run.
    pub fn last(&self) -> Option<&B::Event> {
        self.events.last()
    }

    /// How many transactions of a thread have ended.
    pub(crate) fn transactions_ended(&self, thread: usize) -> usize {
        self.events.iter().map(|event| self.system.transactions_ended(event, thread)).sum()
    }
}

/// What a client did, as a remark on its step.
pub fn remark(name: &str, reaction: &Reaction) -> String {
    match reaction {
        Reaction::Retried { left: 0, .. } => format!("{name} starts again, for the last time"),
        Reaction::Retried { left, .. } => format!("{name} starts again; {left} more times possible"),
        Reaction::LeftOpen => format!("{name} ends without COMMIT"),
    }
}

/// A change of a row of this table, for a report.
pub fn row_change(table: &Table, write: &Write) -> RowChange {
    let value = |row: &Option<Row>, i: usize| row.as_ref().and_then(|row| names::optional(row.get(i)?));
    let kind = match (&write.before, &write.after) {
        (None, _) => ChangeKind::Insert,
        (_, None) => ChangeKind::Delete,
        _ => ChangeKind::Update,
    };
    let changed = write.changed();
    let columns = table.columns.iter().enumerate().filter(|(i, _)| changed.contains(*i));
    let columns = columns.map(|(i, column)| ColumnChange {
        column: column.name.to_string(),
        before: value(&write.before, i),
        after: value(&write.after, i),
    });
    let values = write.before.as_ref().or(write.after.as_ref());
    RowChange {
        table: table.name.to_string(),
        key: values.map_or(String::new(), |values| names::key(table, values)),
        kind,
        columns: columns.collect(),
    }
}

/// The values of a row, as reports hold them.
pub(crate) fn texts(row: &Row) -> Vec<Option<String>> {
    row.iter().map(names::optional).collect()
}
