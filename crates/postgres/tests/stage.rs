//! Scenarios on a server: what clients do, what is put back, what routines are stopped at, and what is left behind.

#![allow(clippy::unwrap_used)]

mod both;

use both::{check, ends_on_server, gist, on_engine, on_server, read, stage, stage_at, stage_reading};
use isolde_postgres::live::{Ending, Stage, Standing};
use isolde_postgres::reads::Module;
use isolde_postgres::stage::ScenarioStage;
use isolde_report::StepResult;
use isolde_testkit::Cluster;

/// Both say the same about a text.
fn agree(text: &str) -> String {
    let (engine, server) = (gist(&on_engine(text)), gist(&on_server(text)));
    assert_eq!(engine, server, "{text}");
    server
}

/// Lets threads take steps, by their numbers.
fn steps(stage: &mut ScenarioStage, order: &[usize]) -> Vec<String> {
    let mut shown = Vec::new();
    for &thread in order {
        for part in stage.step(thread).unwrap() {
            let result = match part.result {
                StepResult::Rows { rows, .. } => format!("{rows:?}"),
                StepResult::Done { tag } => tag,
                StepResult::Waits { on } => format!("waits for {}", on.join(", ")),
                StepResult::Error { code, .. } => format!("fails with {code}"),
            };
            shown.push(format!("{} {:?} {result}", part.thread, part.kind));
        }
    }
    shown
}

const BANK: &str = "
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100), (2, 100);
";

#[test]
fn variables_and_retries_are_as_on_the_engine() {
    let lost = format!(
        "{BANK}
--@ thread alice
SELECT balance AS old FROM account WHERE id = 1 \\gset
UPDATE account SET balance = :old - 60 WHERE id = 1;
--@ thread bob
SELECT balance AS old FROM account WHERE id = 1 \\gset
UPDATE account SET balance = :old - 60 WHERE id = 1;
"
    );
    assert_eq!(agree(&lost), "violated serial outcome lost update");
    let retried = format!(
        "{BANK}
--@ thread alice isolation repeatable read retry 1
BEGIN;
SELECT balance AS old FROM account WHERE id = 1 \\gset
UPDATE account SET balance = :old - 60 WHERE id = 1;
COMMIT;
--@ thread bob isolation repeatable read retry 1
BEGIN;
SELECT balance AS old FROM account WHERE id = 1 \\gset
UPDATE account SET balance = :old - 60 WHERE id = 1;
COMMIT;
"
    );
    assert_eq!(agree(&retried), "holds  -");
}

#[test]
fn errors_end_threads_and_may_be_expected() {
    let text = "
CREATE TABLE person (email text PRIMARY KEY);
--@ thread a
INSERT INTO person VALUES ('eve');
--@ thread b
INSERT INTO person VALUES ('eve');
";
    assert_eq!(agree(text), "violated uncaught error -");
    assert_eq!(
        agree(&format!(
            "{text}--@ expect error 23505\n--@ thread c\n--@ expect error 23505\nINSERT INTO person VALUES ('eve');\n--@ option serial off\n"
        )),
        "violated uncaught error -"
    );
}

#[test]
fn a_statement_that_waits_goes_on_when_it_can() {
    let text = format!(
        "{BANK}
--@ thread a
BEGIN;
UPDATE account SET balance = 1 WHERE id = 1;
COMMIT;
--@ thread b
UPDATE account SET balance = balance + 1 WHERE id = 1;
"
    );
    let file = read(&text);
    let mut stage = stage(&file);
    for _ in 0..3 {
        stage.restart().unwrap();
        let shown = steps(&mut stage, &[0, 1]);
        assert_eq!(shown, ["0 Statement UPDATE 1", "1 Statement waits for a"]);
        assert_eq!(*stage.standing(1), Standing::Waiting(vec![0]));
        let shown = steps(&mut stage, &[0]);
        assert_eq!(shown, ["0 Statement ", "1 Resume UPDATE 1"]);
        steps(&mut stage, &[1]);
        assert_eq!(*stage.standing(1), Standing::Ended(Ending::Done));
    }
}

