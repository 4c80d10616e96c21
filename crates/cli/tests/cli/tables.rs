//! `isolde space` with tables, and `isolde explore --store`.

use std::fs;
use std::path::Path;

use crate::transcript::run;

const LOCK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../statespace/tests/specs/Lock");

fn lock(directory: &Path) {
    for ending in ["tla", "cfg"] {
        fs::copy(format!("{LOCK}.{ending}"), directory.join(format!("Lock.{ending}"))).unwrap();
    }
}

#[test]
fn a_space_that_is_kept_is_not_explored_again() {
    let directory = tempfile::tempdir().unwrap();
    lock(directory.path());
    let ask = |line: &str| {
        let (text, output) = run(line, directory.path());
        assert_eq!(output.status.code(), Some(0), "{text}");
        text
    };
    let first = ask("isolde space Lock.tla --db lock.sqlite --keep --stats");
    assert!(!first.contains("not explored"), "{first}");
    let question = "isolde space Lock.tla --db lock.sqlite --keep --stats --ctl 'AG EF (busy = FALSE)'";
    let second = ask(question);
    assert!(second.contains("read from the store, not explored"), "{second}");
    let config = fs::read_to_string(directory.path().join("Lock.cfg")).unwrap();
    fs::write(directory.path().join("Lock.cfg"), config.replace("INVARIANTS TypeOK Exclusion", "INVARIANT TypeOK"))
        .unwrap();
    assert!(ask(question).contains("not explored"), "only what is asked has changed");
    fs::write(directory.path().join("Lock.cfg"), config.replace("p1, p2, p3", "p1, p2")).unwrap();
    assert!(!ask(question).contains("not explored"), "the specification has changed");
}

#[test]
fn a_database_explores_as_well() {
    let directory = tempfile::tempdir().unwrap();
    lock(directory.path());
    let (rust, _) = run("isolde space Lock.tla --ctl 'AF busy'", directory.path());
    for engine in ["sql", "levels"] {
        let command = format!("isolde space Lock.tla --ctl 'AF busy' --db {engine}.sqlite --keep --engine {engine}");
        let (text, output) = run(&command, directory.path());
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert_eq!(text.split_once('\n').unwrap().1, rust.split_once('\n').unwrap().1);
        let (text, output) = run(&format!("isolde space {engine}.sqlite --invariant 'lvl < 5'"), directory.path());
        assert_eq!(output.status.code(), Some(0), "{text}");
    }
    let (text, _) = run("isolde space Lock.tla --emit-sql spark", directory.path());
    assert!(text.contains("WHILE fresh > 0 DO"), "{text}");
}

#[test]
fn a_file_that_is_not_kept_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    lock(directory.path());
    let (text, output) = run("isolde space Lock.tla --db lock.sqlite", directory.path());
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(!directory.path().join("lock.sqlite").exists());
    let (text, output) = run("isolde space Lock.tla --db Lock.cfg", directory.path());
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("Lock.cfg is there already and is no SQLite database"), "{text}");
}

#[test]
fn the_states_of_a_scenario_can_be_asked() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("order.sql"),
        "CREATE TABLE orders (id int PRIMARY KEY, status text NOT NULL);\n\
         INSERT INTO orders VALUES (1, 'open');\n\
         --@ thread customer\n\
         UPDATE orders SET status = 'cancelled' WHERE id = 1 AND status = 'open';\n\
         --@ thread clerk\n\
         UPDATE orders SET status = 'shipped' WHERE id = 1 AND status = 'open';\n",
    )
    .unwrap();
    let (text, output) = run("isolde explore order.sql --store order.sqlite", directory.path());
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("transitions are in order.sqlite"), "{text}");
    let ask = |formula: &str| {
        let (text, output) = run(&format!("isolde space order.sqlite --ctl '{formula}'"), directory.path());
        (output.status.code().unwrap(), text)
    };
    assert_eq!(ask(r#"EF (orders_1_status = "cancelled")"#).0, 0);
    assert_eq!(ask(r#"AG (orders_1_status = "shipped" => AG orders_1_status = "shipped")"#).0, 0);
    let (code, text) = ask(r#"AG EF (orders_1_status = "cancelled")"#);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("clerk"), "{text}");
    assert_eq!(ask("EF (no_such_column = 1)").0, 2);
}
