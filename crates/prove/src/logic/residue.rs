//! Rows that are not tracked, as far as aggregates see them.
//!
//! A count or a sum looks at all rows of a table, and only some are tracked. What the others contribute is a *residue*:
//! a function of the group that is asked about (`WHERE event = 7`), of which nothing is known but that a count is not
//! negative, that nothing sums up to nothing, and that the same group has the same residue as long as nobody touched
//! it. So a procedure that counts the bookings of an event and a rule that counts them too speak about the same number.
//!
//! A residue follows what statements do to rows that are not tracked: a delete of whole groups clears it, an update of
//! columns that the aggregate looks at makes it another function.

use std::sync::Arc;

use isolde_smt::{Sort, Term};

use super::context::Context;
use super::value::Sym;

/// What is known about the rows of one table that are not tracked.
#[derive(Clone, Debug, PartialEq)]
pub enum Residue {
    /// These rows, whatever they are.
    Rows(usize),
    /// Those that are left when the rows with this key are gone.
    Cleared {
        /// The rows before.
        before: Arc<Residue>,
        /// Whether it was done at all.
        when: Term,
        /// The columns of the key.
        columns: Vec<usize>,
        /// The key.
        key: Vec<Sym>,
    },
    /// After a statement that may have done anything to these columns; to whole rows, if `None`.
    Touched {
        /// The rows before.
        before: Arc<Residue>,
        /// Whether it was done at all.
        when: Term,
        /// What it changed.
        columns: Option<Vec<usize>>,
        /// The number of what came out.
        number: usize,
    },
    /// The first if so, the second if not.
    Either(Term, Arc<Residue>, Arc<Residue>),
}

/// What an aggregate asks about.
pub(super) struct Question<'a> {
    /// The name of the table and of whatever else makes the question different from others.
    pub(super) signature: &'a str,
    /// The columns that a row must agree in to count.
    pub(super) columns: &'a [usize],
    /// What with.
    pub(super) key: &'a [Sym],
    /// Every column that is looked at.
    pub(super) mentions: &'a [usize],
    /// What comes out.
    pub(super) sort: &'a Sort,
}

impl Residue {
    /// What the rows contribute.
    pub(super) fn value(&self, ctx: &mut Context, question: &Question<'_>) -> Term {
        match self {
            Residue::Rows(number) => rows(ctx, *number, question),
            Residue::Either(when, a, b) => when.clone().ite(a.value(ctx, question), b.value(ctx, question)),
            Residue::Cleared { before, when, columns, key } => {
                let old = before.value(ctx, question);
                let place = |column: &usize| question.columns.iter().position(|c| c == column);
                let places: Option<Vec<usize>> = columns.iter().map(place).collect();
                match places {
                    Some(places) => {
                        let same = places.iter().zip(key).map(|(at, value)| question.key[*at].equals(value));
                        Term::and([when.clone()].into_iter().chain(same)).ite(nothing(question.sort), old)
                    }
                    None => {
                        let other = ctx.number();
                        when.clone().ite(rows(ctx, other, question), old)
                    }
                }
            }
            Residue::Touched { before, when, columns, number } => {
                let old = before.value(ctx, question);
                let concerned = |columns: &Vec<usize>| columns.iter().any(|c| question.mentions.contains(c));
                match columns.as_ref().is_none_or(concerned) {
                    true => when.clone().ite(rows(ctx, *number, question), old),
                    false => old,
                }
            }
        }
    }
}

fn nothing(sort: &Sort) -> Term {
    if *sort == Sort::Real { Term::Real(0, 0) } else { Term::Int(0) }
}

fn rows(ctx: &mut Context, number: usize, question: &Question<'_>) -> Term {
    if !ctx.residues {
        return nothing(question.sort);
    }
    let name = format!("rest{number}:{}", question.signature);
    // `= NULL` is true of no row.
    let null = Term::or(question.key.iter().map(|sym| sym.null.clone()));
    if !ctx.functions {
        let key = question.key.iter().map(|sym| sym.value.clone()).collect();
        let value = ctx.group(&name, key, question.sort);
        return null.ite(nothing(question.sort), value);
    }
    // A key that is a real number or a truth value is one of its own sort.
    let sorts = question.key.iter().map(|sym| sort(ctx, &sym.value)).collect::<Vec<_>>();
    ctx.script.function(&name, &sorts, question.sort.clone());
    let value = Term::apply(name, question.key.iter().map(|sym| sym.value.clone()));
    null.ite(nothing(question.sort), value)
}

/// The sort of a key, which is a constant or a number.
fn sort(ctx: &Context, term: &Term) -> Sort {
    match term {
        Term::Real(..) => Sort::Real,
        Term::Apply(name, args) if args.is_empty() => {
            ctx.script.declared(name).map_or(Sort::Int, |function| function.result.clone())
        }
        Term::Apply(name, args) if matches!(&**name, "+" | "-" | "*" | "ite") => {
            args.last().map_or(Sort::Int, |t| sort(ctx, t))
        }
        Term::Apply(name, _) if matches!(&**name, "to_real" | "/") => Sort::Real,
        Term::Ite(_, then, _) => sort(ctx, then),
        _ => Sort::Int,
    }
}