#[test]
fn who_closes_a_cycle_dies_each_time() {
    let text = format!(
        "{BANK}
--@ thread a
BEGIN;
UPDATE account SET balance = 1 WHERE id = 1;
UPDATE account SET balance = 1 WHERE id = 2;
COMMIT;
--@ thread b
BEGIN;
UPDATE account SET balance = 2 WHERE id = 2;
UPDATE account SET balance = 2 WHERE id = 1;
COMMIT;
"
    );
    let file = read(&text);
    let mut stage = stage(&file);
    for order in [[0, 1, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1], [0, 1, 1, 0]] {
        stage.restart().unwrap();
        let shown = steps(&mut stage, &order);
        let [last, other] = [order[3], order[2]];
        assert_eq!(shown[3], format!("{last} Statement fails with 40P01"), "{shown:?}");
        assert_eq!(shown[4], format!("{other} Resume UPDATE 1"), "{shown:?}");
    }
}

#[test]
fn routines_take_a_step_per_statement() {
    let text = format!(
        "{BANK}
CREATE FUNCTION total() RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int := 0; r record;
BEGIN
  FOR r IN SELECT * FROM account ORDER BY id LOOP
    n := n + r.balance;
    UPDATE account SET balance = balance + 1 WHERE id = r.id;
  END LOOP;
  BEGIN
    INSERT INTO account VALUES (1, 1);
  EXCEPTION WHEN unique_violation THEN
    n := n + 1000;
  END;
  RETURN n;
END $$;
--@ thread a
DO $$ DECLARE x int; BEGIN x := total(); RAISE NOTICE 'total %', x; END $$;
--@ thread b
UPDATE account SET balance = 7 WHERE id = 2;
"
    );
    let file = read(&text);
    let mut stage = stage(&file);
    stage.restart().unwrap();
    let shown = steps(&mut stage, &[0, 0, 0, 0, 0]);
    let expected = [
        "0 Statement [[Some(\"(1,100)\")]]",
        "0 Statement UPDATE 1",
        "0 Statement UPDATE 1",
        "0 Statement DO",
        "0 Commit ",
    ];
    assert_eq!(shown, expected);
    assert_eq!(*stage.standing(0), Standing::Ended(Ending::Done));
    let both = stage.ask("SELECT sum(balance) FROM account").unwrap();
    assert_eq!(both.rows(), [[Some("202".to_string())]]);
}

#[test]
fn autocommit_commits_inside_of_procedures() {
    let text = format!(
        "{BANK}
CREATE PROCEDURE twice() LANGUAGE plpgsql AS $$
BEGIN
  UPDATE account SET balance = balance + 1 WHERE id = 1;
  UPDATE account SET balance = balance + 1 WHERE id = 2;
END $$;
--@ thread a autocommit
CALL twice();
--@ thread b autocommit
CALL twice();
--@ invariant together
SELECT (SELECT balance FROM account WHERE id = 1) = (SELECT balance FROM account WHERE id = 2);
"
    );
    assert_eq!(agree(&text).split(' ').next(), Some("violated"));
}

