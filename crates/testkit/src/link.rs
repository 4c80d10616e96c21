//! A way to a server on which things go wrong, on purpose and by a seed.
//!
//! A [`Link`] listens at a port and passes every message on, in both directions and of all connections, counting them.
//! A [`Plan`] says what happens to which of them:
//!
//! ```text
//!   client ══▶ port ── 0 1 2 3 4 ... ══▶ server          Plan { faults: [(3, Swallow), (17, Cut)] }
//!                          │ what becomes of message 3?
//! ```
//!
//! So each message of a run can be the one that is late, lost or the last. Which message has which number depends on
//! how threads are scheduled, so a plan that is followed twice may hit a neighbour; what must hold, must hold for all.
//! Nothing is made up: whatever arrives, the other side has sent.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use isolde_wire::{Encryption, Mode, Place, Settings};

use crate::cluster::Cluster;
use crate::generate::Dice;

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It arrives so many milliseconds later.
    Late(u16),
    /// It does not arrive, and neither does anything after it: the other side is silent.
    Swallow,
    /// Half of it arrives, then the connection is closed.
    Truncate,
    /// The connection is closed instead, without a word.
    Cut,
    /// It arrives, and an operator ends the process of the server.
    Terminate,
    /// It arrives, but from now on nobody is let in.
    Refuse,
}

/// Every kind of fault; late ones with the longest delay.
pub const FAULTS: &[Fault] =
    &[Fault::Late(LATE_MAX), Fault::Swallow, Fault::Truncate, Fault::Cut, Fault::Terminate, Fault::Refuse];

/// Longer than any moment after which something is taken to wait.
const LATE_MAX: u16 = 120;

/// What happens to which message.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// By number, in order.
    pub faults: Vec<(u64, Fault)>,
}

impl Plan {
    /// One to three faults among so many messages.
    pub fn of_seed(seed: u64, messages: u64) -> Plan {
        let mut dice = Dice::new(seed);
        let count = 1 + dice.below(3);
        let fault = |dice: &mut Dice| {
            let at = dice.below(usize::try_from(messages).unwrap_or(usize::MAX).max(1)) as u64;
            let fault = match FAULTS[dice.below(FAULTS.len())] {
                Fault::Late(most) => Fault::Late(1 + dice.below(usize::from(most)) as u16),
                fault => fault,
            };
            (at, fault)
        };
        let mut faults: Vec<(u64, Fault)> = (0..count).map(|_| fault(&mut dice)).collect();
        faults.sort_by_key(|(at, _)| *at);
        Plan { faults }
    }
}

/// A port that leads to a server.
#[derive(Debug)]
pub struct Link {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    cluster: Arc<Cluster>,
    messages: AtomicU64,
    plan: Mutex<Plan>,
    /// Faults that have happened.
    hit: Mutex<Vec<(u64, Fault)>>,
    refusing: AtomicBool,
    closed: AtomicBool,
}

