//! A search, measured: how many runs, states and steps, and how long it took.
//!
//! Times are of the processor where the system tells them (Linux), so that other work on the machine does not count;
//! elsewhere they are what a clock shows.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use isolde_explore::{Limit, Progress, Search, Summary, System, Visit, Visitor};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use rustc_hash::FxHashSet;

use crate::table::number;

/// How long a search may take: `normally`, or what `ISOLDE_BENCH_SECONDS` says, or a moment if a quick look is enough
/// (`ISOLDE_BENCH=quick`, or under `cargo test`).
pub fn time_max(normally: Duration) -> Duration {
    if quick() {
        return Duration::from_millis(20);
    }
    let seconds = std::env::var("ISOLDE_BENCH_SECONDS").ok().and_then(|v| v.parse().ok());
    seconds.map_or(normally, Duration::from_secs)
}

/// The memory that this process has in use, where the system says (Linux).
pub fn resident_bytes() -> Option<u64> {
    status("VmRSS:")
}

/// The memory that it has had in use at most.
pub fn peak_bytes() -> Option<u64> {
    status("VmHWM:")
}

fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// The time that processes we have started and waited for have had the processor, for themselves and in the system.
pub fn children_time() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Duration::ZERO };
    let time = |time: TimeVal| Duration::from_micros(u64::try_from(time.num_microseconds()).unwrap_or(0));
    time(usage.user_time()) + time(usage.system_time())
}

/// What a search did, and in which time.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What it saw.
    pub summary: Summary,
    /// Digests of the ends of runs. Two runs with the same one cannot be told apart by anybody.
    pub ends: FxHashSet<u128>,
    /// How long it took the processor.
    pub elapsed: Duration,
}

impl Measured {
    /// A count as it was seen; behind `>` if the time was up before the search had ended.
    pub fn count(&self, n: u64) -> String {
        if self.summary.is_complete() { number(n) } else { format!(">{}", number(n)) }
    }

    /// Milliseconds; behind `>` if the time was up.
    pub fn time(&self) -> String {
        let ms = self.elapsed.as_secs_f64() * 1e3;
        let more = if self.summary.is_complete() { "" } else { ">" };
        if ms < 10.0 { format!("{more}{ms:.1} ms") } else { format!("{more}{} ms", number(ms.round() as u64)) }
    }

    /// Steps per second.
    pub fn rate(&self) -> f64 {
        self.summary.transitions as f64 / self.elapsed.as_secs_f64()
    }
}

/// Whether a short run is asked for: by `ISOLDE_BENCH=quick`, or because `cargo test --benches` runs a benchmark.
pub fn quick() -> bool {
    !std::env::args().any(|a| a == "--bench") || std::env::var("ISOLDE_BENCH").is_ok_and(|v| v == "quick")
}

/// Searches shorter than this are repeated and averaged: the system updates the processor's time every few
/// milliseconds.
const AT_LEAST: Duration = Duration::from_millis(100);

/// Searches `system` until it is done or the time is up.
pub fn measure<S: System>(system: &S, search: &Search, time_max: Duration) -> Measured {
    let start = Stopwatch::start();
    for round in 1.. {
        let mut look = Look { start: Stopwatch::start(), time_max, ends: FxHashSet::default() };
        let summary = search.run(system, &mut look);
        let elapsed = start.elapsed();
        if elapsed >= AT_LEAST.min(time_max) || !summary.is_complete() {
            return Measured { summary, ends: look.ends, elapsed: elapsed / round };
        }
    }
    unreachable!("time goes by")
}

/// Searches `system` with several workers at once, by the clock on the wall.
pub fn measure_jobs<S>(system: &S, search: &Search, jobs: usize, time_max: Duration) -> Measured
where
    S: System<State: Send + Sync, Step: Send + Sync, Event: Send + Sync> + Sync,
{
    let start = Stopwatch::on_the_wall();
    let look = || Look { start, time_max, ends: FxHashSet::default() };
    let done = search.run_jobs(system, jobs, None, look).expect("a search from the start matches itself");
    let ends = done.visitors.into_iter().flat_map(|look| look.ends).collect();
    Measured { summary: done.summary, ends, elapsed: start.elapsed() }
}

/// Remembers the ends of runs, and looks at the clock.
struct Look {
    start: Stopwatch,
    time_max: Duration,
    ends: FxHashSet<u128>,
}

impl<S: System> Visitor<S> for Look {
    fn leaf(&mut self, at: &Visit<'_, S>) -> ControlFlow<()> {
        self.ends.extend(at.system.digest(at.state));
        ControlFlow::Continue(())
    }

    fn progress(&mut self, _: &Progress) -> ControlFlow<Limit> {
        match self.start.elapsed() < self.time_max {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(Limit::Time),
        }
    }
}

/// Measures the time that this thread, or the only one of another process, has had the processor.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    clock: Instant,
    process: Option<u32>,
    processor: Option<Duration>,
}

impl Stopwatch {
    /// Starts now.
    pub fn start() -> Stopwatch {
        Stopwatch { clock: Instant::now(), process: None, processor: processor_time(None) }
    }

    /// Starts now, for another process.
    pub fn of_process(process: u32) -> Stopwatch {
        Stopwatch { clock: Instant::now(), process: Some(process), processor: processor_time(Some(process)) }
    }

    /// Starts now, and measures what a clock shows.
    pub fn on_the_wall() -> Stopwatch {
        Stopwatch { clock: Instant::now(), process: None, processor: None }
    }

    /// The time since then.
    pub fn elapsed(&self) -> Duration {
        let processor = self.processor.and_then(|then| Some(processor_time(self.process)?.saturating_sub(then)));
        processor.unwrap_or_else(|| self.clock.elapsed())
    }
}

/// The time that a process, or this thread, has had the processor.
fn processor_time(process: Option<u32>) -> Option<Duration> {
    let place = process.map_or("thread-self".into(), |process| process.to_string());
    let text = std::fs::read_to_string(format!("/proc/{place}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
