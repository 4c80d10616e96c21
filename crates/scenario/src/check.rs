//! The whole job: search, judge, replay what was found, and report. On any [back-end](Backend).

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use isolde_explore::{Completeness, Done, Limit, Progress, Schedule, Summary, replay};
use isolde_report::{Counterexample, LevelCost, NotNeeded, PropertyResult, PropertyStatus, Report, Stats, Verdict};

use crate::backend::Backend;
use crate::checker::{Checker, Effort, Examination, Finding, Told};
use crate::file::{FileOptions, SearchKind};
use crate::findings::{FINDINGS_MAX, Findings, Likeness};
use crate::minimise::{absent, minimise, minimise_like};
use crate::oracle::Oracle;
use crate::property::{At, Property, Unclear, Violation, properties};
use crate::search::{self, RUN_STEPS_MAX};
use crate::serially;
use crate::system::Choice;
use crate::trace::RunOf;
use crate::trouble::Trouble;

/// Called now and then during a search; a `Break` ends it and names the reason.
pub type OnProgress<'a> = &'a mut (dyn FnMut(&Progress) -> ControlFlow<Limit> + Send);

/// What is asked, and how the answer is put.
pub struct Question<'q> {
    /// The command, as a user would type it.
    pub command: String,
    /// The file that it is about.
    pub file: String,
    /// How to search, and what to leave out.
    pub settings: FileOptions,
    /// The command that shows a schedule again.
    pub replay: &'q dyn Fn(&str) -> String,
    /// A clock in nanoseconds, if the report should say what took how long.
    pub clock: Option<fn() -> u64>,
}

/// What a search says about a back-end.
pub struct Examined {
    /// The answer.
    pub report: Report,
    /// Threads that are aborted at some end and do not try again.
    pub aborted: BTreeSet<usize>,
    /// What the threads go through, if every interleaving was counted.
    pub cost: Option<LevelCost>,
    /// In the order of [`Report::counterexamples`].
    pub(crate) findings: Vec<Finding>,
}

/// Checks all properties over all schedules, as far as the limits allow.
pub fn examine<B: Backend>(system: B, question: &Question<'_>, progress: OnProgress<'_>) -> Result<Examined, Trouble> {
    let start = question.clock.map(|clock| clock());
    let searched = match searched(system, &question.settings, &mut *progress, question.clock, None) {
        Err(trouble) => return undecided(system, question, trouble, None, progress),
        Ok(searched) => searched,
    };
    let seen = searched.found.clone();
    match answer(system, question, searched, start) {
        Err(trouble) => undecided(system, question, trouble, seen, progress),
        answer => answer,
    }
}

/// Why nothing can be concluded, if that is what a trouble means; otherwise the trouble.
pub fn inconclusive(trouble: Trouble, progress: OnProgress<'_>) -> Result<String, Trouble> {
    match trouble {
        Trouble::Fault(why) => Ok(why),
        // Whoever looks on knows what ended it.
        Trouble::Interrupted => match progress(&Progress::default()) {
            ControlFlow::Break(limit) => Ok(limit.to_string()),
            ControlFlow::Continue(()) => Ok(Limit::Interrupt.to_string()),
        },
        Trouble::Stuck { .. } => Ok(trouble.to_string()),
        Trouble::Usage(_) | Trouble::Server(_) | Trouble::Nondeterministic { .. } => Err(trouble),
    }
}

/// The answer if something around the check has failed: no verdict, and what was seen before.
fn undecided<B: Backend>(
    system: B,
    question: &Question<'_>,
    trouble: Trouble,
    found: Option<Finding>,
    progress: OnProgress<'_>,
) -> Result<Examined, Trouble> {
    let why = inconclusive(trouble, progress)?;
    let seen = match found {
        None => "nothing was violated until then".to_string(),
        Some(Finding { violation: Violation { name, headline, .. }, schedule, .. }) => {
            let schedule = schedule.line(&system);
            format!("{name} seemed to be violated and could not be seen again ({headline}; schedule: {schedule})")
        }
    };
    let verdict = Verdict::Inconclusive(format!("{why}; {seen}"));
    let mut report = Report::new(&question.command, &question.file, verdict, Stats::default());
    report.properties = property_results(system, &report, &[], &BTreeSet::new());
    Ok(Examined { report, aborted: BTreeSet::new(), cost: None, findings: Vec::new() })
}

