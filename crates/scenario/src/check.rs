//! The whole job: search, judge, replay what was found, and report.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use isolde_engine::{Outcome, is_endless};
use isolde_explore::{Done, Limit, Progress, Schedule, Summary, System, Visit, Visitor, replay};
use isolde_report::{
    Counterexample, NotNeeded, Place, PropertyResult, PropertyStatus, Report, Stats, Verdict, shell_word,
};

use crate::checkpoint::Checkpoint;
use crate::client::{Reaction, Status};
use crate::file::{FileOptions, Granularity, SearchKind};
use crate::minimise::{self, absent, minimise};
use crate::oracle::Oracle;
use crate::property::{At, PROPERTIES, Property, Violation};
use crate::scenario::Scenario;
use crate::search::{self, RUN_STEPS_MAX};
use crate::system::{Choice, Event, ScenarioSystem, State};
use crate::threads::ThreadSet;
use crate::trace::Run;

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

/// Called now and then during a search; a `Break` ends it and names the reason.
pub type OnProgress<'a> = &'a mut (dyn FnMut(&Progress) -> ControlFlow<Limit> + Send);

/// An answer, and where to go on if a limit has stopped the search.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The answer.
    pub report: Report,
    /// What [`check_from`] goes on with; only of the searches dpor and source.
    pub checkpoint: Option<Checkpoint>,
}

/// Checks all properties over all interleavings, as far as the limits allow.
pub fn check(scenario: &Scenario, options: &Options, progress: OnProgress<'_>) -> Report {
    check_from(scenario, options, progress, None).expect("a search that starts anew goes on with no other one").report
}

/// The same, going on where a search was stopped. The error is a sentence: the checkpoint is of something else.
pub fn check_from(
    scenario: &Scenario,
    options: &Options,
    progress: OnProgress<'_>,
    from: Option<&Checkpoint>,
) -> Result<Checked, String> {
    let settings = options.settings.clone().or(scenario.options());
    let scenario = &scenario.clone().with_options(settings.clone());
    let system = ScenarioSystem::new(scenario, &settings);
    let start = options.clock.map(|clock| clock());
    let searched = searched_from(system, &settings, progress, options.clock, from)?;
    let took = options.clock.zip(start).map(|(clock, start)| clock().saturating_sub(start) / 1_000_000);
    let verdict = searched.verdict();
    let stats = Stats { elapsed_ms: took, ..searched.stats(options.clock.is_some()) };
    let Searched { found, warnings, skipped, checkpoint, .. } = searched;
    let found = found.map(|finding| minimise(system, finding));
    let mut report = Report::new(&options.command, scenario.name(), verdict, stats);
    report.properties = property_results(scenario, &report.verdict, found.as_ref(), &skipped);
    report.warnings = warnings.into_iter().collect();
    report.counterexample = found.map(|finding| {
        let mut shown = counterexample(system, finding.clone(), options);
        shown.not_needed.statements = statements_not_needed(system, &finding);
        shown
    });
    Ok(Checked { report, checkpoint })
}

/// Follows one schedule, and says what it breaks, if anything. The error is a sentence about the schedule.
pub fn replay_schedule(scenario: &Scenario, schedule: &str, options: &Options) -> Result<Report, String> {
    let settings = options.settings.clone().or(scenario.options());
    let scenario = &scenario.clone().with_options(settings.clone());
    let system = ScenarioSystem::new(scenario, &settings);
    let schedule = Schedule::parse(&system, schedule).map_err(|e| e.to_string())?;
    let mut checker = Checker::new(system, |_: &Progress| ControlFlow::Continue(()));
    let summary = replay(&system, &schedule, &mut checker).map_err(|e| e.describe(&system))?;
    let schedule = checker.found.map_or(schedule, |finding| finding.schedule);
    // Threads that take no step are not there. So the others may have come to their end, and that can be judged.
    let end = follow(system, &schedule).end;
    let system = ScenarioSystem { absent: absent(&schedule, &end), ..system };
    let mut checker = Checker::new(system, |_: &Progress| ControlFlow::Continue(()));
    let replayed = replay(&system, &schedule, &mut checker);
    assert!(replayed.is_ok(), "threads that do not act are in nobody's way");
    let Checker { found, warnings, skipped, .. } = checker;
    let verdict = match found {
        Some(_) => Verdict::Violated,
        None => Verdict::Inconclusive("this schedule breaks nothing; there are others".into()),
    };
    let stats = search::stats(&summary, &FileOptions { search: Some(SearchKind::Stateful), ..settings }, false);
    let stats = Stats { search: "replay".into(), complete: false, ..stats };
    let mut report = Report::new(&options.command, scenario.name(), verdict, stats);
    report.properties = property_results(scenario, &report.verdict, found.as_ref(), &skipped);
    report.warnings = warnings.into_iter().collect();
    match found {
        Some(finding) => report.counterexample = Some(counterexample(system, finding, options)),
        None => report.trace = Some(follow(system, &schedule).trace()),
    }
    Ok(report)
}

