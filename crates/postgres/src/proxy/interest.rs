//! Which statements are worth a scheduling point.
//!
//! Drivers and frameworks say much that no other session can notice: settings, questions about the catalog, the BEGIN
//! before the first statement, the ROLLBACK after a failed one. Each would be a step with which nothing is dependent.
//! They are passed on at once, as part of the step before. Our parser decides what a statement names; one that it does
//! not understand is held: that costs a step and loses nothing.

use isolde_sql::facts::{Facts, Name, Verb};
use isolde_sql::parse::{Lexeme, lexemes};

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
    Facts::of_script(text).iter().any(|facts| is_one_noticeable(facts, context) || names_public(facts, text))
}

/// Whether something is named in the schema `public`, which may have a `version()` and a `pg_class` of its own. The
/// parser drops that name, because there it is where names are found anyway.
fn names_public(facts: &Facts, text: &str) -> bool {
    let names = !facts.tables.is_empty() || !facts.functions.is_empty();
    let lexemes: Vec<Lexeme<'_>> = if names { lexemes(text).filter(Lexeme::counts).collect() } else { Vec::new() };
    lexemes.windows(2).any(|pair| pair[1].text == "." && pair[0].folded().is_some_and(|name| name == "public"))
}

fn is_one_noticeable(facts: &Facts, context: Context) -> bool {
    use Verb::*;
    match facts.verb {
        // SET CONSTRAINTS looks at rows.
        Set => facts.effects.queries,
        Show | Begin | SetTransaction | Savepoint | Release | Listen | Unlisten | Discard | Deallocate | Close => false,
        Prepare => false,
        Commit | Rollback | RollbackTo => context.open && !context.failed && context.noticed,
        // A transaction of REPEATABLE READ takes its snapshot with the first query, whatever that asks for.
        Select if context.open && !context.read_committed => true,
        Select => !asks_nobody(facts),
        _ => true,
    }
}

/// What can be done with a text that is sent outside of a transaction, to make its commit a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lone {
    /// It only reads: its commit matters if its transaction keeps a snapshot.
    Reads,
    /// A transaction can be put around it.
    Writes,
    /// It may not stand in a transaction, or would mean something else there.
    Apart,
}

impl Lone {
    /// What can be done with both together.
    pub(super) fn and(self, other: Lone) -> Lone {
        match (self, other) {
            (Lone::Apart, _) | (_, Lone::Apart) => Lone::Apart,
            (Lone::Reads, Lone::Reads) => Lone::Reads,
            _ => Lone::Writes,
        }
    }
}

/// What can be done with a text that is sent outside of a transaction. Only what a server surely executes there as it
/// does alone is put into one: several statements of one text are one transaction anyway.
pub(super) fn lone(text: &str) -> Lone {
    use Verb::*;
    let one = |facts: &Facts| match facts.verb {
        Select if is_plain(facts) => Lone::Reads,
        Select | Insert | Update | Delete | Merge | Truncate | Copy => Lone::Writes,
        _ => Lone::Apart,
    };
    Facts::of_script(text).iter().map(one).reduce(Lone::and).unwrap_or(Lone::Reads)
}

/// Whether a query surely only reads.
fn is_plain(facts: &Facts) -> bool {
    facts.understood
        && facts.effects.locks_rows.is_none()
        && facts.tables.iter().all(|used| !used.written)
        && facts.functions.iter().all(is_harmless)
}

/// Functions about the session or the catalog, and some that only compute.
const HARMLESS: &[&str] = &[
    "any_value",
    "array_agg",
    "array_length",
    "array_position",
    "array_to_string",
    "array_upper",
    "btrim",
    "clock_timestamp",
    "coalesce",
    "col_description",
    "concat",
    "count",
    "current_catalog",
    "current_database",
    "current_date",
    "current_role",
    "current_schema",
    "current_schemas",
    "current_setting",
    "current_time",
    "current_timestamp",
    "current_user",
    "date_part",
    "extract",
    "format",
    "format_type",
    "generate_series",
    "generate_subscripts",
    "greatest",
    "json_agg",
    "json_build_object",
    "jsonb_agg",
    "jsonb_build_object",
    "least",
    "length",
    "localtime",
    "localtimestamp",
    "lower",
    "max",
    "min",
    "now",
    "nullif",
    "obj_description",
    "pg_backend_pid",
    "pg_encoding_to_char",
    "pg_function_is_visible",
    "pg_get_constraintdef",
    "pg_get_expr",
    "pg_get_function_arguments",
    "pg_get_function_identity_arguments",
    "pg_get_function_result",
    "pg_get_functiondef",
    "pg_get_indexdef",
    "pg_get_keywords",
    "pg_get_ruledef",
    "pg_get_serial_sequence",
    "pg_get_triggerdef",
    "pg_get_userbyid",
    "pg_get_viewdef",
    "pg_is_in_recovery",
    "pg_table_is_visible",
    "pg_type_is_visible",
    "position",
    "quote_ident",
    "replace",
    "row_number",
    "session_user",
    "set_config",
    "shobj_description",
    "split_part",
    "string_agg",
    "substring",
    "to_regclass",
    "to_regtype",
    "unnest",
    "upper",
    "version",
];

