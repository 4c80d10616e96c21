//! Which of several functions or operators of one name a call means.
//!
//! PostgreSQL's rules (chapter 10 of its manual): an exact match wins; then those that implicit conversions can reach
//! compete, the one with the most exact matches first, then the one with the most preferred types, then literals are
//! guessed by category. A parameter of [`Type::Unknown`] takes any type, the same for all such parameters.

use super::coerce::{Category, category, common_type, is_implicit, is_preferred};
use crate::types::Type;

/// What was chosen.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// The candidate at this position, with these types for its parameters.
    One(usize, Vec<Type>),
    /// Nothing fits.
    Nothing,
    /// More than one fits equally well.
    Ambiguous,
}

/// A candidate with its any-typed parameters filled in for this call.
#[derive(Clone)]
struct Fit {
    position: usize,
    params: Vec<Type>,
    generic: bool,
}

/// Chooses among candidates, given as parameter types, all of the call's length.
pub(super) fn choose(candidates: &[Vec<Type>], given: &[Type], operator: bool) -> Choice {
    let given: Vec<Type> = given.iter().map(|t| t.underlying().base()).collect();
    let mut fits: Vec<Fit> = candidates.iter().enumerate().filter_map(|(i, c)| fit(i, c, &given)).collect();
    // A literal beside an array is taken for an array.
    if operator && given.contains(&Type::Unknown) && given.iter().any(|t| matches!(t, Type::Array(_))) {
        let both = |f: &Fit| f.params.iter().all(|p| matches!(p, Type::Array(_)));
        if fits.iter().any(both) {
            fits.retain(both);
        }
    }
    for assumed in [given.clone(), paired(&given, operator)] {
        if let Some(exact) = fits.iter().find(|f| !f.generic && f.params == assumed) {
            return Choice::One(exact.position, exact.params.clone());
        }
    }
    keep_best(&mut fits, |f| count(f, |i, param| param == given[i]));
    keep_best(&mut fits, |f| count(f, |i, param| param == given[i] || is_preferred(param)));
    if fits.len() > 1 && given.contains(&Type::Unknown) {
        guess_by_category(&mut fits, &given);
        guess_alike(&mut fits, &given);
    }
    if fits.len() > 1 && fits.iter().any(|f| !f.generic) {
        fits.retain(|f| !f.generic);
    }
    match &fits[..] {
        [] => Choice::Nothing,
        [only] => Choice::One(only.position, only.params.clone()),
        _ => Choice::Ambiguous,
    }
}

/// A literal beside an operand is first assumed to have that operand's type.
fn paired(given: &[Type], operator: bool) -> Vec<Type> {
    match given {
        [Type::Unknown, b] if operator => vec![*b, *b],
        [a, Type::Unknown] if operator => vec![*a, *a],
        _ => given.to_vec(),
    }
}

fn fit(position: usize, params: &[Type], given: &[Type]) -> Option<Fit> {
    const ANY_ARRAY: Type = Type::Array(&Type::Unknown);
    let generic = params.iter().any(|p| matches!(*p, Type::Unknown | ANY_ARRAY));
    let mut any = Vec::new();
    for (given, param) in given.iter().zip(params) {
        match (*param, *given) {
            (Type::Unknown, given) => any.push(given),
            (ANY_ARRAY, Type::Unknown) => any.push(Type::Unknown),
            (ANY_ARRAY, given) => any.push(given.element()?),
            _ => {}
        }
    }
    let common = common_of(&any, params.contains(&ANY_ARRAY))?;
    let fill = |p: &Type| match *p {
        Type::Unknown => common,
        ANY_ARRAY => common.array(),
        known => known,
    };
    let params: Vec<Type> = params.iter().map(fill).collect();
    let reachable = given.iter().zip(&params).all(|(g, p)| g == p || is_implicit(*g, *p));
    reachable.then_some(Fit { position, params, generic })
}

