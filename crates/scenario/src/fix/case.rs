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

/// A read that missed what another thread wrote, and the threads that ran it.
#[derive(Clone, Debug)]
pub(super) struct Culprit<'a> {
    pub(super) site: Site<'a>,
    pub(super) threads: BTreeSet<usize>,
    /// The anomaly is about it.
    pub(super) blamed: bool,
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

    /// Reads that another thread's writes could change, in the order of the run; those that the anomaly is about before
    /// the others.
    pub(super) fn culprits(&self) -> Vec<Culprit<'a>> {
        let steps: Vec<(usize, &Step)> = self.steps().collect();
        let blamed = self.blamed();
        let mut culprits: Vec<Culprit<'a>> = Vec::new();
        for (at, &(thread, step)) in steps.iter().enumerate() {
            let others = || steps.iter().filter(|(other, _)| *other != thread);
            let mut writes = others().flat_map(|(_, step)| &step.footprint.writes);
            let missed = writes.any(|write| step.footprint.reads.iter().any(|read| read.hit(write)));
            let Some(site) = self.site_at(step.pending.span).filter(|_| missed && self.is_read(step)) else { continue };
            let blamed = blamed.contains(&at);
            match culprits.iter_mut().find(|known| known.site.span == site.span) {
                Some(known) => {
                    known.threads.insert(thread);
                    known.blamed |= blamed;
                }
                None => culprits.push(Culprit { site, threads: BTreeSet::from([thread]), blamed }),
            }
        }
        culprits.sort_by_key(|culprit| !culprit.blamed);
        culprits
    }

    /// Whether a step is a plain read: locks or a stronger level change what it sees.
    fn is_read(&self, step: &Step) -> bool {
        let Some(site) = self.site_at(step.pending.span) else { return false };
        let query = site.query().or(site.inner_query());
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

    /// Edits that keep the locks of these threads until all is done: each becomes one transaction, if it is none.
    pub(super) fn one_transaction(&self, threads: &BTreeSet<usize>, reads: &[Site<'_>]) -> Vec<Edit> {
        let in_client = reads.iter().any(Site::is_client);
        let sections = self.sections().into_iter().filter(|(section, _)| {
            let runs = threads.iter().filter_map(|&t| self.section(t)).any(|s| s.span == section.span);
            runs && (section.autocommit || (in_client && thread::needs_transaction(section)))
        });
        let change = Change { transaction: true, ..Change::default() };
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
        let queries = sites.iter().filter_map(|site| site.query().or(site.inner_query()));
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
        Some(DiffOp::Insert { old_index, .. }) => old_index.saturating_sub(1),
        Some(op) => {
            let range = op.old_range();
            (range.start + (at - op.new_range().start)).min(range.end.saturating_sub(1))
        }
    };
    index as u32 + 1
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
