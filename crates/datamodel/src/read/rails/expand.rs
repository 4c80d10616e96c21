//! From the bodies of classes to declarations: macros, concerns, `with_options`, loops over literals, gems.
//!
//! A class body is a program, and Rails runs it. Here it is followed as far as its arguments are literal: a module that
//! is included brings its `included` block, a macro of the application its method's body, a macro of a gem what the
//! table in
//! [`plugins`](super::plugins) says. What is not followed leaves a remark.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::callbacks::{self, Effect, What};
use super::harmless::{is_harmless, is_harmless_module};
use super::meaning;
use super::plugins;
use super::program::{ASSOCIATIONS, Definition, Program, declares, is_extension};
use super::ruby::{self, Block, Call, Def, Kind, Node};
use crate::model::{Meaning, Place, Remark};
use crate::read::Inflections;

/// How deep macros and modules may bring each other.
const DEPTH_MAX: usize = 24;

/// How many calls of one class are followed: macros may call each other, and loops may stand in loops.
const CALLS_MAX: usize = 20_000;

/// A class of Active Record with everything it declares.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub name: String,
    /// The model it inherits from, abstract or not.
    pub parent: Option<String>,
    pub is_abstract: bool,
    pub table: Option<String>,
    /// What the module that it stands in puts before the names of tables.
    pub table_prefix: Option<String>,
    pub soft_delete: bool,
    /// What the class itself says about `belongs_to` being required.
    pub required_by_default: Option<bool>,
    pub declarations: Vec<Declaration>,
    pub validations: Vec<Validation>,
    /// Code that runs at destroy and is not understood.
    pub destroy_code: Vec<Remark>,
    pub has_own_validation: bool,
    /// Columns that hold only some values (`enum`, validations): which, is not modelled.
    pub restricted: BTreeSet<String>,
    pub place: Place,
}

/// An association as declared.
#[derive(Clone, Debug)]
pub(crate) struct Declaration {
    /// `belongs_to`, ...
    pub macro_name: String,
    pub name: String,
    pub options: Options,
    /// The body of its scope.
    pub scope: Option<Block>,
    pub place: Place,
}

/// `validates ..., presence: true` or `uniqueness: ...`
#[derive(Clone, Debug)]
pub(crate) struct Validation {
    pub attributes: Vec<String>,
    pub presence: bool,
    /// The other columns of a uniqueness.
    pub unique_within: Option<Vec<String>>,
    /// Only sometimes.
    pub partial: bool,
    /// When, if that is understood.
    pub meaning: Option<Meaning>,
    /// Empty texts are not compared.
    pub skips_blank: bool,
    /// Values that differ in case only count as equal.
    pub folded: bool,
    /// Not all columns of the uniqueness are literal.
    pub is_open: bool,
    pub place: Place,
}

/// Options by name; those given last win.
pub(crate) type Options = BTreeMap<String, Node>;

/// Where a statement stands, and what holds there.
#[derive(Clone)]
struct Scope<'a> {
    /// What constants are looked up in.
    nesting: &'a [String],
    file: Arc<str>,
    /// Options of enclosing `with_options` without a parameter.
    bare: Options,
    /// Parameters that stand for the class, with the options that they add: `with_options ... do |assoc|`,
    /// `included(base)`.
    named: BTreeMap<String, Options>,
    /// Variables with a literal value.
    values: BTreeMap<String, Node>,
    /// Options that were given as `**something` or computed.
    depth: usize,
}

/// Follows the bodies of one class.
pub(crate) struct Expander<'p> {
    program: &'p Program,
    pub model: Model,
    pub remarks: Vec<Remark>,
    /// Macros that nobody knows, with where they were first seen.
    pub unknown: BTreeMap<String, Place>,
    included: BTreeSet<String>,
    /// Methods of the class and of what it includes, by name; the last one counts.
    methods: BTreeMap<String, Vec<Node>>,
    callbacks: Vec<Callback>,
    calls: usize,
}

