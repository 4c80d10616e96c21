//! The database as a value.
//!
//! A [`Database`] holds everything a PostgreSQL server would: the catalog, the committed rows, the open transactions of
//! its sessions, the locks they hold, the statements that wait half way for a lock, the variables of the procedures
//! they run. It is a value: cloning it is O(1) whatever the size of its tables, two of them can be compared by their
//! [`Database::digest`], and running one step on a copy leaves the original as it was. That is what exploration needs
//! and what no embeddable database offers.
//!
//! # The idea
//!
//! **A snapshot is a clone.** Tables are persistent maps, so the snapshot that PostgreSQL describes by transaction
//! numbers is here simply a copy of the committed tables, taken in O(1). There are no dead versions and no vacuum:
//!
//! ```text
//!    committed ──clone──▶ view of T1 ──own writes──▶ view of T1' ──┐
//!        │                                                         │ COMMIT: the write set of T1
//!        │◀────────────────────────────────────────────────────────┘ is put into `committed`
//!        └──clone──▶ view of T2 ...
//! ```
//!
//! READ COMMITTED takes a new view per statement, REPEATABLE READ one per transaction. A row keeps its [`RowId`] for
//! life and gets a new position with every version, so "changed since my snapshot" is a comparison of positions.
//!
//! **A lock is a fact about its holder.** A row lock is an entry in its holder's transaction; there is no lock table
//! that could disagree with it. Ending a transaction, or rolling back to a savepoint, releases by forgetting.
//!
//! **A statement can stop anywhere.** What runs is a stack of frames with explicit positions, never the Rust stack; a
//! statement that meets a lock keeps the rows it has done and waits in its frame.
//!
//! **Every step says what it did.** [`Step`] carries the result and the [`Footprint`]: predicates read, rows written,
//! locks taken, rows published. Whether two steps commute is decided from these alone.
//!
//! What is *absent*: no I/O, no real time, no threads, no randomness, no schedule. Who acts next is the caller's
//! choice.

// The syntax tree nests deeply, and rustdoc asks of every type whether it is `Send`.
#![recursion_limit = "256"]

mod at_rest;
mod carried;
mod class;
mod clock;
mod command;
mod control;
mod cursor;
mod database;
mod define;
mod enter;
mod eval;
mod exec;
pub mod footprint;
mod generators;
mod host;
mod kept;
mod lock;
mod machine;
mod order;
mod plan;
mod prepare;
mod query;
mod reach;
mod routine;
mod session;
mod settings;
mod ssi;
mod state;
mod storage;
mod transaction;
mod trigger;
mod two_phase;
mod undo;

pub use clock::{Timeouts, Timer};
pub use database::{CatalogMark, Database, Faults};
pub use footprint::Footprint;
pub use generators::Generators;
pub use kept::Notification;
pub use lock::heavy::LockKey;
pub use order::OrderedRows;
pub use prepare::Prepared;
pub use reach::{Key, Reach};
pub use session::{
    Activity, Blocked, Notice, Outcome, Part, Pending, PendingKind, Reply, Returned, SessionId, SessionOptions,
    StatementResult, Step, WaitsFor,
};
pub use storage::{RowId, TableData, Tables, Tuple};
pub use undo::Undo;
