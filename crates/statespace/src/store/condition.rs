//! Atoms about a store as SQL that is TRUE or FALSE, never unknown.
//!
//! A column is NULL where a row is not there, and NULL is a value like any other: `status # "open"` is true of an order
//! that was deleted, and `p` or `~p` is true in every state. SQL's comparisons with NULL are neither. So
//!
//! | written | becomes |
//! |---|---|
//! | `a = b`, `a # b` | `a IS NOT DISTINCT FROM b`, `a IS DISTINCT FROM b` |
//! | `~p`, `NOT p` | `(p) IS NOT TRUE` |
//! | `a \notin {x, y}`, `a NOT IN (x, y)`, `NOT LIKE`, `NOT BETWEEN` | `(a IN (x, y)) IS NOT TRUE` |
//! | `p => q` | `(p) IS NOT TRUE OR q` |
//!
//! What is still unknown then is a comparison such as `NULL < 3`. It stands under AND and OR only, up to the next
//! `IS NOT TRUE` or the end, where unknown counts as false; so it is false.

use crate::sql::Dialect;

/// A condition with TLA+'s signs, or SQL's, as SQL that has two values.
pub(crate) fn condition(dialect: Dialect, text: &str) -> String {
    let tokens = tokens(dialect, text);
    implication(dialect, &tokens)
}

/// A piece of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// A word, number, string or sign, as SQL has it.
    Text(String),
    /// `=` or `#`.
    Equal(bool),
    And,
    Or,
    Not,
    Implies,
    Open,
    Close,
}

/// TLA+'s signs, longest first, and what they are.
fn signs() -> Vec<(&'static str, Token)> {
    let text = |sql: &str| Token::Text(sql.into());
    vec![
        ("\\notin", Token::Not),
        ("\\land", Token::And),
        ("\\lnot", Token::Not),
        ("\\lor", Token::Or),
        ("\\neg", Token::Not),
        ("\\leq", text("<=")),
        ("\\geq", text(">=")),
        ("\\in", text("IN")),
        ("/\\", Token::And),
        ("\\/", Token::Or),
        ("=>", Token::Implies),
        ("=<", text("<=")),
        ("<=", text("<=")),
        (">=", text(">=")),
        ("<>", Token::Equal(false)),
        ("!=", Token::Equal(false)),
        ("/=", Token::Equal(false)),
        ("#", Token::Equal(false)),
        ("==", Token::Equal(true)),
        ("=", Token::Equal(true)),
        ("~", Token::Not),
        ("(", Token::Open),
        (")", Token::Close),
        ("{", Token::Open),
        ("}", Token::Close),
    ]
}

fn tokens(dialect: Dialect, text: &str) -> Vec<Token> {
    let signs = signs();
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let taken = if first == '"' || first == '\'' {
            let end = rest[1..].find(first).map_or(rest.len(), |end| end + 2);
            let inner = rest[1..end].trim_end_matches(first);
            found.push(Token::Text(dialect.text(inner)));
            end
        } else if is_word(first) {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            found.push(match rest[..end].to_ascii_uppercase().as_str() {
                "AND" => Token::And,
                "OR" => Token::Or,
                "NOT" => Token::Not,
                _ => Token::Text(rest[..end].into()),
            });
            end
        } else if let Some((sign, token)) = signs.iter().find(|(sign, _)| rest.starts_with(sign)) {
            found.push(token.clone());
            if *sign == "\\notin" {
                found.push(Token::Text("IN".into()));
            }
            sign.len()
        } else {
            found.push(Token::Text(first.into()));
            first.len_utf8()
        };
        rest = rest[taken..].trim_start();
    }
    found
}

