//! Why a check could not be carried out, apart from any verdict.

use std::fmt;
use std::io;

/// Why a check could not be carried through. Each prints as a sentence with what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// What was asked for cannot be done so.
    Usage(String),
    /// The server does not do what is needed.
    Server(String),
    /// Something around the check has failed, and nothing can be concluded from that: the server is gone or silent, out
    /// of disk, memory or connections, or a backend was ended.
    Fault(String),
    /// A run did not go as it went before, so nothing can be concluded from it.
    Nondeterministic {
        /// The thread that did something else.
        thread: String,
        /// What it did then.
        before: String,
        /// What it does now.
        now: String,
    },
    /// A thread neither answers nor waits for another one.
    Stuck {
        /// The thread.
        thread: String,
        /// What it was doing.
        doing: String,
    },
    /// The user does not want to go on, or the time is over.
    Interrupted,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Usage(sentence) | Trouble::Server(sentence) | Trouble::Fault(sentence) => f.write_str(sentence),
            Trouble::Nondeterministic { thread, before, now } => write!(
                f,
                "the same schedule does not give the same run: {thread} did `{before}` and now does `{now}`. What differs \
                 from run to run (times, random numbers, caches) must be masked or made constant"
            ),
            Trouble::Stuck { thread, doing } => write!(
                f,
                "{thread} neither goes on nor waits for another thread: {doing}. If it waits for something other than the \
                 database, no schedule of statements can help it"
            ),
            Trouble::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Trouble {}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        let sentence = format!("the server: {error}");
        match error.kind() {
            // The server has given an answer. Everything else is said by the connection to it.
            io::ErrorKind::Other => Trouble::Server(sentence),
            io::ErrorKind::Interrupted => Trouble::Interrupted,
            _ => Trouble::Fault(sentence),
        }
    }
}
