//! Formulas as predicates are made of: put in, taken apart, read back from solvers, and written for people.

use std::collections::{BTreeMap, BTreeSet};

use isolde_smt::{Script, Sexp, Term};

/// The constants that a formula names.
pub(super) fn names(term: &Term) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    each(term, &mut |part| {
        if let Term::Apply(name, inner) = part
            && inner.is_empty()
        {
            found.insert(name.to_string());
        }
    });
    found
}

/// The formula with terms in the place of constants.
pub(super) fn put(term: &Term, instead: &dyn Fn(&str) -> Option<Term>) -> Term {
    let again = |inner: &Term| put(inner, instead);
    let all = |inner: &[Term]| inner.iter().map(again).collect::<Vec<_>>();
    match term {
        Term::Apply(name, inner) if inner.is_empty() => instead(name).unwrap_or_else(|| term.clone()),
        Term::Apply(name, inner) => compared(name, all(inner)),
        Term::Not(inner) => again(inner).not(),
        Term::And(inner) => Term::and(all(inner)),
        Term::Or(inner) => Term::or(all(inner)),
        Term::Implies(a, b) => again(a).implies(again(b)),
        Term::Iff(a, b) | Term::Equal(a, b) => equal(again(a), again(b)),
        Term::Ite(a, b, c) => again(a).ite(again(b), again(c)),
        Term::AtMost(most, inner) => Term::AtMost(*most, all(inner)),
        Term::True | Term::False | Term::Var(_) | Term::Int(_) | Term::Real(..) | Term::All(..) | Term::Some(..) => {
            term.clone()
        }
    }
}

/// An operation, worked out where it is one of constants.
fn compared(name: &str, mut inner: Vec<Term>) -> Term {
    match (name, inner.len()) {
        ("<=" | "<" | "-", 2) => {
            let second = inner.pop().unwrap_or(Term::True);
            let first = inner.pop().unwrap_or(Term::True);
            match name {
                "<=" => first.at_most(second),
                "<" => first.less(second),
                _ => first.minus(second),
            }
        }
        _ => Term::apply(name, inner),
    }
}

fn equal(a: Term, b: Term) -> Term {
    match (a, b) {
        (Term::True, x) | (x, Term::True) => x,
        (Term::False, x) | (x, Term::False) => x.not(),
        (a, b) => a.same_number(b),
    }
}

/// The formula with short names written out, as the script defines them.
pub(super) fn written_out(term: &Term, script: &Script) -> Term {
    let mut meaning: BTreeMap<&str, &Term> = BTreeMap::new();
    for assertion in &script.assertions {
        if let Term::Equal(name, what) | Term::Iff(name, what) = &assertion.term
            && let Term::Apply(name, inner) = &**name
            && inner.is_empty()
        {
            meaning.entry(name).or_insert(what);
        }
    }
    fn out(term: &Term, meaning: &BTreeMap<&str, &Term>, depth: usize) -> Term {
        put(term, &|name| match meaning.get(name) {
            Some(what) if depth < 40 => Some(out(what, meaning, depth + 1)),
            _ => None,
        })
    }
    out(term, &meaning, 0)
}

/// What is said all together.
pub(super) fn conjuncts(term: &Term) -> Vec<Term> {
    match term {
        Term::True => Vec::new(),
        Term::And(inner) => inner.iter().flat_map(conjuncts).collect(),
        Term::Not(inner) => match &**inner {
            Term::Or(inner) => inner.iter().flat_map(|part| conjuncts(&part.clone().not())).collect(),
            Term::Implies(a, b) => [(**a).clone(), (**b).clone().not()].iter().flat_map(conjuncts).collect(),
            _ => vec![term.clone()],
        },
        _ => vec![term.clone()],
    }
}

