//! The next-state relation taken apart into instances: every branch one guard and one assignment.
//!
//! The same walk as that of the evaluator, left to right; but where the evaluator looks whether a condition holds, this
//! writes it down and goes on.

use super::build::{X, and, constant, known, not};
use super::eval::{Binding, Env, Frame, Partly, bind};
use super::sym::{Made, Sym, equal, no};
use crate::tla::builtin::Builtin;
use crate::tla::ir::{Bound, DefinitionId, Expr, Kind, Level};

/// One way to take an action, not yet put into slots.
pub(super) struct Branch {
    pub(super) definition: Option<DefinitionId>,
    pub(super) binding: String,
    pub(super) guard: X,
    pub(super) defined: Vec<X>,
    pub(super) next: Vec<Sym>,
}

/// More branches than this are not written out.
const BRANCHES_MAX: usize = 20_000;

/// What stands further right.
type Then<'t, 's> = &'t mut dyn FnMut(&mut Partly<'s>) -> Made<()>;

/// What a step is called so far.
#[derive(Clone, Default)]
struct Label {
    definition: Option<DefinitionId>,
    binding: Vec<String>,
}

/// All branches of the next-state relation.
pub(super) fn branches(partly: &mut Partly<'_>, next: &Expr) -> Made<Vec<Branch>> {
    let mut found = Vec::new();
    walk(partly, next, Env::default(), Label::default(), &mut found)?;
    Ok(found)
}

fn walk(partly: &mut Partly<'_>, expr: &Expr, env: Env<'_>, label: Label, found: &mut Vec<Branch>) -> Made<()> {
    match &*expr.kind {
        Kind::Or(parts) => parts.iter().try_for_each(|part| walk(partly, part, env, label.clone(), found)),
        Kind::Quantified(false, bounds, body) => {
            let sets = bounds.iter().map(|bound| partly.elements(&bound.set, env, false)).collect::<Made<Vec<_>>>()?;
            walk_bound(partly, bounds, &sets, body, env, label, found)
        }
        Kind::Defined(id, arguments) if partly.definitions[*id].level == Level::Action => {
            let definition = &partly.definitions[*id];
            let mut label = Label { definition: Some(*id), binding: Vec::new() };
            for (name, argument) in definition.parameters.iter().zip(arguments) {
                if !matches!(&*argument.kind, Kind::Lambda(..))
                    && let Ok(Sym::Value(value)) = partly.eval(argument, env, false)
                {
                    label.binding.push(format!("{name} = {value}"));
                }
            }
            let frame = Frame::called(arguments, env, Env::default());
            let inside = if arguments.is_empty() { Env::default() } else { frame.env() };
            partly.enter_act()?;
            let walked = walk(partly, &definition.body, inside, label, found);
            partly.acts -= 1;
            walked
        }
        Kind::Let(definition, body) => {
            let frame = Frame::new(vec![Binding::Let(definition, env)], env);
            walk(partly, body, frame.env(), label, found)
        }
        _ => {
            let needed = partly.defined.len();
            act(partly, expr, env, &mut |partly| {
                if found.len() >= BRANCHES_MAX {
                    return no("more than 20,000 ways to take a step");
                }
                let next = partly.next.iter().cloned().collect::<Option<Vec<_>>>();
                let Some(next) = next else { return no("a step that leaves a variable open") };
                found.push(Branch {
                    definition: label.definition,
                    binding: label.binding.join(", "),
                    guard: and(partly.path.iter().cloned()),
                    defined: partly.defined.clone(),
                    next,
                });
                Ok(())
            })?;
            partly.defined.truncate(needed);
            Ok(())
        }
    }
}

fn walk_bound(
    partly: &mut Partly<'_>,
    bounds: &[Bound],
    sets: &[Vec<(X, Sym)>],
    body: &Expr,
    env: Env<'_>,
    label: Label,
    found: &mut Vec<Branch>,
) -> Made<()> {
    let (Some((bound, bounds)), Some((set, sets))) = (bounds.split_first(), sets.split_first()) else {
        return walk(partly, body, env, label, found);
    };
    for (condition, element) in set {
        if known(condition) == Some(0) {
            continue;
        }
        let frame = bind(bound, element.clone(), env)?;
        let mut label = label.clone();
        match (bound.tuple, element.open()) {
            (true, Sym::Tuple(parts)) => {
                for (name, part) in bound.names.iter().zip(parts) {
                    if let Sym::Value(value) = part {
                        label.binding.push(format!("{name} = {value}"));
                    }
                }
            }
            _ => {
                if let (Some(name), Sym::Value(value)) = (bound.names.first(), element) {
                    label.binding.push(format!("{name} = {value}"));
                }
            }
        }
        assume(partly, condition.clone(), &mut |partly| {
            walk_bound(partly, bounds, sets, body, frame.env(), label.clone(), found)
        })?;
    }
    Ok(())
}

