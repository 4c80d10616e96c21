//! Syntax to meaning: every name looked up, every arity checked.
//!
//! Definitions are looked at when somebody names them, so that a module may hold what the checker does not support, as
//! long as nothing that is checked needs it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use super::builtin::Builtin;
use super::fault::{Fault, Result};
use super::ir::{Bound, Definition, DefinitionId, Expr, Kind, LetDefinition, Level};
use super::modules::{ContextId, Meaning, Modules};
use super::syntax::{self, At, Unit};
use super::value::Value;

/// What has been looked up so far.
#[derive(Debug, Default)]
pub(super) struct Resolver {
    pub(super) definitions: Vec<Definition>,
    ids: BTreeMap<(ContextId, String), DefinitionId>,
    waiting: Vec<(DefinitionId, ContextId, Arc<syntax::Definition>)>,
}

impl Resolver {
    /// An expression of a context, and all definitions that it needs.
    pub(super) fn expression(&mut self, modules: &Modules, context: ContextId, expr: &syntax::Expr) -> Result<Expr> {
        let first = self.definitions.len();
        let mut scope = Scope { resolver: self, modules, context, locals: Vec::new(), visible: None };
        let resolved = scope.expr(expr)?;
        while let Some((id, context, definition)) = self.waiting.pop() {
            let parameters = modules.parameters(context).iter().chain(&definition.parameters).cloned().collect();
            let parameters: Vec<(String, usize)> = parameters;
            let locals = match parameters.is_empty() {
                true => Vec::new(),
                false => vec![Frame { names: parameters, used: false }],
            };
            let mut scope = Scope { resolver: self, modules, context, locals, visible: None };
            let body = scope.body(&definition)?;
            let recursive = definition.bounds.is_some() && mentions(&body, id);
            self.definitions[id].recursive_function = recursive;
            self.definitions[id].body = body;
        }
        self.check_circular(first)?;
        self.levels(first);
        self.check_levels(&resolved)?;
        for definition in &self.definitions[first..] {
            self.check_levels(&definition.body)?;
        }
        Ok(resolved)
    }

    /// What an expression can depend on.
    pub(super) fn level(&self, expr: &Expr) -> Level {
        let inside = || expr.parts().into_iter().map(|part| self.level(part)).max().unwrap_or_default();
        match &*expr.kind {
            Kind::Variable(_) => Level::State,
            Kind::Next(_) | Kind::Prime(_) => Level::Action,
            Kind::Defined(id, _) => inside().max(self.definitions[*id].level),
            Kind::Builtin(Builtin::Enabled, _) => Level::State,
            Kind::Builtin(Builtin::Unchanged, _) | Kind::Square(..) | Kind::Angle(..) => inside().max(Level::Action),
            Kind::Builtin(Builtin::Always | Builtin::Eventually | Builtin::LeadsTo, _) | Kind::Fair(..) => {
                Level::Temporal
            }
            _ => inside(),
        }
    }

    /// Levels of definitions depend on each other: they rise until they stay.
    fn levels(&mut self, first: usize) {
        loop {
            let mut changed = false;
            for id in first..self.definitions.len() {
                let level = self.level(&self.definitions[id].body);
                changed |= level != self.definitions[id].level;
                self.definitions[id].level = level;
            }
            if !changed {
                return;
            }
        }
    }

    /// A name without parameters that is defined by itself stands for nothing: there is nothing that could become
    /// smaller.
    fn check_circular(&self, first: usize) -> Result<()> {
        let plain = |id: DefinitionId| {
            let definition = &self.definitions[id];
            definition.parameters.is_empty() && !definition.recursive_function
        };
        for id in (first..self.definitions.len()).filter(|id| plain(*id)) {
            let (mut seen, mut waiting) = (BTreeSet::new(), vec![id]);
            while let Some(next) = waiting.pop() {
                let mut named = Vec::new();
                names(&self.definitions[next].body, &mut named);
                if named.contains(&id) {
                    let message = format!("{} is defined by itself", self.definitions[id].name);
                    return Err(Fault::new(self.definitions[id].body.at, message));
                }
                waiting.extend(named.into_iter().filter(|other| plain(*other) && seen.insert(*other)));
            }
        }
        Ok(())
    }

