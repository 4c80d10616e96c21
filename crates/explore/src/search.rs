//! The search loop, and the options that turn it into one search or another.

use crate::dpor::checkpoint::{Checkpoint, Counted, Mismatch};
use crate::dpor::crew::{Crew, StopOnDrop};
use crate::dpor::{Dpor, Reduction};
use crate::frontier::{Breadth, Depth, Frontier, Live, Pct, Random, Restore, Tally};
use crate::graph::Graph;
use crate::{Progress, System, Visit, Visitor};
use isolde_digest::digest_of;
use rustc_hash::FxHashSet;
use std::fmt;
use std::ops::ControlFlow::{self, Break, Continue};
use std::panic::resume_unwind;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// How to search: a value, so that every configuration is a combination of these fields.
///
/// The default is depth first, without state matching, without limits: every run, one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Which step comes next.
    pub strategy: Strategy,
    /// Whether states seen before are explored again.
    pub matching: Matching,
    /// How a depth-first search comes back to a state that it has left; the others keep clones.
    pub restore: Restore,
    /// When to give up.
    pub limits: Limits,
    /// Steps between two calls of [`Visitor::progress`].
    pub progress_every: u64,
    /// Steps that one thread takes before others [join](Search::run_jobs): below that it is not worth while.
    pub steps_alone: u64,
}

/// Which step comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Along one run to its end, then back to the last place with a step left. Memory grows with the depth only.
    #[default]
    Depth,
    /// All states at one depth before the next: the first path found to a state is a shortest one.
    Breadth,
    /// Breadth first, and of equally long paths first those that change less often from one thread to another: of the
    /// shortest paths to a state, the first one found has the fewest switches. With matching, a state counts once for
    /// each thread that can have acted last.
    Shortest,
    /// Depth first, one run of each class of equivalent ones, by [`System::dependent`]. Does not match states. Keeps
    /// what is found at the ends of runs, and whether some step does something in some run; not every state on the way.
    Dpor(Reduction),
    /// Depth first, states matched, and from each state only as many steps as [`System::dependent`] makes necessary.
    /// Every leaf is found, also where runs come back to where they were; not every state on the way is.
    Reduced,
    /// Runs drawn by chance, the same ones for the same seed. Does not match states.
    Random {
        /// Decides all choices.
        seed: u64,
        /// How many runs to draw.
        runs: u64,
    },
    /// Runs by random priorities that change at a few points: better than plain chance at what needs few switches in
    /// the right places. Does not match states.
    Pct {
        /// Decides all choices.
        seed: u64,
        /// How many runs to draw.
        runs: u64,
        /// How many events must come in a certain order for the mistake looked for: the number of changes, plus one.
        bug_depth: u64,
    },
}

/// Whether a state seen before is explored again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matching {
    /// Every path counts (stateless search). Ends only if all runs do, or by [`Limits::depth_max`].
    #[default]
    Off,
    /// States of equal [`System::digest`] are one (stateful search).
    Digest,
}

/// When to give up. `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// States to look at.
    pub states_max: Option<u64>,
    /// Length of a path. Depth first with matching, a state first met at the limit is not explored further even if a
    /// shorter path leads to it too; breadth first sees every state within the limit.
    pub depth_max: Option<usize>,
    /// Switches on a path away from a thread that could go on; for [`Strategy::Depth`].
    pub preemptions_max: Option<usize>,
}

/// What a search has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// States seen: distinct ones if they are matched, otherwise one for each path.
    pub states_seen: u64,
    /// Steps executed.
    pub transitions: u64,
    /// Ends of runs seen: distinct ones if states are matched.
    pub leaves: u64,
    /// Races found by a reduction: pairs of events that could have come the other way round.
    pub races: u64,
    /// Runs that a reduction began in vain: all that could follow was explored elsewhere.
    pub sleep_blocked: u64,
    /// Steps taken again to come back to a state; they are not among the transitions.
    pub replayed: u64,
    /// What time went into what, if the visitor has a clock.
    pub times: Times,
    /// Length of the longest path.
    pub depth_seen: usize,
    /// Whether this was everything.
    pub completeness: Completeness,
}