/// Goes on where something is the case.
fn assume<'s>(partly: &mut Partly<'s>, condition: X, then: Then<'_, 's>) -> Made<()> {
    match known(&condition) {
        Some(0) => Ok(()),
        Some(_) => then(partly),
        None => {
            partly.path.push(condition);
            let done = then(partly);
            partly.path.pop();
            done
        }
    }
}

fn act<'s>(partly: &mut Partly<'s>, expr: &Expr, env: Env<'_>, then: Then<'_, 's>) -> Made<()> {
    match &*expr.kind {
        Kind::And(parts) => all(partly, parts, env, then),
        Kind::Or(parts) => {
            // What one branch needs to have a meaning is not needed by the next.
            for part in parts {
                let needed = partly.defined.len();
                act(partly, part, env, then)?;
                partly.defined.truncate(needed);
            }
            Ok(())
        }
        Kind::Quantified(false, bounds, body) => {
            let sets = bounds.iter().map(|bound| partly.elements(&bound.set, env, false)).collect::<Made<Vec<_>>>()?;
            exists(partly, bounds, &sets, body, env, then)
        }
        Kind::Quantified(true, ..) if steps(partly, expr) => no("a step for all elements of a set"),
        Kind::If(a, b, c) => {
            let when = partly.truth(a, env, false)?;
            let needed = partly.defined.len();
            assume(partly, when.clone(), &mut |partly| act(partly, b, env, then))?;
            partly.defined.truncate(needed);
            assume(partly, not(when), &mut |partly| act(partly, c, env, then))?;
            partly.defined.truncate(needed);
            Ok(())
        }
        Kind::Case(arms, other) => case(partly, arms, other.as_ref(), env, then),
        Kind::Let(definition, body) => {
            let frame = Frame::new(vec![Binding::Let(definition, env)], env);
            act(partly, body, frame.env(), then)
        }
        Kind::Defined(id, arguments) => {
            let definition = &partly.definitions[*id];
            let frame = Frame::called(arguments, env, Env::default());
            let inside = if arguments.is_empty() { Env::default() } else { frame.env() };
            entered(partly, &definition.body, inside, then)
        }
        Kind::Local(depth, index, arguments) => match env.find(*depth, *index) {
            Binding::Argument(argument, theirs) => match &*argument.kind {
                Kind::Lambda(_, body) => {
                    let frame = Frame::called(arguments, env, *theirs);
                    entered(partly, body, frame.env(), then)
                }
                _ => act(partly, argument, *theirs, then),
            },
            Binding::Let(definition, theirs) if !definition.framed => {
                let frame = Frame::called(arguments, env, *theirs);
                let inside = if definition.parameters == 0 { *theirs } else { frame.env() };
                entered(partly, &definition.body, inside, then)
            }
            _ => guard(partly, expr, env, then),
        },
        Kind::Builtin(Builtin::Equal, sides) => match chosen(partly, &sides[0], env) {
            Some(variable) => {
                let value = partly.eval(&sides[1], env, false)?;
                assign(partly, variable, value, then)
            }
            None => guard(partly, expr, env, then),
        },
        Kind::Builtin(Builtin::In, sides) => match chosen(partly, &sides[0], env) {
            Some(variable) if partly.next[variable].is_none() => {
                for (condition, element) in partly.elements(&sides[1], env, false)? {
                    partly.next[variable] = Some(element);
                    let done = assume(partly, condition, then);
                    partly.next[variable] = None;
                    done?;
                }
                Ok(())
            }
            _ => guard(partly, expr, env, then),
        },
        Kind::Builtin(Builtin::Unchanged, same) => unchanged(partly, &same[0], env, then),
        Kind::Angle(..) | Kind::Square(..) => no("[A]_v or <<A>>_v in the next-state relation"),
        _ => guard(partly, expr, env, then),
    }
}

fn steps(partly: &Partly<'_>, expr: &Expr) -> bool {
    match &*expr.kind {
        Kind::Next(_) | Kind::Prime(_) | Kind::Builtin(Builtin::Unchanged, _) => true,
        Kind::Defined(id, _) if partly.definitions[*id].level == Level::Action => true,
        _ => expr.parts().into_iter().any(|part| steps(partly, part)),
    }
}

fn guard<'s>(partly: &mut Partly<'s>, expr: &Expr, env: Env<'_>, then: Then<'_, 's>) -> Made<()> {
    let condition = partly.truth(expr, env, false)?;
    assume(partly, condition, then)
}

fn all<'s>(partly: &mut Partly<'s>, parts: &[Expr], env: Env<'_>, then: Then<'_, 's>) -> Made<()> {
    match parts.split_first() {
        None => then(partly),
        Some((first, rest)) => act(partly, first, env, &mut |partly| all(partly, rest, env, then)),
    }
}

