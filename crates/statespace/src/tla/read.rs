//! Values read back from their text.
//!
//! What [`Value`] prints is the same for the same value, so a value that was written into a table can be had again.
//! Only that form is understood: this is no evaluator.

use super::value::Value;

/// The value with this text, if there is one.
pub fn value(text: &str) -> Option<Value> {
    let mut reader = Reader { rest: text };
    let value = reader.value()?;
    reader.rest.is_empty().then_some(value)
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn value(&mut self) -> Option<Value> {
        let first = self.rest.chars().next()?;
        match first {
            '"' => self.string(),
            '{' => self.listed("{", "}").and_then(|elements| Value::set(elements).ok()),
            '<' => self.listed("<<", ">>").map(Value::tuple),
            '[' => self.record(),
            '(' => self.function(),
            _ => self.word(),
        }
    }

    fn take(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    fn name(&mut self) -> Option<&str> {
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(name).filter(|name| !name.is_empty())
    }

    fn word(&mut self) -> Option<Value> {
        Some(match self.name()? {
            "TRUE" => Value::Bool(true),
            "FALSE" => Value::Bool(false),
            word => match word.parse() {
                Ok(number) => Value::Int(number),
                Err(_) => Value::Model(word.into()),
            },
        })
    }

    fn string(&mut self) -> Option<Value> {
        let mut text = String::new();
        let mut signs = self.rest.char_indices().skip(1);
        while let Some((place, sign)) = signs.next() {
            match sign {
                '"' => {
                    self.rest = &self.rest[place + 1..];
                    return Some(Value::text(&text));
                }
                '\\' => match signs.next()?.1 {
                    'n' => text.push('\n'),
                    other => text.push(other),
                },
                other => text.push(other),
            }
        }
        None
    }

    fn listed(&mut self, open: &str, close: &str) -> Option<Vec<Value>> {
        self.take(open)?;
        let mut elements = Vec::new();
        while self.take(close).is_none() {
            if !elements.is_empty() {
                self.take(", ")?;
            }
            elements.push(self.value()?);
        }
        Some(elements)
    }

    fn record(&mut self) -> Option<Value> {
        self.take("[")?;
        let mut pairs = Vec::new();
        while self.take("]").is_none() {
            if !pairs.is_empty() {
                self.take(", ")?;
            }
            let field = Value::text(self.name()?);
            self.take(" |-> ")?;
            pairs.push((field, self.value()?));
        }
        Value::function(pairs).ok()
    }

    fn function(&mut self) -> Option<Value> {
        self.take("(")?;
        let mut pairs = Vec::new();
        while self.take(")").is_none() {
            if !pairs.is_empty() {
                self.take(" @@ ")?;
            }
            let key = self.value()?;
            self.take(" :> ")?;
            pairs.push((key, self.value()?));
        }
        Value::function(pairs).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read() {
        let texts = [
            "TRUE",
            "-7",
            "m1",
            r#""a \"b\" \\ c""#,
            "{}",
            "{1, 2}",
            "<<>>",
            "<<1, {m1, m2}>>",
            "[a |-> 1, b |-> <<\"x\">>]",
            "(m1 :> {1} @@ m2 :> {})",
            "{<<1, 2>>, <<2, 1>>}",
        ];
        for text in texts {
            assert_eq!(value(text).map(|value| value.to_string()).as_deref(), Some(text));
        }
        assert_eq!(value("{1, 2"), None);
        assert_eq!(value("1 2"), None);
        assert_eq!(value(""), None);
    }
}
