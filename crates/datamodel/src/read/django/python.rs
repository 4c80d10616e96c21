//! Python, as far as models need it: classes with assignments of calls and literals. Nothing else knows the parser.

use ruff_python_ast::{Expr, PySourceType, Stmt};
use ruff_text_size::Ranged;

use crate::model::{Place, Remark};
use crate::read::{File, Lines};

/// Deeper nesting than this is not looked into.
const DEPTH_MAX: usize = 60;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// `models.CASCADE`: names with dots between.
    Name(String),
    Str(String),
    Bool(bool),
    None,
    /// A list, tuple or set.
    List(Vec<Value>),
    Call(Box<Call>),
    Other,
}

/// `function(args, key=value)`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub function: String,
    pub args: Vec<Value>,
    pub keywords: Vec<(String, Value)>,
    pub place: Place,
}

/// `class name(bases):`
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub name: String,
    pub bases: Vec<Value>,
    /// `class name(metaclass=...)`
    pub assignments: Vec<Assignment>,
    pub methods: Vec<(String, Place)>,
    pub classes: Vec<Class>,
    pub place: Place,
}

/// `name = value`
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub name: String,
    pub value: Value,
    pub place: Place,
}

/// What a file defines.
#[derive(Debug, Default)]
pub(crate) struct Module {
    pub classes: Vec<Class>,
    pub assignments: Vec<Assignment>,
    /// `from module import name as alias`: alias, module, name.
    pub imports: Vec<(String, String, String)>,
    /// Calls that stand alone, and decorators of functions.
    pub calls: Vec<Call>,
    pub remarks: Vec<Remark>,
}

/// Reads a file; after a syntax error, what there is of it.
pub(crate) fn parse(file: &File) -> Module {
    let parsed = ruff_python_parser::parse_unchecked_source(&file.text, PySourceType::Python);
    let reader = Reader { file, lines: Lines::of(&file.text) };
    let mut module = Module::default();
    if let Some(error) = parsed.errors().first() {
        let message = format!("Python syntax error: {}; what could be read of the file is used", error.error);
        module.remarks.push(Remark { message, place: reader.place(&error.location) });
    }
    reader.statements(parsed.suite(), &mut module, 0);
    module
}

impl Value {
    /// The names that it is, dots included.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Value::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The text that it is.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Its items, if it is a list.
    pub(crate) fn items(&self) -> &[Value] {
        match self {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The texts of a list.
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.items().iter().filter_map(Value::text).collect()
    }

    /// The last of its names: `CASCADE` in `models.CASCADE`.
    pub(crate) fn last_name(&self) -> Option<&str> {
        self.name().and_then(|name| name.rsplit('.').next())
    }
}

impl Call {
    /// The last name of what is called.
    pub(crate) fn last_name(&self) -> &str {
        self.function.rsplit('.').next().unwrap_or_default()
    }

    /// An argument by its name.
    pub(crate) fn keyword(&self, name: &str) -> Option<&Value> {
        self.keywords.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// An argument by its place or name.
    pub(crate) fn argument(&self, index: usize, name: &str) -> Option<&Value> {
        self.keyword(name).or_else(|| self.args.get(index))
    }

    /// Whether `name=True`.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.keyword(name) == Some(&Value::Bool(true))
    }
}

struct Reader<'a> {
    file: &'a File,
    lines: Lines,
}

