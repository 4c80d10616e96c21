//! Frontiers: what is left to explore, and which of it comes next.
//!
//! A frontier owns the states that have unexplored steps and remembers the path to the state looked at. To add a
//! strategy, write a file here; the loop in `search.rs` stays as it is. The calls come in this order, once per step:
//!
//! ```text
//!   next    -> a state (given away or cloned) and a step          the loop executes the step in the state
//!   enter   <- the step and its event                             path() now ends with them
//!   expand  <- the state and its steps, none if it is a leaf      not called if the state was seen or is too deep
//! ```
//!
//! The [reduction](crate::dpor) is a frontier too: depth first, but `expand` picks one step, and at a leaf looks for
//! races in the events of the path and plants further steps at the depths where they are to be reversed.

mod breadth;
mod depth;
mod live;
mod pct;
mod random;
mod replay;

pub(crate) use breadth::Breadth;
pub(crate) use depth::Depth;
pub(crate) use live::Live;
pub use live::Restore;
pub(crate) use pct::Pct;
pub(crate) use random::Random;
pub(crate) use replay::Replay;

use std::sync::Arc;

use crate::System;
use crate::dpor::Move;

/// What is left to explore. The loop starts with `expand` for the initial state.
pub(crate) trait Frontier<S: System> {
    /// Whether an empty frontier means that everything was explored.
    const EXHAUSTIVE: bool;

    /// Whether events of different paths are compared, so that states must agree in what these
    /// [name](System::identity).
    const COMPARES_PATHS: bool = false;

    /// Takes the next step to execute and the state to execute it in.
    fn next(&mut self) -> Option<(S::State, S::Step)>;

    /// Extends the path by the step taken last, which did `event`.
    fn enter(&mut self, step: S::Step, event: S::Event);

    /// The path to where the last step led.
    fn path(&self) -> Path<'_, S>;

    /// Takes in the state at the end of the path, with its enabled steps. The buffer `steps` may be emptied.
    fn expand(&mut self, state: S::State, steps: &mut Vec<S::Step>);

    /// Takes back the state at the end of the path, which is not explored further: it was seen before, or is too deep.
    fn leave(&mut self, state: S::State) {
        drop(state);
    }

    /// By what the state at the end of the path is recognised, if this is its digest.
    fn matched(&self, digest: u128) -> u128 {
        digest
    }

    /// How many states wait to be explored further.
    fn pending(&self) -> usize;

    /// About how much of everything was explored, from 0 to 1, if there is a way to tell.
    fn explored(&mut self) -> Option<f64> {
        None
    }

    /// What it has to tell besides.
    fn tally(&self) -> Tally {
        Tally::default()
    }

    /// Whether the state at the end of the path is new, if the frontier itself remembers those it has seen; called
    /// before anything is shown of it, if states are matched.
    fn recognise(&mut self, digest: Option<u128>) -> Option<bool> {
        let _ = digest;
        None
    }
}

/// What a frontier has counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Races found in runs.
    pub(crate) races: u64,
    /// Runs that were given up because all that could follow was explored elsewhere.
    pub(crate) sleep_blocked: u64,
    /// Steps taken again to come back to a state.
    pub(crate) replayed: u64,
    /// Steps were left out for their preemptions.
    pub(crate) preemptions_reached: bool,
}

/// The steps that lead to a state, borrowed from a frontier.
pub(crate) enum Path<'a, S: System> {
    /// A path kept in full.
    Trail(&'a Trail<S>),
    /// A path whose events are shared.
    Moves { steps: &'a [S::Step], moves: &'a [Arc<Move<S>>] },
    /// A path that shares its beginnings with others.
    Branch {
        tree: &'a [Branch<S::Step>],
        parent: Option<usize>,
        depth: usize,
        last: Option<(&'a S::Step, &'a S::Event)>,
    },
}

/// The steps of one path and what they did; both always have the same length.
pub(crate) struct Trail<S: System> {
    pub(crate) steps: Vec<S::Step>,
    pub(crate) events: Vec<S::Event>,
}

/// A step in a tree of paths; they point to their parents, so that a path costs one entry for its last step only.
pub(crate) struct Branch<T> {
    pub(crate) parent: Option<usize>,
    pub(crate) step: T,
}

/// The steps that end with `last`.
pub(crate) fn path_to<T: Clone>(tree: &[Branch<T>], last: Option<usize>) -> Vec<T> {
    let mut steps = Vec::new();
    let mut next = last;
    while let Some(branch) = next.and_then(|index| tree.get(index)) {
        steps.push(branch.step.clone());
        next = branch.parent;
    }
    steps.reverse();
    steps
}

impl<S: System> Path<'_, S> {
    pub(crate) fn depth(&self) -> usize {
        match self {
            Path::Trail(trail) => trail.steps.len(),
            Path::Moves { steps, .. } => steps.len(),
            Path::Branch { depth, .. } => *depth,
        }
    }

    pub(crate) fn last(&self) -> Option<(&S::Step, &S::Event)> {
        match self {
            Path::Trail(trail) => trail.steps.last().zip(trail.events.last()),
            Path::Moves { steps, moves } => steps.last().zip(moves.last().map(|last| &*last.event)),
            Path::Branch { last, .. } => *last,
        }
    }

    pub(crate) fn events(&self) -> Option<&[S::Event]> {
        match self {
            Path::Trail(trail) => Some(&trail.events),
            Path::Moves { .. } | Path::Branch { .. } => None,
        }
    }

    /// Shows every event of the path, first to last; `false` if they are not at hand.
    pub(crate) fn each_event(&self, look: &mut dyn FnMut(&S::Event)) -> bool {
        match self {
            Path::Trail(trail) => trail.events.iter().for_each(look),
            Path::Moves { moves, .. } => moves.iter().for_each(|one| look(&one.event)),
            Path::Branch { .. } => return false,
        }
        true
    }

    pub(crate) fn steps(&self) -> Vec<S::Step> {
        match self {
            Path::Trail(trail) => trail.steps.clone(),
            Path::Moves { steps, .. } => steps.to_vec(),
            Path::Branch { tree, parent, depth, last } => {
                let mut steps = path_to(tree, *parent);
                debug_assert!(steps.len() <= *depth, "a path is as long as it is deep");
                steps.extend(last.map(|(step, _)| step.clone()));
                steps
            }
        }
    }
}

impl<S: System> Trail<S> {
    pub(crate) fn push(&mut self, step: S::Step, event: S::Event) {
        self.steps.push(step);
        self.events.push(event);
    }

    pub(crate) fn truncate(&mut self, depth: usize) {
        self.steps.truncate(depth);
        self.events.truncate(depth);
    }
}

impl<S: System> Default for Trail<S> {
    fn default() -> Self {
        Trail { steps: Vec::new(), events: Vec::new() }
    }
}
