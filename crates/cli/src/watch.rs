//! What looks on while a search runs: the clock, the interrupt, and the line on the terminal.

use std::io::IsTerminal;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use isolde_explore::{Limit, Progress};

use crate::memory;

/// Set by the first Ctrl-C.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Lets Ctrl-C stop the search, so that what is known can still be printed. A second one ends the process.
pub(crate) fn catch_interrupts() {
    let caught = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    // Without a handler Ctrl-C ends the process at once, which is bearable.
    drop(caught);
}

/// Whether the user pressed Ctrl-C.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Nanoseconds since some moment.
pub(crate) fn nanoseconds() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64
}

/// Looks on one search.
pub(crate) struct Watch {
    started: Instant,
    time_max: Option<Duration>,
    memory_max: Option<u64>,
    /// How often it was looked, so that memory is looked at less often.
    looks: u64,
    /// The file, if its progress is to be shown.
    shown: Option<String>,
    /// There once the search has taken long enough.
    line: Option<ProgressBar>,
    /// When the line may change next.
    next_change: Duration,
}

/// A search that is over sooner shows no line at all.
const QUIET_FOR: Duration = Duration::from_millis(400);
/// Looks between two looks at the memory.
const MEMORY_EVERY: u64 = 8;
/// Between two changes of the line.
const REFRESH: Duration = Duration::from_millis(100);

impl Watch {
    /// Starts the clock. With `progress` there is a line on standard error, if that is a terminal.
    pub(crate) fn start(file: &str, time_max: Option<Duration>, progress: bool) -> Watch {
        let shown = (progress && std::io::stderr().is_terminal()).then(|| file.to_string());
        let started = Instant::now();
        Watch { started, time_max, memory_max: None, looks: 0, shown, line: None, next_change: QUIET_FOR }
    }

    /// Ends a search when the process uses this many bytes.
    pub(crate) fn limited(mut self, memory_max: Option<u64>) -> Watch {
        self.memory_max = memory_max;
        self
    }

    /// Whether the process uses more memory than it may; looked at now and then, as it costs a file to read.
    fn is_full(&mut self) -> bool {
        let Some(max) = self.memory_max else { return false };
        self.looks += 1;
        self.looks % MEMORY_EVERY == 1 && memory::used().is_some_and(|used| used >= max)
    }

    /// The time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Takes in how far the search has come, and says whether it must stop.
    pub(crate) fn look(&mut self, progress: &Progress) -> ControlFlow<Limit> {
        self.tell(|elapsed| words(progress, elapsed))
    }

    /// The same for anything that can be put in words.
    pub(crate) fn tell(&mut self, words: impl FnOnce(Duration) -> String) -> ControlFlow<Limit> {
        if interrupted() {
            return Break(Limit::Interrupt);
        }
        let elapsed = self.elapsed();
        if self.time_max.is_some_and(|max| elapsed >= max) {
            return Break(Limit::Time);
        }
        if self.is_full() {
            return Break(Limit::Memory);
        }
        if let Some(file) = self.shown.as_deref().filter(|_| elapsed >= self.next_change) {
            let line = self.line.get_or_insert_with(|| progress_line(file));
            line.set_message(format!("{} s  {}", elapsed.as_secs(), words(elapsed)));
            line.tick();
            self.next_change = elapsed + REFRESH;
        }
        Continue(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}

fn progress_line(file: &str) -> ProgressBar {
    let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    let style = ProgressStyle::with_template("{spinner} {prefix}  {msg}");
    line.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    line.set_prefix(file.to_string());
    line
}

/// `120,000 states, 4 ends, 45,000 steps/s, depth 14, 3,200 waiting`
fn words(progress: &Progress, elapsed: Duration) -> String {
    let rate = (progress.transitions as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
    format!(
        "{} states, {} ends, {} steps/s, depth {}, {} waiting",
        HumanCount(progress.states_seen),
        HumanCount(progress.leaves),
        HumanCount(rate),
        progress.depth,
        HumanCount(progress.pending as u64),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_in_words() {
        let progress = Progress { states_seen: 120_000, transitions: 90_000, leaves: 4, depth: 14, pending: 3_200 };
        let words = words(&progress, Duration::from_secs(2));
        assert_eq!(words, "120,000 states, 4 ends, 45,000 steps/s, depth 14, 3,200 waiting");
    }

    #[test]
    fn the_clock_stops_a_search() {
        let mut watch = Watch::start("bank.sql", Some(Duration::ZERO), false);
        assert_eq!(watch.look(&Progress::default()), Break(Limit::Time));
        let mut watch = Watch::start("bank.sql", None, false);
        assert_eq!(watch.look(&Progress::default()), Continue(()));
        let mut watch = Watch::start("bank.sql", None, false).limited(Some(1));
        assert_eq!(watch.look(&Progress::default()), Break(Limit::Memory));
    }
}
