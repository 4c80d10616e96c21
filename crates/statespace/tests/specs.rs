//! Every specification in `specs/`, explored by the program and by the evaluator: the same states, steps and depth, and
//! those that are pinned in `specs/counts.txt`. `UPDATE_GOLDEN=1` writes what is found.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use isolde_statespace::check::{self, Options};
use isolde_statespace::explore;
use isolde_statespace::explored::Explored;
use isolde_statespace::sql::{self, Form};
use isolde_statespace::store::{Run, Store};
use isolde_statespace::tla::Spec;
use isolde_statespace::tla::spec::Files;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/specs")
}

/// Configurations with the specification they are of: `BallotsSymmetric.cfg` is one of `Ballots.tla`.
fn configurations() -> Vec<(String, PathBuf, PathBuf)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "cfg") {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy().to_string();
        let mut module = name.clone();
        while !folder().join(format!("{module}.tla")).exists() {
            module.pop();
        }
        found.push((name, folder().join(format!("{module}.tla")), path));
    }
    found.sort();
    found
}

fn load(tla: &Path, cfg: &Path) -> Spec {
    let (text, config) = (fs::read_to_string(tla).unwrap(), fs::read_to_string(cfg).unwrap());
    let name = tla.file_name().unwrap().to_string_lossy();
    let files = Files { name: &name, text: &text, config: Some(("cfg", &config)) };
    let mut find = |module: &str| {
        let file = format!("{module}.tla");
        fs::read_to_string(folder().join(&file)).ok().map(|text| (file, text))
    };
    Spec::load(&files, &mut find).unwrap_or_else(|error| panic!("{error}"))
}

fn everything() -> explore::Options {
    explore::Options { deadlock: false, graph: true, stop: false, states_max: usize::MAX }
}

fn states(explored: &Explored) -> BTreeSet<String> {
    let values = |state| explored.values(state).iter().flatten().map(|v| v.to_string()).collect::<Vec<_>>().join("; ");
    (0..explored.count() as u32).map(values).collect()
}

#[test]
fn counts_are_those_that_are_known() {
    deep(count_all);
}

