//! `isolde replay`: one schedule, step by step.

use isolde_report::Report;
use isolde_scenario::file::FileOptions;
use isolde_scenario::{Options, Scenario, replay_schedule};

use crate::args::{self, Color, Replay};
use crate::complain::Mistake;
use crate::page::Page;
use crate::{app, input, on};

/// Runs the schedule, and says what to exit with.
pub(crate) fn run(replay: &Replay, color: Color) -> Result<u8, Mistake> {
    let mut page = Page::of(&replay.output, color)?.with(&replay.html)?;
    let report = follow(replay)?;
    page.answer(&report)?;
    page.finish()?;
    Ok(report.verdict.exit_code())
}

/// Reads the file and follows the schedule, wherever it is to run.
fn follow(replay: &Replay) -> Result<Report, Mistake> {
    if app::is_app(&replay.file) {
        return app::replay(replay);
    }
    if let Some(server) = &replay.on {
        return on::replay(replay, server);
    }
    let file = input::read(&replay.file)?;
    let scenario = Scenario::parse(&file.name, &file.text, &mut input::include)?;
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
