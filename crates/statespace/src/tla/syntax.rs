//! What was written: modules, definitions and expressions, names not yet looked up.
//!
//! Infix, prefix and postfix operators are applications like any other, by one spelling each: `\union` and `∪` are
//! `\cup` here.

/// A piece of a source text: which file, and which bytes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct At {
    /// The place of the file among the sources.
    pub file: u32,
    /// The first byte.
    pub start: u32,
    /// The byte behind the last.
    pub end: u32,
}

/// A module.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// What it extends.
    pub extends: Vec<(String, At)>,
    /// What stands in it, in order.
    pub units: Vec<Unit>,
    /// Where its name is.
    pub at: At,
}

/// One thing that stands in a module, or in a LET.
#[derive(Clone, Debug)]
pub enum Unit {
    /// `VARIABLES x, y`
    Variables(Vec<(String, At)>),
    /// `CONSTANTS N, Op(_)`, with arities
    Constants(Vec<(String, usize, At)>),
    /// `RECURSIVE Op(_)`
    Recursive(Vec<String>),
    /// `Op(a, b) == e` or `f[x \in S] == e`
    Definition(Definition),
    /// `INSTANCE M WITH ...`, or `I(a) == INSTANCE M WITH ...`
    Instance(Instance),
    /// `ASSUME e`
    Assume(Expr),
    /// A module inside a module
    Module(Module),
}

/// A definition.
#[derive(Clone, Debug)]
pub struct Definition {
    /// What is defined.
    pub name: String,
    /// Its parameters with their arities, 0 for values.
    pub parameters: Vec<(String, usize)>,
    /// Of a function: over what.
    pub bounds: Option<Vec<Bound>>,
    /// What it is.
    pub body: Expr,
    /// Whether it is seen by who extends or instantiates.
    pub local: bool,
    /// Where the name is.
    pub at: At,
}

/// An instance of a module.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Under which name, if any.
    pub name: Option<String>,
    /// Parameters.
    pub parameters: Vec<(String, usize)>,
    /// Of which module.
    pub module: String,
    /// What its constants and variables are.
    pub with: Vec<(String, Expr)>,
    /// Whether it is seen by who extends or instantiates.
    pub local: bool,
    /// Where it is.
    pub at: At,
}

/// `x, y \in S` or `<<x, y>> \in S`.
#[derive(Clone, Debug)]
pub struct Bound {
    /// What is bound.
    pub names: Vec<String>,
    /// Whether the names are the components of a tuple.
    pub tuple: bool,
    /// In which set.
    pub set: Expr,
}

/// An expression and its place.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: Box<Kind>,
    /// Where it is.
    pub at: At,
}

/// What an expression is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// `7`
    Number(i64),
    /// `"text"`
    Text(String),
    /// `TRUE`
    Bool(bool),
    /// `I(a)!Op(b, c)`: instances that lead there, the operator, its arguments
    Apply(Vec<(String, Vec<Expr>)>, String, Vec<Expr>),
    /// `LAMBDA x, y : e`
    Lambda(Vec<String>, Expr),
    /// `\A` (true) or `\E`
    Quantified(bool, Vec<Bound>, Expr),
    /// `CHOOSE x \in S : e`
    Choose(Bound, Expr),
    /// `{a, b}`
    Set(Vec<Expr>),
    /// `{x \in S : e}`
    Filter(Bound, Expr),
    /// `{e : x \in S}`
    Map(Expr, Vec<Bound>),
    /// `[x \in S |-> e]`
    Function(Vec<Bound>, Expr),
    /// `f[a, b]`
    Call(Expr, Vec<Expr>),
    /// `[S -> T]`
    Functions(Expr, Expr),
    /// `[a |-> 1]`
    Record(Vec<(String, Expr)>),
    /// `[a : S]`
    Records(Vec<(String, Expr)>),
    /// `[f EXCEPT ![a].b = e]`
    Except(Expr, Vec<(Vec<Expr>, Expr)>),
    /// `@`
    Previous,
    /// `<<a, b>>`
    Tuple(Vec<Expr>),
    /// `S \X T`
    Product(Vec<Expr>),
    /// `IF a THEN b ELSE c`
    If(Expr, Expr, Expr),
    /// `CASE a -> b [] OTHER -> c`
    Case(Vec<(Expr, Expr)>, Option<Expr>),
    /// `LET ... IN e`
    Let(Vec<Unit>, Expr),
    /// A list of conjuncts
    And(Vec<Expr>),
    /// A list of disjuncts
    Or(Vec<Expr>),
    /// `[A]_v`
    Square(Expr, Expr),
    /// `<<A>>_v`
    Angle(Expr, Expr),
    /// `WF_v(A)` (true) or `SF_v(A)`
    Fair(bool, Expr, Expr),
}
