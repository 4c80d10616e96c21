//! What looks on while a search runs: the clock, the interrupt, and the line on the terminal.

use std::io::IsTerminal;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use isolde_explore::{Limit, Outlook, Progress, Prospect};
use isolde_wire::{Ended, Patience};

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

/// How long servers are waited for: until the user interrupts, or until a moment.
pub(crate) fn patience(until: Option<Instant>) -> Patience {
    Patience::until(move || match interrupted() {
        true => Some(Ended::Interrupt),
        false => until.is_some_and(|until| Instant::now() >= until).then_some(Ended::Time),
    })
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
    /// What may be said about the rest of the search.
    outlook: Outlook,
    /// When it began, and how many steps it had taken when it was last looked at; a file may take several searches.
    search_began: Duration,
    transitions: u64,
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
        Watch {
            started,
            time_max,
            memory_max: None,
            looks: 0,
            shown,
            line: None,
            next_change: QUIET_FOR,
            outlook: Outlook::default(),
            search_began: Duration::ZERO,
            transitions: 0,
        }
    }

    /// How long servers are waited for.
    pub(crate) fn patience(&self) -> Patience {
        patience(self.time_max.and_then(|time_max| self.started.checked_add(time_max)))
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
        if self.shown.is_none() {
            return self.tell(|_| String::new());
        }
        // A few less only mean that several workers report.
        if progress.transitions < self.transitions / 2 {
            self.search_began = self.elapsed();
            self.transitions = 0;
        }
        self.transitions = self.transitions.max(progress.transitions);
        let (prospect, began) = (self.outlook.look(progress), self.search_began);
        self.tell(|elapsed| words(progress, prospect, elapsed.saturating_sub(began)))
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

/// `120,000 states, 4 ends, 45,000 steps/s, depth 14, 20-40 % done, 2-5 min left`
fn words(progress: &Progress, prospect: Option<Prospect>, elapsed: Duration) -> String {
    let rate = (progress.transitions as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
    let mut words = format!(
        "{} states, {} ends, {} steps/s, depth {}",
        HumanCount(progress.states_seen),
        HumanCount(progress.leaves),
        HumanCount(rate),
        progress.depth,
    );
    // What waits on the path of a search that can tell more is of no interest.
    if progress.explored_ppm.is_none() {
        words += &format!(", {} waiting", HumanCount(progress.pending as u64));
    }
    words + &prospect.map_or_else(String::new, |prospect| outlook_words(prospect, elapsed))
}

/// `, 20-40 % done, 2-5 min left`
fn outlook_words(prospect: Prospect, elapsed: Duration) -> String {
    let percent = |ppm: u32| ppm / 10_000;
    let left = |ppm: u32| elapsed.as_secs_f64() * (1e6 / f64::from(ppm.max(1)) - 1.0);
    match prospect {
        Prospect::AtMost(most) => {
            format!(", at most {} % done, at least {} left", percent(most).max(1), span(left(most), left(most)))
        }
        Prospect::Between(least, most) => {
            let done = match (percent(least), percent(most)) {
                (_, 0) => "less than 1".to_string(),
                (least, most) if least == most => format!("{most}"),
                (least, most) => format!("{least}-{most}"),
            };
            format!(", {done} % done, {} left", span(left(most), left(least)))
        }
        Prospect::Growing => ", growing".into(),
        Prospect::Shrinking => ", shrinking".into(),
    }
}

/// Between so many seconds and so many: `40 s`, `2-5 min`, `50 s to 3 min`.
fn span(least: f64, most: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1.0, "s"), (60.0, "min"), (3600.0, "h"), (86_400.0, "days")];
    let unit = |seconds: f64| UNITS.iter().rev().find(|(size, _)| seconds >= 2.0 * size).unwrap_or(&UNITS[0]);
    let in_unit = |seconds: f64, size: f64| HumanCount((seconds / size).round() as u64).to_string();
    let ((small, small_name), (large, large_name)) = (*unit(least), *unit(most));
    let (from, to) = (in_unit(least, small), in_unit(most, large));
    match small_name == large_name {
        true if from == to => format!("{to} {large_name}"),
        true => format!("{from}-{to} {large_name}"),
        false => format!("{from} {small_name} to {to} {large_name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_in_words() {
        let counted =
            Progress { states_seen: 120_000, transitions: 90_000, leaves: 4, depth: 14, ..Progress::default() };
        let after = Duration::from_secs(2);
        let told = words(&Progress { pending: 3_200, ..counted }, Some(Prospect::Growing), after);
        assert_eq!(told, "120,000 states, 4 ends, 45,000 steps/s, depth 14, 3,200 waiting, growing");
        let told = words(&Progress { explored_ppm: Some(1), ..counted }, None, after);
        assert_eq!(told, "120,000 states, 4 ends, 45,000 steps/s, depth 14");
    }

    #[test]
    fn estimates_in_words() {
        let told = |prospect, seconds| outlook_words(prospect, Duration::from_secs(seconds));
        assert_eq!(told(Prospect::Between(200_000, 400_000), 100), ", 20-40 % done, 3-7 min left");
        assert_eq!(told(Prospect::Between(250_000, 500_000), 90), ", 25-50 % done, 90 s to 5 min left");
        assert_eq!(told(Prospect::Between(501_000, 504_000), 90), ", 50 % done, 89-90 s left");
        assert_eq!(told(Prospect::Between(10, 30), 60), ", less than 1 % done, 23-69 days left");
        assert_eq!(told(Prospect::AtMost(100_000), 60), ", at most 10 % done, at least 9 min left");
        assert_eq!(told(Prospect::Between(0, 1), 600), ", less than 1 % done, 6,944 days left");
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
