//! `--emit-spec FILE`: a counterexample as a test for PostgreSQL's isolationtester. `--emit-scenario FILE`: an
//! application as a scenario.

use std::path::Path;

use isolde_report::Report;
use isolde_scenario::{file, spec};

use crate::args::Explore;
use crate::complain::Mistake;
use crate::{app, explore, input, output};

/// Writes the counterexample of a report about a scenario or an application. What to say about it.
pub(crate) fn spec(explore: &Explore, path: &Path, asked: &Path, report: &Report) -> Result<String, Mistake> {
    let name = path.display();
    let Some(counterexample) = &report.counterexample else {
        return Ok(format!("\nno spec: there is no counterexample to write to {name}"));
    };
    let (written, remark) = match app::is_app(asked) {
        true => from_app(explore, path, asked, &counterexample.schedule)?,
        false => {
            let file = input::read(asked)?;
            let sections = file::read(&file.name, &file.text, &mut input::include)?;
            let settings = explore::settings(explore).or(&sections.options);
            (spec::emit_as(&sections, &counterexample.schedule, &settings), format!("isolde spec {name}"))
        }
    };
    match written {
        Err(why) => Ok(format!("\n{name} is not written: {why}")),
        Ok(text) => output::write(path, &text).map(|()| format!("\nspec  {remark}")),
    }
}

/// The spec of an application's run, and how to run it.
fn from_app(
    explore: &Explore,
    path: &Path,
    asked: &Path,
    schedule: &str,
) -> Result<(Result<String, String>, String), Mistake> {
    let written = app::spec(explore, asked, schedule)?;
    let differs = match &written {
        Ok(written) if !written.same_end => " (it does not end with the same rows as the application)",
        _ => "",
    };
    let remark = format!("isolde spec {} --on URL{differs}", path.display());
    Ok((written.map(|written| written.text), remark))
}

/// Writes a scenario that was made from an application.
pub(crate) fn scenario(path: &Path, text: &str) -> Result<(), Mistake> {
    output::write(path, text)
}
