//! Predicate abstraction, refined by counterexamples.
//!
//! A procedure with its tables has infinitely many states. Look at it through a few yes-or-no questions instead
//! (*predicates*: "the balance of the row is at least 1000", "the row is the one that was read") and finitely many are
//! left: it has become a program over booleans, which does whatever the procedure may do and possibly more. Three
//! modules take turns:
//!
//! ```text
//!   predicates ──abstraction──▶ boolean program ──verification──▶ no way to the error: an invariant, which is checked
//!       ▲                                             │
//!       │                                      a way to the error
//!       │                                             ▼
//!       └── predicates that rule it out ◀──no── can it happen? ──yes──▶ rows and arguments
//!                                        refinement
//! ```
//!
//! This is the loop of "(Towards) A Symbolic Model Checker for Database Programs", with every step made sound:
//!
//! - A predicate speaks about *one arbitrary row*, so that "true" is a statement about all rows; variables and columns
//!   are different things, related by predicates only ([`seeds`]).
//! - What a statement does to predicates is asked of a solver, over the same clauses from which loop invariants are
//!   found ([`horn`]). What does not follow is `*`, never "unchanged" ([`post`]).
//! - Of the other rows that a statement reads or writes, what holds of *all* combinations seen so far at that place is
//!   used, and the statement is looked at again when that becomes less.
//! - Whether a way to the error can happen is asked exactly, on as many rows as that way needs ([`refine`]).
//! - "Safe" is said of a certificate that the checker has accepted. A wrong predicate costs time, it cannot cost truth.

mod boolean;
mod explain;
mod formula;
mod post;
mod refine;
mod seeds;

use std::collections::BTreeMap;

use isolde_smt::{Deadline, Script, Silence, Solver, Term};

use crate::Limits;
use crate::horn::{self, Certificate, Clauses};
use crate::ir::Graph;
use crate::logic::Result as Modelled;
use crate::program::{Program, Rule};

pub use explain::{boolean_programs, explanations};
pub use post::Cube;
pub use seeds::seeds;

/// More abstractions of one procedure than this are not made.
const ROUNDS_MAX: usize = 12;
/// More predicates than this are not looked through.
const PREDICATES_MAX: usize = 60;
/// So many of the predicates that were learnt are tried by themselves.
const SINGLES_MAX: usize = 4;
/// The whole loop may take as long as so many questions.
const QUESTIONS_MAX: u32 = 3;

/// A yes-or-no question about the variables and one arbitrary row of each table.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicate {
    /// What it is called in the boolean program.
    pub name: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The question, over names of variables and columns.
    pub term: Term,
}

/// Where a predicate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// It is the rule.
    Rule,
    /// The row is one that a statement is about.
    Hit,
    /// What was read of the row is still in a variable.
    Link,
    /// The procedure, or its callers, ask for it.
    Branch,
    /// It is the rule as it will be after a statement.
    Effect,
    /// It was learnt from a way to the error that cannot happen.
    Learnt,
}

/// A procedure and a rule, cut into steps.
pub struct Subject<'a> {
    /// The file.
    pub program: &'a Program,
    /// The procedure.
    pub graph: &'a Graph,
    /// The rule.
    pub rule: &'a Rule,
    /// Rules that hold at the start as well.
    pub others: Vec<&'a Rule>,
    /// Where the procedure is cut.
    pub cuts: Vec<usize>,
    /// What happens from cut to cut.
    pub clauses: Clauses,
}

/// How a proof was looked for.
#[derive(Clone, Debug)]
pub struct Story {
    /// Each abstraction, and what was wrong with it.
    pub rounds: Vec<Round>,
    /// How it ended.
    pub end: End,
}

/// One abstraction.
#[derive(Clone, Debug)]
pub struct Round {
    /// What was asked.
    pub predicates: Vec<Predicate>,
    /// What the boolean program can come to, at each cut.
    pub reached: BTreeMap<usize, Vec<Cube>>,
    /// A way to the error: clauses, by position.
    pub path: Option<Vec<usize>>,
    /// What ruled it out.
    pub learnt: Vec<Predicate>,
}

/// How the loop ended.
#[derive(Clone, Debug)]
pub enum End {
    /// The boolean program never gets to the error, and its invariant was checked.
    Safe(Certificate),
    /// The last way to the error can happen: this one.
    Feasible(Box<Graph>),
    /// It is not known, and why.
    Open(String),
}

/// What a turn of the loop came to.
enum Turn {
    Done(End),
    Again(Vec<Predicate>),
}

