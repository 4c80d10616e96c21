//! A stage, checked.

use isolde_report::Report;
use isolde_scenario::file::FileOptions;
use isolde_scenario::{Examined, OnProgress, examine, replay_on};

use super::Stage;
use super::system::Cursor;
use crate::Trouble;

/// What is asked about a stage.
pub struct Question<'q> {
    /// The command, as a user would type it.
    pub command: String,
    /// The file that it is about.
    pub file: String,
    /// How to search, and what to leave out.
    pub settings: FileOptions,
    /// Queries that must be true after every commit.
    pub invariants: Vec<Check>,
    /// Queries that must be true when all threads have ended.
    pub finals: Vec<Check>,
    /// The command that shows a schedule again.
    pub replay: &'q dyn Fn(&str) -> String,
    /// A clock in nanoseconds, if the report should say what took how long.
    pub clock: Option<fn() -> u64>,
}

/// A query that must return true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// Its text.
    pub query: String,
}

/// Checks all properties over all schedules, as far as the limits allow.
pub fn check(stage: &mut dyn Stage, question: &Question<'_>, progress: OnProgress<'_>) -> Result<Report, Trouble> {
    Ok(check_all(stage, question, progress)?.report)
}

/// The same, with what else the search has seen.
pub fn check_all(
    stage: &mut dyn Stage,
    question: &Question<'_>,
    progress: OnProgress<'_>,
) -> Result<Examined, Trouble> {
    examine(question.cursor(stage)?.system(), &question.general(), progress)
}

/// Follows one schedule, and says what it breaks, if anything.
pub fn replay(stage: &mut dyn Stage, question: &Question<'_>, schedule: &str) -> Result<Report, Trouble> {
    replay_on(question.cursor(stage)?.system(), &question.general(), schedule)
}

impl Question<'_> {
    fn cursor<'s>(&self, stage: &'s mut dyn Stage) -> Result<Cursor<'s>, Trouble> {
        Cursor::asking(stage, self.settings.clone(), self.invariants.clone(), self.finals.clone())
    }

    /// What is asked, whatever is checked.
    fn general(&self) -> isolde_scenario::Question<'_> {
        isolde_scenario::Question {
            command: self.command.clone(),
            file: self.file.clone(),
            settings: self.settings.clone(),
            replay: self.replay,
            clock: self.clock,
        }
    }
}
