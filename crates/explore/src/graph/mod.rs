//! Stateful search with reduction: states matched, and from each only the steps that are needed.
//!
//! Depth-first search with a reduction takes one step from a state and adds another, a *backtrack point*, when an event
//! further down turns out to depend on the first: then the other order may come to something else. With state matching
//! that is not enough. A run that ends in a state seen before never shows the events that follow there, so races
//! between them and the run would be missed. And if runs come back to where they were, one thread can go round for ever
//! while another, independent of it, is never tried.
//!
//! So the states seen are the nodes of a graph that is kept, and each node knows the *classes* of events that were seen
//! anywhere below it (a class is an event up to what decides its dependences, see [`System::class`]):
//!
//! ```text
//!      r ──e──▶ s ──▶ · · · ──f──▶          f becomes known below s.
//!      ▲                                    For every edge r ──e──▶ s, stored whenever it was taken: f is known below r too;
//!      └─ f's thread is planned here        and if e and f depend on each other, r gets f's thread as a backtrack point,
//!         if e and f are dependent          or every enabled step if f's thread cannot act in r.
//! ```
//!
//! An event of a thread that has an event between here and f on which f depends comes before f in any case: no order of
//! the two is to be tried. So what is known below a node is a class and the threads that it [waits for](Known); it
//! passes over each edge once for each set of threads that is not a superset of another. An edge to a state seen before
//! passes on what is known there already, and whatever becomes known later. Two rules complete it:
//!
//! * *Who is disabled*: a step that is possible in r and no longer in s is planned in r. Of several victims of a
//!   deadlock, say, only one is killed, and no event of the others will ever tell.
//! * *Who is ignored* ([`ignored`]): when nothing is left to do, every cycle that the search cannot leave must let each
//!   thread that is enabled on it act somewhere on it.
//!
//! # Why every end is found
//!
//! Let `v` be events t1..tm that could follow a state s of the graph; then the graph has a path from s on which they
//! all happen, in an equivalent order and perhaps with others that do not matter to them. By induction on m. If a step
//! taken from s is one of the ti that can be moved to the front, go on from there with one less. Otherwise follow steps
//! independent of all of v, which stays possible; t1's thread is enabled all along, so by the second rule this ends: at
//! some s' a step e is taken that depends on tj, and on none before. After e, the thread of tj does something else that
//! depends on e, or (first rule) cannot act. By the same argument, applied to the way on from e, that event is seen
//! below e: so s' has that thread as a backtrack point, and its step in s' is one that can be moved to the front, or it
//! depends on an earlier ti, and so on. (What the event waits for on that way is among the ti, and none of these is of
//! e's thread: that one's next step is e until something happens that e depends on, so it would be e, moved to the
//! front.) An end is reached by events that leave nothing to add, so its state is in the graph. The same was shown for
//! persistent sets by Godefroid; summaries are from Yang et al. (SPIN 2008). Not every state on the way to an end is
//! seen.

mod classes;
mod ignored;

use crate::System;
use crate::frontier::{Branch, Frontier, Live, Path, Tally, path_to};
use classes::{Below, Classes, Known};
use rustc_hash::FxHashMap;

/// The states seen, what leads from one to the other, and what is still to be tried.
pub(crate) struct Graph<'a, S: System> {
    system: &'a S,
    nodes: Vec<Node<S>>,
    by_digest: FxHashMap<u128, usize>,
    classes: Classes<'a, S>,
    /// First paths to the nodes.
    tree: Vec<Branch<S::Step>>,
    /// Steps to take, the next one last: a node, and a position among its steps.
    agenda: Vec<(usize, usize)>,
    /// The step under way.
    taken: Option<(usize, usize)>,
    /// What it did.
    last: Option<(S::Step, S::Event)>,
    /// Where it led.
    reached: Option<usize>,
    /// What has become known below a node, to be passed on.
    news: Vec<(usize, Known)>,
    races: u64,
    /// The one state there is, if none are kept.
    live: Option<Live<'a, S>>,
}

