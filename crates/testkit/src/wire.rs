//! One session with a PostgreSQL server, seen message by message.
//!
//! Mirror tests need what client libraries hide: the command tag (a `COMMIT` that rolled back says `ROLLBACK`), and the
//! messages that arrive while a statement still waits for a lock. So this speaks the protocol itself, as little of it
//! as trust authentication, the simple query protocol and text results require.
//!
//! A message is a type byte, a length that counts itself, and a body. One query string is answered by any number of
//! results and ends with `ReadyForQuery`:
//!
//! ```text
//!   client   Query "UPDATE ..."
//!   server            NoticeResponse "still waiting for ..."   CommandComplete "UPDATE 1"   ReadyForQuery
//! ```

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::program::{Response, Row};

/// What can arrive from the server, as far as a mirror test cares.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// The column names of the rows that follow.
    Columns(Vec<String>),
    /// One row.
    Row(Row),
    /// A statement has completed, with its tag: `UPDATE 2`.
    Complete(String),
    /// A statement has failed.
    Error(Report),
    /// A warning, a notice, or a line of the server's log.
    Notice(Report),
    /// The whole query string has been answered.
    Ready,
    /// Anything else.
    Other,
}

/// An error or notice: its SQLSTATE and primary message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The five-character code.
    pub sqlstate: String,
    /// The first line, without severity.
    pub message: String,
}

/// One session. At most one query string is under way at a time.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    /// Bytes received and not yet taken apart.
    received: Vec<u8>,
    /// The server process that serves this session.
    pid: i32,
    /// What `ReadyForQuery` last said: a transaction is open, or has failed and is not yet over.
    in_transaction: bool,
}

const TYPE_AND_LENGTH: usize = 5;

impl Connection {
    /// Connects to the socket as superuser `postgres`.
    pub fn open(socket: &Path, database: &str, options: &str) -> io::Result<Connection> {
        let mut connection =
            Connection { stream: UnixStream::connect(socket)?, received: Vec::new(), pid: 0, in_transaction: false };
        connection.stream.write_all(&startup(database, options))?;
        loop {
            match connection.receive_raw(None)? {
                Some((b'K', body)) => connection.pid = read_i32(&body, 0)?,
                Some((b'E', body)) => return Err(io::Error::other(report(&body).message)),
                Some((b'Z', _)) => return Ok(connection),
                _ => {}
            }
        }
    }

    /// The process id of the server process behind this session.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Was a transaction open when the last query string had been answered?
    pub fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// Sends a query string without waiting for an answer.
    pub fn send(&mut self, sql: &str) -> io::Result<()> {
        let length = i32::try_from(sql.len() + 5).map_err(io::Error::other)?;
        let mut message = vec![b'Q'];
        message.extend(length.to_be_bytes());
        message.extend(sql.as_bytes());
        message.push(0);
        self.stream.write_all(&message)
    }

    /// The next message if it arrives within `patience`; for ever without.
    pub fn receive(&mut self, patience: Option<Duration>) -> io::Result<Option<Message>> {
        let received = self.receive_raw(patience)?;
        if let Some((b'Z', status)) = &received {
            self.in_transaction = status.first().is_some_and(|status| *status != b'I');
        }
        Ok(received.map(|(kind, body)| decode(kind, &body)))
    }

    /// Sends a query string and waits for all its responses.
    pub fn query(&mut self, sql: &str) -> io::Result<Vec<Response>> {
        self.send(sql)?;
        let mut answer = Answer::default();
        loop {
            let message = self.receive(None)?;
            if let Some(responses) = message.and_then(|message| answer.push(message)) {
                return Ok(responses);
            }
        }
    }

    /// Like [`Connection::query`], for statements that must not fail.
    pub fn execute(&mut self, sql: &str) -> io::Result<()> {
        match self.query(sql)?.into_iter().find(Response::is_error) {
            Some(error) => Err(io::Error::other(format!("{error}\nin: {sql}"))),
            None => Ok(()),
        }
    }

    fn receive_raw(&mut self, patience: Option<Duration>) -> io::Result<Option<(u8, Vec<u8>)>> {
        let deadline = patience.map(|patience| Instant::now() + patience);
        loop {
            if let Some(message) = self.take_message()? {
                return Ok(Some(message));
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if !self.read_more(left)? && deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(None);
            }
        }
    }

