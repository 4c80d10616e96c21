//! Properties where states are joined to classes (VIEW, SYMMETRY).
//!
//! A state then stands for others, and a path of the graph need not be a behaviour: the step into a class may lead to
//! one state, the next step starts at another. What is shown must be a behaviour all the same.
//!
//! * What is broken by a single step (`[][A]_v`), in a single state (`[]P`) or at the start is looked for among the
//!   steps that were really taken. Every state that stands for a class was itself found from another such state, so the
//!   way to it is a behaviour.
//! * Anything else is decided on the graph, and the lasso is then walked once more, from state to state. The states
//!   passed are a small space of their own, in which the property must fail again. If it does not, or the lasso does
//!   not close, nothing is known.

use crate::explore::Interpreter;
use crate::explored::Explored;
use crate::graph::{Graph, Path, StateId};
use crate::live;
use crate::temporal::Meaning;
use crate::tla::Spec;
use crate::tla::builtin::Builtin;
use crate::tla::eval::{Env, Look, Partial};
use crate::tla::fault::{Fault, Result};
use crate::tla::ir::{Expr, Kind, Level};
use crate::tla::step::Flow;

/// A conjunct of a property that one state or one step can break.
pub(crate) enum Safety<'a> {
    /// In every start.
    Start(&'a Expr),
    /// In every state.
    State(&'a Expr),
    /// Every step.
    Step(&'a Expr),
}

/// The conjuncts of a property, if one state or one step can break each of them.
pub(crate) fn safety<'a>(spec: &'a Spec, property: &'a Expr) -> Option<Vec<Safety<'a>>> {
    if spec.level(property) <= Level::State {
        return Some(vec![Safety::Start(property)]);
    }
    match &*property.kind {
        Kind::And(parts) => {
            let parts: Option<Vec<_>> = parts.iter().map(|part| safety(spec, part)).collect();
            Some(parts?.into_iter().flatten().collect())
        }
        Kind::Defined(id, arguments) if arguments.is_empty() => safety(spec, &spec.definitions()[*id].body),
        Kind::Builtin(Builtin::Always, inner) => match &*inner[0].kind {
            Kind::Square(..) => Some(vec![Safety::Step(&inner[0])]),
            _ if spec.level(&inner[0]) <= Level::State => Some(vec![Safety::State(&inner[0])]),
            _ => None,
        },
        _ => None,
    }
}

/// Where a property is broken: the state, and the one after it if another one stands for that.
pub(crate) type Broken = (Option<StateId>, Option<Partial>);

/// The first state or step that breaks one of these.
pub(crate) fn broken(spec: &Spec, explored: &Explored, graph: &Graph, parts: &[Safety<'_>]) -> Result<Option<Broken>> {
    let evaluator = spec.evaluator();
    let breaks = |from: Option<&Partial>, to: &Partial| -> Result<bool> {
        for part in parts {
            let holds = match (part, from) {
                (Safety::Start(expr), None) => evaluator.truth(expr, Env::default(), Look::state(to))?,
                (Safety::State(expr), _) => evaluator.truth(expr, Env::default(), Look::state(to))?,
                (Safety::Step(expr), Some(from)) => evaluator.truth(expr, Env::default(), Look::step(from, to))?,
                (Safety::Start(_), Some(_)) | (Safety::Step(_), None) => true,
            };
            if !holds {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let mut starts = Vec::new();
    if let Some(init) = &spec.init {
        evaluator.initial(init, &mut |state| {
            starts.push(state.clone());
            Ok(Flow::Continue(()))
        })?;
    }
    for start in starts {
        if breaks(None, &start)? {
            return Ok(Some((None, Some(start))));
        }
    }
    for state in 0..graph.states() as StateId {
        let now = explored.values(state);
        for edge in graph.edges(state) {
            let next = explored.values_after(edge, graph.target(edge));
            if breaks(Some(&now), &next)? {
                return Ok(Some((Some(state), Some(next))));
            }
        }
    }
    Ok(None)
}

/// A lasso is walked round so often before it is given up: what it changes for good never comes back.
const ROUNDS_MAX: usize = 32;

/// The states of a behaviour along a path of the graph, and the place to which it comes back; nothing, if there is
/// none.
pub(crate) fn walked(spec: &Spec, explored: &Explored, path: &Path) -> Result<Option<(Vec<Partial>, Option<usize>)>> {
    let interpreter = Interpreter::new(spec)?;
    let mut states = vec![explored.values(path.states[0])];
    let rounds = if path.back_to.is_some() { ROUNDS_MAX } else { 1 };
    let first = path.back_to.unwrap_or(0);
    // Where each round starts.
    let mut starts: Vec<usize> = Vec::new();
    for round in 0..rounds {
        for place in (if round == 0 { 0 } else { first })..path.edges.len() {
            if path.back_to == Some(place) {
                starts.push(states.len() - 1);
            }
            let Some(now) = states.last().cloned() else { return Ok(None) };
            let target = path.states.get(place + 1).copied().unwrap_or(path.states[first]);
            let next = match path.edges[place] {
                None => Some(now),
                Some(edge) if now == explored.values(path.states[place]) => Some(explored.values_after(edge, target)),
                Some(_) => interpreter.followers(&now, &explored.values(target))?.into_iter().next(),
            };
            match next {
                Some(next) => states.push(next),
                None => return Ok(None),
            }
        }
        if path.back_to.is_none() {
            return Ok(Some((states, None)));
        }
        let same = starts.iter().find(|start| states.get(**start) == states.last()).copied();
        if let Some(start) = same {
            states.pop();
            return Ok(Some((states, Some(start))));
        }
    }
    Ok(None)
}

/// A behaviour along a path of the graph that breaks a property: its states, and the place to which it comes back.
pub(crate) fn confirmed(
    spec: &Spec,
    explored: &Explored,
    path: &Path,
    property: &Expr,
) -> Result<Option<(Vec<Partial>, Option<usize>)>> {
    let Some((states, back_to)) = walked(spec, explored, path)? else { return Ok(None) };
    let small = Explored::line(spec, &states, back_to)?;
    let Some(graph) = small.graph.as_ref() else { return Ok(None) };
    let meaning = Meaning::new(spec, &small, graph);
    let mut fairness = Vec::new();
    for condition in &spec.fairness {
        meaning.fairness(condition, Env::default(), &mut fairness)?;
    }
    let formula = meaning.formula(property, Env::default())?;
    let found = live::violation(graph, &[0], &fairness, &formula);
    let found = found.map_err(|large| Fault::new(property.at, large.to_string()))?;
    Ok(found.map(|path| {
        let states = path.states.iter().map(|state| states[*state as usize].clone()).collect();
        (states, path.back_to)
    }))
}

/// What tells values apart that the symmetry of the specification says are alike; nothing, if they are alike.
///
/// A constant that is not the same after every permutation does, and so may CHOOSE: of elements that would all do, it
/// takes one.
pub(crate) fn asymmetry(spec: &Spec) -> Option<&Expr> {
    let symmetry = crate::explore::Symmetry::new(&spec.symmetry);
    let evaluator = spec.evaluator();
    let fixed = |expr: &Expr| {
        let value = evaluator.eval(expr, Env::default(), Look::state(&[]));
        value.is_ok_and(|value| symmetry.fixes(&value))
    };
    let named = spec.invariants.iter().chain(&spec.properties).map(|(_, expr)| expr);
    let given = spec.init.iter().chain(&spec.next).chain(&spec.constraints).chain(&spec.action_constraints);
    let mut waiting: Vec<&Expr> = given.chain(&spec.view).chain(&spec.fairness).chain(named).collect();
    let mut seen = vec![false; spec.definitions().len()];
    while let Some(expr) = waiting.pop() {
        if spec.level(expr) == Level::Constant && is_closed(expr) && fixed(expr) {
            continue;
        }
        match &*expr.kind {
            Kind::Constant(value) if !symmetry.fixes(value) => return Some(expr),
            Kind::Choose(bound, _) if !is_closed(&bound.set) || !lists_others(spec, &symmetry, &bound.set) => {
                return Some(expr);
            }
            Kind::Defined(id, _) if !seen[*id] => {
                seen[*id] = true;
                waiting.push(&spec.definitions()[*id].body);
            }
            _ => {}
        }
        waiting.extend(expr.parts());
    }
    None
}

/// Whether the elements of a constant set are the same after every permutation, each of them.
fn lists_others(spec: &Spec, symmetry: &crate::explore::Symmetry, set: &Expr) -> bool {
    spec.level(set) == Level::Constant
        && spec
            .evaluator()
            .elements(set, Env::default(), Look::state(&[]))
            .is_ok_and(|elements| elements.iter().all(|element| symmetry.fixes(element)))
}

/// Whether an expression has no names that are bound outside of it; those bound inside it count, too.
fn is_closed(expr: &Expr) -> bool {
    !matches!(*expr.kind, Kind::Local(..)) && expr.parts().into_iter().all(is_closed)
}
