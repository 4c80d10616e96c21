//! What nobody should type, and some will: an answer or a message, never a crash.

use std::fs;
use std::io::Write;
use std::process::{Output, Stdio};
use std::time::Duration;

use crate::transcript::{isolde, root, shown};

/// Explores what is piped in, within limits.
fn explore(text: &[u8]) -> Output {
    let mut child = isolde(&root())
        .args(["explore", "--states-max", "300", "--time-max", "5s", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may end before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(text);
    child.wait_with_output().unwrap()
}

/// Ends with an exit code that we give, and not in silence.
fn ends_well(text: &[u8]) {
    let output = explore(text);
    let fine = matches!(output.status.code(), Some(0..=3)) && output.stdout.len() + output.stderr.len() > 0;
    assert!(fine, "{}\n--- input\n{}", shown(&output), String::from_utf8_lossy(text));
}

#[test]
fn random_bytes() {
    let mut dice = Dice(1);
    for _ in 0..40 {
        let bytes: Vec<u8> = (0..dice.below(400)).map(|_| dice.below(256) as u8).collect();
        ends_well(&bytes);
        let letters: Vec<u8> = bytes.iter().map(|byte| b"-@ \n;'\"$\\:()thread x"[*byte as usize % 20]).collect();
        ends_well(&letters);
    }
}

#[test]
fn mutilated_scenarios() {
    let scenario = fs::read(root().join("examples/voucher/voucher.sql")).unwrap();
    let other = fs::read(root().join("examples/doctors/fixed.sql")).unwrap();
    let mut dice = Dice(2);
    for _ in 0..120 {
        let mut text = scenario.clone();
        for _ in 0..1 + dice.below(4) {
            let at = dice.below(text.len());
            let length = dice.below(40).min(text.len() - at);
            match dice.below(4) {
                0 => drop(text.drain(at..at + length)),
                1 => text.truncate(at + 1),
                2 => text[at] = b" ;'()$,-\n"[dice.below(9)],
                _ => {
                    let from = dice.below(other.len() - 40);
                    text.splice(at..at + length, other[from..from + 40].iter().copied());
                }
            }
        }
        ends_well(&text);
    }
}

#[test]
fn deep_nesting() {
    for depth in [100, 10_000, 200_000] {
        ends_well(format!("--@ thread a\nSELECT {}1{};", "(".repeat(depth), ")".repeat(depth)).as_bytes());
        ends_well(format!("--@ thread a\nSELECT {}1;", "- ".repeat(depth)).as_bytes());
        ends_well(format!("--@ thread a\nSELECT {}true;", "NOT ".repeat(depth)).as_bytes());
        let (begin, end) = ("BEGIN ".repeat(depth), "END; ".repeat(depth));
        ends_well(format!("--@ thread a\nDO $$ {begin} NULL; {end} $$;").as_bytes());
    }
}

/// Work that looks at no budget, in every command: there is an answer all the same, in the format that was asked for.
#[test]
fn what_cannot_be_stopped_is_answered_for() {
    let module = "---- MODULE Slow ----\nEXTENDS Naturals\nVARIABLE x\nRECURSIVE F(_)\n\
                  F(n) == IF n < 2 THEN 1 ELSE F(n - 1) + F(n - 2)\nInit == x = 0\nNext == x' = F(60)\n====\n";
    let routine = format!(
        "CREATE TABLE t (id int PRIMARY KEY, a int);\nCREATE PROCEDURE p(x int) LANGUAGE plpgsql AS $$ BEGIN\n{}END \
         $$;\n--@ rule positive\nSELECT bool_and(a >= 0) FROM t;\n",
        "IF x > 1 THEN UPDATE t SET a = a + 1 WHERE id = x; ELSE UPDATE t SET a = a - 1 WHERE id = 2; END IF;\n"
            .repeat(300)
    );
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("Slow.tla"), module).unwrap();
    fs::write(folder.path().join("Slow.cfg"), "INIT Init\nNEXT Next\n").unwrap();
    fs::write(folder.path().join("p.sql"), routine).unwrap();
    let limits = ["--time-max", "100ms", "--format", "json", "-o", "answer.json"];
    for command in [["space", "Slow.tla"], ["prove", "p.sql"]] {
        let output = isolde(folder.path()).args(command).args(limits).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
        let answer = fs::read_to_string(folder.path().join("answer.json")).unwrap();
        assert!(answer.contains("\"inconclusive\"") && answer.contains("time limit"), "{answer}");
        assert!(serde_json::from_str::<serde_json::Value>(&answer).is_ok(), "{answer}");
    }
}

/// Actions that use themselves do not end, whether they are written out as a program or interpreted.
#[test]
fn actions_without_end_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("M.cfg"), "INIT Init\nNEXT Next\n").unwrap();
    for action in
        ["RECURSIVE A(_)\nA(n) == A(n + 1)", "A(n) == x' = n /\\ Next", "A(n) == \\E m \\in {n} : x' = m \\/ A(m)"]
    {
        let module =
            format!("---- MODULE M ----\nEXTENDS Naturals\nVARIABLE x\n{action}\nInit == x = 0\nNext == A(0)\n====\n");
        fs::write(folder.path().join("M.tla"), module).unwrap();
        let output = isolde(folder.path()).args(["space", "M.tla", "--time-max", "20s"]).output().unwrap();
        assert!(matches!(output.status.code(), Some(2 | 3)), "{action}: {}", shown(&output));
    }
}

/// The output of a step that was cut off is not that of any server.
#[test]
fn a_spec_with_an_endless_step_is_inconclusive() {
    let folder = tempfile::tempdir().unwrap();
    let spec = "session s1\nstep a { DO $$ BEGIN LOOP PERFORM 1; END LOOP; END $$; }\npermutation a\n";
    fs::write(folder.path().join("x.spec"), spec).unwrap();
    let output = isolde(folder.path()).args(["spec", "x.spec"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("LOOP in DO"), "{}", shown(&output));
}

/// A thread that never ends, whether or not others could notice, is a limit reached and not a hang.
#[test]
fn endless_threads() {
    let table = "CREATE TABLE t (n int); INSERT INTO t VALUES (0);";
    for body in ["NULL;", "PERFORM t.n FROM t;", "UPDATE t SET n = t.n + 1;", "x := x + 1;"] {
        let text = format!("{table}\n--@ thread a\nDO $$ DECLARE x int := 0; BEGIN LOOP {body} END LOOP; END $$;");
        let output = explore(text.as_bytes());
        assert!(matches!(output.status.code(), Some(1 | 3)), "{body}\n{}", shown(&output));
    }
}

/// Ctrl-C ends the search, not the answer.
#[cfg(unix)]
#[test]
fn interrupted() {
    let mut text = String::from("CREATE TABLE t (id int PRIMARY KEY, n int);\n");
    text += "INSERT INTO t SELECT 1, 0;\n--@ option serial off\n--@ option states_max 1000000000\n";
    text += "--@ thread worker x12\nUPDATE t SET n = n + 1;\nUPDATE t SET n = n * 2;\nSELECT n FROM t;\n";
    let mut child = isolde(&root())
        .args(["explore", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let shown = shown(&output);
    assert!(shown.starts_with("inconclusive  <stdin>: interrupted"), "{shown}");
    assert_eq!(output.status.code(), Some(3));
}

/// Numbers that look random, the same ones every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }
}
