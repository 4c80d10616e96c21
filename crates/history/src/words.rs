//! Cycles in words.
//!
//! One sentence for each conflict says what happened and which unit must therefore come first; the last one begins with
//! "But", because it closes the cycle; a conclusion gives the anomaly its name. A sentence says no more than its
//! conflict does: what became of the row is the conflict's [`Change`], never guessed from the kind of a statement.

use crate::{Anomaly, Change, Conflict, ConflictKind, Edge, History, Op, OpKind};

/// The sentences that explain a cycle.
pub(crate) fn sentences(history: &History, cycle: &[Edge], anomaly: &Anomaly) -> Vec<String> {
    let mut sentences = Vec::new();
    for (index, edge) in cycle.iter().enumerate() {
        let but = if index + 1 == cycle.len() { "But " } else { "" };
        // What the sentence before was about need not be told again.
        let before = index.checked_sub(1).map(|before| &cycle[before]);
        let what = what_happened(history, &edge.conflict, before.map(|before| &before.conflict));
        let (from, to) = (name(history, edge.from.0), name(history, edge.to.0));
        if history.is_aborted_read(&edge.conflict) {
            let phrase = anomaly.phrase;
            return vec![
                format!("{what}."),
                format!("That was rolled back, so {to} has seen what never was: {phrase}."),
            ];
        }
        sentences.push(format!("{but}{what}, so {from} must come before {to}."));
    }
    let units: Vec<&str> = cycle.iter().map(|edge| name(history, edge.from.0)).collect();
    sentences.push(format!("No serial order of {} explains this run: {}.", list(&units), anomaly.phrase));
    sentences
}

fn what_happened(history: &History, conflict: &Conflict, before: Option<&Conflict>) -> String {
    let Some((from, to)) = history.ends(conflict) else { return String::new() };
    let known = before.is_some_and(|before| before.item.overlaps(&conflict.item));
    let same_read = known && before.is_some_and(|before| before.from == conflict.to);
    let words = Words { history, conflict, from, to, known, same_read };
    match (conflict.kind, conflict.predicate) {
        (ConflictKind::WriteWrite, _) => words.overwrote(),
        (ConflictKind::WriteRead, false) => words.read_new(),
        (ConflictKind::WriteRead, true) => words.found_new(),
        (ConflictKind::ReadWrite, false) => words.read_old(),
        (ConflictKind::ReadWrite, true) => words.found_old(),
    }
}

/// A conflict to be put into words.
struct Words<'a> {
    history: &'a History,
    conflict: &'a Conflict,
    from: &'a Op,
    to: &'a Op,
    /// Whether the sentence before was about the same item.
    known: bool,
    /// Whether it was about the same read of it.
    same_read: bool,
}

