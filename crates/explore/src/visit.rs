//! Who looks on: what a search shows of each place it comes to, and to whom.

use crate::frontier::Path;
use crate::{Limit, Schedule, System};
use std::ops::ControlFlow::{self, Continue};

/// What receives the results of a search. `Break` from any of its methods ends the search.
///
/// With [state matching](crate::Matching::Digest), only one of the paths to a state is shown to `state` and `leaf`:
/// what these check must depend on the state alone.
pub trait Visitor<S: System> {
    /// A run has ended here.
    fn leaf(&mut self, at: &Visit<'_, S>) -> ControlFlow<()>;

    /// A state that was not seen before, leaves and the initial state included.
    fn state(&mut self, at: &Visit<'_, S>) -> ControlFlow<()> {
        let _ = at;
        Continue(())
    }

    /// A step was executed and led here, whether or not the state is new.
    fn step(&mut self, at: &Visit<'_, S>, event: &S::Event) -> ControlFlow<()> {
        let _ = (at, event);
        Continue(())
    }

    /// Called every [`progress_every`](crate::Search::progress_every) steps; the place to look at a clock, at memory or
    /// at an interrupt. `Break` names the limit that was reached.
    fn progress(&mut self, progress: &Progress) -> ControlFlow<Limit> {
        let _ = progress;
        Continue(())
    }

    /// A clock in nanoseconds, for a caller who wants to know what time went into what; none by default, and then
    /// nothing is measured.
    fn now(&self) -> Option<u64> {
        None
    }
}

/// A place in a search: a state and the path that led to it.
pub struct Visit<'a, S: System> {
    /// The system explored.
    pub system: &'a S,
    /// The state reached.
    pub state: &'a S::State,
    pub(crate) path: Path<'a, S>,
}

impl<S: System> Visit<'_, S> {
    /// The number of steps that led here.
    pub fn depth(&self) -> usize {
        self.path.depth()
    }

    /// The steps that led here.
    pub fn schedule(&self) -> Schedule<S::Step> {
        Schedule { steps: self.path.steps() }
    }

    /// The last step; `None` in the initial state.
    pub fn last_step(&self) -> Option<&S::Step> {
        self.path.last().map(|(step, _)| step)
    }

    /// What the last step did; `None` in the initial state.
    pub fn last_event(&self) -> Option<&S::Event> {
        self.path.last().map(|(_, event)| event)
    }

    /// What each step of the path did, where the search keeps that at hand: otherwise `None`; [`replay`] the schedule
    /// to see it.
    ///
    /// [`replay`]: crate::replay
    pub fn events(&self) -> Option<&[S::Event]> {
        self.path.events()
    }

    /// Shows what each step of the path did, first to last. `false` if the search does not keep that: nothing is shown.
    pub fn each_event(&self, look: &mut dyn FnMut(&S::Event)) -> bool {
        self.path.each_event(look)
    }
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// States seen so far.
    pub states_seen: u64,
    /// Steps executed so far.
    pub transitions: u64,
    /// Ends of runs seen so far.
    pub leaves: u64,
    /// The depth of the step just executed.
    pub depth: usize,
    /// States that wait to be explored further.
    pub pending: usize,
    /// How much of everything was explored, in millionths, where there is an estimate. It may fall as well as rise; at
    /// the end it is a million.
    pub explored_ppm: Option<u32>,
}

/// A visitor that looks at leaves only.
pub fn on_leaf<S: System>(look: impl FnMut(&Visit<'_, S>) -> ControlFlow<()>) -> impl Visitor<S> {
    OnLeaf(look)
}

/// A visitor that looks at every new state.
pub fn on_state<S: System>(look: impl FnMut(&Visit<'_, S>) -> ControlFlow<()>) -> impl Visitor<S> {
    OnState(look)
}

struct OnLeaf<F>(F);

impl<S: System, F: FnMut(&Visit<'_, S>) -> ControlFlow<()>> Visitor<S> for OnLeaf<F> {
    fn leaf(&mut self, at: &Visit<'_, S>) -> ControlFlow<()> {
        (self.0)(at)
    }
}

struct OnState<F>(F);

impl<S: System, F: FnMut(&Visit<'_, S>) -> ControlFlow<()>> Visitor<S> for OnState<F> {
    fn leaf(&mut self, _: &Visit<'_, S>) -> ControlFlow<()> {
        Continue(())
    }

    fn state(&mut self, at: &Visit<'_, S>) -> ControlFlow<()> {
        (self.0)(at)
    }
}
