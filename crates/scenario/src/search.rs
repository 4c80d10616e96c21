//! Which search the settings ask for, and what may be concluded from it.
//!
//! A kind of search is a [`Strategy`] with or without matching of states; most settings go with some kinds only, and a
//! combination that makes no sense is refused rather than ignored ([`conflict`]). A search that has left something out,
//! by a limit, by chance or by trusting a relation that overlooks dependences, never says "holds".

use isolde_explore::{Completeness, Limit, Limits, Matching, Reduction, Restore, Search, Strategy, Summary};
use isolde_report::{Details, Stats, Verdict};

use crate::dependence::Dependence;
use crate::file::{FileOptions, Granularity, Hashing, SearchKind};

/// States looked at unless the user says otherwise.
pub const STATES_MAX: u64 = 2_000_000;
/// Random runs drawn unless the user says otherwise.
pub const RUNS: u64 = 1_000;
/// Events in order that PCT looks for unless the user says otherwise.
pub const BUG_DEPTH: u64 = 3;
/// A run that is longer than this may never end: then a search that follows runs to their ends gives way to one that
/// recognises states.
pub const RUN_STEPS_MAX: usize = 5_000;

/// The kind of search: what was asked for, or what goes with the other settings.
pub fn kind(settings: &FileOptions) -> SearchKind {
    let restores = settings.restore.is_some_and(|restore| restore != Restore::Snapshot);
    let needs_states = restores || settings.preemptions.is_some() || settings.hash.is_some();
    settings.search.unwrap_or(if needs_states { SearchKind::Stateful } else { SearchKind::default() })
}

/// Whether states are matched and steps left out.
pub(crate) fn is_graph(settings: &FileOptions) -> bool {
    kind(settings) == SearchKind::Stateful && settings.dependence.is_some()
}

/// Whether steps are left out that are taken to commute.
fn is_reduced(settings: &FileOptions) -> bool {
    matches!(kind(settings), SearchKind::Dpor | SearchKind::Source) || is_graph(settings)
}

/// Whether a search with these settings can be stopped and gone on with.
pub fn is_resumable(settings: &FileOptions) -> bool {
    matches!(kind(settings), SearchKind::Dpor | SearchKind::Source)
}

/// What is wrong with a combination of settings, in a sentence.
pub fn conflict(settings: &FileOptions) -> Option<String> {
    let kind = kind(settings);
    let plain = matches!(kind, SearchKind::Stateful | SearchKind::Stateless);
    let name = kind.name();
    match settings {
        FileOptions { restore: Some(way), .. } if *way != Restore::Snapshot && !plain => Some(format!(
            "restore {} goes with the searches stateful and stateless; {name} keeps the states it comes back to",
            way.name()
        )),
        FileOptions { preemptions: Some(_), .. } if !plain => {
            Some(format!("preemptions are counted in the searches stateful and stateless, not in {name}"))
        }
        FileOptions { preemptions: Some(_), .. } if is_graph(settings) => Some(
            "preemptions cannot be bounded together with a dependence: the run that stands for others may have more of \
             them than these"
                .into(),
        ),
        FileOptions { dependence: Some(_), .. } if !is_reduced(settings) => {
            Some(format!("a dependence goes with the searches dpor, source and stateful; {name} leaves out nothing"))
        }
        FileOptions { hash: Some(_), .. } if kind != SearchKind::Stateful => {
            Some(format!("hash goes with the search stateful; {name} recognises no states"))
        }
        _ => None,
    }
}

/// The search that the settings ask for.
pub fn search(settings: &FileOptions) -> Search {
    let restore = settings.restore.unwrap_or_default();
    let (seed, runs) = (settings.seed.unwrap_or(0), settings.runs.unwrap_or(RUNS));
    let matched = if settings.hash == Some(Hashing::Off) { Matching::Off } else { Matching::Digest };
    let (strategy, matching) = match kind(settings) {
        SearchKind::Dpor => (Strategy::Dpor(Reduction::Optimal), Matching::Off),
        SearchKind::Source => (Strategy::Dpor(Reduction::Source), Matching::Off),
        SearchKind::Stateful if is_graph(settings) => (Strategy::Reduced, Matching::Digest),
        SearchKind::Stateful if restore != Restore::Snapshot || settings.preemptions.is_some() => {
            (Strategy::Depth, matched)
        }
        SearchKind::Stateful => (Strategy::Breadth, matched),
        SearchKind::Stateless => (Strategy::Depth, Matching::Off),
        SearchKind::Random => (Strategy::Random { seed, runs }, Matching::Off),
        SearchKind::Pct => {
            let bug_depth = settings.bug_depth.unwrap_or(BUG_DEPTH);
            (Strategy::Pct { seed, runs, bug_depth }, Matching::Off)
        }
    };
    let limits = Limits {
        states_max: Some(settings.states_max.unwrap_or(STATES_MAX)),
        depth_max: settings.depth_max.map(|n| n as usize),
        preemptions_max: settings.preemptions.map(|n| n as usize),
    };
    Search { strategy, matching, restore, limits, ..Search::default() }
}

/// The dependence that steps are left out by, if it is one that overlooks some.
fn overlooking(settings: &FileOptions) -> Option<Dependence> {
    settings.dependence.filter(|level| is_reduced(settings) && level.unsound().is_some())
}

