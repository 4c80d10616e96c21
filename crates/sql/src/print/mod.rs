//! [`crate::ast`] back to text: `Display` for statements, queries and expressions.
//!
//! The text parses to the same tree again (spans aside): tests hold every statement they see to that.
