//! Encryption, as far as a client of PostgreSQL needs it.
//!
//! A client asks for it before anything else (`SSLRequest`), and the server answers with one letter: `S`, and both go
//! on by TLS, or `N`, and they do not. Which answers will do is what `sslmode` says, in libpq's words:
//!
//! | `sslmode` | encrypted | the server's certificate |
//! |---|---|---|
//! | `disable` | never | |
//! | `allow` | if the server refuses otherwise | any |
//! | `prefer`, the default | if the server can | any |
//! | `require` | always | any; as `verify-ca` if `sslrootcert` is given |
//! | `verify-ca` | always | signed by one of `sslrootcert` |
//! | `verify-full` | always | and made out to the host |
//!
//! A certificate that stands in `sslrootcert` itself is trusted as it is, as libpq does: most servers that sign for
//! themselves have one that is called an authority, and nobody else has signed it. (Its dates are not looked at; its
//! name is, for `verify-full`.)
//!
//! `sslcert` and `sslkey` are shown to a server that asks who we are.
//!
//! A connection is read by one thread and written by another in the proxy. So the state of TLS is shared, and nobody
//! holds it while waiting for the network.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

/// Whether a session is encrypted, and whom it trusts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encryption {
    /// When it is.
    pub mode: Mode,
    /// The certificates that sign others, in PEM.
    pub root: Option<PathBuf>,
    /// Our own certificate and those that signed it, in PEM.
    pub certificate: Option<PathBuf>,
    /// The key of our own certificate, in PEM.
    pub key: Option<PathBuf>,
}

/// When a session is encrypted: libpq's `sslmode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Mode {
    Disable,
    Allow,
    #[default]
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl Mode {
    /// All of them, by libpq's names.
    pub const ALL: [(&'static str, Mode); 6] = [
        ("disable", Mode::Disable),
        ("allow", Mode::Allow),
        ("prefer", Mode::Prefer),
        ("require", Mode::Require),
        ("verify-ca", Mode::VerifyCa),
        ("verify-full", Mode::VerifyFull),
    ];

    /// Whether a session that is not encrypted will not do.
    pub(crate) fn insists(self) -> bool {
        matches!(self, Mode::Require | Mode::VerifyCa | Mode::VerifyFull)
    }
}

/// An encrypted socket.
#[derive(Clone)]
pub struct TlsStream {
    socket: Arc<TcpStream>,
    session: Arc<Mutex<ClientConnection>>,
    /// Held while something is encrypted and sent, so that records are sent in order.
    writing: Arc<Mutex<Unsent>>,
}

/// Records for which there was no room yet, and how many bytes they encrypt.
#[derive(Default)]
struct Unsent {
    records: Vec<u8>,
    bytes: usize,
}

impl std::fmt::Debug for TlsStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TlsStream({:?})", self.socket)
    }
}

/// Asks the server whether it can; the letter it answers with.
pub(crate) fn ask(socket: &mut TcpStream, patience: Duration) -> io::Result<u8> {
    const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
    socket.write_all(&SSL_REQUEST)?;
    let mut answer = [0];
    socket.set_read_timeout(Some(patience))?;
    socket.read_exact(&mut answer)?;
    socket.set_read_timeout(None)?;
    Ok(answer[0])
}

impl TlsStream {
    /// Goes on by TLS on a socket whose server has agreed to.
    pub(crate) fn start(
        mut socket: TcpStream,
        host: &str,
        encryption: &Encryption,
        patience: Duration,
    ) -> io::Result<TlsStream> {
        let name = ServerName::try_from(host.to_string())
            .map_err(|_| io::Error::other(format!("{host} is no name that a certificate could be made out to")))?;
        let mut session = ClientConnection::new(Arc::new(config(encryption)?), name).map_err(io::Error::other)?;
        socket.set_read_timeout(Some(patience))?;
        while session.is_handshaking() {
            session.complete_io(&mut socket).map_err(|error| io::Error::other(format!("no TLS: {error}")))?;
        }
        socket.set_read_timeout(None)?;
        Ok(TlsStream { socket: Arc::new(socket), session: Arc::new(Mutex::new(session)), writing: Arc::default() })
    }

