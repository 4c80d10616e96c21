//! Programs in files: SQL, then sections as in a scenario, and `--! procedure rule verdict` lines with what is
//! expected.

#![allow(dead_code, clippy::unwrap_used)]

pub(crate) mod chance;
pub(crate) mod compare;
pub(crate) mod grammar;

use isolde_engine::{Activity, Database, SessionId};
use isolde_prove::{Named, Program};
use isolde_sql::{ast, parse};

/// A program and what is expected of it.
pub(crate) struct Loaded {
    pub(crate) program: Program,
    pub(crate) expected: Vec<(String, String, String)>,
}

/// Reads a program.
pub(crate) fn load(text: &str) -> Loaded {
    try_load(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Reads a program that may be wrong.
pub(crate) fn try_load(text: &str) -> Result<Loaded, String> {
    let mut sections: Vec<(String, usize, usize)> = vec![("setup".into(), 0, 0)];
    let mut expected = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(header) = line.strip_prefix("--@ ") {
            sections.last_mut().unwrap().2 = at;
            sections.push((header.trim().into(), at + line.len(), text.len()));
        }
        if let Some(words) = line.strip_prefix("--! ") {
            let words: Vec<&str> = words.split_whitespace().collect();
            expected.push((words[0].into(), words[1].into(), words[2].into()));
        }
        at += line.len();
    }
    sections.last_mut().unwrap().2 = text.len();
    let mut database = Database::new();
    let session = database.open_session();
    let (mut rules, mut assumptions) = (Vec::new(), Vec::new());
    for (header, from, to) in &sections {
        let statements = || parsed(text, *from, *to);
        match header.split_once(' ') {
            None => statements()?.iter().try_for_each(|statement| run(&mut database, session, statement, text))?,
            Some(("rule" | "invariant", name)) => rules.push((name.to_string(), statements()?[0].clone())),
            Some(("assume", name)) => assumptions.push((name.to_string(), statements()?[0].clone())),
            // What is there for exploring is not proved.
            Some(_) => {}
        }
    }
    let named = |all: &'static [(String, ast::Statement)]| {
        all.iter().map(|(name, statement)| Named { name, statement }).collect()
    };
    // Tests may leak what they name.
    let rules: Vec<Named<'_>> = named(rules.leak());
    let assumptions: Vec<Named<'_>> = named(assumptions.leak());
    let program = Program::new(database, text, &rules, &assumptions).map_err(|d| d.message)?;
    Ok(Loaded { program, expected })
}

fn parsed(text: &str, from: usize, to: usize) -> Result<Vec<ast::Statement>, String> {
    let piece = &text[from..to];
    let statement = |span: isolde_sql::Span| {
        let fragment = parse::Fragment { text: span.of(piece), offset: from as u32 + span.start };
        parse::statement(fragment).map_err(|d| format!("{}: {}", d.message, span.of(piece)))
    };
    parse::split(piece).into_iter().map(statement).collect()
}

/// Runs a statement.
fn run(database: &mut Database, session: SessionId, statement: &ast::Statement, text: &str) -> Result<(), String> {
    let prepared = database.prepare_in(session, statement, text, &[]).map_err(|d| d.message)?;
    let mut reply = database.submit(session, &prepared, &[]);
    while reply.is_none() {
        assert!(!matches!(database.activity(session), Activity::Blocked(_)), "nobody else is there");
        reply = database.step(session).reply;
    }
    reply.unwrap().map(|_| ()).map_err(|error| error.to_string())
}
