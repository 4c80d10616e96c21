//! Looks at every place of a search and asks all properties about it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use isolde_explore::{Limit, Progress, Schedule, Visit, Visitor};
use isolde_report::LevelCost;

use crate::backend::{Backend, Capabilities, Completed, Failure, Fate, Runs};
use crate::findings::{Findings, Likeness};
use crate::minimise::absent;
use crate::oracle::Oracle;
use crate::property::{At, Property, PropertyId, Unclear, Violation, properties};
use crate::system::Choice;
use crate::threads::ThreadSet;
use crate::trouble::Trouble;

/// [`OnProgress`](crate::OnProgress), shared by all jobs.
pub(crate) type Told<'p> = &'p (dyn Fn(&Progress) -> ControlFlow<Limit> + Sync + 'p);

/// A violation, how it was found, and where.
#[derive(Clone)]
pub(crate) struct Finding {
    pub(crate) property: PropertyId,
    pub(crate) violation: Violation,
    pub(crate) schedule: Schedule<Choice>,
    /// Only the end of a run breaks it.
    pub(crate) at_end: bool,
    /// Threads that take no step although they could.
    pub(crate) absent: ThreadSet,
}

/// What a search is to look at: makes its checkers.
pub struct Examination<'p, B> {
    /// What is searched.
    pub system: B,
    pub(crate) told: Told<'p>,
    pub(crate) clock: Option<fn() -> u64>,
    pub(crate) counts_ends: bool,
    /// All findings are wanted, not the first.
    pub(crate) all: bool,
    pub(crate) depth_max: Option<usize>,
}

impl<'p, B: Backend> Examination<'p, B> {
    /// A checker of its own for each job.
    pub fn checker(&self) -> Checker<'p, B> {
        Checker {
            told: Some(self.told),
            clock: self.clock,
            ends: self.counts_ends.then(BTreeSet::new),
            all: self.all.then(Findings::default),
            depth_max: self.depth_max,
            ..Checker::new(self.system)
        }
    }
}

/// Looks at every place of a search and asks all properties about it.
pub struct Checker<'p, B: Backend> {
    system: B,
    oracle: Oracle<B>,
    told: Option<Told<'p>>,
    capabilities: Capabilities,
    last_progress: Progress,
    /// The name of the only property to look at; all of them if there is none.
    pub(crate) wanted: Option<String>,
    /// What a finding must be like; anything if there is nothing.
    pub(crate) like: Option<Likeness>,
    /// The first finding.
    pub(crate) found: Option<Finding>,
    /// All of them, if the search does not stop at the first.
    pub(crate) all: Option<Findings>,
    /// A thread that computes without end, in a sentence.
    pub(crate) endless: Option<String>,
    pub(crate) warnings: BTreeSet<String>,
    /// Names of properties that could not be decided somewhere.
    pub(crate) skipped: BTreeSet<String>,
    clock: Option<fn() -> u64>,
    /// Digests of the ends seen, if they are counted.
    pub(crate) ends: Option<BTreeSet<u128>>,
    /// Runs longer than this may have no end; whether there was one.
    depth_max: Option<usize>,
    pub(crate) too_long: bool,
    /// The user wanted to stop while an end was judged.
    pub(crate) stopped: Option<Limit>,
    trouble: Option<Trouble>,
    pub(crate) effort: Effort,
}