/// Code that runs when an object is destroyed.
struct Callback {
    call: Call,
    place: Place,
}

impl<'p> Expander<'p> {
    pub(crate) fn new(program: &'p Program, model: Model) -> Self {
        let (remarks, unknown, included) = Default::default();
        let (methods, callbacks) = Default::default();
        Expander { program, model, remarks, unknown, included, methods, callbacks, calls: 0 }
    }

    /// Follows one opening of the class.
    pub(crate) fn open(&mut self, definition: &'p Definition) {
        let scope = Scope::new(definition, 0);
        self.body(&definition.body, &scope);
    }

    fn body(&mut self, nodes: &[Node], scope: &Scope<'_>) {
        let mut scope = scope.clone();
        for node in nodes {
            if self.calls > CALLS_MAX {
                return;
            }
            match &node.kind {
                Kind::Call(call) => self.call(call, node.line, &scope),
                Kind::Branches(inner) => {
                    if declares(inner) {
                        self.remark("declared under a condition; taken as if it always held", node.line, &scope);
                    }
                    self.body(inner, &scope);
                }
                Kind::LocalWrite(name, value) => {
                    if let Some(value) = self.value(value, &scope) {
                        scope.values.insert(name.clone(), value);
                    }
                }
                Kind::Def(def) => self.method(def, node.line, &scope),
                _ => {}
            }
        }
    }

    fn method(&mut self, def: &Def, line: u32, scope: &Scope<'_>) {
        if !def.on_self && ["destroy", "delete", "destroy!"].contains(&def.name.as_str()) {
            let message =
                format!("`{}` is overridden in {}; what it does instead is not modelled", def.name, self.model.name);
            let place = self.place(line, scope);
            self.model.destroy_code.push(Remark { message: message.clone(), place });
            self.remark(message, line, scope);
        } else if !def.on_self {
            self.methods.insert(def.name.clone(), def.body.clone());
        }
    }

    fn call(&mut self, call: &Call, line: u32, scope: &Scope<'_>) {
        self.calls += 1;
        if scope.depth > DEPTH_MAX || self.calls == CALLS_MAX {
            return self.remark("modules and macros go too far to be followed", line, scope);
        }
        let options = match &call.receiver {
            None => scope.bare.clone(),
            Some(Node { kind: Kind::SelfRef, .. }) => scope.bare.clone(),
            Some(Node { kind: Kind::Local(name), .. }) if scope.named.contains_key(name) => {
                scope.named.get(name).cloned().unwrap_or_default()
            }
            Some(receiver) => return self.on_something(call, receiver, line, scope),
        };
        let name = call.name.as_str();
        match name {
            _ if ASSOCIATIONS.contains(&name) => self.association(call, options, line, scope),
            _ if is_extension(name) => self.extension(call, line, scope),
            "with_options" => self.with_options(call, options, scope),
            "include" | "prepend" | "extend" => self.include(call, line, scope),
            "send" | "public_send" | "__send__" => self.send(call, line, scope),
            "class_eval" | "class_exec" | "instance_eval" | "instance_exec" | "silence_warnings" | "reloadable" => {
                match &call.block {
                    Some(block) => self.body(&block.body, scope),
                    None => self.remark("Ruby in a text is not followed", line, scope),
                }
            }
            "concerning" => {
                if let Some(block) = &call.block {
                    self.module_body(&block.body, scope);
                }
            }
            _ if name.starts_with("validate") => self.validation(call, options, line, scope),
            "table_name=" | "set_table_name" => {
                self.model.table = self.text(call.args.first(), scope);
                if self.model.table.is_none() {
                    self.remark("the name of the table is computed; Rails' own is taken", line, scope);
                }
            }
            "enum" => {
                let names = call.args.iter().filter_map(Node::text).map(str::to_owned);
                let keys = call.args.iter().flat_map(|arg| arg.pairs()).filter_map(|(key, _)| key.text());
                self.model.restricted.extend(names.chain(keys.map(str::to_owned)));
            }
            "soft_delete=" => self.model.soft_delete = true,
            "abstract_class=" => self.model.is_abstract = call.args.first().is_some_and(|a| a.kind == Kind::True),
            "primary_abstract_class" => self.model.is_abstract = true,
            "belongs_to_required_by_default=" => {
                self.model.required_by_default = call.args.first().map(|a| a.kind == Kind::True);
            }
            "before_destroy" | "after_destroy" | "around_destroy" | "after_destroy_commit" | "after_commit" => {
                self.callback(call, line, scope);
            }
            _ => self.unknown_macro(call, line, scope),
        }
    }

