//! `isolde explore app.toml` and `isolde replay app.toml`: real applications, on a real server.

use std::path::{Path, PathBuf};

use isolde_postgres::app::{AppFile, Inquiry, Written};
use isolde_postgres::reads::Module;
use isolde_report::Report;
use isolde_scenario::file::FileOptions;
use isolde_wire::Settings;

use crate::args::{self, Explore, Replay};
use crate::complain::Mistake;
use crate::server::Server;
use crate::watch::{self, Watch};
use crate::{emit, explore, fixes, input};

/// Whether a path names an application rather than a scenario.
pub(crate) fn is_app(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

/// Reads and explores an application.
pub(crate) fn check(explore: &Explore, path: &Path) -> Result<Report, Mistake> {
    let (name, app) = read(path)?;
    let mut watch = Watch::start(&name, explore.time_max, !explore.no_progress);
    let asked = inquiry(path, name, &app, explore.on.as_ref())?;
    let inquiry = Inquiry {
        server: asked.server.with_patience(watch.patience()),
        settings: explore::settings(explore),
        module: explore.reads.clone().unwrap_or_default(),
        fixes: fixes::wanted(explore),
        clock: explore.stats.then_some(watch::nanoseconds as fn() -> u64),
        ..asked
    };
    let report = inquiry.check(&mut |progress| watch.look(progress))?;
    if let Some(to) = &explore.emit_scenario {
        emit::scenario(to, &inquiry.scenario()?)?;
    }
    Ok(report)
}

/// The run of a schedule of an application as an isolation spec. The inner error says why it cannot be written.
pub(crate) fn spec(explore: &Explore, path: &Path, schedule: &str) -> Result<Result<Written, String>, Mistake> {
    let (name, app) = read(path)?;
    Ok(inquiry(path, name, &app, explore.on.as_ref())?.spec(schedule)?)
}

/// Reads an application and follows one schedule.
pub(crate) fn replay(replay: &Replay) -> Result<Report, Mistake> {
    let (name, app) = read(&replay.file)?;
    let settings = FileOptions { serial: replay.oracle, all: replay.all.then_some(true), ..FileOptions::default() };
    let inquiry = Inquiry { settings, ..inquiry(&replay.file, name, &app, replay.on.as_ref())? };
    Ok(inquiry.replay(&replay.schedule.join(" "))?)
}

fn read(path: &Path) -> Result<(String, AppFile), Mistake> {
    let file = input::read(path)?;
    let app = AppFile::parse(&file.name, &file.text)?;
    Ok((file.name, app))
}

fn inquiry<'a>(path: &Path, name: String, app: &'a AppFile, on: Option<&Server>) -> Result<Inquiry<'a>, Mistake> {
    let given = || Settings::parse(&app.database.url, |variable| std::env::var(variable).ok()).map_err(Mistake::new);
    let server = on.map_or_else(given, |server| Ok(server.settings().clone()))?;
    let directory =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).map_or(PathBuf::from("."), Path::to_path_buf);
    Ok(Inquiry {
        app,
        server: server.with_patience(watch::patience(None)),
        directory,
        command: args::command_line(),
        file: name,
        settings: FileOptions::default(),
        module: Module::default(),
        fixes: false,
        clock: None,
    })
}
