//! Who is asked, in which order, and what the answers amount to.

use std::time::Duration;

use isolde_report::{
    ProofCell, ProofGap, ProofHelp, ProofInterference, ProofTogether, ProofWitness, ProveReport, TableChange,
};
use isolde_smt::{Answer, Silence, Solver};
use isolde_sql::catalog::RoutineId;

use crate::Limits;
use crate::abstraction::{End, Subject};
use crate::exact::{self, Question};
use crate::guard::{Guard, guards};
use crate::horn::{self, Certificate};
use crate::interference::{Together, interference};
use crate::ir::{self, Graph};
use crate::logic::Refusal;
use crate::plan::plan;
use crate::program::{Program, Rule};
use crate::witness::{self, Witness};

/// What is known about one procedure and one rule.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer.
    pub verdict: Verdict,
    /// Functions of which only that they are functions was used.
    pub modulo: Vec<String>,
    /// What was taken for granted because of the types that occur.
    pub assumptions: Vec<&'static str>,
    /// What would help against a violation.
    pub guards: Vec<Guard>,
    /// The invariants of its loops, if that is how it was proved.
    pub certificate: Option<Certificate>,
    /// Every question, as it was put to the solver.
    pub scripts: Vec<(String, String)>,
}

/// The answer about one procedure and one rule.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The procedure keeps the rule; in words, how that was proved.
    Safe(String),
    /// It does not: these rows and arguments show it.
    Unsafe(Box<Witness>),
    /// No violation with loops that go round at most so many times; and why no more is known.
    Bounded(usize, String),
    /// Not known, and why.
    Unknown(Reason),
}

/// Why nothing is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// A sentence.
    pub what: String,
    /// The line it is about.
    pub line: Option<usize>,
}

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
}

/// Every procedure against every rule. Beside the report, every question that was put.
pub fn check(
    program: &Program,
    solver: &Solver,
    options: &Options,
) -> Result<(ProveReport, Vec<(String, String)>), Silence> {
    let mut report = ProveReport::new(&options.command, &options.path);
    let mut scripts = Vec::new();
    let catalog = program.catalog();
    for id in program.procedures() {
        let def = catalog.routine(id);
        if options.procedure.as_ref().is_some_and(|wanted| **wanted != *def.name) {
            continue;
        }
        for rule in
            program.rules.iter().filter(|rule| options.rule.as_ref().is_none_or(|wanted| **wanted == *rule.name))
        {
            let outcome = decide(program, id, rule, solver, &options.limits)?;
            scripts.extend(
                outcome.scripts.iter().map(|(name, text)| (format!("{} {} {name}", def.name, rule.name), text.clone())),
            );
            report.cells.push(cell(&def.name, program.line(def.span), rule, outcome));
        }
    }
    if options.interference {
        interferences(program, &mut report, solver, &options.limits)?;
    }
    report.settle();
    Ok((report, scripts))
}

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

/// One procedure and one rule; for a violation, also what would help.
pub fn decide(
    program: &Program,
    id: RoutineId,
    rule: &Rule,
    solver: &Solver,
    limits: &Limits,
) -> Result<Outcome, Silence> {
    let mut outcome = decide_only(program, id, rule, solver, limits)?;
    if limits.guards && matches!(outcome.verdict, Verdict::Unsafe(_)) {
        outcome.guards = guards(program, id, rule, solver, limits)?;
    }
    Ok(outcome)
}

/// The verdict alone.
pub(crate) fn decide_only(
    program: &Program,
    id: RoutineId,
    rule: &Rule,
    solver: &Solver,
    limits: &Limits,
) -> Result<Outcome, Silence> {
    let mut search = Search { program, rule, solver, limits, outcome: Outcome::empty(), hasty: false };
    let verdict = match ir::lower(program.catalog(), id) {
        Err(refusal) => Verdict::Unknown(refused(program, refusal)),
        Ok(graph) => search.everybody(&graph)?,
    };
    search.outcome.verdict = verdict;
    Ok(search.outcome)
}

impl Outcome {
    fn empty() -> Outcome {
        let nothing = Reason { what: "nobody was asked".into(), line: None };
        Outcome {
            verdict: Verdict::Unknown(nothing),
            modulo: Vec::new(),
            assumptions: Vec::new(),
            guards: Vec::new(),
            certificate: None,
            scripts: Vec::new(),
        }
    }
}

fn refused(program: &Program, refusal: Refusal) -> Reason {
    Reason { line: refusal.span.map(|span| program.line(span)), what: format!("not modelled: {}", refusal.what) }
}

struct Search<'a> {
    program: &'a Program,
    rule: &'a Rule,
    solver: &'a Solver,
    limits: &'a Limits,
    outcome: Outcome,
    /// Invariants were looked for, but not for as long as there is time.
    hasty: bool,
}

