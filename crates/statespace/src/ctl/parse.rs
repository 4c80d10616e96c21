//! Reading formulas.
//!
//! TLA+ between the operators of CTL is not understood here: it is cut out as text. So the formula is split into words,
//! enough to see brackets, strings and connectives, and then taken apart from the outside: a stretch of words in which
//! no operator of CTL occurs is an atom, whatever stands in it. Otherwise it is split at its weakest connective, as
//! TLA+ would: `=>`, then `<=>`, then `/\` and `\/` (not both without parentheses), then `~` and the operators of CTL.
//!
//! `EX`, `AG` and so on are operators where an operand follows, and `E[`, `A[` are where `U`, `W` or `R` stands between
//! two operands inside; anything else with these names is a name.

use std::ops::Range;

use super::{BINARY, Formula, Paths, UNARY};

/// Why a text is no formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Where.
    pub span: Range<usize>,
    /// A sentence.
    pub message: String,
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseError {}

pub(super) fn parse(text: &str) -> Result<Formula, ParseError> {
    let words = words(text)?;
    check_brackets(&words, text.len())?;
    Parser { end: text.len() }.formula(&words)
}

/// A word with its place.
#[derive(Clone, Debug)]
struct Word<'t> {
    text: &'t str,
    span: Range<usize>,
}

/// Words of several signs, longest first.
const SIGNS: [&str; 24] = [
    "<=>", "|->", "...", "::=", "/\\", "\\/", "=>", "<<", ">>", "<=", ">=", "=<", "/=", "==", "~>", "->", "<-", "..",
    ":=", "||", "&&", "##", "[]", "<>",
];

fn words(text: &str) -> Result<Vec<Word<'_>>, ParseError> {
    let mut words = Vec::new();
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        let len = if first.is_whitespace() { first.len_utf8() } else { word_len(text, start, first)? };
        if !first.is_whitespace() {
            words.push(Word { text: &text[start..start + len], span: start..start + len });
        }
        start += len;
    }
    Ok(words)
}

fn word_len(text: &str, start: usize, first: char) -> Result<usize, ParseError> {
    let rest = &text[start..];
    if first == '"' {
        return string_len(rest)
            .ok_or_else(|| ParseError { span: start..text.len(), message: "this string does not end".into() });
    }
    if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        return Ok(sign.len());
    }
    let name = |from: usize| {
        let rest = &rest[from..];
        from + rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
    };
    Ok(match first {
        '\\' if name(1) > 1 => name(1),
        first if first.is_alphanumeric() || first == '_' => name(0),
        first => first.len_utf8(),
    })
}

