//! What expressions are worth in a state, or in a step.
//!
//! Bound names live in [`Frame`]s on the stack, each pointing outwards. An argument is evaluated when somebody asks,
//! and once, unless its worth depends on variables that are still being chosen: while steps are enumerated, `x'` is one
//! thing in one branch and another in the next.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::builtin::Builtin;
use super::fault::{Fault, Result};
use super::ir::{Bound, Definition, DefinitionId, Expr, Kind, LetDefinition, Level};
use super::operate::operate;
use super::syntax::At;
use super::value::{Lazy, Value, equal};

/// Values of the variables; those without one have none yet.
pub type Partial = Vec<Option<Value>>;

/// The bound names that are seen from somewhere.
#[derive(Clone, Copy, Default)]
pub struct Env<'a>(Option<&'a Frame<'a>>);

/// Names that are bound together.
pub struct Frame<'a> {
    names: Vec<Binding<'a>>,
    outer: Env<'a>,
}

/// What a name is bound to.
pub(crate) enum Binding<'a> {
    /// A value.
    Value(Value),
    /// An argument.
    Argument(&'a Expr, Env<'a>, OnceCell<Value>),
    /// A definition of a LET.
    Let(&'a LetDefinition, Env<'a>, OnceCell<Value>),
}

/// What variables are worth.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// Unprimed.
    pub now: &'a [Option<Value>],
    /// Primed; nothing, where there is no step.
    pub next: Option<&'a [Option<Value>]>,
    /// Whether unprimed variables are still being chosen.
    pub choosing: bool,
}

impl<'a> Look<'a> {
    /// A state.
    pub fn state(now: &'a [Option<Value>]) -> Look<'a> {
        Look { now, next: None, choosing: false }
    }

    /// A step.
    pub fn step(now: &'a [Option<Value>], next: &'a [Option<Value>]) -> Look<'a> {
        Look { now, next: Some(next), choosing: false }
    }
}

