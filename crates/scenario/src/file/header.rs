//! Section headers: what stands behind `--@`.
//!
//! One list, [`SECTIONS`], names the sections, and one, [`OPTIONS`], the options of a file; an unknown word is answered
//! with the nearest known one.

use isolde_explore::Restore;
use isolde_sql::ast::Isolation;
use isolde_sql::{Diagnostic, Span, SqlState};

use super::{Accepted, Choice, FileOptions, Granularity, Hashing, SearchKind, SerialCheck};
use crate::dependence::Dependence;

/// The sections, each with how it is written.
pub const SECTIONS: &[(&str, &str)] = &[
    ("thread", "thread NAME [xN] [isolation LEVEL] [autocommit] [retry N]"),
    ("invariant", "invariant NAME"),
    ("final", "final NAME"),
    ("rule", "rule NAME"),
    ("assume", "assume PROCEDURE"),
    ("expect", "expect error CODE"),
    ("accept", "accept nothing | accept error CODE"),
    ("option", "option KEY VALUE"),
    ("clock", "clock TIME..."),
];

/// The options of a file, each with the values it takes.
pub const OPTIONS: &[(&str, &str)] = &[
    ("isolation", "read committed | repeatable read | serializable"),
    ("atomic", "on | off"),
    ("serial", "effects | strict | off"),
    ("deadlock", "on | off"),
    ("search", "dpor | source | stateful | stateless | random | pct"),
    ("dependence", "a level, or the name of a paper's relation"),
    ("hash", "incremental | full | off"),
    ("restore", "snapshot | rollback | replay"),
    ("states_max", "a number"),
    ("depth_max", "a number"),
    ("preemptions", "a number"),
    ("seed", "a number"),
    ("runs", "a number"),
    ("bug_depth", "a number"),
    ("jobs", "a number"),
    ("granularity", "statement | row"),
];

/// A header, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Header {
    Thread(ThreadHeader),
    Invariant(String),
    Final(String),
    Rule(String),
    Assume(String),
    ExpectError(SqlState),
    Accept(Accepted),
    Option(OptionSetting),
    /// Microseconds since the start, in order.
    Clock(Vec<i64>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadHeader {
    pub(crate) name: String,
    pub(crate) copies: Option<u32>,
    pub(super) isolation: Option<Isolation>,
    pub(super) autocommit: bool,
    pub(super) retries: u32,
}

/// `option KEY VALUE`, the value checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OptionSetting {
    Isolation(Isolation),
    Atomic(bool),
    Serial(SerialCheck),
    Deadlock(bool),
    Search(SearchKind),
    Dependence(Dependence),
    Hash(Hashing),
    Restore(Restore),
    StatesMax(u64),
    DepthMax(u64),
    Preemptions(u64),
    Seed(u64),
    Runs(u64),
    BugDepth(u64),
    Jobs(u64),
    Granularity(Granularity),
}

impl OptionSetting {
    pub(super) fn apply(self, options: &mut FileOptions) {
        match self {
            OptionSetting::Isolation(level) => options.isolation = Some(level),
            OptionSetting::Atomic(on) => options.atomic = Some(on),
            OptionSetting::Serial(kind) => options.serial = Some(kind),
            OptionSetting::Deadlock(on) => options.deadlock = Some(on),
            OptionSetting::Search(kind) => options.search = Some(kind),
            OptionSetting::Dependence(level) => options.dependence = Some(level),
            OptionSetting::Hash(kind) => options.hash = Some(kind),
            OptionSetting::Restore(way) => options.restore = Some(way),
            OptionSetting::StatesMax(n) => options.states_max = Some(n),
            OptionSetting::DepthMax(n) => options.depth_max = Some(n),
            OptionSetting::Preemptions(n) => options.preemptions = Some(n),
            OptionSetting::Seed(n) => options.seed = Some(n),
            OptionSetting::Runs(n) => options.runs = Some(n),
            OptionSetting::BugDepth(n) => options.bug_depth = Some(n),
            OptionSetting::Jobs(n) => options.jobs = Some(n),
            OptionSetting::Granularity(unit) => options.granularity = Some(unit),
        }
    }
}

/// More copies of a thread than this are a typing mistake.
const COPIES_MAX: u32 = 64;

/// The header of a thread, and the comment behind it; `None` if the line is another one.
pub(crate) fn of_thread(line: &str) -> Option<(ThreadHeader, &str)> {
    match parse(line, 0) {
        Ok(Header::Thread(header)) => Some((header, &line[Words::end(line)..])),
        _ => None,
    }
}