/// The formula with "not" in front of names alone.
pub(super) fn pushed(term: &Term) -> Term {
    let all = |inner: &[Term]| inner.iter().map(pushed).collect::<Vec<_>>();
    match term {
        Term::And(inner) => Term::and(all(inner)),
        Term::Or(inner) => Term::or(all(inner)),
        Term::Implies(a, b) => Term::or([pushed(&a.as_ref().clone().not()), pushed(b)]),
        Term::Not(inner) => match &**inner {
            Term::And(inner) => Term::or(inner.iter().map(|part| pushed(&part.clone().not()))),
            Term::Or(inner) => Term::and(inner.iter().map(|part| pushed(&part.clone().not()))),
            Term::Implies(a, b) => Term::and([pushed(a), pushed(&b.as_ref().clone().not())]),
            Term::Not(inner) => pushed(inner),
            inner => match order(inner) {
                Some((a, b, true)) => b.at_most(a),
                Some((a, b, false)) => b.less(a),
                None => term.clone(),
            },
        },
        _ => term.clone(),
    }
}

/// The comparisons in a formula; a choice between numbers inside of one is two comparisons.
pub(super) fn comparisons(term: &Term) -> Vec<Term> {
    match term {
        Term::And(inner) | Term::Or(inner) => inner.iter().flat_map(comparisons).collect(),
        Term::Not(inner) => comparisons(inner),
        Term::Implies(a, b) => [comparisons(a), comparisons(b)].concat(),
        Term::Iff(a, b) if !is_number(a) => [comparisons(a), comparisons(b)].concat(),
        Term::Ite(a, b, c) => [comparisons(a), comparisons(b), comparisons(c)].concat(),
        Term::Apply(_, inner) if inner.is_empty() => Vec::new(),
        Term::True | Term::False | Term::Int(_) | Term::Real(..) | Term::Var(_) => Vec::new(),
        other => match first_choice(other) {
            None => vec![other.clone()],
            Some(choice) => {
                let Term::Ite(when, then, otherwise) = &choice else { return Vec::new() };
                let with = |side: &Term| comparisons(&instead_of(other, &choice, side));
                [comparisons(when), with(then), with(otherwise)].concat()
            }
        },
    }
}

fn is_number(term: &Term) -> bool {
    matches!(term, Term::Int(_) | Term::Real(..))
        || matches!(term, Term::Apply(name, inner) if !inner.is_empty() && ["+", "-", "*", "div", "/"].contains(&&**name))
}

fn first_choice(term: &Term) -> Option<Term> {
    let mut found = None;
    each(term, &mut |part| {
        if found.is_none() && matches!(part, Term::Ite(..)) {
            found = Some(part.clone());
        }
    });
    found
}

fn instead_of(term: &Term, old: &Term, new: &Term) -> Term {
    if term == old {
        return new.clone();
    }
    let all = |inner: &[Term]| inner.iter().map(|part| instead_of(part, old, new)).collect::<Vec<_>>();
    match term {
        Term::Apply(name, inner) if !inner.is_empty() => compared(name, all(inner)),
        Term::Equal(a, b) | Term::Iff(a, b) => equal(instead_of(a, old, new), instead_of(b, old, new)),
        Term::Not(inner) => instead_of(inner, old, new).not(),
        Term::And(inner) => Term::and(all(inner)),
        Term::Or(inner) => Term::or(all(inner)),
        Term::Ite(a, b, c) => instead_of(a, old, new).ite(instead_of(b, old, new), instead_of(c, old, new)),
        _ => term.clone(),
    }
}

/// Calls `f` with a formula and all its parts.
fn each(term: &Term, f: &mut dyn FnMut(&Term)) {
    f(term);
    match term {
        Term::Apply(_, inner) | Term::And(inner) | Term::Or(inner) | Term::AtMost(_, inner) => {
            inner.iter().for_each(|part| each(part, f));
        }
        Term::Not(inner) | Term::All(_, inner) | Term::Some(_, inner) => each(inner, f),
        Term::Implies(a, b) | Term::Iff(a, b) | Term::Equal(a, b) => {
            each(a, f);
            each(b, f);
        }
        Term::Ite(a, b, c) => [a, b, c].into_iter().for_each(|part| each(part, f)),
        Term::True | Term::False | Term::Var(_) | Term::Int(_) | Term::Real(..) => {}
    }
}

