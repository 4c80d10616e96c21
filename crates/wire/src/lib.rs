//! One session with a PostgreSQL server, seen message by message.
//!
//! Whoever schedules the statements of several sessions needs what client libraries hide: a statement that was sent and
//! is not answered yet, the messages that arrive while it waits for a lock, the command tag (a `COMMIT` that rolled
//! back says `ROLLBACK`), the process behind the session. So this shows the protocol as it is:
//!
//! ```text
//!   client   Query "UPDATE ..."
//!   server            NoticeResponse "still waiting for ..."   CommandComplete "UPDATE 1"   ReadyForQuery
//! ```
//!
//! [`Settings`] say where a server is and who one is there; printed, they show no password. A [`Connection`] sends one
//! query string at a time and never waits unless asked to. [`wait_for_any`] listens to several at once. Bytes are taken
//! apart and put together by `postgres-protocol`.
//!
//! A [`Patience`] says how long a server is waited for, and who ends that.
//!
//! What is put into SQL is [quoted](quote); [secrets](secret) are made and checked here.
//!
//! What is *absent*: no pool, no runtime, no types: values are text, as the server prints them.

mod answer;
mod connection;
mod patience;
mod prepared;
pub mod quote;
pub mod secret;
mod settings;
mod stream;
mod tls;

pub use answer::{Answer, Complaint, Message, Response, Row, rows_counted};
pub use connection::{Connection, Field, Open, TransactionStatus, wait_for_any};
pub use patience::{Ended, Patience, SLICE};
pub use settings::{Place, Settings};
pub use stream::Stream;
pub use tls::{Encryption, Mode, TlsStream};