    /// A call on something else than the class: only loops over literals declare anything.
    fn on_something(&mut self, call: &Call, receiver: &Node, line: u32, scope: &Scope<'_>) {
        if matches!(receiver.kind, Kind::Const(_)) && call.args.iter().any(|arg| arg.kind == Kind::SelfRef) {
            let message = format!("`{}` is given the class; what it declares there is not modelled", call.name);
            self.remark(message, line, scope);
        }
        let Some(block) = call.block.as_ref().filter(|block| declares(&block.body)) else { return };
        let items = match self.value(receiver, scope).map(|node| node.kind) {
            Some(Kind::Array(items)) if call.name == "each" => items,
            _ => {
                let message = "associations are declared in a block that is not followed; they are not modelled";
                return self.remark(message, line, scope);
            }
        };
        for item in items.iter().take(256) {
            let mut inner = scope.clone();
            inner.depth += 1;
            match (&item.kind, block.params.as_slice()) {
                (Kind::Array(parts), params) if params.len() > 1 => {
                    inner.values.extend(params.iter().cloned().zip(parts.iter().cloned()));
                }
                (_, params) => inner.values.extend(params.first().map(|param| (param.clone(), item.clone()))),
            }
            self.body(&block.body, &inner);
        }
    }

    fn with_options(&mut self, call: &Call, mut options: Options, scope: &Scope<'_>) {
        let Some(block) = &call.block else { return };
        options.extend(self.options(call, scope));
        let mut inner = scope.clone();
        match block.params.first() {
            Some(param) => {
                inner.named.insert(param.clone(), options);
            }
            None => inner.bare = options,
        }
        self.body(&block.body, &inner);
    }

    fn association(&mut self, call: &Call, mut options: Options, line: u32, scope: &Scope<'_>) {
        let Some(name) = self.text(call.args.first(), scope) else {
            let message = format!("the name of a `{}` is computed; it is not modelled", call.name);
            return self.remark(message, line, scope);
        };
        options.extend(self.options(call, scope));
        if options.contains_key("**") {
            options.remove("**");
            self.remark(format!("options of `{} :{name}` are computed; they are not modelled", call.name), line, scope);
        }
        let lambda = call.args.iter().find_map(|arg| match &arg.kind {
            Kind::Lambda(block) => Some((**block).clone()),
            _ => None,
        });
        let place = self.place(line, scope);
        self.model.declarations.push(Declaration {
            macro_name: call.name.clone(),
            name,
            options,
            scope: lambda,
            place,
        });
    }

    /// The options of a call, evaluated as far as they are literal.
    fn options(&self, call: &Call, scope: &Scope<'_>) -> Options {
        let mut options = Options::new();
        for arg in &call.args {
            let arg = self.value(arg, scope).unwrap_or_else(|| arg.clone());
            for (key, value) in arg.pairs() {
                match key.text() {
                    Some(key) => {
                        let value = self.value(value, scope).unwrap_or_else(|| value.clone());
                        options.insert(key.to_owned(), value);
                    }
                    None => match self.value(value, scope) {
                        Some(hash) if !hash.pairs().is_empty() => {
                            let text = |(k, v): &(Node, Node)| k.text().map(|k| (k.to_owned(), v.clone()));
                            options.extend(hash.pairs().iter().filter_map(text));
                        }
                        _ => {
                            options.insert("**".to_owned(), value.clone());
                        }
                    },
                }
            }
        }
        options
    }

