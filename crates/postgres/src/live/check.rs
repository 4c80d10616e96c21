//! The whole job on a stage: search, judge, replay what was found, and report.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use isolde_explore::{Completeness, Reduction};
use isolde_explore::{Limit, Progress, Schedule, Search, Strategy, Summary, System, Visit, Visitor};
use isolde_report::{Counterexample, NotNeeded, PropertyResult, PropertyStatus, Report, Stats, Verdict};
use isolde_scenario::file::{FileOptions, SearchKind, SerialCheck};
use isolde_scenario::{Explained, OnProgress};

use super::oracle;
use super::property::{self, Violation};
use super::system::{Event, LiveSystem, Spot};
use super::{Ending, Stage, Standing, simplify, trace};
use crate::Trouble;

/// What is asked about a stage.
pub struct Question<'q> {
    /// The command, as a user would type it.
    pub command: String,
    /// The file that it is about.
    pub file: String,
    /// How to search, and what to leave out.
    pub settings: FileOptions,
    /// Queries that must be true after every commit.
    pub invariants: Vec<Check>,
    /// Queries that must be true when all threads have ended.
    pub finals: Vec<Check>,
    /// The command that shows a schedule again.
    pub replay: &'q dyn Fn(&str) -> String,
    /// A clock in nanoseconds, if the report should say what took how long.
    pub clock: Option<fn() -> u64>,
}

/// A query that must return true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// Its text.
    pub query: String,
}

/// Checks all properties over all schedules, as far as the limits allow.
pub fn check(stage: &mut dyn Stage, question: &Question<'_>, progress: OnProgress<'_>) -> Result<Report, Trouble> {
    let start = question.clock.map(|clock| clock());
    let system = LiveSystem::new(stage, !question.invariants.is_empty())?;
    let mut checker = Checker::new(question, &system, progress);
    let summary = search(&question.settings)?.run(&system, &mut checker);
    let Checker { found, warnings, skipped, reasons, .. } = match checker.concluded() {
        Err(Trouble::Fault(why)) => return Ok(undecided(question, &summary, &system, &why, None)),
        concluded => concluded?,
    };
    let shown = found.as_ref().map(|found| (found.violation.clone(), found.schedule.line(&system)));
    let told = tell(&system, question, start, Told { summary: &summary, found, warnings, skipped, reasons });
    match told {
        Err(Trouble::Fault(why)) => Ok(undecided(question, &summary, &system, &why, shown)),
        told => told,
    }
}

/// What a search has come to.
struct Told<'t> {
    summary: &'t Summary,
    found: Option<Finding>,
    warnings: BTreeSet<String>,
    skipped: BTreeSet<String>,
    reasons: BTreeSet<String>,
}

/// The answer if something around the check has failed: no verdict, and what was seen before.
fn undecided(
    question: &Question<'_>,
    summary: &Summary,
    system: &LiveSystem<'_>,
    why: &str,
    found: Option<(Violation, String)>,
) -> Report {
    let seen = match found {
        None => "nothing was violated until then".to_string(),
        Some((Violation { name, headline, .. }, schedule)) => {
            format!("{name} seemed to be violated and could not be seen again ({headline}; schedule: {schedule})")
        }
    };
    let summary = Summary { replayed: system.replayed(), ..*summary };
    let stats = Stats { complete: false, ..stats(&summary, question, &BTreeSet::new()) };
    let verdict = Verdict::Inconclusive(format!("{why}; {seen}"));
    let mut report = Report::new(&question.command, &question.file, verdict, stats);
    report.properties = results(question, &report.verdict, None, &BTreeSet::new());
    report
}

