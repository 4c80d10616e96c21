//! A reduced search, set aside: what is needed to go on with it later, as text.
//!
//! A search is where its workers are. For each of them there is a path; for each place on a path, what was tried there
//! and what is still to try. Steps are kept by name. What they did is not kept: the system is deterministic, and
//! following the paths once more brings back every state, event and sleep set.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::node::{Asleep, Node};
use super::wakeup::{Branch, Tree};
use super::{Dpor, Reduction};
use crate::System;
use crate::frontier::Frontier;

/// A search that was stopped by a limit, to be gone on with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Whether several have worked on it.
    shared: bool,
    /// The places on the paths.
    places: Vec<Place>,
    /// The paths, each as the places on it with the steps taken there.
    paths: Vec<Vec<(usize, Option<String>)>>,
    /// What was counted up to there.
    pub(crate) counted: Counted,
}

/// What was tried at a place, and what is still to try.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    tried: Vec<String>,
    to_try: Vec<Sequences>,
}

/// A step, and what to try after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Sequences {
    step: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    then: Vec<Sequences>,
}

/// What a search had counted when it was stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counted {
    pub(crate) states_seen: u64,
    pub(crate) transitions: u64,
    pub(crate) leaves: u64,
    pub(crate) races: u64,
    pub(crate) sleep_blocked: u64,
    pub(crate) depth_seen: usize,
    /// Paths had been cut off at the depth limit.
    pub(crate) cut_off: bool,
}

/// A checkpoint that does not belong to the system: a step that it names is unknown, or not possible where it should
/// be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    step: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the checkpoint is of another search: its step \"{}\" is not possible here", self.step)
    }
}

impl std::error::Error for Mismatch {}

/// Where a worker was: a path to be taken up again.
pub(crate) struct Left<S: System> {
    nodes: Vec<Arc<Node<S>>>,
    /// The steps taken at the nodes; the last may have none.
    steps: Vec<S::Step>,
    /// A step that was chosen at the last node but not followed yet, with what was to come after it.
    chosen: Option<Branch<S>>,
}

impl Checkpoint {
    /// Whether several have worked on it.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    /// What the workers have left.
    pub(crate) fn of<S: System>(system: &S, shared: bool, left: &[Left<S>], counted: Counted) -> Checkpoint {
        let mut checkpoint = Checkpoint { shared, counted, ..Checkpoint::default() };
        let mut known: BTreeMap<*const Node<S>, usize> = BTreeMap::new();
        for Left { nodes, steps, chosen } in left {
            let mut path = Vec::new();
            for (depth, node) in nodes.iter().enumerate() {
                let index = *known.entry(Arc::as_ptr(node)).or_insert_with(|| {
                    let open = node.open();
                    checkpoint.places.push(Place {
                        tried: open.taken.iter().map(|q| system.name(&q.step)).collect(),
                        to_try: Sequences::of(system, &open.todo),
                    });
                    checkpoint.places.len() - 1
                });
                path.push((index, steps.get(depth).map(|step| system.name(step))));
            }
            if let (Some(branch), Some((index, step))) = (chosen, path.last_mut()) {
                *step = None;
                let then = Sequences::of(system, &branch.below);
                checkpoint.places[*index].to_try.insert(0, Sequences { step: system.name(&branch.step), then });
            }
            if !path.is_empty() {
                checkpoint.paths.push(path);
            }
        }
        checkpoint
    }
}

impl Sequences {
    fn of<S: System>(system: &S, tree: &Tree<S>) -> Vec<Sequences> {
        let branches = tree.branches().iter();
        branches
            .map(|branch| Sequences { step: system.name(&branch.step), then: Sequences::of(system, &branch.below) })
            .collect()
    }
}

impl<'a, S: System> Dpor<'a, S> {
    /// Lets go of all paths, so that somebody can take them up again.
    pub(crate) fn leave_off(&mut self) -> Vec<Left<S>> {
        let waiting = std::mem::take(&mut self.waiting);
        let offers = self.crew.map_or_else(Vec::new, |crew| crew.left());
        let offers = offers.into_iter().map(|offer| (offer.nodes, offer.moves, offer.branch.map(|(branch, _)| branch)));
        let waiting = waiting.into_iter().map(|(nodes, moves)| (nodes, moves, None)).chain(offers);
        let waiting = waiting.map(|(nodes, moves, chosen)| {
            let steps = moves.iter().map(|m| m.step.clone()).collect();
            Left { nodes, steps, chosen }
        });
        let mut left: Vec<Left<S>> = waiting.collect();
        left.push(self.leave_path());
        left
    }

