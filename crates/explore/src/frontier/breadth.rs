//! Breadth first: a queue of states and a tree of the paths to them.
//!
//! States leave the queue in the order of their depth, so the first path to a state is a shortest one. Only the steps of
//! a path are kept, each pointing to the one before it; events would fill the memory, and a replay recovers them.

use super::{Branch, Frontier, Path};
use crate::System;
use std::collections::VecDeque;

/// States with steps left, shallowest first.
pub(crate) struct Breadth<S: System> {
    queue: VecDeque<Entry<S::State>>,
    /// The steps of all entries, end to end in the order of the queue.
    steps: VecDeque<S::Step>,
    tree: Vec<Branch<S::Step>>,
    /// The state in which the last step was taken, and that step with its event.
    parent: Option<usize>,
    last: Option<(S::Step, S::Event)>,
    depth: usize,
}

struct Entry<T> {
    state: T,
    /// The last step of the path to it; none for the initial state.
    branch: Option<usize>,
    depth: usize,
    steps_left: usize,
}

impl<S: System> Default for Breadth<S> {
    fn default() -> Self {
        Breadth { queue: VecDeque::new(), steps: VecDeque::new(), tree: Vec::new(), parent: None, last: None, depth: 0 }
    }
}

impl<S: System> Frontier<S> for Breadth<S> {
    const EXHAUSTIVE: bool = true;

    fn next(&mut self) -> Option<(S::State, S::Step)> {
        let entry = self.queue.front_mut()?;
        let step = self.steps.pop_front().expect("an entry is dropped with its last step");
        self.parent = entry.branch;
        self.depth = entry.depth + 1;
        entry.steps_left -= 1;
        let state = if entry.steps_left == 0 {
            self.queue.pop_front().expect("we have just looked at it").state
        } else {
            entry.state.clone()
        };
        Some((state, step))
    }

    fn enter(&mut self, step: S::Step, event: S::Event) {
        self.last = Some((step, event));
    }

    fn path(&self) -> Path<'_, S> {
        let last = self.last.as_ref().map(|(step, event)| (step, event));
        Path::Branch { tree: &self.tree, parent: self.parent, depth: self.depth, last }
    }

    fn expand(&mut self, state: S::State, steps: &mut Vec<S::Step>) {
        if steps.is_empty() {
            return;
        }
        let branch = self.last.take().map(|(step, _)| {
            self.tree.push(Branch { parent: self.parent, step });
            self.tree.len() - 1
        });
        self.queue.push_back(Entry { state, branch, depth: self.depth, steps_left: steps.len() });
        self.steps.extend(steps.drain(..));
    }

    fn pending(&self) -> usize {
        self.queue.len()
    }
}
