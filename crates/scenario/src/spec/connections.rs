//! What a spec is run on: connections to some database, the embedded one or a server.

use isolde_sql::Span;

use crate::ScenarioError;

/// The control connection; those of the sessions follow.
pub const CONTROL: usize = 0;

/// A query string, with where it stands in the file.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Its text.
    pub text: &'a str,
    /// Where.
    pub span: Span,
}

/// Something that a connection receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// What somebody raised.
    Notice(Notice),
    /// The columns of a query, which is about to run.
    Columns,
    /// What came of a statement.
    Answer(Answer),
}

/// A notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// `NOTICE`, `WARNING`, ...
    pub level: String,
    /// The text.
    pub message: String,
}

/// What came of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A table; without columns, nothing.
    Table {
        /// The names of its columns.
        columns: Vec<String>,
        /// Its rows, each value as it is printed; NULL as nothing.
        rows: Vec<Vec<String>>,
    },
    /// It failed.
    Error {
        /// The SQLSTATE.
        code: String,
        /// The message.
        message: String,
    },
}

/// What one session told another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The channel.
    pub channel: String,
    /// What it said.
    pub payload: String,
    /// Who: a session by its number, if it is one of the spec's.
    pub from: Option<usize>,
}

/// One connection for control and one for each session, by number; each has at most one query string under way.
///
/// Time is in microseconds. The embedded engine's passes only in [`wait`](Connections::wait).
pub trait Connections<'a> {
    /// What a session is called in the server's own views.
    fn set_application_name(&mut self, who: usize, name: &str) -> Result<(), ScenarioError>;

    /// Runs a query string to its end, and returns the notices and the last answer, as `PQexec` does.
    fn exec(&mut self, who: usize, sql: Block<'a>) -> Result<(Vec<Notice>, Option<Answer>), ScenarioError>;

    /// Sends a query string.
    fn send(&mut self, who: usize, sql: Block<'a>) -> Result<(), ScenarioError>;

    /// Everybody does what they can do at once.
    fn settle(&mut self) -> Result<(), ScenarioError>;

    /// Lets time pass until something may have happened, at most until then. False if nothing will.
    fn wait(&mut self, until: i64) -> Result<bool, ScenarioError>;

    /// What time it is.
    fn clock(&self) -> i64;

    /// Ends what a connection is doing, as a request to cancel does.
    fn cancel(&mut self, who: usize) -> Result<(), ScenarioError>;

    /// Whether everything that was sent is answered.
    fn is_done(&self, who: usize) -> bool;

    /// Whether it waits for a lock that another session of the spec holds or waits for.
    fn is_blocked(&mut self, who: usize) -> Result<bool, ScenarioError>;

    /// What has come and was not taken, in order.
    fn messages(&mut self, who: usize) -> &mut Vec<Message>;

    /// The notifications that have come since.
    fn take_notifications(&mut self, who: usize) -> Vec<Notification>;

    /// A permutation begins: if it can be known that setting up leads to where it led before, goes there, and says what
    /// was printed then.
    fn start(&mut self) -> Option<String> {
        None
    }

    /// Setting up has led here, and this was printed.
    fn started(&mut self, printed: &str) {
        let _ = printed;
    }

    /// The notices that came before the first answer, and right behind it: libpq shows these before it hands out the
    /// answer.
    fn take_early_notices(&mut self, who: usize) -> Vec<Notice> {
        let mut early = Vec::new();
        let (mut answered, mut over) = (false, false);
        let messages = self.messages(who);
        for message in std::mem::take(messages) {
            over |= answered && !matches!(message, Message::Notice(_));
            answered |= matches!(message, Message::Answer(_));
            match message {
                Message::Notice(notice) if !over => early.push(notice),
                message => messages.push(message),
            }
        }
        early
    }
}
