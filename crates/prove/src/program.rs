//! What is to be proved: a schema, its procedures, and rules.

use std::sync::Arc;

use isolde_engine::{Database, Prepared};
use isolde_sql::ast;
use isolde_sql::catalog::{Catalog, ReturnsDef, RoutineId};
use isolde_sql::parse::Lexeme;
use isolde_sql::typed::{Expr, Query, StatementKind, StmtKind};
use isolde_sql::{Diagnostic, Span, SqlState, Type, bind, parse};

/// A file, read: the database that its set-up leaves, and what should hold.
#[derive(Clone, Debug)]
pub struct Program {
    /// The database; only what is defined in it counts, its rows do not.
    pub database: Database,
    /// The text of the file and of those it includes.
    pub source: Arc<str>,
    /// The rules.
    pub rules: Vec<Rule>,
    /// What callers promise about arguments.
    pub assumptions: Vec<Assumption>,
}

/// A rule: a query of which every row must be true.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name.
    pub name: Arc<str>,
    /// The query.
    pub query: Arc<Query>,
    /// As written.
    pub ast: Arc<ast::Statement>,
    /// The same, ready to run.
    pub prepared: Arc<Prepared>,
    /// Its text, on one line.
    pub text: Arc<str>,
    /// Where it stands.
    pub span: Span,
}

/// A promise about the arguments of a procedure.
#[derive(Clone, Debug)]
pub struct Assumption {
    /// The procedure.
    pub procedure: Arc<str>,
    /// What callers see to: a condition over its parameters, by position.
    pub condition: Expr,
    /// Its text, on one line.
    pub text: Arc<str>,
}

/// A query that a file gives a name.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Its name.
    pub name: &'a str,
    /// The statement.
    pub statement: &'a ast::Statement,
}

impl Program {
    /// Binds rules and assumptions to a database.
    pub fn new(
        database: Database,
        source: &str,
        rules: &[Named<'_>],
        assumptions: &[Named<'_>],
    ) -> Result<Program, Diagnostic> {
        let rules = rules.iter().map(|named| Rule::bind(&database, source, *named)).collect::<Result<_, _>>()?;
        let assumptions = assumptions.iter().map(|named| Assumption::bind(database.catalog(), source, *named));
        let assumptions = assumptions.collect::<Result<_, _>>()?;
        Ok(Program { rules, assumptions, database, source: source.into() })
    }

    /// What is defined.
    pub fn catalog(&self) -> &Catalog {
        self.database.catalog()
    }

    /// The routines that a client can run, in the order in which they are defined.
    pub fn procedures(&self) -> Vec<RoutineId> {
        let own = self.catalog().routines().filter(|(_, def)| !matches!(def.returns, ReturnsDef::Trigger));
        own.map(|(id, _)| id).collect()
    }

    /// The line, from 1, at which something stands.
    pub fn line(&self, span: Span) -> usize {
        crate::ir::line_of(&self.source, span.start as usize)
    }
}

impl Rule {
    fn bind(database: &Database, source: &str, named: Named<'_>) -> Result<Rule, Diagnostic> {
        let span = named.statement.span;
        let prepared = database.prepare(named.statement, source, &[])?;
        match &prepared.statement.kind {
            StatementKind::Query(query) if query.columns.len() == 1 && query.columns[0].ty == Type::Bool => Ok(Rule {
                name: named.name.into(),
                query: Arc::new(written_out(query)),
                ast: Arc::new(named.statement.clone()),
                text: bind::one_line(span.of(source)),
                span,
                prepared: prepared.clone(),
            }),
            _ => {
                let message = format!("{} is not a yes-or-no query", named.name);
                let error = Diagnostic::new(span, SqlState::DATATYPE_MISMATCH, message);
                Err(error.hint("write a SELECT with one column of type boolean; every row it returns must be true"))
            }
        }
    }
}

impl Assumption {
    /// `--@ assume PROCEDURE` and `SELECT condition`: bound as if it stood in the procedure, whose parameters it names.
    fn bind(catalog: &Catalog, source: &str, named: Named<'_>) -> Result<Assumption, Diagnostic> {
        let span = named.statement.span;
        let Some((_, def)) = catalog.routines_by_name(named.name).next() else {
            let message = format!("there is no procedure {}", named.name);
            return Err(Diagnostic::new(span, SqlState::UNDEFINED_FUNCTION, message));
        };
        let text = bind::one_line(span.of(source));
        let hint = "write SELECT and a condition over the parameters, such as: SELECT amount > 0";
        let wrong =
            || Diagnostic::syntax(span, format!("the assumption about {} is not a condition", named.name)).hint(hint);
        let condition = strip(&text).ok_or_else(wrong)?;
        let body = format!("CREATE FUNCTION f() RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RETURN {condition}; END$$");
        let script = parse::script(&body).map_err(|_| wrong())?;
        let Some(ast::StatementKind::CreateRoutine(create)) = script.into_iter().next().map(|s| s.kind) else {
            return Err(wrong());
        };
        let mut probe = (**def).clone();
        probe.body = create.body;
        probe.returns = ReturnsDef::Value(Type::Bool);
        probe.procedure = false;
        let routine = bind::routine(catalog, &probe).map_err(|d| Diagnostic { span, ..d })?;
        let value = routine.body.iter().find_map(|stmt| match &stmt.kind {
            StmtKind::Return(Some(value)) => Some(value.clone()),
            _ => None,
        });
        let condition = value.filter(Expr::is_local).ok_or_else(wrong)?;
        Ok(Assumption { procedure: named.name.into(), condition, text: strip(&text).ok_or_else(wrong)?.into() })
    }
}

/// A rule without WITH.
fn written_out(query: &Query) -> Query {
    let mut query = query.clone();
    crate::ir::inlined(&mut query);
    query
}

fn strip(text: &str) -> Option<&str> {
    let first = parse::lexemes(text).find(Lexeme::counts).filter(|first| first.is("SELECT"))?;
    Some(text[first.start + first.text.len()..].trim().trim_end_matches(';'))
}
