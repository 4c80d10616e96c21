//! Real applications: threads are shell commands and requests to servers, in whatever language, unmodified.
//!
//! Everything that an application says to its database passes the [proxy](crate::proxy), where it waits until the
//! search lets it go. Which thread says it is known without asking anybody:
//!
//! - a command has a [door](crate::proxy::Door) of its own, so whoever comes in there is that thread, with as many
//!   connections as it likes;
//! - requests meet in one server, whose connections are pooled. But only one thread runs at a time: all others are held
//!   at their statement, or wait for a lock, or have ended. So whatever the server says on a connection that nobody
//!   holds is said for the thread that runs. Even the answer to a statement that was woken by another thread's commit
//!   is kept back until that thread has come to rest.
//!
//! A statement of a server while nobody runs is its own business (a heartbeat, a job queue), and is let through.
//!
//! [`AppFile`] is what a user writes, [`AppStage`] puts it on a [`Stage`](crate::live::Stage), [`Inquiry`] asks all
//! questions about it.
//!
//! What is *absent*: nothing of the application is instrumented, and no time is waited for but where an application
//! does something else than talking to its database.

mod cast;
mod check;
mod conductor;
mod data;
mod file;
mod http;
mod normal;
mod process;
mod skeleton;
mod spec;
mod stage;

pub use check::Inquiry;
pub use file::{Action, AppFile, Database, Request, ServerPlan, ThreadPlan};
pub use spec::Written;
pub use stage::AppStage;
