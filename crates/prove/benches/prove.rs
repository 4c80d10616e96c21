//! What proving costs: `cargo bench -p isolde-prove --bench prove`.
//!
//! The programs of `tests/programs`, each procedure against each rule: the answer, and the time of all stages together,
//! of the exact question alone (loops written out once), of predicate abstraction alone and of handing the same clauses
//! to Spacer alone. Then a chain of K blocks that read a row, decide and update it. The examples of the repository come
//! last, as a matrix. Words choose: `programs`, `chain`, `examples`. Times are by the clock on the wall, since the
//! solver is another process.

#![allow(clippy::unwrap_used)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::fmt::Write;
use std::time::{Duration, Instant};

use isolde_prove::abstraction::{End, Subject};
use isolde_prove::exact;
use isolde_prove::horn::{self, Search};
use isolde_prove::ir::{self, Graph};
use isolde_prove::plan::plan;
use isolde_prove::{Limits, Program, Rule, Verdict, decide};
use isolde_smt::{Answer, Solver};
use isolde_sql::catalog::RoutineId;

/// Lengths of the chain.
const CHAINS: [usize; 4] = [4, 8, 16, 32];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    // `cargo test --benches` runs this too: then little of it, to see that it works.
    let quick = !std::env::args().any(|a| a == "--bench");
    let solver = match Solver::from_environment() {
        Ok(solver) => solver,
        Err(silence) => return eprintln!("{silence}"),
    };
    println!("solver: {}\n", solver.program.display());
    if is_wanted("programs") {
        programs(&solver, quick);
    }
    if is_wanted("chain") {
        chains(&solver, if quick { &CHAINS[..1] } else { &CHAINS });
    }
    if is_wanted("examples") {
        examples(&solver, quick);
    }
}

fn limits() -> Limits {
    Limits { guards: false, timeout: Duration::from_secs(60), ..Limits::default() }
}

fn head(first: &str) {
    println!("| {first} | answer | s in all | exact alone | s | abstraction alone | s | Spacer alone | s |");
    println!("|---|---|---:|---|---:|---|---:|---|---:|");
}

/// Every program, procedure by procedure.
fn programs(solver: &Solver, quick: bool) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    head("program, procedure, rule");
    for file in files.iter().take(if quick { 1 } else { usize::MAX }) {
        let name = file.file_stem().unwrap().to_string_lossy().to_string();
        let loaded = support::load(&std::fs::read_to_string(file).unwrap());
        for (procedure, rule, _) in &loaded.expected {
            let rule = loaded.program.rules.iter().find(|r| *r.name == **rule).unwrap();
            row(&format!("{name}, {procedure}, {}", rule.name), &loaded.program, procedure, rule, solver);
        }
    }
    println!();
}

/// Chains of blocks: right, and with the last guard wrong.
fn chains(solver: &Solver, lengths: &[usize]) {
    head("K blocks");
    for &length in lengths {
        for right in [true, false] {
            let loaded = support::load(&chain(length, right));
            let what = format!("{length}, {}", if right { "right" } else { "the last guard wrong" });
            row(&what, &loaded.program, "chain", &loaded.program.rules[0], solver);
        }
    }
    println!();
}

/// The examples: each procedure against each rule of its file.
fn examples(solver: &Solver, quick: bool) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let stories = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = stories.flat_map(|story| std::fs::read_dir(story).unwrap().map(|entry| entry.unwrap().path()));
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|ending| ending == "sql")).collect();
    files.sort();
    println!("| example | procedure | rule | answer | s |\n|---|---|---|---|---:|");
    let mut shown = 0;
    for file in files {
        let Ok(loaded) = support::try_load(&std::fs::read_to_string(&file).unwrap()) else { continue };
        let name = file.strip_prefix(folder).unwrap().display().to_string();
        for id in loaded.program.procedures() {
            for rule in loaded.program.rules.iter().take(if quick && shown > 0 { 0 } else { usize::MAX }) {
                let (answer, seconds) = timed(|| answer(&loaded.program, id, rule, solver));
                let procedure = &loaded.program.catalog().routine(id).name;
                println!("| {name} | {procedure} | {} | {answer} | {seconds:.2} |", rule.name);
                shown += 1;
            }
        }
    }
    println!();
}