impl Summary {
    /// Whether the search has seen everything, so that what it did not find is not there.
    pub fn is_complete(&self) -> bool {
        self.completeness == Completeness::Complete
    }

    /// What two threads of one search have seen.
    fn and(&self, other: &Summary) -> Summary {
        let completeness = match (self.completeness, other.completeness) {
            (Completeness::Complete, theirs) => theirs,
            // Of several reasons to stop, a finding says most.
            (_, stopped @ Completeness::Stopped(Limit::Visitor)) => stopped,
            (ours, _) => ours,
        };
        Summary {
            states_seen: self.states_seen + other.states_seen,
            transitions: self.transitions + other.transitions,
            leaves: self.leaves + other.leaves,
            races: self.races + other.races,
            sleep_blocked: self.sleep_blocked + other.sleep_blocked,
            replayed: self.replayed + other.replayed,
            times: Times {
                hashing: self.times.hashing + other.times.hashing,
                restoring: self.times.restoring + other.times.restoring,
            },
            depth_seen: self.depth_seen.max(other.depth_seen),
            completeness,
        }
    }
}

/// Nanoseconds that a search has spent, by the visitor's [clock](Visitor::now).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Digests of states.
    pub hashing: u64,
    /// Choosing the next step, and coming back to the state in which to take it.
    pub restoring: u64,
}

/// What a search by several has come to.
pub struct Done<V> {
    /// What was seen by all together, and before it was gone on with.
    pub summary: Summary,
    /// Who has seen it.
    pub visitors: Vec<V>,
    /// Where to go on, if it was stopped before it had seen everything, and not by a visitor.
    pub checkpoint: Option<Checkpoint>,
}

impl From<&Summary> for Counted {
    fn from(summary: &Summary) -> Counted {
        let Summary { states_seen, transitions, leaves, races, sleep_blocked, depth_seen, completeness, .. } = *summary;
        let cut_off = completeness == Completeness::Stopped(Limit::Depth);
        Counted { states_seen, transitions, leaves, races, sleep_blocked, depth_seen, cut_off }
    }
}

/// Whether a search has seen everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Completeness {
    /// Nothing is left to explore.
    #[default]
    Complete,
    /// Something was left out, for this reason.
    Stopped(Limit),
}

/// Why a search has not seen everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The visitor had seen enough, as when it found a violation.
    Visitor,
    /// [`Limits::states_max`] was reached.
    States,
    /// Paths were cut off at [`Limits::depth_max`].
    Depth,
    /// Steps were left out because of [`Limits::preemptions_max`].
    Preemptions,
    /// The runs were chosen, by chance or from a list, among others.
    Sample,
    /// The caller's time was up.
    Time,
    /// The caller's memory was used up.
    Memory,
    /// Somebody asked the caller to stop.
    Interrupt,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::Visitor => "stopped at a finding",
            Limit::States => "limit on states reached",
            Limit::Depth => "paths cut off at the depth limit",
            Limit::Preemptions => "runs with more preemptions left out",
            Limit::Sample => "a sample of the runs",
            Limit::Time => "time limit reached",
            Limit::Memory => "memory limit reached",
            Limit::Interrupt => "interrupted",
        })
    }
}

impl Default for Search {
    fn default() -> Self {
        Search {
            strategy: Strategy::default(),
            matching: Matching::default(),
            restore: Restore::default(),
            limits: Limits::default(),
            progress_every: 256,
            steps_alone: 4_096,
        }
    }
}

impl Search {
    /// Searches `system` and shows `visitor` what it sees.
    pub fn run<S: System>(&self, system: &S, visitor: &mut impl Visitor<S>) -> Summary {
        match self.strategy {
            Strategy::Depth => {
                let depth = Depth::new(Live::new(system, self.restore));
                self.drive(system, &mut depth.bounded(system, self.limits.preemptions_max), visitor)
            }
            Strategy::Breadth => self.drive(system, &mut Breadth::default(), visitor),
            Strategy::Shortest => self.drive(system, &mut Breadth::by_switches(system), visitor),
            Strategy::Dpor(reduction) => {
                let stateless = Search { matching: Matching::Off, ..*self };
                stateless.drive(system, &mut Dpor::new(system, reduction), visitor)
            }
            Strategy::Reduced => {
                let stateful = Search { matching: Matching::Digest, ..*self };
                stateful.drive(system, &mut Graph::new(system, Live::new(system, self.restore)), visitor)
            }
            Strategy::Random { seed, runs } => {
                let stateless = Search { matching: Matching::Off, ..*self };
                stateless.drive(system, &mut Random::new(seed, runs), visitor)
            }
            Strategy::Pct { seed, runs, bug_depth } => {
                let stateless = Search { matching: Matching::Off, ..*self };
                stateless.drive(system, &mut Pct::new(system, seed, runs, bug_depth), visitor)
            }
        }
    }

