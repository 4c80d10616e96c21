//! Predicate abstraction with refinement: the paper's example at each of its steps, agreement with the other stages,
//! and what must not be believed.

#![allow(clippy::unwrap_used)]

mod support;

use expect_test::{Expect, expect};
use isolde_prove::abstraction::{self, Cube, End, Predicate, Round, Story, Subject, seeds};
use isolde_prove::{Limits, Options, Rule, ir};
use isolde_smt::{Solver, Term};
use support::{Loaded, load};

fn solver() -> Option<Solver> {
    let solver = Solver::from_environment().ok();
    if solver.is_none() {
        eprintln!("skipped: there is no solver (install z3)");
    }
    solver
}

fn program(name: &str) -> Loaded {
    let path = format!("{}/tests/programs/{name}.sql", env!("CARGO_MANIFEST_DIR"));
    load(&std::fs::read_to_string(path).unwrap())
}

/// Does something with a procedure and a rule; nothing, if predicate abstraction cannot express them.
fn with<T>(loaded: &Loaded, procedure: &str, rule: &str, act: impl FnOnce(&Subject<'_>) -> T) -> Option<T> {
    let program = &loaded.program;
    let id = program.catalog().routines_by_name(procedure).next().unwrap().0;
    let graph = ir::lower(program.catalog(), id).ok()?;
    let rule: &Rule = program.rules.iter().find(|r| *r.name == *rule).unwrap();
    Subject::new(program, &graph, rule).ok().map(|subject| act(&subject))
}

fn word(story: &Story) -> &'static str {
    match story.end {
        End::Safe(_) => "safe",
        End::Feasible(_) => "unsafe",
        End::Open(_) => "open",
    }
}

fn told(procedure: &str, expected: &Expect, programs: &[Expect]) {
    let Some(solver) = solver() else { return };
    with(&program("withdraw"), procedure, "minimum", |subject| {
        let story = subject.prove(&solver, &Limits::default()).unwrap();
        expected.assert_eq(&subject.explain(&story));
        assert_eq!(story.rounds.len(), programs.len(), "as many boolean programs as abstractions");
        for (round, expected) in story.rounds.iter().zip(programs) {
            expected.assert_eq(&subject.boolean_program(round, &solver, Limits::default().timeout).unwrap());
        }
    });
}

