//! A specification made small: a state is one integer, and a step is integer arithmetic.
//!
//! Every TLA+ variable is cut into *slots* of a few bits each; all slots side by side are the [`Key`], which is the
//! state itself and not a hash of it: two states are equal if and only if their keys are.
//!
//! ```text
//!   hr \in 1..12, mn \in 0..59                    hr: 4 bits, counted from 1      mn: 6 bits
//!   key  ....... mmmmmm hhhh                      \* hr = 12 /\ mn = 0  is  2#000000_1011
//! ```
//!
//! | value | slots |
//! |---|---|
//! | integer in `a..b` | one, `bias` a |
//! | boolean; string or model value | one: 0 or 1; the place in a list |
//! | set over a list of at most 62 values | one, a bit each |
//! | function, tuple, record | those of its elements, one after another |
//! | sequence | its length, then its elements; those beyond the length are zero |
//! | anything else | one: the place in a dictionary |
//!
//! [`Expr`]essions are about what the slots *mean* (bias added), in 64-bit integers; booleans are 0 and 1. What leaves
//! the range of its slot is an error and never wraps: every [`Instance`] says when it does.

use std::ops::Range;

/// A state: its slots, packed. Bit 0 of the first slot is bit 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub u128);

impl Key {
    /// The key as a database stores it; only of a layout that [fits](Layout::fits_sql).
    pub fn to_sql(self) -> i64 {
        self.0 as i64
    }

    /// The key that a database stored.
    pub fn from_sql(stored: i64) -> Key {
        Key(stored as u64 as u128)
    }
}

/// Some bits of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// What it is, as TLA+ writes it: `rmState["r1"]`.
    pub name: String,
    /// Its lowest bit.
    pub offset: u32,
    /// How many bits; may be 0, if there is only one value.
    pub width: u32,
    /// What code 0 means.
    pub bias: i64,
    /// What codes mean.
    pub kind: SlotKind,
}

/// What the codes of a slot mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotKind {
    /// An integer: the code plus the bias.
    Int,
    /// 0 is FALSE, 1 is TRUE.
    Bool,
    /// One of these values, each as TLA+ text, first to last.
    Enum(Vec<String>),
    /// A set of these values, each as TLA+ text; the first is bit 0.
    Mask(Vec<String>),
    /// A value of this dictionary of the layout.
    Dict(usize),
}

impl Slot {
    /// The bits of a code.
    pub fn mask(&self) -> u128 {
        (1 << self.width) - 1
    }

    /// What the slot means in a state.
    pub fn get(&self, key: Key) -> i64 {
        ((key.0 >> self.offset) & self.mask()) as i64 + self.bias
    }

    /// The state with another meaning of this slot, if it has a code.
    pub fn set(&self, key: Key, meaning: i64) -> Option<Key> {
        let code = u128::try_from(meaning.checked_sub(self.bias)?).ok()?;
        (code <= self.mask()).then(|| Key(key.0 & !(self.mask() << self.offset) | code << self.offset))
    }

    /// The least and the greatest meaning that have a code.
    pub fn range(&self) -> (i64, i64) {
        (self.bias, self.bias + self.mask() as i64)
    }
}

/// How values lie in the slots of their variable, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One slot, whose kind says everything.
    One,
    /// A function: its domain as TLA+ text, and what each element of it is mapped to.
    Function(Vec<(String, Shape)>),
    /// A record: fields by name.
    Record(Vec<(String, Shape)>),
    /// A tuple, or a sequence of fixed length.
    Tuple(Vec<Shape>),
    /// A sequence: a slot for the length, then so many elements of one shape.
    Sequence(Box<Shape>, usize),
}

impl Shape {
    /// How many slots it takes.
    pub fn slots(&self) -> usize {
        match self {
            Shape::One => 1,
            Shape::Function(parts) | Shape::Record(parts) => parts.iter().map(|(_, shape)| shape.slots()).sum(),
            Shape::Tuple(parts) => parts.iter().map(Shape::slots).sum(),
            Shape::Sequence(element, count) => 1 + element.slots() * count,
        }
    }
}

/// Where a variable is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableLayout {
    /// Its name.
    pub name: String,
    /// Its slots.
    pub slots: Range<usize>,
    /// How values lie in them.
    pub shape: Shape,
}

/// Where everything is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The variables, in the order of their declaration.
    pub variables: Vec<VariableLayout>,
    /// The slots of all variables.
    pub slots: Vec<Slot>,
    /// How many bits they take together.
    pub bits: u32,
    /// What the codes of dictionary slots mean, as TLA+ text.
    pub dicts: Vec<Vec<String>>,
}

impl Layout {
    /// Whether a key is a positive 64-bit integer, as databases store it.
    pub fn fits_sql(&self) -> bool {
        self.bits <= 63
    }

    /// Whether a key has all the bits.
    pub fn fits(&self) -> bool {
        self.bits <= 128
    }
}

/// An integer expression over the slots of a state. Booleans are 0 and 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A number.
    Const(i64),
    /// What a slot means: its code plus its bias.
    Slot(usize),
    /// What the slot `base + stride * index` means; `index` counts from 0 and is less than `count`. All slots that can
    /// be meant have the same width, bias and kind, and lie at equal distances.
    Dynamic {
        /// The slot of index 0.
        base: usize,
        /// How many slots further the next is.
        stride: usize,
        /// How many there are.
        count: usize,
        /// Which one.
        index: Box<Expr>,
    },
    /// Minus.
    Neg(Box<Expr>),
    /// 1 for 0, and 0 for anything else.
    Not(Box<Expr>),
    /// All bits turned.
    BitNot(Box<Expr>),
    /// How many bits are 1.
    PopCount(Box<Expr>),
    /// Two operands.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// All of them; none is 1. What stands behind a 0 is not looked at.
    And(Vec<Expr>),
    /// One of them; none is 0. What stands behind a 1 is not looked at.
    Or(Vec<Expr>),
    /// If the first is not 0 the second, else the third.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
}

/// What is done with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binary {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `\div`: rounded down. The divisor is positive.
    Div,
    /// `%`: never negative. The divisor is positive.
    Mod,
    /// `=`
    Eq,
    /// `#`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `<<`, by 0 to 62
    Shl,
    /// `>>`, by 0 to 62; the left side is not negative
    Shr,
}

/// An action of the specification, as it is named in the next-state relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Its name: `RMPrepare`.
    pub name: String,
    /// The file it is written in.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

/// One way to take an action: a guard and assignments, with everything else fixed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Which action.
    pub action: usize,
    /// What its parameters and quantified variables are: `r = r1`. Empty, if there are none.
    pub binding: String,
    /// When the step can be taken.
    pub guard: Expr,
    /// What slots mean afterwards; all others stay. The expressions are about the state before.
    pub updates: Vec<(usize, Expr)>,
    /// In states where this is 0 neither guard nor updates mean anything, as in `f[x]` with an x outside the domain: an
    /// error.
    pub defined: Expr,
    /// Where the guard holds and this is 0, a new value has no code in its slot: an error, never a wrap.
    pub in_range: Expr,
}

/// A whole specification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Where everything is.
    pub layout: Layout,
    /// The actions.
    pub actions: Vec<Action>,
    /// The ways to take them. Where two lead from one state to the same, they are two transitions.
    pub instances: Vec<Instance>,
    /// Where it starts.
    pub initial: Vec<Key>,
    /// What must be true in every state, by name.
    pub invariants: Vec<(String, Expr)>,
    /// States where this is 0 are no part of the space: steps into them are made, and lead nowhere.
    pub constraint: Option<Expr>,
}