    /// Searches `system` with up to `jobs` threads at once, and shows what they see to as many visitors, made by
    /// `visitor`. Goes on where the search `from` was stopped, which must have been of the same system.
    ///
    /// A search that is short, or whose strategy is not [`Strategy::Dpor`] with [`Reduction::Optimal`], uses one. How
    /// many there are decides neither which ends are seen nor how many; only who sees them, and how many steps that
    /// takes. Only
    /// [`Strategy::Dpor`] can be gone on with.
    pub fn run_jobs<S, V>(
        &self,
        system: &S,
        jobs: usize,
        from: Option<&Checkpoint>,
        visitor: impl Fn() -> V + Sync,
    ) -> Result<Done<V>, Mismatch>
    where
        S: System<State: Send + Sync, Step: Send + Sync, Event: Send + Sync> + Sync,
        V: Visitor<S> + Send,
    {
        let Strategy::Dpor(reduction) = self.strategy else {
            let mut visitor = visitor();
            return Ok(Done { summary: self.run(system, &mut visitor), visitors: vec![visitor], checkpoint: None });
        };
        let alone = jobs < 2 || reduction == Reduction::Source;
        let stateless = Search { matching: Matching::Off, ..*self };
        let (crew, counts) = (Crew::new(jobs), Counts::default());
        let mut frontier = match alone {
            true => Dpor::new(system, reduction),
            false => Dpor::in_crew(system, &crew, self.steps_alone.max(1)),
        };
        let mut first_visitor = visitor();
        if let Some(from) = from {
            frontier.take_up(from)?;
        }
        let mut first = Loop::new(&stateless, system, &mut frontier, &mut first_visitor, &counts);
        let end = match from {
            None => first.start(),
            Some(from) => first.go_on(&from.counted),
        };
        let (mut summary, mut left, mut others, mut shared) = (first.summary(end), Vec::new(), Vec::new(), false);
        if end.is_continue() && first.frontier.is_paused() {
            shared = true;
            let work = || {
                let mut frontier = Dpor::in_crew(system, &crew, 0);
                let mut visitor = visitor();
                let mut run = Loop::new(&stateless, system, &mut frontier, &mut visitor, &counts);
                run.estimates &= from.is_none();
                let summary = run.work_with(&crew);
                (summary, visitor, frontier.leave_off())
            };
            std::thread::scope(|scope| {
                let workers: Vec<_> = (1..jobs).map(|_| scope.spawn(work)).collect();
                summary = first.work_with(&crew);
                for worker in workers {
                    let (theirs, visitor, paths) = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
                    summary = summary.and(&theirs);
                    others.push(visitor);
                    left.extend(paths);
                }
            });
        }
        left.extend(frontier.leave_off());
        let resumable = !matches!(summary.completeness, Completeness::Complete | Completeness::Stopped(Limit::Visitor));
        let shared = shared || from.is_some_and(Checkpoint::is_shared);
        let checkpoint = resumable.then(|| Checkpoint::of(system, shared, &left, Counted::from(&summary)));
        let visitors = std::iter::once(first_visitor).chain(others).collect();
        Ok(Done { summary, visitors, checkpoint })
    }

    /// The search with any frontier.
    pub(crate) fn drive<S: System, F: Frontier<S>>(
        &self,
        system: &S,
        frontier: &mut F,
        visitor: &mut impl Visitor<S>,
    ) -> Summary {
        let counts = Counts::default();
        let mut run = Loop::new(self, system, frontier, visitor, &counts);
        let end = run.start();
        run.summary(end)
    }
}

