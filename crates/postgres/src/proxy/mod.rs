//! A wire proxy: applications believe that they talk to PostgreSQL, and every statement waits to be let go.
//!
//! ```text
//!   application ──TCP──▶ door ──▶ [reader] ──┐                          ┌── [reader] ◀── server
//!                                            ▼                          ▼
//!                                      one channel of Events ──▶ Session (a state machine) ──▶ sockets
//! ```
//!
//! Applications enter by a [`Door`], a port on this machine; the door tells who they are. Reading is done by threads of
//! their own, which cut the bytes into [`Frame`]s and put them on one channel. Everything else is done by whoever reads
//! that channel: a [`Session`] takes in what its client and its server say and knows
//!
//! - which messages make a [`Unit`], the least that can be scheduled: a simple query, or what an extended one says up
//!   to its Sync or Flush, if it executes something;
//! - whether a unit can be noticed by others at all ([`interest`]); those that cannot are passed on at once;
//! - when a unit has been answered, and with what; the answer is kept back until it is delivered.
//!
//! So one thread decides everything, one thing after another, and no two of its decisions can overtake each other.
//!
//! What is *absent*: a session never rewrites what a client sends. What is sent outside of a transaction may get one
//! around it ([`wrap`]), of which the client is told nothing. Only three things are different for the application:
//! the login is answered here (with the server's own user and database behind it), encryption is refused, and the
//! notices by which Isolde's triggers tell of changed rows are left out.

mod door;
mod frame;
mod interest;
mod session;
mod speech;
mod value;
mod wrap;

pub use door::{Door, Event, Opened};
pub use frame::Frame;
pub use interest::{Context, is_noticeable};
pub use session::{Answered, Session, SessionId};
pub(crate) use speech::tokens;
pub use speech::{Spoken, Unit};
