//! Labels and evidence against the definitions, on thousands of small graphs and formulas.
//!
//! The oracle is deliberately another way of saying it: every operator by its own fixpoint over sets of states as
//! vectors of booleans, for E and A alike, nothing reduced to anything. Evidence is checked by walking along it.

#![allow(clippy::unwrap_used)]

use std::convert::Infallible;

use arbtest::arbitrary::{Result, Unstructured};
use isolde_statespace::ctl::{Binary, Checker, Core, Evidence, Formula, Paths, Shown, Unary};
use isolde_statespace::graph::{BitSet, Graph};

#[test]
fn labels_are_what_the_definitions_say() {
    arbtest::arbtest(|u| {
        let case = Case::arbitrary(u)?;
        let formula = formula(u, 3)?;
        let expected = case.holds(&formula);
        let mut checker = Checker::new(&case.graph, |text: &str| Ok::<_, Infallible>(case.atom(text)));
        let found = checker.states(&formula).unwrap();
        assert_eq!(
            (0..case.states()).map(|state| found.contains(state as u32)).collect::<Vec<_>>(),
            expected,
            "{formula}\n{:?}",
            case.edges
        );
        for (state, &holds) in expected.iter().enumerate() {
            let evidence = checker.explain(&formula, state as u32).unwrap();
            assert_eq!(evidence.holds, holds, "{formula}");
            case.check(&evidence);
        }
        Ok(())
    })
    .size_min(64)
    .budget_ms(4_000);
}

#[test]
fn a_formula_printed_is_the_same_formula() {
    arbtest::arbtest(|u| {
        // What is local becomes one atom, but its text is the same.
        let formula = formula(u, 4)?;
        let again = Formula::parse(&formula.to_string()).unwrap();
        assert_eq!(again.to_string(), formula.to_string());
        Ok(())
    });
}

#[test]
fn what_is_kept_is_not_computed_again() {
    struct Kept<'a>(&'a mut Vec<(String, BitSet)>, usize);
    impl isolde_statespace::ctl::Labels for Kept<'_> {
        type Error = Infallible;
        fn atom(&mut self, _: &str) -> std::result::Result<BitSet, Infallible> {
            Ok(BitSet::of(self.1, |state| state == 2))
        }
        fn known(&mut self, name: &str) -> std::result::Result<Option<BitSet>, Infallible> {
            Ok(self.0.iter().find(|(kept, _)| kept == name).map(|(_, label)| label.clone()))
        }
        fn learned(&mut self, name: &str, label: &BitSet) -> std::result::Result<(), Infallible> {
            assert!(self.0.iter().all(|(kept, _)| kept != name), "{name} was there");
            self.0.push((name.into(), label.clone()));
            Ok(())
        }
    }
    let graph = Graph::new(3, vec![(0, 0, 1), (1, 0, 2), (2, 0, 0)]).unwrap();
    let mut kept = Vec::new();
    Checker::new(&graph, Kept(&mut kept, 3)).states(&Formula::parse("AG EF p").unwrap()).unwrap();
    assert_eq!(kept.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["EF p", "EF ~EF p"]);
    Checker::new(&graph, Kept(&mut kept, 3)).states(&Formula::parse("EF p /\\ EX EF p").unwrap()).unwrap();
    assert_eq!(kept.len(), 3);
}

/// A small graph; atoms p, q and r are true in some of its states.
struct Case {
    graph: Graph,
    edges: Vec<Vec<usize>>,
    atoms: [Vec<bool>; 3],
}

impl Case {
    fn arbitrary(u: &mut Unstructured) -> Result<Case> {
        let states = u.int_in_range(1..=6usize)?;
        let mut edges = vec![Vec::new(); states];
        for _ in 0..u.int_in_range(0..=10)? {
            let (from, to) = (u.choose_index(states)?, u.choose_index(states)?);
            edges[from].push(to);
        }
        let listed = edges.iter().enumerate().flat_map(|(a, to)| to.iter().map(move |&b| (a as u32, 0, b as u32)));
        let graph = Graph::new(states, listed.collect()).unwrap();
        for (state, to) in edges.iter_mut().enumerate() {
            if to.is_empty() {
                to.push(state);
            }
        }
        let mut atoms = [const { Vec::new() }; 3];
        for atom in &mut atoms {
            for _ in 0..states {
                atom.push(u.arbitrary()?);
            }
        }
        Ok(Case { graph, edges, atoms })
    }

    fn states(&self) -> usize {
        self.edges.len()
    }

    fn truth(&self, text: &str) -> Vec<bool> {
        match text {
            "p" => self.atoms[0].clone(),
            "q" => self.atoms[1].clone(),
            "r" => self.atoms[2].clone(),
            other => unreachable!("{other}"),
        }
    }

    fn atom(&self, text: &str) -> BitSet {
        let truth = self.truth(text);
        BitSet::of(self.states(), |state| truth[state as usize])
    }

