//! One application's connection: what its client wants to say, and what the server has answered.
//!
//! ```text
//!   client ──▶ building ──▶ waiting ──send──▶ flying ──▶ answered ──deliver──▶ client
//!              (no unit      (held, unless     (at the    (kept back)
//!               yet)          nobody can        server)
//!                             notice it)
//! ```
//!
//! At most one unit is with the server at a time, also if the client sends several at once: so it is always known
//! in which transaction a unit runs, and what an answer answers.

use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use isolde_sql::facts::{Facts, Verb};
use isolde_wire::{Complaint, Response, Stream, TransactionStatus};

use super::door::Opened;
use super::frame::{Fields, Frame};
use super::interest::{Context, Lone, is_listening, is_noticeable, lone};
use super::speech::{End, Memory, Spoken, Unit, form};
use super::value;
use super::wrap::{self, Kept, Phase};
use crate::{effects, reads};

/// A client that has not read its answer for so long does not want it.
const CLIENT_TIME_MAX: Duration = Duration::from_secs(10);

/// The name of a session, never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

/// A connection between a client and a server.
#[derive(Debug)]
pub struct Session {
    /// Its name.
    pub id: SessionId,
    /// The door by which the client came in.
    pub port: u16,
    /// The server process behind it.
    pub pid: i32,
    client: TcpStream,
    server: Stream,
    memory: Memory,
    building: Vec<Frame>,
    waiting: VecDeque<Unit>,
    flying: Option<Flight>,
    /// What the server last said about the transaction: `I`, `T` or `E`.
    status: u8,
    /// The transaction has done something that others could notice.
    noticed: bool,
    /// Something was executed and flushed: the next Sync ends its transaction, if none was begun explicitly.
    unsynced: bool,
    /// The server ignores everything up to the next Sync.
    skipping: bool,
    /// The open transaction is known to be READ COMMITTED.
    read_committed: bool,
    listens: bool,
    /// While an answer is kept back: what the server has said since.
    behind: Option<Vec<Frame>>,
    /// The answer to a unit whose commit waits to be let go.
    kept: Option<Kept>,
    gone: bool,
}

/// A unit that the server is at work on.
#[derive(Debug)]
struct Flight {
    unit: Unit,
    /// Its answer is kept back until it is delivered.
    held: bool,
    /// It has a transaction around it, or is the end of one.
    phase: Option<Phase>,
    answer: Vec<Frame>,
    /// How much of the answer the client has been told.
    told: usize,
    replies: usize,
    described: usize,
}

/// A unit that was let go, and what came back.
#[derive(Debug)]
pub struct Answered {
    /// What was sent.
    pub unit: Unit,
    /// The client has not been told: it waits until this is delivered.
    pub held: bool,
    /// How the transaction stands after it.
    pub status: TransactionStatus,
    /// What each statement came to. An error is the last.
    pub responses: Vec<Response>,
    /// What the server said besides.
    pub notices: Vec<Complaint>,
    /// The connection was lost over it.
    pub lost: bool,
    /// A transaction was put around it, and its commit is to come.
    pub wrapped: bool,
    /// What the client has not been told yet.
    frames: Vec<Frame>,
}

impl Session {
    /// A session that nothing has been said in.
    pub fn new(opened: Opened) -> Session {
        let Opened { id, port, client, server, pid } = opened;
        Session {
            id,
            port,
            pid,
            client,
            server,
            memory: Memory::default(),
            building: Vec::new(),
            waiting: VecDeque::new(),
            flying: None,
            status: b'I',
            noticed: false,
            unsynced: false,
            skipping: false,
            read_committed: false,
            listens: false,
            behind: None,
            kept: None,
            gone: false,
        }
    }

    /// The unit that waits to be let go, if the server has answered everything before it.
    pub fn held(&self) -> Option<&Unit> {
        if self.flying.is_some() || self.behind.is_some() { None } else { self.waiting.front() }
    }

    /// The unit that the server is at work on, if its answer will be kept back.
    pub fn flying(&self) -> Option<&Unit> {
        self.flying.as_ref().filter(|flight| flight.held).map(|flight| &flight.unit)
    }

