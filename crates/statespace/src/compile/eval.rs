//! Expressions evaluated on values that are only partly known: what comes out is packed expressions.
//!
//! Quantifiers over known sets are written out, and those over a set in a slot with a bit for each element; an index
//! that is not known becomes a choice between all elements. Whatever can be known is: constants, parameters bound by
//! `\E`, `Len` of a tuple. Where TLA+ would have no meaning (`f[x]` outside the domain of f) the condition under which
//! it has is noted, together with what stands to its left: `x \in DOMAIN f /\ f[x] = 1` is fine.

use std::sync::Arc;

use super::build::{FALSE, TRUE, X, and, binary, bit, eq, if_else, known, not, or};
use super::sym::{Made, NoForm, Sym, complement, equal, masks, member, merge, no, table};
use crate::packed::{Binary, Expr as Packed, Slot};
use crate::tla::builtin::Builtin;
use crate::tla::eval::{Env as Values, Evaluator, Look};
use crate::tla::ir::{Bound, Definition, Expr, Kind, LetDefinition, Level};
use crate::tla::operate::operate;
use crate::tla::value::{Lazy, Value};

/// The bound names that are seen from somewhere.
#[derive(Clone, Copy, Default)]
pub(super) struct Env<'a>(Option<&'a Frame<'a>>);

/// Names that are bound together.
pub(super) struct Frame<'a> {
    names: Vec<Binding<'a>>,
    outer: Env<'a>,
}

/// What a name is bound to.
pub(super) enum Binding<'a> {
    Sym(Sym),
    Argument(&'a Expr, Env<'a>),
    Let(&'a LetDefinition, Env<'a>),
}