    fn send(&mut self, call: &Call, line: u32, scope: &Scope<'_>) {
        let Some((name, args)) = call.args.split_first() else { return };
        match self.text(Some(name), scope) {
            Some(name) => {
                let inner = Call { receiver: None, name, args: args.to_vec(), block: call.block.clone() };
                let mut scope = scope.clone();
                scope.depth += 1;
                self.call(&inner, line, &scope);
            }
            None => self.remark("what is sent to the class is computed; it is not followed", line, scope),
        }
    }

    /// `include A, B`: each module's hook, and what it includes itself.
    fn include(&mut self, call: &Call, line: u32, scope: &Scope<'_>) {
        // Ruby includes the last one first.
        for arg in call.args.iter().rev() {
            let Kind::Const(name) = &arg.kind else {
                if !matches!(arg.kind, Kind::SelfRef) {
                    self.remark(
                        format!("what is given to `{}` is computed; it is not followed", call.name),
                        line,
                        scope,
                    );
                }
                continue;
            };
            match self.program.resolve(name, scope.nesting) {
                Some(full) => self.include_module(&full, scope.depth),
                None => self.foreign_module(name, line, scope),
            }
        }
    }

    /// The modules of this name in the editions of the application, whatever these are called.
    fn extension(&mut self, call: &Call, line: u32, scope: &Scope<'_>) {
        let is_named = call.name.ends_with("_with");
        let name = if is_named { self.text(call.args.first(), scope) } else { Some(self.model.name.clone()) };
        let Some(name) = name else {
            return self.remark(
                format!("what is given to `{}` is computed; it is not followed", call.name),
                line,
                scope,
            );
        };
        let program = self.program;
        let fits = |full: &&String| full.split_once("::").is_some_and(|(_, rest)| rest == name);
        for full in program.definitions.keys().filter(fits) {
            self.include_module(full, scope.depth);
        }
    }

    fn foreign_module(&mut self, name: &str, line: u32, scope: &Scope<'_>) {
        match plugins::find(name) {
            Some(plugin) => {
                if let Some(remark) = plugin.remark {
                    self.remark(remark, line, scope);
                }
            }
            None if is_harmless_module(name) => {}
            None => {
                let message = format!("module {name} is not among the files; what it declares is not modelled");
                self.remark(message, line, scope);
            }
        }
    }

    fn include_module(&mut self, full: &str, depth: usize) {
        if !self.included.insert(full.to_owned()) || depth > DEPTH_MAX {
            return;
        }
        let program = self.program;
        for definition in program.openings(full).iter().filter(|definition| !definition.is_class) {
            let scope = Scope::new(definition, depth + 1);
            self.module_body(&definition.body, &scope);
        }
    }

    /// The body of a module, as it concerns the class that includes it.
    fn module_body(&mut self, nodes: &[Node], scope: &Scope<'_>) {
        for node in nodes {
            match &node.kind {
                Kind::Call(call) if ["included", "prepended"].contains(&call.name.as_str()) => {
                    if let Some(block) = &call.block {
                        let mut inner = scope.clone();
                        inner.named.extend(block.params.first().map(|param| (param.clone(), Options::new())));
                        self.body(&block.body, &inner);
                    }
                }
                Kind::Call(call) if call.receiver.is_none() && call.name == "include" => {
                    self.include(call, node.line, scope)
                }
                Kind::Def(def) if def.on_self && ["included", "extended", "prepended"].contains(&def.name.as_str()) => {
                    let mut inner = scope.clone();
                    inner.named.extend(def.params.first().map(|param| (param.clone(), Options::new())));
                    self.body(&def.body, &inner);
                }
                Kind::Def(def) => self.method(def, node.line, scope),
                _ => {}
            }
        }
    }

