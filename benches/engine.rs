//! What a step costs: `cargo bench -p isolde-benches --bench engine`.
//!
//! Every figure is measured in this one run, on one core. Rates are the best of several rounds, so that other work on
//! the machine disturbs little. The last column compares with the line it names.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use isolde_engine::{Database, Prepared, SessionId};
use isolde_explore::{Matching, Search, Strategy, Visit, on_leaf};
use isolde_scenario::spec::{self, Spec};
use isolde_scenario::{Scenario, ScenarioSystem, file};
use isolde_sql::{Type, Value, parse};

/// As in the `isolde` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long a round lasts.
const ROUND: Duration = Duration::from_millis(300);
const ROUNDS: usize = 5;

fn main() {
    // `cargo test --benches` runs this too: then one short round each, to see that it works.
    let quick = !std::env::args().any(|a| a == "--bench");
    let bench = if quick {
        Bench { round: Duration::from_millis(1), rounds: 1 }
    } else {
        Bench { round: ROUND, rounds: ROUNDS }
    };
    let large = if quick { 10_000 } else { 1_200_000 };
    println!("{:<58} {:>14} {:>10}  ratio", "operation", "per second", "ns");
    statements(&bench);
    snapshots(&bench, large);
    exploration(&bench);
    specs(&bench);
    isolation(&bench);
}

struct Bench {
    round: Duration,
    rounds: usize,
}

impl Bench {
    /// Nanoseconds per call, the best of several rounds; `act` is called with a running number.
    fn measure(&self, mut act: impl FnMut(u64)) -> f64 {
        let mut best = f64::INFINITY;
        let mut number = 0;
        for _ in 0..self.rounds {
            let (start, first) = (Instant::now(), number);
            while start.elapsed() < self.round {
                for _ in 0..64 {
                    act(number);
                    number += 1;
                }
            }
            best = best.min(start.elapsed().as_nanos() as f64 / (number - first) as f64);
        }
        best
    }
}

fn line(name: &str, ns: f64, ratio: &str) {
    println!("{name:<58} {:>14.0} {ns:>10.0}  {ratio}", 1e9 / ns);
}

/// Point statements by primary key, each a transaction, footprints included.
fn statements(bench: &Bench) {
    let (db, session) = accounts(1000);
    let select = prepare(&db, "SELECT balance FROM account WHERE id = $1", &[Type::Int4]);
    let update = prepare(&db, "UPDATE account SET balance = balance + 1 WHERE id = $1", &[Type::Int4]);
    let run = |statement: &Arc<Prepared>| {
        let mut db = db.clone();
        bench.measure(|i| {
            let id = Value::Int((i % 1000) as i64 + 1);
            db.submit(session, statement, &[id]);
            black_box(db.step(session));
        })
    };
    let (read, write) = (run(&select), run(&update));
    line("SELECT by primary key, 1,000 rows", read, "");
    line("UPDATE by primary key, 1,000 rows", write, &format!("{:.1} x SELECT", write / read));
}

/// A copy of the database, one update on the copy, and the copy dropped: what a search does at every step.
fn snapshots(bench: &Bench, large: usize) {
    let mut first = None;
    for rows in [100, large] {
        let (db, session) = accounts(rows);
        let update = prepare(&db, "UPDATE account SET balance = balance + 1 WHERE id = $1", &[Type::Int4]);
        let ns = bench.measure(|i| {
            let mut copy = db.clone();
            let id = Value::Int((i.wrapping_mul(7919) % rows as u64) as i64 + 1);
            copy.submit(session, &update, &[id]);
            black_box(copy.step(session));
        });
        let ratio = first.map(|first: f64| format!("{:.2} x at 100 rows", ns / first)).unwrap_or_default();
        line(&format!("snapshot + UPDATE + drop, {rows} rows"), ns, &ratio);
        first.get_or_insert(ns);
    }
    let (db, _) = accounts(large);
    let ns = bench.measure(|_| drop(black_box(db.clone())));
    line(&format!("snapshot alone, {large} rows"), ns, "");
    let ns = bench.measure(|_| {
        black_box(db.digest());
    });
    line(&format!("digest of the state, {large} rows"), ns, "");
}

