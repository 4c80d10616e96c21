//! Ruby, as far as declarations need it: Prism's tree, made small and owned.
//!
//! Nothing else knows Prism. A model file is classes, modules, calls with literal arguments, and blocks; everything
//! that is not one of these is [`Kind::Other`], and whoever meets it where a declaration was expected says so.

use ruby_prism as prism;

/// Deeper nesting than this is not looked into.
const DEPTH_MAX: usize = 120;

/// Of a scope, this much is kept as written.
const TEXT_BYTES_MAX: usize = 400;

/// A piece of Ruby.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub kind: Kind,
    /// From 1.
    pub line: u32,
}

/// What it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Call(Box<Call>),
    /// `class name < superclass`
    Class(String, Option<Box<Node>>, Vec<Node>),
    /// `module name`
    Module(String, Vec<Node>),
    /// `def name`, or `def self.name`
    Def(Box<Def>),
    /// `A::B`; with a leading `::` if it was written so.
    Const(String),
    Local(String),
    Symbol(String),
    Str(String),
    /// A string or symbol with something computed in it.
    Interpolated(Vec<Node>),
    Int(i64),
    Float(f64),
    True,
    False,
    Nil,
    SelfRef,
    Array(Vec<Node>),
    Hash(Vec<(Node, Node)>),
    /// `*list`, `**hash`
    Splat(Box<Node>),
    /// `-> { ... }`
    Lambda(Box<Block>),
    /// The branches of a condition, one after another.
    Branches(Vec<Node>),
    ConstWrite(String, Box<Node>),
    LocalWrite(String, Box<Node>),
    /// Anything else.
    Other,
}

/// `receiver.name(args) { block }`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub receiver: Option<Node>,
    pub name: String,
    pub args: Vec<Node>,
    pub block: Option<Block>,
}

/// The body of a block or lambda.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    pub params: Vec<String>,
    pub body: Vec<Node>,
    /// The body as written, on one line.
    pub text: String,
}

/// A method.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Def {
    pub name: String,
    pub on_self: bool,
    pub params: Vec<String>,
    pub body: Vec<Node>,
}

/// A file read: its statements, and its first syntax error.
pub(crate) struct Parsed {
    pub body: Vec<Node>,
    /// A line and a message.
    pub error: Option<(u32, String)>,
}

/// Reads a file; after a syntax error, what there is of it.
pub(crate) fn parse(text: &str) -> Parsed {
    let result = prism::parse(text.as_bytes());
    let error = result.errors().next().map(|e| (line(&e.location()), string(e.message())));
    let body = match result.node().as_program_node() {
        Some(program) => nodes(&program.statements().body(), 0),
        None => Vec::new(),
    };
    Parsed { body, error }
}

impl Node {
    /// The text of a symbol or string.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Symbol(text) | Kind::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The call that it is.
    pub(crate) fn as_call(&self) -> Option<&Call> {
        match &self.kind {
            Kind::Call(call) => Some(call),
            _ => None,
        }
    }

    /// The pairs of a hash.
    pub(crate) fn pairs(&self) -> &[(Node, Node)] {
        match &self.kind {
            Kind::Hash(pairs) => pairs,
            _ => &[],
        }
    }

    /// The texts of an array of symbols or strings, or of one alone.
    pub(crate) fn texts(&self) -> Vec<&str> {
        match &self.kind {
            Kind::Array(items) => items.iter().filter_map(Node::text).collect(),
            _ => self.text().into_iter().collect(),
        }
    }
}

impl Call {
    /// The options behind the arguments.
    pub(crate) fn options(&self) -> &[(Node, Node)] {
        self.args.iter().rev().map(Node::pairs).find(|pairs| !pairs.is_empty()).unwrap_or(&[])
    }

    /// An option by its name.
    pub(crate) fn option(&self, name: &str) -> Option<&Node> {
        self.options().iter().rev().find(|(key, _)| key.text() == Some(name)).map(|(_, value)| value)
    }

    /// The text of the argument at this place.
    pub(crate) fn text_at(&self, index: usize) -> Option<&str> {
        self.args.get(index).and_then(Node::text)
    }
}

fn line(location: &prism::Location<'_>) -> u32 {
    u32::try_from(location.start_line()).unwrap_or(0)
}

