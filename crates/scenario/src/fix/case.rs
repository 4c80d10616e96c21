//! A violation to be fixed: the program, the run that breaks it, and who is to blame.

use std::collections::BTreeSet;

use isolde_engine::{PendingKind, Step};
use isolde_history::ConflictKind;
use isolde_sql::Span;
use isolde_sql::ast::StatementKind;
use isolde_sql::catalog::Catalog;
use similar::{DiffOp, TextDiff};

use super::patch::{Edit, Program};
use super::site::{self, Site};
use super::sql;
use super::thread::{self, Change};
use crate::conflicts;
use crate::file::{ScenarioFile, ThreadSection};
use crate::names;
use crate::scenario::Scenario;
use crate::trace::Run;

/// A violation to be fixed.
pub(super) struct Case<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) file: &'a ScenarioFile,
    /// The run that breaks the property.
    pub(super) run: &'a Run<'a>,
    /// The program as the user wrote it, whose lines titles name.
    pub(super) original: &'a Program,
    sites: Vec<Site<'a>>,
}

/// A read that takes part in what went wrong, and the threads that run it.
#[derive(Clone, Debug)]
pub(super) struct Culprit<'a> {
    pub(super) site: Site<'a>,
    pub(super) threads: BTreeSet<usize>,
    pub(super) part: Taken,
}

/// The part that a read takes in what went wrong, the greatest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Taken {
    /// The cycle of dependencies goes through it.
    Blamed,
    /// Another thread writes what it read.
    Missed,
    /// It reads a table of one of these, for a thread or routine that writes that table: in another run it is as bad.
    Kin,
}

