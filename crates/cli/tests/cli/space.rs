//! `isolde space`: what it prints.

use crate::transcript::{isolde, root, tell};

#[test]
fn the_story() {
    let mut failures = Vec::new();
    let transcript = tell("hourclock", &mut failures);
    assert!(transcript.contains("720 states"), "{transcript}");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// A limit is no verdict, and a mistake is no answer.
#[test]
fn limits_and_mistakes() {
    let space = |arguments: &[&str]| {
        let output =
            isolde(&root()).args(["space", "examples/hourclock/HourClock.tla"]).args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    };
    let (code, said) = space(&["--states-max", "100"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("more states than --states-max allows"), "{said}");
    let (code, said) = space(&["--ctl", "AG (hour = 1)"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("there is nothing with the name `hour`"), "{said}");
    let (code, said) = space(&["--config", "nowhere.cfg"]);
    assert_eq!(code, Some(2), "{said}");
    let (code, said) = space(&["--format", "json"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("\"states\": 720"), "{said}");
}

/// Whoever explores, and whoever decides, the answer is the same; what is wrong is the end of it, unless everything is
/// to be kept.
#[test]
fn databases_give_the_same_answers() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("states.sqlite").display().to_string();
    let space = |spec: &str, arguments: &[&str]| {
        let path = format!("crates/statespace/tests/specs/{spec}.tla");
        let output = isolde(&root()).args(["space", &path, "--db", &file]).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    for engine in ["rust", "sql", "levels"] {
        let (code, said) = space("DieHard", &["--engine", engine]);
        assert_eq!(code, Some(1), "{engine}: {said}");
        assert!(said.contains("fails    invariant NotFour") && said.contains("7  BigToSmall"), "{engine}: {said}");
        assert!(!directory.path().join("states.sqlite").exists(), "{engine}");
    }
    let all = space("DieHard", &["--engine", "levels", "--keep"]).1;
    assert!(all.contains("  16 states") && all.contains("fails    invariant NotFour"), "{all}");
    // Ballots has no packed form.
    for flags in [&["--engine", "levels"][..], &["--engine", "sql", "--ctl-in-sql", "--ctl", "AG EF TRUE"]] {
        let (code, said) = space("Ballots", flags);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("  20 states"), "{said}");
    }
    for flags in [&["--ctl-in-sql"][..], &[]] {
        let (code, said) = space("Lock", &[&["--ctl", "AG EF (busy = FALSE)", "--ctl", "AG ~busy"], flags].concat());
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("holds    ctl AG EF") && said.contains("fails    ctl AG ~busy"), "{said}");
    }
}
