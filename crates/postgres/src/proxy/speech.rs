//! What a client says, understood: units of scheduling, with the statements they execute.
//!
//! The simple protocol sends a statement as it is. The extended one says it in parts, which a client may keep and use
//! again:
//!
//! ```text
//!   Parse "s1" UPDATE t SET n = $1      Bind "" to "s1" with 7      Execute ""      Sync
//!         └── a prepared statement            └── a portal               └── this is what runs
//! ```
//!
//! So a client's words must be remembered ([`Memory`]) to know what an Execute executes. A query's snapshot is taken
//! when it is bound, not when it is executed: to be noticed, it is enough to bind.

use std::collections::HashMap;

use isolde_sql::parse::lexemes;

use super::frame::{Fields, Frame};
use super::value;
use crate::analysis::{literal, substitute};

/// The least that can be scheduled: messages up to one that makes the server answer.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The messages.
    pub(super) frames: Vec<Frame>,
    /// What they execute, in order; if they execute nothing, what they bind.
    pub spoken: Vec<Spoken>,
    /// How they end.
    pub(super) end: End,
    /// How many messages are answered each by itself.
    pub(super) replies: usize,
    /// For each Describe, in order, the statement that it asks about, if it is not about a portal.
    pub(super) described: Vec<Option<String>>,
    /// It is the commit of what was sent outside of a transaction: the client has not said it.
    pub implicit: bool,
}

/// What makes the server answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A simple query, a function call, a Sync: the server says at the end that it is ready.
    Ready,
    /// A Flush: each message is answered, and the transaction goes on.
    Flush,
}

/// A statement that is executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spoken {
    /// Its text as the client wrote it; of a simple query, all of it.
    pub text: String,
    /// The values of `$1` and so on, with the oids of their types, where these are known.
    pub parameters: Vec<(Option<String>, u32)>,
    /// The result's columns if they were described before, each with its type's oid.
    pub(super) columns: Vec<(String, u32)>,
    /// The forms in which the results are asked for.
    pub(super) formats: Vec<bool>,
}

/// The prepared statements and portals of a session.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    statements: HashMap<String, Prepared>,
    portals: HashMap<String, Spoken>,
}

#[derive(Clone, Debug, Default)]
struct Prepared {
    text: String,
    types: Vec<u32>,
    columns: Vec<(String, u32)>,
}

impl Unit {
    /// Its statements with their parameters written out, on one line each.
    pub fn text(&self) -> String {
        let all: Vec<String> = self.spoken.iter().map(Spoken::inlined).collect();
        all.join("; ")
    }

    /// Adds the next unit if it belongs to this one, since the client has sent both: the execution of what was only
    /// bound, or the Sync behind what was flushed.
    pub(super) fn join(&mut self, next: Unit) -> Option<Unit> {
        let only_binds = self.has(b'B') && !self.has(b'E');
        let only_syncs = next.frames.iter().all(|frame| frame.tag == b'S');
        if self.end != End::Flush || !((only_binds && next.has(b'E') && !next.has(b'B')) || only_syncs) {
            return Some(next);
        }
        if !next.spoken.is_empty() {
            self.spoken = next.spoken;
        }
        self.frames.extend(next.frames);
        self.described.extend(next.described);
        self.replies += next.replies;
        self.end = next.end;
        None
    }

    pub(super) fn has(&self, tag: u8) -> bool {
        self.frames.iter().any(|frame| frame.tag == tag)
    }
}

impl Memory {
    /// What a unit of these messages says. Names are bound now: later messages may give them another meaning.
    pub(super) fn understand(&mut self, frames: Vec<Frame>, end: End) -> Unit {
        let mut unit =
            Unit { frames: Vec::new(), spoken: Vec::new(), end, replies: 0, described: Vec::new(), implicit: false };
        let mut bound = Vec::new();
        for frame in &frames {
            let mut fields = Fields(frame.body());
            unit.replies += usize::from(b"PBCDE".contains(&frame.tag));
            match frame.tag {
                b'Q' => unit.spoken.push(Spoken { text: fields.text(), ..Spoken::default() }),
                b'F' => unit.spoken.push(Spoken { text: "a function call".into(), ..Spoken::default() }),
                b'P' => self.prepare(fields),
                b'B' => bound.push(self.bind(fields)),
                b'E' => unit.spoken.push(self.portals.get(&fields.text()).cloned().unwrap_or_default()),
                b'D' => {
                    let of_statement = fields.byte() == b'S';
                    let name = fields.text();
                    unit.described.push(of_statement.then_some(name));
                }
                b'C' => {
                    let _ = match fields.byte() {
                        b'S' => self.statements.remove(&fields.text()).map(drop),
                        _ => self.portals.remove(&fields.text()).map(drop),
                    };
                }
                _ => {}
            }
        }
        if unit.spoken.is_empty() {
            unit.spoken = bound;
        }
        unit.frames = frames;
        unit
    }

    fn prepare(&mut self, mut fields: Fields<'_>) {
        let (name, text) = (fields.text(), fields.text());
        let types = fields.list(|fields| fields.int32() as u32);
        self.statements.insert(name, Prepared { text, types, columns: Vec::new() });
    }

