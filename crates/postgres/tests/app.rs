//! Applications through the proxy: shell scripts around psql, checked from start to end on a real server.
#![allow(clippy::unwrap_used)]

mod common;

use common::{COUNTER, check, databases};
use isolde_report::Verdict;

#[test]
fn two_scripts_lose_an_update() {
    let thread = |name: &str| {
        format!(
            "[[thread]]\nname = \"{name}\"\ncommand = '''n=$(psql -XAtc 'SELECT n FROM counter WHERE id = 1') && \
             psql -Xqc \"UPDATE counter SET n = $n + 1 WHERE id = 1\"'''\n"
        )
    };
    let report = check(&format!("{COUNTER}{}{}", thread("alice"), thread("bob"))).unwrap();
    println!("{}", report.to_text(isolde_report::Style::plain(120)));
    assert_eq!(report.verdict, Verdict::Violated);
    let counterexample = report.counterexample.unwrap();
    assert_eq!(counterexample.property, "serial outcome");
    assert_eq!(counterexample.schedule, "alice bob bob alice");
}

#[test]
fn an_atomic_update_waits_and_holds() {
    let thread = |name: &str| {
        format!(
            "[[thread]]\nname = \"{name}\"\ncommand = '''psql -Xq -v ON_ERROR_STOP=1 <<EOF\nBEGIN;\n\
             UPDATE counter SET n = n + 1 WHERE id = 1;\nCOMMIT;\nEOF\n'''\n"
        )
    };
    let report = check(&format!("{COUNTER}{}{}", thread("alice"), thread("bob"))).unwrap();
    println!("{}", report.to_text(isolde_report::Style::plain(120)));
    assert_eq!(report.verdict, Verdict::Holds, "{report:?}");
}

#[test]
fn a_thread_that_does_something_else_is_stuck() {
    let text = "[[thread]]\nname = \"alice\"\ncommand = \"sleep 100\"\n";
    let trouble = check(&format!("{COUNTER}{text}")).unwrap_err();
    assert!(
        trouble.to_string().starts_with("alice neither goes on nor waits for another thread: it has neither"),
        "{trouble}"
    );
    assert_eq!(databases(), 0);
}
