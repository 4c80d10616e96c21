//! Transactions observed, their dependency graph, the anomaly's name and why.
//!
//! A run of concurrent units (threads or transactions) is explained by a serial order if each unit could have run as a
//! whole, one after another, with the same effect. Every conflict between two units says which must come first in such
//! an order:
//!
//! ```text
//!   write-write   bob overwrote what alice wrote            alice before bob
//!   write-read    bob read what alice wrote                 alice before bob
//!   read-write    alice read what bob had not yet changed   alice before bob   (an anti-dependency)
//! ```
//!
//! If these demands go round in a cycle, no serial order explains the run, and the kinds of conflict along the cycle
//! tell which textbook anomaly it is (Adya, *Weak Consistency*, 1999; Berenson and others, *A Critique of ANSI SQL
//! Isolation Levels*, 1995). [`explain`] finds a shortest cycle, names it from one list, [`ANOMALIES`], and says in two
//! or three sentences which statements contradict each other.
//!
//! ```
//! use isolde_history::*;
//!
//! // Alice and bob both read the balance, then both write a new one.
//! let mut history = History::default();
//! let (alice, bob) = (history.unit("alice"), history.unit("bob"));
//! let read = |unit, transaction, step| Op {
//!     unit, transaction, step, through: step, kind: OpKind::Select, statement: "SELECT balance ...".into(),
//!     file: None, line: Some(6), found_none: false,
//! };
//! let write = |unit, transaction, step| Op {
//!     unit, transaction, step, through: step, kind: OpKind::Update, statement: "UPDATE account ...".into(),
//!     file: None, line: Some(8), found_none: false,
//! };
//! let _alice_reads = history.op(read(alice, 1, 0));
//! let bob_reads = history.op(read(bob, 2, 1));
//! let alice_writes = history.op(write(alice, 1, 2));
//! let bob_writes = history.op(write(bob, 2, 3));
//! let balance = Item { table: "account".into(), id: 1, row: "id = 1".into(), columns: vec!["balance".into()] };
//! let between = |from, to, kind| Conflict {
//!     from, to, kind, item: balance.clone(), predicate: false, change: Change::Changed, key: false, direct: true,
//! };
//! history.conflicts.push(between(bob_reads, alice_writes, ConflictKind::ReadWrite));
//! history.conflicts.push(between(alice_writes, bob_writes, ConflictKind::WriteWrite));
//!
//! let explanation = explain(&history).expect("each must come before the other");
//! assert_eq!(explanation.anomaly.name, "lost update");
//! assert_eq!(explanation.to_string(), "\
//! bob read balance of account id = 1 (line 6) and did not see alice's UPDATE of it (line 8), so bob must come \
//! before alice. But bob's UPDATE (line 8) then overwrote alice's (line 8), so alice must come before bob. No serial \
//! order of bob and alice explains this run: a lost update.");
//! ```
//!
//! Absent on purpose: this crate depends on nothing and reads no SQL. Its caller observes the run and states the
//! conflicts; a conflict that is left out can hide a cycle, one that is made up can invent one.

mod anomaly;
mod cycle;
mod explain;
mod observed;
mod words;

pub use anomaly::{ANOMALIES, Anomaly};
pub use cycle::Cycle;
pub use explain::{Edge, Explanation, explain};
pub use observed::{Change, Conflict, ConflictKind, History, Item, Op, OpId, OpKind, Unit, UnitId};