    /// Whether something has arrived and been decrypted that was not read yet: the socket would not tell.
    pub(crate) fn has_pending(&self) -> bool {
        self.session().process_new_packets().is_ok_and(|state| state.plaintext_bytes_to_read() > 0)
    }

    pub(crate) fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.set_write_timeout(timeout)
    }

    pub(crate) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(timeout)
    }

    pub(crate) fn shutdown(&self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Both)
    }

    fn session(&self) -> MutexGuard<'_, ClientConnection> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was decrypted and not read; none if that is nothing.
    fn read_decrypted(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.session().reader().read(buffer) {
            Ok(count) => Ok(Some(count)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Read for TlsStream {
    /// Reads what there is. What has arrived may be less than a record: then it is
    /// [interrupted](io::ErrorKind::Interrupted), and whoever has patience left reads again.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(count) = self.read_decrypted(buffer)? {
            return Ok(count);
        }
        let mut chunk = [0; 8 << 10];
        let count = (&*self.socket).read(&mut chunk)?;
        if count == 0 {
            return Ok(0);
        }
        let mut arrived = &chunk[..count];
        {
            let mut session = self.session();
            while !arrived.is_empty() {
                session.read_tls(&mut arrived)?;
                session.process_new_packets().map_err(io::Error::other)?;
            }
        }
        self.read_decrypted(buffer)?.ok_or_else(|| io::ErrorKind::Interrupted.into())
    }
}

impl Write for TlsStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut unsent = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if unsent.records.is_empty() {
            let mut session = self.session();
            unsent.bytes = session.writer().write(bytes)?;
            while session.wants_write() {
                session.write_tls(&mut unsent.records)?;
            }
        }
        // What finds no room is encrypted already: who tries again goes on with it.
        while !unsent.records.is_empty() {
            match (&*self.socket).write(&unsent.records)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => drop(unsent.records.drain(..count)),
            }
        }
        Ok(unsent.bytes.min(bytes.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for TlsStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn config(encryption: &Encryption) -> io::Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match (encryption.mode, &encryption.root) {
        (Mode::VerifyFull, Some(root)) => Arc::new(signed_by(root, &provider, true)?),
        (Mode::VerifyCa | Mode::Require, Some(root)) => Arc::new(signed_by(root, &provider, false)?),
        (Mode::VerifyFull | Mode::VerifyCa, None) => {
            return Err(io::Error::other("sslrootcert=FILE must say whose signatures are trusted"));
        }
        _ => Arc::new(Anybody(provider.clone())),
    };
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(io::Error::other)?.dangerous().with_custom_certificate_verifier(verifier);
    match (&encryption.certificate, &encryption.key) {
        (None, None) => Ok(config.with_no_client_auth()),
        (Some(certificate), Some(key)) => {
            let chain = certificates(certificate)?;
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
            config.with_client_auth_cert(chain, key).map_err(|error| unreadable(certificate, &error))
        }
        _ => Err(io::Error::other("sslcert and sslkey go together")),
    }
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

/// The certificates of a file.
fn certificates(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let all = CertificateDer::pem_file_iter(path).map_err(|error| unreadable(path, &error))?;
    all.map(|certificate| certificate.map_err(|error| unreadable(path, &error))).collect()
}

/// Checks everything, against the certificates of a file.
fn signed_by(root: &Path, provider: &Arc<CryptoProvider>, named: bool) -> io::Result<SignedFor> {
    let trusted = certificates(root)?;
    let mut roots = RootCertStore::empty();
    for certificate in &trusted {
        roots.add(certificate.clone()).map_err(|error| unreadable(root, &error))?;
    }
    let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
    Ok(SignedFor { chains: built.map_err(|error| unreadable(root, &error))?, trusted, named })
}

/// Trusts whoever is signed for.
#[derive(Debug)]
struct SignedFor {
    chains: Arc<WebPkiServerVerifier>,
    /// Trusted as they are.
    trusted: Vec<CertificateDer<'static>>,
    /// Under the name of the host only.
    named: bool,
}

impl ServerCertVerifier for SignedFor {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        use CertificateError as Why;
        if self.trusted.iter().any(|trusted| trusted == end_entity) {
            if self.named {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        match self.chains.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(Why::NotValidForName | Why::NotValidForNameContext { .. }))
                if !self.named =>
            {
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}

/// Trusts whoever is there: `require` asks for encryption, not for a name.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