/// What follows from a search that began at this time.
pub(crate) fn answer<B: Backend>(
    system: B,
    question: &Question<'_>,
    searched: Searched,
    start: Option<u64>,
) -> Result<Examined, Trouble> {
    if searched.found.is_some() {
        system.is_alive()?;
    }
    let elapsed_ms = question.clock.zip(start).map(|(clock, start)| clock().saturating_sub(start) / 1_000_000);
    let verdict = searched.verdict();
    let stats = Stats { elapsed_ms, ..stats(system, &searched.summary, &searched.settings, question.clock.is_some()) };
    let complete = searched.found.is_none() && searched.summary.is_complete();
    let cost = searched.effort.cost(system, searched.summary.leaves).filter(|_| complete);
    let Searched { found, all, mut warnings, skipped, effort, .. } = searched;
    // A budget that has ended ends this too: then what was found is shown as it is.
    let found = found.map(|finding| minimise(system, finding));
    let show = |finding: Finding| released(system, || counterexample(system, question, finding));
    let mut report = Report::new(&question.command, &question.file, verdict, stats);
    report.all = all.is_some();
    let mut findings: Vec<Finding> = found.iter().cloned().collect();
    report.counterexample = found.map(show).transpose()?;
    if let (Some(all), Some(first)) = (all, findings.first()) {
        let first = released(system, || Likeness::of(system, first))?;
        if all.are_many() {
            warnings.insert(format!("the search has stopped at {FINDINGS_MAX} findings; there may be more"));
        }
        for (likeness, finding) in all.known.into_iter().filter(|(likeness, _)| *likeness != first) {
            let finding = minimise_like(system, finding, &likeness);
            match show(finding.clone()) {
                Ok(shown) => {
                    report.others.push(shown);
                    findings.push(finding);
                }
                Err(trouble @ Trouble::Nondeterministic { .. }) => {
                    system.forget_trouble();
                    warnings.insert(format!("a violation of {} is left out: {trouble}", finding.violation.name));
                }
                Err(trouble) => return Err(trouble),
            }
        }
    }
    report.properties = property_results(system, &report, &findings, &skipped);
    report.warnings = warnings.into_iter().collect();
    Ok(Examined { report, aborted: effort.aborted, cost, findings })
}

/// Follows once more what was found: that is done to its end even if the budget has ended.
fn released<B: Backend, T>(system: B, show: impl FnOnce() -> T) -> T {
    system.release_budget();
    let shown = show();
    system.resume_budget();
    shown
}

