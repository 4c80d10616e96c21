//! The boolean program, printed.
//!
//! Every statement becomes an assignment to predicates. `p := choose(a, b)` makes `p` true if `a`, false if `b`, and
//! either otherwise; `*` is `choose(false, false)`. `a` is the weakest condition over the predicates before the
//! statement from which `p` follows behind it, written with at most three predicates at a time. All assignments of a
//! statement happen at once; predicates that are not named keep their values, or are no longer asked. An error that
//! nobody handles undoes everything, so it leads nowhere.
//!
//! The program is made for looking at. Whether the error can be reached is decided on the same predicates without that
//! bound, and with what is known of other rows.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use isolde_smt::{Answer, Session, Silence, Solver, Term};

use super::{Cube, Predicate, Round, Subject};
use crate::horn::Clause;
use crate::ir;

/// So many predicates at a time.
const LITERALS_MAX: usize = 3;
/// So many in a combination that cannot be.
const NEVER_MAX: usize = 4;

impl Subject<'_> {
    /// The boolean program of an abstraction.
    pub fn boolean_program(&self, round: &Round, solver: &Solver, timeout: Duration) -> Result<String, Silence> {
        let predicates = &round.predicates;
        let mut out = legend(predicates);
        let mut printer = Printer { subject: self, predicates, session: solver.start()?, timeout, never: Vec::new() };
        let mut starts: Vec<Option<usize>> = self.cuts.iter().copied().map(Some).collect();
        starts.sort_by_key(|cut| cut.map(|cut| (self.line_of(Some(cut)), cut)));
        starts.insert(0, None);
        printer.never = printer.impossible()?;
        if !printer.never.is_empty() {
            let _ = writeln!(out, "  never: {}", printer.any(&printer.never).replace(" | ", ", "));
        }
        for from in starts {
            let clauses: Vec<&Clause> = self.clauses.clauses.iter().filter(|clause| clause.from == from).collect();
            let several = clauses.len() > 1;
            for (n, clause) in clauses.into_iter().enumerate() {
                let label = if n == 0 { label(from) } else { String::new() };
                let lead = match (several, n) {
                    (false, _) => "",
                    (true, 0) => "either ",
                    (true, _) => "or     ",
                };
                let _ = writeln!(out, "{label:7}{lead}// {}", self.described(clause));
                for line in printer.statement(clause)? {
                    let _ = writeln!(out, "        {line}");
                }
            }
        }
        Ok(out)
    }

    /// The line at which a cut stands; the start is where the procedure is.
    pub(super) fn line_of(&self, cut: Option<usize>) -> usize {
        self.program.line(self.graph.nodes[cut.unwrap_or(self.graph.entry)].span)
    }

    /// The next place at which something is done.
    fn behind(&self, node: usize) -> usize {
        let mut node = node;
        while !self.cuts.contains(&node) {
            let mut leaving = self.graph.leaving(node);
            match (leaving.next(), leaving.next()) {
                (Some(edge), None) if matches!(edge.action, ir::Action::Skip) => node = edge.to,
                _ => break,
            }
        }
        node
    }

    /// What a clause does, with its line.
    pub(super) fn described(&self, clause: &Clause) -> String {
        let graph = self.graph;
        let (from, to) = (clause.from.unwrap_or(graph.entry), clause.to.unwrap_or(graph.exit));
        let edges: Vec<&ir::Edge> = graph.leaving(from).filter(|edge| self.behind(edge.to) == to).collect();
        match edges.as_slice() {
            [edge] => {
                let line = self.program.line(edge.span);
                let text = ir::described(edge, graph, &self.program.source);
                if text.is_empty() { format!("line {line}") } else { format!("line {line}: {text}") }
            }
            _ => format!("line {} to line {}", self.line_of(clause.from), self.program.line(graph.nodes[to].span)),
        }
    }
}

fn label(cut: Option<usize>) -> String {
    cut.map_or("start:".into(), |cut| format!("L{cut}:"))
}

