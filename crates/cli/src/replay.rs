//! `isolde replay`: one schedule, step by step.

use isolde_report::{Report, Stats, Verdict};
use isolde_scenario::file::FileOptions;
use isolde_scenario::{Options, Scenario, replay_schedule};

use crate::args::{self, Color, Replay};
use crate::complain::Mistake;
use crate::guard::{Guard, Held};
use crate::page::Page;
use crate::{EXIT_INCONCLUSIVE, app, input, on};

/// Runs the schedule, and says what to exit with.
pub(crate) fn run(replay: &Replay, color: Color) -> Result<u8, Mistake> {
    let page = Held::new(Page::of(&replay.output, color)?.with(&replay.html)?);
    let report = follow(replay, &page)?;
    answered(page.take(), &report)
}

fn answered(mut page: Page, report: &Report) -> Result<u8, Mistake> {
    page.answer(report)?;
    page.finish()?;
    Ok(report.verdict.exit_code())
}

/// The report of a file that could not be replayed.
fn inconclusive(name: &str, why: &str) -> Report {
    Report::new(args::command_line(), name, Verdict::Inconclusive(why.into()), Stats::default())
}

/// Reads the file and follows the schedule, wherever it is to run.
fn follow(replay: &Replay, page: &Held<Page>) -> Result<Report, Mistake> {
    if app::is_app(&replay.file) {
        return app::replay(replay);
    }
    if let Some(server) = &replay.on {
        return on::replay(replay, server);
    }
    let file = input::read(&replay.file)?;
    let (page, name) = (page.clone(), file.name.clone());
    let guard = Guard::post(replay.limits, move |why| match page.seize() {
        Some(page) => answered(page, &inconclusive(&name, why)).unwrap_or_else(|mistake| mistake.exit_code()),
        None => EXIT_INCONCLUSIVE,
    });
    guard.budget().begin("reading");
    let scenario = match Scenario::parse(&file.name, &file.text, &mut input::include) {
        Err(error) if error.is_cut() => return Ok(inconclusive(&file.name, &error.to_string())),
        parsed => parsed?,
    };
    guard.budget().begin("the schedule");
    let settings = FileOptions {
        atomic: replay.atomic.then_some(true),
        granularity: replay.granularity,
        serial: replay.oracle,
        all: replay.all.then_some(true),
        ..FileOptions::default()
    };
    let options = Options { settings, command: args::command_line(), clock: None };
    replay_schedule(&scenario, &replay.schedule.join(" "), &options).map_err(Mistake::new)
}