    fn check_levels(&self, expr: &Expr) -> Result<()> {
        let limit = match &*expr.kind {
            Kind::Prime(inner) => (inner, Level::State, "be primed"),
            Kind::Builtin(Builtin::Enabled, arguments) => (&arguments[0], Level::Action, "stand behind ENABLED"),
            _ => return expr.parts().into_iter().try_for_each(|part| self.check_levels(part)),
        };
        let (inner, most, what) = limit;
        match self.level(inner) {
            level if level > most => Err(Fault::new(inner.at, format!("{} cannot {what}", said(level)))),
            _ => self.check_levels(inner),
        }
    }
}

/// What an expression of a level is called.
pub(super) fn said(level: Level) -> &'static str {
    match level {
        Level::Constant => "a constant expression",
        Level::State => "an expression about a state",
        Level::Action => "an expression about a step",
        Level::Temporal => "a temporal formula",
    }
}

/// The definitions without arguments that an expression names.
fn names(expr: &Expr, found: &mut Vec<DefinitionId>) {
    if let Kind::Defined(id, arguments) = &*expr.kind
        && arguments.is_empty()
    {
        found.push(*id);
    }
    expr.parts().into_iter().for_each(|part| names(part, found));
}

fn mentions(expr: &Expr, id: DefinitionId) -> bool {
    matches!(&*expr.kind, Kind::Defined(other, _) if *other == id) || expr.parts().into_iter().any(|e| mentions(e, id))
}

struct Frame {
    names: Vec<(String, usize)>,
    used: bool,
}

/// Where an expression stands.
struct Scope<'r> {
    resolver: &'r mut Resolver,
    modules: &'r Modules,
    context: ContextId,
    locals: Vec<Frame>,
    /// If given, only so many names of the outermost frame are seen: what stands for a name of an instance was written
    /// outside.
    visible: Option<usize>,
}

/// Arguments: as they were written, or made.
enum Arguments<'a> {
    Written(&'a [syntax::Expr]),
    Made(Vec<Expr>),
}

impl Arguments<'_> {
    fn len(&self) -> usize {
        match self {
            Arguments::Written(arguments) => arguments.len(),
            Arguments::Made(arguments) => arguments.len(),
        }
    }
}

