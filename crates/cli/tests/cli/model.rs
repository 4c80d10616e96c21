//! `isolde model`, where a solver is there.

use std::fs;

use crate::transcript::{compare, isolde, root, run};

fn is_there(solver: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(solver).is_file())
}

/// The commands of the README come to what it says, and to what `expected.txt` shows.
#[test]
fn the_social_network() {
    if !is_there("z3") {
        eprintln!("no z3 here: skipped");
        return;
    }
    let story = root().join("examples/rails-social");
    let readme = fs::read_to_string(story.join("README.md")).unwrap();
    let mut transcript = String::new();
    for (command, claim) in readme.lines().filter(|l| l.starts_with("isolde ")).filter_map(|l| l.split_once('#')) {
        let (answer, output) = run(command.trim(), &root());
        let code = if claim.trim() == "holds" { 0 } else { 1 };
        assert_eq!(output.status.code(), Some(code), "{answer}");
        transcript += &answer;
        transcript.push('\n');
    }
    let mut failures = Vec::new();
    compare(&transcript, &story.join("expected.txt"), &mut failures);
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn json_has_the_findings_with_their_names() {
    if !is_there("z3") {
        return;
    }
    let output = isolde(&root()).args(["model", "examples/rails-social", "--format", "json"]).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["verdict"], "violated");
    let ids: Vec<&str> = report["findings"].as_array().unwrap().iter().map(|f| f["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"dangling:Video.profile:Profile"), "{ids:?}");
}

#[test]
fn without_a_solver_nothing_is_claimed() {
    let output = isolde(&root())
        .args(["model", "examples/rails-social"])
        .env("ISOLDE_SOLVER", "no-such-solver")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("install z3"));
}

#[test]
fn mistakes_are_told_where_they_stand() {
    let folder = tempfile::tempdir().unwrap();
    let props = folder.path().join("wrong.props");
    fs::write(&props, "all p: Photo | one p.profil\n").unwrap();
    let output = isolde(&root()).args(["model", "examples/rails-social", "--props"]).arg(&props).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("Photo has nothing called profil") && told.contains("it has profile, tags"), "{told}");
    let nothing = isolde(&root()).args(["model"]).arg(folder.path()).output().unwrap();
    assert_eq!(nothing.status.code(), Some(2));
}
