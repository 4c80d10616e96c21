//! A socket of either kind.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::tls::{self, TlsStream};
use crate::{Place, Settings};

/// A connected socket.
#[derive(Debug)]
pub enum Stream {
    /// Over TCP, without delay.
    Tcp(TcpStream),
    /// The same, encrypted.
    Tls(TlsStream),
    /// Within this machine.
    Unix(UnixStream),
}

impl Stream {
    /// Connects to where a server listens.
    pub fn connect(settings: &Settings) -> io::Result<Stream> {
        match &settings.place {
            Place::Unix(directory, port) => {
                UnixStream::connect(directory.join(format!(".s.PGSQL.{port}"))).map(Stream::Unix)
            }
            Place::Tcp(host, port) => {
                let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
                for address in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, settings.connect_timeout) {
                        Ok(stream) => {
                            stream.set_nodelay(true)?;
                            return Ok(Stream::Tcp(stream));
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    /// Connects as the settings want it encrypted; whether it is so. What they leave open is decided by `encrypt`.
    pub(crate) fn connect_for(settings: &Settings, encrypt: bool) -> io::Result<(Stream, bool)> {
        let encryption = &settings.encryption;
        match (Stream::connect(settings)?, &settings.place) {
            (Stream::Tcp(mut socket), Place::Tcp(host, _)) if encrypt => {
                match tls::ask(&mut socket, settings.connect_timeout)? {
                    b'S' => {
                        let stream = TlsStream::start(socket, host, encryption, settings.connect_timeout)?;
                        Ok((Stream::Tls(stream), true))
                    }
                    _ if encryption.mode.insists() => {
                        Err(io::Error::other("the server does not encrypt, and sslmode insists on it"))
                    }
                    _ => Ok((Stream::Tcp(socket), false)),
                }
            }
            (stream, _) => Ok((stream, false)),
        }
    }

    /// Whether something has arrived that waiting for the socket would miss.
    pub(crate) fn has_pending(&self) -> bool {
        matches!(self, Stream::Tls(stream) if stream.has_pending())
    }

    /// The same socket, to be read by somebody else.
    pub fn try_clone(&self) -> io::Result<Stream> {
        match self {
            Stream::Tcp(stream) => stream.try_clone().map(Stream::Tcp),
            Stream::Tls(stream) => Ok(Stream::Tls(stream.clone())),
            Stream::Unix(stream) => stream.try_clone().map(Stream::Unix),
        }
    }

    /// Whether reading waits.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_nonblocking(nonblocking),
            Stream::Tls(stream) => stream.set_nonblocking(nonblocking),
            Stream::Unix(stream) => stream.set_nonblocking(nonblocking),
        }
    }

    /// How long reading waits; `None` is for ever.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_read_timeout(timeout),
            Stream::Tls(stream) => stream.set_read_timeout(timeout),
            Stream::Unix(stream) => stream.set_read_timeout(timeout),
        }
    }

    /// Ends both directions, so that whoever reads from it sees the end.
    pub fn shutdown(&self) {
        // Gone already is as good.
        let _ = match self {
            Stream::Tcp(stream) => stream.shutdown(std::net::Shutdown::Both),
            Stream::Tls(stream) => stream.shutdown(),
            Stream::Unix(stream) => stream.shutdown(std::net::Shutdown::Both),
        };
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Tls(stream) => stream.read(buffer),
            Stream::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Tls(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.flush(),
            Stream::Tls(stream) => stream.flush(),
            Stream::Unix(stream) => stream.flush(),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Tls(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }
}
