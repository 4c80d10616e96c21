//! A long comparison: very many generated programs, on several servers at once.
//!
//! A [`Campaign`] takes programs from consecutive seeds. The seed also chooses the generator, by weight, from
//! [`GENERATORS`]; so a campaign is described by its first seed and its length, and says the same however many workers
//! share it. Each worker has a server and an engine of its own, and takes the next seed as soon as it is done with one:
//!
//! ```text
//!   next seed ──▶ generator ──▶ Program ──▶ comparison ──▶ Tally
//!       ▲             worker 0, 1, ..                        │ equal, unstable, refused,
//!       └────────────────────────────────────────────────────┘ different (first of its kind: shrunk and reported)
//! ```
//!
//! One cause shows in many programs. Differences are grouped by [`Difference::signature`]; the first of a group is
//! shrunk, the others are counted.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::cluster::Cluster;
use crate::engine::Engine;
use crate::generate::{self, GENERATORS, Generator};
use crate::mirror::{Comparison, Difference, Run, Runner, SetupFailure, comparison_of_supported};
use crate::program::{Observation, Program, Response};
use crate::server::Server;

/// Which programs to compare, and with how many workers.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The first seed.
    pub seed: u64,
    /// How many programs.
    pub programs: u64,
    /// Only of this generator; otherwise each seed chooses one by weight.
    pub generator: Option<&'static Generator>,
    /// How many workers.
    pub jobs: usize,
}

/// What a campaign has found so far.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Programs of each generator.
    pub generators: BTreeMap<&'static str, Count>,
    /// Differences by signature.
    pub groups: BTreeMap<String, Group>,
}

/// What became of programs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// Compared without a difference.
    pub equal: u64,
    /// Not repeated by the server itself.
    pub unstable: u64,
    /// Without a difference once the statements were left out that the engine says it does not support.
    pub refused: u64,
    /// Different.
    pub different: u64,
}

/// Differences that look alike.
#[derive(Clone, Debug)]
pub struct Group {
    /// How many there were.
    pub count: u64,
    /// The first that was found: its generator and seed.
    pub example: (&'static str, u64),
    /// The report on it.
    pub report: String,
}

impl Count {
    /// All programs.
    pub fn programs(&self) -> u64 {
        self.equal + self.unstable + self.refused + self.different
    }

    fn plus(self, other: &Count) -> Count {
        Count {
            equal: self.equal + other.equal,
            unstable: self.unstable + other.unstable,
            refused: self.refused + other.refused,
            different: self.different + other.different,
        }
    }
}

impl Tally {
    /// The programs of all generators.
    pub fn total(&self) -> Count {
        self.generators.values().fold(Count::default(), Count::plus)
    }

    /// Counts one of a group; is it the first?
    fn is_new(&mut self, signature: &str, example: (&'static str, u64)) -> bool {
        let group = self.groups.entry(signature.to_string());
        let group = group.or_insert_with(|| Group { count: 0, example, report: String::new() });
        group.count += 1;
        group.count == 1
    }
}

impl Campaign {
    /// Runs it. `news` is told of every program that has been compared, and of every new group.
    pub fn run(&self, news: &(dyn Fn(&Tally, Option<&Group>) + Sync)) -> Tally {
        let (next, tally) = (AtomicU64::new(0), Mutex::new(Tally::default()));
        let end = self.programs;
        thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                scope.spawn(|| {
                    let mut worker = Worker::new();
                    while let Some(seed) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|n| *n < end) {
                        self.compare(self.seed + seed, &mut worker, &tally, news);
                    }
                });
            }
        });
        tally.into_inner().expect("no worker panics while it counts")
    }

    fn compare(
        &self,
        seed: u64,
        worker: &mut Worker,
        tally: &Mutex<Tally>,
        news: &(dyn Fn(&Tally, Option<&Group>) + Sync),
    ) {
        worker.count();
        let generator = self.generator.unwrap_or_else(|| generate::chosen_by(seed));
        let program = (generator.generate)(seed);
        let (outcome, refusals) = comparison_of_supported(program, &mut worker.server, &mut worker.engine);
        let lock = || tally.lock().expect("no worker panics while it counts");
        let example = (generator.name, seed);
        let mut new = None;
        if let Comparison::Different(difference) = &outcome {
            let signature = difference.signature();
            // Counted before it is reported, so that no other worker shrinks the same.
            if lock().is_new(&signature, example) {
                let report = worker.report(difference, example);
                let mut tally = lock();
                let group = tally.groups.get_mut(&signature).expect("groups are never removed");
                group.report = report;
                new = Some(group.clone());
            }
        }
        let mut tally = lock();
        let count = tally.generators.entry(generator.name).or_default();
        match outcome {
            Comparison::Equal if refusals.is_empty() => count.equal += 1,
            Comparison::Equal => count.refused += 1,
            Comparison::Unstable | Comparison::TooNew => count.unstable += 1,
            Comparison::Different(_) => count.different += 1,
        }
        for refusal in refusals {
            tally.is_new(&refusal, example);
        }
        news(&tally, new.as_ref());
    }
}

