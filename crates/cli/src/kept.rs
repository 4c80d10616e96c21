//! Searches that were stopped, kept in a file: `--checkpoint`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use isolde_report::{Report, Verdict};
use isolde_scenario::{Checked, Checkpoint};

use crate::args::Explore;
use crate::complain::Mistake;

/// The search to go on with, if there is a file with one.
pub(crate) fn read(explore: &Explore) -> Result<Option<Checkpoint>, Mistake> {
    let Some(path) = &explore.checkpoint else { return Ok(None) };
    match fs::read_to_string(path) {
        Ok(text) => Checkpoint::from_json(&text).map(Some).map_err(|error| problem(path, &error)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(problem(path, &error.to_string())),
    }
}

/// Keeps what is left of a search, or removes the file if nothing is. Says so in the answer.
pub(crate) fn write(explore: &Explore, checked: Checked) -> Result<Report, Mistake> {
    let Checked { mut report, checkpoint } = checked;
    match (&explore.checkpoint, checkpoint) {
        (None, _) => {}
        (Some(path), Some(checkpoint)) => {
            // Written beside it first, so that there is a whole one at any time.
            let beside = path.with_added_extension("new");
            let written = fs::write(&beside, checkpoint.to_json()).and_then(|()| fs::rename(&beside, path));
            written.map_err(|error| problem(path, &error.to_string()))?;
            if let Verdict::Inconclusive(reason) = &mut report.verdict {
                reason.push_str("; the same command goes on from there");
            }
        }
        (Some(path), None) => match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(problem(path, &error.to_string())),
            _ => {}
        },
    }
    Ok(report)
}

fn problem(path: &Path, what: &str) -> Mistake {
    Mistake::new(format!("{}: {what}", path.display()))
}