/// The report, after what was found has been seen again.
fn tell(
    system: &LiveSystem<'_>,
    question: &Question<'_>,
    start: Option<u64>,
    Told { summary, found, warnings, skipped, reasons }: Told<'_>,
) -> Result<Report, Trouble> {
    if found.is_some() {
        // Without its server every thread fails, and that is not what should be said.
        system.borrow(|stage| stage.ask("SELECT 1"))?;
    }
    let took = question.clock.zip(start).map(|(clock, start)| clock().saturating_sub(start) / 1_000_000);
    let verdict = match &found {
        Some(_) => Verdict::Violated,
        None => verdict(summary, &question.settings),
    };
    let summary = Summary { replayed: system.replayed(), ..*summary };
    let stats = Stats { elapsed_ms: took, ..stats(&summary, question, &reasons) };
    let mut report = Report::new(&question.command, &question.file, verdict, stats);
    let found = found.map(|finding| simplified(system, question, finding)).transpose()?;
    report.properties = results(question, &report.verdict, found.as_ref().map(|f| &f.violation), &skipped);
    report.warnings = warnings.into_iter().collect();
    report.counterexample = found.map(|finding| counterexample(system, question, finding)).transpose()?;
    Ok(report)
}

/// Follows one schedule, and says what it breaks, if anything.
pub fn replay(stage: &mut dyn Stage, question: &Question<'_>, schedule: &str) -> Result<Report, Trouble> {
    let system = LiveSystem::new(stage, false)?;
    let schedule = Schedule::parse(&system, schedule).map_err(|e| Trouble::Usage(e.to_string()))?;
    let Followed { events, end, found, summary } = follow(&system, question, &schedule)?;
    let verdict = match found {
        Some(_) => Verdict::Violated,
        None => Verdict::Inconclusive("this schedule breaks nothing; there are others".into()),
    };
    let stats = Stats { search: "replay".into(), complete: false, ..stats(&summary, question, &BTreeSet::new()) };
    let mut report = Report::new(&question.command, &question.file, verdict, stats);
    report.properties = results(question, &report.verdict, found.as_ref().map(|f| &f.violation), &BTreeSet::new());
    match found {
        Some(finding) => report.counterexample = Some(counterexample(&system, question, finding)?),
        None => report.trace = Some(system.ask(&end, |stage| trace::trace(stage, &events))?),
    }
    Ok(report)
}

/// The search that the settings ask for, as far as it can be done on a server.
fn search(settings: &FileOptions) -> Result<Search, Trouble> {
    let mut search = isolde_scenario::search(settings);
    match isolde_scenario::kind(settings) {
        SearchKind::Dpor | SearchKind::Source => search.strategy = Strategy::Dpor(Reduction::Source),
        SearchKind::Stateless | SearchKind::Random | SearchKind::Pct => {}
        SearchKind::Stateful => {
            let sentence = "the states of a server cannot be compared: --search stateful is for the embedded engine";
            return Err(Trouble::Usage(sentence.into()));
        }
    }
    // A step is milliseconds here: often enough to be told about it, and to stop.
    search.progress_every = 1;
    Ok(search)
}

fn verdict(summary: &Summary, settings: &FileOptions) -> Verdict {
    match summary.completeness {
        // What is relied on here is not one of the papers' relations.
        Completeness::Complete if summary.leaves > 0 => Verdict::Holds,
        _ => isolde_scenario::verdict_without_finding(summary, settings, None),
    }
}

/// `reasons` say why reads were taken to be as wide as their tables.
fn stats(summary: &Summary, question: &Question<'_>, reasons: &BTreeSet<String>) -> Stats {
    let search = match isolde_scenario::kind(&question.settings) {
        SearchKind::Dpor => SearchKind::Source,
        other => other,
    };
    let settings = FileOptions { search: Some(search), ..question.settings.clone() };
    let mut stats = isolde_scenario::stats(summary, &settings, question.clock.is_some());
    if let Some(details) = &mut stats.details {
        let reduced = search == SearchKind::Source;
        details.dependence = reduced.then(|| dependence(reasons));
    }
    stats
}

/// Reasons that are told; of more, how many there are.
const REASONS_MAX: usize = 5;

