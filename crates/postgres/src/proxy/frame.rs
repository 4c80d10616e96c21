//! Messages of the protocol, cut out of a stream of bytes.
//!
//! In both directions a message is a letter, the length of the rest (which counts itself), and the rest. Only the first
//! message of a client has no letter.

use std::io::{self, Read};

use bytes::{Buf, Bytes, BytesMut};

/// One message: its letter and what it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The letter.
    pub tag: u8,
    /// All of its bytes, letter and length included.
    bytes: Bytes,
}

/// The letter and the length.
const HEAD: usize = 5;
/// More than any message of a server has: what claims to be longer is no PostgreSQL.
pub(super) const FROM_SERVER_MAX: usize = 1 << 30;
/// A client's message is kept until it is let go, so it may not be as long.
pub(super) const FROM_CLIENT_MAX: usize = 256 << 20;

impl Frame {
    /// A message of this kind that carries these bytes.
    pub fn new(tag: u8, body: &[u8]) -> Frame {
        let mut bytes = Vec::with_capacity(HEAD + body.len());
        bytes.push(tag);
        bytes.extend_from_slice(&((body.len() + 4) as u32).to_be_bytes());
        bytes.extend_from_slice(body);
        Frame { tag, bytes: bytes.into() }
    }

    /// What it carries.
    pub fn body(&self) -> &[u8] {
        &self.bytes[HEAD..]
    }

    /// As it goes over the wire.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// An error of our own, as a server would send it.
    pub fn error(severity: &str, code: &str, message: &str) -> Frame {
        let mut body = Vec::new();
        for (field, text) in [(b'S', severity), (b'V', severity), (b'C', code), (b'M', message)] {
            body.push(field);
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
        body.push(0);
        Frame::new(b'E', &body)
    }
}

/// Cuts frames out of what is read.
#[derive(Debug)]
pub(super) struct Frames<R> {
    from: R,
    received: BytesMut,
    /// Of one message.
    length_max: usize,
}

impl<R: Read> Frames<R> {
    /// Memory is taken for what has arrived, not for what is announced; a message that is announced as longer is an
    /// error.
    pub(super) fn of(from: R, length_max: usize) -> Frames<R> {
        Frames { from, received: BytesMut::with_capacity(8 << 10), length_max }
    }

    /// The next frames, as many as have arrived and at least one; none at the end of the stream.
    pub(super) fn next(&mut self) -> io::Result<Vec<Frame>> {
        loop {
            let mut frames = Vec::new();
            while let Some(frame) = self.cut()? {
                frames.push(frame);
            }
            if !frames.is_empty() || !self.read_more()? {
                return Ok(frames);
            }
        }
    }

    fn cut(&mut self) -> io::Result<Option<Frame>> {
        let Some((&tag, length)) = self.received.split_first() else { return Ok(None) };
        let Some(length) = length.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if !(4..self.length_max).contains(&length) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is longer than can be passed on"));
        }
        if self.received.len() < 1 + length {
            return Ok(None);
        }
        Ok(Some(Frame { tag, bytes: self.received.split_to(1 + length).freeze() }))
    }

    fn read_more(&mut self) -> io::Result<bool> {
        let mut chunk = [0; 16 << 10];
        loop {
            match self.from.read(&mut chunk) {
                Ok(count) => {
                    self.received.extend_from_slice(&chunk[..count]);
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Takes the fields of a message apart. What is not there reads as nothing, since it is only shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    /// A string, which ends with a zero.
    pub(super) fn text(&mut self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let text = String::from_utf8_lossy(&self.0[..end]).into_owned();
        self.0 = self.0.get(end + 1..).unwrap_or_default();
        text
    }

    pub(super) fn byte(&mut self) -> u8 {
        if self.0.is_empty() { 0 } else { self.0.get_u8() }
    }

    pub(super) fn int16(&mut self) -> i16 {
        if self.0.len() < 2 { 0 } else { self.0.get_i16() }
    }

    pub(super) fn int32(&mut self) -> i32 {
        if self.0.len() < 4 { 0 } else { self.0.get_i32() }
    }

    /// A value behind its length; NULL is a length of -1.
    pub(super) fn value(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.int32()).ok()?;
        let (value, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        Some(value)
    }

    /// As many as a leading 16-bit count says, and as there can be.
    pub(super) fn list<T>(&mut self, mut item: impl FnMut(&mut Fields<'a>) -> T) -> Vec<T> {
        let count = self.int16().max(0) as usize;
        (0..count.min(self.0.len() + 1)).map(|_| item(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_cut_wherever_the_bytes_break() {
        let bytes: Vec<u8> = [Frame::new(b'Q', b"SELECT 1\0"), Frame::new(b'S', b""), Frame::new(b'X', b"")]
            .iter()
            .flat_map(|frame| frame.bytes().to_vec())
            .collect();
        for cut in 0..bytes.len() {
            let mut frames = Frames::of(Read::chain(&bytes[..cut], &bytes[cut..]), FROM_CLIENT_MAX);
            let mut tags = Vec::new();
            loop {
                let next = frames.next().expect("the bytes are fine");
                if next.is_empty() {
                    break;
                }
                tags.extend(next.iter().map(|frame| frame.tag));
            }
            assert_eq!(tags, b"QSX");
        }
    }

    #[test]
    fn what_is_no_protocol_is_refused() {
        assert!(Frames::of(&b"GET / HTTP/1.1\r\n"[..], FROM_SERVER_MAX).next().is_err());
        // Announced as too long: refused before it arrives.
        assert!(Frames::of(&b"Q\x10\0\0\0"[..], FROM_CLIENT_MAX).next().is_err());
        assert!(Frames::of(&b"D\x10\0\0\0"[..], FROM_SERVER_MAX).next().is_ok());
    }
}