/// Follows one schedule, and says what it breaks, if anything.
pub fn replay_on<B: Backend>(system: B, question: &Question<'_>, schedule: &str) -> Result<Report, Trouble> {
    let schedule = Schedule::parse(&system, schedule).map_err(|e| Trouble::Usage(e.to_string()))?;
    let all = question.settings.all == Some(true);
    let (checker, summary) = judge_schedule(system, &schedule, all)?;
    // Behind the first violation nothing is of interest, unless all of them are.
    let schedule = checker.found.filter(|_| !all).map_or(schedule, |finding| finding.schedule);
    // Threads that take no step are not there. So the others may have come to their end, and that can be judged.
    let end = follow(system, &schedule)?.end;
    let system = system.without(absent(system, &schedule, &end));
    let (Checker { found, all: findings, warnings, skipped, .. }, _) = judge_schedule(system, &schedule, all)?;
    let findings: Vec<Finding> = match findings {
        Some(all) => all.known.into_iter().map(|(_, finding)| finding).collect(),
        None => found.iter().cloned().collect(),
    };
    let verdict = match found {
        Some(_) => Verdict::Violated,
        None => {
            let nothing = || "this schedule breaks nothing; there are others".into();
            Verdict::Inconclusive(system.first_cut().unwrap_or_else(nothing))
        }
    };
    let settings = FileOptions { search: Some(SearchKind::Stateful), ..question.settings.clone() };
    let stats = stats(system, &summary, &settings, false);
    let stats = Stats { search: "replay".into(), complete: false, ..stats };
    let mut report = Report::new(&question.command, &question.file, verdict, stats);
    report.properties = property_results(system, &report, &findings, &skipped);
    report.warnings = warnings.into_iter().collect();
    let shown: Result<Vec<Counterexample>, Trouble> =
        findings.into_iter().map(|finding| counterexample(system, question, finding)).collect();
    let mut shown = shown?.into_iter();
    report.counterexample = shown.next();
    report.others = shown.collect();
    if report.counterexample.is_none() {
        report.trace = Some(follow(system, &schedule)?.trace()?);
    }
    Ok(report)
}

/// Follows a schedule and asks all properties on the way.
fn judge_schedule<'p, B: Backend>(
    system: B,
    schedule: &Schedule<Choice>,
    all: bool,
) -> Result<(Checker<'p, B>, Summary), Trouble> {
    let mut checker = Checker::new(system);
    checker.all = all.then(Findings::default);
    let replayed = replay(&system, schedule, &mut checker);
    checker.check_trouble()?;
    Ok((checker, replayed.map_err(|refused| Trouble::Usage(refused.describe(&system)))?))
}

/// The numbers of a search.
fn stats<B: Backend>(system: B, summary: &Summary, settings: &FileOptions, measured: bool) -> Stats {
    let summary = Summary { replayed: system.steps_repeated().unwrap_or(summary.replayed), ..*summary };
    let mut stats = search::stats(&summary, settings, measured);
    if let Some(details) = &mut stats.details
        && details.dependence.is_some()
    {
        details.dependence = system.dependence().or_else(|| details.dependence.take());
    }
    stats
}

/// What a search has seen, before any of it is replayed or explained.
pub(crate) struct Searched {
    pub(crate) summary: Summary,
    /// How it was searched in the end.
    pub(crate) settings: FileOptions,
    /// That is not how it was asked for, because runs may have no end.
    pub(crate) instead: bool,
    /// Different ends seen, if they were counted.
    pub(crate) outcomes: Option<usize>,
    /// The first finding.
    pub(crate) found: Option<Finding>,
    /// All of them, if they were asked for.
    pub(crate) all: Option<Findings>,
    pub(crate) warnings: BTreeSet<String>,
    /// Names of properties that could not be decided somewhere.
    pub(crate) skipped: BTreeSet<String>,
    /// A thread that computes without end, in a sentence.
    pub(crate) endless: Option<String>,
    pub(crate) effort: Effort,
    /// Where to continue.
    pub(crate) left: Option<isolde_explore::Checkpoint>,
}

impl Searched {
    /// What follows for the threads.
    pub(crate) fn verdict(&self) -> Verdict {
        match (&self.found, &self.endless) {
            (Some(_), _) => Verdict::Violated,
            (None, Some(endless)) => Verdict::Inconclusive(endless.clone()),
            (None, None) => search::verdict_without_finding(&self.summary, &self.settings, self.outcomes),
        }
    }
}

/// Searches for a violation of any property, continuing where a search was stopped.
pub(crate) fn searched<B: Backend>(
    system: B,
    settings: &FileOptions,
    progress: OnProgress<'_>,
    clock: Option<fn() -> u64>,
    from: Option<&isolde_explore::Checkpoint>,
) -> Result<Searched, Trouble> {
    let settings = system.adapted(settings.clone())?;
    let progress = Mutex::new(progress);
    let told = |count: &Progress| (progress.lock().unwrap_or_else(PoisonError::into_inner))(count);
    let searched = look(system, &settings, &told, clock, from)?;
    match (searched, system.for_long_runs(&settings)) {
        (Some(searched), _) => Ok(searched),
        (None, instead) => {
            let settings = instead.expect("runs are only cut off where another search takes over");
            let searched = look(system, &settings, &told, clock, None)?;
            let searched = searched.expect("a search that recognises states cuts no run off");
            Ok(Searched { instead: true, ..searched })
        }
    }
}

