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
