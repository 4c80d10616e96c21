//! Generated values up to renaming.
//!
//! Which of two threads drew 1 from a sequence and which drew 2 does not matter to an application. So a generated value
//! is named after its origin: the generator, the thread, and the rank among the visible draws of that thread that were
//! not undone. Values are recognised in two ways.
//!
//! *By its column*: a value of a serial column, or of a foreign key to one, that a thread drew during the run. This
//! needs one run.
//!
//! *By running the schedule twice*, each time with another base of all generators ([`isolde_engine::Generators`]). The
//! two runs are put side by side, cell by cell:
//!
//! ```text
//!   base 1    draws of a: 2       ORD-2       n = 2        2 ─── 4275: the draw of a, also inside of a text
//!   base 2    draws of a: 4275    ORD-4275    n = 2        2 ─── 2:    no generated value
//! ```
//!
//! A cell, or a number or UUID inside of a text, that is a certain draw in both runs is that draw. Everything else
//! stays as it is in the first run, whether it differs or not: a value *computed* from a draw is compared as it is. So
//! a difference can only be accepted between two draws of the same origin, and misaligned rows make the comparison
//! stricter, never weaker.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use isolde_sql::Value;

use crate::names;

/// A value of an outcome: as it is, or with what was generated named after its origin.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cell {
    /// As it is.
    Value(Value),
    /// A draw, or a text with draws in it.
    Generated(Vec<Piece>),
}

/// A part of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Piece {
    Text(String),
    Draw(Origin),
}

/// Where a generated value comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Origin {
    pub(crate) generator: Generator,
    pub(crate) thread: usize,
    /// Counts the draws of this thread from this generator that can be seen, from 1.
    pub(crate) rank: usize,
}

/// What generates values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Generator {
    Sequence(Arc<str>),
    /// `random()` and `gen_random_uuid()`
    Random,
}

impl Cell {
    /// A draw.
    pub(crate) fn draw(origin: Origin) -> Cell {
        Cell::Generated(vec![Piece::Draw(origin)])
    }

    /// As reports show it: a draw is shown by its generator and its thread.
    pub(crate) fn shown<'n>(&self, thread: impl Fn(usize) -> &'n str) -> String {
        match self {
            Cell::Value(value) => names::value(value),
            Cell::Generated(pieces) => pieces.iter().map(|piece| piece.shown(&thread)).collect(),
        }
    }
}

impl Piece {
    fn shown<'n>(&self, thread: impl Fn(usize) -> &'n str) -> String {
        let Origin { generator, thread: number, rank } = match self {
            Piece::Text(text) => return text.clone(),
            Piece::Draw(origin) => origin,
        };
        let what = match generator {
            Generator::Sequence(name) => format!("value of {name}"),
            Generator::Random => "random value".into(),
        };
        match rank {
            1 => format!("<{what} drawn by {}>", thread(*number)),
            _ => format!("<{what} drawn by {}, number {rank}>", thread(*number)),
        }
    }
}

/// What a thread drew in both runs of a schedule, in order.
pub(crate) type DrawnTwice = Vec<(Generator, (Value, Value))>;

/// The draws of two runs of the same schedule.
pub(crate) struct Twice {
    /// The draw that has these values in the two runs; `None` if there are several.
    draws: BTreeMap<(Value, Value), Option<Origin>>,
    /// The draws that were met; ranks are positions here.
    met: RefCell<BTreeSet<Origin>>,
    /// Ranks among the draws that can be seen, once these are known.
    ranks: Option<BTreeMap<Origin, usize>>,
}

impl Twice {
    /// By thread.
    pub(crate) fn new(threads: Vec<DrawnTwice>) -> Twice {
        let mut draws: BTreeMap<(Value, Value), Option<Origin>> = BTreeMap::new();
        for (thread, drawn) in threads.into_iter().enumerate() {
            for (rank, (generator, pair)) in drawn.into_iter().enumerate().filter(|(_, (_, pair))| pair.0 != pair.1) {
                let origin = Origin { generator, thread, rank };
                let known = draws.entry(pair).or_insert_with(|| Some(origin.clone()));
                // A value that was set and drawn by the same thread is its first draw.
                let same = |known: &Origin| (&known.generator, known.thread) == (&origin.generator, thread);
                *known = known.take().filter(same);
            }
        }
        Twice { draws, met: RefCell::default(), ranks: None }
    }

    /// From now on draws are counted among those that were met so far.
    pub(crate) fn count_visible(&mut self) {
        let mut counts: BTreeMap<(Generator, usize), usize> = BTreeMap::new();
        let met = self.met.take().into_iter().map(|origin| {
            let count = counts.entry((origin.generator.clone(), origin.thread)).or_default();
            *count += 1;
            (origin, *count)
        });
        self.ranks = Some(met.collect());
    }

    /// A cell that has these values in the two runs.
    pub(crate) fn cell(&self, one: &Value, other: &Value) -> Cell {
        let as_it_is = || Cell::Value(one.clone());
        if one == other {
            return as_it_is();
        }
        match self.draw(one.clone(), other.clone()) {
            Some(origin) => Cell::draw(origin),
            None => self.text(&one.to_string(), &other.to_string()).map_or_else(as_it_is, Cell::Generated),
        }
    }

