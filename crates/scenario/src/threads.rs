//! Sets of threads.

use std::fmt;

/// A set of threads, by position in the file. Those past the 128th are in no set.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadSet(u128);

impl ThreadSet {
    /// Whether a thread is in it.
    pub fn contains(self, thread: usize) -> bool {
        thread < 128 && self.0 >> thread & 1 == 1
    }

    /// With one thread more.
    pub fn with(self, thread: usize) -> ThreadSet {
        if thread < 128 { ThreadSet(self.0 | 1 << thread) } else { self }
    }

    /// Whether no thread is in it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many threads are in it.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }
}

impl FromIterator<usize> for ThreadSet {
    fn from_iter<I: IntoIterator<Item = usize>>(threads: I) -> ThreadSet {
        threads.into_iter().fold(ThreadSet::default(), ThreadSet::with)
    }
}

impl fmt::Debug for ThreadSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries((0..128).filter(|&thread| self.contains(thread))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_into_it() {
        let set: ThreadSet = [0, 3, 127, 128, 500].into_iter().collect();
        assert_eq!(format!("{set:?}"), "{0, 3, 127}");
        assert_eq!((set.len(), set.is_empty(), set.contains(500)), (3, false, false));
        assert!(ThreadSet::default().is_empty());
    }
}
