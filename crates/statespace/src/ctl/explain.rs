//! Why a formula holds in a state, or does not: by a path.
//!
//! Of the three operators, each is shown by one path when it holds: a step, a way to the goal, a lasso. When it does
//! not hold there is no path to show, and saying over how many states one looked in vain is all that can be said.
//! Negation turns the one into the other: that `AG f` fails is shown by the path of `EF ~f`. What a path leads to may
//! need to be shown in turn, from where the path ends, so evidence is a tree; mostly it is a chain, which
//! [`Evidence::path`] puts together to one path.

use std::rc::Rc;

use super::{Checker, Core, Formula, Labels};
use crate::graph::{BitSet, Graph, Path, StateId, Tarjan, Walk};

/// Why a formula holds or does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The formula, of few operators.
    pub formula: Rc<Core>,
    /// The state it is about.
    pub state: StateId,
    /// Whether it holds there.
    pub holds: bool,
    /// What shows it.
    pub shown: Shown,
}

/// What shows something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// One can see it from the state itself.
    Here,
    /// These together show it.
    Parts(Vec<Evidence>),
    /// This path shows it, and what is the case where it ends.
    Path(Path, Option<Box<Evidence>>),
    /// There is no such path; one would go over some of so many states.
    NoPath {
        /// How many states can be reached.
        reachable: usize,
    },
}

impl Evidence {
    /// All of it that is one path, from the state on: a lasso, if something goes on for ever.
    pub fn path(&self) -> Path {
        match &self.shown {
            Shown::Here | Shown::NoPath { .. } => Path::at(self.state),
            // The longest says most: what one can see from the state itself adds nothing.
            Shown::Parts(parts) => parts
                .iter()
                .map(Evidence::path)
                .rev()
                .max_by_key(|path| path.edges.len())
                .unwrap_or(Path::at(self.state)),
            Shown::Path(path, Some(then)) if path.back_to.is_none() => path.clone().then(then.path()),
            Shown::Path(path, _) => path.clone(),
        }
    }

    /// What is the case where the path ends and has no path to show it.
    pub fn remainder(&self) -> Option<&Evidence> {
        match &self.shown {
            Shown::Here => None,
            Shown::NoPath { .. } => Some(self),
            Shown::Parts(parts) => parts.iter().find_map(Evidence::remainder),
            Shown::Path(_, then) => then.as_deref().and_then(Evidence::remainder),
        }
    }
}

impl<L: Labels> Checker<'_, L> {
    /// Why a formula holds in a state, or does not.
    pub fn explain(&mut self, formula: &Formula, state: StateId) -> Result<Evidence, L::Error> {
        self.explain_core(&Core::of(formula), state)
    }

    fn explain_core(&mut self, core: &Rc<Core>, state: StateId) -> Result<Evidence, L::Error> {
        let holds = self.label(core)?.contains(state);
        let shown = match &**core {
            Core::True | Core::Atom(_) => Shown::Here,
            Core::Not(f) => {
                let inner = self.explain_core(f, state)?;
                match inner.shown {
                    Shown::Here => Shown::Here,
                    _ => Shown::Parts(vec![inner]),
                }
            }
            Core::And(f, g) => self.explain_parts([f, g], state, Whole { holds, by_one: !holds })?,
            Core::Or(f, g) => self.explain_parts([f, g], state, Whole { holds, by_one: holds })?,
            Core::Ex(_) | Core::Eu(..) | Core::Eg(_) if !holds => {
                Shown::NoPath { reachable: reachable(self.graph, state) }
            }
            Core::Ex(f) => self.explain_next(f, state)?,
            Core::Eu(f, g) => self.explain_until(f, g, state)?,
            Core::Eg(_) => {
                let inside = self.label(core)?;
                Shown::Path(lasso(self.graph, state, &inside), None)
            }
        };
        Ok(Evidence { formula: core.clone(), state, holds, shown })
    }

    /// The parts that agree with the whole; of those one, if one is enough, and then rather one that can be seen here.
    fn explain_parts(&mut self, parts: [&Rc<Core>; 2], state: StateId, whole: Whole) -> Result<Shown, L::Error> {
        let mut shown = Vec::new();
        for part in parts {
            if self.label(part)?.contains(state) == whole.holds {
                shown.push(self.explain_core(part, state)?);
            }
        }
        if whole.by_one {
            shown.sort_by_key(|evidence| evidence.path().edges.len());
            shown.truncate(1);
        }
        shown.retain(|evidence| evidence.shown != Shown::Here);
        Ok(if shown.is_empty() { Shown::Here } else { Shown::Parts(shown) })
    }

    fn explain_next(&mut self, f: &Rc<Core>, state: StateId) -> Result<Shown, L::Error> {
        let goal = self.label(f)?;
        let mut path = Path::at(state);
        match self.graph.edges(state).find(|&edge| goal.contains(self.graph.target(edge))) {
            Some(edge) => path.push(Some(edge), self.graph.target(edge)),
            None => path.push(None, state),
        }
        self.explain_end(path, f)
    }

    fn explain_until(&mut self, f: &Rc<Core>, g: &Rc<Core>, state: StateId) -> Result<Shown, L::Error> {
        let (over, goal) = (self.label(f)?, self.label(g)?);
        let path = Walk::shortest(self.graph, [state], |id| over.contains(id), |id| goal.contains(id));
        self.explain_end(path.expect("a state with the label has a path to the goal"), g)
    }

    fn explain_end(&mut self, path: Path, end: &Rc<Core>) -> Result<Shown, L::Error> {
        let then = self.explain_core(end, path.end())?;
        Ok(Shown::Path(path, (then.shown != Shown::Here).then(|| Box::new(then))))
    }
}

/// What is known of something that has parts.
struct Whole {
    holds: bool,
    /// One part is enough to make it so.
    by_one: bool,
}

/// A lasso from a state over states of which each has a step to another of them: a shortest way to a cycle, then round
/// it.
fn lasso(graph: &Graph, state: StateId, inside: &BitSet) -> Path {
    let within = |id: StateId| inside.contains(id);
    let mut on_cycle = BitSet::none(graph.states());
    for component in Tarjan::new(graph.states()).components(graph, [state], within) {
        let alone = component.len() == 1 && !graph.successors(component[0]).contains(&component[0]);
        if !alone || graph.is_dead(component[0]) {
            for member in component {
                on_cycle.insert(member);
            }
        }
    }
    let stem = Walk::shortest(graph, [state], within, |id| on_cycle.contains(id))
        .expect("who can go on for ever comes to a cycle");
    let start = stem.end();
    stem.then(match graph.is_dead(start) {
        true => Path { states: vec![start], edges: vec![None], back_to: Some(0) },
        false => Walk::round(graph, start, within).expect("the state is on a cycle"),
    })
}

fn reachable(graph: &Graph, state: StateId) -> usize {
    let mut seen = BitSet::none(graph.states());
    seen.insert(state);
    let mut frontier = vec![state];
    while let Some(state) = frontier.pop() {
        frontier.extend(graph.successors(state).iter().filter(|&&target| seen.insert(target)));
    }
    seen.count()
}
