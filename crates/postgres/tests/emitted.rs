//! Counterexamples of generated programs, written as specs: a real server prints what the embedded engine does, through
//! our sessions and through isolationtester.
#![allow(clippy::unwrap_used)]

#[path = "../../scenario/tests/common/versions.rs"]
#[allow(unreachable_pub)]
mod versions;

use std::ops::ControlFlow;

use isolde_scenario::file::{self, no_includes};
use isolde_scenario::spec::{self, Spec};
use isolde_scenario::{Options, Scenario, check};
use isolde_testkit::{Cluster, isolation};

/// A busy machine may let a step be seen waiting that would not be seen on a quiet one: then it is run again.
const ATTEMPTS: usize = 5;

#[test]
fn a_server_prints_what_the_engine_prints() {
    let count: u64 = std::env::var("EMITTED").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let tester = isolation::isolationtester();
    let directory = tempfile::tempdir().unwrap();
    let mut written = 0;
    for seed in 0..count {
        let text = if seed % 2 == 0 { versions::program(seed) } else { versions::counters(seed) };
        let file = file::read("generated.sql", &text, &mut no_includes).unwrap();
        let report =
            check(&Scenario::new(file.clone()).unwrap(), &Options::default(), &mut |_| ControlFlow::Continue(()));
        let Some(shown) = report.counterexample else { continue };
        let emitted = spec::emit(&file, &shown.schedule).unwrap_or_else(|why| panic!("seed {seed}: {why}\n{text}"));
        let parsed = Spec::parse("case.spec", &emitted).unwrap();
        let ours = spec::run(&parsed, &mut |_| ControlFlow::Continue(())).unwrap().output;
        same(seed, &ours, &emitted, || on_server(&parsed));
        if let Some(tester) = &tester {
            let path = directory.path().join("case.spec");
            std::fs::write(&path, &emitted).unwrap();
            same(seed, &ours, &emitted, || isolation::run(Cluster::shared(), tester, &path).unwrap());
        }
        written += 1;
    }
    assert!(written > 5, "only {written} counterexamples");
}

fn same(seed: u64, ours: &str, spec: &str, theirs: impl Fn() -> String) {
    let printed: Vec<String> = (0..ATTEMPTS).map(|_| theirs()).take_while(|printed| printed != ours).collect();
    assert!(printed.len() < ATTEMPTS, "seed {seed}\n{spec}\nthe engine\n{ours}\nthe server\n{}", printed[0]);
}

fn on_server(spec: &Spec) -> String {
    let cluster = Cluster::shared();
    let database = cluster.create_database().unwrap();
    let run = isolde_postgres::spec::run(&cluster.settings(&database), spec, &mut |_| ControlFlow::Continue(()));
    cluster.drop_database(&database).unwrap();
    run.map_or_else(|error| error.to_string(), |run| run.output)
}
