//! Modules put together: what EXTENDS and INSTANCE make visible, and what the configuration says instead.
//!
//! A *context* is a module as seen from inside: every name with its [`Meaning`]. A module that is instantiated gets
//! contexts of its own, in a *group* in which its constants and variables stand for expressions of whoever instantiates
//! it; extended modules share the group of whoever extends them. So a definition is looked up where it was written,
//! however it was reached.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::builtin::{BUILTINS, Builtin, STANDARD};
use super::config::Config;
use super::fault::{Fault, Result, Sources};
use super::parse;
use super::syntax::{At, Definition, Expr, Instance, Module, Unit};
use super::value::Value;

/// The place of a context.
pub(super) type ContextId = usize;

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    /// A variable.
    Variable(usize),
    /// A constant, with the value that the configuration gives.
    Value(Value),
    /// A constant without a value.
    Missing,
    /// A definition, and where it was written.
    Definition(ContextId, Arc<Definition>),
    /// An operator that is always there, with its arity.
    Builtin(Builtin, usize),
    /// An instance: its context and how many parameters it takes.
    Instance(ContextId, usize),
    /// A constant or variable of an instance: what it stands for, outside.
    Substituted(ContextId, Arc<Expr>),
    /// What another name stands for in another context.
    Same(ContextId, String),
}

/// A module as seen from inside.
#[derive(Debug, Default)]
pub(super) struct Context {
    pub(super) names: BTreeMap<String, (Meaning, bool)>,
    pub(super) group: usize,
    modules: BTreeMap<String, Arc<Module>>,
    /// How its names are written from outside: `I!`.
    pub(super) prefix: String,
}

/// The modules of one instance.
#[derive(Debug, Default)]
struct Group {
    /// Parameters of the instances that lead here, outermost first.
    parameters: Vec<(String, usize)>,
    /// Who instantiates; nobody, for what is checked.
    from: Option<ContextId>,
    with: BTreeMap<String, Arc<Expr>>,
    loaded: BTreeMap<String, ContextId>,
}

/// Finds the text of a module: the name of its file, and what it says.
pub type Finder<'f> = &'f mut dyn FnMut(&str) -> Option<(String, String)>;

/// All modules of a specification.
#[derive(Debug, Default)]
pub(super) struct Modules {
    pub(super) contexts: Vec<Context>,
    groups: Vec<Group>,
    read: BTreeMap<String, Arc<Module>>,
    pub(super) variables: Vec<(String, At)>,
    /// What is assumed of the constants.
    pub(super) assumptions: Vec<(ContextId, Arc<Expr>)>,
}

pub(super) struct Loader<'a, 'f> {
    pub(super) modules: &'a mut Modules,
    pub(super) sources: &'a mut Sources,
    pub(super) config: &'a Config,
    pub(super) find: Finder<'f>,
}

impl Modules {
    /// What a name stands for in a context.
    pub(super) fn look_up(&self, context: ContextId, name: &str) -> Option<Meaning> {
        match self.contexts[context].names.get(name) {
            Some((Meaning::Same(other, name), _)) => self.look_up(*other, name),
            Some((meaning, _)) => Some(meaning.clone()),
            None => BUILTINS
                .iter()
                .find(|(module, known, ..)| module.is_empty() && *known == name)
                .map(|(_, _, arity, builtin)| Meaning::Builtin(*builtin, *arity)),
        }
    }

    /// The parameters of the instances that lead to a context.
    pub(super) fn parameters(&self, context: ContextId) -> &[(String, usize)] {
        &self.groups[self.contexts[context].group].parameters
    }
}

impl Loader<'_, '_> {
    /// The modules of a text; the last is the one that is meant.
    pub(super) fn root(&mut self, name: &str, text: &str) -> Result<(ContextId, String)> {
        let file = self.sources.add(name, text);
        let modules = parse::modules(file, text)?;
        let last = modules.last().map(|module| (module.name.clone(), module.at)).unwrap_or_default();
        for module in modules {
            self.modules.read.insert(module.name.clone(), Arc::new(module));
        }
        self.modules.groups.push(Group::default());
        Ok((self.load(&last.0, 0, None, last.1)?, last.0))
    }

