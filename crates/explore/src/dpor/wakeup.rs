//! Wakeup trees: what is still to be tried at a place, as sequences of steps that share their beginnings.
//!
//! A sequence that is planted is tried as it is written, up to its end; from there on anything may happen. So before a
//! sequence is planted, the tree is asked whether one of its own already leads to all that the new one leads to. It
//! does if the two are compatible: the tree's steps, one after another, can be brought to the front of the new
//! sequence, or do not disturb it.

use std::sync::Arc;

use crate::System;

/// Branches, in the order in which they are to be tried. A tree without any lets everything happen.
pub(super) struct Tree<S: System> {
    branches: Vec<Branch<S>>,
}

/// A step to take, and what to try after it.
pub(super) struct Branch<S: System> {
    pub(super) step: S::Step,
    pub(super) thread: usize,
    /// What it does here, where that is known.
    pub(super) event: Option<Arc<S::Event>>,
    pub(super) below: Tree<S>,
}

/// A step of a sequence to be planted, with what it does at its place in the sequence.
pub(super) struct Planned<S: System> {
    pub(super) step: S::Step,
    pub(super) thread: usize,
    pub(super) event: Arc<S::Event>,
}

impl<S: System> Clone for Planned<S> {
    fn clone(&self) -> Self {
        Planned { step: self.step.clone(), thread: self.thread, event: self.event.clone() }
    }
}

impl<S: System> Default for Tree<S> {
    fn default() -> Self {
        Tree { branches: Vec::new() }
    }
}

impl<S: System> Tree<S> {
    /// A tree of one branch.
    pub(super) fn leaf(branch: Branch<S>) -> Self {
        Tree { branches: vec![branch] }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.branches.is_empty()
    }

    pub(super) fn branches(&self) -> &[Branch<S>] {
        &self.branches
    }

    /// Takes the branch that is to be tried next.
    pub(super) fn take_first(&mut self) -> Option<Branch<S>> {
        (!self.branches.is_empty()).then(|| self.branches.remove(0))
    }

    /// Adds a branch, to be tried after all others.
    pub(super) fn push(&mut self, branch: Branch<S>) {
        self.branches.push(branch);
    }

    /// Plants a sequence, unless what is there leads to all that it leads to. Says whether it did.
    pub(super) fn plant(&mut self, system: &S, mut sequence: Vec<Planned<S>>) -> bool {
        let mut tree = self;
        loop {
            let next = tree.branches.iter().position(|branch| branch.goes_first(system, &mut sequence));
            match next {
                Some(index) => tree = &mut tree.branches[index].below,
                None => break,
            }
            if tree.is_empty() || sequence.is_empty() {
                return false;
            }
        }
        let chain = sequence.into_iter().rev().fold(Tree::default(), |below, Planned { step, thread, event }| {
            Tree::leaf(Branch { step, thread, event: Some(event), below })
        });
        tree.branches.extend(chain.branches);
        true
    }
}

impl<S: System> Branch<S> {
    /// Whether the branch's step may come before all of a sequence, as part of it (then it is taken out of it) or
    /// beside it.
    fn goes_first(&self, system: &S, sequence: &mut Vec<Planned<S>>) -> bool {
        match sequence.iter().position(|planned| planned.thread == self.thread) {
            Some(index) => {
                let first = sequence[index].step == self.step && is_first(system, sequence, index);
                if first {
                    sequence.remove(index);
                }
                first
            }
            None => self
                .event
                .as_ref()
                .is_some_and(|event| sequence.iter().all(|planned| !system.dependent(event, &planned.event))),
        }
    }
}

/// Whether nothing before the step at `index` must come before it.
pub(super) fn is_first<S: System>(system: &S, sequence: &[Planned<S>], index: usize) -> bool {
    let planned = &sequence[index];
    sequence[..index]
        .iter()
        .all(|other| other.thread != planned.thread && !system.dependent(&other.event, &planned.event))
}