/// What the predicates mean.
fn legend(predicates: &[Predicate]) -> String {
    let width = predicates.iter().map(|p| p.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for predicate in predicates {
        let _ = writeln!(out, "  {:width$}  {}", predicate.name, predicate.text());
    }
    out
}

struct Printer<'s, 'a> {
    subject: &'s Subject<'a>,
    predicates: &'s [Predicate],
    session: Session,
    timeout: Duration,
    /// Combinations of predicates that cannot be, whatever happens.
    never: Vec<Cube>,
}

impl Printer<'_, '_> {
    /// Combinations that contradict themselves.
    fn impossible(&mut self) -> Result<Vec<Cube>, Silence> {
        let literals = self.predicates.iter().map(|predicate| predicate.term.clone()).enumerate().collect();
        self.session.tell("(push 1)\n");
        self.session.tell(&self.subject.vocabulary().to_string());
        let never = self.refuting(&literals, &Term::True, &[], NEVER_MAX);
        self.session.tell("(pop 1)\n");
        self.needed(never?, &[])
    }

    /// What a clause does to predicates.
    fn statement(&mut self, clause: &Clause) -> Result<Vec<String>, Silence> {
        let (atoms, conditions) = self.subject.atoms(clause);
        let before: BTreeMap<usize, Term> = match (clause.from, atoms.first()) {
            (Some(cut), Some(atom)) => {
                let asked = self.subject.askable(self.predicates, cut);
                asked.into_iter().map(|at| (at, self.subject.said_of(&self.predicates[at].term, atom))).collect()
            }
            _ => BTreeMap::new(),
        };
        self.session.tell("(push 1)\n");
        self.session.tell(&clause.script.to_string());
        conditions.into_iter().for_each(|term| self.session.tell(&format!("(assert {term})\n")));
        let never = self.never.clone();
        let infeasible = self.refuting(&before, &Term::True, &never, LITERALS_MAX)?;
        let blocked = self.needed(infeasible.clone(), &never)?;
        let mut lines = Vec::new();
        let ways: Vec<String> = blocked.iter().map(|cube| self.denied(cube)).collect();
        match blocked.iter().any(|cube| cube.0.is_empty()) {
            true => lines.push("assume(false);".to_string()),
            false if ways.is_empty() => {}
            false => lines.push(format!("assume({});", ways.join(" & "))),
        }
        let out: Vec<Cube> = never.iter().chain(&infeasible).cloned().collect();
        match clause.to {
            None => {
                let kept = self.refuting(&before, &clause.head.clone().not(), &out, LITERALS_MAX)?;
                let kept = self.needed(kept, &out)?;
                lines.push(format!("assert({});", self.any(&kept)));
            }
            Some(cut) => {
                let asked = self.subject.askable(self.predicates, cut);
                // What cannot be behind the statement either need not be said; what is forgotten there must.
                let lasting = |cube: &&Cube| cube.0.len() <= 2 || cube.0.keys().all(|at| asked.contains(at));
                let known: Vec<Cube> = out.iter().filter(lasting).chain(&blocked).cloned().collect();
                for at in asked.clone() {
                    let behind = self.subject.said_of(&self.predicates[at].term, &clause.head);
                    let holds = self.refuting(&before, &behind.clone().not(), &out, LITERALS_MAX)?;
                    let fails = self.refuting(&before, &behind, &out, LITERALS_MAX)?;
                    let (holds, fails) = (self.needed(holds, &known)?, self.needed(fails, &known)?);
                    lines.extend(self.assignment(at, before.contains_key(&at), &holds, &fails));
                }
                lines.push(format!("goto L{cut};"));
            }
        }
        self.session.tell("(pop 1)\n");
        Ok(lines)
    }

    /// `p := choose(..)`; nothing if it stays as it is.
    fn assignment(&self, at: usize, was_asked: bool, holds: &[Cube], fails: &[Cube]) -> Option<String> {
        let only = |value: bool| vec![Cube(BTreeMap::from([(at, value)]))];
        if was_asked && *holds == only(true) && *fails == only(false) {
            return None;
        }
        let name = &self.predicates[at].name;
        let (yes, no) = (self.any(holds), self.any(fails));
        Some(match (yes.as_str(), no.as_str()) {
            ("false", "false") => format!("{name} := *;"),
            ("true", _) => format!("{name} := true;"),
            (_, "true") => format!("{name} := false;"),
            _ => format!("{name} := choose({yes}, {no});"),
        })
    }

    /// Shortest combinations of literals, none of them out of the question, with which something cannot be.
    fn refuting(
        &mut self,
        literals: &BTreeMap<usize, Term>,
        term: &Term,
        out: &[Cube],
        most: usize,
    ) -> Result<Vec<Cube>, Silence> {
        let mut found: Vec<Cube> = Vec::new();
        // What was seen to be possible: the values of all literals.
        let mut seen: Vec<BTreeMap<usize, bool>> = Vec::new();
        for cube in cubes(&literals.keys().copied().collect::<Vec<_>>(), most) {
            let says_more = |other: &Cube| other.0.iter().all(|(at, holds)| cube.0.get(at) == Some(holds));
            if found.iter().chain(out).any(says_more) {
                continue;
            }
            let meets = |values: &BTreeMap<usize, bool>| cube.0.iter().all(|(at, holds)| values.get(at) == Some(holds));
            if seen.iter().any(meets) {
                continue;
            }
            let literal = |(at, holds): (&usize, &bool)| {
                let term = literals[at].clone();
                if *holds { term } else { term.not() }
            };
            let all = Term::and(cube.0.iter().map(literal).chain([term.clone()]));
            self.session.tell(&format!("(push 1)\n(assert {all})\n"));
            match self.session.check(self.timeout) {
                Ok(Answer::Unsat) => found.push(cube),
                Ok(Answer::Sat) if literals.is_empty() => {}
                Ok(Answer::Sat) => {
                    let terms: Vec<Term> = literals.values().cloned().collect();
                    let values = self.session.values(&terms, self.timeout)?;
                    let values = literals.keys().zip(&values).map(|(at, value)| (*at, value.atom() == Some("true")));
                    seen.push(values.collect());
                }
                Err(Silence::Unknown) => {}
                Err(silence) => return Err(silence),
            }
            self.session.tell("(pop 1)\n");
        }
        Ok(found)
    }

    /// Those combinations that say something which the others do not say already, given what is known not to be.
    fn needed(&mut self, cubes: Vec<Cube>, known: &[Cube]) -> Result<Vec<Cube>, Silence> {
        let mut kept = cubes;
        if kept.len() < 2 {
            return Ok(kept);
        }
        self.session.tell("(push 1)\n");
        let names = self.predicates.iter().map(|predicate| format!("(declare-fun {} () Bool)\n", truth(predicate)));
        self.session.tell(&names.collect::<String>());
        let out: Vec<Term> = known.iter().map(|cube| self.plain(cube).not()).collect();
        out.iter().for_each(|term| self.session.tell(&format!("(assert {term})\n")));
        // Long ones are the first to go.
        for at in (0..kept.len()).rev() {
            let others = kept.iter().enumerate().filter(|(n, _)| *n != at);
            let others = Term::or(others.map(|(_, cube)| self.plain(cube)));
            let alone = Term::and([self.plain(&kept[at]), others.not()]);
            self.session.tell(&format!("(push 1)\n(assert {alone})\n"));
            if self.session.check(self.timeout) == Ok(Answer::Unsat) {
                kept.remove(at);
            }
            self.session.tell("(pop 1)\n");
        }
        self.session.tell("(pop 1)\n");
        Ok(kept)
    }

    /// A combination of truth values, whatever the predicates mean.
    fn plain(&self, cube: &Cube) -> Term {
        let literal = |(at, holds): (&usize, &bool)| {
            let name = Term::constant(truth(&self.predicates[*at]));
            if *holds { name } else { name.not() }
        };
        Term::and(cube.0.iter().map(literal))
    }

    /// One of these.
    fn any(&self, cubes: &[Cube]) -> String {
        let mut all: Vec<String> = cubes.iter().map(|cube| self.every(cube)).collect();
        all.sort_by_key(String::len);
        if all.is_empty() { "false".into() } else { all.join(" | ") }
    }

    fn every(&self, cube: &Cube) -> String {
        let literals = cube.0.iter().map(|(at, holds)| self.literal(*at, *holds));
        let literals: Vec<String> = literals.collect();
        if literals.is_empty() { "true".into() } else { literals.join(" & ") }
    }

    /// Not all of these.
    fn denied(&self, cube: &Cube) -> String {
        let literals: Vec<String> = cube.0.iter().map(|(at, holds)| self.literal(*at, !holds)).collect();
        if literals.len() == 1 { literals.concat() } else { format!("({})", literals.join(" | ")) }
    }

    fn literal(&self, at: usize, holds: bool) -> String {
        format!("{}{}", if holds { "" } else { "!" }, self.predicates[at].name)
    }
}

/// A predicate as nothing but true or false.
fn truth(predicate: &Predicate) -> String {
    format!("is.{}", predicate.name)
}

/// All combinations of so many literals at most, short ones first.
fn cubes(predicates: &[usize], most: usize) -> Vec<Cube> {
    let mut all = vec![Cube::default()];
    let mut last = all.clone();
    for _ in 0..most {
        let longer = last.iter().flat_map(|cube| {
            let above = predicates.iter().filter(|at| cube.0.keys().next_back().is_none_or(|last| *at > last));
            above.flat_map(|at| {
                [true, false].map(|holds| {
                    let mut more = cube.clone();
                    more.0.insert(*at, holds);
                    more
                })
            })
        });
        last = longer.collect();
        all.extend(last.iter().cloned());
    }
    all
}
