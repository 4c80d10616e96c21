//! `isolde explore`: one answer for one file; a line for each of several, and how many of each kind.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use isolde_report::{Report, Stats, Verdict};
use isolde_scenario::file::FileOptions;
use isolde_scenario::{Options, Progress, Scenario};

use crate::args::{self, Color, Explore};
use crate::complain::Mistake;
use crate::emit;
use crate::fixes;
use crate::guard::{Guard, Held, Limits};
use crate::page::{self, Page};
use crate::picture::Picture;
use crate::watch::{self, Watch};
use crate::{EXIT_INCONCLUSIVE, EXIT_MISTAKE, app, input, kept, levels, memory, on, output, store};

/// Explores every file, and says what to exit with.
pub(crate) fn run(explore: &Explore, color: Color) -> Result<u8, Mistake> {
    if explore.levels {
        return levels::run(explore, color);
    }
    if explore.checkpoint.is_some() && explore.files.len() > 1 {
        return Err(Mistake::new("--checkpoint keeps the search of one file, and there are several"));
    }
    if explore.graph.is_some() && explore.files.len() > 1 {
        return Err(Mistake::new("--graph draws one scenario; give it a single file"));
    }
    if explore.emit_spec.is_some() && explore.files.len() > 1 {
        return Err(Mistake::new("--emit-spec writes one counterexample; give it a single file"));
    }
    if explore.store.is_some() && explore.files.len() > 1 {
        return Err(Mistake::new("--store keeps the states of one scenario; give it a single file"));
    }
    let page = Page::open(explore.output.format, explore.output.output.as_deref(), color)?;
    let page = page.with(&explore.html)?;
    let outputs = [&explore.emit_spec, &explore.emit_scenario, &explore.checkpoint, &explore.store];
    let outputs = outputs.into_iter().filter_map(|path| path.as_deref());
    outputs.chain(explore.graph.as_ref().map(Picture::path)).try_for_each(output::declare)?;
    // To write a fix over the file that it is for can be asked for.
    explore.fix.as_deref().filter(|_| !explore.overwrite).map_or(Ok(()), output::declare)?;
    let answers = Held::new(Answers { page, tally: Tally::default(), counted: explore.files.len() > 1 });
    for (number, file) in explore.files.iter().enumerate() {
        // A file that cannot be stopped ends the command, and those behind it are not looked at.
        let guard = || guard(explore, &explore.files[number..], &answers);
        let checked = match told(file, || check(explore, file, &guard)) {
            // Nothing was found out, and the reason is in no input.
            Err(Mistake::Fault(why)) => Ok(inconclusive(&file.display().to_string(), why)),
            checked => checked,
        };
        let mut now = answers.take();
        let page = &mut now.page;
        match checked {
            Ok(report) => {
                now.tally.count(report.verdict.exit_code());
                match explore.quiet || now.counted {
                    true => page.verdict(&report)?,
                    false => page.answer(&report)?,
                }
                if let Some(path) = &explore.emit_spec {
                    page.remark(&emit::spec(explore, path, file, &report)?)?;
                }
                if let Some(path) = &explore.store {
                    page.remark(&store::write(explore, path, file)?)?;
                }
                if let Some(remark) = explore.graph.as_ref().map_or(Ok(None), |picture| picture.write(&report))? {
                    page.remark(remark)?;
                }
            }
            Err(mistake) => {
                now.tally.count(EXIT_MISTAKE);
                page.mistaken(file, &mistake);
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

/// What was answered so far.
pub(crate) struct Answers {
    pub(crate) page: Page,
    pub(crate) tally: Tally,
    /// The files are counted at the end.
    pub(crate) counted: bool,
}

impl Answers {
    /// Writes what is left to be written, and says what to exit with.
    pub(crate) fn finish(mut self, quiet: bool) -> Result<u8, Mistake> {
        if self.counted && !quiet {
            self.page.remark(&self.tally.line())?;
        }
        self.page.finish()?;
        Ok(self.tally.exit_code())
    }
}

/// A guard over the check of the first of some files.
pub(crate) fn guard(explore: &Explore, files: &[PathBuf], answers: &Held<Answers>) -> Guard {
    let limits = Limits { time_max: explore.time_max, memory_max: explore.memory_max };
    let (quiet, files, answers) = (explore.quiet, files.to_vec(), answers.clone());
    Guard::post(limits, move |why| {
        let Some(mut answers) = answers.seize() else { return EXIT_INCONCLUSIVE };
        for (number, file) in files.iter().enumerate() {
            let why = if number == 0 { why.to_string() } else { "the check before did not end".into() };
            let report = inconclusive(&file.display().to_string(), why);
            answers.tally.count(report.verdict.exit_code());
            // If it cannot be written, the exit code still tells.
            let _ = answers.page.verdict(&report);
        }
        answers.finish(quiet).unwrap_or_else(|mistake| mistake.exit_code())
    })
}

/// The report of a file; if we have made a mistake there, a report that says so, and the other files are checked.
pub(crate) fn told(path: &Path, check: impl FnOnce() -> Result<Report, Mistake>) -> Result<Report, Mistake> {
    catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Ok(inconclusive(&path.display().to_string(), format!("a bug in Isolde ended the check: {said}")))
    })
}

/// The report of a file that could not be searched at all.
fn inconclusive(name: &str, why: String) -> Report {
    Report::new(args::command_line(), name, Verdict::Inconclusive(why), Stats::default())
}

/// Reads and explores one file. On the embedded engine, under a guard; a server has its own deadlines, and something
/// to clean up.
fn check(explore: &Explore, path: &Path, guard: &dyn Fn() -> Guard) -> Result<Report, Mistake> {
    if app::is_app(path) {
        return app::check(explore, path);
    }
    if let Some(server) = &explore.on {
        return on::check(explore, path, server);
    }
    if explore.reads.is_some() {
        return Err(Mistake::new("--reads is about servers, and goes with --on"));
    }
    let file = input::read(path)?;
    let mut watch = Watch::start(&file.name, explore.time_max, !explore.no_progress).limited(explore.memory_max);
    let guard = guard();
    guard.budget().begin("reading");
    let scenario = match Scenario::parse(&file.name, &file.text, &mut input::include) {
        Err(error) if error.is_cut() => return Ok(inconclusive(&file.name, error.to_string())),
        parsed => parsed?,
    };
    on::refuse_clock(explore.confirm.is_some() && scenario.lets_time_pass())?;
    guard.budget().begin("the search");
    let settings = settings(explore);
    let all = settings.clone().or(scenario.options());
    if let Some(conflict) = isolde_scenario::conflict(&all) {
        return Err(Mistake::new(conflict));
    }
    if explore.checkpoint.is_some() && !isolde_scenario::is_resumable(&all) {
        return Err(Mistake::new("--checkpoint goes with the searches dpor and source"));
    }
    let clock = explore.stats.then_some(watch::nanoseconds as fn() -> u64);
    let options = Options { settings, command: args::command_line(), clock };
    let mut from = kept::read(explore)?;
    let mut report = loop {
        let mut pause = kept::Pause::new(explore);
        let mut look = |progress: &Progress| match watch.look(progress) {
            ControlFlow::Continue(()) => pause.look(),
            stop => stop,
        };
        let checked =
            isolde_scenario::check_from(&scenario, &options, &mut look, from.as_ref()).map_err(Mistake::new)?;
        match kept::write(explore, checked, pause.is_over())? {
            Ok(report) => break report,
            Err(checkpoint) => from = Some(checkpoint),
        }
    };
    if fixes::wanted(explore) {
        guard.budget().begin("fixes");
        fixes::add(explore, &scenario, &mut report, &options, &mut |progress| watch.look(progress))?;
    }
    drop(guard);
    if let Some(server) = &explore.confirm {
        on::confirm(&mut report, path, server, &options.settings)?;
    }
    if let Some(details) = &mut report.stats.details {
        details.memory_bytes = memory::peak();
    }
    Ok(report)
}

/// What the flags say; where they say nothing, the file may.
pub(crate) fn settings(explore: &Explore) -> FileOptions {
    FileOptions {
        search: explore.search,
        dependence: explore.dependence,
        hash: explore.hash,
        restore: explore.restore,
        jobs: Some(explore.jobs.unwrap_or_else(processors)),
        granularity: explore.granularity,
        serial: explore.oracle,
        atomic: explore.atomic.then_some(true),
        seed: explore.seed,
        runs: explore.runs,
        bug_depth: explore.bug_depth,
        preemptions: explore.preemptions,
        states_max: explore.states_max,
        depth_max: explore.depth_max,
        all: explore.all.then_some(true),
        ..FileOptions::default()
    }
}

/// How many can work at once.
fn processors() -> u64 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u64)
}

