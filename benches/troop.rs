//! TrOOP's clients: `cargo bench -p isolde-benches --bench troop`.
//!
//! Transactions as single steps are what TrOOP calls serializability; statement by statement is what PostgreSQL does at
//! each of its levels. TrOOP's figures stand beside ours as it published them: another machine, another language, a mock
//! store. Only its time and its timeouts are comparable: its counts are of another encoding (and our own brute force over that
//! encoding does not agree with them).
//!
//! A search may take 10 s, or what `ISOLDE_BENCH_SECONDS` says; `ISOLDE_BENCH=quick` gives it a moment only. Words behind `--`
//! choose clients by name: `-- tpcc`.

use std::time::Duration;

use isolde_benches::configuration::{Configuration, Way};
use isolde_benches::measure::{Measured, time_max};
use isolde_benches::table::{Table, number, ratio};
use isolde_benches::troop::{Client, Mode, Shape, clients};

/// As in the `isolde` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let time_max = time_max(Duration::from_secs(10));
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let chosen: Vec<Client> =
        clients().filter(|c| words.is_empty() || words.iter().any(|w| c.name().contains(w))).collect();
    for mode in Mode::ALL {
        published(&chosen, mode, time_max);
    }
    for mode in Mode::ALL {
        sweep(&chosen, mode, "sessions", |sessions| Shape { sessions, transactions: 3 }, time_max);
        sweep(&chosen, mode, "transactions", |transactions| Shape { sessions: 3, transactions }, time_max);
    }
}

fn run(client: &Client, shape: Shape, mode: Mode, configuration: Configuration, time_max: Duration) -> Measured {
    let scenario = client.scenario(shape, mode).expect("TrOOP's clients are supported");
    configuration.measure(&scenario, time_max)
}

/// The clients as they were published: how much there is, and how much of it we execute.
fn published(clients: &[Client], mode: Mode, time_max: Duration) {
    println!("\n### TrOOP's clients, {}\n", mode.name());
    let head = ["client", "states", "different ends", "executions", "steps", "time", "steps/s", "TrOOP", "ratio"];
    let mut table = Table::new(head);
    for client in clients {
        let states = run(client, Shape::PUBLISHED, mode, Configuration::NAIVE, time_max);
        let ours = run(client, Shape::PUBLISHED, mode, Configuration::ours(), time_max);
        let seconds = client.notation().seconds;
        table.row([
            client.name(),
            states.count(states.summary.states_seen),
            states.count(states.summary.leaves),
            ours.count(ours.summary.leaves),
            ours.count(ours.summary.transitions),
            ours.time(),
            number(ours.rate() as u64),
            format!("{seconds} s"),
            ratio(ours.elapsed.as_secs_f64(), seconds as f64),
        ]);
    }
    println!("{table}");
}

/// The first two clients of each application, larger and larger. Where classes of runs are too many, states may not be.
fn sweep(clients: &[Client], mode: Mode, of: &str, shape: impl Fn(usize) -> Shape, time_max: Duration) {
    println!("\n### More {of}, {}: executions (or states) and time\n", mode.name());
    let columns: Vec<String> = (1..=5).map(|n| format!("{n} {of}")).collect();
    let mut table = Table::new(std::iter::once("client").chain(columns.iter().map(String::as_str)));
    for client in clients.iter().filter(|c| c.number <= 2) {
        let cells = (1..=5).map(|n| {
            let runs = run(client, shape(n), mode, Configuration::ours(), time_max);
            if runs.summary.is_complete() {
                return format!("{} in {}", number(runs.summary.leaves), runs.time());
            }
            let by_states = Configuration { way: Way::States, ..Configuration::ours() };
            let states = run(client, shape(n), mode, by_states, time_max);
            format!("{} states in {}", states.count(states.summary.states_seen), states.time())
        });
        table.row(std::iter::once(client.name()).chain(cells));
    }
    println!("{table}");
}
