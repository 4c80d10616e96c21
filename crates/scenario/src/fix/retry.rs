//! Trying again after a serialization failure or a deadlock.
//!
//! For a deadlock it is a fix of its own. For every other one that holds but makes threads give up, it is what makes it
//! whole.

use std::collections::BTreeSet;

use super::thread::{self, Change};
use super::{Candidate, Case, Kind};
use crate::file::{ScenarioFile, ThreadSection};

pub(super) struct Retry;

impl Kind for Retry {
    fn name(&self) -> &'static str {
        "retry"
    }

    fn propose(&self, case: &Case<'_>) -> Vec<Candidate> {
        let waiting: BTreeSet<usize> = case.run.system.deadlocked(&case.run.end).into_iter().collect();
        candidate(case.file, case.text(), &waiting).into_iter().collect()
    }
}

/// These threads may start again as often as there are others.
pub(super) fn candidate(file: &ScenarioFile, text: &str, threads: &BTreeSet<usize>) -> Option<Candidate> {
    let retries = file.threads.len().saturating_sub(1).max(1) as u32;
    let change = Change { retries: Some(retries), ..Change::default() };
    let sections = file.threads.iter().enumerate().filter(|(thread, _)| threads.contains(thread));
    let mut sections: Vec<&ThreadSection> = sections.map(|(_, s)| s).filter(|s| s.retries < retries).collect();
    sections.dedup_by_key(|section| section.span);
    let edits: Vec<_> = sections.iter().flat_map(|section| thread::edits(section, change, text)).collect();
    (!edits.is_empty()).then(|| Candidate::new(format!("retry {retries}"), edits))
}
