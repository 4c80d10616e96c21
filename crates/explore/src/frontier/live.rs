//! Coming back to a state that was left.
//!
//! Where states are cheap to clone, a search keeps one at each place that it will come back to. A search of a system
//! that has only one state, such as a database on disk, must get there in another way: start again and *replay* the
//! steps, or *undo* the steps taken since. Both need nothing but the one state that is there, the way to it, and the
//! way to where it should be; what the two ways begin with together is left alone.
//!
//! ```text
//!   is at       a b c d          wanted: a b x
//!   replay      start again: a, b, x
//!   rollback    undo d, undo c: then x
//! ```

use crate::System;
use crate::system::Undo;

/// How a search comes back to a state that it has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restore {
    /// A clone was kept.
    #[default]
    Snapshot,
    /// The steps that lead there are taken again, from the start.
    Replay,
    /// The steps taken since are [undone](System::undo), the last one first.
    Rollback,
}

impl Restore {
    /// Every way.
    pub const ALL: [Restore; 3] = [Restore::Snapshot, Restore::Replay, Restore::Rollback];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Restore::Snapshot => "snapshot",
            Restore::Replay => "replay",
            Restore::Rollback => "rollback",
        }
    }
}

/// The one state there is, and the way to it.
pub(crate) struct Live<'a, S: System> {
    system: &'a S,
    /// Given away while a step is executed.
    state: Option<S::State>,
    steps: Vec<S::Step>,
    /// What takes each step back; none are kept for replay.
    undos: Vec<Undo<S::State>>,
    /// The state before the step under way, for its undo.
    before: Option<S::State>,
    rolls_back: bool,
    /// Steps taken again.
    pub(crate) replayed: u64,
}

impl<'a, S: System> Live<'a, S> {
    /// None for [`Restore::Snapshot`], which needs no such thing.
    pub(crate) fn new(system: &'a S, restore: Restore) -> Option<Self> {
        (restore != Restore::Snapshot).then(|| Live {
            system,
            state: None,
            steps: Vec::new(),
            undos: Vec::new(),
            before: None,
            rolls_back: restore == Restore::Rollback,
            replayed: 0,
        })
    }

    /// The state at the end of `wanted`, to execute a step in.
    pub(crate) fn go(&mut self, wanted: &[S::Step]) -> S::State {
        let common = self.steps.iter().zip(wanted).take_while(|(is, wanted)| is == wanted).count();
        let mut state = self.back(common);
        for step in &wanted[self.steps.len()..] {
            let before = self.rolls_back.then(|| state.clone());
            self.system.execute(&mut state, step);
            self.undos.extend(before.map(|before| self.system.undo(&before, &state)));
            self.steps.push(step.clone());
            self.replayed += 1;
        }
        self.before = self.rolls_back.then(|| state.clone());
        state
    }

    /// The state at the end of the first `depth` steps or fewer.
    fn back(&mut self, depth: usize) -> S::State {
        let state = self.state.take().filter(|_| self.rolls_back || depth == self.steps.len());
        let Some(mut state) = state else {
            self.steps.clear();
            self.undos.clear();
            return self.system.initial();
        };
        for undo in self.undos.drain(depth.min(self.undos.len())..).rev() {
            undo(&mut state);
        }
        self.steps.truncate(depth);
        state
    }

    /// The step led to this state; the initial state is reached by none.
    pub(crate) fn arrive(&mut self, step: Option<S::Step>, state: S::State) {
        let undo = self.before.take().filter(|_| step.is_some()).map(|before| self.system.undo(&before, &state));
        self.undos.extend(undo);
        self.steps.extend(step);
        self.state = Some(state);
    }
}
