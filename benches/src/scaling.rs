//! Programs of any size: so many threads of so many statements, each statement a transaction.
//!
//! How much there is to explore depends on who meets whom, so there are three [mixes](MIXES). In the first the threads
//! never meet and one run says everything; in the last they always do, and no reduction can leave out an order.

use std::fmt::Write as _;

use isolde_scenario::{Scenario, ScenarioError, file};

/// Who meets whom.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// For the table.
    pub name: &'static str,
    /// Every how-many-eth statement updates the row that all threads share; 0 for never.
    pub shared_every: usize,
}

/// Every mix, from no conflict to nothing but conflicts.
pub const MIXES: &[Mix] = &[
    Mix { name: "rows of their own", shared_every: 0 },
    Mix { name: "every third statement on a shared row", shared_every: 3 },
    Mix { name: "all on a shared row", shared_every: 1 },
];

/// How large a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Threads.
    pub threads: usize,
    /// Statements of a thread.
    pub statements: usize,
}

impl Size {
    /// In how many orders the statements can be executed: (threads x statements)! / (statements!)^threads.
    pub fn interleavings(&self) -> f64 {
        let factorial = |n: usize| (1..=n).map(|i| i as f64).product::<f64>();
        factorial(self.threads * self.statements) / factorial(self.statements).powi(self.threads as i32)
    }
}

/// The program as a scenario's text.
pub fn text(mix: Mix, size: Size) -> String {
    let mut text = String::from(
        "CREATE TABLE account (id int PRIMARY KEY, owner text NOT NULL, balance int NOT NULL);\n\
         INSERT INTO account SELECT i, 'owner ' || i, 100 FROM generate_series(0, 99) AS g(i);\n",
    );
    for thread in 1..=size.threads {
        let _ = writeln!(text, "\n--@ thread t{thread}");
        for statement in 1..=size.statements {
            let shared = mix.shared_every > 0 && statement.is_multiple_of(mix.shared_every);
            let row = if shared { 0 } else { thread };
            // A different amount each time, so that the order of two updates of one row shows in what they return.
            let amount = thread * 10 + statement;
            let _ =
                writeln!(text, "UPDATE account SET balance = balance + {amount} WHERE id = {row} RETURNING balance;");
        }
    }
    text
}

/// The program, ready to run.
pub fn scenario(mix: Mix, size: Size) -> Result<Scenario, ScenarioError> {
    Scenario::parse("scaling.sql", &text(mix, size), &mut file::no_includes)
}