fn exists<'s>(
    partly: &mut Partly<'s>,
    bounds: &[Bound],
    sets: &[Vec<(X, Sym)>],
    body: &Expr,
    env: Env<'_>,
    then: Then<'_, 's>,
) -> Made<()> {
    let (Some((bound, bounds)), Some((set, sets))) = (bounds.split_first(), sets.split_first()) else {
        return act(partly, body, env, then);
    };
    for (condition, element) in set {
        let frame = bind(bound, element.clone(), env)?;
        let needed = partly.defined.len();
        assume(partly, condition.clone(), &mut |partly| exists(partly, bounds, sets, body, frame.env(), then))?;
        partly.defined.truncate(needed);
    }
    Ok(())
}

fn case<'s>(
    partly: &mut Partly<'s>,
    arms: &[(Expr, Expr)],
    other: Option<&Expr>,
    env: Env<'_>,
    then: Then<'_, 's>,
) -> Made<()> {
    let Some(((when, body), rest)) = arms.split_first() else {
        return match other {
            Some(other) => act(partly, other, env, then),
            None => no("a CASE without OTHER"),
        };
    };
    let when = partly.truth(when, env, false)?;
    assume(partly, when.clone(), &mut |partly| act(partly, body, env, then))?;
    assume(partly, not(when), &mut |partly| case(partly, rest, other, env, then))
}

fn assign<'s>(partly: &mut Partly<'s>, variable: usize, value: Sym, then: Then<'_, 's>) -> Made<()> {
    match partly.next[variable].clone() {
        Some(old) => {
            let same = equal(&old, &value, partly.slots)?;
            assume(partly, same, then)
        }
        None => {
            partly.next[variable] = Some(value);
            let done = then(partly);
            partly.next[variable] = None;
            done
        }
    }
}

/// The body of a definition, and what follows it.
fn entered<'s>(partly: &mut Partly<'s>, body: &Expr, env: Env<'_>, then: Then<'_, 's>) -> Made<()> {
    partly.enter_act()?;
    let done = act(partly, body, env, then);
    partly.acts -= 1;
    done
}

/// The variable that a primed expression is.
fn chosen(partly: &Partly<'_>, expr: &Expr, env: Env<'_>) -> Option<usize> {
    match &*expr.kind {
        Kind::Next(variable) => Some(*variable),
        Kind::Prime(inner) => as_variable(partly, inner, env),
        Kind::Local(depth, index, _) => match env.find(*depth, *index) {
            Binding::Argument(argument, theirs) => chosen(partly, argument, *theirs),
            _ => None,
        },
        _ => None,
    }
}

fn as_variable(partly: &Partly<'_>, expr: &Expr, env: Env<'_>) -> Option<usize> {
    match &*expr.kind {
        Kind::Variable(variable) => Some(*variable),
        Kind::Local(depth, index, _) => match env.find(*depth, *index) {
            Binding::Argument(argument, theirs) => as_variable(partly, argument, *theirs),
            _ => None,
        },
        Kind::Defined(id, arguments) if arguments.is_empty() => {
            as_variable(partly, &partly.definitions[*id].body, Env::default())
        }
        _ => None,
    }
}

fn unchanged<'s>(partly: &mut Partly<'s>, expr: &Expr, env: Env<'_>, then: Then<'_, 's>) -> Made<()> {
    match &*expr.kind {
        Kind::Variable(variable) => {
            let value = partly.now[*variable].clone();
            assign(partly, *variable, value, then)
        }
        Kind::Builtin(Builtin::Tuple, parts) => all_unchanged(partly, parts, env, then),
        Kind::Defined(id, arguments) if arguments.is_empty() => {
            let body = &partly.definitions[*id].body;
            unchanged(partly, body, Env::default(), then)
        }
        Kind::Local(depth, index, _) => match env.find(*depth, *index) {
            Binding::Argument(argument, theirs) => unchanged(partly, argument, *theirs, then),
            Binding::Sym(_) => assume(partly, constant(true), then),
            Binding::Let(..) => no("UNCHANGED of a definition in LET"),
        },
        _ => {
            let (before, after) = (partly.eval(expr, env, false)?, partly.eval(expr, env, true)?);
            let same = equal(&before, &after, partly.slots)?;
            assume(partly, same, then)
        }
    }
}

fn all_unchanged<'s>(partly: &mut Partly<'s>, parts: &[Expr], env: Env<'_>, then: Then<'_, 's>) -> Made<()> {
    match parts.split_first() {
        None => then(partly),
        Some((first, rest)) => unchanged(partly, first, env, &mut |partly| all_unchanged(partly, rest, env, then)),
    }
}
