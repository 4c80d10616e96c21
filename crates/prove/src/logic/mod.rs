//! SQL's values and conditions, as a solver sees them.
//!
//! A value is a pair: whether it is NULL, and what it is if it is not ([`Sym`]). A condition is such a pair over truth
//! values, so that "true", "false" and "unknown" are three different things and `IF` takes the first only. Integers are
//! mathematical integers; that PostgreSQL's end somewhere is a [`Failure`] of the operation that would leave them,
//! since PostgreSQL raises an error there and does not wrap. `numeric` is a real number. Texts are whole numbers of
//! which only equality is known.
//!
//! A function that is not known here is *some* function: the same arguments give the same result, and nothing else is
//! assumed. What is proved with it holds whatever it computes; what is refuted with it has to survive being run.
//!
//! [`Context`] collects what is declared and said on the way; [`Evaluator`] takes expressions apart.

mod call;
mod context;
mod eval;
mod number;
mod query;
mod residue;
mod value;

pub use call::is_translated;
pub(crate) use call::{less, stored};
pub use context::{Context, Failure};
pub use eval::{Evaluator, Level};
pub use query::{Answered, pins_unique_key};
pub(crate) use query::{Tuple, choice, conjuncts, first_only, key_equality, plain};
pub use residue::Residue;
pub use value::{Sym, decimal, range_of, sort_of, well_typed};

use isolde_sql::Span;

/// Something that is not modelled, and so stops the proof: with its place, as soon as that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What it is.
    pub what: String,
    /// Where it stands.
    pub span: Option<Span>,
}

impl Refusal {
    /// Without a place as yet.
    pub fn new(what: impl Into<String>) -> Refusal {
        Refusal { what: what.into(), span: None }
    }

    /// With a place, unless it has one.
    pub fn at(self, span: Span) -> Refusal {
        Refusal { span: self.span.or(Some(span)), ..self }
    }
}

/// A result, or what stands in its way.
pub type Result<T> = std::result::Result<T, Refusal>;
