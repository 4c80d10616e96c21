//! Statements inside routines as scheduling points.
//!
//! A server runs a routine in one go. So in the database of a run, routines are rewritten: before each of its
//! statements that touches tables a routine passes a gate, which is an advisory lock that the control connection holds,
//! and behind it tells what came of it:
//!
//! ```text
//!   BEGIN                                               BEGIN
//!                                                         isolde_ok := isolde.gate(7, ROW(acc::text, ...)::text);
//!     SELECT balance INTO bal                             SELECT balance INTO bal
//!       FROM account WHERE id = acc;           ──▶          FROM account WHERE id = acc;
//!                                                         GET DIAGNOSTICS isolde_n = ROW_COUNT;
//!                                                         isolde_ok := isolde.told(7, isolde_n, ROW(bal::text)::text);
//! ```
//!
//! A session that waits there is at rest, and goes on when the lock is let go. There are two locks per session, used in
//! turn: it waits for the one that is held while the one that it has just passed is free, so it cannot slip through the
//! next gate before that is closed. The gate is told the values of the variables that the statement names, so that it
//! is known which rows it is about. Assignments change neither FOUND nor ROW_COUNT, which is why none of this can be
//! noticed by the routine.
//!
//! A condition that is asked again (`WHILE EXISTS (...)`, `ELSIF`) passes a gate only the first time. A routine that is
//! not understood runs in one step.

use std::sync::Arc;

use isolde_report::Place;
use isolde_scenario::file::Sources;
use isolde_sql::ast::plpgsql::{Block, Body, DeclarationKind, Stmt, StmtKind, Target};
use isolde_sql::ast::{Expr, RoutineBody, Statement, StatementKind};
use isolde_sql::facts::{Facts, Orders, Verb};
use isolde_sql::{Span, bind};
use isolde_wire::Complaint;

use crate::analysis::{literal, replace_names};
use crate::effects::fields;

/// The first half of the keys of the locks that are gates.
pub(crate) const GATES: i32 = 0x1501d0;
/// The same of those that say that somebody waits for a session.
pub(crate) const ALERTS: i32 = 0x1501d1;

/// What a session says that has come to a gate.
pub(crate) const GATE: &str = "isolde-gate ";

/// What routines call. A session that is no thread passes without noticing.
const FUNCTIONS: &str = r#"
CREATE FUNCTION isolde.gate(place int, vals text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE thread int := nullif(current_setting('isolde.thread', true), '')::int; key int;
BEGIN
  IF thread IS NULL THEN RETURN true; END IF;
  key := thread * 2;
  IF pg_try_advisory_lock({gates}, key) THEN
    PERFORM pg_advisory_unlock({gates}, key);
    key := key + 1;
  END IF;
  RAISE INFO USING MESSAGE = 'isolde-gate ' || place || ' ' || key, DETAIL = vals;
  PERFORM pg_advisory_lock({gates}, key);
  PERFORM pg_advisory_unlock({gates}, key);
  {alert}
  RETURN true;
END $$;
CREATE FUNCTION isolde.told(place int, n bigint, vals text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF coalesce(current_setting('isolde.thread', true), '') <> '' THEN
    RAISE INFO USING MESSAGE = 'isolde-told ' || place || ' ' || n, DETAIL = vals;
  END IF;
  RETURN true;
END $$;
CREATE FUNCTION isolde.autocommits() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN current_setting('isolde.autocommit', true) = 'on';
END $$;
"#;

/// Who is waited for looks for deadlocks at once, others do not: see [`crate::sessions`].
const ALERT: &str = "
  IF pg_try_advisory_lock({alerts}, thread) THEN
    PERFORM pg_advisory_unlock({alerts}, thread);
    PERFORM set_config('deadlock_timeout', '1s', false);
  ELSE
    PERFORM set_config('deadlock_timeout', '1ms', false);
  END IF;";

/// What must be defined before routines can be rewritten.
pub(crate) fn functions(alertable: bool) -> String {
    let functions = FUNCTIONS.replace("{alert}", if alertable { ALERT } else { "" });
    functions.replace("{gates}", &GATES.to_string()).replace("{alerts}", &ALERTS.to_string())
}

/// The gates of a database, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gates {
    places: Vec<GatePlace>,
    /// Some routine ends transactions itself.
    pub(crate) controls: bool,
}

/// A statement behind a gate.
#[derive(Clone, Debug)]
pub(crate) struct GatePlace {
    /// As a report shows it.
    pub(crate) shown: Arc<str>,
    pub(crate) span: Span,
    pub(crate) place: Place,
    /// What it asks of the database, variables unresolved.
    sql: String,
    /// The variables that it names.
    names: Vec<String>,
    /// Where its result goes.
    pub(crate) targets: Vec<String>,
    /// It is a loop over rows that it does not order: which row is the first says nothing.
    pub(crate) loops: bool,
    /// It is COMMIT or ROLLBACK.
    pub(crate) ends: bool,
    /// What kind of statement it is.
    pub(crate) verb: Verb,
    /// The word that it begins with.
    pub(crate) word: &'static str,
}

impl GatePlace {
    /// The statement with values in place of the variables: a value and a type for each.
    pub(crate) fn statement(&self, values: &[Option<String>]) -> String {
        let value = |name: &str| {
            let at = self.names.iter().position(|n| n == name)?;
            let ty = values.get(2 * at + 1)?.as_deref()?;
            Some(match values.get(2 * at)? {
                Some(value) => format!("({}::{ty})", literal(value)),
                None => format!("(NULL::{ty})"),
            })
        };
        replace_names(&self.sql, &value)
    }
}

/// What a message of a gate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// A session stands before a gate.
    Gate { place: usize, key: i64, values: Vec<Option<String>> },
    /// A statement is through; -1 is that its transaction was committed.
    Result { place: usize, rows: i64, values: Vec<Option<String>> },
}

