//! Whether a way to the error can happen, and what is to be learnt if it cannot.
//!
//! The boolean program knows of each row by itself what the predicates say, so it may take ways that no database
//! allows. A way is written out as a procedure of its own, without branches, and asked about exactly, with a row for
//! every lookup on it. If it can happen, those rows and arguments break the rule.
//!
//! If not, there is a reason at each cut of the way: something that holds after what happened so far, and rules out the
//! rest (an *interpolant*). Spacer finds these when the way is given to it as a chain of clauses, one unknown per cut.
//! Where it gives none, the comparisons of the rule, carried backwards over the way, are taken.
//!
//! Every turn must ask something that was not asked before. If nothing new is learnt, the loop stops.

use std::collections::BTreeMap;

use isolde_smt::{Answer, Sexp, Silence, Solver, Term};

use super::formula::{comparisons, conjuncts, names, put, read, written_out};
use super::{Origin, Predicate, Subject, named};
use crate::Limits;
use crate::exact;
use crate::horn::{self, Certificate, Clause, Clauses, piece};
use crate::ir::{Edge, Graph};
use crate::plan::plan_with;

/// What came of looking at a way to the error.
pub(super) enum Refined {
    /// It can happen.
    Feasible(Box<Graph>),
    /// It cannot, and this says why.
    Learnt(Vec<Predicate>),
    /// Nothing new was learnt.
    Stuck(String),
}

/// Looks at a way to the error.
pub(super) fn refine(
    subject: &Subject<'_>,
    path: &[usize],
    known: &[Predicate],
    solver: &Solver,
    limits: &Limits,
) -> Result<Refined, Silence> {
    let graph = straight(subject, path);
    let others: Vec<_> = subject.others.iter().map(|other| &*other.query).collect();
    let plan = plan_with(subject.program.catalog(), &graph, &subject.rule.query, &others, 0);
    let question = match exact::question(subject.program, &graph, subject.rule, &subject.others, &plan, true) {
        Ok(question) => question,
        Err(refusal) => return Ok(Refined::Stuck(format!("not modelled: {}", refusal.what))),
    };
    let text = question.text();
    let asked = solver.with_session(|session| {
        session.tell(&text);
        session.check(limits.timeout)
    });
    match asked {
        Ok(Answer::Sat) => return Ok(Refined::Feasible(Box::new(graph))),
        Ok(Answer::Unsat) => {}
        Err(silence @ (Silence::Unknown | Silence::Timeout(_) | Silence::Stopped(_))) => {
            return Ok(Refined::Stuck(format!("whether a way to a violation can happen: {silence}")));
        }
        Err(silence) => return Err(silence),
    }
    let chain = chain(subject, path);
    let learnt = match horn::search(&chain, solver, limits.timeout)? {
        horn::Search::Found(reasons) => named(interpolants(&chain, &reasons), known),
        horn::Search::None => {
            let why = "a way to a violation cannot happen, but no fact about single rows rules it out";
            return Ok(Refined::Stuck(why.into()));
        }
        horn::Search::Open(_) => Vec::new(),
    };
    let learnt = different(subject, learnt, known, solver, limits)?;
    let learnt = match learnt.is_empty() {
        true => named(backwards(subject, path).into_iter().map(|term| (Origin::Learnt, term)), known),
        false => learnt,
    };
    Ok(match learnt.is_empty() {
        true => Refined::Stuck("a way to a violation cannot happen, but nothing new was learnt from that".into()),
        false => Refined::Learnt(learnt),
    })
}

/// Those predicates that do not ask the same as another in different words.
fn different(
    subject: &Subject<'_>,
    learnt: Vec<Predicate>,
    known: &[Predicate],
    solver: &Solver,
    limits: &Limits,
) -> Result<Vec<Predicate>, Silence> {
    let mut kept: Vec<Predicate> = Vec::new();
    let mut session = solver.start()?;
    session.tell(&subject.vocabulary().to_string());
    for predicate in learnt {
        let mut same = false;
        let alike = known.iter().chain(&kept).filter(|other| names(&other.term) == names(&predicate.term));
        for other in alike {
            let differ = Term::Iff(Box::new(predicate.term.clone()), Box::new(other.term.clone())).not();
            session.tell(&format!("(push 1)\n(assert {differ})\n"));
            same |= session.check(limits.timeout)? == Answer::Unsat;
            session.tell("(pop 1)\n");
        }
        if !same {
            kept.push(predicate);
        }
    }
    Ok(named(kept.into_iter().map(|predicate| (predicate.origin, predicate.term)), known))
}

