//! Regular expressions: `~`, `regexp_replace` and their family.
//!
//! A match is the leftmost there is, and of those the longest, unless the pattern prefers the shortest (its first
//! quantifier is `*?` or the like). The crates prefer the first alternative instead, so a match is found in two steps:
//! where it begins, then how far it reaches, by an automaton that knows all ends.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use regex_automata::hybrid::dfa::DFA;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind, meta};

use super::args::{Args, Result, error};
use super::list::f;
use super::regex_syntax::{Flags, Translated, from_similar, invalid, translate};
use super::{Builtin, SetBuiltin};
use crate::budget;
use crate::error::{SqlError, SqlState};
use crate::types::Type::{self, *};
use crate::value::{Row, Value};

const TEXTS: Type = Array(&Text);

/// Functions and operators.
pub(super) static FUNCTIONS: &[Builtin] = &[
    f("~", &[Text, Text], Bool, matches),
    f("~*", &[Text, Text], Bool, matches_insensitive),
    f("!~", &[Text, Text], Bool, not_matches),
    f("!~*", &[Text, Text], Bool, not_matches_insensitive),
    f("regexp_like", &[Text, Text], Bool, like),
    f("regexp_like", &[Text, Text, Text], Bool, like),
    f("regexp_match", &[Text, Text], TEXTS, first_match),
    f("regexp_match", &[Text, Text, Text], TEXTS, first_match),
    f("regexp_replace", &[Text, Text, Text], Text, replace),
    f("regexp_replace", &[Text, Text, Text, Text], Text, replace),
    f("regexp_replace", &[Text, Text, Text, Int4], Text, replace_from),
    f("regexp_replace", &[Text, Text, Text, Int4, Int4], Text, replace_from),
    f("regexp_replace", &[Text, Text, Text, Int4, Int4, Text], Text, replace_from),
    f("regexp_count", &[Text, Text], Int4, count),
    f("regexp_count", &[Text, Text, Int4], Int4, count),
    f("regexp_count", &[Text, Text, Int4, Text], Int4, count),
    f("regexp_substr", &[Text, Text], Text, substr),
    f("regexp_substr", &[Text, Text, Int4], Text, substr),
    f("regexp_substr", &[Text, Text, Int4, Int4], Text, substr),
    f("regexp_substr", &[Text, Text, Int4, Int4, Text], Text, substr),
    f("regexp_instr", &[Text, Text], Int4, instr),
    f("regexp_instr", &[Text, Text, Int4], Int4, instr),
    f("regexp_instr", &[Text, Text, Int4, Int4], Int4, instr),
    f("regexp_split_to_array", &[Text, Text], TEXTS, split_to_array),
    f("regexp_split_to_array", &[Text, Text, Text], TEXTS, split_to_array),
    f("substring", &[Text, Text], Text, substring),
    f("substring", &[Text, Text, Text], Text, substring_similar),
    f("similar_to_escape", &[Text], Text, similar),
    f("similar_to_escape", &[Text, Text], Text, similar),
];

/// Functions that yield rows.
pub(super) static SETS: &[SetBuiltin] = &[
    SetBuiltin {
        name: "regexp_matches",
        args: &[Text, Text],
        columns: &[("", TEXTS)],
        strict: true,
        rows: all_matches,
    },
    SetBuiltin {
        name: "regexp_matches",
        args: &[Text, Text, Text],
        columns: &[("", TEXTS)],
        strict: true,
        rows: all_matches,
    },
    SetBuiltin {
        name: "regexp_split_to_table",
        args: &[Text, Text],
        columns: &[("", Text)],
        strict: true,
        rows: split_to_table,
    },
    SetBuiltin {
        name: "regexp_split_to_table",
        args: &[Text, Text, Text],
        columns: &[("", Text)],
        strict: true,
        rows: split_to_table,
    },
];

/// A compiled pattern.
struct Regex {
    /// Finds where a match begins, and what its groups are.
    first: meta::Regex,
    /// Finds how far a match reaches; absent where the automaton cannot be built.
    ends: Option<DFA>,
    /// The same pattern that must reach the end, for the groups of a match whose end is known.
    whole: meta::Regex,
    shortest: bool,
}

/// What the states of a pattern may take: repetitions of repetitions are written out, and a text meets each of them.
const STATES_BYTES_MAX: usize = 1 << 20;

/// A match: the whole, then its groups.
type Groups = Vec<Option<Range<usize>>>;

