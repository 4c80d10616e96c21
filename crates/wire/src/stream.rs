//! A socket of either kind.
//!
//! Whoever writes may have to wait, too: a server that does not read fills the buffers. So a write waits for a slice at
//! a time, and its [`Patience`] is asked in between. Connecting cannot be cut into slices (names are looked up,
//! certificates are exchanged), so it is done by a thread of its own, which is left alone when patience ends.

use std::io::{self, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::patience::SLICE;
use crate::tls::{self, TlsStream};
use crate::{Patience, Place, Settings};

/// A connected socket.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    /// How long writing waits.
    patience: Patience,
}

#[derive(Debug)]
enum Socket {
    /// Over TCP, without delay.
    Tcp(TcpStream),
    /// The same, encrypted.
    Tls(TlsStream),
    /// Within this machine.
    Unix(UnixStream),
}

/// Does something that may take long, until it is done or patience ends.
fn patiently<T: Send + 'static>(
    patience: &Patience,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    patience.check()?;
    let (sender, done) = channel();
    // Who gave up does not hear of it.
    thread::Builder::new().name("connect".into()).spawn(move || drop(sender.send(work())))?;
    loop {
        match done.recv_timeout(SLICE) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) => patience.check()?,
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("connecting has panicked")),
        }
    }
}

impl Stream {
    /// Connects to where a server listens.
    pub fn connect(settings: &Settings) -> io::Result<Stream> {
        let to = settings.clone();
        let socket = patiently(&settings.patience, move || Socket::connect(&to))?;
        Stream::of(socket, settings)
    }

    /// Connects as the settings want it encrypted; whether it is so. What they leave open is decided by `encrypt`.
    pub(crate) fn connect_for(settings: &Settings, encrypt: bool) -> io::Result<(Stream, bool)> {
        let to = settings.clone();
        let (socket, encrypted) = patiently(&settings.patience, move || Socket::connect_for(&to, encrypt))?;
        Ok((Stream::of(socket, settings)?, encrypted))
    }

    fn of(socket: Socket, settings: &Settings) -> io::Result<Stream> {
        socket.set_write_timeout(SLICE)?;
        Ok(Stream { socket, patience: settings.patience.clone() })
    }

    /// Writes everything, as long as there is patience.
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.socket {
            Socket::Tcp(stream) => self.patience.write_all(stream, bytes),
            Socket::Tls(stream) => self.patience.write_all(stream, bytes),
            Socket::Unix(stream) => self.patience.write_all(stream, bytes),
        }
    }

    /// How long writing waits.
    pub fn patience(&self) -> &Patience {
        &self.patience
    }

    /// From now on writing waits so long.
    pub(crate) fn set_patience(&mut self, patience: Patience) {
        self.patience = patience;
    }

    /// Whether something has arrived that waiting for the socket would miss.
    pub(crate) fn has_pending(&self) -> bool {
        matches!(&self.socket, Socket::Tls(stream) if stream.has_pending())
    }

    /// The same socket, to be read by somebody else.
    pub fn try_clone(&self) -> io::Result<Stream> {
        let socket = match &self.socket {
            Socket::Tcp(stream) => stream.try_clone().map(Socket::Tcp)?,
            Socket::Tls(stream) => Socket::Tls(stream.clone()),
            Socket::Unix(stream) => stream.try_clone().map(Socket::Unix)?,
        };
        Ok(Stream { socket, patience: self.patience.clone() })
    }

    /// How long reading waits; `None` is for ever.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match &self.socket {
            Socket::Tcp(stream) => stream.set_read_timeout(timeout),
            Socket::Tls(stream) => stream.set_read_timeout(timeout),
            Socket::Unix(stream) => stream.set_read_timeout(timeout),
        }
    }

    /// Ends both directions, so that whoever reads from it sees the end.
    pub fn shutdown(&self) {
        // Gone already is as good.
        let _ = match &self.socket {
            Socket::Tcp(stream) => stream.shutdown(std::net::Shutdown::Both),
            Socket::Tls(stream) => stream.shutdown(),
            Socket::Unix(stream) => stream.shutdown(std::net::Shutdown::Both),
        };
    }
}

impl Socket {
    fn connect(settings: &Settings) -> io::Result<Socket> {
        match &settings.place {
            Place::Unix(directory, port) => {
                UnixStream::connect(directory.join(format!(".s.PGSQL.{port}"))).map(Socket::Unix)
            }
            Place::Tcp(host, port) => {
                let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
                for address in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, settings.connect_timeout) {
                        Ok(stream) => {
                            stream.set_nodelay(true)?;
                            return Ok(Socket::Tcp(stream));
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    fn connect_for(settings: &Settings, encrypt: bool) -> io::Result<(Socket, bool)> {
        let encryption = &settings.encryption;
        match (Socket::connect(settings)?, &settings.place) {
            (Socket::Tcp(mut socket), Place::Tcp(host, _)) if encrypt => {
                match tls::ask(&mut socket, settings.connect_timeout)? {
                    b'S' => {
                        let stream = TlsStream::start(socket, host, encryption, settings.connect_timeout)?;
                        Ok((Socket::Tls(stream), true))
                    }
                    _ if encryption.mode.insists() => {
                        Err(io::Error::other("the server does not encrypt, and sslmode insists on it"))
                    }
                    _ => Ok((Socket::Tcp(socket), false)),
                }
            }
            (socket, _) => Ok((socket, false)),
        }
    }

    fn set_write_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_write_timeout(Some(timeout)),
            Socket::Tls(stream) => stream.set_write_timeout(Some(timeout)),
            Socket::Unix(stream) => stream.set_write_timeout(Some(timeout)),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.socket {
            Socket::Tcp(stream) => stream.read(buffer),
            Socket::Tls(stream) => stream.read(buffer),
            Socket::Unix(stream) => stream.read(buffer),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Tls(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }
}
