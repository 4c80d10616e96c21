//! Data models of Rails, Django, Prisma and SQL: read, put into logic, and verified without bounds.
//!
//! An application's classes say how its objects are related and what goes with what when something is deleted. Whether
//! nothing is left dangling then, for *all* data, is a question about these declarations alone: no database, no boot,
//! no test.
//!
//! ```text
//!   app/models, schema.rb ──┐
//!   models.py ──────────────┤           ┌── logic (sorts, functions, before and after a delete) ──▶ solver
//!   schema.prisma ──────────┼─▶ DataModel ─┤                                                          │
//!   DDL ────────────────────┘           └── obligations, properties                   holds, or a small instance
//! ```
//!
//! Everything meets in [`DataModel`]. It keeps apart what is *stored* (a [`Reference`]: a column that names an object
//! of another class) and what is *declared* about it (an [`Association`]: `has_many :photos, dependent: :destroy`),
//! because what goes wrong is mostly that the two disagree.

pub mod check;
mod dump;
mod evidence;
pub mod ignore;
pub mod logic;
pub mod model;
pub mod obligation;
pub mod picture;
pub mod property;
pub mod read;
pub mod repair;

pub use model::{
    Association, AssociationId, Class, ClassId, ColumnFact, DataModel, DeleteRule, Framework, Join, JoinId, Kind,
    Literal, Meaning, OnDelete, Path, Place, Reference, ReferenceId, Remark, Required, Side, Target, Uniqueness,
};
