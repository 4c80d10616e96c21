//! Fixes for what `isolde explore` found: tried, put into the answer, and written to a file on request.

use std::path::Path;

use isolde_report::{Counterexample, FixVerdict, Report};
use isolde_scenario::file::Included;
use isolde_scenario::fix::{self, Tried};
use isolde_scenario::{OnProgress, Options, Scenario};

use crate::args::{CheckFormat, Explore};
use crate::complain::Mistake;
use crate::{input, output};

/// Whether somebody will read of fixes: an answer of one line has no place for them.
pub(crate) fn wanted(explore: &Explore) -> bool {
    let short = explore.quiet || explore.files.len() > 1;
    let told = !short || explore.output.format != CheckFormat::Text;
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
    let found: Vec<Counterexample> = report.counterexamples().take(MENDED_MAX).cloned().collect();
    let all = found.iter().map(|found| fix::try_fixes_of(found, scenario, report, options, progress));
    let all: Vec<Vec<Tried>> = all.collect();
    put(explore, scenario, report, all)
}

/// Findings for which fixes are tried, at most: what holds mends all of them.
const MENDED_MAX: usize = 6;

/// Fixes that are tried on a server, at most: each is a search of its own.
const ON_SERVER_MAX: usize = 8;

/// The same for a violation that was found on a server. What might help is found on the embedded engine, if that
/// understands the file and sees a violation, too; what holds there must hold on the server as well, where `judge`
/// tries it.
pub(crate) fn add_on(
    explore: &Explore,
    file: &Included,
    report: &mut Report,
    options: &Options,
    progress: OnProgress<'_>,
    judge: &mut dyn FnMut(&[Included]) -> Result<FixVerdict, Mistake>,
) -> Result<(), Mistake> {
    if report.counterexample.is_none() {
        return Ok(());
    }
    let Ok(scenario) = Scenario::parse(&file.name, &file.text, &mut input::include) else {
        report
            .warnings
            .push("no fixes are tried: the embedded engine, which looks for them, does not understand the file".into());
        return Ok(());
    };
    let there = isolde_scenario::check(&scenario, options, progress);
    let mut all = Vec::new();
    // Different findings often have the same fixes.
    let mut known: Vec<(Vec<String>, FixVerdict)> = Vec::new();
    let mut judge = |files: &[Included]| {
        let texts: Vec<String> = files.iter().map(|file| file.text.clone()).collect();
        if let Some((_, verdict)) = known.iter().find(|(known, _)| *known == texts) {
            return Ok(verdict.clone());
        }
        let verdict = judge(files)?;
        known.push((texts, verdict.clone()));
        Ok(verdict)
    };
    for found in report.counterexamples().take(MENDED_MAX) {
        // The same finding, if the engine sees it, too; or else what it sees.
        let same = there.counterexamples().find(|one| one.title() == found.title()).or(there.counterexample.as_ref());
        let Some(same) = same else { continue };
        let mut tried = fix::try_fixes_of(same, &scenario, &there, options, progress);
        judge_on(&mut tried, &mut judge)?;
        all.push(tried);
    }
    put(explore, &scenario, report, all)
}

/// What holds on the engine is tried on a server.
fn judge_on(
    tried: &mut [Tried],
    judge: &mut dyn FnMut(&[Included]) -> Result<FixVerdict, Mistake>,
) -> Result<(), Mistake> {
    let holds = |tried: &&mut Tried| tried.fix.verdict == FixVerdict::Holds || tried.beyond_engine;
    tried.sort_by_key(|tried| !tried.beyond_engine);
    let holding = tried.iter_mut().filter(holds);
    for (number, tried) in holding.enumerate() {
        tried.fix.verdict = match number < ON_SERVER_MAX {
            true => match judge(&tried.files) {
                // An extension that is not there is no mistake of the user's.
                Err(_) if tried.beyond_engine => FixVerdict::Undecided("the server refuses it".into()),
                verdict => verdict?,
            },
            false => FixVerdict::Undecided("holds on the embedded engine, not tried on the server".into()),
        };
    }
    tried.sort_by_key(|tried| tried.fix.verdict != FixVerdict::Holds);
    Ok(())
}

/// Puts what was tried for each finding into the report, and writes the best of the first that has one.
fn put(explore: &Explore, scenario: &Scenario, report: &mut Report, all: Vec<Vec<Tried>>) -> Result<(), Mistake> {
    if let (Some(path), true) = (&explore.fix, report.counterexample.is_some()) {
        let tried: Vec<Tried> = all.iter().flatten().cloned().collect();
        write(path, explore.overwrite, &tried, scenario, report)?;
    }
    let more = report.counterexamples().count().saturating_sub(all.len());
    if more > 0 && !all.is_empty() {
        report.warnings.push(format!("fixes are tried for the first {} findings only", all.len()));
    }
    for (counterexample, tried) in report.counterexamples_mut().zip(all) {
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
    if !overwrite && path.exists() {
        return Err(Mistake::Elsewhere {
            message: format!("{name} exists already"),
            hint: Some("name another file, or add --overwrite".into()),
        });
    }
    // Over the file that it is for, if that was asked for.
    if overwrite { output::replace(path, &file.text) } else { output::write(path, &file.text) }
}
