//! The matrix: every procedure against every rule, a cell at a time.
//!
//! A cell costs only itself. What is not modelled in one procedure, a solver that dies or does not come back, a table
//! that could not be read: each leaves the cells open that need it, and no other. Cells are decided side by side, told
//! to whoever listens as they are decided, and stand in the report in the order of the file. A cell that was decided
//! before, with the same content, is not decided again.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use isolde_report::{
    ProofCell, ProofGap, ProofHelp, ProofInterference, ProofNote, ProofTogether, ProofWitness, ProveReport, TableChange,
};
use isolde_smt::{Silence, Solver};
use isolde_sql::catalog::RoutineId;

use crate::Limits;
use crate::guard::Guard;
use crate::interference::{Together, interference};
use crate::portfolio::{Outcome, Verdict, decide};
use crate::program::{Program, Rule};
use crate::vacuity::{self, Standing};
use crate::witness::{self, Witness};

/// What to look at.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How far to go.
    pub limits: Limits,
    /// Only this procedure.
    pub procedure: Option<String>,
    /// Only this rule.
    pub rule: Option<String>,
    /// Also look for procedures that break a rule together.
    pub interference: bool,
    /// The command, as it was typed.
    pub command: String,
    /// The file.
    pub path: String,
    /// How many cells are decided side by side; one, if zero.
    pub jobs: usize,
}

/// What is told of each cell when it is decided.
pub type Told<'a> = &'a (dyn Fn(&ProofCell) + Sync);

/// Cells that were decided before, by what they are about.
pub type Known = BTreeMap<String, ProofCell>;

/// Every procedure against every rule. Beside the report, every question that was put.
pub fn check(
    program: &Program,
    solver: &Solver,
    options: &Options,
) -> Result<(ProveReport, Vec<(String, String)>), Silence> {
    check_telling(program, solver, options, &Known::new(), &|_| {})
}

/// The same, with cells that are known already, and telling of each as it is decided.
pub fn check_telling(
    program: &Program,
    solver: &Solver,
    options: &Options,
    known: &Known,
    tell: Told<'_>,
) -> Result<(ProveReport, Vec<(String, String)>), Silence> {
    let mut report = ProveReport::new(&options.command, &options.path);
    let wanted = |name: &str, only: &Option<String>| only.as_ref().is_none_or(|only| only == name);
    let procedures: Vec<RoutineId> = program.procedures();
    let name = |id: &RoutineId| program.catalog().routine(*id).name.clone();
    let procedures: Vec<RoutineId> =
        procedures.into_iter().filter(|id| wanted(&name(id), &options.procedure)).collect();
    let rules: Vec<&Rule> = program.rules.iter().filter(|rule| wanted(&rule.name, &options.rule)).collect();
    // A solver that is not there is said at once, not cell by cell.
    drop(solver.start()?);
    let about_rules =
        side_by_side(&rules, options.jobs, |rule| vacuity::standing(program, rule, solver, &options.limits))?;
    let never =
        side_by_side(&procedures, options.jobs, |id| vacuity::never_succeeds(program, *id, solver, &options.limits))?;
    report.notes.extend(notes(&rules, &about_rules));
    for (id, never) in procedures.iter().zip(&never) {
        if *never {
            report.notes.push(ProofNote {
                kind: "procedure".into(),
                name: name(id).to_string(),
                text: vacuity::NEVER.into(),
            });
        }
    }
    for gap in &program.gaps {
        let text = format!("line {}: {}", program.line(gap.span), gap.what);
        let kind = if gap.is_routine { "open" } else { "skipped" };
        report.notes.push(ProofNote { kind: kind.into(), name: gap.statement.clone(), text });
    }
    let places: Vec<(usize, usize)> =
        (0..procedures.len()).flat_map(|p| (0..rules.len()).map(move |r| (p, r))).collect();
    let decided = side_by_side(&places, options.jobs, |(p, r)| {
        let (id, rule) = (procedures[*p], rules[*r]);
        let def = program.catalog().routine(id);
        let content = program.content(id, rule, &options.limits);
        let (mut cell, scripts) = match known.get(&content) {
            // Where it stands may have changed, what it says has not.
            Some(cell) => (ProofCell { line: program.line(def.span), ..cell.clone() }, Vec::new()),
            None => {
                let outcome = match about_rules[*r] {
                    Standing::Implied => Outcome::safe("the schema implies the rule"),
                    _ => match decide(program, id, rule, solver, &options.limits) {
                        Err(silence @ Silence::Missing(_)) => return Err(silence),
                        Err(silence) => Outcome::unknown(&silence.to_string()),
                        Ok(outcome) => outcome,
                    },
                };
                let scripts = outcome.scripts.clone();
                (cell(&def.name, program.line(def.span), rule, outcome), scripts)
            }
        };
        if never[*p] && cell.verdict == "safe" {
            cell.warning = Some(format!("safe, because {}", vacuity::NEVER));
        }
        cell.content = content;
        tell(&cell);
        Ok((cell, scripts))
    })?;
    let mut scripts = Vec::new();
    for (cell, texts) in decided {
        let named = |(name, text): (String, String)| (format!("{} {} {name}", cell.procedure, cell.rule), text);
        scripts.extend(texts.into_iter().map(named));
        report.cells.push(cell);
    }
    if options.interference {
        interferences(program, &mut report, solver, &options.limits)?;
    }
    report.settle();
    Ok((report, scripts))
}

