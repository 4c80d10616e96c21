//! Questions to a real solver, and what is made of solvers that give no answer.

#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use isolde_smt::{Answer, Script, Silence, Sizes, Solver, Sort, Term, finite};

const TIMEOUT: Duration = Duration::from_secs(20);

fn solver() -> Solver {
    Solver::from_environment().expect("these tests need a solver, which ./test installs")
}

/// A strict order in which everything has something below it: infinite universes only.
fn endless() -> Script {
    let mut script = Script::default();
    let s = script.sort("S");
    script.function("lt", &[s.clone(), s.clone()], Sort::Bool);
    let lt = |a: &str, b: &str| Term::apply("lt", [Term::var(a.to_string()), Term::var(b.to_string())]);
    script.assert(Term::all([("x", &s)], lt("x", "x").not()), "irreflexive");
    let both = Term::and([lt("x", "y"), lt("y", "z")]);
    script.assert(Term::all([("x", &s), ("y", &s), ("z", &s)], both.implies(lt("x", "z"))), "transitive");
    script.assert(Term::all([("x", &s)], Term::some([("y", &s)], lt("y", "x"))), "no least");
    script
}

#[test]
fn what_only_infinity_meets_is_not_found_in_finite_universes() {
    let solver = solver();
    let script = endless();
    for size in 1..4 {
        let sizes: Sizes = [(Sort::Named("S".into()), size)].into();
        assert_eq!(finite::search(&script, &sizes, &[], &solver, TIMEOUT), Ok(None));
    }
}

#[test]
fn functions_are_read_back_and_as_little_as_possible_is_true() {
    let solver = solver();
    let mut script = Script::default();
    let (a, b) = (script.sort("A"), script.sort("odd |name"));
    script.function("f", std::slice::from_ref(&a), b.clone());
    script.function("is there", std::slice::from_ref(&a), Sort::Bool);
    let there = |x: &str| Term::apply("is there", [Term::var(x.to_string())]);
    let f = |x: &str| Term::apply("f", [Term::var(x.to_string())]);
    let apart = Term::and([there("x"), there("y"), f("x").equal(f("y")).not()]);
    script.assert(Term::some([("x", &a), ("y", &a)], apart), "two");
    let sizes: Sizes = [(a.clone(), 3), (b.clone(), 2)].into();
    let found = finite::search(&script, &sizes, &["is there".into()], &solver, TIMEOUT).unwrap().unwrap();
    let there: Vec<usize> = (0..3).filter(|x| found.holds("is there", &[*x])).collect();
    assert_eq!(there.len(), 2);
    assert!(there.iter().any(|x| found.value("f", &[*x]) != found.value("f", &[there[0]])));
    assert_eq!(solver.ask(&script, TIMEOUT), Ok(Answer::Sat));
    script.assert(Term::all([("x", &a), ("y", &a)], f("x").equal(f("y"))), "");
    assert_eq!(solver.ask(&script, TIMEOUT), Ok(Answer::Unsat));
}

#[test]
fn a_solver_that_does_not_answer_is_not_a_proof() {
    let folder = std::env::temp_dir().join(format!("isolde-smt-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let pretend = |name: &str, text: &str| {
        let program = folder.join(name);
        std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Solver::new(program)
    };
    let script = endless();
    let short = Duration::from_millis(300);
    assert!(matches!(pretend("dead", "exit 1").ask(&script, TIMEOUT), Err(Silence::Crash(_))));
    assert_eq!(pretend("slow", "exec sleep 30").ask(&script, short), Err(Silence::Timeout(short)));
    assert_eq!(pretend("unsure", "cat > /dev/null & echo unknown; wait").ask(&script, TIMEOUT), Err(Silence::Unknown));
    assert!(matches!(
        pretend("odd", "cat > /dev/null & echo '(error)'; wait").ask(&script, TIMEOUT),
        Err(Silence::Crash(_))
    ));
    let missing = Solver::find(None, Some(folder.as_os_str()));
    assert!(matches!(&missing, Err(Silence::Missing(what)) if what.contains("neither z3 nor cvc5")), "{missing:?}");
    assert!(matches!(Solver::find(Some("/no/such"), None), Err(Silence::Missing(_))));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_process_is_asked_again_and_remembers_nothing() {
    let solver = solver();
    let mut lie = Script::default();
    lie.function("p", &[], Sort::Bool);
    lie.assert(Term::constant("p").not(), "");
    let mut truth = Script::default();
    truth.function("p", &[], Sort::Bool);
    truth.assert(Term::constant("p"), "");
    for _ in 0..20 {
        assert_eq!(solver.ask(&lie, TIMEOUT), Ok(Answer::Sat));
        assert_eq!(solver.ask(&truth, TIMEOUT), Ok(Answer::Sat));
        let found = finite::search(&truth, &Sizes::new(), &[], &solver, TIMEOUT).unwrap().unwrap();
        assert!(found.holds("p", &[]));
    }
    assert_eq!(solver.probe(TIMEOUT), Ok(()));
}