/// Reads a header line, `--@` included, that begins at `offset`.
pub(super) fn parse(line: &str, offset: u32) -> Result<Header, Diagnostic> {
    let mut words = Words::new(line, offset);
    let section = words.next().ok_or_else(|| words.missing("a section", &usage_of_all()))?;
    let header = match section.text {
        "thread" => Header::Thread(thread(&mut words)?),
        "invariant" => Header::Invariant(words.name("invariant NAME")?),
        "final" => Header::Final(words.name("final NAME")?),
        "rule" => Header::Rule(words.name("rule NAME")?),
        "assume" => Header::Assume(words.name("assume PROCEDURE")?),
        "expect" => Header::ExpectError(expected(&mut words)?),
        "accept" => Header::Accept(accept(&mut words)?),
        "option" => Header::Option(option(&mut words)?),
        "clock" => Header::Clock(clock(&mut words)?),
        other => {
            let error = Diagnostic::syntax(section.span, format!("unknown section \"{other}\""));
            return Err(error.hint(did_you_mean(other, SECTIONS.iter().map(|s| s.0), &usage_of_all())));
        }
    };
    match words.next() {
        None => Ok(header),
        Some(word) => {
            let usage = SECTIONS.iter().find(|s| s.0 == section.text).map_or("", |s| s.1);
            let error = Diagnostic::syntax(word.span, format!("unexpected \"{}\"", word.text));
            Err(error.hint(format!("write: --@ {usage}")))
        }
    }
}

fn usage_of_all() -> String {
    let names: Vec<&str> = SECTIONS.iter().map(|s| s.0).collect();
    format!("sections are {}", names.join(", "))
}

const THREAD_USAGE: &str = "thread NAME [xN] [isolation LEVEL] [autocommit] [retry N]";

fn thread(words: &mut Words<'_>) -> Result<ThreadHeader, Diagnostic> {
    let name = words.name(THREAD_USAGE)?;
    let mut header = ThreadHeader { name, copies: None, isolation: None, autocommit: false, retries: 0 };
    while let Some(word) = words.next() {
        match word.text {
            "isolation" => header.isolation = Some(words.isolation()?),
            "autocommit" => header.autocommit = true,
            "retry" => header.retries = words.number("retry N")? as u32,
            text if is_copies(text) => header.copies = Some(copies(word)?),
            other => {
                let error = Diagnostic::syntax(word.span, format!("unknown thread setting \"{other}\""));
                let known = ["isolation", "autocommit", "retry"];
                return Err(error.hint(did_you_mean(other, known, &format!("write: --@ {THREAD_USAGE}"))));
            }
        }
    }
    Ok(header)
}

