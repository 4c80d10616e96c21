//! What is declared and said while expressions are taken apart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use isolde_smt::{Function, Script, Sort, Term};
use isolde_sql::{SqlState, Type};

use super::value::{Sym, sort_of, well_typed};
use super::{Refusal, Result};

/// An error that evaluating something may raise.
///
/// Two conditions, because PostgreSQL does not fix in which order the parts of a condition are evaluated: a path is
/// given up only where the error is certain, and a handler is entered wherever it is possible.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which error; `None` if that is not known.
    pub state: Option<SqlState>,
    /// When it is raised in any case.
    pub certain: Term,
    /// When it may be raised.
    pub possible: Term,
}

/// Declarations, assertions and failures.
#[derive(Debug, Default)]
pub struct Context {
    /// What the solver is told.
    pub script: Script,
    /// What may fail, since this was last taken away.
    pub failures: Vec<Failure>,
    /// Functions may be declared. Horn clauses have none: there a call is any value at all.
    pub functions: bool,
    /// Rows that are not tracked count in aggregates. Without them the database is exactly what is tracked.
    pub residues: bool,
    /// Functions of which nothing is known but that they are functions.
    pub modulo: BTreeSet<String>,
    /// Why "no violation" would not speak about all databases.
    pub incomplete: BTreeSet<String>,
    /// What is taken for granted because of the types that occur.
    pub assumptions: BTreeSet<&'static str>,
    /// Groups of rows that are not tracked and were asked about, where there are no functions: key and answer, by
    /// question.
    pub(crate) groups: BTreeMap<String, Vec<(Vec<Term>, Term)>>,
    texts: BTreeMap<Arc<str>, i128>,
    counter: usize,
}

impl Context {
    /// With functions and residues: the exact question.
    pub fn new() -> Context {
        Context { functions: true, residues: true, ..Context::default() }
    }

    /// A constant of which nothing is known.
    pub fn fresh(&mut self, sort: &Sort, hint: &str) -> Term {
        let name = format!("{hint}@{}", self.number());
        // The number makes it new: there is no need to look for it.
        self.script.functions.push(Function {
            name: name.as_str().into(),
            arguments: Vec::new(),
            result: sort.clone(),
        });
        Term::constant(name)
    }

    /// A number that nothing else has.
    pub fn number(&mut self) -> usize {
        self.counter += 1;
        self.counter
    }

    /// A value of a type, of which nothing else is known.
    pub fn any(&mut self, ty: Type, hint: &str) -> Result<Sym> {
        let sort = sort_of(ty).ok_or_else(|| Refusal::new("a row as a value"))?;
        let null = self.fresh(&Sort::Bool, &format!("{hint}.null"));
        let sym = Sym { null, value: self.fresh(&sort, hint) };
        self.note(ty);
        self.say(well_typed(&sym, ty));
        Ok(sym)
    }

    /// Remembers what is taken for granted about values of a type.
    pub fn note(&mut self, ty: Type) {
        match ty.underlying() {
            Type::Numeric(_) => self.assumptions.insert("no numeric is NaN or infinite"),
            Type::Float4 | Type::Float8 => {
                self.assumptions.insert("floating-point arithmetic is only known to be a function")
            }
            _ => false,
        };
    }

    /// Says that something is so.
    pub fn say(&mut self, term: Term) {
        self.script.assert(term, "");
    }

    /// The same under a short name, if it is long.
    pub fn named(&mut self, term: Term, sort: &Sort, hint: &str) -> Term {
        if small(&term, 3) {
            return term;
        }
        let name = self.fresh(sort, hint);
        self.say(name.clone().equal(term));
        name
    }

    /// A condition under a short name.
    pub fn named_truth(&mut self, term: Term, hint: &str) -> Term {
        self.named(term, &Sort::Bool, hint)
    }

    /// A value under short names.
    pub fn named_sym(&mut self, sym: Sym, ty: Type, hint: &str) -> Sym {
        let Some(sort) = sort_of(ty) else { return sym };
        let null = self.named_truth(sym.null, hint);
        Sym { null, value: self.named(sym.value, &sort, hint) }
    }

    /// An error is raised when this is so.
    pub fn fails(&mut self, state: SqlState, when: Term) {
        if when != Term::False {
            self.failures.push(Failure { state: Some(state), certain: when.clone(), possible: when });
        }
    }

    /// An error may be raised, or not.
    pub fn may_fail(&mut self, state: Option<SqlState>, when: Term) {
        if when != Term::False {
            self.failures.push(Failure { state, certain: Term::False, possible: when });
        }
    }

    /// Does something, and takes away what may fail in it.
    pub fn caught<T>(&mut self, act: impl FnOnce(&mut Context) -> Result<T>) -> Result<(T, Vec<Failure>)> {
        let before = std::mem::take(&mut self.failures);
        let done = act(self);
        let failures = std::mem::replace(&mut self.failures, before);
        Ok((done?, failures))
    }

