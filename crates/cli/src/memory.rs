//! How much memory the process uses, where the system tells: on Linux, in `/proc/self`.

/// Bytes that the process uses now.
pub(crate) fn used() -> Option<u64> {
    line("VmRSS:")
}

/// The most bytes that the process has used.
pub(crate) fn peak() -> Option<u64> {
    line("VmHWM:")
}

/// `VmRSS:     1234 kB`
fn line(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
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
    }
}
