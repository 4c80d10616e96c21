//! AFTER triggers: queued row by row, fired when the rows are done.

use std::sync::Arc;

use isolde_sql::ast::TriggerTiming;
use isolde_sql::catalog::{TableId, Trigger};
use isolde_sql::{Row, Value};

use super::{Event, TableTriggers};
use crate::exec::Executor;
use crate::exec::{After, Phase, Running, Stop};
use crate::footprint::ColumnSet;

/// A trigger in the queue.
#[derive(Clone, Debug)]
pub(crate) struct Fire {
    pub(crate) triggers: Arc<TableTriggers>,
    pub(crate) at: usize,
    pub(crate) event: Event,
    pub(crate) old: Option<Row>,
    pub(crate) new: Option<Row>,
    /// The changed rows that it may see, by their place among all.
    transition: Option<usize>,
}

/// The rows of a table that a statement has changed, until a trigger has seen them: what changes later is another set.
#[derive(Clone, Debug)]
pub(crate) struct Transition {
    pub(crate) table: TableId,
    pub(crate) event: Event,
    pub(crate) old: Vec<Value>,
    pub(crate) new: Vec<Value>,
    pub(crate) seen: bool,
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
    pub(super) fn transition_tables(&mut self, trigger: &Trigger, transition: Option<usize>) -> [Value; 2] {
        if trigger.old_table.is_none() && trigger.new_table.is_none() {
            return [Value::Null, Value::Null];
        }
        let mut rows = transition.and_then(|at| self.triggered().transitions.get_mut(at));
        rows.iter_mut().for_each(|rows| rows.seen = true);
        let shown = |wanted: bool, pick: fn(&Transition) -> &[Value]| match wanted {
            true => Value::Record(rows.as_deref().map_or(&[][..], pick).iter().cloned().collect()),
            false => Value::Null,
        };
        [shown(trigger.old_table.is_some(), |t| &t.old), shown(trigger.new_table.is_some(), |t| &t.new)]
    }

    /// Whether a trigger of the queue belongs to rows that have been seen.
    fn is_of_seen(&self, after: &After) -> bool {
        let transitions = self.triggered.as_ref().map_or(&[][..], |t| &t.transitions);
        matches!(after, After::Fire(fire) if fire.transition.is_some_and(|at| transitions.get(at).is_some_and(|t| t.seen)))
    }

    /// The AFTER STATEMENT triggers of an event leave the queue, from this place on.
    fn forget_queued(&mut self, (table, event): (TableId, Event), from: usize) {
        let kept = |(at, after): &(usize, After)| {
            *at < from || after.statement_fired() != Some((table, event)) || self.is_of_seen(after)
        };
        let queue = self.after.iter().cloned().enumerate().filter(kept);
        self.after = queue.map(|(_, after)| after).collect();
    }

    /// What a statement inside WITH leaves to do goes to the statement around it: a trigger that both fire fires once.
    pub(crate) fn adopt_triggers(&mut self, inner: &mut Running) {
        for fired in inner.after.iter().filter_map(After::statement_fired) {
            self.forget_queued(fired, 0);
        }
        let mut queue = std::mem::take(&mut inner.after);
        if let Some(triggered) = inner.triggered.as_mut() {
            let (begun, changed) = (std::mem::take(&mut triggered.begun), std::mem::take(&mut triggered.transitions));
            self.triggered().begun.extend(begun);
            let places: Vec<usize> = changed.into_iter().map(|rows| self.adopt_transition(rows)).collect();
            for after in &mut queue {
                if let After::Fire(Fire { transition: Some(at), .. }) = after {
                    *at = places[*at];
                }
            }
        }
        self.after.append(&mut queue);
    }

    fn adopt_transition(&mut self, rows: Transition) -> usize {
        let at = self.transition(rows.table, rows.event);
        let known = &mut self.triggered().transitions[at];
        known.old.extend(rows.old);
        known.new.extend(rows.new);
        at
    }

    /// The rows of a table that an event changes now, by their place among all.
    fn transition(&mut self, table: TableId, event: Event) -> usize {
        let all = &mut self.triggered().transitions;
        all.iter().position(|t| t.table == table && t.event == event && !t.seen).unwrap_or_else(|| {
            all.push(Transition { table, event, old: Vec::new(), new: Vec::new(), seen: false });
            all.len() - 1
        })
    }

    fn remember_transition(&mut self, at: usize, old: Option<&Row>, new: Option<&Row>) {
        let known = &mut self.triggered().transitions[at];
        known.old.extend(old.map(|row| Value::Record(row.clone())));
        known.new.extend(new.map(|row| Value::Record(row.clone())));
    }
}

impl Executor<'_> {
    /// The AFTER ROW triggers that a change of a row fires, for [`Executor::queue_after`]: their conditions are looked
    /// at now.
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
                queued.push(After::Fire(Fire { triggers, at, event, old, new, transition: None }));
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
        let transition = triggers.wants_transition(event).then(|| run.transition(triggers.table.id, event));
        for mut after in queued {
            match &mut after {
                After::Fire(fire) if self.fires_later(fire) => self.transaction_mut().deferred.checks.push(after),
                After::Fire(fire) => {
                    fire.transition = transition;
                    run.after.push(after);
                }
                _ => run.after.push(after),
            }
        }
        if let Some(at) = transition {
            run.remember_transition(at, old, new);
        }
    }

    /// The rows are done: the AFTER STATEMENT triggers are queued, in the place of those that an earlier part of the
    /// same statement queued.
    pub(crate) fn after_statement(
        &mut self,
        triggers: &Arc<TableTriggers>,
        event: Event,
        set: ColumnSet,
        run: &mut Running,
    ) -> Result<(), Stop> {
        let mut queued = Vec::new();
        let transition = triggers.wants_transition(event).then(|| run.transition(triggers.table.id, event));
        for at in triggers.of(TriggerTiming::After, false, event, set) {
            if self.when_holds(triggers, at, None, None, run)? {
                let triggers = triggers.clone();
                queued.push(After::Fire(Fire { triggers, at, event, old: None, new: None, transition }));
            }
        }
        // Until the rows are done nothing of the queue has begun; after that, one of it is at work.
        let waiting = if let Phase::After { next } = run.phase { next + 1 } else { 0 };
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
        let Fire { triggers, at, event, old, new, transition } = fire;
        self.fire((triggers, *at), *event, old.as_ref(), new.as_ref(), *transition, run)?;
        Ok(())
    }
}
