//! Fixes for what `isolde explore` found: tried, put into the answer, and written to a file on request.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use isolde_report::{FixVerdict, Report};
use isolde_scenario::fix::{self, Tried};
use isolde_scenario::{OnProgress, Options, Scenario};

use crate::args::{Explore, Format};
use crate::complain::Mistake;

/// Whether somebody will read of fixes: an answer of one line has no place for them.
pub(crate) fn wanted(explore: &Explore) -> bool {
    let short = explore.quiet || explore.files.len() > 1;
    let told = !short || explore.output.format == Format::Json;
    !explore.no_fixes && (told || explore.fix.is_some())
}

/// Tries fixes for a violation, and writes the best one where `--fix` says.
pub(crate) fn add(
    explore: &Explore,
    scenario: &Scenario,
    report: &mut Report,
    options: &Options,
    progress: OnProgress<'_>,
) -> Result<(), Mistake> {
    let tried = fix::try_fixes(scenario, report, options, progress);
    if let (Some(path), true) = (&explore.fix, report.counterexample.is_some()) {
        write(path, explore.overwrite, &tried, scenario, report)?;
    }
    if let Some(counterexample) = &mut report.counterexample {
        counterexample.fixes = tried.into_iter().map(|tried| tried.fix).collect();
    }
    Ok(())
}

/// Writes the file with the best fix.
fn write(
    path: &Path,
    overwrite: bool,
    tried: &[Tried],
    scenario: &Scenario,
    report: &mut Report,
) -> Result<(), Mistake> {
    let name = path.display();
    let Some(best) = tried.iter().find(|tried| tried.fix.verdict == FixVerdict::Holds) else {
        report.warnings.push(format!("{name} is not written: no fix that was tried holds"));
        return Ok(());
    };
    let texts = scenario.sources().files().map(|(_, _, text)| text);
    if let Some((included, _)) = best.files.iter().zip(texts).skip(1).find(|(file, text)| file.text != *text) {
        let changed = &included.name;
        report
            .warnings
            .push(format!("{name} is not written: the best fix also changes {changed}; its patch is in json"));
        return Ok(());
    }
    let Some(file) = best.files.first() else { return Ok(()) };
    let mut open = OpenOptions::new();
    open.write(true).create(true).truncate(true).create_new(!overwrite);
    let written = open.open(path).and_then(|mut to| to.write_all(file.text.as_bytes()));
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Mistake::Elsewhere {
            message: format!("{name} exists already"),
            hint: Some("name another file, or add --overwrite".into()),
        },
        _ => Mistake::new(format!("{name} cannot be written: {error}")),
    })
}