/// What a search has seen of a scenario, before any of it is replayed or explained.
pub(crate) struct Searched {
    pub(crate) summary: Summary,
    /// How it was searched in the end.
    pub(crate) settings: FileOptions,
    /// Different ends seen, if they were counted.
    pub(crate) outcomes: Option<usize>,
    pub(crate) found: Option<Finding>,
    pub(crate) warnings: BTreeSet<String>,
    /// Names of properties that could not be decided somewhere.
    pub(crate) skipped: BTreeSet<String>,
    /// A thread that computes without end, in a sentence.
    pub(crate) endless: Option<String>,
    pub(crate) effort: Effort,
    /// Where to go on.
    checkpoint: Option<Checkpoint>,
}

impl Searched {
    /// What follows for the scenario.
    pub(crate) fn verdict(&self) -> Verdict {
        match (&self.found, &self.endless) {
            (Some(_), _) => Verdict::Violated,
            (None, Some(endless)) => Verdict::Inconclusive(endless.clone()),
            (None, None) => search::verdict_without_finding(&self.summary, &self.settings, self.outcomes),
        }
    }

    /// Its numbers; with what took how long, if that was measured.
    fn stats(&self, measured: bool) -> Stats {
        search::stats(&self.summary, &self.settings, measured)
    }
}

/// Searches for a violation of any property.
pub(crate) fn searched(system: ScenarioSystem<'_>, settings: &FileOptions, progress: OnProgress<'_>) -> Searched {
    let searched = searched_from(system, settings, progress, None, None);
    searched.expect("a search that starts anew goes on with no other one")
}

/// The same by a clock, going on where a search was stopped.
fn searched_from(
    system: ScenarioSystem<'_>,
    settings: &FileOptions,
    progress: OnProgress<'_>,
    clock: Option<fn() -> u64>,
    from: Option<&Checkpoint>,
) -> Result<Searched, String> {
    let origin = from.map(|from| from.search(system, settings)).transpose()?;
    let (summary, seen, left) = look(system, settings, progress, clock, origin)?;
    if seen.too_long {
        let dependence = Some(system.dependence);
        let settings = FileOptions { search: Some(SearchKind::Stateful), dependence, ..settings.clone() };
        return searched_from(ScenarioSystem::new(system.scenario, &settings), &settings, progress, clock, None);
    }
    Ok(seen.searched(system, settings, summary, left, from))
}

/// Searches, with several checkers if there are several jobs.
fn look(
    system: ScenarioSystem<'_>,
    settings: &FileOptions,
    progress: OnProgress<'_>,
    clock: Option<fn() -> u64>,
    from: Option<&isolde_explore::Checkpoint>,
) -> Result<(Summary, Seen, Option<isolde_explore::Checkpoint>), String> {
    let kind = search::kind(settings);
    let follows_runs = matches!(kind, SearchKind::Dpor | SearchKind::Source);
    let depth_max = (follows_runs && settings.depth_max.is_none()).then_some(RUN_STEPS_MAX);
    let progress = Mutex::new(progress);
    let checker = || {
        let progress = |count: &Progress| (progress.lock().unwrap_or_else(PoisonError::into_inner))(count);
        let ends = matches!(kind, SearchKind::Random | SearchKind::Pct).then(BTreeSet::new);
        Checker { clock, ends, depth_max, ..Checker::new(system, progress) }
    };
    let run = |jobs| search::search(settings).run_jobs(&system, jobs, from, checker).map_err(|e| e.to_string());
    let mut done = run(settings.jobs.unwrap_or(1) as usize)?;
    if done.visitors.len() > 1 && done.visitors.iter().any(|checker| checker.found.is_some()) {
        // Whoever finds something first, by chance, is not to decide what is shown.
        done = run(1)?;
    }
    let Done { summary, visitors, checkpoint } = done;
    Ok((summary, Seen::by_all(visitors), checkpoint))
}

