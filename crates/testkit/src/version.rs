//! Versions of PostgreSQL, and answers that are not the same in all of them.
//!
//! The engine is PostgreSQL [`REFERENCE`]: a recorded answer is what that server gave. Where another server answers
//! differently, the recording holds that answer too, with the versions that were *seen* to give it:
//!
//! ```text
//! s0> SET lock_timeout = -1
//!     ERROR 22023: -1 ms is outside the valid range for parameter "lock_timeout" (0 .. 2147483647)
//!   @17.10 18.4
//!     ERROR 22023: -1 ms is outside the valid range for parameter "lock_timeout" (0 ms .. 2147483647 ms)
//! ```
//!
//! A version that was not seen is judged by its neighbours, the nearest versions of the same major number that were. If
//! both give the same answer, so must it. If they do not, or if there is no newer one that was seen, the change came
//! with some release between or after them, and the answer of the reference is as good.

use std::fmt;

/// A release of PostgreSQL, such as 15.20.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 15 of 15.20.
    pub major: u32,
    /// 20 of 15.20.
    pub minor: u32,
}

/// The server whose answers the engine gives.
pub const REFERENCE: Version = Version { major: 15, minor: 20 };

impl Version {
    /// Reads `15.20`, or what a server calls itself: `15.20 (Debian 15.20-0+deb12u1)`, `19beta1`.
    pub fn parse(text: &str) -> Option<Version> {
        let text = text.trim();
        let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
        let major = number(text)?;
        let minor = text.split_once('.').and_then(|(_, rest)| number(rest)).unwrap_or(0);
        Some(Version { major, minor })
    }

    /// Whether what this server answers is what the engine has to answer.
    pub fn is_reference(self) -> bool {
        self.major == REFERENCE.major && self >= REFERENCE
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// What a statement or a spec is answered: by the reference, and by servers that answer differently.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// By the reference, and by all versions of which nothing else is said.
    pub usual: String,
    /// By others, with the versions that were seen to give it, oldest first.
    pub others: Vec<(Vec<Version>, String)>,
}

impl Answers {
    /// Whether a server of this version may give this answer; the engine (`None`) only the usual one.
    pub fn allow(&self, version: Option<Version>, answer: &str) -> bool {
        self.allowed(version).contains(&answer)
    }

    /// The answers that a version may give.
    pub fn allowed(&self, version: Option<Version>) -> Vec<&str> {
        let Some(version) = version else { return vec![&self.usual] };
        let reference = (REFERENCE, &*self.usual);
        let others = self.others.iter().flat_map(|(versions, text)| versions.iter().map(|v| (*v, &**text)));
        let seen: Vec<(Version, &str)> =
            others.chain([reference]).filter(|(other, _)| other.major == version.major).collect();
        let below = seen.iter().filter(|(other, _)| *other <= version).max_by_key(|(other, _)| *other);
        let above = seen.iter().filter(|(other, _)| *other >= version).min_by_key(|(other, _)| *other);
        match (below, above) {
            (None, None) => vec![&self.usual],
            (None, Some((_, text))) => vec![text],
            (Some((_, text)), Some((_, same))) if text == same => vec![text],
            (Some((at, text)), None) if *at == version || *text == self.usual => vec![text],
            (Some((_, text)), above) => {
                let after = above.map_or(&*self.usual, |(_, text)| text);
                vec![text, after]
            }
        }
    }

    /// Puts an answer in the place of the one that was expected, to be shown beside it.
    pub fn contradict(&mut self, version: Version, answer: &str) {
        let expected = self.allowed(Some(version))[0].to_string();
        let others = self.others.iter_mut().map(|(_, text)| text);
        if let Some(text) = others.chain([&mut self.usual]).find(|text| **text == expected) {
            *text = answer.to_string();
        }
    }

