//! `isolde prove`: what it prints, and what it says when the solver does not answer.

use crate::transcript::{isolde, root, tell};

#[test]
fn the_story() {
    let mut failures = Vec::new();
    let transcript = tell("atm", &mut failures);
    assert!(transcript.contains("(0, 1000) -> (0, 999)"), "{transcript}");
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