/// `p => q => r` is `p => (q => r)`.
fn implication(dialect: Dialect, tokens: &[Token]) -> String {
    match split(tokens, &Token::Implies).split_first() {
        Some((first, rest)) if !rest.is_empty() => {
            let rest: Vec<Token> = rest.join(&[Token::Implies][..]);
            format!("({}) IS NOT TRUE OR ({})", disjunction(dialect, first), implication(dialect, &rest))
        }
        _ => disjunction(dialect, tokens),
    }
}

fn disjunction(dialect: Dialect, tokens: &[Token]) -> String {
    let parts = split(tokens, &Token::Or);
    parts.iter().map(|part| conjunction(dialect, part)).collect::<Vec<_>>().join(" OR ")
}

fn conjunction(dialect: Dialect, tokens: &[Token]) -> String {
    let parts = split(tokens, &Token::And);
    parts.iter().map(|part| negation(dialect, part)).collect::<Vec<_>>().join(" AND ")
}

fn negation(dialect: Dialect, tokens: &[Token]) -> String {
    if let [Token::Not, rest @ ..] = tokens {
        return format!("({}) IS NOT TRUE", negation(dialect, rest));
    }
    // `a NOT IN (x, y)`, but not `a IS NOT NULL`.
    let infix = places(tokens).find(|place| tokens[*place] == Token::Not && !is(tokens.get(place - 1), "IS"));
    if let Some(place) = infix {
        let positive = [&tokens[..place], &tokens[place + 1..]].concat();
        return format!("({}) IS NOT TRUE", negation(dialect, &positive));
    }
    comparison(dialect, tokens)
}

/// What has no connectives outside of parentheses.
fn comparison(dialect: Dialect, tokens: &[Token]) -> String {
    let mut words = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            Token::Open => {
                let end = closing(tokens, at);
                words.push(format!("({})", implication(dialect, &tokens[at + 1..end])));
                at = end;
            }
            Token::Equal(is) => words.push(same(dialect, *is).into()),
            Token::Text(text) => words.push(text.clone()),
            Token::And => words.push("AND".into()),
            Token::Or => words.push("OR".into()),
            Token::Not => words.push("NOT".into()),
            Token::Implies => words.push("=>".into()),
            Token::Close => words.push(")".into()),
        }
        at += 1;
    }
    words.join(" ")
}

/// Equality for which NULL is a value.
fn same(dialect: Dialect, is: bool) -> &'static str {
    match (dialect, is) {
        (Dialect::Sqlite, true) => "IS",
        (Dialect::Sqlite, false) => "IS NOT",
        (_, true) => "IS NOT DISTINCT FROM",
        (_, false) => "IS DISTINCT FROM",
    }
}

/// The pieces between connectives that stand outside of parentheses. The AND of BETWEEN is none.
fn split<'t>(tokens: &'t [Token], connective: &Token) -> Vec<&'t [Token]> {
    let (mut parts, mut start, mut between) = (Vec::new(), 0, false);
    for place in places(tokens) {
        between |= is(tokens.get(place), "BETWEEN");
        if tokens[place] == Token::And && between {
            between = false;
        } else if tokens[place] == *connective {
            parts.push(&tokens[start..place]);
            start = place + 1;
        }
    }
    parts.push(&tokens[start..]);
    parts
}

/// The places outside of parentheses, and outside of CASE.
fn places(tokens: &[Token]) -> impl Iterator<Item = usize> + '_ {
    let mut depth = 0usize;
    (0..tokens.len()).filter(move |place| {
        let token = tokens.get(*place);
        let (opens, closes) =
            (tokens[*place] == Token::Open || is(token, "CASE"), tokens[*place] == Token::Close || is(token, "END"));
        depth = if closes { depth.saturating_sub(1) } else { depth };
        let outside = depth == 0;
        depth += usize::from(opens);
        outside
    })
}

fn is(token: Option<&Token>, word: &str) -> bool {
    matches!(token, Some(Token::Text(text)) if text.eq_ignore_ascii_case(word))
}