/// Reads a message if it is one of a gate.
pub(crate) fn strip(notice: &Complaint) -> Option<Told> {
    let (is_gate, rest) = match notice.message.strip_prefix(GATE) {
        Some(rest) => (true, rest),
        None => (false, notice.message.strip_prefix("isolde-told ")?),
    };
    let (place, number) = rest.split_once(' ')?;
    let (place, number) = (place.parse().ok()?, number.parse().ok()?);
    let values = notice.detail.as_deref().filter(|d| !d.is_empty()).map(fields).unwrap_or_default();
    Some(match is_gate {
        true => Told::Gate { place, key: number, values },
        false => Told::Result { place, rows: number, values },
    })
}

impl Gates {
    /// The statement behind a gate.
    pub(crate) fn place(&self, number: usize) -> Option<&GatePlace> {
        self.places.get(number)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The text of a statement that creates a PL/pgSQL routine, or of a DO block, with gates; `None` if it has none.
    pub(crate) fn rewrite(&mut self, statement: &Statement, sources: &Sources) -> Option<String> {
        let source = sources.text();
        let mut scope: Vec<String> = ["found", "new", "old"].map(String::from).to_vec();
        let (body, procedure): (&Body, bool) = match &statement.kind {
            StatementKind::Do(body) => (body, true),
            StatementKind::CreateRoutine(routine) => match &routine.body {
                RoutineBody::PlPgSql(body) => {
                    scope.extend(routine.params.iter().filter_map(|p| Some(p.name.as_ref()?.name.to_string())));
                    scope.push(routine.name.name.name.to_string());
                    (body, routine.procedure)
                }
                RoutineBody::Sql(_) => return None,
            },
            _ => return None,
        };
        // A quote inside of a quoted body is doubled, and then places in the text are not those in the body.
        if body.span.of(source) != &*body.text {
            return None;
        }
        let first = self.places.len();
        let mut writer =
            Writer { gates: self, sources, source, scope, inserts: Vec::new(), procedure, guarded: 0, begins: false };
        writer.block(&body.block);
        let mut inserts = writer.inserts;
        if self.places.len() == first {
            return None;
        }
        inserts.push(declare(&body.block));
        Some(replaced(statement, source, inserts))
    }
}

/// The text with pieces inserted, as a statement that may replace what is there.
fn replaced(statement: &Statement, source: &str, mut inserts: Vec<(u32, String)>) -> String {
    // Stable: pieces for one place stay in their order.
    inserts.sort_by_key(|(at, _)| *at);
    let mut out = String::new();
    let mut from = statement.span.start;
    for (at, piece) in inserts {
        out.push_str(Span { start: from, end: at }.of(source));
        out.push_str(&piece);
        from = at;
    }
    out.push_str(Span { start: from, end: statement.span.end }.of(source));
    match &statement.kind {
        StatementKind::CreateRoutine(routine) if !routine.or_replace => {
            format!("CREATE OR REPLACE{}", &out["CREATE".len()..])
        }
        _ => out,
    }
}

/// Where our variables are declared, and how.
fn declare(block: &Block) -> (u32, String) {
    const VARIABLES: &str = "isolde_ok boolean; isolde_n bigint; ";
    match (block.declarations.first(), block.declare) {
        (Some(first), _) => (first.name.span.start, VARIABLES.into()),
        (None, Some(_)) => (block.begin.start, VARIABLES.into()),
        (None, None) => (block.begin.start, format!("DECLARE {VARIABLES}")),
    }
}

/// What kind of statement it is apart from those inside of it, and the word that it begins with.
fn kind(statement: &StmtKind) -> (Verb, &'static str) {
    let of = |statement: &Statement| Facts::of(statement).verb;
    match statement {
        StmtKind::Sql(statement, _) | StmtKind::ForQuery { query: statement, .. } => {
            (of(statement), of(statement).word())
        }
        StmtKind::Perform(_) => (Verb::Select, "PERFORM"),
        StmtKind::ReturnQuery(statement) => (of(statement), "RETURN"),
        StmtKind::ReturnExecute { .. } => (Verb::Other, "RETURN"),
        StmtKind::Execute { .. } => (Verb::Other, "EXECUTE"),
        StmtKind::ForExecute { .. } => (Verb::Other, "FOR"),
        StmtKind::ForCursor { .. } => (Verb::Select, "FOR"),
        StmtKind::Open { .. } => (Verb::Select, "OPEN"),
        StmtKind::Return(_) | StmtKind::ReturnNext(_) => (Verb::Select, "RETURN"),
        _ => (Verb::Select, "SELECT"),
    }
}

/// Writes gates into the text of a routine.
struct Writer<'w> {
    gates: &'w mut Gates,
    sources: &'w Sources,
    source: &'w str,
    /// Names of variables in sight.
    scope: Vec<String>,
    inserts: Vec<(u32, String)>,
    procedure: bool,
    /// Blocks around with handlers: none may be left by COMMIT.
    guarded: usize,
    /// The statement before was COMMIT or ROLLBACK.
    begins: bool,
}

