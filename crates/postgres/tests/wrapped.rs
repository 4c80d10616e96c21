//! Transactions that the proxy puts around lone statements are not noticed by the client.
//!
//! One law: what a client hears through the proxy, message by message, is what it hears from the server, whatever it
//! sends outside of transactions and in them, by the simple or the extended protocol.

#![allow(clippy::unwrap_used)]

use std::io::Read;
use std::sync::mpsc::{Receiver, channel};

use isolde_postgres::proxy::{Door, Event, Session};
use isolde_testkit::Cluster;
use isolde_testkit::generate::Dice;
use isolde_wire::secret::Verifier;
use isolde_wire::{Connection, Encryption, Mode, Place, Settings, Stream};

/// What a client sends before it waits to hear that the server is ready.
type Said = &'static [Piece];

#[derive(Clone, Copy, Debug)]
enum Piece {
    /// A simple query.
    Query(&'static str),
    /// Prepares the unnamed statement.
    Parse(&'static str),
    /// Binds and executes it.
    Run,
    /// The lines of a COPY, and their end.
    Rows(&'static str),
    Sync,
}

use Piece::{Parse, Query, Rows, Run, Sync};

/// One list. To add an exchange: a line here.
const EXCHANGES: &[Said] = &[
    &[Query("INSERT INTO t VALUES (1, 10)")],
    &[Query("INSERT INTO t VALUES (2, 20) RETURNING id, n")],
    &[Query("INSERT INTO t VALUES (3, 30); UPDATE t SET n = n + 1; SELECT count(*) FROM t")],
    &[Query("UPDATE t SET n = n + 1 WHERE id = 1")],
    &[Query("DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (1, 1), (1, 1)")],
    &[Query("UPDATE t SET n = 1 / (n - n)")],
    &[Query("SELECT id FROM t ORDER BY id FOR UPDATE")],
    &[Query("INSERT INTO child VALUES (77)")],
    &[Query("INSERT INTO child VALUES (78) RETURNING id")],
    &[Query("UPDATE t SET n = 5; INSERT INTO child VALUES (79)")],
    &[Query("CALL twice()")],
    &[Query("TRUNCATE t CASCADE")],
    &[Query("")],
    &[Query("LOCK TABLE t")],
    &[Query("SELECT noisy()")],
    &[Query("LISTEN bell")],
    &[Query("SELECT pg_notify('bell', 'ding')")],
    &[Query("COPY t FROM STDIN"), Rows("51\t1\n52\t2\n")],
    &[Query("COPY t FROM STDIN"), Rows("53\tx\n")],
    &[Parse("INSERT INTO t VALUES (4, 40)"), Run, Sync],
    &[Parse("INSERT INTO t VALUES (5, 50) RETURNING n"), Sync],
    &[Run, Sync],
    &[Parse("UPDATE t SET n = n + 1"), Run, Run, Sync],
    &[Parse("UPDATE t SET n = n + 1"), Run, Parse("SELECT 1 / 0"), Run, Run, Sync],
    &[Parse("INSERT INTO child VALUES (80)"), Run, Sync],
    &[Parse("INSERT INTO child VALUES (81) RETURNING id"), Run, Parse("UPDATE t SET n = 9"), Run, Sync],
    &[Parse("nonsense"), Run, Sync],
    &[Query("BEGIN")],
    &[Query("COMMIT")],
    &[Query("ROLLBACK")],
];

const SET_UP: &str = "CREATE TABLE t (id int PRIMARY KEY, n int); \
    CREATE TABLE child (id int REFERENCES t DEFERRABLE INITIALLY DEFERRED); \
    CREATE PROCEDURE twice() LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET n = n + 1; COMMIT; \
    UPDATE t SET n = n + 1; END $$; \
    CREATE FUNCTION noisy() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'at work'; \
    UPDATE t SET n = n + 1; RETURN 1; END $$";

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag], &(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

impl Piece {
    fn bytes(self) -> Vec<u8> {
        match self {
            Query(text) => message(b'Q', format!("{text}\0").as_bytes()),
            Parse(text) => message(b'P', format!("\0{text}\0\0\0").as_bytes()),
            Run => [message(b'B', &[0; 8]), message(b'D', b"P\0"), message(b'E', &[0; 5])].concat(),
            Rows(lines) => [message(b'd', lines.as_bytes()), message(b'c', b"")].concat(),
            Sync => message(b'S', b""),
        }
    }
}

/// What the server says until it is ready. Rows of a COPY are sent when it asks for them.
fn hear(stream: &mut Stream, rows: Option<Piece>) -> Vec<(char, String)> {
    let mut heard = Vec::new();
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head).unwrap();
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4;
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        let shown = match head[0] {
            // Begins with the process, which is another one.
            b'A' => String::from_utf8_lossy(&body[4..]).into_owned(),
            _ => String::from_utf8_lossy(&body).into_owned(),
        };
        heard.push((char::from(head[0]), shown));
        match (head[0], rows) {
            (b'G', Some(rows)) => stream.write_all(&rows.bytes()).unwrap(),
            (b'Z', _) => return heard,
            _ => {}
        }
    }
}

fn converse(stream: &mut Stream, exchanges: &[Said]) -> Vec<Vec<(char, String)>> {
    let one = |said: &Said| {
        let rows = said.iter().copied().find(|piece| matches!(piece, Rows(_)));
        let bytes = said.iter().filter(|piece| !matches!(piece, Rows(_))).flat_map(|piece| piece.bytes());
        stream.write_all(&bytes.collect::<Vec<u8>>()).unwrap();
        hear(stream, rows)
    };
    exchanges.iter().map(one).collect()
}

/// Lets everything go as soon as it is held, with a transaction around it wherever there can be one.
fn conduct(events: &Receiver<Event>) {
    let mut session: Option<Session> = None;
    for event in events {
        match (event, &mut session) {
            (Event::Opened(opened), _) => session = Some(Session::new(opened)),
            (Event::FromClient(_, frames), Some(session)) => session.hear_client(frames).unwrap(),
            (Event::FromServer(_, frames), Some(session)) => {
                for answered in session.hear_server(frames).unwrap() {
                    if answered.held {
                        session.deliver(answered).unwrap();
                    }
                }
            }
            (Event::ClientGone(_), Some(session)) => session.close(),
            (Event::ServerGone(_), _) => return,
            _ => {}
        }
        let Some(session) = &mut session else { continue };
        if session.owes_commit() {
            session.send().unwrap();
        } else if session.held().is_some() {
            session.send_lone().unwrap();
        }
    }
}

#[test]
fn clients_do_not_notice_the_transactions_around_lone_statements() {
    let count = std::env::var("ISOLDE_WRAPPED_SEEDS").map_or(40, |count| count.parse().unwrap());
    let cluster = Cluster::shared();
    let database = cluster.create_database().unwrap();
    let settings = cluster.settings(&database);
    let mut control = Connection::open(&settings).unwrap();
    control.execute(SET_UP).unwrap();
    for seed in 0..count {
        let mut dice = Dice::new(seed);
        let exchanges: Vec<Said> = (0..12).map(|_| *dice.pick(EXCHANGES)).collect();
        control.execute("TRUNCATE t, child").unwrap();
        let direct = converse(&mut Connection::open(&settings).unwrap().into_open().unwrap().stream, &exchanges);
        let end = control.query("SELECT * FROM t ORDER BY id").unwrap();
        control.execute("TRUNCATE t, child").unwrap();
        let through = through_the_proxy(&settings, &exchanges);
        for ((said, direct), through) in exchanges.iter().zip(&direct).zip(&through) {
            assert_eq!(direct, through, "seed {seed}: {said:?} of {exchanges:?}");
        }
        assert_eq!(end, control.query("SELECT * FROM t ORDER BY id").unwrap(), "seed {seed}: {exchanges:?}");
    }
}

fn through_the_proxy(settings: &Settings, exchanges: &[Said]) -> Vec<Vec<(char, String)>> {
    let (sender, events) = channel::<Event>();
    let door = Door::open(settings, &Verifier::new("secret").unwrap(), &sender).unwrap();
    let conductor = std::thread::spawn(move || conduct(&events));
    let by_door = Settings {
        place: Place::Tcp("127.0.0.1".into(), door.port()),
        password: Some("secret".into()),
        encryption: Encryption { mode: Mode::Disable, ..Encryption::default() },
        ..settings.clone()
    };
    let mut stream = Connection::open(&by_door).unwrap().into_open().unwrap().stream;
    let heard = converse(&mut stream, exchanges);
    stream.shutdown();
    conductor.join().unwrap();
    heard
}