impl<'a> Frame<'a> {
    pub(super) fn new(names: Vec<Binding<'a>>, outer: Env<'a>) -> Frame<'a> {
        Frame { names, outer }
    }

    pub(super) fn of(sym: Sym, outer: Env<'a>) -> Frame<'a> {
        Frame { names: vec![Binding::Sym(sym)], outer }
    }

    pub(super) fn called(arguments: &'a [Expr], env: Env<'a>, outer: Env<'a>) -> Frame<'a> {
        Frame { names: arguments.iter().map(|argument| Binding::Argument(argument, env)).collect(), outer }
    }

    pub(super) fn env(&'a self) -> Env<'a> {
        Env(Some(self))
    }
}

impl<'a> Env<'a> {
    pub(super) fn find(self, depth: usize, index: usize) -> &'a Binding<'a> {
        let mut env = self;
        for _ in 0..depth {
            env = env.0.expect("every bound name has a frame").outer;
        }
        &env.0.expect("every bound name has a frame").names[index]
    }
}

/// Evaluates what is partly known.
pub(super) struct Partly<'s> {
    pub(super) definitions: &'s [Definition],
    pub(super) evaluator: Evaluator<'s>,
    pub(super) slots: &'s [Slot],
    /// What variables are now.
    pub(super) now: Vec<Sym>,
    /// What they are next, as far as it is said.
    pub(super) next: Vec<Option<Sym>>,
    /// What is the case where we are.
    pub(super) path: Vec<X>,
    /// What must be the case for everything to have a meaning.
    pub(super) defined: Vec<X>,
    depth: usize,
    /// Definitions of actions entered; what follows an action is inside of it, so these are many.
    pub(super) acts: usize,
    work: usize,
}

/// Deeper than this is recursion that cannot be written out.
const DEPTH_MAX: usize = 100;
/// More definitions of actions inside of each other are recursion.
const ACTS_MAX: usize = 2_000;
/// So many expressions are looked at, at most.
const WORK_MAX: usize = 2_000_000;
/// No value has more parts.
const SIZE_MAX: usize = 4_000;
/// Longer lists are not written out.
const ELEMENTS_MAX: usize = 4096;

impl<'s> Partly<'s> {
    pub(super) fn new(
        definitions: &'s [Definition],
        evaluator: Evaluator<'s>,
        slots: &'s [Slot],
        now: Vec<Sym>,
    ) -> Partly<'s> {
        let next = vec![None; now.len()];
        Partly {
            definitions,
            evaluator,
            slots,
            now,
            next,
            path: Vec::new(),
            defined: Vec::new(),
            depth: 0,
            acts: 0,
            work: 0,
        }
    }

    /// Notes that something must be the case here.
    pub(super) fn require(&mut self, condition: X) {
        if known(&condition) == Some(1) {
            return;
        }
        let path = self.path.iter().cloned();
        let condition = or([not(and(path)), condition]);
        if known(&condition) != Some(1) && !self.defined.contains(&condition) {
            self.defined.push(condition);
        }
    }

    /// Evaluates where something is the case, too.
    fn under<T>(&mut self, condition: X, work: impl FnOnce(&mut Self) -> Made<T>) -> Made<T> {
        self.path.push(condition);
        let done = work(self);
        self.path.pop();
        done
    }

    /// Enters the definition of an action; whoever leaves it counts back.
    pub(super) fn enter_act(&mut self) -> Made<()> {
        if self.acts > ACTS_MAX {
            return no("an action that uses itself");
        }
        self.acts += 1;
        Ok(())
    }

    fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> Made<T>) -> Made<T> {
        if self.depth > DEPTH_MAX {
            return no("recursion that depends on the state");
        }
        self.depth += 1;
        let done = work(self);
        self.depth -= 1;
        done
    }

    pub(super) fn truth(&mut self, expr: &Expr, env: Env<'_>, primed: bool) -> Made<X> {
        match &*expr.kind {
            Kind::And(parts) => {
                let depth = self.path.len();
                let mut all = Vec::new();
                for part in parts {
                    let part = self.truth(part, env, primed)?;
                    if known(&part) == Some(0) {
                        all = vec![FALSE];
                        break;
                    }
                    self.path.push(part.clone());
                    all.push(part);
                }
                self.path.truncate(depth);
                Ok(and(all))
            }
            Kind::Or(parts) => {
                let depth = self.path.len();
                let mut all = Vec::new();
                for part in parts {
                    let part = self.truth(part, env, primed)?;
                    if known(&part) == Some(1) {
                        all = vec![TRUE];
                        break;
                    }
                    self.path.push(not(part.clone()));
                    all.push(part);
                }
                self.path.truncate(depth);
                Ok(or(all))
            }
            Kind::Quantified(all, bounds, body) => {
                let mut cases = Vec::new();
                let depth = self.path.len();
                self.each(bounds, env, primed, &mut |this, env, condition| {
                    let truth = this.under(condition.clone(), |this| this.truth(body, env, primed))?;
                    let case = match all {
                        true => or([not(condition), truth]),
                        false => and([condition, truth]),
                    };
                    this.path.push(if *all { case.clone() } else { not(case.clone()) });
                    cases.push(case);
                    Ok(())
                })?;
                self.path.truncate(depth);
                Ok(if *all { and(cases) } else { or(cases) })
            }
            Kind::Builtin(builtin, arguments) => match (builtin, &arguments[..]) {
                (Builtin::Not, [a]) => Ok(not(self.truth(a, env, primed)?)),
                (Builtin::Implies, [a, b]) => {
                    let a = self.truth(a, env, primed)?;
                    if known(&a) == Some(0) {
                        return Ok(TRUE);
                    }
                    let b = self.under(a.clone(), |this| this.truth(b, env, primed))?;
                    Ok(or([not(a), b]))
                }
                (Builtin::Equivalent, [a, b]) => Ok(eq(self.truth(a, env, primed)?, self.truth(b, env, primed)?)),
                (Builtin::Equal, [a, b]) => {
                    let (a, b) = (self.eval(a, env, primed)?, self.eval(b, env, primed)?);
                    equal(&a, &b, self.slots)
                }
                (Builtin::Unequal, [a, b]) => {
                    let (a, b) = (self.eval(a, env, primed)?, self.eval(b, env, primed)?);
                    Ok(not(equal(&a, &b, self.slots)?))
                }
                (Builtin::In, [a, b]) => self.is_member(a, b, env, primed),
                (Builtin::NotIn, [a, b]) => Ok(not(self.is_member(a, b, env, primed)?)),
                _ => self.eval(expr, env, primed)?.truth(),
            },
            Kind::If(a, b, c) => {
                let when = self.truth(a, env, primed)?;
                match known(&when) {
                    Some(0) => self.truth(c, env, primed),
                    Some(_) => self.truth(b, env, primed),
                    None => {
                        let b = self.under(when.clone(), |this| this.truth(b, env, primed))?;
                        let c = self.under(not(when.clone()), |this| this.truth(c, env, primed))?;
                        Ok(if_else(when, b, c))
                    }
                }
            }
            Kind::Let(definition, body) => {
                let frame = Frame::new(vec![Binding::Let(definition, env)], env);
                self.truth(body, frame.env(), primed)
            }
            Kind::Defined(id, arguments) => {
                let definition = &self.definitions[*id];
                if definition.level == Level::Constant && arguments.is_empty() {
                    return self.eval(expr, env, primed)?.truth();
                }
                let frame = Frame::called(arguments, env, Env::default());
                let inside = if arguments.is_empty() { Env::default() } else { frame.env() };
                self.deeper(|this| this.truth(&definition.body, inside, primed))
            }
            _ => self.eval(expr, env, primed)?.truth(),
        }
    }

    fn is_member(&mut self, value: &Expr, set: &Expr, env: Env<'_>, primed: bool) -> Made<X> {
        let value = self.eval(value, env, primed)?;
        self.member_of(value, set, env, primed)
    }

    fn member_of(&mut self, value: Sym, set: &Expr, env: Env<'_>, primed: bool) -> Made<X> {
        match &*set.kind {
            Kind::Filter(bound, body) => {
                let inside = self.member_of(value.clone(), &bound.set, env, primed)?;
                let frame = bind(bound, value, env)?;
                let truth = self.under(inside.clone(), |this| this.truth(body, frame.env(), primed))?;
                Ok(and([inside, truth]))
            }
            Kind::Builtin(Builtin::SetOf, elements) => {
                let mut cases = Vec::new();
                for element in elements {
                    let element = self.eval(element, env, primed)?;
                    cases.push(equal(&value, &element, self.slots)?);
                }
                Ok(or(cases))
            }
            _ => {
                let set = self.eval(set, env, primed)?;
                member(&value, &set, self.slots)
            }
        }
    }

    pub(super) fn eval(&mut self, expr: &Expr, env: Env<'_>, primed: bool) -> Made<Sym> {
        self.work += 1;
        if self.work > WORK_MAX {
            return no("an expression that is too large when it is written out");
        }
        let value = self.open_eval(expr, env, primed)?.closed();
        let mut left = SIZE_MAX;
        match value.is_small(&mut left) {
            true => Ok(value),
            false => no("an expression that is too large when it is written out"),
        }
    }

    fn open_eval(&mut self, expr: &Expr, env: Env<'_>, primed: bool) -> Made<Sym> {
        match &*expr.kind {
            Kind::Constant(value) => Ok(Sym::Value(value.clone())),
            Kind::Variable(variable) => match primed {
                false => Ok(self.now[*variable].clone()),
                true => self.next_of(*variable),
            },
            Kind::Next(variable) => self.next_of(*variable),
            Kind::Prime(inner) => self.eval(inner, env, true),
            Kind::Local(depth, index, arguments) => match env.find(*depth, *index) {
                Binding::Sym(sym) => Ok(sym.clone()),
                Binding::Argument(argument, theirs) => match &*argument.kind {
                    Kind::Lambda(_, body) => {
                        let frame = Frame::called(arguments, env, *theirs);
                        self.deeper(|this| this.eval(body, frame.env(), primed))
                    }
                    _ => self.eval(argument, *theirs, primed),
                },
                Binding::Let(definition, theirs) => {
                    let own = Frame::new(vec![Binding::Let(definition, *theirs)], *theirs);
                    let inside = if definition.framed { own.env() } else { *theirs };
                    let frame = Frame::called(arguments, env, inside);
                    let inside = if definition.parameters == 0 { inside } else { frame.env() };
                    self.deeper(|this| this.eval(&definition.body, inside, primed))
                }
            },
            Kind::Defined(id, arguments) => {
                let definition = &self.definitions[*id];
                if definition.level == Level::Constant && arguments.is_empty() {
                    let value = self.evaluator.eval(expr, Values::default(), Look::state(&[]));
                    return value.map(Sym::Value).map_err(|fault| NoForm(fault.message));
                }
                let frame = Frame::called(arguments, env, Env::default());
                let inside = if arguments.is_empty() { Env::default() } else { frame.env() };
                self.deeper(|this| this.eval(&definition.body, inside, primed))
            }
            Kind::Builtin(builtin, arguments) => self.builtin(expr, *builtin, arguments, env, primed),
            Kind::Choose(bound, body) => self.choose(bound, body, env, primed),
            Kind::Filter(bound, body) => {
                let mut kept = Vec::new();
                let elements = self.elements(&bound.set, env, primed)?;
                for (condition, element) in elements {
                    let frame = bind(bound, element.clone(), env)?;
                    let truth = self.under(condition.clone(), |this| this.truth(body, frame.env(), primed))?;
                    kept.push((and([condition, truth]), element));
                }
                self.set_of(kept)
            }
            Kind::Map(bounds, body) => {
                let mut mapped = Vec::new();
                self.each(bounds, env, primed, &mut |this, env, condition| {
                    let element = this.under(condition.clone(), |this| this.eval(body, env, primed))?;
                    mapped.push((condition, element));
                    Ok(())
                })?;
                self.set_of(mapped)
            }
            Kind::Function(bounds, body) => self.function(bounds, body, env, primed),
            Kind::Except(function, updates) => {
                let mut value = self.eval(function, env, primed)?;
                for (path, new) in updates {
                    let path = path.iter().map(|e| self.eval(e, env, primed)).collect::<Made<Vec<_>>>()?;
                    value = self.updated(&value, &path, new, env, primed)?;
                }
                Ok(value)
            }
            Kind::Record(fields) => {
                let keys = Arc::new(fields.iter().map(|(name, _)| name.clone()).collect());
                let parts = fields.iter().map(|(_, e)| self.eval(e, env, primed)).collect::<Made<Vec<_>>>()?;
                Ok(Sym::Function(keys, parts))
            }
            Kind::Records(fields) => {
                let mut sets = Vec::new();
                for (name, set) in fields {
                    let (Value::Str(name), Sym::Value(set)) = (name, self.eval(set, env, primed)?) else {
                        return no("a set of records over sets that depend on the state");
                    };
                    sets.push((name.clone(), set));
                }
                Ok(Sym::Value(Value::Lazy(Arc::new(Lazy::Records(sets)))))
            }
            Kind::If(a, b, c) => {
                let when = self.truth(a, env, primed)?;
                match known(&when) {
                    Some(0) => self.eval(c, env, primed),
                    Some(_) => self.eval(b, env, primed),
                    None => {
                        let b = self.under(when.clone(), |this| this.eval(b, env, primed))?;
                        let c = self.under(not(when.clone()), |this| this.eval(c, env, primed))?;
                        merge(&when, &b, &c, self.slots)
                    }
                }
            }
            Kind::Case(arms, other) => self.case(arms, other.as_ref(), env, primed),
            Kind::Let(definition, body) => {
                let frame = Frame::new(vec![Binding::Let(definition, env)], env);
                self.eval(body, frame.env(), primed)
            }
            Kind::And(_) | Kind::Or(_) | Kind::Quantified(..) => Ok(Sym::Bool(self.truth(expr, env, primed)?)),
            Kind::Lambda(..) | Kind::Fair(..) | Kind::Square(..) | Kind::Angle(..) => no("an operator as a value"),
        }
    }

    fn next_of(&self, variable: usize) -> Made<Sym> {
        self.next[variable].clone().ok_or_else(|| NoForm("a primed variable before it has a value".into()))
    }

    fn case(&mut self, arms: &[(Expr, Expr)], other: Option<&Expr>, env: Env<'_>, primed: bool) -> Made<Sym> {
        let Some(((when, then), rest)) = arms.split_first() else {
            return match other {
                Some(other) => self.eval(other, env, primed),
                None => no("a CASE without OTHER"),
            };
        };
        let when = self.truth(when, env, primed)?;
        match known(&when) {
            Some(0) => return self.case(rest, other, env, primed),
            Some(_) => return self.eval(then, env, primed),
            None => (),
        }
        let then = self.under(when.clone(), |this| this.eval(then, env, primed))?;
        if rest.is_empty() && other.is_none() {
            self.require(when);
            return Ok(then);
        }
        let rest = self.under(not(when.clone()), |this| this.case(rest, other, env, primed))?;
        merge(&when, &then, &rest, self.slots)
    }

    /// Goes through all ways to bind names, each with the condition under which it is one.
    pub(super) fn each(
        &mut self,
        bounds: &[Bound],
        env: Env<'_>,
        primed: bool,
        found: &mut dyn FnMut(&mut Self, Env<'_>, X) -> Made<()>,
    ) -> Made<()> {
        let sets = bounds.iter().map(|bound| self.elements(&bound.set, env, primed)).collect::<Made<Vec<_>>>()?;
        self.each_of(bounds, &sets, env, TRUE, found)
    }

    fn each_of(
        &mut self,
        bounds: &[Bound],
        sets: &[Vec<(X, Sym)>],
        env: Env<'_>,
        condition: X,
        found: &mut dyn FnMut(&mut Self, Env<'_>, X) -> Made<()>,
    ) -> Made<()> {
        let (Some((bound, bounds)), Some((set, sets))) = (bounds.split_first(), sets.split_first()) else {
            return found(self, env, condition);
        };
        for (when, element) in set {
            let frame = bind(bound, element.clone(), env)?;
            self.each_of(bounds, sets, frame.env(), and([condition.clone(), when.clone()]), found)?;
        }
        Ok(())
    }

    /// The elements of a set, each with the condition under which it is one.
    pub(super) fn elements(&mut self, set: &Expr, env: Env<'_>, primed: bool) -> Made<Vec<(X, Sym)>> {
        if let Kind::Builtin(Builtin::Subset, of) = &*set.kind {
            let of = self.eval(&of[0], env, primed)?;
            if let Sym::Mask(of, bits) = &of {
                return subsets(of, bits);
            }
        }
        let set = self.eval(set, env, primed)?;
        match &set {
            Sym::Value(set) => {
                let elements = set.elements().map_err(NoForm::of)?;
                match elements.len() <= ELEMENTS_MAX {
                    true => Ok(elements.iter().map(|element| (TRUE, Sym::Value(element.clone()))).collect()),
                    false => no("a set with too many elements"),
                }
            }
            Sym::Mask(of, bits) => {
                let place = |place: usize| bit(bits.clone(), Packed::Const(place as i64));
                Ok(of.iter().enumerate().map(|(at, element)| (place(at), Sym::Value(element.clone()))).collect())
            }
            _ => no("elements of something that is no set of a known list"),
        }
    }

    /// A set of elements, each with the condition under which it is one.
    pub(super) fn set_of(&mut self, elements: Vec<(X, Sym)>) -> Made<Sym> {
        let mut all: Vec<Value> = Vec::new();
        let mut codes = Vec::new();
        for (condition, element) in &elements {
            if known(condition) == Some(0) {
                continue;
            }
            let (values, code) = element.code(self.slots)?;
            all.extend(values.iter().cloned());
            codes.push((condition.clone(), values, code));
        }
        all.sort();
        all.dedup();
        if all.len() > 62 {
            if codes.iter().all(|(condition, values, _)| known(condition) == Some(1) && values.len() == 1) {
                return Ok(Sym::Value(Value::sorted(all)));
            }
            return no("a set over more than 62 values");
        }
        let mut bits = Packed::Const(0);
        for (condition, values, code) in codes {
            let places: Vec<i64> = values.iter().map(|v| all.binary_search(v).unwrap_or(0) as i64).collect();
            let one = binary(Binary::Shl, Packed::Const(1), super::build::look_up(code, &places));
            bits = binary(Binary::BitOr, bits, if_else(condition, one, Packed::Const(0)));
        }
        Ok(Sym::Mask(Arc::new(all), bits).closed())
    }

    fn choose(&mut self, bound: &Bound, body: &Expr, env: Env<'_>, primed: bool) -> Made<Sym> {
        let mut cases = Vec::new();
        let depth = self.path.len();
        for (condition, element) in self.elements(&bound.set, env, primed)? {
            let frame = bind(bound, element.clone(), env)?;
            let truth = self.under(condition.clone(), |this| this.truth(body, frame.env(), primed))?;
            let is = and([condition, truth]);
            if known(&is) == Some(0) {
                continue;
            }
            let last = known(&is) == Some(1);
            self.path.push(not(is.clone()));
            cases.push((is, element));
            if last {
                break;
            }
        }
        self.path.truncate(depth);
        let Some((last, mut value)) = cases.pop() else { return no("a CHOOSE that finds nothing") };
        let some = or(cases.iter().map(|(is, _)| is.clone()).chain([last]));
        self.require(some);
        for (is, element) in cases.into_iter().rev() {
            value = merge(&is, &element, &value, self.slots)?;
        }
        Ok(value)
    }

    fn function(&mut self, bounds: &[Bound], body: &Expr, env: Env<'_>, primed: bool) -> Made<Sym> {
        let mut pairs = Vec::new();
        let sets = bounds.iter().map(|bound| self.elements(&bound.set, env, primed)).collect::<Made<Vec<_>>>()?;
        if sets.iter().flatten().any(|(condition, _)| known(condition) != Some(1)) {
            return no("a function whose domain depends on the state");
        }
        let mut keys: Vec<Vec<Value>> = vec![Vec::new()];
        for set in &sets {
            let known = |element: &Sym| if let Sym::Value(value) = element { Some(value.clone()) } else { None };
            let Some(values) = set.iter().map(|(_, element)| known(element)).collect::<Option<Vec<_>>>() else {
                return no("a function whose domain depends on the state");
            };
            keys = keys
                .iter()
                .flat_map(|head| values.iter().map(|v| [&head[..], std::slice::from_ref(v)].concat()))
                .collect();
        }
        let mut keys = keys.into_iter();
        self.each_of(bounds, &sets, env, TRUE, &mut |this, env, _| {
            let key = keys.next().unwrap_or_default();
            let key = if key.len() == 1 { key[0].clone() } else { Value::tuple(key) };
            pairs.push((key, this.eval(body, env, primed)?));
            Ok(())
        })?;
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        let (keys, parts): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let is_tuple = keys.iter().enumerate().all(|(place, key)| *key == Value::Int(place as i64 + 1));
        Ok(if is_tuple { Sym::Tuple(parts) } else { Sym::Function(Arc::new(keys), parts) })
    }

    fn updated(&mut self, old: &Sym, path: &[Sym], new: &Expr, env: Env<'_>, primed: bool) -> Made<Sym> {
        let Some((index, rest)) = path.split_first() else {
            let frame = Frame::of(old.clone(), env);
            return self.eval(new, frame.env(), primed);
        };
        let (keys, mut parts) = entries(old)?;
        for (key, part) in keys.iter().zip(&mut parts) {
            let here = equal(index, &Sym::Value(key.clone()), self.slots)?;
            if known(&here) == Some(0) {
                continue;
            }
            let replaced = self.under(here.clone(), |this| this.updated(part, rest, new, env, primed))?;
            *part = merge(&here, &replaced, part, self.slots)?;
        }
        Ok(match old.open() {
            Sym::Tuple(_) => Sym::Tuple(parts),
            Sym::Sequence(length, _) => Sym::Sequence(length, parts),
            _ => Sym::Function(keys, parts),
        })
    }

    fn call(&mut self, function: &Sym, argument: &Sym) -> Made<Sym> {
        if let (Sym::Enum(values, code), Sym::Value(argument)) = (function, argument) {
            // Where a value has no such field nobody may look.
            let mut some = None;
            let results: Vec<Option<Value>> = values.iter().map(|v| v.apply(argument).ok().cloned()).collect();
            let fine: Vec<i64> = results.iter().map(|result| i64::from(result.is_some())).collect();
            for result in results.iter().flatten() {
                some.get_or_insert(result.clone());
            }
            let Some(some) = some else { return no("a field that no value has") };
            self.require(super::build::look_up(code.clone(), &fine));
            return table(results.into_iter().map(|r| r.unwrap_or_else(|| some.clone())).collect(), code.clone());
        }
        let (keys, parts) = entries(function)?;
        let mut cases = Vec::new();
        for (key, part) in keys.iter().zip(&parts) {
            let here = equal(argument, &Sym::Value(key.clone()), self.slots)?;
            match known(&here) {
                Some(0) => continue,
                Some(_) => {
                    cases.push((TRUE, part.clone()));
                    break;
                }
                None => cases.push((here, part.clone())),
            }
        }
        if let Sym::Sequence(length, _) = function.open() {
            let index = argument.int()?;
            self.require(and([binary(Binary::Le, Packed::Const(1), index.clone()), binary(Binary::Le, index, length)]));
        } else if !cases.iter().any(|(here, _)| known(here) == Some(1)) && !self.covered(argument, &keys) {
            self.require(or(cases.iter().map(|(here, _)| here.clone())));
        }
        let Some((_, mut value)) = cases.pop() else { return no("an argument outside the domain") };
        for (here, part) in cases.into_iter().rev() {
            value = merge(&here, &part, &value, self.slots)?;
        }
        Ok(value)
    }

    /// Whether an argument is among these, whatever it is.
    fn covered(&self, argument: &Sym, keys: &[Value]) -> bool {
        argument.code(self.slots).is_ok_and(|(values, _)| values.iter().all(|v| keys.binary_search(v).is_ok()))
    }

    fn builtin(&mut self, expr: &Expr, builtin: Builtin, arguments: &[Expr], env: Env<'_>, primed: bool) -> Made<Sym> {
        match builtin {
            Builtin::Not
            | Builtin::Implies
            | Builtin::Equivalent
            | Builtin::Equal
            | Builtin::Unequal
            | Builtin::In
            | Builtin::NotIn => {
                return Ok(Sym::Bool(self.truth(expr, env, primed)?));
            }
            Builtin::Enabled
            | Builtin::Unchanged
            | Builtin::Print
            | Builtin::PrintT
            | Builtin::Assert
            | Builtin::SelectSeq
            | Builtin::SortSeq
            | Builtin::Always
            | Builtin::Eventually
            | Builtin::LeadsTo => return no(format!("`{}`", builtin.name())),
            Builtin::SetOf => {
                let elements = arguments.iter().map(|e| Ok((TRUE, self.eval(e, env, primed)?)));
                let elements = elements.collect::<Made<Vec<_>>>()?;
                return self.set_of(elements);
            }
            Builtin::Tuple => {
                return Ok(Sym::Tuple(arguments.iter().map(|e| self.eval(e, env, primed)).collect::<Made<_>>()?));
            }
            Builtin::Union if matches!(&*arguments[0].kind, Kind::Map(..)) => {
                let Kind::Map(bounds, body) = &*arguments[0].kind else { return no("UNION") };
                let mut all = Sym::Value(Value::sorted(Vec::new()));
                self.each(bounds, env, primed, &mut |this, env, condition| {
                    let set = this.under(condition.clone(), |this| this.eval(body, env, primed))?;
                    let (of, x, y) = masks(&all, &set)?;
                    all = Sym::Mask(of, binary(Binary::BitOr, x, if_else(condition, y, Packed::Const(0)))).closed();
                    Ok(())
                })?;
                return Ok(all);
            }
            Builtin::Call => {
                if let Kind::Defined(id, inner) = &*arguments[0].kind
                    && self.definitions[*id].recursive_function
                {
                    let argument = self.eval(&arguments[1], env, primed)?;
                    return self.recursive(&arguments[0], &self.definitions[*id].body, inner, argument, env, primed);
                }
                let (function, argument) =
                    (self.eval(&arguments[0], env, primed)?, self.eval(&arguments[1], env, primed)?);
                if let (Sym::Value(function), Sym::Value(argument)) = (&function, &argument) {
                    return function.apply(argument).cloned().map(Sym::Value).map_err(NoForm::of);
                }
                return self.call(&function, &argument);
            }
            _ => (),
        }
        let values = arguments.iter().map(|e| self.eval(e, env, primed)).collect::<Made<Vec<_>>>()?;
        let constants: Option<Vec<Value>> =
            values.iter().map(|v| if let Sym::Value(v) = v { Some(v.clone()) } else { None }).collect();
        match constants {
            Some(constants) => operate(builtin, &constants).map(Sym::Value).map_err(NoForm::of),
            None => self.operator(builtin, &values),
        }
    }

    /// A function that names itself, on an argument that is known.
    fn recursive(
        &mut self,
        call: &Expr,
        body: &Expr,
        arguments: &[Expr],
        argument: Sym,
        env: Env<'_>,
        primed: bool,
    ) -> Made<Sym> {
        let Sym::Value(value) = &argument else {
            let function = self.deeper(|this| this.eval(call, env, primed))?;
            return self.call(&function, &argument);
        };
        let Kind::Function(bounds, body) = &*body.kind else { return no("a recursive function") };
        let parts = match (bounds.len(), value) {
            (1, _) => vec![value.clone()],
            (count, Value::Tuple(parts)) if parts.len() == count => parts.to_vec(),
            _ => return no("a recursive function"),
        };
        let frame = Frame::called(arguments, env, Env::default());
        let inside = if arguments.is_empty() { Env::default() } else { frame.env() };
        let sets: Vec<Vec<(X, Sym)>> = parts.into_iter().map(|part| vec![(TRUE, Sym::Value(part))]).collect();
        let mut result = None;
        self.deeper(|this| {
            this.each_of(bounds, &sets, inside, TRUE, &mut |this, env, _| {
                result = Some(this.eval(body, env, primed)?);
                Ok(())
            })
        })?;
        result.ok_or_else(|| NoForm("a recursive function".into()))
    }
}

/// Keys and parts of a function.
fn entries(function: &Sym) -> Made<(Arc<Vec<Value>>, Vec<Sym>)> {
    match function.open() {
        Sym::Function(keys, parts) => Ok((keys, parts)),
        Sym::Tuple(parts) | Sym::Sequence(_, parts) => {
            Ok((Arc::new((1..=parts.len() as i64).map(Value::Int).collect()), parts))
        }
        _ => no("a function of several kinds"),
    }
}

/// All subsets, each with the condition under which it is one.
fn subsets(of: &Arc<Vec<Value>>, bits: &X) -> Made<Vec<(X, Sym)>> {
    if of.len() > 10 {
        return no("the subsets of a set of more than 10 elements");
    }
    let all = (0..1i64 << of.len()).map(|mask| {
        let covered = binary(Binary::BitAnd, complement(bits.clone()), Packed::Const(mask));
        (eq(covered, Packed::Const(0)), Sym::Mask(of.clone(), Packed::Const(mask)).closed())
    });
    Ok(all.collect())
}

pub(super) fn bind<'a>(bound: &Bound, element: Sym, env: Env<'a>) -> Made<Frame<'a>> {
    if !bound.tuple {
        return Ok(Frame::of(element, env));
    }
    match element.open() {
        Sym::Tuple(parts) if parts.len() == bound.names.len() => {
            Ok(Frame::new(parts.into_iter().map(|part| Binding::Sym(part.closed())).collect(), env))
        }
        _ => no("a pattern for values that are no tuples"),
    }
}
