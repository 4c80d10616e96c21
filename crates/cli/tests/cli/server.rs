//! Scenarios on a real server, from the command line.

use std::process::{Command, Stdio};
use std::time::Duration;

use isolde_testkit::Cluster;

use crate::transcript::{isolde, root, words};

const WITHDRAW: &str = "examples/withdraw/withdraw.sql";

fn on_server(args: &[&str]) -> (String, Option<i32>) {
    let output = isolde(&root()).args(args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (text, output.status.code())
}

fn url() -> String {
    Cluster::shared().url("postgres")
}

#[test]
fn a_scenario_runs_on_a_server_and_its_counterexample_can_be_seen_again() {
    let (text, code) = on_server(&["explore", WITHDRAW, "--on", &url()]);
    assert!(text.starts_with("violated  examples/withdraw/withdraw.sql: serial outcome (lost update)"), "{text}");
    assert_eq!(code, Some(1));
    let fixes = text.split("fixes that were tried").nth(1).unwrap();
    assert!(fixes.contains("holds        FOR UPDATE on the read of account (line 8)"), "{text}");
    assert!(fixes.contains("still fails  FOR SHARE on the read of account (line 8)"), "{text}");
    let replay = text.lines().find_map(|line| line.strip_prefix("replay  isolde ")).unwrap();
    let words = words(replay);
    let (again, code) = on_server(&words.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(again.starts_with("violated") && code == Some(1), "{again}");
    let (text, code) = on_server(&["explore", "examples/withdraw/fixed.sql", "--on", &url(), "--stats"]);
    assert!(text.starts_with("holds") && text.contains("changed rows are put back"), "{text}");
    assert_eq!(code, Some(0));
}

#[test]
fn what_the_engine_found_is_confirmed() {
    let (text, _) = on_server(&["explore", WITHDRAW, "--no-fixes", "--confirm", &url()]);
    assert!(text.contains("\nconfirmed  on PostgreSQL "), "{text}");
    let (json, _) = on_server(&["explore", WITHDRAW, "--no-fixes", "--confirm", &url(), "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["counterexample"]["confirmation"]["confirmed"], true);
}

/// The engine and a server have the same findings, and every format carries all of them.
#[test]
fn all_findings_are_told_on_both_and_in_every_format() {
    let bugs = "crates/scenario/tests/fixes/lost-update-and-deadlock.sql";
    let titles = |args: &[&str]| -> Vec<String> {
        let (text, code) = on_server(&[&["explore", bugs, "--all", "--no-fixes"], args].concat());
        assert_eq!(code, Some(1), "{text}");
        let findings = text.lines().filter(|line| line.starts_with("finding "));
        let mut titles: Vec<String> = findings.map(|line| line.split("  ").nth(1).unwrap().to_string()).collect();
        titles.sort();
        titles
    };
    let here = titles(&[]);
    let lost = |property: &str| format!("{property} (lost update)");
    let (sum, outcome) = (lost("final sum"), lost("serial outcome"));
    assert_eq!(here, ["deadlock", &sum, &sum, &outcome, &outcome]);
    assert_eq!(titles(&["--on", &url()]), here);
    let format = |format: &str| on_server(&["explore", bugs, "--all", "--no-fixes", "--format", format]).0;
    let json: serde_json::Value = serde_json::from_str(&format("json")).unwrap();
    assert_eq!(json["others"].as_array().map(Vec::len), Some(4));
    let sarif: serde_json::Value = serde_json::from_str(&format("sarif")).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let ids: std::collections::BTreeSet<String> =
        results.iter().map(|result| result["partialFingerprints"]["isolde/v1"].to_string()).collect();
    assert_eq!((results.len(), ids.len()), (5, 5));
    let junit = format("junit");
    assert!(junit.contains("failures=\"3\"") && junit.contains("finding 5 of 5"), "{junit}");
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("page.html");
    on_server(&["explore", bugs, "--all", "--no-fixes", "--html", page.to_str().unwrap()]);
    assert!(std::fs::read_to_string(page).unwrap().contains("Finding 5 of 5: "));
}

/// What the engine does not have is judged where it is.
#[test]
fn ranges_that_overlap_are_excluded() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("slots.sql");
    let look = "IF NOT EXISTS (SELECT 1 FROM slot WHERE starts < e AND s < ends)";
    let text = format!(
        "CREATE TABLE slot (starts int NOT NULL, ends int NOT NULL);\n\
         CREATE PROCEDURE book(s int, e int) LANGUAGE plpgsql AS $$\nBEGIN\n  {look} THEN\n    \
         INSERT INTO slot VALUES (s, e);\n  END IF;\nEND $$;\n\
         --@ thread ann\nCALL book(10, 12);\n--@ thread ben\nCALL book(11, 13);\n\
         --@ final once\nSELECT count(*) = 1 FROM slot;\n"
    );
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    let title = "EXCLUDE (int4range(starts, ends) WITH &&) for slot";
    let (engine, _) = on_server(&["explore", path]);
    assert!(engine.contains(&format!("not decided  {title}")), "{engine}");
    let (server, _) = on_server(&["explore", path, "--on", &url()]);
    assert!(server.contains(&format!("holds        {title}")), "{server}");
}

#[test]
fn what_means_nothing_on_a_server_is_refused() {
    let (text, code) = on_server(&["explore", WITHDRAW, "--on", &url(), "--search", "stateful"]);
    assert!(text.contains("--search stateful is for the embedded engine"), "{text}");
    assert_eq!(code, Some(2));
    let (text, code) = on_server(&["explore", WITHDRAW, "--on", &url(), "--hash", "full"]);
    assert!(text.contains("--hash is for the embedded engine") && code == Some(2), "{text}");
    let (text, code) = on_server(&["explore", WITHDRAW, "--on", "postgres://ann:secret@localhost:1/x"]);
    assert!(text.contains("cannot connect to postgres://ann:***@localhost:1/x"), "{text}");
    assert!(code == Some(2) && !text.contains("secret"), "{text}");
}

/// Ctrl-C ends a run with an answer, and leaves nothing behind.
#[test]
fn an_interrupt_cleans_up() {
    let cluster = Cluster::start().unwrap();
    let url = cluster.url("postgres");
    let file = tempfile::NamedTempFile::with_suffix(".sql").unwrap();
    let text = "CREATE TABLE t (id int PRIMARY KEY, n int);\nINSERT INTO t VALUES (1, 1);\n--@ option serial off\n\
                --@ thread a x4\nBEGIN;\nUPDATE t SET n = n + 1 WHERE id = 1;\nSELECT n FROM t;\nCOMMIT;\nSELECT n FROM t;\n";
    std::fs::write(file.path(), text).unwrap();
    let mut run = isolde(&root());
    run.args(["explore", "--search", "stateless", "--on", &url]).arg(file.path());
    let run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while cluster.left_behind().unwrap().is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    assert!(Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap().success());
    let output = run.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.code() == Some(3) && text.contains("interrupted"), "{text}");
    assert_eq!(cluster.left_behind().unwrap(), [""; 0]);
}

/// The rows of `--levels` on a server have the verdicts that they have on the engine.
#[test]
fn levels_are_the_same_on_a_server() {
    let verdicts = |flags: &[&str]| -> Vec<String> {
        let file = "crates/cli/tests/input/levels.sql";
        let (json, code) = on_server(&[&["explore", "--levels", "--format", "json", file], flags].concat());
        assert_eq!(code, Some(1), "{json}");
        let report: serde_json::Value = serde_json::from_str(&json).unwrap();
        let rows = report["levels"].as_array().unwrap();
        rows.iter().map(|row| format!("{} {} {}", row["who"], row["level"], row["verdict"])).collect()
    };
    let here = verdicts(&[]);
    assert_eq!(here.len(), 10);
    assert_eq!(verdicts(&["--on", &url()]), here);
}
