//! What a thread sends: texts with holes for psql's variables.

use std::collections::BTreeMap;
use std::sync::Arc;

use isolde_report::Place;
use isolde_scenario::file::{ClientStatement, Sources};
use isolde_sql::ast::StatementKind;
use isolde_sql::facts::{Facts, Orders, Verb};
use isolde_sql::{Span, SqlState, bind};
use isolde_wire::Row;

use crate::analysis::literal;

/// A thread of a scenario.
#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) name: String,
    pub(super) statements: Vec<Sent>,
    pub(super) retries: u32,
    /// Errors that are no violation.
    pub(super) expected: Vec<SqlState>,
    /// Each statement of a routine is its own transaction.
    pub(super) autocommit: bool,
}

/// A statement to be sent.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    /// Text, and the variable that follows it; the last one has none.
    pieces: Vec<(String, Option<Arc<str>>)>,
    /// What kind of statement it is.
    pub(super) verb: Verb,
    /// As a report shows it.
    pub(super) shown: Arc<str>,
    pub(super) span: Span,
    pub(super) place: Place,
    /// `\gset`: the prefix of the variables that its columns are stored in.
    pub(super) gset: Option<Arc<str>>,
    /// The order of its rows is part of its result. Rows of a cursor follow the statements before it: see [`Orders`].
    pub(super) ordered: bool,
    /// It runs a routine, statement by statement.
    pub(super) calls: bool,
    /// It is a transaction of its own where none is open, and may as well stand in a block.
    pub(super) wraps: bool,
    /// It reads or writes rows, which is planned before it is done: once is enough.
    pub(super) planned: bool,
}

impl Sent {
    /// A statement of a file.
    pub(super) fn new(statement: &ClientStatement, sources: &Sources) -> Sent {
        let source = sources.text();
        let span = statement.ast.span;
        let mut pieces = Vec::new();
        let mut from = span.start;
        for (place, number) in &statement.places {
            let text = Span { start: from, end: place.start }.of(source);
            let name = statement.variables.get(*number).map(|(name, _)| name.clone());
            pieces.push((text.to_string(), name));
            from = place.end;
        }
        pieces.push((Span { start: from, end: span.end }.of(source).to_string(), None));
        let (file, line) = sources.place(span);
        let shown = bind::one_line(span.of(source));
        let facts = Facts::of(&statement.ast);
        // What is selected from nowhere is computed, by routines if anything is to be noticed.
        let computes = facts.verb == Verb::Select && !facts.selects_from;
        Sent {
            pieces,
            verb: facts.verb,
            ordered: Orders::default().asks(&statement.ast),
            planned: facts.verb.is_planned(),
            wraps: may_stand_in_block(&statement.ast.kind),
            calls: computes || matches!(facts.verb, Verb::Call | Verb::Do),
            shown,
            span,
            place: Place { file: file.map(String::from), line },
            gset: statement.gset.clone(),
        }
    }

    /// The same with another text, without variables.
    pub(super) fn with_text(self, text: String) -> Sent {
        Sent { pieces: vec![(text, None)], ..self }
    }

    /// The text with NULL for every variable: what it may touch is the same.
    pub(super) fn without_variables(&self) -> String {
        let piece = |(text, variable): &(String, Option<Arc<str>>)| {
            format!("{text}{}", if variable.is_some() { "(NULL)" } else { "" })
        };
        self.pieces.iter().map(piece).collect()
    }

    /// The text with the values of variables in it; the name of one that is not set, otherwise.
    pub(super) fn text(&self, variables: &Variables) -> Result<String, Arc<str>> {
        let mut out = String::new();
        for (text, variable) in &self.pieces {
            out.push_str(text);
            if let Some(name) = variable {
                out.push_str(&variables.0.get(name).ok_or_else(|| name.clone())?.literal());
            }
        }
        Ok(out)
    }
}

/// Whether a statement reads or writes rows, or defines something, and a server lets it do so between BEGIN and COMMIT.
fn may_stand_in_block(statement: &StatementKind) -> bool {
    use StatementKind as S;
    matches!(
        statement,
        S::Query(_) | S::Insert(_) | S::Update(_) | S::Delete(_) | S::Merge(_) | S::Truncate(_) | S::Copy(_)
    )
}

/// The variables of a client.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables(BTreeMap<Arc<str>, Variable>);

#[derive(Clone, Debug)]
struct Variable {
    value: Option<String>,
    /// The name of its type.
    ty: Arc<str>,
}

impl Variable {
    fn literal(&self) -> String {
        match &self.value {
            Some(value) => format!("({}::{})", literal(value), self.ty),
            None => format!("(NULL::{})", self.ty),
        }
    }
}

impl Variables {
    /// Stores what `\gset` takes: the only row of a result. The error is psql's, with a code.
    pub(super) fn set(
        &mut self,
        prefix: &str,
        columns: &[String],
        types: &[Arc<str>],
        rows: &[Row],
    ) -> Result<(), (&'static str, &'static str)> {
        let row = match rows {
            [row] => row,
            [] => return Err(("P0002", "no rows returned for \\gset")),
            _ => return Err(("P0003", "more than one row returned for \\gset")),
        };
        for ((name, ty), value) in columns.iter().zip(types).zip(row) {
            let variable = Variable { value: value.clone(), ty: ty.clone() };
            self.0.insert(format!("{prefix}{name}").into(), variable);
        }
        Ok(())
    }
}
