//! Finite universes: a script over sorts of fixed sizes is a question about truth values alone.
//!
//! With `n` objects in a sort, a quantifier is a conjunction or disjunction over them, a predicate of one argument is
//! `n` truth values, and a function from `m` objects to `n` is `m * n` of them, exactly one of each row true. A term of
//! a sort becomes the list of conditions under which it is object 0, 1, 2, ... So the solver sees no quantifier and no
//! sort, always ends, and what it returns is read back without guessing how it prints functions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::script::{Function, Script};
use crate::solver::{Answer, Session, Silence, Solver};
use crate::term::{Sort, Term};

/// How many objects each sort has.
pub type Sizes = BTreeMap<Sort, usize>;

/// What a solver returns: every function as a table over universes of fixed sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    /// Predicates: where they are true.
    pub predicates: BTreeMap<Arc<str>, Vec<Vec<usize>>>,
    /// Functions: what they give.
    pub functions: BTreeMap<Arc<str>, BTreeMap<Vec<usize>, usize>>,
}

impl Assignment {
    /// Whether a predicate is true of these.
    pub fn holds(&self, predicate: &str, arguments: &[usize]) -> bool {
        self.predicates.get(predicate).is_some_and(|rows| rows.iter().any(|row| row == arguments))
    }

    /// What a function gives for these.
    pub fn value(&self, function: &str, arguments: &[usize]) -> Option<usize> {
        self.functions.get(function)?.get(arguments).copied()
    }
}

/// Looks for universes of these sizes that meet a script, with the predicates `counted` true of as few objects as
/// possible.
pub fn search(
    script: &Script,
    sizes: &Sizes,
    counted: &[Arc<str>],
    solver: &Solver,
    timeout: Duration,
) -> Result<Option<Assignment>, Silence> {
    let mut ground = Ground { script, sizes, propositions: Vec::new() };
    let question = ground.question();
    let cells = ground.propositions.iter().filter(|(name, ..)| counted.contains(name));
    let counted: Vec<Term> = cells.map(|(name, row, value)| Term::constant(proposition(name, row, *value))).collect();
    let question = question.to_string();
    solver.with_session(|session| {
        session.tell(&question);
        if session.check(timeout)? == Answer::Unsat {
            return Ok(None);
        }
        let mut best = ground.read(session, timeout)?;
        // Growing bounds: a small one is refuted fast, and the first that is met is the least.
        for most in 0..counted.len() {
            session.tell(&format!("(push 1)\n(assert {})\n", Term::AtMost(most, counted.clone())));
            match session.check(timeout) {
                Ok(Answer::Sat) => {
                    best = ground.read(session, timeout)?;
                    break;
                }
                Ok(Answer::Unsat) => session.tell("(pop 1)\n"),
                // What was found is an answer, if not the smallest.
                Err(_) => break,
            }
        }
        Ok(Some(best))
    })
}

/// A script as truth values.
struct Ground<'a> {
    script: &'a Script,
    sizes: &'a Sizes,
    propositions: Vec<(Arc<str>, Vec<usize>, Option<usize>)>,
}

/// Variables in scope, innermost last.
type Scope = Vec<(Arc<str>, usize)>;

