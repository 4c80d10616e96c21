//! AFTER triggers: queued row by row, fired when the rows are done.

use std::sync::Arc;

use isolde_sql::ast::TriggerTiming;
use isolde_sql::catalog::{TableId, Trigger};
use isolde_sql::{Row, Value};

use super::{Event, TableTriggers};
use crate::exec::{After, Running, Stop};
use crate::footprint::ColumnSet;
use crate::machine::Machine;

/// A trigger in the queue.
#[derive(Clone, Debug)]
pub(crate) struct Fire {
    pub(crate) triggers: Arc<TableTriggers>,
    pub(crate) at: usize,
    pub(crate) event: Event,
    pub(crate) old: Option<Row>,
    pub(crate) new: Option<Row>,
}

/// The rows of a table that a statement has changed.
#[derive(Clone, Debug)]
pub(crate) struct Transition {
    pub(crate) table: TableId,
    pub(crate) event: Event,
    pub(crate) old: Vec<Value>,
    pub(crate) new: Vec<Value>,
}

impl Fire {
    /// The trigger and its table.
    pub(crate) fn trigger(&self) -> (TableId, &Trigger) {
        (self.triggers.table.id, &self.triggers.table.triggers[self.at])
    }
}

impl TableTriggers {
    /// Whether a trigger wants to see all the rows that an event changed.
    fn wants_transition(&self, event: Event) -> bool {
        let of_event = |t: &Trigger| match event {
            Event::Insert => t.insert,
            Event::Update => t.update,
            Event::Delete => t.delete,
            Event::Truncate => false,
        };
        self.table.triggers.iter().any(|t| t.enabled && of_event(t) && (t.old_table.is_some() || t.new_table.is_some()))
    }
}

impl After {
    /// The table and the event, if this is an AFTER STATEMENT trigger.
    fn statement_fired(&self) -> Option<(TableId, Event)> {
        match self {
            After::Fire(fire) if !fire.triggers.table.triggers[fire.at].each_row => {
                Some((fire.triggers.table.id, fire.event))
            }
            _ => None,
        }
    }
}

impl Running {
    /// The transition tables that a trigger names, each a record of rows.
    pub(super) fn transition_tables(&self, trigger: &Trigger, table: TableId, event: Event) -> [Value; 2] {
        let all = self.triggered.as_ref().map_or(&[][..], |t| &t.transitions);
        let rows = all.iter().find(|t| t.table == table && t.event == event);
        let shown = |wanted: bool, pick: fn(&Transition) -> &[Value]| match wanted {
            true => Value::Record(rows.map_or(&[][..], pick).iter().cloned().collect()),
            false => Value::Null,
        };
        [shown(trigger.old_table.is_some(), |t| &t.old), shown(trigger.new_table.is_some(), |t| &t.new)]
    }

    /// The AFTER STATEMENT triggers of an event leave the queue, from this place on.
    fn forget_queued(&mut self, (table, event): (TableId, Event), from: usize) {
        let mut at = 0;
        self.after.retain(|after| {
            at += 1;
            at <= from || after.statement_fired() != Some((table, event))
        });
    }

    /// What a statement inside WITH leaves to do goes to the statement around it: a trigger that both fire fires once.
    pub(crate) fn adopt_triggers(&mut self, inner: &mut Running) {
        for fired in inner.after.iter().filter_map(After::statement_fired) {
            self.forget_queued(fired, 0);
        }
        self.after.append(&mut inner.after);
        let Some(triggered) = inner.triggered.as_mut() else { return };
        let (begun, changed) = (std::mem::take(&mut triggered.begun), std::mem::take(&mut triggered.transitions));
        self.triggered().begun.extend(begun);
        for Transition { table, event, old, new } in changed {
            let known = self.transition(table, event);
            known.old.extend(old);
            known.new.extend(new);
        }
    }

    fn transition(&mut self, table: TableId, event: Event) -> &mut Transition {
        let all = &mut self.triggered().transitions;
        let at = all.iter().position(|t| t.table == table && t.event == event).unwrap_or_else(|| {
            all.push(Transition { table, event, old: Vec::new(), new: Vec::new() });
            all.len() - 1
        });
        &mut all[at]
    }

    fn remember_transition(&mut self, table: TableId, event: Event, old: Option<&Row>, new: Option<&Row>) {
        let known = self.transition(table, event);
        known.old.extend(old.map(|row| Value::Record(row.clone())));
        known.new.extend(new.map(|row| Value::Record(row.clone())));
    }
}

impl Machine<'_> {
    /// The AFTER ROW triggers that a change of a row fires, for [`Machine::queue_after`]: their conditions are looked at now.
    pub(crate) fn after_row(
        &mut self,
        triggers: &Arc<TableTriggers>,
        event: Event,
        set: ColumnSet,
        (old, new): (Option<&Row>, Option<&Row>),
        run: &mut Running,
    ) -> Result<Vec<After>, Stop> {
        let mut queued = Vec::new();
        for at in triggers.of(TriggerTiming::After, true, event, set) {
            if self.when_holds(triggers, at, old, new, run)? {
                let (triggers, old, new) = (triggers.clone(), old.cloned(), new.cloned());
                queued.push(After::Fire(Fire { triggers, at, event, old, new }));
            }
        }
        Ok(queued)
    }

    /// The row at hand is done: its AFTER ROW triggers are queued.
    pub(crate) fn queue_after(
        &mut self,
        triggers: &TableTriggers,
        event: Event,
        (old, new): (Option<&Row>, Option<&Row>),
        queued: Vec<After>,
        run: &mut Running,
    ) {
        for after in queued {
            match &after {
                After::Fire(fire) if self.fires_later(fire) => self.transaction_mut().deferred.checks.push(after),
                _ => run.after.push(after),
            }
        }
        if triggers.wants_transition(event) {
            run.remember_transition(triggers.table.id, event, old, new);
        }
    }

    /// The rows are done: the AFTER STATEMENT triggers are queued, in the place of those that an earlier part of the same
    /// statement queued.
    pub(crate) fn after_statement(
        &mut self,
        triggers: &Arc<TableTriggers>,
        event: Event,
        set: ColumnSet,
        run: &mut Running,
    ) -> Result<(), Stop> {
        let mut queued = Vec::new();
        for at in triggers.of(TriggerTiming::After, false, event, set) {
            if self.when_holds(triggers, at, None, None, run)? {
                queued.push(After::Fire(Fire { triggers: triggers.clone(), at, event, old: None, new: None }));
            }
        }
        // What WITH has queued waits until the rows are done; after that, one of the queue is at work.
        let waiting = if run.withs.own.is_some() && !run.complete { 0 } else { run.after_next + 1 };
        run.forget_queued((triggers.table.id, event), waiting);
        run.after.extend(queued);
        Ok(())
    }

    /// Whether a constraint trigger waits for the end of the transaction.
    fn fires_later(&self, fire: &Fire) -> bool {
        let (table, trigger) = fire.trigger();
        trigger.deferrable && self.is_deferred(table, &trigger.name, trigger.deferral())
    }

    /// Fires a trigger from the queue.
    pub(crate) fn fire_after(&mut self, fire: &Fire, run: &mut Running) -> Result<(), Stop> {
        let Fire { triggers, at, event, old, new } = fire;
        self.fire((triggers, *at), *event, old.as_ref(), new.as_ref(), run)?;
        Ok(())
    }
}
