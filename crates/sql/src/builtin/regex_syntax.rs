//! PostgreSQL's regular expressions, written as the `regex` crates read them.
//!
//! An "advanced regular expression" is translated character by character. What differs: `\m \M \y` are word boundaries,
//! `\A \Z` the ends of the text, `\B` a backslash; classes are of ASCII characters, as in collation "C"; `{` that opens
//! no bound is a brace; `.` and `[^a]` match a newline unless the `n` flag is given. What the crates cannot do,
//! lookahead, lookbehind and references back, is refused.

use crate::error::{SqlError, SqlState};
use crate::refused::Construct;

type Result<T> = std::result::Result<T, SqlError>;

/// How a pattern is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Flags {
    /// `i`: case does not matter.
    pub insensitive: bool,
    /// `n`: `.` and `[^a]` stop at a newline, `^` and `$` match beside one.
    pub newline: bool,
    /// `x`: blanks and comments in the pattern mean nothing.
    pub expanded: bool,
    /// `q`: the pattern is a plain text.
    pub literal: bool,
}

/// A pattern for the crates.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Translated {
    /// The pattern.
    pub pattern: String,
    /// Of the matches that begin at one place, the shortest counts.
    pub shortest: bool,
}

/// `invalid regular expression: ...`
pub(super) fn invalid(what: &str) -> SqlError {
    SqlError::new(SqlState(*b"2201B"), format!("invalid regular expression: {what}"))
}

/// Translates a pattern.
pub(super) fn translate(pattern: &str, mut flags: Flags) -> Result<Translated> {
    let mut rest = pattern;
    if let Some(literal) = rest.strip_prefix("***=") {
        (rest, flags.literal) = (literal, true);
    } else if let Some(advanced) = rest.strip_prefix("***:") {
        rest = advanced;
    }
    if !flags.literal
        && let Some((options, after)) = embedded(rest)
    {
        rest = after;
        for c in options.chars() {
            match c {
                'i' => flags.insensitive = true,
                'c' => flags.insensitive = false,
                'n' | 'm' => flags.newline = true,
                's' => flags.newline = false,
                'x' => flags.expanded = true,
                't' => flags.expanded = false,
                'q' => flags.literal = true,
                'e' | 'b' | 'p' | 'w' => {
                    return Err(SqlError::unsupported(Construct::EMBEDDED_OPTION_IN_A_REGULAR_EXPRESSION));
                }
                _ => return Err(invalid("invalid embedded option")),
            }
        }
    }
    let mut translator = Translator { chars: rest.chars().collect(), at: 0, flags, out: String::new() };
    let shortest = match flags.literal {
        true => {
            rest.chars().for_each(|c| literal(&mut translator.out, c));
            false
        }
        false => translator.alternatives(0)? == Some(Greed::Shortest),
    };
    if translator.at < translator.chars.len() && !flags.literal {
        return Err(invalid("parentheses () not balanced"));
    }
    let on = format!("{}{}", if flags.insensitive { "i" } else { "" }, if flags.newline { "m" } else { "s" });
    Ok(Translated { pattern: format!("(?{on}:{})", translator.out), shortest })
}

/// `(?i)` at the beginning.
fn embedded(pattern: &str) -> Option<(&str, &str)> {
    let (options, rest) = pattern.strip_prefix("(?")?.split_once(')')?;
    (!options.is_empty() && options.bytes().all(|b| b.is_ascii_alphabetic())).then_some((options, rest))
}

/// Which of several matches a part of a pattern prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Greed {
    Longest,
    Shortest,
}

struct Translator {
    chars: Vec<char>,
    at: usize,
    flags: Flags,
    out: String,
}

/// A character that stands for itself.
fn literal(out: &mut String, c: char) {
    if c.is_ascii_punctuation() {
        out.push('\\');
    }
    out.push(c);
}