    /// Takes in what a server of this version was seen to answer: the reference decides what is usual, others are told
    /// apart from it.
    pub fn record(&mut self, version: Version, answer: &str) {
        if version.is_reference() {
            self.usual = answer.to_string();
        }
        for (versions, _) in &mut self.others {
            versions.retain(|other| *other != version);
        }
        if !version.is_reference() && answer != self.usual {
            match self.others.iter_mut().find(|(_, text)| text == answer) {
                Some((versions, _)) => versions.push(version),
                None => self.others.push((vec![version], answer.to_string())),
            }
        }
        self.others.iter_mut().for_each(|(versions, _)| versions.sort());
        self.others.retain(|(versions, text)| !versions.is_empty() && *text != self.usual);
        self.others.sort();
    }
}

/// An error that newer servers report in other words.
#[derive(Debug)]
struct Reworded {
    /// The first major version that does.
    since: u32,
    /// Code and words.
    new: (&'static str, &'static str),
    /// Those of the reference.
    old: (&'static str, &'static str),
}

/// Every such error that generated programs meet. To add one: a line here.
const REWORDED: &[Reworded] = &[Reworded {
    since: 18,
    new: ("23001", "violates RESTRICT setting of foreign key constraint"),
    old: ("23503", "violates foreign key constraint"),
}];

/// An error, code and message, as the reference would report it.
pub fn in_words_of_the_reference(version: Option<Version>, sqlstate: &mut String, message: &mut String) {
    let said = |error: &&Reworded| {
        version.is_some_and(|v| v.major >= error.since) && *sqlstate == error.new.0 && message.contains(error.new.1)
    };
    if let Some(error) = REWORDED.iter().find(said) {
        *sqlstate = error.old.0.to_string();
        *message = message.replace(error.new.1, error.old.1);
    }
}

/// What servers answer to statements, types and functions that came with a later version.
const UNKNOWN: &[&str] = &["42601", "42883", "42704", "0A000"];

/// Whether an error may mean that a server is too old for the statement.
pub fn is_too_old(version: Option<Version>, sqlstate: &str) -> bool {
    version.is_some_and(|version| version.major < REFERENCE.major) && UNKNOWN.contains(&sqlstate)
}

/// What a script or a spec asks of a server: a line `@needs 15 MERGE` or `@needs 15.1 ...`, which in specs is a
/// comment.
#[derive(Clone, Debug, PartialEq)]
pub struct Needs {
    /// The first version that has it, and all after it have.
    pub since: Version,
    /// What it is.
    pub what: String,
}

impl Needs {
    /// The first such line of a text.
    pub fn find(text: &str) -> Option<Needs> {
        let line = text.lines().find_map(|line| line.trim_start_matches(['#', ' ']).strip_prefix("@needs "))?;
        let (since, what) = line.trim().split_once(' ')?;
        Some(Needs { since: Version::parse(since)?, what: what.trim().to_string() })
    }

    /// Why a server cannot run this; the engine (`None`) has everything.
    pub fn lacking(&self, version: Option<Version>) -> Option<String> {
        let version = version.filter(|version| *version < self.since)?;
        Some(format!("{} needs PostgreSQL {}, and the server is {version}", self.what, self.since))
    }
}

/// The versions of a line `@13.23 14.23`.
pub fn versions(line: &str) -> Option<Vec<Version>> {
    let versions: Option<Vec<Version>> =
        line.trim().strip_prefix('@')?.split_whitespace().map(Version::parse).collect();
    versions.filter(|versions| !versions.is_empty())
}

/// The versions as such a line.
pub fn line(versions: &[Version]) -> String {
    format!("@{}", versions.iter().map(Version::to_string).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v(text: &str) -> Version {
        Version::parse(text).expect("a version")
    }

    fn mended() -> Answers {
        let seen = ["14.23", "15.18", "16.14"].map(v).to_vec();
        Answers { usual: "new".into(), others: vec![(seen, "old".into())] }
    }

    #[test]
    fn versions_are_read_as_servers_write_them() {
        assert_eq!(v("15.20 (Debian 15.20-0+deb12u1)"), Version { major: 15, minor: 20 });
        assert_eq!(v("19beta1"), Version { major: 19, minor: 0 });
        assert_eq!(Version::parse("new"), None);
        assert_eq!(versions("  @13.23 14.23"), Some(vec![v("13.23"), v("14.23")]));
        assert_eq!(line(&[v("13.23"), v("14.23")]), "@13.23 14.23");
    }

    /// What was seen is required; what was not is judged by its neighbours.
    #[test]
    fn a_version_is_judged_by_those_that_were_seen() {
        let allowed = |text: &str| mended().allowed(Some(v(text))).join(" ");
        assert_eq!(allowed("15.18"), "old");
        assert_eq!(allowed("15.3"), "old");
        assert_eq!(allowed("15.19"), "old new");
        assert_eq!(allowed("15.20"), "new");
        assert_eq!(allowed("15.21"), "new");
        assert_eq!(allowed("16.0"), "old");
        assert_eq!(allowed("16.15"), "old new");
        assert_eq!(allowed("13.23"), "new");
        assert_eq!(mended().allowed(None), ["new"]);
    }

    #[test]
    fn the_reference_decides_what_is_usual() {
        let mut answers = mended();
        answers.record(v("16.15"), "new");
        answers.record(v("17.0"), "old");
        answers.record(v("18.0"), "other");
        answers.record(v("14.23"), "new");
        assert_eq!(
            answers.others,
            [(vec![v("15.18"), v("16.14"), v("17.0")], "old".into()), (vec![v("18.0")], "other".into())]
        );
        answers.record(v("15.21"), "old");
        assert_eq!(answers.usual, "old");
        assert_eq!(answers.others, [(vec![v("18.0")], "other".into())]);
    }
}
