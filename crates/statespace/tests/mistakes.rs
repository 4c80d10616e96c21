//! What is said about specifications with a mistake, and about behaviours that break what is asked.

#![allow(clippy::unwrap_used)]

use expect_test::{Expect, expect};
use isolde_report::{Style, TraceStyle};
use isolde_statespace::check::{self, Options};
use isolde_statespace::tla::Spec;
use isolde_statespace::tla::fault::Error;
use isolde_statespace::tla::spec::Files;

fn answer(text: &str, config: &str, ctl: &[&str]) -> Result<String, Error> {
    let files = Files { name: "M.tla", text, config: (!config.is_empty()).then_some(("M.cfg", config)) };
    let mut spec = Spec::load(&files, &mut |_| None)?;
    let options = Options {
        deadlock: None,
        ctl: ctl.iter().map(|text| text.to_string()).collect(),
        invariants: Vec::new(),
        states_max: 1000,
        coverage: false,
        graph: false,
        command: String::new(),
        path: "M.tla".into(),
    };
    Ok(check::check(&mut spec, &options, &mut ())?.report.to_text(Style::plain(100), TraceStyle::Table))
}

/// The mistake with its line, what is pointed at, and the hint.
fn complaint(body: &str, config: &str, expected: Expect) {
    let text = format!("---- MODULE M ----\nEXTENDS Integers\nVARIABLES x, y\n{body}\n====\n");
    let said = match answer(&text, config, &[]) {
        Ok(answer) => answer,
        Err(error) => {
            let at = error.text.get(error.span.clone()).unwrap_or("").lines().next().unwrap_or("").to_string();
            format!("{error}\n  at: {at}\n  hint: {}\n", error.hint.clone().unwrap_or_default())
        }
    };
    expected.assert_eq(&said);
}

const INIT_NEXT: &str = "INIT Init NEXT Next";

/// A name without parameters that leads back to itself, through whatever others.
#[test]
fn what_is_defined_by_itself_stands_for_nothing() {
    for body in [
        "Init == x = 0 /\\ y = 0\nNext == UNCHANGED y /\\ Next",
        "Init == x = 0 /\\ y = 0\nv == w\nw == <<x, v>>\nNext == UNCHANGED v",
        "Init == x = A /\\ y = 0\nA == B + 1\nB == A\nNext == UNCHANGED <<x, y>>",
    ] {
        let text = format!("---- MODULE M ----\nEXTENDS Integers\nVARIABLES x, y\n{body}\n====\n");
        let error = answer(&text, INIT_NEXT, &[]).unwrap_err();
        assert!(error.message.ends_with("is defined by itself"), "{body}: {error}");
    }
}

