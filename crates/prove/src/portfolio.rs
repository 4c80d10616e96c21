//! Who is asked, in which order, and what the answers amount to.

use std::collections::BTreeSet;
use std::time::Duration;

use isolde_smt::{Answer, Silence, Solver};
use isolde_sql::builtin::Eval;
use isolde_sql::catalog::{RoutineId, TableId};
use isolde_sql::typed::{ExprKind, Query};

use crate::Limits;
use crate::abstraction::{End, Subject};
use crate::exact::{self, Question};
use crate::guard::{Guard, guards};
use crate::horn::{self, Certificate};
use crate::ir::{self, Graph};
use crate::logic::Refusal;
use crate::plan::{Plan, changed_tables, plan_with};
use crate::program::{Program, Rule};
use crate::witness::{self, Confirmed, Witness};

/// What is known about one procedure and one rule.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer.
    pub verdict: Verdict,
    /// Functions of which only that they are functions was used.
    pub modulo: Vec<String>,
    /// What was taken for granted because of the types that occur.
    pub assumptions: Vec<&'static str>,
    /// Other rules that have to hold before the call.
    pub needs: Vec<String>,
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

/// The verdict alone. The rule by itself is assumed first. Where rows are found that break it, but break another rule
/// before the call, that rule is assumed as well, and the question put again: so only rules that are needed are
/// assumed.
pub(crate) fn decide_only(
    program: &Program,
    id: RoutineId,
    rule: &Rule,
    solver: &Solver,
    limits: &Limits,
) -> Result<Outcome, Silence> {
    let graph = match ir::lower(program.catalog(), id) {
        Err(refusal) => {
            let verdict = Verdict::Unknown(refused(program, refusal));
            return Ok(Outcome { verdict, ..Outcome::empty() });
        }
        Ok(graph) => graph,
    };
    if leaves_alone(program, &graph, rule) {
        return Ok(Outcome::safe("it changes no table that the rule reads"));
    }
    let tables = plan_with(program.catalog(), &ir::unroll(&graph, 1), &rule.query, &[], 0).counts.into_keys().collect();
    if let Some(gap) = program.gap(&tables) {
        let what = format!("not read: {}, which concerns a table that is needed: {}", gap.statement, gap.what);
        let verdict = Verdict::Unknown(Reason { what, line: Some(program.line(gap.span)) });
        return Ok(Outcome { verdict, ..Outcome::empty() });
    }
    let mut assumed: Vec<&Rule> = Vec::new();
    // What is known without other rules; or, if that is only that others are needed, with them.
    let mut open: Option<Outcome> = None;
    loop {
        let mut search = Search::new(program, rule, assumed.clone(), solver, limits);
        let verdict = search.everybody(&graph)?;
        let is_decided = matches!(verdict, Verdict::Safe(_) | Verdict::Unsafe(_));
        let needs: Vec<&Rule> = search.needs.iter().map(|at| &program.rules[*at]).collect();
        let is_needing = !needs.is_empty();
        search.outcome.verdict = verdict;
        let outcome = search.outcome;
        if is_decided {
            let needs = if matches!(outcome.verdict, Verdict::Safe(_)) { assumed } else { Vec::new() };
            return Ok(Outcome { needs: needs.iter().map(|rule| rule.name.to_string()).collect(), ..outcome });
        }
        let new = |rule: &&Rule| !assumed.iter().any(|known| std::ptr::eq(*known, *rule));
        let mut more: Vec<&Rule> = needs.into_iter().filter(new).collect();
        if more.is_empty() && assumed.is_empty() {
            // Nothing says which would help: those about the same tables might.
            let tables = rule.query.tables();
            let near = |other: &&Rule| other.name != rule.name && !other.query.tables().is_disjoint(&tables);
            more = program.rules.iter().filter(near).collect();
        }
        if more.is_empty() {
            return Ok(open.unwrap_or(outcome));
        }
        if !is_needing {
            open.get_or_insert(outcome);
        }
        assumed.extend(more);
    }
}

/// Whether a procedure changes no table that a rule reads, by itself or through foreign keys; and everything is known
/// about those that it changes.
fn leaves_alone(program: &Program, graph: &Graph, rule: &Rule) -> bool {
    let catalog = program.catalog();
    let changed = changed_tables(catalog, graph);
    let has_trigger = |table: &TableId| catalog.table(*table).triggers.iter().any(|trigger| trigger.enabled);
    let mut depends_on_time = false;
    rule.query.walk(0, &mut |e, _| {
        depends_on_time |= matches!(&e.kind, ExprKind::Call(builtin, _) if matches!(builtin.eval, Eval::Session(_)));
    });
    changed.is_disjoint(&rule.query.tables())
        && !changed.iter().any(has_trigger)
        && program.gap(&changed).is_none()
        && !depends_on_time
}

impl Outcome {
    /// Safe, without a question.
    pub(crate) fn safe(how: &str) -> Outcome {
        Outcome { verdict: Verdict::Safe(how.into()), ..Outcome::empty() }
    }

    /// Not known, for a reason that has no line.
    pub(crate) fn unknown(why: &str) -> Outcome {
        Outcome { verdict: Verdict::Unknown(Reason { what: why.into(), line: None }), ..Outcome::empty() }
    }

