//! Breadth first: queues of states and a tree of the paths to them.
//!
//! States leave the queue in the order of their depth, so the first path to a state is a shortest one. Only the steps
//! of a path are kept, each pointing to the one before it; events would fill the memory, and a replay recovers them.
//!
//! There are many shortest paths, and those that change often from one thread to another are hard to read. So there may
//! be a queue for each number of *switches*: within a depth, steps that continue the thread that acted last come before
//! those that make another one act. A path that is continued by a given thread costs a switch or none depending on who
//! acted last; a state is therefore looked at once for each thread that can have acted last, and then the first path to
//! it is one with the fewest switches among the shortest.

use super::{Branch, Frontier, Path};
use crate::System;
use isolde_digest::digest_of;
use std::collections::{BTreeMap, VecDeque};

/// States with steps left, shallowest first.
pub(crate) struct Breadth<'a, S: System> {
    /// By depth and switches of the steps that are left; one queue for all if switches do not count.
    queues: BTreeMap<(usize, usize), Queue<S>>,
    tree: Vec<Branch<S::Step>>,
    /// Where the last step was taken, and that step with its event.
    from: Place,
    last: Option<(S::Step, S::Event)>,
    /// Tells threads apart, if switches count.
    system: Option<&'a S>,
}

/// States in the order of their arrival.
struct Queue<S: System> {
    entries: VecDeque<Entry<S::State>>,
    /// The steps of all entries, end to end in the order of the queue.
    steps: VecDeque<S::Step>,
}

struct Entry<T> {
    state: T,
    place: Place,
    steps_left: usize,
}

/// The path to a state.
#[derive(Clone, Copy, Default)]
struct Place {
    /// Its last step; none for the initial state.
    branch: Option<usize>,
    depth: usize,
    switches: usize,
}

impl<S: System> Default for Breadth<'_, S> {
    fn default() -> Self {
        Breadth { queues: BTreeMap::new(), tree: Vec::new(), from: Place::default(), last: None, system: None }
    }
}

impl<'a, S: System> Breadth<'a, S> {
    /// Of the shortest paths, those with the fewest switches first.
    pub(crate) fn by_switches(system: &'a S) -> Self {
        Breadth { system: Some(system), ..Breadth::default() }
    }

    /// The thread that acted last.
    fn last_thread(&self) -> Option<u64> {
        let (step, _) = self.last.as_ref()?;
        Some(self.system?.thread(step))
    }

    fn push(&mut self, key: (usize, usize), state: S::State, place: Place, steps: impl Iterator<Item = S::Step>) {
        let queue =
            self.queues.entry(key).or_insert_with(|| Queue { entries: VecDeque::new(), steps: VecDeque::new() });
        let before = queue.steps.len();
        queue.steps.extend(steps);
        let steps_left = queue.steps.len() - before;
        queue.entries.push_back(Entry { state, place, steps_left });
    }

    /// Where the path now ends. To be asked once per step, as it grows the tree.
    fn settle(&mut self, thread: Option<u64>) -> Place {
        let Some((step, _)) = self.last.take() else { return self.from };
        let before = self.from.branch.and_then(|branch| Some(self.system?.thread(&self.tree[branch].step)));
        let switch = before.is_some() && before != thread;
        self.tree.push(Branch { parent: self.from.branch, step });
        let branch = Some(self.tree.len() - 1);
        Place { branch, depth: self.from.depth + 1, switches: self.from.switches + usize::from(switch) }
    }
}

impl<S: System> Frontier<S> for Breadth<'_, S> {
    const EXHAUSTIVE: bool = true;

    fn next(&mut self) -> Option<(S::State, S::Step)> {
        let mut first = self.queues.first_entry()?;
        let queue = first.get_mut();
        let entry = queue.entries.front_mut().expect("a queue is dropped with its last entry");
        let step = queue.steps.pop_front().expect("an entry is dropped with its last step");
        self.from = entry.place;
        entry.steps_left -= 1;
        let state = if entry.steps_left == 0 {
            queue.entries.pop_front().expect("we have just looked at it").state
        } else {
            entry.state.clone()
        };
        if queue.entries.is_empty() {
            first.remove();
        }
        Some((state, step))
    }

    fn enter(&mut self, step: S::Step, event: S::Event) {
        self.last = Some((step, event));
    }

    fn path(&self) -> Path<'_, S> {
        let last = self.last.as_ref().map(|(step, event)| (step, event));
        let depth = self.from.depth + usize::from(last.is_some());
        Path::Branch { tree: &self.tree, parent: self.from.branch, depth, last }
    }

    fn matched(&self, digest: u128) -> u128 {
        match self.last_thread() {
            None => digest,
            Some(thread) => digest ^ digest_of(&thread),
        }
    }

    fn expand(&mut self, state: S::State, steps: &mut Vec<S::Step>) {
        if steps.is_empty() {
            return;
        }
        let thread = self.last_thread();
        let place = self.settle(thread);
        let (Some(system), Some(thread)) = (self.system, thread) else {
            return self.push((0, 0), state, place, steps.drain(..));
        };
        let (same, other): (Vec<S::Step>, Vec<S::Step>) = steps.drain(..).partition(|s| system.thread(s) == thread);
        for (switch, steps) in [same, other].into_iter().enumerate().filter(|(_, steps)| !steps.is_empty()) {
            self.push((place.depth, place.switches + switch), state.clone(), place, steps.into_iter());
        }
    }

    fn pending(&self) -> usize {
        self.queues.values().map(|queue| queue.entries.len()).sum()
    }
}