/// What the checkers of a search have seen together.
struct Seen {
    found: Option<Finding>,
    warnings: BTreeSet<String>,
    skipped: BTreeSet<String>,
    endless: Option<String>,
    effort: Effort,
    outcomes: Option<usize>,
    too_long: bool,
}

impl Seen {
    fn by_all(checkers: Vec<Checker<'_, '_>>) -> Seen {
        let mut ends: Option<BTreeSet<u128>> = None;
        let mut all = Seen {
            found: None,
            warnings: BTreeSet::new(),
            skipped: BTreeSet::new(),
            endless: None,
            effort: Effort::default(),
            outcomes: None,
            too_long: false,
        };
        for checker in checkers {
            all.found = all.found.or(checker.found);
            all.warnings.extend(checker.warnings);
            all.skipped.extend(checker.skipped);
            all.endless = all.endless.or(checker.endless);
            all.effort.add(checker.effort);
            all.too_long |= checker.too_long;
            if let Some(theirs) = checker.ends {
                ends.get_or_insert_with(BTreeSet::new).extend(theirs);
            }
        }
        Seen { outcomes: ends.map(|ends| ends.len()), ..all }
    }

    fn searched(
        mut self,
        system: ScenarioSystem<'_>,
        settings: &FileOptions,
        summary: Summary,
        left: Option<isolde_explore::Checkpoint>,
        from: Option<&Checkpoint>,
    ) -> Searched {
        if let Some(from) = from {
            from.add_to(&mut self.warnings, &mut self.skipped, &mut self.endless);
        }
        let checkpoint = left.map(|left| {
            Checkpoint::new(system, settings, left).noting(&self.warnings, &self.skipped, self.endless.as_deref())
        });
        self.warnings.extend(search::warning(settings));
        self.warnings.extend(system.scenario.order_warnings());
        let Seen { found, warnings, skipped, endless, effort, outcomes, .. } = self;
        let settings = settings.clone();
        Searched { summary, settings, outcomes, found, warnings, skipped, endless, effort, checkpoint }
    }
}

/// What the threads go through on the explored ways: the price of locks and of stronger isolation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effort {
    /// Steps that met a lock and had to wait.
    pub(crate) waits: u64,
    /// Steps that ended in a serialization failure or a deadlock.
    pub(crate) aborts: u64,
    /// Ends at which some thread was aborted and had no retry left.
    pub(crate) ends_aborted: u64,
    /// Threads that succeed at some end.
    pub(crate) succeed: BTreeSet<usize>,
    /// Threads that are aborted at some end.
    pub(crate) aborted: BTreeSet<usize>,
}

impl Effort {
    fn step(&mut self, event: &Event) {
        let waits = event.steps.iter().any(|s| matches!(s.outcome, Outcome::Blocked(_)));
        let aborts = event.steps.iter().any(|s| matches!(&s.reply, Some(Err(error)) if error.is_abort()));
        self.waits += u64::from(waits);
        self.aborts += u64::from(aborts);
    }

    fn add(&mut self, other: Effort) {
        self.waits += other.waits;
        self.aborts += other.aborts;
        self.ends_aborted += other.ends_aborted;
        self.succeed.extend(other.succeed);
        self.aborted.extend(other.aborted);
    }

    fn end(&mut self, state: &State) {
        self.ends_aborted += u64::from(state.clients.iter().any(|c| matches!(c.status, Status::Aborted(_))));
        for (thread, client) in state.clients.iter().enumerate() {
            match client.status {
                Status::Done => self.succeed.insert(thread),
                Status::Aborted(_) => self.aborted.insert(thread),
                Status::Running | Status::Failed(_) => continue,
            };
        }
    }
}

/// A violation, how it was found, and where.
#[derive(Clone)]
pub(crate) struct Finding {
    pub(crate) property: &'static dyn Property,
    pub(crate) violation: Violation,
    pub(crate) schedule: Schedule<Choice>,
    /// Only the end of a run breaks it.
    pub(crate) at_end: bool,
    /// Threads that take no step although they could.
    pub(crate) absent: ThreadSet,
}

/// [`OnProgress`], owned by one of those who look.
type Told<'p> = Box<dyn FnMut(&Progress) -> ControlFlow<Limit> + Send + 'p>;

