//! A session: sending, listening, waiting.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::{backend, frontend};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::answer::{Answer, Complaint, Failure, Message, Response};
use crate::patience::SLICE;
use crate::prepared::Prepared;
use crate::{Mode, Patience, Place, Settings, Stream};

/// Where reading may wait this long it does so itself, which saves a call: less is not waited for precisely.
const READ_TIMEOUT_MIN: Duration = Duration::from_millis(5);

/// One session. At most one query string is under way at a time.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    encrypted: bool,
    settings: Settings,
    received: BytesMut,
    /// Said, and to be sent with what is said next.
    queued: BytesMut,
    prepared: Prepared,
    /// How long one read waits; `None` is for ever.
    read_timeout: Option<Duration>,
    pid: i32,
    secret: i32,
    parameters: Vec<(String, String)>,
    status: TransactionStatus,
    fields: Vec<Field>,
    /// The rows that the next COPY is given.
    rows: Option<Vec<u8>>,
    /// Somebody else goes on with the session.
    handed_over: bool,
    /// Query strings that were sent and are not answered.
    unanswered: usize,
}

/// Where a column of a result comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// The table whose column it shows unchanged, by oid; 0 if it shows none.
    pub table: u32,
    /// That column's number, from 1.
    pub column: i16,
    /// Its type, by oid.
    pub type_oid: u32,
}

/// A session that has just been opened, for somebody who speaks the protocol themselves.
#[derive(Debug)]
pub struct Open {
    /// Where the server is spoken to.
    pub stream: Stream,
    /// The server process behind it.
    pub pid: i32,
    /// What a cancel request must show.
    pub secret: i32,
    /// What the server has said about itself.
    pub parameters: Vec<(String, String)>,
}

/// What the server last said about the session's transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransactionStatus {
    /// There is none.
    #[default]
    Idle,
    /// One is open.
    Open,
    /// One has failed and is not over.
    Failed,
}

impl Connection {
    /// Connects, [encrypted](crate::Encryption) as the settings want it, and gives the password if it is asked for one.
    pub fn open(settings: &Settings) -> io::Result<Connection> {
        let mode = settings.encryption.mode;
        let first = !matches!(mode, Mode::Disable | Mode::Allow);
        // What is refused one way may be let in the other way.
        let second = match (&settings.place, mode) {
            (Place::Tcp(..), Mode::Allow) => Some(true),
            (Place::Tcp(..), Mode::Prefer) => Some(false),
            _ => None,
        };
        match (Connection::open_for(settings, first), second) {
            (Err(error), Some(second)) if is_refusal(&error) => {
                Connection::open_for(settings, second).map_err(|_| error)
            }
            (opened, _) => opened,
        }
    }

    fn open_for(settings: &Settings, encrypt: bool) -> io::Result<Connection> {
        let (stream, encrypted) = Stream::connect_for(settings, encrypt)?;
        let mut connection = Connection {
            stream,
            encrypted,
            settings: settings.clone(),
            received: BytesMut::with_capacity(8 << 10),
            queued: BytesMut::new(),
            prepared: Prepared::default(),
            read_timeout: None,
            pid: 0,
            secret: 0,
            parameters: Vec::new(),
            status: TransactionStatus::Idle,
            fields: Vec::new(),
            rows: None,
            handed_over: false,
            unanswered: 0,
        };
        connection.start()?;
        Ok(connection)
    }