/// A server and an engine.
struct Worker {
    server: Server,
    compared: usize,
    engine: Unbreakable,
}

impl Worker {
    /// # Panics
    /// If no server can be started.
    fn new() -> Worker {
        Worker { server: fresh_server(), compared: 0, engine: Unbreakable(Engine::new()) }
    }

    /// One more program is to be compared. A server that has run very many leaks what it shares between its sessions.
    fn count(&mut self) {
        self.compared += 1;
        if self.compared.is_multiple_of(PROGRAMS_PER_SERVER) {
            self.server = fresh_server();
        }
    }

    fn report(&mut self, difference: &Difference, (generator, seed): (&str, u64)) -> String {
        let title = format!("# --generator {generator} --seed {seed}\n# {}\n", difference.signature());
        format!("{title}{}", difference.shrunk(&mut self.server, &mut self.engine))
    }
}

/// After so many programs a new server is started.
const PROGRAMS_PER_SERVER: usize = 5_000;

fn fresh_server() -> Server {
    let cluster = Cluster::start().unwrap_or_else(|error| panic!("no PostgreSQL to compare with: {error}"));
    Server::on(Arc::new(cluster)).unwrap_or_else(|error| panic!("cannot open a test database: {error}"))
}

thread_local! {
    /// A panic here and now is an answer, not to be printed.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Panics of an engine that is being compared are not printed; all others are, as before.
pub fn expect_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !QUIET.get() {
            before(info);
        }
    }));
}

/// An engine whose panics are answers: a campaign goes on after them.
struct Unbreakable(Engine);

impl Unbreakable {
    fn guarded<T>(&mut self, run: impl FnOnce(&mut Engine) -> T) -> Result<T, SetupFailure> {
        QUIET.set(true);
        let run = catch_unwind(AssertUnwindSafe(|| run(&mut self.0)));
        QUIET.set(false);
        run.map_err(|payload| {
            self.0 = Engine::new();
            let text = payload.downcast_ref::<String>().cloned();
            let message = text.or_else(|| payload.downcast_ref::<&str>().map(|text| text.to_string()));
            let message = format!("panic: {}", message.unwrap_or_default());
            SetupFailure { statement: "?".into(), error: Response::Error { sqlstate: "XX000".into(), message } }
        })
    }
}

impl Runner for Unbreakable {
    fn run(&mut self, program: &Program) -> Vec<Observation> {
        self.0.run(program)
    }

    fn try_run(&mut self, program: &Program) -> Run {
        self.guarded(|engine| engine.try_run(program)).and_then(|run| run)
    }

    fn run_in_order(&mut self, program: &Program, order: u64) -> Option<Run> {
        match self.guarded(|engine| engine.run_in_order(program, order)) {
            Ok(run) => run,
            Err(failure) => Some(Err(failure)),
        }
    }
}

/// The generator of this name.
pub fn generator(name: &str) -> Option<&'static Generator> {
    GENERATORS.iter().find(|generator| generator.name == name)
}
