//! What solvers say: atoms and lists in parentheses.

use std::fmt;

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sexp {
    /// A word, a number, a `|name|` with its bars, or a string with its quotes.
    Atom(String),
    /// `( ... )`
    List(Vec<Sexp>),
}

impl Sexp {
    /// Reads everything that is complete in a text.
    pub fn read(text: &str) -> Vec<Sexp> {
        let mut open: Vec<Vec<Sexp>> = vec![Vec::new()];
        for word in pieces(text) {
            match word {
                "(" => open.push(Vec::new()),
                ")" if open.len() > 1 => {
                    let list = Sexp::List(open.pop().unwrap_or_default());
                    if let Some(around) = open.last_mut() {
                        around.push(list);
                    }
                }
                ")" => {}
                word => {
                    if let Some(around) = open.last_mut() {
                        around.push(Sexp::Atom(word.to_string()));
                    }
                }
            }
        }
        open.swap_remove(0)
    }

    /// The parts of a list; none of an atom.
    pub fn parts(&self) -> &[Sexp] {
        match self {
            Sexp::Atom(_) => &[],
            Sexp::List(parts) => parts,
        }
    }

    /// The word, if it is one.
    pub fn atom(&self) -> Option<&str> {
        match self {
            Sexp::Atom(word) => Some(word),
            Sexp::List(_) => None,
        }
    }

    /// The value of a number such as `5`, `(- 5)`, `2.5` or `(/ 1.0 3.0)`, as a fraction.
    pub fn number(&self) -> Option<(i128, i128)> {
        match self {
            Sexp::Atom(word) => {
                let (whole, decimals) = word.split_once('.').unwrap_or((word, ""));
                let decimals = decimals.trim_end_matches('0');
                let scale = 10i128.checked_pow(u32::try_from(decimals.len()).ok()?)?;
                let digits = format!("{whole}{decimals}");
                digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?.map(|n: i128| (n, scale))
            }
            Sexp::List(parts) => match parts.as_slice() {
                [Sexp::Atom(minus), part] if minus == "-" => part.number().map(|(n, d)| (-n, d)),
                [Sexp::Atom(real), part] if real == "to_real" => part.number(),
                [Sexp::Atom(over), a, b] if over == "/" => {
                    let ((a, p), (b, q)) = (a.number()?, b.number()?);
                    let (n, d) = (a.checked_mul(q)?, p.checked_mul(b)?);
                    if d < 0 { Some((-n, -d)) } else { Some((n, d)).filter(|(_, d)| *d != 0) }
                }
                _ => None,
            },
        }
    }
}

impl fmt::Display for Sexp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sexp::Atom(word) => f.write_str(word),
            Sexp::List(parts) => {
                f.write_str("(")?;
                for (index, part) in parts.iter().enumerate() {
                    write!(f, "{}{part}", if index == 0 { "" } else { " " })?;
                }
                f.write_str(")")
            }
        }
    }
}

/// Open parentheses that are not closed yet.
pub(crate) fn depth(text: &str) -> i64 {
    pieces(text).fold(0, |depth, word| match word {
        "(" => depth + 1,
        ")" => depth - 1,
        _ => depth,
    })
}

/// Parentheses and words.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        while let Some(comment) = rest.strip_prefix(';') {
            rest = comment.split_once('\n').map_or("", |(_, after)| after).trim_start();
        }
        let first = rest.chars().next()?;
        let end = match first {
            '(' | ')' => 1,
            '|' | '"' => rest[1..].find(first).map_or(rest.len(), |at| at + 2),
            _ => rest.find(|c: char| c.is_whitespace() || c == '(' || c == ')').unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read() {
        let read = Sexp::read("((a 5) (|b c (| (- 7)) (r (/ 1.0 4.0)))\n");
        let [Sexp::List(pairs)] = read.as_slice() else { panic!("one list: {read:?}") };
        assert_eq!(pairs[0].parts()[1].number(), Some((5, 1)));
        assert_eq!(pairs[1].parts()[0].atom(), Some("|b c (|"));
        assert_eq!(pairs[1].parts()[1].number(), Some((-7, 1)));
        assert_eq!(pairs[2].parts()[1].number(), Some((1, 4)));
        assert_eq!(Sexp::Atom("2.50".into()).number(), Some((25, 10)));
        assert_eq!(depth("((a |(|) "), 1);
    }
}
