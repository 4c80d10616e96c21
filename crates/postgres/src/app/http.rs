//! Just enough HTTP to send a request to a server on this machine and read what it answers.
//!
//! One connection per request, closed after it: no thread of the application waits for a next one. Bodies end with the
//! connection, after their length, or in chunks.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::file::Request;

/// What a server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    /// The status: 200.
    pub(super) status: u16,
    /// The body, as text.
    pub(super) body: String,
}

/// How long to wait for a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// Sends a request whose URL is complete, and waits for the whole answer.
pub(super) fn send(request: &Request, url: &str) -> io::Result<Reply> {
    let mut stream = connect(url)?;
    stream.write_all(&written(request, url)?)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    parse(&answer).ok_or_else(|| io::Error::other("the server's answer is not HTTP"))
}

/// Connects to where a URL points, so that who holds the stream can end it.
fn connect(url: &str) -> io::Result<TcpStream> {
    let (host, _) = parts(url)?;
    let mut last = io::Error::other(format!("{host} has no address"));
    for address in with_port(host).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn with_port(host: &str) -> String {
    if host.contains(':') { host.to_string() } else { format!("{host}:80") }
}

/// Host and path.
fn parts(url: &str) -> io::Result<(&str, &str)> {
    let rest = url.strip_prefix("http://");
    let rest = rest.ok_or_else(|| io::Error::other(format!("{url}: only http:// is spoken here")))?;
    Ok(rest.find('/').map_or((rest, "/"), |at| rest.split_at(at)))
}

fn written(request: &Request, url: &str) -> io::Result<Vec<u8>> {
    let (host, path) = parts(url)?;
    let body = request.body.as_deref().unwrap_or_default();
    let mut head = format!("{} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n", request.method());
    let given = |name: &str| request.headers.keys().any(|key| key.eq_ignore_ascii_case(name));
    for (name, value) in &request.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if request.body.is_some() {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        if !given("content-type") {
            let json = body.trim_start().starts_with(['{', '[']);
            let kind = if json { "application/json" } else { "application/x-www-form-urlencoded" };
            head.push_str(&format!("Content-Type: {kind}\r\n"));
        }
    } else if request.method() != "GET" {
        head.push_str("Content-Length: 0\r\n");
    }
    head.push_str("\r\n");
    Ok([head.as_bytes(), body.as_bytes()].concat())
}

fn parse(answer: &[u8]) -> Option<Reply> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..end]);
    let status = head.strip_prefix("HTTP/")?.split(' ').nth(1)?.parse().ok()?;
    let chunked = head.lines().any(|line| {
        let line = line.to_ascii_lowercase();
        line.starts_with("transfer-encoding:") && line.contains("chunked")
    });
    let body = &answer[end + 4..];
    let body = if chunked { joined(body) } else { body.to_vec() };
    Some(Reply { status, body: String::from_utf8_lossy(&body).into_owned() })
}

/// Chunks, each behind its length in hexadecimal digits.
fn joined(mut chunks: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = chunks.windows(2).position(|window| window == b"\r\n") {
        let line = String::from_utf8_lossy(&chunks[..end]);
        let length = line.split(';').next().and_then(|digits| usize::from_str_radix(digits.trim(), 16).ok());
        let Some(length) = length.filter(|length| *length > 0) else { break };
        let from = end + 2;
        body.extend_from_slice(chunks.get(from..from + length).unwrap_or_default());
        chunks = chunks.get(from + length + 2..).unwrap_or_default();
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let plain = parse(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok");
        assert_eq!(plain, Some(Reply { status: 201, body: "ok".into() }));
        let chunked = parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n");
        assert_eq!(chunked, Some(Reply { status: 200, body: "abcde".into() }));
        assert_eq!(parse(b"SSH-2.0"), None);
    }

    #[test]
    fn requests_are_written() {
        let request: Request = toml::from_str("url = \"/buy\"\nbody = \"{}\"").expect("it is fine");
        let text =
            String::from_utf8(written(&request, "http://127.0.0.1:9/buy").expect("it is a URL")).expect("it is text");
        assert!(
            text.starts_with("POST /buy HTTP/1.1\r\nHost: 127.0.0.1:9\r\n") && text.contains("application/json"),
            "{text}"
        );
    }
}