impl Reader<'_> {
    fn place(&self, node: &impl Ranged) -> Place {
        self.file.at(self.lines.line(node.start().to_usize()))
    }

    fn statements(&self, statements: &[Stmt], module: &mut Module, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        for statement in statements {
            match statement {
                Stmt::ClassDef(_) => module.classes.extend(self.class(statement, depth)),
                Stmt::Assign(_) | Stmt::AnnAssign(_) => module.assignments.extend(self.assignments(statement, depth)),
                Stmt::If(branch) => {
                    self.statements(&branch.body, module, depth + 1);
                    branch.elif_else_clauses.iter().for_each(|clause| self.statements(&clause.body, module, depth + 1));
                }
                Stmt::Try(block) => {
                    self.statements(&block.body, module, depth + 1);
                    self.statements(&block.orelse, module, depth + 1);
                }
                Stmt::ImportFrom(import) => {
                    let from = import.module.as_ref().map(|name| name.as_str()).unwrap_or_default();
                    for alias in &import.names {
                        let name = alias.name.as_str();
                        let known_as = alias.asname.as_ref().map_or(name, |name| name.as_str());
                        module.imports.push((known_as.to_owned(), from.to_owned(), name.to_owned()));
                    }
                }
                Stmt::FunctionDef(function) => {
                    let decorators = function.decorator_list.iter().map(|d| self.value(&d.expression, depth));
                    module.calls.extend(decorators.filter_map(as_call));
                }
                Stmt::Expr(expression) => module.calls.extend(as_call(self.value(&expression.value, depth))),
                _ => {}
            }
        }
    }

    fn class(&self, statement: &Stmt, depth: usize) -> Option<Class> {
        let Stmt::ClassDef(definition) = statement else { return None };
        let bases = definition.arguments.iter().flat_map(|arguments| arguments.args.iter());
        let mut class = Class {
            name: definition.name.as_str().to_owned(),
            bases: bases.map(|base| self.value(base, depth)).collect(),
            assignments: Vec::new(),
            methods: Vec::new(),
            classes: Vec::new(),
            place: self.place(&definition.name),
        };
        self.class_body(&definition.body, &mut class, depth + 1);
        Some(class)
    }

    fn class_body(&self, statements: &[Stmt], class: &mut Class, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        for statement in statements {
            match statement {
                Stmt::ClassDef(_) => class.classes.extend(self.class(statement, depth)),
                Stmt::Assign(_) | Stmt::AnnAssign(_) => class.assignments.extend(self.assignments(statement, depth)),
                Stmt::FunctionDef(function) => {
                    class.methods.push((function.name.as_str().to_owned(), self.place(&function.name)));
                }
                Stmt::If(branch) => {
                    self.class_body(&branch.body, class, depth + 1);
                    branch.elif_else_clauses.iter().for_each(|clause| self.class_body(&clause.body, class, depth + 1));
                }
                Stmt::Try(block) => self.class_body(&block.body, class, depth + 1),
                _ => {}
            }
        }
    }

    fn assignments(&self, statement: &Stmt, depth: usize) -> Vec<Assignment> {
        let (targets, value): (Vec<&Expr>, Option<&Expr>) = match statement {
            Stmt::Assign(assign) => (assign.targets.iter().collect(), Some(&assign.value)),
            Stmt::AnnAssign(assign) => (vec![&assign.target], assign.value.as_deref()),
            _ => (Vec::new(), None),
        };
        let Some(value) = value else { return Vec::new() };
        let named = |target: &&Expr| match target {
            Expr::Name(name) => Some(name.id.to_string()),
            _ => None,
        };
        let make = |name| Assignment { name, value: self.value(value, depth), place: self.place(statement) };
        targets.iter().filter_map(named).map(make).collect()
    }

    fn value(&self, expression: &Expr, depth: usize) -> Value {
        if depth > DEPTH_MAX {
            return Value::Other;
        }
        let list = |items: &[Expr]| Value::List(items.iter().map(|item| self.value(item, depth + 1)).collect());
        match expression {
            Expr::StringLiteral(text) => Value::Str(text.value.to_str().to_owned()),
            Expr::BooleanLiteral(literal) => Value::Bool(literal.value),
            Expr::NoneLiteral(_) => Value::None,
            Expr::Name(_) | Expr::Attribute(_) => dotted(expression).map_or(Value::Other, Value::Name),
            Expr::List(items) => list(&items.elts),
            Expr::Tuple(items) => list(&items.elts),
            Expr::Set(items) => list(&items.elts),
            Expr::Call(call) => {
                let args = call.arguments.args.iter().map(|arg| self.value(arg, depth + 1)).collect();
                let keyword = |keyword: &ruff_python_ast::Keyword| {
                    let name = keyword.arg.as_ref().map_or("**", |name| name.as_str());
                    (name.to_owned(), self.value(&keyword.value, depth + 1))
                };
                let keywords = call.arguments.keywords.iter().map(keyword).collect();
                let function = dotted(&call.func).unwrap_or_default();
                Value::Call(Box::new(Call { function, args, keywords, place: self.place(expression) }))
            }
            _ => Value::Other,
        }
    }
}

fn as_call(value: Value) -> Option<Call> {
    match value {
        Value::Call(call) => Some(*call),
        _ => None,
    }
}

/// `a.b.c`, if it is nothing but names.
fn dotted(expression: &Expr) -> Option<String> {
    let mut parts = Vec::new();
    let mut at = expression;
    for _ in 0..DEPTH_MAX {
        match at {
            Expr::Name(name) => {
                parts.push(name.id.as_str());
                parts.reverse();
                return Some(parts.join("."));
            }
            Expr::Attribute(attribute) => {
                parts.push(attribute.attr.as_str());
                at = &attribute.value;
            }
            _ => return None,
        }
    }
    None
}
