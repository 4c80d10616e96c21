//! A list that only grows, and shares its past with its copies.
//!
//! What a thread has seen belongs to the state, and states branch at every step. So a copy is O(1), an entry more costs
//! one allocation, and the digest of the whole is kept up to date instead of being computed anew.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use isolde_explore::digest_of;

/// A list that only grows. Clones in O(1).
pub(crate) struct Log<T> {
    last: Option<Arc<Node<T>>>,
    digest: u128,
}

struct Node<T> {
    item: T,
    before: Option<Arc<Node<T>>>,
}

impl<T: Hash> Log<T> {
    /// Adds an entry.
    pub(crate) fn push(&mut self, item: T) {
        self.digest = digest_of(&(self.digest, &item));
        self.last = Some(Arc::new(Node { item, before: self.last.take() }));
    }
}

impl<T> Log<T> {
    /// Tells lists apart.
    pub(crate) fn digest(&self) -> u128 {
        self.digest
    }

    /// The entries, last to first.
    pub(crate) fn backwards(&self) -> impl Iterator<Item = &T> {
        std::iter::successors(self.last.as_deref(), |node| node.before.as_deref()).map(|node| &node.item)
    }

    /// The entries, first to last.
    pub(crate) fn to_vec(&self) -> Vec<&T> {
        let mut items: Vec<&T> = self.backwards().collect();
        items.reverse();
        items
    }
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Log { last: None, digest: 0 }
    }
}

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Log { last: self.last.clone(), digest: self.digest }
    }
}

impl<T> Drop for Log<T> {
    /// One node after another: dropping a long list must not use the stack for each of its nodes.
    fn drop(&mut self) {
        let mut next = self.last.take();
        while let Some(mut node) = next.and_then(Arc::into_inner) {
            next = node.before.take();
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Log<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.to_vec()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_share_their_past() {
        let mut a = Log::default();
        a.push(1);
        let mut b = a.clone();
        a.push(2);
        b.push(3);
        assert_eq!((a.to_vec(), b.to_vec()), (vec![&1, &2], vec![&1, &3]));
        assert_ne!(a.digest(), b.digest());
    }

    #[test]
    fn a_long_list_is_dropped_without_a_deep_stack() {
        let mut log = Log::default();
        (0..1_000_000).for_each(|i| log.push(i));
        drop(log.clone());
        drop(log);
    }
}