/// Searches, with several checkers if there are several jobs; `None` if a run is so long that it may have no end.
fn look<B: Backend>(
    system: B,
    settings: &FileOptions,
    told: Told<'_>,
    clock: Option<fn() -> u64>,
    from: Option<&isolde_explore::Checkpoint>,
) -> Result<Option<Searched>, Trouble> {
    let kind = search::kind(settings);
    let follows_runs = matches!(kind, SearchKind::Dpor | SearchKind::Source);
    let cut_off = follows_runs && settings.depth_max.is_none() && system.for_long_runs(settings).is_some();
    let examination = Examination {
        system,
        told,
        clock,
        all: settings.all == Some(true),
        counts_ends: matches!(kind, SearchKind::Random | SearchKind::Pct),
        depth_max: cut_off.then_some(RUN_STEPS_MAX),
    };
    let mut search = search::search(settings);
    if system.capabilities().slow {
        search.progress_every = 1;
    }
    let run = |jobs| B::explore(&examination, &search, jobs, from).map_err(Trouble::Usage);
    let mut done = run(settings.jobs.unwrap_or(1) as usize)?;
    if done.visitors.len() > 1 && done.visitors.iter().any(|checker| checker.found.is_some()) {
        // Which job finds something first is chance, and must not decide what is shown.
        done = run(1)?;
    }
    let Done { summary, mut visitors, checkpoint } = done;
    visitors.iter_mut().try_for_each(Checker::check_trouble)?;
    if visitors.iter().any(|checker| checker.too_long) {
        return Ok(None);
    }
    let mut searched = seen_by_all(settings, summary, visitors, checkpoint);
    // Also what was cut off outside of any run: in an invariant, in a serial order.
    if !matches!(searched.summary.completeness, Completeness::Stopped(Limit::Time | Limit::Memory | Limit::Interrupt)) {
        searched.endless = searched.endless.or_else(|| system.first_cut());
    }
    Ok(Some(searched))
}

/// What the checkers of a search have seen together.
fn seen_by_all<B: Backend>(
    settings: &FileOptions,
    summary: Summary,
    checkers: Vec<Checker<'_, B>>,
    left: Option<isolde_explore::Checkpoint>,
) -> Searched {
    let mut ends: Option<BTreeSet<u128>> = None;
    let mut all = Searched {
        summary,
        settings: settings.clone(),
        instead: false,
        outcomes: None,
        found: None,
        all: None,
        warnings: BTreeSet::new(),
        skipped: BTreeSet::new(),
        endless: None,
        effort: Effort::default(),
        left,
    };
    for checker in checkers {
        if let Some(limit) = checker.stopped {
            all.summary.completeness = Completeness::Stopped(limit);
        }
        all.found = all.found.or(checker.found);
        // Findings of several jobs never meet: what is told comes from a search with one.
        all.all = all.all.or(checker.all);
        all.warnings.extend(checker.warnings);
        all.skipped.extend(checker.skipped);
        all.endless = all.endless.or(checker.endless);
        all.effort.add(checker.effort);
        if let Some(theirs) = checker.ends {
            ends.get_or_insert_with(BTreeSet::new).extend(theirs);
        }
    }
    Searched { outcomes: ends.map(|ends| ends.len()), ..all }
}

