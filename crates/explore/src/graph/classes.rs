//! Classes of events, which of them depend on each other, and sets of them.

use crate::System;
use rustc_hash::FxHashMap;

/// The classes of events met so far, numbered, each with one event that stands for all.
pub(super) struct Classes<'a, S: System> {
    system: &'a S,
    events: Vec<(u64, S::Event)>,
    by_key: FxHashMap<(u64, u128), usize>,
    /// Answers to questions asked before, the smaller number first.
    dependent: FxHashMap<(usize, usize), bool>,
}

impl<'a, S: System> Classes<'a, S> {
    pub(super) fn new(system: &'a S) -> Self {
        Classes { system, events: Vec::new(), by_key: FxHashMap::default(), dependent: FxHashMap::default() }
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
        self.events.push((thread, event));
        number
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

/// A set of small numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Set(Vec<u64>);

impl Set {
    /// Puts a number in; false if it was there.
    pub(super) fn insert(&mut self, number: usize) -> bool {
        let (word, bit) = (number / 64, 1 << (number % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    /// The numbers in it, smallest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(word, bits)| {
            let bits = *bits;
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
        })
    }
}