    /// Whether the client waits for something, or has a transaction open.
    pub fn is_busy(&self) -> bool {
        self.flying.is_some() || !self.waiting.is_empty() || self.status != b'I'
    }

    /// How its transaction stands.
    pub fn transaction(&self) -> TransactionStatus {
        match self.status {
            b'T' => TransactionStatus::Open,
            b'E' => TransactionStatus::Failed,
            // What was flushed and not synced is a transaction, too.
            _ if self.unsynced => TransactionStatus::Open,
            _ => TransactionStatus::Idle,
        }
    }

    /// Whether it has asked for notifications, and so belongs to nobody's request.
    pub fn listens(&self) -> bool {
        self.listens
    }

    /// Whether one of its ends is gone.
    pub fn is_gone(&self) -> bool {
        self.gone
    }

    /// In what a unit would be executed now.
    pub fn context(&self) -> Context {
        Context {
            open: self.status == b'T',
            failed: self.status == b'E',
            noticed: self.noticed,
            read_committed: self.read_committed,
        }
    }

    /// Takes in what the client says.
    pub fn hear_client(&mut self, frames: Vec<Frame>) -> io::Result<()> {
        for frame in frames {
            let tag = frame.tag;
            match tag {
                // Rows of a COPY belong to what is under way, or to what was said before them and waits.
                b'd' | b'c' | b'f' => match (self.building.is_empty(), self.waiting.back_mut()) {
                    (false, _) => self.building.push(frame),
                    (true, Some(last)) => last.frames.push(frame),
                    (true, None) => self.server.write_all(frame.bytes())?,
                },
                b'X' => {
                    self.server.write_all(frame.bytes())?;
                    self.gone = true;
                }
                _ => {
                    self.building.push(frame);
                    if let Some(end) = end_of(tag) {
                        let unit = self.memory.understand(std::mem::take(&mut self.building), end);
                        let next = match self.waiting.back_mut() {
                            Some(last) => last.join(unit),
                            None => Some(unit),
                        };
                        self.waiting.extend(next);
                    }
                }
            }
        }
        self.pass()
    }

    /// What was answered last leaves the session in a transaction at READ COMMITTED, or in another one: that decides
    /// what others can notice.
    pub fn set_read_committed(&mut self, read_committed: bool) -> io::Result<()> {
        self.read_committed = read_committed;
        self.pass()
    }

    /// Passes on what nobody can notice.
    fn pass(&mut self) -> io::Result<()> {
        while self.flying.is_none()
            && self.behind.is_none()
            && self.waiting.front().is_some_and(|unit| !self.is_interesting(unit))
        {
            self.fly(false, None)?;
        }
        Ok(())
    }

    fn is_interesting(&self, unit: &Unit) -> bool {
        let context = self.context();
        let commits = unit.end == End::Ready && self.unsynced && !context.open && !context.failed;
        commits || unit.spoken.iter().any(|spoken| is_noticeable(&spoken.text, context))
    }

    /// Lets the unit that is held go; its answer is kept back.
    pub fn send(&mut self) -> io::Result<()> {
        self.fly(true, None)
    }

    /// The same with a transaction around it, if it is sent outside of one and changes something: when it is done, its
    /// commit is held.
    pub fn send_lone(&mut self) -> io::Result<()> {
        self.send_wrapping(Lone::Writes)
    }

    /// The same if it only reads: its transaction keeps its snapshot.
    pub fn send_lone_reading(&mut self) -> io::Result<()> {
        self.send_wrapping(Lone::Reads)
    }

    fn send_wrapping(&mut self, least: Lone) -> io::Result<()> {
        let alone = self.transaction() == TransactionStatus::Idle && !self.skipping;
        let unit = self.waiting.front().filter(|unit| alone && unit.end == End::Ready && !unit.implicit);
        let lone = unit.and_then(|unit| unit.spoken.iter().map(|spoken| lone(&spoken.text)).reduce(Lone::and));
        let wraps = lone.is_some_and(|lone| lone == Lone::Writes || lone == least);
        self.fly(true, wraps.then_some(Phase::Begin))
    }

