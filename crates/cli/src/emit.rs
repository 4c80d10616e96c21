//! `--emit-spec FILE`: a counterexample as a test for PostgreSQL's isolationtester. `--emit-scenario FILE`: an application as a
//! scenario.

use std::path::Path;

use isolde_report::Report;
use isolde_scenario::{file, spec};

use crate::complain::Mistake;
use crate::{app, input};

/// Writes the counterexample of a report about a scenario. What to say about it.
pub(crate) fn spec(path: &Path, scenario: &Path, report: &Report) -> Result<String, Mistake> {
    let name = path.display();
    let Some(counterexample) = &report.counterexample else {
        return Ok(format!("\nno spec: there is no counterexample to write to {name}"));
    };
    if app::is_app(scenario) {
        let hint = "write a scenario with --emit-scenario, and a spec from that";
        return Ok(format!("\n{name} is not written: an application has no statements of its own; {hint}"));
    }
    let file = input::read(scenario)?;
    let sections = file::read(&file.name, &file.text, &mut input::include)?;
    match spec::emit(&sections, &counterexample.schedule) {
        Err(why) => Ok(format!("\n{name} is not written: {why}")),
        Ok(text) => match std::fs::write(path, text) {
            Ok(()) => Ok(format!("\nspec  isolde spec {name}")),
            Err(error) => Err(Mistake::new(format!("{name} cannot be written: {error}"))),
        },
    }
}

/// Writes a scenario that was made from an application.
pub(crate) fn scenario(path: &Path, text: &str) -> Result<(), Mistake> {
    std::fs::write(path, text).map_err(|error| Mistake::new(format!("{} cannot be written: {error}", path.display())))
}
