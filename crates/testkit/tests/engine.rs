//! The embedded engine against a real server: recorded scripts, generated programs, and the stories.
//!
//! A longer run: `cargo run -p isolde-testkit --release --bin mirror -- --programs 20000`. A difference is reported as
//! a shrunk program with the server's answers: fix the engine, and keep the program in `scripts/`.

use std::path::Path;

use isolde_engine::Faults;
use isolde_testkit::{Engine, Runner, Server, examples, generate, golden, mirror, skipped};

fn scripts() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts")
}

#[test]
fn the_engine_answers_as_the_server_did() {
    golden::check_directory(&scripts(), &mut Engine::new(), |_, _| false);
}

/// A few programs of every generator.
#[test]
fn generated_programs_go_as_they_go_on_the_server() {
    let (mut server, mut engine) = (Server::new(), Engine::new());
    let version = server.version().expect("a server has a version");
    for generator in generate::GENERATORS {
        if version.major < generator.since {
            let why = format!("its answers are those of PostgreSQL {}, and the server is {version}", generator.since);
            skipped::note(&format!("generated programs of the kind `{}`", generator.name), &why);
            continue;
        }
        mirror::compare_generated(generator.generate, 60, &mut server, &mut engine);
    }
}

/// The threads' statements of every story, in every order; of stories with very many orders, a part.
#[test]
fn stories_go_as_they_go_on_the_server() {
    const ORDERS_MAX: usize = 40;
    let (mut server, mut engine) = (Server::new(), Engine::new());
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for file in examples::files(&directory).expect("the stories are there") {
        let scenario = std::fs::read_to_string(&file).expect("a story can be read");
        let programs = examples::programs(&scenario);
        let every = programs.len().div_ceil(ORDERS_MAX);
        for program in programs.iter().step_by(every) {
            let report = mirror::compare(program, &mut server, &mut engine);
            assert!(report.is_none(), "{}: {}", file.display(), report.unwrap_or_default());
        }
    }
}

/// An engine that is broken on purpose must fail the scripts: so they test what they say.
#[test]
fn broken_engines_are_caught() {
    let broken = [
        Faults { no_write_lock: true, ..Faults::default() },
        Faults { stale_snapshot: true, ..Faults::default() },
        Faults { no_recheck: true, ..Faults::default() },
    ];
    for faults in broken {
        let checked =
            std::panic::catch_unwind(|| golden::check_directory(&scripts(), &mut Engine::broken(faults), |_, _| false));
        assert!(checked.is_err(), "nobody noticed {faults:?}");
    }
}
