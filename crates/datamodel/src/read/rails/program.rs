//! The application as a whole: every class and module it defines, wherever and however often, and how constants are
//! found.

use std::collections::{BTreeMap, BTreeSet};

use super::ruby::{self, Call, Def, Kind, Node};
use crate::model::{Place, Remark};
use crate::read::File;

/// What the application defines.
#[derive(Default)]
pub(crate) struct Program {
    /// Classes and modules by full name; each may be opened several times.
    pub definitions: BTreeMap<String, Vec<Definition>>,
    /// Constants with a literal value, by full name.
    pub constants: BTreeMap<String, Node>,
    /// Methods that themselves declare associations: macros of the application's own, by name.
    pub macros: BTreeMap<String, Macro>,
    /// Every name called without a receiver in the body of a class or module.
    pub called: BTreeSet<String>,
    /// What was not understood.
    pub remarks: Vec<Remark>,
}

/// One opening of a class or module.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub is_class: bool,
    pub superclass: Option<Node>,
    /// Full names of what it stands in, itself included, outermost first.
    pub nesting: Vec<String>,
    pub body: Vec<Node>,
    pub place: Place,
}

/// A method that declares associations.
#[derive(Clone, Debug)]
pub(crate) struct Macro {
    pub body: Vec<Node>,
    pub params: Vec<String>,
    pub nesting: Vec<String>,
    pub place: Place,
}

/// The macros of Active Record that declare associations.
pub(crate) const ASSOCIATIONS: &[&str] =
    &["belongs_to", "has_one", "has_many", "has_and_belongs_to_many", "delegated_type"];

impl Program {
    /// Reads a file of Ruby.
    pub(crate) fn read(&mut self, file: &File) {
        let parsed = ruby::parse(&file.text);
        if let Some((line, message)) = parsed.error {
            let message = format!("Ruby syntax error: {message}; what could be read of the file is used");
            self.remarks.push(Remark { message, place: file.at(line) });
        }
        self.statements(parsed.body, &[], file);
    }

    /// The full name of a constant seen from inside `nesting`.
    pub(crate) fn resolve(&self, name: &str, nesting: &[String]) -> Option<String> {
        if let Some(absolute) = name.strip_prefix("::") {
            return self.definitions.contains_key(absolute).then(|| absolute.to_owned());
        }
        let nested = nesting.iter().rev().map(|outer| format!("{outer}::{name}"));
        nested.chain([name.to_owned()]).find(|full| self.definitions.contains_key(full))
    }

    /// The literal value of a constant seen from inside `nesting`.
    pub(crate) fn constant(&self, name: &str, nesting: &[String]) -> Option<&Node> {
        let nested = nesting.iter().rev().map(|outer| format!("{outer}::{name}"));
        nested.chain([name.trim_start_matches("::").to_owned()]).find_map(|full| self.constants.get(&full))
    }