/// Looks at every place of a search and asks all properties about it.
pub(crate) struct Checker<'a, 'p> {
    system: ScenarioSystem<'a>,
    oracle: Oracle<'a>,
    progress: Told<'p>,
    /// The name of the only property to look at; all of them if there is none.
    pub(crate) wanted: Option<String>,
    pub(crate) found: Option<Finding>,
    /// A thread that computes without end, in a sentence.
    endless: Option<String>,
    warnings: BTreeSet<String>,
    /// Names of properties that could not be decided somewhere.
    skipped: BTreeSet<String>,
    clock: Option<fn() -> u64>,
    /// Digests of the ends seen, if they are counted.
    ends: Option<BTreeSet<u128>>,
    /// Runs longer than this may have no end; whether there was one.
    depth_max: Option<usize>,
    too_long: bool,
    effort: Effort,
}

impl<'a, 'p> Checker<'a, 'p> {
    pub(crate) fn new(
        system: ScenarioSystem<'a>,
        progress: impl FnMut(&Progress) -> ControlFlow<Limit> + Send + 'p,
    ) -> Checker<'a, 'p> {
        Checker {
            system,
            oracle: Oracle::new(system),
            progress: Box::new(progress),
            wanted: None,
            found: None,
            endless: None,
            warnings: BTreeSet::new(),
            skipped: BTreeSet::new(),
            clock: None,
            ends: None,
            depth_max: None,
            too_long: false,
            effort: Effort::default(),
        }
    }

    /// Ends the search if something was found.
    fn conclude(
        &mut self,
        property: &'static dyn Property,
        violation: Option<Violation>,
        at: &Visit<'_, ScenarioSystem<'a>>,
        at_end: bool,
    ) -> ControlFlow<()> {
        match violation.filter(|v| self.wanted.as_ref().is_none_or(|wanted| *wanted == v.name)) {
            None => ControlFlow::Continue(()),
            Some(violation) => {
                let schedule = at.schedule();
                let absent = absent(&schedule, at.state);
                self.found = Some(Finding { property, violation, schedule, at_end, absent });
                ControlFlow::Break(())
            }
        }
    }

    /// A thread that computes without end was cut off: nothing holds beyond that.
    fn note_endless(&mut self, state: &State) {
        for (client, thread) in state.clients.iter().zip(&self.system.scenario.threads) {
            if let Status::Failed(error) = &client.status
                && is_endless(error)
            {
                self.endless.get_or_insert_with(|| format!("{} does not end: {}", thread.name, error.message));
            }
        }
    }

    /// Aborts without a retry are no violation, but the user should know that they happen.
    fn warn_of_aborts(&mut self, state: &State) {
        for (client, thread) in state.clients.iter().zip(&self.system.scenario.threads) {
            if let Status::Aborted(error) = &client.status {
                self.warnings.insert(format!(
                    "{} is aborted in some interleavings ({error}) and has no retry left; what the others do is checked \
                     without it. To let it try again, write `retry {}` behind its name.",
                    thread.name,
                    thread.retries + 1
                ));
            }
        }
    }
}

impl<'a> Visitor<ScenarioSystem<'a>> for Checker<'a, '_> {
    fn state(&mut self, at: &Visit<'_, ScenarioSystem<'a>>) -> ControlFlow<()> {
        if self.depth_max.is_some_and(|max| at.depth() > max) {
            self.too_long = true;
            return ControlFlow::Break(());
        }
        let here = At { system: self.system, state: at.state, event: at.last_event() };
        for property in PROPERTIES {
            self.conclude(*property, property.at_state(&here), at, false)?;
        }
        ControlFlow::Continue(())
    }

