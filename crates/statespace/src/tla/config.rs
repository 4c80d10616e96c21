//! Configuration files, as TLC takes them: what the constants are, what the behaviours are, and what must be true.

use super::fault::{Fault, Result};
use super::syntax::At;
use super::value::Value;

/// What a configuration file says.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// `SPECIFICATION Spec`
    pub specification: Option<(String, At)>,
    /// `INIT Init`
    pub init: Option<(String, At)>,
    /// `NEXT Next`
    pub next: Option<(String, At)>,
    /// `N = 3`
    pub constants: Vec<(String, Value, At)>,
    /// `Op <- Definition`, and of which module, if one is named
    pub overrides: Vec<(String, Option<String>, String, At)>,
    /// `INVARIANTS`
    pub invariants: Vec<(String, At)>,
    /// `PROPERTIES`
    pub properties: Vec<(String, At)>,
    /// `CONSTRAINTS`
    pub constraints: Vec<(String, At)>,
    /// `ACTION_CONSTRAINTS`
    pub action_constraints: Vec<(String, At)>,
    /// `SYMMETRY`
    pub symmetry: Vec<(String, At)>,
    /// `VIEW`
    pub view: Option<(String, At)>,
    /// `CHECK_DEADLOCK`
    pub check_deadlock: Option<bool>,
}

/// Reads a configuration file.
pub fn parse(file: u32, text: &str) -> Result<Config> {
    let tokens = tokens(file, text)?;
    let mut reader = Reader { tokens, at: 0, end: At { file, start: text.len() as u32, end: text.len() as u32 } };
    let mut config = Config::default();
    while let Some((word, at)) = reader.next() {
        match word.as_str() {
            "SPECIFICATION" => config.specification = Some(reader.name()?),
            "INIT" => config.init = Some(reader.name()?),
            "NEXT" => config.next = Some(reader.name()?),
            "CONSTANT" | "CONSTANTS" => reader.constants(&mut config)?,
            "INVARIANT" | "INVARIANTS" => config.invariants.extend(reader.names()),
            "PROPERTY" | "PROPERTIES" => config.properties.extend(reader.names()),
            "CONSTRAINT" | "CONSTRAINTS" => config.constraints.extend(reader.names()),
            "ACTION_CONSTRAINT" | "ACTION_CONSTRAINTS" => config.action_constraints.extend(reader.names()),
            "SYMMETRY" => config.symmetry.extend(reader.names()),
            "VIEW" => config.view = Some(reader.name()?),
            "CHECK_DEADLOCK" => match reader.next() {
                Some((word, _)) if word == "TRUE" || word == "FALSE" => config.check_deadlock = Some(word == "TRUE"),
                _ => return Err(Fault::new(at, "CHECK_DEADLOCK is TRUE or FALSE")),
            },
            "ALIAS" | "POSTCONDITION" | "_PERIODIC" | "TYPE" | "TYPE_CONSTRAINT" => {
                return Err(Fault::new(at, format!("`{word}` is not supported")));
            }
            _ => return Err(Fault::with_hint(at, format!("`{word}` is no keyword of a configuration"), HINT)),
        }
    }
    Ok(config)
}

const HINT: &str = "SPECIFICATION, INIT, NEXT, CONSTANT, INVARIANT, PROPERTY, CONSTRAINT, ACTION_CONSTRAINT, SYMMETRY, VIEW or CHECK_DEADLOCK";

const KEYWORDS: &[&str] = &[
    "SPECIFICATION",
    "INIT",
    "NEXT",
    "CONSTANT",
    "CONSTANTS",
    "INVARIANT",
    "INVARIANTS",
    "PROPERTY",
    "PROPERTIES",
    "CONSTRAINT",
    "CONSTRAINTS",
    "ACTION_CONSTRAINT",
    "ACTION_CONSTRAINTS",
    "SYMMETRY",
    "CHECK_DEADLOCK",
    "VIEW",
    "ALIAS",
    "POSTCONDITION",
    "_PERIODIC",
    "TYPE",
    "TYPE_CONSTRAINT",
];

struct Reader {
    tokens: Vec<(String, At)>,
    at: usize,
    end: At,
}