    /// The class or module of this name, each time it is opened.
    pub(crate) fn openings(&self, name: &str) -> &[Definition] {
        self.definitions.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Takes the definitions out of statements; what remains is the body of what they stand in.
    fn statements(&mut self, nodes: Vec<Node>, nesting: &[String], file: &File) -> Vec<Node> {
        let mut rest = Vec::new();
        for node in nodes {
            let line = node.line;
            match node.kind {
                Kind::Class(name, superclass, body) => {
                    self.open(&name, true, superclass.map(|node| *node), body, nesting, file, line);
                }
                Kind::Module(name, body) => self.open(&name, false, None, body, nesting, file, line),
                Kind::Branches(inner) => {
                    let inner = self.statements(inner, nesting, file);
                    rest.push(Node { kind: Kind::Branches(inner), line });
                }
                Kind::ConstWrite(name, value) => self.write_constant(name, *value, nesting, file, line),
                Kind::Call(call) if nesting.is_empty() => self.top_level(*call, file, line),
                Kind::Call(call) => {
                    self.note_calls(&call);
                    for (line, def) in call.block.iter().flat_map(|block| &block.body).filter_map(as_def) {
                        self.note_macro(def, nesting, file, line);
                    }
                    let call = self.reopening(*call, nesting, file, line);
                    rest.extend(call.map(|call| Node { kind: Kind::Call(Box::new(call)), line }));
                }
                Kind::Def(def) => {
                    self.note_macro(&def, nesting, file, line);
                    rest.push(Node { kind: Kind::Def(def), line });
                }
                kind => rest.push(Node { kind, line }),
            }
        }
        rest
    }

    #[allow(clippy::too_many_arguments, reason = "what a definition consists of")]
    fn open(
        &mut self,
        name: &str,
        is_class: bool,
        superclass: Option<Node>,
        body: Vec<Node>,
        nesting: &[String],
        file: &File,
        line: u32,
    ) {
        let full = match (name.strip_prefix("::"), nesting.last()) {
            (Some(absolute), _) => absolute.to_owned(),
            (None, Some(outer)) => format!("{outer}::{name}"),
            (None, None) => name.to_owned(),
        };
        let mut inner = nesting.to_vec();
        inner.push(full.clone());
        let body = self.statements(body, &inner, file);
        let definition = Definition { is_class, superclass, nesting: inner, body, place: file.at(line) };
        self.definitions.entry(full).or_default().push(definition);
    }

    /// `Post = Class.new(Base) { ... }` defines a class; other constants are kept if they are literals.
    fn write_constant(&mut self, name: String, value: Node, nesting: &[String], file: &File, line: u32) {
        if let Kind::Call(call) = &value.kind {
            let is_class = matches!(&call.receiver, Some(Node { kind: Kind::Const(c), .. }) if c == "Class");
            if is_class && call.name == "new" {
                let body = call.block.as_ref().map(|block| block.body.clone()).unwrap_or_default();
                return self.open(&name, true, call.args.first().cloned(), body, nesting, file, line);
            }
            // `%w[a b].freeze`
            if let (Some(inner), "freeze") = (&call.receiver, call.name.as_str()) {
                return self.write_constant(name, inner.clone(), nesting, file, line);
            }
            return;
        }
        let full = nesting.last().map_or_else(|| name.clone(), |outer| format!("{outer}::{name}"));
        self.constants.insert(full, value);
    }

    /// A statement outside any class: a class reopened from afar, or a block that will run some day.
    fn top_level(&mut self, call: Call, file: &File, line: u32) {
        let Some(call) = self.reopening(call, &[], file, line) else { return };
        if let Some(block) = call.block {
            self.statements(block.body, &[], file);
        }
    }

    /// `Post.class_eval do ... end`, `Post.include Shared`, `Post.has_many ...`: the class is opened, and nothing is
    /// left.
    fn reopening(&mut self, call: Call, nesting: &[String], file: &File, line: u32) -> Option<Call> {
        let Some(Node { kind: Kind::Const(name), .. }) = &call.receiver else { return Some(call) };
        let name = self.resolve(name, nesting).unwrap_or_else(|| name.trim_start_matches("::").to_owned());
        let body = match call.name.as_str() {
            "class_eval" | "class_exec" => match call.block {
                Some(block) => block.body,
                None => return Some(call),
            },
            "include" | "prepend" | "send" => vec![without_receiver(call, line)],
            name if is_extension(name) || ["before_destroy", "validates"].contains(&name) => {
                vec![without_receiver(call, line)]
            }
            macro_name if ASSOCIATIONS.contains(&macro_name) => vec![without_receiver(call, line)],
            _ => return Some(call),
        };
        if name != "ActiveRecord::Base" {
            self.open(&format!("::{name}"), true, None, body, &[], file, line);
        }
        None
    }

    fn note_calls(&mut self, call: &Call) {
        self.called.insert(call.name.clone());
        for node in call.block.iter().flat_map(|block| &block.body) {
            match &node.kind {
                Kind::Call(inner) => self.note_calls(inner),
                Kind::Branches(nodes) => nodes.iter().filter_map(Node::as_call).for_each(|call| self.note_calls(call)),
                _ => {}
            }
        }
    }

    /// A method of a module that declares associations can be called as a macro.
    fn note_macro(&mut self, def: &Def, nesting: &[String], file: &File, line: u32) {
        let is_hook = ["included", "extended", "prepended", "inherited"].contains(&def.name.as_str());
        if is_hook || !declares(&def.body) {
            return;
        }
        let place = file.at(line);
        let (body, params) = (def.body.clone(), def.params.clone());
        self.macros.insert(def.name.clone(), Macro { body, params, nesting: nesting.to_vec(), place });
    }
}

fn as_def(node: &Node) -> Option<(u32, &Def)> {
    match &node.kind {
        Kind::Def(def) => Some((node.line, def)),
        _ => None,
    }
}

/// Includes the modules of an edition of the application: `include_mod_with("Concerns::Account")` stands for
/// `include Enterprise::Concerns::Account`, if there is such a module.
pub(crate) fn is_extension(name: &str) -> bool {
    ["include_mod", "prepend_mod", "include_mod_with", "prepend_mod_with"].contains(&name)
}

fn without_receiver(call: Call, line: u32) -> Node {
    Node { kind: Kind::Call(Box::new(Call { receiver: None, ..call })), line }
}

/// Whether statements declare an association, directly or in a block.
pub(crate) fn declares(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match &node.kind {
        Kind::Call(call) => {
            let on_class = match &call.receiver {
                None => true,
                Some(receiver) => matches!(receiver.kind, Kind::SelfRef | Kind::Local(_)),
            };
            (on_class && ASSOCIATIONS.contains(&call.name.as_str()))
                || call.block.as_ref().is_some_and(|block| declares(&block.body))
        }
        Kind::Branches(nodes) => declares(nodes),
        _ => false,
    })
}
