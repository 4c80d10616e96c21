//! Programs with a right and a wrong variant, each with the verdict that is expected.
//!
//! The families are those of the notes on symbolic checking, plus what came up since. `--! procedure rule verdict`
//! lines in the files say what is right; what the portfolio answers is compared with them, and every "unsafe" has been
//! run on the engine by then.

#![allow(clippy::unwrap_used)]

mod support;

use isolde_prove::{Limits, Verdict, decide};
use isolde_smt::Solver;

#[test]
fn every_program_gets_its_verdict() {
    let Ok(solver) = Solver::from_environment() else {
        eprintln!("skipped: there is no solver (install z3)");
        return;
    };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let only = std::env::var("PROGRAM").ok();
    let mut wrong = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().to_string();
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let loaded = support::load(&std::fs::read_to_string(&file).unwrap());
        assert!(!loaded.expected.is_empty(), "{name} says what is expected");
        for (procedure, rule, expected) in &loaded.expected {
            let catalog = loaded.program.catalog();
            let id = catalog.routines_by_name(procedure).next().unwrap_or_else(|| panic!("{name} has {procedure}")).0;
            let rule =
                loaded.program.rules.iter().find(|r| *r.name == **rule).unwrap_or_else(|| panic!("{name} has {rule}"));
            let begun = std::time::Instant::now();
            let limits = Limits { guards: false, ..Limits::default() };
            let outcome = decide(&loaded.program, id, rule, &solver, &limits).unwrap();
            let (word, more) = match &outcome.verdict {
                Verdict::Safe(how) => ("safe", how.clone()),
                Verdict::Unsafe(witness) => ("unsafe", format!("{:?} {}", witness.rows, witness.call)),
                Verdict::Bounded(k, why) => ("bounded", format!("{k}: {why}")),
                Verdict::Unknown(reason) => ("unknown", format!("{reason:?}")),
            };
            eprintln!(
                "{name:12} {procedure:24} {:18} {word:8} {:6.2}s  {more}",
                rule.name,
                begun.elapsed().as_secs_f64()
            );
            if word != expected {
                wrong.push(format!("{name} {procedure} {}: {word}, expected {expected} ({more})", rule.name));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn what_would_help_is_proved() {
    let Ok(solver) = Solver::from_environment() else {
        eprintln!("skipped: there is no solver (install z3)");
        return;
    };
    let cases = [
        (
            include_str!("programs/withdraw.sql"),
            "wrong_guard",
            "minimum",
            "ALTER TABLE account ADD CHECK (balance >= 1000)",
        ),
        (include_str!("programs/transfer.sql"), "move_absolute", "branch_total", "src <> dst"),
        (include_str!("programs/refund.sql"), "refund_any", "within", "x >= 0"),
        (
            include_str!("programs/signup.sql"),
            "signup_wrong",
            "one_account_per_email",
            "ALTER TABLE users ADD UNIQUE (email)",
        ),
        (include_str!("programs/partial_unique.sql"), "mk", "r", "CREATE UNIQUE INDEX ON addr (usr) WHERE prim"),
        (
            include_str!("programs/cascade.sql"),
            "buy_unchecked",
            "has_customer",
            "ALTER TABLE purchase ADD FOREIGN KEY (customer) REFERENCES customer (id)",
        ),
    ];
    for (text, procedure, rule, expected) in cases {
        let loaded = support::load(text);
        let id = loaded.program.catalog().routines_by_name(procedure).next().unwrap().0;
        let rule = loaded.program.rules.iter().find(|r| *r.name == *rule).unwrap();
        let guards = isolde_prove::guard::guards(&loaded.program, id, rule, &solver, &Limits::default()).unwrap();
        assert!(guards.iter().any(|guard| guard.text() == expected), "{procedure}: {guards:?}");
    }
}