fn dependence(reasons: &BTreeSet<String>) -> String {
    let mut told: Vec<&str> = reasons.iter().take(REASONS_MAX).map(String::as_str).collect();
    let more = format!("and {} more", reasons.len().saturating_sub(REASONS_MAX));
    told.extend((reasons.len() > REASONS_MAX).then_some(&*more));
    match told.is_empty() {
        true => "rows and conditions".to_string(),
        false => format!("rows and conditions; by whole tables where {}", told.join("; ")),
    }
}

fn results(
    question: &Question<'_>,
    verdict: &Verdict,
    found: Option<&Violation>,
    skipped: &BTreeSet<String>,
) -> Vec<PropertyResult> {
    let status = |name: &String| match verdict {
        _ if found.is_some_and(|violation| violation.name == *name) => PropertyStatus::Violated,
        _ if skipped.contains(name) => PropertyStatus::Skipped,
        Verdict::Holds => PropertyStatus::Holds,
        Verdict::Violated | Verdict::Inconclusive(_) => PropertyStatus::Undecided,
    };
    let names = property::names(question).into_iter();
    names.map(|name| PropertyResult { status: status(&name), name }).collect()
}

/// A violation, and the schedule that leads there.
#[derive(Clone)]
struct Finding {
    violation: Violation,
    schedule: Schedule<usize>,
}

/// Tries to get the same with fewer switches.
fn simplified(system: &LiveSystem<'_>, question: &Question<'_>, found: Finding) -> Result<Finding, Trouble> {
    let mut best = found;
    let mut attempts = 0;
    'better: loop {
        for candidate in simplify::simpler(&best.schedule.steps) {
            attempts += 1;
            if attempts > simplify::ATTEMPTS {
                return Ok(best);
            }
            let Ok(Followed { found: Some(found), .. }) = follow(system, question, &candidate.into()) else {
                // Not possible in this order, or in trouble: then the schedule that is known to work is shown.
                system.forget_trouble();
                continue;
            };
            if found.violation.name == best.violation.name
                && simplify::switches(&found.schedule.steps) < simplify::switches(&best.schedule.steps)
            {
                best = found;
                continue 'better;
            }
        }
        return Ok(best);
    }
}

/// A schedule that was followed.
struct Followed {
    events: Vec<Event>,
    /// Where it led.
    end: Spot,
    found: Option<Finding>,
    summary: Summary,
}

/// Follows a schedule, looking at all properties on the way.
fn follow(system: &LiveSystem<'_>, question: &Question<'_>, schedule: &Schedule<usize>) -> Result<Followed, Trouble> {
    let mut ignore = |_: &Progress| ControlFlow::Continue(());
    let mut checker = Checker::new(question, system, &mut ignore);
    checker.events = Some(Vec::new());
    let replayed = isolde_explore::replay(system, schedule, &mut checker);
    let Checker { events, path, found, .. } = checker.concluded()?;
    let summary = replayed.map_err(|refused| Trouble::Usage(refused.describe(system)))?;
    let end = path.last().cloned().unwrap_or_else(|| system.initial());
    Ok(Followed { events: events.unwrap_or_default(), end, found, summary })
}

