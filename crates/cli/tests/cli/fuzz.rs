//! Whole commands on inputs that are nearly right: an answer within the limits, and outputs that are whole.
//!
//! The same at length: `cargo run -p isolde-testkit --bin commands -- --runs 100000`.

use std::path::Path;
use std::sync::Mutex;

use isolde_testkit::commands::{Case, Corpus, KINDS, campaign};

/// So many here; a seed that fails is named, and repeats it.
const RUNS: u64 = 150;

#[test]
fn nearly_right_inputs_are_answered() {
    let failures = Mutex::new(Vec::new());
    campaign(Path::new(env!("CARGO_BIN_EXE_isolde")), 0..RUNS, 2, &|progress| {
        failures.lock().unwrap().extend(progress.failure);
    });
    if let Some(failure) = failures.into_inner().unwrap().first() {
        let (case, what, printed) = (&failure.case, &failure.what, &failure.printed);
        panic!("seed {}: isolde {}: {what}\n{printed}\n{:?}", case.seed, case.arguments.join(" "), case.files);
    }
}

/// Each kind of input has examples, and is met.
#[test]
fn there_are_inputs_of_every_kind() {
    let corpus = Corpus::load();
    for kind in KINDS {
        let met = (0..2000).map(|seed| Case::of(seed, &corpus)).find(|case| case.kind == kind.name);
        assert!(met.is_some_and(|case| !case.files.is_empty() && !case.files[0].1.is_empty()), "{}", kind.name);
    }
}

/// A crash is noticed: the harness is not blind.
#[test]
fn a_crash_would_be_noticed() {
    let corpus = Corpus::load();
    let failed = Case::of(1, &corpus).run(Path::new("/bin/false"));
    assert!(failed.is_err_and(|failure| failure.what == "silence"));
}