fn property_results<B: Backend>(
    system: B,
    report: &Report,
    findings: &[Finding],
    skipped: &BTreeSet<String>,
) -> Vec<PropertyResult> {
    // A search that went on behind the violations has seen that nothing else is broken.
    let others_hold = report.verdict == Verdict::Holds || (report.all && report.stats.complete);
    let judged = |property: &'_ dyn Property<B>| property.judged_by(system).map(String::from);
    let names = properties().into_iter().flat_map(|p| p.names(system).into_iter().map(move |name| (name, judged(p))));
    let results = names.map(|(name, by)| {
        let status = match () {
            () if findings.iter().any(|finding| finding.violation.name == name) => PropertyStatus::Violated,
            () if skipped.contains(&name) => PropertyStatus::Skipped,
            () if others_hold => PropertyStatus::Holds,
            () => PropertyStatus::Undecided,
        };
        PropertyResult { name, by, status }
    });
    results.collect()
}

/// Follows the schedule of a finding once more and reports what is seen then. If that is something else, nothing that
/// was seen can be trusted.
fn counterexample<B: Backend>(system: B, question: &Question<'_>, finding: Finding) -> Result<Counterexample, Trouble> {
    let system = system.without(finding.absent);
    let property = finding.property.on::<B>();
    let run = follow(system, &finding.schedule)?;
    let schedule = || finding.schedule.clone();
    let at = At { system, state: &run.end, event: run.last(), schedule: Some(&schedule) };
    let again = match finding.at_end {
        false => property.at_state(&at)?,
        true => match property.at_end(&at, &mut Oracle::new(system), &mut || ControlFlow::Continue(())) {
            Err(Unclear::Trouble(trouble)) => return Err(trouble),
            judged => judged.unwrap_or_default(),
        },
    };
    let again = again.into_iter().find(|again| again.name == finding.violation.name);
    let same = again.as_ref().is_some_and(|again| match system.capabilities().exact {
        true => *again == finding.violation,
        false => again.name == finding.violation.name,
    });
    if !same {
        let thread = finding.schedule.steps.last().map(|choice| system.member(choice.thread()).name.to_string());
        let now = again.map_or("nothing is broken".to_string(), |violation| violation.headline);
        let (thread, before) = (thread.unwrap_or_default(), finding.violation.headline);
        return Err(Trouble::Nondeterministic { thread, before, now });
    }
    let explained = property.explain(&run)?;
    let serially = serially::breaks(system, property, &finding.violation);
    let summary = match &serially[..] {
        [] if property.compares_ends() => system.summary(&run),
        [] => None,
        [alone] => Some(format!("No overlap is needed: it happens when {alone} runs alone.")),
        order => Some(format!("No overlap is needed: it also happens serially, {}.", order.join(" then "))),
    };
    let schedule = finding.schedule.line(&system);
    let Violation { name, headline, remarks } = finding.violation;
    Ok(Counterexample {
        property: name,
        summary,
        headline,
        serially,
        anomaly: explained.anomaly,
        replay: (question.replay)(&schedule),
        schedule,
        trace: run.trace()?,
        explanation: explained.paragraphs.into_iter().chain(remarks).filter(|p| !p.is_empty()).collect(),
        graph: explained.graph,
        confirmation: None,
        not_needed: NotNeeded { threads: threads_not_needed(system), statements: Vec::new() },
        fixes: Vec::new(),
    })
}

/// The names of the threads that take no step.
fn threads_not_needed<B: Backend>(system: B) -> Vec<String> {
    let absent = system.absent();
    let threads = (0..system.threads()).filter(|&thread| absent.contains(thread));
    threads.map(|thread| system.member(thread).name.to_string()).collect()
}

/// Follows a schedule that is known to be possible.
pub(crate) fn follow<B: Backend>(system: B, schedule: &Schedule<Choice>) -> Result<RunOf<B>, Trouble> {
    let mut run = RunOf { system, events: Vec::new(), end: system.initial() };
    for choice in &schedule.steps {
        run.events.push(system.execute(&mut run.end, choice));
        if let Some(trouble) = system.trouble() {
            return Err(trouble);
        }
    }
    Ok(run)
}
