//! A specification that can be checked: where it starts, how it goes on, and what must be true.

use super::builtin::Builtin;
use super::config::{self, Config};
use super::eval::{Env, Evaluator, Look};
use super::fault::{Error, Fault, Result, Sources};
use super::ir::{DefinitionId, Expr, Kind, Level};
use super::modules::{Finder, Loader, Modules};
use super::parse;
use super::resolve::{Resolver, said};
use super::syntax::{self, At};
use super::value::Value;
use crate::packed::Action;

/// A specification with everything that its configuration says.
#[derive(Debug, Default)]
pub struct Spec {
    /// The name of the module.
    pub name: String,
    /// All texts.
    pub sources: Sources,
    modules: Modules,
    resolver: Resolver,
    /// Where behaviours start.
    pub init: Option<Expr>,
    /// How they go on; nothing, if they do not.
    pub next: Option<Expr>,
    /// What is fair: the conjuncts of the specification besides.
    pub fairness: Vec<Expr>,
    /// What must be true in every state.
    pub invariants: Vec<(String, Expr)>,
    /// What must be true of every behaviour.
    pub properties: Vec<(String, Expr)>,
    /// States for which one of these is false are not looked at.
    pub constraints: Vec<Expr>,
    /// Steps for which one of these is false are not taken.
    pub action_constraints: Vec<Expr>,
    /// Permutations of model values that make no difference.
    pub symmetry: Vec<Value>,
    /// States for which this is the same are the same, if it is given.
    pub view: Option<Expr>,
    /// Whether a state without steps is a mistake; nothing, if that is not said.
    pub check_deadlock: Option<bool>,
}

/// The files of a specification.
pub struct Files<'a> {
    /// The name of the module's file.
    pub name: &'a str,
    /// What it says.
    pub text: &'a str,
    /// The configuration: its name, and what it says.
    pub config: Option<(&'a str, &'a str)>,
}

impl Spec {
    /// Reads a specification; `find` finds the modules that it names.
    pub fn load(files: &Files<'_>, find: Finder<'_>) -> std::result::Result<Spec, Error> {
        let mut spec = Spec::default();
        match spec.fill(files, find) {
            Ok(()) => Ok(spec),
            Err(fault) => Err(spec.sources.error(&fault)),
        }
    }

    fn fill(&mut self, files: &Files<'_>, find: Finder<'_>) -> Result<()> {
        let config = match files.config {
            Some((name, text)) => {
                let file = self.sources.add(name, text);
                config::parse(file, text)?
            }
            None => Config::default(),
        };
        let mut loader = Loader { modules: &mut self.modules, sources: &mut self.sources, config: &config, find };
        self.name = loader.root(files.name, files.text)?.1;
        self.behaviours(&config)?;
        self.check_constants(&config)?;
        self.assumptions()?;
        for (name, at) in &config.invariants {
            let invariant = self.named(name, *at, Level::State)?;
            self.invariants.push((name.clone(), invariant));
        }
        for (name, at) in &config.properties {
            let property = self.named(name, *at, Level::Temporal)?;
            self.properties.push((name.clone(), property));
        }
        for (name, at) in &config.constraints {
            let constraint = self.named(name, *at, Level::State)?;
            self.constraints.push(constraint);
        }
        for (name, at) in &config.action_constraints {
            let constraint = self.named(name, *at, Level::Action)?;
            self.action_constraints.push(constraint);
        }
        for (name, at) in &config.symmetry {
            let symmetry = self.named(name, *at, Level::Constant)?;
            let permutations = self.evaluator().elements(&symmetry, Env::default(), Look::state(&[]))?;
            self.symmetry.extend(permutations.iter().cloned());
        }
        if let Some((name, at)) = &config.view {
            self.view = Some(self.named(name, *at, Level::State)?);
        }
        self.check_deadlock = config.check_deadlock;
        Ok(())
    }

    /// INIT and NEXT, or what SPECIFICATION takes apart into them; without either, the usual names.
    fn behaviours(&mut self, config: &Config) -> Result<()> {
        if let Some((name, at)) = &config.init {
            self.init = Some(self.named(name, *at, Level::State)?);
            self.next = match &config.next {
                Some((name, at)) => Some(self.named(name, *at, Level::Action)?),
                None => return Err(Fault::with_hint(*at, "INIT stands without NEXT", "NEXT Next")),
            };
            return Ok(());
        }
        if let Some((name, at)) = &config.specification {
            let formula = self.named(name, *at, Level::Temporal)?;
            return self.take_apart(&formula);
        }
        let at = At::default();
        if self.modules.look_up(0, "Spec").is_some() {
            let formula = self.named("Spec", at, Level::Temporal)?;
            return self.take_apart(&formula);
        }
        if self.modules.look_up(0, "Init").is_some() && self.modules.look_up(0, "Next").is_some() {
            self.init = Some(self.named("Init", at, Level::State)?);
            self.next = Some(self.named("Next", at, Level::Action)?);
            return Ok(());
        }
        Err(Fault::with_hint(
            At { file: self.sources.files.len() as u32 - 1, start: 0, end: 1 },
            "nothing says where behaviours start and how they go on",
            "define Spec, or Init and Next, or name them in a configuration file: SPECIFICATION Spec",
        ))
    }

