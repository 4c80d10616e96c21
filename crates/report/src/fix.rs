//! Fixes that were tried: a change to the program, whether it helps, and what it costs.
//!
//! A fix is never a guess. Whoever reports one has made the change and asked the same question again; the verdict is
//! that answer. In text they look like this, the cheapest first, and what it changes below:
//!
//! ```text
//! fixes that were tried
//!   holds        FOR UPDATE on the read of account (line 8): waits in 2 of 18 steps
//!   still fails  REPEATABLE READ for all: invariant someone_on_call (write skew)
//!
//!   the first of them
//!     -  SELECT balance INTO bal FROM account WHERE id = acc;
//!     +  SELECT balance INTO bal FROM account WHERE id = acc FOR UPDATE;
//! ```

use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};

use crate::paint::{Paint, Style};
use crate::wrap::wrap;

/// A change to the program that was tried, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// What kind of change: `row lock`, `isolation`, `atomic update`, ...
    pub kind: String,
    /// What was changed, in a line.
    pub title: String,
    /// Whether it helps.
    #[serde(flatten)]
    pub verdict: FixVerdict,
    /// What it costs, if every interleaving was looked at.
    pub cost: Option<FixCost>,
    /// The change, as a unified diff of the files it touches.
    pub patch: String,
}

/// Whether a change helps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", content = "reason", rename_all = "lowercase")]
pub enum FixVerdict {
    /// With it all properties hold over all interleavings, and every thread can still do its work.
    Holds,
    /// Something is still broken, or broken anew: this.
    Fails(String),
    /// Not everything was looked at, for this reason.
    Undecided(String),
}

impl FixVerdict {
    /// Whether it is known to help.
    pub fn helps(&self) -> bool {
        *self == FixVerdict::Holds
    }
}

/// What the threads go through with a change, counted over everything that was explored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixCost {
    /// Steps explored.
    pub steps: u64,
    /// Steps that had to wait for a lock.
    pub waits: u64,
    /// Steps that ended in a serialization failure or a deadlock.
    pub aborts: u64,
    /// Ends explored.
    pub ends: u64,
    /// Ends at which some thread was aborted and had no retry left.
    pub ends_aborted: u64,
}

impl FixVerdict {
    /// `holds`, `still fails` or `not decided`.
    pub fn words(&self) -> &'static str {
        match self {
            FixVerdict::Holds => "holds",
            FixVerdict::Fails(_) => "still fails",
            FixVerdict::Undecided(_) => "not decided",
        }
    }
}