/// What is worth knowing about rules before any procedure is looked at.
fn notes(rules: &[&Rule], standings: &[Standing]) -> Vec<ProofNote> {
    let each = rules.iter().zip(standings).filter_map(|(rule, standing)| {
        let text = match standing {
            Standing::Implied => "the schema implies it: no procedure can break it",
            Standing::OnlyEmpty => "warning: together with the schema, it holds only where its tables are empty",
            Standing::Plain => return None,
        };
        Some(ProofNote { kind: "rule".into(), name: rule.name.to_string(), text: text.into() })
    });
    each.collect()
}

/// Does something with each of many, several at a time; the results stand in the order of the many.
fn side_by_side<T: Sync, R: Send>(
    all: &[T],
    jobs: usize,
    act: impl Fn(&T) -> Result<R, Silence> + Sync,
) -> Result<Vec<R>, Silence> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let results: Mutex<Vec<Option<Result<R, Silence>>>> = Mutex::new(all.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, all.len().max(1)) {
            // Terms nest deeply.
            let worker = std::thread::Builder::new().stack_size(STACK_BYTES);
            let _ = worker.spawn_scoped(scope, || {
                while !stop.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = all.get(at) else { break };
                    let result = act(one);
                    stop.fetch_or(result.is_err(), Ordering::Relaxed);
                    if let Ok(mut results) = results.lock() {
                        results[at] = Some(result);
                    }
                }
            });
        }
    });
    let results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut done = Vec::new();
    let mut failed = None;
    for result in results {
        match result {
            Some(Ok(one)) => done.push(one),
            Some(Err(silence)) => failed = failed.or(Some(silence)),
            None => {}
        }
    }
    match failed {
        Some(silence) => Err(silence),
        None if done.len() == all.len() => Ok(done),
        None => Err(Silence::Crash("a worker could not be started, or has stopped".into())),
    }
}

/// The stack of a worker.
const STACK_BYTES: usize = 64 << 20;

/// Procedures that keep a rule alone and break it together: each pair of those that were proved safe.
fn interferences(program: &Program, report: &mut ProveReport, solver: &Solver, limits: &Limits) -> Result<(), Silence> {
    let catalog = program.catalog();
    let (mut pairs, mut found, mut gaps) = (0, Vec::new(), Vec::new());
    for rule in &program.rules {
        let safe = |id: &RoutineId| {
            let name = &*catalog.routine(*id).name;
            report.cells.iter().any(|cell| cell.procedure == name && cell.rule == *rule.name && cell.verdict == "safe")
        };
        let procedures: Vec<RoutineId> = program.procedures().into_iter().filter(safe).collect();
        for id in &procedures {
            for intruder in &procedures {
                pairs += 1;
                let name = |id: &RoutineId| catalog.routine(*id).name.to_string();
                let (procedure, intruder_name, rule_name) = (name(id), name(intruder), rule.name.to_string());
                match interference(program, (*id, *intruder), rule, solver, limits)? {
                    Together::Nothing => {}
                    Together::Open(refusal) => gaps.push(ProofGap {
                        procedure,
                        intruder: intruder_name,
                        rule: rule_name,
                        why: refusal.what,
                        line: refusal.span.map(|span| program.line(span)),
                    }),
                    Together::Found(together) => found.push(ProofInterference {
                        procedure,
                        intruder: intruder_name,
                        rule: rule_name,
                        rows: together.rows,
                        call: together.call,
                        after: together.after,
                        intruder_call: together.intruder,
                        outcome: together.outcome,
                        scenario: together.scenario,
                    }),
                }
            }
        }
    }
    report.interferences = found;
    report.interference = Some(ProofTogether { pairs, gaps });
    Ok(())
}

fn cell(procedure: &str, line: usize, rule: &Rule, outcome: Outcome) -> ProofCell {
    let (verdict, meaning, at, witness) = match outcome.verdict {
        Verdict::Safe(how) => ("safe", how, None, None),
        Verdict::Unsafe(witness) => ("unsafe", "run and seen".into(), None, Some(shown(*witness))),
        Verdict::Bounded(rounds, why) => {
            ("bounded", format!("no violation with loops of up to {rounds} rounds; {why}"), None, None)
        }
        Verdict::Unknown(reason) => ("unknown", reason.what, reason.line, None),
    };
    let helps = |guard: &Guard| match guard {
        Guard::Promise(condition) => ProofHelp { kind: "promise".into(), text: condition.clone() },
        Guard::Constraint(statement) => ProofHelp { kind: "constraint".into(), text: statement.clone() },
    };
    let helps = outcome.guards.iter().map(helps).collect();
    let mut assumptions: Vec<String> = outcome.assumptions.iter().map(|text| text.to_string()).collect();
    if !outcome.modulo.is_empty() && verdict != "unsafe" {
        assumptions.push(format!("whatever these compute: {}", outcome.modulo.join(", ")));
    }
    ProofCell {
        procedure: procedure.into(),
        line,
        rule: rule.name.to_string(),
        rule_text: rule.text.to_string(),
        verdict: verdict.into(),
        meaning,
        at_line: at,
        assumptions,
        needs: outcome.needs,
        warning: None,
        content: String::new(),
        witness,
        helps,
    }
}

fn shown(witness: Witness) -> ProofWitness {
    let change = |changed: witness::Changed| TableChange {
        table: changed.table,
        columns: changed.columns,
        before: changed.before,
        after: changed.after,
    };
    ProofWitness {
        rows: witness.rows,
        call: witness.call,
        arguments: witness.arguments,
        lines: witness.lines,
        changes: witness.changes.into_iter().map(change).collect(),
        outcome: witness.outcome,
        confirmation: None,
    }
}
