//! Forms as text, so that what lies in a store can be understood again.
//!
//! ```text
//!   int(0, 9)   bool   enum(<<"a", "b">>)   set(<<r1, r2>>)   function(<<r1, r2>>; bool; bool)   tuple(bool; int(0, 3))
//!   sequence(3; bool)
//! ```

use std::sync::Arc;

use crate::form::{Form, Forms};
use crate::tla::read;
use crate::tla::value::Value;

/// The forms of all variables: a line each, with the name first.
pub(crate) fn write(forms: &Forms) -> String {
    let lines = forms.layout.variables.iter().zip(&forms.forms);
    let lines: Vec<String> = lines.map(|(variable, form)| format!("{} {}", variable.name, text(form))).collect();
    lines.join("\n")
}

/// The forms that a text is of, if it is one.
pub(crate) fn read(text: &str) -> Option<Forms> {
    let line = |line: &str| {
        let (name, form) = line.split_once(' ')?;
        Some((name.to_string(), parse(form)?))
    };
    let forms: Option<Vec<(String, Form)>> = text.lines().map(line).collect();
    forms.filter(|forms| !forms.is_empty()).map(Forms::new)
}

fn text(form: &Form) -> String {
    let listed = |values: &[Value]| Value::tuple(values.to_vec()).to_string();
    let parts = |forms: &[Form]| forms.iter().map(text).collect::<Vec<_>>().join("; ");
    match form {
        Form::Int(low, high) => format!("int({low}, {high})"),
        Form::Bool => "bool".into(),
        Form::Enum(values) => format!("enum({})", listed(values)),
        Form::Mask(values) => format!("set({})", listed(values)),
        Form::Function(keys, forms) => format!("function({}; {})", listed(keys), parts(forms)),
        Form::Tuple(forms) => format!("tuple({})", parts(forms)),
        Form::Sequence(one, longest) => format!("sequence({longest}; {})", text(one)),
    }
}

fn parse(text: &str) -> Option<Form> {
    if text == "bool" {
        return Some(Form::Bool);
    }
    let (kind, rest) = text.split_once('(')?;
    let inner = rest.strip_suffix(')')?;
    let values = |text: &str| match read::value(text)? {
        Value::Tuple(values) => Some(values),
        _ => None,
    };
    let forms = |parts: &[&str]| parts.iter().map(|part| parse(part)).collect::<Option<Vec<Form>>>();
    let parts = split(inner);
    Some(match (kind, parts.as_slice()) {
        ("int", [both]) => {
            let (low, high) = both.split_once(", ")?;
            Form::Int(low.parse().ok()?, high.parse().ok()?)
        }
        ("enum", [list]) => Form::Enum(values(list)?),
        ("set", [list]) => Form::Mask(values(list)?),
        ("function", [keys, rest @ ..]) => {
            let (keys, forms): (Arc<Vec<Value>>, Vec<Form>) = (values(keys)?, forms(rest)?);
            (keys.len() == forms.len()).then_some(Form::Function(keys, forms))?
        }
        ("tuple", parts) => Form::Tuple(forms(parts)?),
        ("sequence", [longest, one]) => Form::Sequence(Box::new(parse(one)?), longest.parse().ok()?),
        _ => return None,
    })
}

/// The parts between semicolons that stand in no bracket and no string.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut string, mut escaped) = (Vec::new(), 0, 0usize, false, false);
    for (place, sign) in text.char_indices() {
        match sign {
            _ if escaped => escaped = false,
            '\\' if string => escaped = true,
            '"' => string = !string,
            _ if string => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ';' if depth == 0 => {
                parts.push(text[start..place].trim());
                start = place + 1;
            }
            _ => {}
        }
    }
    let last = text[start..].trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let lines = [
            "a int(-3, 9)",
            "b bool",
            r#"c enum(<<"x; (y", m1>>)"#,
            "d set(<<{1}, {2}>>)",
            "e function(<<m1, m2>>; bool; sequence(3; tuple(bool; int(0, 1))))",
            "f tuple()",
        ];
        let forms = read(&lines.join("\n")).expect("these are forms");
        assert_eq!(write(&forms), lines.join("\n"));
        for wrong in ["", "a", "a int(1)", "a enum(1)", "a function(<<1>>)", "a int(1, 2", "a what(1)"] {
            assert!(read(wrong).is_none(), "{wrong}");
        }
    }
}