    fn validation(&mut self, call: &Call, mut options: Options, line: u32, scope: &Scope<'_>) {
        options.extend(self.options(call, scope));
        let attributes: Vec<String> = call.args.iter().filter_map(|arg| self.text(Some(arg), scope)).collect();
        let partial =
            |options: &Options| ["if", "unless", "on", "conditions"].iter().any(|key| options.contains_key(*key));
        let mut validation = Validation {
            attributes,
            presence: false,
            unique_within: None,
            partial: partial(&options),
            meaning: None,
            skips_blank: false,
            folded: false,
            is_open: false,
            place: self.place(line, scope),
        };
        let is_about_values = |key: &str| options.contains_key(key) || call.name == format!("validates_{key}_of");
        if ["inclusion", "exclusion", "presence", "absence", "comparison", "numericality", "format"]
            .iter()
            .any(|key| is_about_values(key))
        {
            self.model.restricted.extend(validation.attributes.iter().cloned());
        }
        match call.name.as_str() {
            "validates" | "validates!" => {
                validation.presence = options.get("presence").is_some_and(is_on);
                let unique = options.get("uniqueness").filter(|node| is_on(node));
                let keys = unique.into_iter().chain(options.get("presence")).flat_map(|node| node.pairs());
                let inner: Options = keys.filter_map(|(k, v)| Some((k.text()?.to_owned(), v.clone()))).collect();
                if unique.is_some() {
                    self.unique(&mut validation, &options, &inner, scope);
                }
                validation.partial |= partial(&inner);
            }
            "validates_presence_of" => validation.presence = true,
            "validates_uniqueness_of" => {
                let outer = options.iter().filter(|(key, _)| ["if", "unless", "on"].contains(&key.as_str()));
                let outer = outer.map(|(key, node)| (key.clone(), node.clone())).collect();
                self.unique(&mut validation, &outer, &options, scope);
            }
            "validate" => {
                self.model.has_own_validation = true;
                let message = format!("validations written in Ruby are not modelled ({})", self.model.name);
                if !self.remarks.iter().any(|remark| remark.message == message) {
                    self.remark(message, line, scope);
                }
            }
            _ => {}
        }
        if validation.presence || validation.unique_within.is_some() {
            self.model.validations.push(validation);
        }
    }

    /// What a uniqueness is about: the other columns, case, and the objects that it concerns.
    fn unique(&self, validation: &mut Validation, outer: &Options, inner: &Options, scope: &Scope<'_>) {
        validation.folded = inner.get("case_sensitive").is_some_and(|node| node.kind == Kind::False);
        let written = inner.get("scope");
        let columns = written.map(|node| self.names(node, scope));
        validation.is_open = matches!(columns, Some(None));
        validation.unique_within = Some(columns.flatten().unwrap_or_default());
        let conditional = ["if", "unless", "on"].iter().any(|key| outer.contains_key(*key) || inner.contains_key(*key));
        // What is NULL is not compared by an index either, so `allow_nil` says nothing new.
        validation.skips_blank = inner.get("allow_blank").or(outer.get("allow_blank")).is_some_and(is_on);
        if let (false, Some(Node { kind: Kind::Lambda(block), .. })) = (conditional, inner.get("conditions")) {
            validation.meaning = meaning::of_block(block);
        }
    }

    /// The names of a literal list, also of one that is put together of others.
    fn names(&self, node: &Node, scope: &Scope<'_>) -> Option<Vec<String>> {
        match &self.value(node, scope)?.kind {
            Kind::Array(items) => items.iter().map(|item| self.text(Some(item), scope)).collect(),
            Kind::Symbol(text) | Kind::Str(text) => Some(vec![text.clone()]),
            _ => None,
        }
    }

    fn callback(&mut self, call: &Call, line: u32, scope: &Scope<'_>) {
        if call.name == "after_commit" {
            let on: Vec<&str> = call.option("on").map(Node::texts).unwrap_or_default();
            if !on.contains(&"destroy") {
                return;
            }
        }
        let place = self.place(line, scope);
        self.callbacks.push(Callback { call: call.clone(), place });
    }