    fn load(&mut self, name: &str, group: usize, inside: Option<ContextId>, at: At) -> Result<ContextId> {
        if let Some(context) = self.modules.groups[group].loaded.get(name) {
            return Ok(*context);
        }
        let inner = inside.and_then(|context| self.modules.contexts[context].modules.get(name).cloned());
        let id = self.modules.contexts.len();
        self.modules.contexts.push(Context { group, ..Context::default() });
        self.modules.groups[group].loaded.insert(name.into(), id);
        match inner {
            // A module inside another sees what that one has declared.
            Some(module) => {
                let outer = inside.map(|context| self.modules.contexts[context].names.clone()).unwrap_or_default();
                self.modules.contexts[id].names = outer;
                self.fill(id, &module)?;
            }
            None if STANDARD.iter().any(|(known, _)| *known == name) => self.standard(id, name),
            None => {
                let module = self.read(name, at)?;
                self.fill(id, &module)?;
            }
        }
        Ok(id)
    }

    fn read(&mut self, name: &str, at: At) -> Result<Arc<Module>> {
        if let Some(module) = self.modules.read.get(name) {
            return Ok(module.clone());
        }
        let Some((file, text)) = (self.find)(name) else {
            let known: Vec<&str> = STANDARD.iter().map(|(name, _)| *name).collect();
            let hint = format!("a file {name}.tla beside the specification, or one of {}", known.join(", "));
            return Err(Fault::with_hint(at, format!("there is no module `{name}`"), hint));
        };
        let file = self.sources.add(file, text.as_str());
        for module in parse::modules(file, &text)? {
            self.modules.read.entry(module.name.clone()).or_insert(Arc::new(module));
        }
        self.modules
            .read
            .get(name)
            .cloned()
            .ok_or_else(|| Fault::new(At { file, start: 0, end: 1 }, format!("this file has no module `{name}`")))
    }