impl Regex {
    fn new(pattern: &str, flags: Flags) -> Result<Regex> {
        let Translated { pattern, shortest } = translate(pattern, flags)?;
        let config = meta::Config::new().nfa_size_limit(Some(STATES_BYTES_MAX));
        let built = |pattern: &str| {
            meta::Builder::new().configure(config.clone()).build(pattern).map_err(|error| match error.size_limit() {
                Some(_) => invalid("regular expression is too complex"),
                None => invalid("cannot be compiled"),
            })
        };
        let ends = DFA::builder()
            .configure(DFA::config().match_kind(MatchKind::All).unicode_word_boundary(true))
            .syntax(syntax::Config::new())
            .build(&pattern)
            .ok();
        Ok(Regex { first: built(&pattern)?, ends, whole: built(&format!("{pattern}\\z"))?, shortest })
    }

    /// The same pattern is compiled once.
    fn cached(pattern: &str, flags: Flags) -> Result<Rc<Regex>> {
        type Known = HashMap<(String, Flags), Rc<Regex>>;
        thread_local!(static KNOWN: RefCell<Known> = RefCell::default());
        const KNOWN_MAX: usize = 64;
        let key = (pattern.to_owned(), flags);
        if let Some(regex) = KNOWN.with_borrow(|known| known.get(&key).cloned()) {
            return Ok(regex);
        }
        let regex = Rc::new(Regex::new(pattern, flags)?);
        KNOWN.with_borrow_mut(|known| {
            if known.len() >= KNOWN_MAX {
                known.clear();
            }
            known.insert(key, regex.clone());
        });
        Ok(regex)
    }

    fn is_match(&self, text: &str) -> bool {
        self.first.is_match(text)
    }

    /// The first match from a place on.
    fn find(&self, text: &str, from: usize) -> Option<Groups> {
        let mut captures = self.first.create_captures();
        self.first.captures(Input::new(text).range(from..), &mut captures);
        let found = captures.get_match()?;
        let (start, end) = (found.start(), self.end(text, found.start()).unwrap_or(found.end()));
        if end != found.end() {
            let text = &text[..end];
            self.whole.captures(Input::new(text).range(start..).anchored(Anchored::Yes), &mut captures);
        }
        let groups = (0..captures.group_len()).map(|i| captures.get_group(i).map(|s| s.start..s.end));
        let mut groups: Groups = groups.collect();
        if let Some(whole) = groups.first_mut() {
            *whole = Some(start..end);
        }
        Some(groups)
    }

    /// Where the match that begins here ends.
    fn end(&self, text: &str, start: usize) -> Option<usize> {
        let ends = self.ends.as_ref()?;
        let mut cache = ends.create_cache();
        let input = Input::new(text).range(start..).anchored(Anchored::Yes).earliest(self.shortest);
        ends.try_search_fwd(&mut cache, &input).ok()?.map(|half| half.offset())
    }

    /// All matches from a place on, one behind the other; behind an empty one the search goes on a character later.
    fn find_all(&self, text: &str, mut from: usize, limit: usize) -> Result<Vec<Groups>> {
        let mut all = Vec::new();
        while from <= text.len() && all.len() < limit {
            let Some(groups) = self.find(text, from) else { break };
            let whole = whole_of(&groups);
            from = match whole.is_empty() {
                false => whole.end,
                true => whole.end + text[whole.end..].chars().next().map_or(1, char::len_utf8),
            };
            budget::spend(MATCH_COST)?;
            all.push(groups);
        }
        Ok(all)
    }
}

/// What a match costs, one of many.
const MATCH_COST: u64 = 32;

fn whole_of(groups: &Groups) -> Range<usize> {
    groups.first().cloned().flatten().unwrap_or(0..0)
}

/// Flags as written, and whether `g` is among them.
fn parse_flags(text: &str) -> Result<(Flags, bool)> {
    let (mut flags, mut global) = (Flags::default(), false);
    for c in text.chars() {
        match c {
            'g' => global = true,
            'i' => flags.insensitive = true,
            'c' => flags.insensitive = false,
            'n' | 'm' => flags.newline = true,
            's' => flags.newline = false,
            'x' => flags.expanded = true,
            't' => flags.expanded = false,
            'q' => flags.literal = true,
            _ => {
                let message = format!("invalid regular expression option: \"{c}\"");
                return error(SqlState::INVALID_PARAMETER_VALUE, message);
            }
        }
    }
    Ok((flags, global))
}

/// The flags in an argument, if it is given.
fn flags_of(args: &[Value], i: usize) -> Result<(Flags, bool)> {
    if args.len() > i { parse_flags(args.text(i)?) } else { Ok((Flags::default(), false)) }
}

/// The flags of a function that does not know `g`.
fn flags_without_g(args: &[Value], i: usize, function: &str) -> Result<Flags> {
    match flags_of(args, i)? {
        (_, true) => {
            let message = format!("{function}() does not support the \"global\" option");
            error(SqlState::INVALID_PARAMETER_VALUE, message)
        }
        (flags, false) => Ok(flags),
    }
}