    /// Puts what callbacks do into the declarations, once all methods are known.
    pub(crate) fn finish(&mut self) {
        for callback in std::mem::take(&mut self.callbacks) {
            if self.follow(&callback).is_some() {
                continue;
            }
            let what = match callback.call.text_at(0) {
                Some(name) => format!("`{name}`"),
                None => "code".to_owned(),
            };
            let (name, class) = (&callback.call.name, &self.model.name);
            let message = format!("{what} runs at `{name}` of {class}; what it does is not modelled");
            let remark = Remark { message, place: callback.place };
            self.model.destroy_code.push(remark.clone());
            self.remarks.push(remark);
        }
    }

    /// What a callback does, as declarations; `None` if that is not understood, and then nothing is changed.
    fn follow(&mut self, callback: &Callback) -> Option<()> {
        let call = &callback.call;
        let mut found = Vec::new();
        for arg in call.args.iter().filter(|arg| arg.pairs().is_empty()) {
            found.extend(callbacks::effects(self.methods.get(arg.text()?)?)?);
        }
        if let Some(block) = &call.block {
            found.extend(callbacks::effects(&block.body)?);
        }
        // What is done only sometimes, or after the row has gone, is not what a `dependent` does.
        let is_conditional = ["if", "unless"].iter().any(|option| call.option(option).is_some());
        if !found.is_empty() && (is_conditional || call.name != "before_destroy") {
            return None;
        }
        let mut declarations = self.model.declarations.clone();
        for (index, effect) in found.iter().enumerate() {
            self.declare(effect, index, callback, &mut declarations)?;
        }
        self.model.declarations = declarations;
        Some(())
    }

    fn declare(
        &self,
        effect: &Effect,
        index: usize,
        callback: &Callback,
        declarations: &mut Vec<Declaration>,
    ) -> Option<()> {
        let symbol = |text: &str| Node { kind: Kind::Symbol(text.to_owned()), line: callback.place.line };
        match effect {
            Effect::Association(name, what) => {
                let declaration = declarations.iter_mut().rev().find(|declaration| declaration.name == *name)?;
                let is_direct = ["has_many", "has_one"].contains(&declaration.macro_name.as_str())
                    && !declaration.options.contains_key("through");
                if !is_direct || declaration.options.contains_key("dependent") {
                    return None;
                }
                let key = declaration.options.get("foreign_key").and_then(Node::text).map(str::to_owned);
                let key = key.unwrap_or_else(|| Inflections::default().foreign_key(&self.model.name));
                let dependent = match what {
                    What::Nullify(column) if *column != key => return None,
                    // Without a `dependent`, `delete_all` of an association makes its objects name nothing.
                    What::Delete => "nullify",
                    what => what.dependent(),
                };
                declaration.options.insert("dependent".to_owned(), symbol(dependent));
            }
            Effect::Rows { class, column, what } => {
                let options =
                    [("class_name", class.as_str()), ("foreign_key", column), ("dependent", what.dependent())];
                declarations.push(Declaration {
                    macro_name: "has_many".to_owned(),
                    name: format!("{}_{}_{index}", callback.call.name, callback.place.line),
                    options: options.into_iter().map(|(key, value)| (key.to_owned(), symbol(value))).collect(),
                    scope: None,
                    place: callback.place.clone(),
                });
            }
        }
        Some(())
    }

