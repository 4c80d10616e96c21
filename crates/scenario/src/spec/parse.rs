//! The grammar of a spec file.
//!
//! ```text
//! spec        := setup* teardown? session+ permutation*
//! setup       := 'setup' SQL
//! teardown    := 'teardown' SQL
//! session     := 'session' NAME ('setup' SQL)? step+ ('teardown' SQL)?
//! step        := 'step' NAME SQL
//! permutation := 'permutation' pstep+
//! pstep       := NAME [ '(' blocker {',' blocker} ')' ]
//! blocker     := '*' | NAME | NAME 'notices' INT
//! ```
//!
//! `#` begins a comment, except inside SQL. A name is a word or stands in double quotes. SQL stands in braces and ends
//! at the first `}`; spaces around it are dropped, newlines are not.

use std::collections::BTreeMap;
use std::ops::Range;

use isolde_sql::{Diagnostic, Span};

use super::{Blocker, Permutation, PermutationStep, Session, Spec, Sql, Step, Style};

type Result<T> = std::result::Result<T, Diagnostic>;

/// Reads a file.
pub(super) fn parse(file: &str, text: &str) -> Result<Spec> {
    if text.len() > u32::MAX as usize {
        return Err(Diagnostic::syntax(Span::default(), "the file is too large"));
    }
    let mut parser = Parser { text, tokens: tokens(text)?, at: 0 };
    let mut spec = Spec {
        file: file.to_string(),
        text: text.into(),
        setups: Vec::new(),
        teardown: None,
        sessions: Vec::new(),
        steps: Vec::new(),
        style: Style::Plain,
        permutations: Vec::new(),
    };
    while parser.accept("setup") {
        spec.setups.push(parser.sql()?);
    }
    if parser.accept("teardown") {
        spec.teardown = Some(parser.sql()?);
    }
    let mut names = BTreeMap::new();
    while parser.accept("session") {
        let session = parser.session(&mut spec.steps, spec.sessions.len(), &mut names)?;
        spec.sessions.push(session);
    }
    if spec.sessions.is_empty() {
        return Err(parser.unexpected("a session").hint("a spec has a session with its steps"));
    }
    while parser.accept("permutation") {
        spec.permutations.push(parser.permutation(&names, &spec.steps)?);
    }
    match parser.is_at_end() {
        true => Ok(spec),
        false if spec.permutations.is_empty() => Err(parser.unexpected("session, permutation or the end of the file")),
        false => Err(parser.unexpected("permutation or the end of the file")),
    }
}

/// Reads one permutation of a spec, given on its own.
pub(super) fn permutation(text: &str, spec: &Spec) -> Result<Permutation> {
    let mut parser = Parser { text, tokens: tokens(text)?, at: 0 };
    let names = spec.steps.iter().enumerate().map(|(i, step)| (step.name.clone(), i)).collect();
    let permutation = parser.permutation(&names, &spec.steps)?;
    match parser.is_at_end() {
        true => Ok(permutation),
        false => Err(parser.unexpected("the name of a step")),
    }
}

/// Words with a meaning of their own.
const KEYWORDS: &[&str] = &["notices", "permutation", "session", "setup", "step", "teardown"];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Keyword(&'static str),
    Name(String),
    Sql(Range<usize>),
    Int(u64),
    Symbol(char),
}

/// Cuts a text into tokens, each with its place.
fn tokens(text: &str) -> Result<Vec<(Token, Span)>> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let end_of = |end: usize| Span::new(start, end);
        let token = match byte {
            b' ' | b'\t' | b'\r' | b'\x0c' | b'\n' => {
                at += 1;
                continue;
            }
            b'#' => {
                at += bytes[at..].iter().position(|b| *b == b'\n').unwrap_or(bytes.len() - at);
                continue;
            }
            b'(' | b')' | b',' | b'*' => {
                at += 1;
                Token::Symbol(byte as char)
            }
            b'"' => {
                let (name, end) = quoted(text, at)?;
                at = end;
                Token::Name(name)
            }
            b'{' => {
                let Some(length) = text[at..].find('}') else {
                    return Err(Diagnostic::syntax(end_of(at + 1), "unterminated sql block").hint("a } is missing"));
                };
                at += length + 1;
                Token::Sql(trimmed(bytes, start + 1, at - 1))
            }
            b'0'..=b'9' => {
                at += bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
                let number = text[start..at].parse();
                Token::Int(number.map_err(|_| Diagnostic::syntax(end_of(at), "this number is too large"))?)
            }
            b if begins_name(b) => {
                at += bytes[at..].iter().take_while(|b| continues_name(**b)).count();
                let word = &text[start..at];
                match KEYWORDS.iter().find(|k| **k == word) {
                    Some(keyword) => Token::Keyword(keyword),
                    None => Token::Name(word.to_string()),
                }
            }
            _ => {
                let c = text[at..].chars().next().unwrap_or(' ');
                let message = format!("syntax error: unexpected character \"{c}\"");
                return Err(Diagnostic::syntax(end_of(at + c.len_utf8()), message));
            }
        };
        tokens.push((token, Span::new(start, at)));
    }
    Ok(tokens)
}

fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn continues_name(byte: u8) -> bool {
    begins_name(byte) || byte.is_ascii_digit() || byte == b'$'
}

/// A name in double quotes, in which `""` is one, and where it ends.
fn quoted(text: &str, start: usize) -> Result<(String, usize)> {
    let mut name = String::new();
    let mut at = start + 1;
    while let Some(c) = text[at..].chars().next() {
        at += c.len_utf8();
        match c {
            '"' if text[at..].starts_with('"') => {
                name.push('"');
                at += 1;
            }
            '"' => return Ok((name, at)),
            '\n' => break,
            c => name.push(c),
        }
    }
    let message = "unexpected newline in quoted identifier";
    Err(Diagnostic::syntax(Span::new(start, start + 1), message).hint("a \" is missing"))
}

/// Without the spaces at its edges; newlines stay.
fn trimmed(bytes: &[u8], start: usize, end: usize) -> Range<usize> {
    let is_space = |b: &&u8| matches!(**b, b' ' | b'\t' | b'\r' | b'\x0c');
    let inner = &bytes[start..end];
    let front = inner.iter().take_while(is_space).count();
    let back = inner[front..].iter().rev().take_while(is_space).count();
    start + front..end - back
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, Span)>,
    at: usize,
}

/// Names of steps, and their places.
type Names = BTreeMap<String, usize>;

impl Parser<'_> {
    fn session(&mut self, steps: &mut Vec<Step>, number: usize, names: &mut Names) -> Result<Session> {
        let (name, _) = self.name("the name of a session")?;
        let setup = if self.accept("setup") { Some(self.sql()?) } else { None };
        let first = steps.len();
        while self.accept("step") {
            let (name, span) = self.name("the name of a step")?;
            let sql = self.sql()?;
            if names.insert(name.clone(), steps.len()).is_some() {
                return Err(Diagnostic::syntax(span, format!("duplicate step name: {name}")));
            }
            steps.push(Step { name, session: number, sql });
        }
        if steps.len() == first {
            return Err(self.unexpected("step").hint("a session has at least one step"));
        }
        let teardown = if self.accept("teardown") { Some(self.sql()?) } else { None };
        Ok(Session { name, setup, teardown, steps: first..steps.len() })
    }

    fn permutation(&mut self, names: &Names, steps: &[Step]) -> Result<Permutation> {
        let mut permutation = Vec::new();
        let mut blocked_by = Vec::new();
        while let Some((Token::Name(_), _)) = self.peek() {
            let (name, span) = self.name("the name of a step")?;
            let Some(&step) = names.get(&name) else {
                let message = format!("undefined step \"{name}\" specified in permutation");
                return Err(Diagnostic::syntax(span, message));
            };
            let mut blockers = Vec::new();
            if self.accept_symbol('(') {
                loop {
                    let (blocker, place) = self.blocker(names, &name)?;
                    if let Blocker::Step(other) | Blocker::Notices(other, _) = blocker {
                        blocked_by.push((step, other, place));
                    }
                    blockers.push(blocker);
                    if !self.accept_symbol(',') {
                        break;
                    }
                }
                if !self.accept_symbol(')') {
                    return Err(self.unexpected("\",\" or \")\""));
                }
            }
            permutation.push(PermutationStep { step, blockers });
        }
        if permutation.is_empty() {
            return Err(self.unexpected("the name of a step"));
        }
        for (step, other, span) in blocked_by {
            check_blocker(&permutation, steps, step, other, span)?;
        }
        Ok(permutation)
    }

    fn blocker(&mut self, names: &Names, of: &str) -> Result<(Blocker, Span)> {
        if self.accept_symbol('*') {
            return Ok((Blocker::Once, Span::default()));
        }
        let (name, span) = self.name("\"*\" or the name of a step")?;
        let Some(&step) = names.get(&name) else {
            let message = format!("undefined blocking step \"{name}\" referenced in permutation step \"{of}\"");
            return Err(Diagnostic::syntax(span, message));
        };
        if !self.accept("notices") {
            return Ok((Blocker::Step(step), span));
        }
        match self.peek() {
            Some((Token::Int(count), _)) => {
                let count = *count;
                self.at += 1;
                Ok((Blocker::Notices(step, count), span))
            }
            _ => Err(self.unexpected("a number")),
        }
    }

    fn peek(&self) -> Option<&(Token, Span)> {
        self.tokens.get(self.at)
    }

    fn is_at_end(&self) -> bool {
        self.at == self.tokens.len()
    }

    fn accept(&mut self, keyword: &'static str) -> bool {
        self.accept_token(&Token::Keyword(keyword))
    }

    fn accept_symbol(&mut self, symbol: char) -> bool {
        self.accept_token(&Token::Symbol(symbol))
    }

    fn accept_token(&mut self, token: &Token) -> bool {
        let found = self.peek().is_some_and(|(t, _)| t == token);
        self.at += usize::from(found);
        found
    }

    fn name(&mut self, what: &str) -> Result<(String, Span)> {
        match self.peek().cloned() {
            Some((Token::Name(name), span)) => {
                self.at += 1;
                Ok((name, span))
            }
            _ => Err(self.unexpected(what)),
        }
    }

    fn sql(&mut self) -> Result<Sql> {
        match self.peek().cloned() {
            Some((Token::Sql(range), _)) => {
                self.at += 1;
                Ok(Sql(range))
            }
            _ => Err(self.unexpected("SQL in braces")),
        }
    }

    /// What is expected here, and what stands here instead.
    fn unexpected(&self, what: &str) -> Diagnostic {
        match self.peek() {
            Some((Token::Sql(_), span)) => {
                let brace = Span { end: span.start + 1, ..*span };
                Diagnostic::syntax(brace, format!("syntax error: {what} is expected here, not SQL"))
            }
            Some((_, span)) => {
                let found = span.of(self.text);
                Diagnostic::syntax(*span, format!("syntax error: {what} is expected here, not \"{found}\""))
            }
            None => {
                let end = Span::new(self.text.len(), self.text.len());
                Diagnostic::syntax(end, format!("syntax error: {what} is expected at the end of the file"))
            }
        }
    }
}