    /// Lets the unit that is held go, and its answer through.
    pub fn send_through(&mut self) -> io::Result<()> {
        self.fly(false, None)
    }

    /// Whether the unit that is held is the commit of what was sent outside of a transaction.
    pub fn owes_commit(&self) -> bool {
        self.held().is_some_and(|unit| unit.implicit)
    }

    fn fly(&mut self, held: bool, phase: Option<Phase>) -> io::Result<()> {
        let Some(unit) = self.waiting.pop_front() else { return Ok(()) };
        self.noticed |= self.is_interesting(&unit);
        self.listens |= unit.spoken.iter().any(|spoken| is_listening(&spoken.text));
        let phase = if unit.implicit { Some(Phase::Commit) } else { phase };
        let mut bytes = if phase == Some(Phase::Begin) { wrap::begin() } else { Vec::new() };
        bytes.extend(unit.frames.iter().flat_map(|frame| frame.bytes()));
        if unit.end == End::Ready {
            (self.unsynced, self.skipping) = (false, false);
        } else {
            self.unsynced |= !unit.spoken.is_empty();
        }
        let ignored = self.skipping || (unit.end == End::Flush && unit.replies == 0);
        self.server.write_all(&bytes)?;
        if !ignored {
            self.flying = Some(Flight { unit, held, phase, answer: Vec::new(), told: 0, replies: 0, described: 0 });
        }
        Ok(())
    }

    /// Takes in what the server says; what has been answered by that.
    pub fn hear_server(&mut self, frames: Vec<Frame>) -> io::Result<Vec<Answered>> {
        let mut answered = Vec::new();
        // What came together is told together: each message by itself would wake the client.
        let mut told = Vec::new();
        for frame in frames {
            if frame.tag == b'Z' {
                self.status = frame.body().first().copied().unwrap_or(b'I');
                self.noticed &= self.status != b'I';
            }
            let Some(flight) = &mut self.flying else {
                match (&mut self.behind, &mut self.kept) {
                    (Some(behind), _) => behind.push(frame),
                    (None, Some(kept)) => kept.frames.push(frame),
                    (None, None) => told.push(frame),
                }
                continue;
            };
            match (flight.phase, frame.tag, self.status) {
                (Some(Phase::Begin), b'Z', status) => {
                    flight.phase = (status == b'T').then_some(Phase::Inside);
                    continue;
                }
                (Some(Phase::Begin), _, _) => continue,
                (Some(Phase::Inside), b'Z', b'E') => {
                    flight.phase = Some(Phase::Rollback);
                    self.server.write_all(&wrap::rollback())?;
                    continue;
                }
                (Some(Phase::Inside), b'Z', b'I') => flight.phase = None,
                (Some(Phase::Rollback), b'1' | b'2' | b'3' | b'C', _) => continue,
                _ => {}
            }
            if flight.unit.end == End::Flush {
                self.skipping |= frame.tag == b'E';
                match flight.transaction_after(&frame) {
                    Some(b'I') => (self.status, self.unsynced, self.noticed) = (b'I', false, false),
                    Some(status) => self.status = status,
                    None if frame.tag == b'E' && self.status == b'T' => self.status = b'E',
                    None => {}
                }
            }
            let done = flight.take(&frame, &mut self.memory);
            // A client that copies does not go on before it has been told to.
            let urgent = (!flight.held && flight.phase.is_none()) || frame.tag == b'G' || frame.tag == b'W';
            flight.answer.push(frame);
            if urgent {
                told.extend(flight.fresh());
            }
            if done {
                let flight = self.flying.take().expect("it was there a moment ago");
                self.behind = flight.held.then(Vec::new);
                self.read_committed = false;
                let (held, commits) = (flight.held, flight.phase == Some(Phase::Commit));
                let mut done = flight.into_answered(self.transaction(), false);
                if let Some(kept) = self.kept.take_if(|_| commits) {
                    done.frames = kept.with(done.frames);
                }
                if commits && !held {
                    told.append(&mut done.frames);
                    if self.gone {
                        self.close();
                    }
                }
                answered.push(done);
            }
        }
        if !told.is_empty() {
            self.tell(&told)?;
        }
        self.pass()?;
        Ok(answered)
    }