/// What all threads of a search have counted, up to what each has counted since it last said so.
#[derive(Default)]
struct Counts {
    states_seen: AtomicU64,
    transitions: AtomicU64,
    leaves: AtomicU64,
}

/// A search under way.
struct Loop<'a, S: System, F, V> {
    system: &'a S,
    frontier: &'a mut F,
    visitor: &'a mut V,
    /// Digests of the states seen, if states are matched.
    seen: Option<FxHashSet<u128>>,
    states_max: u64,
    depth_max: usize,
    progress_every: u64,
    count: Progress,
    /// What was counted by all, and how much of it is ours.
    counts: &'a Counts,
    told: Progress,
    depth_seen: usize,
    times: Times,
    /// Whether some state was not explored further because of its depth.
    cut_off: bool,
    /// Whether the frontier can tell what is left: not if states are matched, which makes later branches ever smaller,
    /// nor if it was not there from the start.
    estimates: bool,
    /// What it said last, and after how many steps it is asked again.
    explored_ppm: Option<u32>,
    estimate_next: u64,
    /// The steps enabled in the state looked at: one buffer for the whole search.
    steps: Vec<S::Step>,
}

impl<'a, S: System, F: Frontier<S>, V: Visitor<S>> Loop<'a, S, F, V> {
    fn new(search: &Search, system: &'a S, frontier: &'a mut F, visitor: &'a mut V, counts: &'a Counts) -> Self {
        Loop {
            system,
            frontier,
            visitor,
            seen: (search.matching == Matching::Digest).then(FxHashSet::default),
            states_max: search.limits.states_max.unwrap_or(u64::MAX),
            depth_max: search.limits.depth_max.unwrap_or(usize::MAX),
            progress_every: search.progress_every.max(1),
            count: Progress::default(),
            counts,
            told: Progress::default(),
            depth_seen: 0,
            times: Times::default(),
            cut_off: false,
            estimates: search.matching == Matching::Off,
            explored_ppm: None,
            estimate_next: 0,
            steps: Vec::new(),
        }
    }

    /// Starts at the initial state.
    fn start(&mut self) -> ControlFlow<Limit> {
        self.arrive(self.system.initial())?;
        self.work()
    }

    /// Goes on with what the frontier has taken up.
    fn go_on(&mut self, counted: &Counted) -> ControlFlow<Limit> {
        let Counted { states_seen, transitions, leaves, depth_seen, cut_off, .. } = *counted;
        self.count = Progress { states_seen, transitions, leaves, ..Progress::default() };
        (self.depth_seen, self.cut_off) = (depth_seen, cut_off);
        self.estimates = false;
        self.work()
    }

    /// The loop: until the frontier is empty or something says stop.
    fn work(&mut self) -> ControlFlow<Limit> {
        while let Some((mut state, step)) = self.timed(|times| &mut times.restoring, |run| run.frontier.next()) {
            let event = self.system.execute(&mut state, &step);
            self.frontier.enter(step, event);
            self.count.transitions += 1;
            if self.count.transitions.is_multiple_of(self.progress_every) {
                self.report_progress()?;
            }
            self.show(&state, |visitor, at| match at.last_event() {
                Some(event) => visitor.step(at, event),
                None => Continue(()),
            })?;
            self.arrive(state)?;
        }
        Continue(())
    }

    /// Looks at a state that was just reached, and hands its steps to the frontier.
    fn arrive(&mut self, state: S::State) -> ControlFlow<Limit> {
        if !self.is_new(&state) {
            self.frontier.leave(state);
            return Continue(());
        }
        if self.count.states_seen + self.others_states() >= self.states_max {
            return Break(Limit::States);
        }
        self.count.states_seen += 1;
        let depth = self.frontier.path().depth();
        self.depth_seen = self.depth_seen.max(depth);
        self.show(&state, V::state)?;
        self.steps.clear();
        self.system.enabled(&state, &mut self.steps);
        if self.steps.is_empty() {
            self.count.leaves += 1;
            self.show(&state, V::leaf)?;
        } else if depth >= self.depth_max {
            self.cut_off = true;
            self.frontier.leave(state);
            return Continue(());
        }
        self.frontier.expand(state, &mut self.steps);
        Continue(())
    }