#[test]
fn a_snapshot_is_taken_behind_the_gate() {
    let text = format!(
        "{BANK}
CREATE PROCEDURE two() LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
  SELECT balance INTO n FROM account WHERE id = 1;
  UPDATE account SET balance = balance + 1 WHERE id = 1;
END $$;
--@ thread a autocommit isolation repeatable read
CALL two();
BEGIN;
CALL two();
COMMIT;
--@ thread b
UPDATE account SET balance = 7 WHERE id = 1;
"
    );
    let file = read(&text);
    let mut stage = stage(&file);
    stage.restart().unwrap();
    let shown = steps(&mut stage, &[0, 1, 1, 0, 0, 0, 0]);
    let expected = [
        "0 Statement [[Some(\"100\")]]",
        "1 Statement UPDATE 1",
        "1 Commit ",
        "0 Statement UPDATE 1",
        "0 Statement [[Some(\"8\")]]",
        "0 Statement UPDATE 1",
        "0 Statement ",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn everything_is_put_back() {
    let text = "--@ option serial off
CREATE TABLE small (id serial PRIMARY KEY, n int, twice int GENERATED ALWAYS AS (n * 2) STORED);
INSERT INTO small (n) VALUES (1), (2), (3);
CREATE TABLE large (id int PRIMARY KEY, n int);
INSERT INTO large SELECT i, i FROM generate_series(1, 1000) AS i;
CREATE TABLE keyless (a text, b int);
INSERT INTO keyless SELECT 'x', i % 7 FROM generate_series(1, 500) AS i;
CREATE TABLE child (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, large int REFERENCES large ON DELETE CASCADE ON UPDATE CASCADE);
INSERT INTO child (large) VALUES (1), (2), (3);
CREATE FUNCTION noisy() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN UPDATE small SET n = n + 1 WHERE id = 1; RETURN NULL; END';
CREATE TRIGGER noisy AFTER UPDATE ON large FOR EACH ROW EXECUTE FUNCTION noisy();
--@ thread a
INSERT INTO small (n) VALUES (4);
DELETE FROM large WHERE id IN (1, 500);
UPDATE large SET id = id + 5000 WHERE id = 2;
UPDATE keyless SET b = 99 WHERE b = 3;
DELETE FROM keyless WHERE b = 4;
INSERT INTO keyless VALUES ('y', NULL);
INSERT INTO child (large) VALUES (7);
UPDATE small SET n = 0;
--@ thread b
TRUNCATE child;
";
    let file = read(text);
    let mut stage = stage(&file);
    let all = "SELECT md5(string_agg(t, ',' ORDER BY t)) FROM (SELECT small::text AS t FROM small UNION ALL SELECT large::text FROM large \
               UNION ALL SELECT keyless::text FROM keyless UNION ALL SELECT child::text FROM child \
               UNION ALL SELECT (SELECT last_value FROM small_id_seq)::text || (SELECT last_value FROM child_id_seq)) AS x";
    let order = "SELECT string_agg(id::text, ' ') FROM small";
    let before = (stage.ask(all).unwrap(), stage.ask(order).unwrap());
    for _ in 0..3 {
        stage.restart().unwrap();
        while let Standing::Ready(_) = stage.standing(0) {
            steps(&mut stage, &[0]);
        }
        steps(&mut stage, &[1]);
        assert_eq!(*stage.standing(0), Standing::Ended(Ending::Done));
        assert_ne!(stage.ask(all).unwrap(), before.0);
        stage.restart().unwrap();
        assert_eq!((stage.ask(all).unwrap(), stage.ask(order).unwrap()), before);
    }
}

#[test]
fn definitions_that_change_are_put_back_too() {
    let text = format!(
        "{BANK}
--@ thread a
CREATE TABLE more (id int);
INSERT INTO more VALUES (1);
--@ thread b
ALTER TABLE account ADD COLUMN note text;
"
    );
    let file = read(&text);
    let mut stage = stage(&file);
    assert!(stage.describe().contains("copied"), "{}", stage.describe());
    for _ in 0..2 {
        stage.restart().unwrap();
        let shown = steps(&mut stage, &[0, 0, 1]);
        assert_eq!(shown, ["0 Statement CREATE TABLE", "0 Statement INSERT 0 1", "1 Statement ALTER TABLE"]);
    }
}

#[test]
fn what_the_engine_does_not_know_runs_on_a_server() {
    let text = "
CREATE EXTENSION IF NOT EXISTS plpgsql;
CREATE TABLE room (id int, during tstzrange, EXCLUDE USING gist (during WITH &&));
--@ thread a
INSERT INTO room SELECT 1, tstzrange('2020-01-01', '2020-02-01');
--@ thread b
INSERT INTO room SELECT 2, tstzrange('2020-01-15', '2020-03-01');
";
    let report = on_server(text);
    assert_eq!(gist(&report), "violated uncaught error -");
}

#[test]
fn partitions_are_taken_for_one_table() {
    let text = "
CREATE TABLE sale (day int, n int) PARTITION BY RANGE (day);
CREATE TABLE early PARTITION OF sale FOR VALUES FROM (0) TO (10);
CREATE TABLE late PARTITION OF sale FOR VALUES FROM (10) TO (20);
INSERT INTO sale VALUES (1, 1), (11, 1);
--@ thread a
SELECT sum(n) AS total FROM sale \\gset
UPDATE sale SET n = :total WHERE day = 1;
--@ thread b
SELECT sum(n) AS total FROM sale \\gset
UPDATE late SET n = :total WHERE day = 11;
";
    assert_eq!(on_server(text).verdict.word(), "violated");
}

#[test]
fn mistakes_have_a_place() {
    let file = read("CREATE TABLE t (id int);\nINSERT INTO t VALUES ('x');\n--@ thread a\nSELECT 1;\n");
    let error = stage_at(&file, &Cluster::shared().settings("postgres")).unwrap_err();
    assert!(error.starts_with("test.sql:2:23: set-up fails: invalid input syntax"), "{error}");
    let file = read("CREATE TABLE t (id int);\n--@ thread a\nSELECT 1;\n--@ invariant i\nSELECT true FROM u;\n");
    let error = stage_at(&file, &Cluster::shared().settings("postgres")).unwrap_err();
    assert!(error.starts_with("test.sql:5:18: relation \"u\" does not exist"), "{error}");
}

#[test]
fn nothing_outside_of_the_run_is_changed() {
    for statement in ["CREATE ROLE eve LOGIN", "DROP DATABASE postgres", "ALTER SYSTEM SET work_mem = '1MB'"] {
        let file = read(&format!("{BANK}{statement};\n--@ thread a\nSELECT 1;\n"));
        let error = stage_at(&file, &Cluster::shared().settings("postgres")).unwrap_err();
        assert!(error.contains("changes the server outside of the database"), "{error}");
    }
}

#[test]
fn a_role_without_rights_works_too_or_is_told_what_it_needs() {
    let cluster = Cluster::shared();
    let mut control = cluster.connect("postgres", "").unwrap();
    control.execute("CREATE ROLE plain LOGIN; CREATE ROLE maker LOGIN CREATEDB").unwrap();
    let text = format!(
        "{BANK}
--@ thread alice
SELECT balance AS old FROM account WHERE id = 1 \\gset
UPDATE account SET balance = :old - 60 WHERE id = 1;
--@ thread bob
SELECT balance AS old FROM account WHERE id = 1 \\gset
UPDATE account SET balance = :old - 60 WHERE id = 1;
"
    );
    let file = read(&text);
    let mut settings = cluster.settings("postgres");
    settings.user = "plain".into();
    let refused = stage_at(&file, &settings).unwrap_err();
    assert!(refused.contains("ALTER ROLE \"plain\" CREATEDB"), "{refused}");
    settings.user = "maker".into();
    let mut stage = stage_at(&file, &settings).unwrap();
    assert!(stage.describe().contains("copied for each run"), "{}", stage.describe());
    assert_eq!(gist(&check(&file, &mut stage).unwrap()), "violated serial outcome lost update");
}

#[test]
fn two_runs_at_once_do_not_meet() {
    let text = format!(
        "{BANK}\n--@ thread a\nUPDATE account SET balance = 1;\n--@ thread b\nUPDATE account SET balance = 2;\n"
    );
    let file = read(&text);
    let work = || {
        for _ in 0..3 {
            let mut stage = stage(&file);
            assert_eq!(gist(&check(&file, &mut stage).unwrap()), "holds  -");
        }
    };
    std::thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(work))));
}