impl Translator {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = text.chars().enumerate().all(|(i, c)| self.chars.get(self.at + i) == Some(&c));
        self.at += if found { text.chars().count() } else { 0 };
        found
    }

    /// Branches up to a closing parenthesis or the end. Several are always greedy.
    fn alternatives(&mut self, depth: usize) -> Result<Option<Greed>> {
        if depth > 100 {
            return Err(SqlError::unsupported(Construct::SO_DEEP_A_NESTING_IN_A_REGULAR_EXPRESSION));
        }
        let mut greed = self.branch(depth)?;
        while self.eat("|") {
            self.out.push('|');
            self.branch(depth)?;
            greed = Some(Greed::Longest);
        }
        Ok(greed)
    }

    /// Quantified atoms, one behind the other; the first that prefers anything decides.
    fn branch(&mut self, depth: usize) -> Result<Option<Greed>> {
        let mut greed = None;
        while let Some(c) = self.peek() {
            if c == '|' || c == ')' && depth > 0 {
                break;
            }
            if c == ')' {
                return Err(invalid("parentheses () not balanced"));
            }
            if self.flags.expanded && self.skip_comment() {
                continue;
            }
            let (of_atom, constraint) = self.atom(depth)?;
            let of_quantifier = self.quantifier(constraint)?;
            greed = greed.or(of_quantifier).or(of_atom);
        }
        Ok(greed)
    }

    fn skip_comment(&mut self) -> bool {
        match self.peek() {
            Some(c) if c.is_ascii_whitespace() => {
                self.at += 1;
                true
            }
            Some('#') => {
                while self.next().is_some_and(|c| c != '\n') {}
                true
            }
            _ => false,
        }
    }

    /// One atom, and whether it is a constraint, which cannot be quantified.
    fn atom(&mut self, depth: usize) -> Result<(Option<Greed>, bool)> {
        match self.next() {
            Some('(') => return Ok((self.group(depth)?, false)),
            Some('[') => return self.brackets().map(|constraint| (None, constraint)),
            Some('\\') => return self.escape().map(|constraint| (None, constraint)),
            Some('^') => {
                self.out.push('^');
                return Ok((None, true));
            }
            Some('$') => {
                self.out.push('$');
                return Ok((None, true));
            }
            Some('.') => self.out.push('.'),
            Some('*' | '+' | '?') => return Err(invalid("quantifier operand invalid")),
            Some('{') if self.peek().is_some_and(|c| c.is_ascii_digit()) => {
                return Err(invalid("quantifier operand invalid"));
            }
            Some(c) => literal(&mut self.out, c),
            None => {}
        }
        Ok((None, false))
    }

    fn group(&mut self, depth: usize) -> Result<Option<Greed>> {
        if self.eat("?:") {
            self.out.push_str("(?:");
        } else if self.eat("?=") || self.eat("?!") {
            return Err(SqlError::unsupported(Construct::LOOKAHEAD_IN_A_REGULAR_EXPRESSION));
        } else if self.eat("?<") {
            return Err(SqlError::unsupported(Construct::LOOKBEHIND_IN_A_REGULAR_EXPRESSION));
        } else if self.peek() == Some('?') {
            return Err(invalid("quantifier operand invalid"));
        } else {
            self.out.push('(');
        }
        let greed = self.alternatives(depth + 1)?;
        if !self.eat(")") {
            return Err(invalid("parentheses () not balanced"));
        }
        self.out.push(')');
        Ok(greed)
    }

    fn quantifier(&mut self, constraint: bool) -> Result<Option<Greed>> {
        let bounds = match self.peek() {
            Some(c @ ('*' | '+' | '?')) => {
                self.at += 1;
                c.to_string()
            }
            Some('{') if self.chars.get(self.at + 1).is_some_and(char::is_ascii_digit) => self.bounds()?,
            _ => return Ok(None),
        };
        if constraint {
            return Err(invalid("quantifier operand invalid"));
        }
        self.out.push_str(&bounds);
        let shortest = self.eat("?");
        if shortest {
            self.out.push('?');
        }
        let another = matches!(self.peek(), Some('*' | '+' | '?'))
            || self.peek() == Some('{') && self.chars.get(self.at + 1).is_some_and(char::is_ascii_digit);
        if another {
            return Err(invalid("quantifier operand invalid"));
        }
        let fixed = bounds.starts_with('{') && !bounds.contains(',');
        Ok(match (fixed, shortest) {
            (true, _) => None,
            (false, true) => Some(Greed::Shortest),
            (false, false) => Some(Greed::Longest),
        })
    }

    /// `{m}`, `{m,}`, `{m,n}`
    fn bounds(&mut self) -> Result<String> {
        let end = self.chars[self.at..].iter().position(|c| *c == '}');
        let Some(end) = end else { return Err(invalid("braces {} not balanced")) };
        let inside: String = self.chars[self.at + 1..self.at + end].iter().collect();
        self.at += end + 1;
        let (low, high) = inside.split_once(',').map_or((inside.as_str(), None), |(l, h)| (l, Some(h)));
        let number = |text: &str| text.parse::<u32>().ok().filter(|n| *n <= 255);
        let wrong = || invalid("invalid repetition count(s)");
        let low = number(low).ok_or_else(wrong)?;
        match high {
            None | Some("") => {}
            Some(high) if number(high).is_some_and(|high| high >= low) => {}
            Some(_) => return Err(wrong()),
        }
        Ok(format!("{{{inside}}}"))
    }

    /// Behind a backslash, outside brackets.
    fn escape(&mut self) -> Result<bool> {
        let Some(c) = self.next() else { return Err(invalid("invalid escape \\ sequence")) };
        let constraint = match c {
            'A' => "\\A",
            'Z' => "\\z",
            'm' => "(?-u:\\b{start})",
            'M' => "(?-u:\\b{end})",
            'y' => "(?-u:\\b)",
            'Y' => "\\B",
            _ => "",
        };
        if !constraint.is_empty() {
            self.out.push_str(constraint);
            return Ok(true);
        }
        match c {
            'd' => self.out.push_str("[0-9]"),
            'D' => self.out.push_str("[^0-9]"),
            'w' => self.out.push_str("[0-9A-Za-z_]"),
            'W' => self.out.push_str("[^0-9A-Za-z_]"),
            's' => self.out.push_str("[ \\t\\n\\r\\x0b\\x0c]"),
            'S' => self.out.push_str("[^ \\t\\n\\r\\x0b\\x0c]"),
            '1'..='9' => return Err(SqlError::unsupported(Construct::BACK_REFERENCE_IN_A_REGULAR_EXPRESSION)),
            c => {
                let c = self.character(c)?;
                literal(&mut self.out, c);
            }
        }
        Ok(false)
    }

    /// The character that an escape stands for.
    fn character(&mut self, c: char) -> Result<char> {
        let hex = |t: &mut Self, count: usize| {
            let digits: String = t.chars.iter().skip(t.at).take(count).collect();
            t.at += digits.chars().count();
            let complete = digits.chars().count() == count;
            u32::from_str_radix(&digits, 16)
                .ok()
                .filter(|_| complete)
                .and_then(char::from_u32)
                .ok_or_else(|| invalid("invalid escape \\ sequence"))
        };
        Ok(match c {
            'a' => '\x07',
            'b' => '\x08',
            'B' => '\\',
            'e' => '\x1b',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            '0' => '\0',
            'u' => hex(self, 4)?,
            'U' => hex(self, 8)?,
            'x' => {
                let count = self.chars[self.at..].iter().take_while(|c| c.is_ascii_hexdigit()).count();
                hex(self, count.max(1))?
            }
            'c' => match self.next() {
                Some(c) => char::from_u32(u32::from(c) & 0x1f).unwrap_or(c),
                None => return Err(invalid("invalid escape \\ sequence")),
            },
            c if c.is_ascii_alphanumeric() => return Err(invalid("invalid escape \\ sequence")),
            c => c,
        })
    }

    /// `[abc]`; true for `[[:<:]]` and `[[:>:]]`, which are constraints.
    fn brackets(&mut self) -> Result<bool> {
        if self.eat("[:<:]]") {
            self.out.push_str("(?-u:\\b{start})");
            return Ok(true);
        }
        if self.eat("[:>:]]") {
            self.out.push_str("(?-u:\\b{end})");
            return Ok(true);
        }
        let unbalanced = || invalid("brackets [] not balanced");
        self.out.push('[');
        let negated = self.eat("^");
        if negated {
            self.out.push('^');
            if self.flags.newline {
                self.out.push_str("\\n");
            }
        }
        let mut first = true;
        loop {
            let Some(c) = self.next() else { return Err(unbalanced()) };
            match c {
                ']' if !first => break,
                '[' if self.eat(":") => self.class()?,
                '[' if matches!(self.peek(), Some('.' | '=')) => {
                    return Err(SqlError::unsupported(Construct::COLLATING_ELEMENT_IN_A_REGULAR_EXPRESSION));
                }
                _ => self.range(c)?,
            }
            first = false;
        }
        self.out.push(']');
        Ok(false)
    }

    /// `[:alpha:]`, the opening having been read.
    fn class(&mut self) -> Result<()> {
        let rest: String = self.chars[self.at..].iter().collect();
        let Some((name, _)) = rest.split_once(":]") else { return Err(invalid("brackets [] not balanced")) };
        const NAMES: &[&str] = &[
            "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper",
            "xdigit", "word",
        ];
        if !NAMES.contains(&name) {
            return Err(invalid("invalid character class"));
        }
        self.out.push_str(&format!("[:{name}:]"));
        self.at += name.chars().count() + 2;
        Ok(())
    }

    /// A character inside brackets, or the range that it begins.
    fn range(&mut self, c: char) -> Result<()> {
        let Some(from) = self.member(c)? else { return Ok(()) };
        let dash = self.peek() == Some('-') && self.chars.get(self.at + 1).is_some_and(|c| *c != ']');
        if !dash {
            literal(&mut self.out, from);
            return Ok(());
        }
        self.at += 1;
        let last = self.next().unwrap_or('-');
        let to = match last {
            '[' if matches!(self.peek(), Some('.' | '=' | ':')) => return Err(invalid("invalid character range")),
            c => self.member(c)?.ok_or_else(|| invalid("invalid character range"))?,
        };
        if to < from {
            return Err(invalid("invalid character range"));
        }
        literal(&mut self.out, from);
        self.out.push('-');
        literal(&mut self.out, to);
        Ok(())
    }

    /// The character meant inside brackets; a class is written at once.
    fn member(&mut self, c: char) -> Result<Option<char>> {
        if c != '\\' {
            return Ok(Some(c));
        }
        match self.next() {
            Some('d') => self.out.push_str("0-9"),
            Some('w') => self.out.push_str("0-9A-Za-z_"),
            Some('s') => self.out.push_str(" \\t\\n\\r\\x0b\\x0c"),
            Some('D' | 'W' | 'S') => return Err(invalid("invalid escape \\ sequence")),
            Some(c) => return self.character(c).map(Some),
            None => return Err(invalid("brackets [] not balanced")),
        }
        Ok(None)
    }
}