/// A state that was seen.
struct Node<S: System> {
    /// Kept while some step was not taken, unless there is a live one.
    state: Option<S::State>,
    /// What is possible here.
    moves: Vec<Move<S::Step>>,
    /// Moves that were not taken yet, planned or not.
    untaken: usize,
    /// The events seen below.
    below: Below,
    /// What leads here: a node, and the class of the event.
    from: Vec<(usize, usize)>,
    /// The last step of the first path here; none for the initial state.
    branch: Option<usize>,
    depth: usize,
    /// Its moves are known.
    expanded: bool,
}

struct Move<T> {
    step: T,
    thread: u64,
    planned: bool,
    /// Where it leads, once it was taken.
    to: Option<usize>,
}

impl<'a, S: System> Graph<'a, S> {
    /// Keeps states unless there is a `live` one.
    pub(crate) fn new(system: &'a S, live: Option<Live<'a, S>>) -> Self {
        Graph {
            system,
            nodes: Vec::new(),
            by_digest: FxHashMap::default(),
            classes: Classes::new(system),
            tree: Vec::new(),
            agenda: Vec::new(),
            taken: None,
            last: None,
            reached: None,
            news: Vec::new(),
            races: 0,
            live,
        }
    }

    /// Stores the edge that the last step was, and passes on what follows from it.
    fn settle(&mut self) {
        let (Some((from, index)), Some((_, event)), Some(to)) =
            (self.taken.take(), self.last.take(), self.reached.take())
        else {
            return;
        };
        let thread = self.nodes[from].moves[index].thread;
        let class = self.classes.of(thread, event);
        self.nodes[from].moves[index].to = Some(to);
        self.nodes[to].from.push((from, class));
        self.plan_disabled(from, thread, to);
        self.learn(from, self.classes.known(class));
        for known in self.nodes[to].below.iter().collect::<Vec<_>>() {
            self.pass(from, class, known);
        }
        while let Some((node, known)) = self.news.pop() {
            if !self.nodes[node].below.contains(known) {
                continue; // Something that says more has come since.
            }
            for i in 0..self.nodes[node].from.len() {
                let (before, class) = self.nodes[node].from[i];
                self.pass(before, class, known);
            }
        }
    }

    /// An event happens somewhere behind `node` and a step of class `class` taken there.
    fn pass(&mut self, node: usize, class: usize, known: Known) {
        if known.waits_for(self.classes.bit(class)) || !self.classes.are_dependent(class, known.class) {
            return self.learn(node, known);
        }
        if !self.nodes[node].is_planned() {
            self.races += 1;
            self.plan(node, self.classes.thread(known.class));
        }
        self.learn(node, known.waiting_for(self.classes.bit(class)));
    }

    /// Takes note that an event happens below a node.
    fn learn(&mut self, node: usize, known: Known) {
        if self.nodes[node].below.insert(known) {
            self.news.push((node, known));
        }
    }

    /// Plans the steps of a thread; all steps if it has none here.
    fn plan(&mut self, node: usize, thread: u64) {
        let can_act = self.nodes[node].moves.iter().any(|m| m.thread == thread);
        for index in 0..self.nodes[node].moves.len() {
            let chosen = &mut self.nodes[node].moves[index];
            if !chosen.planned && (!can_act || chosen.thread == thread) {
                chosen.planned = true;
                self.agenda.push((node, index));
            }
        }
    }

    /// Plans what the others could have done before this thread's step, and can no longer do after it.
    fn plan_disabled(&mut self, from: usize, thread: u64, to: usize) {
        if self.nodes[from].is_planned() || !self.nodes[to].expanded {
            return;
        }
        let after = &self.nodes[to].moves;
        let gone = |m: &&Move<S::Step>| m.thread != thread && !after.iter().any(|a| a.step == m.step);
        let disabled: Vec<u64> = self.nodes[from].moves.iter().filter(gone).map(|m| m.thread).collect();
        for thread in disabled {
            self.plan(from, thread);
        }
    }

    /// Plans a step on each cycle that ignores a thread; false if there is none.
    fn plan_ignored(&mut self) -> bool {
        let ignored = ignored::find(&self.nodes);
        for &(node, thread) in &ignored {
            self.plan(node, thread);
        }
        !ignored.is_empty()
    }
}