/// The procedure that goes this way and no other.
pub(super) fn straight(subject: &Subject<'_>, path: &[usize]) -> Graph {
    let graph = subject.graph;
    let mut whole = Graph { nodes: Vec::new(), edges: Vec::new(), heads: Vec::new(), ..graph.clone() };
    let mut after: Option<usize> = None;
    for number in path {
        let clause = &subject.clauses.clauses[*number];
        let (part, ends) = piece(graph, &subject.cuts, clause.from.unwrap_or(graph.entry));
        let end = ends.iter().find(|(_, cut)| **cut == clause.to).map_or(graph.exit, |(end, _)| *end);
        let base = whole.nodes.len();
        whole.nodes.extend(part.nodes);
        let shifted = |node: usize| base + node;
        // Where the last piece ended, this one begins.
        match after {
            None => whole.entry = shifted(part.entry),
            Some(before) => whole.edges.push(Edge {
                from: before,
                to: shifted(part.entry),
                action: crate::ir::Action::Skip,
                span: whole.nodes[before].span,
                on_error: None,
            }),
        }
        // Other ends are ways that are not taken.
        let dead = |node: usize| node != end && ends.contains_key(&node);
        let edges = part.edges.into_iter().filter(|edge| !dead(edge.to) || edge.on_error.is_some_and(|to| !dead(to)));
        whole.edges.extend(edges.map(|edge| Edge {
            from: shifted(edge.from),
            to: shifted(edge.to),
            on_error: edge.on_error.map(shifted),
            ..edge
        }));
        after = Some(shifted(end));
    }
    whole.exit = after.unwrap_or(0);
    whole.nodes.iter_mut().for_each(|node| node.loops.clear());
    whole
}

/// The way as clauses with one unknown per cut on it.
fn chain(subject: &Subject<'_>, path: &[usize]) -> Clauses {
    let mut chain = Clauses::default();
    for (n, number) in path.iter().enumerate() {
        let clause = &subject.clauses.clauses[*number];
        let unknown = |cut: usize| subject.clauses.predicates.iter().find(|unknown| unknown.node == cut);
        let renamed = |term: &Term, to: String| match term {
            Term::Apply(_, arguments) => Term::apply(to, arguments.iter().cloned()),
            other => other.clone(),
        };
        let (atoms, conditions) = subject.atoms(clause);
        let mut body: Vec<Term> = atoms.into_iter().map(|atom| renamed(atom, format!("after{n}"))).collect();
        body.extend(conditions.into_iter().cloned());
        let head = match clause.to.and_then(unknown) {
            None => clause.head.clone(),
            Some(unknown) => {
                let name = format!("after{}", n + 1);
                chain.predicates.push(horn::Predicate { name: name.clone(), ..unknown.clone() });
                renamed(&clause.head, name)
            }
        };
        chain.clauses.push(Clause { body, head, ..clause.clone() });
    }
    chain
}

/// What the solver found to hold along the way, one statement at a time.
fn interpolants(chain: &Clauses, reasons: &Certificate) -> Vec<(Origin, Term)> {
    let mut found = Vec::new();
    for definition in reasons.definitions.iter().flat_map(|text| Sexp::read(text)) {
        let [_, name, Sexp::List(parameters), _, body] = definition.parts() else { continue };
        let Some(unknown) = chain.predicates.iter().find(|p| Some(p.name.as_str()) == name.atom()) else { continue };
        let named = parameters.iter().zip(&unknown.about).filter_map(|(parameter, about)| {
            let name = parameter.parts().first()?.atom()?.trim_matches('|').to_string();
            Some((name, Term::constant(about.as_str())))
        });
        let Some(holds) = read(body, &named.collect::<BTreeMap<_, _>>()) else { continue };
        found.extend(conjuncts(&holds).into_iter().filter(|part| part.size() < 40).map(|part| (Origin::Learnt, part)));
    }
    found
}

/// The comparisons of the rule, carried backwards over the way for as long as they speak about one row.
fn backwards(subject: &Subject<'_>, path: &[usize]) -> Vec<Term> {
    let mut found = Vec::new();
    let mut wanted: Option<Term> = None;
    for number in path.iter().rev() {
        let clause = &subject.clauses.clauses[*number];
        let behind = match &wanted {
            None => clause.head.clone(),
            Some(wanted) => subject.said_of(wanted, &clause.head),
        };
        let before = written_out(&behind, &clause.script);
        let Some(Term::Apply(name, arguments)) = subject.atoms(clause).0.first().copied() else { break };
        let Some(unknown) = subject.clauses.predicates.iter().find(|p| *p.name == **name) else { break };
        let place = |name: &str| {
            let at =
                arguments.iter().position(|a| matches!(a, Term::Apply(n, none) if none.is_empty() && **n == *name));
            at.map(|at| Term::constant(unknown.about[at].as_str()))
        };
        let before = put(&before, &place);
        let speaks = |term: &Term| names(term).iter().all(|name| unknown.about.contains(name));
        found.extend(comparisons(&before).into_iter().filter(|part| speaks(part) && part.size() < 12));
        if before.size() > 200 || !speaks(&before) {
            break;
        }
        wanted = Some(before);
    }
    found
}
