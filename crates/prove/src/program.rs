//! What is to be proved: a schema, its procedures, and rules.

use std::collections::BTreeSet;
use std::sync::Arc;

use isolde_engine::{Database, Prepared};
use isolde_sql::ast;
use isolde_sql::catalog::{Catalog, ReturnsDef, RoutineId, TableId};
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
    /// Statements that were not carried out.
    pub gaps: Vec<Gap>,
}

/// A statement of the file that was not carried out, and what that leaves open.
#[derive(Clone, Debug)]
pub struct Gap {
    /// Where it stands.
    pub span: Span,
    /// Its beginning.
    pub statement: String,
    /// Why.
    pub what: String,
    /// The tables of which not everything is known without it.
    pub tables: BTreeSet<TableId>,
    /// It is a routine or a rule that would have had cells of its own.
    pub is_routine: bool,
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
        Ok(Program { rules, assumptions, database, source: source.into(), gaps: Vec::new() })
    }

    /// The same, where not everything in the file could be carried out: a rule or promise that cannot be understood
    /// without that is left out, and is a gap itself.
    pub fn partly(
        database: Database,
        source: &str,
        rules: &[Named<'_>],
        assumptions: &[Named<'_>],
        gaps: Vec<Gap>,
    ) -> Result<Program, Diagnostic> {
        if gaps.is_empty() {
            return Program::new(database, source, rules, assumptions);
        }
        let mut program = Program { database, source: source.into(), rules: Vec::new(), assumptions: Vec::new(), gaps };
        let lost = |span: Span, name: &str, why: Diagnostic| Gap {
            span,
            statement: format!("the rule {name}"),
            what: why.message,
            tables: BTreeSet::new(),
            is_routine: true,
        };
        for named in rules {
            match Rule::bind(&program.database, source, *named) {
                Ok(rule) => program.rules.push(rule),
                Err(why) => program.gaps.push(lost(named.statement.span, named.name, why)),
            }
        }
        for named in assumptions {
            // Without a promise, less is proved.
            program.assumptions.extend(Assumption::bind(program.catalog(), source, *named).ok());
        }
        Ok(program)
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

    /// The first statement that was not carried out and concerns one of these tables.
    pub fn gap(&self, tables: &BTreeSet<TableId>) -> Option<&Gap> {
        self.gaps.iter().find(|gap| !gap.tables.is_disjoint(tables))
    }

    /// What a cell is about, as a name that is another when the answer may be: the file without its routines, the
    /// procedure and all that it may call, and the limits. Where things stand in the file does not matter.
    pub fn content(&self, id: RoutineId, rule: &Rule, limits: &crate::Limits) -> String {
        let mut spans: Vec<(Span, Arc<str>)> =
            self.catalog().routines().map(|(_, def)| (def.span, def.name.clone())).collect();
        spans.sort_by_key(|(span, _)| span.start);
        let (mut rest, mut from) = (String::new(), 0);
        for (span, _) in &spans {
            rest.push_str(self.source.get(from..span.start as usize).unwrap_or_default());
            from = from.max(span.end as usize);
        }
        rest.push_str(self.source.get(from..).unwrap_or_default());
        // A routine that is called is named: one whose name stands nowhere in the others is not.
        let own = self.catalog().routine(id).span;
        let mut reached: Vec<Span> = vec![own];
        let mut at = 0;
        while let Some(span) = reached.get(at).copied() {
            let text = span.of(&self.source);
            let called = spans.iter().filter(|(_, name)| text.contains(&**name)).map(|(span, _)| *span);
            let new: Vec<Span> = called.filter(|span| !reached.contains(span)).collect();
            reached.extend(new);
            at += 1;
        }
        let mut routines: Vec<Arc<str>> = reached.iter().map(|span| bind::one_line(span.of(&self.source))).collect();
        routines.sort();
        let about = (env!("CARGO_PKG_VERSION"), bind::one_line(&rest), routines, &rule.name, format!("{limits:?}"));
        format!("{:032x}", isolde_digest::digest_of(&about))
    }

    /// The line, from 1, at which something stands.
    pub fn line(&self, span: Span) -> usize {
        crate::ir::line_of(&self.source, span.start as usize)
    }
}

impl Gap {
    /// What a statement that was not carried out leaves open: every table that it names. A routine that is not there is
    /// missed by those that call it, and rows do not count. A name counts wherever it stands in the text: rather too
    /// many tables than too few.
    pub fn new(catalog: &Catalog, source: &str, statement: &ast::Statement, why: &Diagnostic) -> Gap {
        let text = statement.span.of(source);
        let words = text.split_whitespace().map(str::to_ascii_uppercase);
        let mut words = words.filter(|word| word != "OR" && word != "REPLACE");
        let verb = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (verb, object) = (verb.0.as_str(), verb.1.as_str());
        let is_routine = verb == "CREATE" && matches!(object, "FUNCTION" | "PROCEDURE");
        let harmless = is_routine
            || matches!(verb, "INSERT" | "COPY" | "SELECT" | "SET" | "COMMENT" | "GRANT" | "REVOKE")
            || verb == "CREATE" && matches!(object, "INDEX" | "VIEW" | "EXTENSION" | "SCHEMA" | "SEQUENCE");
        let named = catalog.tables().filter(|table| !harmless && text.contains(&*table.name));
        let beginning: Vec<&str> = text.split_whitespace().take(6).collect();
        Gap {
            span: statement.span,
            statement: beginning.join(" "),
            what: why.message.clone(),
            tables: named.map(|table| table.id).collect(),
            is_routine,
        }
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
