//! Laws that hold on every system, tried on random ones.

#![allow(clippy::unwrap_used)]

mod toys;

use arbtest::arbitrary::{Result, Unstructured};
use arbtest::arbtest;
use isolde_explore::{Completeness, Limit, Limits, Matching, Schedule, Search, Strategy, System, Visit, Visitor};
use isolde_explore::{digest_of, on_leaf, on_state, replay};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow::{self, Break, Continue};

/// A random graph: for each state, where its steps lead.
#[derive(Debug)]
struct Graph {
    edges: Vec<Vec<usize>>,
}

impl Graph {
    /// Every run ends: edges lead to higher numbers only.
    fn acyclic(u: &mut Unstructured) -> Result<Graph> {
        Graph::random(u, |from, states| from + 1..states)
    }

    fn any(u: &mut Unstructured) -> Result<Graph> {
        Graph::random(u, |_, states| 0..states)
    }

    fn random(u: &mut Unstructured, targets: impl Fn(usize, usize) -> std::ops::Range<usize>) -> Result<Graph> {
        let states = u.int_in_range(1..=9)?;
        let mut edges = Vec::new();
        for from in 0..states {
            let targets = targets(from, states);
            let count = if targets.is_empty() { 0 } else { u.int_in_range(0..=3)? };
            let leads = (0..count).map(|_| u.int_in_range(targets.start..=targets.end - 1));
            edges.push(leads.collect::<Result<_>>()?);
        }
        Ok(Graph { edges })
    }

    /// The length of a shortest path to each reachable state, by relaxing all edges until nothing changes.
    fn distances(&self) -> BTreeMap<usize, usize> {
        let mut distances = BTreeMap::from([(0, 0)]);
        for _ in &self.edges {
            for (from, edges) in self.edges.iter().enumerate() {
                let Some(&distance) = distances.get(&from) else { continue };
                for &to in edges {
                    let best = distances.entry(to).or_insert(usize::MAX);
                    *best = (*best).min(distance + 1);
                }
            }
        }
        distances
    }
}

impl System for Graph {
    type State = usize;
    type Step = usize;
    type Event = (usize, usize);

    fn initial(&self) -> usize {
        0
    }

    fn enabled(&self, &state: &usize, steps: &mut Vec<usize>) {
        steps.extend(0..self.edges[state].len());
    }

    fn execute(&self, state: &mut usize, &step: &usize) -> (usize, usize) {
        let from = *state;
        *state = self.edges[from][step];
        (from, *state)
    }

    fn digest(&self, state: &usize) -> Option<u128> {
        Some(digest_of(state))
    }

    fn name(&self, step: &usize) -> String {
        ["left", "middle", "right"][*step].to_string()
    }

    fn parse(&self, token: &str) -> Option<usize> {
        (0..3).find(|step| self.name(step) == token)
    }
}

fn search(strategy: Strategy, matching: Matching) -> Search {
    Search { strategy, matching, ..Search::default() }
}

fn leaves(graph: &Graph, search: Search) -> BTreeSet<usize> {
    let mut leaves = BTreeSet::new();
    let summary = search.run(
        graph,
        &mut on_leaf(|at: &Visit<Graph>| {
            leaves.insert(*at.state);
            Continue(())
        }),
    );
    assert!(summary.is_complete());
    leaves
}

#[test]
fn all_searches_find_the_same_leaves() {
    arbtest(|u| {
        let graph = Graph::acyclic(u)?;
        let naive = leaves(&graph, search(Strategy::Depth, Matching::Off));
        for strategy in [Strategy::Depth, Strategy::Breadth, Strategy::Shortest] {
            for matching in [Matching::Off, Matching::Digest] {
                assert_eq!(leaves(&graph, search(strategy, matching)), naive);
            }
        }
        Ok(())
    });
}

#[test]
fn matching_sees_each_state_and_takes_each_edge_once() {
    arbtest(|u| {
        let graph = Graph::any(u)?;
        let reachable = graph.distances();
        let edges: usize = reachable.keys().map(|&state| graph.edges[state].len()).sum();
        for strategy in [Strategy::Depth, Strategy::Breadth] {
            let mut states = Vec::new();
            let summary = search(strategy, Matching::Digest).run(
                &graph,
                &mut on_state(|at: &Visit<Graph>| {
                    states.push(*at.state);
                    Continue(())
                }),
            );
            states.sort();
            assert_eq!(states, reachable.keys().copied().collect::<Vec<_>>());
            assert_eq!(summary.states_seen, states.len() as u64);
            assert_eq!(summary.transitions, edges as u64);
            assert!(summary.is_complete());
        }
        Ok(())
    });
}