/// Follows the schedule of a finding once more, and reports what is seen then.
fn counterexample(
    system: &LiveSystem<'_>,
    question: &Question<'_>,
    finding: Finding,
) -> Result<Counterexample, Trouble> {
    let Followed { events, end, found: again, .. } = follow(system, question, &finding.schedule)?;
    if again.as_ref().map(|f| &f.violation.name) != Some(&finding.violation.name) {
        let thread = finding.schedule.steps.last().map(|&t| system.names()[t].clone()).unwrap_or_default();
        let now = again.map_or("nothing is broken".to_string(), |f| f.violation.headline);
        return Err(Trouble::Nondeterministic { thread, before: finding.violation.headline, now });
    }
    let (trace, history) = system.ask(&end, |stage| {
        let trace = trace::trace(stage, &events)?;
        Ok((trace, trace::history(stage.catalog(), system.names(), &events)))
    })?;
    let Explained { anomaly, paragraphs, graph } = match finding.violation.name.as_str() {
        property::DEADLOCKED => Explained::default(),
        _ => Explained::of_history(&history),
    };
    let schedule = finding.schedule.line(system);
    let Violation { name, headline, remarks } = finding.violation;
    Ok(Counterexample {
        property: name,
        headline,
        anomaly,
        replay: (question.replay)(&schedule),
        schedule,
        trace,
        explanation: paragraphs.into_iter().chain(remarks).filter(|p| !p.is_empty()).collect(),
        graph,
        confirmation: None,
        not_needed: NotNeeded::default(),
        fixes: Vec::new(),
    })
}

/// Looks at every place of a search and asks all properties about it.
struct Checker<'c, 's, 'p> {
    question: &'c Question<'c>,
    system: &'c LiveSystem<'s>,
    progress: OnProgress<'p>,
    found: Option<Finding>,
    trouble: Option<Trouble>,
    warnings: BTreeSet<String>,
    skipped: BTreeSet<String>,
    /// Why reads were taken to be as wide as their tables, each reason once.
    reasons: BTreeSet<String>,
    /// The places on the path.
    path: Vec<Spot>,
    /// What happened, if that is to be kept.
    events: Option<Vec<Event>>,
}