impl<'a> Case<'a> {
    pub(super) fn new(
        scenario: &'a Scenario,
        file: &'a ScenarioFile,
        run: &'a Run<'a>,
        original: &'a Program,
    ) -> Case<'a> {
        Case { scenario, file, run, original, sites: site::sites(file) }
    }

    /// The common text, which all spans index.
    pub(super) fn text(&self) -> &'a str {
        self.scenario.sources.text()
    }

    pub(super) fn catalog(&self) -> &'a Catalog {
        self.scenario.database.catalog()
    }

    /// All statements.
    pub(super) fn sites(&self) -> &[Site<'a>] {
        &self.sites
    }

    /// The innermost statement at a place.
    pub(super) fn site_at(&self, span: Span) -> Option<Site<'a>> {
        let around = self.sites.iter().filter(|site| site.span.start <= span.start && span.end <= site.span.end);
        around.min_by_key(|site| site.span.end - site.span.start).copied()
    }

    /// What the threads did, in order.
    pub(super) fn steps(&self) -> impl Iterator<Item = (usize, &'a Step)> {
        let run = self.run;
        run.events.iter().flat_map(|event| event.steps.iter().map(move |step| (event.thread, step)))
    }

    /// Reads that take part: those that the anomaly is about before those that another thread's writes could change,
    /// and behind them the reads of other threads and routines that do the same.
    pub(super) fn culprits(&self) -> Vec<Culprit<'a>> {
        let steps: Vec<(usize, &Step)> = self.steps().collect();
        let blamed = self.blamed();
        let mut culprits: Vec<Culprit<'a>> = Vec::new();
        for (at, &(thread, step)) in steps.iter().enumerate() {
            let others = || steps.iter().filter(|(other, _)| *other != thread);
            let mut writes = others().flat_map(|(_, step)| &step.footprint.writes);
            let missed = writes.any(|write| step.footprint.reads.iter().any(|read| read.hit(write)));
            let Some(site) = self.site_at(step.pending.span).filter(|_| missed && self.is_read(step)) else { continue };
            let part = if blamed.contains(&at) { Taken::Blamed } else { Taken::Missed };
            match culprits.iter_mut().find(|known| known.site.span == site.span) {
                Some(known) => {
                    known.threads.insert(thread);
                    known.part = known.part.min(part);
                }
                None => culprits.push(Culprit { site, threads: BTreeSet::from([thread]), part }),
            }
        }
        culprits.extend(self.kin(&culprits));
        culprits.sort_by_key(|culprit| culprit.part);
        culprits
    }

    /// Reads that are like these, whether or not the run came to them.
    fn kin(&self, culprits: &[Culprit<'a>]) -> Vec<Culprit<'a>> {
        let read = |site: &Site<'a>| sql::table(site.read()?, self.catalog());
        let tables: BTreeSet<&str> = culprits.iter().filter_map(|c| read(&c.site)).map(|table| &*table.name).collect();
        let is_kin = |site: &&Site<'a>| {
            let plain = site.read().is_some_and(|query| query.locking.is_empty());
            let known = culprits.iter().any(|culprit| culprit.site.span == site.span);
            let shared = read(site).map(|table| &*table.name).filter(|name| tables.contains(name));
            let writes = |name: &str| self.sites.iter().any(|other| other.same_program(site) && other.writes(name));
            plain && !known && shared.is_some_and(writes)
        };
        let kin = self.sites.iter().filter(is_kin);
        kin.map(|site| Culprit { site: *site, threads: self.runners(site), part: Taken::Kin }).collect()
    }

    /// The threads in whose text a statement stands; none if it is of a routine.
    fn runners(&self, site: &Site<'_>) -> BTreeSet<usize> {
        let runs = |section: &ThreadSection| section.body.iter().any(|statement| statement.ast.span == site.span);
        let threads = self.file.threads.iter().enumerate().filter(|(_, section)| runs(section));
        threads.map(|(thread, _)| thread).collect()
    }

    /// Whether a step is a plain read: locks or a stronger level change what it sees.
    fn is_read(&self, step: &Step) -> bool {
        let Some(site) = self.site_at(step.pending.span) else { return false };
        let query = site.read();
        step.pending.kind == PendingKind::Statement && query.is_some_and(|query| query.locking.is_empty())
    }

    /// Positions of the steps whose reads the cycle of dependencies is made of.
    fn blamed(&self) -> BTreeSet<usize> {
        let history = conflicts::of_run(self.run);
        let Some(explanation) = isolde_history::explain(&history) else { return BTreeSet::new() };
        let missed = explanation.cycle.iter().filter(|edge| edge.conflict.kind == ConflictKind::ReadWrite);
        missed.filter_map(|edge| Some(history.ops.get(edge.conflict.from.0)?.step)).collect()
    }

    /// The sections that threads are written in, each once, with the names of their threads.
    pub(super) fn sections(&self) -> Vec<(&'a ThreadSection, Vec<&'a str>)> {
        let mut sections: Vec<(&ThreadSection, Vec<&str>)> = Vec::new();
        for section in &self.file.threads {
            match sections.iter_mut().find(|(known, _)| known.span == section.span) {
                Some((_, names)) => names.push(&section.name),
                None => sections.push((section, vec![&section.name])),
            }
        }
        sections
    }

    /// The section of a thread.
    pub(super) fn section(&self, thread: usize) -> Option<&'a ThreadSection> {
        self.file.threads.get(thread)
    }

    /// Edits that keep the locks of these threads until all is done: each becomes one transaction, if it is none. A
    /// thread of one statement `grows` if the lock is a statement of its own.
    pub(super) fn one_transaction(&self, threads: &BTreeSet<usize>, reads: &[Site<'_>], grows: bool) -> Vec<Edit> {
        let in_client = reads.iter().any(Site::is_client);
        let change = Change { transaction: true, grows, ..Change::default() };
        let sections = self.sections().into_iter().filter(|(section, _)| {
            let runs = threads.iter().filter_map(|&t| self.section(t)).any(|s| s.span == section.span);
            runs && (section.autocommit || (in_client && thread::needs_transaction(section, change)))
        });
        sections.flat_map(|(section, _)| thread::edits(section, change, self.text())).collect()
    }

    /// `line 7`, as the user's file has it.
    pub(super) fn line(&self, span: Span) -> String {
        let (file, line) = self.scenario.sources.place(span);
        let sources: Vec<_> = self.scenario.sources.files().collect();
        let index = file.map_or(0, |file| sources.iter().position(|(name, _, _)| *name == file).unwrap_or(0));
        let line = match (self.original.files.get(index), sources.get(index)) {
            (Some(old), Some((_, _, new))) if old.text != *new => original_line(&old.text, new, line),
            _ => line,
        };
        match file {
            None => format!("line {line}"),
            Some(file) => format!("{file} line {line}"),
        }
    }

    /// `line 7`, or `lines 7 and 12`.
    pub(super) fn lines(&self, spans: impl IntoIterator<Item = Span>) -> String {
        let spans: BTreeSet<Span> = spans.into_iter().collect();
        let mut lines: Vec<String> = spans.into_iter().map(|span| self.line(span)).collect();
        lines.dedup();
        let numbers: Option<Vec<&str>> = lines.iter().map(|line| line.strip_prefix("line ")).collect();
        match numbers {
            Some(numbers) if numbers.len() > 1 => format!("lines {}", names::listed(&numbers)),
            _ => names::listed(&lines),
        }
    }

    /// The names of the tables that these statements read, listed.
    pub(super) fn tables(&self, sites: &[Site<'_>]) -> String {
        let queries = sites.iter().filter_map(|site| site.read());
        let names: BTreeSet<&str> = queries.filter_map(|q| sql::table(q, self.catalog())).map(|t| &*t.name).collect();
        match names.len() {
            0 => "several tables".into(),
            _ => names::listed(&names.into_iter().collect::<Vec<_>>()),
        }
    }

    /// The statement that defines a table.
    pub(super) fn definition(&self, table: &str) -> Option<(&'a isolde_sql::ast::CreateTable, Span)> {
        self.file.setup.iter().find_map(|statement| match &statement.ast.kind {
            StatementKind::CreateTable(create) if &*create.name.name.name == table => {
                Some((&**create, statement.ast.span))
            }
            _ => None,
        })
    }
}

/// The line of the old text that a line of the new one was, or that it stands behind.
fn original_line(old: &str, new: &str, line: u32) -> u32 {
    let at = line as usize - 1;
    let diff = TextDiff::from_lines(old, new);
    let op = diff.ops().iter().find(|op| op.new_range().contains(&at));
    let index = match op {
        None => at,
        Some(DiffOp::Insert { old_index, .. }) => moved_from(&diff, at).unwrap_or(old_index.saturating_sub(1)),
        Some(DiffOp::Replace { old_index, old_len, .. }) => {
            let alike = |i: &usize| likeness(diff.old_slices()[*i], diff.new_slices()[at]);
            let range = *old_index..old_index + old_len;
            // Of two that are equally like it, the first.
            range.rev().max_by(|a, b| alike(a).total_cmp(&alike(b))).unwrap_or(*old_index)
        }
        Some(op) => op.old_range().start + (at - op.new_range().start),
    };
    index as u32 + 1
}

/// Where a line stood that is now at another place, if that is certain.
fn moved_from(diff: &TextDiff<'_, '_, '_, str>, at: usize) -> Option<usize> {
    let line = diff.new_slices()[at];
    let mut same = (0..diff.old_slices().len()).filter(|&i| diff.old_slices()[i] == line);
    same.next().filter(|_| same.next().is_none())
}

fn likeness(old: &str, new: &str) -> f32 {
    TextDiff::from_words(old, new).ratio()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_file_before_it_was_changed() {
        let (old, new) = ("a\nb\nc\n", "a\nnew\nB\nc\n");
        assert_eq!((1..=4).map(|line| original_line(old, new, line)).collect::<Vec<_>>(), [1, 2, 2, 3]);
    }
}