fn string_len(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (place, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return Some(place + 1),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

const OPENING: [&str; 4] = ["(", "[", "{", "<<"];
const CLOSING: [&str; 4] = [")", "]", "}", ">>"];

fn check_brackets(words: &[Word], end: usize) -> Result<(), ParseError> {
    let mut open: Vec<(usize, &Word)> = Vec::new();
    for word in words {
        if let Some(kind) = OPENING.iter().position(|bracket| *bracket == word.text) {
            open.push((kind, word));
        } else if let Some(kind) = CLOSING.iter().position(|bracket| *bracket == word.text) {
            match open.pop() {
                Some((opened, _)) if opened == kind => {}
                _ => return Err(error(word, format!("`{}` closes nothing", word.text))),
            }
        }
    }
    match open.pop() {
        Some((_, word)) => {
            Err(ParseError { span: word.span.start..end, message: format!("`{}` is not closed", word.text) })
        }
        None => Ok(()),
    }
}

fn error(word: &Word, message: String) -> ParseError {
    ParseError { span: word.span.clone(), message }
}

struct Parser {
    end: usize,
}

/// What follows a name that could be an operator.
fn starts_operand(word: &Word) -> bool {
    let first = word.text.chars().next().unwrap_or(' ');
    let prefix = ["(", "{", "<<", "~", "\\lnot", "\\neg", "\\A", "\\E"];
    let infix_name =
        ["\\in", "\\notin", "\\subseteq", "\\cup", "\\cap", "\\div", "\\leq", "\\geq", "\\o", "U", "W", "R"];
    prefix.contains(&word.text)
        || ((first.is_alphanumeric() || first == '_' || first == '"') && !infix_name.contains(&word.text))
}

fn ends_operand(word: &Word) -> bool {
    let last = word.text.chars().last().unwrap_or(' ');
    last.is_alphanumeric() && !word.text.starts_with('\\')
        || matches!(last, '_' | '"' | ')' | ']' | '}' | '\'')
        || word.text == ">>"
}

/// The connectives, weakest first, with other spellings.
const CONNECTIVES: [&[&str]; 3] = [&["=>"], &["<=>", "\\equiv"], &["/\\", "\\land", "\\/", "\\lor"]];

impl Parser {
    fn formula(&self, words: &[Word]) -> Result<Formula, ParseError> {
        let Some(first) = words.first() else {
            return Err(ParseError { span: self.end..self.end, message: "a formula is missing here".into() });
        };
        // A list of conjuncts may begin with its sign.
        if CONNECTIVES[2].contains(&first.text) {
            return self.formula(&words[1..]);
        }
        if !has_operator(words) {
            return self.local(words);
        }
        if let Some(binder) = words.iter().find(|word| BINDERS.contains(&word.text)) {
            let depth_zero = self.splits(words, &[binder.text]).next().is_some();
            if depth_zero {
                return Err(error(binder, format!("an operator of CTL cannot stand inside `{}`", binder.text)));
            }
        }
        for connectives in CONNECTIVES {
            if let Some(formula) = self.split(words, connectives)? {
                return Ok(formula);
            }
        }
        self.prefixed(words)
    }

    /// Words without an operator: an atom, or its negation, so that both have one label.
    fn local(&self, words: &[Word]) -> Result<Formula, ParseError> {
        let connected = CONNECTIVES.iter().any(|signs| self.splits(words, signs).next().is_some());
        match words[0].text {
            "~" | "\\lnot" | "\\neg" if !connected => Ok(Formula::Not(Box::new(self.formula(&words[1..])?))),
            "(" if self.closes(words) => self.formula(&words[1..words.len() - 1]),
            _ => Ok(Formula::Atom(atom(words))),
        }
    }

    /// Where these words stand outside all brackets.
    fn splits<'w>(&self, words: &'w [Word], which: &'w [&str]) -> impl Iterator<Item = usize> + 'w {
        let mut depth = 0usize;
        words.iter().enumerate().filter_map(move |(place, word)| {
            depth += usize::from(OPENING.contains(&word.text));
            depth -= usize::from(CLOSING.contains(&word.text));
            (depth == 0 && which.contains(&word.text)).then_some(place)
        })
    }

    fn split(&self, words: &[Word], connectives: &[&str]) -> Result<Option<Formula>, ParseError> {
        let places: Vec<usize> = self.splits(words, connectives).collect();
        let Some((&first, &last)) = places.first().zip(places.last()) else { return Ok(None) };
        let kind = |place: usize| connective(words[place].text);
        if let Some(&other) = places.iter().find(|&&place| kind(place) != kind(first)) {
            let message = format!("`{}` and `{}` together need parentheses", words[first].text, words[other].text);
            return Err(error(&words[other], message));
        }
        // `f => g => h` is an error in TLA+, and nobody agrees on what it means.
        if first != last && !matches!(kind(first), Connective::And | Connective::Or) {
            let sign = words[last].text;
            return Err(error(&words[last], format!("`{sign}` after `{sign}` needs parentheses")));
        }
        let (left, right) = (self.formula(&words[..last])?, self.formula(&words[last + 1..])?);
        let (left, right) = (Box::new(left), Box::new(right));
        Ok(Some(match kind(first) {
            Connective::Implies => Formula::Implies(left, right),
            Connective::Equivalent => Formula::Equivalent(left, right),
            Connective::And => Formula::And(left, right),
            Connective::Or => Formula::Or(left, right),
        }))
    }

    /// Words with an operator somewhere and no connective outside brackets.
    fn prefixed(&self, words: &[Word]) -> Result<Formula, ParseError> {
        let first = &words[0];
        if ["~", "\\lnot", "\\neg"].contains(&first.text) {
            return Ok(Formula::Not(Box::new(self.formula(&words[1..])?)));
        }
        if let Some(&(_, paths, when)) = UNARY.iter().find(|op| op.0 == first.text)
            && words.get(1).is_some_and(starts_operand)
        {
            return Ok(Formula::Unary(paths, when, Box::new(self.formula(&words[1..])?)));
        }
        let inner = &words[1..words.len().max(2) - 1];
        if first.text == "(" && self.closes(words) {
            return self.formula(inner);
        }
        if let Some(paths) = paths(first.text)
            && self.closes(&words[1..])
            && let Some(place) = binary_place(&words[2..words.len() - 1])
        {
            return self.binary(paths, &words[2..words.len() - 1], place);
        }
        let message = "an operator of CTL stands inside TLA+ text here; only connectives may stand around one";
        Err(ParseError {
            span: first.span.start..words.last().map_or(self.end, |word| word.span.end),
            message: message.into(),
        })
    }

    fn binary(&self, paths: Paths, words: &[Word], place: usize) -> Result<Formula, ParseError> {
        let (_, when) = BINARY.iter().find(|op| op.0 == words[place].text).expect("the place is one of an operator");
        let rest = &words[place + 1..];
        if let Some(again) = binary_place(rest) {
            let word = &rest[again];
            return Err(error(word, format!("`{}` here needs brackets of its own", word.text)));
        }
        let (left, right) = (self.formula(&words[..place])?, self.formula(rest)?);
        Ok(Formula::Binary(paths, *when, Box::new(left), Box::new(right)))
    }

    /// The first word opens a bracket, and the last one closes it.
    fn closes(&self, words: &[Word]) -> bool {
        let mut depth = 0usize;
        words.first().is_some_and(|word| OPENING.contains(&word.text))
            && words.iter().position(|word| {
                depth += usize::from(OPENING.contains(&word.text));
                depth -= usize::from(CLOSING.contains(&word.text));
                depth == 0
            }) == Some(words.len() - 1)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Connective {
    Implies,
    Equivalent,
    And,
    Or,
}

fn connective(text: &str) -> Connective {
    match text {
        "=>" => Connective::Implies,
        "<=>" | "\\equiv" => Connective::Equivalent,
        "/\\" | "\\land" => Connective::And,
        _ => Connective::Or,
    }
}

/// These reach as far as they can.
const BINDERS: [&str; 7] = ["\\A", "\\E", "IF", "LET", "CASE", "CHOOSE", "LAMBDA"];

fn paths(text: &str) -> Option<Paths> {
    match text {
        "E" => Some(Paths::Some),
        "A" => Some(Paths::All),
        _ => None,
    }
}

/// Where U, W or R stands between two operands, outside all brackets.
fn binary_place(words: &[Word]) -> Option<usize> {
    let mut depth = 0usize;
    (0..words.len()).find(|&place| {
        let word = &words[place];
        depth += usize::from(OPENING.contains(&word.text));
        depth -= usize::from(CLOSING.contains(&word.text));
        depth == 0
            && BINARY.iter().any(|op| op.0 == word.text)
            && place > 0
            && ends_operand(&words[place - 1])
            && words.get(place + 1).is_some_and(starts_operand)
    })
}

/// Whether an operator of CTL occurs, inside brackets or not.
fn has_operator(words: &[Word]) -> bool {
    (0..words.len()).any(|place| {
        let word = &words[place];
        let begins =
            place == 0 || !ends_operand(&words[place - 1]) || UNARY.iter().any(|op| op.0 == words[place - 1].text);
        let unary = UNARY.iter().any(|op| op.0 == word.text) && words.get(place + 1).is_some_and(starts_operand);
        let bracket = paths(word.text).is_some()
            && words.get(place + 1).is_some_and(|next| next.text == "[")
            && binary_place(inside_bracket(&words[place + 1..])).is_some();
        begins && (unary || bracket)
    })
}

/// What stands in the bracket with which the words begin.
fn inside_bracket<'w, 't>(words: &'w [Word<'t>]) -> &'w [Word<'t>] {
    let mut depth = 0usize;
    let close = words.iter().position(|word| {
        depth += usize::from(OPENING.contains(&word.text));
        depth -= usize::from(CLOSING.contains(&word.text));
        depth == 0
    });
    &words[1..close.unwrap_or(words.len())]
}

/// TLA+ text with single spaces.
fn atom(words: &[Word]) -> String {
    let mut text = String::new();
    for (place, word) in words.iter().enumerate() {
        // What was written together stays together: `x'`, `f[1]`, `a.b`, `M!Op`.
        if place > 0 && words[place - 1].span.end < word.span.start {
            text.push(' ');
        }
        text.push_str(word.text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let formula = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(formula.to_string(), expected, "{text}");
        let again = parse(expected).unwrap_or_else(|error| panic!("{expected}: {error}"));
        assert_eq!(again, formula, "{expected}");
    }

    fn fails(text: &str, expected: &str) {
        let error = parse(text).expect_err(text);
        assert_eq!(error.message, expected);
        assert!(error.span.end <= text.len(), "{text}");
    }

    #[test]
    fn atoms_are_cut_out_whole() {
        check(r"AG EF (hr = 12 /\ mn = 0)", r"AG EF (hr = 12 /\ mn = 0)");
        check("  (  hr   = 12 )", "hr = 12");
        check(r"\A p \in S : pc[p] = 1 /\ q", r"\A p \in S : pc[p] = 1 /\ q");
        check(r#"EF (msg = "AG x )" )"#, r#"EF (msg = "AG x )")"#);
        check("AG x' = <<1, 2>>", "AG (x' = <<1, 2>>)");
    }

    #[test]
    fn operators_bind_tighter_than_connectives() {
        check(r"AG x = 1 /\ EF y = 2", r"AG (x = 1) /\ EF (y = 2)");
        check("AG p => AF q", "AG p => AF q");
        check("AG (p => AF q)", "AG (p => AF q)");
        check(r"~EX p \/ ~(AX q)", r"~EX p \/ ~AX q");
        check(r"/\ EX p /\ EX q /\ r", r"(EX p /\ EX q) /\ r");
        check("EX EX EX p", "EX EX EX p");
        check("AG p <=> q = 1", "AG p <=> (q = 1)");
    }

    #[test]
    fn until_is_in_brackets() {
        check("A[~serve U paid]", "A[~serve U paid]");
        check("E[x = 1 W y \\in S]", "E[(x = 1) W (y \\in S)]");
        check("E[E[a U b] U A[c R d]]", "E[E[a U b] U A[c R d]]");
        check("AG E[a U EX b]", "AG E[a U EX b]");
    }

    #[test]
    fn names_stay_names() {
        check("A[i] = 1", "A[i] = 1");
        check("EF (A[U] = R)", "EF (A[U] = R)");
        check("AF = 1", "AF = 1");
        check("E[1] = A[2]", "E[1] = A[2]");
    }

    #[test]
    fn mistakes_have_a_place() {
        fails("AG (x = 1", "`(` is not closed");
        fails("AG x = 1)", "`)` closes nothing");
        fails(r"EX p /\ q \/ r", r"`/\` and `\/` together need parentheses");
        fails("EX p => EX q => r", "`=>` after `=>` needs parentheses");
        fails(r"\A x \in S : AG x", r"an operator of CTL cannot stand inside `\A`");
        fails("x + (AG y)", "an operator of CTL stands inside TLA+ text here; only connectives may stand around one");
        fails("E[a U b U c]", "`U` here needs brackets of its own");
        fails("EX p => ", "a formula is missing here");
        fails("", "a formula is missing here");
        fails("\"abc", "this string does not end");
    }

    #[test]
    fn no_text_is_too_strange() {
        arbtest::arbtest(|u| {
            let parts =
                ["AG ", "E[", "]", " U ", "p", " /\\ ", "(", ")", "~", "=>", "<<", ">>", "\"", "A", "\\A x : ", "é"];
            let count = u.int_in_range(0..=12)?;
            let text: Result<String, _> = (0..count).map(|_| u.choose(&parts).copied()).collect();
            if let Ok(formula) = parse(&text?) {
                let printed = formula.to_string();
                assert_eq!(parse(&printed).map(|again| again.to_string()), Ok(printed.clone()), "{printed}");
            }
            Ok(())
        });
    }
}
