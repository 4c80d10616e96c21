//! Replay: the choices are read from a list.

use super::{Frontier, Path, Trail};
use crate::{NotEnabled, System};

/// The steps of a schedule that are still to be taken.
pub(crate) struct Replay<'a, S: System> {
    wanted: std::slice::Iter<'a, S::Step>,
    chosen: Option<(S::State, S::Step)>,
    trail: Trail<S>,
    /// The step that was wanted but not possible.
    pub(crate) refused: Option<NotEnabled<S::Step>>,
}

impl<'a, S: System> Replay<'a, S> {
    pub(crate) fn new(steps: &'a [S::Step]) -> Self {
        Replay { wanted: steps.iter(), chosen: None, trail: Trail::default(), refused: None }
    }
}

impl<S: System> Frontier<S> for Replay<'_, S> {
    const EXHAUSTIVE: bool = false;

    fn next(&mut self) -> Option<(S::State, S::Step)> {
        self.chosen.take()
    }

    fn enter(&mut self, step: S::Step, event: S::Event) {
        self.trail.push(step, event);
    }

    fn path(&self) -> Path<'_, S> {
        Path::Trail(&self.trail)
    }

    fn expand(&mut self, state: S::State, steps: &mut Vec<S::Step>) {
        let Some(step) = self.wanted.next() else { return };
        if steps.contains(step) {
            self.chosen = Some((state, step.clone()));
        } else {
            let position = self.trail.steps.len();
            self.refused = Some(NotEnabled { position, step: step.clone(), enabled: std::mem::take(steps) });
        }
    }

    fn pending(&self) -> usize {
        self.wanted.len() + usize::from(self.chosen.is_some())
    }
}