/// The tables and views that describe a database. Those that tell what sessions do (`pg_locks`, `pg_stat_activity`) are
/// not here.
const CATALOG: &[&str] = &[
    "pg_aggregate",
    "pg_am",
    "pg_amop",
    "pg_amproc",
    "pg_attrdef",
    "pg_attribute",
    "pg_auth_members",
    "pg_authid",
    "pg_available_extensions",
    "pg_cast",
    "pg_class",
    "pg_collation",
    "pg_constraint",
    "pg_conversion",
    "pg_database",
    "pg_default_acl",
    "pg_depend",
    "pg_description",
    "pg_enum",
    "pg_event_trigger",
    "pg_extension",
    "pg_foreign_data_wrapper",
    "pg_foreign_server",
    "pg_foreign_table",
    "pg_group",
    "pg_index",
    "pg_indexes",
    "pg_inherits",
    "pg_language",
    "pg_matviews",
    "pg_namespace",
    "pg_opclass",
    "pg_operator",
    "pg_opfamily",
    "pg_partitioned_table",
    "pg_policies",
    "pg_policy",
    "pg_proc",
    "pg_range",
    "pg_rewrite",
    "pg_roles",
    "pg_rules",
    "pg_sequence",
    "pg_settings",
    "pg_shdepend",
    "pg_shdescription",
    "pg_statistic_ext",
    "pg_tables",
    "pg_tablespace",
    "pg_timezone_abbrevs",
    "pg_timezone_names",
    "pg_trigger",
    "pg_ts_config",
    "pg_ts_dict",
    "pg_ts_parser",
    "pg_ts_template",
    "pg_type",
    "pg_user",
    "pg_views",
];

/// Whether a query asks only the catalog or nobody: no table of the user's, no lock, no function that could do
/// anything.
fn asks_nobody(facts: &Facts) -> bool {
    facts.understood
        && facts.effects.locks_rows.is_none()
        && facts.tables.iter().all(|used| !used.written && is_of_catalog(&used.name))
        && facts.functions.iter().all(is_harmless)
}

/// The server looks into its own schema first, unless another one is named.
fn is_harmless(function: &Name) -> bool {
    let own = function.schema.as_deref().is_none_or(|schema| schema == "pg_catalog");
    own && HARMLESS.contains(&&*function.name)
}

fn is_of_catalog(table: &Name) -> bool {
    match table.schema.as_deref() {
        Some("information_schema") => true,
        None | Some("pg_catalog") => CATALOG.contains(&&*table.name),
        Some(_) => false,
    }
}

/// Whether a text listens for notifications: its session belongs to nobody's request.
pub(super) fn is_listening(text: &str) -> bool {
    Facts::of_script(text).iter().any(|facts| facts.verb == Verb::Listen)
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
            "SET NAMES 'utf8'",
            "WITH x AS (SELECT 1) SELECT * FROM x",
            "/* pool */ SELECT 'FROM seats'",
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
            "WITH x AS (DELETE FROM seats RETURNING n) SELECT n FROM x",
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
            "VALUES ((SELECT v FROM t))",
            "TABLE t",
            "SELECT (TABLE t)",
            "SELECT EXISTS (TABLE t LIMIT 1 OFFSET 0) AND (SELECT v FROM t) = 0",
            "SELECT v FROM (t CROSS JOIN pg_namespace) LIMIT 1",
            "SELECT v FROM version",
            "SELECT v FROM pg_mine",
            "SELECT mine.version()",
            "SELECT * FROM public.pg_class",
            "SELECT relname FROM pg_class FOR UPDATE",
            "SELECT pid FROM pg_locks",
            "SET CONSTRAINTS ALL IMMEDIATE",
            "EXPLAIN ANALYZE SELECT * FROM seats",
            "what is this",
        ];
        for text in loud {
            assert!(is_noticeable(text, Context::default()), "{text}");
        }
    }

    #[test]
    fn transactions_are_put_around_what_writes_rows() {
        let cases = [
            ("SELECT n FROM seats", Lone::Reads),
            ("SELECT 1; SELECT count(*) FROM seats", Lone::Reads),
            ("SELECT n FROM seats FOR UPDATE", Lone::Writes),
            ("SELECT buy(1)", Lone::Writes),
            ("WITH x AS (DELETE FROM seats RETURNING n) SELECT n FROM x", Lone::Writes),
            ("INSERT INTO seats SELECT 1 WHERE NOT EXISTS (SELECT FROM seats)", Lone::Writes),
            ("UPDATE seats SET n = 1; UPDATE seats SET n = 2", Lone::Writes),
            ("UPDATE seats SET n = 1; COMMIT", Lone::Apart),
            ("BEGIN; UPDATE seats SET n = 1", Lone::Apart),
            ("CALL p()", Lone::Apart),
            ("DO $$ BEGIN COMMIT; END $$", Lone::Apart),
            ("VACUUM seats", Lone::Apart),
            ("CREATE INDEX CONCURRENTLY i ON seats (n)", Lone::Apart),
            ("CREATE DATABASE other", Lone::Apart),
            ("LOCK TABLE seats", Lone::Apart),
            ("DECLARE c CURSOR FOR SELECT 1", Lone::Apart),
            ("EXECUTE it", Lone::Apart),
            ("a function call", Lone::Apart),
        ];
        for (text, expected) in cases {
            assert_eq!(lone(text), expected, "{text}");
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