impl Writer<'_> {
    fn block(&mut self, block: &Block) {
        let known = self.scope.len();
        self.scope.extend(block.label.iter().map(|label| label.name.to_string()));
        for declaration in &block.declarations {
            if !matches!(declaration.kind, DeclarationKind::Cursor { .. }) {
                self.scope.push(declaration.name.name.to_string());
            }
        }
        self.guarded += usize::from(!block.handlers.is_empty());
        block.bodies().into_iter().for_each(|body| self.all(body));
        self.guarded -= usize::from(!block.handlers.is_empty());
        self.scope.truncate(known);
    }

    fn all(&mut self, statements: &[Stmt]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Stmt) {
        let place = self.sql(&statement.kind).map(|sql| self.gate(statement, sql));
        if let Some(place) = place {
            self.tell(statement, place);
        }
        match &statement.kind {
            StmtKind::Block(block) => self.block(block),
            StmtKind::ForRange { variable, body, .. } => {
                self.scope.push(variable.name.to_string());
                self.all(body);
                self.scope.pop();
            }
            other => other.bodies().into_iter().for_each(|body| self.all(body)),
        }
    }

    /// What a statement, apart from those inside of it, asks of the database.
    fn sql(&self, statement: &StmtKind) -> Option<String> {
        let asks = |expr: &&Expr| expr.contains_query();
        match statement {
            StmtKind::Sql(statement, _) => match &statement.kind {
                StatementKind::Call { .. } => None,
                _ => Some(statement.to_string()),
            },
            StmtKind::Perform(query) => Some(query.to_string()),
            StmtKind::ForQuery { query, .. } | StmtKind::ReturnQuery(query) => Some(query.to_string()),
            StmtKind::Execute { .. }
            | StmtKind::ForCursor { .. }
            | StmtKind::ForExecute { .. }
            | StmtKind::Open { .. }
            | StmtKind::ReturnExecute { .. } => Some("unknown".into()),
            other => other.expressions().into_iter().find(asks).map(|expr| format!("SELECT {expr}")),
        }
    }

    /// Writes a gate before a statement, and returns its number.
    fn gate(&mut self, statement: &Stmt, sql: String) -> usize {
        let number = self.gates.places.len();
        let names = self.names_in(&sql);
        let (file, line) = self.sources.place(statement.span);
        let shown = match &statement.kind {
            StmtKind::If(..) | StmtKind::While(..) | StmtKind::Case { .. } => sql.as_str().into(),
            _ => bind::one_line(first_line(statement, self.source)),
        };
        let (verb, word) = kind(&statement.kind);
        let ends = matches!(verb, Verb::Commit | Verb::Rollback);
        self.gates.controls |= ends;
        let values = match names.as_slice() {
            [] => "''".to_string(),
            names => {
                let pairs = names.iter().map(|name| format!("{name}::text, pg_typeof({name})::text"));
                format!("ROW({})::text", pairs.collect::<Vec<_>>().join(", "))
            }
        };
        // A transaction that keeps its snapshot must take it behind the gate, not before.
        let anew = match self.procedure && self.guarded == 0 {
            true if self.begins => "COMMIT; ",
            true => "IF isolde.autocommits() THEN COMMIT; END IF; ",
            false => "",
        };
        self.begins = ends;
        self.inserts.push((statement.span.start, format!("isolde_ok := isolde.gate({number}, {values}); {anew}")));
        let place = Place { file: file.map(String::from), line };
        let targets = targets(&statement.kind);
        let loops = match &statement.kind {
            StmtKind::ForQuery { query, .. } => !Orders::default().asks(query),
            StmtKind::ForExecute { .. } => true,
            _ => false,
        };
        let span = statement.span;
        self.gates.places.push(GatePlace { shown, span, place, sql, names, targets, loops, ends, verb, word });
        number
    }

    /// The variables that a statement names.
    fn names_in(&self, sql: &str) -> Vec<String> {
        let names = std::cell::RefCell::new(Vec::new());
        replace_names(sql, &|path: &str| {
            let mut parts = path.split('.');
            let first = parts.next()?;
            let known = self.scope.iter().any(|name| name == first);
            let mut names = names.borrow_mut();
            if known && parts.count() < 2 && !names.iter().any(|name| name == path) {
                names.push(path.to_string());
            }
            None
        });
        names.into_inner()
    }

    /// Writes behind a statement what came of it.
    fn tell(&mut self, statement: &Stmt, number: usize) {
        let place = &self.gates.places[number];
        let values = match place.targets.as_slice() {
            [] => "''".to_string(),
            targets => {
                let texts = targets.iter().map(|target| format!("{target}::text"));
                format!("ROW({})::text", texts.collect::<Vec<_>>().join(", "))
            }
        };
        let count =
            format!(" GET DIAGNOSTICS isolde_n = ROW_COUNT; isolde_ok := isolde.told({number}, isolde_n, {values});");
        let one = format!(" isolde_ok := isolde.told({number}, 1, {values});");
        let ends = place.ends;
        match &statement.kind {
            StmtKind::ForQuery { body, .. } | StmtKind::ForExecute { body, .. } => {
                if let Some(first) = body.first() {
                    self.inserts.push((first.span.start, format!("{} ", one.trim_start())));
                }
            }
            StmtKind::Sql(..) | StmtKind::Perform(_) | StmtKind::Execute { .. } if !ends => {
                self.behind(statement, count);
                if self.procedure && self.guarded == 0 {
                    let commit = " IF isolde.autocommits() THEN COMMIT; isolde_ok := isolde.told({}, -1, ''); END IF;";
                    self.behind(statement, commit.replace("{}", &number.to_string()));
                }
            }
            StmtKind::ReturnQuery(_) => self.behind(statement, count),
            StmtKind::Assign(..) => self.behind(statement, one),
            _ => {}
        }
    }

    /// Inserts behind the semicolon of a statement.
    fn behind(&mut self, statement: &Stmt, text: String) {
        let rest = &self.source[statement.span.end as usize..];
        let blank = rest.len() - rest.trim_start().len();
        if rest[blank..].starts_with(';') {
            self.inserts.push((statement.span.end + blank as u32 + 1, text));
        }
    }
}

