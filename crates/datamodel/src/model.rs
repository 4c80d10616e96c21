//! The data model: classes, what they store, what they declare.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// The index of a class in [`DataModel::classes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub usize);

/// The index of a reference in [`DataModel::references`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReferenceId(pub usize);

/// The index of a join in [`DataModel::joins`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JoinId(pub usize);

/// The index of an association in [`DataModel::associations`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssociationId(pub usize);

/// What an application says about its data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataModel {
    /// Whose rules apply.
    pub framework: Framework,
    /// The classes, in the order of their names.
    pub classes: Vec<Class>,
    /// Columns that name objects.
    pub references: Vec<Reference>,
    /// Tables that hold pairs of objects and nothing else.
    pub joins: Vec<Join>,
    /// What is declared about these, in the order of declaration within each class.
    pub associations: Vec<Association>,
    /// What must be unique.
    pub uniqueness: Vec<Uniqueness>,
    /// Tables behind the classes that were read too: what is not known to be in them is not in them.
    pub tables: BTreeSet<Arc<str>>,
    /// Plain columns that are NOT NULL, with their tables.
    pub not_null: BTreeSet<(Arc<str>, Arc<str>)>,
    /// What the conditions of associations say of columns, by their text. A condition that is not here is not
    /// understood, and nothing is claimed that depends on it.
    pub meanings: BTreeMap<Arc<str>, Meaning>,
    /// What was not understood, or is modelled more generously than it is.
    pub remarks: Vec<Remark>,
}

/// What a condition says: all of these.
pub type Meaning = Vec<ColumnFact>;

/// A column has one of some values, or a value that is none of them. As in SQL, the second is not true of a NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnFact {
    /// The column of the objects that the condition is about.
    pub column: Arc<str>,
    /// The values; `None` is NULL.
    pub values: Vec<Option<Literal>>,
    /// It has one of them, or none.
    pub is_one: bool,
}

/// A value as written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Literal {
    /// `true`, `false`
    Bool(bool),
    /// `3`
    Int(i64),
    /// `'draft'`, `:draft`
    Text(Arc<str>),
}

/// Whose rules apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Framework {
    /// Ruby on Rails: callbacks of the ORM, then constraints of the database.
    #[default]
    Rails,
    /// Django: the ORM collects what goes with it.
    Django,
    /// Prisma: referential actions, in the database or emulated.
    Prisma,
    /// Nothing but the database.
    Sql,
}

/// A class of objects, stored as rows of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// Its full name: `Shop::Item`.
    pub name: Arc<str>,
    /// The class whose table it shares (single-table inheritance), or that it extends.
    pub parent: Option<ClassId>,
    /// No object is of this class itself.
    pub is_abstract: bool,
    /// Its table, if known.
    pub table: Option<Arc<str>>,
    /// Rows are only marked as deleted.
    pub soft_delete: bool,
    /// Its table is a view: it stores nothing itself.
    pub is_view: bool,
    /// A library brings it along; what it declares is not the application's to change.
    pub is_foreign: bool,
    /// Code that runs when an object is destroyed, and is not understood. Nothing is claimed about such deletes.
    pub destroy_code: Vec<Remark>,
    /// Code validates its objects; which data it forbids is not known.
    pub has_own_validation: bool,
    /// Where it is defined.
    pub place: Place,
}

/// A column that names an object of another class, or of the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The class that has the column.
    pub child: ClassId,
    /// What it is called: the association (`owner`), or the column.
    pub name: Arc<str>,
    /// What it names.
    pub target: Target,
    /// The column: `owner_id`.
    pub column: Option<Arc<str>>,
    /// Whether it must name something.
    pub required: Required,
    /// At most one object names each: by a unique index, or a one-to-one field.
    pub unique: bool,
    /// What the database does when what it names is deleted; `None` if it knows nothing of it.
    pub on_delete: Option<OnDelete>,
    /// The column of the other that it holds, if that is not the primary key: a natural key.
    pub key: Option<Arc<str>>,
    /// Where it is declared.
    pub place: Place,
}

/// What a reference names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An object of this class (or of a class below it).
    Class(ClassId),
    /// An object of any of these: polymorphic.
    Any(Vec<ClassId>),
}

/// Whether a reference must name something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Required {
    /// It need not.
    #[default]
    No,
    /// The ORM checks it when an object is saved; not when what it names is deleted.
    Validated,
    /// The column is NOT NULL.
    NotNull,
}

/// What the database does to a row whose reference loses what it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnDelete {
    /// Refuses the delete, at the end of the statement or transaction.
    NoAction,
    /// Refuses the delete, at once.
    Restrict,
    /// Deletes the row.
    Cascade,
    /// Makes the reference name nothing.
    SetNull,
    /// Makes it name something else.
    SetDefault,
}

/// A table of pairs: many-to-many without a class of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// The table, or a name made up for it.
    pub name: Arc<str>,
    /// One side.
    pub left: ClassId,
    /// The other.
    pub right: ClassId,
    /// What the database does with its rows when either side is deleted; `None` if it knows nothing of it.
    pub on_delete: Option<OnDelete>,
    /// Where it is declared.
    pub place: Place,
}

