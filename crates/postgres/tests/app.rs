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

/// Which of two threads draws which number from a sequence is nobody's business, also if one is drawn in vain.
#[test]
fn generated_keys_do_not_count() {
    let setup = "setup_sql = \"CREATE TABLE entry (id serial PRIMARY KEY, who text)\"\n";
    let alice = "[[thread]]\nname = \"alice\"\ncommand = '''psql -Xq <<EOF\nBEGIN;\nINSERT INTO entry (who) VALUES ('x');\n\
                 ROLLBACK;\nINSERT INTO entry (who) VALUES ('alice');\nEOF\n'''\n";
    let bob = "[[thread]]\nname = \"bob\"\ncommand = '''psql -Xqc \"INSERT INTO entry (who) VALUES ('bob')\"'''\n";
    let report = check(&format!("{setup}{alice}{bob}")).unwrap();
    let text = report.to_text(isolde_report::Style::plain(120));
    assert_eq!(report.verdict, Verdict::Holds, "{text}");
    assert!(report.stats.ends >= 3, "{text}");
}

/// Two transfers in opposite directions. Who closes the circle is the victim, in every run.
#[test]
fn a_deadlock_is_found() {
    let setup = "setup_sql = \"CREATE TABLE account (id int PRIMARY KEY, balance int); \
                 INSERT INTO account VALUES (1, 100), (2, 100)\"\n";
    let thread = |name: &str, from: u32, to: u32| {
        format!(
            "[[thread]]\nname = \"{name}\"\ncommand = '''psql -Xq -v ON_ERROR_STOP=1 <<EOF\nBEGIN;\n\
             UPDATE account SET balance = balance - 10 WHERE id = {from};\n\
             UPDATE account SET balance = balance + 10 WHERE id = {to};\nCOMMIT;\nEOF\n'''\n"
        )
    };
    let text = format!("{setup}{}{}", thread("alice", 1, 2), thread("bob", 2, 1));
    let report = check(&text).unwrap();
    let shown = report.to_text(isolde_report::Style::plain(120));
    let counterexample = report.counterexample.expect("they wait for each other");
    assert_eq!(counterexample.property, "deadlock", "{shown}");
    assert!(shown.contains("alice and bob wait for each other"), "{shown}");
    // With a second attempt for each, both get through.
    let retried = text.replace("command = ", "retries = 1\ncommand = ");
    let report = check(&retried).unwrap();
    assert_eq!(report.verdict, Verdict::Holds, "{}", report.to_text(isolde_report::Style::plain(120)));
}