    fn leave_path(&mut self) -> Left<S> {
        let nodes = std::mem::take(&mut self.nodes);
        let mut steps = std::mem::take(&mut self.steps);
        steps.truncate(nodes.len());
        let chosen = self.taking.take().filter(|_| !nodes.is_empty()).map(|taking| {
            steps.truncate(nodes.len() - 1);
            let thread = self.threads.of(self.system, &taking.step);
            Branch { step: taking.step, thread, event: None, below: taking.below }
        });
        self.moves.clear();
        Left { nodes, steps, chosen }
    }

    /// Takes up the paths of a checkpoint: the last one to go on with, the others to come back to.
    pub(crate) fn take_up(&mut self, checkpoint: &Checkpoint) -> Result<(), Mismatch> {
        if checkpoint.shared {
            self.reduction = Reduction::Source;
        }
        self.tally.races = checkpoint.counted.races;
        self.tally.sleep_blocked = checkpoint.counted.sleep_blocked;
        let mut known = BTreeMap::new();
        for path in &checkpoint.paths {
            if !self.nodes.is_empty() {
                self.waiting.push((std::mem::take(&mut self.nodes), std::mem::take(&mut self.moves)));
            }
            self.steps.clear();
            self.follow_again(checkpoint, path, &mut known)?;
        }
        Ok(())
    }

    /// Follows a path once more; places that were met on another are the same ones.
    fn follow_again(
        &mut self,
        checkpoint: &Checkpoint,
        path: &[(usize, Option<String>)],
        known: &mut BTreeMap<usize, Arc<Node<S>>>,
    ) -> Result<(), Mismatch> {
        let mut state = self.system.initial();
        let mut before = 0;
        for (index, step) in path {
            let node = match known.get(index) {
                Some(node) => node.clone(),
                None => {
                    let place = checkpoint.places.get(*index).ok_or_else(|| Mismatch { step: index.to_string() })?;
                    let node = Arc::new(self.place_again(state, before, place)?);
                    known.insert(*index, node.clone());
                    node
                }
            };
            state = node.state.clone();
            self.nodes.push(node.clone());
            let Some(name) = step else { break };
            let step = self.step_named(name, &node.enabled)?;
            let tried = node.open().taken.iter().position(|q| q.step == step);
            before = tried.ok_or_else(|| Mismatch { step: name.clone() })?;
            let event = self.system.execute(&mut state, &step);
            self.enter(step, event);
            let mut enabled = Vec::new();
            self.system.enabled(&state, &mut enabled);
            self.note_disabled(&enabled);
        }
        Ok(())
    }

    fn place_again(&mut self, state: S::State, before: usize, place: &Place) -> Result<Node<S>, Mismatch> {
        let mut enabled = Vec::new();
        self.system.enabled(&state, &mut enabled);
        let sleep = self.sleep(before);
        let todo = self.sequences_again(&state, &enabled, &place.to_try)?;
        let mut taken = Vec::new();
        for name in &place.tried {
            let step = self.step_named(name, &enabled)?;
            let event = Arc::new(self.system.execute(&mut state.clone(), &step));
            taken.push(Asleep { thread: self.threads.of(self.system, &step), step, event });
        }
        let node = Node::new(state, enabled, sleep, todo);
        node.open().taken = taken;
        Ok(node)
    }

    fn sequences_again(
        &mut self,
        state: &S::State,
        enabled: &[S::Step],
        sequences: &[Sequences],
    ) -> Result<Tree<S>, Mismatch> {
        let mut tree = Tree::default();
        for Sequences { step, then } in sequences {
            let step = self.step_named(step, enabled)?;
            let thread = self.threads.of(self.system, &step);
            let mut after = state.clone();
            let event = Some(Arc::new(self.system.execute(&mut after, &step)));
            let mut next = Vec::new();
            self.system.enabled(&after, &mut next);
            let below = self.sequences_again(&after, &next, then)?;
            tree.push(Branch { step, thread, event, below });
        }
        Ok(tree)
    }

    fn step_named(&self, name: &str, enabled: &[S::Step]) -> Result<S::Step, Mismatch> {
        let step = enabled.iter().find(|step| self.system.name(step) == name);
        step.cloned().ok_or_else(|| Mismatch { step: name.into() })
    }
}