    fn holds(&self, formula: &Formula) -> Vec<bool> {
        let zip = |f: &Formula, g: &Formula, op: fn(bool, bool) -> bool| {
            self.holds(f).into_iter().zip(self.holds(g)).map(|(f, g)| op(f, g)).collect()
        };
        match formula {
            Formula::Atom(text) if text == "TRUE" => vec![true; self.states()],
            Formula::Atom(text) => self.truth(text),
            Formula::Not(f) => self.holds(f).into_iter().map(|f| !f).collect(),
            Formula::And(f, g) => zip(f, g, |f, g| f && g),
            Formula::Or(f, g) => zip(f, g, |f, g| f || g),
            Formula::Implies(f, g) => zip(f, g, |f, g| !f || g),
            Formula::Equivalent(f, g) => zip(f, g, |f, g| f == g),
            Formula::Unary(paths, Unary::Next, f) => self.step(*paths, &self.holds(f)),
            Formula::Unary(paths, Unary::Finally, f) => {
                let f = self.holds(f);
                self.fixpoint(false, |z, s| f[s] || self.step(*paths, z)[s])
            }
            Formula::Unary(paths, Unary::Globally, f) => {
                let f = self.holds(f);
                self.fixpoint(true, |z, s| f[s] && self.step(*paths, z)[s])
            }
            Formula::Binary(paths, when, f, g) => {
                let (f, g) = (self.holds(f), self.holds(g));
                match when {
                    Binary::Until => self.fixpoint(false, |z, s| g[s] || f[s] && self.step(*paths, z)[s]),
                    Binary::WeakUntil => self.fixpoint(true, |z, s| g[s] || f[s] && self.step(*paths, z)[s]),
                    Binary::Release => self.fixpoint(true, |z, s| g[s] && (f[s] || self.step(*paths, z)[s])),
                }
            }
        }
    }

    fn step(&self, paths: Paths, z: &[bool]) -> Vec<bool> {
        let state = |to: &Vec<usize>| match paths {
            Paths::Some => to.iter().any(|&to| z[to]),
            Paths::All => to.iter().all(|&to| z[to]),
        };
        self.edges.iter().map(state).collect()
    }

    fn fixpoint(&self, from: bool, next: impl Fn(&[bool], usize) -> bool) -> Vec<bool> {
        let mut z = vec![from; self.states()];
        loop {
            let better: Vec<bool> = (0..self.states()).map(|s| next(&z, s)).collect();
            if better == z {
                return z;
            }
            z = better;
        }
    }

    /// Walks along what is shown.
    fn check(&self, evidence: &Evidence) {
        let path = evidence.path();
        assert_eq!(path.states[0], evidence.state);
        assert!(path.is_of(&self.graph, |state| self.graph.is_dead(state)), "{path:?} is no path");
        assert_eq!(self.holds(&written(&evidence.formula))[evidence.state as usize], evidence.holds);
        match &evidence.shown {
            Shown::Here => {}
            Shown::NoPath { .. } => assert!(!evidence.holds),
            Shown::Parts(parts) => parts.iter().for_each(|part| self.check(part)),
            Shown::Path(path, then) => {
                assert!(evidence.holds);
                self.check_path(&evidence.formula, path);
                then.iter().for_each(|then| {
                    assert_eq!(then.state, path.end());
                    self.check(then);
                });
            }
        }
    }

    fn check_path(&self, core: &Core, path: &isolde_statespace::graph::Path) {
        let all = |core: &Core, states: &[u32]| {
            let holds = self.holds(&written(core));
            states.iter().all(|&state| holds[state as usize])
        };
        let last = path.states.len() - 1;
        match core {
            Core::Ex(f) => assert!(path.edges.len() == 1 && all(f, &path.states[1..])),
            Core::Eu(f, g) => assert!(all(f, &path.states[..last]) && all(g, &path.states[last..])),
            Core::Eg(f) => assert!(path.back_to.is_some() && all(f, &path.states)),
            other => panic!("{other} has no path"),
        }
    }
}

fn written(core: &Core) -> Formula {
    let part = |core: &Core| Box::new(written(core));
    match core {
        Core::True => Formula::Atom("TRUE".into()),
        Core::Atom(text) => Formula::Atom(text.to_string()),
        Core::Not(f) => Formula::Not(part(f)),
        Core::And(f, g) => Formula::And(part(f), part(g)),
        Core::Or(f, g) => Formula::Or(part(f), part(g)),
        Core::Ex(f) => Formula::Unary(Paths::Some, Unary::Next, part(f)),
        Core::Eu(f, g) => Formula::Binary(Paths::Some, Binary::Until, part(f), part(g)),
        Core::Eg(f) => Formula::Unary(Paths::Some, Unary::Globally, part(f)),
    }
}

fn formula(u: &mut Unstructured, depth: usize) -> Result<Formula> {
    if depth == 0 || u.ratio(1, 6)? {
        return Ok(Formula::Atom(u.choose(&["p", "q", "r", "TRUE"])?.to_string()));
    }
    let part = |u: &mut Unstructured| Ok(Box::new(formula(u, depth - 1)?));
    let paths = *u.choose(&[Paths::Some, Paths::All])?;
    Ok(match u.int_in_range(0..=9)? {
        0 => Formula::Not(part(u)?),
        1 => Formula::And(part(u)?, part(u)?),
        2 => Formula::Or(part(u)?, part(u)?),
        3 => Formula::Implies(part(u)?, part(u)?),
        4 => Formula::Equivalent(part(u)?, part(u)?),
        5..=6 => {
            let when = *u.choose(&[Unary::Next, Unary::Finally, Unary::Globally])?;
            Formula::Unary(paths, when, part(u)?)
        }
        _ => {
            let when = *u.choose(&[Binary::Until, Binary::WeakUntil, Binary::Release])?;
            Formula::Binary(paths, when, part(u)?, part(u)?)
        }
    })
}