    /// The server is gone; what it was at work on has failed.
    pub fn lose_server(&mut self) -> Option<Answered> {
        self.gone = true;
        self.status = b'I';
        self.flying.take().map(|flight| flight.into_answered(TransactionStatus::Idle, true))
    }

    /// Gives the client the answer that was kept back, and passes on what it says next if nobody can notice that.
    pub fn deliver(&mut self, answered: Answered) -> io::Result<()> {
        let behind = self.behind.take().unwrap_or_default();
        if answered.wrapped {
            // Until the commit, nothing has happened.
            let frames = answered.frames.into_iter().chain(behind).collect();
            self.kept = Some(Kept { frames, simple: answered.unit.has(b'Q') });
            self.waiting.push_front(wrap::commit());
            return Ok(());
        }
        if self.gone && answered.unit.implicit {
            self.close();
        }
        self.tell(&answered.frames)?;
        self.tell(&behind)?;
        if answered.lost {
            self.close();
        }
        self.pass()
    }

    fn tell(&mut self, frames: &[Frame]) -> io::Result<()> {
        let bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.bytes()).copied().collect();
        let patience = self.server.patience().clone().with_silence_max(CLIENT_TIME_MAX);
        patience.write_all(&mut self.client, &bytes)
    }

    /// Says good-bye on both sides. The server hears it when it has answered what it is at work on, gives up the
    /// transaction and closes: only then is it gone.
    pub fn close(&mut self) {
        self.gone = true;
        // Gone already is as good.
        let _ = self.client.shutdown(Shutdown::Both);
        // What was sent outside of a transaction is done all the same: its commit comes first.
        let wrapped = |flight: &Flight| matches!(flight.phase, Some(Phase::Begin | Phase::Inside | Phase::Commit));
        if self.kept.is_none() && !self.flying.as_ref().is_some_and(wrapped) {
            let _ = self.server.write_all(Frame::new(b'X', &[]).bytes());
        }
    }
}

impl Flight {
    /// Takes note of a message; whether it is the last of the answer.
    fn take(&mut self, frame: &Frame, memory: &mut Memory) -> bool {
        let statement = self.unit.described.get(self.described).cloned().flatten();
        match (frame.tag, statement) {
            (b't', Some(name)) => memory.learn_parameters(&name, Fields(frame.body())),
            (b'T', Some(name)) => {
                let columns = columns(frame).into_iter().map(|column| (column.name, column.oid)).collect();
                memory.learn_columns(&name, columns);
            }
            _ => {}
        }
        self.described += usize::from(b"Tn".contains(&frame.tag));
        self.replies += usize::from(b"123TnCIs".contains(&frame.tag));
        match self.unit.end {
            End::Ready => frame.tag == b'Z',
            End::Flush => frame.tag == b'E' || self.replies >= self.unit.replies,
        }
    }

    /// How the transaction stands after a statement about it, which the server tells only after a Sync.
    fn transaction_after(&self, frame: &Frame) -> Option<u8> {
        let to_savepoint = Facts::of_text(&self.unit.spoken.last()?.text).verb == Verb::RollbackTo;
        match &*Fields(frame.body()).text() {
            _ if frame.tag != b'C' => None,
            "BEGIN" | "START TRANSACTION" => Some(b'T'),
            "COMMIT" | "PREPARE TRANSACTION" => Some(b'I'),
            "ROLLBACK" if !to_savepoint => Some(b'I'),
            "ROLLBACK" => Some(b'T'),
            _ => None,
        }
    }

    /// What the client has not been told yet and may be.
    fn fresh(&mut self) -> Vec<Frame> {
        let fresh = self.answer[self.told..].iter().filter(|frame| !is_ours(frame)).cloned().collect();
        self.told = self.answer.len();
        fresh
    }