impl<'c, 's, 'p> Checker<'c, 's, 'p> {
    fn new(question: &'c Question<'c>, system: &'c LiveSystem<'s>, progress: OnProgress<'p>) -> Checker<'c, 's, 'p> {
        Checker {
            question,
            system,
            progress,
            found: None,
            trouble: None,
            warnings: BTreeSet::new(),
            skipped: BTreeSet::new(),
            reasons: BTreeSet::new(),
            path: Vec::new(),
            events: None,
        }
    }

    /// After the search: itself, unless there was trouble.
    fn concluded(mut self) -> Result<Self, Trouble> {
        match self.trouble.take().or_else(|| self.system.trouble()) {
            Some(trouble) => Err(trouble),
            None => Ok(self),
        }
    }

    fn conclude(&mut self, at: &Visit<'_, LiveSystem<'s>>, violation: Option<Violation>) -> ControlFlow<()> {
        match violation {
            None => ControlFlow::Continue(()),
            Some(violation) => {
                self.found = Some(Finding { violation, schedule: at.schedule() });
                ControlFlow::Break(())
            }
        }
    }

    /// What comes of something that may be in trouble.
    fn or_trouble<T>(&mut self, result: Result<T, Trouble>) -> ControlFlow<(), T> {
        match result {
            Ok(value) => ControlFlow::Continue(value),
            Err(trouble) => {
                self.trouble.get_or_insert(trouble);
                ControlFlow::Break(())
            }
        }
    }

    /// The first of some checks that is not true here, and how.
    fn refuted(&self, spot: &Spot, checks: &'c [Check]) -> Result<Option<(&'c Check, String)>, Trouble> {
        for check in checks {
            let answer = self.system.ask(spot, |stage| stage.ask(&check.query))?;
            let fault = answer.error().and_then(|error| Trouble::of_fault(&check.name, error));
            fault.map_or(Ok(()), Err)?;
            if let Some(how) = property::refuted(&answer) {
                return Ok(Some((check, how)));
            }
        }
        Ok(None)
    }

    fn invariants(&self, spot: &Spot, event: Option<&Event>) -> Result<Option<Violation>, Trouble> {
        if event.is_some_and(|event| !event.published()) {
            return Ok(None);
        }
        let by = event.map(|event| self.system.names()[event.thread].as_str());
        let broken = self.refuted(spot, &self.question.invariants)?;
        Ok(broken.map(|(check, how)| property::broken_invariant(check, &how, by)))
    }

    fn finals(&self, spot: &Spot) -> Result<Option<Violation>, Trouble> {
        let broken = self.refuted(spot, &self.question.finals)?;
        Ok(broken.map(|(check, how)| property::broken_final(check, &how)))
    }

    fn serial(&mut self, spot: &Spot) -> Result<Option<Violation>, Trouble> {
        if self.question.settings.serial == Some(SerialCheck::Off) {
            return Ok(None);
        }
        let members = oracle::members(&spot.standings);
        if members.len() > oracle::THREADS_MAX {
            self.doubt(format!(
                "the serial outcome is not checked: {} threads have too many orders to be run (at most {})",
                members.len(),
                oracle::THREADS_MAX
            ));
            return Ok(None);
        }
        let outcome = self.system.ask(spot, |stage| stage.outcome())?;
        let observed = oracle::of_members(outcome, &members);
        let system = self.system;
        let serial = system.borrow(|stage| system.oracle.borrow_mut().serial(stage, &members).cloned())?;
        match serial {
            Err(doubt) => self.doubt(doubt),
            Ok(serial) if serial.iter().any(|(outcome, _)| *outcome == observed) => {}
            Ok(serial) => return Ok(Some(property::not_serial(system.names(), &members, &observed, &serial))),
        }
        Ok(None)
    }

    fn doubt(&mut self, sentence: String) {
        self.warnings.insert(sentence);
        self.skipped.insert(property::SERIAL.to_string());
    }

    fn warn_of_aborts(&mut self, spot: &Spot) {
        for (standing, name) in spot.standings.iter().zip(self.system.names()) {
            if let Standing::Ended(Ending::Aborted(error)) = standing {
                self.warnings.insert(format!(
                    "{name} is aborted in some interleavings ({error}) and does not try again; what the others do is \
                     checked without it"
                ));
            }
        }
    }
}

impl<'s> Visitor<LiveSystem<'s>> for Checker<'_, 's, '_> {
    fn state(&mut self, at: &Visit<'_, LiveSystem<'s>>) -> ControlFlow<()> {
        if self.system.trouble().is_some() {
            return ControlFlow::Break(());
        }
        self.path.truncate(at.depth());
        self.path.push(at.state.clone());
        let event = at.last_event();
        if let (Some(event), [.., before, after]) = (event, &self.path[..]) {
            let names = self.system.names();
            let bad = property::bad_end(self.question, names, event, &before.standings, &after.standings);
            self.conclude(at, bad)?;
        }
        if event.is_none() {
            let bad = property::bad_start(self.system.names(), &at.state.standings);
            self.conclude(at, bad)?;
        }
        let broken = self.invariants(at.state, event);
        let broken = self.or_trouble(broken)?;
        self.conclude(at, broken)
    }

    fn leaf(&mut self, at: &Visit<'_, LiveSystem<'s>>) -> ControlFlow<()> {
        if self.system.trouble().is_some() {
            return ControlFlow::Break(());
        }
        self.warn_of_aborts(at.state);
        let broken = self.finals(at.state);
        let broken = self.or_trouble(broken)?;
        self.conclude(at, broken)?;
        let broken = self.serial(at.state);
        let broken = self.or_trouble(broken)?;
        self.conclude(at, broken)
    }

    fn step(&mut self, _: &Visit<'_, LiveSystem<'s>>, event: &Event) -> ControlFlow<()> {
        self.reasons.extend(event.touched().flat_map(|touched| touched.coarse.iter().cloned()));
        if let Some(events) = &mut self.events {
            events.push(event.clone());
        }
        match self.system.trouble() {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }

    fn progress(&mut self, progress: &Progress) -> ControlFlow<Limit> {
        (self.progress)(progress)
    }

    fn now(&self) -> Option<u64> {
        self.question.clock.map(|clock| clock())
    }
}