const INSENSITIVE: Flags = Flags { insensitive: true, newline: false, expanded: false, literal: false };

fn test(args: &[Value], flags: Flags) -> Result<bool> {
    Ok(Regex::cached(args.text(1)?, flags)?.is_match(args.text(0)?))
}

fn matches(args: &[Value]) -> Result {
    test(args, Flags::default()).map(Value::Bool)
}

fn matches_insensitive(args: &[Value]) -> Result {
    test(args, INSENSITIVE).map(Value::Bool)
}

fn not_matches(args: &[Value]) -> Result {
    test(args, Flags::default()).map(|found| Value::Bool(!found))
}

fn not_matches_insensitive(args: &[Value]) -> Result {
    test(args, INSENSITIVE).map(|found| Value::Bool(!found))
}

fn like(args: &[Value]) -> Result {
    let (flags, global) = flags_of(args, 2)?;
    if global {
        return error(SqlState::INVALID_PARAMETER_VALUE, "regexp_like() does not support the \"global\" option");
    }
    test(args, flags).map(Value::Bool)
}

/// The groups of a match as an array of text; the whole if there are none.
fn texts(text: &str, groups: &Groups) -> Value {
    let part = |range: &Option<Range<usize>>| range.clone().map_or(Value::Null, |r| Value::text(&text[r]));
    let list = if groups.len() > 1 { &groups[1..] } else { &groups[..] };
    Value::array(list.iter().map(part).collect())
}

fn first_match(args: &[Value]) -> Result {
    let (text, (flags, global)) = (args.text(0)?, flags_of(args, 2)?);
    if global {
        let message = "regexp_match() does not support the \"global\" option";
        let hint = "Use the regexp_matches function instead.";
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message).hint(hint));
    }
    let regex = Regex::cached(args.text(1)?, flags)?;
    Ok(regex.find(text, 0).map_or(Value::Null, |groups| texts(text, &groups)))
}

fn all_matches(args: &[Value]) -> std::result::Result<Vec<Row>, SqlError> {
    let (text, (flags, global)) = (args.text(0)?, flags_of(args, 2)?);
    let regex = Regex::cached(args.text(1)?, flags)?;
    let found = regex.find_all(text, 0, if global { usize::MAX } else { 1 })?;
    Ok(found.iter().map(|groups| Arc::from([texts(text, groups)])).collect())
}

fn replace(args: &[Value]) -> Result {
    // Digits for flags are probably meant as a start.
    if args.len() > 3 && args.text(3)?.starts_with(|c: char| c.is_ascii_digit()) {
        let message = format!("invalid regular expression option: \"{}\"", &args.text(3)?[..1]);
        let hint = "If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly.";
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message).hint(hint));
    }
    let (flags, global) = flags_of(args, 3)?;
    let regex = Regex::cached(args.text(1)?, flags)?;
    let found = regex.find_all(args.text(0)?, 0, if global { usize::MAX } else { 1 })?;
    replaced(args.text(0)?, &found, args.text(2)?)
}

/// From the `start`-th character on, the `n`-th match or, for 0, all.
fn replace_from(args: &[Value]) -> Result {
    let (flags, global) = flags_of(args, 5)?;
    let n = if args.len() > 4 { args.int(4)? } else { i64::from(!global) };
    if n < 0 {
        return error(SqlState::INVALID_PARAMETER_VALUE, format!("invalid value for parameter \"n\": {n}"));
    }
    let from = start(args, 3)?;
    let regex = Regex::cached(args.text(1)?, flags)?;
    let mut found = regex.find_all(args.text(0)?, from, usize::MAX)?;
    if n > 0 {
        found = found.into_iter().nth(n as usize - 1).into_iter().collect();
    }
    replaced(args.text(0)?, &found, args.text(2)?)
}

/// The byte at which the character named by an argument begins.
fn start(args: &[Value], i: usize) -> Result<usize> {
    if args.len() <= i {
        return Ok(0);
    }
    let n = args.int(i)?;
    if n < 1 {
        return error(SqlState::INVALID_PARAMETER_VALUE, format!("invalid value for parameter \"start\": {n}"));
    }
    let text = args.text(0)?;
    Ok(text.char_indices().nth(n as usize - 1).map_or(text.len() + usize::from(n > 1), |(at, _)| at))
}