/// The variables that take the result of a statement.
fn targets(statement: &StmtKind) -> Vec<String> {
    let path = |target: &Target| {
        let parts: Vec<String> = target.path.iter().map(|part| part.name.to_string()).collect();
        target.subscripts.is_empty().then(|| parts.join("."))
    };
    let targets: &[Target] = match statement {
        StmtKind::Sql(_, Some(into)) => &into.targets,
        StmtKind::Execute { into: Some(into), .. } => &into.targets,
        StmtKind::ForQuery { targets, .. } | StmtKind::ForExecute { targets, .. } => targets,
        StmtKind::Assign(target, _) => std::slice::from_ref(target),
        _ => &[],
    };
    targets.iter().filter_map(path).collect()
}

/// A loop is shown by what it loops over.
fn first_line<'s>(statement: &Stmt, source: &'s str) -> &'s str {
    let text = statement.span.of(source);
    match &statement.kind {
        StmtKind::ForQuery { query, .. } => query.span.of(source),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use isolde_scenario::file;

    const FILE: &str = "
CREATE PROCEDURE withdraw(acc int, amount int) LANGUAGE plpgsql AS $$
DECLARE bal int;
BEGIN
  SELECT balance INTO bal FROM account WHERE id = acc;
  IF bal >= amount THEN
    UPDATE account SET balance = bal - amount WHERE id = acc;
  END IF;
END $$;
--@ thread a
CALL withdraw(1, 60);
";

    #[test]
    fn a_routine_passes_gates_and_tells() {
        let file = file::read("f", FILE, &mut file::no_includes).unwrap();
        let mut gates = Gates::default();
        let text = gates.rewrite(&file.setup[0].ast, &file.sources).unwrap();
        let expected = "CREATE OR REPLACE PROCEDURE withdraw(acc int, amount int) LANGUAGE plpgsql AS $$
DECLARE isolde_ok boolean; isolde_n bigint; bal int;
BEGIN
  isolde_ok := isolde.gate(0, ROW(acc::text, pg_typeof(acc)::text)::text); IF isolde.autocommits() THEN COMMIT; END IF; SELECT balance INTO bal FROM account WHERE id = acc; \
GET DIAGNOSTICS isolde_n = ROW_COUNT; isolde_ok := isolde.told(0, isolde_n, ROW(bal::text)::text); \
IF isolde.autocommits() THEN COMMIT; isolde_ok := isolde.told(0, -1, ''); END IF;
  IF bal >= amount THEN
    isolde_ok := isolde.gate(1, ROW(bal::text, pg_typeof(bal)::text, amount::text, pg_typeof(amount)::text, acc::text, \
pg_typeof(acc)::text)::text); IF isolde.autocommits() THEN COMMIT; END IF; UPDATE account SET balance = bal - amount WHERE id = acc; GET DIAGNOSTICS isolde_n = ROW_COUNT; \
isolde_ok := isolde.told(1, isolde_n, ''); IF isolde.autocommits() THEN COMMIT; isolde_ok := isolde.told(1, -1, ''); END IF;
  END IF;
END $$";
        assert_eq!(text, expected);
        let values = ["100", "integer", "60", "integer", "1", "integer"].map(|v| Some(v.to_string()));
        let place = gates.place(1).unwrap();
        assert_eq!(
            place.statement(&values),
            "UPDATE account SET balance = ('100'::integer) - ('60'::integer) WHERE id = ('1'::integer)"
        );
    }
}