    fn take_message(&mut self) -> io::Result<Option<(u8, Vec<u8>)>> {
        if self.received.len() < TYPE_AND_LENGTH {
            return Ok(None);
        }
        let end = 1 + usize::try_from(read_i32(&self.received, 1)?).map_err(io::Error::other)?;
        if self.received.len() < end {
            return Ok(None);
        }
        let message: Vec<u8> = self.received.drain(..end).collect();
        Ok(Some((message[0], message[TYPE_AND_LENGTH..].to_vec())))
    }

    /// Reads what there is; `false` if nothing came within `patience`.
    fn read_more(&mut self, patience: Option<Duration>) -> io::Result<bool> {
        let immediately = patience == Some(Duration::ZERO);
        self.stream.set_nonblocking(immediately)?;
        if !immediately {
            self.stream.set_read_timeout(patience)?;
        }
        let mut chunk = [0; 4096];
        let outcome = self.stream.read(&mut chunk);
        if immediately {
            self.stream.set_nonblocking(false)?;
        }
        match outcome {
            Ok(0) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")),
            Ok(count) => {
                self.received.extend(&chunk[..count]);
                Ok(true)
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted => Ok(false),
                _ => Err(error),
            },
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
            Message::Error(Report { sqlstate, message }) => {
                self.open = None;
                self.responses.push(Response::Error { sqlstate, message });
            }
            Message::Ready => return Some(std::mem::take(&mut self.responses)),
            Message::Notice(_) | Message::Other => {}
        }
        None
    }
}

fn startup(database: &str, options: &str) -> Vec<u8> {
    const PROTOCOL_3_0: i32 = 3 << 16;
    let mut body = PROTOCOL_3_0.to_be_bytes().to_vec();
    for text in ["user", "postgres", "database", database, "client_encoding", "UTF8", "options", options, ""] {
        body.extend(text.as_bytes());
        body.push(0);
    }
    let length = i32::try_from(body.len() + 4).expect("a startup message is short");
    [length.to_be_bytes().to_vec(), body].concat()
}

fn decode(kind: u8, body: &[u8]) -> Message {
    match kind {
        b'T' => Message::Columns(columns(body).unwrap_or_default()),
        b'D' => Message::Row(row(body).unwrap_or_default()),
        b'C' => Message::Complete(text_until_zero(body)),
        b'E' => Message::Error(report(body)),
        b'N' => Message::Notice(report(body)),
        b'Z' => Message::Ready,
        _ => Message::Other,
    }
}

/// RowDescription: a count, then per column its name and 18 bytes about its type.
fn columns(body: &[u8]) -> io::Result<Vec<String>> {
    const ABOUT_THE_TYPE: usize = 18;
    let mut names = Vec::new();
    let mut at = 2;
    for _ in 0..read_i16(body, 0)? {
        let name = text_until_zero(&body[at..]);
        at += name.len() + 1 + ABOUT_THE_TYPE;
        names.push(name);
    }
    Ok(names)
}

/// DataRow: a count, then per value its length (-1 for NULL) and its text.
fn row(body: &[u8]) -> io::Result<Row> {
    let mut values = Vec::new();
    let mut at = 2;
    for _ in 0..read_i16(body, 0)? {
        let length = usize::try_from(read_i32(body, at)?).ok();
        at += 4;
        values.push(length.map(|length| String::from_utf8_lossy(&body[at..at + length]).into_owned()));
        at += length.unwrap_or(0);
    }
    Ok(values)
}

/// ErrorResponse and NoticeResponse: fields of a letter and a text each.
fn report(body: &[u8]) -> Report {
    let mut report = Report::default();
    for field in body.split(|byte| *byte == 0).filter(|field| !field.is_empty()) {
        let text = String::from_utf8_lossy(&field[1..]).into_owned();
        match field[0] {
            b'C' => report.sqlstate = text,
            b'M' => report.message = text,
            _ => {}
        }
    }
    report
}

fn text_until_zero(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn read_i32(bytes: &[u8], at: usize) -> io::Result<i32> {
    read_array(bytes, at).map(i32::from_be_bytes)
}

fn read_i16(bytes: &[u8], at: usize) -> io::Result<i16> {
    read_array(bytes, at).map(i16::from_be_bytes)
}

fn read_array<const N: usize>(bytes: &[u8], at: usize) -> io::Result<[u8; N]> {
    let slice = bytes.get(at..at + N).ok_or_else(|| io::Error::other("a message from the server is too short"))?;
    Ok(slice.try_into().expect("the slice has N bytes"))
}
