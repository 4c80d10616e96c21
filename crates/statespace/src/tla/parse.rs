//! Text to syntax, by way of tree-sitter's tree.
//!
//! The grammar is tolerant: it marks what it does not understand and goes on. Here the first such mark is a mistake,
//! and what the grammar knows but the checker does not (proofs are passed over) is named.

use tree_sitter::{Node, Parser};

use super::fault::{Fault, Result};
use super::precedence;
use super::syntax::{At, Bound, Definition, Expr, Instance, Kind, Module, Unit};

/// The modules of a file, one after another.
pub(super) fn modules(file: u32, text: &str) -> Result<Vec<Module>> {
    let tree = tree(file, text)?;
    let reader = Reader { file, text, skipped: 0 };
    let found: Vec<Module> =
        reader.children(tree.root_node(), "module").map(|node| reader.module(node)).collect::<Result<_>>()?;
    match found.is_empty() {
        true => Err(Fault::with_hint(
            At { file, start: 0, end: 1 },
            "there is no module",
            "a module begins with `---- MODULE Name ----` and ends with `====`",
        )),
        false => Ok(found),
    }
}

/// A single expression, as it is given on the command line. `text` is what the source `file` says.
pub(super) fn expression(file: u32, text: &str) -> Result<Expr> {
    const HEAD: &str = "Expression ==\n ";
    let wrapped = format!("{HEAD}{text}");
    let whole = At { file, start: 0, end: text.len() as u32 };
    let tree = tree(file, &wrapped).map_err(|mut fault| {
        let back = |place: u32| place.saturating_sub(HEAD.len() as u32);
        fault.at = At { file, start: back(fault.at.start), end: back(fault.at.end) };
        fault
    })?;
    let reader = Reader { file, text: &wrapped, skipped: HEAD.len() };
    let units = reader.named(tree.root_node());
    match units[..] {
        [unit] if unit.kind() == "operator_definition" => reader.expr(reader.field(unit, "definition")?),
        _ => Err(Fault::new(whole, "this is no expression")),
    }
}

fn tree(file: u32, text: &str) -> Result<tree_sitter::Tree> {
    let mut parser = Parser::new();
    let set = parser.set_language(&tree_sitter_tlaplus::LANGUAGE.into());
    let parsed = set.ok().and_then(|()| parser.parse(text, None));
    let tree = parsed.ok_or_else(|| Fault::new(At { file, start: 0, end: 1 }, "the text cannot be parsed"))?;
    match first_error(tree.root_node()) {
        Some(node) => Err(not_understood(file, text, node)),
        None => Ok(tree),
    }
}

/// The innermost and first node that was not understood.
fn first_error(node: Node<'_>) -> Option<Node<'_>> {
    if !node.has_error() {
        return None;
    }
    let mut cursor = node.walk();
    let inside = node.children(&mut cursor).find_map(first_error);
    inside.or((node.is_error() || node.is_missing()).then_some(node))
}

fn not_understood(file: u32, text: &str, node: Node<'_>) -> Box<Fault> {
    let range = node.byte_range();
    let at = At { file, start: range.start as u32, end: range.end.max(range.start + 1) as u32 };
    if node.is_missing() {
        return Fault::new(at, format!("`{}` is missing here", node.kind()));
    }
    let span = text.get(range.clone()).unwrap_or("");
    if span.contains('\n')
        && let Some(start) = first_unit_not_understood(text)
    {
        let line = text[start..].lines().next().unwrap_or("").trim_end().len();
        let at = At { file, start: start as u32, end: (start + line.max(1)) as u32 };
        return Fault::new(at, "what begins here is no TLA+");
    }
    let what = span.split_whitespace().next().unwrap_or("").to_string();
    Fault::new(at, format!("this is no TLA+, at `{what}`"))
}

/// Where the first thing begins that is not understood: behind the longest beginning, line by line, that is a module by
/// itself.
fn first_unit_not_understood(text: &str) -> Option<usize> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_tlaplus::LANGUAGE.into()).ok()?;
    let mut understood = None;
    for (at, _) in text.match_indices('\n') {
        let beginning = format!("{}\n====\n", &text[..at]);
        if parser.parse(&beginning, None).is_some_and(|tree| !tree.root_node().has_error()) {
            understood = Some(at + 1);
        }
    }
    let rest = understood?;
    Some(rest + text[rest..].len() - text[rest..].trim_start().len())
}