impl fmt::Display for FixCost {
    /// `waits in 2 of 18 steps`; what never happens is not named.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FixCost { steps, waits, aborts, ends, ends_aborted } = *self;
        let counts = [
            ("gives up at", ends_aborted, ends, "ends"),
            ("aborts in", aborts, steps, "steps"),
            ("waits in", waits, steps, "steps"),
        ];
        let parts = counts.iter().filter(|(_, n, _, _)| *n > 0);
        let parts: Vec<String> = parts.map(|(what, n, of, noun)| format!("{what} {n} of {of} {noun}")).collect();
        f.write_str(if parts.is_empty() { "nobody waits" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}

/// Of the longest verdict, so that titles align.
const VERDICT_WIDTH: usize = "still fails".len();
/// Fixes that help, and fixes that do not, as many as are shown of each.
const SHOWN: usize = 6;
/// Lines of a patch that are shown; a longer one is better read as a file.
const PATCH_LINES_SHOWN: usize = 60;

/// Writes the fixes, and what the first one changes if it helps.
pub(crate) fn write(out: &mut dyn Write, fixes: &[Fix], style: Style) -> fmt::Result {
    if fixes.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    style.write(out, Paint::Bold, "fixes that were tried")?;
    writeln!(out)?;
    let (good, others): (Vec<&Fix>, Vec<&Fix>) = fixes.iter().partition(|fix| fix.verdict == FixVerdict::Holds);
    for fix in good.iter().take(SHOWN).chain(others.iter().take(SHOWN)) {
        write_fix(out, fix, style)?;
    }
    let more = good.len().saturating_sub(SHOWN) + others.len().saturating_sub(SHOWN);
    if more > 0 {
        writeln!(out, "  and {more} more (--format json)")?;
    }
    match good.first() {
        Some(best) => write_patch(out, best, style),
        None => Ok(()),
    }
}

fn write_fix(out: &mut dyn Write, fix: &Fix, style: Style) -> fmt::Result {
    let paint = match &fix.verdict {
        FixVerdict::Holds => Paint::Good,
        FixVerdict::Fails(_) => Paint::Bad,
        FixVerdict::Undecided(_) => Paint::Unsure,
    };
    let remark = remark(fix);
    let text = if remark.is_empty() { fix.title.clone() } else { format!("{}: {remark}", fix.title) };
    let words = fix.verdict.words();
    let indent = VERDICT_WIDTH + 4;
    write!(out, "  ")?;
    style.write(out, paint, words)?;
    for (i, line) in wrap(&text, style.width.saturating_sub(indent).max(20), 2).iter().enumerate() {
        let space = if i == 0 { indent - 2 - words.len() } else { indent };
        writeln!(out, "{}{line}", " ".repeat(space))?;
    }
    Ok(())
}

/// What is to be said about a change besides: what it costs, or why it does not help.
pub(crate) fn remark(fix: &Fix) -> String {
    match &fix.verdict {
        FixVerdict::Holds => fix.cost.map(|cost| cost.to_string()).unwrap_or_default(),
        FixVerdict::Fails(reason) | FixVerdict::Undecided(reason) => reason.clone(),
    }
}

/// The patch as it is: `patch` reads it from here, too, indented as it stands. What is left out is left out by whole
/// hunks.
fn write_patch(out: &mut dyn Write, fix: &Fix, style: Style) -> fmt::Result {
    if fix.patch.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n  the first of them, as a patch")?;
    let lines: Vec<(DiffLine, &str)> = diff_lines(&fix.patch).collect();
    // The name of a file stays with its first hunk.
    let begins = |kind: DiffLine| matches!(kind, DiffLine::File | DiffLine::Hunk);
    let hunks: Vec<&[(DiffLine, &str)]> =
        lines.chunk_by(|(before, _), (kind, _)| *before == DiffLine::File || !begins(*kind)).collect();
    let mut shown = 0;
    for (number, hunk) in hunks.iter().enumerate() {
        shown += hunk.len();
        if number > 0 && shown > PATCH_LINES_SHOWN {
            let more = hunks.len() - number;
            return writeln!(out, "  and {more} more places (--fix FILE writes the whole file)");
        }
        for (kind, line) in *hunk {
            let paint = match kind {
                DiffLine::Removed => Paint::Bad,
                DiffLine::Added => Paint::Good,
                DiffLine::File | DiffLine::Hunk | DiffLine::Same => Paint::Plain,
            };
            write!(out, "    ")?;
            style.write(out, paint, line)?;
            writeln!(out)?;
        }
    }
    Ok(())
}

/// What a line of a unified diff is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiffLine {
    /// Names a file.
    File,
    /// Says where in the file.
    Hunk,
    Added,
    Removed,
    Same,
}

/// The lines of a unified diff. One that is removed may look like the name of a file, because SQL's comments begin with
/// two dashes; so the lines of a hunk are counted.
pub(crate) fn diff_lines(patch: &str) -> impl Iterator<Item = (DiffLine, &str)> {
    let (mut old, mut new) = (0_usize, 0_usize);
    patch.lines().map(move |line| {
        if old == 0 && new == 0 {
            return match hunk_lengths(line) {
                Some(lengths) => {
                    (old, new) = lengths;
                    (DiffLine::Hunk, line)
                }
                None => (DiffLine::File, line),
            };
        }
        let kind = match line.as_bytes().first() {
            Some(b'+') => DiffLine::Added,
            Some(b'-') => DiffLine::Removed,
            _ => DiffLine::Same,
        };
        let note = line.starts_with('\\');
        old = old.saturating_sub(usize::from(!note && kind != DiffLine::Added));
        new = new.saturating_sub(usize::from(!note && kind != DiffLine::Removed));
        (kind, line)
    })
}

/// How many lines of the old and of the new text follow `@@ -3,2 +3,4 @@`.
fn hunk_lengths(line: &str) -> Option<(usize, usize)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let count = |range: &str| range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok());
    Some((count(old)?, count(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fix(title: &str, verdict: FixVerdict, cost: Option<FixCost>, patch: &str) -> Fix {
        Fix { kind: "row lock".into(), title: title.into(), verdict, cost, patch: patch.into() }
    }

    #[test]
    fn the_best_comes_with_what_it_changes() {
        let cost = FixCost { steps: 18, waits: 2, ends: 2, ..FixCost::default() };
        let patch = "--- bank.sql\n+++ bank.sql\n@@ -7,3 +7,3 @@\n before\n-SELECT a;\n+SELECT a FOR UPDATE;\n after\n";
        let fixes = [
            fix("FOR UPDATE on the read (line 8)", FixVerdict::Holds, Some(cost), patch),
            fix("FOR SHARE on the read (line 8)", FixVerdict::Fails("deadlock".into()), None, ""),
            fix("SERIALIZABLE for all", FixVerdict::Undecided("stopped after 9 states".into()), None, ""),
        ];
        let mut text = String::new();
        write(&mut text, &fixes, Style::plain(80)).expect("strings can be written to");
        expect_test::expect![[r#"

            fixes that were tried
              holds        FOR UPDATE on the read (line 8): waits in 2 of 18 steps
              still fails  FOR SHARE on the read (line 8): deadlock
              not decided  SERIALIZABLE for all: stopped after 9 states

              the first of them, as a patch
                --- bank.sql
                +++ bank.sql
                @@ -7,3 +7,3 @@
                 before
                -SELECT a;
                +SELECT a FOR UPDATE;
                 after
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn costs_in_words() {
        assert_eq!(FixCost::default().to_string(), "nobody waits");
        let cost = FixCost { steps: 40, waits: 1, aborts: 3, ends: 5, ends_aborted: 2 };
        assert_eq!(cost.to_string(), "gives up at 2 of 5 ends, aborts in 3 of 40 steps, waits in 1 of 40 steps");
    }
}
