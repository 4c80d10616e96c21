//! Applications through the proxy: shell scripts around psql, checked from start to end on a real server.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::ops::ControlFlow;

use common::{COUNTER, check, check_alone, stage, without_psql};
use isolde_postgres::live::{Stage, Standing};
use isolde_postgres::spec;
use isolde_report::Verdict;
use isolde_scenario::spec::Spec;
use isolde_testkit::{Cluster, isolation, skipped};

#[test]
fn two_scripts_lose_an_update() {
    if without_psql("two scripts lose an update") {
        return;
    }
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
    assert_eq!(counterexample.schedule, "alice alice bob bob alice bob");
}

#[test]
fn an_atomic_update_waits_and_holds() {
    if without_psql("an atomic update waits and holds") {
        return;
    }
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
    let trouble = check_alone(&format!("time_limit = 1\n{COUNTER}{text}")).unwrap_err();
    assert!(
        trouble.to_string().starts_with("alice neither goes on nor waits for another thread: it has neither"),
        "{trouble}"
    );
}

/// Which of two threads draws which number from a sequence is nobody's business, also if one is drawn in vain.
#[test]
fn generated_keys_do_not_count() {
    if without_psql("generated keys do not count") {
        return;
    }
    let setup = "setup_sql = \"CREATE TABLE entry (id serial PRIMARY KEY, who text)\"\n";
    let alice = "[[thread]]\nname = \"alice\"\ncommand = '''psql -Xq <<EOF\nBEGIN;\nINSERT INTO entry (who) VALUES ('x');\n\
                 ROLLBACK;\nINSERT INTO entry (who) VALUES ('alice');\nEOF\n'''\n";
    let bob = "[[thread]]\nname = \"bob\"\ncommand = '''psql -Xqc \"INSERT INTO entry (who) VALUES ('bob')\"'''\n";
    let report = check(&format!("{setup}{alice}{bob}")).unwrap();
    let text = report.to_text(isolde_report::Style::plain(120));
    assert_eq!(report.verdict, Verdict::Holds, "{text}");
    assert!(report.stats.ends >= 3, "{text}");
}

/// Two transfers in opposite directions. Who closes the cycle is the victim, in every run.
#[test]
fn a_deadlock_is_found() {
    if without_psql("a deadlock is found") {
        return;
    }
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

/// What was found becomes a spec that needs neither the application nor Isolde: with transactions, savepoints, a wait,
/// a deadlock, and a thread that has two connections. PostgreSQL's own tester prints the same as we do.
#[test]
fn a_run_of_an_application_becomes_a_spec() {
    if without_psql("a run of an application becomes a spec") {
        return;
    }
    let alice = "[[thread]]\nname = \"alice\"\ncommand = '''psql -Xq <<\"EOF\"\nBEGIN ISOLATION LEVEL REPEATABLE READ;\n\
                 SAVEPOINT s;\nSELECT n FROM counter WHERE id = 1 \\gset\nUPDATE counter SET n = :n + 1 WHERE id = 1;\n\
                 ROLLBACK TO s;\nUPDATE counter SET n = :n + 2 WHERE id = 1;\nCOMMIT;\nEOF\n'''\n";
    let bob = "[[thread]]\nname = \"bob\"\ncommand = '''n=$(psql -XAtc 'SELECT n FROM counter WHERE id = 1') && \
               psql -Xqc \"UPDATE counter SET n = $n + 1, tags = '{x}' WHERE id = 1\"'''\n";
    let setup = COUNTER.replace("n int NOT NULL)", "n int NOT NULL, tags text[] DEFAULT '{}')");
    let text = format!("{setup}{alice}{bob}");
    let found = check(&text).unwrap().counterexample.unwrap();
    assert_eq!(found.property, "serial outcome");
    let waits = "alice alice bob bob alice alice bob";
    for schedule in [&*found.schedule, waits, "bob alice alice alice alice alice bob bob"] {
        let mut stage = stage(&text);
        let written = stage.spec(schedule, "app.toml").unwrap().unwrap();
        assert!(written.same_end, "{}", written.text);
        let printed = agreed(&written.text);
        assert!(schedule != waits || printed.contains("<waiting ...>"), "{printed}");
    }
}

/// What a spec prints on the server by us, and by PostgreSQL's own tester where that is installed.
fn agreed(text: &str) -> String {
    let spec = Spec::parse("app.spec", text).unwrap();
    let cluster = Cluster::shared();
    let database = cluster.create_database().unwrap();
    let run = spec::run(&cluster.settings(&database), &spec, &mut |_| ControlFlow::Continue(())).unwrap();
    match isolation::isolationtester() {
        None => skipped::note("specs of applications, run by isolationtester", "isolationtester is not installed"),
        Some(tester) => {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("app.spec");
            fs::write(&path, text).unwrap();
            assert_eq!(run.output, isolation::run(cluster, &tester, &path).unwrap());
        }
    }
    run.output
}

/// One statement is not atomic: two of them look, find nothing, and both insert, because neither has committed when the
/// other looks. The commit of a lone statement is a step.
#[test]
fn a_lone_statement_and_its_commit_are_two_steps() {
    if without_psql("lone statements of applications") {
        return;
    }
    let setup = "setup_sql = \"CREATE TABLE used (coupon int, who text)\"\n";
    let thread = |name: &str| {
        format!(
            "[[thread]]\nname = \"{name}\"\ncommand = '''psql -Xqc \"INSERT INTO used SELECT 7, '{name}' \
             WHERE NOT EXISTS (SELECT FROM used WHERE coupon = 7)\"'''\n"
        )
    };
    let once = "[[final]]\nname = \"once\"\nsql = \"SELECT count(*) <= 1 FROM used\"\n";
    let text = format!("{setup}{}{}{once}", thread("alice"), thread("bob"));
    let report = check(&text).unwrap();
    let shown = report.to_text(isolde_report::Style::plain(120));
    let found = report.counterexample.expect(&shown);
    assert_eq!(found.schedule.split(' ').count(), 4, "{shown}");
    assert_eq!(report.warnings, [""; 0], "{shown}");
    // What is written of it for others has the same end, and the scenario has lone statements as well.
    let mut stage = stage(&text);
    let written = stage.spec(&found.schedule, "app.toml").unwrap().unwrap();
    assert!(written.same_end && written.text.contains("BEGIN"), "{}", written.text);
    agreed(&written.text);
    let scenario = stage.scenario("app.toml").unwrap();
    assert!(!scenario.contains("BEGIN") && !scenario.contains("COMMIT"), "{scenario}");
}

/// What may not stand in a transaction is sent as it is, and named.
#[test]
fn what_commits_by_itself_stays_as_it_is() {
    if without_psql("procedures that commit") {
        return;
    }
    let procedure = "CREATE PROCEDURE twice() LANGUAGE plpgsql AS $$ BEGIN UPDATE counter SET n = n + 1; COMMIT; \
                     UPDATE counter SET n = n + 1; END $$";
    let setup = COUNTER.replace("VALUES (1, 0)", &format!("VALUES (1, 0); {procedure}"));
    let text = format!("{setup}[[thread]]\nname = \"alice\"\ncommand = \"psql -Xqc 'CALL twice()'\"\n");
    assert_eq!(check(&text).unwrap().verdict, Verdict::Holds);
    let mut stage = stage(&text);
    stage.restart().unwrap();
    while matches!(stage.standing(0), Standing::Ready(_)) {
        stage.step(0).unwrap();
    }
    let warnings = stage.warnings().join("\n");
    assert!(warnings.contains("alice sends `CALL twice()` outside of a transaction"), "{warnings}");
}