struct Reader<'t> {
    file: u32,
    text: &'t str,
    /// How many bytes at the beginning were not written by the user.
    skipped: usize,
}

impl<'t> Reader<'t> {
    fn at(&self, node: Node<'_>) -> At {
        let place = |byte: usize| byte.saturating_sub(self.skipped) as u32;
        At { file: self.file, start: place(node.start_byte()), end: place(node.end_byte()) }
    }

    fn word(&self, node: Node<'_>) -> String {
        self.text.get(node.byte_range()).unwrap_or("").to_string()
    }

    fn named<'n>(&self, node: Node<'n>) -> Vec<Node<'n>> {
        let mut cursor = node.walk();
        node.named_children(&mut cursor).filter(|child| !child.kind().ends_with("comment")).collect()
    }

    fn children<'n>(&self, node: Node<'n>, kind: &'static str) -> impl Iterator<Item = Node<'n>> + use<'n> {
        self.named(node).into_iter().filter(move |child| child.kind() == kind)
    }

    fn field<'n>(&self, node: Node<'n>, name: &str) -> Result<Node<'n>> {
        node.child_by_field_name(name).ok_or_else(|| self.unsupported(node))
    }

    /// The named children under a field.
    fn fields<'n>(&self, node: Node<'n>, name: &str) -> Vec<Node<'n>> {
        let mut cursor = node.walk();
        node.children_by_field_name(name, &mut cursor).filter(Node::is_named).collect()
    }

    fn unsupported(&self, node: Node<'_>) -> Box<Fault> {
        let what = match node.kind() {
            "real_number" | "real_number_set" => "real numbers are",
            "subexpression" | "subexpr_tree_nav" => "names of subexpressions are",
            "proof_step_ref" => "names of proof steps are",
            "unbounded_quantification" => "quantification without a set is",
            "label" => "this label is",
            other => return Fault::new(self.at(node), format!("`{}` is not supported", other.replace('_', " "))),
        };
        Fault::new(self.at(node), format!("{what} not supported"))
    }

    fn module(&self, node: Node<'_>) -> Result<Module> {
        let name = self.field(node, "name")?;
        let mut module = Module { name: self.word(name), extends: Vec::new(), units: Vec::new(), at: self.at(name) };
        for child in self.named(node) {
            match child.kind() {
                "extends" => {
                    module.extends = self.named(child).into_iter().map(|n| (self.word(n), self.at(n))).collect();
                }
                "identifier" | "header_line" | "double_line" | "single_line" | "theorem" | "use_or_hide" => (),
                _ => module.units.push(self.unit(child, false)?),
            }
        }
        Ok(module)
    }

    fn unit(&self, node: Node<'_>, local: bool) -> Result<Unit> {
        Ok(match node.kind() {
            "variable_declaration" => {
                Unit::Variables(self.named(node).into_iter().map(|n| (self.word(n), self.at(n))).collect())
            }
            "constant_declaration" => Unit::Constants(
                self.named(node)
                    .into_iter()
                    .map(|n| self.declared(n).map(|(name, arity)| (name, arity, self.at(n))))
                    .collect::<Result<_>>()?,
            ),
            "recursive_declaration" => Unit::Recursive(
                self.named(node).into_iter().map(|n| self.declared(n).map(|(name, _)| name)).collect::<Result<_>>()?,
            ),
            "operator_definition" => Unit::Definition(self.operator(node, local)?),
            "function_definition" => Unit::Definition(self.function(node, local)?),
            "instance" => Unit::Instance(self.instance(node, None, Vec::new(), local)?),
            "module_definition" => {
                let name = self.word(self.field(node, "name")?);
                let parameters = self.parameters(node)?;
                Unit::Instance(self.instance(self.field(node, "definition")?, Some(name), parameters, local)?)
            }
            "local_definition" => match self.named(node).first() {
                Some(inner) => return self.unit(*inner, true),
                None => return Err(self.unsupported(node)),
            },
            "assumption" => {
                let body = self.named(node).into_iter().rfind(|n| n.kind() != "def_eq");
                Unit::Assume(self.expr(body.ok_or_else(|| self.unsupported(node))?)?)
            }
            "module" => Unit::Module(self.module(node)?),
            _ => return Err(self.unsupported(node)),
        })
    }

    /// A name, or `Op(_, _)`, with its arity.
    fn declared(&self, node: Node<'_>) -> Result<(String, usize)> {
        if node.kind() != "operator_declaration" {
            return Ok((self.word(node), 0));
        }
        let name = self.field(node, "name")?;
        Ok((self.symbol(name), self.children(node, "placeholder").count()))
    }

    fn parameters(&self, node: Node<'_>) -> Result<Vec<(String, usize)>> {
        self.fields(node, "parameter").into_iter().map(|n| self.declared(n)).collect()
    }

    /// The one spelling of a name or of an operator symbol.
    fn symbol(&self, node: Node<'_>) -> String {
        match node.kind() {
            "identifier" | "identifier_ref" => self.word(node),
            "nat_number_set" => "Nat".into(),
            "int_number_set" => "Int".into(),
            "real_number_set" => "Real".into(),
            "infix_op_symbol" | "prefix_op_symbol" | "postfix_op_symbol" => {
                self.named(node).first().map_or_else(|| self.word(node), |inner| self.symbol(*inner))
            }
            kind => {
                SPELLING.iter().find(|(known, _)| *known == kind).map_or_else(|| self.word(node), |(_, s)| (*s).into())
            }
        }
    }

    fn operator(&self, node: Node<'_>, local: bool) -> Result<Definition> {
        let name = self.field(node, "name")?;
        Ok(Definition {
            name: self.symbol(name),
            parameters: self.parameters(node)?,
            bounds: None,
            body: self.expr(self.field(node, "definition")?)?,
            local,
            at: self.at(name),
        })
    }

    fn function(&self, node: Node<'_>, local: bool) -> Result<Definition> {
        let name = self.field(node, "name")?;
        let bounds = self.children(node, "quantifier_bound").map(|n| self.bound(n)).collect::<Result<_>>()?;
        Ok(Definition {
            name: self.word(name),
            parameters: Vec::new(),
            bounds: Some(bounds),
            body: self.expr(self.field(node, "definition")?)?,
            local,
            at: self.at(name),
        })
    }

    fn instance(
        &self,
        node: Node<'_>,
        name: Option<String>,
        parameters: Vec<(String, usize)>,
        local: bool,
    ) -> Result<Instance> {
        let module = self.children(node, "identifier_ref").next().ok_or_else(|| self.unsupported(node))?;
        let with = self.children(node, "substitution").map(|n| self.substitution(n)).collect::<Result<_>>()?;
        Ok(Instance { name, parameters, module: self.word(module), with, local, at: self.at(node) })
    }

    fn substitution(&self, node: Node<'_>) -> Result<(String, Expr)> {
        let parts: Vec<_> = self.named(node).into_iter().filter(|n| n.kind() != "gets").collect();
        match parts[..] {
            [name, value] => Ok((self.symbol(name), self.argument(value)?)),
            _ => Err(self.unsupported(node)),
        }
    }

    fn bound(&self, node: Node<'_>) -> Result<Bound> {
        let intro = self.fields(node, "intro");
        let tuple = intro.first().is_some_and(|n| n.kind() == "tuple_of_identifiers");
        let names = match tuple {
            true => self.children(intro[0], "identifier").map(|n| self.word(n)).collect(),
            false => intro.into_iter().map(|n| self.word(n)).collect(),
        };
        Ok(Bound { names, tuple, set: self.expr(self.field(node, "set")?)? })
    }

    /// An argument: an expression, or an operator by its symbol.
    fn argument(&self, node: Node<'_>) -> Result<Expr> {
        match node.kind() {
            "infix_op_symbol" | "prefix_op_symbol" | "postfix_op_symbol" => {
                Ok(self.made(node, Kind::Apply(Vec::new(), self.symbol(node), Vec::new())))
            }
            _ => self.expr(node),
        }
    }

    fn made(&self, node: Node<'_>, kind: Kind) -> Expr {
        Expr { kind: Box::new(kind), at: self.at(node) }
    }

    fn exprs(&self, nodes: Vec<Node<'_>>) -> Result<Vec<Expr>> {
        nodes.into_iter().filter(|n| !is_bracket(n.kind())).map(|n| self.argument(n)).collect()
    }

    fn expr(&self, node: Node<'_>) -> Result<Expr> {
        let kind = match node.kind() {
            "nat_number" | "binary_number" | "octal_number" | "hex_number" => Kind::Number(self.number(node)?),
            "string" => Kind::Text(self.string(node)),
            "boolean" => Kind::Bool(self.word(node) == "TRUE"),
            "string_set" | "boolean_set" | "identifier_ref" => Kind::Apply(Vec::new(), self.word(node), Vec::new()),
            "nat_number_set" | "int_number_set" => Kind::Apply(Vec::new(), self.symbol(node), Vec::new()),
            "parentheses" => return self.expr(self.only(node)?),
            "label" => return self.expr(self.field(node, "expression")?),
            "bound_op" | "bound_nonfix_op" => {
                let (name, arguments) = self.applied(node)?;
                Kind::Apply(Vec::new(), name, arguments)
            }
            "prefixed_op" => self.prefixed(node)?,
            "bound_prefix_op" => self.prefix(node)?,
            "bound_infix_op" => return self.infix(node),
            "bound_postfix_op" => {
                let (lhs, symbol) = (self.field(node, "lhs")?, self.field(node, "symbol")?);
                Kind::Apply(Vec::new(), self.symbol(symbol), vec![self.expr(lhs)?])
            }
            "lambda" => {
                let names = self.children(node, "identifier").map(|n| self.word(n)).collect();
                let body = self.named(node).into_iter().next_back().ok_or_else(|| self.unsupported(node))?;
                Kind::Lambda(names, self.expr(body)?)
            }
            "bounded_quantification" => {
                let bounds = self.fields(node, "bound").into_iter().map(|n| self.bound(n)).collect::<Result<_>>()?;
                let all = self.field(node, "quantifier")?.kind() == "forall";
                Kind::Quantified(all, bounds, self.expr(self.field(node, "expression")?)?)
            }
            "choose" => self.choose(node)?,
            "finite_set_literal" => Kind::Set(self.exprs(self.named(node))?),
            "set_filter" => {
                Kind::Filter(self.bound(self.field(node, "generator")?)?, self.expr(self.field(node, "filter")?)?)
            }
            "set_map" => {
                let bounds =
                    self.fields(node, "generator").into_iter().map(|n| self.bound(n)).collect::<Result<_>>()?;
                Kind::Map(self.expr(self.field(node, "map")?)?, bounds)
            }
            "function_evaluation" => {
                let mut parts = self.exprs(self.named(node))?;
                let function = parts.remove(0);
                Kind::Call(function, parts)
            }
            "function_literal" => {
                let bounds = self.children(node, "quantifier_bound").map(|n| self.bound(n)).collect::<Result<_>>()?;
                let body = self.named(node).into_iter().next_back().ok_or_else(|| self.unsupported(node))?;
                Kind::Function(bounds, self.expr(body)?)
            }
            "set_of_functions" => {
                let parts: Vec<_> = self.named(node).into_iter().filter(|n| n.kind() != "maps_to").collect();
                match parts[..] {
                    [from, to] => Kind::Functions(self.expr(from)?, self.expr(to)?),
                    _ => return Err(self.unsupported(node)),
                }
            }
            "record_literal" => Kind::Record(self.pairs(node)?),
            "set_of_records" => Kind::Records(self.pairs(node)?),
            "record_value" => {
                let parts = self.named(node);
                match parts[..] {
                    [record, name] => {
                        let field = self.made(name, Kind::Text(self.word(name)));
                        Kind::Call(self.expr(record)?, vec![field])
                    }
                    _ => return Err(self.unsupported(node)),
                }
            }
            "except" => self.except(node)?,
            "prev_func_val" => Kind::Previous,
            "tuple_literal" => Kind::Tuple(self.exprs(self.named(node))?),
            "step_expr_or_stutter" | "step_expr_no_stutter" => {
                let mut parts = self.exprs(self.named(node))?.into_iter();
                match (parts.next(), parts.next()) {
                    (Some(a), Some(v)) if node.kind() == "step_expr_or_stutter" => Kind::Square(a, v),
                    (Some(a), Some(v)) => Kind::Angle(a, v),
                    _ => return Err(self.unsupported(node)),
                }
            }
            "fairness" => {
                let mut parts = self.exprs(self.named(node))?.into_iter();
                match (parts.next(), parts.next()) {
                    (Some(v), Some(a)) => Kind::Fair(self.word(node).starts_with("WF_"), v, a),
                    _ => return Err(self.unsupported(node)),
                }
            }
            "if_then_else" => Kind::If(
                self.expr(self.field(node, "if")?)?,
                self.expr(self.field(node, "then")?)?,
                self.expr(self.field(node, "else")?)?,
            ),
            "case" => self.case(node)?,
            "let_in" => {
                let units = self.fields(node, "definitions").into_iter().map(|n| self.unit(n, true));
                Kind::Let(units.collect::<Result<_>>()?, self.expr(self.field(node, "expression")?)?)
            }
            "conj_list" => Kind::And(self.items(node)?),
            "disj_list" => Kind::Or(self.items(node)?),
            _ => return Err(self.unsupported(node)),
        };
        Ok(self.made(node, kind))
    }

    fn only<'n>(&self, node: Node<'n>) -> Result<Node<'n>> {
        self.named(node).into_iter().next().ok_or_else(|| self.unsupported(node))
    }

    fn items(&self, node: Node<'_>) -> Result<Vec<Expr>> {
        let last = |item: Node<'_>| match self.named(item).pop() {
            Some(body) => self.expr(body),
            None => Err(self.unsupported(item)),
        };
        self.named(node).into_iter().map(last).collect()
    }

    fn number(&self, node: Node<'_>) -> Result<i64> {
        let word = self.word(node);
        let parsed = match node.kind() {
            "binary_number" => i64::from_str_radix(&word[2..], 2),
            "octal_number" => i64::from_str_radix(&word[2..], 8),
            "hex_number" => i64::from_str_radix(&word[2..], 16),
            _ => word.parse(),
        };
        parsed.map_err(|_| Fault::new(self.at(node), "this number is too large"))
    }

    fn string(&self, node: Node<'_>) -> String {
        let word = self.word(node);
        let inner = word.get(1..word.len().saturating_sub(1)).unwrap_or("");
        let mut out = String::new();
        let mut chars = inner.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('n') => out.push('\n'),
                    Some('t') => out.push('\t'),
                    Some(other) => out.push(other),
                    None => (),
                },
                c => out.push(c),
            }
        }
        out
    }

    fn applied(&self, node: Node<'_>) -> Result<(String, Vec<Expr>)> {
        match node.kind() {
            "bound_op" => {
                let name = self.word(self.field(node, "name")?);
                Ok((name, self.exprs(self.fields(node, "parameter"))?))
            }
            "bound_nonfix_op" => {
                let symbol = self.field(node, "symbol")?;
                let rest = self.named(node).into_iter().filter(|n| n.id() != symbol.id()).collect();
                Ok((self.symbol(symbol), self.exprs(rest)?))
            }
            _ => Ok((self.symbol(node), Vec::new())),
        }
    }

    fn prefixed(&self, node: Node<'_>) -> Result<Kind> {
        let mut path = Vec::new();
        for component in self.named(self.field(node, "prefix")?) {
            if component.kind() != "subexpr_component" {
                return Err(self.unsupported(component));
            }
            path.push(self.applied(self.only(component)?)?);
        }
        let (name, arguments) = self.applied(self.field(node, "op")?)?;
        Ok(Kind::Apply(path, name, arguments))
    }

    fn prefix(&self, node: Node<'_>) -> Result<Kind> {
        let (symbol, rhs) = (self.field(node, "symbol")?, self.expr(self.field(node, "rhs")?)?);
        Ok(Kind::Apply(Vec::new(), self.symbol(symbol), vec![rhs]))
    }

    fn infix(&self, node: Node<'_>) -> Result<Expr> {
        let (left, symbol, right) = (self.field(node, "lhs")?, self.field(node, "symbol")?, self.field(node, "rhs")?);
        for side in [left, right].into_iter().filter(|side| side.kind() == "bound_infix_op") {
            let (outer, inner) = (self.symbol(symbol), self.symbol(self.field(side, "symbol")?));
            if precedence::conflict(&outer, &inner) {
                let message = format!("`{inner}` and `{outer}` have conflicting precedence");
                return Err(Fault::with_hint(self.at(node), message, "put one of them in parentheses"));
            }
        }
        let (lhs, rhs) = (self.expr(left)?, self.expr(right)?);
        let kind = match symbol.kind() {
            "land" => match *lhs.kind {
                Kind::And(mut parts) if left.kind() == "bound_infix_op" => {
                    parts.push(rhs);
                    Kind::And(parts)
                }
                _ => Kind::And(vec![lhs, rhs]),
            },
            "lor" => match *lhs.kind {
                Kind::Or(mut parts) if left.kind() == "bound_infix_op" => {
                    parts.push(rhs);
                    Kind::Or(parts)
                }
                _ => Kind::Or(vec![lhs, rhs]),
            },
            // `A \X B \X C` is a set of triples, not of pairs.
            "times" => match *lhs.kind {
                Kind::Product(mut parts) if left.kind() == "bound_infix_op" => {
                    parts.push(rhs);
                    Kind::Product(parts)
                }
                _ => Kind::Product(vec![lhs, rhs]),
            },
            _ => Kind::Apply(Vec::new(), self.symbol(symbol), vec![lhs, rhs]),
        };
        Ok(self.made(node, kind))
    }

    fn choose(&self, node: Node<'_>) -> Result<Kind> {
        let intro = self.field(node, "intro")?;
        let body = self.expr(self.field(node, "expression")?)?;
        let Some(set) = node.child_by_field_name("set") else {
            // `CHOOSE v : v \notin S` is some value that is nothing else.
            let any = self.made(intro, Kind::Apply(Vec::new(), ANYTHING.into(), Vec::new()));
            return Ok(Kind::Choose(Bound { names: vec![self.word(intro)], tuple: false, set: any }, body));
        };
        let tuple = intro.kind() == "tuple_of_identifiers";
        let names = match tuple {
            true => self.children(intro, "identifier").map(|n| self.word(n)).collect(),
            false => vec![self.word(intro)],
        };
        Ok(Kind::Choose(Bound { names, tuple, set: self.expr(set)? }, body))
    }

    fn pairs(&self, node: Node<'_>) -> Result<Vec<(String, Expr)>> {
        let parts: Vec<_> = self.named(node).into_iter().filter(|n| n.kind() != "all_map_to").collect();
        parts.chunks_exact(2).map(|pair| Ok((self.word(pair[0]), self.expr(pair[1])?))).collect()
    }

    fn except(&self, node: Node<'_>) -> Result<Kind> {
        let function = self.expr(self.field(node, "expr_to_update")?)?;
        let mut updates = Vec::new();
        for update in self.children(node, "except_update") {
            let specifier = self.fields(update, "update_specifier").pop().ok_or_else(|| self.unsupported(update))?;
            let mut path = Vec::new();
            for step in self.named(specifier) {
                path.push(match step.kind() {
                    "except_update_record_field" => {
                        let name = self.only(step)?;
                        self.made(name, Kind::Text(self.word(name)))
                    }
                    _ => {
                        let mut indices = self.exprs(self.named(step))?;
                        match indices.len() {
                            1 => indices.remove(0),
                            _ => self.made(step, Kind::Tuple(indices)),
                        }
                    }
                });
            }
            updates.push((path, self.expr(self.field(update, "new_val")?)?));
        }
        Ok(Kind::Except(function, updates))
    }

    fn case(&self, node: Node<'_>) -> Result<Kind> {
        let (mut arms, mut other) = (Vec::new(), None);
        for arm in self.named(node) {
            let parts: Vec<_> = self.named(arm).into_iter().filter(|n| n.kind() != "case_arrow").collect();
            match (arm.kind(), &parts[..]) {
                ("case_arm", [when, then]) => arms.push((self.expr(*when)?, self.expr(*then)?)),
                ("other_arm", [then]) => other = Some(self.expr(*then)?),
                _ => (),
            }
        }
        Ok(Kind::Case(arms, other))
    }
}

