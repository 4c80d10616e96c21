//! Programs with one thing changed: a comparison turned, a guard dropped, a key lost, NULL let in.
//!
//! Most mutants are wrong, some are as good as before. Whatever is called safe must survive being called by chance.
//! `PROVE_MUTANTS=all cargo test -p isolde-prove --test mutants` looks at every mutant, otherwise at a part of them;
//! `PROGRAM=orders` at those of one file.

#![allow(clippy::unwrap_used)]

mod support;

use isolde_prove::{Limits, Verdict, decide};
use isolde_smt::Solver;
use std::time::Duration;
use support::chance::try_out;

const CHANGES: &[(&str, &str)] = &[
    (" <= ", " < "),
    (" >= ", " > "),
    (" < ", " <= "),
    (" > ", " >= "),
    (" = ", " <> "),
    (" AND ", " OR "),
    (" + ", " - "),
    ("IF NOT FOUND", "IF FOUND"),
    ("RAISE EXCEPTION", "RAISE NOTICE"),
    (" STRICT ", " "),
    ("int PRIMARY KEY", "int NOT NULL"),
    ("int NOT NULL", "int"),
    (" ON DELETE CASCADE", ""),
    ("COALESCE(pts, 0)", "pts"),
];

#[test]
fn no_mutant_is_safe_that_chance_breaks() {
    let Ok(solver) = Solver::from_environment() else {
        eprintln!("skipped: there is no solver (install z3)");
        return;
    };
    let every = if std::env::var("PROVE_MUTANTS").is_ok_and(|all| all == "all") { 1 } else { 23 };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let limits = Limits { timeout: Duration::from_secs(5), rounds_max: 2, guards: false };
    let (mut count, mut safe, mut other) = (0, 0, 0);
    let only = std::env::var("PROGRAM").ok();
    for file in files {
        if only.as_ref().is_some_and(|only| file.file_stem().is_some_and(|name| name != only.as_str())) {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        for mutant in mutants(&text) {
            count += 1;
            if count % every != 0 {
                continue;
            }
            let Ok(loaded) = support::try_load(&mutant) else { continue };
            let mut decided = Vec::new();
            for (procedure, name, _) in &loaded.expected {
                let Some((id, def)) = loaded.program.catalog().routines_by_name(procedure).next() else { continue };
                // Procedures that were not changed have been looked at.
                let body = def.span.of(&mutant);
                if text.contains(body)
                    && text.split("CREATE PROCEDURE").next() == mutant.split("CREATE PROCEDURE").next()
                {
                    continue;
                }
                let rule = loaded.program.rules.iter().find(|rule| *rule.name == **name).unwrap();
                let outcome = decide(&loaded.program, id, rule, &solver, &limits).unwrap();
                decided.push((id, rule, outcome.verdict));
            }
            for (id, rule, verdict) in decided {
                match verdict {
                    Verdict::Safe(how) => {
                        safe += 1;
                        let tried = try_out(&loaded.program, id, rule, 80, count);
                        assert!(
                            tried.broken.is_none(),
                            "called safe ({how}), but:\n{}\n{mutant}",
                            tried.broken.unwrap_or_default()
                        );
                    }
                    _ => other += 1,
                }
            }
        }
    }
    eprintln!("{count} mutants; of those looked at, {safe} answers safe and {other} not");
    assert!(safe > 0 && other > 0, "both occur");
}

/// The text with one occurrence of one thing changed; rules stay as they are.
fn mutants(text: &str) -> Vec<String> {
    let end = text.find("\n--@ ").unwrap_or(text.len());
    let mut mutants = Vec::new();
    for (from, to) in CHANGES {
        for (at, _) in text[..end].match_indices(from) {
            mutants.push(format!("{}{to}{}", &text[..at], &text[at + from.len()..]));
        }
    }
    mutants
}