/// A formula that a solver wrote; nothing, if it has something in it that we do not write.
pub(super) fn read(text: &Sexp, known: &BTreeMap<String, Term>) -> Option<Term> {
    match text {
        Sexp::Atom(word) => match word.as_str() {
            "true" => Some(Term::True),
            "false" => Some(Term::False),
            word if word.starts_with(|c: char| c.is_ascii_digit()) => number(text),
            word => known.get(word.trim_matches('|')).cloned(),
        },
        Sexp::List(parts) => {
            let (first, rest) = parts.split_first()?;
            let word = first.atom()?;
            if word == "let" {
                let [Sexp::List(bindings), body] = rest else { return None };
                let mut inner = known.clone();
                for binding in bindings {
                    let [name, what] = binding.parts() else { return None };
                    inner.insert(name.atom()?.trim_matches('|').to_string(), read(what, known)?);
                }
                return read(body, &inner);
            }
            if let Some(constant) = number(text) {
                return Some(constant);
            }
            let mut inner = rest.iter().map(|part| read(part, known)).collect::<Option<Vec<Term>>>()?;
            match (word, inner.len()) {
                ("and", _) => Some(Term::and(inner)),
                ("or", _) => Some(Term::or(inner)),
                ("not", 1) => inner.pop().map(|term| match order(&term) {
                    // What is not at most is more.
                    Some((a, b, true)) => Some(balanced(b.at_most(a))),
                    Some((a, b, false)) => Some(balanced(b.less(a))),
                    None => Some(term.not()),
                })?,
                ("ite", 3) => {
                    let (c, b, a) = (inner.pop()?, inner.pop()?, inner.pop()?);
                    Some(a.ite(b, c))
                }
                (_, 2) => {
                    let (b, a) = (inner.pop()?, inner.pop()?);
                    match word {
                        "=>" => Some(a.implies(b)),
                        "=" => Some(balanced(equal(a, b))),
                        "<=" => Some(balanced(a.at_most(b))),
                        ">=" => Some(balanced(b.at_most(a))),
                        "<" => Some(balanced(a.less(b))),
                        ">" => Some(balanced(b.less(a))),
                        "+" => Some(a.plus(b)),
                        "-" => Some(a.minus(b)),
                        "*" => Some(a.times(b)),
                        "div" | "mod" | "/" => Some(Term::apply(word, [a, b])),
                        _ => None,
                    }
                }
                ("+", _) => inner.into_iter().reduce(Term::plus),
                ("-", 1) => inner.pop().map(Term::negated),
                ("to_real" | "to_int", 1) => Some(Term::apply(word, inner)),
                _ => None,
            }
        }
    }
}

fn number(text: &Sexp) -> Option<Term> {
    let (number, denominator) = text.number()?;
    match denominator {
        1 if text.to_string().contains('.') => Some(Term::Real(number, 0)),
        1 => Some(Term::Int(number)),
        _ => {
            let places = (1..=30u32).find(|places| 10i128.checked_pow(*places) == Some(denominator))?;
            Some(Term::Real(number, places))
        }
    }
}

/// `(a, b, strict)` for `a <= b` and `a < b`.
fn order(term: &Term) -> Option<(Term, Term, bool)> {
    match term {
        Term::Apply(name, inner) => match (&**name, inner.as_slice()) {
            ("<=", [a, b]) => Some((a.clone(), b.clone(), false)),
            ("<", [a, b]) => Some((a.clone(), b.clone(), true)),
            _ => None,
        },
        _ => None,
    }
}

