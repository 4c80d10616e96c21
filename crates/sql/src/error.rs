//! The two kinds of trouble with SQL.
//!
//! A [`Diagnostic`] is the user's mistake, found before anything runs: it has a [`Span`] into the source and, where we
//! can, a hint. An [`SqlError`] is what PostgreSQL itself would report at run time, with its SQLSTATE and its exact
//! primary message; programs catch it, tests compare it.

use std::fmt;
use std::sync::Arc;

use crate::refused::Refused;

/// A half-open range of bytes in the source text that was parsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        Span { start: start as u32, end: end as u32 }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// This span, moved right: for text that was cut out of a larger one (a procedure's body).
    pub fn shifted(self, by: u32) -> Span {
        Span { start: self.start + by, end: self.end + by }
    }

    /// The text it covers; empty where the span does not fit `source`.
    pub fn of(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// A mistake in the text, with its place: a syntax error, an unknown name, a type that does not fit, or a construct
/// that the embedded engine does not support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Where.
    pub span: Span,
    /// What, in PostgreSQL's words where PostgreSQL has them.
    pub message: String,
    /// The DETAIL line, where PostgreSQL has one.
    pub detail: Option<String>,
    /// What to try.
    pub hint: Option<String>,
    /// The SQLSTATE PostgreSQL would give, so that a program that catches it behaves the same.
    pub state: SqlState,
    /// PostgreSQL has it, and the embedded engine does not: no server would say this.
    pub refused: bool,
}

impl Diagnostic {
    /// A diagnostic without a hint.
    pub fn new(span: Span, state: SqlState, message: impl Into<String>) -> Self {
        Diagnostic { span, message: message.into(), detail: None, hint: None, state, refused: false }
    }

    /// `syntax error ...` (42601).
    pub fn syntax(span: Span, message: impl Into<String>) -> Self {
        Self::new(span, SqlState::SYNTAX_ERROR, message)
    }

    /// A construct that PostgreSQL has and we do not.
    pub fn unsupported(span: Span, construct: impl Into<Refused>) -> Self {
        let message = construct.into().to_string();
        Diagnostic { refused: true, ..Self::new(span, SqlState::FEATURE_NOT_SUPPORTED, message) }
            .hint("docs/reference.md lists the SQL that is supported; a server knows all of it: --on postgres://...")
    }

    /// The same with a DETAIL line.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The same with a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Diagnostic {}

impl From<Diagnostic> for SqlError {
    /// What a server reports for a mistake it only finds when the statement is reached (PL/pgSQL binds late).
    fn from(d: Diagnostic) -> Self {
        let mut error = SqlError::new(d.state, d.message);
        error.0.refused = d.refused;
        match d.detail {
            Some(detail) => error.detail(detail),
            None => error,
        }
    }
}

/// A five-character SQLSTATE.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SqlState(pub [u8; 5]);

macro_rules! states {
    ($($name:ident = $code:literal, $condition:literal;)*) => {
        impl SqlState {
            $(#[doc = concat!("`", $code, "` ", $condition)] pub const $name: SqlState = SqlState::literal($code);)*
            /// Every state we raise, with PL/pgSQL's condition name for it.
            pub const ALL: &'static [(SqlState, &'static str)] = &[$((SqlState::$name, $condition),)*];
        }
    };
}