#[test]
fn a_server_that_goes_away_is_reported() {
    let cluster = Cluster::start().unwrap();
    let file = read(&format!("{BANK}\n--@ thread a\nSELECT 1 FROM account;\n--@ thread b\nSELECT 2 FROM account;\n"));
    let settings = cluster.settings("postgres");
    let mut stage = stage_at(&file, &settings).unwrap();
    stage.restart().unwrap();
    drop(cluster);
    let trouble = stage.step(0).unwrap_err().to_string();
    assert!(trouble.contains("server"), "{trouble}");
    let refused = stage_at(&file, &settings).unwrap_err();
    assert!(refused.contains("cannot connect to postgres://"), "{refused}");
}

#[test]
fn a_statement_that_never_ends_is_given_up() {
    let file = read(&format!("{BANK}\n--@ option serial off\n--@ thread a\nSELECT pg_sleep(60) FROM account;\n"));
    let mut stage = stage(&file);
    stage.set_time_max(std::time::Duration::from_millis(300));
    stage.restart().unwrap();
    let trouble = stage.step(0).unwrap_err().to_string();
    assert!(trouble.contains("a neither goes on nor waits"), "{trouble}");
    let name = stage.database().to_string();
    drop(stage);
    assert!(!Cluster::shared().left_behind().unwrap().contains(&name));
}

#[test]
fn transactions_can_be_single_steps() {
    let text = format!(
        "{BANK}
--@ option atomic on
--@ thread a
BEGIN;
SELECT balance AS old FROM account WHERE id = 1 \\gset
UPDATE account SET balance = :old + 1 WHERE id = 1;
COMMIT;
--@ thread b
BEGIN;
SELECT balance AS old FROM account WHERE id = 1 \\gset
UPDATE account SET balance = :old + 1 WHERE id = 1;
COMMIT;
"
    );
    assert_eq!(agree(&text), "holds  -");
    let file = read(&text);
    let ends = ends_on_server(&mut stage(&file), &["account"], false, 10).unwrap().unwrap();
    assert_eq!(ends.len(), 1);
}

