//! Random words that nobody can guess, and SCRAM-SHA-256 as the side that is logged in to.
//!
//! RFC 5802 and 7677. The password is never sent, in neither direction:
//!
//! ```text
//!   client   n,,n=*,r=cnonce
//!   server   r=cnonce+snonce, s=salt, i=4096
//!   client   c=biws, r=cnonce+snonce, p=proof        proof: the client knows the password
//!   server   v=signature                             signature: so does the server
//! ```

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// What clients compute the keys with; some refuse fewer rounds.
const ROUNDS: u32 = 4096;

/// The name of the mechanism.
pub const MECHANISM: &str = "SCRAM-SHA-256";

type Key = [u8; 32];

/// 128 random bits, in 32 lower-case hexadecimal digits.
pub fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What one must know to check that others know a password.
#[derive(Clone)]
pub struct Verifier {
    salt: [u8; 16],
    stored: Key,
    server: Key,
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Verifier(***)")
    }
}

impl Verifier {
    /// Of a password in ASCII, which is its own normal form.
    pub fn new(password: &str) -> io::Result<Verifier> {
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).map_err(io::Error::other)?;
        let salted = salted(password.as_bytes(), &salt);
        let stored = Sha256::digest(signed(&salted, b"Client Key")).into();
        Ok(Verifier { salt, stored, server: signed(&salted, b"Server Key") })
    }

    /// As PostgreSQL keeps it, for `CREATE ROLE ... PASSWORD`: no log of statements can show the password then.
    pub fn to_sql(&self) -> String {
        let [salt, stored, server] = [&self.salt[..], &self.stored, &self.server].map(|bytes| STANDARD.encode(bytes));
        format!("SCRAM-SHA-256${ROUNDS}:{salt}${stored}:{server}")
    }

    /// Answers a client's first message; `None` if it is none.
    pub fn challenge(&self, first: &str) -> io::Result<Option<Challenge>> {
        let mut parts = first.splitn(3, ',');
        let (Some(flag), Some(""), Some(bare)) = (parts.next(), parts.next(), parts.next()) else { return Ok(None) };
        let Some(nonce) = bare.split(',').find_map(|part| part.strip_prefix("r=")) else { return Ok(None) };
        // Channels are not bound here: there is no encryption between processes of one machine.
        if !matches!(flag, "n" | "y") || nonce.is_empty() {
            return Ok(None);
        }
        let nonce = format!("{nonce}{}", token()?);
        let message = format!("r={nonce},s={},i={ROUNDS}", STANDARD.encode(self.salt));
        Ok(Some(Challenge { header: STANDARD.encode(format!("{flag},,")), bare: bare.into(), nonce, message }))
    }

    /// What proves to the client that the password is known here, if the client has proved it.
    pub fn accept(&self, challenge: &Challenge, last: &str) -> Option<String> {
        let (without_proof, proof) = last.rsplit_once(",p=")?;
        let expected = format!("c={},r={}", challenge.header, challenge.nonce);
        let proof: Key = STANDARD.decode(proof).ok()?.try_into().ok()?;
        let said = format!("{},{},{without_proof}", challenge.bare, challenge.message);
        let signature = signed(&self.stored, said.as_bytes());
        let key: Vec<u8> = proof.iter().zip(signature).map(|(a, b)| a ^ b).collect();
        let found: Key = Sha256::digest(&key).into();
        // Every byte is looked at, so that time tells nothing.
        let difference = found.iter().zip(self.stored).fold(0, |all, (a, b)| all | (a ^ b));
        let accepted = difference == 0 && without_proof == expected;
        accepted.then(|| format!("v={}", STANDARD.encode(signed(&self.server, said.as_bytes()))))
    }
}

/// What a client was told, to be compared with what it answers.
#[derive(Clone, Debug)]
pub struct Challenge {
    header: String,
    bare: String,
    nonce: String,
    /// What it is sent.
    pub message: String,
}

fn signed(key: &[u8], text: &[u8]) -> Key {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(text);
    mac.finalize().into_bytes().into()
}

fn salted(password: &[u8], salt: &[u8]) -> Key {
    let mut last = signed(password, &[salt, &1u32.to_be_bytes()].concat());
    let mut all = last;
    for _ in 1..ROUNDS {
        last = signed(password, &last);
        all.iter_mut().zip(last).for_each(|(all, byte)| *all ^= byte);
    }
    all
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};

    /// A client of another hand: it is let in with the password, and with no other one.
    fn log_in(verifier: &Verifier, password: &str) -> bool {
        let mut client = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
        let challenge = verifier.challenge(std::str::from_utf8(client.message()).unwrap()).unwrap().unwrap();
        client.update(challenge.message.as_bytes()).unwrap();
        let last = std::str::from_utf8(client.message()).unwrap().to_string();
        match verifier.accept(&challenge, &last) {
            Some(signature) => client.finish(signature.as_bytes()).is_ok(),
            None => false,
        }
    }

    #[test]
    fn who_knows_the_password_is_let_in() {
        let (password, other) = (token().unwrap(), token().unwrap());
        let verifier = Verifier::new(&password).unwrap();
        assert!(log_in(&verifier, &password));
        for wrong in [&*other, "", "isolde"] {
            assert!(!log_in(&verifier, wrong), "{wrong:?}");
        }
    }

    /// An answer is good for one challenge only, and whole.
    #[test]
    fn answers_cannot_be_used_twice() {
        let verifier = Verifier::new("secret").unwrap();
        let mut client = ScramSha256::new(b"secret", ChannelBinding::unsupported());
        let first = std::str::from_utf8(client.message()).unwrap().to_string();
        let challenge = verifier.challenge(&first).unwrap().unwrap();
        client.update(challenge.message.as_bytes()).unwrap();
        let last = std::str::from_utf8(client.message()).unwrap().to_string();
        assert!(verifier.accept(&challenge, &last).is_some());
        let again = verifier.challenge(&first).unwrap().unwrap();
        assert_eq!(verifier.accept(&again, &last), None);
        for strange in ["", ",p=", "c=biws,r=x,p=AAAA", &last[1..], &last[..last.len() - 4]] {
            assert_eq!(verifier.accept(&challenge, strange), None, "{strange:?}");
        }
    }

    #[test]
    fn strange_first_messages_are_none() {
        let verifier = Verifier::new("secret").unwrap();
        for strange in ["", "n", "n,,", "n,,n=x", "n,,r=", "p=tls-unique,,n=,r=x", "n,a=other,n=,r=x", "\0"] {
            assert!(verifier.challenge(strange).unwrap().is_none(), "{strange:?}");
        }
    }
}