impl Words<'_> {
    /// Both wrote: `bob's UPDATE (line 8) overwrote alice's UPDATE of account id = 1 (line 8)`.
    fn overwrote(&self) -> String {
        let (from, to) = (self.from, self.to);
        let did = match self.conflict.change {
            Change::Removed => "deleted",
            _ => "overwrote",
        };
        let then = if self.known { "then " } else { "" };
        if !self.conflict.direct {
            let did = if self.conflict.change == Change::Removed { "removed" } else { "wrote" };
            return format!("{} {then}{did} {} after {}", self.doer(to), self.conflict.item, self.doer(from));
        }
        let victim = match (self.known, from.kind == to.kind) {
            (true, true) => format!("{}'s {}", self.who(from), place(from)),
            (true, false) => self.doer(from),
            (false, _) => {
                format!("{}'s {} of {} {}", self.who(from), from.kind.verb(), self.conflict.item, place(from))
            }
        };
        format!("{} {then}{did} {victim}", self.doer(to))
    }

    /// `bob read account id = 1 (line 9) as alice's UPDATE (line 8) had left it`.
    fn read_new(&self) -> String {
        let (from, to) = (self.from, self.to);
        if self.same_read && to.kind == OpKind::Select && self.conflict.direct && !self.conflict.key {
            let (verb, who) = (from.kind.verb(), self.who(from));
            return format!("the same SELECT did see {who}'s {verb} of it {}", place(from));
        }
        let then = if self.known { "then " } else { "" };
        if self.conflict.key {
            return self.met(then);
        }
        let left = match self.conflict.change {
            Change::Added => "had added",
            Change::Changed => "had left",
            Change::Removed => {
                let (search, row, change) = (self.doer(to), row(self.conflict), self.doer(from));
                return format!("{search} {then}no longer found {row}, which {change} had removed");
            }
        };
        match self.conflict.direct {
            true => format!("{} {then}{} as {} {left} it", self.who(to), self.read(to), self.doer(from)),
            false => format!("{} {then}{} after {} {left} it", self.who(to), self.read(to), self.doer(from)),
        }
    }

    /// A statement checks keys that it must not repeat, or must refer to:
    /// `bob's INSERT (line 9) met person id = 1, which alice's INSERT (line 8) had added`.
    fn met(&self, then: &str) -> String {
        let (check, change, row) = (self.doer(self.to), self.doer(self.from), row(self.conflict));
        match self.conflict.change {
            Change::Added => format!("{check} {then}met {row}, which {change} had added"),
            Change::Removed => format!("{check} {then}no longer met {row}, which {change} had removed"),
            Change::Changed => format!("{check} {then}met {row} as {change} had left it"),
        }
    }

    /// `bob's SELECT (line 9) no longer found account id = 3, which alice's DELETE (line 8) had removed`.
    fn found_new(&self) -> String {
        let (search, row, change) = (self.doer(self.to), row(self.conflict), self.doer(self.from));
        match self.conflict.change {
            Change::Added => format!("{search} ran when {change} had added {row}"),
            Change::Removed => format!("{search} no longer found {row}, which {change} had removed"),
            Change::Changed => {
                format!("{search} evaluated its condition on the version of {row} that {change} wrote")
            }
        }
    }

    /// `alice read account id = 1 (line 6) and did not see bob's UPDATE of it (line 8)`.
    fn read_old(&self) -> String {
        let (from, to) = (self.from, self.to);
        let missed = format!("{}'s {} of it {}", self.who(to), to.kind.verb(), place(to));
        format!("{} {} and did not see {missed}", self.who(from), self.read(from))
    }

    /// `alice's SELECT (line 6) did not find account id = 3, which bob's INSERT (line 8) added`.
    fn found_old(&self) -> String {
        let (search, row, change) = (self.doer(self.from), row(self.conflict), self.doer(self.to));
        match (self.conflict.change, self.conflict.key) {
            (Change::Added, _) => format!("{search} did not find {row}, which {change} added"),
            (Change::Removed, _) => format!("{search} ran before {change} removed {row}"),
            (Change::Changed, true) => format!("{search} checked a key before {change} changed that of {row}"),
            (Change::Changed, false) => {
                format!("{search} evaluated its condition on the version of {row} before {change}")
            }
        }
    }

    /// `read balance of account id = 1 (line 6)`.
    fn read(&self, op: &Op) -> String {
        let how = match op.kind {
            OpKind::Select | OpKind::Other | OpKind::Commit => "read".to_string(),
            OpKind::Insert | OpKind::Update | OpKind::Delete => format!("read by {}", op.kind.verb()),
        };
        format!("{how} {} {}", self.conflict.item, place(op))
    }

    /// `alice's UPDATE (line 8)`.
    fn doer(&self, op: &Op) -> String {
        format!("{}'s {} {}", self.who(op), op.kind.verb(), place(op))
    }

    fn who(&self, op: &Op) -> &str {
        name(self.history, op.unit.0)
    }
}

fn name(history: &History, unit: usize) -> &str {
    history.units.get(unit).map_or("a unit", |unit| &unit.name)
}

/// Where a statement stands: its line, or its text if that is not known.
fn place(op: &Op) -> String {
    match op.place() {
        Some(place) => format!("({place})"),
        None => format!("(`{}`)", shortened(&op.statement)),
    }
}

/// The beginning of a statement, on one line.
fn shortened(statement: &str) -> String {
    const CHARS_MAX: usize = 50;
    let words: Vec<&str> = statement.split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() <= CHARS_MAX {
        return line;
    }
    let start: String = line.chars().take(CHARS_MAX).collect();
    format!("{}...", start.trim_end())
}

fn row(conflict: &Conflict) -> String {
    format!("{} {}", conflict.item.table, conflict.item.row)
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => name.to_string(),
        [names @ .., last] => format!("{} and {last}", names.join(", ")),
    }
}
