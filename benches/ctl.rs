//! Operators of CTL on a large state space, and exploration by a database: `cargo bench -p isolde-benches --bench ctl`.
//!
//! Peterson's lock for several processes, kept in SQLite in memory. Each operator is decided twice: on the graph in
//! memory, and by SQL on the table of transitions, which is what remains when a graph does not fit. Before that, the
//! space is found three times: by the program in Rust, and by the database, with one recursive query and level by
//! level.
//!
//! `ISOLDE_BENCH=quick` takes fewer processes.

use isolde_benches::measure::{Stopwatch, quick};
use isolde_benches::table::{Table, number, ratio};
use isolde_statespace::ctl::{Checker, Formula};
use isolde_statespace::explore::Options;
use isolde_statespace::explored::Explored;
use isolde_statespace::graph::BitSet;
use isolde_statespace::packed::Program;
use isolde_statespace::sql::{self, Form, SqlChecker};
use isolde_statespace::store::{Run, Store};
use isolde_statespace::tla::Spec;
use isolde_statespace::tla::spec::Files;

/// As in the `isolde` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const LOCK: &str = include_str!("../crates/statespace/tests/specs/FilterLock.tla");

/// Processes whose space is labelled by SQL, too; and in memory alone.
const BY_SQL: usize = 5;
const IN_MEMORY: usize = 6;

/// What is asked; the columns of the view `state_v` are the atoms.
const FORMULAS: [&str; 6] = [
    r#"EX (pc_1 = "critical")"#,
    r#"EF (pc_1 = "critical")"#,
    r#"E[pc_1 = "wait" U pc_1 = "critical"]"#,
    r#"EG (pc_1 # "critical")"#,
    r#"AG EF (pc_1 = "critical")"#,
    r#"AG (pc_1 = "wait" => AF pc_1 = "critical")"#,
];

fn main() {
    let by_sql = if quick() { 3 } else { BY_SQL };
    engines(by_sql);
    operators(by_sql, true);
    if !quick() {
        operators(IN_MEMORY, false);
    }
}

/// The same space, found by each engine.
fn engines(processes: usize) {
    println!("Exploration, {processes} processes\n");
    let start = Stopwatch::start();
    let explored = explore(processes, false);
    let rust = start.elapsed().as_secs_f64();
    let program = explored.program.clone().expect("the lock is compiled");
    let mut table = Table::new(["engine", "states", "CPU", "states/s", "ratio to Rust"]);
    let mut row = |engine: &str, seconds: f64| {
        let rate = number((explored.count() as f64 / seconds) as u64);
        let states = number(explored.count() as u64);
        table.row([engine.into(), states, format!("{seconds:.2} s"), rate, ratio(rust, seconds)]);
    };
    row("rust", rust);
    for (name, form) in [("SQLite, one query", Form::Closure), ("SQLite, levels", Form::Levels)] {
        let start = Stopwatch::start();
        let states = by_database(&mut store(), &program, form);
        assert_eq!(states, explored.count(), "{name} finds the same");
        row(name, start.elapsed().as_secs_f64());
    }
    println!("{table}");
}

/// Each operator, on the graph and by SQL.
fn operators(processes: usize, by_sql: bool) {
    let mut explored = explore(processes, true);
    let space = explored.to_space();
    println!(
        "CTL, {processes} processes: {} states, {} transitions\n",
        number(space.states() as u64),
        number(space.graph.transitions() as u64)
    );
    let mut kept = store();
    if by_sql {
        kept.write(&space, &Run::default()).expect("memory takes everything");
    }
    let mut table = Table::new(["formula", "states", "in memory", "SQLite", "ratio"]);
    for text in FORMULAS {
        let formula = Formula::parse(text).expect("the formula is right");
        let atom = |text: &str| Ok::<_, std::convert::Infallible>(critical_or_waiting(&space, text));
        let start = Stopwatch::start();
        let Ok(label) = Checker::new(&space.graph, atom).states(&formula);
        let seconds = start.elapsed().as_secs_f64();
        let other = by_sql.then(|| {
            let start = Stopwatch::start();
            let relation = SqlChecker::new(&mut kept).states(&formula).expect("the formula is right");
            let count = kept.database().number(&format!("SELECT count(*) FROM {relation}")).expect("it is there");
            assert_eq!(count as usize, label.count(), "{text}: in memory and by SQL");
            start.elapsed().as_secs_f64()
        });
        table.row([
            text.into(),
            number(label.count() as u64),
            format!("{seconds:.3} s"),
            other.map_or("-".into(), |other| format!("{other:.2} s")),
            other.map_or("-".into(), |other| ratio(seconds, other)),
        ]);
    }
    println!("{table}");
}

/// The two atoms that occur, with their negation.
fn critical_or_waiting(space: &isolde_statespace::space::Space, text: &str) -> BitSet {
    let slot = space.layout.slots.iter().find(|slot| slot.name == "pc[1]").expect("the first process has a place");
    let isolde_statespace::packed::SlotKind::Enum(values) = &slot.kind else { unreachable!("places are strings") };
    let value = text.split('"').nth(1).unwrap_or_default();
    let code = values.iter().position(|other| other.trim_matches('"') == value).expect("the place is known") as i64;
    let equal = !text.contains('#');
    BitSet::of(space.states(), |state| (slot.get(space.keys[state as usize]) == code) == equal)
}

fn store() -> Store {
    Store::memory().expect("memory can be opened")
}

fn by_database(store: &mut Store, program: &Program, form: Form) -> usize {
    let mut options = sql::Options { form, deadlock: false, proceed: &mut |_, _| true };
    let found = sql::explore(store, program, &Run::default(), &mut options).expect("the database explores");
    assert_eq!((found.stop, found.form), (None, form));
    found.states
}

fn explore(processes: usize, graph: bool) -> Explored {
    let config = format!("SPECIFICATION Spec\nCONSTANT N = {processes}\nINVARIANTS TypeOK Exclusion\n");
    let files = Files { name: "FilterLock.tla", text: LOCK, config: Some(("bench.cfg", &config)) };
    let spec = Spec::load(&files, &mut |_| None).expect("the specification is right");
    let options = Options { deadlock: false, graph, stop: true, states_max: usize::MAX };
    Explored::explore(&spec, &options, &mut ()).expect("the specification is right")
}
