//! Checking a scenario on the embedded engine.

use isolde_report::{LevelCost, Place, Report, shell_word};

use crate::check::{self, Examined, OnProgress, Question};
use crate::checker::Finding;
use crate::checkpoint::Checkpoint;
use crate::file::{FileOptions, Granularity};
use crate::minimise;
use crate::scenario::Scenario;
use crate::search;
use crate::system::ScenarioSystem;
use crate::trouble::Trouble;

/// How to check a scenario.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What the user asks for; goes before what the file says. (`isolation` is a matter of the file alone.)
    pub settings: FileOptions,
    /// The command, as a user would type it; for the report.
    pub command: String,
    /// A clock in nanoseconds, if the report should say what took how long.
    pub clock: Option<fn() -> u64>,
}

/// An answer, and where to continue if a limit has stopped the search.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The answer.
    pub report: Report,
    /// What [`check_from`] continues with; only of the searches dpor and source.
    pub checkpoint: Option<Checkpoint>,
}

/// Checks all properties over all interleavings, as far as the limits allow.
pub fn check(scenario: &Scenario, options: &Options, progress: OnProgress<'_>) -> Report {
    check_from(scenario, options, progress, None).expect("a search that starts anew continues no other one").report
}

/// The same, with what the threads go through, if every interleaving was counted.
pub(crate) fn examined(
    scenario: &Scenario,
    options: &Options,
    progress: OnProgress<'_>,
) -> (Report, Option<LevelCost>) {
    let (checked, cost) =
        search_from(scenario, options, progress, None).expect("a search that starts anew continues no other one");
    (checked.report, cost)
}

/// The same, continuing where a search was stopped. The error is a sentence: the checkpoint is of something else.
pub fn check_from(
    scenario: &Scenario,
    options: &Options,
    progress: OnProgress<'_>,
    from: Option<&Checkpoint>,
) -> Result<Checked, String> {
    search_from(scenario, options, progress, from).map(|(checked, _)| checked)
}

fn search_from(
    scenario: &Scenario,
    options: &Options,
    progress: OnProgress<'_>,
    from: Option<&Checkpoint>,
) -> Result<(Checked, Option<LevelCost>), String> {
    let settings = options.settings.clone().or(scenario.options());
    let scenario = &scenario.clone().with_options(settings.clone());
    let system = ScenarioSystem::new(scenario, &settings);
    let start = options.clock.map(|clock| clock());
    let origin = from.map(|from| from.search(system, &settings)).transpose()?;
    let searched = check::searched(system, &settings, progress, options.clock, origin);
    let mut searched = searched.map_err(|mismatch| mismatch.to_string())?;
    if let Some(from) = from.filter(|_| !searched.instead) {
        from.add_to(&mut searched.warnings, &mut searched.skipped, &mut searched.endless);
    }
    let checkpoint = searched.left.take().map(|left| {
        let noted = (&searched.warnings, &searched.skipped, searched.endless.as_deref());
        Checkpoint::new(system, &settings, left).noting(noted.0, noted.1, noted.2)
    });
    searched.warnings.extend(search::warning(&searched.settings));
    searched.warnings.extend(scenario.order_warnings());
    let replay = |schedule: &str| replay_command(system, schedule, options);
    let answer = check::answer(system, &question(scenario, &settings, options, &replay), searched, start);
    let Examined { mut report, findings, cost, .. } = without_trouble(answer);
    for (shown, finding) in report.counterexamples_mut().zip(&findings) {
        shown.not_needed.statements = statements_not_needed(system, finding);
    }
    Ok((Checked { report, checkpoint }, cost))
}

/// Follows one schedule, and says what it breaks, if anything. The error is a sentence about the schedule.
pub fn replay_schedule(scenario: &Scenario, schedule: &str, options: &Options) -> Result<Report, String> {
    let settings = options.settings.clone().or(scenario.options());
    let scenario = &scenario.clone().with_options(settings.clone());
    let system = ScenarioSystem::new(scenario, &settings);
    let replay = |schedule: &str| replay_command(system, schedule, options);
    match check::replay_on(system, &question(scenario, &settings, options, &replay), schedule) {
        Err(Trouble::Usage(sentence)) => Err(sentence),
        report => Ok(without_trouble(report)),
    }
}

/// What comes of something on the embedded engine.
///
/// # Panics
/// If there is trouble. The engine is deterministic and always there, so then it or the search is wrong, and nothing it
/// says can be trusted.
pub(crate) fn without_trouble<T>(result: Result<T, Trouble>) -> T {
    result.unwrap_or_else(|trouble| panic!("the embedded engine shows the same each time: {trouble}"))
}

fn question<'q>(
    scenario: &Scenario,
    settings: &FileOptions,
    options: &Options,
    replay: &'q dyn Fn(&str) -> String,
) -> Question<'q> {
    Question {
        command: options.command.clone(),
        file: scenario.name().to_string(),
        settings: settings.clone(),
        replay,
        clock: options.clock,
    }
}

/// The places of statements that could be left out of the file, and the same would happen.
fn statements_not_needed(system: ScenarioSystem<'_>, shown: &Finding) -> Vec<Place> {
    let spans = minimise::statements_not_needed(system, shown).into_iter();
    spans.map(|span| crate::names::place(system.scenario, span)).collect()
}

fn replay_command(system: ScenarioSystem<'_>, schedule: &str, options: &Options) -> String {
    let atomic = if options.settings.atomic == Some(true) { " --atomic" } else { "" };
    let finer = options.settings.granularity.filter(|unit| *unit != Granularity::default());
    let granularity = finer.map_or(String::new(), |unit| format!(" --granularity {}", unit.name()));
    let oracle = options.settings.serial.map_or(String::new(), |degree| format!(" --oracle {}", degree.name()));
    let all = if options.settings.all == Some(true) { " --all" } else { "" };
    format!("isolde replay{atomic}{granularity}{oracle}{all} {} '{schedule}'", shell_word(system.scenario.name()))
}
