//! Several sessions of one database, and when they are at rest.
//!
//! After something was sent, one waits until every session has either answered or surely waits for another one. Surely:
//! the server's own lock table says so (`pg_blocking_pids`), asked over a connection of its own. It changes hands at
//! the moment at which a lock is released, not when the one who waited gets to run, so what it says is true when it
//! says it:
//!
//! ```text
//!   send ──▶ listen for a moment ──▶ somebody busy? ──no──▶ at rest
//!               ▲                          │ yes
//!               │                    ask the lock table
//!               └── not all of them wait ──┤
//!                                          └── all wait ──▶ nothing arrived meanwhile? at rest
//! ```
//!
//! **Deadlocks** are the server's business: those who wait in a cycle are not at rest, because one of them will be
//! given an error. Which one must not be a matter of microseconds, or no schedule could be followed twice. A session
//! looks for a deadlock once, some time after it began to wait; so whoever is waited for is told to look at once
//! ([`LOOK_SOON`]), and the others late ([`LOOK_LATE`]): the one that closes the cycle is the one that finds it. Only
//! sessions that one step wakes together can close a cycle although none was waited for when it began its statement;
//! then the one that waits longest finds it, late.
//! One that has been told to look soon is not at rest before it has looked, which it says itself (`log_lock_waits`).
//! Where the role may not set that, the server's own second decides, which nearly always falls on the one that waited
//! first.

use std::time::{Duration, Instant};

use isolde_wire::{Answer, Complaint, Connection, Field, Message, Response, TransactionStatus, wait_for_any};

use crate::Trouble;
use crate::gate::GATE;

/// Statements that wait for nobody unless something is checked then.
const ENDS: &[&str] = &["COMMIT", "ROLLBACK"];

/// Behind a question that was asked inside of a transaction.
const GO_BACK: &str = "ROLLBACK TO isolde_within; RELEASE isolde_within";

/// How long after beginning to wait a session looks for a deadlock that it may have closed.
const LOOK_SOON: &str = "SET deadlock_timeout = '1ms'";
/// The same for a session that no other waits for. It cannot close a cycle, unless it is woken within its statement.
const LOOK_LATE: &str = "SET deadlock_timeout = '1s'";

/// Lets a session say that it has looked, to its client and to nobody else.
const SAY_SO: &str = "SET log_lock_waits = on; SET client_min_messages = log; SET log_min_messages = panic";
/// A session that does not say so, because it was told not to, has looked after this time.
const LOOKED: Duration = Duration::from_millis(20);

/// Whether something is checked at the end of a transaction.
const DEFERRED: &str = "SELECT EXISTS (SELECT FROM pg_trigger WHERE tgdeferrable) \
    OR EXISTS (SELECT FROM pg_constraint WHERE condeferrable)";

/// How often the lock table is asked at once, without listening before, about a statement that is expected to wait.
const ASK_AT_ONCE: usize = 12;
/// How long to listen to statements that are expected to be answered.
const LISTEN_LONG: Duration = Duration::from_millis(10);
/// How long to listen before the lock table is asked: about what a quick statement takes.
const LISTEN_FIRST: Duration = Duration::from_micros(200);
/// How long to listen between questions.
const LISTEN_AGAIN: Duration = Duration::from_micros(500);
/// The longest pause between questions.
const LISTEN_MAX: Duration = Duration::from_millis(20);

/// A statement that takes longer and waits for nobody is given up.
pub const STATEMENT_TIME_MAX: Duration = Duration::from_secs(30);

/// Several sessions, and a connection to look at them from outside.
#[derive(Debug)]
pub struct Sessions {
    control: Connection,
    sessions: Vec<Session>,
    /// Whether the role may say when to look for deadlocks.
    alertable: bool,
    /// Nothing is checked at the end of a transaction, so COMMIT never waits.
    commits_at_once: bool,
    time_max: Duration,
}

