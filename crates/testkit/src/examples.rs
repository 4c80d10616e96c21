//! The scenarios of `examples/` as programs.
//!
//! A scenario's threads are explored statement by statement inside their procedures, which a real server cannot be
//! made to do. What it can do is run each thread's own statements in every order: all interleavings of the threads,
//! each thread in a transaction unless it begins one itself. Then whoever was kept waiting commits, and the invariants
//! and final checks are evaluated.
//!
//! Only the sections are read here, by the lines that open them; their meaning is `crates/scenario`'s business.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::program::Program;

/// Every scenario file below a directory of stories, in order.
pub fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for story in fs::read_dir(directory)? {
        let story = story?.path();
        if story.is_dir() {
            files.extend(fs::read_dir(story)?.flatten().map(|entry| entry.path()));
        }
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "sql"));
    // What is there to be proved only has no threads.
    files.retain(|file| fs::read_to_string(file).is_ok_and(|text| text.contains("--@ thread")));
    files.sort();
    Ok(files)
}

/// All interleavings of the threads of a scenario.
pub fn programs(scenario: &str) -> Vec<Program> {
    let mut sections = scenario.split("\n--@ ");
    let setup = sections.next().unwrap_or_default().to_string();
    let (mut threads, mut checks) = (Vec::new(), Vec::new());
    for section in sections {
        let (head, body) = section.split_once('\n').unwrap_or((section, ""));
        let copies = if head.contains(" x2") { 2 } else { 1 };
        match head.split(' ').next() {
            Some("thread") => threads.extend(vec![transaction(head, statements(body)); copies]),
            _ => checks.extend(statements(body)),
        }
    }
    let sessions = threads.len();
    let commits = (0..2 * sessions).map(|index| (index % sessions, "COMMIT".to_string()));
    let end: Vec<(usize, String)> = commits.chain(checks.into_iter().map(|check| (0, check))).collect();
    let finish = |order| Program { setup: vec![setup.clone()], sessions, steps: [order, end.clone()].concat() };
    interleavings(&threads).into_iter().map(finish).collect()
}

fn statements(body: &str) -> Vec<String> {
    let code: Vec<&str> = body.lines().filter(|line| !line.starts_with("--")).collect();
    let code = code.join("\n");
    code.split(';').map(str::trim).filter(|statement| !statement.is_empty()).map(str::to_string).collect()
}

fn transaction(head: &str, body: Vec<String>) -> Vec<String> {
    if body[0] == "BEGIN" {
        return body;
    }
    let level = if head.contains("isolation repeatable read") { " ISOLATION LEVEL REPEATABLE READ" } else { "" };
    [vec![format!("BEGIN{level}")], body, vec!["COMMIT".to_string()]].concat()
}

/// Every order that keeps each thread's own.
fn interleavings(threads: &[Vec<String>]) -> Vec<Vec<(usize, String)>> {
    if threads.iter().all(Vec::is_empty) {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (index, thread) in threads.iter().enumerate().filter(|(_, thread)| !thread.is_empty()) {
        let mut rest = threads.to_vec();
        rest[index].remove(0);
        let first = (index, thread[0].clone());
        all.extend(interleavings(&rest).into_iter().map(|order| [vec![first.clone()], order].concat()));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_transactions_of_three_statements_have_twenty_orders() {
        let scenario = "CREATE TABLE t (id int);\n\n--@ thread a x2\nCALL p();\n\n--@ final f\nSELECT 1;\n";
        let programs = programs(scenario);
        assert_eq!(programs.len(), 20);
        let texts: Vec<&str> = programs[0].steps.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts[..6], ["BEGIN", "CALL p()", "COMMIT", "BEGIN", "CALL p()", "COMMIT"]);
        assert_eq!(texts[6..], ["COMMIT", "COMMIT", "COMMIT", "COMMIT", "SELECT 1"]);
    }
}
