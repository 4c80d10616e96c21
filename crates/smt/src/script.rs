//! A script: what exists, and what is said about it.

use std::fmt;
use std::sync::Arc;

use crate::term::{self, Sort, Term};

/// A question, or rather its premises: is there anything that meets them all?
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The sorts, in the order in which they were declared.
    pub sorts: Vec<Sort>,
    /// The functions.
    pub functions: Vec<Function>,
    /// What is said.
    pub assertions: Vec<Assertion>,
}

/// A function of which nothing is known but its sorts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: Arc<str>,
    /// What it takes.
    pub arguments: Vec<Sort>,
    /// What it gives.
    pub result: Sort,
}

/// Something said, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// What must be true.
    pub term: Term,
    /// Why, in a few words; it is printed as a comment.
    pub why: String,
}

impl Script {
    /// Declares a sort, unless it is declared.
    pub fn sort(&mut self, name: &str) -> Sort {
        let sort = Sort::Named(name.into());
        if !self.sorts.contains(&sort) {
            self.sorts.push(sort.clone());
        }
        sort
    }

    /// Declares a function, unless one of its name is declared.
    pub fn function(&mut self, name: &str, arguments: &[Sort], result: Sort) {
        if self.declared(name).is_none() {
            self.functions.push(Function { name: name.into(), arguments: arguments.to_vec(), result });
        }
    }

    /// The function of this name.
    pub fn declared(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| *function.name == *name)
    }

    /// Says something; what is true anyway is left out.
    pub fn assert(&mut self, term: Term, why: impl Into<String>) {
        if term != Term::True {
            self.assertions.push(Assertion { term, why: why.into() });
        }
    }

    /// Sorts, functions and bound variables: the paper's "variables".
    pub fn variables(&self) -> usize {
        let bound: usize = self.assertions.iter().map(|a| a.term.variables()).sum();
        self.sorts.len() + self.functions.len() + bound
    }

    /// Assertions, quantifiers and operations: the paper's "clauses".
    pub fn clauses(&self) -> usize {
        self.assertions.iter().map(|a| 1 + a.term.size()).sum()
    }
}

/// SMT-LIB 2, without a command that asks.
impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for sort in &self.sorts {
            writeln!(f, "(declare-sort {sort} 0)")?;
        }
        for function in &self.functions {
            f.write_str("(declare-fun ")?;
            term::symbol(f, &function.name)?;
            f.write_str(" (")?;
            for (index, argument) in function.arguments.iter().enumerate() {
                write!(f, "{}{argument}", if index == 0 { "" } else { " " })?;
            }
            writeln!(f, ") {})", function.result)?;
        }
        for assertion in &self.assertions {
            if !assertion.why.is_empty() {
                writeln!(f, "; {}", assertion.why.replace('\n', " "))?;
            }
            writeln!(f, "(assert {})", assertion.term)?;
        }
        Ok(())
    }
}