fn is_copies(text: &str) -> bool {
    text.strip_prefix('x').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn copies(word: Word<'_>) -> Result<u32, Diagnostic> {
    match word.text[1..].parse() {
        Ok(n @ 1..=COPIES_MAX) => Ok(n),
        _ => Err(Diagnostic::syntax(word.span, format!("a thread may have 1 to {COPIES_MAX} copies"))),
    }
}

fn expected(words: &mut Words<'_>) -> Result<SqlState, Diagnostic> {
    const USAGE: &str = "write: --@ expect error CODE, a SQLSTATE such as 23505 or a name such as unique_violation";
    match words.next() {
        Some(Word { text: "error", .. }) => words.error_code(USAGE),
        Some(word) => Err(Diagnostic::syntax(word.span, "only errors can be expected").hint(USAGE)),
        None => Err(words.missing("what to expect", USAGE)),
    }
}

fn accept(words: &mut Words<'_>) -> Result<Accepted, Diagnostic> {
    const USAGE: &str = "write: --@ accept nothing, or --@ accept error CODE";
    match words.next() {
        Some(Word { text: "nothing", .. }) => Ok(Accepted::Nothing),
        Some(Word { text: "error", .. }) => words.error_code(USAGE).map(Accepted::Error),
        Some(word) => Err(Diagnostic::syntax(word.span, format!("\"{}\" cannot be accepted", word.text)).hint(USAGE)),
        None => Err(words.missing("what to accept", USAGE)),
    }
}

fn option(words: &mut Words<'_>) -> Result<OptionSetting, Diagnostic> {
    let keys: Vec<&str> = OPTIONS.iter().map(|o| o.0).collect();
    let all = format!("options are {}", keys.join(", "));
    let key = words.next().ok_or_else(|| words.missing("an option", &all))?;
    Ok(match key.text {
        "isolation" => OptionSetting::Isolation(words.isolation()?),
        "atomic" => OptionSetting::Atomic(words.switch("atomic")?),
        "serial" => OptionSetting::Serial(words.choice("serial")?),
        "deadlock" => OptionSetting::Deadlock(words.switch("deadlock")?),
        "search" => OptionSetting::Search(words.choice("search")?),
        "dependence" => OptionSetting::Dependence(words.choice("dependence")?),
        "hash" => OptionSetting::Hash(words.choice("hash")?),
        "restore" => OptionSetting::Restore(words.choice("restore")?),
        "states_max" => OptionSetting::StatesMax(words.number("option states_max N")?),
        "depth_max" => OptionSetting::DepthMax(words.number("option depth_max N")?),
        "preemptions" => OptionSetting::Preemptions(words.number("option preemptions N")?),
        "bug_depth" => OptionSetting::BugDepth(words.number("option bug_depth N")?),
        "seed" => OptionSetting::Seed(words.number("option seed N")?),
        "runs" => OptionSetting::Runs(words.number("option runs N")?),
        "jobs" => OptionSetting::Jobs(words.number("option jobs N")?),
        "granularity" => OptionSetting::Granularity(words.choice("granularity")?),
        other => {
            let error = Diagnostic::syntax(key.span, format!("unknown option \"{other}\""));
            return Err(error.hint(did_you_mean(other, keys, &all)));
        }
    })
}

/// More marks than this are a typing mistake; each multiplies the interleavings.
const MARKS_MAX: usize = 16;
/// No mark is later than this, in microseconds: a hundred years.
const CLOCK_MAX: i64 = 100 * 366 * 86_400_000_000;
const CLOCK_USAGE: &str = "write: --@ clock 0s 10m 1h, times since the start, each later than the one before";

/// `0s 10m 1h`, without the start.
fn clock(words: &mut Words<'_>) -> Result<Vec<i64>, Diagnostic> {
    let mut marks: Vec<i64> = Vec::new();
    let mut first = true;
    while let Some(word) = words.next() {
        let error = |message: String| Diagnostic::syntax(word.span, message).hint(CLOCK_USAGE);
        let time = time(word.text).ok_or_else(|| error(format!("\"{}\" is not a time", word.text)))?;
        match marks.last() {
            None if time == 0 && first => {}
            last if time <= last.copied().unwrap_or(0) => return Err(error("times must increase".into())),
            _ if marks.len() >= MARKS_MAX => return Err(error(format!("there may be {MARKS_MAX} times"))),
            _ => marks.push(time),
        }
        first = false;
    }
    match marks.is_empty() {
        true => Err(words.missing("a time after the start", CLOCK_USAGE)),
        false => Ok(marks),
    }
}

/// `500ms`, `30s`, `10m`, `1h`, `2d` in microseconds.
fn time(text: &str) -> Option<i64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let unit = match &text[digits..] {
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" | "min" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => return None,
    };
    text[..digits].parse::<i64>().ok()?.checked_mul(unit).filter(|time| *time <= CLOCK_MAX)
}

/// A word of a header, with its place.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    span: Span,
}

/// The words of a header, up to a comment behind it.
struct Words<'a> {
    line: &'a str,
    offset: u32,
    at: usize,
}

impl<'a> Words<'a> {
    fn new(line: &'a str, offset: u32) -> Words<'a> {
        Words { line: line[..Words::end(line)].trim_end(), offset, at: 3 }
    }

    /// Where the comment behind a header begins.
    fn end(line: &str) -> usize {
        let body = line.get(3..).unwrap_or("");
        body.find("--").map_or(line.len(), |i| i + 3)
    }

    fn next(&mut self) -> Option<Word<'a>> {
        let rest = self.line.get(self.at..)?;
        let start = self.at + rest.find(|c: char| !c.is_whitespace())?;
        let rest = &self.line[start..];
        let end = start + rest.find(char::is_whitespace).unwrap_or(rest.len());
        self.at = end;
        Some(Word { text: &self.line[start..end], span: Span::new(start, end).shifted(self.offset) })
    }

    fn missing(&self, what: &str, hint: &str) -> Diagnostic {
        let span = Span::new(0, self.line.len()).shifted(self.offset);
        Diagnostic::syntax(span, format!("{what} is missing")).hint(hint)
    }