/// A step can wait for a step of the same permutation, in another session.
fn check_blocker(permutation: &[PermutationStep], steps: &[Step], step: usize, other: usize, span: Span) -> Result<()> {
    let (name, of) = (&steps[other].name, &steps[step].name);
    if !permutation.iter().any(|p| p.step == other) {
        let message = format!("undefined blocking step \"{name}\" referenced in permutation step \"{of}\"");
        return Err(Diagnostic::syntax(span, message).hint("it is no step of this permutation"));
    }
    if steps[other].session == steps[step].session {
        let message = format!("permutation step \"{of}\" cannot block on its own session");
        return Err(Diagnostic::syntax(span, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse("x.spec", text).err().map(|d| d.message).unwrap_or_default()
    }

    #[test]
    fn sql_keeps_its_newlines_and_loses_its_spaces() {
        let text = "session \"a \"\"b\"\"\" # a comment {\nstep s\t{ \t\n SELECT '#' \n \t} permutation s";
        let spec = parse("x.spec", text).expect("this is a spec");
        assert_eq!(spec.sessions[0].name, "a \"b\"");
        assert_eq!(spec.sql(&spec.steps[0].sql), "\n SELECT '#' \n");
        assert_eq!(spec.permutations.len(), 1);
    }

    #[test]
    fn mistakes_are_named() {
        let steps = "session a step a1 { } session b step b1 { } ";
        for (text, message) in [
            ("", "syntax error: a session is expected at the end of the file"),
            ("session a", "syntax error: step is expected at the end of the file"),
            ("session a step a1 { SELECT", "unterminated sql block"),
            ("session a step a1 { } step a1 { }", "duplicate step name: a1"),
            ("session \"a\nb\" step a1 { }", "unexpected newline in quoted identifier"),
            ("session a step a1 { } ; ", "syntax error: unexpected character \";\""),
            (
                "session a step a1 { } setup { }",
                "syntax error: session, permutation or the end of the file is expected here, not \"setup\"",
            ),
        ] {
            assert_eq!(error(text), message, "{text}");
        }
        for (permutation, message) in [
            ("c", "undefined step \"c\" specified in permutation"),
            ("a1(c)", "undefined blocking step \"c\" referenced in permutation step \"a1\""),
            ("a1(b1)", "undefined blocking step \"b1\" referenced in permutation step \"a1\""),
            ("a1 b1 a1(a1)", "permutation step \"a1\" cannot block on its own session"),
            ("a1(b1 notices) b1", "syntax error: a number is expected here, not \")\""),
            ("a1(*, b1 notices 2) b1", ""),
            ("", "syntax error: the name of a step is expected at the end of the file"),
        ] {
            assert_eq!(error(&format!("{steps} permutation {permutation}")), message, "{permutation}");
        }
    }
}