#[derive(Debug)]
struct Session {
    connection: Connection,
    busy: Option<Busy>,
    /// Whom it waits for, when it is at rest and has not answered.
    blockers: Vec<Blocker>,
    /// It was told to look for deadlocks soon.
    alert: bool,
    /// What is expected of what it is sent next.
    expected: Expected,
    /// Statements that are queued for it.
    queued: usize,
}

/// What is expected of a statement. Only how soon the lock table is asked depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expected {
    /// Nothing is known.
    #[default]
    Unknown,
    /// It will be answered.
    Answer,
    /// It will wait.
    Wait,
}

/// A statement under way.
#[derive(Debug)]
struct Busy {
    answer: Answer,
    notices: Vec<Complaint>,
    /// Answers to come first, to what was queued: none of them an error.
    queued: usize,
    /// Answers to come before the one that counts.
    skip: usize,
    /// It has said that it stands before a gate, which the control connection keeps closed.
    gated: bool,
    /// It has been told to look for deadlocks, and has not said yet that it has; and since when.
    looking: Option<Instant>,
    expected: Expected,
    doing: String,
}

/// Whom a session waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blocker {
    /// Another of these sessions.
    Session(usize),
    /// The control connection, which holds the gates.
    Control,
    /// Nobody who could let it go on: a prepared transaction.
    Nobody,
}

/// What a session answered.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Who.
    pub session: usize,
    /// The last response; each query string holds one statement.
    pub response: Response,
    /// Notices on the way, in order.
    pub notices: Vec<Complaint>,
    /// Where the columns of its rows come from.
    pub fields: Vec<Field>,
    /// The state of its transaction after it.
    pub status: TransactionStatus,
}

