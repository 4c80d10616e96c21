//! Specs cut to pieces: whatever they say, there is an output or an error with a place, never a panic and never no end.
//!
//! A second by default; `FUZZ_MS=600000 cargo test -p isolde-scenario --test spec_fuzz` for ten minutes.
#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;
use std::path::Path;

use arbtest::arbtest;
use isolde_scenario::spec::{self, Spec};

/// The recorded specs, to start from.
fn seeds() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/specs");
    let mut paths: Vec<_> = std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "spec"));
    paths.sort();
    paths.iter().map(|p| std::fs::read_to_string(p).unwrap()).collect()
}

#[test]
fn mutated_specs_are_answered() {
    let seeds = seeds();
    let mut words: Vec<&str> = seeds.iter().flat_map(|s| s.split_inclusive(char::is_whitespace)).collect();
    words.sort_unstable();
    words.dedup();
    let budget_ms = std::env::var("FUZZ_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(1000);
    arbtest(|u| {
        let mut pieces: Vec<&str> = u.choose(&seeds)?.split_inclusive(char::is_whitespace).collect();
        for _ in 0..u.int_in_range(1..=4)? {
            let at = u.choose_index(pieces.len())?;
            match u.int_in_range(0..=3)? {
                0 => drop(pieces.remove(at)),
                1 => pieces.insert(at, u.choose(&words)?),
                2 => pieces[at] = u.choose(&words)?,
                _ => {
                    let other = u.choose_index(pieces.len())?;
                    pieces.swap(at, other);
                }
            }
            if pieces.is_empty() {
                break;
            }
        }
        answer(&pieces.concat());
        Ok(())
    })
    .budget_ms(budget_ms);
}

/// Runs a few permutations, whatever they are.
fn answer(text: &str) {
    let mut left = 20;
    let run = Spec::parse("fuzz.spec", text).and_then(|spec| {
        spec::run(&spec, &mut |_| {
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    });
    match run {
        Ok(run) => assert!(run.output.contains("Parsed test spec with")),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

#[test]
fn too_many_interleavings_are_not_begun() {
    let session = |s: usize| {
        let steps: String = (0..20).map(|i| format!("step s{s}x{i} {{ SELECT 1; }} ")).collect();
        format!("session s{s} {steps}")
    };
    let text: String = (0..3).map(session).collect();
    let spec = Spec::parse("many.spec", &text).unwrap();
    let error = spec::run(&spec, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
    assert!(error.contains("at most 100000 are run") && error.contains("permutation lines"), "{error}");
}

/// The set-up's transaction stays open, with a table that nobody else knows.
#[test]
fn a_table_of_an_open_transaction_is_nobodys() {
    let text = "setup { BEGIN; CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1); }
        session a step a1 { SELECT * FROM t; } step a2 { SELECT 2 AS two; }
        permutation a1 permutation a2 permutation a1 a2";
    let spec = Spec::parse("open.spec", text).unwrap();
    let error = spec::run(&spec, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
    assert!(error.contains("setup failed"), "{error}");
}

#[test]
fn what_never_ends_is_cut_off() {
    let text = "setup { CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0); }
        teardown { DROP TABLE t; }
        session a step a1 { BEGIN; UPDATE t SET n = 1; } step a2 { COMMIT; }
        session b step b1 { BEGIN; UPDATE t SET n = 2; } step b2 { COMMIT; }
        permutation a1 b1 b2 a2";
    let spec = Spec::parse("stuck.spec", text).unwrap();
    let run = spec::run(&spec, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(run.output.contains("isolationtester: canceling step b1 after 300 seconds"), "{}", run.output);
    assert!(run.output.contains("ERROR:  canceling statement due to user request"), "{}", run.output);
}