states! {
    ACTIVE_TRANSACTION = "25001", "active_sql_transaction";
    ASSERT_FAILURE = "P0004", "assert_failure";
    BAD_COPY_FORMAT = "22P04", "bad_copy_file_format";
    CANT_CHANGE_RUNTIME_PARAM = "55P02", "cant_change_runtime_param";
    CARDINALITY_VIOLATION = "21000", "cardinality_violation";
    CASE_NOT_FOUND = "20000", "case_not_found";
    CHECK_VIOLATION = "23514", "check_violation";
    DATETIME_FIELD_OVERFLOW = "22008", "datetime_field_overflow";
    DATATYPE_MISMATCH = "42804", "datatype_mismatch";
    DEADLOCK_DETECTED = "40P01", "deadlock_detected";
    DIVISION_BY_ZERO = "22012", "division_by_zero";
    DUPLICATE_COLUMN = "42701", "duplicate_column";
    DUPLICATE_FUNCTION = "42723", "duplicate_function";
    DUPLICATE_OBJECT = "42710", "duplicate_object";
    DUPLICATE_PREPARED_STATEMENT = "42P05", "duplicate_prepared_statement";
    DUPLICATE_TABLE = "42P07", "duplicate_table";
    FEATURE_NOT_SUPPORTED = "0A000", "feature_not_supported";
    FOREIGN_KEY_VIOLATION = "23503", "foreign_key_violation";
    GROUPING_ERROR = "42803", "grouping_error";
    IN_FAILED_TRANSACTION = "25P02", "in_failed_sql_transaction";
    INTERNAL_ERROR = "XX000", "internal_error";
    INVALID_ARGUMENT_FOR_LIMIT = "2201W", "invalid_row_count_in_limit_clause";
    INVALID_COLUMN_REFERENCE = "42P10", "invalid_column_reference";
    INVALID_CURSOR_NAME = "34000", "invalid_cursor_name";
    INVALID_CURSOR_STATE = "24000", "invalid_cursor_state";
    DUPLICATE_CURSOR = "42P03", "duplicate_cursor";
    INVALID_DATETIME_FORMAT = "22007", "invalid_datetime_format";
    INVALID_FOREIGN_KEY = "42830", "invalid_foreign_key";
    INVALID_FUNCTION_DEFINITION = "42P13", "invalid_function_definition";
    INVALID_OBJECT_DEFINITION = "42P17", "invalid_object_definition";
    INVALID_PARAMETER_VALUE = "22023", "invalid_parameter_value";
    INVALID_SAVEPOINT = "3B001", "invalid_savepoint_specification";
    INVALID_STATEMENT_NAME = "26000", "invalid_sql_statement_name";
    INVALID_TABLE_DEFINITION = "42P16", "invalid_table_definition";
    INVALID_TEXT_REPRESENTATION = "22P02", "invalid_text_representation";
    INVALID_TRANSACTION_TERMINATION = "2D000", "invalid_transaction_termination";
    LOCK_NOT_AVAILABLE = "55P03", "lock_not_available";
    NO_ACTIVE_TRANSACTION = "25P01", "no_active_sql_transaction";
    NO_DATA_FOUND = "P0002", "no_data_found";
    NOT_NULL_VIOLATION = "23502", "not_null_violation";
    NULL_VALUE_NOT_ALLOWED = "22004", "null_value_not_allowed";
    NUMERIC_OUT_OF_RANGE = "22003", "numeric_value_out_of_range";
    OBJECT_IN_USE = "55006", "object_in_use";
    OBJECT_NOT_IN_PREREQUISITE_STATE = "55000", "object_not_in_prerequisite_state";
    PROGRAM_LIMIT_EXCEEDED = "54000", "program_limit_exceeded";
    QUERY_CANCELED = "57014", "query_canceled";
    RAISE_EXCEPTION = "P0001", "raise_exception";
    READ_ONLY_TRANSACTION = "25006", "read_only_sql_transaction";
    RESTRICT_VIOLATION = "23001", "restrict_violation";
    SEQUENCE_LIMIT = "2200H", "sequence_generator_limit_exceeded";
    SERIALIZATION_FAILURE = "40001", "serialization_failure";
    STATEMENT_TOO_COMPLEX = "54001", "statement_too_complex";
    STRING_TOO_LONG = "22001", "string_data_right_truncation";
    SUBSTRING_ERROR = "22011", "substring_error";
    SYNTAX_ERROR = "42601", "syntax_error";
    TOO_MANY_ROWS = "P0003", "too_many_rows";
    TRIGGERED_DATA_CHANGE = "27000", "triggered_data_change_violation";
    AMBIGUOUS_ALIAS = "42P09", "ambiguous_alias";
    AMBIGUOUS_COLUMN = "42702", "ambiguous_column";
    AMBIGUOUS_FUNCTION = "42725", "ambiguous_function";
    DUPLICATE_ALIAS = "42712", "duplicate_alias";
    UNDEFINED_COLUMN = "42703", "undefined_column";
    UNDEFINED_FUNCTION = "42883", "undefined_function";
    UNDEFINED_OBJECT = "42704", "undefined_object";
    UNDEFINED_PARAMETER = "42P02", "undefined_parameter";
    UNDEFINED_TABLE = "42P01", "undefined_table";
    UNIQUE_VIOLATION = "23505", "unique_violation";
    WINDOWING_ERROR = "42P20", "windowing_error";
    WRONG_OBJECT_TYPE = "42809", "wrong_object_type";
}

