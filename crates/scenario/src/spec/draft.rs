//! A spec that is being written: the parts of the format, put down in its order.

use std::fmt::Write;

/// What a spec consists of.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// What is said at its head.
    pub about: String,
    /// Statements that make the tables, each a block of its own.
    pub setup: Vec<String>,
    /// What takes all of that away.
    pub teardown: String,
    /// The sessions, in order.
    pub sessions: Vec<DraftSession>,
    /// The names of the steps, in the order in which they are sent.
    pub order: Vec<String>,
}

/// A session of a [`Draft`].
#[derive(Clone, Debug, Default)]
pub struct DraftSession {
    /// Its name.
    pub name: String,
    /// What it does before the first step.
    pub setup: String,
    /// Names and texts of its steps.
    pub steps: Vec<(String, String)>,
    /// What it does after the last step; nothing if it is empty.
    pub teardown: String,
}

impl Draft {
    /// The text of the spec. The error is a sentence that says what the format has no way to say.
    pub fn write(&self) -> Result<String, String> {
        let mut out = format!("# {}\n\n", self.about);
        for statement in &self.setup {
            block(&mut out, "setup", statement)?;
        }
        block(&mut out, "teardown", &self.teardown)?;
        for session in &self.sessions {
            let _ = writeln!(out, "\nsession {}", name(&session.name));
            if !session.setup.is_empty() {
                block(&mut out, "setup", &session.setup)?;
            }
            for (step, text) in &session.steps {
                block(&mut out, &format!("step {}", name(step)), text)?;
            }
            if !session.teardown.is_empty() {
                block(&mut out, "teardown", &session.teardown)?;
            }
        }
        let order: Vec<String> = self.order.iter().map(|step| name(step)).collect();
        let _ = writeln!(out, "\npermutation {}", order.join(" "));
        Ok(out)
    }
}

/// A name as the format has them.
fn name(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts && name.chars().all(plain) { name.into() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// `kind { text }`, in which there can be no closing brace.
fn block(out: &mut String, kind: &str, text: &str) -> Result<(), String> {
    let text = without_braces(text);
    if text.contains('}') {
        return Err(format!("the format has no way to write a closing brace in SQL, and there is one in: {text}"));
    }
    let _ = writeln!(out, "{kind} {{ {} }}", text.trim());
    Ok(())
}

/// The same text, with the closing braces of plain string constants written by their number: `'{}'` as `U&'{\007D'`.
fn without_braces(text: &str) -> String {
    if !text.contains('}') || text.contains("$$") || text.contains("--") || text.contains("/*") {
        return text.to_string();
    }
    let mut out = String::new();
    // Outside of constants are the pieces with even numbers; a doubled quote gives an empty one, which joins two
    // constants.
    for (number, piece) in text.split('\'').enumerate() {
        match number % 2 {
            0 => out.push_str(piece),
            _ => {
                let prefixed = out.ends_with(|c: char| c.is_alphanumeric() || c == '&' || c == '_' || c == '\'');
                match piece.contains('}') && !prefixed {
                    true => {
                        let escaped = piece.replace('\\', "\\\\").replace('}', "\\007D");
                        out.push_str(&format!("U&'{escaped}'"));
                    }
                    false => out.push_str(&format!("'{piece}'")),
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_in_constants_are_written_by_number() {
        assert_eq!(without_braces("SELECT '{}', 'a', '{\"n\": 1}'"), "SELECT U&'{\\007D', 'a', U&'{\"n\": 1\\007D'");
        assert_eq!(without_braces("SELECT 'it''s'"), "SELECT 'it''s'");
        // Left as it is, and refused: part of a longer constant, or of another kind.
        for text in ["SELECT 'it''s {}'", "SELECT E'{}'", "DO $$ '{}' $$"] {
            assert!(without_braces(text).contains('}'), "{text}");
            assert!(block(&mut String::new(), "setup", text).is_err_and(|e| e.contains("closing brace")));
        }
    }
}
