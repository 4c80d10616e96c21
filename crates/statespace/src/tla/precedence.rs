//! Which infix operators may stand beside each other without parentheses.
//!
//! Operators of TLA+ have a range of precedences. Where the ranges of two operators overlap, neither binds tighter, and
//! the expression has no meaning unless parentheses give it one: `A /\ B \/ C`, `a * b / c`, `S \cup T \cap U`. The
//! grammar that we parse with gives it some meaning. Only an operator that is associative may stand beside itself.

/// Whether two infix operators need parentheses between them; as they are spelled in one way.
pub(super) fn conflict(outer: &str, inner: &str) -> bool {
    let (Some(a), Some(b)) = (range(outer), range(inner)) else { return false };
    let overlap = a.low <= b.high && b.low <= a.high;
    overlap && !(outer == inner && a.is_associative)
}

struct Range {
    low: u8,
    high: u8,
    is_associative: bool,
}

/// As in the table of "Specifying Systems", section 15.2.1; operators that are not in it are not checked.
fn range(operator: &str) -> Option<Range> {
    let (low, high, is_associative) = match operator {
        "=>" => (1, 1, false),
        "<=>" | "~>" => (2, 2, false),
        "/\\" | "\\/" => (3, 3, true),
        "=" | "#" | "<" | ">" | "<=" | ">=" | "\\in" | "\\notin" | "\\subset" | "\\subseteq" | "\\supset"
        | "\\supseteq" => (5, 5, false),
        "@@" => (6, 6, true),
        ":>" => (7, 7, false),
        "\\" => (8, 8, false),
        "\\cup" | "\\cap" => (8, 8, true),
        ".." => (9, 9, false),
        "+" => (10, 10, true),
        "%" => (10, 11, false),
        "-" => (11, 11, true),
        "\\X" => (10, 13, true),
        "*" | "\\o" => (13, 13, true),
        "/" | "\\div" => (13, 13, false),
        "^" => (14, 14, false),
        _ => return None,
    };
    Some(Range { low, high, is_associative })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours() {
        for (outer, inner) in
            [("\\/", "/\\"), ("\\cup", "\\cap"), ("*", "/"), ("+", "%"), ("=>", "=>"), ("=", "\\in"), ("\\", "\\")]
        {
            assert!(conflict(outer, inner) && conflict(inner, outer), "{outer} {inner}");
        }
        for (outer, inner) in
            [("/\\", "/\\"), ("=>", "/\\"), ("+", "-"), ("+", "*"), ("..", "-"), ("\\cup", ".."), ("@@", ":>")]
        {
            assert!(!conflict(outer, inner), "{outer} {inner}");
        }
    }
}