/// The set of everything, which only an unbounded CHOOSE names.
pub(crate) const ANYTHING: &str = "CHOOSE without a set";

fn is_bracket(kind: &str) -> bool {
    matches!(kind, "langle_bracket" | "rangle_bracket" | "rangle_bracket_sub")
}

/// How each operator symbol is spelled, whatever was written.
const SPELLING: &[(&str, &str)] = &[
    ("lnot", "~"),
    ("union", "UNION"),
    ("powerset", "SUBSET"),
    ("domain", "DOMAIN"),
    ("negative", "-."),
    ("enabled", "ENABLED"),
    ("unchanged", "UNCHANGED"),
    ("always", "[]"),
    ("eventually", "<>"),
    ("implies", "=>"),
    ("equiv", "<=>"),
    ("iff", "<=>"),
    ("leads_to", "~>"),
    ("land", "/\\"),
    ("lor", "\\/"),
    ("eq", "="),
    ("neq", "#"),
    ("lt", "<"),
    ("gt", ">"),
    ("leq", "<="),
    ("geq", ">="),
    ("in", "\\in"),
    ("notin", "\\notin"),
    ("prec", "\\prec"),
    ("succ", "\\succ"),
    ("preceq", "\\preceq"),
    ("succeq", "\\succeq"),
    ("subset", "\\subset"),
    ("supset", "\\supset"),
    ("subseteq", "\\subseteq"),
    ("supseteq", "\\supseteq"),
    ("sqsubset", "\\sqsubset"),
    ("sqsupset", "\\sqsupset"),
    ("sqsubseteq", "\\sqsubseteq"),
    ("sqsupseteq", "\\sqsupseteq"),
    ("cap", "\\cap"),
    ("cup", "\\cup"),
    ("dots_2", ".."),
    ("dots_3", "..."),
    ("oplus", "\\oplus"),
    ("ominus", "\\ominus"),
    ("otimes", "\\otimes"),
    ("odot", "\\odot"),
    ("oslash", "\\oslash"),
    ("div", "\\div"),
    ("circ", "\\o"),
    ("bullet", "\\bullet"),
    ("star", "\\star"),
    ("times", "\\X"),
    ("uplus", "\\uplus"),
    ("sqcap", "\\sqcap"),
    ("sqcup", "\\sqcup"),
    ("cdot", "\\cdot"),
    ("approx", "\\approx"),
    ("sim", "\\sim"),
    ("simeq", "\\simeq"),
    ("vertvert", "||"),
    ("prime", "'"),
];
