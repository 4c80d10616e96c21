//! What PostgreSQL has and the embedded engine does not, by name: one list.
//!
//! Whoever refuses something takes its words from here, and there is no other way to say "not supported by the embedded
//! engine". So the list in the reference, which a test writes from this one, is all of it. To refuse something new: a
//! line here.

use std::borrow::Cow;
use std::fmt;

/// Something that is refused. Where its words have a `{}`, they go on with what was [written](Construct::of).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Construct(&'static str);

/// A construct as it was written, ready to be complained about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(Cow<'static, str>);

macro_rules! constructs {
    ($($name:ident = $words:literal;)*) => {
        #[allow(missing_docs)]
        impl Construct {
            $(pub const $name: Construct = Construct($words);)*
        }

        /// Every construct that is refused by name, in the order of their words.
        pub const CONSTRUCTS: &[Construct] = &[$(Construct::$name),*];
    };
}

constructs! {
    FIELDS_OF_ROW = "(row).*";
    NUMBER_TEMPLATE = "\"{}\" in the template of a number";
    BACK_REFERENCE_IN_A_REGULAR_EXPRESSION = "a back reference in a regular expression";
    BASE_TYPE = "a base type";
    BINARY_CURSOR = "a BINARY cursor";
    BIT_STRING_LITERAL = "a bit string literal";
    COLLATING_ELEMENT_IN_A_REGULAR_EXPRESSION = "a collating element in a regular expression";
    COLUMN_DEFINITION_LIST = "a column definition list";
    MOMENT = "a date or time such as {}";
    DEFINITION_INSIDE_CREATE_SCHEMA = "a definition inside CREATE SCHEMA";
    FIELD_OF_INFINITY = "a field of an infinite {}";
    JOIN_IN_AN_EXPRESSION = "a join in an expression";
    NAMED_ARGUMENT_HERE = "a named argument here";
    COMPILER_OPTION = "a PL/pgSQL compiler option";
    QUALIFIED_NAME_IN_FOR_OF = "a qualified name in FOR ... OF";
    OTHER_DATABASE = "a reference to another database";
    ROUTINE_IN_AN_ARGUMENT_OF_EXECUTE = "a routine in an argument of EXECUTE";
    ROUTINE_IN_C = "a routine in C";
    ROUTINE_OF_CHANGED_DEFINITIONS = "a routine whose code depends on definitions that have changed while it runs";
    ROW_BEFORE_ANY = "a row and {} before ANY or ALL";
    SERIAL_COLUMN = "a serial column";
    SET_FUNCTION_IN_PLPGSQL = "a set-returning function in an expression of PL/pgSQL";
    SET_FUNCTION_INSIDE_ANOTHER = "a set-returning function inside another";
    SET_FUNCTION_OUTSIDE_FROM = "a set-returning function outside FROM";
    SLICE_OF_JSONB = "a slice of jsonb";
    UNFORESEEN_TABLE_LOCK = "a table lock that was not foreseen while another session has an open transaction";
    TRIGGER_FUNCTION_IN_SQL = "a trigger function in SQL";
    ROUTINE_IN_CHANGE_OF_TABLE = "a user's function in a change of a table's rows";
    VARIABLE_AS_AN_IDENTIFIER = "a variable as an identifier";
    VIRTUAL_GENERATED_COLUMN = "a VIRTUAL generated column";
    WINDOW_FUNCTION = "a window function";
    ACCESS_METHOD = "access method {}";
    ALTER_TYPE_AFTER_RENAME = "ALTER COLUMN ... TYPE of a column whose constraints name it as it was before a RENAME";
    ALTER_COLUMN = "ALTER COLUMN ... {}";
    ALTER_INDEX_ATTACH_PARTITION = "ALTER INDEX ... ATTACH PARTITION";
    ALTER_INDEX_ALL_IN_TABLESPACE = "ALTER INDEX ALL IN TABLESPACE";
    ALTER_MATERIALIZED_VIEW_ALL_IN_TABLESPACE = "ALTER MATERIALIZED VIEW ALL IN TABLESPACE";
    ALTER_SCHEMA_RENAME = "ALTER SCHEMA ... RENAME";
    ALTER_TABLE = "ALTER TABLE ... {}";
    ALTER_TABLE_ALL_IN_TABLESPACE = "ALTER TABLE ALL IN TABLESPACE";
    ALTER_VIEW_ALTER_COLUMN = "ALTER VIEW ... ALTER COLUMN";
    ALIAS_FOR_A_JOIN = "an alias for a join";
    ALIAS_FOR_A_QUALIFIED_NAME = "an alias for a qualified name";
    ARRAY = "an array";
    EVENT_TRIGGER_FUNCTION = "an event trigger function";
    UNICODE_IDENTIFIER = "an identifier with Unicode escapes";
    INDEX_OVER_ROUTINE = "an index that calls a user's function";
    INTERVAL_QUALIFIER = "an interval qualifier";
    INTERVAL_QUALIFIER_HERE = "an interval qualifier here";
    ASSIGNING_TO_A_FIELD_OF_A_COLUMN = "assigning to a field of a column";
    ASSIGNING_TO_A_PART_OF_A_COLUMN = "assigning to a part of a column";
    ASSIGNMENT_TO_A_SLICE_OF_SEVERAL_DIMENSIONS = "assignment to a slice of several dimensions";
    CALL_WITH_STAR = "CALL f(*)";
    CALL_OF_A_BUILTIN_FUNCTION = "CALL of a builtin function";
    CLASHING_DEFINITIONS = "changing a definition that another open transaction has changed";
    COLLATE = "COLLATE";
    COLLATION = "collation \"{}\"";
    COMPARING_ROWS_WITHOUT_FIELDS = "comparing rows without fields";
    COPY_TO = "COPY ... TO";
    COPY_WHERE = "COPY ... WHERE";
    COPY_BINARY = "COPY BINARY";
    COPY_FROM_A_FILE = "COPY from a file";
    COPY_OF_A_QUERY = "COPY of a query";
    COPY_OPTION = "COPY with option {}";
    CREATE_CONSTRAINT_TRIGGER_FROM = "CREATE CONSTRAINT TRIGGER ... FROM";
    REPLACE_VIEW_AFTER_RENAME = "CREATE OR REPLACE VIEW under a view that names what was renamed since";
    CREATE_RECURSIVE_VIEW = "CREATE RECURSIVE VIEW";
    CREATE_TABLE_OF_TYPE = "CREATE TABLE ... OF type";
    CREATE_TABLE_AS_EXECUTE = "CREATE TABLE AS EXECUTE";
    CREATE_TYPE_AS_RANGE = "CREATE TYPE ... AS RANGE";
    CYCLE = "CYCLE";
    DATE_STYLE = "DateStyle {}";
    DISTINCT_IN_CALL = "DISTINCT in CALL";
    DO_LANGUAGE = "DO LANGUAGE {}";
    DROP_TYPE_IN_USE = "DROP TYPE ... CASCADE of a type in use";
    EXCLUDE = "EXCLUDE";
    EXECUTE_WITH_NAMED_ARGUMENTS = "EXECUTE with named arguments";
    FILTER_HERE = "FILTER here";
    FOR_PORTION_OF = "FOR PORTION OF";
    LOCKING_WITH_FROM_OUTSIDE = "FOR UPDATE or SHARE in a subquery that reads a WITH query from further out";
    GENERATE_SERIES_OVER_THESE_TYPES = "generate_series over these types";
    DIAGNOSTICS_ITEM = "GET DIAGNOSTICS {}";
    IGNORE_NULLS = "IGNORE NULLS";
    IN_HERE = "IN here";
    INHERITS = "INHERITS";
    IS_DISTINCT_FROM_HERE = "IS DISTINCT FROM here";
    IS_DOCUMENT = "IS DOCUMENT";
    JOIN_USING_ALIAS = "JOIN ... USING (...) AS alias";
    JSON_OF_UNKNOWN_FIELDS = "JSON of a record whose fields are not known";
    LANGUAGE = "LANGUAGE {}";
    LIKE_CONSTRAINTS_BEHIND_COLUMNS = "LIKE ... INCLUDING CONSTRAINTS behind other columns";
    LIKE_SPECIAL_INDEXES = "LIKE ... INCLUDING INDEXES of a partial index or one over expressions";
    LOOKAHEAD_IN_A_REGULAR_EXPRESSION = "lookahead in a regular expression";
    LOOKBEHIND_IN_A_REGULAR_EXPRESSION = "lookbehind in a regular expression";
    MATCH_PARTIAL = "MATCH PARTIAL";
    MERGE_RETURNING = "MERGE ... RETURNING";
    NAN_OR_INFINITY_OF_TYPE_NUMERIC = "NaN or infinity of type numeric";
    NOT_ENFORCED = "NOT ENFORCED";
    ON_COMMIT = "ON COMMIT";
    ON_CONFLICT_DO_SELECT = "ON CONFLICT DO SELECT";
    ON_UPDATE_OF_SOME_COLUMNS = "ON UPDATE SET NULL or SET DEFAULT for some columns only";
    OPERATOR = "operator {}";
    OPERATOR_BETWEEN_ROWS = "operator {} between rows";
    ORDER_BY_USING = "ORDER BY ... USING";
    ORDER_BY_IN_CALL = "ORDER BY in CALL";
    OVER_HERE = "OVER here";
    PARTITION_BY = "PARTITION BY";
    PARTITION_OF = "PARTITION OF";
    PERFORM_OUTSIDE_PLPGSQL = "PERFORM outside PL/pgSQL";
    PERIOD = "PERIOD";
    PSQL_COMMAND = "psql's command \\{}";
    RETURNING_WITH = "RETURNING WITH (...)";
    SEARCH = "SEARCH";
    SELECT_INTO_A_NEW_TABLE = "SELECT INTO a new table";
    SET_FROM_CURRENT = "SET ... FROM CURRENT";
    SET_TIME_ZONE_INTERVAL = "SET TIME ZONE INTERVAL";
    SET_TRANSACTION_SNAPSHOT = "SET TRANSACTION SNAPSHOT";
    SHOW_ALL = "SHOW ALL";
    SO_DEEP_A_NESTING_IN_A_REGULAR_EXPRESSION = "so deep a nesting in a regular expression";
    SUPPORT = "SUPPORT";
    TABLESAMPLE = "TABLESAMPLE";
    ENCODING = "the encoding {}";
    FUNCTION = "the function {}";
    TO_DATE_PATTERN = "the pattern \"{}\" in to_date";
    ALTER = "this ALTER";
    CHANGE_OF_A_MATERIALIZED_VIEW = "this change of a materialized view";
    CONSTRAINT_OF_A_DOMAIN = "this constraint of a domain";
    EMBEDDED_OPTION_IN_A_REGULAR_EXPRESSION = "this embedded option in a regular expression";
    FORM_OF_FUNCTION_IN_FROM = "this form of a function in FROM";
    FORM_OF_ALTER_TYPE = "this form of ALTER TYPE";
    FUNCTION_OUTSIDE_FROM = "this function outside FROM";
    COLUMN_LIST_OF_CREATE_TABLE_AS = "this in the column list of CREATE TABLE AS";
    OPTION_OF_A_TRIGGER = "this option of a trigger";
    TRANSFORM = "TRANSFORM";
    TREAT = "TREAT";
    TYPE_BIT = "type bit";
    TYPE = "type {}";
    TYPE_WITH_MODIFIER = "type {}(...)";
    VARIADIC = "VARIADIC";
    WHEN_NOT_MATCHED_BY_SOURCE = "WHEN NOT MATCHED BY SOURCE";
    WHEN_NOT_MATCHED_BY_TARGET = "WHEN NOT MATCHED BY TARGET";
    WHERE_CURRENT_OF = "WHERE CURRENT OF";
    WITHIN_GROUP_HERE = "WITHIN GROUP here";
    WITHOUT_OVERLAPS = "WITHOUT OVERLAPS";
    WRITING_THROUGH_TO_INSTEAD_OF = "writing through a view to one with INSTEAD OF triggers";
    OTHER = "{}";
    FROM_ITEM = "{} in FROM";
    TABLE_CONSTRAINT = "{} on a table";
    PRECISION = "{} precision";
}

impl Construct {
    /// This construct with what was written in its place.
    pub fn of(self, written: impl fmt::Display) -> Refused {
        Refused(Cow::Owned(self.0.replacen("{}", &written.to_string(), 1)))
    }

    /// Its words, for a list; `None` if they are only what was written.
    pub fn words(self) -> Option<String> {
        (self.0 != "{}").then(|| self.0.replacen("{}", "...", 1).replacen("... ...", "...", 1))
    }
}

impl From<Construct> for Refused {
    fn from(construct: Construct) -> Self {
        Refused(Cow::Borrowed(construct.0))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not supported by the embedded engine", self.0)
    }
}
