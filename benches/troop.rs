//! TrOOP's clients: `cargo bench -p isolde-benches --bench troop`.
//!
//! Transactions as single steps are what TrOOP calls serializability; statement by statement is what PostgreSQL does at
//! each of its levels. TrOOP's figures stand beside ours as it published them: another machine, another language, a
//! mock store. Only its time and its timeouts are comparable: its counts are of another encoding (and our own brute
//! force over that encoding does not agree with them).
//!
//! A search may take 10 s, or what `ISOLDE_BENCH_SECONDS` says; `ISOLDE_BENCH=quick` gives it a moment only. Words
//! behind `--` choose clients, modes and tables by name: `-- published tpcc read`.

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
    let clients = chosen(&words, clients().collect(), Client::name);
    let modes = chosen(&words, Mode::ALL.to_vec(), |mode| mode.name().into());
    for table in chosen(&words, vec!["published", "sessions", "transactions"], |table| table.to_string()) {
        for &mode in &modes {
            match table {
                "published" => published(&clients, mode, time_max),
                "sessions" => sweep(&clients, mode, table, |sessions| Shape { sessions, transactions: 3 }, time_max),
                _ => sweep(&clients, mode, table, |transactions| Shape { sessions: 3, transactions }, time_max),
            }
        }
    }
}

/// Those whose names hold one of the words; all of them if none does.
fn chosen<T>(words: &[String], all: Vec<T>, name: impl Fn(&T) -> String) -> Vec<T> {
    let is_chosen = |item: &T| words.iter().any(|word| name(item).contains(word.as_str()));
    match all.iter().any(is_chosen) {
        true => all.into_iter().filter(is_chosen).collect(),
        false => all,
    }
}

fn run(client: &Client, shape: Shape, mode: Mode, configuration: Configuration, time_max: Duration) -> Measured {
    let scenario = client.scenario(shape, mode).expect("TrOOP's clients are supported");
    configuration.measure(&scenario, time_max)
}

/// The clients as they were published: how many states there are, and how many runs we need. Counting the states is for
/// comparison only, and may take a fifth of the time.
fn published(clients: &[Client], mode: Mode, time_max: Duration) {
    println!("\n### TrOOP's clients, {}\n", mode.name());
    let head = ["client", "states", "executions", "different ends", "steps", "time", "steps/s", "TrOOP", "ratio"];
    let mut table = Table::new(head);
    for client in clients {
        let states = run(client, Shape::PUBLISHED, mode, Configuration::NAIVE, time_max / 5);
        let ours = run(client, Shape::PUBLISHED, mode, Configuration::ours(), time_max);
        let seconds = client.notation().seconds;
        table.row([
            client.name(),
            states.count(states.summary.states_seen),
            ours.count(ours.summary.leaves),
            ours.count(ours.ends.len() as u64),
            ours.count(ours.summary.transitions),
            ours.time(),
            number(ours.rate() as u64),
            format!("{seconds} s"),
            if ours.summary.is_complete() { ratio(ours.elapsed.as_secs_f64(), seconds as f64) } else { "-".into() },
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
