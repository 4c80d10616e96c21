//! What a specification means: names looked up, every operator known.
//!
//! A bound name is a [`Kind::Local`]: how many frames out, and which of that frame. Each quantifier bound, each
//! definition of a LET and each call makes one frame. Arguments are expressions, not values: `Op(x)` with
//! `Op(a) == a' = a + 1` is a step.

use std::sync::OnceLock;

use super::builtin::Builtin;
use super::syntax::At;
use super::value::Value;

/// The place of a definition.
pub type DefinitionId = usize;

/// An expression and its place.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: Box<Kind>,
    /// Where it was written.
    pub at: At,
}

/// What an expression is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A value.
    Constant(Value),
    /// A variable.
    Variable(usize),
    /// A primed variable.
    Next(usize),
    /// Anything else primed.
    Prime(Expr),
    /// A bound name: frames out, and place in the frame; with arguments, if it is an operator.
    Local(usize, usize, Vec<Expr>),
    /// A definition with its arguments.
    Defined(DefinitionId, Vec<Expr>),
    /// An operator as an argument: so many parameters, which are one frame.
    Lambda(usize, Expr),
    /// An operator of the language or of a standard module.
    Builtin(Builtin, Vec<Expr>),
    /// All of them, left to right.
    And(Vec<Expr>),
    /// One of them, left to right.
    Or(Vec<Expr>),
    /// `\A` (true) or `\E`.
    Quantified(bool, Vec<Bound>, Expr),
    /// The least element for which it is true.
    Choose(Bound, Expr),
    /// The elements for which it is true.
    Filter(Bound, Expr),
    /// What elements are mapped to.
    Map(Vec<Bound>, Expr),
    /// A function.
    Function(Vec<Bound>, Expr),
    /// `[f EXCEPT ![a][b] = e]`; `@` is a frame around e.
    Except(Expr, Vec<(Vec<Expr>, Expr)>),
    /// A record: fields sorted by name.
    Record(Vec<(Value, Expr)>),
    /// A set of records: fields sorted by name.
    Records(Vec<(Value, Expr)>),
    /// `IF`.
    If(Expr, Expr, Expr),
    /// `CASE`.
    Case(Vec<(Expr, Expr)>, Option<Expr>),
    /// `LET`: one definition, one frame.
    Let(LetDefinition, Expr),
    /// `[A]_v`
    Square(Expr, Expr),
    /// `<<A>>_v`
    Angle(Expr, Expr),
    /// `WF_v(A)` (true) or `SF_v(A)`: whether weak, the subscript, the action.
    Fair(bool, Expr, Expr),
}

/// Where a bound name comes from.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The names; one, unless they are the components of a tuple.
    pub names: Vec<String>,
    /// Whether they are.
    pub tuple: bool,
    /// The set, outside of all frames that stand beside this one.
    pub set: Expr,
}

/// A definition in a LET.
#[derive(Clone, Debug)]
pub struct LetDefinition {
    /// Its name.
    pub name: String,
    /// How many parameters; they are one frame of the body, if there are any.
    pub parameters: usize,
    /// Whether it is itself one more frame around the body.
    pub framed: bool,
    /// Whether it names itself.
    pub recursive: bool,
    /// What it is.
    pub body: Expr,
}

/// A definition.
#[derive(Debug)]
pub struct Definition {
    /// Its name, as it can be written: `M!Op`.
    pub name: String,
    /// The names of its parameters, one frame of the body.
    pub parameters: Vec<String>,
    /// What it is.
    pub body: Expr,
    /// Whether it is a function that names itself.
    pub recursive_function: bool,
    /// What it can depend on.
    pub level: Level,
    /// Where the name stands.
    pub at: At,
    /// Its value, if that never changes and somebody has asked.
    pub known: OnceLock<Value>,
}

/// What an expression can depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    #[default]
    Constant,
    /// A state.
    State,
    /// A step.
    Action,
    /// A behaviour.
    Temporal,
}

impl Expr {
    /// An expression.
    pub fn new(at: At, kind: Kind) -> Expr {
        Expr { kind: Box::new(kind), at }
    }

    /// The expressions directly inside.
    pub fn parts(&self) -> Vec<&Expr> {
        match &*self.kind {
            Kind::Constant(_) | Kind::Variable(_) | Kind::Next(_) => Vec::new(),
            Kind::Prime(e) | Kind::Lambda(_, e) => vec![e],
            Kind::Local(_, _, parts)
            | Kind::Defined(_, parts)
            | Kind::Builtin(_, parts)
            | Kind::And(parts)
            | Kind::Or(parts) => parts.iter().collect(),
            Kind::Quantified(_, bounds, e) | Kind::Map(bounds, e) | Kind::Function(bounds, e) => {
                bounds.iter().map(|bound| &bound.set).chain([e]).collect()
            }
            Kind::Choose(bound, e) | Kind::Filter(bound, e) => vec![&bound.set, e],
            Kind::Except(f, updates) => {
                let inside = updates.iter().flat_map(|(path, e)| path.iter().chain([e]));
                [f].into_iter().chain(inside).collect()
            }
            Kind::Record(fields) | Kind::Records(fields) => fields.iter().map(|(_, e)| e).collect(),
            Kind::If(a, b, c) => vec![a, b, c],
            Kind::Case(arms, other) => arms.iter().flat_map(|(a, b)| [a, b]).chain(other).collect(),
            Kind::Let(definition, e) => vec![&definition.body, e],
            Kind::Square(a, b) | Kind::Angle(a, b) | Kind::Fair(_, a, b) => vec![a, b],
        }
    }
}
