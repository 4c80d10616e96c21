//! Dynamic partial-order reduction: one run for each way in which the events that matter to each other can be ordered.
//!
//! Most interleavings differ in the order of steps that commute, and show nothing new. Two runs are *equivalent* if one
//! becomes the other by swapping neighbouring events that are [independent](crate::System::dependent); the order of
//! dependent events, the *happens-before* order, is what a whole class of runs has in common, and so are its end, its
//! results and its errors. One run of each class is enough.
//!
//! Which events meet is only known once they have happened, so the reduction looks back. At the end of a run it looks
//! for *races*: pairs of dependent events of different threads, one directly before the other in the happens-before
//! order. Each could have come out the other way round. So at the place before the first of the two it plants what
//! leads there: all that did not need the first event, then the second thread's step. Places remember what to try in
//! a [wakeup tree](wakeup) and what was tried in a *sleep set*: a step that was explored there need not be taken again
//! until something that depends on it has happened.
//!
//! ```text
//!   a run       r1 . w2 . x3           w2 races with r1; x3 commutes with both
//!   planted at the start: x3 . w2      then whatever comes, r1 among it
//! ```
//!
//! This is Optimal-DPOR (Abdulla, Aronis, Jonsson, Sagonas: Source Sets, JACM 2017): no run is explored twice, none is
//! begun in vain. Its variant [`Reduction::Source`] plants single steps instead; it begins runs that turn out to be
//! known, but never executes a step outside of the run that it is on, which is all that a system can offer that is only
//! replayed.
//!
//! Steps may wait for others here, so three things go beyond the textbook. An event that ended the wait of a thread
//! happens before that thread's next one, and cannot be its race. An event that takes another's chance away (of two
//! waiters only one gets the lock; of a deadlock's threads only one is killed) races with the step that it disabled,
//! though that one may never happen. And what is planted has been executed to see that it is possible.
//!
//! What a place keeps is its state, a clone; so planting costs the steps that are planted, and not the way to them.

pub(crate) mod checkpoint;
pub(crate) mod crew;
mod node;
mod order;
mod plan;
mod wakeup;

use std::sync::Arc;

use crew::{Crew, Offer};
use node::{Asleep, Node};
pub(crate) use order::Move;
use order::Threads;
use wakeup::{Branch, Tree};

use crate::System;
use crate::estimate::{self, Place};
use crate::frontier::{Frontier, Path, Tally};

/// How runs that were explored already are avoided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// Wakeup trees: exactly one run of each class. Executes steps aside from the run it is on, from clones of its
    /// states.
    #[default]
    Optimal,
    /// Source sets and sleep sets: may begin a run that turns out to be known. Needs no state but the one it is in.
    Source,
}

/// A frontier that explores one run of each class, depth first.
pub(crate) struct Dpor<'a, S: System> {
    system: &'a S,
    reduction: Reduction,
    threads: Threads,
    /// Places on the path: `nodes[d]` is where `moves[d]` was taken; the last may have none yet.
    nodes: Vec<Arc<Node<S>>>,
    moves: Vec<Arc<Move<S>>>,
    /// The steps of the moves, for visitors.
    steps: Vec<S::Step>,
    /// The branch whose step is being executed.
    taking: Option<Taking<S>>,
    tally: Tally,
    /// Paths of an earlier search that are still to be taken up.
    waiting: Vec<Way<S>>,
    /// Others who work on the same search, and the number that we have among them.
    crew: Option<&'a Crew<S>>,
    worker: usize,
    /// Moves made so far, and how many of them before each place on the path was come to.
    made: u64,
    made_before: Vec<u64>,
    /// Moves to make before others are asked to join.
    alone: u64,
}

/// Places, and the moves between them.
type Way<S> = (Vec<Arc<Node<S>>>, Vec<Arc<Move<S>>>);

/// A branch on its way from a wakeup tree to the path.
struct Taking<S: System> {
    step: S::Step,
    /// What to do below it.
    below: Tree<S>,
    /// How many branches were taken at its node before it.
    before: usize,
    /// It is among the taken ones already.
    noted: bool,
}

impl<'a, S: System> Dpor<'a, S> {
    pub(crate) fn new(system: &'a S, reduction: Reduction) -> Self {
        Dpor {
            system,
            reduction,
            threads: Threads::default(),
            nodes: Vec::new(),
            moves: Vec::new(),
            steps: Vec::new(),
            taking: None,
            tally: Tally::default(),
            waiting: Vec::new(),
            crew: None,
            worker: 0,
            made: 0,
            made_before: Vec::new(),
            alone: 0,
        }
    }

    /// A worker of a crew, which pauses after `alone` moves for the others to join. Up to then it uses wakeup trees.
    pub(crate) fn in_crew(system: &'a S, crew: &'a Crew<S>, alone: u64) -> Self {
        let (worker, threads) = (crew.enlist(), crew.threads.clone());
        Dpor { crew: Some(crew), worker, alone, threads, ..Dpor::new(system, Reduction::Optimal) }
    }

