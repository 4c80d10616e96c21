//! Scenarios cut to pieces: whatever they say, the answer is an error with a place or a report, never a panic.
//!
//! A second by default; `FUZZ_MS=600000 cargo test -p isolde-scenario --test fuzz` for ten minutes.
#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;
use std::path::Path;

use arbtest::arbtest;
use isolde_report::Style;
use isolde_scenario::file::{FileOptions, no_includes};
use isolde_scenario::{Options, Scenario, check};

/// The golden scenarios, to start from.
fn seeds() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut paths: Vec<_> = std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "sql"));
    paths.sort();
    paths.iter().map(|p| std::fs::read_to_string(p).unwrap()).collect()
}

/// Words that are put where others were.
fn words(seeds: &[String]) -> Vec<String> {
    let mut words: Vec<String> = seeds.iter().flat_map(|s| s.split_whitespace().map(String::from)).collect();
    words.sort();
    words.dedup();
    words
}

#[test]
fn mutated_scenarios_are_answered() {
    let seeds = seeds();
    let words = words(&seeds);
    let budget_ms = std::env::var("FUZZ_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(1000);
    let settings = FileOptions { states_max: Some(300), ..FileOptions::default() };
    let options = Options { settings, ..Options::default() };
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
        let text = pieces.concat();
        match Scenario::parse("fuzz.sql", &text, &mut no_includes) {
            Err(error) => assert!(!error.to_string().is_empty()),
            Ok(scenario) => {
                let report = check(&scenario, &options, &mut |_| ControlFlow::Continue(()));
                assert!(!report.to_text(Style::plain(100)).is_empty());
            }
        }
        Ok(())
    })
    .budget_ms(budget_ms);
}
