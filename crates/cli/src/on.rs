//! Scenarios on a real server: `isolde explore --on`, `isolde replay --on` and `isolde explore --confirm`.

use std::path::Path;

use isolde_postgres::Trouble;
use isolde_postgres::live::{self, Question};
use isolde_postgres::reads::Module;
use isolde_postgres::stage::{self, CLOCK_CANNOT_BE_SET, ScenarioStage, StageError, checks};
use isolde_report::{Confirmation, FixVerdict, Report, StepKind, Trace, Verdict};
use isolde_scenario::file::{self, FileOptions, Included, ScenarioFile};
use isolde_scenario::{Limit, Options, Progress, inconclusive};

use crate::args::{self, Explore, Replay};
use crate::complain::Mistake;
use crate::server::Server;
use crate::watch::{self, Watch};
use crate::{explore, fixes, input, levels};

/// Reads a scenario and explores it on a server.
pub(crate) fn check(explore: &Explore, path: &Path, server: &Server) -> Result<Report, Mistake> {
    refuse(explore)?;
    let given = input::read(path)?;
    let file = file::read_texts(&given.name, &given.text, &mut input::include)?;
    refuse_clock(!file.clock.is_empty())?;
    let mut watch = Watch::start(file.sources.name(), explore.time_max, !explore.no_progress);
    let server = &server.watched(&watch);
    let settings = stage::settings(&file, explore::settings(explore));
    let module = explore.reads.clone().unwrap_or_default();
    let opened = ScenarioStage::reading(&with_options(&file, &settings), server.settings(), module.clone());
    let mut stage = match opened {
        Err(StageError::Trouble(trouble)) => {
            return Err(Mistake::Fault(inconclusive(trouble, &mut |progress| watch.look(progress))?));
        }
        opened => opened?,
    };
    let replay =
        |schedule: &str| args::replay_command(&path.display().to_string(), schedule, &settings, explore.oracle);
    let clock = explore.stats.then_some(watch::nanoseconds as fn() -> u64);
    let question = Question { clock, ..question(&file, settings.clone(), &replay) };
    let mut look = |progress: &Progress| match watch::interrupted() {
        true => std::ops::ControlFlow::Break(Limit::Interrupt),
        false => watch.look(progress),
    };
    let mut report = live::check(&mut stage, &question, &mut look)?;
    report.warnings.extend(stage.warnings());
    if let Some(details) = &mut report.stats.details {
        details.back_end = Some(stage.describe());
    }
    drop(stage);
    if fixes::wanted(explore) {
        let options = Options { settings: explore::settings(explore), command: args::command_line(), clock: None };
        let mut judge = |files: &[Included]| with_fix(files, server, explore::settings(explore), &module);
        fixes::add_on(explore, &given, &mut report, &options, &mut |progress| watch.look(progress), &mut judge)?;
    }
    Ok(report)
}

/// What comes of changed files on a server.
fn with_fix(files: &[Included], server: &Server, given: FileOptions, module: &Module) -> Result<FixVerdict, Mistake> {
    let file = levels::again(files, file::read_texts)?;
    let settings = FileOptions { all: None, ..stage::settings(&file, given) };
    let mut stage = put_on(&file, server, &settings, module)?;
    let question = question(&file, settings, &|schedule| schedule.to_string());
    let mut look = |_: &Progress| match watch::interrupted() {
        true => std::ops::ControlFlow::Break(Limit::Interrupt),
        false => std::ops::ControlFlow::Continue(()),
    };
    let report = live::check(&mut stage, &question, &mut look)?;
    Ok(match (report.verdict, report.counterexample) {
        (Verdict::Holds, _) => FixVerdict::Holds,
        (Verdict::Inconclusive(why), _) => FixVerdict::Undecided(format!("on the server: {why}")),
        (Verdict::Violated, Some(found)) => FixVerdict::Fails(format!("on the server: {}", found.property)),
        (Verdict::Violated, None) => FixVerdict::Fails("on the server".into()),
    })
}