impl Sessions {
    /// These sessions; `control` must be able to see them all.
    pub fn new(mut control: Connection, connections: Vec<Connection>) -> Result<Sessions, Trouble> {
        let answers = control.query("SET deadlock_timeout = '1s'")?;
        let alertable = !answers.iter().any(Response::is_error);
        let deferred = control.execute(DEFERRED)?;
        let commits_at_once = deferred.first().map(Response::rows) == Some(&[vec![Some("f".to_string())]]);
        let session = |connection| Session {
            connection,
            busy: None,
            blockers: Vec::new(),
            alert: false,
            expected: Expected::Unknown,
            queued: 0,
        };
        let mut sessions: Vec<Session> = connections.into_iter().map(session).collect();
        if alertable {
            sessions.iter_mut().try_for_each(|session| session.connection.execute(LOOK_LATE).map(drop))?;
            sessions.iter_mut().try_for_each(|session| session.connection.query(SAY_SO).map(drop))?;
        }
        let time_max = control.patience().silence_max().map_or(STATEMENT_TIME_MAX, |max| max.min(STATEMENT_TIME_MAX));
        Ok(Sessions { control, sessions, alertable, commits_at_once, time_max })
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// The connection that looks on.
    pub fn control(&mut self) -> &mut Connection {
        &mut self.control
    }

    /// Whether deadlocks are found at once, by the session that closes the cycle.
    pub fn finds_deadlocks_at_once(&self) -> bool {
        self.alertable
    }

    /// A statement that waits for nobody is given up after this time.
    pub fn set_time_max(&mut self, time_max: Duration) {
        self.time_max = time_max;
    }

    /// Whether it has answered everything.
    pub fn is_idle(&self, session: usize) -> bool {
        self.sessions[session].busy.is_none()
    }

    /// Whom it waited for when all were last at rest.
    pub fn blockers(&self, session: usize) -> &[Blocker] {
        &self.sessions[session].blockers
    }

    /// What a session that has not answered has said so far.
    pub fn take_notices(&mut self, session: usize) -> Vec<Complaint> {
        self.sessions[session].busy.as_mut().map(|busy| std::mem::take(&mut busy.notices)).unwrap_or_default()
    }

    /// The state of its transaction after its last answer, or after what is queued.
    pub fn status(&self, session: usize) -> TransactionStatus {
        match &self.sessions[session] {
            session if session.queued > 0 => TransactionStatus::Open,
            session => session.connection.status(),
        }
    }

    /// Its server process.
    pub fn pid(&self, session: usize) -> i32 {
        self.sessions[session].connection.pid()
    }

    /// What is expected of what a session is sent next, or goes on with.
    pub fn expect(&mut self, session: usize, expected: Expected) {
        self.sessions[session].expected = expected;
    }

    /// Says something to an idle session together with what it is sent next. It must be sure to succeed, to be noticed
    /// by nobody and to leave a transaction open: BEGIN.
    pub fn queue(&mut self, session: usize, sql: &str) -> Result<(), Trouble> {
        let session = &mut self.sessions[session];
        assert!(session.busy.is_none(), "what is queued comes before what is sent next");
        session.connection.queue(sql)?;
        session.queued += 1;
        Ok(())
    }

    /// Sends a statement. The session must be idle.
    pub fn send(&mut self, session: usize, sql: &str) -> Result<(), Trouble> {
        self.prepare_to_send(session, sql)?;
        self.sessions[session].connection.send(sql).map_err(Trouble::from)
    }

    /// The same for a statement that will be sent again: it is kept [prepared](Connection::send_prepared). Definitions
    /// and settings must stay as they are.
    pub fn send_prepared(&mut self, session: usize, sql: &str) -> Result<(), Trouble> {
        self.prepare_to_send(session, sql)?;
        self.sessions[session].connection.send_prepared(sql).map_err(Trouble::from)
    }

    /// What comes before a statement is sent.
    fn prepare_to_send(&mut self, session: usize, sql: &str) -> Result<(), Trouble> {
        let waited_for = self.sessions.iter().any(|s| s.blockers.contains(&Blocker::Session(session)));
        let alertable = self.alertable && !(self.commits_at_once && ENDS.contains(&sql));
        let session = &mut self.sessions[session];
        assert!(session.busy.is_none(), "a session is sent one statement at a time");
        let mut skip = 0;
        if alertable && (waited_for || session.alert) {
            // Each time: a transaction that is rolled back takes its settings with it.
            session.connection.queue(if waited_for { LOOK_SOON } else { LOOK_LATE })?;
            session.alert = waited_for;
            skip = 1;
        }
        session.blockers.clear();
        let looking = (alertable && waited_for).then(Instant::now);
        session.busy = Some(Busy {
            answer: Answer::default(),
            notices: Vec::new(),
            queued: std::mem::take(&mut session.queued),
            skip,
            gated: false,
            looking,
            expected: std::mem::take(&mut session.expected),
            doing: sql.to_string(),
        });
        Ok(())
    }

    /// Returns when every session has answered or surely waits: with the answers, in the order of their arrival.
    pub fn settle(&mut self) -> Result<Vec<Reply>, Trouble> {
        let deadline = Instant::now() + self.time_max;
        let mut replies = Vec::new();
        let mut patience = LISTEN_FIRST;
        let mut asked = 0;
        while self.sessions.iter().any(|session| session.busy.is_some()) {
            if self.sessions.iter().all(|session| session.busy.as_ref().is_none_or(|busy| busy.gated)) {
                break;
            }
            // Those who waited before and are all that is left either wait still or have been let go already.
            let moving = || self.sessions.iter().filter(|s| s.blockers.is_empty()).filter_map(|s| s.busy.as_ref());
            let waited = moving().next().is_none();
            let expected = moving().any(|busy| busy.expected == Expected::Wait);
            let at_once = (waited && asked == 0) || (expected && asked < ASK_AT_ONCE);
            if asked == 0 && moving().all(|busy| busy.expected == Expected::Answer) {
                patience = LISTEN_LONG;
            }
            if self.listen(if at_once { Duration::ZERO } else { patience }, &mut replies)? {
                asked = 0;
                continue;
            }
            asked += 1;
            patience = if at_once {
                LISTEN_FIRST
            } else if patience == LISTEN_FIRST {
                LISTEN_AGAIN
            } else {
                (patience * 2).min(LISTEN_MAX)
            };
            if self.all_wait()? && !self.listen(Duration::ZERO, &mut replies)? {
                break;
            }
            if Instant::now() > deadline {
                return Err(self.give_up());
            }
        }
        Ok(replies)
    }

    /// Asks a session that is idle something, inside of its transaction, which is left as it was. What is asked must
    /// only look.
    pub fn ask_within(&mut self, session: usize, query: &str) -> Result<Option<Response>, Trouble> {
        let connection = &mut self.sessions[session].connection;
        let responses = connection.query(&format!("SAVEPOINT isolde_within; {query}; {GO_BACK}"))?;
        if responses.iter().any(Response::is_error) {
            connection.execute(GO_BACK)?;
            return Ok(None);
        }
        Ok(responses.into_iter().nth(1))
    }

    /// A session that stood before a gate goes on; `alert` says that it will look for deadlocks soon.
    pub fn resumes(&mut self, session: usize, alert: bool) {
        let session = &mut self.sessions[session];
        if let Some(busy) = &mut session.busy {
            busy.gated = false;
            busy.looking = alert.then(Instant::now);
            busy.expected = std::mem::take(&mut session.expected);
        }
        session.blockers.clear();
    }

    /// Discards what the sessions keep, and tells them again when to look for deadlocks.
    pub fn discard(&mut self) -> Result<(), Trouble> {
        self.sessions.iter_mut().for_each(|session| session.alert = false);
        let texts: &[&str] = if self.alertable { &["DISCARD ALL", LOOK_LATE, SAY_SO] } else { &["DISCARD ALL"] };
        self.tell_all(texts)
    }

    /// Ends whatever the sessions are doing: none waits, none is in a transaction. What was under way may have come to
    /// its end nevertheless: these are the answers.
    pub fn calm(&mut self) -> Result<Vec<Reply>, Trouble> {
        let deadline = Instant::now() + self.time_max;
        let mut replies = Vec::new();
        while self.sessions.iter().any(|session| session.busy.is_some()) {
            let busy = self.sessions.iter().filter(|session| session.busy.is_some());
            let pids: Vec<String> = busy.map(|session| session.connection.pid().to_string()).collect();
            self.control.query(&format!("SELECT pg_cancel_backend(p) FROM unnest(ARRAY[{}]) p", pids.join(", ")))?;
            self.listen(LISTEN_MAX, &mut replies)?;
            if Instant::now() > deadline {
                return Err(self.give_up());
            }
        }
        for session in &mut self.sessions {
            session.connection.unqueue();
            session.queued = 0;
            session.blockers.clear();
            if session.connection.status() != TransactionStatus::Idle {
                session.connection.send("ROLLBACK")?;
                session.busy = Some(Busy::quietly("ROLLBACK"));
            }
        }
        self.wait_for_all(deadline)?;
        Ok(replies)
    }

    /// Sends the same to all, and waits for the answers, which do not matter.
    fn tell_all(&mut self, texts: &[&str]) -> Result<(), Trouble> {
        for session in &mut self.sessions {
            let Some((last, first)) = texts.split_last() else { return Ok(()) };
            first.iter().try_for_each(|text| session.connection.queue(text))?;
            session.connection.send(last)?;
            let doing = texts.first().copied().unwrap_or_default();
            session.busy = Some(Busy { skip: texts.len().saturating_sub(1), ..Busy::quietly(doing) });
        }
        self.wait_for_all(Instant::now() + self.time_max)
    }

    fn wait_for_all(&mut self, deadline: Instant) -> Result<(), Trouble> {
        while self.sessions.iter().any(|session| session.busy.is_some()) {
            self.listen(LISTEN_MAX, &mut Vec::new())?;
            if Instant::now() > deadline {
                return Err(self.give_up());
            }
        }
        Ok(())
    }

    /// Takes in what busy sessions say within `patience`; was there anything?
    fn listen(&mut self, patience: Duration, replies: &mut Vec<Reply>) -> Result<bool, Trouble> {
        self.control.patience().check()?;
        let mut busy = self.sessions.iter().enumerate().filter(|(_, session)| session.busy.is_some());
        let (first, second) = (busy.next().map(|(at, _)| at), busy.next());
        match (first, second) {
            (Some(only), None) => Ok(self.sessions[only].connection.listen(patience)? && self.hear(only, replies)?),
            _ => self.listen_to_several(patience, replies),
        }
    }

    fn listen_to_several(&mut self, patience: Duration, replies: &mut Vec<Reply>) -> Result<bool, Trouble> {
        let busy: Vec<usize> = (0..self.sessions.len()).filter(|&s| self.sessions[s].busy.is_some()).collect();
        let connections: Vec<&Connection> = busy.iter().map(|&s| &self.sessions[s].connection).collect();
        if !wait_for_any(&connections, patience)? {
            return Ok(false);
        }
        let mut heard = false;
        for session in busy {
            heard |= self.sessions[session].connection.listen(Duration::ZERO)? && self.hear(session, replies)?;
        }
        Ok(heard)
    }

    /// Takes in what one session has said.
    fn hear(&mut self, index: usize, replies: &mut Vec<Reply>) -> Result<bool, Trouble> {
        let session = &mut self.sessions[index];
        let (mut heard, mut released) = (false, false);
        while let Some(busy) = &mut session.busy {
            let Some(message) = session.connection.take()? else { break };
            heard = true;
            if let Message::Notice(notice) = &message {
                if is_lock_line(notice) && notice.message.contains(" still waiting for ") {
                    busy.looking = None;
                }
                if busy.queued == 0 && busy.skip == 0 && !is_lock_line(notice) {
                    busy.gated |= notice.message.starts_with(GATE);
                    busy.notices.push(notice.clone());
                }
                if busy.gated {
                    session.blockers = vec![Blocker::Control];
                }
                continue;
            }
            let Some(responses) = busy.answer.push(message) else { continue };
            if busy.queued > 0 {
                busy.queued -= 1;
                match responses.iter().find_map(Response::error) {
                    Some(error) => return Err(Trouble::Server(format!("what cannot fail has failed: {error}"))),
                    None => continue,
                }
            }
            if busy.skip > 0 {
                busy.skip -= 1;
                continue;
            }
            let notices = std::mem::take(&mut busy.notices);
            let response = responses.into_iter().next_back().unwrap_or(Response::Done { tag: String::new() });
            let (fields, status) = (session.connection.fields().to_vec(), session.connection.status());
            session.busy = None;
            session.blockers.clear();
            released |= status == TransactionStatus::Idle;
            replies.push(Reply { session: index, response, notices, fields, status });
        }
        if released {
            // Who waited for it is going on already, unless the lock table says otherwise.
            for other in self.sessions.iter_mut().filter(|other| other.blockers.contains(&Blocker::Session(index))) {
                other.blockers.retain(|blocker| *blocker != Blocker::Session(index));
                other.busy.iter_mut().for_each(|busy| busy.expected = Expected::Answer);
            }
        }
        Ok(heard)
    }

    /// Whether all busy sessions wait, and none of them in a cycle.
    fn all_wait(&mut self) -> Result<bool, Trouble> {
        let first = self.ask_lock_table()?;
        let count = first.len();
        for (session, blockers) in first.iter().filter(|(_, blockers)| blockers.is_empty()) {
            self.sessions[*session].blockers.clone_from(blockers);
        }
        if first.iter().any(|(_, blockers)| blockers.is_empty()) {
            return Ok(false);
        }
        // The questions about several sessions are not asked at one moment: what is the same twice was so in between.
        if count > 1 && self.ask_lock_table()? != first {
            return Ok(false);
        }
        for (session, blockers) in first {
            self.sessions[session].blockers = blockers;
        }
        let looks = |busy: &Busy| busy.looking.is_some_and(|since| since.elapsed() < LOOKED);
        let looking = self.sessions.iter().filter_map(|session| session.busy.as_ref()).any(looks);
        Ok(!looking && !self.is_deadlocked())
    }

    /// Whom each busy session waits for; nobody means that it runs.
    fn ask_lock_table(&mut self) -> Result<Vec<(usize, Vec<Blocker>)>, Trouble> {
        let running = |s: &usize| self.sessions[*s].busy.as_ref().is_some_and(|busy| !busy.gated);
        let busy: Vec<usize> = (0..self.sessions.len()).filter(running).collect();
        let pids: Vec<String> = busy.iter().map(|&s| self.sessions[s].connection.pid().to_string()).collect();
        let blockers = |pid: &String| format!("pg_blocking_pids({pid}) || pg_safe_snapshot_blocking_pids({pid})");
        let question = format!("SELECT {}", pids.iter().map(blockers).collect::<Vec<_>>().join(", "));
        let responses = self.control.execute_prepared(&question)?;
        let lists = responses.first().and_then(|response| response.rows().first()).cloned().unwrap_or_default();
        let found = busy.into_iter().zip(lists).map(|(session, list)| {
            let pids = list.unwrap_or_default();
            let pids = pids.trim_matches(['{', '}']).split(',').filter_map(|pid| pid.parse().ok());
            (session, self.named(pids))
        });
        Ok(found.collect())
    }

    /// Who has these processes. Strangers do not count: what waits for them goes on by itself.
    fn named(&self, pids: impl Iterator<Item = i32>) -> Vec<Blocker> {
        let who = |pid: i32| match pid {
            0 => Some(Blocker::Nobody),
            _ if pid == self.control.pid() => Some(Blocker::Control),
            _ => self.sessions.iter().position(|s| s.connection.pid() == pid).map(Blocker::Session),
        };
        let mut blockers: Vec<Blocker> = pids.filter_map(who).collect();
        blockers.sort_unstable();
        blockers.dedup();
        blockers
    }

    /// Whether some sessions wait for each other in a cycle.
    fn is_deadlocked(&self) -> bool {
        let waits = |session: usize| {
            let blockers = &self.sessions[session].blockers;
            blockers.iter().filter_map(|b| if let Blocker::Session(other) = b { Some(*other) } else { None })
        };
        (0..self.sessions.len()).any(|start| {
            let (mut seen, mut next) = (vec![false; self.sessions.len()], waits(start).collect::<Vec<_>>());
            while let Some(session) = next.pop() {
                if session == start {
                    return true;
                }
                if !std::mem::replace(&mut seen[session], true) && self.sessions[session].busy.is_some() {
                    next.extend(waits(session));
                }
            }
            false
        })
    }

    fn give_up(&mut self) -> Trouble {
        let stuck = self.sessions.iter().enumerate().find_map(|(i, s)| Some((i, s.busy.as_ref()?.doing.clone())));
        let (thread, doing) = stuck.unwrap_or_default();
        let seconds = self.time_max.as_secs();
        Trouble::Stuck { thread: format!("session {}", thread + 1), doing: format!("`{doing}` for {seconds} s") }
    }
}

impl Busy {
    fn quietly(doing: &str) -> Busy {
        Busy {
            answer: Answer::default(),
            notices: Vec::new(),
            queued: 0,
            skip: 0,
            gated: false,
            looking: None,
            expected: Expected::Answer,
            doing: doing.to_string(),
        }
    }
}

/// A line of `log_lock_waits`, where the server is set to write these to clients.
fn is_lock_line(notice: &Complaint) -> bool {
    notice.severity == "LOG"
}