impl<'a> Subject<'a> {
    /// Cuts a procedure at every place where that is possible.
    pub fn new(program: &'a Program, graph: &'a Graph, rule: &'a Rule) -> Modelled<Subject<'a>> {
        Subject::beside(program, graph, rule, &[])
    }

    /// The same where other rules hold at the start as well.
    pub fn beside(
        program: &'a Program,
        graph: &'a Graph,
        rule: &'a Rule,
        others: &[&'a Rule],
    ) -> Modelled<Subject<'a>> {
        let cuts = horn::places(graph);
        let clauses = horn::clauses_at(program, graph, rule, others, &cuts)?;
        Ok(Subject { program, graph, rule, others: others.to_vec(), cuts, clauses })
    }

    /// Looks for a proof, beginning with the predicates that SQL suggests.
    pub fn prove(&self, solver: &Solver, limits: &Limits) -> Result<Story, Silence> {
        self.prove_with(seeds(self), solver, limits)
    }

    /// Looks for a proof, beginning with any predicates.
    pub fn prove_with(&self, predicates: Vec<Predicate>, solver: &Solver, limits: &Limits) -> Result<Story, Silence> {
        let deadline = Deadline::after(limits.timeout * QUESTIONS_MAX);
        let mut story = Story { rounds: Vec::new(), end: End::Open("it was not begun".into()) };
        let mut predicates = predicates;
        let end = loop {
            match self.turn(&mut story.rounds, &predicates, solver, limits, deadline) {
                Ok(Turn::Done(end)) => break end,
                Ok(Turn::Again(learnt)) => predicates.extend(learnt),
                // One question that is too hard is not the end of everything.
                Err(silence @ (Silence::Unknown | Silence::Timeout(_) | Silence::Stopped(_))) => {
                    break End::Open(silence.to_string());
                }
                Err(silence) => return Err(silence),
            }
            if story.rounds.len() >= ROUNDS_MAX || predicates.len() > PREDICATES_MAX || deadline.is_over() {
                break End::Open(format!("still refining after {} abstractions", story.rounds.len()));
            }
        };
        story.end = end;
        Ok(story)
    }

    /// Abstraction, verification, refinement.
    fn turn(
        &self,
        rounds: &mut Vec<Round>,
        predicates: &[Predicate],
        solver: &Solver,
        limits: &Limits,
        deadline: Deadline,
    ) -> Result<Turn, Silence> {
        let explored = post::explore(self, predicates, solver, limits, deadline)?;
        let mut round = Round {
            predicates: predicates.to_vec(),
            reached: explored.reached,
            path: explored.path,
            learnt: Vec::new(),
        };
        let turn = match &round.path {
            _ if explored.late => {
                Turn::Done(End::Open("the abstraction has too many states for the time there is".into()))
            }
            None => Turn::Done(self.certified(&round, solver, limits)?),
            Some(path) => match refine::refine(self, path, predicates, solver, limits)? {
                refine::Refined::Feasible(graph) => Turn::Done(End::Feasible(graph)),
                refine::Refined::Stuck(why) => Turn::Done(End::Open(why)),
                refine::Refined::Learnt(learnt) => {
                    Turn::Again(self.fewest(path, predicates, learnt, solver, limits, deadline)?)
                }
            },
        };
        if let Turn::Again(learnt) = &turn {
            round.learnt.clone_from(learnt);
        }
        rounds.push(round);
        Ok(turn)
    }

    /// One predicate of those that were learnt, if it is enough to rule the way out; otherwise all.
    fn fewest(
        &self,
        path: &[usize],
        predicates: &[Predicate],
        learnt: Vec<Predicate>,
        solver: &Solver,
        limits: &Limits,
        deadline: Deadline,
    ) -> Result<Vec<Predicate>, Silence> {
        let mut short: Vec<&Predicate> = learnt.iter().collect();
        short.sort_by_key(|predicate| predicate.term.size());
        for one in short.into_iter().take(SINGLES_MAX) {
            let one =
                Predicate { name: named([(one.origin, one.term.clone())], predicates)[0].name.clone(), ..one.clone() };
            let with = [predicates, std::slice::from_ref(&one)].concat();
            let explored = post::explore(self, &with, solver, limits, deadline)?;
            if explored.late {
                break;
            }
            if explored.path.as_deref() != Some(path) {
                return Ok(vec![one]);
            }
        }
        Ok(learnt)
    }

    /// What the boolean program can come to, as an invariant that stands up to a check.
    fn certified(&self, round: &Round, solver: &Solver, limits: &Limits) -> Result<End, Silence> {
        let certificate = self.certificate(round);
        Ok(match certificate.check(&self.clauses, solver, limits.timeout)? {
            Ok(()) => End::Safe(certificate),
            Err(rejected) => End::Open(format!("the invariant of the boolean program does not stand up: {rejected}")),
        })
    }

    /// The invariant of each cut: one of the combinations that were reached there.
    pub fn certificate(&self, round: &Round) -> Certificate {
        let definitions = self.clauses.predicates.iter().map(|unknown| {
            let cubes = round.reached.get(&unknown.node).map_or(&[][..], Vec::as_slice);
            let holds = Term::or(cubes.iter().map(|cube| cube.formula(&round.predicates)));
            let place = |name: &str| unknown.about.iter().position(|about| about == name);
            let body = formula::put(&holds, &|name| place(name).map(|at| Term::constant(format!("x{at}"))));
            let sorts = unknown.sorts.iter().enumerate().map(|(at, sort)| format!("(x{at} {sort})"));
            let sorts: Vec<String> = sorts.collect();
            format!("(define-fun {} ({}) Bool {body})", unknown.name, sorts.join(" "))
        });
        Certificate { definitions: definitions.collect() }
    }

    /// The predicates that can be asked at a cut: those about what is still read behind it.
    pub(crate) fn askable(&self, predicates: &[Predicate], cut: usize) -> Vec<usize> {
        (0..predicates.len()).filter(|at| self.speaks_at(&predicates[*at].term, cut)).collect()
    }

    /// A formula is about what is still read behind a cut.
    pub(crate) fn speaks_at(&self, term: &Term, cut: usize) -> bool {
        let unknown = self.clauses.predicates.iter().find(|unknown| unknown.node == cut);
        unknown.is_some_and(|unknown| formula::names(term).iter().all(|name| unknown.about.contains(name)))
    }

    /// Everything that predicates can name.
    pub(crate) fn vocabulary(&self) -> Script {
        let mut script = Script::default();
        for unknown in &self.clauses.predicates {
            unknown.about.iter().zip(&unknown.sorts).for_each(|(name, sort)| script.function(name, &[], sort.clone()));
        }
        script
    }

    /// A formula over the names at a cut, said of the arguments that a clause gives it.
    pub(crate) fn said_of(&self, term: &Term, atom: &Term) -> Term {
        let Term::Apply(name, arguments) = atom else { return term.clone() };
        let Some(unknown) = self.clauses.predicates.iter().find(|unknown| *unknown.name == **name) else {
            return term.clone();
        };
        let place = |name: &str| unknown.about.iter().position(|about| about == name);
        formula::put(term, &|name| place(name).and_then(|at| arguments.get(at)).cloned())
    }

    /// What a clause knows at its beginning: the predicate of the cut, once per row.
    pub(crate) fn atoms<'c>(&self, clause: &'c horn::Clause) -> (Vec<&'c Term>, Vec<&'c Term>) {
        let is_atom = |term: &&Term| match term {
            Term::Apply(name, _) => self.clauses.predicates.iter().any(|unknown| *unknown.name == **name),
            _ => false,
        };
        clause.body.iter().partition(is_atom)
    }
}

