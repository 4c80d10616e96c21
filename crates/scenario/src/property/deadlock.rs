//! No threads wait for each other in a circle, unless every one of them is written to try again.
//!
//! Trying again may fail again, as often as one likes: who overtakes whom is chance. Running out of retries is therefore an
//! abort like any other, told in a warning, and not a violation.

use isolde_engine::footprint::LockEventKind;
use isolde_engine::{Activity, Blocked, LockKey, Step, WaitsFor};
use isolde_sql::{Span, SqlState};

use super::{At, Explained, Property, Violation};
use crate::graph::{self, Wait};
use crate::names;
use crate::scenario::Scenario;
use crate::trace::Run;

pub(super) struct Deadlock;

const NAME: &str = "deadlock";

impl Property for Deadlock {
    fn names(&self, scenario: &Scenario) -> Vec<String> {
        let asked = scenario.options.deadlock != Some(false);
        if asked { vec![NAME.into()] } else { Vec::new() }
    }

    fn at_state(&self, at: &At<'_>) -> Option<Violation> {
        let scenario = at.system.scenario;
        let members = at.system.deadlocked(at.state);
        let gives_up = |&t: &usize| {
            scenario.threads[t].retries == 0 && !scenario.threads[t].expected.contains(&SqlState::DEADLOCK_DETECTED)
        };
        if scenario.options.deadlock == Some(false) || !members.iter().any(gives_up) {
            return None;
        }
        let threads: Vec<&str> = members.iter().map(|&t| &*scenario.threads[t].name).collect();
        let mut violation = Violation::new(NAME, format!("{} wait for each other.", names::listed(&threads)));
        violation.remarks.push(
            "PostgreSQL ends one of them with error 40P01. Lock rows in the same order everywhere; or, if these clients \
             try again, write `retry 1` behind their names."
                .into(),
        );
        Some(violation)
    }

    fn explain(&self, run: &Run<'_>) -> Explained {
        let waits = run.system.deadlocked(&run.end).into_iter().flat_map(|thread| waits(run, thread));
        let waits: Vec<Wait> = waits.collect();
        let sentences = waits.chunk_by(|a, b| a.thread == b.thread).map(|waits| sentence(run, waits));
        Explained {
            anomaly: None,
            paragraphs: vec![sentences.collect::<Vec<_>>().join(" ")],
            graph: Some(graph::of_waits(run, &waits)),
        }
    }
}

/// `alice waits for account id = 2 (line 9), which bob has locked (line 8).`
fn sentence(run: &Run<'_>, waits: &[Wait]) -> String {
    let scenario = run.system.scenario;
    let Wait { thread, item, wants, .. } = &waits[0];
    let holders = waits.iter().map(|wait| {
        let name = &scenario.threads[wait.holder].name;
        match wait.locked {
            Some(span) => format!("{name} has locked ({})", names::line(scenario, span)),
            None => format!("{name} is ahead for"),
        }
    });
    let (holders, line) = (names::listed(&holders.collect::<Vec<_>>()), names::line(scenario, *wants));
    format!("{} waits for {item} ({line}), which {holders}.", scenario.threads[*thread].name)
}

/// What a thread waits for, once for each thread that is in its way.
fn waits(run: &Run<'_>, thread: usize) -> Vec<Wait> {
    let scenario = run.system.scenario;
    let Activity::Blocked(Blocked { pending, waits_for, on, .. }) =
        run.end.database.activity(scenario.threads[thread].session)
    else {
        return Vec::new();
    };
    let Some(item) = item(run, waits_for) else { return Vec::new() };
    let holders = on.iter().filter_map(|session| run.system.thread_of(*session));
    let waits = holders.map(|holder| Wait {
        thread,
        holder,
        item: item.clone(),
        wants: pending.span,
        locked: locked_at(run, holder, waits_for),
    });
    waits.collect()
}

/// What is waited for, by its name.
fn item(run: &Run<'_>, waits_for: WaitsFor) -> Option<String> {
    let scenario = run.system.scenario;
    Some(match waits_for {
        WaitsFor::Row { row: (table, row), .. } => {
            names::row(run.end.database.catalog(), run.end.database.committed(), table, row)
        }
        WaitsFor::Lock { key: LockKey::Table(table), .. } => {
            format!("table {}", names::table(scenario, run.end.database.catalog(), table)?.name)
        }
        WaitsFor::Lock { key: key @ LockKey::Sequence(_), .. } => {
            let mut sequences = run.end.database.catalog().sequences();
            format!("sequence {}", sequences.find(|sequence| LockKey::sequence(&sequence.name) == key)?.name)
        }
        WaitsFor::Lock { key: LockKey::Advisory(key), .. } => format!("advisory lock {key}"),
        WaitsFor::Lock { key: LockKey::AdvisoryPair(a, b), .. } => format!("advisory lock ({a}, {b})"),
        WaitsFor::Time(_) | WaitsFor::SafeSnapshot => return None,
    })
}

/// The statement by which a thread took a lock it still has.
fn locked_at(run: &Run<'_>, thread: usize, what: WaitsFor) -> Option<Span> {
    let mut statement = None;
    for event in run.events.iter().filter(|e| e.thread == thread) {
        for step in &event.steps {
            for kind in events(step, what) {
                match kind {
                    LockEventKind::Taken => statement = Some(step.pending.span),
                    LockEventKind::Released => statement = None,
                    LockEventKind::Queued | LockEventKind::Refused | LockEventKind::Left | LockEventKind::Moved => {}
                }
            }
        }
    }
    statement
}

/// What a step did to the lock that is waited for.
fn events(step: &Step, what: WaitsFor) -> Vec<LockEventKind> {
    match what {
        WaitsFor::Row { row, .. } => {
            step.footprint.locks.iter().filter(|l| (l.table, l.row) == row).map(|l| l.kind).collect()
        }
        WaitsFor::Lock { key, .. } => step.footprint.heavy.iter().filter(|l| l.key == key).map(|l| l.kind).collect(),
        WaitsFor::Time(_) | WaitsFor::SafeSnapshot => Vec::new(),
    }
}
