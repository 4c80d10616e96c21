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
