//! The real server, driven step by step: waiting is seen, victims are foreseeable, the mirror shows what differs.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use isolde_testkit::version::REFERENCE;
use isolde_testkit::{Observation, Outcome, Program, Response, Runner, Server, examples, generate, mirror, skipped};

/// Codes that would mean that the generator writes statements that make no sense.
const NONSENSE: &[&str] = &["42601", "42703", "42804", "42883", "42725", "42702", "42803", "42P10"];

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
fn generated_programs_make_sense() {
    const SEEDS: u64 = 60;
    let mut server = Server::new();
    if let Some(version) = server.version().filter(|version| version.major < REFERENCE.major) {
        let why = format!("they are in the SQL of PostgreSQL {}, and the server is {version}", REFERENCE.major);
        return skipped::note("that generated programs make sense", &why);
    }
    let mut found = Vec::new();
    for (generator, seed) in
        generate::GENERATORS.iter().flat_map(|generator| (0..SEEDS).map(move |seed| (generator, seed)))
    {
        let program = (generator.generate)(seed);
        match server.try_run(&program) {
            Err(failure) => found.push(format!("{} {seed}: {failure}", generator.name)),
            Ok(observations) => {
                for (observation, (_, statement)) in observations.iter().zip(&program.steps) {
                    let text = observation.to_string();
                    if NONSENSE.iter().any(|code| text.contains(&format!("ERROR {code}"))) {
                        found.push(format!("{} {seed}: {statement}\n{text}", generator.name));
                    }
                }
            }
        }
    }
    assert!(found.is_empty(), "{} of them:\n{}", found.len(), found[..found.len().min(12)].join("\n"));
}

/// Whatever the order of their statements, corrected examples end without an error and their checks hold; threads
/// refused by a serialization failure or a deadlock would try again, so their runs prove nothing and are left out.
#[test]
fn corrected_examples_hold_on_the_server() {
    let mut server = Server::new();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let files = examples::files(&directory).unwrap();
    assert!(files.len() >= 28, "two scenarios per story: {files:?}");
    for file in files.iter().filter(|file| file.ends_with("fixed.sql")) {
        let scenario = std::fs::read_to_string(file).unwrap();
        for program in examples::programs(&scenario) {
            let script = program.script(&server.run(&program));
            if !script.contains("ERROR 40") {
                assert!(!script.contains("ERROR"), "{}\n{script}", file.display());
                assert!(!script.contains("\n    f\n"), "{}\n{script}", file.display());
            }
        }
    }
}

/// The canary: a server that ignores `FOR UPDATE` must be caught, or the mirror is blind.
#[test]
fn a_broken_mirror_image_is_caught() {
    struct WithoutRowLocks(Server);

    impl Runner for WithoutRowLocks {
        fn run(&mut self, program: &Program) -> Vec<Observation> {
            let mut broken = program.clone();
            for (_, statement) in &mut broken.steps {
                *statement = statement.replace(" FOR UPDATE", "");
            }
            self.0.run(&broken)
        }
    }

    let (mut server, mut broken) = (Server::new(), WithoutRowLocks(Server::new()));
    let report = (0..).find_map(|seed| mirror::compare(&generate::concurrent(seed), &mut server, &mut broken));
    let report = report.unwrap();
    assert!(report.contains(" FOR UPDATE"), "{report}");
    assert!(report.lines().count() < 40, "not shrunk:\n{report}");
}

/// The other canary: a real server agrees with itself.
#[test]
fn the_server_mirrors_itself() {
    mirror::compare_generated(generate::concurrent, 25, &mut Server::new(), &mut Server::new());
}
