//! Functions over windows.
//!
//! What they compute depends on where a row stands among the others, so they have no accumulator: the engine knows each
//! by its
//! [`WindowKind`].

use crate::types::Type::{self, *};

/// A window function with one signature.
#[derive(Debug)]
pub struct WindowFunction {
    /// Its name.
    pub name: &'static str,
    /// The types it takes. [`Type::Unknown`] stands for any type, the same for all such parameters.
    pub args: &'static [Type],
    /// The type of its result; [`Type::Unknown`] is that of its first argument.
    pub returns: Type,
    /// What it computes.
    pub kind: WindowKind,
}

/// What a window function computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum WindowKind {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
}

const fn w(name: &'static str, args: &'static [Type], returns: Type, kind: WindowKind) -> WindowFunction {
    WindowFunction { name, args, returns, kind }
}

/// Every window function; aggregates are such too.
pub static WINDOW_FUNCTIONS: &[WindowFunction] = &[
    w("row_number", &[], Int8, WindowKind::RowNumber),
    w("rank", &[], Int8, WindowKind::Rank),
    w("dense_rank", &[], Int8, WindowKind::DenseRank),
    w("percent_rank", &[], Float8, WindowKind::PercentRank),
    w("cume_dist", &[], Float8, WindowKind::CumeDist),
    w("ntile", &[Int4], Int4, WindowKind::Ntile),
    w("lag", &[Unknown], Unknown, WindowKind::Lag),
    w("lag", &[Unknown, Int4], Unknown, WindowKind::Lag),
    w("lag", &[Unknown, Int4, Unknown], Unknown, WindowKind::Lag),
    w("lead", &[Unknown], Unknown, WindowKind::Lead),
    w("lead", &[Unknown, Int4], Unknown, WindowKind::Lead),
    w("lead", &[Unknown, Int4, Unknown], Unknown, WindowKind::Lead),
    w("first_value", &[Unknown], Unknown, WindowKind::FirstValue),
    w("last_value", &[Unknown], Unknown, WindowKind::LastValue),
    w("nth_value", &[Unknown, Int4], Unknown, WindowKind::NthValue),
];

/// Every window function with this name.
pub fn window_functions(name: &str) -> impl Iterator<Item = &'static WindowFunction> + '_ {
    WINDOW_FUNCTIONS.iter().filter(move |f| f.name == name)
}
