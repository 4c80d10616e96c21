//! Invariants are evidence: what was found stands up, what was tampered with does not.

#![allow(clippy::unwrap_used)]

mod support;

use isolde_prove::horn::{self, Certificate, Search};
use isolde_prove::{Limits, Verdict, decide, ir};
use isolde_smt::{Silence, Solver};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(20);

#[test]
fn a_corrupted_certificate_is_rejected() {
    let Ok(solver) = Solver::from_environment() else {
        eprintln!("skipped: there is no solver (install z3)");
        return;
    };
    let loaded = support::load(include_str!("programs/loops.sql"));
    let (id, _) = loaded.program.catalog().routines_by_name("fees").next().unwrap();
    let graph = ir::lower(loaded.program.catalog(), id).unwrap();
    let clauses = horn::clauses(&loaded.program, &graph, &loaded.program.rules[0], &[]).unwrap();
    let Search::Found(certificate) = horn::search(&clauses, &solver, TIMEOUT).unwrap() else {
        panic!("fees has an invariant")
    };
    assert_eq!(certificate.check(&clauses, &solver, TIMEOUT), Ok(Ok(())));
    let parameters: Vec<String> =
        clauses.predicates[0].sorts.iter().enumerate().map(|(n, sort)| format!("(x{n} {sort})")).collect();
    for nonsense in ["true", "false", "x0", "(not x0)"] {
        let name = &clauses.predicates[0].name;
        let definition = format!("(define-fun {name} ({}) Bool {nonsense})", parameters.join(" "));
        let forged = Certificate { definitions: vec![definition] };
        assert!(forged.check(&clauses, &solver, TIMEOUT).unwrap().is_err(), "{nonsense} is no invariant");
    }
    // One that says nothing at all is none either.
    let empty = Certificate { definitions: Vec::new() };
    assert!(empty.check(&clauses, &solver, TIMEOUT).unwrap().is_err());
}

/// A solver that is missing, ends, says nothing or talks nonsense: nothing is claimed.
#[cfg(unix)]
#[test]
fn a_bad_solver_proves_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let loaded = support::load(include_str!("programs/withdraw.sql"));
    let (id, _) = loaded.program.catalog().routines_by_name("right_guard").next().unwrap();
    let rule = &loaded.program.rules[0];
    let limits = Limits { timeout: Duration::from_millis(300), rounds_max: 1, guards: false };
    let folder = std::env::temp_dir().join(format!("isolde-prove-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let bad = [("ends", "exit 1"), ("sleeps", "exec sleep 5"), ("babbles", "while read line; do echo perhaps; done")];
    for (name, script) in bad {
        let program = folder.join(name);
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        match decide(&loaded.program, id, rule, &Solver::new(program), &limits) {
            Err(Silence::Crash(_)) => {}
            Ok(outcome) => assert!(matches!(outcome.verdict, Verdict::Unknown(_)), "{name}: {:?}", outcome.verdict),
            Err(other) => panic!("{name}: {other}"),
        }
    }
    let missing = Solver::new(folder.join("missing"));
    assert!(matches!(decide(&loaded.program, id, rule, &missing, &limits), Err(Silence::Missing(_))));
    std::fs::remove_dir_all(&folder).unwrap();
}
