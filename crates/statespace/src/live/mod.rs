//! Temporal properties: what every behaviour must do, under fairness.
//!
//! A TLA+ specification is `Init /\ [][Next]_vars /\ L`: behaviours take steps of Next or stutter, and the fairness L
//! excludes those that stutter, or avoid an action, for ever. A property is a formula about whole behaviours: `[]P`,
//! `P ~> Q`, `[]<>P`.
//!
//! It is decided by looking for a behaviour that breaks it. A behaviour that breaks it can be taken to be a *lasso*,
//! and its cycle lies in one strongly connected component, so this is a question about components of the product of the
//! state graph with what is still owed:
//!
//! ```text
//!   ~(P ~> Q)  =  <>(P /\ []~Q)         owed at first: {<>(P /\ []~Q)}; once P is passed: {[]~Q}
//!
//!   state graph  ×  owed  ──▶  components in which every eventuality is met and every fairness respected  ──▶  a lasso
//! ```
//!
//! [`Temporal`] is any combination of `[]` and `<>` with connectives over predicates of states and of steps, so
//! fairness and action formulas (`[][A]_v`, `[]<><<A>>_v`) may occur in properties, too. No normal form of the fairness
//! conditions is ever made: each is one look at a component ([`fair`]), however many there are.
//!
//! What is not looked at: whether the fairness itself can be met from every state (machine closure). Properties that
//! are broken by a finite prefix (`[]P`, `[][A]_v`) are found by reachability alone, as TLC does.

mod fair;
mod product;

use std::rc::Rc;

use crate::graph::{BitSet, Graph, Path, StateId, Walk};

/// A formula about behaviours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Temporal {
    /// True in these states, and asked of the first.
    State(Rc<BitSet>),
    /// True of these steps, and asked of the first.
    Step(Rc<Steps>),
    /// Not.
    Not(Box<Temporal>),
    /// All of them.
    And(Vec<Temporal>),
    /// One of them.
    Or(Vec<Temporal>),
    /// `[]`
    Always(Box<Temporal>),
    /// `<>`
    Eventually(Box<Temporal>),
}

/// Some steps of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// These transitions.
    pub edges: BitSet,
    /// And whether to stutter: to stay where one is without a transition. True for `[A]_v`, false for `<<A>>_v`.
    pub stutter: bool,
}

impl Temporal {
    /// `f => g`
    pub fn implies(f: Temporal, g: Temporal) -> Temporal {
        Temporal::Or(vec![Temporal::Not(Box::new(f)), g])
    }

    /// `f <=> g`
    pub fn equivalent(f: Temporal, g: Temporal) -> Temporal {
        Temporal::And(vec![Temporal::implies(f.clone(), g.clone()), Temporal::implies(g, f)])
    }

    /// `[]f`
    pub fn always(f: Temporal) -> Temporal {
        Temporal::Always(Box::new(f))
    }

    /// `<>f`
    pub fn eventually(f: Temporal) -> Temporal {
        Temporal::Eventually(Box::new(f))
    }

    /// `f ~> g`: whenever f, then g at that time or later.
    pub fn leads_to(f: Temporal, g: Temporal) -> Temporal {
        Temporal::always(Temporal::implies(f, Temporal::eventually(g)))
    }

    /// What a fairness condition says, as a property: `WF_v(A)` is `[]<>~ENABLED <<A>>_v \/ []<><<A>>_v`.
    pub fn fair(fairness: &Fairness) -> Temporal {
        let enabled = Temporal::State(fairness.enabled.clone());
        let idle = match fairness.strength {
            Strength::Weak => Temporal::always(Temporal::eventually(Temporal::Not(Box::new(enabled)))),
            Strength::Strong => Temporal::eventually(Temporal::always(Temporal::Not(Box::new(enabled)))),
        };
        let steps = Steps { edges: (*fairness.taken).clone(), stutter: false };
        let taken = Temporal::always(Temporal::eventually(Temporal::Step(Rc::new(steps))));
        Temporal::Or(vec![idle, taken])
    }
}

/// How persistent an action is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// Enabled from some time on without a break, it is taken again and again: `WF_v(A)`.
    Weak,
    /// Enabled again and again, it is taken again and again: `SF_v(A)`.
    Strong,
}

/// A fairness condition of the specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fairness {
    /// Weak or strong.
    pub strength: Strength,
    /// Where `ENABLED <<A>>_v`.
    pub enabled: Rc<BitSet>,
    /// The transitions that are steps `<<A>>_v`.
    pub taken: Rc<BitSet>,
}

impl Fairness {
    /// Fairness of actions given by their numbers: steps are transitions of one of them that change the state, and they
    /// are enabled where there is one.
    pub fn of_actions(graph: &Graph, strength: Strength, actions: &[u32]) -> Fairness {
        let mut enabled = BitSet::none(graph.states());
        let mut taken = BitSet::none(graph.transitions());
        for (source, edge, target) in graph.all_edges() {
            if source != target && actions.contains(&graph.action(edge)) {
                enabled.insert(source);
                taken.insert(edge as u32);
            }
        }
        Fairness { strength, enabled: Rc::new(enabled), taken: Rc::new(taken) }
    }
}

/// A property, or the product with it, is too large to be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooLarge {
    /// The property has too many parts.
    Property,
    /// The product has too many transitions.
    Product,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TooLarge::Property => write!(f, "the property has more than {} parts", product::PARTS_MAX),
            TooLarge::Product => f.write_str("the property needs more than 4,294,967,295 transitions to be looked at"),
        }
    }
}

impl std::error::Error for TooLarge {}

/// A behaviour that breaks a property, if there is one: a lasso, or a path at whose end it is broken for good. A step
/// of the path that is no transition stutters.
pub fn violation(
    graph: &Graph,
    initial: &[StateId],
    fairness: &[Fairness],
    property: &Temporal,
) -> Result<Option<Path>, TooLarge> {
    let roots = initial.iter().copied();
    if let Some(parts) = conjuncts(property) {
        for part in parts {
            if let Some(path) = violation(graph, initial, fairness, &part)? {
                return Ok(Some(path));
            }
        }
        return Ok(None);
    }
    if let Temporal::Always(inner) = property {
        match &**inner {
            Temporal::State(set) => return Ok(Walk::shortest(graph, roots, |_| true, |state| !set.contains(state))),
            Temporal::Step(steps) if steps.stutter => {
                return Ok(Walk::onward(graph, roots, |_| true, |edge, _| !steps.edges.contains(edge as u32)));
            }
            _ => {}
        }
    }
    Ok(fair::lasso(&product::Product::new(graph, initial, property)?, fairness))
}

/// The parts of a conjunction, each of which can be looked at alone.
fn conjuncts(property: &Temporal) -> Option<Vec<Temporal>> {
    match property {
        Temporal::And(parts) => Some(parts.clone()),
        Temporal::Always(inner) => match &**inner {
            Temporal::And(parts) => Some(parts.iter().cloned().map(Temporal::always).collect()),
            _ => None,
        },
        _ => None,
    }
}
