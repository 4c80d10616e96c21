//! Searches that were stopped, kept in a file: `--checkpoint`.
//!
//! The file is written when a search ends before its time, and every minute while it runs: whatever ends the process,
//! at most the last minute is lost. It is written beside its place and renamed, and its first line says what the rest
//! must amount to, so a file that was cut or changed is told from a whole one.

use std::fs;
use std::io::ErrorKind;
use std::ops::ControlFlow::{self, Break, Continue};
use std::path::Path;
use std::time::{Duration, Instant};

use isolde_explore::Limit;
use isolde_report::{Report, Verdict};
use isolde_scenario::{Checked, Checkpoint};
use sha2::{Digest, Sha256};

use crate::args::Explore;
use crate::complain::Mistake;
use crate::output;

/// What the first line begins with.
const HEAD: &str = "isolde checkpoint sha256 ";
/// How long a search runs before what is left of it is kept.
const EVERY: Duration = Duration::from_secs(60);
/// Another time between two of them, in milliseconds: for tests.
const EVERY_VARIABLE: &str = "ISOLDE_CHECKPOINT_MS";

/// Stops a search now and then, so that it can be kept. It goes on from there.
pub(crate) struct Pause {
    until: Option<Instant>,
    over: bool,
}

impl Pause {
    /// The next part of a search; all of it, if nothing is to be kept.
    pub(crate) fn new(explore: &Explore) -> Pause {
        let given = std::env::var(EVERY_VARIABLE).ok().and_then(|text| text.parse().ok()).map(Duration::from_millis);
        let until = explore.checkpoint.is_some().then(|| Instant::now() + given.unwrap_or(EVERY));
        Pause { until, over: false }
    }

    /// Stops the search when the time has come.
    pub(crate) fn look(&mut self) -> ControlFlow<Limit> {
        self.over = self.until.is_some_and(|until| Instant::now() >= until);
        if self.over { Break(Limit::Interrupt) } else { Continue(()) }
    }

    /// Whether this is why the search was stopped.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }
}

/// The search to go on with, if there is a file with one.
pub(crate) fn read(explore: &Explore) -> Result<Option<Checkpoint>, Mistake> {
    let Some(path) = &explore.checkpoint else { return Ok(None) };
    match fs::read_to_string(path) {
        Ok(text) => opened(&text).and_then(Checkpoint::from_json).map(Some).map_err(|error| problem(path, &error)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(problem(path, &error.to_string())),
    }
}

/// Keeps what is left of a search, or removes the file if nothing is. The answer, which says so; or what to go on with,
/// if the search was only [paused](Pause).
pub(crate) fn write(explore: &Explore, checked: Checked, paused: bool) -> Result<Result<Report, Checkpoint>, Mistake> {
    let Checked { mut report, checkpoint } = checked;
    match (&explore.checkpoint, checkpoint) {
        (None, _) => {}
        (Some(path), Some(checkpoint)) => {
            output::write(path, &sealed(&checkpoint.to_json()))?;
            if paused {
                return Ok(Err(checkpoint));
            }
            if let Verdict::Inconclusive(reason) = &mut report.verdict {
                reason.push_str("; the same command goes on from there");
            }
        }
        (Some(path), None) => match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(problem(path, &error.to_string())),
            _ => {}
        },
    }
    Ok(Ok(report))
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sealed(text: &str) -> String {
    format!("{HEAD}{}\n{text}\n", digest(text))
}

fn opened(text: &str) -> Result<&str, String> {
    let whole = text.strip_prefix(HEAD).and_then(|rest| rest.split_once('\n'));
    let (sum, rest) = whole.ok_or("this is no checkpoint, or one of an older version")?;
    let rest = rest.strip_suffix('\n').unwrap_or(rest);
    match digest(rest) == sum {
        true => Ok(rest),
        false => Err("the checkpoint is not whole: its checksum does not fit. Remove the file to start anew".into()),
    }
}

fn problem(path: &Path, what: &str) -> Mistake {
    Mistake::new(format!("{}: {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cut_or_changed_is_noticed() {
        let file = sealed("{\"n\":12}");
        assert_eq!(opened(&file), Ok("{\"n\":12}"));
        assert!(opened("{}").is_err());
        for end in 0..file.len() - 1 {
            assert!(opened(&file[..end]).is_err(), "{end}");
        }
        assert!(opened(&file.replace("12", "13")).is_err());
    }
}