/// How many files came out how.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    holds: usize,
    violated: usize,
    inconclusive: usize,
    mistakes: usize,
}

impl Tally {
    pub(crate) fn count(&mut self, exit_code: u8) {
        match exit_code {
            0 => self.holds += 1,
            1 => self.violated += 1,
            EXIT_MISTAKE => self.mistakes += 1,
            _ => self.inconclusive += 1,
        }
    }

    /// The most pressing of all: a mistake, then a violation, then what is not known.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Tally { mistakes: 1.., .. } => EXIT_MISTAKE,
            Tally { violated: 1.., .. } => Verdict::Violated.exit_code(),
            Tally { inconclusive: 1.., .. } => Verdict::Inconclusive(String::new()).exit_code(),
            _ => Verdict::Holds.exit_code(),
        }
    }

    /// `3 files: 1 holds, 2 violated`
    fn line(&self) -> String {
        let Tally { holds, violated, inconclusive, mistakes } = *self;
        let parts = [
            (holds, if holds == 1 { "holds" } else { "hold" }),
            (violated, "violated"),
            (inconclusive, "inconclusive"),
            (mistakes, if mistakes == 1 { "has a mistake" } else { "have mistakes" }),
        ];
        let named: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        format!("\n{} files: {}", holds + violated + inconclusive + mistakes, named.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_is_told_of_its_file() {
        let report = told(Path::new("bank.sql"), || panic!("an index is gone"));
        let report = report.unwrap_or_else(|_| panic!("a bug is no mistake of the user"));
        assert_eq!((report.verdict.exit_code(), &*report.file), (3, "bank.sql"));
        assert!(matches!(report.verdict, Verdict::Inconclusive(why) if why.ends_with("an index is gone")));
    }

    #[test]
    fn the_most_pressing_exit_code_wins() {
        let code = |codes: &[u8]| {
            let mut tally = Tally::default();
            codes.iter().for_each(|code| tally.count(*code));
            tally.exit_code()
        };
        assert_eq!(code(&[0, 0]), 0);
        assert_eq!(code(&[0, 3]), 3);
        assert_eq!(code(&[3, 1, 0]), 1);
        assert_eq!(code(&[3, 1, 2, 0]), 2);
    }
}
