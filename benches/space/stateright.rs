//! The models for Stateright, as one would write them in Rust: small arrays, and an invariant that every state is
//! asked.

use stateright::{Checker, Model, Property};

use super::models;

/// How many states it finds, with one thread, breadth first.
pub(crate) fn states(model: models::Model) -> usize {
    match model {
        models::Model::Grid(n) => count(Grid(n)),
        models::Model::Lock(n) => count(Lock(n)),
        models::Model::Commit(n) => count(Commit(n)),
    }
}

fn count<M>(model: M) -> usize
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + std::fmt::Debug + std::hash::Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + std::fmt::Debug + PartialEq + Send + Sync,
{
    let checker = model.checker().threads(1).spawn_bfs().join();
    checker.assert_properties();
    checker.unique_state_count()
}

/// At most so many counters, processes or managers.
const MAX: usize = 10;

struct Grid(usize);

impl Model for Grid {
    type State = [u8; MAX];
    type Action = usize;

    fn init_states(&self) -> Vec<[u8; MAX]> {
        vec![[0; MAX]]
    }

    fn actions(&self, state: &[u8; MAX], actions: &mut Vec<usize>) {
        actions.extend((0..self.0).filter(|&i| state[i] < 9));
    }

    fn next_state(&self, last: &[u8; MAX], i: usize) -> Option<[u8; MAX]> {
        let mut next = *last;
        next[i] += 1;
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("type", |_, state: &[u8; MAX]| state.iter().all(|c| *c <= 9))]
    }
}

struct Lock(usize);

#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
struct LockState {
    place: [Place; MAX],
    level: [u8; MAX],
    last: [u8; MAX],
}

#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
enum Place {
    #[default]
    Idle,
    Enter,
    Wait,
    Critical,
}

impl Model for Lock {
    type State = LockState;
    type Action = usize;

    fn init_states(&self) -> Vec<LockState> {
        vec![LockState::default()]
    }

    fn actions(&self, state: &LockState, actions: &mut Vec<usize>) {
        let passes = |p: usize| {
            let level = state.level[p];
            state.last[level as usize] != p as u8 + 1 || (0..self.0).all(|q| q == p || state.level[q] < level)
        };
        actions.extend((0..self.0).filter(|&p| state.place[p] != Place::Wait || passes(p)));
    }

    fn next_state(&self, last: &LockState, p: usize) -> Option<LockState> {
        let mut next = *last;
        match last.place[p] {
            Place::Idle => (next.place[p], next.level[p]) = (Place::Enter, 1),
            Place::Enter => {
                next.place[p] = Place::Wait;
                next.last[last.level[p] as usize] = p as u8 + 1;
            }
            Place::Wait if last.level[p] as usize == self.0 - 1 => next.place[p] = Place::Critical,
            Place::Wait => (next.place[p], next.level[p]) = (Place::Enter, last.level[p] + 1),
            Place::Critical => (next.place[p], next.level[p]) = (Place::Idle, 0),
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let exclusion =
            |_: &Lock, state: &LockState| state.place.iter().filter(|place| **place == Place::Critical).count() <= 1;
        vec![Property::always("exclusion", exclusion)]
    }
}

struct Commit(usize);

#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
struct CommitState {
    managers: [Manager; MAX],
    decided: Decided,
    prepared: u16,
    messages: u16,
}

#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
enum Manager {
    #[default]
    Working,
    Prepared,
    Committed,
    Aborted,
}

#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
enum Decided {
    #[default]
    Nothing,
    Commit,
    Abort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommitStep {
    Commit,
    Abort,
    ReceivePrepared(usize),
    Prepare(usize),
    ChooseToAbort(usize),
    ReceiveCommit(usize),
    ReceiveAbort(usize),
}

const COMMIT: u16 = 1 << 14;
const ABORT: u16 = 1 << 15;

impl Model for Commit {
    type State = CommitState;
    type Action = CommitStep;

    fn init_states(&self) -> Vec<CommitState> {
        vec![CommitState::default()]
    }

    fn actions(&self, state: &CommitState, actions: &mut Vec<CommitStep>) {
        let open = state.decided == Decided::Nothing;
        if open && state.prepared == (1 << self.0) - 1 {
            actions.push(CommitStep::Commit);
        }
        if open {
            actions.push(CommitStep::Abort);
        }
        for r in 0..self.0 {
            if open && state.messages & 1 << r != 0 {
                actions.push(CommitStep::ReceivePrepared(r));
            }
            if state.managers[r] == Manager::Working {
                actions.extend([CommitStep::Prepare(r), CommitStep::ChooseToAbort(r)]);
            }
            if state.messages & COMMIT != 0 {
                actions.push(CommitStep::ReceiveCommit(r));
            }
            if state.messages & ABORT != 0 {
                actions.push(CommitStep::ReceiveAbort(r));
            }
        }
    }

    fn next_state(&self, last: &CommitState, step: CommitStep) -> Option<CommitState> {
        let mut next = *last;
        match step {
            CommitStep::Commit => (next.decided, next.messages) = (Decided::Commit, last.messages | COMMIT),
            CommitStep::Abort => (next.decided, next.messages) = (Decided::Abort, last.messages | ABORT),
            CommitStep::ReceivePrepared(r) => next.prepared |= 1 << r,
            CommitStep::Prepare(r) => {
                next.managers[r] = Manager::Prepared;
                next.messages |= 1 << r;
            }
            CommitStep::ChooseToAbort(r) | CommitStep::ReceiveAbort(r) => next.managers[r] = Manager::Aborted,
            CommitStep::ReceiveCommit(r) => next.managers[r] = Manager::Committed,
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let consistent = |_: &Commit, state: &CommitState| {
            !(state.managers.contains(&Manager::Aborted) && state.managers.contains(&Manager::Committed))
        };
        vec![Property::always("consistent", consistent)]
    }
}
