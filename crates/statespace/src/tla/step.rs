//! Which states there are to start in, and which steps there are from a state.
//!
//! As in TLC, a formula is gone through from left to right. The first `x' = e` or `x' \in S` gives `x'` its values,
//! later ones compare; a disjunction and an `\E` branch. Branches are followed in continuation-passing style: `then` is
//! what stands further right, and the choice is taken back when it returns. The same walk with unprimed variables finds
//! initial states.

use std::cell::OnceCell;
use std::ops::ControlFlow;

use super::builtin::Builtin;
use super::eval::{Binding, Env, Evaluator, Frame, Look, Partial, bind};
use super::fault::{Fault, Result};
use super::ir::{Bound, DefinitionId, Expr, Kind, Level};
use super::syntax::At;
use super::value::{Value, equal};

/// Whether to go on.
pub type Flow = ControlFlow<()>;

/// What stands further right.
type Then<'t> = &'t mut dyn FnMut(&mut Partial) -> Result<Flow>;

/// Which action a step is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label {
    /// The definition that names it; nothing, if the next-state relation is no definition.
    pub definition: Option<DefinitionId>,
    /// Its parameters, and what is chosen by `\E`, with their values.
    pub binding: Vec<(String, Value)>,
}

/// What a variable is chosen from.
#[derive(Clone, Copy)]
enum Choosing<'a> {
    /// Unprimed variables.
    Initial,
    /// Primed variables of a step from this state.
    Next(&'a [Option<Value>]),
}

impl<'a> Choosing<'a> {
    fn look(self, partial: &'a Partial) -> Look<'a> {
        match self {
            Choosing::Initial => Look { now: partial, next: None, choosing: true },
            Choosing::Next(now) => Look { now, next: Some(partial), choosing: false },
        }
    }
}

impl Evaluator<'_> {
    /// Goes through all initial states.
    pub fn initial(&self, init: &Expr, found: &mut dyn FnMut(&Partial) -> Result<Flow>) -> Result<()> {
        let mut partial = vec![None; self.variables.len()];
        let _ = self.act(init, Env::default(), Choosing::Initial, &mut partial, &mut |state| {
            self.complete(init.at, state, "")?;
            found(state)
        })?;
        Ok(())
    }

    /// Goes through all steps from a state.
    pub fn steps(
        &self,
        next: &Expr,
        now: &[Option<Value>],
        found: &mut dyn FnMut(&Label, &Partial) -> Result<Flow>,
    ) -> Result<()> {
        self.steps_of(None, next, now, found)
    }

    /// Goes through all steps from a state by a part of the next-state relation, which stands in this definition.
    pub(crate) fn steps_of(
        &self,
        definition: Option<DefinitionId>,
        next: &Expr,
        now: &[Option<Value>],
        found: &mut dyn FnMut(&Label, &Partial) -> Result<Flow>,
    ) -> Result<()> {
        let mut partial = vec![None; self.variables.len()];
        let label = Label { definition, binding: Vec::new() };
        let _ = self.walk(next, Env::default(), label, now, &mut partial, found)?;
        Ok(())
    }

    /// Whether an action can be taken.
    pub(super) fn enabled(&self, action: &Expr, env: Env<'_>, look: Look<'_>) -> Result<bool> {
        let mut partial = vec![None; self.variables.len()];
        let mut found = false;
        let _ = self.act(action, env, Choosing::Next(look.now), &mut partial, &mut |_| {
            found = true;
            Ok(Flow::Break(()))
        })?;
        Ok(found)
    }

    fn complete(&self, at: At, state: &Partial, prime: &str) -> Result<()> {
        match state.iter().position(Option::is_none) {
            None => Ok(()),
            Some(missing) => {
                let name = format!("{}{prime}", self.variables[missing].0);
                let hint = match prime {
                    "" => format!("say what it is at the start, as `{name} = ...`"),
                    _ => format!("say what it is afterwards, as UNCHANGED {}", self.variables[missing].0),
                };
                Err(Fault::with_hint(at, format!("`{name}` gets no value here"), hint))
            }
        }
    }