impl<S: System> Node<S> {
    fn new(depth: usize) -> Self {
        Node {
            state: None,
            moves: Vec::new(),
            untaken: 0,
            below: Below::default(),
            from: Vec::new(),
            branch: None,
            depth,
            expanded: false,
        }
    }

    fn is_planned(&self) -> bool {
        self.moves.iter().all(|m| m.planned)
    }
}

impl<S: System> Frontier<S> for Graph<'_, S> {
    const EXHAUSTIVE: bool = true;
    const COMPARES_PATHS: bool = true;

    fn next(&mut self) -> Option<(S::State, S::Step)> {
        self.settle();
        if self.agenda.is_empty() && !self.plan_ignored() {
            return None;
        }
        let (index, at) = self.agenda.pop()?;
        let node = &mut self.nodes[index];
        node.untaken -= 1;
        let kept = if node.untaken == 0 { node.state.take() } else { node.state.clone() };
        let step = node.moves[at].step.clone();
        let path = self.live.is_some().then(|| path_to(&self.tree, self.nodes[index].branch));
        let state = match (&mut self.live, path) {
            (Some(live), Some(path)) => live.go(&path),
            _ => kept.expect("a state is kept as long as a step is left"),
        };
        self.taken = Some((index, at));
        Some((state, step))
    }

    fn enter(&mut self, step: S::Step, event: S::Event) {
        self.last = Some((step, event));
    }

    fn recognise(&mut self, digest: Option<u128>) -> Option<bool> {
        let known = digest.and_then(|digest| self.by_digest.get(&digest).copied());
        self.reached = Some(known.unwrap_or_else(|| {
            let depth = self.taken.map_or(0, |(from, _)| self.nodes[from].depth + 1);
            self.nodes.push(Node::new(depth));
            self.nodes.len() - 1
        }));
        if let (None, Some(digest)) = (known, digest) {
            self.by_digest.insert(digest, self.nodes.len() - 1);
        }
        Some(known.is_none())
    }

    fn path(&self) -> Path<'_, S> {
        let last = self.last.as_ref().map(|(step, event)| (step, event));
        let from = self.taken.map(|(from, _)| &self.nodes[from]);
        let depth = from.map_or(0, |from| from.depth + 1);
        Path::Branch { tree: &self.tree, parent: from.and_then(|from| from.branch), depth, last }
    }

    fn expand(&mut self, state: S::State, steps: &mut Vec<S::Step>) {
        let Some(index) = self.reached else { return };
        if let (Some((from, _)), Some((step, _))) = (self.taken, &self.last) {
            self.tree.push(Branch { parent: self.nodes[from].branch, step: step.clone() });
            self.nodes[index].branch = Some(self.tree.len() - 1);
        }
        let node = &mut self.nodes[index];
        let system = self.system;
        let moves = steps.drain(..).map(|step| Move { thread: system.thread(&step), step, planned: false, to: None });
        node.moves = moves.collect();
        node.untaken = node.moves.len();
        node.expanded = true;
        match &mut self.live {
            Some(live) => live.arrive(self.last.as_ref().map(|(step, _)| step.clone()), state),
            None => node.state = (node.untaken > 0).then_some(state),
        }
        // Who acted last goes on: a step that was planned because of a later one comes to that one soonest.
        let last = self.last.as_ref().map(|(step, _)| system.thread(step));
        let goes_on = node.moves.iter().find(|m| Some(m.thread) == last);
        let first = goes_on.or(node.moves.first()).map(|m| m.thread);
        self.settle();
        if let Some(thread) = first {
            self.plan(index, thread);
        }
    }

    fn leave(&mut self, state: S::State) {
        if let Some(live) = &mut self.live {
            live.arrive(self.last.as_ref().map(|(step, _)| step.clone()), state);
        }
    }

    fn pending(&self) -> usize {
        self.agenda.len()
    }

    fn tally(&self) -> Tally {
        let replayed = self.live.as_ref().map_or(0, |live| live.replayed);
        Tally { races: self.races, replayed, ..Tally::default() }
    }
}