/// The type that stands for any type in this call. Arrays and strings are stricter among themselves than elsewhere.
fn common_of(any: &[Type], of_elements: bool) -> Option<Type> {
    let common = common_type(any).ok()?.base();
    let known = || any.iter().filter(|t| **t != Type::Unknown);
    match common {
        Type::Array(_) if of_elements || known().any(|t| *t != common) => None,
        // Unlike among equals, a real beside any other number is compared as a double.
        Type::Float4 if known().any(|t| *t != Type::Float4) => Some(Type::Float8),
        Type::Bpchar(_) if known().any(|t| *t == Type::Text) => Some(Type::Text),
        _ => Some(common),
    }
}

fn count(fit: &Fit, good: impl Fn(usize, Type) -> bool) -> usize {
    fit.params.iter().enumerate().filter(|(i, p)| good(*i, **p)).count()
}

fn keep_best(fits: &mut Vec<Fit>, score: impl Fn(&Fit) -> usize) {
    let best = fits.iter().map(&score).max().unwrap_or(0);
    fits.retain(|f| score(f) == best);
}

/// A literal is a string if any candidate takes one there, else of the category all candidates agree on.
fn guess_by_category(fits: &mut Vec<Fit>, given: &[Type]) {
    for (i, _) in given.iter().enumerate().filter(|(_, g)| **g == Type::Unknown) {
        let categories: Vec<Category> = fits.iter().map(|f| category(f.params[i])).collect();
        let chosen = match categories.contains(&Category::Text) {
            true => Category::Text,
            false if categories.windows(2).all(|w| w[0] == w[1]) => categories[0],
            false => return,
        };
        fits.retain(|f| category(f.params[i]) == chosen);
        if fits.iter().any(|f| is_preferred(f.params[i])) {
            fits.retain(|f| is_preferred(f.params[i]));
        }
    }
}

/// If all typed arguments have one type, literals are assumed to have it too.
fn guess_alike(fits: &mut Vec<Fit>, given: &[Type]) {
    let mut known = given.iter().filter(|g| **g != Type::Unknown);
    let Some(first) = known.next() else { return };
    if fits.len() > 1 && known.all(|g| g == first) {
        let alike: Vec<Fit> =
            fits.iter().filter(|f| f.params.iter().all(|p| p == first || is_implicit(*first, *p))).cloned().collect();
        if alike.len() == 1 {
            *fits = alike;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Type::*;

    const DECIMAL: Type = Numeric(None);

    fn plus() -> Vec<Vec<Type>> {
        [Int2, Int4, Int8, DECIMAL, Float8].map(|t| vec![t, t]).into_iter().chain(dates()).collect()
    }

    fn dates() -> Vec<Vec<Type>> {
        vec![vec![Date, Int4], vec![Date, Interval], vec![Timestamp, Interval], vec![Timestamptz, Interval]]
    }

    fn chosen(given: [Type; 2]) -> Vec<Type> {
        match choose(&plus(), &given, true) {
            Choice::One(_, params) => params,
            other => panic!("{given:?}: {other:?}"),
        }
    }

    #[test]
    fn numbers_grow_to_the_wider() {
        assert_eq!(chosen([Int2, Int4]), [Int4, Int4]);
        assert_eq!(chosen([Int8, Int4]), [Int8, Int8]);
        assert_eq!(chosen([Int4, Numeric(Some((10, 2)))]), [DECIMAL, DECIMAL]);
        assert_eq!(chosen([DECIMAL, Float8]), [Float8, Float8]);
    }

    #[test]
    fn literals_take_the_other_side() {
        assert_eq!(chosen([Int4, Unknown]), [Int4, Int4]);
        assert_eq!(chosen([Date, Unknown]), [Date, Interval]);
        assert_eq!(choose(&plus(), &[Unknown, Unknown], true), Choice::Ambiguous);
    }

    #[test]
    fn strings_and_numbers_do_not_mix() {
        assert_eq!(choose(&plus(), &[Text, Int4], true), Choice::Nothing);
        let any = vec![vec![Unknown, Unknown]];
        assert_eq!(choose(&any, &[Int4, Text], true), Choice::Nothing);
        assert_eq!(choose(&any, &[Int4, Int8], true), Choice::One(0, vec![Int8, Int8]));
        assert_eq!(choose(&any, &[Unknown, Unknown], true), Choice::One(0, vec![Text, Text]));
    }
}