    fn into_answered(mut self, status: TransactionStatus, lost: bool) -> Answered {
        let frames = self.fresh();
        let notices = self.answer.iter().filter(|frame| frame.tag == b'N').map(complaint).collect();
        let responses = responses(&self.answer, &self.unit.spoken);
        let wrapped = self.phase == Some(Phase::Inside) && !lost;
        Answered { unit: self.unit, held: self.held, status, responses, notices, lost, wrapped, frames }
    }
}

/// Whether a message is a notice by which Isolde's own triggers tell of a changed row, or its module of what was read.
fn is_ours(frame: &Frame) -> bool {
    let told = |notice: Complaint| effects::strip(&notice).is_some() || reads::is_told(&notice);
    frame.tag == b'N' && told(complaint(frame))
}

/// What makes the server answer, if this does.
fn end_of(tag: u8) -> Option<End> {
    match tag {
        b'Q' | b'F' | b'S' => Some(End::Ready),
        b'H' => Some(End::Flush),
        _ => None,
    }
}

/// A column of a result.
#[derive(Clone, Debug)]
struct Column {
    name: String,
    oid: u32,
    binary: bool,
}

fn columns(frame: &Frame) -> Vec<Column> {
    Fields(frame.body()).list(|fields| {
        let name = fields.text();
        let (_table, _attribute) = (fields.int32(), fields.int16());
        let oid = fields.int32() as u32;
        let (_size, _modifier) = (fields.int16(), fields.int32());
        Column { name, oid, binary: fields.int16() == 1 }
    })
}

/// What each statement came to, from the messages of the answer.
fn responses(frames: &[Frame], spoken: &[Spoken]) -> Vec<Response> {
    let mut all = Vec::new();
    let mut described: Option<Vec<Column>> = None;
    let mut rows = Vec::new();
    for frame in frames {
        let known = || columns_known(spoken.get(all.len().min(spoken.len().saturating_sub(1))));
        match frame.tag {
            b'T' => described = Some(columns(frame)),
            b'D' => {
                let columns = described.get_or_insert_with(known);
                rows.push(row(frame, columns));
            }
            b'C' | b's' | b'I' => {
                let tag = if frame.tag == b'C' { Fields(frame.body()).text() } else { String::new() };
                let columns = described.take().unwrap_or_else(known);
                all.push(match columns.is_empty() && rows.is_empty() {
                    true => Response::Done { tag },
                    false => {
                        let columns = columns.into_iter().map(|column| column.name).collect();
                        Response::Rows { tag, columns, rows: std::mem::take(&mut rows) }
                    }
                });
            }
            b'E' => all.push(Response::Error(complaint(frame))),
            _ => {}
        }
    }
    all
}

/// The columns of a statement that was described before.
fn columns_known(spoken: Option<&Spoken>) -> Vec<Column> {
    let Some(Spoken { columns, formats, .. }) = spoken else { return Vec::new() };
    let column = |(at, (name, oid)): (usize, &(String, u32))| Column {
        name: name.clone(),
        oid: *oid,
        binary: form(formats, at),
    };
    columns.iter().enumerate().map(column).collect()
}

fn row(frame: &Frame, columns: &[Column]) -> Vec<Option<String>> {
    let mut at = 0;
    Fields(frame.body()).list(|fields| {
        let (oid, binary) = columns.get(at).map_or((0, false), |column| (column.oid, column.binary));
        at += 1;
        fields.value().map(|value| value::text(value, oid, binary))
    })
}

/// An error or a notice.
fn complaint(frame: &Frame) -> Complaint {
    let mut complaint = Complaint::default();
    let mut fields = Fields(frame.body());
    loop {
        let (kind, text) = (fields.byte(), fields.text());
        match kind {
            0 => return complaint,
            b'V' => complaint.severity = text,
            b'C' => complaint.sqlstate = text,
            b'M' => complaint.message = text,
            b'D' => complaint.detail = Some(text),
            b'H' => complaint.hint = Some(text),
            b'P' => complaint.position = text.parse().ok(),
            b'n' => complaint.constraint = Some(text),
            _ => {}
        }
    }
}
