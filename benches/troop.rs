//! TrOOP's clients: `cargo bench -p isolde-benches --bench troop`.
//!
//! Transactions as single steps are what TrOOP calls serializability; statement by statement is what PostgreSQL does at
//! each of its levels. TrOOP's figures stand beside ours as it published them: another machine, another language, a mock
//! store. Only its time and its timeouts are comparable: its counts are of another encoding (and our own brute force over that
//! encoding does not agree with them).
//!
//! `ISOLDE_BENCH=quick` gives each search a moment only.

use std::time::Duration;

use isolde_benches::measure::{Measured, measure, naive, ours, time_max};
use isolde_benches::table::{Table, number, ratio};
use isolde_benches::troop::{Client, Shape, clients};
use isolde_explore::Search;
use isolde_scenario::ScenarioSystem;
use isolde_scenario::file::FileOptions;

/// As in the `isolde` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

fn main() {
    let time_max = time_max(Duration::from_secs(10));
    atomic(time_max);
    statements(time_max);
    sweep("sessions", (1..=5).map(|sessions| Shape { sessions, transactions: 3 }), time_max);
    sweep("transactions", (1..=5).map(|transactions| Shape { sessions: 3, transactions }), time_max);
}

fn run(client: &Client, shape: Shape, isolation: &str, atomic: bool, search: &Search, time_max: Duration) -> Measured {
    let scenario = client.scenario(shape, isolation).expect("TrOOP's clients are supported");
    let settings = FileOptions { atomic: Some(atomic), ..scenario.options().clone() };
    measure(&ScenarioSystem::new(&scenario, &settings), search, time_max)
}

/// Whole transactions as steps.
fn atomic(time_max: Duration) {
    println!("\n### Transactions as single steps\n");
    let head = ["client", "interleavings", "different ends", "executions", "states", "time", "TrOOP", "ratio"];
    let mut table = Table::new(head);
    for client in clients() {
        let naive = run(&client, Shape::PUBLISHED, "read committed", true, &naive(), time_max);
        let ours = run(&client, Shape::PUBLISHED, "read committed", true, &ours(), time_max);
        let seconds = client.notation().seconds;
        table.row([
            client.name(),
            naive.count(naive.summary.leaves),
            naive.count(naive.ends.len() as u64),
            ours.count(ours.summary.leaves),
            ours.count(ours.summary.states_seen),
            ours.time(),
            format!("{seconds} s"),
            ratio(ours.elapsed.as_secs_f64(), seconds as f64),
        ]);
    }
    println!("{table}");
}

/// Statement by statement, at each level.
fn statements(time_max: Duration) {
    for level in LEVELS {
        println!("\n### Statement by statement, {level}\n");
        let mut table =
            Table::new(["client", "executions", "different ends", "states", "steps", "time", "steps/s", "TrOOP"]);
        for client in clients() {
            let ours = run(&client, Shape::PUBLISHED, level, false, &ours(), time_max);
            table.row([
                client.name(),
                ours.count(ours.summary.leaves),
                ours.count(ours.ends.len() as u64),
                ours.count(ours.summary.states_seen),
                ours.count(ours.summary.transitions),
                ours.time(),
                number(ours.rate() as u64),
                format!("{} s", client.notation().seconds),
            ]);
        }
        println!("{table}");
    }
}

/// The first two clients of each application, larger and larger, transactions as steps.
fn sweep(of: &str, shapes: impl Iterator<Item = Shape> + Clone, time_max: Duration) {
    println!("\n### More {of}: executions and time, transactions as single steps\n");
    let columns: Vec<String> = (1..=5).map(|n| format!("{n} {of}")).collect();
    let mut table = Table::new(std::iter::once("client").chain(columns.iter().map(String::as_str)));
    for client in clients().filter(|c| c.number <= 2) {
        let cells = shapes.clone().map(|shape| {
            let ours = run(&client, shape, "read committed", true, &ours(), time_max);
            format!("{} in {}", ours.count(ours.summary.leaves), ours.time())
        });
        table.row(std::iter::once(client.name()).chain(cells));
    }
    println!("{table}");
}