    /// `Init /\ [][Next]_v /\ L`
    fn take_apart(&mut self, formula: &Expr) -> Result<()> {
        let mut init = Vec::new();
        let mut conjuncts = vec![formula.clone()];
        while let Some(conjunct) = conjuncts.pop() {
            match &*conjunct.kind {
                Kind::And(parts) => conjuncts.extend(parts.iter().rev().cloned()),
                Kind::Defined(id, arguments)
                    if arguments.is_empty() && self.resolver.level(&conjunct) == Level::Temporal =>
                {
                    conjuncts.push(self.resolver.definitions[*id].body.clone());
                }
                Kind::Builtin(Builtin::Always, inner) => match &*inner[0].kind {
                    Kind::Square(next, _) if self.next.is_none() => self.next = Some(next.clone()),
                    _ => {
                        let message = "this conjunct of the specification is not supported";
                        return Err(Fault::with_hint(conjunct.at, message, "one [][Next]_vars, and WF or SF"));
                    }
                },
                _ if self.resolver.level(&conjunct) <= Level::State => init.push(conjunct),
                _ => self.fairness.push(conjunct),
            }
        }
        if init.is_empty() {
            return Err(Fault::new(formula.at, "the specification does not say where behaviours start"));
        }
        self.init = Some(Expr::new(formula.at, Kind::And(init)));
        Ok(())
    }

    /// A definition of the module by its name, at most of this level.
    fn named(&mut self, name: &str, at: At, level: Level) -> Result<Expr> {
        let written = syntax::Expr { kind: Box::new(syntax::Kind::Apply(Vec::new(), name.into(), Vec::new())), at };
        let expr = self.resolver.expression(&self.modules, 0, &written)?;
        match self.resolver.level(&expr) {
            found if found > level => {
                Err(Fault::new(at, format!("`{name}` is {} and should be {}", said(found), said(level))))
            }
            _ => Ok(expr),
        }
    }

    /// Every constant that the configuration gives a value should exist.
    fn check_constants(&self, config: &Config) -> Result<()> {
        let known = |name: &str| self.modules.contexts.iter().any(|context| context.names.contains_key(name));
        let given = config.constants.iter().map(|(name, _, at)| (name, at));
        let others = config.overrides.iter().map(|(name, _, _, at)| (name, at));
        match given.chain(others).find(|(name, _)| !known(name)) {
            Some((name, at)) => Err(Fault::new(*at, format!("there is no constant `{name}`"))),
            None => Ok(()),
        }
    }

    fn assumptions(&mut self) -> Result<()> {
        for (context, assumed) in self.modules.assumptions.clone() {
            let assumed = self.resolver.expression(&self.modules, context, &assumed)?;
            if !self.evaluator().truth(&assumed, Env::default(), Look::state(&[]))? {
                return Err(Fault::new(assumed.at, "this assumption is false for the given constants"));
            }
        }
        Ok(())
    }

    /// An expression about the specification, at most of this level: what stands on a command line.
    pub fn expression(&mut self, name: &str, text: &str, level: Level) -> std::result::Result<Expr, Error> {
        let file = self.sources.add(name, text);
        let parsed = parse::expression(file, text).and_then(|written| {
            let expr = self.resolver.expression(&self.modules, 0, &written)?;
            match self.resolver.level(&expr) {
                found if found > level => {
                    Err(Fault::new(expr.at, format!("this is {} and should be {}", said(found), said(level))))
                }
                _ => Ok(expr),
            }
        });
        parsed.map_err(|fault| self.sources.error(&fault))
    }

    /// An action by the definition that names it; the next-state relation itself, if none does.
    pub fn action(&self, definition: Option<DefinitionId>) -> Action {
        let (name, at) = match definition {
            Some(id) => (self.resolver.definitions[id].name.clone(), self.resolver.definitions[id].at),
            None => ("Next".into(), self.next.as_ref().map(|next| next.at).unwrap_or_default()),
        };
        Action { name, file: self.sources.name(at).into(), line: self.sources.line(at).0 }
    }

    /// Every action that the next-state relation names, whether it is ever taken or not.
    pub fn actions(&self) -> Vec<Action> {
        let mut found = Vec::new();
        if let Some(next) = &self.next {
            self.gather_actions(next, None, &mut found);
        }
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(|definition| self.action(definition)).collect()
    }

    /// As [steps](Evaluator::steps) are named.
    fn gather_actions(&self, expr: &Expr, name: Option<DefinitionId>, found: &mut Vec<Option<DefinitionId>>) {
        match &*expr.kind {
            Kind::Or(parts) => parts.iter().for_each(|part| self.gather_actions(part, name, found)),
            Kind::Quantified(false, _, body) | Kind::Let(_, body) => self.gather_actions(body, name, found),
            Kind::Defined(id, _) if self.resolver.definitions[*id].level == Level::Action => {
                self.gather_actions(&self.resolver.definitions[*id].body, Some(*id), found);
            }
            _ => found.push(name),
        }
    }

    /// Whether states are joined (VIEW, SYMMETRY) or steps cut off (ACTION_CONSTRAINT).
    pub fn is_quotient(&self) -> bool {
        self.view.is_some() || !self.symmetry.is_empty() || !self.action_constraints.is_empty()
    }

    /// The names of the variables.
    pub fn variables(&self) -> &[(String, At)] {
        &self.modules.variables
    }

    /// The definitions that are needed.
    pub fn definitions(&self) -> &[super::ir::Definition] {
        &self.resolver.definitions
    }

    /// What an expression can depend on.
    pub fn level(&self, expr: &Expr) -> Level {
        self.resolver.level(expr)
    }

    /// Evaluates expressions of this specification.
    pub fn evaluator(&self) -> Evaluator<'_> {
        Evaluator::new(&self.resolver.definitions, &self.modules.variables)
    }
}
