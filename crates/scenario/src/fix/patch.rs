//! Edits of a scenario's texts: applied, read again, and shown as a patch.
//!
//! A fix is a list of edits, each a place in the common text of the [`Sources`] and what stands there instead. The
//! files that an edit does not touch stay as they are, byte for byte, so that the patch shows nothing but the fix.
//!
//! The patch is a unified diff with the usual three lines of context, under the name by which the user gave the file:
//! `patch -p0` applies it in the directory of the command. It is [applied](apply) here before anyone sees it.

use isolde_sql::Span;
use similar::{ChangeTag, TextDiff};

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

    /// What is different from `before`, as a unified diff that was applied once; `None` if that does not give this
    /// program.
    pub(super) fn patch(&self, before: &Program) -> Option<String> {
        let changed = before.files.iter().zip(&self.files).filter(|(old, new)| old.text != new.text);
        let diffs = changed.map(|(old, new)| {
            let diff = TextDiff::from_lines(&old.text, &new.text);
            // A tab ends a name that has blanks.
            let name = |name: &str| if name.contains(' ') { format!("{name}\t") } else { name.to_string() };
            let hunks = hunks(&diff);
            let applied = apply(&old.text, &hunks)?;
            (applied == new.text).then(|| format!("--- {}\n+++ {}\n{hunks}", name(&old.name), name(&new.name)))
        });
        diffs.collect()
    }
}

/// Lines around a change, as everywhere.
const CONTEXT_LINES: usize = 3;

/// The changes with the lines around them, each place under its header. (The headers of `similar` itself are off by one
/// where a text begins with lines that go.)
fn hunks(diff: &TextDiff<'_, '_, '_, str>) -> String {
    let mut out = String::new();
    let mut grown = 0_isize;
    for group in diff.grouped_ops(CONTEXT_LINES) {
        let (mut lines, mut old, mut new) = (String::new(), 0, 0);
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (sign, goes, comes) = match change.tag() {
                ChangeTag::Equal => (' ', 1, 1),
                ChangeTag::Delete => ('-', 1, 0),
                ChangeTag::Insert => ('+', 0, 1),
            };
            (old, new) = (old + goes, new + comes);
            lines.push_str(&format!("{sign}{}", change.value()));
            if change.missing_newline() {
                lines.push_str("\n\\ No newline at end of file\n");
            }
        }
        let start = group.first().map_or(0, |op| op.old_range().start);
        // A place without lines is named by the line before it.
        let range = |start: usize, count: usize| match count {
            1 => format!("{}", start + 1),
            0 => format!("{start},0"),
            _ => format!("{},{count}", start + 1),
        };
        let (from, to) = (range(start, old), range(start.saturating_add_signed(grown), new));
        out.push_str(&format!("@@ -{from} +{to} @@\n{lines}"));
        grown += new as isize - old as isize;
    }
    out
}

/// What the hunks of a unified diff make of a text, strictly: every line of context is where it says. `None` if they
/// are not about this text.
pub(super) fn apply(text: &str, hunks: &str) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    let mut written = 0;
    let mut patch = hunks.split_inclusive('\n').peekable();
    while let Some(header) = patch.next() {
        let Hunk { old: (start, mut old), new: (new_start, mut new) } = hunk(header)?;
        let before = lines.get(at..start)?;
        before.iter().for_each(|line| out.push_str(line));
        written += before.len();
        at = start;
        if written != new_start {
            return None;
        }
        while old > 0 || new > 0 {
            let line = patch.next()?;
            let unfinished = patch.next_if(|next| next.starts_with('\\')).is_some();
            let content = line.get(1..)?;
            let content = if unfinished { content.strip_suffix('\n')? } else { content };
            let (goes, comes) = match line.as_bytes().first()? {
                b' ' => (true, true),
                b'-' => (true, false),
                b'+' => (false, true),
                _ => return None,
            };
            if goes {
                (*lines.get(at)? == content).then_some(())?;
                at += 1;
                old = old.checked_sub(1)?;
            }
            if comes {
                out.push_str(content);
                written += 1;
                new = new.checked_sub(1)?;
            }
        }
    }
    lines.get(at..)?.iter().for_each(|line| out.push_str(line));
    Some(out)
}

/// Where a hunk begins, counted from 0, and how many lines it is about, before and after.
struct Hunk {
    old: (usize, usize),
    new: (usize, usize),
}

/// `@@ -3,2 +3,4 @@`
fn hunk(header: &str) -> Option<Hunk> {
    let (old, rest) = header.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let range = |text: &str| {
        let (start, count) = match text.split_once(',') {
            Some((start, count)) => (start.parse::<usize>().ok()?, count.parse().ok()?),
            None => (text.parse().ok()?, 1),
        };
        // The line before, if there is none of its own.
        Some((if count == 0 { start } else { start.checked_sub(1)? }, count))
    };
    Some(Hunk { old: range(old)?, new: range(new)? })
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
            --- x.sql
            +++ x.sql
            @@ -1,4 +1,4 @@
             CREATE TABLE t (a int);
             \i more.sql
             --@ thread x
            -SELECT a FROM t;
            +SELECT 2 * a FROM t;
            --- more.sql
            +++ more.sql
            @@ -1 +1 @@
            -INSERT INTO t VALUES (1);
            +INSERT INTO t VALUES (10);
        "#]]
        .assert_eq(&edited.patch(&program()).unwrap());
    }

    /// Applying a diff to the old text gives the new one: for texts of few different lines, so that many of them move,
    /// with and without an end of line at the end.
    #[test]
    fn patches_give_the_new_text() {
        let mut seed = 7_u64;
        let mut chance = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        let mut text = || -> String {
            const LINES: [&str; 6] = ["a\n", "b\n", "-- c\n", "++ d\n", "\n", "e\r\n"];
            let count = chance(12);
            let mut out: String = (0..count).map(|_| LINES[chance(6) as usize]).collect();
            out.push_str(["", "end"][chance(2) as usize]);
            out
        };
        for _ in 0..2_000 {
            let file = |text: String| Program { files: vec![Included { name: "x.sql".into(), text }] };
            let (old, new) = (file(text()), file(text()));
            let patch = new.patch(&old);
            assert!(patch.is_some_and(|patch| patch.is_empty() == (old == new)), "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_patch_of_another_text_is_refused() {
        let hunks = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
        assert_eq!(apply("a\nb\n", hunks).as_deref(), Some("a\nc\n"));
        assert_eq!(apply("a\nx\n", hunks), None);
        assert_eq!(apply("b\n", hunks), None);
        assert_eq!(apply("a\nb\n", "@@ -1,3 +1,3 @@\n a\n-b\n+c\n"), None);
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
