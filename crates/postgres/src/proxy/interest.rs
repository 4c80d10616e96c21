//! Which statements are worth a scheduling point.
//!
//! Drivers and frameworks say much that no other session can notice: settings, questions about the catalog, the BEGIN before
//! the first statement, the ROLLBACK after a failed one. Each would be a step with which nothing is dependent. They are
//! passed on at once, as part of the step before. Where there is doubt a statement is held: that costs a step and loses nothing.

use super::speech::tokens;

/// What a session is in when it is about to send something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// A transaction is open.
    pub open: bool,
    /// It has failed already, and with that has let go of everything.
    pub failed: bool,
    /// It has done something that others could notice.
    pub noticed: bool,
    /// Each of its statements has a snapshot of its own.
    pub read_committed: bool,
}

/// Whether others could notice that this text is executed, or it could notice what others do.
pub fn is_noticeable(text: &str, context: Context) -> bool {
    statements(text).iter().any(|words| is_one_noticeable(words, context))
}

fn is_one_noticeable(words: &[String], context: Context) -> bool {
    let second = words.get(1).map_or("", String::as_str);
    match words.first().map_or("", String::as_str) {
        "" | "SET" | "RESET" | "SHOW" | "BEGIN" | "START" | "SAVEPOINT" | "LISTEN" | "UNLISTEN" | "DISCARD"
        | "DEALLOCATE" | "CLOSE" => false,
        "PREPARE" => second == "TRANSACTION",
        "COMMIT" | "ROLLBACK" if second == "PREPARED" => true,
        "COMMIT" | "END" | "ROLLBACK" | "ABORT" => context.open && !context.failed && context.noticed,
        "RELEASE" => false,
        // A transaction of REPEATABLE READ takes its snapshot with the first query, whatever that asks for.
        "SELECT" | "VALUES" | "EXPLAIN" if context.open && !context.read_committed => true,
        "SELECT" => !asks_nobody(words),
        "VALUES" => false,
        "EXPLAIN" => words.iter().any(|word| word == "ANALYZE"),
        _ => true,
    }
}

/// Functions about the session itself.
const HARMLESS: &[&str] = &[
    "VERSION",
    "CURRENT_SCHEMA",
    "CURRENT_SCHEMAS",
    "CURRENT_DATABASE",
    "CURRENT_SETTING",
    "SET_CONFIG",
    "NOW",
    "PG_BACKEND_PID",
    "PG_IS_IN_RECOVERY",
    "TO_REGTYPE",
    "TO_REGCLASS",
    "FORMAT_TYPE",
    "OBJ_DESCRIPTION",
    "COL_DESCRIPTION",
    "COALESCE",
    "CAST",
    "ARRAY",
    "ARRAY_AGG",
    "STRING_AGG",
    "COUNT",
    "MIN",
    "MAX",
    "UNNEST",
    "LOWER",
    "UPPER",
    "EXISTS",
    "ANY",
    "IN",
    "NOT",
    "AND",
    "OR",
    "ON",
    "USING",
    "WHEN",
    "THEN",
    "SELECT",
    "WHERE",
    "FROM",
    "JOIN",
    "AS",
    "VALUES",
    "EXTRACT",
    "CLOCK_TIMESTAMP",
];

/// Whether a query asks only the catalog or nobody: no table of the user's behind FROM, no function that could do anything.
fn asks_nobody(words: &[String]) -> bool {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    (0..words.len()).all(|at| match word(at) {
        "INTO" | "FOR" => false,
        "FROM" | "JOIN" | "LATERAL" | "ONLY" => is_of_catalog(word(at + 1)),
        "," if is_in_from(&words[..at]) => is_of_catalog(word(at + 1)),
        name => word(at + 1) != "(" || !is_name(name) || is_harmless(name),
    })
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn is_harmless(function: &str) -> bool {
    HARMLESS.contains(&function) || ["PG_GET_", "PG_ENCODING"].iter().any(|family| function.starts_with(family))
}

fn is_of_catalog(table: &str) -> bool {
    ["PG_", "INFORMATION_SCHEMA"].iter().any(|schema| table.starts_with(schema))
        || ["(", "LATERAL", "ONLY"].contains(&table)
        || is_harmless(table)
}

/// Whether the last clause that was begun is FROM.
fn is_in_from(words: &[String]) -> bool {
    let clauses = ["SELECT", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "ON", "LIMIT", "("];
    words.iter().rev().find(|word| clauses.contains(&&***word)).is_some_and(|word| word == "FROM")
}

/// The words of each statement in a text, in capitals, without comments and white space; strings are `'`.
fn statements(text: &str) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    for token in tokens(text) {
        let word = match token.chars().next() {
            Some(c) if c.is_whitespace() => continue,
            _ if token.starts_with("--") || token.starts_with("/*") => continue,
            Some('\'') => "'".to_string(),
            Some('"') => token.trim_matches('"').to_uppercase(),
            _ => token.to_uppercase(),
        };
        match &*word {
            ";" => all.push(Vec::new()),
            _ => all.last_mut().expect("there is always one").push(word),
        }
    }
    all
}

/// Whether a text listens for notifications: its session belongs to nobody's request.
pub(super) fn is_listening(text: &str) -> bool {
    statements(text).iter().any(|words| words.first().is_some_and(|word| word == "LISTEN"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drivers_say_by_themselves_passes() {
        let quiet = [
            "",
            ";",
            "-- hello",
            "SET client_encoding TO 'UTF8'",
            "SHOW server_version",
            "BEGIN",
            "START TRANSACTION READ ONLY",
            "SELECT 1",
            "select version()",
            "SELECT pg_catalog.set_config('search_path', '', false)",
            "SELECT NULL AS a",
            "SELECT t.oid FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE typname = 'hstore'",
            "SELECT c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace",
            "ROLLBACK",
            "COMMIT",
            "LISTEN jobs",
            "DISCARD ALL",
            "SELECT * FROM information_schema.tables",
        ];
        for text in quiet {
            assert!(!is_noticeable(text, Context::default()), "{text}");
        }
    }

    #[test]
    fn what_touches_data_is_held() {
        let loud = [
            "SELECT * FROM seats",
            "SELECT nextval('s')",
            "SELECT pg_advisory_lock(1)",
            "SELECT buy(1)",
            "UPDATE seats SET n = 1",
            "WITH x AS (SELECT 1) SELECT * FROM x",
            "SELECT 1; DELETE FROM t",
            "SELECT c.oid FROM pg_class c, orders o",
            "SELECT (SELECT max(n) FROM seats)",
            "TRUNCATE t",
            "CALL p()",
            "NOTIFY x",
            "SELECT * FROM (SELECT * FROM seats) s",
            "LOCK TABLE t",
            "COPY t FROM STDIN",
            "FETCH 10 FROM c",
            "SELECT 1 FROM \"User\"",
        ];
        for text in loud {
            assert!(is_noticeable(text, Context::default()), "{text}");
        }
    }

    #[test]
    fn the_end_of_a_transaction_counts_if_it_did_something() {
        let open = Context { open: true, ..Context::default() };
        assert!(!is_noticeable("COMMIT", open));
        assert!(is_noticeable("COMMIT", Context { noticed: true, ..open }));
        assert!(!is_noticeable("ROLLBACK", Context { noticed: true, failed: true, ..open }));
        assert!(is_noticeable("SELECT 1", open));
        assert!(!is_noticeable("SELECT 1", Context { read_committed: true, ..open }));
    }
}
