//! A scenario in pieces, so that pieces can be left out.

use std::fmt;

/// A scenario in pieces.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub setup: Vec<String>,
    pub threads: Vec<Thread>,
    pub invariants: Vec<String>,
}

/// A thread: what stands behind its name, and its statements.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    pub options: String,
    pub statements: Vec<String>,
}

impl Program {
    /// The same with one thing less, the largest first.
    pub fn reductions(&self) -> Vec<Program> {
        let mut smaller = Vec::new();
        let mut add = |change: &dyn Fn(&mut Program)| {
            let mut program = self.clone();
            change(&mut program);
            smaller.push(program);
        };
        (0..self.threads.len()).filter(|_| self.threads.len() > 2).for_each(|t| add(&|p| drop(p.threads.remove(t))));
        (0..self.invariants.len()).for_each(|i| add(&|p| drop(p.invariants.remove(i))));
        for (t, thread) in self.threads.iter().enumerate() {
            (0..thread.statements.len()).for_each(|s| add(&|p| drop(p.threads[t].statements.remove(s))));
            // BEGIN and what it goes with.
            for s in 0..thread.statements.len() {
                for e in s + 1..thread.statements.len() {
                    add(&|p| {
                        p.threads[t].statements.remove(e);
                        p.threads[t].statements.remove(s);
                    });
                }
            }
            if !thread.options.is_empty() {
                add(&|p| p.threads[t].options.clear());
            }
        }
        (0..self.setup.len()).rev().for_each(|s| add(&|p| drop(p.setup.remove(s))));
        smaller
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.setup.iter().try_for_each(|statement| writeln!(f, "{statement}"))?;
        for (number, thread) in self.threads.iter().enumerate() {
            writeln!(f, "--@ thread t{number} {}", thread.options)?;
            thread.statements.iter().try_for_each(|statement| writeln!(f, "{statement}"))?;
        }
        for (number, invariant) in self.invariants.iter().enumerate() {
            writeln!(f, "--@ invariant i{number}\n{invariant}")?;
        }
        Ok(())
    }
}
