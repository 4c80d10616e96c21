//! Doors: ports of this machine by which applications come in.
//!
//! Every process of this machine can reach a port, so who connects must know the password of the run: a random word
//! that the application finds in its environment and nobody else can read. It is asked for by SCRAM-SHA-256, as a
//! server does, and every driver knows that. Before that is done, a client gets nothing, costs no session of the
//! server, and has a few seconds:
//!
//! ```text
//!   client            start-up                 first message            last message
//!   door      N (TLS)          SASL                      challenge                   signature, greeting of the server
//!             └── at most STARTUP_MAX bytes, LOGIN_TIME_MAX, LOGINS_MAX clients at once ──┘
//! ```
//!
//! The start-up message says a user and a database; what is opened behind the door is the one database that the check
//! is about, as the role that works there. Session settings that a driver sends along (`TimeZone`,
//! `extra_float_digits`, `options`) are passed on. A cancel request is passed on if it shows the key of a session that
//! came in here.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use isolde_wire::secret::{MECHANISM, Verifier};
use isolde_wire::{Complaint, Connection, SLICE, Settings, Stream};

use super::frame::{FROM_CLIENT_MAX, FROM_SERVER_MAX, Fields, Frame, Frames};
use super::session::SessionId;

/// A port of this machine behind which a database lies. Closed when it is dropped; who is inside stays.
#[derive(Debug)]
pub struct Door {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// What is opened for who comes in.
    settings: Mutex<Settings>,
    /// What they have to know.
    verifier: Verifier,
    closed: AtomicBool,
    /// Clients that have not logged in yet.
    logins: AtomicUsize,
    /// Clients that have.
    clients: AtomicUsize,
    /// Process and secret of each session, which a cancel request must show.
    keys: Mutex<BTreeSet<(i32, i32)>>,
}

/// What comes through the doors and from the servers behind them.
#[derive(Debug)]
pub enum Event {
    /// Somebody has come in.
    Opened(Opened),
    /// Somebody could not come in: the server refused.
    Refused {
        /// The port of the door.
        port: u16,
        /// What the server said.
        reason: String,
        /// Something around the database is the reason: it is gone, or has no connection left.
        fault: bool,
    },
    /// A client says something.
    FromClient(SessionId, Vec<Frame>),
    /// A client is gone.
    ClientGone(SessionId),
    /// A server says something.
    FromServer(SessionId, Vec<Frame>),
    /// A server is gone.
    ServerGone(SessionId),
}

/// A connection of both sides.
#[derive(Debug)]
pub struct Opened {
    /// Its name.
    pub id: SessionId,
    /// The port of the door.
    pub port: u16,
    /// To speak to the client.
    pub client: TcpStream,
    /// To speak to the server.
    pub server: Stream,
    /// The process behind it.
    pub pid: i32,
}

const CANCEL: u32 = 80_877_102;
const SSL: u32 = 80_877_103;
const GSS: u32 = 80_877_104;
const VERSION_3: u32 = 3;
/// A message before the log-in that is longer is none.
const STARTUP_MAX: usize = 10_000;
/// A client that has not logged in after this time is sent away.
const LOGIN_TIME_MAX: Duration = Duration::from_secs(10);
/// So many may be logging in at once.
const LOGINS_MAX: usize = 64;
/// So many may have logged in.
const CLIENTS_MAX: usize = 500;
/// Messages before the start-up message: requests for encryption.
const REQUESTS_MAX: usize = 4;

static SESSIONS: AtomicU64 = AtomicU64::new(1);

impl Door {
    /// Opens a door to what `settings` describe, and puts what happens behind it on a channel.
    pub fn open<E: From<Event> + Send + 'static>(
        settings: &Settings,
        verifier: &Verifier,
        events: &Sender<E>,
    ) -> io::Result<Door> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            settings: Mutex::new(settings.clone()),
            verifier: verifier.clone(),
            closed: AtomicBool::new(false),
            logins: AtomicUsize::new(0),
            clients: AtomicUsize::new(0),
            keys: Mutex::default(),
        });
        let (behind, events) = (shared.clone(), events.clone());
        thread::Builder::new().name(format!("door {port}")).spawn(move || {
            for client in listener.incoming() {
                if behind.closed.load(Ordering::Relaxed) {
                    break;
                }
                let Ok(client) = client else { continue };
                let Some(login) = Counted::one(&behind, |shared| &shared.logins, LOGINS_MAX) else { continue };
                let (behind, events) = (behind.clone(), events.clone());
                // Who cannot be served for want of a thread sees the connection closed.
                let _ = thread::Builder::new().spawn(move || welcome(client, port, &behind, login, &events));
            }
        })?;
        Ok(Door { port, shared })
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on, opens this for who comes in.
    pub fn lead_to(&self, settings: &Settings) {
        *self.shared.settings.lock().unwrap_or_else(PoisonError::into_inner) = settings.clone();
    }
}

