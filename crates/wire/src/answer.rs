//! What a server says, and what that amounts to.

use std::fmt;
use std::io;

use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend;

/// One row of a result, each value as text; NULL is `None`.
pub type Row = Vec<Option<String>>;

/// What can arrive from a server.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// The column names of the rows that follow.
    Columns(Vec<String>),
    /// One row.
    Row(Row),
    /// A statement has completed, with its tag: `UPDATE 2`.
    Complete(String),
    /// A statement has failed.
    Error(Complaint),
    /// A warning, a notice, or a line of the server's log.
    Notice(Complaint),
    /// Another session has something to say.
    Notification {
        /// The process that says it.
        pid: i32,
        /// On which channel.
        channel: String,
        /// What.
        payload: String,
    },
    /// The whole query string has been answered.
    Ready,
    /// It wants rows of a COPY; there are none.
    CopyIn,
    /// Anything else.
    Other,
}

/// An error or a notice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Complaint {
    /// `ERROR`, `NOTICE`, `INFO`, ...; never translated.
    pub severity: String,
    /// The five-character code.
    pub sqlstate: String,
    /// The first line.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What to try.
    pub hint: Option<String>,
    /// Where, as a position in the query string, from 1.
    pub position: Option<usize>,
    /// The constraint that is broken.
    pub constraint: Option<String>,
}

/// How many rows a command tag counts: 2 of `UPDATE 2`.
pub fn rows_counted(tag: &str) -> Option<u64> {
    tag.rsplit_once(' ').and_then(|(_, count)| count.parse().ok())
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:  {} ({})", self.severity, self.message, self.sqlstate)
    }
}

/// Classes of SQLSTATEs, and single ones, that say nothing about a statement: the connection, resources, an operator,
/// the system underneath.
const FAULTS: &[&str] = &["08", "53", "57P", "58", "XX001", "XX002"];

impl Complaint {
    /// The kind of an [`io::Error`] made of it. Those who do not know this crate tell by it that the server gave an
    /// answer ([`Other`](io::ErrorKind::Other)), and not that something around it failed.
    fn error_kind(&self) -> io::ErrorKind {
        match self.is_fault() {
            true => io::ErrorKind::ConnectionAborted,
            false => io::ErrorKind::Other,
        }
    }

    /// Whether something around the database is the reason, and no statement: out of disk, memory or connections, shut
    /// down, a backend that was killed, an error of the system.
    pub fn is_fault(&self) -> bool {
        FAULTS.iter().any(|class| self.sqlstate.starts_with(class))
    }

    /// What a server has said, if that is why something failed.
    pub fn of(error: &io::Error) -> Option<&Complaint> {
        error.get_ref()?.downcast_ref::<Failure>().map(|failure| &failure.complaint)
    }
}

/// A server's error as the reason why something cannot be done.
#[derive(Debug)]
pub(crate) struct Failure {
    complaint: Complaint,
    shown: String,
}

impl Failure {
    /// A connection was refused.
    pub(crate) fn refused(complaint: Complaint) -> io::Error {
        let shown = complaint.message.clone();
        io::Error::new(complaint.error_kind(), Failure { complaint, shown })
    }

    /// A statement that must not fail has failed.
    pub(crate) fn failed(complaint: &Complaint, sql: Option<&str>) -> io::Error {
        let place = sql.map(|sql| format!("\nin: {sql}")).unwrap_or_default();
        io::Error::new(
            complaint.error_kind(),
            Failure { complaint: complaint.clone(), shown: format!("{complaint}{place}") },
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl std::error::Error for Failure {}

/// What one statement has come to.
#[derive(Clone, Debug, PartialEq)]
pub enum Response {
    /// Rows, possibly none.
    Rows {
        /// The command tag: `SELECT 1`.
        tag: String,
        /// Column names.
        columns: Vec<String>,
        /// The rows.
        rows: Vec<Row>,
    },
    /// It completed without rows.
    Done {
        /// The command tag: `UPDATE 1`.
        tag: String,
    },
    /// It failed.
    Error(Complaint),
}

impl Response {
    /// Whether it failed.
    pub fn is_error(&self) -> bool {
        matches!(self, Response::Error(_))
    }

    /// The error, if it failed.
    pub fn error(&self) -> Option<&Complaint> {
        match self {
            Response::Error(error) => Some(error),
            Response::Rows { .. } | Response::Done { .. } => None,
        }
    }

    /// Its rows, if it has any.
    pub fn rows(&self) -> &[Row] {
        match self {
            Response::Rows { rows, .. } => rows,
            Response::Done { .. } | Response::Error(_) => &[],
        }
    }
}

/// The responses to one query string, put together message by message.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    responses: Vec<Response>,
    open: Option<(Vec<String>, Vec<Row>)>,
}

impl Answer {
    /// Adds a message; the finished answer when it was the last one.
    pub fn push(&mut self, message: Message) -> Option<Vec<Response>> {
        match message {
            Message::Columns(columns) => self.open = Some((columns, Vec::new())),
            Message::Row(row) => {
                if let Some((_, rows)) = &mut self.open {
                    rows.push(row);
                }
            }
            Message::Complete(tag) => self.responses.push(match self.open.take() {
                Some((columns, rows)) => Response::Rows { tag, columns, rows },
                None => Response::Done { tag },
            }),
            Message::Error(complaint) => {
                self.open = None;
                self.responses.push(Response::Error(complaint));
            }
            Message::Ready => return Some(std::mem::take(&mut self.responses)),
            Message::Notice(_) | Message::Notification { .. } | Message::CopyIn | Message::Other => {}
        }
        None
    }
}

impl Complaint {
    /// Reads the fields of an error or a notice.
    pub fn read(mut fields: backend::ErrorFields<'_>) -> io::Result<Complaint> {
        let mut complaint = Complaint::default();
        let mut translated = String::new();
        while let Some(field) = fields.next()? {
            let text = || String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                b'V' => complaint.severity = text(),
                b'S' => translated = text(),
                b'C' => complaint.sqlstate = text(),
                b'M' => complaint.message = text(),
                b'D' => complaint.detail = Some(text()),
                b'H' => complaint.hint = Some(text()),
                b'P' => complaint.position = text().parse().ok(),
                b'n' => complaint.constraint = Some(text()),
                _ => {}
            }
        }
        if complaint.severity.is_empty() {
            complaint.severity = translated;
        }
        Ok(complaint)
    }
}

impl Message {
    /// What a message of the protocol says.
    pub(crate) fn read(message: &backend::Message) -> io::Result<Message> {
        use backend::Message as Raw;
        Ok(match message {
            Raw::RowDescription(body) => {
                Message::Columns(body.fields().map(|field| Ok(field.name().to_string())).collect()?)
            }
            Raw::DataRow(body) => {
                let text = |range: std::ops::Range<usize>| String::from_utf8_lossy(&body.buffer()[range]).into_owned();
                Message::Row(body.ranges().map(|range| Ok(range.map(text))).collect()?)
            }
            Raw::CommandComplete(body) => Message::Complete(body.tag()?.to_string()),
            Raw::ErrorResponse(body) => Message::Error(Complaint::read(body.fields())?),
            Raw::NoticeResponse(body) => Message::Notice(Complaint::read(body.fields())?),
            Raw::NotificationResponse(body) => Message::Notification {
                pid: body.process_id(),
                channel: body.channel()?.to_string(),
                payload: body.message()?.to_string(),
            },
            Raw::ReadyForQuery(_) => Message::Ready,
            Raw::CopyInResponse(_) => Message::CopyIn,
            _ => Message::Other,
        })
    }
}