    /// A name that can also stand in a schedule.
    fn name(&mut self, usage: &str) -> Result<String, Diagnostic> {
        let usage = format!("write: --@ {usage}");
        let word = self.next().ok_or_else(|| self.missing("a name", &usage))?;
        let fine = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        if word.text.starts_with(|c: char| c.is_alphabetic() || c == '_') && word.text.chars().all(fine) {
            return Ok(word.text.to_string());
        }
        let error = Diagnostic::syntax(word.span, format!("\"{}\" is not a name", word.text));
        Err(error.hint("a name is a letter followed by letters, digits, `_`, `-` or `.`"))
    }

    /// A SQLSTATE, or the name of a condition.
    fn error_code(&mut self, usage: &str) -> Result<SqlState, Diagnostic> {
        let code = self.next().ok_or_else(|| self.missing("an error code", usage))?;
        let state = SqlState::parse(code.text).or_else(|| SqlState::by_condition(code.text));
        state.ok_or_else(|| {
            let error = Diagnostic::syntax(code.span, format!("unknown error code \"{}\"", code.text));
            error.hint(did_you_mean(code.text, SqlState::ALL.iter().map(|s| s.1), usage))
        })
    }

    fn number(&mut self, usage: &str) -> Result<u64, Diagnostic> {
        let usage = format!("write: --@ ... {usage}");
        let word = self.next().ok_or_else(|| self.missing("a number", &usage))?;
        match word.text.parse::<u64>() {
            Ok(n) if n <= u64::from(u32::MAX) => Ok(n),
            _ => Err(Diagnostic::syntax(word.span, format!("\"{}\" is not a number", word.text)).hint(usage)),
        }
    }

    fn switch(&mut self, option: &str) -> Result<bool, Diagnostic> {
        let usage = format!("write: --@ option {option} on, or off");
        let word = self.next().ok_or_else(|| self.missing("on or off", &usage))?;
        match word.text {
            "on" | "true" => Ok(true),
            "off" | "false" => Ok(false),
            other => Err(Diagnostic::syntax(word.span, format!("\"{other}\" is neither on nor off")).hint(usage)),
        }
    }

    /// One of a list of names.
    fn choice<T: Choice>(&mut self, option: &str) -> Result<T, Diagnostic> {
        let listed = listed(T::all().iter().map(|choice| choice.word()));
        let usage = format!("write: --@ option {option} {listed}");
        let word = self.next().ok_or_else(|| self.missing(&listed, &usage))?;
        let usage = match T::instead_of(word.text) {
            Some(now) => format!("write {} instead: {}", now.word(), now.about()),
            None => usage,
        };
        T::by_name(word.text)
            .ok_or_else(|| Diagnostic::syntax(word.span, format!("unknown {} \"{}\"", T::KIND, word.text)).hint(usage))
    }

    /// `read committed`, `repeatable_read`, `SERIALIZABLE`.
    fn isolation(&mut self) -> Result<Isolation, Diagnostic> {
        let usage = "levels are: read committed, repeatable read, serializable";
        let first = self.next().ok_or_else(|| self.missing("an isolation level", usage))?;
        let text = first.text.to_ascii_lowercase().replace(['_', '-'], " ");
        let (text, span) = match text.as_str() {
            "read" | "repeatable" => {
                let second = self.next().ok_or_else(|| self.missing("the rest of the isolation level", usage))?;
                (format!("{text} {}", second.text.to_ascii_lowercase()), first.span.to(second.span))
            }
            _ => (text, first.span),
        };
        match text.as_str() {
            "read committed" | "read uncommitted" => Ok(Isolation::ReadCommitted),
            "repeatable read" => Ok(Isolation::RepeatableRead),
            "serializable" => Ok(Isolation::Serializable),
            other => Err(Diagnostic::syntax(span, format!("unknown isolation level \"{other}\"")).hint(usage)),
        }
    }
}

/// `effects, strict or off`
fn listed(words: impl Iterator<Item = &'static str>) -> String {
    let words: Vec<&str> = words.collect();
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => words.concat(),
    }
}

/// A hint that names the nearest known word, or else says what there is.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, otherwise: &str) -> String {
    let word = word.to_lowercase();
    let near = known.into_iter().map(|k| (distance(&word, k), k)).filter(|(d, k)| *d <= 1 + k.len() / 4).min();
    match near {
        Some((_, known)) => format!("did you mean \"{known}\"?"),
        None => otherwise.to_string(),
    }
}

/// How many letters must be inserted, removed or replaced to turn one word into the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("thread", "thread"), 0);
        assert_eq!(distance("tread", "thread"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn comments_behind_a_header_are_ignored() {
        let header = parse("--@ invariant fine     -- in every committed state", 0);
        assert_eq!(header, Ok(Header::Invariant("fine".into())));
    }
}
