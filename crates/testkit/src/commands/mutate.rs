//! Small changes that leave an input nearly right.
//!
//! A text is a list of statements (or lines, where it has none). They are left out, repeated, exchanged, taken from
//! another text of the kind; a number or a name in one becomes another; and now and then a word is put in that has its
//! own rules.

use crate::generate::Dice;

/// What separates the parts of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// Semicolons outside of quotes, and section lines.
    Statements,
    /// Line ends.
    Lines,
}

/// The text with a few changes.
pub(super) fn mutated(dice: &mut Dice, text: &str, others: &[String], parts: Parts) -> String {
    let mut list = split(text, parts);
    for _ in 0..1 + dice.below(3) {
        change(dice, &mut list, others, parts);
    }
    let text = list.concat();
    // Cut off anywhere, rarely: parsers must not care.
    match dice.one_in(40) {
        true => text.chars().take(dice.below(text.len() + 1)).collect(),
        false => text,
    }
}

fn change(dice: &mut Dice, list: &mut Vec<String>, others: &[String], parts: Parts) {
    if list.is_empty() {
        list.push(String::new());
    }
    let (at, other) = (dice.below(list.len()), dice.below(list.len()));
    match dice.below(9) {
        0 => drop(list.remove(at)),
        1 => list.insert(at, list[other].clone()),
        2 => list.swap(at, other),
        3 if !others.is_empty() => {
            let lent: &String = dice.pick(others);
            let lent = split(lent, parts);
            if !lent.is_empty() {
                list.insert(at, dice.pick(&lent).clone());
            }
        }
        4 => list[at] = with_number(dice, &list[at]),
        5 => list[at] = with_name(dice, &list[at], &list[other].clone()),
        6 if parts == Parts::Statements => list.insert(at, format!("{};\n", dice.pick(INSERTED))),
        7 => list[at] = with_word(dice, &list[at], &list[other].clone()),
        _ => list[at] = with_number(dice, &list[at].clone()),
    }
}

/// Statements that change what those around them mean.
const INSERTED: &[&str] = &[
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT s",
    "ROLLBACK TO SAVEPOINT s",
    "BEGIN ISOLATION LEVEL SERIALIZABLE",
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET lock_timeout = '1s'",
    "SET CONSTRAINTS ALL DEFERRED",
    "SELECT 1",
    "SELECT pg_advisory_lock(1)",
    "SELECT pg_sleep(1)",
    "DO $$ BEGIN PERFORM 1; END $$",
    "DO $$ BEGIN RAISE EXCEPTION 'x'; END $$",
    "CREATE TABLE extra (id int PRIMARY KEY, a int)",
    "CREATE TEMP TABLE mine AS SELECT 1 AS a",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "DEALLOCATE ALL",
    "DECLARE c CURSOR FOR SELECT 1",
    "FETCH 1 FROM c",
    "LISTEN here",
    "NOTIFY here, 'x'",
    "PREPARE TRANSACTION 'two'",
    "COMMIT PREPARED 'two'",
    "SELECT array_agg(x) FROM generate_series(1, 5) AS x",
    "\n--@ thread more",
    "\n--@ thread same x2 isolation serializable retry 2",
    "\n--@ thread alone autocommit\nSELECT 1",
    "\n--@ invariant always\nSELECT count(*) >= 0 FROM extra",
    "\n--@ final last\nSELECT true",
    "\n--@ expect error 40001",
    "\n--@ option granularity row",
    "\n--@ rule whatever\nSELECT true",
];

/// Numbers at the ends of types, and in the middle.
const NUMBERS: &[&str] =
    &["0", "1", "2", "-1", "100", "2147483647", "2147483648", "9223372036854775807", "1e300", "0.5", "NULL"];

fn with_number(dice: &mut Dice, text: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, _) in text.match_indices(is_digit) {
        match runs.last_mut() {
            Some((_, end)) if *end == at => *end = at + 1,
            _ => runs.push((at, at + 1)),
        }
    }
    if runs.is_empty() {
        return text.to_string();
    }
    let (start, end) = *dice.pick(&runs);
    format!("{}{}{}", &text[..start], dice.pick(NUMBERS), &text[end..])
}

/// One name in place of another.
fn with_name(dice: &mut Dice, text: &str, from: &str) -> String {
    replaced(dice, text, from, |word| word.starts_with(|c: char| c.is_ascii_lowercase()))
}

/// Any word in place of any other.
fn with_word(dice: &mut Dice, text: &str, from: &str) -> String {
    replaced(dice, text, from, |word| !word.is_empty())
}

fn replaced(dice: &mut Dice, text: &str, from: &str, fits: fn(&str) -> bool) -> String {
    let words = |text: &str| -> Vec<(usize, String)> {
        let mut list = Vec::new();
        let mut at = 0;
        for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            if fits(word) {
                list.push((at, word.to_string()));
            }
            at += word.len() + text[at + word.len()..].chars().next().map_or(0, char::len_utf8);
        }
        list
    };
    let (mine, theirs) = (words(text), words(from));
    if mine.is_empty() || theirs.is_empty() {
        return text.to_string();
    }
    let ((at, old), (_, new)) = (dice.pick(&mine).clone(), dice.pick(&theirs));
    format!("{}{new}{}", &text[..at], &text[at + old.len()..])
}

/// The parts of a text; together they are the text.
fn split(text: &str, parts: Parts) -> Vec<String> {
    match parts {
        Parts::Lines => text.split_inclusive('\n').map(str::to_string).collect(),
        Parts::Statements => statements(text),
    }
}

fn statements(text: &str) -> Vec<String> {
    let (mut list, mut now, mut quote) = (Vec::new(), String::new(), None::<&str>);
    for line in text.split_inclusive('\n') {
        if quote.is_none() && line.starts_with("--") {
            if !now.is_empty() {
                list.push(std::mem::take(&mut now));
            }
            list.push(line.to_string());
            continue;
        }
        for (at, c) in line.char_indices() {
            now.push(c);
            let dollars = c == '$' && line[..at].ends_with('$');
            match quote {
                Some("$$") if dollars => quote = None,
                Some("'") if c == '\'' => quote = None,
                None if dollars => quote = Some("$$"),
                None if c == '\'' => quote = Some("'"),
                None if c == ';' => list.push(std::mem::take(&mut now)),
                _ => {}
            }
        }
    }
    list.push(now);
    list.retain(|part| !part.is_empty());
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_text() {
        let text = "CREATE TABLE t (a int);\n--@ thread a\nDO $$ BEGIN PERFORM 1; END $$; SELECT ';';\nSELECT 1";
        let parts = split(text, Parts::Statements);
        assert_eq!(parts.concat(), text);
        assert_eq!(parts.len(), 6, "{parts:?}");
    }

    #[test]
    fn the_same_dice_make_the_same_change() {
        let text = "CREATE TABLE t (a int);\nINSERT INTO t VALUES (1);\n";
        let change = |seed| mutated(&mut Dice::new(seed), text, &[], Parts::Statements);
        assert!((0..50).all(|seed| change(seed) == change(seed)));
        assert!((0..50).any(|seed| change(seed) != text));
    }
}