    /// Whether there is more to do.
    pub(crate) fn is_paused(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// The next branch to take: at the deepest place that has one.
    fn take(&mut self) -> Option<(S::State, S::Step)> {
        while let Some(node) = self.nodes.last() {
            let mut open = node.open();
            if let Some((branch, before)) = open.take() {
                drop(open);
                return Some(self.follow(branch, before));
            }
            open.work += self.made - self.made_before.pop().unwrap_or(self.made);
            drop(open);
            self.nodes.pop();
            if self.nodes.is_empty()
                && let Some((nodes, moves)) = self.waiting.pop()
            {
                self.steps = moves.iter().map(|m| m.step.clone()).collect();
                (self.nodes, self.moves) = (nodes, moves);
            }
        }
        None
    }

    /// Sets out on a branch of the deepest place.
    fn follow(&mut self, branch: Branch<S>, before: usize) -> (S::State, S::Step) {
        let depth = self.nodes.len() - 1;
        self.moves.truncate(depth);
        self.steps.truncate(depth);
        let (step, noted) = (branch.step.clone(), branch.event.is_some());
        self.taking = Some(Taking { step, below: branch.below, before, noted });
        (self.nodes[depth].state.clone(), branch.step)
    }

    /// Gives a branch away: the shallowest, below which most is to be expected.
    fn share(&mut self, crew: &Crew<S>) {
        if let Some((nodes, moves)) = self.waiting.pop() {
            return crew.offer(Offer { nodes, moves, branch: None });
        }
        for (depth, node) in self.nodes.iter().enumerate() {
            let mut open = node.open();
            if let Some((branch, before)) = open.take() {
                drop(open);
                let (nodes, moves) = (self.nodes[..=depth].to_vec(), self.moves[..depth].to_vec());
                return crew.offer(Offer { nodes, moves, branch: Some((branch, before)) });
            }
        }
    }

    /// Takes over a path, and the branch at its end that comes with it.
    fn accept(&mut self, offer: Offer<S>) -> Option<(S::State, S::Step)> {
        let Offer { nodes, moves, branch } = offer;
        self.steps = moves.iter().map(|m| m.step.clone()).collect();
        (self.nodes, self.moves) = (nodes, moves);
        self.made_before = vec![self.made; self.nodes.len()];
        match branch {
            Some((branch, before)) => Some(self.follow(branch, before)),
            None => self.take(),
        }
    }

    /// What sleeps after the last move: what slept before it or was tried before it, unless it depends on the move.
    fn sleep(&self, before: usize) -> Vec<Asleep<S>> {
        let (Some(node), Some(last)) = (self.nodes.last(), self.moves.last()) else { return Vec::new() };
        let open = node.open();
        let asleep = node.sleep.iter().chain(&open.taken[..before]);
        asleep.filter(|q| q.thread != last.thread && !self.system.dependent(&q.event, &last.event)).cloned().collect()
    }

    /// The step to begin with at a new place: one that does not sleep, of the thread that has just acted if possible.
    fn first_step(&self, sleep: &[Asleep<S>], enabled: &[S::Step]) -> Option<S::Step> {
        let awake = || enabled.iter().filter(|step| !sleep.iter().any(|q| q.step == **step));
        let last = self.steps.last();
        awake().find(|step| Some(*step) == last).or_else(|| awake().next()).cloned()
    }
}

impl<S: System> Frontier<S> for Dpor<'_, S> {
    const EXHAUSTIVE: bool = true;

    fn next(&mut self) -> Option<(S::State, S::Step)> {
        let Some(crew) = self.crew else { return self.take() };
        if self.alone > 0 {
            self.alone -= 1;
            return if self.alone > 0 { self.take() } else { None };
        }
        self.reduction = Reduction::Source;
        if crew.is_stopped() {
            return None;
        }
        let mut next = self.take();
        while next.is_none() {
            crew.place(self.worker, Vec::new());
            next = self.accept(crew.wait()?);
        }
        if crew.wants_work() {
            self.share(crew);
        }
        next
    }

    fn enter(&mut self, step: S::Step, event: S::Event) {
        let event = Arc::new(event);
        let thread = self.threads.of(self.system, &step);
        if let (Some(node), Some(taking)) = (self.nodes.last(), &self.taking)
            && !taking.noted
        {
            node.open().taken.push(Asleep { step: step.clone(), thread, event: event.clone() });
        }
        let (clock, races) = self.order(&step, thread, &event);
        self.made += 1;
        self.moves.push(Arc::new(Move { step: step.clone(), thread, event, clock, races, disabled: Vec::new() }));
        self.steps.push(step);
    }

    fn path(&self) -> Path<'_, S> {
        Path::Moves { steps: &self.steps, moves: &self.moves }
    }

    fn expand(&mut self, state: S::State, steps: &mut Vec<S::Step>) {
        self.note_disabled(steps);
        let (below, before) = self.taking.take().map_or_else(Default::default, |taking| (taking.below, taking.before));
        if steps.is_empty() {
            return self.look_back();
        }
        let sleep = self.sleep(before);
        let mut todo = below;
        if todo.is_empty() {
            match self.first_step(&sleep, steps) {
                Some(step) => {
                    let thread = self.threads.of(self.system, &step);
                    todo = Tree::leaf(Branch { step, thread, event: None, below: Tree::default() });
                }
                None => {
                    self.tally.sleep_blocked += 1;
                    return self.look_back();
                }
            }
        }
        self.nodes.push(Arc::new(Node::new(state, std::mem::take(steps), sleep, todo)));
        self.made_before.push(self.made);
    }

    fn pending(&self) -> usize {
        self.nodes.len()
    }

    fn explored(&mut self) -> Option<f64> {
        let places = self.nodes.iter().enumerate().map(|(depth, node)| {
            let before = |depth: usize| self.made_before.get(depth).copied().unwrap_or(self.made);
            let open = node.open();
            let (taken, left) = (open.taken.len(), open.todo.branches().len());
            let work = before(depth + 1).saturating_sub(before(depth));
            Place { id: Arc::as_ptr(node).addr(), work, work_before: open.work, taken, left }
        });
        let places: Vec<Place> = places.collect();
        Some(match self.crew {
            None => estimate::share_done(&[&places]),
            Some(crew) => crew.place(self.worker, places),
        })
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