/// Predicates with names of their own: what is there already, or says the opposite of it, is left out.
pub(crate) fn named(new: impl IntoIterator<Item = (Origin, Term)>, old: &[Predicate]) -> Vec<Predicate> {
    let mut added: Vec<Predicate> = Vec::new();
    for (origin, term) in new {
        let term = match term {
            Term::Not(inner) if origin == Origin::Learnt => *inner,
            term => term,
        };
        let known = |p: &&Predicate| p.term == term || p.term == term.clone().not();
        if matches!(term, Term::True | Term::False) || old.iter().chain(&added).any(|p| known(&p)) {
            continue;
        }
        let same = old.iter().chain(&added).filter(|p| p.origin == origin).count();
        let name = if same == 0 { origin.word().to_string() } else { format!("{}{}", origin.word(), same + 1) };
        added.push(Predicate { name, origin, term });
    }
    added
}

impl Origin {
    /// How predicates of this origin are called.
    pub fn word(self) -> &'static str {
        match self {
            Origin::Rule => "ok",
            Origin::Hit => "hit",
            Origin::Link => "link",
            Origin::Branch => "grd",
            Origin::Effect => "eff",
            Origin::Learnt => "new",
        }
    }

    /// Where it comes from, in words.
    pub fn reason(self) -> &'static str {
        match self {
            Origin::Rule => "the rule",
            Origin::Hit => "the row is one that a statement is about",
            Origin::Link => "what was read of the row is still in a variable",
            Origin::Branch => "the procedure branches on it",
            Origin::Effect => "the rule as a statement would leave it",
            Origin::Learnt => "learnt",
        }
    }
}

impl Predicate {
    /// The question, as people write it.
    pub fn text(&self) -> String {
        formula::shown(&self.term)
    }
}