    /// Puts failures back, which only happen under a condition.
    pub fn add_failures(&mut self, failures: Vec<Failure>, when: &Term) {
        for failure in failures {
            let certain = Term::and([when.clone(), failure.certain]);
            let possible = Term::and([when.clone(), failure.possible]);
            self.failures.push(Failure { certain, possible, ..failure });
        }
    }

    /// What a function without a name gives for a key: the same as before, if the same was asked before, and anything
    /// otherwise.
    pub(crate) fn group(&mut self, question: &str, key: Vec<Term>, sort: &Sort) -> Term {
        let known = self.groups.get(question).cloned().unwrap_or_default();
        if let Some((_, answer)) = known.iter().find(|(other, _)| *other == key) {
            return answer.clone();
        }
        let mut answer = self.fresh(sort, "rest");
        for (other, earlier) in known.iter().rev() {
            let same = Term::and(other.iter().zip(&key).map(|(a, b)| a.clone().same_number(b.clone())));
            answer = same.ite(earlier.clone(), answer);
        }
        let answer = self.named(answer, sort, "rest");
        self.groups.entry(question.to_string()).or_default().push((key, answer.clone()));
        answer
    }

    /// Some function of these: the same for the same arguments.
    pub fn unknown_call(&mut self, name: &str, args: &[(Sym, Type)], returns: Type, strict: bool) -> Result<Sym> {
        let sort = sort_of(returns).ok_or_else(|| Refusal::new(format!("{name}, which gives a row")))?;
        self.note(returns);
        let nulls = Term::or(args.iter().map(|(arg, _)| arg.null.clone()));
        let is_function = args.iter().all(|(_, ty)| is_told_apart(*ty)) || RESPECTS_EQUALITY.contains(&name);
        let sym = if self.functions && is_function && args.iter().all(|(_, ty)| sort_of(*ty).is_some()) {
            let sorts: Vec<Sort> =
                args.iter().filter_map(|(_, ty)| sort_of(*ty)).flat_map(|s| [Sort::Bool, s]).collect();
            // What a NULL would be otherwise must not matter.
            let plain = |arg: &Sym, ty: Type| {
                let nothing = Sym::null(&sort_of(ty).unwrap_or(Sort::Int));
                [arg.null.clone(), arg.null.clone().ite(nothing.value, arg.value.clone())]
            };
            let terms: Vec<Term> = args.iter().flat_map(|(arg, ty)| plain(arg, *ty)).collect();
            let signature: Vec<String> = args.iter().map(|(_, ty)| ty.to_string()).collect();
            let function = format!("{name}({})", signature.join(","));
            let is_null = format!("{function}.null");
            self.script.function(&function, &sorts, sort.clone());
            self.script.function(&is_null, &sorts, Sort::Bool);
            Sym { null: Term::apply(is_null, terms.clone()), value: Term::apply(function, terms) }
        } else {
            self.any(returns, "call")?
        };
        self.modulo.insert(name.to_string());
        let null = if strict { Term::or([nulls, sym.null]) } else { sym.null };
        let sym = self.named_sym(Sym { null, value: sym.value }, returns, "call");
        self.say(well_typed(&sym, returns));
        Ok(sym)
    }

    /// The number that stands for a text.
    pub fn text(&mut self, text: &str) -> Term {
        let next = self.texts.len() as i128 + 1;
        Term::Int(*self.texts.entry(text.into()).or_insert(next))
    }

    /// The texts that have numbers.
    pub fn texts(&self) -> &BTreeMap<Arc<str>, i128> {
        &self.texts
    }
}

/// Functions that give equal results for equal arguments, even where equal arguments may look different.
const RESPECTS_EQUALITY: &[&str] = &["<", "round", "trunc", "floor", "ceil", "ceiling", "sign", "abs", "mod", "%"];

/// Equal values of the type are the same value. `1.0 = 1.00`, but not as text; `'1 month' = '30 days'`, but not added
/// to a date: of such types, the same function of equal values can differ.
fn is_told_apart(ty: Type) -> bool {
    use Type as T;
    matches!(
        ty.underlying().base(),
        T::Bool
            | T::Int2
            | T::Int4
            | T::Int8
            | T::Text
            | T::Varchar(_)
            | T::Date
            | T::Timestamp
            | T::Timestamptz
            | T::Time
            | T::Uuid
            | T::Enum(_)
    )
}

/// Short enough to be written wherever it is needed.
fn small(term: &Term, depth: usize) -> bool {
    match term {
        Term::True | Term::False | Term::Var(_) | Term::Int(_) | Term::Real(..) => true,
        Term::Apply(_, inner) => {
            inner.is_empty() || (depth > 0 && inner.len() <= 2 && inner.iter().all(|t| small(t, depth - 1)))
        }
        Term::Not(inner) => small(inner, depth),
        Term::And(inner) | Term::Or(inner) => {
            depth > 1 && inner.len() <= 2 && inner.iter().all(|t| small(t, depth - 2))
        }
        Term::Equal(a, b) | Term::Iff(a, b) | Term::Implies(a, b) => {
            depth > 0 && small(a, depth - 1) && small(b, depth - 1)
        }
        _ => false,
    }
}