#[test]
fn what_is_refused_is_named() {
    complaint(
        "Init == x = 0 /\\ y = 0\nUp == x' = x + 1 /\\ UNCHANGED y\nNext == Up \\cdot Up",
        INIT_NEXT,
        expect![[r#"
            M.tla:6: action composition (`\cdot`) is not supported
              at: Up \cdot Up
              hint: 
        "#]],
    );
    complaint(
        "Init == x = 0 /\\ y = 0\nNext == LET I == INSTANCE Naturals IN UNCHANGED <<x, y>>",
        INIT_NEXT,
        expect![[r#"
            M.tla:5: INSTANCE in LET is not supported
              at: LET I == INSTANCE Naturals IN UNCHANGED <<x, y>>
              hint: 
        "#]],
    );
}

#[test]
fn syntax() {
    complaint(
        "Init == x = (1",
        INIT_NEXT,
        expect![[r#"
        M.tla:4: what begins here is no TLA+
          at: Init == x = (1
          hint: 
    "#]],
    );
}

#[test]
fn names() {
    complaint(
        "Init == x = 1 /\\ y = z\nNext == x' = x /\\ y' = y",
        INIT_NEXT,
        expect![[r#"
        M.tla:4: there is nothing with the name `z`
          at: z
          hint: 
    "#]],
    );
    complaint(
        "Init == x = Len(<<>>) /\\ y = 0\nNext == x' = x /\\ y' = y",
        INIT_NEXT,
        expect![[r#"
        M.tla:4: there is no operator `Len`
          at: Len(<<>>)
          hint: EXTENDS Sequences
    "#]],
    );
    complaint(
        "A(n) == n\nInit == x = A(1, 2) /\\ y = 0\nNext == x' = x /\\ y' = y",
        INIT_NEXT,
        expect![[r#"
        M.tla:5: `A` takes 1 argument and has 2 arguments
          at: A(1, 2)
          hint: 
    "#]],
    );
}

#[test]
fn levels() {
    complaint(
        "Init == x' = 1\nNext == x' = x",
        INIT_NEXT,
        expect![[r#"
        M.cfg:1: `Init` is an expression about a step and should be an expression about a state
          at: Init
          hint: 
    "#]],
    );
    complaint(
        "Init == x = 0 /\\ y = 0\nA == x'\nNext == A' = 1 /\\ y' = y",
        INIT_NEXT,
        expect![[r#"
        M.tla:6: an expression about a step cannot be primed
          at: A
          hint: 
    "#]],
    );
}

#[test]
fn values() {
    complaint(
        "Init == x = 1 /\\ y = 0\nNext == x' = x /\\ y' = (IF x = \"a\" THEN 1 ELSE 2)",
        INIT_NEXT,
        expect![[r#"
            violated  M.tla
              1 states (1 at the start), 1 generated, depth 1

            unknown  no deadlock  the search ended at the first mistake
            fails    evaluation of M.tla:5:28  1 is an integer and "a" is a string: they cannot be compared: `x = "a"`, evaluated in the last state

                 step   x  y
              1  start  1  0

        "#]],
    );
    complaint(
        "Init == x = 0 /\\ y \\in Nat\nNext == x' = x /\\ y' = y",
        INIT_NEXT,
        expect![[r#"
        M.tla:4: the elements of Nat cannot be listed: it is infinite
          at: Nat
          hint: 
    "#]],
    );
    complaint(
        "Init == x = {1, \"a\"} /\\ y = 0\nNext == x' = x /\\ y' = y",
        INIT_NEXT,
        expect![[r#"
        M.tla:4: 1 is an integer and "a" is a string: they cannot be in one set
          at: {1, "a"}
          hint: 
    "#]],
    );
    complaint(
        "Init == x = 1 /\\ y = 0\nNext == x' = x + 1",
        INIT_NEXT,
        expect![[r#"
            violated  M.tla
              1 states (1 at the start), 1 generated, depth 1

            unknown  no deadlock  the search ended at the first mistake
            fails    evaluation of M.tla:5:9  `y'` gets no value here (say what it is afterwards, as UNCHANGED y): `x' = x + 1`, evaluated in the last state

                 step   x  y
              1  start  1  0

        "#]],
    );
    complaint(
        "Init == x = [i \\in 1..2 |-> i] /\\ y = 1\nNext == y' = x[y] + 1 /\\ x' = x",
        INIT_NEXT,
        expect![[r#"
            violated  M.tla
              3 states (1 at the start), 3 generated, depth 3

            unknown  no deadlock  the search ended at the first mistake
            fails    evaluation of M.tla:5:14  3 is not in the domain of <<1, 2>>: `x[y]`, evaluated in the last state

                 step   x         y
              1  start  <<1, 2>>  1
              2  Next             2
              3  Next             3

        "#]],
    );
}

#[test]
fn configurations() {
    complaint(
        "Init == x = 0 /\\ y = 0\nNext == UNCHANGED <<x, y>>",
        "INIT Init NEXT Next ALIAS Other",
        expect![[r#"
        M.cfg:1: `ALIAS` is not supported
          at: ALIAS
          hint: 
    "#]],
    );
    complaint(
        "Init == x = 0 /\\ y = 0\nNext == UNCHANGED <<x, y>>",
        "INIT Init",
        expect![[r#"
        M.cfg:1: INIT stands without NEXT
          at: Init
          hint: NEXT Next
    "#]],
    );
    complaint(
        "Init == x = 0 /\\ y = 0\nNext == UNCHANGED <<x, y>>",
        "INIT Init NEXT Nxt",
        expect![[r#"
        M.cfg:1: there is nothing with the name `Nxt`
          at: Nxt
          hint: 
    "#]],
    );
    complaint(
        "CONSTANT N\nInit == x = N /\\ y = 0\nNext == UNCHANGED <<x, y>>",
        INIT_NEXT,
        expect![[r#"
        M.tla:5: the constant `N` has no value
          at: N
          hint: in the configuration file: CONSTANT N = ...
    "#]],
    );
    complaint(
        "Init == x = 0 /\\ y = 0\nNext == UNCHANGED <<x, y>>",
        "INIT Init NEXT Next INVARIANTES A",
        expect![[r#"
        M.cfg:1: `INVARIANTES` is no keyword of a configuration
          at: INVARIANTES
          hint: SPECIFICATION, INIT, NEXT, CONSTANT, INVARIANT, PROPERTY, CONSTRAINT, ACTION_CONSTRAINT, SYMMETRY, VIEW or CHECK_DEADLOCK
    "#]],
    );
    complaint(
        "A == 1",
        "",
        expect![[r#"
        M.tla:1: nothing says where behaviours start and how they go on
          at: -
          hint: define Spec, or Init and Next, or name them in a configuration file: SPECIFICATION Spec
    "#]],
    );
}

const TURNS: &str = "---- MODULE M ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Up == x < 3 /\\ x' = x + 1
Back == x = 2 /\\ x' = 1
Next == Up \\/ Back
Spec == Init /\\ [][Next]_x /\\ WF_x(Next)
Fair == Spec /\\ SF_x(Up /\\ x = 2)
Arrives == <>(x = 3)
====";

#[test]
fn a_lasso_shows_what_never_comes() {
    let said = answer(TURNS, "SPECIFICATION Spec PROPERTY Arrives CHECK_DEADLOCK FALSE", &[]).unwrap();
    expect![[r#"
        violated  M.tla
          4 states (1 at the start), 5 generated, depth 4

        fails    property Arrives  this behaviour breaks it

             step   x
          1  start  0
          2  Up     1
          3  Up     2
          back to state 2

    "#]]
    .assert_eq(&said);
    let said = answer(TURNS, "SPECIFICATION Fair PROPERTY Arrives CHECK_DEADLOCK FALSE", &[]).unwrap();
    expect![[r#"
        holds  M.tla
          4 states (1 at the start), 5 generated, depth 4

        holds    property Arrives
    "#]]
    .assert_eq(&said);
}

#[test]
fn what_can_happen() {
    let formulas = ["AG EF (x = 3)", "AF (x = 3)", "AG (x # 3)", "E[x < 2 U x = 2]"];
    let said = answer(TURNS, "SPECIFICATION Spec CHECK_DEADLOCK FALSE", &formulas).unwrap();
    expect![[r#"
        violated  M.tla
          4 states (1 at the start), 5 generated, depth 4

        holds    ctl AG EF (x = 3)
        fails    ctl AF (x = 3)  in a state at the start

             step   x
          1  start  0
          2  Up     1
          3  Up     2
          back to state 2

        fails    ctl AG (x # 3)  in a state at the start

             step   x
          1  start  0
          2  Up     1
          3  Up     2
          4  Up     3
          and nothing more, for ever

        holds    ctl E[x < 2 U x = 2]
    "#]]
    .assert_eq(&said);
}

#[test]
fn a_deadlock_is_a_mistake_unless_it_is_not() {
    let said = answer(TURNS, "SPECIFICATION Spec", &[]).unwrap();
    expect![[r#"
        violated  M.tla
          4 states (1 at the start), 5 generated, depth 4

        fails    no deadlock  no step is possible in the last state

             step   x
          1  start  0
          2  Up     1
          3  Up     2
          4  Up     3

    "#]]
    .assert_eq(&said);
}
