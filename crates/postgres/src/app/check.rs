//! The whole job for an application: put it on a stage, ask all questions, and try what a stronger isolation level
//! would do.

use std::path::PathBuf;

use isolde_report::{Counterexample, Fix, FixVerdict, Report, Stats, Verdict};
use isolde_scenario::file::FileOptions;
use isolde_scenario::{Examined, OnProgress, inconclusive};
use isolde_sql::ast::Isolation;
use isolde_wire::Settings;

use super::file::AppFile;
use super::spec::Written;
use super::stage::AppStage;
use crate::Trouble;
use crate::live::{self, Question};
use crate::reads::Module;

/// What is asked, and where.
pub struct Inquiry<'q> {
    /// The application.
    pub app: &'q AppFile,
    /// The server that its database is made on.
    pub server: Settings,
    /// Where its commands are run.
    pub directory: PathBuf,
    /// The command, as a user would type it.
    pub command: String,
    /// What the file is called.
    pub file: String,
    /// Where the module is that tells what is read.
    pub module: Module,
    /// How to search.
    pub settings: FileOptions,
    /// Try stronger isolation levels against what is found.
    pub fixes: bool,
    /// A clock in nanoseconds, if the report should say what took how long.
    pub clock: Option<fn() -> u64>,
}

/// The levels that are tried against a violation, the cheapest first.
const STRONGER: &[(Isolation, &str)] =
    &[(Isolation::RepeatableRead, "REPEATABLE READ"), (Isolation::Serializable, "SERIALIZABLE")];

impl Inquiry<'_> {
    /// Checks all properties over all schedules.
    pub fn check(&self, progress: OnProgress<'_>) -> Result<Report, Trouble> {
        let mut report = match self.check_at(None, progress) {
            Err(trouble) => self.undecided(inconclusive(trouble, progress)?),
            Ok(examined) => examined.report,
        };
        // No level helps against what happens without an overlap.
        let overlaps = |counterexample: &Counterexample| counterexample.serially.is_empty();
        if self.fixes && report.counterexamples().any(overlaps) {
            let fixes = self.try_levels(progress)?;
            report.counterexamples_mut().filter(|found| overlaps(found)).for_each(|found| found.fixes = fixes.clone());
        }
        Ok(report)
    }

    /// The answer if it did not come to a search.
    fn undecided(&self, why: String) -> Report {
        let verdict = Verdict::Inconclusive(why);
        Report::new(&self.command, &self.file, verdict, Stats { search: "source".into(), ..Stats::default() })
    }

    /// Follows one schedule.
    pub fn replay(&self, schedule: &str) -> Result<Report, Trouble> {
        let mut stage = self.stage(None)?;
        live::replay(&mut stage, &self.question(&|_| self.command.clone()), schedule)
    }

    /// A scenario made of what the threads send when they run alone.
    pub fn scenario(&self) -> Result<String, Trouble> {
        self.stage(None)?.scenario(&self.file)
    }

    /// The run of a schedule as an isolation spec. The inner error says why it cannot be written.
    pub fn spec(&self, schedule: &str) -> Result<Result<Written, String>, Trouble> {
        self.stage(None)?.spec(schedule, &self.file)
    }

    fn check_at(&self, level: Option<Isolation>, progress: OnProgress<'_>) -> Result<Examined, Trouble> {
        let mut stage = self.stage(level)?;
        let all = if self.settings.all == Some(true) { "--all " } else { "" };
        let degree = self.settings.serial.map_or(String::new(), |degree| format!("--oracle {} ", degree.name()));
        let replay = |schedule: &str| format!("isolde replay {all}{degree}{} '{schedule}'", self.file);
        let mut question = self.question(&replay);
        // Whether a level helps is known at the first violation.
        question.settings.all = question.settings.all.filter(|_| level.is_none());
        let mut examined = live::check_all(&mut stage, &question, progress)?;
        examined.report.warnings.extend(stage.warnings());
        if let Some(details) = &mut examined.report.stats.details {
            details.back_end = Some(stage.describe());
        }
        Ok(examined)
    }

    fn stage(&self, level: Option<Isolation>) -> Result<AppStage, Trouble> {
        let app = AppFile { isolation: level.or(self.app.isolation), ..self.app.clone() };
        AppStage::reading(app, self.directory.clone(), &self.server, &self.module)
    }

    fn question<'q>(&self, replay: &'q dyn Fn(&str) -> String) -> Question<'q> {
        Question {
            command: self.command.clone(),
            file: self.file.clone(),
            settings: FileOptions { serial: self.settings.serial.or(self.app.serial), ..self.settings.clone() },
            invariants: self.app.invariants.clone(),
            finals: self.app.finals.clone(),
            replay,
            clock: self.clock,
        }
    }

    /// Searches again with each stronger level as the default of all sessions.
    fn try_levels(&self, progress: OnProgress<'_>) -> Result<Vec<Fix>, Trouble> {
        let mut fixes = Vec::new();
        for (level, name) in STRONGER.iter().filter(|(level, _)| self.app.isolation.is_none_or(|own| own < *level)) {
            let Examined { report, aborted, .. } = match self.check_at(Some(*level), progress) {
                Ok(examined) => examined,
                Err(Trouble::Interrupted) => return Ok(fixes),
                Err(trouble) => {
                    let verdict = FixVerdict::Undecided(trouble.to_string());
                    fixes.push(Fix {
                        kind: "isolation".into(),
                        title: title(name, false),
                        verdict,
                        cost: None,
                        patch: String::new(),
                    });
                    continue;
                }
            };
            let aborts = !aborted.is_empty();
            let verdict = match &report.verdict {
                Verdict::Holds => FixVerdict::Holds,
                Verdict::Inconclusive(reason) => FixVerdict::Undecided(reason.clone()),
                Verdict::Violated => FixVerdict::Fails(broken(&report)),
            };
            fixes.push(Fix {
                kind: "isolation".into(),
                title: title(name, aborts),
                verdict,
                cost: None,
                patch: String::new(),
            });
        }
        fixes.sort_by_key(|fix| fix.verdict != FixVerdict::Holds);
        Ok(fixes)
    }
}

fn title(level: &str, aborts: bool) -> String {
    let retry = if aborts { ", if the application tries again when it is aborted (40001)" } else { "" };
    format!("{level} for all sessions (default_transaction_isolation){retry}")
}

/// `serial outcome (write skew)`
fn broken(report: &Report) -> String {
    let Some(counterexample) = &report.counterexample else { return String::new() };
    match &counterexample.anomaly {
        Some(anomaly) => format!("{} ({anomaly})", counterexample.property),
        None => counterexample.property.clone(),
    }
}
