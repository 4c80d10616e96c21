//! `isolde space`: what it prints.

use std::fs;

use crate::transcript::{compare, isolde, root, run};

/// The commands of the README come to what it says, and to what `expected.txt` shows.
#[test]
fn the_story() {
    let story = root().join("examples/hourclock");
    let readme = fs::read_to_string(story.join("README.md")).unwrap();
    let (mut transcript, mut failures) = (String::new(), Vec::new());
    for (command, claim) in readme.lines().filter(|l| l.starts_with("isolde ")).filter_map(|l| l.rsplit_once('#')) {
        let (answer, output) = run(command.trim(), &root());
        let code = if claim.trim() == "holds" { 0 } else { 1 };
        assert_eq!(output.status.code(), Some(code), "{answer}");
        transcript += &answer;
        transcript.push('\n');
    }
    compare(&transcript, &story.join("expected.txt"), &mut failures);
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
