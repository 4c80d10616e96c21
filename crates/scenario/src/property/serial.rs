//! What the threads saw and left behind is what some serial order of them would have given.

use std::collections::{BTreeMap, BTreeSet};

use isolde_sql::catalog::TableId;

use super::{At, Property, Unclear, Violation};
use crate::backend::{Backend, Fate};
use crate::file::SerialCheck;
use crate::names;
use crate::oracle::{Judgement, Oracle, SERIAL_THREADS_MAX, Serial, Watch};
use crate::outcome::{Answer, Difference, Outcome};
use crate::renaming::Cell;

pub(super) struct SerialOutcome;

const NAME: &str = "serial outcome";

/// Orders shown beside the observed outcome.
const ORDERS_SHOWN: usize = 2;
/// Differences shown per order.
const DIFFERENCES_SHOWN: usize = 3;
/// About an alarm that the default would not raise.
const BY_EFFECTS: &str = "Only answers that are not used differ from serial runs: with `--@ option serial effects` \
                          (`--oracle effects`), the default, this run is no violation.";

impl<B: Backend> Property<B> for SerialOutcome {
    fn names(&self, system: B) -> Vec<String> {
        let asked = system.serial() != SerialCheck::Off;
        if asked { vec![NAME.into()] } else { Vec::new() }
    }

    fn judged_by(&self, system: B) -> Option<&'static str> {
        Some(system.serial().name())
    }

    fn compares_ends(&self) -> bool {
        true
    }

    fn at_end(&self, at: &At<'_, B>, oracle: &mut Oracle<B>, watch: Watch<'_>) -> Result<Vec<Violation>, Unclear> {
        let system = at.system;
        if system.serial() == SerialCheck::Off {
            return Ok(Vec::new());
        }
        let count = system.present().count();
        if count > SERIAL_THREADS_MAX {
            return Err(Unclear::Doubt(format!(
                "the serial outcome is not checked: {count} threads have too many orders (at most {SERIAL_THREADS_MAX} threads)"
            )));
        }
        let name = |thread: usize| system.member(thread).name.to_string();
        Err(Unclear::Doubt(match oracle.judge(at.state, at.schedule, watch)? {
            Judgement::Serial => return Ok(Vec::new()),
            Judgement::NotSerial { observed, serial, by_effects } => {
                // An order that was cut off may be the one that ends like this.
                if let Some(limit) = system.ended() {
                    return Err(Unclear::Stopped(limit));
                }
                let mut violation = violation(system, &observed, serial);
                violation.remarks.extend(by_effects.then(|| BY_EFFECTS.to_string()));
                return Ok(vec![violation]);
            }
            Judgement::Stopped(limit) => return Err(Unclear::Stopped(limit)),
            Judgement::Endless(thread) => {
                format!("the serial outcome is not checked: {} does not end when it runs alone", name(thread))
            }
            Judgement::Waits(thread) => {
                format!("the serial outcome is not checked: {} waits although it runs alone", name(thread))
            }
            Judgement::Partly(thread) => match system.fate(at.state, thread) {
                Fate::Running => format!("the serial outcome is not checked where {} waits for ever", name(thread)),
                _ => format!(
                    "the serial outcome is not checked where {} is aborted half way: what it had committed before stays",
                    name(thread)
                ),
            },
        }))
    }
}

fn violation<B: Backend>(system: B, observed: &Outcome, serial: &Serial) -> Violation {
    let threads: Vec<&str> = system.present().map(|t| system.member(t).name).collect();
    let like = match system.serial() {
        SerialCheck::Effects => "has the effects of",
        SerialCheck::Strict | SerialCheck::Off => "ends like",
    };
    let headline = format!("No serial order of {} {like} this run.", names::listed(&threads));
    let mut violation = Violation::new(NAME, headline);
    for (outcome, order) in serial.outcomes.iter().take(ORDERS_SHOWN) {
        let order: Vec<&str> = order.iter().map(|&t| system.member(t).name).collect();
        let differences = differences(system, observed, outcome);
        let shown = differences.iter().take(DIFFERENCES_SHOWN).cloned().collect::<Vec<_>>().join("; ");
        violation.remarks.push(format!("Serially, {}: {shown}.", order.join(" then ")));
    }
    violation
}

