//! The real server, driven step by step: it comes to rest, and it answers the same way twice.
#![allow(clippy::unwrap_used)]

use isolde_testkit::{Outcome, Program, Response, Runner, Server, generate};

/// Codes that would mean that the generator writes statements that make no sense.
const NONSENSE: &[&str] = &["42601", "42703", "42P01", "42804", "42883", "42725", "42702", "42803", "0A000", "42P10"];

#[test]
fn waiting_is_seen_and_ends() {
    let script = "\
setup> CREATE TABLE t (id int PRIMARY KEY, n int)
setup> INSERT INTO t VALUES (1, 10)
s0> BEGIN
    BEGIN
s0> UPDATE t SET n = n + 1
    UPDATE 1
s1> UPDATE t SET n = n + 1 RETURNING n
    waits
s1> SELECT 1
    skipped: busy
s0> COMMIT
    COMMIT
    s1: n
    s1: 12
    s1: UPDATE 1
";
    let program = Program::parse(script).unwrap();
    assert_eq!(program.script(&Server::new().run(&program)), script);
}

#[test]
fn the_victim_is_who_closes_the_cycle() {
    for (first, second) in [(0, 1), (1, 0)] {
        let script = format!(
            "\
setup> CREATE TABLE t (id int PRIMARY KEY, n int)
setup> INSERT INTO t VALUES (0, 10), (1, 20)
s{first}> BEGIN
s{second}> BEGIN
s{first}> UPDATE t SET n = n + 1 WHERE id = 0
s{second}> UPDATE t SET n = n + 1 WHERE id = 1
s{first}> UPDATE t SET n = n + 1 WHERE id = 1
s{second}> UPDATE t SET n = n + 1 WHERE id = 0
"
        );
        let program = Program::parse(&script).unwrap();
        let last = Server::new().run(&program).pop().unwrap();
        let deadlock = Response::Error { sqlstate: "40P01".into(), message: "deadlock detected".into() };
        assert_eq!(last.outcome, Outcome::Answered(vec![deadlock]));
        assert_eq!(last.released, vec![(first, vec![Response::Done { tag: "UPDATE 1".into() }])]);
    }
}

#[test]
fn generated_programs_make_sense_and_repeat() {
    let mut server = Server::new();
    let programs = (0..30).map(generate::single).chain((0..60).map(generate::concurrent));
    for program in programs {
        let observations = server.run(&program);
        assert_eq!(program.script(&server.run(&program)), program.script(&observations), "not repeatable:\n{program}");
        for (observation, (_, statement)) in observations.iter().zip(&program.steps) {
            let text = observation.to_string();
            let nonsense = NONSENSE.iter().find(|code| text.contains(&format!("ERROR {code}")));
            assert_eq!(nonsense, None, "{statement}\n{text}");
        }
    }
}
