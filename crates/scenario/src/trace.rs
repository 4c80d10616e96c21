//! What happened along a schedule, for people.

use std::collections::BTreeSet;

use isolde_engine::footprint::Write;
use isolde_engine::{Outcome, PendingKind, Step};
use isolde_report::{ChangeKind, ColumnChange, FinalTable, Place, RowChange, StepKind, StepResult, Trace, TraceStep};
use isolde_sql::Row;
use isolde_sql::catalog::{Table, TableId};

use crate::client::Reaction;
use crate::names;
use crate::system::{Event, ScenarioSystem, State};

/// Rows of a table that a report holds; enough to see what is wrong, whatever the size of the table.
const ROWS_MAX: usize = 100;

/// A schedule that was followed.
#[derive(Clone, Debug)]
pub(crate) struct Run<'a> {
    pub(crate) system: ScenarioSystem<'a>,
    /// What happened, in order.
    pub(crate) events: Vec<Event>,
    /// Where it ended.
    pub(crate) end: State,
}

impl Run<'_> {
    /// The run as a report shows it.
    pub(crate) fn trace(&self) -> Trace {
        let threads = self.system.scenario.threads.iter().map(|t| t.name.to_string()).collect();
        let steps = self.events.iter().flat_map(|event| self.event(event)).collect();
        Trace { threads, steps, tables: self.tables() }
    }

    fn event(&self, event: &Event) -> Vec<TraceStep> {
        let mut steps: Vec<TraceStep> = Vec::new();
        for (i, step) in event.steps.iter().enumerate() {
            let given_up = matches!(step.outcome, Outcome::RolledBack) && i > 0 && !self.system.atomic;
            match steps.last_mut() {
                // The client gave up: a remark on the step that made it.
                Some(last) if given_up => last.notes.push("the transaction is rolled back".into()),
                _ => steps.push(self.step(event, i, step)),
            }
        }
        if let Some(last) = steps.last_mut() {
            let name = &self.system.scenario.threads[event.thread].name;
            last.notes.extend(event.reactions.iter().map(|reaction| match reaction {
                Reaction::Retried { left: 0, .. } => format!("{name} starts again, for the last time"),
                Reaction::Retried { left, .. } => format!("{name} starts again; {left} more times possible"),
                Reaction::LeftOpen => format!("{name} ends without COMMIT"),
            }));
        }
        steps
    }

    fn step(&self, event: &Event, position: usize, step: &Step) -> TraceStep {
        let implicit = step.pending.kind == PendingKind::ImplicitCommit;
        let kind = match position {
            _ if implicit => StepKind::Commit,
            0 if event.victim => StepKind::Victim,
            0 if event.resumed => StepKind::Resume,
            _ => StepKind::Statement,
        };
        let place = (!implicit).then(|| {
            let (file, line) = self.system.scenario.sources.place(step.pending.span);
            Place { file: file.map(String::from), line }
        });
        // What a statement wrote before it failed is undone.
        let failed = matches!(step.outcome, Outcome::Error(_));
        let changes = step.footprint.writes.iter().filter(|_| !failed).filter_map(|write| self.change(write)).collect();
        let notices =
            step.notices.iter().map(|n| format!("{}: {}", format!("{:?}", n.level).to_uppercase(), n.message));
        // The statement succeeded, but what the routine made of it did not.
        let then = step.reply.iter().filter_map(|reply| reply.as_ref().err()).filter(|_| !failed);
        let then = then.map(|error| format!("then fails: {error}"));
        TraceStep {
            thread: event.thread,
            kind,
            statement: step.pending.text.to_string(),
            place,
            result: self.result(step),
            changes,
            notes: notices.chain(then).collect(),
        }
    }

    fn result(&self, step: &Step) -> StepResult {
        let done = |tag: String| StepResult::Done { tag };
        match &step.outcome {
            Outcome::Rows { columns, rows } => StepResult::Rows {
                columns: columns.iter().map(|c| c.name.to_string()).collect(),
                rows: rows.iter().map(texts).collect(),
            },
            Outcome::Count { verb, rows } => done(format!("{verb} {rows}")),
            Outcome::Blocked(blocked) => {
                let threads = blocked.on.iter().filter_map(|session| self.system.thread_of(*session));
                StepResult::Waits { on: threads.map(|t| self.system.scenario.threads[t].name.to_string()).collect() }
            }
            Outcome::Error(error) => {
                StepResult::Error { code: error.state.to_string(), message: error.message.to_string() }
            }
            Outcome::RolledBack => done("ROLLBACK".into()),
            Outcome::Committed | Outcome::Done => done(String::new()),
        }
    }

    /// A change of a row; `None` if its table has come and gone.
    fn change(&self, write: &Write) -> Option<RowChange> {
        self.table(write.table).map(|table| row_change(table, write))
    }

    /// The tables that the run has changed, as committed at its end.
    fn tables(&self) -> Vec<FinalTable> {
        let steps = self.events.iter().flat_map(|e| &e.steps);
        let changed: BTreeSet<TableId> = steps.flat_map(|s| &s.footprint.published).map(|w| w.table).collect();
        let tables = changed.into_iter().filter_map(|id| {
            let table = self.table(id)?;
            let data = self.end.database.committed().table(id);
            let mut rows: Vec<Row> = data.iter().take(ROWS_MAX).map(|(_, tuple)| tuple.values.clone()).collect();
            rows.sort();
            Some(FinalTable {
                name: table.name.to_string(),
                columns: table.columns.iter().map(|c| c.name.to_string()).collect(),
                rows: rows.iter().map(texts).collect(),
                rows_total: data.len() as u64,
            })
        });
        tables.collect()
    }

    fn table(&self, id: TableId) -> Option<&Table> {
        names::table(self.system.scenario, self.end.database.catalog(), id)
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

fn texts(row: &Row) -> Vec<Option<String>> {
    row.iter().map(names::optional).collect()
}