#[test]
fn breadth_first_paths_are_shortest() {
    arbtest(|u| {
        let graph = Graph::any(u)?;
        let distances = graph.distances();
        search(Strategy::Breadth, Matching::Digest).run(
            &graph,
            &mut on_state(|at: &Visit<Graph>| {
                assert_eq!(at.depth(), distances[at.state]);
                assert_eq!(at.schedule().steps.len(), at.depth());
                assert_eq!(end_of(&graph, &at.schedule()), *at.state);
                Continue(())
            }),
        );
        Ok(())
    });
}

/// Steps that are not of the thread that acted before; in a graph every step is its own thread.
fn switches(steps: &[usize]) -> usize {
    steps.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// For each state, the least (length, switches) of a path to it: all paths are tried.
fn calmest(graph: &Graph) -> BTreeMap<usize, (usize, usize)> {
    let mut best = BTreeMap::new();
    search(Strategy::Depth, Matching::Off).run(
        graph,
        &mut on_state(|at: &Visit<Graph>| {
            let rank = (at.depth(), switches(&at.schedule().steps));
            let known = best.entry(*at.state).or_insert(rank);
            *known = rank.min(*known);
            Continue(())
        }),
    );
    best
}

#[test]
fn of_the_shortest_paths_the_first_has_the_fewest_switches() {
    arbtest(|u| {
        let graph = Graph::acyclic(u)?;
        let best = calmest(&graph);
        for matching in [Matching::Off, Matching::Digest] {
            let mut found = BTreeMap::new();
            search(Strategy::Shortest, matching).run(
                &graph,
                &mut on_state(|at: &Visit<Graph>| {
                    found.entry(*at.state).or_insert((at.depth(), switches(&at.schedule().steps)));
                    Continue(())
                }),
            );
            assert_eq!(found, best);
        }
        Ok(())
    })
    .budget_ms(400);
}

/// Checks at every step that the path shown is the path taken.
struct PathsAreTrue;

impl Visitor<Graph> for PathsAreTrue {
    fn leaf(&mut self, at: &Visit<'_, Graph>) -> ControlFlow<()> {
        assert!(at.system.edges[*at.state].is_empty());
        Continue(())
    }

    fn step(&mut self, at: &Visit<'_, Graph>, event: &(usize, usize)) -> ControlFlow<()> {
        assert_eq!(event.1, *at.state);
        assert_eq!(at.last_event(), Some(event));
        assert_eq!(at.last_step(), at.schedule().steps.last());
        assert_eq!(end_of(at.system, &at.schedule()), *at.state);
        if let Some(events) = at.events() {
            assert_eq!(events.len(), at.depth());
            assert_eq!(events.last(), Some(event));
            assert!(events.windows(2).all(|pair| pair[0].1 == pair[1].0), "{events:?} is one path");
        }
        Continue(())
    }
}

#[test]
fn every_strategy_shows_true_paths() {
    arbtest(|u| {
        let graph = Graph::any(u)?;
        let limits = Limits { depth_max: Some(5), states_max: Some(2000), ..Limits::default() };
        let random = Strategy::Random { seed: u.arbitrary()?, runs: 5 };
        for strategy in [Strategy::Depth, Strategy::Breadth, Strategy::Shortest, random] {
            for matching in [Matching::Off, Matching::Digest] {
                let summary = Search { limits, ..search(strategy, matching) }.run(&graph, &mut PathsAreTrue);
                assert!(summary.depth_seen <= 5 && summary.states_seen <= 2000);
            }
        }
        Ok(())
    });
}

#[test]
fn a_limited_search_claims_completeness_only_if_it_saw_all() {
    arbtest(|u| {
        let graph = Graph::acyclic(u)?;
        let all = leaves(&graph, Search::default());
        let limits = Limits {
            depth_max: Some(u.int_in_range(0..=9)?),
            states_max: Some(u.int_in_range(0..=20)?),
            ..Limits::default()
        };
        for strategy in [Strategy::Depth, Strategy::Breadth, Strategy::Shortest] {
            for matching in [Matching::Off, Matching::Digest] {
                let mut found = BTreeSet::new();
                let summary = Search { limits, ..search(strategy, matching) }.run(
                    &graph,
                    &mut on_leaf(|at: &Visit<Graph>| {
                        found.insert(*at.state);
                        Continue(())
                    }),
                );
                assert!(found.is_subset(&all));
                assert!(found == all || !summary.is_complete());
            }
        }
        Ok(())
    });
}

/// Where a schedule ends, by replay.
fn end_of(graph: &Graph, schedule: &Schedule<usize>) -> usize {
    let mut end = usize::MAX;
    let visited = replay(
        graph,
        schedule,
        &mut on_state(|at: &Visit<Graph>| {
            end = *at.state;
            Continue(())
        }),
    );
    assert_eq!(visited.unwrap().completeness, Completeness::Stopped(Limit::Sample));
    end
}

#[test]
fn schedules_survive_printing_parsing_and_replay() {
    arbtest(|u| {
        let graph = Graph::any(u)?;
        let limits = Limits { depth_max: Some(40), ..Limits::default() };
        let walks = Search { limits, ..search(Strategy::Random { seed: u.arbitrary()?, runs: 3 }, Matching::Off) };
        walks.run(
            &graph,
            &mut on_state(|at: &Visit<Graph>| {
                let schedule = at.schedule();
                let line = schedule.line(&graph);
                assert_eq!(Schedule::parse(&graph, &line), Ok(schedule.clone()), "{line}");
                assert_eq!(end_of(&graph, &schedule), *at.state);
                Continue(())
            }),
        );
        Ok(())
    });
}

#[test]
fn random_walks_depend_on_the_seed_only() {
    let system = toys::Counters { threads: 3, steps: 4 };
    let walks = |seed, runs| {
        let mut lines = Vec::new();
        let summary = search(Strategy::Random { seed, runs }, Matching::Off).run(
            &system,
            &mut on_leaf(|at: &Visit<toys::Counters>| {
                lines.push(at.schedule().line(at.system));
                Continue(())
            }),
        );
        assert_eq!((summary.leaves, summary.completeness), (runs, Completeness::Stopped(Limit::Sample)));
        lines
    };
    assert_eq!(walks(7, 20), walks(7, 20));
    assert_eq!(walks(7, 20)[..5], walks(7, 5)); // a shorter search is a beginning of the longer one
    assert_ne!(walks(7, 20), walks(8, 20));
    let distinct: BTreeSet<String> = walks(7, 200).into_iter().collect();
    assert!(distinct.len() > 190, "{} of 200 walks differ", distinct.len());
}

#[test]
fn random_walks_reach_every_run_of_a_small_system() {
    let system = toys::Counters { threads: 2, steps: 2 };
    let mut runs = BTreeMap::new();
    search(Strategy::Random { seed: 1, runs: 600 }, Matching::Off).run(
        &system,
        &mut on_leaf(|at: &Visit<toys::Counters>| {
            *runs.entry(at.schedule().line(at.system)).or_insert(0) += 1;
            Continue(())
        }),
    );
    // The runs 0011 and 1100 have two choices (probability 1/4), the other four have three (1/8).
    assert_eq!(runs.len(), 6);
    for (line, count) in runs {
        let expected = if line == "0 0 1 1" || line == "1 1 0 0" { 150 } else { 75 };
        assert!((expected - 45..=expected + 45).contains(&count), "{line}: {count}");
    }
}

#[test]
fn a_replay_says_where_it_cannot_go_on() {
    let system = toys::Buffer { items: 2, capacity: 1 };
    let follow = |line: &str| {
        let schedule = Schedule::parse(&system, line).map_err(|error| error.to_string())?;
        replay(&system, &schedule, &mut on_leaf(|_: &Visit<toys::Buffer>| Continue(())))
            .map(|summary| (summary.transitions, summary.leaves))
            .map_err(|error| error.describe(&system))
    };
    assert_eq!(follow("producer consumer producer consumer"), Ok((4, 1)));
    assert_eq!(follow("  producer\n"), Ok((1, 0)));
    assert_eq!(follow(""), Ok((0, 0)));
    let cases = [
        ("producer*2", "step 2 of the schedule, `producer`, is not possible; possible here: consumer"),
        (
            "producer consumer producer consumer consumer*1",
            "step 5 of the schedule, `consumer`, is not possible: the run has ended",
        ),
        ("producer reader", "token 2 of the schedule, `reader`, names no step; at the start there are: producer"),
        ("producer*0", "token 1 of the schedule, `producer*0`, must repeat its step between 1 and 1000000 times"),
        (
            "producer*99999999999999999999999",
            "token 1 of the schedule, `producer*99999999999999999999999`, must repeat its step between 1 and 1000000 times",
        ),
        ("producer*", "token 1 of the schedule, `producer*`, names no step; at the start there are: producer"),
    ];
    for (line, error) in cases {
        assert_eq!(follow(line), Err(error.to_string()));
    }
}

#[test]
fn long_runs_print_short() {
    let system = toys::Counters { threads: 2, steps: 9 };
    let line = Schedule::from(vec![0, 1, 1, 0, 0, 0, 1]).line(&system);
    assert_eq!(line, "0 1 1 0*3 1");
}

#[test]
fn the_visitor_can_stop_a_replay() {
    let system = toys::Counters { threads: 1, steps: 9 };
    let schedule = Schedule::from(vec![0; 9]);
    let stop = |at: &Visit<toys::Counters>| if at.depth() == 4 { Break(()) } else { Continue(()) };
    let summary = replay(&system, &schedule, &mut on_state(stop)).unwrap();
    assert_eq!((summary.transitions, summary.completeness), (4, Completeness::Stopped(Limit::Visitor)));
}