/// A comparison of sums without minus signs: what is subtracted on one side is added on the other.
fn balanced(term: Term) -> Term {
    let sides = match &term {
        Term::Equal(a, b) => Some((a.as_ref().clone(), b.as_ref().clone())),
        _ => order(&term).map(|(a, b, _)| (a, b)),
    };
    let Some((left, right)) = sides else { return term };
    let mut sum = Sum::default();
    if !(sum.add(&left, 1) && sum.add(&right, -1)) {
        return term;
    }
    // Whole numbers: what is less than another is, plus one, at most the other.
    let strict = order(&term).is_some_and(|(_, _, strict)| strict);
    let whole = strict && sum.constant != 0;
    sum.constant += i128::from(whole);
    let side = |sign: i128| {
        let parts = sum.parts.values().filter(|(_, times)| times.signum() == sign);
        let parts = parts.map(|(part, times)| Term::Int(times.abs()).times(part.clone()));
        let constant = if sum.constant.signum() == sign { Term::Int(sum.constant.abs()) } else { Term::Int(0) };
        parts.chain([constant]).reduce(Term::plus).unwrap_or(Term::Int(0))
    };
    let (left, right) = (side(1), side(-1));
    match &term {
        Term::Equal(..) => equal(left, right),
        _ if strict && !whole => left.less(right),
        _ => left.at_most(right),
    }
}

/// A sum of whole multiples.
#[derive(Default)]
struct Sum {
    parts: BTreeMap<String, (Term, i128)>,
    constant: i128,
}

impl Sum {
    /// Adds a term so many times; `false` if it is no sum of whole numbers.
    fn add(&mut self, term: &Term, times: i128) -> bool {
        match term {
            Term::Int(number) => {
                let sum = number.checked_mul(times).and_then(|n| self.constant.checked_add(n));
                sum.is_some_and(|sum| {
                    self.constant = sum;
                    true
                })
            }
            Term::Apply(name, inner) => match (&**name, inner.as_slice()) {
                ("+", parts) => parts.iter().all(|part| self.add(part, times)),
                ("-", [part]) => self.add(part, -times),
                ("-", [a, b]) => self.add(a, times) && self.add(b, -times),
                ("*", [Term::Int(n), part]) | ("*", [part, Term::Int(n)]) => self.add(part, times * n),
                _ => {
                    let entry = self.parts.entry(term.to_string()).or_insert_with(|| (term.clone(), 0));
                    entry.1 += times;
                    true
                }
            },
            _ => false,
        }
    }
}

/// A formula as people write it. That something is not NULL is left out beside a comparison that says so.
pub(super) fn shown(term: &Term) -> String {
    infix(&pushed(term), 0)
}

/// `strength` is how tightly what is around it binds: 0 not at all, 1 `->`, 2 `or`, 3 `and`, 4 comparisons, 5 sums, 6
/// products.
fn infix(term: &Term, strength: usize) -> String {
    let (own, text) = match term {
        Term::And(inner) => {
            let said: Vec<&Term> = inner.iter().filter(|part| !is_implied(part, inner)).collect();
            match said.as_slice() {
                [only] => return infix(only, strength),
                said => (3, joined(said, " and ", 3)),
            }
        }
        Term::Or(inner) => {
            // That something is NULL is a case to leave aside, beside others.
            let is_null = |part: &Term| matches!(part, Term::Apply(name, _) if name.ends_with(" is null"));
            let premise = |part: &&Term| matches!(part, Term::Not(_)) || is_null(part);
            let (not, rest): (Vec<&Term>, Vec<&Term>) = inner.iter().partition(premise);
            match not.is_empty() || rest.is_empty() {
                true => (2, joined(&inner.iter().collect::<Vec<_>>(), " or ", 3)),
                false => {
                    let premises = Term::and(not.into_iter().map(|part| part.clone().not()));
                    let conclusion = Term::or(rest.into_iter().cloned());
                    (1, format!("{} -> {}", infix(&premises, 2), infix(&conclusion, 2)))
                }
            }
        }
        Term::Implies(a, b) => (1, format!("{} -> {}", infix(a, 2), infix(b, 2))),
        Term::Not(inner) => match &**inner {
            Term::Apply(name, none) if none.is_empty() && name.ends_with(" is null") => {
                (4, name.replace(" is null", " is not null"))
            }
            Term::Equal(a, b) => (4, format!("{} <> {}", infix(a, 5), infix(b, 5))),
            inner => match order(inner) {
                Some((a, b, strict)) => (4, sides(&b, &a, if strict { "<=" } else { "<" })),
                None => (7, format!("not {}", infix(inner, 7))),
            },
        },
        Term::Iff(a, b) | Term::Equal(a, b) => (4, sides(a, b, "=")),
        Term::Ite(a, b, c) => (4, format!("(if {} then {} else {})", infix(a, 0), infix(b, 0), infix(c, 0))),
        Term::Apply(name, inner) => match (&**name, inner.as_slice()) {
            (name, []) => (if name.contains(' ') { 4 } else { 8 }, name.to_string()),
            ("<=" | "<", [a, b]) => (4, sides(a, b, name)),
            ("+", parts) => (5, joined(&parts.iter().collect::<Vec<_>>(), " + ", 5)),
            ("-", [a]) => (6, format!("-{}", infix(a, 7))),
            ("-", [a, b]) => (5, format!("{} - {}", infix(a, 5), infix(b, 6))),
            ("*", parts) => (6, joined(&parts.iter().collect::<Vec<_>>(), " * ", 6)),
            ("div" | "/", [a, b]) => (6, format!("{} / {}", infix(a, 6), infix(b, 7))),
            ("to_real" | "to_int", [a]) => return infix(a, strength),
            _ => (8, term.to_string()),
        },
        Term::Int(number) => (if *number < 0 { 6 } else { 8 }, number.to_string()),
        other => (8, other.to_string()),
    };
    if own < strength { format!("({text})") } else { text }
}