#[test]
fn times_and_random_keys_are_not_compared() {
    let text = "
CREATE TABLE note (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), at timestamptz DEFAULT clock_timestamp(), text text);
--@ thread a
INSERT INTO note (text) VALUES ('a') RETURNING id;
SELECT count(*), max(at) < now() + interval '1 day' FROM note WHERE text = 'a';
--@ thread b
INSERT INTO note (text) VALUES ('b') RETURNING at;
";
    let file = read(text);
    let mut stage = stage(&file);
    assert_eq!(gist(&check(&file, &mut stage).unwrap()), "holds  -");
    let warnings = stage.warnings();
    assert!(warnings.iter().any(|w| w.starts_with("note.id, note.at")), "{warnings:?}");
}

/// Which rows a query has found is asked again: a change of another one does not matter to it, unless it changes what
/// was asked about.
#[test]
fn what_was_not_found_does_not_matter() {
    let runs = |reads: &str, writes: &str| {
        let text = format!(
            "CREATE TABLE owner (id int PRIMARY KEY, name text);
CREATE TABLE account (id int PRIMARY KEY, owner int, balance int);
INSERT INTO owner VALUES (1, 'ann'), (2, 'bob');
INSERT INTO account VALUES (1, 1, 10), (2, 1, 20), (3, 2, 30);
--@ thread reader
{reads};
--@ thread writer
{writes};
"
        );
        let file = read(&text);
        let report = check(&file, &mut stage(&file)).unwrap();
        assert_eq!(report.verdict.word(), "holds", "{text}");
        report.stats.ends
    };
    let own = "SELECT sum(balance) FROM account WHERE owner = 1";
    assert_eq!(runs(own, "UPDATE account SET balance = 0 WHERE id = 3"), 1);
    assert_eq!(runs(own, "UPDATE account SET balance = 0 WHERE id = 2"), 2);
    assert_eq!(runs(own, "UPDATE account SET owner = 1 WHERE id = 3"), 2);
    assert_eq!(runs(own, "INSERT INTO account VALUES (4, 1, 0)"), 2);
    assert_eq!(runs(own, "INSERT INTO account VALUES (4, 2, 0)"), 1);
    let joined = "SELECT o.name, a.balance FROM account a JOIN owner o ON o.id = a.owner WHERE a.id = 1 ORDER BY 1";
    assert_eq!(runs(joined, "UPDATE owner SET name = 'rob' WHERE id = 2"), 1);
    assert_eq!(runs(joined, "UPDATE owner SET name = 'eve' WHERE id = 1"), 2);
    let outer = "SELECT a.id, o.name FROM account a LEFT JOIN owner o ON o.id = a.owner AND o.name = 'ann'";
    assert_eq!(runs(outer, "UPDATE account SET balance = 0 WHERE id = 1"), 1);
    assert_eq!(runs(outer, "UPDATE owner SET name = 'ann' WHERE id = 2"), 2);
}

/// A transaction that has written is asked itself, under a savepoint, and goes on as if it had not been: what it finds
/// are its own rows, too.
#[test]
fn who_has_written_is_asked_within() {
    let runs = |writes: &str, other: &str| {
        let text = format!(
            "CREATE TABLE item (id int PRIMARY KEY, kind text, price int);
INSERT INTO item VALUES (1, 'pen', 3), (2, 'cup', 5), (3, 'cup', 7);
--@ thread a
BEGIN; SAVEPOINT isolde_within; {writes}; SELECT sum(price) FROM item WHERE kind = 'pen'; ROLLBACK TO isolde_within; COMMIT;
--@ thread b
UPDATE item SET price = 8 WHERE id = {other};
"
        );
        let file = read(&text);
        let tables = ["item"];
        let mut stage = stage_reading(&file, &Module::Unused);
        let all = ends_on_server(&mut stage, &tables, false, 100).unwrap();
        assert_eq!(ends_on_server(&mut stage, &tables, true, 100).unwrap(), all);
        check(&file, &mut stage).unwrap().stats.ends
    };
    assert_eq!(runs("INSERT INTO item VALUES (4, 'pen', 1)", "2"), 1);
    assert_eq!(runs("INSERT INTO item VALUES (4, 'pen', 1)", "1"), 2);
    assert_eq!(runs("UPDATE item SET kind = 'pen' WHERE id = 2", "3"), 1);
}