/// Where the parenthesis is closed; the end, if it is not.
fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (place, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Open => depth += 1,
            Token::Close if depth == 1 => return place,
            Token::Close => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_become_those_of_sql() {
        let check = |text, expected: &str| assert_eq!(condition(Dialect::Sqlite, text), expected);
        check(r#"a = "x" /\ b # 2"#, "a IS 'x' AND b IS NOT 2");
        check("a = 'it' \\/ ~(b >= 2)", "a IS 'it' OR ((b >= 2)) IS NOT TRUE");
        check("a NOT IN (1, 2) AND b IS NOT NULL", "(a IN (1 , 2)) IS NOT TRUE AND b IS NOT NULL");
        check("a \\notin {1} => c BETWEEN 1 AND 2", "((a IN (1)) IS NOT TRUE) IS NOT TRUE OR (c BETWEEN 1 AND 2)");
        check("NOT a <= 1", "(a <= 1) IS NOT TRUE");
        check("\"", "''");
        check("((", "(())");
        check("not", "() IS NOT TRUE");
        check("a = 1 => b = 2", "(a IS 1) IS NOT TRUE OR (b IS 2)");
        assert_eq!(condition(Dialect::Postgres, "a = 1"), "a IS NOT DISTINCT FROM 1");
    }

    /// Conditions over columns that may be NULL: in every state, exactly one of `p` and `~p` is true, and connectives
    /// are those of logic.
    #[test]
    fn every_condition_has_two_values() {
        let database = rusqlite::Connection::open_in_memory().expect("a database");
        let rows = "CREATE TABLE t (k INTEGER PRIMARY KEY, a, b);
            INSERT INTO t (a, b) VALUES (NULL, NULL), (1, NULL), (NULL, 'x'), (1, 'x'), (2, 'y'), (0, 'x')";
        database.execute_batch(rows).expect("rows");
        let states = |text: &str| -> Vec<i64> {
            let sql = format!("SELECT k FROM t WHERE {} ORDER BY k", condition(Dialect::Sqlite, text));
            let mut statement = database.prepare(&sql).unwrap_or_else(|error| panic!("{text}: {sql}: {error}"));
            let found = statement.query_map([], |row| row.get(0)).expect("rows").collect::<Result<_, _>>();
            found.expect("numbers")
        };
        let atoms = [
            "a = 1",
            "a # 1",
            "a < 2",
            "a >= 1",
            "b = \"x\"",
            "b /= \"x\"",
            "a \\in {0, 1}",
            "a \\notin {1}",
            "b NOT IN ('x')",
        ];
        let mut seed = 1u64;
        let mut draw = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        let mut conditions: Vec<String> = atoms.iter().map(|atom| atom.to_string()).collect();
        for _ in 0..300 {
            let (p, q) = (conditions[draw(conditions.len())].clone(), conditions[draw(conditions.len())].clone());
            if p.len() + q.len() > 200 {
                continue;
            }
            let (of_p, of_q) = (states(&p), states(&q));
            let expect = |text: &str, is: &dyn Fn(&i64) -> bool| {
                assert_eq!(states(text), (1..=6).filter(|k| is(k)).collect::<Vec<_>>(), "{text}");
            };
            let (has_p, has_q) = (|k: &i64| of_p.contains(k), |k: &i64| of_q.contains(k));
            expect(&format!("~({p})"), &|k| !has_p(k));
            expect(&format!("({p}) /\\ ({q})"), &|k| has_p(k) && has_q(k));
            expect(&format!("({p}) \\/ NOT ({q})"), &|k| has_p(k) || !has_q(k));
            expect(&format!("({p}) => ({q})"), &|k| !has_p(k) || has_q(k));
            conditions
                .push([format!("~({p})"), format!("({p}) \\/ ({q})"), format!("({p}) => ({q})")][draw(3)].clone());
        }
        assert_eq!((states("a # 1").len(), states("b NOT IN ('x')").len()), (4, 3));
    }
}
