//! Properties: what should be true of all data, possible for some, or true after a delete.
//!
//! ```text
//! every_photo:   all p: Photo | one p.profile
//! no_self:       all f: Friend | f.inviter != f.invited
//! can_be_empty:  possible some t: Topic | no t.posts
//! bookmarks:     after delete u: User | no b: Bookmark | b.user = u
//! left_alone:    after delete u: User | all c: old Comment | not gone c
//! templates:     no dangling Note.project after Project
//! assume all f: Friend | f.inviter != f.invited
//! ```
//!
//! A property is a *state assertion* (true of all data), a *state predicate* (`possible`: true of some), or either
//! about one `delete`. Behind `after delete` a path means what is stored afterwards: a row that is gone has no columns,
//! but a column may name a row that is gone, and that is what `dangling` asks. `old` looks at the time before. Only
//! deletes that come to an end count, unless the property itself speaks of `refused` (the ORM declines) or `raises`
//! (the database does).
//!
//! The names of the literature are [templates](TEMPLATES) for such formulas. Paths are sets: `p.photos` is all of them,
//! and a reference that names nothing is the empty set. `assume` adds what the model cannot say, such as a validation
//! in code.

pub(crate) mod make;
mod parse;
mod scan;
mod template;

use std::ops::Range;
use std::sync::Arc;

use crate::model::{AssociationId, ClassId, DataModel, JoinId, ReferenceId};

pub use template::TEMPLATES;

/// What a file of properties says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// What may be taken for granted about all data.
    pub assumptions: Vec<Property>,
    /// What is asked.
    pub list: Vec<Property>,
}

impl Properties {
    /// Reads properties about a model; or says what is wrong with the text.
    pub fn parse(text: &str, model: &DataModel) -> Result<Properties, PropertyError> {
        parse::properties(text, model)
    }
}

/// A mistake in a text of properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyError {
    /// What is wrong.
    pub message: String,
    /// Which bytes of the text.
    pub span: Range<usize>,
    /// What to try.
    pub hint: Option<String>,
}

/// A question about a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// What it is called; its text, if it has no name.
    pub name: String,
    /// As it was written.
    pub text: String,
    /// The line on which it stands.
    pub line: u32,
    /// Whether it must be true of all data, or of some.
    pub mode: Mode,
    /// The object that is deleted, if it is about a delete.
    pub delete: Option<VariableId>,
    /// What is true.
    pub formula: Formula,
    /// Its variables.
    pub variables: Vec<Variable>,
}

/// All data, or some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It is true of all data.
    Always,
    /// There are data of which it is true.
    Possible,
}

/// The index of a variable in [`Property::variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableId(pub usize);

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: Arc<str>,
    /// What it ranges over.
    pub class: ClassId,
}

/// Before a delete, or after it. A property without a delete knows only `Before`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before.
    Before,
    /// After.
    After,
}

/// Something that is true or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    /// It is not.
    Not(Box<Formula>),
    /// Both are.
    And(Box<Formula>, Box<Formula>),
    /// One is, or both are.
    Or(Box<Formula>, Box<Formula>),
    /// The second is, if the first is.
    Implies(Box<Formula>, Box<Formula>),
    /// Both are, or neither.
    Iff(Box<Formula>, Box<Formula>),
    /// For so many objects that exist at a moment.
    Quantified(Number, VariableId, Moment, Box<Formula>),
    /// A set has so many members.
    Has(Number, Set),
    /// Two sets are equal.
    Equal(Set, Set),
    /// All members of one are members of the other.
    In(Set, Set),
    /// All members are gone after the delete.
    Gone(Set),
    /// Some member is gone, and yet named.
    Dangling(Set),
    /// Some pair of a join names what is gone.
    Torn(JoinId),
    /// All members are of a class.
    Is(Set, ClassId),
    /// The ORM declines the delete.
    Refused,
    /// The database does.
    Raises,
}

/// How many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// All.
    All,
    /// At least one.
    Some,
    /// None.
    No,
    /// Exactly one.
    One,
    /// At most one.
    Lone,
}

/// The objects at the end of a path: `p.photos.tags`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// Where it begins.
    pub start: VariableId,
    /// Its steps.
    pub steps: Vec<Step>,
    /// When it is looked at.
    pub moment: Moment,
}

/// A step of a path; several ways, if what comes before it may be of several classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// From objects of these classes, in these ways.
    pub ways: Vec<(ClassId, Way)>,
    /// What they lead to.
    pub targets: Vec<ClassId>,
}

/// A way from one object to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// What is declared.
    Association(AssociationId),
    /// What is stored.
    Reference(ReferenceId),
}

impl Formula {
    /// Calls `see` for every part, this one first.
    pub fn visit(&self, see: &mut impl FnMut(&Formula)) {
        see(self);
        match self {
            Formula::Not(inner) | Formula::Quantified(_, _, _, inner) => inner.visit(see),
            Formula::And(a, b) | Formula::Or(a, b) | Formula::Implies(a, b) | Formula::Iff(a, b) => {
                a.visit(see);
                b.visit(see);
            }
            _ => {}
        }
    }

    /// The paths in it.
    pub fn sets(&self) -> Vec<Set> {
        let mut found = Vec::new();
        self.visit(&mut |part| match part {
            Formula::Has(_, set) | Formula::Gone(set) | Formula::Dangling(set) | Formula::Is(set, _) => {
                found.push(set.clone());
            }
            Formula::Equal(a, b) | Formula::In(a, b) => found.extend([a.clone(), b.clone()]),
            _ => {}
        });
        found
    }

    /// Whether it speaks of deletes that are declined.
    pub fn asks_for_refusal(&self) -> bool {
        let mut asks = false;
        self.visit(&mut |part| asks |= matches!(part, Formula::Refused | Formula::Raises));
        asks
    }
}
