//! Every anomaly that PostgreSQL permits, met and named: the smallest scenario for each.

use std::ops::ControlFlow;

use isolde_history::ANOMALIES;
use isolde_scenario::file::{self, FileOptions, SerialCheck};
use isolde_scenario::{Options, Scenario, check};

/// PostgreSQL lets no transaction see or overwrite what is not committed, whatever the level.
const IMPOSSIBLE: &[&str] = &["dirty write", "aborted read", "dirty read"];

const SETUP: &str = "
    CREATE TABLE t (id int PRIMARY KEY, x int NOT NULL, y int NOT NULL);
    INSERT INTO t VALUES (1, 0, 0), (2, 0, 0);
    CREATE TABLE person (email text, name text);\n";

const STORIES: &[(&str, &str)] = &[
    (
        "lost update",
        "--@ thread a
         SELECT x FROM t WHERE id = 1 \\gset
         UPDATE t SET x = :x + 1 WHERE id = 1;
         --@ thread b
         UPDATE t SET x = x + 10 WHERE id = 1;",
    ),
    // Both additions are in the final value: nothing is lost, but one of the threads has shown an old value.
    (
        "stale read",
        "--@ thread a
         SELECT x FROM t WHERE id = 1;
         UPDATE t SET x = x + 1 WHERE id = 1;
         --@ thread b
         SELECT x FROM t WHERE id = 1;
         UPDATE t SET x = x + 10 WHERE id = 1;",
    ),
    (
        "mixed writes",
        "--@ thread a
         UPDATE t SET x = 1 WHERE id = 1;
         UPDATE t SET x = 1 WHERE id = 2;
         --@ thread b
         UPDATE t SET x = 2 WHERE id = 1;
         UPDATE t SET x = 2 WHERE id = 2;",
    ),
    (
        "intermediate read",
        "--@ thread a
         UPDATE t SET x = 1 WHERE id = 1;
         UPDATE t SET x = 2 WHERE id = 1;
         --@ thread b
         SELECT x FROM t WHERE id = 1;",
    ),
    (
        "circular information flow",
        "--@ thread a
         UPDATE t SET x = 1 WHERE id = 1;
         SELECT x FROM t WHERE id = 2;
         --@ thread b
         UPDATE t SET x = 1 WHERE id = 2;
         SELECT x FROM t WHERE id = 1;",
    ),
    (
        "non-repeatable read",
        "--@ thread a
         SELECT x FROM t WHERE id = 1;
         SELECT x FROM t WHERE id = 1;
         --@ thread b
         UPDATE t SET x = 1 WHERE id = 1;",
    ),
    (
        "read skew",
        "--@ thread a
         SELECT x FROM t WHERE id = 1;
         SELECT x FROM t WHERE id = 2;
         --@ thread b
         BEGIN;
         UPDATE t SET x = 1 WHERE id = 1;
         UPDATE t SET x = 1 WHERE id = 2;
         COMMIT;",
    ),
    (
        "write skew",
        "--@ thread a isolation repeatable read
         BEGIN;
         SELECT x FROM t WHERE id = 1 \\gset
         UPDATE t SET x = 1 - :x WHERE id = 2;
         COMMIT;
         --@ thread b isolation repeatable read
         BEGIN;
         SELECT x FROM t WHERE id = 2 \\gset
         UPDATE t SET x = 1 - :x WHERE id = 1;
         COMMIT;",
    ),
    // Fekete, O'Neil and O'Neil: the report shows a deposit that the withdrawal, charged for an empty account, came
    // before.
    (
        "read-only anomaly",
        "--@ thread withdrawal isolation repeatable read
         BEGIN;
         SELECT x AS savings FROM t WHERE id = 1 \\gset
         UPDATE t SET x = x - 10 - CASE WHEN :savings < 10 THEN 1 ELSE 0 END WHERE id = 2;
         COMMIT;
         --@ thread deposit
         UPDATE t SET x = 20 WHERE id = 1;
         --@ thread report
         SELECT id, x FROM t ORDER BY id;",
    ),
    (
        "check-then-insert",
        "--@ thread a
         INSERT INTO person SELECT 'eve', 'a' WHERE NOT EXISTS (SELECT 1 FROM person WHERE email = 'eve');
         --@ thread b
         BEGIN;
         INSERT INTO person SELECT 'eve', 'b' WHERE NOT EXISTS (SELECT 1 FROM person WHERE email = 'eve');
         COMMIT;",
    ),
    (
        "phantom",
        "--@ thread a
         SELECT count(*) FROM t WHERE x = 0;
         SELECT count(*) FROM t WHERE x = 0;
         --@ thread b
         INSERT INTO t VALUES (3, 0, 0);",
    ),
    (
        "serialization anomaly",
        "--@ thread a
         SELECT x FROM t WHERE id = 1;
         UPDATE t SET y = 9 WHERE id = 2;
         --@ thread b
         BEGIN;
         UPDATE t SET x = 5 WHERE id = 1;
         UPDATE t SET y = 7 WHERE id = 2;
         COMMIT;",
    ),
];

