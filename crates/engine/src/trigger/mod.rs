//! Triggers: which fire, in which order, and what becomes of their answers.
//!
//! A trigger's function is a routine like any other: the statement stops, the function runs as a frame on top of it,
//! and the statement goes on with its answer. So whatever the function does can wait for locks, and others have their
//! turn between its statements. How far a statement's triggers have come is in [`Triggered`], which only exists for
//! tables that have any:
//!
//! ```text
//!   BEFORE STATEMENT ──▶ each row: lock ▶ BEFORE ROW ▶ change ──▶ queue: foreign keys, AFTER ROW, AFTER STATEMENT
//! ```
//!
//! Within a kind, triggers fire in the order of their names. BEFORE ROW triggers hand the row on to each other; NULL
//! ends the matter. The queue is worked off first in, first out; what it leads to goes to its end.

mod after;
mod before;
mod instead;
mod merge;
mod row;
mod truncate;

use std::sync::{Arc, OnceLock};

use isolde_sql::ast::TriggerTiming;
use isolde_sql::catalog::{Catalog, Table, TableId, Trigger};
use isolde_sql::{Row, SqlError, SqlState, Value, bind, value};
use smallvec::SmallVec;

pub(crate) use after::{Fire, Transition};
pub(crate) use before::RowStage;

use crate::eval::{self, Env, RelRow};
use crate::exec::{Executor, Running, Stop};
use crate::footprint::ColumnSet;
use crate::lock::RowRef;
use crate::plan::{self, Expr};
use crate::routine::Code;

/// What happens to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    Insert,
    Update,
    Delete,
    Truncate,
}

/// The triggers of a table: conditions compiled, functions bound when they first fire.
#[derive(Debug)]
pub(crate) struct TableTriggers {
    pub(crate) table: Arc<Table>,
    whens: Vec<Option<Expr>>,
    codes: Vec<OnceLock<Result<Arc<Code>, SqlError>>>,
}

/// How far the triggers of a statement have come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Triggered {
    /// Tables and events whose BEFORE STATEMENT triggers have fired: they fire once, however often cascades come by.
    pub(crate) begun: Vec<(TableId, Event)>,
    /// How many have fired of those that are firing now.
    pub(crate) firing: usize,
    /// The rows are done, and the AFTER STATEMENT triggers queued.
    pub(crate) ended: bool,
    /// What BEFORE ROW triggers make of the row at hand.
    pub(crate) row: Option<RowStage>,
    /// The same for the row that ON CONFLICT DO UPDATE changes instead.
    pub(crate) conflict: Option<RowStage>,
    /// What has been done to the row at hand: what happened, and what it was before.
    pub(crate) written: Option<(Event, Option<Row>)>,
    /// Rows changed so far, where a trigger wants to see them.
    pub(crate) transitions: Vec<Transition>,
}

/// A trigger function that is to be called.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    triggers: Arc<TableTriggers>,
    at: usize,
    event: Event,
    old: Option<Row>,
    new: Option<Row>,
    /// The transition tables, each a record of rows.
    tables: [Value; 2],
}

/// Positions in the list of a table's triggers.
type Chosen = SmallVec<[usize; 4]>;

impl Event {
    fn word(self) -> &'static str {
        match self {
            Event::Insert => "INSERT",
            Event::Update => "UPDATE",
            Event::Delete => "DELETE",
            Event::Truncate => "TRUNCATE",
        }
    }
}

impl TableTriggers {
    pub(crate) fn new(catalog: &Catalog, table: &Arc<Table>) -> Self {
        let when = |t: &Trigger| t.when.as_ref().map(|e| plan::expr(catalog, e));
        TableTriggers {
            table: table.clone(),
            whens: table.triggers.iter().map(when).collect(),
            codes: table.triggers.iter().map(|_| OnceLock::new()).collect(),
        }
    }

    /// The triggers of a kind that an event fires; `set` are the columns that an UPDATE names.
    pub(crate) fn of(&self, timing: TriggerTiming, each_row: bool, event: Event, set: ColumnSet) -> Chosen {
        let fires = |t: &Trigger| {
            let event = match event {
                Event::Insert => t.insert,
                Event::Update => {
                    t.update && (t.update_columns.is_empty() || t.update_columns.iter().any(|&c| set.contains(c)))
                }
                Event::Delete => t.delete,
                Event::Truncate => t.truncate,
            };
            t.enabled && t.timing == timing && t.each_row == each_row && event
        };
        let all = self.table.triggers.iter().enumerate();
        all.filter(|(_, t)| fires(t)).map(|(at, _)| at).collect()
    }

    fn code(&self, catalog: &Catalog, at: usize) -> Result<Arc<Code>, SqlError> {
        let compile = || {
            let routine = bind::trigger(catalog, &self.table, &self.table.triggers[at])?;
            Ok(Arc::new(Code::compile(catalog, &routine)))
        };
        self.codes[at].get_or_init(compile).clone()
    }
}