/// `SIMILAR TO` as a regular expression: `%` and `_` as in LIKE, the rest as in an ARE, and the whole text must match.
pub(super) fn from_similar(pattern: &str, escape: Option<char>) -> Result<String> {
    let mut out = String::from("^(?:");
    let (mut chars, mut in_brackets, mut separators) = (pattern.chars(), false, 0);
    while let Some(c) = chars.next() {
        if Some(c) == escape {
            match chars.next() {
                // Two of them cut the pattern in three for SUBSTRING.
                Some('"') => {
                    separators += 1;
                    out.push_str(match separators {
                        1 => "){1,1}?(",
                        2 => "){1,1}(?:",
                        _ => {
                            let message =
                                "SQL regular expression may not contain more than two escape-double-quote separators";
                            return Err(SqlError::new(SqlState(*b"2200C"), message));
                        }
                    });
                }
                Some(c) => literal(&mut out, c),
                None => return Err(SqlError::new(SqlState(*b"22025"), "invalid escape string")),
            }
            continue;
        }
        match c {
            ']' if in_brackets => {
                in_brackets = false;
                out.push(']');
            }
            '\\' => out.push_str("\\\\"),
            c if in_brackets => out.push(c),
            '[' => {
                in_brackets = true;
                out.push('[');
            }
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '(' => out.push_str("(?:"),
            '.' | '^' | '$' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out.push_str(")$");
    Ok(out)
}