#[test]
fn every_anomaly_is_met_and_named() {
    let met: Vec<&str> = STORIES.iter().map(|(name, _)| *name).collect();
    let listed = ANOMALIES.iter().map(|anomaly| anomaly.name).filter(|name| !IMPOSSIBLE.contains(name));
    assert_eq!(met, listed.collect::<Vec<_>>());
    for (name, threads) in STORIES {
        let scenario = Scenario::parse(name, &format!("{SETUP}{threads}"), &mut file::no_includes);
        let scenario = scenario.unwrap_or_else(|error| panic!("{name}: {error}"));
        // Some of them are about reads that nothing depends on.
        let settings = FileOptions { serial: Some(SerialCheck::Strict), ..FileOptions::default() };
        let options = Options { settings, ..Options::default() };
        let shown = check(&scenario, &options, &mut |_| ControlFlow::Continue(())).counterexample;
        let shown = shown.unwrap_or_else(|| panic!("{name}: nothing goes wrong"));
        assert_eq!(shown.anomaly.as_deref(), Some(*name), "{}", shown.explanation.join("\n"));
        let graph = shown.graph.unwrap_or_else(|| panic!("{name}: there is a cycle"));
        let cycle: Vec<_> = graph.edges.iter().filter(|edge| edge.cycle).collect();
        assert!(cycle.windows(2).all(|pair| pair[0].to == pair[1].from), "{name}: the cycle is in order");
        assert_eq!(cycle.last().map(|edge| edge.to), cycle.first().map(|edge| edge.from), "{name}: it is closed");
    }
}

/// A trigger that only stamps the row computes nothing: an update that is overwritten is lost all the same, and one
/// that is added to is not.
#[test]
fn a_trigger_does_not_change_the_name() {
    const TRIGGER: &str = "
        CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.y := 7; RETURN NEW; END $$;
        CREATE TRIGGER stamp BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION stamp();\n";
    let thread = |name: &str, update: &str| {
        format!(
            "--@ thread {name}\nBEGIN;\nSELECT x FROM t WHERE id = 1 \\gset\n{update}\n\
             INSERT INTO person VALUES ('{name}', (:x)::text);\nCOMMIT;\n"
        )
    };
    let stories = [
        ("lost update", "UPDATE t SET x = :x + 1 WHERE id = 1;"),
        ("stale read", "UPDATE t SET x = x + 1 WHERE id = 1;"),
    ];
    for (name, update) in stories {
        let text = format!("{SETUP}{TRIGGER}{}{}", thread("a", update), thread("b", update));
        let scenario = Scenario::parse("trigger.sql", &text, &mut file::no_includes);
        let scenario = scenario.unwrap_or_else(|error| panic!("{name}: {error}"));
        let report = check(&scenario, &Options::default(), &mut |_| ControlFlow::Continue(()));
        let anomaly = report.counterexample.and_then(|found| found.anomaly);
        assert_eq!(anomaly.as_deref(), Some(name));
    }
}