impl Ground<'_> {
    fn question(&mut self) -> Script {
        let mut ground = Script::default();
        for function in &self.script.functions {
            for row in self.rows(&function.arguments) {
                self.declare(&mut ground, function, row);
            }
        }
        for assertion in &self.script.assertions {
            let term = self.formula(&assertion.term, &mut Vec::new());
            ground.assert(term, assertion.why.clone());
        }
        ground
    }

    fn declare(&mut self, ground: &mut Script, function: &Function, row: Vec<usize>) {
        if function.result == Sort::Bool {
            ground.functions.push(boolean(proposition(&function.name, &row, None)));
            self.propositions.push((function.name.clone(), row, None));
            return;
        }
        let size = self.size(&function.result);
        let cells: Vec<Term> =
            (0..size).map(|value| Term::constant(proposition(&function.name, &row, Some(value)))).collect();
        for value in 0..size {
            ground.functions.push(boolean(proposition(&function.name, &row, Some(value))));
            self.propositions.push((function.name.clone(), row.clone(), Some(value)));
        }
        for (index, cell) in cells.iter().enumerate() {
            for other in &cells[index + 1..] {
                ground.assert(Term::or([cell.clone().not(), other.clone().not()]), "");
            }
        }
        ground.assert(Term::or(cells), "");
    }

    fn formula(&self, term: &Term, scope: &mut Scope) -> Term {
        match term {
            Term::True | Term::False => term.clone(),
            // Numbers are no objects: there is no universe of them that could be fixed.
            Term::Var(_) | Term::Int(_) | Term::Real(..) => Term::False,
            Term::Ite(a, b, c) => {
                let when = self.formula(a, scope);
                let (then, otherwise) = (self.formula(b, scope), self.formula(c, scope));
                Term::and([when.clone().implies(then), Term::or([when, otherwise])])
            }
            Term::Apply(name, arguments) => self.predicate(name, arguments, scope),
            Term::Not(inner) => self.formula(inner, scope).not(),
            Term::And(inner) => Term::and(inner.iter().map(|t| self.formula(t, scope)).collect::<Vec<_>>()),
            Term::Or(inner) => Term::or(inner.iter().map(|t| self.formula(t, scope)).collect::<Vec<_>>()),
            Term::Implies(a, b) => match self.formula(a, scope) {
                Term::False => Term::True,
                a => a.implies(self.formula(b, scope)),
            },
            Term::Iff(a, b) => self.formula(a, scope).iff(self.formula(b, scope)),
            Term::Equal(a, b) => {
                let (a, b) = (self.value(a, scope), self.value(b, scope));
                Term::or(a.into_iter().zip(b).map(|(a, b)| Term::and([a, b])))
            }
            Term::All(bound, body) => Term::and(self.expand(bound, body, scope)),
            Term::Some(bound, body) => Term::or(self.expand(bound, body, scope)),
            Term::AtMost(most, inner) => Term::AtMost(*most, inner.iter().map(|t| self.formula(t, scope)).collect()),
        }
    }

    fn expand(&self, bound: &[(Arc<str>, Sort)], body: &Term, scope: &mut Scope) -> Vec<Term> {
        let Some(((name, sort), rest)) = bound.split_first() else { return vec![self.formula(body, scope)] };
        let mut all = Vec::new();
        for object in 0..self.size(sort) {
            scope.push((name.clone(), object));
            all.extend(self.expand(rest, body, scope));
            scope.pop();
        }
        all
    }

    fn predicate(&self, name: &Arc<str>, arguments: &[Term], scope: &mut Scope) -> Term {
        let cases = self.cases(arguments, scope);
        Term::or(cases.into_iter().map(|(row, when)| Term::and([when, Term::constant(proposition(name, &row, None))])))
    }

    /// When a term is object 0, 1, 2, ...
    fn value(&self, term: &Term, scope: &mut Scope) -> Vec<Term> {
        match term {
            Term::Var(name) => {
                let at = scope.iter().rev().find(|(known, _)| known == name).map(|(_, object)| *object);
                let size = self.sizes.values().copied().max().unwrap_or(1);
                (0..size).map(|object| if Some(object) == at { Term::True } else { Term::False }).collect()
            }
            Term::Apply(name, arguments) => {
                let result = self.script.declared(name).map(|f| f.result.clone()).unwrap_or(Sort::Bool);
                let cases = self.cases(arguments, scope);
                (0..self.size(&result))
                    .map(|value| {
                        Term::or(cases.iter().map(|(row, when)| {
                            Term::and([when.clone(), Term::constant(proposition(name, row, Some(value)))])
                        }))
                    })
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// Which objects the arguments may be, and when.
    fn cases(&self, arguments: &[Term], scope: &mut Scope) -> Vec<(Vec<usize>, Term)> {
        let mut cases = vec![(Vec::new(), Term::True)];
        for argument in arguments {
            let values = self.value(argument, scope);
            let mut longer = Vec::new();
            for (row, when) in &cases {
                for (object, is) in values.iter().enumerate().filter(|(_, is)| **is != Term::False) {
                    let mut row = row.clone();
                    row.push(object);
                    longer.push((row, Term::and([when.clone(), is.clone()])));
                }
            }
            cases = longer;
        }
        cases
    }

    fn rows(&self, sorts: &[Sort]) -> Vec<Vec<usize>> {
        let mut rows = vec![Vec::new()];
        for sort in sorts {
            let size = self.size(sort);
            rows =
                rows.into_iter().flat_map(|row| (0..size).map(move |object| [&row[..], &[object]].concat())).collect();
        }
        rows
    }

    fn size(&self, sort: &Sort) -> usize {
        self.sizes.get(sort).copied().unwrap_or(1)
    }

    fn read(&self, session: &mut Session, timeout: Duration) -> Result<Assignment, Silence> {
        let names: Vec<String> =
            self.propositions.iter().map(|(name, row, value)| proposition(name, row, *value)).collect();
        let truths = session.truths(&names, timeout)?;
        let mut assignment = Assignment::default();
        for ((name, row, value), truth) in self.propositions.iter().zip(truths) {
            match value {
                None => {
                    let rows = assignment.predicates.entry(name.clone()).or_default();
                    if truth {
                        rows.push(row.clone());
                    }
                }
                Some(value) if truth => {
                    assignment.functions.entry(name.clone()).or_default().insert(row.clone(), *value);
                }
                Some(_) => {}
            }
        }
        Ok(assignment)
    }
}

fn boolean(name: String) -> Function {
    Function { name: name.into(), arguments: Vec::new(), result: Sort::Bool }
}

/// The truth value that stands for a cell of a function's table.
fn proposition(name: &str, row: &[usize], value: Option<usize>) -> String {
    let mut text = name.to_string();
    for object in row {
        text.push_str(&format!("!{object}"));
    }
    if let Some(value) = value {
        text.push_str(&format!("={value}"));
    }
    text
}