fn string(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn id(id: &prism::ConstantId<'_>) -> String {
    string(id.as_slice())
}

fn nodes(list: &prism::NodeList<'_>, depth: usize) -> Vec<Node> {
    list.iter().map(|node| lower(&node, depth)).collect()
}

fn statements(list: Option<prism::StatementsNode<'_>>, depth: usize) -> Vec<Node> {
    list.map(|list| nodes(&list.body(), depth)).unwrap_or_default()
}

/// The statements of a body, whatever wraps them.
fn body(node: Option<prism::Node<'_>>, depth: usize) -> Vec<Node> {
    let Some(node) = node else { return Vec::new() };
    if let Some(list) = node.as_statements_node() {
        nodes(&list.body(), depth)
    } else if let Some(begin) = node.as_begin_node() {
        statements(begin.statements(), depth)
    } else {
        vec![lower(&node, depth)]
    }
}

fn lower(node: &prism::Node<'_>, depth: usize) -> Node {
    let line = line(&node.location());
    let kind = if depth > DEPTH_MAX { Kind::Other } else { kind(node, depth + 1) };
    Node { kind, line }
}

fn boxed(node: &prism::Node<'_>, depth: usize) -> Box<Node> {
    Box::new(lower(node, depth))
}

fn kind(node: &prism::Node<'_>, depth: usize) -> Kind {
    if let Some(call) = node.as_call_node() {
        return lower_call(&call, depth);
    }
    if let Some(class) = node.as_class_node() {
        let superclass = class.superclass().map(|node| boxed(&node, depth));
        return match constant(&class.constant_path()) {
            Some(name) => Kind::Class(name, superclass, body(class.body(), depth)),
            None => Kind::Other,
        };
    }
    if let Some(module) = node.as_module_node() {
        return match constant(&module.constant_path()) {
            Some(name) => Kind::Module(name, body(module.body(), depth)),
            None => Kind::Other,
        };
    }
    literal(node, depth).or_else(|| control(node, depth)).unwrap_or(Kind::Other)
}

fn literal(node: &prism::Node<'_>, depth: usize) -> Option<Kind> {
    Some(if let Some(symbol) = node.as_symbol_node() {
        Kind::Symbol(string(symbol.unescaped()))
    } else if let Some(text) = node.as_string_node() {
        Kind::Str(string(text.unescaped()))
    } else if let Some(text) = node.as_interpolated_string_node() {
        Kind::Interpolated(nodes(&text.parts(), depth))
    } else if let Some(text) = node.as_interpolated_symbol_node() {
        Kind::Interpolated(nodes(&text.parts(), depth))
    } else if let Some(embedded) = node.as_embedded_statements_node() {
        match <[Node; 1]>::try_from(statements(embedded.statements(), depth)) {
            Ok([only]) => only.kind,
            Err(_) => Kind::Other,
        }
    } else if node.as_constant_read_node().is_some() || node.as_constant_path_node().is_some() {
        constant(node).map_or(Kind::Other, Kind::Const)
    } else if let Some(local) = node.as_local_variable_read_node() {
        Kind::Local(id(&local.name()))
    } else if let Some(array) = node.as_array_node() {
        Kind::Array(nodes(&array.elements(), depth))
    } else if let Some(hash) = node.as_hash_node() {
        Kind::Hash(pairs(&hash.elements(), depth))
    } else if let Some(hash) = node.as_keyword_hash_node() {
        Kind::Hash(pairs(&hash.elements(), depth))
    } else if let Some(splat) = node.as_splat_node() {
        splat.expression().map_or(Kind::Other, |inner| Kind::Splat(boxed(&inner, depth)))
    } else if node.as_integer_node().is_some() {
        string(node.location().as_slice()).replace('_', "").parse().map_or(Kind::Other, Kind::Int)
    } else if let Some(float) = node.as_float_node() {
        Kind::Float(float.value())
    } else if node.as_true_node().is_some() {
        Kind::True
    } else if node.as_false_node().is_some() {
        Kind::False
    } else if node.as_nil_node().is_some() {
        Kind::Nil
    } else if node.as_self_node().is_some() {
        Kind::SelfRef
    } else {
        return None;
    })
}

fn control(node: &prism::Node<'_>, depth: usize) -> Option<Kind> {
    Some(if let Some(def) = node.as_def_node() {
        Kind::Def(Box::new(Def {
            name: id(&def.name()),
            on_self: def.receiver().is_some(),
            params: def.parameters().map(|p| parameters(&p)).unwrap_or_default(),
            body: body(def.body(), depth),
        }))
    } else if let Some(class) = node.as_singleton_class_node() {
        // `class << self` says what `class_methods do` does.
        let block = Block { params: Vec::new(), body: body(class.body(), depth), text: String::new() };
        let (name, args) = ("class_methods".to_owned(), Vec::new());
        Kind::Call(Box::new(Call { receiver: None, name, args, block: Some(block) }))
    } else if let Some(lambda) = node.as_lambda_node() {
        Kind::Lambda(Box::new(block(lambda.parameters(), lambda.body(), depth)))
    } else if let Some(branch) = node.as_if_node() {
        let mut all = statements(branch.statements(), depth);
        all.extend(branch.subsequent().map(|node| lower(&node, depth)));
        Kind::Branches(all)
    } else if let Some(branch) = node.as_unless_node() {
        let mut all = statements(branch.statements(), depth);
        all.extend(statements(branch.else_clause().and_then(|branch| branch.statements()), depth));
        Kind::Branches(all)
    } else if let Some(branch) = node.as_else_node() {
        Kind::Branches(statements(branch.statements(), depth))
    } else if let Some(case) = node.as_case_node() {
        let mut all = nodes(&case.conditions(), depth);
        all.extend(statements(case.else_clause().and_then(|branch| branch.statements()), depth));
        Kind::Branches(all)
    } else if let Some(when) = node.as_when_node() {
        Kind::Branches(statements(when.statements(), depth))
    } else if let Some(begin) = node.as_begin_node() {
        Kind::Branches(statements(begin.statements(), depth))
    } else if let Some(rescue) = node.as_rescue_modifier_node() {
        return Some(kind(&rescue.expression(), depth));
    } else if let Some(parentheses) = node.as_parentheses_node() {
        match <[Node; 1]>::try_from(body(parentheses.body(), depth)) {
            Ok([only]) => only.kind,
            Err(_) => Kind::Other,
        }
    } else if let Some(write) = node.as_constant_write_node() {
        Kind::ConstWrite(id(&write.name()), boxed(&write.value(), depth))
    } else if let Some(write) = node.as_local_variable_write_node() {
        Kind::LocalWrite(id(&write.name()), boxed(&write.value(), depth))
    } else {
        return None;
    })
}

fn lower_call(call: &prism::CallNode<'_>, depth: usize) -> Kind {
    let name = id(&call.name());
    let args = call.arguments().map(|list| nodes(&list.arguments(), depth)).unwrap_or_default();
    let block = call.block().and_then(|node| {
        let inner = node.as_block_node()?;
        Some(block(inner.parameters(), inner.body(), depth))
    });
    let receiver = call.receiver().map(|node| lower(&node, depth));
    match block {
        Some(block) if receiver.is_none() && (name == "lambda" || name == "proc") => Kind::Lambda(Box::new(block)),
        block => Kind::Call(Box::new(Call { receiver, name, args, block })),
    }
}

fn block(params: Option<prism::Node<'_>>, inner: Option<prism::Node<'_>>, depth: usize) -> Block {
    let params = params
        .and_then(|node| node.as_block_parameters_node().and_then(|list| list.parameters()))
        .map(|list| parameters(&list))
        .unwrap_or_default();
    let text = inner.as_ref().map(|node| one_line(node.location().as_slice())).unwrap_or_default();
    Block { params, body: body(inner, depth), text }
}

/// A text on one line, cut where it gets long.
fn one_line(text: &[u8]) -> String {
    let text = string(text.get(..TEXT_BYTES_MAX).unwrap_or(text));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn parameters(list: &prism::ParametersNode<'_>) -> Vec<String> {
    list.requireds().iter().filter_map(|node| node.as_required_parameter_node().map(|p| id(&p.name()))).collect()
}

fn pairs(list: &prism::NodeList<'_>, depth: usize) -> Vec<(Node, Node)> {
    let pair = |node: prism::Node<'_>| {
        if let Some(assoc) = node.as_assoc_node() {
            return Some((lower(&assoc.key(), depth), lower(&assoc.value(), depth)));
        }
        let splat = node.as_assoc_splat_node()?.value()?;
        let value = lower(&splat, depth);
        Some((Node { kind: Kind::Splat(Box::new(value.clone())), line: value.line }, value))
    };
    list.iter().filter_map(pair).collect()
}

/// `A::B`, if it is nothing but names.
fn constant(node: &prism::Node<'_>) -> Option<String> {
    let mut parts = Vec::new();
    let mut path = match node.as_constant_read_node() {
        Some(read) => return Some(id(&read.name())),
        None => node.as_constant_path_node()?,
    };
    for _ in 0..DEPTH_MAX {
        parts.push(id(&path.name()?));
        let Some(parent) = path.parent() else {
            parts.push(String::new());
            break;
        };
        if let Some(read) = parent.as_constant_read_node() {
            parts.push(id(&read.name()));
            break;
        }
        path = parent.as_constant_path_node()?;
    }
    parts.reverse();
    Some(parts.join("::"))
}
