//! Doors: ports of this machine by which applications come in.
//!
//! Who connects is asked for nothing. Their start-up message says a user and a database; what is opened behind the door is
//! the one database that the check is about, as the user of the server's URL. Session settings that a driver sends along
//! (`TimeZone`, `extra_float_digits`, `options`) are passed on.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use isolde_wire::{Connection, Settings, Stream};

use super::frame::{Fields, Frame, Frames};
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
    closed: AtomicBool,
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
/// A start-up message that is longer is none.
const STARTUP_MAX: usize = 10_000;

static SESSIONS: AtomicU64 = AtomicU64::new(1);

impl Door {
    /// Opens a door to what `settings` describe, and puts what happens behind it on a channel.
    pub fn open<E: From<Event> + Send + 'static>(settings: &Settings, events: &Sender<E>) -> io::Result<Door> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared { settings: Mutex::new(settings.clone()), closed: AtomicBool::new(false) });
        let (behind, events) = (shared.clone(), events.clone());
        thread::Builder::new().name(format!("door {port}")).spawn(move || {
            for client in listener.incoming() {
                if behind.closed.load(Ordering::Relaxed) {
                    break;
                }
                let Ok(client) = client else { continue };
                let (settings, events) = (behind.settings(), events.clone());
                // Who cannot be served for want of a thread sees the connection closed.
                let _ = thread::Builder::new().spawn(move || welcome(client, port, &settings, &events));
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
}

impl Drop for Door {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        // Wakes the listener, which then sees that it is over.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

/// One connection, from its first byte to its last.
fn welcome<E: From<Event> + Send>(mut client: TcpStream, port: u16, settings: &Settings, events: &Sender<E>) {
    let Ok(Some(hello)) = hello(&mut client, settings) else { return };
    let opened = match Connection::open(&hello.settings) {
        Ok(connection) => connection,
        Err(error) => {
            let reason = error.to_string();
            // Who was refused may be gone already.
            let _ = client.write_all(Frame::error("FATAL", "08006", &reason).bytes());
            let _ = events.send(Event::Refused { port, reason }.into());
            return;
        }
    };
    // Whatever fails from here on shows as a client that is gone.
    let _ = serve(client, port, opened, hello.minor, events);
}

fn serve<E: From<Event> + Send>(
    mut client: TcpStream,
    port: u16,
    connection: Connection,
    minor: u16,
    events: &Sender<E>,
) -> io::Result<()> {
    let id = SessionId(SESSIONS.fetch_add(1, Ordering::Relaxed));
    let server = connection.into_open()?;
    let mut greeting = Vec::new();
    if minor > 0 {
        // Newest minor version spoken here: 0; no option was understood.
        greeting.push(Frame::new(b'v', &[0; 8]));
    }
    greeting.push(Frame::new(b'R', &0u32.to_be_bytes()));
    for (name, value) in &server.parameters {
        greeting.push(Frame::new(b'S', format!("{name}\0{value}\0").as_bytes()));
    }
    let key: Vec<u8> = [server.pid.to_be_bytes(), server.secret.to_be_bytes()].concat();
    greeting.push(Frame::new(b'K', &key));
    greeting.push(Frame::new(b'Z', b"I"));
    client.set_nodelay(true)?;
    let opened = Opened { id, port, client: client.try_clone()?, server: server.stream.try_clone()?, pid: server.pid };
    let replies = server.stream.try_clone()?;
    let gone = |_| io::Error::other("nobody listens");
    events.send(Event::Opened(opened).into()).map_err(gone)?;
    // From here on nothing may end this early: who was said to be open must be said to be gone.
    let greeting: Vec<u8> = greeting.iter().flat_map(|frame| frame.bytes()).copied().collect();
    let _ = client.write_all(&greeting);
    thread::scope(|scope| {
        scope.spawn(|| {
            read_all(replies, |frames| events.send(Event::FromServer(id, frames).into()).is_ok());
            let _ = events.send(Event::ServerGone(id).into());
        });
        read_all(&client, |frames| events.send(Event::FromClient(id, frames).into()).is_ok());
        let _ = events.send(Event::ClientGone(id).into());
    });
    let _ = client.shutdown(Shutdown::Both);
    Ok(())
}

/// Passes on all frames until there are no more or nobody wants them.
fn read_all(from: impl Read, mut pass_on: impl FnMut(Vec<Frame>) -> bool) {
    let mut frames = Frames::of(from);
    while let Ok(next) = frames.next() {
        if next.is_empty() || !pass_on(next) {
            break;
        }
    }
}

/// What a client says first.
struct Hello {
    settings: Settings,
    /// Of the protocol that it would like to speak.
    minor: u16,
}

/// Reads start-up messages until there is one that wants a session; none if the client wanted something else.
fn hello(client: &mut TcpStream, settings: &Settings) -> io::Result<Option<Hello>> {
    loop {
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
            SSL | GSS => client.write_all(b"N")?,
            CANCEL => return cancel(&head, &rest, settings).map(|()| None),
            _ if code >> 16 == VERSION_3 => {
                return Ok(Some(Hello { settings: with_wishes(settings, &rest), minor: code as u16 }));
            }
            _ => {
                let refusal = "this is PostgreSQL's protocol 3, and nothing else is spoken here";
                client.write_all(Frame::error("FATAL", "08P01", refusal).bytes())?;
                return Ok(None);
            }
        }
    }
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
