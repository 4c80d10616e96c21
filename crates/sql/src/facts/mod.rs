//! What is known of a statement without running it, computed once from its tree.
//!
//! Reports, stages and searches ask what kind of statement this is, whether the order of its rows is part of its
//! answer, and what running it may leave behind. The parser knows all of that, so it is a field, and a text is not
//! searched for words again: `'order by'` in a string, `beginning` as a name and `/* app:web */` before an UPDATE mean
//! nothing here.
//!
//! ```text
//!   Statement ──of──▶ Facts { verb, order, effects, tables, functions }
//!   text we cannot parse ──of_text──▶ the same from its lexemes, with too much suspicion rather than too little
//! ```
//!
//! A statement that defines a routine has no effect but the definition; what calling the routine does is
//! [`Facts::of_routine`].

mod effects;
mod order;
mod setting;
mod suspect;
#[cfg(test)]
mod tests;
mod verb;

use std::sync::Arc;

use crate::ast::{QualifiedName, RoutineBody, SessionCommand, Statement, StatementKind};
use crate::parse::{self, Fragment, LexemeKind};

pub use effects::Effects;
pub use order::{Orders, RowOrder};
pub use setting::SettingKind;
pub use verb::Verb;

/// What is known of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// What kind of statement it is.
    pub verb: Verb,
    /// Whether it asks for the order of its rows.
    pub order: RowOrder,
    /// What running it may do besides reading and writing rows.
    pub effects: Effects,
    /// The tables and views that it names, in the order in which they are looked up.
    pub tables: Vec<TableUse>,
    /// The functions and procedures that it names.
    pub functions: Vec<Name>,
    /// The setting that it changes, if it is SET or RESET.
    pub setting: Option<Arc<str>>,
    /// Some query in it has a FROM.
    pub selects_from: bool,
    /// It was parsed; otherwise the rest is a suspicion, and `tables` and `functions` are empty.
    pub understood: bool,
}

/// A table that a statement names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableUse {
    /// Its name.
    pub name: Name,
    /// Its rows are written, or it is changed.
    pub written: bool,
}

/// A name with its schema, if that is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The schema.
    pub schema: Option<Arc<str>>,
    /// The name in it.
    pub name: Arc<str>,
}

impl From<&QualifiedName> for Name {
    fn from(name: &QualifiedName) -> Name {
        Name { schema: name.schema.as_ref().map(|schema| schema.name.clone()), name: name.name.name.clone() }
    }
}

/// The word by which a report calls a statement, of SQL or of PL/pgSQL.
pub fn word(text: &str) -> String {
    let facts = Facts::of_text(text);
    let written = || parse::lexemes(text).find(|lexeme| lexeme.kind == LexemeKind::Word);
    match facts.verb {
        Verb::Other | Verb::Define | Verb::Maintain => written().map_or("STATEMENT".into(), |l| l.text.to_uppercase()),
        verb => verb.word().into(),
    }
}

impl Facts {
    /// The facts of a statement.
    pub fn of(statement: &Statement) -> Facts {
        match &statement.kind {
            // A text that was not parsed.
            StatementKind::Ignored(ignored) if ignored.tag.is_empty() => suspect::statement(&ignored.text),
            kind => {
                let setting = match kind {
                    StatementKind::Set(set) => Some(set.name.name.clone()),
                    StatementKind::Session(SessionCommand::Reset(name)) => name.as_ref().map(|name| name.name.clone()),
                    _ => None,
                };
                Facts { verb: Verb::of(kind), order: RowOrder::of(kind), setting, ..effects::of_statement(kind) }
            }
        }
    }

    /// The facts of one statement, given as text.
    pub fn of_text(text: &str) -> Facts {
        match parse::statement(Fragment { text, offset: 0 }) {
            Ok(statement) => Facts::of(&statement),
            Err(_) => suspect::statement(text),
        }
    }

    /// The facts of each statement of a text.
    pub fn of_script(text: &str) -> Vec<Facts> {
        parse::split(text).into_iter().map(|span| Facts::of_text(span.of(text))).collect()
    }

    /// What calling a routine does.
    pub fn of_routine(body: &RoutineBody) -> Facts {
        effects::of_body(body)
    }

    /// What calling a routine does, given the language and the text of its body.
    pub fn of_body(language: &str, text: &str) -> Facts {
        let fragment = Fragment { text, offset: 0 };
        let parsed = match language {
            "plpgsql" => parse::plpgsql::body(fragment).ok().map(|body| RoutineBody::PlPgSql(Arc::new(body))),
            "sql" => parse::script(text).ok().map(|statements| RoutineBody::Sql(statements.into())),
            _ => return Facts { effects: Effects::any(), ..Facts::default() },
        };
        parsed.map_or_else(|| suspect::body(text), |body| Facts::of_routine(&body))
    }

    /// What calling the routine does that a statement defines; `None` if it defines none.
    pub fn of_defined(statement: &Statement) -> Option<Facts> {
        match &statement.kind {
            StatementKind::CreateRoutine(routine) => Some(Facts::of_routine(&routine.body)),
            StatementKind::Ignored(ignored) if ignored.tag.is_empty() => suspect::defined(&ignored.text),
            _ => None,
        }
    }

    /// Whether a statement defines a routine in PL/pgSQL, understood or not.
    pub fn is_plpgsql(statement: &Statement) -> bool {
        match &statement.kind {
            StatementKind::CreateRoutine(routine) => matches!(routine.body, RoutineBody::PlPgSql(_)),
            StatementKind::Ignored(ignored) => suspect::language(&ignored.text).is_some_and(|name| name == "plpgsql"),
            _ => false,
        }
    }

    /// Whether it names tables, or may: a statement that was not understood does.
    pub fn reaches_rows(&self) -> bool {
        !self.tables.is_empty() || self.effects.queries
    }
}