/// All interleavings of the withdraw example, without reduction or state matching.
fn exploration(bench: &Bench) {
    let text = include_str!("../examples/withdraw/withdraw.sql");
    let scenario = Scenario::parse("withdraw.sql", text, &mut file::no_includes).expect("the example parses");
    let system = ScenarioSystem::new(&scenario, scenario.options());
    for (name, strategy, matching) in [
        ("naive exploration of withdraw, one step", Strategy::Depth, Matching::Off),
        ("stateful exploration of withdraw, one step", Strategy::Breadth, Matching::Digest),
    ] {
        let search = Search { strategy, matching, ..Search::default() };
        let mut steps = 0;
        let ns = bench.measure(|_| {
            let summary =
                search.run(&system, &mut on_leaf(|_: &Visit<'_, ScenarioSystem<'_>>| ControlFlow::Continue(())));
            steps = summary.transitions;
        });
        line(name, ns / steps as f64, &format!("{steps} steps a search"));
    }
}

/// Permutations of a spec with three sessions, set-up and teardown included.
fn specs(bench: &Bench) {
    let text = include_str!("three-sessions.spec");
    let spec = Spec::parse("three-sessions.spec", text).expect("the spec parses");
    let mut permutations = 0;
    let ns = bench.measure(|_| {
        let run = spec::run(&spec, &mut |_| ControlFlow::Continue(())).expect("the spec runs");
        permutations = black_box(run).permutations;
    });
    line("isolde spec, three sessions, one permutation", ns / permutations as f64, &format!("{permutations} a run"));
}

/// The same search at two levels: what it costs to remember who has read what.
fn isolation(bench: &Bench) {
    let text = include_str!("../examples/doctors/doctors.sql");
    let mut first = None;
    for level in ["repeatable read", "serializable"] {
        let text = text.replace("repeatable read", level);
        let scenario = Scenario::parse("doctors.sql", &text, &mut file::no_includes).expect("the example parses");
        let system = ScenarioSystem::new(&scenario, scenario.options());
        let search = Search { strategy: Strategy::Depth, matching: Matching::Off, ..Search::default() };
        let mut steps = 0;
        let ns = bench.measure(|_| {
            let summary =
                search.run(&system, &mut on_leaf(|_: &Visit<'_, ScenarioSystem<'_>>| ControlFlow::Continue(())));
            steps = summary.transitions;
        }) / steps as f64;
        let ratio = first.map(|first: f64| format!("{:.2} x repeatable read", ns / first)).unwrap_or_default();
        line(&format!("naive exploration of doctors at {level}, one step"), ns, &ratio);
        first.get_or_insert(ns);
    }
}

/// Accounts 1..=rows with a balance of 100, and a session.
fn accounts(rows: usize) -> (Database, SessionId) {
    let mut db = Database::new();
    let session = db.open_session();
    let create = "CREATE TABLE account (id int PRIMARY KEY, owner text NOT NULL, balance int NOT NULL)";
    let insert = format!("INSERT INTO account SELECT i, 'owner ' || i, 100 FROM generate_series(1, {rows}) AS g(i)");
    for sql in [create, &insert] {
        let statement = prepare(&db, sql, &[]);
        let mut reply = db.submit(session, &statement, &[]);
        while reply.is_none() {
            reply = db.step(session).reply;
        }
        if let Some(Err(error)) = reply {
            panic!("{sql}: {error}");
        }
    }
    (db, session)
}

fn prepare(db: &Database, sql: &str, params: &[Type]) -> Arc<Prepared> {
    let statement = parse::statement(parse::Fragment { text: sql, offset: 0 }).expect("the benchmark's SQL parses");
    db.prepare(&statement, sql, params).expect("the benchmark's SQL binds")
}