/// What one exact question came to.
enum Exact {
    Never,
    Shown(Box<Witness>),
    /// The solver found something that was not seen to happen, or does not know.
    Open(String),
}

impl Search<'_> {
    /// The exact question first; what it leaves open goes to predicate abstraction. The other way round, where so many rows may matter
    /// that the exact question cannot settle it.
    fn everybody(&mut self, graph: &Graph) -> Result<Verdict, Silence> {
        let catalog = self.program.catalog();
        let large = graph.is_loop_free() && !plan(catalog, graph, &self.rule.query, 0).incomplete.is_empty();
        let early = if large { Some(self.refined(graph)?) } else { None };
        if let Some(Ok(verdict)) = early {
            return Ok(verdict);
        }
        let open = match self.rounds(graph)? {
            Verdict::Bounded(rounds, why) => Verdict::Bounded(rounds, why),
            Verdict::Unknown(reason) if reason.line.is_none() => Verdict::Unknown(reason),
            decided => return Ok(decided),
        };
        let more = match early.map_or_else(|| self.refined(graph), Ok)? {
            Ok(verdict) => return Ok(verdict),
            Err(more) => more,
        };
        if self.hasty
            && let Ok(verdict) = self.invariants(graph, self.limits.timeout)?
        {
            return Ok(verdict);
        }
        Ok(match open {
            Verdict::Bounded(rounds, why) => Verdict::Bounded(rounds, format!("{why}; {more}")),
            open => open,
        })
    }

    /// A proof by predicate abstraction, a violation on a way that it came upon, or why there is neither.
    fn refined(&mut self, graph: &Graph) -> Result<Result<Verdict, String>, Silence> {
        let subject = match Subject::new(self.program, graph, self.rule) {
            Err(refusal) => return Ok(Err(format!("predicate abstraction: not modelled: {}", refusal.what))),
            Ok(subject) => subject,
        };
        Ok(match subject.prove(self.solver, self.limits)?.end {
            End::Safe(certificate) => {
                self.outcome.certificate = Some(certificate);
                Ok(Verdict::Safe("an invariant of each place, found by predicate abstraction and checked".into()))
            }
            End::Feasible(way) => match self.exact(&way, 0, self.limits.timeout)? {
                Ok((Exact::Shown(witness), _)) => Ok(Verdict::Unsafe(witness)),
                _ => Err("predicate abstraction: a way to a violation that was not seen to happen".into()),
            },
            End::Open(why) => Err(format!("predicate abstraction: {why}")),
        })
    }

    /// Loops written out more and more often, until something is found; after the first time, invariants are looked for.
    fn rounds(&mut self, graph: &Graph) -> Result<Verdict, Silence> {
        if graph.is_loop_free() {
            return Ok(match self.exact(graph, 0, self.limits.timeout)? {
                Err(refusal) => Verdict::Unknown(refused(self.program, refusal)),
                Ok((Exact::Shown(witness), _)) => Verdict::Unsafe(witness),
                Ok((Exact::Open(what), _)) => Verdict::Unknown(Reason { what, line: None }),
                Ok((Exact::Never, incomplete)) => match incomplete.into_iter().next() {
                    None => Verdict::Safe("every path, on as many rows as can matter".into()),
                    Some(why) => Verdict::Bounded(0, why),
                },
            });
        }
        let mut known = Verdict::Bounded(0, "loops may go round more often".into());
        for rounds in 1..=self.limits.rounds_max {
            let unrolled = ir::unroll(graph, rounds);
            // Whether there are invariants is often the easier question.
            let patience = if rounds == 1 { self.limits.timeout / 4 } else { self.limits.timeout };
            let (mut found, mut incomplete) = match self.exact(&unrolled, rounds, patience)? {
                Err(refusal) => return Ok(Verdict::Unknown(refused(self.program, refusal))),
                Ok(answer) => answer,
            };
            if let Exact::Shown(witness) = found {
                return Ok(Verdict::Unsafe(witness));
            }
            if let Verdict::Bounded(0, why) = &mut known {
                match self.invariants(graph, self.limits.timeout / 4)? {
                    Ok(verdict) => return Ok(verdict),
                    Err(reason) => *why = reason,
                }
                if let (Exact::Open(_), Ok(again)) = (&found, self.exact(&unrolled, rounds, self.limits.timeout)?) {
                    (found, incomplete) = again;
                }
            }
            if let Exact::Shown(witness) = found {
                return Ok(Verdict::Unsafe(witness));
            }
            known = match (known, found, incomplete.into_iter().next()) {
                (Verdict::Bounded(0, why), Exact::Open(what), _) => {
                    return Ok(Verdict::Unknown(Reason { what: format!("{what}; {why}"), line: None }));
                }
                // What fewer rounds have shown stays so.
                (known, Exact::Open(_), _) => return Ok(known),
                (Verdict::Bounded(_, why), _, Some(more)) => {
                    return Ok(Verdict::Bounded(rounds, format!("{why}; and {more}")));
                }
                (Verdict::Bounded(_, why), _, None) => Verdict::Bounded(rounds, why),
                (known, _, _) => known,
            };
        }
        Ok(known)
    }

    /// A proof by invariants of all loops, or why there is none.
    fn invariants(&mut self, graph: &Graph, patience: Duration) -> Result<Result<Verdict, String>, Silence> {
        let clauses = match horn::clauses(self.program, graph, self.rule) {
            Err(refusal) => return Ok(Err(format!("not modelled: {}", refusal.what))),
            Ok(clauses) => clauses,
        };
        self.outcome.scripts.push(("invariants".into(), format!("(set-logic HORN)\n{clauses}")));
        let found = horn::search(&clauses, self.solver, patience)?;
        self.hasty = matches!(found, horn::Search::Open(_)) && patience < self.limits.timeout;
        Ok(match found {
            horn::Search::Found(certificate) => {
                self.outcome.certificate = Some(certificate);
                Ok(Verdict::Safe("an invariant of each loop, found and checked".into()))
            }
            horn::Search::None => Err("no invariant about single rows is enough".into()),
            horn::Search::Open(why) => Err(format!("looking for invariants: {why}")),
        })
    }

    /// The exact question about a graph without loops: with everything that is not tracked, and if that finds something, with nothing
    /// else than what is tracked, so that it can be run.
    fn exact(
        &mut self,
        graph: &Graph,
        rounds: usize,
        mut patience: Duration,
    ) -> Result<Result<(Exact, Vec<String>), Refusal>, Silence> {
        let mut why = String::new();
        for (extra, residues) in [(0, true), (0, false), (2, false), (4, false)] {
            let plan = plan(self.program.catalog(), graph, &self.rule.query, extra);
            let question = match exact::question(self.program, graph, self.rule, &plan, residues) {
                Err(refusal) => return Ok(Err(refusal)),
                Ok(question) => question,
            };
            self.note(&question, rounds, extra, residues);
            let mut session = self.solver.start()?;
            session.tell(&question.ctx.script.to_string());
            match session.check(patience) {
                Ok(Answer::Unsat) if residues => {
                    return Ok(Ok((Exact::Never, question.ctx.incomplete.into_iter().collect())));
                }
                Ok(Answer::Unsat) => why = "sums or counts over rows that are not tracked may break the rule".into(),
                Ok(Answer::Sat) => {
                    let proposal = witness::propose(&mut session, self.program, graph, &question, self.limits);
                    match proposal {
                        Ok(Some(proposal)) => {
                            if let Some(found) = witness::confirm(self.program, graph, self.rule, &proposal) {
                                return Ok(Ok((Exact::Shown(Box::new(found)), Vec::new())));
                            }
                            why = "the solver found a violation that running it does not show".into();
                        }
                        Ok(None) => why = "the solver found a violation that cannot be written down".into(),
                        Err(silence) => why = answer_only(silence)?,
                    }
                }
                Err(silence) => {
                    why = answer_only(silence)?;
                    // What is asked next is easier, or as hard.
                    patience /= 2;
                }
            }
            if residues && !uses_rest(&question) {
                break;
            }
        }
        Ok(Ok((Exact::Open(why), Vec::new())))
    }

    fn note(&mut self, question: &Question, rounds: usize, extra: usize, residues: bool) {
        let all = if residues { "" } else { ", tracked rows only" };
        let more = if extra > 0 { format!(", {extra} rows more") } else { String::new() };
        let name = format!("rounds {rounds}{all}{more}");
        self.outcome.scripts.push((name, question.ctx.script.to_string()));
        for function in &question.ctx.modulo {
            if !self.outcome.modulo.contains(function) {
                self.outcome.modulo.push(function.clone());
            }
        }
        for assumption in &question.ctx.assumptions {
            if !self.outcome.assumptions.contains(assumption) {
                self.outcome.assumptions.push(assumption);
            }
        }
    }
}

/// Whether rows that are not tracked count.
fn uses_rest(question: &Question) -> bool {
    question.ctx.script.functions.iter().any(|function| function.name.starts_with("rest"))
}

/// A solver that does not know leaves one question open; one that is not there leaves all.
fn answer_only(silence: Silence) -> Result<String, Silence> {
    match silence {
        Silence::Unknown | Silence::Timeout(_) => Ok(silence.to_string()),
        Silence::Missing(_) | Silence::Crash(_) => Err(silence),
    }
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
