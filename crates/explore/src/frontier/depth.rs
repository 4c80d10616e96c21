//! Depth first: a stack of places with steps left.
//!
//! Each state with steps left is a frame; their steps lie end to end in one stack, the next one on top. Going back to a
//! frame is a clone of its state, except for its last step, which is given the state itself: then the frame is gone
//! before its last child is entered, and a run that never branches needs one state. Or no states are kept, and the one
//! there is is brought back ([`Restore`](super::Restore)).
//!
//! A bound on *preemptions* leaves out steps: a switch away from a thread that could go on costs one, a switch away
//! from one that waits or has ended costs nothing. Most mistakes show with very few. With matching, a state counts once
//! for each thread that acted last and each number of preemptions on the way, since what may follow depends on these.

use super::{Frontier, Live, Path, Tally, Trail};
use crate::System;
use crate::estimate::{self, Place};
use isolde_digest::digest_of;

/// Frames with steps left, deepest last.
pub(crate) struct Depth<'a, S: System> {
    frames: Vec<Frame<S::State>>,
    steps: Vec<S::Step>,
    trail: Trail<S>,
    /// The one state there is, if none are kept.
    live: Option<Live<'a, S>>,
    bound: Option<Bound<'a, S>>,
    /// Steps taken so far.
    taken: u64,
}

struct Frame<T> {
    /// None if the state is brought back in another way.
    state: Option<T>,
    /// The length of the path to this state.
    depth: usize,
    /// Where its steps begin in the common stack; those of the next frame begin where they end.
    steps_start: usize,
    /// How many they were.
    steps_count: usize,
    /// Steps of the whole search that were taken before it was reached.
    taken_before: u64,
}

/// A bound on preemptions.
struct Bound<'a, S> {
    system: &'a S,
    max: usize,
    /// Preemptions on the path up to each of its steps.
    used: Vec<usize>,
    /// The threads that can act in the state at the end of the path to each frame.
    threads: Vec<Vec<u64>>,
    /// Something was left out.
    reached: bool,
}

impl<'a, S: System> Depth<'a, S> {
    /// Keeps states unless there is a `live` one.
    pub(crate) fn new(live: Option<Live<'a, S>>) -> Self {
        Depth { frames: Vec::new(), steps: Vec::new(), trail: Trail::default(), live, bound: None, taken: 0 }
    }

    /// Follows no path with more preemptions than this.
    pub(crate) fn bounded(self, system: &'a S, preemptions_max: Option<usize>) -> Self {
        let bound = preemptions_max.map(|max| Bound { system, max, used: vec![], threads: vec![], reached: false });
        Depth { bound, ..self }
    }

    fn settle(&mut self, state: S::State) -> Option<S::State> {
        match &mut self.live {
            None => Some(state),
            Some(live) => {
                live.arrive(self.trail.steps.last().cloned(), state);
                None
            }
        }
    }
}

impl<S: System> Bound<'_, S> {
    /// The thread that acted last, and the preemptions so far.
    fn place(&self, trail: &Trail<S>) -> (Option<u64>, usize) {
        (trail.steps.last().map(|step| self.system.thread(step)), self.used.last().copied().unwrap_or(0))
    }

    /// Leaves out the steps that would be one preemption too many.
    fn restrict(&mut self, trail: &Trail<S>, steps: &mut Vec<S::Step>) {
        self.used.truncate(trail.steps.len());
        let threads: Vec<u64> = steps.iter().map(|step| self.system.thread(step)).collect();
        if let (Some(last), used) = self.place(trail)
            && used >= self.max
            && threads.contains(&last)
        {
            let before = steps.len();
            steps.retain(|step| self.system.thread(step) == last);
            self.reached |= steps.len() < before;
        }
        self.threads.push(threads);
    }

    /// A step is taken from a frame.
    fn enter(&mut self, trail: &Trail<S>, frame: usize, step: &S::Step) {
        self.used.truncate(trail.steps.len());
        let (last, used) = self.place(trail);
        let could_go_on = last.is_some_and(|last| self.threads[frame].contains(&last));
        let preempts = could_go_on && last != Some(self.system.thread(step));
        self.used.push(used + usize::from(preempts));
    }
}

impl<S: System> Frontier<S> for Depth<'_, S> {
    const EXHAUSTIVE: bool = true;

    fn next(&mut self) -> Option<(S::State, S::Step)> {
        let frame = self.frames.last()?;
        let step = self.steps.pop().expect("a frame is dropped with its last step");
        self.taken += 1;
        self.trail.truncate(frame.depth);
        if let Some(bound) = &mut self.bound {
            bound.threads.truncate(self.frames.len());
            bound.enter(&self.trail, self.frames.len() - 1, &step);
        }
        let state = if self.steps.len() == frame.steps_start {
            self.frames.pop().expect("we have just looked at it").state
        } else {
            frame.state.clone()
        };
        let state = match &mut self.live {
            None => state.expect("states are kept if none is live"),
            Some(live) => live.go(&self.trail.steps),
        };
        Some((state, step))
    }

    fn enter(&mut self, step: S::Step, event: S::Event) {
        self.trail.push(step, event);
    }

    fn path(&self) -> Path<'_, S> {
        Path::Trail(&self.trail)
    }

    fn expand(&mut self, state: S::State, steps: &mut Vec<S::Step>) {
        let state = self.settle(state);
        if steps.is_empty() {
            return;
        }
        if let Some(bound) = &mut self.bound {
            bound.threads.truncate(self.frames.len());
            bound.restrict(&self.trail, steps);
        }
        self.frames.push(Frame {
            state,
            depth: self.trail.steps.len(),
            steps_start: self.steps.len(),
            steps_count: steps.len(),
            taken_before: self.taken,
        });
        self.steps.extend(steps.drain(..).rev());
    }

    fn leave(&mut self, state: S::State) {
        self.settle(state);
    }

    fn matched(&self, digest: u128) -> u128 {
        match &self.bound {
            None => digest,
            Some(bound) => digest_of(&(digest, bound.place(&self.trail))),
        }
    }

    fn pending(&self) -> usize {
        self.frames.len()
    }

    /// Frames that are gone had no step left; there is only work to remember of them.
    fn explored(&mut self) -> Option<f64> {
        let places = self.frames.iter().enumerate().map(|(id, frame)| {
            let next = self.frames.get(id + 1);
            let left = next.map_or(self.steps.len(), |next| next.steps_start) - frame.steps_start;
            let work = next.map_or(self.taken, |next| next.taken_before) - frame.taken_before;
            Place { id, work, work_before: 0, taken: frame.steps_count - left, left }
        });
        let before = self.frames.first().map_or(self.taken, |first| first.taken_before);
        let gone = Place { id: usize::MAX, work: before, work_before: 0, taken: 1, left: 0 };
        Some(estimate::share_done(&[&std::iter::once(gone).chain(places).collect::<Vec<_>>()]))
    }

    fn tally(&self) -> Tally {
        Tally {
            replayed: self.live.as_ref().map_or(0, |live| live.replayed),
            preemptions_reached: self.bound.as_ref().is_some_and(|bound| bound.reached),
            ..Tally::default()
        }
    }
}