fn replaced(text: &str, found: &[Groups], replacement: &str) -> Result {
    let (mut out, mut at) = (String::new(), 0);
    for groups in found {
        let whole = whole_of(groups);
        out.push_str(&text[at..whole.start]);
        let before = out.len();
        expand(&mut out, text, groups, replacement);
        budget::grow(before, out.len() - before)?;
        at = whole.end;
    }
    out.push_str(&text[at..]);
    Ok(Value::text(out))
}

/// `\1` is a group, `\&` the whole match, `\\` a backslash.
fn expand(out: &mut String, text: &str, groups: &Groups, replacement: &str) {
    let mut chars = replacement.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let group = match chars.next() {
            Some('&') => Some(0),
            Some(digit @ '1'..='9') => digit.to_digit(10).map(|d| d as usize),
            Some('\\') | None => {
                out.push('\\');
                None
            }
            Some(other) => {
                out.push('\\');
                out.push(other);
                None
            }
        };
        if let Some(range) = group.and_then(|g| groups.get(g).cloned().flatten()) {
            out.push_str(&text[range]);
        }
    }
}

fn count(args: &[Value]) -> Result {
    let flags = flags_without_g(args, 3, "regexp_count")?;
    let from = start(args, 2)?;
    let found = Regex::cached(args.text(1)?, flags)?.find_all(args.text(0)?, from, usize::MAX)?;
    Ok(Value::Int(found.len() as i64))
}

/// The n-th match from a place on, as the arguments behind the pattern say.
fn nth(args: &[Value], function: &str) -> Result<Option<Range<usize>>> {
    let flags = flags_without_g(args, 4, function)?;
    let n = if args.len() > 3 { args.int(3)? } else { 1 };
    if n < 1 {
        return error(SqlState::INVALID_PARAMETER_VALUE, format!("invalid value for parameter \"n\": {n}"));
    }
    let from = start(args, 2)?;
    let found = Regex::cached(args.text(1)?, flags)?.find_all(args.text(0)?, from, n as usize)?;
    Ok(found.get(n as usize - 1).map(whole_of))
}

fn substr(args: &[Value]) -> Result {
    let range = nth(args, "regexp_substr")?;
    Ok(range.map_or(Value::Null, |r| Value::text(args.text(0).map_or("", |t| &t[r]))))
}

fn instr(args: &[Value]) -> Result {
    let (range, text) = (nth(args, "regexp_instr")?, args.text(0)?);
    Ok(Value::Int(range.map_or(0, |r| text[..r.start].chars().count() as i64 + 1)))
}

/// The pieces between matches. An empty match splits only where a character lies before it.
fn pieces(args: &[Value], function: &str) -> Result<Vec<Value>> {
    let (text, flags) = (args.text(0)?, flags_without_g(args, 2, function)?);
    let regex = Regex::cached(args.text(1)?, flags)?;
    let (mut list, mut at) = (Vec::new(), 0);
    for groups in regex.find_all(text, 0, usize::MAX)? {
        let whole = whole_of(&groups);
        if whole.is_empty() && (whole.start >= text.len() || whole.start == at) {
            continue;
        }
        list.push(Value::text(&text[at..whole.start]));
        at = whole.end;
    }
    list.push(Value::text(&text[at..]));
    Ok(list)
}

fn split_to_array(args: &[Value]) -> Result {
    pieces(args, "regexp_split_to_array").map(Value::array)
}

fn split_to_table(args: &[Value]) -> std::result::Result<Vec<Row>, SqlError> {
    Ok(pieces(args, "regexp_split_to_table")?.into_iter().map(|v| Arc::from([v])).collect())
}

/// The part that matches: the first group if there is one.
fn substring(args: &[Value]) -> Result {
    let (text, regex) = (args.text(0)?, Regex::cached(args.text(1)?, Flags::default())?);
    let Some(groups) = regex.find(text, 0) else { return Ok(Value::Null) };
    let part = groups.get(1).unwrap_or(&groups[0]).clone();
    Ok(part.map_or(Value::Null, |r| Value::text(&text[r])))
}

fn escape_of(args: &[Value], i: usize) -> Result<Option<char>> {
    if args.len() <= i {
        return Ok(Some('\\'));
    }
    let mut chars = args.text(i)?.chars();
    let escape = chars.next();
    if chars.next().is_some() {
        let error = SqlError::new(SqlState(*b"22025"), "invalid escape string");
        return Err(error.hint("Escape string must be empty or one character."));
    }
    Ok(escape)
}

fn similar(args: &[Value]) -> Result {
    from_similar(args.text(0)?, escape_of(args, 1)?).map(Value::text)
}

fn substring_similar(args: &[Value]) -> Result {
    let pattern = from_similar(args.text(1)?, escape_of(args, 2)?)?;
    substring(&[args.any(0)?.clone(), Value::text(pattern)])
}
