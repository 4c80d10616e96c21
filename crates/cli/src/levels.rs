//! `isolde explore --levels`: the verdict of a scenario at each isolation level.

use std::ops::ControlFlow;
use std::path::Path;

use isolde_postgres::live;
use isolde_report::LevelsReport;
use isolde_scenario::file::{self, Include, Included, Loader};
use isolde_scenario::fix::levels::{self, Answered};
use isolde_scenario::{Limit, Options, Progress, Scenario, ScenarioError};

use crate::args::{self, CheckFormat, Color, Explore};
use crate::complain::Mistake;
use crate::explore::{self, Answers, Tally};
use crate::guard::{Guard, Held};
use crate::page::{self, Page};
use crate::server::Server;
use crate::watch::{self, Watch};
use crate::{EXIT_MISTAKE, app, input, on};

/// Asks about every file, and says what to exit with: the verdicts of the files as they are written.
pub(crate) fn run(explore: &Explore, color: Color) -> Result<u8, Mistake> {
    if matches!(explore.output.format, CheckFormat::Sarif | CheckFormat::Junit) {
        return Err(Mistake::new("--levels has no form for sarif and junit; use text or json"));
    }
    let page = Page::open(explore.output.format, explore.output.output.as_deref(), color)?;
    let page = page.with(&explore.html)?;
    let answers = Held::new(Answers { page, tally: Tally::default(), counted: false });
    for (number, file) in explore.files.iter().enumerate() {
        let guard = || explore::guard(explore, &explore.files[number..], &answers);
        let checked = check(explore, file, &guard);
        let mut now = answers.take();
        match checked {
            Ok(report) => {
                now.tally.count(report.verdict.exit_code());
                if number > 0 {
                    now.page.remark("")?;
                }
                now.page.levels(&report)?;
            }
            Err(mistake) => {
                now.tally.count(EXIT_MISTAKE);
                now.page.mistaken(file, &mistake);
                page::complain(&mistake, color);
            }
        }
        answers.put(now);
        if watch::interrupted() {
            break;
        }
    }
    answers.take().finish(explore.quiet)
}

fn check(explore: &Explore, path: &Path, guard: &dyn Fn() -> Guard) -> Result<LevelsReport, Mistake> {
    if app::is_app(path) {
        return Err(Mistake::new(
            "--levels is for scenarios: an application sets the levels of its transactions itself",
        ));
    }
    let given = input::read(path)?;
    if Path::new(&given.name).extension().is_some_and(|ending| ending == "spec") {
        return Err(Mistake::new(
            "--levels is for scenarios (.sql): an isolation spec has no threads whose level can be replaced",
        ));
    }
    match &explore.on {
        Some(server) => on_server(explore, &given, server),
        None => on_engine(explore, &given, &guard()),
    }
}

fn on_engine(explore: &Explore, given: &Included, guard: &Guard) -> Result<LevelsReport, Mistake> {
    if explore.reads.is_some() {
        return Err(Mistake::new("--reads is about servers, and goes with --on"));
    }
    let mut watch = Watch::start(&given.name, explore.time_max, !explore.no_progress).limited(explore.memory_max);
    guard.budget().begin("reading");
    let file = file::read(&given.name, &given.text, &mut input::include)?;
    let options = Options { settings: explore::settings(explore), command: args::command_line(), clock: None };
    if let Some(conflict) = isolde_scenario::conflict(&options.settings.clone().or(&file.options)) {
        return Err(Mistake::new(conflict));
    }
    levels::at_each_level(&file, &options.command, &mut |files| {
        guard.budget().begin("the search");
        answered(files, || {
            let scenario = match again(files, Scenario::parse) {
                Err(error) if error.is_cut() => return Ok(Answered::undecided(&given.name, error.to_string())),
                parsed => parsed?,
            };
            Ok(levels::ask(&scenario, &options, &mut |progress| watch.look(progress)))
        })
    })
}

fn on_server(explore: &Explore, given: &Included, server: &Server) -> Result<LevelsReport, Mistake> {
    on::refuse(explore)?;
    let mut watch = Watch::start(&given.name, explore.time_max, !explore.no_progress);
    let server = &server.watched(&watch);
    let file = file::read_texts(&given.name, &given.text, &mut input::include)?;
    let module = explore.reads.clone().unwrap_or_default();
    levels::at_each_level(&file, &args::command_line(), &mut |files| {
        answered(files, || {
            let file = again(files, file::read_texts)?;
            let settings = isolde_postgres::stage::settings(&file, explore::settings(explore));
            let mut stage = on::put_on(&file, server, &settings, &module)?;
            let question = on::question(&file, settings, &|schedule| schedule.to_string());
            let mut look = |progress: &Progress| match watch::interrupted() {
                true => ControlFlow::Break(Limit::Interrupt),
                false => watch.look(progress),
            };
            let examined = live::check_all(&mut stage, &question, &mut look)?;
            let mut report = examined.report;
            report.warnings.extend(stage.warnings());
            Ok(Answered { report, cost: examined.cost })
        })
    })
}

/// The answer about one row. What fails for a reason that is in no input, or because of a bug of ours, leaves that row
/// undecided.
fn answered(files: &[Included], ask: impl FnOnce() -> Result<Answered, Mistake>) -> Result<Answered, Mistake> {
    let name = files.first().map_or("", |file| &file.name);
    let mut cost = None;
    let report = explore::told(Path::new(name), || {
        let answered = ask()?;
        cost = answered.cost;
        Ok(answered.report)
    });
    match report {
        Err(Mistake::Fault(why)) => Ok(Answered::undecided(name, why)),
        report => Ok(Answered { report: report?, cost }),
    }
}

/// Reads files once more that were changed: what the first one includes is asked for in the order in which it was read
/// first.
pub(crate) fn again<T>(
    files: &[Included],
    read: impl FnOnce(&str, &str, Loader<'_>) -> Result<T, ScenarioError>,
) -> Result<T, ScenarioError> {
    let (first, included) = files.split_first().expect("a scenario has a file of its own");
    let mut included = included.iter();
    read(&first.name, &first.text, &mut |include: Include<'_>| {
        included.next().cloned().ok_or_else(|| format!("{} was not included before", include.path))
    })
}
