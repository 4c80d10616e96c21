//! A place of a reduced search: its state, what sleeps there, what was tried and what is still to try.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashSet;

use super::wakeup::{Branch, Tree};
use crate::System;

/// A place with steps to take. The path to it belongs to whoever is there.
pub(super) struct Node<S: System> {
    pub(super) state: S::State,
    /// The steps that are possible here.
    pub(super) enabled: Vec<S::Step>,
    /// Steps that need not be taken: the runs that begin with them are explored elsewhere.
    pub(super) sleep: Vec<Asleep<S>>,
    open: Mutex<Open<S>>,
}

/// What changes while the place is explored.
pub(super) struct Open<S: System> {
    /// What was tried here or is being tried, first to last.
    pub(super) taken: Vec<Asleep<S>>,
    /// What is still to try.
    pub(super) todo: Tree<S>,
    /// Digests of the sequences that were to be planted here, whether or not there was a need.
    pub(super) considered: FxHashSet<u128>,
    /// Steps taken below by workers who have left.
    pub(super) work: u64,
}

/// A step that was explored, and what it did. That stays true until something happens that depends on it.
pub(super) struct Asleep<S: System> {
    pub(super) step: S::Step,
    pub(super) thread: usize,
    pub(super) event: Arc<S::Event>,
}

impl<S: System> Clone for Asleep<S> {
    fn clone(&self) -> Self {
        Asleep { step: self.step.clone(), thread: self.thread, event: self.event.clone() }
    }
}

impl<S: System> Open<S> {
    /// Takes what is to be tried next, with how much was taken before it. It counts as tried from now on, if it is
    /// known what it does; otherwise whoever takes it says so once it is.
    pub(super) fn take(&mut self) -> Option<(Branch<S>, usize)> {
        let branch = self.todo.take_first()?;
        // Begun already, by a worker whose search was stopped: it keeps its place among the tried ones, or it and one
        // that was begun after it would each leave to the other what they have in common.
        if let Some(before) = self.taken.iter().position(|tried| tried.step == branch.step) {
            return Some((branch, before));
        }
        let before = self.taken.len();
        if let Some(event) = &branch.event {
            self.taken.push(Asleep { step: branch.step.clone(), thread: branch.thread, event: event.clone() });
        }
        Some((branch, before))
    }
}

impl<S: System> Node<S> {
    pub(super) fn new(state: S::State, enabled: Vec<S::Step>, sleep: Vec<Asleep<S>>, todo: Tree<S>) -> Self {
        Node {
            state,
            enabled,
            sleep,
            open: Mutex::new(Open { taken: Vec::new(), todo, considered: FxHashSet::default(), work: 0 }),
        }
    }

    /// What changes. A worker that panicked while it looked has left it whole: every change is one push or one take.
    pub(super) fn open(&self) -> MutexGuard<'_, Open<S>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
