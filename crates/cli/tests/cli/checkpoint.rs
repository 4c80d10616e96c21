//! A search that was stopped goes on, and nothing is lost.

use std::fs;
use std::path::Path;

use crate::transcript::isolde;

fn explore(directory: &Path, flags: &[&str]) -> serde_json::Value {
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/input/counter.sql");
    let always = ["explore", "--search", "dpor", "--dependence", "database", "--format", "json"];
    let output = isolde(directory).args(always).args(flags).arg(input).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn a_stopped_search_goes_on() {
    let directory = std::env::temp_dir().join(format!("isolde-checkpoint-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("left.json");
    let whole = explore(&directory, &[]);
    for states in ["2", "5", "8", "11"] {
        let stopped = explore(&directory, &["--checkpoint", "left.json", "--states-max", states]);
        assert_eq!(stopped["verdict"], "inconclusive");
        assert!(stopped["reason"].as_str().unwrap().ends_with("the same command goes on from there"), "{stopped}");
        assert!(file.exists());
    }
    let ended = explore(&directory, &["--checkpoint", "left.json"]);
    assert_eq!((&ended["verdict"], &ended["stats"]["ends"]), (&whole["verdict"], &whole["stats"]["ends"]));
    assert!(!file.exists(), "nothing is left");
    fs::write(&file, "{}").unwrap();
    let output =
        isolde(&directory).args(["explore", "--search", "dpor", "--checkpoint", "left.json"]).args(["-"]).output();
    assert_eq!(output.unwrap().status.code(), Some(2));
    fs::remove_dir_all(&directory).unwrap();
}