/// What would be different in a serial order, as clauses.
fn differences<B: Backend>(system: B, observed: &Outcome, serial: &Outcome) -> Vec<String> {
    let mut clauses = Vec::new();
    for (thread, (here, there)) in observed.threads.iter().zip(&serial.threads).enumerate() {
        let name = system.member(thread).name;
        if here.failed != there.failed {
            clauses.push(match there.failed {
                Some(state) => format!("{name} fails with {state}"),
                None => format!("{name} does not fail"),
            });
        }
        let longer = here.answers.len().max(there.answers.len());
        let differs = (0..longer).find(|&at| here.answers.get(at) != there.answers.get(at));
        match differs.map(|at| (here.answers.get(at), there.answers.get(at))) {
            Some((_, Some(there))) => clauses.push(format!("{name} gets {}", answer(system, there))),
            // A thread that fails gets no more; that is said already.
            Some((Some(here_only), None)) if here.failed == there.failed => {
                clauses.push(format!("{name} does not get {}", answer(system, here_only)));
            }
            _ => {}
        }
    }
    let tables: BTreeSet<TableId> = observed.tables.keys().chain(serial.tables.keys()).copied().collect();
    for table in tables {
        let (missing, extra) = compare(serial.tables.get(&table), observed.tables.get(&table));
        let name = system.table_name(table);
        if !missing.is_empty() {
            clauses.push(format!(
                "{name} ends with {} instead of {}",
                tuples(system, &missing),
                tuples(system, &extra)
            ));
        } else if !extra.is_empty() {
            clauses.push(format!("{name} does not end with {}", tuples(system, &extra)));
        }
    }
    clauses
}

fn answer<B: Backend>(system: B, answer: &Answer) -> String {
    let (at, text, rows) = match answer {
        Answer::Message(message) => return format!("the message {:?}", message.shown(|t| system.member(t).name)),
        Answer::Line(line) => return line.to_string(),
        Answer::Statement { at, text, rows } => (at, text, rows),
    };
    let rows: Vec<&[Cell]> = rows.iter().map(Vec::as_slice).collect();
    let what = match (rows.is_empty(), &**text) {
        (false, _) => tuples(system, &rows),
        (true, "") => "no rows".to_string(),
        (true, text) => text.to_string(),
    };
    match at {
        Some(span) => format!("{what} at {}", names::line_of(&system.place(*span))),
        None => what,
    }
}

/// The rows that one run has more of than another, and the other way round.
fn compare<'r>(a: Option<&'r Difference>, b: Option<&'r Difference>) -> (Vec<&'r [Cell]>, Vec<&'r [Cell]>) {
    let mut counts: BTreeMap<&[Cell], i64> = BTreeMap::new();
    a.into_iter().flatten().for_each(|(row, n)| *counts.entry(row).or_default() += n);
    b.into_iter().flatten().for_each(|(row, n)| *counts.entry(row).or_default() -= n);
    let of_sign = |sign: i64| counts.iter().filter(move |(_, n)| n.signum() == sign).map(|(row, _)| *row).collect();
    (of_sign(1), of_sign(-1))
}

fn tuples<B: Backend>(system: B, rows: &[&[Cell]]) -> String {
    const SHOWN: usize = 3;
    if rows.is_empty() {
        return "nothing".into();
    }
    let mut shown: Vec<String> = rows.iter().take(SHOWN).map(|row| tuple(system, row)).collect();
    if rows.len() > SHOWN {
        shown.push(format!("{} more", rows.len() - SHOWN));
    }
    shown.join(" ")
}

fn tuple<B: Backend>(system: B, row: &[Cell]) -> String {
    let cells: Vec<String> = row.iter().map(|cell| cell.shown(|thread| system.member(thread).name)).collect();
    format!("({})", cells.join(", "))
}