/// Reads a scenario and follows one schedule on a server.
pub(crate) fn replay(replay: &Replay, server: &Server) -> Result<Report, Mistake> {
    let file = read(&replay.file)?;
    let given = FileOptions {
        atomic: replay.atomic.then_some(true),
        all: replay.all.then_some(true),
        serial: replay.oracle,
        ..FileOptions::default()
    };
    let settings = stage::settings(&file, given);
    let mut stage = put_on(&file, server, &settings, &Module::default())?;
    let again =
        |schedule: &str| args::replay_command(&replay.file.display().to_string(), schedule, &settings, replay.oracle);
    let question = question(&file, settings.clone(), &again);
    let mut report = live::replay(&mut stage, &question, &replay.schedule.join(" "))?;
    report.warnings.extend(stage.warnings());
    Ok(report)
}

/// Follows the schedule of a counterexample on a server, and adds to the report what came of it.
pub(crate) fn confirm(
    report: &mut Report,
    path: &Path,
    server: &Server,
    settings: &FileOptions,
) -> Result<(), Mistake> {
    if report.counterexample.is_none() {
        return Ok(());
    }
    let file = read(path)?;
    let settings = stage::settings(&file, settings.clone());
    let mut stage = put_on(&file, server, &settings, &Module::default())?;
    let question = question(&file, settings, &|schedule| schedule.to_string());
    let server = format!("PostgreSQL {}", stage.version().text);
    for counterexample in report.counterexamples_mut() {
        let there = live::replay(&mut stage, &question, &schedule(&counterexample.trace));
        let difference = match there {
            Ok(there) if there.counterexamples().any(|found| found.property == counterexample.property) => None,
            Ok(there) => Some(match there.counterexample {
                Some(found) => format!("{} is broken instead. {}", found.property, found.headline),
                None => "the same schedule breaks nothing there".into(),
            }),
            Err(Trouble::Usage(why)) => Some(format!("the schedule cannot be followed there: {why}")),
            Err(trouble) => return Err(trouble.into()),
        };
        let confirmed = difference.is_none();
        counterexample.confirmation = Some(Confirmation { server: server.clone(), confirmed, difference });
    }
    Ok(())
}

/// The schedule of a trace of the engine, as it is on a server: there, what has waited goes on by itself, and the
/// server finds who dies in a deadlock.
fn schedule(trace: &Trace) -> String {
    let steps = trace.steps.iter().filter(|step| !matches!(step.kind, StepKind::Resume | StepKind::Victim));
    steps.filter_map(|step| trace.threads.get(step.thread)).map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn read(path: &Path) -> Result<ScenarioFile, Mistake> {
    let file = input::read(path)?;
    Ok(file::read_texts(&file.name, &file.text, &mut input::include)?)
}

pub(crate) fn put_on(
    file: &ScenarioFile,
    server: &Server,
    settings: &FileOptions,
    module: &Module,
) -> Result<ScenarioStage, Mistake> {
    refuse_clock(!file.clock.is_empty())?;
    ScenarioStage::reading(&with_options(file, settings), server.settings(), module.clone()).map_err(Mistake::from)
}

fn with_options(file: &ScenarioFile, settings: &FileOptions) -> ScenarioFile {
    ScenarioFile { options: settings.clone(), ..file.clone() }
}

pub(crate) fn question<'q>(
    file: &ScenarioFile,
    settings: FileOptions,
    replay: &'q dyn Fn(&str) -> String,
) -> Question<'q> {
    let (invariants, finals) = checks(file);
    Question {
        command: args::command_line(),
        file: file.sources.name().to_string(),
        settings,
        invariants,
        finals,
        replay,
        clock: None,
    }
}

/// A file that lets time pass cannot run on a server.
pub(crate) fn refuse_clock(lets_time_pass: bool) -> Result<(), Mistake> {
    if !lets_time_pass {
        return Ok(());
    }
    Err(Mistake::Elsewhere {
        message: CLOCK_CANNOT_BE_SET.into(),
        hint: Some("run it on the embedded engine, without --on and --confirm".into()),
    })
}

/// Flags that mean nothing on a server.
pub(crate) fn refuse(explore: &Explore) -> Result<(), Mistake> {
    let given = [
        ("--dependence", explore.dependence.is_some()),
        ("--hash", explore.hash.is_some()),
        ("--restore", explore.restore.is_some()),
        ("--granularity", explore.granularity.is_some()),
        ("--checkpoint", explore.checkpoint.is_some()),
        ("--memory-max", explore.memory_max.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(Mistake::new(format!("{flag} is for the embedded engine, and does not go with --on"))),
        None => Ok(()),
    }
}
