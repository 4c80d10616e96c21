//! Real PostgreSQL: the same scenario on a server, isolation specs, and any application in any language through a
//! proxy.
//!
//! The embedded engine is a value, and a search walks through its states as it likes. A server is not. It has one
//! state, the one it is in; the only way back is to undo what was done; and a statement that waits for a lock goes on
//! by itself as soon as it can. So everything here rests on one idea:
//!
//! ```text
//!   a place in the search  =  the way that led there        the server  =  a cursor on one such way
//! ```
//!
//! [`live`] explores whatever can be put on a [`Stage`](live::Stage): threads that are held at their next statement,
//! are let go one at a time, and can all be sent back to the start. To execute a step at a place where the server is
//! not, the stage is restarted and the way there is followed again, and if anything differs on the way, that is
//! reported and nothing is concluded. The search itself is the one of `isolde-explore`, by source sets and sleep sets,
//! which follows each run from its start to its end and never asks for more.
//!
//! What is *absent*: nothing of the user's is touched. All of it happens in a database that was created for the run,
//! and is dropped after it, however it ends.

pub mod analysis;
pub mod app;
pub mod catalog;
pub mod effects;
mod fault;
mod gate;
mod home;
pub mod live;
pub mod proxy;
pub mod reads;
mod registry;
mod restore;
mod sessions;
pub mod spec;
pub mod stage;
mod undo;

pub use home::{Home, Version};
pub use isolde_scenario::Trouble;
pub use restore::Restore;
pub use sessions::{Blocker, Expected, Reply, STATEMENT_TIME_MAX, Sessions};
