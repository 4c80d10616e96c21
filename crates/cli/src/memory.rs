//! What the process uses and may use, where the system tells: on Linux, in `/proc` and `/sys`.

use std::fs;
use std::time::Duration;

/// Bytes that the process uses now.
pub(crate) fn used() -> Option<u64> {
    line("/proc/self/status", "VmRSS:")
}

/// The most bytes that the process has used.
pub(crate) fn peak() -> Option<u64> {
    line("/proc/self/status", "VmHWM:")
}

/// Bytes that the process may use without harm to others: most of what the machine has, or the container.
pub(crate) fn affordable() -> Option<u64> {
    let available = line("/proc/meminfo", "MemAvailable:").map(|available| available + used().unwrap_or(0));
    let least = [available, control_group()].into_iter().flatten().min()?;
    Some(least / 10 * 9)
}

/// What the control group of a container may use: version 2, else version 1. Without a limit there is no number, or
/// an enormous one.
fn control_group() -> Option<u64> {
    let files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    files.iter().find_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok())
}

/// Processor time that the process has had.
pub(crate) fn processor_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field, the name, may have spaces and parentheses; user and system time are the 14th and 15th.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * TICK_MS))
}

/// Linux counts hundredths of seconds there, on every machine.
const TICK_MS: u64 = 10;

/// `VmRSS:     1234 kB`
fn line(file: &str, name: &str) -> Option<u64> {
    let status = fs::read_to_string(file).ok()?;
    let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = rest.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_not_below_what_is_used() {
        let now = used().unwrap_or(u64::MAX);
        assert!(now > 100_000 && now <= peak().unwrap_or(0));
        assert!(affordable().is_some_and(|bytes| bytes > now));
    }

    #[test]
    fn processor_time_passes_where_something_is_computed() {
        let before = processor_time();
        while processor_time() == before {
            std::hint::black_box(1);
        }
        assert!(processor_time() > before);
    }
}
