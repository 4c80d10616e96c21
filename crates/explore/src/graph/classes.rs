//! Classes of events, which of them depend on each other, and what is known of them.

use crate::System;
use rustc_hash::FxHashMap;

/// The classes of events met so far, numbered, each with one event that stands for all.
pub(super) struct Classes<'a, S: System> {
    system: &'a S,
    events: Vec<(u64, S::Event)>,
    by_key: FxHashMap<(u64, u128), usize>,
    /// Threads, numbered as they come.
    threads: FxHashMap<u64, u32>,
    /// Answers to questions asked before, the smaller number first.
    dependent: FxHashMap<(usize, usize), bool>,
}

impl<'a, S: System> Classes<'a, S> {
    pub(super) fn new(system: &'a S) -> Self {
        Classes {
            system,
            events: Vec::new(),
            by_key: FxHashMap::default(),
            threads: FxHashMap::default(),
            dependent: FxHashMap::default(),
        }
    }

    /// The class of an event of a thread.
    pub(super) fn of(&mut self, thread: u64, event: S::Event) -> usize {
        let number = self.events.len();
        if let Some(key) = self.system.class(&event) {
            let known = *self.by_key.entry((thread, key)).or_insert(number);
            if known < number {
                return known;
            }
        }
        let next = self.threads.len() as u32;
        self.threads.entry(thread).or_insert(next);
        self.events.push((thread, event));
        number
    }

    /// An event of a class that has just happened: it waits for its own thread only.
    pub(super) fn known(&self, class: usize) -> Known {
        Known { class, threads: self.bit(class) }
    }

    /// The bit of the thread whose events they are; the first 64 threads have one.
    pub(super) fn bit(&self, class: usize) -> u64 {
        self.threads.get(&self.thread(class)).map_or(0, |&index| 1u64.checked_shl(index).unwrap_or(0))
    }

    /// Whose events they are.
    pub(super) fn thread(&self, class: usize) -> u64 {
        self.events[class].0
    }

    /// Whether events of two classes may depend on each other. Those of one thread cannot change places, so nothing
    /// is to be tried because of them.
    pub(super) fn are_dependent(&mut self, one: usize, other: usize) -> bool {
        let (first, second) = (one.min(other), one.max(other));
        if self.events[first].0 == self.events[second].0 {
            return false;
        }
        let (system, events) = (self.system, &self.events);
        *self.dependent.entry((first, second)).or_insert_with(|| system.dependent(&events[first].1, &events[second].1))
    }
}

/// An event that happens further down, and which threads it waits for: those that have an event before it, and below
/// here, on which it depends. Whatever such a thread does here comes before it in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) class: usize,
    /// A bit for each thread; its own is among them.
    threads: u64,
}

impl Known {
    /// Whether a thread, given by its bit, is waited for. Threads without a bit are waited for by nobody, which is
    /// safe.
    pub(super) fn waits_for(self, bit: u64) -> bool {
        self.threads & bit != 0
    }

    pub(super) fn waiting_for(self, bit: u64) -> Known {
        Known { threads: self.threads | bit, ..self }
    }
}

/// What is known below a node: for each class, the smallest sets of threads.
#[derive(Clone, Debug, Default)]
pub(super) struct Below(FxHashMap<usize, Vec<u64>>);

impl Below {
    /// Puts something in; false if that or something that says more was there.
    pub(super) fn insert(&mut self, known: Known) -> bool {
        let sets = self.0.entry(known.class).or_default();
        if sets.iter().any(|&set| set & !known.threads == 0) {
            return false;
        }
        sets.retain(|&set| known.threads & !set != 0);
        sets.push(known.threads);
        true
    }

    pub(super) fn contains(&self, known: Known) -> bool {
        self.0.get(&known.class).is_some_and(|sets| sets.contains(&known.threads))
    }

    /// All of it, in the order of the classes.
    pub(super) fn iter(&self) -> impl Iterator<Item = Known> + '_ {
        let mut classes: Vec<usize> = self.0.keys().copied().collect();
        classes.sort_unstable();
        classes.into_iter().flat_map(|class| self.0[&class].iter().map(move |&threads| Known { class, threads }))
    }
}