impl Scope<'_> {
    fn body(&mut self, definition: &syntax::Definition) -> Result<Expr> {
        match &definition.bounds {
            Some(bounds) => {
                let (bounds, body) = self.bounded(bounds, &definition.body)?;
                Ok(Expr::new(definition.at, Kind::Function(bounds, body)))
            }
            None => self.expr(&definition.body),
        }
    }

    fn exprs(&mut self, exprs: &[syntax::Expr]) -> Result<Vec<Expr>> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    fn expr(&mut self, expr: &syntax::Expr) -> Result<Expr> {
        use syntax::Kind as Written;
        let at = expr.at;
        let kind = match &*expr.kind {
            Written::Number(number) => Kind::Constant(Value::Int(*number)),
            Written::Text(text) => Kind::Constant(Value::text(text)),
            Written::Bool(value) => Kind::Constant(Value::Bool(*value)),
            Written::Apply(path, name, arguments) => {
                return self.apply(at, path, name, Arguments::Written(arguments));
            }
            Written::Lambda(..) => return Err(Fault::new(at, "an operator cannot stand here")),
            Written::Quantified(all, bounds, body) => {
                let (bounds, body) = self.bounded(bounds, body)?;
                Kind::Quantified(*all, bounds, body)
            }
            Written::Choose(bound, body) => {
                let (mut bounds, body) = self.bounded(std::slice::from_ref(bound), body)?;
                Kind::Choose(bounds.remove(0), body)
            }
            Written::Filter(bound, body) => {
                let (mut bounds, body) = self.bounded(std::slice::from_ref(bound), body)?;
                Kind::Filter(bounds.remove(0), body)
            }
            Written::Map(body, bounds) => {
                let (bounds, body) = self.bounded(bounds, body)?;
                Kind::Map(bounds, body)
            }
            Written::Function(bounds, body) => {
                let (bounds, body) = self.bounded(bounds, body)?;
                Kind::Function(bounds, body)
            }
            Written::Set(elements) => Kind::Builtin(Builtin::SetOf, self.exprs(elements)?),
            Written::Tuple(elements) => Kind::Builtin(Builtin::Tuple, self.exprs(elements)?),
            Written::Product(sets) => Kind::Builtin(Builtin::Product, self.exprs(sets)?),
            Written::Functions(from, to) => Kind::Builtin(Builtin::Functions, vec![self.expr(from)?, self.expr(to)?]),
            Written::Call(function, arguments) => {
                let mut arguments = self.exprs(arguments)?;
                let argument = match arguments.len() {
                    1 => arguments.remove(0),
                    _ => Expr::new(at, Kind::Builtin(Builtin::Tuple, arguments)),
                };
                Kind::Builtin(Builtin::Call, vec![self.expr(function)?, argument])
            }
            Written::Record(fields) => Kind::Record(self.fields(at, fields)?),
            Written::Records(fields) => Kind::Records(self.fields(at, fields)?),
            Written::Except(function, updates) => {
                let function = self.expr(function)?;
                let mut resolved = Vec::new();
                for (path, value) in updates {
                    let path = self.exprs(path)?;
                    let value = self.framed(vec![("@".into(), 0)], |scope| scope.expr(value))?;
                    resolved.push((path, value));
                }
                Kind::Except(function, resolved)
            }
            Written::Previous => {
                return self
                    .local(at, "@", Arguments::Made(Vec::new()))?
                    .ok_or_else(|| Fault::new(at, "`@` stands only in EXCEPT"));
            }
            Written::If(a, b, c) => Kind::If(self.expr(a)?, self.expr(b)?, self.expr(c)?),
            Written::Case(arms, other) => {
                let arms = arms.iter().map(|(a, b)| Ok((self.expr(a)?, self.expr(b)?))).collect::<Result<_>>()?;
                Kind::Case(arms, other.as_ref().map(|other| self.expr(other)).transpose()?)
            }
            Written::Let(units, body) => return self.let_in(at, units, body),
            Written::And(parts) => Kind::And(self.exprs(parts)?),
            Written::Or(parts) => Kind::Or(self.exprs(parts)?),
            Written::Square(a, v) => Kind::Square(self.expr(a)?, self.expr(v)?),
            Written::Angle(a, v) => Kind::Angle(self.expr(a)?, self.expr(v)?),
            Written::Fair(weak, v, a) => Kind::Fair(*weak, self.expr(v)?, self.expr(a)?),
        };
        Ok(Expr::new(at, kind))
    }

    fn framed<T>(&mut self, names: Vec<(String, usize)>, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.locals.push(Frame { names, used: false });
        let result = body(self);
        self.locals.pop();
        result
    }

    fn fields(&mut self, at: At, fields: &[(String, syntax::Expr)]) -> Result<Vec<(Value, Expr)>> {
        let mut sorted =
            fields.iter().map(|(name, e)| Ok((Value::text(name), self.expr(e)?))).collect::<Result<Vec<_>>>()?;
        sorted.sort_by(|a, b| a.0.cmp(&b.0));
        match sorted.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            true => Err(Fault::new(at, "a field stands here twice")),
            false => Ok(sorted),
        }
    }

    /// Bounds, their sets looked up outside, and a body inside.
    fn bounded(&mut self, bounds: &[syntax::Bound], body: &syntax::Expr) -> Result<(Vec<Bound>, Expr)> {
        let mut resolved = Vec::new();
        for bound in bounds {
            let set = self.expr(&bound.set)?;
            match bound.tuple {
                true => resolved.push(Bound { names: bound.names.clone(), tuple: true, set }),
                false => resolved.extend(bound.names.iter().map(|name| Bound {
                    names: vec![name.clone()],
                    tuple: false,
                    set: set.clone(),
                })),
            }
        }
        let depth = self.locals.len();
        for bound in &resolved {
            self.locals.push(Frame { names: bound.names.iter().map(|name| (name.clone(), 0)).collect(), used: false });
        }
        let body = self.expr(body);
        self.locals.truncate(depth);
        Ok((resolved, body?))
    }

    fn let_in(&mut self, at: At, units: &[Unit], body: &syntax::Expr) -> Result<Expr> {
        let recursive: Vec<&String> = units
            .iter()
            .flat_map(|unit| match unit {
                Unit::Recursive(names) => names.iter().collect(),
                _ => Vec::new(),
            })
            .collect();
        let Some((first, rest)) = units.split_first() else { return self.expr(body) };
        let definition = match first {
            Unit::Definition(definition) => definition,
            Unit::Recursive(_) => {
                // The declaration counts for what follows; it is told by the definitions themselves.
                return self.let_after(at, rest, &recursive, body);
            }
            _ => return Err(Fault::new(at, "INSTANCE in LET is not supported")),
        };
        let resolved = self.let_definition(definition, &recursive)?;
        let named = vec![(definition.name.clone(), definition.parameters.len())];
        let body = self.framed(named, |scope| scope.let_in(at, rest, body))?;
        Ok(Expr::new(at, Kind::Let(resolved, body)))
    }

    fn let_after(&mut self, at: At, units: &[Unit], recursive: &[&String], body: &syntax::Expr) -> Result<Expr> {
        let Some((first, rest)) = units.split_first() else { return self.expr(body) };
        let Unit::Definition(definition) = first else { return self.let_in(at, units, body) };
        let resolved = self.let_definition(&with_later(definition, rest, recursive), recursive)?;
        let named = vec![(definition.name.clone(), definition.parameters.len())];
        let body = self.framed(named, |scope| scope.let_after(at, rest, recursive, body))?;
        Ok(Expr::new(at, Kind::Let(resolved, body)))
    }

    fn let_definition(&mut self, definition: &syntax::Definition, recursive: &[&String]) -> Result<LetDefinition> {
        let may_recur = definition.bounds.is_some() || recursive.contains(&&definition.name);
        let arity = definition.parameters.len();
        let with_parameters = |scope: &mut Self| match arity {
            0 => scope.body(definition),
            _ => scope.framed(definition.parameters.clone(), |scope| scope.body(definition)),
        };
        let (body, used) = match may_recur {
            false => (with_parameters(self)?, false),
            true => {
                self.locals.push(Frame { names: vec![(definition.name.clone(), arity)], used: false });
                let body = with_parameters(self);
                let used = self.locals.pop().is_some_and(|frame| frame.used);
                (body?, used)
            }
        };
        Ok(LetDefinition { name: definition.name.clone(), parameters: arity, framed: may_recur, recursive: used, body })
    }

    /// The application of a name, whatever it stands for.
    fn apply(
        &mut self,
        at: At,
        path: &[(String, Vec<syntax::Expr>)],
        name: &str,
        arguments: Arguments<'_>,
    ) -> Result<Expr> {
        if path.is_empty() {
            if name == "'" && arguments.len() == 1 {
                return self.primed(at, arguments);
            }
            if name == "/\\" || name == "\\/" {
                let parts = self.arguments(at, name, &[0, 0], arguments)?;
                return Ok(Expr::new(at, if name == "/\\" { Kind::And(parts) } else { Kind::Or(parts) }));
            }
            if self.place(name).is_some() {
                return self.local(at, name, arguments)?.ok_or_else(|| unknown(at, name));
            }
        }
        let mut context = self.context;
        let mut given = Vec::new();
        for (instance, arguments) in path {
            let Some(Meaning::Instance(inner, arity)) = self.modules.look_up(context, instance) else {
                return Err(Fault::new(at, format!("`{instance}` is no instance of a module")));
            };
            if arity != arguments.len() {
                return Err(Fault::new(at, takes(instance, arity, arguments.len())));
            }
            given.extend(self.exprs(arguments)?);
            context = inner;
        }
        let meaning = self.modules.look_up(context, name).ok_or_else(|| unknown(at, name))?;
        self.meant(at, name, meaning, given, arguments)
    }

    fn meant(
        &mut self,
        at: At,
        name: &str,
        meaning: Meaning,
        given: Vec<Expr>,
        arguments: Arguments<'_>,
    ) -> Result<Expr> {
        let plain = |kind| match arguments.len() {
            0 => Ok(Expr::new(at, kind)),
            count => Err(Fault::new(at, takes(name, 0, count))),
        };
        match meaning {
            Meaning::Variable(variable) => plain(Kind::Variable(variable)),
            Meaning::Value(value) => plain(Kind::Constant(value)),
            Meaning::Missing => Err(Fault::with_hint(
                at,
                format!("the constant `{name}` has no value"),
                format!("in the configuration file: CONSTANT {name} = ..."),
            )),
            Meaning::Builtin(builtin, arity) => {
                let mut arities = vec![0; arity];
                match builtin {
                    Builtin::SelectSeq => arities[1] = 1,
                    Builtin::SortSeq => arities[1] = 2,
                    _ => (),
                }
                Ok(Expr::new(at, Kind::Builtin(builtin, self.arguments(at, name, &arities, arguments)?)))
            }
            Meaning::Definition(context, definition) => {
                let id = self.id(context, &definition);
                let own = self.modules.parameters(context).len().saturating_sub(given.len());
                let arities: Vec<usize> = definition.parameters.iter().map(|(_, arity)| *arity).collect();
                let arguments = self.arguments(at, name, &arities, arguments)?;
                let outermost = self.locals.len().saturating_sub(1);
                // Inside an instance, its parameters are those of the frame around everything.
                let own = (0..own).map(|index| Expr::new(at, Kind::Local(outermost, index, Vec::new())));
                Ok(Expr::new(at, Kind::Defined(id, own.chain(given).chain(arguments).collect())))
            }
            Meaning::Substituted(context, expr) => match &*expr.kind {
                // An operator for an operator: its arguments are ours.
                syntax::Kind::Apply(path, theirs, inner) if inner.is_empty() && arguments.len() > 0 => {
                    let made = match arguments {
                        Arguments::Made(made) => made,
                        Arguments::Written(written) => self.exprs(written)?,
                    };
                    self.outside(context, |scope| scope.apply(at, path, theirs, Arguments::Made(made)))
                }
                _ if arguments.len() == 0 => self.outside(context, |scope| scope.expr(&expr)),
                _ => Err(Fault::with_hint(
                    at,
                    format!("`{name}` stands for an operator without a name, which is not supported"),
                    "define an operator and put its name behind <-",
                )),
            },
            Meaning::Instance(..) => Err(Fault::new(at, format!("`{name}` is a module and not an expression"))),
            Meaning::Same(context, name) => {
                let meaning = self.modules.look_up(context, &name).ok_or_else(|| unknown(at, &name))?;
                self.meant(at, &name, meaning, given, arguments)
            }
        }
    }

    /// Looks at what was written in another context, around all of our frames but the outermost.
    fn outside<T>(&mut self, context: ContextId, look: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let (old_context, old_visible) = (self.context, self.visible);
        let parameters = self.modules.parameters(old_context).len();
        (self.context, self.visible) = (context, Some(old_visible.map_or(parameters, |seen| seen.min(parameters))));
        let result = look(self);
        (self.context, self.visible) = (old_context, old_visible);
        result
    }

    fn id(&mut self, context: ContextId, definition: &Arc<syntax::Definition>) -> DefinitionId {
        let key = (context, definition.name.clone());
        if let Some(id) = self.resolver.ids.get(&key) {
            return *id;
        }
        let id = self.resolver.definitions.len();
        let parameters = self.modules.parameters(context).iter().chain(&definition.parameters);
        self.resolver.definitions.push(Definition {
            name: format!("{}{}", self.modules.contexts[context].prefix, definition.name),
            parameters: parameters.map(|(name, _)| name.clone()).collect(),
            body: Expr::new(definition.at, Kind::Constant(Value::Bool(false))),
            recursive_function: false,
            level: Level::Constant,
            at: definition.at,
            known: OnceLock::new(),
        });
        self.resolver.ids.insert(key, id);
        self.resolver.waiting.push((id, context, definition.clone()));
        id
    }

    fn primed(&mut self, at: At, arguments: Arguments<'_>) -> Result<Expr> {
        let mut inner = self.arguments(at, "'", &[0], arguments)?;
        let inner = inner.remove(0);
        Ok(match *inner.kind {
            Kind::Variable(variable) => Expr::new(at, Kind::Next(variable)),
            _ => Expr::new(at, Kind::Prime(inner)),
        })
    }

    /// Where a bound name is: its frame, counted from outside, and its place there.
    fn place(&self, name: &str) -> Option<(usize, usize)> {
        let within = |names: &[(String, usize)]| names.iter().rposition(|(known, _)| known == name);
        match self.visible {
            None => (0..self.locals.len()).rev().find_map(|at| Some((at, within(&self.locals[at].names)?))),
            Some(seen) => {
                let names = &self.locals.first()?.names;
                Some((0, within(&names[..seen.min(names.len())])?))
            }
        }
    }

    fn local(&mut self, at: At, name: &str, arguments: Arguments<'_>) -> Result<Option<Expr>> {
        let Some((frame, index)) = self.place(name) else { return Ok(None) };
        let arity = self.locals[frame].names[index].1;
        self.locals[frame].used = true;
        let arguments = self.arguments(at, name, &vec![0; arity], arguments)?;
        let depth = self.locals.len() - 1 - frame;
        Ok(Some(Expr::new(at, Kind::Local(depth, index, arguments))))
    }

    /// Arguments for parameters of these arities.
    fn arguments(&mut self, at: At, name: &str, arities: &[usize], arguments: Arguments<'_>) -> Result<Vec<Expr>> {
        if arities.len() != arguments.len() {
            return Err(Fault::new(at, takes(name, arities.len(), arguments.len())));
        }
        match arguments {
            Arguments::Made(made) => Ok(made),
            Arguments::Written(written) => written
                .iter()
                .zip(arities)
                .map(|(argument, arity)| match arity {
                    0 => self.expr(argument),
                    arity => self.operator(argument, *arity),
                })
                .collect(),
        }
    }

    /// An operator as an argument.
    fn operator(&mut self, expr: &syntax::Expr, arity: usize) -> Result<Expr> {
        let body = match &*expr.kind {
            syntax::Kind::Lambda(names, body) if names.len() == arity => {
                let names = names.iter().map(|name| (name.clone(), 0)).collect();
                self.framed(names, |scope| scope.expr(body))?
            }
            syntax::Kind::Apply(path, name, arguments) if arguments.is_empty() => {
                // Names that nobody can write.
                let names = (0..arity).map(|index| (format!("{index}"), 0)).collect();
                let made = (0..arity).map(|index| Expr::new(expr.at, Kind::Local(0, index, Vec::new()))).collect();
                self.framed(names, |scope| scope.apply(expr.at, path, name, Arguments::Made(made)))?
            }
            _ => return Err(Fault::new(expr.at, format!("an operator with {arity} parameters is expected here"))),
        };
        Ok(Expr::new(expr.at, Kind::Lambda(arity, body)))
    }
}

