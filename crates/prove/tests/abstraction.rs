//! Predicate abstraction with refinement: the paper's example at each of its steps, agreement with the other stages, and what must not
//! be believed.

#![allow(clippy::unwrap_used)]

mod support;

use isolde_prove::abstraction::{End, Story, Subject};
use isolde_prove::{Limits, ir};
use isolde_smt::Solver;
use support::{Loaded, load};

fn program(name: &str) -> Loaded {
    let path = format!("{}/tests/programs/{name}.sql", env!("CARGO_MANIFEST_DIR"));
    load(&std::fs::read_to_string(path).unwrap())
}

/// The story of a procedure and a rule, with each boolean program.
fn story(name: &str, procedure: &str, rule: &str, solver: &Solver) -> (Story, String) {
    let loaded = program(name);
    let program = &loaded.program;
    let id = program.catalog().routines_by_name(procedure).next().unwrap().0;
    let graph = ir::lower(program.catalog(), id).unwrap();
    let rule = program.rules.iter().find(|r| *r.name == *rule).unwrap();
    let subject = Subject::new(program, &graph, rule).unwrap();
    let story = subject.prove(solver, &Limits::default()).unwrap();
    let mut text = subject.explain(&story);
    for (n, round) in story.rounds.iter().enumerate() {
        text.push_str(&format!("\nBoolean program {}\n", n + 1));
        text.push_str(&subject.boolean_program(round, solver, Limits::default().timeout).unwrap());
    }
    (story, text)
}

fn solver() -> Option<Solver> {
    let solver = Solver::from_environment().ok();
    if solver.is_none() {
        eprintln!("skipped: there is no solver (install z3)");
    }
    solver
}

#[test]
fn withdraw_is_proved_in_steps() {
    let Some(solver) = solver() else { return };
    let (story, text) = story("withdraw", "right_guard", "minimum", &solver);
    eprintln!("{text}");
    assert!(matches!(story.end, End::Safe(_)));
}
