//! `isolde prove`: what it prints, and what it says when the solver does not answer.

use crate::transcript::{isolde, root, tell};

#[test]
fn the_story() {
    let mut failures = Vec::new();
    let transcript = tell("atm", &mut failures);
    assert!(transcript.contains("(0, 1000) -> (0, 998)"), "{transcript}");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn options_and_mistakes() {
    let prove = |arguments: &[&str]| {
        let output = isolde(&root()).args(["prove", "examples/atm/withdraw.sql"]).args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    };
    let (code, said) = prove(&["--procedure", "withdraw"]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = prove(&["--procedure", "withdraw", "--emit", "boolean-program"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("choose("), "{said}");
    let (code, said) = prove(&["--procedure", "withdraw", "--emit", "cfg"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("[label=\"14  UPDATE account SET balance = balance - amount WHERE id = acc\"]"), "{said}");
    let (code, said) = prove(&["--format", "json"]);
    assert_eq!(code, Some(1), "{said}");
    let (code, said) = prove(&["--procedure", "nobody"]);
    assert_eq!(code, Some(2), "{said}");
    let silent = isolde(&root())
        .args(["prove", "examples/atm/withdraw.sql"])
        .env("ISOLDE_SOLVER", "no-such-solver")
        .output()
        .unwrap();
    assert_eq!(silent.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&silent.stderr).contains("z3"), "{silent:?}");
}

/// What the embedded engine has shown, a real server shows too.
#[test]
fn witnesses_are_confirmed_on_a_server() {
    // One of its own: other tests have databases on the shared one.
    let cluster = isolde_testkit::Cluster::start().unwrap();
    let prove = |arguments: &[&str]| {
        let url = cluster.url("postgres");
        let output = isolde(&root()).args(["prove", "--confirm", &url]).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = prove(&["examples/atm/withdraw.sql"]);
    assert!(said.contains("\n  confirmed on PostgreSQL "), "{said}");
    let json: serde_json::Value =
        serde_json::from_str(&prove(&["examples/atm/withdraw.sql", "--format", "json"])).unwrap();
    let confirmed = json["cells"].as_array().unwrap().iter().map(|cell| &cell["witness"]["confirmation"]["confirmed"]);
    assert_eq!(confirmed.filter(|confirmed| **confirmed == true).count(), 1, "{json}");
    assert_eq!(cluster.left_behind().unwrap(), [""; 0]);
}

/// Several witnesses, each on the database as the set-up leaves it; what differs on the server is said.
#[test]
fn every_witness_begins_anew() {
    let file = tempfile::NamedTempFile::with_suffix(".sql").unwrap();
    let text = "CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int NOT NULL);\n\
                CREATE TABLE u (id int PRIMARY KEY REFERENCES t);\n\
                INSERT INTO t (n) VALUES (1), (2);\nINSERT INTO u VALUES (1);\n\
                CREATE PROCEDURE add(x int) LANGUAGE sql AS $$ INSERT INTO t (n) VALUES (x) $$;\n\
                CREATE FUNCTION lower(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN\n\
                  UPDATE t SET n = n - 1 WHERE id = i; RETURN 1; END $$;\n\
                --@ rule positive\nSELECT n > 0 FROM t;\n";
    std::fs::write(file.path(), text).unwrap();
    let url = isolde_testkit::Cluster::shared().url("postgres");
    let output = isolde(&root()).args(["prove", "--confirm", &url]).arg(file.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said.matches("confirmed on PostgreSQL").count(), 2, "{said}");
    assert!(!said.contains("not confirmed"), "{said}");
}

/// `--emit cfg` to a file that ends in `.svg` is a picture of all procedures.
#[test]
fn procedures_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("atm.svg");
    let output = isolde(&root())
        .args(["prove", "examples/atm/withdraw.sql", "--emit", "cfg", "--output"])
        .arg(&picture)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let svg = std::fs::read_to_string(picture).unwrap();
    assert!(
        svg.starts_with("<svg") && svg.contains("withdraw_or_raise") && svg.contains("11  SELECT balance INTO bal")
    );
}

/// Two procedures that are safe alone: the scenario that is written shows it, and says what was not looked at.
#[test]
fn what_interferes_is_found_by_exploring() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("together.sql");
    let run = |arguments: &[&str]| {
        let output = isolde(&root()).args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    };
    let atm = "examples/atm/withdraw.sql";
    let path = scenario.display().to_string();
    let (code, said) = run(&["prove", atm, "--procedure", "withdraw", "--emit", "scenario", "--output", &path]);
    assert_eq!(code, Some(1), "{said}");
    let (code, said) = run(&["explore", "--no-fixes", &path]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("minimum_balance"), "{said}");
    let (_, said) = run(&["prove", atm, "--interference"]);
    assert!(said.contains("two at a time: "), "{said}");
    assert!(said.contains("one procedure at a time"), "{said}");
    let (_, said) = run(&["prove", atm, "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert!(json["safe_means"].as_str().unwrap().contains("one procedure at a time"), "{said}");
}
