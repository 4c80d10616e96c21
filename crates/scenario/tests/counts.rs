//! How much every configuration looks at, for every example: pinned, so that a change that makes a search larger, or
//! smaller than it may be, is seen in the diff of `counts.txt`. `UPDATE_EXPECT=1` rewrites it.
//!
//! The examples are searched to the end, whatever is found on the way. Also here: what must not depend on the
//! configuration does not.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::ControlFlow::Continue;
use std::path::Path;

use expect_test::expect_file;
use isolde_explore::{
    Completeness, Limits, Matching, Reduction, Restore, Search, Strategy, Summary, System, Visit, on_leaf, on_state,
};
use isolde_scenario::dependence::Dependence;
use isolde_scenario::file::{self, FileOptions, SearchKind};
use isolde_scenario::{Scenario, ScenarioSystem};

/// States beyond which a search is not worth its time here.
const STATES_MAX: u64 = 2_000;

/// The scenarios of a directory, its subdirectories included.
fn scenarios(directory: &str) -> Vec<(String, Scenario)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let mut directories = vec![root.clone()];
    let mut files = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => directories.push(path),
                Some(extension) if extension == "sql" => files.push(path),
                _ => {}
            }
        }
    }
    // What is there to be proved only has no threads.
    files.retain(|path: &std::path::PathBuf| std::fs::read_to_string(path).unwrap().contains("--@ thread"));
    files.sort();
    let load = |path: &std::path::PathBuf| {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        let text = std::fs::read_to_string(path).unwrap();
        Some((name.clone(), Scenario::parse(&name, &text, &mut file::no_includes).ok()?))
    };
    files.iter().filter_map(load).collect()
}

/// A configuration: its name, how steps are compared, and how to search.
struct Configuration {
    name: &'static str,
    settings: FileOptions,
    strategy: Strategy,
    matching: Matching,
}

impl Configuration {
    fn new(search: SearchKind, dependence: Option<Dependence>) -> Configuration {
        let (strategy, matching) = match (search, dependence) {
            (SearchKind::Dpor, _) => (Strategy::Dpor(Reduction::Optimal), Matching::Off),
            (SearchKind::Source, _) => (Strategy::Dpor(Reduction::Source), Matching::Off),
            (SearchKind::Stateful, Some(_)) => (Strategy::Reduced, Matching::Digest),
            (SearchKind::Stateful, None) => (Strategy::Breadth, Matching::Digest),
            _ => (Strategy::Depth, Matching::Off),
        };
        let settings = FileOptions { search: Some(search), dependence, ..FileOptions::default() };
        Configuration { name: search.name(), settings, strategy, matching }
    }

    fn is_sound(&self) -> bool {
        self.settings.dependence.is_none_or(|level| level.unsound().is_none())
    }

    /// Searches to the end, and collects the digests of the ends.
    fn run(&self, scenario: &Scenario, atomic: bool) -> (BTreeSet<u128>, Summary) {
        let plain = ScenarioSystem { atomic, ..ScenarioSystem::new(scenario, &FileOptions::default()) };
        let system = ScenarioSystem { atomic, ..ScenarioSystem::new(scenario, &self.settings) };
        let limits = Limits { states_max: Some(STATES_MAX), ..Limits::default() };
        let search = Search { strategy: self.strategy, matching: self.matching, limits, ..Search::default() };
        let mut ends = BTreeSet::new();
        let summary = search.run(
            &system,
            &mut on_leaf(|at: &Visit<ScenarioSystem<'_>>| {
                ends.extend(plain.digest(at.state));
                Continue(())
            }),
        );
        (ends, summary)
    }
}

/// The searches of one row: without reduction, or by one dependence.
fn row(dependence: Option<Dependence>) -> Vec<Configuration> {
    let kinds: &[SearchKind] = match dependence {
        None => &[SearchKind::Stateful, SearchKind::Stateless],
        Some(_) => &[SearchKind::Stateful, SearchKind::Dpor, SearchKind::Source],
    };
    kinds.iter().map(|kind| Configuration::new(*kind, dependence)).collect()
}

#[test]
fn what_every_configuration_looks_at() {
    let mut out = String::from("# states/steps/ends; + where the search was not finished\n");
    for (name, scenario) in scenarios("../../examples") {
        for (atomic, suffix) in [(false, ""), (true, " --atomic")] {
            writeln!(out, "\n{name}{suffix}").unwrap();
            let mut all = None;
            for level in std::iter::once(None).chain(Dependence::ALL.map(Some)) {
                write!(out, "  {:13}", level.map_or("", Dependence::name)).unwrap();
                for configuration in row(level) {
                    let (ends, summary) = configuration.run(&scenario, atomic);
                    let Summary { states_seen, transitions, leaves, .. } = summary;
                    let more = if summary.is_complete() { "" } else { "+" };
                    let counts = format!("{states_seen}/{transitions}/{leaves}{more}");
                    write!(out, "  {} {counts:14}", configuration.name).unwrap();
                    if summary.is_complete() && configuration.is_sound() {
                        let expected = all.get_or_insert_with(|| ends.clone());
                        assert_eq!(ends, *expected, "{name}{suffix}: {} ends elsewhere", configuration.name);
                    }
                }
                out.truncate(out.trim_end().len());
                out.push('\n');
            }
        }
    }
    expect_file!["counts.txt"].assert_eq(&out);
}

/// The digests of the states seen, in order.
fn states(system: &ScenarioSystem<'_>, search: Search) -> (Vec<Option<u128>>, Completeness) {
    let mut digests = Vec::new();
    let summary = search.run(
        system,
        &mut on_state(|at: &Visit<ScenarioSystem<'_>>| {
            let database = &at.state.database;
            assert_eq!(database.digest(), database.digest_from_scratch(), "{}", at.schedule().line(at.system));
            digests.push(system.digest(at.state));
            Continue(())
        }),
    );
    (digests, summary.completeness)
}

#[test]
fn states_come_back_as_they_were() {
    let limits = Limits { states_max: Some(150), depth_max: Some(60), ..Limits::default() };
    let all = scenarios("../../examples").into_iter().chain(scenarios("tests/golden"));
    for (name, scenario) in all {
        for atomic in [false, true] {
            let system = ScenarioSystem { atomic, ..ScenarioSystem::new(&scenario, &FileOptions::default()) };
            for (strategy, matching) in [(Strategy::Depth, Matching::Digest), (Strategy::Reduced, Matching::Digest)] {
                let search = |restore| Search { strategy, matching, restore, limits, ..Search::default() };
                let expected = states(&system, search(Restore::Snapshot));
                for restore in [Restore::Replay, Restore::Rollback] {
                    assert_eq!(states(&system, search(restore)), expected, "{name}, {}", restore.name());
                }
            }
        }
    }
}