    fn leaf(&mut self, at: &Visit<'_, ScenarioSystem<'a>>) -> ControlFlow<()> {
        self.effort.end(at.state);
        if let Some(ends) = &mut self.ends {
            ends.extend(self.system.digest(at.state));
        }
        self.warn_of_aborts(at.state);
        self.note_endless(at.state);
        let here = At { system: self.system, state: at.state, event: at.last_event() };
        for property in PROPERTIES {
            match property.at_end(&here, &mut self.oracle) {
                Ok(violation) => self.conclude(*property, violation, at, true)?,
                Err(doubt) => {
                    self.warnings.insert(doubt);
                    self.skipped.extend(property.names(self.system.scenario));
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn step(&mut self, _: &Visit<'_, ScenarioSystem<'a>>, event: &Event) -> ControlFlow<()> {
        self.effort.step(event);
        if event.reactions.contains(&Reaction::LeftOpen) {
            let name = &self.system.scenario.threads[event.thread].name;
            let warning = format!("{name} ends inside a transaction, which is rolled back; a COMMIT may be missing");
            self.warnings.insert(warning);
        }
        ControlFlow::Continue(())
    }

    fn progress(&mut self, progress: &Progress) -> ControlFlow<Limit> {
        (self.progress)(progress)
    }

    fn now(&self) -> Option<u64> {
        self.clock.map(|clock| clock())
    }
}

fn property_results(
    scenario: &Scenario,
    verdict: &Verdict,
    found: Option<&Finding>,
    skipped: &BTreeSet<String>,
) -> Vec<PropertyResult> {
    let names = PROPERTIES.iter().flat_map(|p| p.names(scenario));
    let results = names.map(|name| {
        let status = match verdict {
            _ if found.is_some_and(|f| f.violation.name == name) => PropertyStatus::Violated,
            _ if skipped.contains(&name) => PropertyStatus::Skipped,
            Verdict::Holds => PropertyStatus::Holds,
            Verdict::Violated | Verdict::Inconclusive(_) => PropertyStatus::Undecided,
        };
        PropertyResult { name, status }
    });
    results.collect()
}

/// Follows the schedule of a finding once more and reports what is seen then.
///
/// # Panics
/// If the violation is not seen again: then the engine or the search is wrong, and nothing it says can be trusted.
fn counterexample(system: ScenarioSystem<'_>, finding: Finding, options: &Options) -> Counterexample {
    let system = ScenarioSystem { absent: finding.absent, ..system };
    let run = follow(system, &finding.schedule);
    let at = At { system, state: &run.end, event: run.events.last() };
    let again = match finding.at_end {
        false => finding.property.at_state(&at),
        true => finding.property.at_end(&at, &mut Oracle::new(system)).ok().flatten(),
    };
    assert_eq!(again.as_ref(), Some(&finding.violation), "a counterexample shows the same when it is replayed");
    let explained = finding.property.explain(&run);
    let schedule = finding.schedule.line(&system);
    let Violation { name, headline, remarks } = finding.violation;
    Counterexample {
        property: name,
        headline,
        anomaly: explained.anomaly,
        replay: replay_command(system, &schedule, options),
        schedule,
        trace: run.trace(),
        explanation: explained.paragraphs.into_iter().chain(remarks).filter(|p| !p.is_empty()).collect(),
        graph: explained.graph,
        confirmation: None,
        not_needed: NotNeeded { threads: threads_not_needed(system), statements: Vec::new() },
        fixes: Vec::new(),
    }
}

/// The names of the threads that take no step.
fn threads_not_needed(system: ScenarioSystem<'_>) -> Vec<String> {
    let threads = system.scenario.threads.iter().enumerate();
    threads.filter(|(t, _)| system.absent.contains(*t)).map(|(_, thread)| thread.name.to_string()).collect()
}

/// The places of statements that could be left out of the file, and the same would happen.
fn statements_not_needed(system: ScenarioSystem<'_>, shown: &Finding) -> Vec<Place> {
    let spans = minimise::statements_not_needed(system, shown).into_iter();
    let places = spans.map(|span| system.scenario.sources.place(span));
    places.map(|(file, line)| Place { file: file.map(String::from), line }).collect()
}

/// Follows a schedule that is known to be possible.
pub(crate) fn follow<'a>(system: ScenarioSystem<'a>, schedule: &Schedule<Choice>) -> Run<'a> {
    let mut run = Run { system, events: Vec::new(), end: system.initial() };
    let replayed = replay(&system, schedule, &mut Recorder { run: &mut run });
    assert!(replayed.is_ok(), "a schedule that was followed once can be followed again");
    run
}

/// Keeps everything that a replay shows.
struct Recorder<'r, 'a> {
    run: &'r mut Run<'a>,
}

impl<'a> Visitor<ScenarioSystem<'a>> for Recorder<'_, 'a> {
    fn leaf(&mut self, _: &Visit<'_, ScenarioSystem<'a>>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn step(&mut self, at: &Visit<'_, ScenarioSystem<'a>>, event: &Event) -> ControlFlow<()> {
        self.run.events.push(event.clone());
        self.run.end = at.state.clone();
        ControlFlow::Continue(())
    }
}

fn replay_command(system: ScenarioSystem<'_>, schedule: &str, options: &Options) -> String {
    let atomic = if options.settings.atomic == Some(true) { " --atomic" } else { "" };
    let finer = options.settings.granularity.filter(|unit| *unit != Granularity::default());
    let granularity = finer.map_or(String::new(), |unit| format!(" --granularity {}", unit.name()));
    format!("isolde replay{atomic}{granularity} {} '{schedule}'", shell_word(system.scenario.name()))
}