impl SqlState {
    const fn literal(code: &str) -> SqlState {
        let b = code.as_bytes();
        SqlState([b[0], b[1], b[2], b[3], b[4]])
    }

    /// The state with this code, if it is five ASCII letters or digits.
    pub fn parse(code: &str) -> Option<SqlState> {
        let bytes: [u8; 5] = code.as_bytes().try_into().ok()?;
        bytes.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()).then_some(SqlState(bytes))
    }

    /// The state PL/pgSQL calls by this condition name (`unique_violation`).
    pub fn by_condition(name: &str) -> Option<SqlState> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(s, _)| *s)
    }

    /// The code as text.
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("XX000")
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// An error as the server reports it while a statement runs.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SqlError(Box<SqlErrorFields>);

/// What [`SqlError`] carries; boxed so that a `Result` stays small on the paths where nothing fails.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SqlErrorFields {
    /// The SQLSTATE.
    pub state: SqlState,
    /// The primary message, byte for byte PostgreSQL's.
    pub message: Arc<str>,
    /// The DETAIL line.
    pub detail: Option<Arc<str>>,
    /// The HINT line.
    pub hint: Option<Arc<str>>,
    /// The constraint that was violated.
    pub constraint: Option<Arc<str>>,
    /// What else it is about.
    pub about: About,
    /// PostgreSQL has it, and the embedded engine does not: no server would say this.
    pub refused: bool,
}

/// What an error is about, for GET STACKED DIAGNOSTICS.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct About {
    pub table: Option<Arc<str>>,
    pub column: Option<Arc<str>>,
    pub schema: Option<Arc<str>>,
    pub datatype: Option<Arc<str>>,
}

impl std::ops::Deref for SqlError {
    type Target = SqlErrorFields;
    fn deref(&self) -> &SqlErrorFields {
        &self.0
    }
}

impl SqlError {
    /// An error with only a primary message.
    pub fn new(state: SqlState, message: impl Into<Arc<str>>) -> Self {
        SqlError(Box::new(SqlErrorFields {
            state,
            message: message.into(),
            detail: None,
            hint: None,
            constraint: None,
            about: About::default(),
            refused: false,
        }))
    }

    /// Something that PostgreSQL has and we do not.
    pub fn unsupported(construct: impl Into<Refused>) -> Self {
        let mut error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, construct.into().to_string());
        error.0.refused = true;
        error
    }

    /// The same with a DETAIL line.
    pub fn detail(mut self, detail: impl Into<Arc<str>>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// The same with a HINT line.
    pub fn hint(mut self, hint: impl Into<Arc<str>>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same, naming the violated constraint.
    pub fn constraint(mut self, name: impl Into<Arc<str>>) -> Self {
        self.0.constraint = Some(name.into());
        self
    }

    /// The same, naming the table it is about.
    pub fn table(mut self, name: impl Into<Arc<str>>) -> Self {
        self.0.about.table = Some(name.into());
        self.0.about.schema = Some("public".into());
        self
    }

    /// The same, naming the column it is about.
    pub fn column(mut self, name: impl Into<Arc<str>>) -> Self {
        self.0.about.column = Some(name.into());
        self
    }

    /// The same, about something else.
    pub fn about(mut self, about: About) -> Self {
        self.0.about = about;
        self
    }

    /// True for what a client is expected to retry: serialization failures and deadlocks.
    pub fn is_abort(&self) -> bool {
        matches!(self.state, SqlState::SERIALIZATION_FAILURE | SqlState::DEADLOCK_DETECTED)
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.state)
    }
}

impl fmt::Debug for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for SqlError {}
