//! What a temporal formula of TLA+ means on a state graph: which states and which steps its parts are about.

use std::rc::Rc;

use crate::explored::Explored;
use crate::graph::{BitSet, Graph, StateId};
use crate::live::{Fairness, Steps, Strength, Temporal};
use crate::tla::Spec;
use crate::tla::builtin::Builtin;
use crate::tla::eval::{Env, Evaluator, Look, Partial};
use crate::tla::fault::{Fault, Result};
use crate::tla::ir::{Expr, Kind, Level};

/// Gives formulas their meaning on one graph.
pub(crate) struct Meaning<'a> {
    spec: &'a Spec,
    explored: &'a Explored,
    graph: &'a Graph,
    evaluator: Evaluator<'a>,
}

impl<'a> Meaning<'a> {
    pub(crate) fn new(spec: &'a Spec, explored: &'a Explored, graph: &'a Graph) -> Meaning<'a> {
        Meaning { spec, explored, graph, evaluator: spec.evaluator() }
    }

    /// A property.
    pub(crate) fn formula(&self, expr: &Expr, env: Env<'_>) -> Result<Temporal> {
        if self.spec.level(expr) <= Level::State {
            return Ok(Temporal::State(Rc::new(self.states(expr, env)?)));
        }
        match &*expr.kind {
            Kind::And(parts) => Ok(Temporal::And(self.formulas(parts, env)?)),
            Kind::Or(parts) => Ok(Temporal::Or(self.formulas(parts, env)?)),
            Kind::Quantified(all, bounds, body) => {
                let sets = self.evaluator.sets(bounds, env, Look::state(&[]))?;
                let mut parts = Vec::new();
                self.evaluator.some(bounds, &sets, env, &mut |env| {
                    parts.push(self.formula(body, env)?);
                    Ok(false)
                })?;
                Ok(if *all { Temporal::And(parts) } else { Temporal::Or(parts) })
            }
            Kind::Builtin(builtin, arguments) => match (builtin, &arguments[..]) {
                (Builtin::Not, [a]) => Ok(Temporal::Not(Box::new(self.formula(a, env)?))),
                (Builtin::Implies, [a, b]) => Ok(Temporal::implies(self.formula(a, env)?, self.formula(b, env)?)),
                (Builtin::Equivalent, [a, b]) => Ok(Temporal::equivalent(self.formula(a, env)?, self.formula(b, env)?)),
                (Builtin::LeadsTo, [a, b]) => Ok(Temporal::leads_to(self.formula(a, env)?, self.formula(b, env)?)),
                (Builtin::Always, [a]) => Ok(Temporal::always(self.formula(a, env)?)),
                (Builtin::Eventually, [a]) => Ok(Temporal::eventually(self.formula(a, env)?)),
                _ => Err(unsupported(expr)),
            },
            Kind::Square(..) => Ok(Temporal::Step(Rc::new(Steps { edges: self.steps(expr, env)?, stutter: true }))),
            Kind::Angle(..) => Ok(Temporal::Step(Rc::new(Steps { edges: self.steps(expr, env)?, stutter: false }))),
            Kind::Fair(weak, subscript, action) => Ok(Temporal::fair(&self.fair(expr, *weak, subscript, action, env)?)),
            Kind::Defined(id, arguments) => {
                let definition = &self.spec.definitions()[*id];
                match arguments.is_empty() {
                    true => self.formula(&definition.body, Env::default()),
                    false => {
                        let frame = self.evaluator.called(arguments, env, Env::default());
                        self.formula(&definition.body, frame.env())
                    }
                }
            }
            _ => Err(unsupported(expr)),
        }
    }

    fn formulas(&self, parts: &[Expr], env: Env<'_>) -> Result<Vec<Temporal>> {
        parts.iter().map(|part| self.formula(part, env)).collect()
    }

    /// The fairness conditions of a conjunct of the specification.
    pub(crate) fn fairness(&self, expr: &Expr, env: Env<'_>, found: &mut Vec<Fairness>) -> Result<()> {
        match &*expr.kind {
            Kind::And(parts) => parts.iter().try_for_each(|part| self.fairness(part, env, found)),
            Kind::Quantified(true, bounds, body) => {
                let sets = self.evaluator.sets(bounds, env, Look::state(&[]))?;
                self.evaluator.some(bounds, &sets, env, &mut |env| {
                    self.fairness(body, env, found)?;
                    Ok(false)
                })?;
                Ok(())
            }
            Kind::Fair(weak, subscript, action) => {
                found.push(self.fair(expr, *weak, subscript, action, env)?);
                Ok(())
            }
            Kind::Defined(id, arguments) => {
                let definition = &self.spec.definitions()[*id];
                match arguments.is_empty() {
                    true => self.fairness(&definition.body, Env::default(), found),
                    false => {
                        let frame = self.evaluator.called(arguments, env, Env::default());
                        self.fairness(&definition.body, frame.env(), found)
                    }
                }
            }
            _ => Err(Fault::with_hint(
                expr.at,
                "this conjunct of the specification is not supported",
                "WF_v(A), SF_v(A), and \\A over them",
            )),
        }
    }

    fn fair(&self, at: &Expr, weak: bool, subscript: &Expr, action: &Expr, env: Env<'_>) -> Result<Fairness> {
        let step = Expr::new(at.at, Kind::Angle(action.clone(), subscript.clone()));
        let enabled = Expr::new(at.at, Kind::Builtin(Builtin::Enabled, vec![step.clone()]));
        Ok(Fairness {
            strength: if weak { Strength::Weak } else { Strength::Strong },
            enabled: Rc::new(self.states(&enabled, env)?),
            taken: Rc::new(self.steps(&step, env)?),
        })
    }

    fn states(&self, expr: &Expr, env: Env<'_>) -> Result<BitSet> {
        if env.is_empty() {
            return self.explored.label(self.spec, expr);
        }
        let mut found = BitSet::none(self.graph.states());
        for state in 0..self.graph.states() as StateId {
            if self.evaluator.truth(expr, env, Look::state(&self.explored.values(state)))? {
                found.insert(state);
            }
        }
        Ok(found)
    }

    fn steps(&self, expr: &Expr, env: Env<'_>) -> Result<BitSet> {
        let mut found = BitSet::none(self.graph.transitions());
        for state in 0..self.graph.states() as StateId {
            let now = self.explored.values(state);
            // Parallel transitions to one state are the same step, unless that state stands for several.
            let mut known: Vec<(StateId, bool)> = Vec::new();
            for edge in self.graph.edges(state) {
                let target = self.graph.target(edge);
                if self.explored.is_joined() {
                    if self.is_step(expr, env, &now, &self.explored.values_after(edge, target))? {
                        found.insert(edge as u32);
                    }
                    continue;
                }
                let seen = known.iter().find(|(other, _)| *other == target).map(|(_, is)| *is);
                let is = match seen {
                    Some(is) => is,
                    None => self.is_step(expr, env, &now, &self.explored.values(target))?,
                };
                if seen.is_none() {
                    known.push((target, is));
                }
                if is {
                    found.insert(edge as u32);
                }
            }
        }
        Ok(found)
    }

    fn is_step(&self, expr: &Expr, env: Env<'_>, now: &Partial, next: &Partial) -> Result<bool> {
        self.evaluator.truth(expr, env, Look::step(now, next))
    }
}

fn unsupported(expr: &Expr) -> Box<Fault> {
    Fault::with_hint(
        expr.at,
        "this is not supported in a property",
        "[], <>, ~>, WF, SF, [][A]_v, <><<A>>_v and connectives over expressions about a state",
    )
}
