//! What must never happen on a stage: the properties of scenarios, asked of what was observed.

use isolde_report::StepResult;
use isolde_scenario::file::SerialCheck;
use isolde_scenario::listed;
use isolde_wire::Response;

use super::check::{Check, Question};
use super::system::Event;
use super::{Ending, Outcome, Part, Standing};

/// The error of a deadlock's victim.
const DEADLOCK: &str = "40P01";
/// Orders shown beside what was observed.
const ORDERS_SHOWN: usize = 2;
/// Differences shown per order.
const DIFFERENCES_SHOWN: usize = 3;

pub(super) const ASSERTION: &str = "failed assertion";
pub(super) const ERROR: &str = "uncaught error";
pub(super) const DEADLOCKED: &str = "deadlock";
pub(super) const SERIAL: &str = "serial outcome";

/// A property that is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    /// Its name in the report.
    pub(super) name: String,
    /// What happened, in a sentence.
    pub(super) headline: String,
    /// More to say about it, after the explanation.
    pub(super) remarks: Vec<String>,
}

impl Violation {
    fn new(name: impl Into<String>, headline: String) -> Violation {
        Violation { name: name.into(), headline, remarks: Vec::new() }
    }
}

/// What is checked, by name.
pub(super) fn names(question: &Question<'_>) -> Vec<String> {
    let mut names = vec![ASSERTION.to_string(), ERROR.to_string()];
    names.extend((question.settings.deadlock != Some(false)).then(|| DEADLOCKED.to_string()));
    names.extend(question.invariants.iter().map(|check| format!("invariant {}", check.name)));
    names.extend(question.finals.iter().map(|check| format!("final {}", check.name)));
    names.extend((question.settings.serial != Some(SerialCheck::Off)).then(|| SERIAL.to_string()));
    names
}

/// A thread that fails before it has taken a step.
pub(super) fn bad_start(names: &[String], standings: &[Standing]) -> Option<Violation> {
    let ended = names.iter().zip(standings).filter_map(|(name, standing)| match standing {
        Standing::Ended(ending) => Some((name, ending)),
        _ => None,
    });
    ended.into_iter().find_map(|(name, ending)| failure(name, ending))
}

/// An end that is a violation by itself.
fn failure(name: &str, ending: &Ending) -> Option<Violation> {
    match ending {
        Ending::Assertion(how) => Some(Violation::new(ASSERTION, format!("an ASSERT of {name} fails: {how}"))),
        Ending::Failed(how) => Some(Violation::new(ERROR, format!("{name} fails: {how}"))),
        Ending::Aborted(_) | Ending::Expected(_) | Ending::Done => None,
    }
}

/// How the threads ended that took part in an event, if that is a violation.
pub(super) fn bad_end(
    question: &Question<'_>,
    names: &[String],
    event: &Event,
    before: &[Standing],
    after: &[Standing],
) -> Option<Violation> {
    let mut took_part: Vec<usize> = event.parts.iter().map(|part| part.thread).collect();
    took_part.dedup();
    let ended = took_part.into_iter().filter_map(|thread| match after.get(thread)? {
        Standing::Ended(ending) => Some((thread, ending)),
        _ => None,
    });
    for (thread, ending) in ended {
        if let Some(violation) = failure(&names[thread], ending) {
            return Some(violation);
        }
        let aborted = matches!(ending, Ending::Aborted(_));
        if aborted && is_victim(event, thread) && question.settings.deadlock != Some(false) {
            return Some(deadlock(names, thread, before));
        }
    }
    None
}

fn is_victim(event: &Event, thread: usize) -> bool {
    let dies = |part: &Part| matches!(&part.result, StepResult::Error { code, .. } if code == DEADLOCK);
    event.parts.iter().any(|part| part.thread == thread && dies(part))
}

/// The victim, and those who waited for it, one for the other.
fn deadlock(names: &[String], victim: usize, before: &[Standing]) -> Violation {
    let mut members = vec![victim];
    let waits_for_one = |members: &[usize], thread: usize| match &before[thread] {
        Standing::Waiting(on) => !members.contains(&thread) && on.iter().any(|other| members.contains(other)),
        _ => false,
    };
    while let Some(next) = (0..before.len()).find(|&thread| waits_for_one(&members, thread)) {
        members.push(next);
    }
    members.sort_unstable();
    let shown: Vec<&str> = members.iter().map(|&thread| names[thread].as_str()).collect();
    let mut violation = Violation::new(DEADLOCKED, format!("{} wait for each other.", listed(&shown)));
    violation.remarks.push(format!(
        "PostgreSQL ends one of them with error {DEADLOCK}, here {}. Lock rows in the same order everywhere; or, if these \
         clients try again, say so.",
        names[victim]
    ));
    violation
}

