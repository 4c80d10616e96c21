//! Invariants as evidence: whoever doubts a proof checks these, and needs no search for it.

use std::fmt;
use std::time::Duration;

use isolde_smt::{Answer, Sexp, Silence, Solver};

use super::clause::{Clause, Clauses};

/// A definition for each predicate, as the solver wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// `(define-fun ...)`, in an order in which each only names those before it.
    pub definitions: Vec<String>,
}

/// Why a certificate is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// With these definitions, this clause does not hold.
    Broken(String),
    /// Whether it does could not be decided.
    Open(String),
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejected::Broken(clause) => write!(f, "{clause} does not follow"),
            Rejected::Open(why) => f.write_str(why),
        }
    }
}

impl Certificate {
    /// Takes the definitions from a model.
    pub fn read(clauses: &Clauses, model: &Sexp) -> Certificate {
        let defines =
            |part: &&Sexp| part.parts().first().and_then(Sexp::atom).is_some_and(|word| word.starts_with("define-fun"));
        let mut definitions: Vec<String> = model.parts().iter().filter(defines).map(Sexp::to_string).collect();
        // What helps to define the predicates comes before them.
        let is_ours =
            |text: &String| clauses.predicates.iter().any(|p| text.starts_with(&format!("(define-fun {} ", p.name)));
        definitions.sort_by_key(is_ours);
        Certificate { definitions }
    }

    /// Puts the definitions into each clause, and asks a solver that knows nothing of Horn clauses.
    pub fn check(
        &self,
        clauses: &Clauses,
        solver: &Solver,
        timeout: Duration,
    ) -> Result<Result<(), Rejected>, Silence> {
        let mut session = solver.start()?;
        for definition in &self.definitions {
            session.tell(&format!("{definition}\n"));
        }
        for clause in &clauses.clauses {
            session.tell("(push 1)\n");
            session.tell(&clause.refutation());
            match session.check(timeout) {
                Ok(Answer::Unsat) => session.tell("(pop 1)\n"),
                Ok(Answer::Sat) => return Ok(Err(Rejected::Broken(clause.name.clone()))),
                Err(silence @ (Silence::Unknown | Silence::Timeout(_) | Silence::Stopped(_) | Silence::Crash(_))) => {
                    return Ok(Err(Rejected::Open(format!("{}: {silence}", clause.name))));
                }
                Err(silence) => return Err(silence),
            }
        }
        Ok(Ok(()))
    }
}

impl Clause {
    /// The clause, denied.
    fn refutation(&self) -> String {
        let mut text = self.script.to_string();
        for atom in &self.body {
            text.push_str(&format!("(assert {atom})\n"));
        }
        text.push_str(&format!("(assert {})\n", self.head.clone().not()));
        text
    }
}