    fn bind(&mut self, mut fields: Fields<'_>) -> Spoken {
        let (portal, statement) = (fields.text(), fields.text());
        let Prepared { text, types, columns } = self.statements.get(&statement).cloned().unwrap_or_default();
        let binary = fields.list(|fields| fields.int16() == 1);
        let mut at = 0;
        let parameters = fields.list(|fields| {
            let oid = types.get(at).copied().unwrap_or(0);
            let binary = form(&binary, at);
            at += 1;
            (fields.value().map(|value| value::text(value, oid, binary)), oid)
        });
        let formats = fields.list(|fields| fields.int16() == 1);
        let spoken = Spoken { text, parameters, columns, formats };
        self.portals.insert(portal, spoken.clone());
        spoken
    }

    /// The server has told the types of a statement's parameters.
    pub(super) fn learn_parameters(&mut self, statement: &str, mut fields: Fields<'_>) {
        if let Some(prepared) = self.statements.get_mut(statement) {
            prepared.types = fields.list(|fields| fields.int32() as u32);
        }
    }

    /// The server has told a statement's columns.
    pub(super) fn learn_columns(&mut self, statement: &str, columns: Vec<(String, u32)>) {
        if let Some(prepared) = self.statements.get_mut(statement) {
            prepared.columns = columns;
        }
    }
}

/// The form of a value, when forms are given for all, for one that stands for all, or for none.
pub(super) fn form(forms: &[bool], at: usize) -> bool {
    match forms {
        [all] => *all,
        each => each.get(at).copied().unwrap_or(false),
    }
}

impl Spoken {
    /// Its text with the parameters in their places.
    pub fn inlined(&self) -> String {
        let pieces: Vec<String> = self.parameters.iter().map(|(value, oid)| written(value.as_deref(), *oid)).collect();
        substitute(&self.text, &pieces).trim().trim_end_matches(';').trim_end().to_string()
    }
}

/// A value as it would be written in SQL.
fn written(value: Option<&str>, oid: u32) -> String {
    match value {
        None => "NULL".to_string(),
        Some(number) if value::is_number(oid) && number.starts_with(|c: char| c.is_ascii_digit()) => number.to_string(),
        Some(text) => literal(text),
    }
}

/// Cuts a text into quoted strings and names, comments, words, parameters, numbers, white space and single characters,
/// which together are the text.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    lexemes(text).map(|lexeme| lexeme.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_written_out() {
        let parameters = vec![(Some("7".into()), 23), (Some("O'Hara".into()), 25), (None, 0), (Some("-1".into()), 23)];
        let text =
            "UPDATE t SET a = $1, b = $2, c=$3, d = '$1', e = $f$ $1 $f$, g = $4 -- $1\n WHERE h = $12; ".to_string();
        let spoken = Spoken { text, parameters, ..Spoken::default() };
        let written =
            "UPDATE t SET a = 7, b = 'O''Hara', c=NULL, d = '$1', e = $f$ $1 $f$, g = '-1' -- $1\n WHERE h = $12";
        assert_eq!(spoken.inlined(), written);
    }

    #[test]
    fn tokens_are_the_text_whatever_it_is() {
        for text in
            ["", "'", "a'b''c'\"d", "E'\\''x", "$1$2", "$$ ' $$;", "$", "é$a$ü", "/* x", "--", "1.5e3", "\u{a0}'"]
        {
            assert_eq!(tokens(text).collect::<String>(), text);
        }
    }

    #[test]
    fn what_is_executed_was_prepared_and_bound() {
        let mut memory = Memory::default();
        let parse = Frame::new(b'P', b"s\0SELECT $1\0\0\x01\0\0\0\x17");
        let bind = Frame::new(b'B', b"p\0s\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\0\x09\0\0");
        let execute = Frame::new(b'E', b"p\0\0\0\0\0");
        let unit = memory.understand(vec![parse, bind, execute, Frame::new(b'S', b"")], End::Ready);
        assert_eq!(unit.text(), "SELECT 9");
        assert_eq!(unit.replies, 3);
    }

    #[test]
    fn what_is_bound_waits_to_be_executed() {
        let mut memory = Memory::default();
        let frame = |tag, body: &[u8]| Frame::new(tag, body);
        let (flush, sync) = (frame(b'H', b""), frame(b'S', b""));
        let mut bound = memory.understand(
            vec![frame(b'P', b"\0SELECT n FROM t\0\0\0"), frame(b'B', b"\0\0\0\0\0\0\0\0"), flush.clone()],
            End::Flush,
        );
        assert_eq!(bound.text(), "SELECT n FROM t");
        let executed = memory.understand(vec![frame(b'E', b"\0\0\0\0\0"), flush], End::Flush);
        assert!(bound.join(executed).is_none() && bound.join(memory.understand(vec![sync], End::Ready)).is_none());
        assert_eq!((bound.text().as_str(), bound.replies, bound.end), ("SELECT n FROM t", 3, End::Ready));
        let other = memory.understand(vec![frame(b'Q', b"COMMIT\0")], End::Ready);
        assert!(bound.join(other).is_some());
    }
}