impl<B: Backend> Checker<'_, B> {
    pub(crate) fn new(system: B) -> Self {
        Checker {
            system,
            oracle: Oracle::new(system),
            told: None,
            capabilities: system.capabilities(),
            last_progress: Progress::default(),
            wanted: None,
            like: None,
            found: None,
            all: None,
            endless: None,
            warnings: BTreeSet::new(),
            skipped: BTreeSet::new(),
            clock: None,
            ends: None,
            depth_max: None,
            too_long: false,
            stopped: None,
            trouble: None,
            effort: Effort::default(),
        }
    }

    /// After a search: an error if there was trouble.
    pub(crate) fn check_trouble(&mut self) -> Result<(), Trouble> {
        self.trouble.take().or_else(|| self.system.trouble()).map_or(Ok(()), Err)
    }

    /// Ends the search if something was found, and that is enough.
    fn conclude(
        &mut self,
        property: usize,
        violations: Vec<Violation>,
        at: &Visit<'_, B>,
        at_end: bool,
    ) -> ControlFlow<()> {
        for violation in violations {
            if self.wanted.as_ref().is_some_and(|wanted| *wanted != violation.name) {
                continue;
            }
            let schedule = at.schedule();
            let absent = absent(self.system, &schedule, at.state);
            let finding = Finding { property: PropertyId(property), violation, schedule, at_end, absent };
            if let Some(like) = &self.like {
                let likeness = Likeness::of(self.system, &finding);
                let same = likeness.map(|likeness| likeness == *like);
                if !self.or_trouble(same)? {
                    continue;
                }
            }
            let Some(all) = &mut self.all else {
                self.found = Some(finding);
                return ControlFlow::Break(());
            };
            let added = all.add(self.system, &finding);
            let many = all.are_many();
            self.found.get_or_insert(finding);
            self.or_trouble(added)?;
            if many {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
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

    /// What a property says about the end of a run; a `Break` if the search is over.
    fn judge_end(&mut self, property: &dyn Property<B>, here: &At<'_, B>) -> ControlFlow<(), Vec<Violation>> {
        // Between the runs of the oracle the user may want to stop.
        let (told, slow, last) = (self.told, self.capabilities.slow, self.last_progress);
        let mut watch = || told.filter(|_| slow).map_or(ControlFlow::Continue(()), |told| told(&last));
        let judged = property.at_end(here, &mut self.oracle, &mut watch);
        self.effort.lenient |= !self.oracle.notes.is_empty();
        self.warnings.append(&mut self.oracle.notes);
        match judged {
            Ok(violations) => return ControlFlow::Continue(violations),
            Err(Unclear::Doubt(doubt)) => {
                self.warnings.insert(doubt);
                self.skipped.extend(property.names(self.system));
                return ControlFlow::Continue(Vec::new());
            }
            Err(Unclear::Stopped(limit)) => self.stopped = Some(limit),
            Err(Unclear::Trouble(trouble)) => drop(self.trouble.get_or_insert(trouble)),
        }
        ControlFlow::Break(())
    }

    /// A thread that computes without end, or for too long, was cut off: nothing holds beyond that.
    fn note_cut(&mut self, state: &B::State) {
        for thread in 0..self.system.threads() {
            if let Fate::Failed(Failure::Sql(error)) = self.system.fate(state, thread)
                && error.is_cut()
                && !error.is_not_begun()
            {
                let name = self.system.member(thread).name;
                self.endless.get_or_insert_with(|| format!("{name} is cut off in {}", error.message));
            }
        }
    }

    /// Aborts without a retry are no violation, but the user should know that they happen.
    fn warn_of_aborts(&mut self, state: &B::State) {
        for thread in 0..self.system.threads() {
            if let Fate::Aborted(error) = self.system.fate(state, thread) {
                let member = self.system.member(thread);
                let retries = member.retries + 1;
                let again = match self.capabilities.runs {
                    Runs::Scenario => format!("write `retry {retries}` behind its name"),
                    Runs::Programs => format!("write `retries = {retries}` in its section"),
                };
                let counts = match self.system.completed(state, thread) {
                    Completed::Statements(0) => "what the others do is checked without it",
                    Completed::Statements(_) | Completed::Unknown => "only what it had committed before counts",
                };
                self.warnings.insert(format!(
                    "{} is aborted in some interleavings ({error}) and has no retry left; {counts}. To let it try again, \
                     {again}.",
                    member.name
                ));
            }
        }
    }
}

impl<B: Backend> Visitor<B> for Checker<'_, B> {
    fn state(&mut self, at: &Visit<'_, B>) -> ControlFlow<()> {
        if self.depth_max.is_some_and(|max| at.depth() > max) {
            self.too_long = true;
            return ControlFlow::Break(());
        }
        if self.system.trouble().is_some() {
            return ControlFlow::Break(());
        }
        if self.system.is_cut(at.state) {
            return ControlFlow::Continue(());
        }
        let here = At { system: self.system, state: at.state, event: at.last_event(), schedule: None };
        for (number, property) in properties().into_iter().enumerate() {
            let violations = self.or_trouble(property.at_state(&here))?;
            self.conclude(number, violations, at, false)?;
        }
        ControlFlow::Continue(())
    }

    fn leaf(&mut self, at: &Visit<'_, B>) -> ControlFlow<()> {
        if self.system.trouble().is_some() {
            return ControlFlow::Break(());
        }
        if self.system.is_cut(at.state) {
            self.note_cut(at.state);
            return ControlFlow::Continue(());
        }
        self.effort.end(self.system, at);
        if let Some(ends) = &mut self.ends {
            ends.extend(self.system.digest(at.state));
        }
        self.warn_of_aborts(at.state);
        let schedule = || at.schedule();
        let schedule: Option<&dyn Fn() -> Schedule<Choice>> = Some(&schedule);
        let here = At { system: self.system, state: at.state, event: at.last_event(), schedule };
        for (number, property) in properties().into_iter().enumerate() {
            let violations = self.judge_end(property, &here)?;
            self.conclude(number, violations, at, true)?;
        }
        ControlFlow::Continue(())
    }

    fn step(&mut self, _: &Visit<'_, B>, event: &B::Event) -> ControlFlow<()> {
        let toll = self.system.toll(event);
        self.effort.waits += u64::from(toll.waits);
        self.effort.aborts += u64::from(toll.aborts);
        if let Some(thread) = toll.left_open {
            let name = self.system.member(thread).name;
            let warning = format!("{name} ends inside a transaction, which is rolled back; a COMMIT may be missing");
            self.warnings.insert(warning);
        }
        match self.system.trouble() {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }

    fn progress(&mut self, progress: &Progress) -> ControlFlow<Limit> {
        self.last_progress = *progress;
        self.told.map_or(ControlFlow::Continue(()), |told| told(progress))
    }

    fn now(&self) -> Option<u64> {
        self.clock.map(|clock| clock())
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
    /// Ends whose runs are known step by step.
    pub(crate) ends_known: u64,
    /// Those of them in which a step ended in a serialization failure or a deadlock.
    pub(crate) ends_with_abort: u64,
    /// Those of them in which a step had to wait.
    pub(crate) ends_with_wait: u64,
    /// Threads that succeed at some end.
    pub(crate) succeed: BTreeSet<usize>,
    /// Threads that are aborted at some end.
    pub(crate) aborted: BTreeSet<usize>,
    /// Some run is serial by its effects alone: `strict` would not accept it.
    pub(crate) lenient: bool,
}

impl Effort {
    pub(crate) fn add(&mut self, other: Effort) {
        self.waits += other.waits;
        self.aborts += other.aborts;
        self.ends_aborted += other.ends_aborted;
        self.ends_known += other.ends_known;
        self.ends_with_abort += other.ends_with_abort;
        self.ends_with_wait += other.ends_with_wait;
        self.succeed.extend(other.succeed);
        self.aborted.extend(other.aborted);
        self.lenient |= other.lenient;
    }

    /// Counts the end of a run.
    pub(crate) fn end<B: Backend>(&mut self, system: B, at: &Visit<'_, B>) {
        let (mut aborts, mut waits) = (false, false);
        let known = at.each_event(&mut |event| {
            let toll = system.toll(event);
            (aborts, waits) = (aborts || toll.aborts, waits || toll.waits);
        });
        self.ends_known += u64::from(known);
        self.ends_with_abort += u64::from(aborts);
        self.ends_with_wait += u64::from(waits);
        let mut aborted = false;
        for thread in 0..system.threads() {
            match system.fate(at.state, thread) {
                Fate::Done => drop(self.succeed.insert(thread)),
                Fate::Aborted(_) => {
                    aborted = true;
                    self.aborted.insert(thread);
                }
                Fate::Running | Fate::Failed(_) => {}
            }
        }
        self.ends_aborted += u64::from(aborted);
    }

    /// What all these ends cost; `None` if some of their runs are not known step by step.
    pub(crate) fn cost<B: Backend>(&self, system: B, ends: u64) -> Option<LevelCost> {
        let never = system.present().filter(|thread| !self.succeed.contains(thread));
        (ends > 0 && self.ends_known == ends).then(|| LevelCost {
            ends,
            ends_aborted: self.ends_with_abort,
            ends_given_up: self.ends_aborted,
            ends_waited: self.ends_with_wait,
            never_done: never.map(|thread| system.member(thread).name.to_string()).collect(),
        })
    }
}