#[test]
fn withdraw_is_proved_in_two_steps() {
    told(
        "right_guard",
        &expect![[r#"
            Abstraction 1. 7 predicates, of an arbitrary row and the variables:
                ok    account exists -> account.balance >= 1000   (the rule)
                hit   account exists and account.id = acc   (the row is one that a statement is about)
                link  account exists and account.id = acc -> bal = account.balance   (what was read of the row is still in a variable)
                grd   amount > 0   (the procedure branches on it)
                grd2  amount <= 10000   (the procedure branches on it)
                grd3  bal - amount >= minimum   (the procedure branches on it)
                eff   account exists and account.id = acc -> account.balance - amount >= 1000   (the rule as a statement would leave it)
              As far as these predicates tell, the rule can be broken on this way:
                line 6: minimum := ...
                line 8: SELECT balance INTO bal FROM account WHERE id = acc
                line 9: if so
                line 10: if so
                line 11: UPDATE account SET balance = balance - amount WHERE id = acc
              It cannot happen: written out, with a row for every lookup, there are no rows and arguments for it.
              What rules it out, and is asked from now on:
                new  minimum >= 1000
            Abstraction 2. 8 predicates, with what was learnt.
              The rule is kept on every way. What is known at each place:
                L2, line 8: ok & new
                L3, line 9: ok & link & new
                L4, line 10: ok & link & grd & grd2 & new
                L5, line 11: ok & grd & grd2 & eff
              Checked: put back into the 7 steps of the procedure, each step follows. Safe.
        "#]],
        &[
            expect![[r#"
                  ok    account exists -> account.balance >= 1000
                  hit   account exists and account.id = acc
                  link  account exists and account.id = acc -> bal = account.balance
                  grd   amount > 0
                  grd2  amount <= 10000
                  grd3  bal - amount >= minimum
                  eff   account exists and account.id = acc -> account.balance - amount >= 1000
                  never: !hit & !eff, !hit & !link, !grd & !grd2 & grd3, !ok & hit & grd & eff, ok & !grd & grd2 & !eff
                start: // line 6: minimum := ...
                        ok := true;
                        hit := *;
                        grd := *;
                        grd2 := *;
                        eff := *;
                        goto L2;
                L2:    // line 8: SELECT balance INTO bal FROM account WHERE id = acc
                        link := true;
                        grd3 := choose(false, !grd & !grd2);
                        goto L3;
                L3:    either // line 9: if not so
                        assume((!grd | !grd2));
                        assert(ok);
                       or     // line 9: if so
                        assume(grd & grd2);
                        grd := true;
                        grd2 := true;
                        goto L4;
                L4:    either // line 10: if not so
                        assume(!grd3);
                        assert(ok);
                       or     // line 10: if so
                        assume(grd3);
                        goto L5;
                L5:    // line 11: UPDATE account SET balance = balance - amount WHERE id = acc
                        assume((!hit | grd | grd2));
                        assert(ok & !hit | hit & eff);
            "#]],
            expect![[r#"
                  ok    account exists -> account.balance >= 1000
                  hit   account exists and account.id = acc
                  link  account exists and account.id = acc -> bal = account.balance
                  grd   amount > 0
                  grd2  amount <= 10000
                  grd3  bal - amount >= minimum
                  eff   account exists and account.id = acc -> account.balance - amount >= 1000
                  new   minimum >= 1000
                  never: !hit & !eff, !hit & !link, !grd & !grd2 & grd3, !ok & hit & grd & eff, ok & !grd & grd2 & !eff, link & grd3 & !eff & new
                start: // line 6: minimum := ...
                        ok := true;
                        hit := *;
                        grd := *;
                        grd2 := *;
                        eff := *;
                        new := true;
                        goto L2;
                L2:    // line 8: SELECT balance INTO bal FROM account WHERE id = acc
                        link := true;
                        grd3 := choose(false, !eff & new | !grd & !grd2);
                        goto L3;
                L3:    either // line 9: if not so
                        assume((!grd | !grd2));
                        assert(ok);
                       or     // line 9: if so
                        assume(grd & grd2);
                        grd := true;
                        grd2 := true;
                        goto L4;
                L4:    either // line 10: if not so
                        assume(!grd3);
                        assert(ok);
                       or     // line 10: if so
                        assume(grd3);
                        eff := choose(eff | link & new, !eff);
                        goto L5;
                L5:    // line 11: UPDATE account SET balance = balance - amount WHERE id = acc
                        assume((!hit | grd | grd2));
                        assert(ok & !hit | hit & eff);
            "#]],
        ],
    );
}

#[test]
fn the_wrong_guard_is_a_way_that_can_happen() {
    told(
        "wrong_guard",
        &expect![[r#"
            Abstraction 1. 6 predicates, of an arbitrary row and the variables:
                ok    account exists -> account.balance >= 1000   (the rule)
                hit   account exists and account.id = acc   (the row is one that a statement is about)
                link  account exists and account.id = acc -> bal = account.balance   (what was read of the row is still in a variable)
                grd   amount > 0   (the procedure branches on it)
                grd2  amount <= bal   (the procedure branches on it)
                eff   account exists and account.id = acc -> account.balance - amount >= 1000   (the rule as a statement would leave it)
              As far as these predicates tell, the rule can be broken on this way:
                line 19: SELECT balance INTO bal FROM account WHERE id = acc
                line 20: if so
                line 21: UPDATE account SET balance = balance - amount WHERE id = acc
              It can happen: written out, with a row for every lookup, there are rows and arguments for it. Not safe.
        "#]],
        &[expect![[r#"
              ok    account exists -> account.balance >= 1000
              hit   account exists and account.id = acc
              link  account exists and account.id = acc -> bal = account.balance
              grd   amount > 0
              grd2  amount <= bal
              eff   account exists and account.id = acc -> account.balance - amount >= 1000
              never: !hit & !eff, !hit & !link, !ok & hit & grd & eff, ok & !grd & grd2 & !eff
            start: // line 19: SELECT balance INTO bal FROM account WHERE id = acc
                    ok := true;
                    hit := *;
                    link := true;
                    grd := *;
                    grd2 := *;
                    eff := *;
                    goto L2;
            L2:    either // line 20: if not so
                    assume((!grd | !grd2));
                    assert(ok);
                   or     // line 20: if so
                    assume(grd & grd2);
                    grd := true;
                    goto L3;
            L3:    // line 21: UPDATE account SET balance = balance - amount WHERE id = acc
                    assume((!ok | grd | eff));
                    assert(ok & !hit | hit & eff);
        "#]]],
    );
}

/// The paper's condition assumes what it concludes, so without guard it is as safe as with it. Here it is not.
#[test]
fn the_vacuous_condition_is_not_accepted() {
    let Some(solver) = solver() else { return };
    for procedure in ["wrong_guard", "no_guard", "null_guard"] {
        let loaded = program("withdraw");
        let answer = with(&loaded, procedure, "minimum", |subject| {
            // Even with nothing but the paper's own predicate, that the rule holds.
            let ok: Vec<Predicate> = seeds(subject).into_iter().take(1).collect();
            assert_eq!(word(&subject.prove_with(ok, &solver, &Limits::default()).unwrap()), "unsafe");
            word(&subject.prove(&solver, &Limits::default()).unwrap())
        });
        assert_eq!(answer, Some("unsafe"), "{procedure}");
    }
}

/// What the other stages say is said here too, or nothing is.
#[test]
fn nothing_contradicts_the_other_stages() {
    let Some(solver) = solver() else { return };
    let only = std::env::var("PROGRAM").ok();
    let (mut decided, mut all) = (0, 0);
    for name in ["withdraw", "loops", "cursor", "inventory", "loyalty", "transfer", "refund", "counted", "orders"] {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let loaded = program(name);
        for (procedure, rule, expected) in &loaded.expected {
            let begun = std::time::Instant::now();
            let limits = Limits { timeout: std::time::Duration::from_secs(5), ..Limits::default() };
            let Some((answer, rounds, why)) = with(&loaded, procedure, rule, |subject| {
                let story = subject.prove(&solver, &limits).unwrap();
                let why = if let End::Open(why) = &story.end { why.clone() } else { String::new() };
                (word(&story), story.rounds.len(), why)
            }) else {
                continue;
            };
            let seconds = begun.elapsed().as_secs_f64();
            eprintln!("{name:10} {procedure:20} {rule:16} {answer:7} {rounds} abstractions {seconds:6.2}s {why}");
            all += 1;
            decided += usize::from(answer != "open");
            assert!(answer == "open" || answer == expected, "{name} {procedure} {rule}: {answer}, expected {expected}");
        }
    }
    assert!(only.is_some() || decided * 10 >= all * 6, "{decided} of {all} are decided");
}

/// Predicates are only questions: wrong ones cannot make a wrong program right.
#[test]
fn corrupted_predicates_prove_nothing() {
    let Some(solver) = solver() else { return };
    let loaded = program("withdraw");
    for procedure in ["wrong_guard", "null_guard"] {
        with(&loaded, procedure, "minimum", |subject| {
            let seeds = seeds(subject);
            let changed = |change: &dyn Fn(&Predicate) -> Term| -> Vec<Predicate> {
                seeds.iter().map(|p| Predicate { term: change(p), ..p.clone() }).collect()
            };
            let ok = seeds[0].term.clone();
            let corrupted = [
                Vec::new(),
                changed(&|_| Term::True),
                changed(&|_| Term::False),
                changed(&|p| p.term.clone().not()),
                changed(&|_| ok.clone()),
                changed(&|p| Term::or([p.term.clone(), ok.clone().not()])),
            ];
            for predicates in corrupted {
                let story = subject.prove_with(predicates, &solver, &Limits::default()).unwrap();
                assert_ne!(word(&story), "safe", "{procedure}");
            }
        });
    }
}

/// An invariant that claims more than was reached is rejected.
#[test]
fn corrupted_invariants_are_rejected() {
    let Some(solver) = solver() else { return };
    let limits = Limits::default();
    with(&program("withdraw"), "right_guard", "minimum", |subject| {
        let story = subject.prove(&solver, &limits).unwrap();
        let round = story.rounds.last().unwrap();
        let accepted =
            |round: &Round| subject.certificate(round).check(&subject.clauses, &solver, limits.timeout).unwrap();
        assert_eq!(accepted(round), Ok(()));
        for cut in round.reached.keys() {
            let mut nothing = round.clone();
            nothing.reached.insert(*cut, Vec::new());
            assert!(accepted(&nothing).is_err(), "cut {cut} can be reached");
            let mut turned = round.clone();
            for cube in turned.reached.get_mut(cut).into_iter().flatten() {
                *cube = Cube(cube.0.iter().map(|(at, holds)| (*at, !holds)).collect());
            }
            assert!(turned.reached[cut].iter().all(|cube| cube.0.is_empty()) || accepted(&turned).is_err());
        }
    });
}

/// What the guide shows of the paper's example is what is printed.
#[test]
fn the_guide_shows_what_is_printed() {
    let Some(solver) = solver() else { return };
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let loaded = load(&std::fs::read_to_string(format!("{root}/examples/atm/withdraw.sql")).unwrap());
    let options = Options { procedure: Some("withdraw".into()), ..Options::default() };
    let guide = std::fs::read_to_string(format!("{root}/docs/proving.md")).unwrap();
    let shown = [
        abstraction::explanations(&loaded.program, &solver, &options).unwrap(),
        abstraction::boolean_programs(&loaded.program, &solver, &options).unwrap(),
    ];
    let missing: Vec<&String> = shown.iter().filter(|text| !guide.contains(*text)).collect();
    assert!(missing.is_empty(), "docs/proving.md does not show this:\n{missing:#?}");
}