/// A constant stands on the right.
fn sides(a: &Term, b: &Term, sign: &str) -> String {
    let turned = match sign {
        "<=" => ">=",
        "<" => ">",
        other => other,
    };
    match (a, b) {
        (Term::Int(_) | Term::Real(..), b) if !matches!(b, Term::Int(_)) => {
            format!("{} {turned} {}", infix(b, 5), infix(a, 5))
        }
        // What is worked out stands on the left, too.
        (Term::Apply(_, none), Term::Apply(_, some)) if none.is_empty() && !some.is_empty() => {
            format!("{} {turned} {}", infix(b, 5), infix(a, 5))
        }
        _ => format!("{} {sign} {}", infix(a, 5), infix(b, 5)),
    }
}

fn joined(parts: &[&Term], between: &str, strength: usize) -> String {
    parts.iter().map(|part| infix(part, strength)).collect::<Vec<_>>().join(between)
}

/// That something is not NULL, beside a comparison of it.
fn is_implied(part: &Term, all: &[Term]) -> bool {
    let Term::Not(inner) = part else { return false };
    let Term::Apply(name, none) = &**inner else { return false };
    let Some(what) = name.strip_suffix(" is null").filter(|_| none.is_empty()) else { return false };
    all.iter().any(|other| other != part && names(other).contains(what))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let known = ["x", "y", "z"].map(|name| (name.to_string(), Term::constant(name)));
        let term = read(&Sexp::read(text)[0], &BTreeMap::from(known)).unwrap();
        assert_eq!(shown(&term), expected);
    }

    #[test]
    fn what_solvers_write_is_read() {
        check("(>= (+ x (* (- 1) y)) 0)", "y <= x");
        check("(not (<= (+ x (* (- 1) y)) 999))", "y + 1000 <= x");
        check("(let ((a!1 (= x y))) (or (not a!1) (<= z 5)))", "x = y -> z <= 5");
        check("(and (<= 0 x) (or (= y z) (< x 3)))", "x >= 0 and (y = z or x <= 2)");
    }

    #[test]
    fn choices_between_numbers_are_comparisons() {
        let (x, y) = (Term::constant("x"), Term::constant("y"));
        let chosen = x.clone().equal(Term::Int(1)).ite(y.clone().minus(x), y);
        let parts: Vec<String> = comparisons(&Term::Int(0).at_most(chosen)).iter().map(shown).collect();
        assert_eq!(parts, ["x = 1", "y - x >= 0", "y >= 0"]);
    }
}
