//! A spec as a scenario: every interleaving of its sessions instead of the permutations that somebody thought of.
//!
//! A session becomes a thread: its set-up, its steps in order, its teardown. A step is one query string, and a server
//! runs several statements of one string in one transaction; so they are put between BEGIN and COMMIT if the session
//! has no transaction then, which is told from the BEGINs and COMMITs before. What is printed is not looked at, and
//! permutations and their markers are left out.

use std::sync::Arc;

use isolde_sql::ast::StatementKind;
use isolde_sql::parse::{self, Fragment};
use isolde_sql::{Diagnostic, Span};

use super::{Session, Spec, Sql};
use crate::ScenarioError;
use crate::file::{ClientStatement, ScenarioFile, Sources, ThreadSection};

/// What stands around the statements of one string.
const AROUND: &str = "BEGIN; COMMIT;";

impl Spec {
    /// The scenario that runs the sessions of this spec against each other.
    pub fn scenario(&self) -> Result<ScenarioFile, ScenarioError> {
        let (sources, around) = Sources::of(&self.file, &self.text, "one query string", AROUND);
        self.sections(around)
            .map(|file| ScenarioFile { sources: sources.clone(), ..file })
            .map_err(|d| sources.error(d))
    }

    fn sections(&self, around: u32) -> Result<ScenarioFile, Diagnostic> {
        let [begin, commit] = bracket(around)?;
        let mut setup = Vec::new();
        for sql in &self.setups {
            setup.extend(self.statements(sql)?);
        }
        let mut threads = Vec::new();
        for session in &self.sessions {
            threads.push(self.thread(session, &begin, &commit)?);
        }
        Ok(ScenarioFile { setup, threads, ..ScenarioFile::default() })
    }

    fn thread(
        &self,
        session: &Session,
        begin: &ClientStatement,
        commit: &ClientStatement,
    ) -> Result<ThreadSection, Diagnostic> {
        let steps = self.steps[session.steps.clone()].iter().map(|step| &step.sql);
        let strings = session.setup.iter().chain(steps).chain(&session.teardown);
        let mut body = Vec::new();
        let mut open = false;
        for sql in strings {
            let statements = self.statements(sql)?;
            let controls = statements.iter().any(|statement| ends_or_begins(&statement.ast.kind).is_some());
            let wrapped = statements.len() > 1 && !controls && !open;
            body.extend(wrapped.then(|| begin.clone()));
            for statement in statements {
                open = ends_or_begins(&statement.ast.kind).unwrap_or(open);
                body.push(statement);
            }
            body.extend(wrapped.then(|| commit.clone()));
        }
        let name = Arc::from(session.name.as_str());
        let span = self.steps.get(session.steps.start).map_or(Span::default(), |step| self.block(&step.sql).span);
        if body.is_empty() {
            return Err(Diagnostic::syntax(span, format!("session {name} has no statements")));
        }
        let (expected, accepted) = (Vec::new(), Vec::new());
        Ok(ThreadSection { name, isolation: None, autocommit: false, retries: 0, expected, accepted, body, span })
    }

    fn statements(&self, sql: &Sql) -> Result<Vec<ClientStatement>, Diagnostic> {
        let block = self.block(sql);
        let spans = parse::split(block.text).into_iter();
        spans.map(|span| client_statement(span.of(block.text), span.start + block.span.start)).collect()
    }
}

fn client_statement(text: &str, offset: u32) -> Result<ClientStatement, Diagnostic> {
    let ast = parse::statement(Fragment { text, offset })?;
    Ok(ClientStatement { ast, variables: Vec::new(), places: Vec::new(), data: None, gset: None })
}

/// The two statements of [`AROUND`], which stands at this place.
fn bracket(around: u32) -> Result<[ClientStatement; 2], Diagnostic> {
    let spans = parse::split(AROUND);
    let [begin, commit] = spans.as_slice() else { unreachable!("it holds two statements") };
    let one = |span: &Span| client_statement(span.of(AROUND), around + span.start);
    Ok([one(begin)?, one(commit)?])
}

/// Whether a statement leaves a transaction open, as far as it says anything about that.
fn ends_or_begins(statement: &StatementKind) -> Option<bool> {
    match statement {
        StatementKind::Begin(_) => Some(true),
        StatementKind::Commit { chain } | StatementKind::Rollback { chain } => Some(*chain),
        _ => None,
    }
}
