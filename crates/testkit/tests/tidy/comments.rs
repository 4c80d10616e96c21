//! Comments are within the width of the code. rustfmt does not look at them, so with UPDATE_EXPECT=1 this test breaks
//! their lines.

use std::fs;

use crate::check;
use crate::sources::{root, sources};

/// `max_width` of rustfmt.toml.
fn width() -> usize {
    let text = fs::read_to_string(root().join("rustfmt.toml")).expect("it is there");
    let line = text.lines().find_map(|line| line.strip_prefix("max_width = ")).expect("it is said");
    line.parse().expect("it is a number")
}

#[test]
fn comments_are_within_the_width() {
    let width = width();
    let mut broken = Vec::new();
    for source in sources() {
        let fixed = wrapped(&source.text, width);
        if fixed == source.text {
            continue;
        }
        match std::env::var_os("UPDATE_EXPECT") {
            Some(_) => fs::write(root().join(&source.path), fixed).expect("it can be written"),
            None => {
                let long = source.text.lines().enumerate().filter(|(_, line)| is_long(line, width));
                broken.extend(long.map(|(number, _)| format!("{}:{}", source.path, number + 1)));
            }
        }
    }
    check("UPDATE_EXPECT=1 breaks the lines of comments that are too long", broken);
}

/// A line that is only a comment, taken apart: indentation and marker, and what it says.
fn comment(line: &str) -> Option<(&str, &str)> {
    let start = line.len() - line.trim_start().len();
    let marker = ["//!", "///", "//"].iter().find(|marker| line[start..].starts_with(**marker))?;
    let end = start + marker.len();
    Some((&line[..end], &line[end..]))
}

fn is_long(line: &str, width: usize) -> bool {
    comment(line).is_some() && line.chars().count() > width
}

/// The text with the lines of its comments broken. What is drawn (in fences, in tables) stays.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let mut fenced = false;
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].clone();
        let Some((marker, said)) = comment(&line) else {
            (fenced, at) = (false, at + 1);
            continue;
        };
        fenced ^= said.trim_start().starts_with("```");
        if !fenced && is_long(&line, width) && !said.trim_start().starts_with('|') {
            let indent = said.len() - said.trim_start().len();
            if let Some((kept, rest)) = broken(&line, marker.len() + indent, width) {
                let hang = said[..indent].to_string() + &" ".repeat(bullet(said.trim_start()));
                let next = lines.get(at + 1).and_then(|next| comment(next));
                let joins = next.is_some_and(|(mark, said)| mark == marker && continues(said, &hang));
                match joins {
                    true => {
                        let more = lines[at + 1][marker.len()..].trim_start().to_string();
                        lines[at + 1] = format!("{marker}{hang}{rest} {more}");
                    }
                    false => lines.insert(at + 1, format!("{marker}{hang}{rest}")),
                }
                lines[at] = kept;
            }
        }
        at += 1;
    }
    lines.join("\n") + "\n"
}

/// The width of what begins an item of a list: `- `, `1. `.
fn bullet(text: &str) -> usize {
    let number = text.split_once(". ").filter(|(number, _)| number.parse::<u32>().is_ok());
    match number {
        Some((number, _)) => number.len() + 2,
        None => 2 * usize::from(["- ", "* "].iter().any(|mark| text.starts_with(mark))),
    }
}

/// Whether a line goes on with the paragraph before it.
fn continues(said: &str, hang: &str) -> bool {
    let text = said.trim_start();
    let indent = &said[..said.len() - text.len()];
    let begins = ["```", "|", "#", "[", ">"].iter().any(|mark| text.starts_with(mark));
    indent == hang && !text.is_empty() && !begins && bullet(text) == 0
}

/// Cuts a line at the last space within the width, not inside of `code`.
fn broken(line: &str, start: usize, width: usize) -> Option<(String, String)> {
    let end = line.char_indices().nth(width + 1).map_or(line.len(), |(at, _)| at);
    let mut spaces = line[..end].match_indices(' ').map(|(at, _)| at).filter(|at| *at > start);
    let cut = spaces.rfind(|at| line[..*at].matches('`').count().is_multiple_of(2))?;
    let (kept, rest) = line.split_at(cut);
    // A mark at the beginning of a line would make it something else.
    let fine = !["- ", "* ", "#", "|", ">"].iter().any(|mark| rest.trim_start().starts_with(mark));
    fine.then(|| (kept.trim_end().to_string(), rest.trim_start().to_string()))
}

#[test]
fn lines_are_broken_where_a_paragraph_goes_on() {
    let text = "/// one two three\n/// four\n///\n/// - five six seven\nfn f() {}\n";
    assert_eq!(
        wrapped(text, 12),
        "/// one two\n/// three\n/// four\n///\n/// - five\n///   six\n///   seven\nfn f() {}\n"
    );
    let drawn = "// ```text\n// a very long drawing\n// ```\n// | a | table |\n";
    assert_eq!(wrapped(drawn, 10), drawn);
}