fn answer(program: &Program, id: RoutineId, rule: &Rule, solver: &Solver) -> String {
    match decide(program, id, rule, solver, &limits()).unwrap().verdict {
        Verdict::Safe(_) => "safe".into(),
        Verdict::Unsafe(_) => "unsafe, shown".into(),
        Verdict::Bounded(..) => "bounded".into(),
        Verdict::Unknown(reason) => format!("unknown: {}", reason.what),
    }
}

/// K times: read an account, decide, update it.
fn chain(length: usize, right: bool) -> String {
    let mut body = String::new();
    for block in 0..length {
        let least = if right || block + 1 < length { 1000 } else { 999 };
        let _ = write!(
            body,
            "  SELECT balance INTO bal FROM account WHERE id = a{block};\n  IF bal - x{block} >= {least} THEN\n    UPDATE account \
             SET balance = bal - x{block} WHERE id = a{block};\n  END IF;\n"
        );
    }
    let params: Vec<String> = (0..length).map(|block| format!("a{block} int, x{block} int")).collect();
    format!(
        "CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);\nCREATE PROCEDURE chain({}) LANGUAGE plpgsql AS $$\nDECLARE \
         bal int;\nBEGIN\n{body}END $$;\n--@ rule minimum\nSELECT balance >= 1000 FROM account;\n",
        params.join(", ")
    )
}

/// One procedure against one rule, by everybody.
fn row(what: &str, program: &Program, procedure: &str, rule: &Rule, solver: &Solver) {
    let id = program.catalog().routines_by_name(procedure).next().unwrap().0;
    let (all, all_s) = timed(|| answer(program, id, rule, solver));
    let Ok(graph) = ir::lower(program.catalog(), id) else {
        return println!("| {what} | {all} | {all_s:.2} | not modelled | | not modelled | | not modelled | |");
    };
    let (exact, exact_s) = timed(|| exact(program, &graph, rule, solver));
    let (abstraction, abstraction_s) = timed(|| abstraction(program, &graph, rule, solver));
    let (spacer, spacer_s) = timed(|| spacer(program, &graph, rule, solver));
    println!(
        "| {what} | {all} | {all_s:.2} | {exact} | {exact_s:.2} | {abstraction} | {abstraction_s:.2} | {spacer} | {spacer_s:.2} |"
    );
}

fn exact(program: &Program, graph: &Graph, rule: &Rule, solver: &Solver) -> &'static str {
    let unrolled = ir::unroll(graph, 1);
    let plan = plan(program.catalog(), &unrolled, &rule.query, 0);
    let Ok(question) = exact::question(program, &unrolled, rule, &[], &plan, true) else { return "not modelled" };
    let text = question.text();
    let asked = solver.with_session(|session| {
        session.tell(&text);
        session.check(limits().timeout)
    });
    match asked {
        Ok(Answer::Unsat) if unrolled.cut => "none in a round",
        Ok(Answer::Unsat) => "none",
        Ok(Answer::Sat) => "found",
        Err(_) => "open",
    }
}

fn abstraction(program: &Program, graph: &Graph, rule: &Rule, solver: &Solver) -> String {
    let Ok(subject) = Subject::new(program, graph, rule) else { return "not modelled".into() };
    let story = subject.prove(solver, &limits()).unwrap();
    let end = match story.end {
        End::Safe(_) => "safe",
        End::Feasible(_) => "a way to the error",
        End::Open(_) => "open",
    };
    format!("{end}, {} abstractions", story.rounds.len())
}

fn spacer(program: &Program, graph: &Graph, rule: &Rule, solver: &Solver) -> &'static str {
    let Ok(clauses) = horn::clauses(program, graph, rule, &[]) else { return "not modelled" };
    match horn::search(&clauses, solver, limits().timeout).unwrap() {
        Search::Found(_) => "safe",
        Search::None => "no invariant",
        Search::Open(_) => "open",
    }
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, f64) {
    let begun = Instant::now();
    let result = run();
    (result, begun.elapsed().as_secs_f64())
}