impl Shared {
    fn settings(&self) -> Settings {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keys(&self) -> MutexGuard<'_, BTreeSet<(i32, i32)>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of at most so many clients, for as long as this lives.
struct Counted {
    shared: Arc<Shared>,
    among: fn(&Shared) -> &AtomicUsize,
}

impl Counted {
    fn one(shared: &Arc<Shared>, among: fn(&Shared) -> &AtomicUsize, max: usize) -> Option<Counted> {
        let counted = Counted { shared: shared.clone(), among };
        (among(shared).fetch_add(1, Ordering::Relaxed) < max).then_some(counted)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.among)(&self.shared).fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        // Wakes the listener, which then sees that it is over.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

/// One connection, from its first byte to its last.
fn welcome<E: From<Event> + Send>(
    client: TcpStream,
    port: u16,
    shared: &Arc<Shared>,
    login: Counted,
    events: &Sender<E>,
) {
    let mut client = Slow { client, deadline: Instant::now() + LOGIN_TIME_MAX };
    let Ok(Some(hello)) = hello(&mut client, shared) else { return };
    let refusal = match log_in(&mut client, &shared.verifier) {
        Ok(true) => None,
        Ok(false) => Some((
            "28P01",
            "password authentication failed: the password of this run is in PGPASSWORD and DATABASE_URL",
        )),
        Err(_) => return,
    };
    let inside = Counted::one(shared, |shared| &shared.clients, CLIENTS_MAX);
    let refusal = refusal.or(inside.is_none().then_some(("53300", "too many clients of this run")));
    if let Some((code, reason)) = refusal {
        let _ = client.client.write_all(Frame::error("FATAL", code, reason).bytes());
        let _ = events.send(Event::Refused { port, reason: reason.into(), fault: false }.into());
        return;
    }
    drop(login);
    let Slow { mut client, .. } = client;
    if client.set_read_timeout(None).is_err() {
        return;
    }
    let opened = match Connection::open(&hello.settings) {
        Ok(connection) => connection,
        Err(error) => {
            let reason = error.to_string();
            // Who was refused may be gone already.
            let _ = client.write_all(Frame::error("FATAL", "08006", &reason).bytes());
            let fault = Complaint::of(&error).is_none_or(Complaint::is_fault);
            let _ = events.send(Event::Refused { port, reason, fault }.into());
            return;
        }
    };
    // Whatever fails from here on shows as a client that is gone.
    let _ = serve(client, port, shared, opened, events);
}

/// A client that has a limited time to say what it has to say.
struct Slow {
    client: TcpStream,
    deadline: Instant,
}

impl Slow {
    fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < bytes.len() {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.client.set_read_timeout(Some(left))?;
            match self.client.read(&mut bytes[filled..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What an answer about the password says.
    fn answer(&mut self) -> io::Result<Vec<u8>> {
        let mut head = [0; 5];
        self.read_exact(&mut head)?;
        let length = Fields(&head[1..]).int32() as usize;
        if head[0] != b'p' || !(4..STARTUP_MAX).contains(&length) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut body = vec![0; length - 4];
        self.read_exact(&mut body)?;
        Ok(body)
    }

    /// Asks for something, or says how that went.
    fn authentication(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        self.client.write_all(Frame::new(b'R', &[&kind.to_be_bytes(), body].concat()).bytes())
    }
}

/// Whether a client knows the password.
fn log_in(client: &mut Slow, verifier: &Verifier) -> io::Result<bool> {
    const SASL: u32 = 10;
    const SASL_CONTINUE: u32 = 11;
    const SASL_FINAL: u32 = 12;
    client.authentication(SASL, format!("{MECHANISM}\0\0").as_bytes())?;
    let answer = client.answer()?;
    let mut fields = Fields(&answer);
    if fields.text() != MECHANISM {
        return Ok(false);
    }
    let first = String::from_utf8_lossy(fields.value().unwrap_or_default()).into_owned();
    let Some(challenge) = verifier.challenge(&first)? else { return Ok(false) };
    client.authentication(SASL_CONTINUE, challenge.message.as_bytes())?;
    let last = client.answer()?;
    match verifier.accept(&challenge, &String::from_utf8_lossy(&last)) {
        Some(signature) => client.authentication(SASL_FINAL, signature.as_bytes()).map(|()| true),
        None => Ok(false),
    }
}

fn serve<E: From<Event> + Send>(
    mut client: TcpStream,
    port: u16,
    shared: &Shared,
    connection: Connection,
    events: &Sender<E>,
) -> io::Result<()> {
    let id = SessionId(SESSIONS.fetch_add(1, Ordering::Relaxed));
    let server = connection.into_open()?;
    let key = (server.pid, server.secret);
    shared.keys().insert(key);
    let mut greeting = Vec::new();
    greeting.push(Frame::new(b'R', &0u32.to_be_bytes()));
    for (name, value) in &server.parameters {
        greeting.push(Frame::new(b'S', format!("{name}\0{value}\0").as_bytes()));
    }
    greeting.push(Frame::new(b'K', &[key.0.to_be_bytes(), key.1.to_be_bytes()].concat()));
    greeting.push(Frame::new(b'Z', b"I"));
    client.set_nodelay(true)?;
    client.set_write_timeout(Some(SLICE))?;
    let opened = Opened { id, port, client: client.try_clone()?, server: server.stream.try_clone()?, pid: server.pid };
    let replies = server.stream.try_clone()?;
    let gone = |_| io::Error::other("nobody listens");
    events.send(Event::Opened(opened).into()).map_err(gone)?;
    // From here on nothing may end this early: who was said to be open must be said to be gone.
    let greeting: Vec<u8> = greeting.iter().flat_map(|frame| frame.bytes()).copied().collect();
    let _ = client.write_all(&greeting);
    thread::scope(|scope| {
        scope.spawn(|| {
            read_all(replies, FROM_SERVER_MAX, |frames| events.send(Event::FromServer(id, frames).into()).is_ok());
            let _ = events.send(Event::ServerGone(id).into());
        });
        read_all(&client, FROM_CLIENT_MAX, |frames| events.send(Event::FromClient(id, frames).into()).is_ok());
        let _ = events.send(Event::ClientGone(id).into());
    });
    shared.keys().remove(&key);
    let _ = client.shutdown(Shutdown::Both);
    Ok(())
}

/// Passes on all frames until there are no more or nobody wants them.
fn read_all(from: impl Read, length_max: usize, mut pass_on: impl FnMut(Vec<Frame>) -> bool) {
    let mut frames = Frames::of(from, length_max);
    while let Ok(next) = frames.next() {
        if next.is_empty() || !pass_on(next) {
            break;
        }
    }
}

/// What a client says first.
struct Hello {
    settings: Settings,
}

/// Reads start-up messages until there is one that wants a session; none if the client wanted something else.
fn hello(client: &mut Slow, shared: &Shared) -> io::Result<Option<Hello>> {
    for _ in 0..REQUESTS_MAX {
        let mut head = [0; 8];
        client.read_exact(&mut head)?;
        let mut fields = Fields(&head);
        let (length, code) = (fields.int32() as usize, fields.int32() as u32);
        if !(8..STARTUP_MAX).contains(&length) {
            return Ok(None);
        }
        let mut rest = vec![0; length - 8];
        client.read_exact(&mut rest)?;
        match code {
            SSL | GSS => client.client.write_all(b"N")?,
            CANCEL => {
                let mut fields = Fields(&rest);
                let known = shared.keys().contains(&(fields.int32(), fields.int32()));
                return if known { cancel(&head, &rest, &shared.settings()).map(|()| None) } else { Ok(None) };
            }
            _ if code >> 16 == VERSION_3 => {
                if code & 0xffff > 0 {
                    // Newest minor version spoken here: 0; no option was understood.
                    client.client.write_all(Frame::new(b'v', &[0; 8]).bytes())?;
                }
                return Ok(Some(Hello { settings: with_wishes(&shared.settings(), &rest) }));
            }
            _ => {
                let refusal = "this is PostgreSQL's protocol 3, and nothing else is spoken here";
                client.client.write_all(Frame::error("FATAL", "08P01", refusal).bytes())?;
                return Ok(None);
            }
        }
    }
    Ok(None)
}

/// Passes a cancel request on. Clients were given the server's own keys, so it is for the right session.
fn cancel(head: &[u8], rest: &[u8], settings: &Settings) -> io::Result<()> {
    let mut server = Stream::connect(settings)?;
    server.write_all(&[head, rest].concat())?;
    // The server closes when it has passed the request on.
    server.set_read_timeout(Some(settings.connect_timeout))?;
    server.read(&mut [0; 1]).map(drop)
}

/// The settings, with those of the session that the client wishes for.
fn with_wishes(settings: &Settings, wishes: &[u8]) -> Settings {
    let mut settings = settings.clone();
    let mut fields = Fields(wishes);
    let mut options = Vec::new();
    loop {
        let (name, value) = (fields.text(), fields.text());
        match &*name {
            "" => break,
            // Ours, whatever they are called there; and everything is UTF-8.
            "user" | "database" | "client_encoding" | "replication" => {}
            "application_name" => settings.application_name = value,
            "options" => options.push(value),
            extension if extension.starts_with("_pq_.") => {}
            setting => options.push(format!("-c {setting}={}", escaped(&value))),
        }
    }
    // Isolde's own come last, and win.
    let own = std::mem::take(&mut settings.options);
    settings.with_options(&options.join(" ")).with_options(&own)
}

/// As it is written in `options`, where a space ends a word.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace(' ', "\\ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_become_options_and_the_database_stays() {
        let settings =
            Settings::parse("postgres://ann@/own?host=/x&options=-c%20a%3D1", |_| None).expect("it is a URL");
        let wishes = b"user\0bob\0database\0shop\0DateStyle\0ISO, MDY\0application_name\0web\0options\0-c b=2\0\0";
        let opened = with_wishes(&settings, wishes);
        assert_eq!(opened.to_string(), "postgres://ann@/own?host=/x&port=5432");
        assert_eq!(opened.options, "-c DateStyle=ISO,\\ MDY -c b=2 -c a=1");
        assert_eq!(opened.application_name, "web");
    }
}
