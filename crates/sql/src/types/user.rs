//! Types that users define: enums, domains, composite types.
//!
//! A definition never changes and is never freed: a handle to it can be copied about like any other type. `ALTER TYPE`
//! makes a new definition, and the catalog puts it in place of the old one wherever it is named. Equal definitions are
//! kept once, so a search that defines the same type in every state it visits does not grow.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use super::Type;
use crate::typed::Expr;
use crate::value::EnumLabel;

/// A handle to a type that a user has defined; the name decides which type it is.
#[derive(Clone, Copy)]
pub struct UserType(&'static TypeDef);

/// The definition of a type.
#[derive(Clone, Debug)]
pub struct TypeDef {
    /// Its name.
    pub name: Arc<str>,
    /// What it is.
    pub kind: TypeKind,
}

/// What a user's type is.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// Labels, in their order.
    Enum(Vec<Arc<EnumLabel>>),
    /// A type with conditions.
    Domain {
        /// What it restricts.
        base: Type,
        /// `NOT NULL`
        not_null: bool,
        /// `DEFAULT`, as a value of the domain
        default: Option<Expr>,
        /// `CHECK`s, in the order of their names.
        checks: Vec<DomainCheck>,
    },
    /// Field names and types.
    Composite(Arc<[(Arc<str>, Type)]>),
}

/// A condition of a domain.
#[derive(Clone, Debug)]
pub struct DomainCheck {
    /// Its name.
    pub name: Arc<str>,
    /// Must not be false; `VALUE` is the only column of rel 0.
    pub expr: Expr,
}

impl UserType {
    /// The handle of a definition.
    pub fn new(def: TypeDef) -> UserType {
        static KNOWN: Mutex<BTreeMap<String, &'static TypeDef>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        UserType(known.entry(format!("{def:?}")).or_insert_with(|| Box::leak(Box::new(def))))
    }

    /// Its definition.
    pub fn def(self) -> &'static TypeDef {
        self.0
    }

    /// Tells definitions of one name apart.
    pub(super) fn address(self) -> usize {
        std::ptr::from_ref(self.0) as usize
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    /// The labels of an enum, in their order.
    pub fn labels(self) -> &'static [Arc<EnumLabel>] {
        match &self.0.kind {
            TypeKind::Enum(labels) => labels,
            _ => &[],
        }
    }

    /// The fields of a composite type.
    pub fn fields(self) -> &'static [(Arc<str>, Type)] {
        match &self.0.kind {
            TypeKind::Composite(fields) => fields,
            _ => &[],
        }
    }

    /// The type that a domain restricts.
    pub fn domain_base(self) -> Type {
        match self.0.kind {
            TypeKind::Domain { base, .. } => base,
            _ => Type::Text,
        }
    }

    /// The types it is made of.
    pub fn parts(self) -> Vec<Type> {
        match &self.0.kind {
            TypeKind::Enum(_) => Vec::new(),
            TypeKind::Domain { base, .. } => vec![*base],
            TypeKind::Composite(fields) => fields.iter().map(|(_, ty)| *ty).collect(),
        }
    }

    /// The type it is.
    pub fn ty(self) -> Type {
        match self.0.kind {
            TypeKind::Enum(_) => Type::Enum(self),
            TypeKind::Domain { .. } => Type::Domain(self),
            TypeKind::Composite(_) => Type::Composite(self),
        }
    }
}

impl fmt::Debug for UserType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl PartialEq for UserType {
    fn eq(&self, other: &UserType) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for UserType {}

impl Hash for UserType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

impl PartialOrd for UserType {
    fn partial_cmp(&self, other: &UserType) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for UserType {
    fn cmp(&self, other: &UserType) -> Ordering {
        self.0.name.cmp(&other.0.name)
    }
}