/// A definition of a LET that may name others that follow it, as RECURSIVE permits: these stand inside of it, too.
fn with_later(definition: &syntax::Definition, rest: &[Unit], recursive: &[&String]) -> syntax::Definition {
    let is_later = |unit: &&Unit| matches!(unit, Unit::Definition(other) if recursive.contains(&&other.name));
    let later: Vec<Unit> = rest.iter().filter(is_later).cloned().collect();
    let mut definition = definition.clone();
    if later.is_empty() || !recursive.contains(&&definition.name) {
        return definition;
    }
    let declared =
        Unit::Recursive(recursive.iter().filter(|name| **name != &definition.name).map(|n| n.to_string()).collect());
    let (at, units) = (definition.body.at, [vec![declared], later].concat());
    definition.body = syntax::Expr { kind: Box::new(syntax::Kind::Let(units, definition.body)), at };
    definition
}

fn takes(name: &str, arity: usize, given: usize) -> String {
    let arguments = |count| match count {
        0 => "no arguments".to_string(),
        1 => "1 argument".to_string(),
        count => format!("{count} arguments"),
    };
    format!("`{name}` takes {} and has {}", arguments(arity), arguments(given))
}

fn unknown(at: At, name: &str) -> Box<Fault> {
    if name == "\\cdot" {
        return Fault::new(at, "action composition (`\\cdot`) is not supported");
    }
    let module = super::builtin::BUILTINS.iter().find(|(module, known, ..)| *known == name && !module.is_empty());
    match module {
        Some((module, ..)) => {
            Fault::with_hint(at, format!("there is no operator `{name}`"), format!("EXTENDS {module}"))
        }
        None => Fault::new(at, format!("there is nothing with the name `{name}`")),
    }
}