    fn start(&mut self) -> io::Result<()> {
        let Settings { user, database, options, application_name, .. } = &self.settings;
        let mut hello = vec![("user", user), ("database", database), ("application_name", application_name)];
        if !options.is_empty() {
            hello.push(("options", options));
        }
        let utf8 = String::from("UTF8");
        hello.push(("client_encoding", &utf8));
        let mut out = BytesMut::new();
        frontend::startup_message(hello.into_iter().map(|(name, value)| (name, value.as_str())), &mut out)?;
        self.write(&out)?;
        let deadline = Instant::now() + self.settings.connect_timeout;
        let mut scram = None;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let message = self.receive_raw(Some(left))?.ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::TimedOut,
                    "something listens there but does not answer as PostgreSQL does",
                )
            })?;
            match message {
                backend::Message::BackendKeyData(body) => {
                    (self.pid, self.secret) = (body.process_id(), body.secret_key())
                }
                backend::Message::ParameterStatus(body) => {
                    self.parameters.push((body.name()?.to_string(), body.value()?.to_string()));
                }
                backend::Message::ErrorResponse(body) => {
                    return Err(Failure::refused(Complaint::read(body.fields())?));
                }
                backend::Message::ReadyForQuery(_) => return Ok(()),
                other => self.authenticate(&other, &mut scram)?,
            }
        }
    }

    fn authenticate(&mut self, message: &backend::Message, scram: &mut Option<ScramSha256>) -> io::Result<()> {
        use backend::Message as Raw;
        let mut out = BytesMut::new();
        let password = || {
            let missing = || io::Error::other("the server wants a password; put it into the URL or into PGPASSWORD");
            self.settings.password.as_deref().ok_or_else(missing)
        };
        let confused = || io::Error::other("the server goes on with an authentication that was not begun");
        match message {
            Raw::AuthenticationCleartextPassword => frontend::password_message(password()?.as_bytes(), &mut out)?,
            Raw::AuthenticationMd5Password(body) => {
                let hash = md5_hash(self.settings.user.as_bytes(), password()?.as_bytes(), body.salt());
                frontend::password_message(hash.as_bytes(), &mut out)?;
            }
            Raw::AuthenticationSasl(body) => {
                if !body.mechanisms().any(|mechanism| Ok(mechanism == SCRAM_SHA_256))? {
                    return Err(io::Error::other("the server offers no authentication that is known here"));
                }
                let begun = scram.insert(ScramSha256::new(password()?.as_bytes(), ChannelBinding::unsupported()));
                frontend::sasl_initial_response(SCRAM_SHA_256, begun.message(), &mut out)?;
            }
            Raw::AuthenticationSaslContinue(body) => {
                let begun = scram.as_mut().ok_or_else(confused)?;
                begun.update(body.data())?;
                frontend::sasl_response(begun.message(), &mut out)?;
            }
            Raw::AuthenticationSaslFinal(body) => scram.as_mut().ok_or_else(confused)?.finish(body.data())?,
            Raw::AuthenticationGss | Raw::AuthenticationKerberosV5 | Raw::AuthenticationSspi => {
                return Err(io::Error::other("the server wants GSSAPI or Kerberos, which is not spoken here"));
            }
            _ => {}
        }
        self.write(&out)
    }

    /// Hands the session over to somebody who speaks the protocol themselves, before anything was sent.
    pub fn into_open(mut self) -> io::Result<Open> {
        let stream = self.stream.try_clone()?;
        stream.set_read_timeout(None)?;
        self.handed_over = true;
        let parameters = std::mem::take(&mut self.parameters);
        Ok(Open { stream, pid: self.pid, secret: self.secret, parameters })
    }

    /// The process id of the server process behind this session.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether what is said is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    /// With what it was opened.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What the server has said about itself: `server_version`, `TimeZone`.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().rfind(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The state of the transaction when the last query string had been answered.
    pub fn status(&self) -> TransactionStatus {
        self.status
    }

    /// The columns of the rows that came last.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Sends a query string without waiting for an answer.
    pub fn send(&mut self, sql: &str) -> io::Result<()> {
        self.queue(sql)?;
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        let queued = std::mem::take(&mut self.queued);
        self.write(&queued)
    }

    /// Writes everything, as long as there is patience.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// From now on the server is waited for so long.
    pub fn set_patience(&mut self, patience: Patience) {
        self.stream.set_patience(patience.clone());
        self.settings.patience = patience;
    }

    /// How long the server is waited for.
    pub fn patience(&self) -> &Patience {
        &self.settings.patience
    }

    /// Whether the server has answered everything. If not, what was sent last may still be done.
    pub fn is_answered(&self) -> bool {
        self.unanswered == 0
    }

    /// The same for one statement that will be sent more often: the server keeps it prepared.
    pub fn send_prepared(&mut self, sql: &str) -> io::Result<()> {
        self.queue_prepared(sql, &[])?;
        self.sync()
    }

    /// Says one statement that will be said more often, together with what comes before the next
    /// [sync](Connection::sync). All of that is one transaction if none is open, and has one answer.
    pub fn queue_prepared(&mut self, sql: &str, params: &[Option<&str>]) -> io::Result<()> {
        let out = &mut self.queued;
        let (name, prepares) = self.prepared.name(sql);
        if prepares {
            frontend::parse(name, sql, [], out)?;
        }
        let write = |value: Option<&str>, out: &mut BytesMut| match value {
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                Ok(IsNull::No)
            }
            None => Ok(IsNull::Yes),
        };
        let bound = frontend::bind("", name, [], params.iter().copied(), write, [], out);
        bound.map_err(|error| match error {
            frontend::BindError::Conversion(error) => io::Error::other(error),
            frontend::BindError::Serialization(error) => error,
        })?;
        frontend::describe(b'P', "", out)?;
        frontend::execute("", 0, out)?;
        // What is over is over, as with a query string: otherwise it would end with the next statement.
        frontend::close(b'P', "", out)
    }

    /// Sends what was queued, and asks for the answer.
    pub fn sync(&mut self) -> io::Result<()> {
        self.prepared.end();
        self.unanswered += 1;
        frontend::sync(&mut self.queued);
        self.flush()
    }

    /// Says something together with what is sent next, which spares both sides a turn. It has an answer of its own.
    pub fn queue(&mut self, sql: &str) -> io::Result<()> {
        self.prepared.end();
        self.unanswered += 1;
        frontend::query(sql, &mut self.queued)
    }

    /// What was queued is not said after all.
    pub fn unqueue(&mut self) {
        if !self.queued.is_empty() {
            self.unanswered = 0;
        }
        self.prepared.clear();
        self.queued.clear();
    }

    /// Sends `COPY ... FROM stdin` with the lines that it is to read.
    pub fn send_copy(&mut self, sql: &str, lines: &str) -> io::Result<()> {
        self.rows = Some(lines.as_bytes().to_vec());
        self.send(sql)
    }

    /// The next message if it arrives within `patience`; without, as long as [the session's own](Patience) lasts.
    pub fn receive(&mut self, patience: Option<Duration>) -> io::Result<Option<Message>> {
        self.receive_raw(patience)?.map(|raw| self.understood(&raw)).transpose()
    }

    /// The next message of those that have arrived.
    pub fn take(&mut self) -> io::Result<Option<Message>> {
        backend::Message::parse(&mut self.received)?.map(|raw| self.understood(&raw)).transpose()
    }

    /// Lets something arrive, at most this long. Has it?
    pub fn listen(&mut self, patience: Duration) -> io::Result<bool> {
        if self.has_message() {
            return Ok(true);
        }
        // Reading waits by itself, but not precisely; what is short is waited for before.
        let reads = patience >= READ_TIMEOUT_MIN && !self.encrypted;
        if reads && self.read_timeout != Some(patience) {
            self.stream.set_read_timeout(Some(patience))?;
            self.read_timeout = Some(patience);
        }
        if !reads && !wait(&[&self.stream], Some(patience))? {
            return Ok(false);
        }
        self.read_more()
    }

    /// What a message says, and what it changes here.
    fn understood(&mut self, raw: &backend::Message) -> io::Result<Message> {
        match raw {
            backend::Message::ParseComplete => self.prepared.complete(),
            backend::Message::ReadyForQuery(body) => {
                self.prepared.ready();
                self.unanswered = self.unanswered.saturating_sub(1);
                self.status = match body.status() {
                    b'T' => TransactionStatus::Open,
                    b'E' => TransactionStatus::Failed,
                    _ => TransactionStatus::Idle,
                }
            }
            backend::Message::ParameterStatus(body) => {
                self.parameters.push((body.name()?.to_string(), body.value()?.to_string()));
            }
            backend::Message::RowDescription(body) => {
                let field = |f: backend::Field<'_>| {
                    Ok(Field { table: f.table_oid(), column: f.column_id(), type_oid: f.type_oid() })
                };
                self.fields = body.fields().map(field).collect()?;
            }
            backend::Message::CopyInResponse(_) => {
                let mut out = BytesMut::new();
                match self.rows.take() {
                    Some(rows) => {
                        frontend::CopyData::new(rows.as_slice())?.write(&mut out);
                        frontend::copy_done(&mut out);
                    }
                    None => frontend::copy_fail("there is nothing to copy", &mut out)?,
                }
                self.write(&out)?;
            }
            _ => {}
        }
        Message::read(raw)
    }

    /// Sends a query string and waits for all its responses.
    pub fn query(&mut self, sql: &str) -> io::Result<Vec<Response>> {
        self.send(sql)?;
        self.answers()
    }

    /// Waits for all responses to the query string that was sent.
    pub fn answers(&mut self) -> io::Result<Vec<Response>> {
        let mut answer = Answer::default();
        loop {
            if let Some(responses) = self.receive(None)?.and_then(|message| answer.push(message)) {
                return Ok(responses);
            }
        }
    }

    /// Like [`Connection::query`], for statements that must not fail.
    pub fn execute(&mut self, sql: &str) -> io::Result<Vec<Response>> {
        let responses = self.query(sql)?;
        match responses.iter().find_map(Response::error) {
            Some(error) => Err(Failure::failed(error, Some(sql))),
            None => Ok(responses),
        }
    }

    /// The same for one statement that will be sent more often.
    pub fn execute_prepared(&mut self, sql: &str) -> io::Result<Vec<Response>> {
        self.send_prepared(sql)?;
        self.finish()
    }

    /// Like [`Connection::answers`], for what must not fail.
    pub fn finish(&mut self) -> io::Result<Vec<Response>> {
        let responses = self.answers()?;
        match responses.iter().find_map(Response::error) {
            Some(error) => Err(Failure::failed(error, None)),
            None => Ok(responses),
        }
    }

    /// Asks the server to cancel what this session is doing, by a connection of its own.
    pub fn cancel(&self) -> io::Result<()> {
        let mut stream = Stream::connect(&self.settings)?;
        let mut out = BytesMut::new();
        frontend::cancel_request(self.pid, self.secret, &mut out);
        stream.write_all(&out)?;
        // The server closes when it has passed the request on.
        stream.set_read_timeout(Some(SLICE))?;
        let since = Instant::now();
        loop {
            match stream.read(&mut [0; 1]) {
                Err(error) if is_early(&error) => self.settings.patience.check()?,
                read => return read.map(drop),
            }
            if since.elapsed() >= self.settings.connect_timeout {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the server takes no cancel request"));
            }
        }
    }

    fn receive_raw(&mut self, patience: Option<Duration>) -> io::Result<Option<backend::Message>> {
        let since = Instant::now();
        let deadline = patience.map(|patience| since + patience);
        loop {
            if let Some(message) = backend::Message::parse(&mut self.received)? {
                return Ok(Some(message));
            }
            let arrived = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => self.read_slice()?,
                Some(left) if wait(&[&self.stream], Some(left.min(SLICE)))? => self.read_more()?,
                Some(left) if left <= SLICE => return Ok(None),
                Some(_) => false,
            };
            if !arrived {
                self.settings.patience.check_since(since)?;
            }
        }
    }

    /// Reads what arrives within a slice. Was there something?
    fn read_slice(&mut self) -> io::Result<bool> {
        if self.read_timeout.is_none_or(|timeout| timeout > SLICE) {
            self.stream.set_read_timeout(Some(SLICE))?;
            self.read_timeout = Some(SLICE);
        }
        self.read_more()
    }

    /// Reads what there is. Was there something within the time that reading waits?
    fn read_more(&mut self) -> io::Result<bool> {
        let mut chunk = [0; 8 << 10];
        match self.stream.read(&mut chunk) {
            Ok(0) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")),
            Ok(count) => {
                self.received.extend_from_slice(&chunk[..count]);
                Ok(true)
            }
            Err(error) if is_early(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether a whole message has arrived that was not taken apart yet.
    fn has_message(&self) -> bool {
        let length = self.received.get(1..5).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
        length.is_some_and(|length| self.received.len() > length as usize)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.handed_over {
            return;
        }
        let mut out = BytesMut::new();
        frontend::terminate(&mut out);
        // Whoever is gone needs no good-bye, and whoever does not listen gets none.
        self.stream.set_patience(Patience::lasting(Duration::ZERO));
        let _ = self.stream.write_all(&out);
    }
}

/// Waits until one of the sessions has something to say, at most this long. Has one?
pub fn wait_for_any(connections: &[&Connection], patience: Duration) -> io::Result<bool> {
    if connections.iter().any(|connection| connection.has_message()) {
        return Ok(true);
    }
    let streams: Vec<&Stream> = connections.iter().map(|connection| &connection.stream).collect();
    wait(&streams, Some(patience))
}

/// Whether nothing had arrived yet.
fn is_early(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

/// Whether somebody was there and did not want us like this.
fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Other | io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset)
}

fn wait(streams: &[&Stream], patience: Option<Duration>) -> io::Result<bool> {
    if streams.iter().any(|stream| stream.has_pending()) {
        return Ok(true);
    }
    let mut polled: Vec<PollFd<'_>> =
        streams.iter().map(|stream| PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::IN)).collect();
    let patience = patience.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
    match poll(&mut polled, patience.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