impl<'a> Frame<'a> {
    pub(crate) fn new(names: Vec<Binding<'a>>, outer: Env<'a>) -> Frame<'a> {
        Frame { names, outer }
    }

    /// Values bound together, as the components of a tuple are.
    pub(crate) fn values(values: Vec<Value>, outer: Env<'a>) -> Frame<'a> {
        Frame { names: values.into_iter().map(Binding::Value).collect(), outer }
    }

    /// What is seen inside.
    pub fn env(&'a self) -> Env<'a> {
        Env(Some(self))
    }
}

impl<'a> Env<'a> {
    /// Nothing is bound.
    pub(crate) fn is_empty(self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn find(self, depth: usize, index: usize) -> &'a Binding<'a> {
        let mut env = self;
        for _ in 0..depth {
            env = env.0.expect("every bound name has a frame").outer;
        }
        let frame = env.0.expect("every bound name has a frame");
        &frame.names[index]
    }
}

/// Evaluates.
pub struct Evaluator<'s> {
    pub(crate) definitions: &'s [Definition],
    pub(crate) variables: &'s [(String, At)],
    /// Whether variables that are still being chosen were looked at.
    touched: Cell<bool>,
    /// What recursive functions have come to; only of those that depend on nothing.
    remembered: RefCell<FxHashMap<(DefinitionId, Value), Value>>,
    /// What Print printed.
    pub printed: RefCell<Vec<String>>,
    depth: Cell<usize>,
}

/// Deeper than this nothing that ends goes.
const DEPTH_MAX: usize = 10_000;

impl<'s> Evaluator<'s> {
    /// An evaluator.
    pub fn new(definitions: &'s [Definition], variables: &'s [(String, At)]) -> Evaluator<'s> {
        Evaluator {
            definitions,
            variables,
            touched: Cell::new(false),
            remembered: RefCell::new(HashMap::default()),
            printed: RefCell::default(),
            depth: Cell::new(0),
        }
    }

    /// Whether an expression is true.
    pub fn truth(&self, expr: &Expr, env: Env<'_>, look: Look<'_>) -> Result<bool> {
        match &*expr.kind {
            Kind::And(parts) => {
                for part in parts {
                    if !self.truth(part, env, look)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Kind::Or(parts) => {
                for part in parts {
                    if self.truth(part, env, look)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Kind::Quantified(all, bounds, body) => {
                let sets = self.sets(bounds, env, look)?;
                let found = self.some(bounds, &sets, env, &mut |env| Ok(self.truth(body, env, look)? != *all))?;
                Ok(found != *all)
            }
            Kind::Builtin(builtin, arguments) => match (builtin, &arguments[..]) {
                (Builtin::Not, [a]) => Ok(!self.truth(a, env, look)?),
                (Builtin::Implies, [a, b]) => Ok(!self.truth(a, env, look)? || self.truth(b, env, look)?),
                (Builtin::Equivalent, [a, b]) => Ok(self.truth(a, env, look)? == self.truth(b, env, look)?),
                (Builtin::Equal, [a, b]) => self.equal(expr.at, a, b, env, look),
                (Builtin::Unequal, [a, b]) => Ok(!self.equal(expr.at, a, b, env, look)?),
                (Builtin::In, [a, b]) => self.member(&self.eval(a, env, look)?, b, env, look),
                (Builtin::NotIn, [a, b]) => Ok(!self.member(&self.eval(a, env, look)?, b, env, look)?),
                (Builtin::Unchanged, [a]) => self.unchanged(a, env, look),
                (Builtin::Enabled, [a]) => self.enabled(a, env, look),
                _ => self.boolean(expr, env, look),
            },
            Kind::Square(action, subscript) => {
                Ok(self.truth(action, env, look)? || self.unchanged(subscript, env, look)?)
            }
            Kind::Angle(action, subscript) => {
                Ok(self.truth(action, env, look)? && !self.unchanged(subscript, env, look)?)
            }
            Kind::If(a, b, c) => match self.truth(a, env, look)? {
                true => self.truth(b, env, look),
                false => self.truth(c, env, look),
            },
            Kind::Let(definition, body) => {
                let frame = Frame::new(vec![Binding::Let(definition, env, OnceCell::new())], env);
                self.truth(body, frame.env(), look)
            }
            Kind::Defined(id, arguments) => {
                let definition = &self.definitions[*id];
                match arguments.is_empty() {
                    true if definition.level == Level::Constant => self.boolean(expr, env, look),
                    true => self.deeper(expr.at, || self.truth(&definition.body, Env::default(), look)),
                    false => {
                        let frame = self.called(arguments, env, Env::default());
                        self.deeper(expr.at, || self.truth(&definition.body, frame.env(), look))
                    }
                }
            }
            _ => self.boolean(expr, env, look),
        }
    }

    fn boolean(&self, expr: &Expr, env: Env<'_>, look: Look<'_>) -> Result<bool> {
        match self.eval(expr, env, look)? {
            Value::Bool(value) => Ok(value),
            other => Err(Fault::new(expr.at, format!("{other} is {} and neither TRUE nor FALSE", other.kind()))),
        }
    }

    /// What an expression is worth.
    pub fn eval(&self, expr: &Expr, env: Env<'_>, look: Look<'_>) -> Result<Value> {
        let at = expr.at;
        match &*expr.kind {
            Kind::Constant(value) => Ok(value.clone()),
            Kind::Variable(variable) => self.variable(at, *variable, look),
            Kind::Next(variable) => {
                self.touched.set(true);
                self.next_variable(at, *variable, look)
            }
            Kind::Prime(inner) => {
                self.touched.set(true);
                let next =
                    look.next.ok_or_else(|| Fault::new(at, "there is no step here, so nothing can be primed"))?;
                self.eval(inner, env, Look { now: next, next: None, choosing: true })
            }
            Kind::Local(depth, index, arguments) => self.local(at, *depth, *index, arguments, env, look),
            Kind::Defined(id, arguments) => self.defined(at, *id, arguments, env, look),
            Kind::Builtin(builtin, arguments) => self.builtin(expr, *builtin, arguments, env, look),
            Kind::Choose(bound, body) => self.choose(at, bound, body, env, look),
            Kind::Filter(bound, body) => {
                let mut kept = Vec::new();
                for element in self.elements(&bound.set, env, look)?.iter() {
                    let frame = bind(at, bound, element, env)?;
                    if self.truth(body, frame.env(), look)? {
                        kept.push(element.clone());
                    }
                }
                Ok(Value::sorted(kept))
            }
            Kind::Map(bounds, body) => {
                let sets = self.sets(bounds, env, look)?;
                let mut mapped = Vec::new();
                self.some(bounds, &sets, env, &mut |env| {
                    mapped.push(self.listed(body, env, look)?);
                    Ok(false)
                })?;
                Value::set(mapped).map_err(|why| Fault::of(at, why))
            }
            Kind::Function(bounds, body) => self.function(at, bounds, body, env, look),
            Kind::Except(function, updates) => self.except(function, updates, env, look),
            Kind::Record(fields) => {
                let values = fields.iter().map(|(_, e)| self.listed(e, env, look)).collect::<Result<Vec<_>>>()?;
                let keys = Arc::new(fields.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
                Ok(Value::function_on(keys, values))
            }
            Kind::Records(fields) => {
                let mut sets = Vec::new();
                for (name, set) in fields {
                    let Value::Str(name) = name else { continue };
                    sets.push((name.clone(), self.set(set, env, look)?));
                }
                Ok(Value::Lazy(Arc::new(Lazy::Records(sets))))
            }
            Kind::If(a, b, c) => match self.truth(a, env, look)? {
                true => self.eval(b, env, look),
                false => self.eval(c, env, look),
            },
            Kind::Case(arms, other) => self.eval(self.arm(at, arms, other.as_ref(), env, look)?, env, look),
            Kind::Let(definition, body) => {
                let frame = Frame::new(vec![Binding::Let(definition, env, OnceCell::new())], env);
                self.eval(body, frame.env(), look)
            }
            Kind::Lambda(..) => Err(Fault::new(at, "an operator is no value")),
            Kind::Fair(..) => Err(Fault::new(at, "a temporal formula cannot be evaluated in a state")),
            Kind::And(_) | Kind::Or(_) | Kind::Quantified(..) | Kind::Square(..) | Kind::Angle(..) => {
                self.truth(expr, env, look).map(Value::Bool)
            }
        }
    }

    /// What an expression is worth, with every set listed: what may be in a state or in another value.
    pub(crate) fn listed(&self, expr: &Expr, env: Env<'_>, look: Look<'_>) -> Result<Value> {
        self.eval(expr, env, look)?.listed().map_err(|why| Fault::of(expr.at, why))
    }

    /// The branch of a CASE that counts.
    pub(crate) fn arm<'e>(
        &self,
        at: At,
        arms: &'e [(Expr, Expr)],
        other: Option<&'e Expr>,
        env: Env<'_>,
        look: Look<'_>,
    ) -> Result<&'e Expr> {
        for (when, then) in arms {
            if self.truth(when, env, look)? {
                return Ok(then);
            }
        }
        other.ok_or_else(|| Fault::new(at, "no condition of this CASE is true"))
    }

    fn variable(&self, at: At, variable: usize, look: Look<'_>) -> Result<Value> {
        if look.choosing {
            self.touched.set(true);
        }
        match look.now.get(variable) {
            Some(Some(value)) => Ok(value.clone()),
            _ => {
                let name = self.variables.get(variable).map_or("", |(name, _)| name);
                Err(Fault::new(at, format!("`{name}` is used before it has a value")))
            }
        }
    }

    fn next_variable(&self, at: At, variable: usize, look: Look<'_>) -> Result<Value> {
        let next = look.next.ok_or_else(|| Fault::new(at, "there is no step here, so nothing can be primed"))?;
        next.get(variable).and_then(Clone::clone).ok_or_else(|| {
            let name = self.variables.get(variable).map_or("", |(name, _)| name);
            Fault::new(at, format!("`{name}'` is used before it has a value"))
        })
    }

    /// The frame of a call: its arguments, seen from `env`.
    pub(crate) fn called<'a>(&self, arguments: &'a [Expr], env: Env<'a>, outer: Env<'a>) -> Frame<'a> {
        let bound = |expr: &'a Expr| match &*expr.kind {
            Kind::Constant(value) => Binding::Value(value.clone()),
            _ => Binding::Argument(expr, env, OnceCell::new()),
        };
        Frame::new(arguments.iter().map(bound).collect(), outer)
    }

    pub(super) fn deeper<T>(&self, at: At, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let depth = self.depth.get();
        if depth > DEPTH_MAX {
            return Err(Fault::limit(at, "this recursion does not end"));
        }
        self.depth.set(depth + 1);
        let done = work();
        self.depth.set(depth);
        done
    }

    fn defined(&self, at: At, id: DefinitionId, arguments: &[Expr], env: Env<'_>, look: Look<'_>) -> Result<Value> {
        let definition = &self.definitions[id];
        if !arguments.is_empty() {
            let frame = self.called(arguments, env, Env::default());
            return self.deeper(at, || self.eval(&definition.body, frame.env(), look));
        }
        if definition.level != Level::Constant {
            return self.deeper(at, || self.eval(&definition.body, Env::default(), look));
        }
        if let Some(known) = definition.known.get() {
            return Ok(known.clone());
        }
        let mut value = self.deeper(at, || self.eval(&definition.body, Env::default(), look))?;
        // A set that is asked again and again is better listed, if it can be.
        if let Value::Lazy(lazy) = &value
            && lazy.is_small()
        {
            value = value.listed().map_err(|why| Fault::of(at, why))?;
        }
        Ok(definition.known.get_or_init(|| value).clone())
    }

    fn local(
        &self,
        at: At,
        depth: usize,
        index: usize,
        arguments: &[Expr],
        env: Env<'_>,
        look: Look<'_>,
    ) -> Result<Value> {
        match env.find(depth, index) {
            Binding::Value(value) => Ok(value.clone()),
            Binding::Argument(expr, theirs, known) => match &*expr.kind {
                Kind::Lambda(_, body) => {
                    let frame = self.called(arguments, env, *theirs);
                    self.deeper(at, || self.eval(body, frame.env(), look))
                }
                _ => self.once(known, || self.eval(expr, *theirs, look)),
            },
            Binding::Let(definition, theirs, known) => {
                let own = definition.framed.then(|| self.itself(definition, *theirs));
                let inside = own.as_ref().map_or(*theirs, Frame::env);
                match definition.parameters {
                    0 => self.once(known, || self.deeper(at, || self.eval(&definition.body, inside, look))),
                    _ => {
                        let frame = self.called(arguments, env, inside);
                        self.deeper(at, || self.eval(&definition.body, frame.env(), look))
                    }
                }
            }
        }
    }

    /// The frame of a definition that may name itself.
    fn itself<'a>(&self, definition: &'a LetDefinition, env: Env<'a>) -> Frame<'a> {
        Frame::new(vec![Binding::Let(definition, env, OnceCell::new())], env)
    }

    /// Evaluates, and keeps what came out if it cannot change.
    fn once(&self, known: &OnceCell<Value>, work: impl FnOnce() -> Result<Value>) -> Result<Value> {
        if let Some(value) = known.get() {
            return Ok(value.clone());
        }
        let before = self.touched.replace(false);
        let value = work()?;
        if !self.touched.get() {
            let _ = known.set(value.clone());
        }
        self.touched.set(before || self.touched.get());
        Ok(value)
    }

    fn equal(&self, at: At, a: &Expr, b: &Expr, env: Env<'_>, look: Look<'_>) -> Result<bool> {
        let (a, b) = (self.eval(a, env, look)?, self.eval(b, env, look)?);
        equal(&a, &b).map_err(|why| Fault::of(at, why))
    }

    /// Whether a value is in a set, which need not be listed for that.
    pub(crate) fn member(&self, value: &Value, set: &Expr, env: Env<'_>, look: Look<'_>) -> Result<bool> {
        match &*set.kind {
            Kind::Filter(bound, body) => {
                if !self.member(value, &bound.set, env, look)? {
                    return Ok(false);
                }
                let frame = bind(set.at, bound, value, env)?;
                self.truth(body, frame.env(), look)
            }
            Kind::Builtin(Builtin::SetOf, elements) => {
                for element in elements {
                    let element = self.eval(element, env, look)?;
                    if equal(value, &element).map_err(|why| Fault::of(set.at, why))? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            _ => {
                let value = match value {
                    Value::Lazy(_) => value.clone().listed().map_err(|why| Fault::of(set.at, why))?,
                    _ => value.clone(),
                };
                self.eval(set, env, look)?.contains(&value).map_err(|why| Fault::of(set.at, why))
            }
        }
    }

    fn set(&self, expr: &Expr, env: Env<'_>, look: Look<'_>) -> Result<Value> {
        match self.eval(expr, env, look)? {
            set @ (Value::Set(_) | Value::Lazy(_)) => Ok(set),
            other => Err(Fault::new(expr.at, format!("{other} is {} and not a set", other.kind()))),
        }
    }

    pub(crate) fn elements(&self, expr: &Expr, env: Env<'_>, look: Look<'_>) -> Result<Arc<Vec<Value>>> {
        self.eval(expr, env, look)?.elements().map_err(|why| Fault::of(expr.at, why))
    }

    pub(crate) fn sets(&self, bounds: &[Bound], env: Env<'_>, look: Look<'_>) -> Result<Vec<Arc<Vec<Value>>>> {
        bounds.iter().map(|bound| self.elements(&bound.set, env, look)).collect()
    }

    /// Goes through all ways to bind names, until one is found for which it is true.
    pub(crate) fn some(
        &self,
        bounds: &[Bound],
        sets: &[Arc<Vec<Value>>],
        env: Env<'_>,
        found: &mut dyn FnMut(Env<'_>) -> Result<bool>,
    ) -> Result<bool> {
        let (Some((bound, bounds)), Some((set, sets))) = (bounds.split_first(), sets.split_first()) else {
            return found(env);
        };
        for element in set.iter() {
            let frame = bind(bound.set.at, bound, element, env)?;
            if self.some(bounds, sets, frame.env(), found)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn choose(&self, at: At, bound: &Bound, body: &Expr, env: Env<'_>, look: Look<'_>) -> Result<Value> {
        let set = self.eval(&bound.set, env, look)?;
        if matches!(&set, Value::Lazy(lazy) if **lazy == Lazy::Anything) {
            return self.choose_anything(at, bound, body, env, look);
        }
        if let Value::Lazy(lazy) = &set
            && matches!(**lazy, Lazy::Nat | Lazy::Int)
        {
            // The least natural number, if there is one that is not too large.
            for number in 0..1_000_000 {
                let frame = Frame::values(vec![Value::Int(number)], env);
                if self.truth(body, frame.env(), look)? {
                    return Ok(Value::Int(number));
                }
            }
        }
        for element in set.elements().map_err(|why| Fault::of(bound.set.at, why))?.iter() {
            let frame = bind(at, bound, element, env)?;
            if self.truth(body, frame.env(), look)? {
                return Ok(element.clone());
            }
        }
        Err(Fault::new(at, "CHOOSE finds no element"))
    }

    /// Without a set, only `CHOOSE v : v \notin S` has an answer: a value that is nothing else, named by its place.
    fn choose_anything(&self, at: At, bound: &Bound, body: &Expr, env: Env<'_>, look: Look<'_>) -> Result<Value> {
        let name = bound.names.first().map_or("v", String::as_str);
        let fresh = Value::Model(format!("CHOOSE_{name}_{}", at.start).as_str().into());
        let frame = Frame::values(vec![fresh.clone()], env);
        match self.truth(body, frame.env(), look) {
            Ok(true) => Ok(fresh.clone()),
            _ => Err(Fault::with_hint(at, "CHOOSE without a set is not supported", "write `CHOOSE x \\in S : ...`")),
        }
    }

    fn function(&self, at: At, bounds: &[Bound], body: &Expr, env: Env<'_>, look: Look<'_>) -> Result<Value> {
        let sets = self.sets(bounds, env, look)?;
        if let ([bound], [set]) = (bounds, &sets[..])
            && !bound.tuple
        {
            let mut values = Vec::with_capacity(set.len());
            for element in set.iter() {
                let frame = Frame::values(vec![element.clone()], env);
                values.push(self.listed(body, frame.env(), look)?);
            }
            return Ok(Value::function_on(set.clone(), values));
        }
        let mut pairs = Vec::new();
        let mut key = Vec::new();
        self.pairs(bounds, &sets, env, look, body, &mut key, &mut pairs)?;
        Value::function(pairs).map_err(|why| Fault::of(at, why))
    }

    /// Pairs of a function of several arguments: the key is their tuple.
    #[allow(clippy::too_many_arguments)]
    fn pairs(
        &self,
        bounds: &[Bound],
        sets: &[Arc<Vec<Value>>],
        env: Env<'_>,
        look: Look<'_>,
        body: &Expr,
        key: &mut Vec<Value>,
        pairs: &mut Vec<(Value, Value)>,
    ) -> Result<()> {
        let (Some((bound, bounds)), Some((set, sets))) = (bounds.split_first(), sets.split_first()) else {
            let argument = if key.len() == 1 { key[0].clone() } else { Value::tuple(key.clone()) };
            pairs.push((argument, self.listed(body, env, look)?));
            return Ok(());
        };
        for element in set.iter() {
            let frame = bind(bound.set.at, bound, element, env)?;
            key.push(element.clone());
            self.pairs(bounds, sets, frame.env(), look, body, key, pairs)?;
            key.pop();
        }
        Ok(())
    }

    fn except(&self, function: &Expr, updates: &[(Vec<Expr>, Expr)], env: Env<'_>, look: Look<'_>) -> Result<Value> {
        let mut value = self.eval(function, env, look)?;
        for (path, new) in updates {
            let path = path.iter().map(|e| Ok((self.listed(e, env, look)?, e.at))).collect::<Result<Vec<_>>>()?;
            value = self.updated(&value, &path, new, env, look)?;
        }
        Ok(value)
    }

    fn updated(&self, old: &Value, path: &[(Value, At)], new: &Expr, env: Env<'_>, look: Look<'_>) -> Result<Value> {
        let Some(((argument, at), rest)) = path.split_first() else {
            let frame = Frame::values(vec![old.clone()], env);
            return self.listed(new, frame.env(), look);
        };
        let Ok(inner) = old.apply(argument) else {
            // Outside the domain nothing changes; what is no function is a mistake.
            return old.except(argument, Value::Bool(false)).map_err(|why| Fault::of(*at, why));
        };
        let inner = self.updated(inner, rest, new, env, look)?;
        old.except(argument, inner).map_err(|why| Fault::of(*at, why))
    }

    fn builtin(
        &self,
        expr: &Expr,
        builtin: Builtin,
        arguments: &[Expr],
        env: Env<'_>,
        look: Look<'_>,
    ) -> Result<Value> {
        let at = expr.at;
        let value = |index: usize| self.eval(&arguments[index], env, look);
        match builtin {
            Builtin::Not
            | Builtin::Implies
            | Builtin::Equivalent
            | Builtin::Equal
            | Builtin::Unequal
            | Builtin::In
            | Builtin::NotIn
            | Builtin::Unchanged
            | Builtin::Enabled => self.truth(expr, env, look).map(Value::Bool),
            Builtin::Call => self.call(at, &arguments[0], &arguments[1], env, look),
            Builtin::SetOf => {
                let elements = arguments.iter().map(|e| self.listed(e, env, look)).collect::<Result<Vec<_>>>()?;
                Value::set(elements).map_err(|why| Fault::of(at, why))
            }
            Builtin::Tuple => {
                Ok(Value::tuple(arguments.iter().map(|e| self.listed(e, env, look)).collect::<Result<Vec<_>>>()?))
            }
            Builtin::Always | Builtin::Eventually | Builtin::LeadsTo => {
                Err(Fault::new(at, "a temporal formula cannot be evaluated in a state"))
            }
            Builtin::SelectSeq => {
                let Value::Tuple(elements) = value(0)? else {
                    return Err(Fault::new(at, "SelectSeq takes a sequence"));
                };
                let mut kept = Vec::new();
                for element in elements.iter() {
                    if self.test(&arguments[1], vec![element.clone()], env, look)? {
                        kept.push(element.clone());
                    }
                }
                Ok(Value::tuple(kept))
            }
            Builtin::SortSeq => {
                let Value::Tuple(elements) = value(0)? else { return Err(Fault::new(at, "SortSeq takes a sequence")) };
                let mut sorted: Vec<Value> = Vec::new();
                for element in elements.iter() {
                    let mut place = sorted.len();
                    while place > 0
                        && self.test(&arguments[1], vec![element.clone(), sorted[place - 1].clone()], env, look)?
                    {
                        place -= 1;
                    }
                    sorted.insert(place, element.clone());
                }
                Ok(Value::tuple(sorted))
            }
            Builtin::Assert => match self.truth(&arguments[0], env, look)? {
                true => Ok(Value::Bool(true)),
                false => Err(Fault::new(at, format!("the assertion fails: {}", value(1)?))),
            },
            Builtin::PrintT => {
                self.printed.borrow_mut().push(value(0)?.to_string());
                Ok(Value::Bool(true))
            }
            Builtin::Print => {
                self.printed.borrow_mut().push(value(0)?.to_string());
                value(1)
            }
            _ => {
                let values = arguments.iter().map(|e| self.eval(e, env, look)).collect::<Result<Vec<_>>>()?;
                operate(builtin, &values).map_err(|why| Fault::of(at, why))
            }
        }
    }

    fn test(&self, operator: &Expr, arguments: Vec<Value>, env: Env<'_>, look: Look<'_>) -> Result<bool> {
        match &*operator.kind {
            Kind::Lambda(_, body) => self.truth(body, Frame::values(arguments, env).env(), look),
            _ => Err(Fault::new(operator.at, "an operator is expected here")),
        }
    }

    /// A function applied to an argument. One that names itself is not built first: its domain may be infinite.
    fn call(&self, at: At, function: &Expr, argument: &Expr, env: Env<'_>, look: Look<'_>) -> Result<Value> {
        match &*function.kind {
            Kind::Defined(id, arguments)
                if self.definitions[*id].recursive_function && self.definitions[*id].known.get().is_none() =>
            {
                let definition = &self.definitions[*id];
                let argument = self.listed(argument, env, look)?;
                let remembers = definition.level == Level::Constant && arguments.is_empty();
                if remembers && let Some(value) = self.remembered.borrow().get(&(*id, argument.clone())) {
                    return Ok(value.clone());
                }
                let frame = self.called(arguments, env, Env::default());
                let inside = if arguments.is_empty() { Env::default() } else { frame.env() };
                let value = self.deeper(at, || self.applied(at, &definition.body, &argument, inside, look))?;
                if remembers {
                    self.remembered.borrow_mut().insert((*id, argument), value.clone());
                }
                return Ok(value);
            }
            Kind::Local(depth, index, _) => {
                if let Binding::Let(definition, theirs, known) = env.find(*depth, *index)
                    && definition.recursive
                    && definition.parameters == 0
                    && known.get().is_none()
                {
                    let argument = self.listed(argument, env, look)?;
                    let own = self.itself(definition, *theirs);
                    return self.deeper(at, || self.applied(at, &definition.body, &argument, own.env(), look));
                }
            }
            _ => (),
        }
        let function = self.eval(function, env, look)?;
        let argument = self.eval(argument, env, look)?.listed().map_err(|why| Fault::of(at, why))?;
        function.apply(&argument).cloned().map_err(|why| Fault::of(at, why))
    }

    /// The body of a function for one argument.
    fn applied(&self, at: At, function: &Expr, argument: &Value, env: Env<'_>, look: Look<'_>) -> Result<Value> {
        let Kind::Function(bounds, body) = &*function.kind else {
            let function = self.eval(function, env, look)?;
            return function.apply(argument).cloned().map_err(|why| Fault::of(at, why));
        };
        let arguments = match (bounds.len(), argument) {
            (1, _) => vec![argument.clone()],
            (count, Value::Tuple(parts)) if parts.len() == count => parts.to_vec(),
            _ => return Err(Fault::new(at, format!("{argument} is not in the domain of the function"))),
        };
        for (bound, argument) in bounds.iter().zip(&arguments) {
            if !self.member(argument, &bound.set, env, look)? {
                return Err(Fault::new(at, format!("{argument} is not in the domain of the function")));
            }
        }
        let sets: Vec<Arc<Vec<Value>>> = arguments.into_iter().map(|argument| Arc::new(vec![argument])).collect();
        let mut value = None;
        self.some(bounds, &sets, env, &mut |env| {
            value = Some(self.listed(body, env, look)?);
            Ok(true)
        })?;
        value.ok_or_else(|| Fault::new(at, format!("{argument} is not in the domain of the function")))
    }

    fn unchanged(&self, expr: &Expr, env: Env<'_>, look: Look<'_>) -> Result<bool> {
        self.touched.set(true);
        let next =
            look.next.ok_or_else(|| Fault::new(expr.at, "there is no step here, so nothing can be unchanged"))?;
        if let Kind::Builtin(Builtin::Tuple, parts) = &*expr.kind {
            for part in parts {
                if !self.unchanged(part, env, look)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        let before = self.eval(expr, env, look)?;
        let after = self.eval(expr, env, Look { now: next, next: None, choosing: true })?;
        equal(&before, &after).map_err(|why| Fault::of(expr.at, why))
    }
}

/// One way to bind names.
pub(crate) fn bind<'a>(at: At, bound: &Bound, element: &Value, env: Env<'a>) -> Result<Frame<'a>> {
    if !bound.tuple {
        return Ok(Frame::values(vec![element.clone()], env));
    }
    match element {
        Value::Tuple(parts) if parts.len() == bound.names.len() => Ok(Frame::values(parts.to_vec(), env)),
        other => Err(Fault::new(at, format!("{other} is no tuple of {}", bound.names.len()))),
    }
}
