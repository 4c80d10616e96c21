//! What can be explored.

use std::fmt::Debug;
use std::hash::Hash;

use isolde_digest::digest_of;

/// Takes a step back.
pub type Undo<T> = Box<dyn FnOnce(&mut T)>;

/// A transition system: a place to start, steps to choose from, and what a step does.
///
/// It must be *deterministic*: a state and a step determine the next state and the event. Whatever is left to chance in
/// the modelled world (which thread runs, which session a deadlock kills) is a step of its own. Then a list of steps
/// replays a run exactly.
///
/// Three methods are required. The provided ones are conservative: a search without them is slower, never wrong.
pub trait System {
    /// Everything that later steps depend on. Cloned wherever a search branches, so cloning should be cheap.
    type State: Clone + 'static;

    /// A choice, such as the thread that acts.
    type Step: Clone + Eq + Ord + Hash + Debug;

    /// What executing a step did: what to show in a trace, and the footprint that tells which steps commute.
    type Event;

    /// The state in which every run starts.
    fn initial(&self) -> Self::State;

    /// Appends the steps possible in `state`, in a fixed order. A state without any is a *leaf*: the run has ended.
    ///
    /// `steps` is empty when this is called. The order decides in which order runs are found.
    fn enabled(&self, state: &Self::State, steps: &mut Vec<Self::Step>);

    /// Executes an enabled step.
    fn execute(&self, state: &mut Self::State, step: &Self::Step) -> Self::Event;

    /// A digest that equals another state's only if the two behave alike from here on, for [`Matching::Digest`].
    ///
    /// It must see everything that later steps or the checked properties depend on, including what each thread has
    /// observed so far if the property is about that. `None` matches no other state. [`digest_of`] serves a state that
    /// implements `Hash`.
    ///
    /// [`Matching::Digest`]: crate::Matching::Digest
    /// [`digest_of`]: crate::digest_of
    fn digest(&self, state: &Self::State) -> Option<u128> {
        let _ = state;
        None
    }

    /// The thread that takes `step`. Steps of one thread never commute. What a thread can do next is up to its own
    /// past, except that others may make it wait, or choose for it, as by killing it.
    ///
    /// Provided: every step is a thread of its own, which is right for a system whose steps are its threads.
    fn thread(&self, step: &Self::Step) -> u64 {
        digest_of(step) as u64
    }

    /// Whether the order of two neighbouring events of different threads may matter. It must be symmetric.
    ///
    /// Two events are independent if, wherever they happen next to each other, they could as well happen the other way
    /// round, each doing the same, and the state afterwards is the same. "Dependent" is always a sound answer.
    fn dependent(&self, first: &Self::Event, second: &Self::Event) -> bool {
        let _ = (first, second);
        true
    }

    /// What tells apart states of equal digest in which the same thing goes by different names, if
    /// [events](System::Event) name things: an event of a run through one is compared with events of a run through the
    /// other, by a stateful search with reduction.
    ///
    /// Provided: nothing.
    fn identity(&self, state: &Self::State) -> u128 {
        let _ = state;
        0
    }

    /// A digest that two events of a thread share only if they [depend](System::dependent) on the same events.
    ///
    /// Provided: `None`, which is shared with no other event. A stateful search with reduction remembers what happens
    /// below each state; the fewer classes there are, the less.
    fn class(&self, event: &Self::Event) -> Option<u128> {
        let _ = event;
        None
    }

    /// What turns `after` into `before` again, where one step led from one to the other, for [`Restore::Rollback`].
    ///
    /// Provided: the state before, kept. A system whose states are large keeps what the step has changed.
    ///
    /// [`Restore::Rollback`]: crate::Restore::Rollback
    fn undo(&self, before: &Self::State, after: &Self::State) -> Undo<Self::State> {
        let (before, _) = (before.clone(), after);
        Box::new(move |state| *state = before)
    }

    /// The token that stands for `step` in a printed schedule: no white space, and no `*` before a number at its end.
    fn name(&self, step: &Self::Step) -> String {
        format!("{step:?}").split_whitespace().collect()
    }

    /// The step that [`name`](System::name) prints as `token`.
    ///
    /// Provided: looks among the steps enabled at the start, which are all there are in a system whose steps are its
    /// threads. A system with steps that appear later overrides it to make these readable too.
    fn parse(&self, token: &str) -> Option<Self::Step> {
        let mut steps = Vec::new();
        self.enabled(&self.initial(), &mut steps);
        steps.into_iter().find(|step| self.name(step) == token)
    }
}