impl Call {
    /// The function, bound to the trigger's table.
    pub(crate) fn code(&self, catalog: &Catalog) -> Result<Arc<Code>, SqlError> {
        self.triggers.code(catalog, self.at)
    }

    /// What the function is told, in the order of [`bind::TRIGGER_VARIABLES`].
    pub(crate) fn variables(self) -> Vec<Value> {
        let table = &self.triggers.table;
        let trigger = &table.triggers[self.at];
        let record = |row: Option<Row>| row.map_or(Value::Null, Value::Record);
        let when = match trigger.timing {
            TriggerTiming::Before => "BEFORE",
            TriggerTiming::After => "AFTER",
            TriggerTiming::InsteadOf => "INSTEAD OF",
        };
        // The one array that is counted from 0.
        let args: Vec<Value> = trigger.args.iter().map(|arg| Value::Text(arg.clone())).collect();
        let nargs = args.len();
        let dims = if nargs == 0 { Vec::new() } else { vec![(nargs, 0)] };
        let args = Value::Array(Arc::new(value::Array { dims, elements: args }));
        let [old_table, new_table] = self.tables;
        vec![
            record(self.new),
            record(self.old),
            Value::Text(trigger.name.clone()),
            Value::text(when),
            Value::text(if trigger.each_row { "ROW" } else { "STATEMENT" }),
            Value::text(self.event.word()),
            Value::Int(i64::from(table.id.0) + 16384),
            Value::Text(table.name.clone()),
            Value::Text(table.name.clone()),
            Value::text("public"),
            Value::Int(nargs as i64),
            args,
            old_table,
            new_table,
        ]
    }
}

impl Running {
    /// How far the triggers have come; asked for only where there are some.
    pub(crate) fn triggered(&mut self) -> &mut Triggered {
        self.triggered.get_or_insert_with(Box::default)
    }
}

impl Executor<'_> {
    /// The triggers of a table, if it has any.
    pub(crate) fn triggers_of(&self, table: TableId) -> Option<Arc<TableTriggers>> {
        self.schema().triggers(table)
    }

    /// Whether a trigger's condition holds.
    fn when_holds(
        &mut self,
        triggers: &TableTriggers,
        at: usize,
        old: Option<&Row>,
        new: Option<&Row>,
        run: &mut Running,
    ) -> Result<bool, Stop> {
        let Some(when) = &triggers.whens[at] else { return Ok(true) };
        let nothing = || triggers.table.columns.iter().map(|_| Value::Null).collect();
        let rows = [old, new].map(|row| RelRow::new(row.cloned().unwrap_or_else(nothing)));
        let held =
            self.with_context(&run.view.tables, &[], &mut run.calls, |ctx| eval::is_true(ctx, &Env::new(&rows), when))?;
        Ok(held)
    }

    /// The answer of a trigger's function, or the stop that calls it.
    fn fire(
        &mut self,
        (triggers, at): (&Arc<TableTriggers>, usize),
        event: Event,
        old: Option<&Row>,
        new: Option<&Row>,
        transition: Option<usize>,
        run: &mut Running,
    ) -> Result<Option<Row>, Stop> {
        match run.calls.next() {
            Some(result) => {
                run.calls.clear();
                Ok(if let Value::Record(row) = result.into_value() { Some(row) } else { None })
            }
            None => {
                let tables = run.transition_tables(&triggers.table.triggers[at], transition);
                let (triggers, old, new) = (triggers.clone(), old.cloned(), new.cloned());
                Err(Stop::Trigger(Box::new(Call { triggers, at, event, old, new, tables })))
            }
        }
    }

    /// A statement comes to a row that was changed since it began, by itself or by what it called: its own work is left
    /// alone, what a trigger or function did is an error.
    pub(crate) fn refuse_triggered_change(&self, run: &Running, row: RowRef, done: &str) -> Result<(), SqlError> {
        if !run.disturbed.contains(&row) {
            return Ok(());
        }
        let message =
            format!("tuple to be {done} was already modified by an operation triggered by the current command");
        Err(SqlError::new(SqlState::TRIGGERED_DATA_CHANGE, message)
            .hint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows."))
    }
}

/// What a trigger function returned: a row of its table, or NULL.
pub(crate) fn result(value: Option<Value>, width: usize) -> Result<Value, SqlError> {
    let Some(value) = value else {
        let message = "control reached end of trigger procedure without RETURN";
        return Err(SqlError::new(SqlState::parse("2F005").unwrap_or(SqlState::INTERNAL_ERROR), message));
    };
    match &value {
        Value::Null => Ok(value),
        Value::Record(row) if row.len() == width => Ok(value),
        Value::Record(_) => {
            let message = "returned row structure does not match the structure of the triggering table";
            Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message))
        }
        _ => {
            let message = "cannot return non-composite value from function returning composite type";
            Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message))
        }
    }
}
