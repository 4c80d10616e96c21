//! A transaction around what a client sends outside of one.
//!
//! A server commits a lone statement when it is done. Others can come in between: after its snapshot, before its commit
//! is seen. So what is sent outside of a transaction and changes something is put into one, and its commit is a unit of
//! its own, which is held and let go like any other:
//!
//! ```text
//!   client          proxy                                server
//!   UPDATE ──▶      BEGIN, UPDATE ──▶                    UPDATE 1, in a transaction
//!                   keeps the answer, holds a COMMIT
//!                   ... a step of another thread ...
//!                   COMMIT ──▶                           COMMIT, in none
//!   ◀── UPDATE 1    the answer, with the status that the server has now
//! ```
//!
//! The client is told what it would be told without that. If the statement fails, ROLLBACK follows at once, since a
//! lone statement that fails is over. If the commit fails, the error stands where the server puts it: in the place of
//! the last CommandComplete after a simple query, which commits before it says that it is complete, and behind it after
//! a Sync. BEGIN and its kin are said by the extended protocol, under a name: a simple query would take the client's
//! unnamed statement away.

use super::frame::Frame;
use super::speech::{End, Spoken, Unit};

/// Where a unit with a transaction around it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// BEGIN is not answered yet.
    Begin,
    /// The unit itself is not.
    Inside,
    /// It has failed, and ROLLBACK is not answered yet.
    Rollback,
    /// The unit is the COMMIT behind another one.
    Commit,
}

/// The answer to a unit whose commit is to come.
#[derive(Debug)]
pub(super) struct Kept {
    /// What the client has not been told.
    pub(super) frames: Vec<Frame>,
    /// It was a simple query.
    pub(super) simple: bool,
}

/// What is sent before a unit.
pub(super) fn begin() -> Vec<u8> {
    said("BEGIN").iter().flat_map(|frame| frame.bytes()).copied().collect()
}

/// What is sent after a unit that has failed.
pub(super) fn rollback() -> Vec<u8> {
    said("ROLLBACK").iter().flat_map(|frame| frame.bytes()).copied().collect()
}

/// The commit of what was sent before.
pub(super) fn commit() -> Unit {
    let spoken = vec![Spoken { text: "COMMIT".into(), ..Spoken::default() }];
    Unit { frames: said("COMMIT"), spoken, end: End::Ready, replies: 0, described: Vec::new(), implicit: true }
}

/// A statement by the extended protocol, of which nothing stays.
fn said(text: &str) -> Vec<Frame> {
    const NAME: &str = "isolde_wrap";
    let parse = format!("{NAME}\0{text}\0\0\0");
    let bind = format!("{NAME}\0{NAME}\0\0\0\0\0\0\0");
    let execute = format!("{NAME}\0\0\0\0\0");
    let (portal, statement) = (format!("P{NAME}\0"), format!("S{NAME}\0"));
    // An error may have left the statement.
    [
        (b'C', &*statement),
        (b'P', &*parse),
        (b'B', &*bind),
        (b'E', &*execute),
        (b'C', &*portal),
        (b'C', &*statement),
        (b'S', ""),
    ]
    .map(|(tag, body)| Frame::new(tag, body.as_bytes()))
    .to_vec()
}

impl Kept {
    /// What the client is told when the commit was answered by these messages.
    pub(super) fn with(mut self, commit: Vec<Frame>) -> Vec<Frame> {
        self.frames.retain(|frame| frame.tag != b'Z');
        let failed = commit.iter().any(|frame| frame.tag == b'E');
        if failed
            && self.simple
            && let Some(last) = self.frames.iter().rposition(|frame| frame.tag == b'C')
        {
            self.frames.remove(last);
        }
        // Its own answer is nothing that the client has asked for.
        self.frames.extend(commit.into_iter().filter(|frame| !b"12C3".contains(&frame.tag)));
        self.frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(frames: &[Frame]) -> String {
        frames.iter().map(|frame| char::from(frame.tag)).collect()
    }

    fn frames(tags: &str) -> Vec<Frame> {
        tags.bytes().map(|tag| Frame::new(tag, if tag == b'Z' { b"T" } else { b"" })).collect()
    }

    #[test]
    fn the_client_is_told_what_it_would_be_told_without_a_transaction() {
        let told =
            |kept: &str, simple: bool, commit: &str| tags(&Kept { frames: frames(kept), simple }.with(frames(commit)));
        assert_eq!(told("CZ", true, "12C33Z"), "CZ");
        assert_eq!(told("TDCTDCZ", true, "12C33AZ"), "TDCTDCAZ");
        assert_eq!(told("12TDCZ", false, "12C33Z"), "12TDCZ");
        // The commit fails: a deferred constraint.
        assert_eq!(told("CTDCZ", true, "12EZ"), "CTDEZ");
        assert_eq!(told("12DCZ", false, "12EZ"), "12DCEZ");
    }

    #[test]
    fn the_commit_is_a_statement_of_its_own() {
        let commit = commit();
        assert_eq!((commit.text().as_str(), tags(&commit.frames).as_str()), ("COMMIT", "CPBECCS"));
    }
}