impl Reader {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.at).map(|(word, _)| word.as_str())
    }

    fn next(&mut self) -> Option<(String, At)> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn name(&mut self) -> Result<(String, At)> {
        let end = self.end;
        match self.next() {
            Some((word, at)) if is_word(&word) => Ok((word, at)),
            Some((word, at)) => Err(Fault::new(at, format!("a name is expected here and not `{word}`"))),
            None => Err(Fault::new(end, "a name is expected here")),
        }
    }

    fn names(&mut self) -> Vec<(String, At)> {
        let mut names = Vec::new();
        while self.peek().is_some_and(|word| is_word(word) && !KEYWORDS.contains(&word)) {
            names.extend(self.next());
            if self.peek() == Some(",") {
                self.at += 1;
            }
        }
        names
    }

    fn constants(&mut self, config: &mut Config) -> Result<()> {
        while self.peek().is_some_and(|word| !KEYWORDS.contains(&word)) {
            let (name, at) = self.name_or_symbol()?;
            match self.next() {
                Some((word, _)) if word == "=" => {
                    let value = self.value()?;
                    config.constants.push((name, value, at));
                }
                Some((word, _)) if word == "<-" => {
                    let mut module = None;
                    if self.peek() == Some("[") {
                        self.at += 1;
                        module = Some(self.name()?.0);
                        self.expect("]")?;
                    }
                    let (target, target_at) = self.name()?;
                    config.overrides.push((name, module, target, target_at));
                }
                _ => {
                    return Err(Fault::with_hint(
                        at,
                        format!("what is `{name}`?"),
                        "write `= value` or `<- Definition`",
                    ));
                }
            }
            if self.peek() == Some(",") {
                self.at += 1;
            }
        }
        Ok(())
    }

    fn name_or_symbol(&mut self) -> Result<(String, At)> {
        match self.next() {
            Some((word, at)) if word != "=" && word != "<-" => Ok((word, at)),
            Some((_, at)) => Err(Fault::new(at, "a name is expected here")),
            None => Err(Fault::new(self.end, "a name is expected here")),
        }
    }

    fn expect(&mut self, wanted: &str) -> Result<()> {
        match self.next() {
            Some((word, _)) if word == wanted => Ok(()),
            Some((_, at)) => Err(Fault::new(at, format!("`{wanted}` is expected here"))),
            None => Err(Fault::new(self.end, format!("`{wanted}` is expected here"))),
        }
    }

    /// A number, a string, a boolean, a model value, or a set or tuple of these.
    fn value(&mut self) -> Result<Value> {
        let Some((word, at)) = self.next() else { return Err(Fault::new(self.end, "a value is expected here")) };
        if let Ok(number) = word.parse::<i64>() {
            return Ok(Value::Int(number));
        }
        match word.as_str() {
            "TRUE" => Ok(Value::Bool(true)),
            "FALSE" => Ok(Value::Bool(false)),
            "{" => Value::set(self.values("}")?).map_err(|why| Fault::of(at, why)),
            "<<" => Ok(Value::tuple(self.values(">>")?)),
            _ if word.starts_with('"') => Ok(Value::text(word.trim_matches('"'))),
            _ if is_word(&word) => Ok(Value::Model(word.as_str().into())),
            _ => Err(Fault::new(at, format!("`{word}` is no value"))),
        }
    }

    fn values(&mut self, close: &str) -> Result<Vec<Value>> {
        let mut values = Vec::new();
        while self.peek() != Some(close) {
            values.push(self.value()?);
            if self.peek() == Some(",") {
                self.at += 1;
            } else if self.peek() != Some(close) {
                self.expect(close)?;
            }
        }
        self.at += 1;
        Ok(values)
    }
}

fn is_word(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Words, numbers, strings and symbols; comments are passed over.
fn tokens(file: u32, text: &str) -> Result<Vec<(String, At)>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let start = text.len() - rest.len();
        let at = |length: usize| At { file, start: start as u32, end: (start + length) as u32 };
        if rest.is_empty() {
            return Ok(tokens);
        }
        if rest.starts_with("\\*") {
            rest = rest.find('\n').map_or("", |newline| &rest[newline..]);
            continue;
        }
        if rest.starts_with("(*") {
            rest = comment(rest).ok_or_else(|| Fault::new(at(2), "this comment does not end"))?;
            continue;
        }
        let length = token_length(rest).ok_or_else(|| Fault::new(at(1), "this string does not end"))?;
        tokens.push((rest[..length].to_string(), at(length)));
        rest = &rest[length..];
    }
}

/// What stands behind a comment, which may have others inside.
fn comment(text: &str) -> Option<&str> {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("(*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*)") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return Some(&text[at..]);
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    None
}

fn token_length(text: &str) -> Option<usize> {
    let first = text.chars().next().unwrap_or(' ');
    let second = text[first.len_utf8()..].chars().next().unwrap_or(' ');
    let word = |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '!').unwrap_or(text.len());
    Some(match first {
        '"' => text[1..].find('"')? + 2,
        '-' if second.is_ascii_digit() => 1 + word(&text[1..]),
        c if c.is_alphanumeric() || c == '_' => word(text),
        '<' if second == '-' || second == '<' => 2,
        '>' if second == '>' => 2,
        c => c.len_utf8(),
    })
}