/// Whether an answer to a check says anything but yes, and if so, what.
pub(super) fn refuted(answer: &Response) -> Option<String> {
    match answer {
        Response::Error(error) => Some(format!("cannot be evaluated: {}", error.message)),
        _ => answer.rows().iter().filter_map(|row| row.first()).find_map(|value| match value.as_deref() {
            Some("t" | "true") => None,
            None => Some("is neither true nor false but NULL".into()),
            Some(_) => Some("is false".into()),
        }),
    }
}

/// An invariant that a commit has broken, or that never held.
pub(super) fn broken_invariant(check: &Check, how: &str, by: Option<&str>) -> Violation {
    let when = by.map_or_else(|| "already after set-up".to_string(), |thread| format!("after {thread}'s commit"));
    Violation::new(format!("invariant {}", check.name), format!("{} {how} {when}.", check.name))
}

/// A final check that fails.
pub(super) fn broken_final(check: &Check, how: &str) -> Violation {
    Violation::new(format!("final {}", check.name), format!("{} {how} when all threads have ended.", check.name))
}

/// A run that comes to what no serial order comes to.
pub(super) fn not_serial(
    names: &[String],
    members: &[usize],
    observed: &Outcome,
    serial: &[(Outcome, Vec<usize>)],
) -> Violation {
    let called = |threads: &[usize]| threads.iter().map(|&t| names[t].as_str()).collect::<Vec<_>>();
    let headline = format!("No serial order of {} ends like this run.", listed(&called(members)));
    let mut violation = Violation::new(SERIAL, headline);
    for (outcome, order) in serial.iter().take(ORDERS_SHOWN) {
        let differences = differences(names, observed, outcome);
        let shown = differences.into_iter().take(DIFFERENCES_SHOWN).collect::<Vec<_>>().join("; ");
        violation.remarks.push(format!("Serially, {}: {shown}.", called(order).join(" then ")));
    }
    violation
}

/// What would be different in a serial order, as clauses.
fn differences(names: &[String], observed: &Outcome, serial: &Outcome) -> Vec<String> {
    let mut clauses = Vec::new();
    for (name, (here, there)) in names.iter().zip(observed.threads.iter().zip(&serial.threads)) {
        let at = (0..here.len().max(there.len())).find(|&i| here.get(i) != there.get(i));
        match at.map(|i| (here.get(i), there.get(i))) {
            None => {}
            Some((_, Some(line))) => clauses.push(format!("{name} gets {line}")),
            Some((Some(line), None)) => clauses.push(format!("{name} does not get {line}")),
            Some((None, None)) => {}
        }
    }
    let tables = observed.tables.iter().chain(&serial.tables).map(|(table, ..)| table);
    let mut tables: Vec<&String> = tables.collect();
    tables.sort();
    tables.dedup();
    for table in tables {
        let rows = |outcome: &Outcome| {
            let found = outcome.tables.iter().find(|(name, ..)| name == table);
            found.map(|(_, more, _)| more.clone()).unwrap_or_default()
        };
        let (ours, theirs) = (rows(observed), rows(serial));
        let missing: Vec<&String> = theirs.iter().filter(|row| !ours.contains(row)).collect();
        let extra: Vec<&String> = ours.iter().filter(|row| !theirs.contains(row)).collect();
        if !missing.is_empty() {
            clauses.push(format!("{table} ends with {} instead of {}", rows_shown(&missing), rows_shown(&extra)));
        } else if !extra.is_empty() {
            clauses.push(format!("{table} does not end with {}", rows_shown(&extra)));
        }
    }
    clauses
}

fn rows_shown(rows: &[&String]) -> String {
    const SHOWN: usize = 3;
    if rows.is_empty() {
        return "nothing".into();
    }
    let mut shown: Vec<String> = rows.iter().take(SHOWN).map(ToString::to_string).collect();
    if rows.len() > SHOWN {
        shown.push(format!("{} more", rows.len() - SHOWN));
    }
    shown.join(" ")
}