    /// Down to where an action begins: through definitions, disjunctions and `\E`.
    fn walk(
        &self,
        expr: &Expr,
        env: Env<'_>,
        label: Label,
        now: &[Option<Value>],
        partial: &mut Partial,
        found: &mut dyn FnMut(&Label, &Partial) -> Result<Flow>,
    ) -> Result<Flow> {
        match &*expr.kind {
            Kind::Or(parts) => {
                for part in parts {
                    if self.walk(part, env, label.clone(), now, partial, found)?.is_break() {
                        return Ok(Flow::Break(()));
                    }
                }
                Ok(Flow::Continue(()))
            }
            Kind::Quantified(false, bounds, body) => {
                let sets = self.sets(bounds, env, Look::step(now, partial))?;
                self.walk_bound(bounds, &sets, body, env, label, now, partial, found)
            }
            Kind::Defined(id, arguments) if self.definitions[*id].level == Level::Action => {
                let definition = &self.definitions[*id];
                if arguments.is_empty() {
                    let label = Label { definition: Some(*id), binding: Vec::new() };
                    return self
                        .deeper(expr.at, || self.walk(&definition.body, Env::default(), label, now, partial, found));
                }
                let frame = self.called(arguments, env, Env::default());
                let mut binding = Vec::new();
                for (name, argument) in definition.parameters.iter().zip(arguments) {
                    if let Ok(value) = self
                        .eval(argument, env, Look::state(now))
                        .and_then(|value| value.listed().map_err(|why| Fault::of(argument.at, why)))
                    {
                        binding.push((name.clone(), value));
                    }
                }
                let label = Label { definition: Some(*id), binding };
                self.deeper(expr.at, || self.walk(&definition.body, frame.env(), label, now, partial, found))
            }
            Kind::Let(definition, body) => {
                let frame = Frame::new(vec![Binding::Let(definition, env, OnceCell::new())], env);
                self.walk(body, frame.env(), label, now, partial, found)
            }
            _ => self.act(expr, env, Choosing::Next(now), partial, &mut |next| {
                self.complete(expr.at, next, "'")?;
                found(&label, next)
            }),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn walk_bound(
        &self,
        bounds: &[Bound],
        sets: &[std::sync::Arc<Vec<Value>>],
        body: &Expr,
        env: Env<'_>,
        label: Label,
        now: &[Option<Value>],
        partial: &mut Partial,
        found: &mut dyn FnMut(&Label, &Partial) -> Result<Flow>,
    ) -> Result<Flow> {
        let (Some((bound, bounds)), Some((set, sets))) = (bounds.split_first(), sets.split_first()) else {
            return self.walk(body, env, label, now, partial, found);
        };
        for element in set.iter() {
            let frame = bind(bound.set.at, bound, element, env)?;
            let mut label = label.clone();
            match (bound.tuple, element) {
                (true, Value::Tuple(parts)) => {
                    label.binding.extend(bound.names.iter().cloned().zip(parts.iter().cloned()))
                }
                _ => label.binding.extend(bound.names.first().map(|name| (name.clone(), element.clone()))),
            }
            if self.walk_bound(bounds, sets, body, frame.env(), label, now, partial, found)?.is_break() {
                return Ok(Flow::Break(()));
            }
        }
        Ok(Flow::Continue(()))
    }

    fn act(
        &self,
        expr: &Expr,
        env: Env<'_>,
        choosing: Choosing<'_>,
        partial: &mut Partial,
        then: Then<'_>,
    ) -> Result<Flow> {
        match &*expr.kind {
            Kind::And(parts) => self.all(parts, env, choosing, partial, then),
            Kind::Or(parts) => {
                for part in parts {
                    if self.act(part, env, choosing, partial, then)?.is_break() {
                        return Ok(Flow::Break(()));
                    }
                }
                Ok(Flow::Continue(()))
            }
            Kind::Quantified(false, bounds, body) => {
                let sets = self.sets(bounds, env, choosing.look(partial))?;
                self.quantified(false, bounds, &sets, body, env, choosing, partial, then)
            }
            Kind::Quantified(true, bounds, body) if self.chooses(body, choosing) => {
                let sets = self.sets(bounds, env, choosing.look(partial))?;
                self.quantified(true, bounds, &sets, body, env, choosing, partial, then)
            }
            Kind::If(a, b, c) => match self.truth(a, env, choosing.look(partial))? {
                true => self.act(b, env, choosing, partial, then),
                false => self.act(c, env, choosing, partial, then),
            },
            Kind::Case(arms, other) => {
                let arm = self.arm(expr.at, arms, other.as_ref(), env, choosing.look(partial))?;
                self.act(arm, env, choosing, partial, then)
            }
            Kind::Let(definition, body) => {
                let frame = Frame::new(vec![Binding::Let(definition, env, OnceCell::new())], env);
                self.act(body, frame.env(), choosing, partial, then)
            }
            Kind::Defined(id, arguments) => {
                let definition = &self.definitions[*id];
                match arguments.is_empty() {
                    true => {
                        self.deeper(expr.at, || self.act(&definition.body, Env::default(), choosing, partial, then))
                    }
                    false => {
                        let frame = self.called(arguments, env, Env::default());
                        self.deeper(expr.at, || self.act(&definition.body, frame.env(), choosing, partial, then))
                    }
                }
            }
            Kind::Local(depth, index, arguments) => match env.find(*depth, *index) {
                Binding::Argument(argument, theirs, _) => match &*argument.kind {
                    Kind::Lambda(_, body) => {
                        let frame = self.called(arguments, env, *theirs);
                        self.deeper(expr.at, || self.act(body, frame.env(), choosing, partial, then))
                    }
                    _ => self.act(argument, *theirs, choosing, partial, then),
                },
                Binding::Let(definition, theirs, _) if !definition.framed => match definition.parameters {
                    0 => self.deeper(expr.at, || self.act(&definition.body, *theirs, choosing, partial, then)),
                    _ => {
                        let frame = self.called(arguments, env, *theirs);
                        self.deeper(expr.at, || self.act(&definition.body, frame.env(), choosing, partial, then))
                    }
                },
                _ => self.guard(expr, env, choosing, partial, then),
            },
            Kind::Builtin(Builtin::Equal, sides) => match self.chosen(&sides[0], env, choosing) {
                Some(variable) => {
                    let value = self.listed(&sides[1], env, choosing.look(partial))?;
                    self.assign(expr.at, variable, value, partial, then)
                }
                None => self.guard(expr, env, choosing, partial, then),
            },
            Kind::Builtin(Builtin::In, sides) => match self.chosen(&sides[0], env, choosing) {
                Some(variable) if partial[variable].is_none() => {
                    let elements = self.elements(&sides[1], env, choosing.look(partial))?;
                    for element in elements.iter() {
                        partial[variable] = Some(element.clone());
                        let flow = then(partial);
                        partial[variable] = None;
                        if flow?.is_break() {
                            return Ok(Flow::Break(()));
                        }
                    }
                    Ok(Flow::Continue(()))
                }
                _ => self.guard(expr, env, choosing, partial, then),
            },
            Kind::Builtin(Builtin::Unchanged, same) => match choosing {
                Choosing::Next(now) => self.unchanged_variables(&same[0], env, now, partial, then),
                Choosing::Initial => self.guard(expr, env, choosing, partial, then),
            },
            // ENABLED <<A>>_v and WF mean a step of A that changes v.
            Kind::Angle(action, subscript) => self.act(action, env, choosing, partial, &mut |partial| {
                let angle = |look| self.truth_of_change(subscript, env, look);
                match angle(choosing.look(partial))? {
                    true => then(partial),
                    false => Ok(Flow::Continue(())),
                }
            }),
            Kind::Square(action, subscript) => {
                if self.act(action, env, choosing, partial, then)?.is_break() {
                    return Ok(Flow::Break(()));
                }
                match choosing {
                    Choosing::Next(now) => self.unchanged_variables(subscript, env, now, partial, then),
                    Choosing::Initial => Ok(Flow::Continue(())),
                }
            }
            _ => self.guard(expr, env, choosing, partial, then),
        }
    }

    fn truth_of_change(&self, subscript: &Expr, env: Env<'_>, look: Look<'_>) -> Result<bool> {
        let before = self.eval(subscript, env, look)?;
        let Some(next) = look.next else { return Ok(false) };
        let after = self.eval(subscript, env, Look { now: next, next: None, choosing: true })?;
        equal(&before, &after).map(|same| !same).map_err(|why| Fault::of(subscript.at, why))
    }

    fn guard(
        &self,
        expr: &Expr,
        env: Env<'_>,
        choosing: Choosing<'_>,
        partial: &mut Partial,
        then: Then<'_>,
    ) -> Result<Flow> {
        match self.truth(expr, env, choosing.look(partial))? {
            true => then(partial),
            false => Ok(Flow::Continue(())),
        }
    }

    fn all(
        &self,
        parts: &[Expr],
        env: Env<'_>,
        choosing: Choosing<'_>,
        partial: &mut Partial,
        then: Then<'_>,
    ) -> Result<Flow> {
        match parts.split_first() {
            None => then(partial),
            Some((last, [])) => self.act(last, env, choosing, partial, then),
            Some((first, rest)) => {
                self.act(first, env, choosing, partial, &mut |partial| self.all(rest, env, choosing, partial, then))
            }
        }
    }

    /// `\E x \in S : A(x)`: one of them; or `\A` with a step in it: all of them, one after another.
    #[allow(clippy::too_many_arguments)]
    fn quantified(
        &self,
        all: bool,
        bounds: &[Bound],
        sets: &[std::sync::Arc<Vec<Value>>],
        body: &Expr,
        env: Env<'_>,
        choosing: Choosing<'_>,
        partial: &mut Partial,
        then: Then<'_>,
    ) -> Result<Flow> {
        let (Some((bound, bounds)), Some((set, sets))) = (bounds.split_first(), sets.split_first()) else {
            return self.act(body, env, choosing, partial, then);
        };
        let one = |element: &Value, partial: &mut Partial, then: Then<'_>| {
            let frame = bind(bound.set.at, bound, element, env)?;
            self.quantified(all, bounds, sets, body, frame.env(), choosing, partial, then)
        };
        if all {
            return each(set, partial, then, &one);
        }
        for element in set.iter() {
            if one(element, partial, then)?.is_break() {
                return Ok(Flow::Break(()));
            }
        }
        Ok(Flow::Continue(()))
    }

    fn assign(&self, at: At, variable: usize, value: Value, partial: &mut Partial, then: Then<'_>) -> Result<Flow> {
        match &partial[variable] {
            Some(old) => match equal(old, &value).map_err(|why| Fault::of(at, why))? {
                true => then(partial),
                false => Ok(Flow::Continue(())),
            },
            None => {
                partial[variable] = Some(value);
                let flow = then(partial);
                partial[variable] = None;
                flow
            }
        }
    }

    /// The variable that an expression is, if it is one whose values are being chosen.
    fn chosen(&self, expr: &Expr, env: Env<'_>, choosing: Choosing<'_>) -> Option<usize> {
        match (&*expr.kind, choosing) {
            (Kind::Next(variable), Choosing::Next(_)) => Some(*variable),
            (Kind::Prime(inner), Choosing::Next(_)) => self.as_variable(inner, env),
            (Kind::Next(_) | Kind::Prime(_), _) => None,
            (_, Choosing::Initial) => self.as_variable(expr, env),
            (Kind::Local(depth, index, _), Choosing::Next(_)) => match env.find(*depth, *index) {
                Binding::Argument(argument, theirs, _) => self.chosen(argument, *theirs, choosing),
                _ => None,
            },
            _ => None,
        }
    }

    fn as_variable(&self, expr: &Expr, env: Env<'_>) -> Option<usize> {
        match &*expr.kind {
            Kind::Variable(variable) => Some(*variable),
            Kind::Local(depth, index, _) => match env.find(*depth, *index) {
                Binding::Argument(argument, theirs, _) => self.as_variable(argument, *theirs),
                _ => None,
            },
            Kind::Defined(id, arguments) if arguments.is_empty() => {
                self.as_variable(&self.definitions[*id].body, Env::default())
            }
            _ => None,
        }
    }

    /// Whether values are chosen somewhere inside.
    fn chooses(&self, expr: &Expr, choosing: Choosing<'_>) -> bool {
        match (&*expr.kind, choosing) {
            (Kind::Next(_) | Kind::Prime(_), Choosing::Next(_)) => true,
            (Kind::Builtin(Builtin::Unchanged, _), Choosing::Next(_)) => true,
            (Kind::Variable(_), Choosing::Initial) => true,
            (Kind::Defined(id, _), Choosing::Next(_)) if self.definitions[*id].level == Level::Action => true,
            (Kind::Defined(id, _), Choosing::Initial) if self.definitions[*id].level == Level::State => true,
            _ => expr.parts().into_iter().any(|part| self.chooses(part, choosing)),
        }
    }

    fn unchanged_variables(
        &self,
        expr: &Expr,
        env: Env<'_>,
        now: &[Option<Value>],
        partial: &mut Partial,
        then: Then<'_>,
    ) -> Result<Flow> {
        match &*expr.kind {
            Kind::Variable(variable) => {
                let value = now[*variable].clone().ok_or_else(|| Fault::new(expr.at, "this variable has no value"))?;
                self.assign(expr.at, *variable, value, partial, then)
            }
            Kind::Builtin(Builtin::Tuple, parts) => self.all_unchanged(parts, env, now, partial, then),
            Kind::Defined(id, arguments) if arguments.is_empty() => {
                self.unchanged_variables(&self.definitions[*id].body, Env::default(), now, partial, then)
            }
            Kind::Local(depth, index, _) => match env.find(*depth, *index) {
                Binding::Argument(argument, theirs, _) => {
                    self.unchanged_variables(argument, *theirs, now, partial, then)
                }
                _ => self.same(expr, env, now, partial, then),
            },
            _ => self.same(expr, env, now, partial, then),
        }
    }

    fn same(
        &self,
        expr: &Expr,
        env: Env<'_>,
        now: &[Option<Value>],
        partial: &mut Partial,
        then: Then<'_>,
    ) -> Result<Flow> {
        match self.truth_of_change(expr, env, Look::step(now, partial))? {
            false => then(partial),
            true => Ok(Flow::Continue(())),
        }
    }

    fn all_unchanged(
        &self,
        parts: &[Expr],
        env: Env<'_>,
        now: &[Option<Value>],
        partial: &mut Partial,
        then: Then<'_>,
    ) -> Result<Flow> {
        match parts.split_first() {
            None => then(partial),
            Some((first, rest)) => self.unchanged_variables(first, env, now, partial, &mut |partial| {
                self.all_unchanged(rest, env, now, partial, then)
            }),
        }
    }
}

/// One element after another, each with what it chooses kept.
fn each(
    elements: &[Value],
    partial: &mut Partial,
    then: Then<'_>,
    one: &dyn Fn(&Value, &mut Partial, Then<'_>) -> Result<Flow>,
) -> Result<Flow> {
    match elements.split_first() {
        None => then(partial),
        Some((first, rest)) => one(first, partial, &mut |partial| each(rest, partial, then, one)),
    }
}