    /// A macro of a gem, of the application, or of nobody we know.
    fn unknown_macro(&mut self, call: &Call, line: u32, scope: &Scope<'_>) {
        // A macro of the application's own hides one of a gem.
        let program = self.program;
        if let Some(own) = program.macros.get(&call.name) {
            let mut inner = Scope::of(&own.nesting, own.place.file.clone(), scope.depth + 1);
            for (param, arg) in own.params.iter().zip(&call.args) {
                inner.values.extend(self.value(arg, scope).map(|value| (param.clone(), value)));
            }
            return self.body(&own.body, &inner);
        }
        if let Some(plugin) = plugins::find(&call.name) {
            if let Some(remark) = plugin.remark {
                self.remark(remark, line, scope);
            }
            let names: Vec<&str> = call.args.iter().filter_map(Node::text).collect();
            let text = plugin.expand(&self.model.name, &names, &|name| Some(call.option(name)?.text()?.to_owned()));
            let mut nodes = ruby::parse(&text).body;
            nodes.iter_mut().for_each(|node| node.line = line);
            let mut inner = scope.clone();
            inner.depth += 1;
            return self.body(&nodes, &inner);
        }
        let declares_here = call.block.as_ref().is_some_and(|block| declares(&block.body));
        if declares_here {
            let message = format!("associations are declared in a block of `{}`; it is taken to run once", call.name);
            self.remark(message, line, scope);
            if let Some(block) = &call.block {
                self.body(&block.body, scope);
            }
        } else if !is_harmless(&call.name) && !call.name.ends_with('=') && call.receiver.is_none() {
            let place = self.place(line, scope);
            self.unknown.entry(call.name.clone()).or_insert(place);
        }
    }

    /// The text of a literal.
    fn text(&self, node: Option<&Node>, scope: &Scope<'_>) -> Option<String> {
        self.value(node?, scope)?.text().map(str::to_owned)
    }

    /// The literal that an expression comes to.
    fn value(&self, node: &Node, scope: &Scope<'_>) -> Option<Node> {
        let line = node.line;
        match &node.kind {
            Kind::Local(name) => scope.values.get(name).cloned(),
            Kind::Const(name) => match self.program.constant(name, scope.nesting) {
                Some(value) if value.kind != node.kind => Some(value.clone()),
                _ => Some(node.clone()),
            },
            Kind::Interpolated(parts) => {
                let texts: Option<Vec<String>> = parts.iter().map(|part| self.text(Some(part), scope)).collect();
                Some(Node { kind: Kind::Str(texts?.concat()), line })
            }
            Kind::Call(call) => match (&call.receiver, call.name.as_str()) {
                (Some(Node { kind: Kind::Const(name), .. }), "name" | "to_s" | "model_name") => {
                    let full = self.program.resolve(name, scope.nesting)?;
                    Some(Node { kind: Kind::Str(format!("::{full}")), line })
                }
                (Some(Node { kind: Kind::SelfRef, .. }), "name" | "to_s" | "class_name")
                | (None, "name" | "class_name") => {
                    Some(Node { kind: Kind::Str(format!("::{}", self.model.name)), line })
                }
                (Some(left), "+") => {
                    let right = call.args.first().and_then(|arg| self.value(arg, scope))?;
                    match (self.value(left, scope)?.kind, right.kind) {
                        (Kind::Array(left), Kind::Array(right)) => {
                            Some(Node { kind: Kind::Array([left, right].concat()), line })
                        }
                        _ => None,
                    }
                }
                (Some(receiver), "freeze" | "to_sym" | "to_s" | "dup" | "with_indifferent_access") => {
                    self.value(receiver, scope)
                }
                _ => None,
            },
            Kind::Other => None,
            _ => Some(node.clone()),
        }
    }

    fn place(&self, line: u32, scope: &Scope<'_>) -> Place {
        Place { file: scope.file.clone(), line }
    }

    fn remark(&mut self, message: impl Into<String>, line: u32, scope: &Scope<'_>) {
        let place = self.place(line, scope);
        self.remarks.push(Remark { message: message.into(), place });
    }
}

impl<'a> Scope<'a> {
    fn new(definition: &'a Definition, depth: usize) -> Self {
        Scope::of(&definition.nesting, definition.place.file.clone(), depth)
    }

    fn of(nesting: &'a [String], file: Arc<str>, depth: usize) -> Self {
        let (bare, named, values) = Default::default();
        Scope { nesting, file, bare, named, values, depth }
    }
}

/// Whether an option of `validates` is there and not switched off.
fn is_on(node: &Node) -> bool {
    !matches!(node.kind, Kind::False | Kind::Nil)
}