impl Link {
    /// Opens a link on which nothing goes wrong yet.
    pub fn to(cluster: Arc<Cluster>) -> io::Result<Link> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            cluster,
            messages: AtomicU64::new(0),
            plan: Mutex::default(),
            hit: Mutex::default(),
            refusing: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        });
        let behind = shared.clone();
        thread::Builder::new().name("link".into()).spawn(move || {
            for client in listener.incoming().flatten() {
                if behind.closed.load(Ordering::Relaxed) {
                    break;
                }
                if !behind.refusing.load(Ordering::Relaxed) {
                    // Who cannot be served sees the connection closed, which is a fault as good as any.
                    let _ = behind.connect(client);
                }
            }
        })?;
        Ok(Link { port, shared })
    }

    /// How to reach a database of the server by it, as superuser.
    pub fn settings(&self, database: &str) -> Settings {
        Settings {
            place: Place::Tcp("127.0.0.1".into(), self.port),
            encryption: Encryption { mode: Mode::Disable, ..Encryption::default() },
            ..self.shared.cluster.settings(database)
        }
    }

    /// From now on messages are counted anew, and this happens.
    pub fn begin(&self, plan: Plan) {
        *self.shared.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan;
        self.shared.refusing.store(false, Ordering::Relaxed);
        self.shared.messages.store(0, Ordering::Relaxed);
    }

    /// Whether something has gone wrong already; asked from anywhere.
    pub fn watch(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let shared = self.shared.clone();
        move || !shared.hit.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// From now on nothing goes wrong: how many messages there were, and what has happened to them.
    pub fn end(&self) -> (u64, Vec<(u64, Fault)>) {
        let messages = self.shared.messages.load(Ordering::Relaxed);
        self.begin(Plan::default());
        let hit = std::mem::take(&mut *self.shared.hit.lock().unwrap_or_else(PoisonError::into_inner));
        (messages, hit)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        // Wakes the listener, which then sees that it is over.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

/// Both ends of a connection.
struct Ends {
    client: TcpStream,
    server: UnixStream,
    /// The server's process, once it has said so.
    pid: AtomicI32,
    /// Nothing is passed on any more.
    silent: AtomicBool,
}

impl Ends {
    fn close(&self) {
        // Gone already is as good.
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }
}

impl Shared {
    fn connect(self: &Arc<Shared>, client: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        let Place::Unix(directory, port) = self.cluster.settings("").place else { return Ok(()) };
        let server = UnixStream::connect(directory.join(format!(".s.PGSQL.{port}")))?;
        let ends = Arc::new(Ends { client, server, pid: AtomicI32::new(0), silent: AtomicBool::new(false) });
        let (there, back) = ((self.clone(), ends.clone()), (self.clone(), ends));
        thread::Builder::new().spawn(move || there.0.pass(&there.1, &there.1.client, &there.1.server, true))?;
        thread::Builder::new().spawn(move || back.0.pass(&back.1, &back.1.server, &back.1.client, false))?;
        Ok(())
    }

    /// Passes messages on until one side closes, then closes the other. The first message of a client has no letter.
    fn pass(&self, ends: &Ends, mut from: impl Read, mut to: impl Write, mut is_first: bool) {
        while let Ok(message) = read_message(&mut from, std::mem::take(&mut is_first)) {
            if message[0] == b'K'
                && let Some(pid) = message.get(5..9).and_then(|bytes| bytes.try_into().ok())
            {
                ends.pid.store(i32::from_be_bytes(pid), Ordering::Relaxed);
            }
            let passed = match self.fate() {
                _ if ends.silent.load(Ordering::Relaxed) => Ok(()),
                Some(Fault::Late(milliseconds)) => {
                    thread::sleep(Duration::from_millis(milliseconds.into()));
                    to.write_all(&message)
                }
                Some(Fault::Swallow) => {
                    ends.silent.store(true, Ordering::Relaxed);
                    Ok(())
                }
                Some(Fault::Truncate) => {
                    let _ = to.write_all(&message[..message.len() / 2]);
                    Err(io::ErrorKind::ConnectionAborted.into())
                }
                Some(Fault::Cut) => Err(io::ErrorKind::ConnectionAborted.into()),
                Some(Fault::Terminate) => {
                    let passed = to.write_all(&message);
                    self.terminate(ends.pid.load(Ordering::Relaxed));
                    passed
                }
                Some(Fault::Refuse) => {
                    self.refusing.store(true, Ordering::Relaxed);
                    to.write_all(&message)
                }
                None => to.write_all(&message),
            };
            if passed.is_err() {
                break;
            }
        }
        ends.close();
    }

    /// Counts a message, and says what becomes of it.
    fn fate(&self) -> Option<Fault> {
        let number = self.messages.fetch_add(1, Ordering::Relaxed);
        let plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = plan.faults.iter().find(|(at, _)| *at == number).map(|(_, fault)| *fault)?;
        self.hit.lock().unwrap_or_else(PoisonError::into_inner).push((number, fault));
        Some(fault)
    }

    fn terminate(&self, pid: i32) {
        if pid != 0
            && let Ok(mut operator) = self.cluster.connect("postgres", "")
        {
            let _ = operator.query(&format!("SELECT pg_terminate_backend({pid})"));
        }
    }
}

/// One message, whole: a letter, unless it is the first of a client, and a length that counts itself.
fn read_message(from: &mut impl Read, is_first: bool) -> io::Result<Vec<u8>> {
    let mut message = vec![0; if is_first { 4 } else { 5 }];
    from.read_exact(&mut message)?;
    let length = message.last_chunk::<4>().map_or(0, |bytes| u32::from_be_bytes(*bytes)) as usize;
    let rest = length.checked_sub(4).ok_or(io::ErrorKind::InvalidData)?;
    from.take(rest as u64).read_to_end(&mut message)?;
    Ok(message)
}