/// What is declared about references: a way from objects of one class to those of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Association {
    /// The class that declares it.
    pub owner: ClassId,
    /// Its name.
    pub name: Arc<str>,
    /// What it says about numbers.
    pub kind: Kind,
    /// Where it leads; `None` for a polymorphic one.
    pub target: Option<ClassId>,
    /// How it leads there.
    pub path: Path,
    /// A condition that only some of these objects meet, as written.
    pub condition: Option<Arc<str>>,
    /// It is only a choice among several (ordered, limited), and says nothing about numbers.
    pub is_choice: bool,
    /// What happens to the objects it leads to when one of its owner is deleted.
    pub on_delete: Option<DeleteRule>,
    /// Where it is declared.
    pub place: Place,
}

/// What an association says about numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The owner has the column: at most one.
    BelongsTo,
    /// The other has it: at most one.
    HasOne,
    /// The other has it: any number.
    HasMany,
    /// A join: any number on both sides.
    ManyToMany,
}

/// How an association leads to its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Path {
    /// By a column of the owner.
    Own(ReferenceId),
    /// By a column of the other.
    Inverse(ReferenceId),
    /// By a join; from left to right, or from right to left.
    Join(JoinId, Side),
    /// By one association of the owner, and then by one of its target: `through`.
    Through(AssociationId, AssociationId),
    /// In a way that is not understood; a remark says why. It leads anywhere.
    Unknown,
}

/// A side of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// From left to right.
    Left,
    /// From right to left.
    Right,
}

/// What the ORM does to the objects of an association when its owner is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeleteRule {
    /// Deletes each, with what follows from that.
    Destroy,
    /// The same, later and elsewhere.
    DestroyLater,
    /// Deletes their rows, and nothing follows.
    Delete,
    /// Makes them name nothing.
    Nullify,
    /// Refuses, if there are any.
    Restrict,
    /// Refuses, unless they go with the same delete anyway (Django's RESTRICT).
    RestrictOthers,
    /// Leaves them alone, as it is written.
    Nothing,
}

/// What must be unique among the objects of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uniqueness {
    /// The class.
    pub class: ClassId,
    /// The references that take part.
    pub references: Vec<ReferenceId>,
    /// Plain columns that take part.
    pub columns: Vec<Arc<str>>,
    /// Only some objects are concerned: a partial index, a conditional validation.
    pub partial: bool,
    /// Those that meet this condition, in SQL, if it is understood which.
    pub filter: Option<Arc<str>>,
    /// Columns whose values count as equal if they differ in case only.
    pub folded: BTreeSet<Arc<str>>,
    /// Not all columns are known: some of them are computed.
    pub is_open: bool,
    /// The ORM checks it.
    pub validated: bool,
    /// The database does.
    pub enforced: bool,
    /// Where it is declared.
    pub place: Place,
}

/// Something that was not understood, and what was made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// A sentence.
    pub message: String,
    /// Where.
    pub place: Place,
}

/// A line of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The file, relative to the application.
    pub file: Arc<str>,
    /// The line, from 1; 0 if it is the file as a whole.
    pub line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

impl DataModel {
    /// A class.
    pub fn class(&self, id: ClassId) -> &Class {
        &self.classes[id.0]
    }

    /// A reference.
    pub fn reference(&self, id: ReferenceId) -> &Reference {
        &self.references[id.0]
    }

    /// A join.
    pub fn join(&self, id: JoinId) -> &Join {
        &self.joins[id.0]
    }

    /// An association.
    pub fn association(&self, id: AssociationId) -> &Association {
        &self.associations[id.0]
    }

    /// Whether the table of a class was read.
    pub fn has_table(&self, class: ClassId) -> bool {
        self.class(class).table.as_ref().is_some_and(|table| self.tables.contains(table))
    }

    /// The class of this name.
    pub fn class_named(&self, name: &str) -> Option<ClassId> {
        self.classes.iter().position(|class| *class.name == *name).map(ClassId)
    }

    /// The associations that a class declares or inherits, those of its ancestors first; one of the same name replaces
    /// an earlier one.
    pub fn associations_of(&self, class: ClassId) -> Vec<AssociationId> {
        let mut found: Vec<AssociationId> = match self.class(class).parent {
            Some(parent) if parent != class => self.associations_of(parent),
            _ => Vec::new(),
        };
        for (index, association) in self.associations.iter().enumerate().filter(|(_, a)| a.owner == class) {
            found.retain(|id| self.association(*id).name != association.name);
            found.push(AssociationId(index));
        }
        found
    }

    /// The association of this name that a class declares or inherits.
    pub fn association_named(&self, class: ClassId, name: &str) -> Option<AssociationId> {
        self.associations_of(class).into_iter().rev().find(|id| *self.association(*id).name == *name)
    }

    /// Whether objects of one class are objects of another.
    pub fn is_a(&self, class: ClassId, ancestor: ClassId) -> bool {
        let mut at = Some(class);
        for _ in 0..=self.classes.len() {
            match at {
                Some(id) if id == ancestor => return true,
                Some(id) => at = self.class(id).parent,
                None => return false,
            }
        }
        false
    }
}
