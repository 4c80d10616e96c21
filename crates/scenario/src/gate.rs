//! Places inside routines at which others may act, written into their text.
//!
//! On a server a routine runs in one go, unless it waits for a lock. So to schedule its statements one by one, it is
//! made to wait: before every statement that touches tables it passes a gate, a call that whoever schedules knows how
//! to close.
//!
//! ```text
//!   BEGIN                                                   BEGIN
//!     SELECT balance INTO bal FROM account ...;     ──▶       PERFORM pass(); SELECT balance INTO bal FROM account ...;
//!     IF bal >= amount THEN                                   IF bal >= amount THEN
//!       UPDATE account ...;                                     PERFORM pass(); UPDATE account ...;
//! ```
//!
//! A condition that is asked again and again (`WHILE EXISTS (SELECT ...)`, `ELSIF`) passes a gate only the first time.

use isolde_sql::ast::plpgsql::{Body, Stmt, StmtKind};
use isolde_sql::ast::{RoutineBody, Statement, StatementKind};

/// The text of a statement that creates a PL/pgSQL routine or is a DO block, with `call` before every statement in its
/// body that touches tables; and how many there are. `None` for any other statement, or if there are none.
pub fn with_gates(statement: &Statement, source: &str, call: &str) -> Option<(String, usize)> {
    let body: &Body = match &statement.kind {
        StatementKind::Do(body) => body,
        StatementKind::CreateRoutine(routine) => match &routine.body {
            RoutineBody::PlPgSql(body) => body,
            RoutineBody::Sql(_) => return None,
        },
        _ => return None,
    };
    let mut gates = Gates::default();
    body.block.bodies().into_iter().for_each(|statements| gates.all(statements));
    gates.places.sort_unstable();
    gates.places.dedup();
    let text = statement.span.of(source);
    // A quote inside of a quoted body is doubled, and then places in the text are not those in the body.
    let verbatim = body.span.of(source) == &*body.text;
    let places: Vec<usize> =
        gates.places.iter().filter_map(|&at| (at as usize).checked_sub(statement.span.start as usize)).collect();
    if places.is_empty() || !verbatim || places.iter().any(|&at| !text.is_char_boundary(at)) {
        return None;
    }
    let mut out = String::with_capacity(text.len() + places.len() * (call.len() + 1));
    let mut from = 0;
    for &at in &places {
        out.push_str(&text[from..at]);
        out.push_str(call);
        out.push(' ');
        from = at;
    }
    out.push_str(&text[from..]);
    Some((out, places.len()))
}

#[derive(Default)]
struct Gates {
    places: Vec<u32>,
}

impl Gates {
    fn all(&mut self, statements: &[Stmt]) {
        for statement in statements {
            if self.touches_tables(&statement.kind) {
                self.places.push(statement.span.start);
            }
            statement.kind.bodies().into_iter().for_each(|body| self.all(body));
        }
    }

    /// Whether a statement, apart from those inside of it, asks the database for something.
    fn touches_tables(&self, statement: &StmtKind) -> bool {
        match statement {
            StmtKind::Sql(..)
            | StmtKind::Perform(_)
            | StmtKind::Execute { .. }
            | StmtKind::ForQuery { .. }
            | StmtKind::ForCursor { .. }
            | StmtKind::ForExecute { .. }
            | StmtKind::Open { .. }
            | StmtKind::ReturnQuery(_)
            | StmtKind::ReturnExecute { .. } => true,
            other => other.expressions().into_iter().any(|expr| expr.contains_query()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use isolde_sql::parse::{self, Fragment};

    fn gated(text: &str) -> Option<String> {
        let statement = parse::statement(Fragment { text, offset: 0 }).unwrap();
        with_gates(&statement, text, "PERFORM pass();").map(|(text, _)| text)
    }

    #[test]
    fn statements_that_touch_tables_pass_a_gate() {
        let text = "CREATE PROCEDURE p(a int) LANGUAGE plpgsql AS $$ DECLARE b int; BEGIN \
                    SELECT n INTO b FROM t; b := b + 1; IF b > 1 THEN UPDATE t SET n = b; END IF; \
                    IF EXISTS (SELECT 1 FROM t) THEN NULL; END IF; COMMIT; END $$";
        let expected = "CREATE PROCEDURE p(a int) LANGUAGE plpgsql AS $$ DECLARE b int; BEGIN \
                    PERFORM pass(); SELECT n INTO b FROM t; b := b + 1; IF b > 1 THEN PERFORM pass(); UPDATE t SET n = b; END IF; \
                    PERFORM pass(); IF EXISTS (SELECT 1 FROM t) THEN NULL; END IF; PERFORM pass(); COMMIT; END $$";
        assert_eq!(gated(text).as_deref(), Some(expected));
    }

    #[test]
    fn what_has_no_such_place_stays() {
        assert_eq!(gated("DO $$ BEGIN NULL; END $$"), None);
        assert_eq!(gated("SELECT 1"), None);
        assert_eq!(gated("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'"), None);
    }
}