/// What the reader should know about the settings.
pub(crate) fn warning(settings: &FileOptions) -> Option<String> {
    if settings.granularity == Some(Granularity::Whole) {
        return Some(format!("granularity whole: {WHOLE}"));
    }
    let level = overlooking(settings)?;
    level.unsound().map(|why| format!("the dependence {} is a paper's, as printed: {why}", level.name()))
}

/// What a search overlooks that takes a lone statement and its commit for one step, as published figures do.
const WHOLE: &str =
    "what others do between a statement outside of a transaction and its commit is not explored, nor the order of rows";

/// What a search that found nothing says. `outcomes` is the number of different ends seen, where that was counted.
pub fn verdict_without_finding(summary: &Summary, settings: &FileOptions, outcomes: Option<usize>) -> Verdict {
    Verdict::Inconclusive(match (summary.completeness, overlooking(settings)) {
        (Completeness::Complete, _) if summary.leaves == 0 => "no interleaving ends: some thread runs for ever".into(),
        (Completeness::Complete, None) if settings.granularity == Some(Granularity::Whole) => WHOLE.into(),
        (Completeness::Complete, None) => return Verdict::Holds,
        (Completeness::Complete, Some(level)) => {
            format!(
                "the dependence {} overlooks some dependences, so there may be interleavings it missed",
                level.name()
            )
        }
        (Completeness::Stopped(limit), _) => left_out(limit, summary, settings, outcomes),
    })
}

/// Why not everything was looked at, and what was.
fn left_out(limit: Limit, summary: &Summary, settings: &FileOptions, outcomes: Option<usize>) -> String {
    match limit {
        Limit::States => {
            format!("stopped after {} states (states_max)", settings.states_max.unwrap_or(STATES_MAX))
        }
        Limit::Depth => {
            format!("interleavings were cut off after {} steps (depth_max)", settings.depth_max.unwrap_or(0))
        }
        Limit::Preemptions => format!(
            "interleavings with more than {} were left out",
            counted(settings.preemptions.unwrap_or(0), "preemption")
        ),
        Limit::Sample => {
            let ends = outcomes.map(|n| match n {
                1 => "; all end in the same state".into(),
                n => format!("; they end in {n} different states"),
            });
            format!("{} interleavings were tried, drawn by chance{}", summary.leaves, ends.unwrap_or_default())
        }
        Limit::Time | Limit::Memory | Limit::Interrupt => format!("{limit}, after {}", seen(summary, settings)),
        Limit::Visitor => limit.to_string(),
    }
}

/// What a search that was stopped has seen.
fn seen(summary: &Summary, settings: &FileOptions) -> String {
    match remembers(settings) {
        true => counted(summary.states_seen, "state"),
        false => counted(summary.leaves, "interleaving"),
    }
}

fn counted(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Whether states are counted once each.
fn remembers(settings: &FileOptions) -> bool {
    kind(settings) == SearchKind::Stateful && settings.hash != Some(Hashing::Off)
}

/// The numbers of a search; with details if they were measured.
pub fn stats(summary: &Summary, settings: &FileOptions, measured: bool) -> Stats {
    let details = || Details {
        dependence: is_reduced(settings).then(|| settings.dependence.unwrap_or_default().name().into()),
        states_seen: summary.states_seen,
        races: summary.races,
        sleep_blocked: summary.sleep_blocked,
        steps_replayed: summary.replayed,
        hash_us: summary.times.hashing / 1_000,
        restore_us: summary.times.restoring / 1_000,
        memory_bytes: None,
        back_end: None,
    };
    Stats {
        search: kind(settings).name().into(),
        states: if remembers(settings) { summary.states_seen } else { 0 },
        transitions: summary.transitions,
        ends: summary.leaves,
        depth: summary.depth_seen as u64,
        complete: summary.is_complete()
            && overlooking(settings).is_none()
            && settings.granularity != Some(Granularity::Whole),
        elapsed_ms: None,
        details: measured.then(details),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_refused() {
        let plain = FileOptions::default();
        let given = |search| FileOptions { search: Some(search), ..plain.clone() };
        assert_eq!(conflict(&plain), None);
        let replay = FileOptions { restore: Some(Restore::Replay), ..given(SearchKind::Dpor) };
        assert!(conflict(&replay).is_some_and(|text| text.contains("restore replay")));
        assert_eq!(conflict(&FileOptions { search: None, ..replay }), None);
        let bounded = FileOptions { preemptions: Some(2), ..plain.clone() };
        assert_eq!(conflict(&bounded), None);
        let both = FileOptions { dependence: Some(Dependence::Database), ..bounded.clone() };
        assert!(conflict(&both).is_some_and(|text| text.contains("together with a dependence")));
        let sampled = FileOptions { dependence: Some(Dependence::Database), ..given(SearchKind::Pct) };
        assert!(conflict(&sampled).is_some_and(|text| text.contains("pct leaves out nothing")));
        let hashed = FileOptions { hash: Some(Hashing::Full), ..given(SearchKind::Stateless) };
        assert!(conflict(&hashed).is_some());
    }

    #[test]
    fn an_unsound_relation_never_says_holds() {
        let summary = Summary { leaves: 1, ..Summary::default() };
        for level in Dependence::ALL {
            let settings =
                FileOptions { search: Some(SearchKind::Stateful), dependence: Some(level), ..FileOptions::default() };
            let holds = verdict_without_finding(&summary, &settings, None) == Verdict::Holds;
            assert_eq!(holds, level.unsound().is_none(), "{}", level.name());
        }
    }
}