    fn draw(&self, one: Value, other: Value) -> Option<Origin> {
        let origin = self.draws.get(&(one, other))?.as_ref()?;
        self.met.borrow_mut().insert(origin.clone());
        let rank = self.ranks.as_ref().map_or(Some(origin.rank), |ranks| ranks.get(origin).copied());
        Some(Origin { rank: rank?, ..origin.clone() })
    }

    /// A text in which the runs differ by draws alone.
    fn text(&self, one: &str, other: &str) -> Option<Vec<Piece>> {
        let (one, other) = (lexemes(one), lexemes(other));
        if one.len() != other.len() {
            return None;
        }
        let mut pieces = Vec::new();
        for (one, other) in one.iter().zip(&other) {
            match (one == other, pieces.last_mut()) {
                (true, Some(Piece::Text(text))) => text.push_str(one.text()),
                (true, _) => pieces.push(Piece::Text(one.text().into())),
                (false, _) => pieces.push(Piece::Draw(self.draw(one.value()?, other.value()?)?)),
            }
        }
        Some(pieces)
    }
}

/// A part of a text that may have been generated, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lexeme<'t> {
    Uuid(&'t str),
    Digits(&'t str),
    Other(&'t str),
}

impl<'t> Lexeme<'t> {
    fn text(self) -> &'t str {
        match self {
            Lexeme::Uuid(text) | Lexeme::Digits(text) | Lexeme::Other(text) => text,
        }
    }

    fn value(self) -> Option<Value> {
        match self {
            Lexeme::Uuid(text) => u128::from_str_radix(&text.replace('-', ""), 16).ok().map(Value::Uuid),
            Lexeme::Digits(text) => text.parse().ok().map(Value::Int),
            Lexeme::Other(_) => None,
        }
    }
}

/// A text as UUIDs, numbers, and what is between them.
fn lexemes(text: &str) -> Vec<Lexeme<'_>> {
    let bytes = text.as_bytes();
    let (mut lexemes, mut at, mut plain) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let uuid = uuid_at(bytes, at);
        let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let length = uuid.unwrap_or(digits);
        if length == 0 {
            at += 1;
            continue;
        }
        if plain < at {
            lexemes.push(Lexeme::Other(&text[plain..at]));
        }
        let part = &text[at..at + length];
        lexemes.push(if uuid.is_some() { Lexeme::Uuid(part) } else { Lexeme::Digits(part) });
        at += length;
        plain = at;
    }
    if plain < at {
        lexemes.push(Lexeme::Other(&text[plain..at]));
    }
    lexemes
}

/// The length of the UUID that begins here.
fn uuid_at(bytes: &[u8], at: usize) -> Option<usize> {
    const LENGTH: usize = 36;
    let candidate = bytes.get(at..at + LENGTH)?;
    let fits = |(place, byte): (usize, &u8)| match place {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    candidate.iter().enumerate().all(fits).then_some(LENGTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twice() -> Twice {
        let sequence = |name: &str| Generator::Sequence(name.into());
        let pair = |a, b| (Value::Int(a), Value::Int(b));
        let uuid = (Value::Uuid(0x11112222333344445555666677778888), Value::Uuid(0x99992222333344445555666677778888));
        Twice::new(vec![
            vec![(sequence("s"), pair(1, 101)), (sequence("s"), pair(7, 107))],
            vec![(sequence("s"), pair(2, 102)), (Generator::Random, uuid)],
        ])
    }

    #[track_caller]
    fn check(one: &str, other: &str, expected: &str) {
        let mut twice = twice();
        let cell = |twice: &Twice| twice.cell(&Value::text(one), &Value::text(other)).shown(|t| ["ann", "ben"][t]);
        cell(&twice);
        twice.count_visible();
        assert_eq!(cell(&twice), expected);
    }

    #[test]
    fn draws_inside_of_texts_are_named_and_nothing_else() {
        check("ORD-1", "ORD-101", "ORD-<value of s drawn by ann>");
        // Only what can be seen counts.
        check("ORD-7", "ORD-107", "ORD-<value of s drawn by ann>");
        check("1 of 7", "101 of 107", "<value of s drawn by ann> of <value of s drawn by ann, number 2>");
        check("0002/1", "0102/1", "<value of s drawn by ben>/1");
        // Computed from a draw; the draws of different threads; only one of the runs has it.
        check("n3", "n103", "n3");
        check("n1", "n102", "n1");
        check("n1", "n1", "n1");
        check(
            "é 11112222-3333-4444-5555-666677778888!",
            "é 99992222-3333-4444-5555-666677778888!",
            "é <random value drawn by ben>!",
        );
    }

    #[test]
    fn a_value_that_two_threads_drew_is_no_name_of_either() {
        let draw = || vec![(Generator::Sequence("s".into()), (Value::Int(1), Value::Int(101)))];
        let twice = Twice::new(vec![draw(), draw()]);
        assert_eq!(twice.cell(&Value::Int(1), &Value::Int(101)), Cell::Value(Value::Int(1)));
    }
}