/// Recursion needs room on the stack, as the `isolde` command has it.
fn deep(work: fn()) {
    let worker = std::thread::Builder::new().stack_size(64 << 20).spawn(work).unwrap();
    worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

fn count_all() {
    let mut lines = String::new();
    for (name, tla, cfg) in configurations() {
        let mut spec = load(&tla, &cfg);
        let explored = Explored::explore(&spec, &everything(), &mut ()).unwrap_or_else(|f| panic!("{name}: {f:?}"));
        let evaluated = Explored::by_evaluation(&spec, &everything(), &mut ()).unwrap();
        let sizes = |e: &Explored| (e.count(), e.generated, e.depth(), e.graph.as_ref().unwrap().transitions());
        if explored.not_compiled.is_none() {
            assert_eq!(
                (sizes(&explored).0, sizes(&explored).1, sizes(&explored).2),
                (sizes(&evaluated).0, sizes(&evaluated).1, sizes(&evaluated).2),
                "{name}: the program and the evaluator"
            );
            assert_eq!(states(&explored), states(&evaluated), "{name}: the program and the evaluator");
        }
        let options = Options {
            deadlock: None,
            ctl: Vec::new(),
            invariants: Vec::new(),
            states_max: usize::MAX,
            coverage: false,
            graph: false,
            command: String::new(),
            path: name.clone(),
        };
        let report = check::check(&mut spec, &options, &mut ()).unwrap().report;
        let (count, generated, depth, _) = sizes(&explored);
        let answers: Vec<String> = report
            .properties
            .iter()
            .filter(|asked| asked.verdict != "holds")
            .map(|asked| format!("{} {}", asked.name, asked.verdict))
            .collect();
        let how = explored.not_compiled.as_ref().map_or("compiled".into(), |why| format!("evaluated: {why}"));
        writeln!(
            lines,
            "{name:<18} {count:>7} states {generated:>8} generated  depth {depth:>3}  {}  [{}]  {how}",
            report.verdict.word(),
            answers.join(", ")
        )
        .unwrap();
    }
    let golden = folder().join("counts.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &lines).unwrap();
    }
    assert_eq!(fs::read_to_string(&golden).unwrap_or_default(), lines);
}

/// Every specification is explored by databases, too: the same states, transitions and depth. What is no program, or
/// too wide for a number, is explored by tables that the evaluator fills; and so is everything else, to see that it
/// comes to the same.
#[test]
fn databases_find_the_same() {
    deep(explore_all);
}

fn explore_all() {
    let cluster = isolde_testkit::Cluster::shared();
    let database = cluster.create_database().unwrap();
    let mut as_programs = 0;
    for (name, tla, cfg) in configurations() {
        let spec = load(&tla, &cfg);
        let explored = Explored::explore(&spec, &everything(), &mut ()).unwrap();
        let transitions = |explored: &Explored| explored.graph.as_ref().unwrap().transitions();
        // The evaluator does not tell branches of one action apart.
        let evaluated = Explored::by_evaluation(&spec, &everything(), &mut ()).unwrap();
        let settings = cluster.settings(&database);
        let stores = || {
            vec![
                Store::memory().unwrap(),
                Store::postgres(&settings, &format!("isolde_{name}")).unwrap(),
                #[cfg(feature = "duckdb")]
                Store::duckdb(Path::new(":memory:")).unwrap(),
            ]
        };
        let run = |how: &str| Run { name: name.clone(), spec: how.into(), ..Run::default() };
        let program = explored.program.clone().filter(|program| program.layout.fits_sql());
        let program = program.filter(|program| program.constraint.is_some() || spec.constraints.is_empty());
        // One database is enough where tables are not needed.
        let count = if program.is_some() { 1 } else { 3 };
        for mut store in stores().into_iter().take(count) {
            let mut how = sql::Options { form: Form::Levels, deadlock: false, proceed: &mut |_, _| true };
            let found = sql::explore_by_tables(&mut store, &spec, &run("tables"), &mut how).unwrap();
            assert_eq!((found.explored.states, found.explored.stop), (explored.count(), None), "{name} by tables");
            assert_eq!(found.explored.depth, Some(explored.depth()), "{name} by tables");
            let held = store.held().unwrap().unwrap();
            assert_eq!(held.transitions, Some(transitions(&evaluated)), "{name} by tables");
        }
        let Some(program) = program else { continue };
        let program = isolde_statespace::packed::Program { invariants: Vec::new(), ..program };
        as_programs += 1;
        for form in [Form::Closure, Form::Levels] {
            for mut store in stores() {
                let mut how = sql::Options { form, deadlock: false, proceed: &mut |_, _| true };
                let found = sql::explore(&mut store, &program, &run(&format!("{form:?}")), &mut how).unwrap();
                assert_eq!(found.stop, None, "{name} {form:?}");
                assert_eq!(found.states, explored.count(), "{name} {form:?}");
                assert!(found.depth.is_none_or(|depth| depth == explored.depth()), "{name} {form:?} {:?}", found.depth);
                assert_eq!(sql::transitions(&mut store, &program).unwrap(), transitions(&explored), "{name} {form:?}");
            }
        }
    }
    assert!(as_programs >= 25, "{as_programs}");
}

/// A variable may have more values than there was room for at first: states are rewritten, and none is lost.
#[test]
fn room_is_made_for_what_turns_up() {
    let text =
        "---- MODULE M ----\nEXTENDS Naturals\nVARIABLE x\nInit == x = 0\nNext == x < 70000 /\\ x' = x + 1\n====\n";
    let files = Files { name: "M.tla", text, config: None };
    let spec = Spec::load(&files, &mut |_| None).unwrap();
    let compiled = Explored::explore(&spec, &everything(), &mut ()).unwrap();
    let evaluated = Explored::by_evaluation(&spec, &everything(), &mut ()).unwrap();
    assert_eq!((compiled.count(), compiled.engine()), (70_001, "compiled"));
    assert_eq!((evaluated.count(), evaluated.engine()), (70_001, "evaluated"));
    assert_eq!(compiled.values(70_000), evaluated.values(70_000));
}
