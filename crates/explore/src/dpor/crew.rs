//! Several workers on one search.
//!
//! Places of the search are shared, paths are not. A worker that has nothing to do says so; one that has more than it
//! needs then gives away a branch, at its shallowest place with something left to try, together with the path to it.
//! Both have that path now, and both look for races on it. What one of them plants at a shared place is found there by
//! whoever comes back first. A branch that somebody has taken counts as tried from then on, for it will be.
//!
//! That is sound only if what is below a branch is explored in full whatever happens beside it. Wakeup trees do not
//! have that property: what is planted below a branch comes from the branches to its left, which must be done before it
//! is begun. So once several work on a search they plant by [source sets](super::Reduction::Source). Sleep sets still
//! see to it that no two runs that end are equivalent: the ends are the same, one of each class, however many work on
//! them. But some runs are begun in vain.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::node::Node;
use super::order::{Move, Threads};
use super::wakeup::Branch;
use crate::System;
use crate::estimate::{self, Place};

/// What the workers of a search share.
pub(crate) struct Crew<S: System> {
    workers: usize,
    pub(super) threads: Threads,
    desk: Mutex<Desk<S>>,
    bell: Condvar,
    /// How many wait for work.
    idle: AtomicUsize,
    stopped: AtomicBool,
    /// Where each worker was when it last said so.
    paths: Mutex<Vec<Vec<Place>>>,
}

struct Desk<S: System> {
    offers: VecDeque<Offer<S>>,
    idle: usize,
}

/// A path to take over.
pub(super) struct Offer<S: System> {
    pub(super) nodes: Vec<Arc<Node<S>>>,
    pub(super) moves: Vec<Arc<Move<S>>>,
    /// A branch to take at its end, and how many were taken there before it.
    pub(super) branch: Option<(Branch<S>, usize)>,
}

impl<S: System> Crew<S> {
    pub(crate) fn new(workers: usize) -> Self {
        let desk = Desk { offers: VecDeque::new(), idle: 0 };
        Crew {
            workers,
            threads: Threads::default(),
            desk: Mutex::new(desk),
            bell: Condvar::new(),
            idle: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            paths: Mutex::default(),
        }
    }

    /// A new worker's number.
    pub(super) fn enlist(&self) -> usize {
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        paths.push(Vec::new());
        paths.len() - 1
    }

    /// Takes note of where a worker is now. The share of the whole search that is done, as far as is known.
    pub(super) fn place(&self, worker: usize, path: Vec<Place>) -> f64 {
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = paths.get_mut(worker) {
            *known = path;
        }
        estimate::share_done(&paths.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    fn desk(&self) -> MutexGuard<'_, Desk<S>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody waits for work, for whom nothing lies ready.
    pub(super) fn wants_work(&self) -> bool {
        self.idle.load(Ordering::Relaxed) > 0
    }

    pub(super) fn offer(&self, offer: Offer<S>) {
        let mut desk = self.desk();
        desk.offers.push_back(offer);
        self.idle.store(desk.idle.saturating_sub(desk.offers.len()), Ordering::Relaxed);
        drop(desk);
        self.bell.notify_one();
    }

    /// Waits for work; none comes when nobody is left who could give any, or when all were told to stop.
    pub(super) fn wait(&self) -> Option<Offer<S>> {
        let mut desk = self.desk();
        desk.idle += 1;
        loop {
            if self.is_stopped() {
                return None;
            }
            if let Some(offer) = desk.offers.pop_front() {
                desk.idle -= 1;
                self.idle.store(desk.idle.saturating_sub(desk.offers.len()), Ordering::Relaxed);
                return Some(offer);
            }
            if desk.idle == self.workers {
                drop(desk);
                self.stop();
                return None;
            }
            self.idle.store(desk.idle, Ordering::Relaxed);
            desk = self.bell.wait(desk).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Tells all to stop.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Under the lock, so that nobody is between looking and waiting.
        drop(self.desk());
        self.bell.notify_all();
    }

    /// What was offered and not taken when all stopped.
    pub(super) fn left(&self) -> Vec<Offer<S>> {
        self.desk().offers.drain(..).collect()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// Stops the crew when it is dropped: also a worker that panics must not leave the others waiting.
pub(crate) struct StopOnDrop<'a, S: System>(pub(crate) &'a Crew<S>);

impl<S: System> Drop for StopOnDrop<'_, S> {
    fn drop(&mut self) {
        self.0.stop();
    }
}
