//! `isolde replay`: one schedule, step by step.

use isolde_scenario::file::FileOptions;
use isolde_scenario::{Options, Scenario, replay_schedule};

use crate::args::{self, Color, Replay};
use crate::complain::Mistake;
use crate::page::Page;
use crate::{app, input, on};

/// Runs the schedule, and says what to exit with.
pub(crate) fn run(replay: &Replay, color: Color) -> Result<u8, Mistake> {
    let mut page = Page::of(&replay.output, color)?;
    if app::is_app(&replay.file) {
        let report = app::replay(replay)?;
        page.answer(&report)?;
        return Ok(report.verdict.exit_code());
    }
    if let Some(server) = &replay.on {
        let report = on::replay(replay, server)?;
        page.answer(&report)?;
        return Ok(report.verdict.exit_code());
    }
    let file = input::read(&replay.file)?;
    let scenario = Scenario::parse(&file.name, &file.text, &mut input::include)?;
    let settings = FileOptions { atomic: replay.atomic.then_some(true), ..FileOptions::default() };
    let options = Options { settings, command: args::command_line(), clock: None };
    let report = replay_schedule(&scenario, &replay.schedule.join(" "), &options).map_err(Mistake::new)?;
    page.answer(&report)?;
    Ok(report.verdict.exit_code())
}