    fn standard(&mut self, id: ContextId, name: &str) {
        let extended = STANDARD.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, extended)| extended);
        for module in extended.iter().chain([&name]) {
            let theirs = BUILTINS.iter().filter(|(of, ..)| of == module);
            let names = theirs.map(|(_, name, arity, builtin)| (*name, Meaning::Builtin(*builtin, *arity)));
            for (name, meaning) in names.collect::<Vec<_>>() {
                let meaning = self.overridden(name, None).unwrap_or(meaning);
                self.modules.contexts[id].names.insert(name.into(), (meaning, false));
            }
        }
    }

    /// What the configuration says that a name is, if it does.
    fn overridden(&self, name: &str, module: Option<&str>) -> Option<Meaning> {
        let value = self.config.constants.iter().rfind(|(known, ..)| known == name);
        let other = self
            .config
            .overrides
            .iter()
            .rfind(|(known, of, ..)| known == name && (of.is_none() || of.as_deref() == module));
        match (value, other) {
            (Some((_, value, _)), _) => Some(Meaning::Value(value.clone())),
            // The first context is that of the module that is checked.
            (None, Some((_, _, target, _))) if target != name => Some(Meaning::Same(0, target.clone())),
            _ => None,
        }
    }

    fn fill(&mut self, id: ContextId, module: &Module) -> Result<()> {
        let group = self.modules.contexts[id].group;
        for (name, at) in &module.extends {
            let extended = self.load(name, group, Some(id), *at)?;
            self.import(id, extended);
        }
        let mut defined: BTreeSet<&str> = BTreeSet::new();
        for unit in &module.units {
            if let Unit::Definition(definition) = unit
                && !defined.insert(&definition.name)
            {
                return Err(Fault::new(definition.at, format!("`{}` is defined twice", definition.name)));
            }
            match unit {
                Unit::Variables(names) => {
                    for (name, at) in names {
                        let meaning = match self.substituted(group, name) {
                            Some(meaning) => meaning,
                            None => {
                                self.modules.variables.push((name.clone(), *at));
                                Meaning::Variable(self.modules.variables.len() - 1)
                            }
                        };
                        self.declare(id, name, meaning, *at)?;
                    }
                }
                Unit::Constants(names) => {
                    for (name, _, at) in names {
                        let meaning =
                            self.substituted(group, name).or_else(|| self.overridden(name, Some(&module.name)));
                        self.declare(id, name, meaning.unwrap_or(Meaning::Missing), *at)?;
                    }
                }
                Unit::Definition(definition) => {
                    let own = Meaning::Definition(id, Arc::new(definition.clone()));
                    let meaning = self.overridden(&definition.name, Some(&module.name)).unwrap_or(own);
                    self.modules.contexts[id].names.insert(definition.name.clone(), (meaning, definition.local));
                }
                Unit::Instance(instance) => self.instance(id, instance)?,
                Unit::Assume(assumed) if group == 0 => {
                    self.modules.assumptions.push((id, Arc::new(assumed.clone())));
                }
                Unit::Module(module) => {
                    let context = &mut self.modules.contexts[id];
                    context.modules.insert(module.name.clone(), Arc::new(module.clone()));
                }
                Unit::Assume(_) | Unit::Recursive(_) => (),
            }
        }
        Ok(())
    }

    fn declare(&mut self, id: ContextId, name: &str, meaning: Meaning, at: At) -> Result<()> {
        match self.modules.contexts[id].names.insert(name.into(), (meaning, false)) {
            Some((Meaning::Variable(_) | Meaning::Missing | Meaning::Value(_), _))
                if self.modules.contexts[id].group == 0 =>
            {
                Err(Fault::new(at, format!("`{name}` is declared twice")))
            }
            _ => Ok(()),
        }
    }

    fn import(&mut self, id: ContextId, from: ContextId) {
        let names = self.modules.contexts[from].names.iter().filter(|(_, (_, local))| !local);
        let names: Vec<_> = names.map(|(name, (meaning, _))| (name.clone(), meaning.clone())).collect();
        let modules = self.modules.contexts[from].modules.clone();
        let context = &mut self.modules.contexts[id];
        context.modules.extend(modules);
        for (name, meaning) in names {
            context.names.insert(name, (meaning, false));
        }
    }

    /// What a constant or variable of an instance stands for.
    fn substituted(&self, group: usize, name: &str) -> Option<Meaning> {
        let group = &self.modules.groups[group];
        let from = group.from?;
        Some(match group.with.get(name) {
            Some(expr) => Meaning::Substituted(from, expr.clone()),
            None => Meaning::Same(from, name.into()),
        })
    }

    fn instance(&mut self, id: ContextId, instance: &Instance) -> Result<()> {
        let mut parameters = self.modules.parameters(id).to_vec();
        parameters.extend(instance.parameters.iter().cloned());
        let with = instance.with.iter().map(|(name, expr)| (name.clone(), Arc::new(expr.clone()))).collect();
        self.modules.groups.push(Group { parameters, from: Some(id), with, loaded: BTreeMap::new() });
        let group = self.modules.groups.len() - 1;
        let context = self.load(&instance.module, group, Some(id), instance.at)?;
        match &instance.name {
            None => {
                // Declarations of the module are ours already; only what it defines comes in.
                let names = self.modules.contexts[context].names.iter().filter(|(_, (meaning, local))| {
                    !local && !matches!(meaning, Meaning::Substituted(..) | Meaning::Same(..))
                });
                let names: Vec<_> = names.map(|(name, (meaning, _))| (name.clone(), meaning.clone())).collect();
                for (name, meaning) in names {
                    self.modules.contexts[id].names.entry(name).or_insert((meaning, instance.local));
                }
            }
            Some(name) => {
                self.modules.contexts[context].prefix = format!("{}{name}!", self.modules.contexts[id].prefix);
                let meaning = Meaning::Instance(context, instance.parameters.len());
                self.modules.contexts[id].names.insert(name.clone(), (meaning, instance.local));
            }
        }
        Ok(())
    }
}
