//! Scenario files as systems to explore; properties and the serial oracle.
//!
//! A scenario is a PostgreSQL script with a few comments that say which statements belong to which thread:
//!
//! ```
//! use isolde_scenario::{Options, Scenario, check, file};
//! use std::ops::ControlFlow;
//!
//! let text = "
//! CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
//! INSERT INTO account VALUES (1, 100);
//! --@ thread alice
//! SELECT balance FROM account WHERE id = 1 \\gset
//! UPDATE account SET balance = :balance - 60 WHERE id = 1;
//! --@ thread bob
//! SELECT balance FROM account WHERE id = 1 \\gset
//! UPDATE account SET balance = :balance - 60 WHERE id = 1;
//! ";
//! let scenario = Scenario::parse("bank.sql", text, &mut file::no_includes).expect("the text is fine");
//! let report = check(&scenario, &Options::default(), &mut |_| ControlFlow::Continue(()));
//! let counterexample = report.counterexample.expect("60 is lost");
//! assert_eq!(counterexample.anomaly.as_deref(), Some("lost update"));
//! assert_eq!(counterexample.schedule, "alice bob*3 alice alice");
//! ```
//!
//! # The way of a scenario
//!
//! ```text
//!   text ──file──▶ ScenarioFile ──set-up run, statements bound──▶ Scenario ──▶ ScenarioSystem ──explore──▶ states, ends
//!                                                                                                            │
//!   Report ◀── trace, conflicts ── the finding, replayed ◀──────────── property, oracle ◀────────────────────┘
//! ```
//!
//! What is *absent*: nothing here reads a file (the caller's [`file::Loader`] does), prints, or looks at a clock.

// The documentation asks whether types are `Send`, and statements nest deeply.
#![recursion_limit = "256"]

mod backend;
mod check;
mod checker;
mod checkpoint;
mod client;
mod clock;
pub mod conflicts;
pub mod dependence;
mod effects;
mod embedded;
mod embedded_check;
mod error;
pub mod file;
mod findings;
pub mod fix;
pub mod gate;
mod graph;
mod log;
mod minimise;
mod names;
mod oracle;
mod outcome;
mod property;
mod renaming;
mod scenario;
mod search;
mod serially;
pub mod spec;
mod states;
mod system;
mod threads;
mod trace;
mod trouble;
mod uses;
mod verify;

pub use backend::{
    Alone, Backend, Capabilities, Completed, Failure, Fate, Holds, Member, Runs, Toll, Truth, Wait, WaitEnd, When,
};
pub use check::{Examined, OnProgress, Question, examine, inconclusive, replay_on};
pub use checker::{Checker, Examination};
pub use checkpoint::Checkpoint;
pub use client::{Client, Reaction, Status};
pub use clock::{Pace, Way};
pub use effects::{only, wrote};
#[doc(hidden)]
pub use embedded::{describe_answers, describe_end, describe_invariants};
pub use embedded_check::{Checked, Options, check, check_from, replay_schedule};
pub use error::ScenarioError;
pub use isolde_explore::{Limit, Progress, Restore};
pub use isolde_sql::budget::{Budget, Entered as BudgetEntered, Exhausted};
pub use names::{listed, tuple};
pub use oracle::SERIAL_THREADS_MAX;
pub use outcome::{Generated, Outcome, RawAnswer, RawOutcome, RawSeen, generated};
pub use property::Explained;
pub use scenario::{Scenario, Skipped, Thread, set_up_possible};
pub use search::{
    BUG_DEPTH, RUN_STEPS_MAX, RUNS, STATES_MAX, conflict, is_resumable, kind, search, stats, verdict_without_finding,
};
pub use states::{CELLS_MAX, StateRows, StateStep, state_rows};
pub use system::{Choice, Event, ScenarioSystem, State};
pub use threads::ThreadSet;
pub use trace::{ROWS_MAX, RunOf, remark, row_change};
pub use trouble::Trouble;
pub use uses::{Counts, Uses};