    fn empty() -> Outcome {
        let nothing = Reason { what: "no question was put".into(), line: None };
        Outcome {
            verdict: Verdict::Unknown(nothing),
            modulo: Vec::new(),
            assumptions: Vec::new(),
            needs: Vec::new(),
            guards: Vec::new(),
            certificate: None,
            scripts: Vec::new(),
        }
    }
}

fn refused(program: &Program, refusal: Refusal) -> Reason {
    Reason { line: refusal.span.map(|span| program.line(span)), what: format!("not modelled: {}", refusal.what) }
}

/// Rows were found that break the rule, but another rule does not hold of them before the call.
const NEEDS: &str = "another rule has to hold before the call";

struct Search<'a> {
    program: &'a Program,
    rule: &'a Rule,
    /// Other rules that hold before the call.
    assumed: Vec<&'a Rule>,
    /// Rules that rows which were found do not meet before the call, by position.
    needs: BTreeSet<usize>,
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

impl<'a> Search<'a> {
    fn new(
        program: &'a Program,
        rule: &'a Rule,
        assumed: Vec<&'a Rule>,
        solver: &'a Solver,
        limits: &'a Limits,
    ) -> Search<'a> {
        let (outcome, needs) = (Outcome::empty(), BTreeSet::new());
        Search { program, rule, assumed, needs, solver, limits, outcome, hasty: false }
    }

    /// The exact question first; what it leaves open goes to predicate abstraction. The other way round, where so many
    /// rows may matter that the exact question cannot settle it.
    fn everybody(&mut self, graph: &Graph) -> Result<Verdict, Silence> {
        let large = graph.is_loop_free() && !self.plan(graph, 0).incomplete.is_empty();
        let early = if large { Some(self.refined(graph)?) } else { None };
        if let Some(Ok(verdict)) = early {
            return Ok(verdict);
        }
        if !self.needs.is_empty() {
            return Ok(Verdict::Unknown(Reason { what: NEEDS.into(), line: None }));
        }
        let open = match self.rounds(graph)? {
            open if !self.needs.is_empty() => return Ok(open),
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
        let subject = match Subject::beside(self.program, graph, self.rule, &self.assumed) {
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

    /// Loops written out more and more often, until something is found; after the first time, invariants are looked
    /// for.
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
            if !self.needs.is_empty() {
                return Ok(known);
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
        let clauses = match horn::clauses(self.program, graph, self.rule, &self.assumed) {
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

    /// The exact question about a graph without loops: with everything that is not tracked, and if that finds
    /// something, with nothing else than what is tracked, so that it can be run.
    fn exact(
        &mut self,
        graph: &Graph,
        rounds: usize,
        mut patience: Duration,
    ) -> Result<Result<(Exact, Vec<String>), Refusal>, Silence> {
        let mut why = String::new();
        for (extra, residues) in [(0, true), (0, false), (2, false), (4, false)] {
            let plan = self.plan(graph, extra);
            let question = match exact::question(self.program, graph, self.rule, &self.assumed, &plan, residues) {
                Err(refusal) => return Ok(Err(refusal)),
                Ok(question) => question,
            };
            self.note(&question, rounds, extra, residues);
            let mut session = self.solver.start()?;
            session.tell(&question.ctx.script.to_string());
            session.tell(&format!("(push 1)\n(assert {})\n", question.broken));
            let answer = session.check(patience);
            session.tell("(pop 1)\n");
            match answer {
                Ok(Answer::Unsat) if residues => {
                    return Ok(Ok((Exact::Never, question.ctx.incomplete.into_iter().collect())));
                }
                Ok(Answer::Unsat) => why = "sums or counts over rows that are not tracked may break the rule".into(),
                Ok(Answer::Sat) => {
                    let proposal = witness::propose(&mut session, self.program, graph, &question, self.limits);
                    match proposal {
                        Ok(Some(proposal)) => {
                            match witness::confirm(self.program, graph, self.rule, &proposal) {
                                Confirmed::Shown(found) => return Ok(Ok((Exact::Shown(found), Vec::new()))),
                                Confirmed::Needs(rules) => {
                                    self.needs.extend(rules);
                                    return Ok(Ok((Exact::Open(NEEDS.into()), Vec::new())));
                                }
                                Confirmed::No => {}
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

    fn plan(&self, graph: &Graph, extra: usize) -> Plan {
        let others: Vec<&Query> = self.assumed.iter().map(|other| &*other.query).collect();
        plan_with(self.program.catalog(), graph, &self.rule.query, &others, extra)
    }

    fn note(&mut self, question: &Question, rounds: usize, extra: usize, residues: bool) {
        let all = if residues { "" } else { ", tracked rows only" };
        let more = if extra > 0 { format!(", {extra} rows more") } else { String::new() };
        let name = format!("rounds {rounds}{all}{more}");
        self.outcome.scripts.push((name, question.text()));
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
        Silence::Unknown | Silence::Timeout(_) | Silence::Stopped(_) | Silence::Crash(_) => Ok(silence.to_string()),
        Silence::Missing(_) => Err(silence),
    }
}
