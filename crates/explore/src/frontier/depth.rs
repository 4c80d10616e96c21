//! Depth first: a stack of snapshots.
//!
//! Each state with steps left is a frame; their steps lie end to end in one stack, the next one on top. Going back to a
//! frame is a clone of its state, except for its last step, which is given the state itself: then the frame is gone
//! before its last child is entered, and a run that never branches needs one state.

use super::{Frontier, Path, Trail};
use crate::System;

/// Frames with steps left, deepest last.
pub(crate) struct Depth<S: System> {
    frames: Vec<Frame<S::State>>,
    steps: Vec<S::Step>,
    trail: Trail<S>,
}

struct Frame<T> {
    state: T,
    /// The length of the path to this state.
    depth: usize,
    /// Where its steps begin in the common stack; those of the next frame begin where they end.
    steps_start: usize,
}

impl<S: System> Default for Depth<S> {
    fn default() -> Self {
        Depth { frames: Vec::new(), steps: Vec::new(), trail: Trail::default() }
    }
}

impl<S: System> Frontier<S> for Depth<S> {
    const EXHAUSTIVE: bool = true;

    fn next(&mut self) -> Option<(S::State, S::Step)> {
        let frame = self.frames.last()?;
        let step = self.steps.pop().expect("a frame is dropped with its last step");
        self.trail.truncate(frame.depth);
        let state = if self.steps.len() == frame.steps_start {
            self.frames.pop().expect("we have just looked at it").state
        } else {
            frame.state.clone()
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
        if steps.is_empty() {
            return;
        }
        self.frames.push(Frame { state, depth: self.trail.steps.len(), steps_start: self.steps.len() });
        self.steps.extend(steps.drain(..).rev());
    }

    fn pending(&self) -> usize {
        self.frames.len()
    }
}
