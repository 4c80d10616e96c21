//! What the threads saw and left behind is what some serial order of them would have given.

use std::collections::{BTreeMap, BTreeSet};

use isolde_sql::Value;
use isolde_sql::catalog::TableId;

use super::{At, Doubt, Property, Violation};
use crate::file::SerialCheck;
use crate::names;
use crate::oracle::{Judgement, Oracle, SERIAL_THREADS_MAX, Serial};
use crate::outcome::{Answer, Difference, Outcome};
use crate::scenario::Scenario;
use crate::system::ScenarioSystem;

pub(super) struct SerialOutcome;

const NAME: &str = "serial outcome";

/// Orders shown beside the observed outcome.
const ORDERS_SHOWN: usize = 2;
/// Differences shown per order.
const DIFFERENCES_SHOWN: usize = 3;

impl Property for SerialOutcome {
    fn names(&self, scenario: &Scenario) -> Vec<String> {
        let asked = scenario.options.serial != Some(SerialCheck::Off);
        if asked { vec![NAME.into()] } else { Vec::new() }
    }

    fn compares_ends(&self) -> bool {
        true
    }

    fn at_end(&self, at: &At<'_>, oracle: &mut Oracle<'_>) -> Result<Option<Violation>, Doubt> {
        let scenario = at.system.scenario;
        if scenario.options.serial == Some(SerialCheck::Off) {
            return Ok(None);
        }
        let count = at.system.present().count();
        if count > SERIAL_THREADS_MAX {
            return Err(format!(
                "the serial outcome is not checked: {count} threads have too many orders (at most {SERIAL_THREADS_MAX} threads)"
            ));
        }
        match oracle.judge(at.state) {
            Judgement::Serial => Ok(None),
            Judgement::NotSerial(observed, serial) => Ok(Some(violation(at.system, &observed, serial))),
            Judgement::Endless => {
                Err("the serial outcome is not checked where a thread does not end when it runs alone".into())
            }
            Judgement::PartlyAborted(thread) => Err(format!(
                "the serial outcome is not checked where {} is aborted half way: what it had committed before stays",
                scenario.threads[thread].name
            )),
        }
    }
}

fn violation(system: ScenarioSystem<'_>, observed: &Outcome, serial: &Serial) -> Violation {
    let scenario = system.scenario;
    let threads: Vec<&str> = system.present().map(|t| &*scenario.threads[t].name).collect();
    let headline = format!("No serial order of {} ends like this run.", names::listed(&threads));
    let mut violation = Violation::new(NAME, headline);
    for (outcome, order) in serial.outcomes.iter().take(ORDERS_SHOWN) {
        let order: Vec<&str> = order.iter().map(|&t| &*scenario.threads[t].name).collect();
        let differences = differences(scenario, observed, outcome);
        let shown = differences.iter().take(DIFFERENCES_SHOWN).cloned().collect::<Vec<_>>().join("; ");
        violation.remarks.push(format!("Serially, {}: {shown}.", order.join(" then ")));
    }
    violation
}

/// What would be different in a serial order, as clauses.
fn differences(scenario: &Scenario, observed: &Outcome, serial: &Outcome) -> Vec<String> {
    let mut clauses = Vec::new();
    for (thread, (here, there)) in scenario.threads.iter().zip(observed.threads.iter().zip(&serial.threads)) {
        if here.failed != there.failed {
            clauses.push(match there.failed {
                Some(state) => format!("{} fails with {state}", thread.name),
                None => format!("{} does not fail", thread.name),
            });
        }
        let mut answers = here.answers.iter().zip(&there.answers);
        if let Some((_, there)) = answers.find(|(here, there)| here != there) {
            clauses.push(format!("{} gets {}", thread.name, answer(scenario, there)));
        }
    }
    let tables: BTreeSet<TableId> = observed.tables.keys().chain(serial.tables.keys()).copied().collect();
    for table in tables {
        let name = &scenario.database.catalog().table(table).name;
        let (missing, extra) = compare(serial.tables.get(&table), observed.tables.get(&table));
        if !missing.is_empty() {
            clauses.push(format!("{name} ends with {} instead of {}", tuples(&missing), tuples(&extra)));
        } else if !extra.is_empty() {
            clauses.push(format!("{name} does not end with {}", tuples(&extra)));
        }
    }
    clauses
}

fn answer(scenario: &Scenario, answer: &Answer) -> String {
    let Some(span) = answer.span else { return format!("the message {:?}", answer.text) };
    let rows: Vec<&[Value]> = answer.rows.iter().map(Vec::as_slice).collect();
    let what = match (rows.is_empty(), &*answer.text) {
        (false, _) => tuples(&rows),
        (true, "") => "no rows".to_string(),
        (true, text) => text.to_string(),
    };
    format!("{what} at {}", names::line(scenario, span))
}

/// The rows that one run has more of than another, and the other way round.
fn compare<'r>(a: Option<&'r Difference>, b: Option<&'r Difference>) -> (Vec<&'r [Value]>, Vec<&'r [Value]>) {
    let mut counts: BTreeMap<&[Value], i64> = BTreeMap::new();
    a.into_iter().flatten().for_each(|(row, n)| *counts.entry(row).or_default() += n);
    b.into_iter().flatten().for_each(|(row, n)| *counts.entry(row).or_default() -= n);
    let of_sign = |sign: i64| counts.iter().filter(move |(_, n)| n.signum() == sign).map(|(row, _)| *row).collect();
    (of_sign(1), of_sign(-1))
}

fn tuples(rows: &[&[Value]]) -> String {
    const SHOWN: usize = 3;
    if rows.is_empty() {
        return "nothing".into();
    }
    let mut shown: Vec<String> = rows.iter().take(SHOWN).map(|row| names::tuple(row)).collect();
    if rows.len() > SHOWN {
        shown.push(format!("{} more", rows.len() - SHOWN));
    }
    shown.join(" ")
}