    fn is_new(&mut self, state: &S::State) -> bool {
        if self.seen.is_none() {
            return true;
        }
        let digest = self.timed(
            |times| &mut times.hashing,
            |run| {
                let digest = run.system.digest(state)?;
                Some(if F::COMPARES_PATHS { digest_of(&(digest, run.system.identity(state))) } else { digest })
            },
        );
        let digest = digest.map(|digest| self.frontier.matched(digest));
        let Some(seen) = &mut self.seen else { return true };
        self.frontier.recognise(digest).unwrap_or_else(|| digest.is_none_or(|digest| seen.insert(digest)))
    }

    /// Does something, and adds the time it took to one of the times, if there is a clock.
    fn timed<T>(&mut self, what: fn(&mut Times) -> &mut u64, work: impl FnOnce(&mut Self) -> T) -> T {
        let Some(start) = self.visitor.now() else { return work(self) };
        let done = work(self);
        let end = self.visitor.now().unwrap_or(start);
        *what(&mut self.times) += end.saturating_sub(start);
        done
    }

    fn show(
        &mut self,
        state: &S::State,
        look: impl FnOnce(&mut V, &Visit<'_, S>) -> ControlFlow<()>,
    ) -> ControlFlow<Limit> {
        let at = Visit { system: self.system, state, path: self.frontier.path() };
        match look(self.visitor, &at) {
            Continue(()) => Continue(()),
            Break(()) => Break(Limit::Visitor),
        }
    }

    fn report_progress(&mut self) -> ControlFlow<Limit> {
        self.tell();
        let explored_ppm = self.estimate();
        self.visitor.progress(&Progress {
            states_seen: self.counts.states_seen.load(Relaxed),
            transitions: self.counts.transitions.load(Relaxed),
            leaves: self.counts.leaves.load(Relaxed),
            depth: self.frontier.path().depth(),
            pending: self.frontier.pending(),
            explored_ppm,
        })
    }

    /// How much was explored, looked at anew whenever a little has been added: the longer the search, the less often.
    fn estimate(&mut self) -> Option<u32> {
        if self.estimates && self.count.transitions >= self.estimate_next {
            self.estimate_next = self.count.transitions + self.count.transitions / 256;
            self.explored_ppm = self.frontier.explored().map(|share| (share * 1e6) as u32);
        }
        self.explored_ppm
    }

    /// Adds what was counted here to what all have counted.
    fn tell(&mut self) {
        let (count, told) = (&self.count, &self.told);
        self.counts.states_seen.fetch_add(count.states_seen - told.states_seen, Relaxed);
        self.counts.transitions.fetch_add(count.transitions - told.transitions, Relaxed);
        self.counts.leaves.fetch_add(count.leaves - told.leaves, Relaxed);
        self.told = self.count;
    }

    /// States that other threads say they have seen.
    fn others_states(&self) -> u64 {
        self.counts.states_seen.load(Relaxed) - self.told.states_seen
    }

    /// What was seen, when the loop has ended like this.
    fn summary(&self, end: ControlFlow<Limit>) -> Summary {
        let Tally { races, sleep_blocked, replayed, preemptions_reached } = self.frontier.tally();
        let completeness = match end {
            Break(limit) => Completeness::Stopped(limit),
            Continue(()) if self.cut_off => Completeness::Stopped(Limit::Depth),
            Continue(()) if preemptions_reached => Completeness::Stopped(Limit::Preemptions),
            Continue(()) if !F::EXHAUSTIVE => Completeness::Stopped(Limit::Sample),
            Continue(()) => Completeness::Complete,
        };
        let Progress { states_seen, transitions, leaves, .. } = self.count;
        let races = Summary { races, sleep_blocked, replayed, ..Summary::default() };
        let Loop { depth_seen, times, .. } = *self;
        Summary { states_seen, transitions, leaves, times, depth_seen, completeness, ..races }
    }

    /// The loop as one of several; when it ends before its time, so do the others.
    fn work_with(&mut self, crew: &Crew<S>) -> Summary {
        let stop = StopOnDrop(crew);
        let end = self.work();
        if end.is_continue() {
            std::mem::forget(stop);
        }
        self.summary(end)
    }
}
