//! Procedures and rules by chance: every "safe" must survive being called, every "unsafe" has been seen.
//!
//! `PROVE_FUZZ=5000 cargo test -p isolde-prove --test fuzz` looks at more of them, `PROVE_FUZZ_FROM=100000` at others,
//! `PROVE_SEED` at one.

#![allow(clippy::unwrap_used)]

mod support;

use isolde_prove::{Limits, Verdict, decide};
use isolde_smt::Solver;
use std::time::Duration;
use support::chance::{Dice, database, try_out};
use support::compare::{Compared, Subject};
use support::grammar::program;

#[test]
fn what_is_proved_survives_chance() {
    let Ok(solver) = Solver::from_environment() else {
        eprintln!("skipped: there is no solver (install z3)");
        return;
    };
    let count: u64 = std::env::var("PROVE_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(25);
    let from: u64 = std::env::var("PROVE_FUZZ_FROM").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let only: Option<u64> = std::env::var("PROVE_SEED").ok().and_then(|n| n.parse().ok());
    let limits = Limits { timeout: Duration::from_secs(5), rounds_max: 2, guards: false };
    let (mut safe, mut unsafe_, mut bounded, mut unknown, mut runs) = (0, 0, 0, 0, 0);
    for seed in only.map_or(from..from + count, |seed| seed..seed + 1) {
        let text = program(seed);
        let loaded = support::load(&text);
        let (id, _) = loaded.program.catalog().routines_by_name("p").next().unwrap();
        let rule = &loaded.program.rules[0];
        let outcome = decide(&loaded.program, id, rule, &solver, &limits).unwrap();
        if only.is_some() {
            eprintln!("{text}\n{:?}", outcome.verdict);
        }
        match outcome.verdict {
            Verdict::Safe(how) => {
                safe += 1;
                let tried = try_out(&loaded.program, id, rule, 150, seed);
                runs += tried.went_well;
                assert!(
                    tried.broken.is_none(),
                    "seed {seed}: called safe ({how}), but:\n{}\n{text}",
                    tried.broken.unwrap_or_default()
                );
            }
            Verdict::Unsafe(_) => unsafe_ += 1,
            Verdict::Bounded(..) => bounded += 1,
            Verdict::Unknown(reason) => {
                unknown += 1;
                eprintln!("seed {seed}: unknown, {}", reason.what);
            }
        }
    }
    eprintln!("{safe} safe ({runs} calls went well), {unsafe_} unsafe, {bounded} bounded, {unknown} unknown");
    assert!(only.is_some() || safe > 0 && unsafe_ > 0, "both answers occur");
}

#[test]
fn every_run_is_one_that_the_terms_allow() {
    let Ok(solver) = Solver::from_environment() else {
        eprintln!("skipped: there is no solver (install z3)");
        return;
    };
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let (count, from) = (number("PROVE_FUZZ").unwrap_or(60), number("PROVE_FUZZ_FROM").unwrap_or(0));
    let only = number("PROVE_SEED");
    let (mut allowed, mut failed, mut open, mut refused) =
        (0, 0, 0, std::collections::BTreeMap::<String, usize>::new());
    let mut wrong = Vec::new();
    for seed in only.map_or(from..from + count, |seed| seed..seed + 1) {
        let text = program(seed);
        let loaded = support::load(&text);
        let subject = match Subject::new(&loaded.program, "p") {
            Ok(subject) => subject,
            Err(why) => {
                *refused.entry(why).or_default() += 1;
                continue;
            }
        };
        let mut dice = Dice::new(seed);
        for _ in 0..8 {
            let (before, args) = database(&loaded.program, subject.id, &mut dice);
            match subject.compare(&before, &args, 4, &solver) {
                Compared::Allowed => allowed += 1,
                Compared::Failed => failed += 1,
                Compared::Open => open += 1,
                Compared::Refused(why) => {
                    *refused.entry(why).or_default() += 1;
                    break;
                }
                Compared::Excluded(run) => {
                    wrong.push(format!("seed {seed}: the engine does what the terms exclude\n{run}\n{text}"));
                    break;
                }
            }
        }
    }
    eprintln!("{allowed} runs allowed, {failed} failed, {open} not known, refused: {refused:?}");
    for first in wrong.iter().filter_map(|text| text.lines().next()) {
        eprintln!("{first}");
    }
    assert!(wrong.is_empty(), "{} of {count}\n{}", wrong.len(), wrong[..wrong.len().min(3)].join("\n\n"));
    assert!(only.is_some() || allowed > 0, "some run was compared");
}
