//! Breaking lines. Every character counts as one column wide, which is right for SQL and near enough for names.

/// The number of columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

/// Breaks text at spaces into lines of at most `max` columns; lines after the first are indented by `hang`. Words that
/// are longer than a line are cut.
pub(crate) fn wrap(text: &str, max: usize, hang: usize) -> Vec<String> {
    let max = max.max(1);
    let hang = if hang < max { hang } else { 0 };
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    let mut fresh = true;
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        let mut word = word;
        loop {
            let space = usize::from(!fresh);
            if used + space + width(word) <= max {
                if !fresh {
                    line.push(' ');
                }
                line.push_str(word);
                used += space + width(word);
                fresh = false;
                break;
            }
            if fresh {
                // Longer than a whole line: cut it.
                let cut = word.char_indices().nth(max - used).map_or(word.len(), |(i, _)| i);
                line.push_str(&word[..cut]);
                word = &word[cut..];
            }
            lines.push(std::mem::take(&mut line));
            line.push_str(&" ".repeat(hang));
            used = hang;
            fresh = true;
        }
    }
    if !fresh || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// `text` followed by spaces up to `max` columns.
pub(crate) fn pad(text: &str, max: usize) -> String {
    let missing = max.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaks_at_spaces_and_hangs() {
        assert_eq!(wrap("SELECT a FROM t", 9, 2), ["SELECT a", "  FROM t"]);
        assert_eq!(wrap("", 9, 2), [""]);
        assert_eq!(wrap("   ", 9, 2), [""]);
    }

    #[test]
    fn cuts_what_does_not_fit() {
        assert_eq!(wrap("abcdefgh ij", 4, 1), ["abcd", " efg", " h", " ij"]);
        assert_eq!(wrap("äöü", 1, 5), ["ä", "ö", "ü"]);
    }

    #[test]
    fn no_line_is_too_long() {
        for max in 1..12 {
            for hang in 0..12 {
                for line in wrap("a bb ccc dddd eeeee ffffff ggggggg hhhhhhhh iiiiiiiiiiiiiiiiiiiiiii", max, hang) {
                    assert!(width(&line) <= max, "{line:?} {max}");
                }
            }
        }
    }
}
