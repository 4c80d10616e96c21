//! A state space: every state that can be reached, and every transition between them.

use crate::graph::{Graph, StateId};
use crate::packed::{Action, Key, Layout, Program};

/// What was found by exploring.
#[derive(Clone, Debug, Default)]
pub struct Space {
    /// What the keys mean.
    pub layout: Layout,
    /// The actions, by number.
    pub actions: Vec<Action>,
    /// The ways to take them: what the actions of the graph's transitions are numbers of.
    pub ways: Vec<Way>,
    /// The states, by number.
    pub keys: Vec<Key>,
    /// How many transitions it takes to come to each; 0 for those it starts in.
    pub levels: Vec<u32>,
    /// How the states follow each other.
    pub graph: Graph,
}

/// One way to take an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// Which action.
    pub action: usize,
    /// What its parameters are: `r = r1`. Empty, if there are none.
    pub binding: String,
}

impl Space {
    /// The ways of a program to take its actions.
    pub fn ways_of(program: &Program) -> Vec<Way> {
        let way =
            |instance: &crate::packed::Instance| Way { action: instance.action, binding: instance.binding.clone() };
        program.instances.iter().map(way).collect()
    }

    /// How many states there are.
    pub fn states(&self) -> usize {
        self.keys.len()
    }

    /// The states it starts in.
    pub fn initial(&self) -> Vec<StateId> {
        (0..self.states() as StateId).filter(|&state| self.levels[state as usize] == 0).collect()
    }

    /// How many states there are on the way to the farthest, as TLC counts.
    pub fn depth(&self) -> usize {
        self.levels.iter().max().map_or(0, |&level| level as usize + 1)
    }

    /// What a transition is called: `RMPrepare(r = r1)`.
    pub fn step_name(&self, edge: usize) -> String {
        let Some(way) = self.ways.get(self.graph.action(edge) as usize) else { return String::new() };
        let name = self.actions.get(way.action).map_or("", |action| action.name.as_str());
        match way.binding.as_str() {
            "" => name.into(),
            binding => format!("{name}({binding})"),
        }
    }
}
