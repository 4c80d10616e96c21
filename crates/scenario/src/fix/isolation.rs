//! A stronger isolation level: for one thread, or for all.
//!
//! A level promises something about a transaction, so a thread that is several of them without anybody's having wished
//! so (`autocommit`, or statements without a BEGIN) becomes one first. Whether aborts need a `retry` shows when the
//! level is judged.

use isolde_sql::ast::Isolation;

use super::thread::{self, Change};
use super::{Candidate, Case, Kind};
use crate::file::ThreadSection;
use crate::names;

pub(super) struct StrongerIsolation;

/// Threads that are tried alone, at most.
const ALONE_MAX: usize = 4;

impl Kind for StrongerIsolation {
    fn name(&self) -> &'static str {
        "isolation"
    }

    fn is_about_levels(&self) -> bool {
        true
    }

    fn propose(&self, case: &Case<'_>) -> Vec<Candidate> {
        // A stronger level takes no fewer locks.
        if !case.run.system.deadlocked(&case.run.end).is_empty() {
            return Vec::new();
        }
        let sections = case.sections();
        let mut candidates = Vec::new();
        for level in [Isolation::RepeatableRead, Isolation::Serializable] {
            let weaker: Vec<_> = sections.iter().filter(|(section, _)| level_of(case, section) < level).collect();
            let everybody = weaker.len() == sections.len();
            // SERIALIZABLE protects from others that have it too.
            if level == Isolation::RepeatableRead && weaker.len() > 1 && weaker.len() <= ALONE_MAX {
                for (section, names) in &weaker {
                    candidates.extend(candidate(case, level, &[*section], &names::listed(names)).map(Candidate::minor));
                }
            }
            let all: Vec<&ThreadSection> = weaker.iter().map(|(section, _)| *section).collect();
            let names: Vec<&str> = weaker.iter().flat_map(|(_, names)| names.iter().copied()).collect();
            let who = if everybody { "all".to_string() } else { names::listed(&names) };
            candidates.extend(candidate(case, level, &all, &who));
        }
        candidates.extend(one_transaction(case));
        candidates
    }
}

fn level_of(case: &Case<'_>, section: &ThreadSection) -> Isolation {
    section.isolation.or(case.file.options.isolation).unwrap_or_default()
}

fn candidate(case: &Case<'_>, level: Isolation, sections: &[&ThreadSection], who: &str) -> Option<Candidate> {
    if sections.is_empty() {
        return None;
    }
    let change = Change { isolation: Some(level), transaction: true, ..Change::default() };
    let edits = sections.iter().flat_map(|section| thread::edits(section, change, case.text())).collect();
    let loose = sections.iter().any(|section| thread::needs_transaction(section, change));
    let one = if loose { ", in one transaction" } else { "" };
    Some(Candidate::new(format!("{} for {who}{one}", thread::name(level).to_uppercase()), edits))
}

/// One transaction at the level there is.
fn one_transaction(case: &Case<'_>) -> Option<Candidate> {
    let sections = case.sections();
    let change = Change { transaction: true, ..Change::default() };
    let loose: Vec<_> = sections.iter().filter(|(section, _)| thread::needs_transaction(section, change)).collect();
    if loose.is_empty() {
        return None;
    }
    let names: Vec<&str> = loose.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let edits = loose.iter().flat_map(|(section, _)| thread::edits(section, change, case.text())).collect();
    Some(Candidate::new(format!("one transaction for {}", each(&names)), edits))
}

fn each(names: &[&str]) -> String {
    if names.len() > 1 { format!("each of {}", names::listed(names)) } else { names::listed(names) }
}
