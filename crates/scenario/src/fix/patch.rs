//! Edits of a scenario's texts: applied, read again, and shown as a patch.
//!
//! A fix is a list of edits, each a place in the common text of the [`Sources`] and what stands there instead. The
//! files that an edit does not touch stay as they are, byte for byte, so that the patch shows nothing but the fix.

use isolde_sql::Span;
use similar::TextDiff;

use crate::file::{self, Included, ScenarioFile, Sources};
use crate::{Scenario, ScenarioError};

/// What stands at `span` is to be `text`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edit {
    pub(super) span: Span,
    pub(super) text: String,
}

impl Edit {
    /// Replaces what stands at `span`.
    pub(super) fn replace(span: Span, text: impl Into<String>) -> Edit {
        Edit { span, text: text.into() }
    }

    /// Inserts at an offset.
    pub(super) fn insert(at: u32, text: impl Into<String>) -> Edit {
        Edit { span: Span { start: at, end: at }, text: text.into() }
    }

    /// Words that go or come, what both texts have at their ends aside.
    pub(super) fn size(&self, text: &str) -> usize {
        let old: Vec<&str> = self.span.of(text).split_whitespace().collect();
        let new: Vec<&str> = self.text.split_whitespace().collect();
        let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
        old.len() + new.len() - 2 * (head + tail)
    }
}

/// The files of a scenario, its own first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) files: Vec<Included>,
}

/// A program that was read again.
pub(super) struct Loaded {
    pub(super) file: ScenarioFile,
    pub(super) scenario: Scenario,
}

impl Program {
    /// The texts of a scenario as they were read.
    pub(super) fn of(sources: &Sources) -> Program {
        let files = sources.files().map(|(name, _, text)| Included { name: name.into(), text: text.into() });
        Program { files: files.collect() }
    }

    /// The program with these edits; `None` if two of them are about the same place.
    pub(super) fn edited(&self, sources: &Sources, edits: &[Edit]) -> Option<Program> {
        let mut edits: Vec<&Edit> = edits.iter().collect();
        // Stable: what is inserted at one place keeps its order.
        edits.sort_by_key(|edit| edit.span.start);
        edits.dedup();
        if edits.windows(2).any(|pair| pair[0].span.end > pair[1].span.start) {
            return None;
        }
        let files = sources.files().map(|(name, start, text)| {
            let end = start + text.len() as u32;
            let mut out = String::with_capacity(text.len());
            let mut from = start;
            let local = |a: u32, b: u32| text.get((a - start) as usize..(b - start) as usize);
            for edit in edits.iter().filter(|e| e.span.start >= start && e.span.end <= end) {
                out.push_str(local(from, edit.span.start)?);
                out.push_str(&edit.text);
                from = edit.span.end;
            }
            out.push_str(local(from, end)?);
            Some(Included { name: name.into(), text: out })
        });
        Some(Program { files: files.collect::<Option<_>>()? })
    }

    /// Reads it, runs its set-up and binds its statements.
    pub(super) fn load(&self) -> Result<Loaded, ScenarioError> {
        let (first, included) = self.files.split_first().expect("a scenario has a file of its own");
        // Files are asked for in the order in which they were read first.
        let mut included = included.iter();
        let mut loader = |include: file::Include<'_>| {
            included.next().cloned().ok_or_else(|| format!("{} was not included before", include.path))
        };
        let file = file::read(&first.name, &first.text, &mut loader)?;
        let scenario = Scenario::new(file.clone())?;
        Ok(Loaded { file, scenario })
    }

    /// What is different from `before`, as a unified diff.
    pub(super) fn diff(&self, before: &Program) -> String {
        let changed = before.files.iter().zip(&self.files).filter(|(old, new)| old.text != new.text);
        let diffs = changed.map(|(old, new)| {
            let diff = TextDiff::from_lines(&old.text, &new.text);
            let (from, to) = (format!("a/{}", old.name), format!("b/{}", new.name));
            diff.unified_diff().context_radius(1).header(&from, &to).to_string()
        });
        diffs.collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TEXT: &str = "CREATE TABLE t (a int);\n\\i more.sql\n--@ thread x\nSELECT a FROM t;\n";
    const MORE: &str = "INSERT INTO t VALUES (1);\n";

    fn program() -> Program {
        let file = |name: &str, text: &str| Included { name: name.into(), text: text.into() };
        Program { files: vec![file("x.sql", TEXT), file("more.sql", MORE)] }
    }

    #[test]
    fn edits_reach_included_files() {
        let loaded = program().load().unwrap();
        let sources = loaded.scenario.sources();
        let at = |what: &str| sources.text().find(what).unwrap() as u32;
        let edits = [
            Edit::insert(at("(1)") + 2, "0"),
            Edit::replace(Span { start: at("SELECT"), end: at("SELECT") + 6 }, "SELECT 2 *"),
        ];
        let edited = program().edited(sources, &edits).unwrap();
        assert_eq!(edited.files[1].text, "INSERT INTO t VALUES (10);\n");
        assert!(edited.load().is_ok());
        expect_test::expect![[r#"
            --- a/x.sql
            +++ b/x.sql
            @@ -3,2 +3,2 @@
             --@ thread x
            -SELECT a FROM t;
            +SELECT 2 * a FROM t;
            --- a/more.sql
            +++ b/more.sql
            @@ -1 +1 @@
            -INSERT INTO t VALUES (1);
            +INSERT INTO t VALUES (10);
        "#]]
        .assert_eq(&edited.diff(&program()));
    }

    #[test]
    fn edits_of_the_same_place_are_refused() {
        let loaded = program().load().unwrap();
        let sources = loaded.scenario.sources();
        let edit = |start, end| Edit::replace(Span { start, end }, "");
        assert!(program().edited(sources, &[edit(0, 5), edit(4, 6)]).is_none());
        assert_eq!(program().edited(sources, &[edit(0, 0), edit(0, 0)]), Some(program()));
    }
}
