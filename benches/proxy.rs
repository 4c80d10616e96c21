//! What the proxy costs per statement: `cargo bench -p isolde-benches --bench proxy`.
//!
//! One session, a SELECT by key again and again, on a server of this machine that is started for the purpose: connected
//! directly, through a door with everything passed on, and through a door with every statement held, looked at and let
//! go. Every figure is measured in this one run.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use isolde_postgres::proxy::{Door, Event, Session, SessionId};
use isolde_testkit::Cluster;
use isolde_wire::secret::{self, Verifier};
use isolde_wire::{Connection, Place, Settings};

const QUERY: &str = "SELECT balance FROM account WHERE id = 7";

fn main() {
    // `cargo test --benches` runs this too: then one short round each, to see that it works.
    let quick = !std::env::args().any(|a| a == "--bench");
    let round = Duration::from_millis(if quick { 50 } else { 3_000 });
    let cluster = Cluster::shared();
    let database = cluster.create_database().expect("a database");
    let settings = cluster.settings(&database);
    let mut direct = Connection::open(&settings).expect("a session");
    direct
        .execute("CREATE TABLE account (id int PRIMARY KEY, balance int); INSERT INTO account VALUES (7, 100)")
        .expect("fine");
    println!(
        "SELECT by key                                           {:>12} {:>10} {:>10}",
        "statements/s", "us each", "ratio"
    );
    let base = rate(&mut direct, round);
    row("connected directly (socket)", base, base);
    row("through the proxy, passed on (TCP)", behind_door(&settings, round, false), base);
    row("through the proxy, held and let go (TCP)", behind_door(&settings, round, true), base);
}

fn row(what: &str, rate: f64, base: f64) {
    println!("  {what:<54}{rate:>12.0} {:>10.1} {:>9.2}x", 1e6 / rate, base / rate);
}

/// Statements per second over a connection.
fn rate(connection: &mut Connection, round: Duration) -> f64 {
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < round {
        connection.execute(QUERY).expect("it is fine");
        count += 1;
    }
    f64::from(count) / start.elapsed().as_secs_f64()
}

fn behind_door(settings: &Settings, round: Duration, held: bool) -> f64 {
    let (sender, events) = channel();
    let password = secret::token().expect("the system has chance to offer");
    let verifier = Verifier::new(&password).expect("the password is plain");
    let door = Door::open(settings, &verifier, &sender).expect("a port is free");
    drop(sender);
    let conductor = std::thread::spawn(move || conduct(&events, held));
    let behind =
        Settings { place: Place::Tcp("127.0.0.1".into(), door.port()), password: Some(password), ..settings.clone() };
    let mut connection = Connection::open(&behind).expect("the door is open");
    let rate = rate(&mut connection, round);
    drop((connection, door));
    conductor.join().expect("it ends when nobody is left");
    rate
}

/// Lets everything go, as soon as it is held.
fn conduct(events: &Receiver<Event>, held: bool) {
    let mut sessions: BTreeMap<SessionId, Session> = BTreeMap::new();
    for event in events {
        match event {
            Event::Opened(opened) => drop(sessions.insert(opened.id, Session::new(opened))),
            Event::FromClient(id, frames) => {
                let session = sessions.get_mut(&id).expect("it was opened");
                session.hear_client(frames).expect("the server is there");
                while session.held().is_some() {
                    let sent = if held { session.send() } else { session.send_through() };
                    sent.expect("the server is there");
                }
            }
            Event::FromServer(id, frames) => {
                let session = sessions.get_mut(&id).expect("it was opened");
                let answers = session.hear_server(frames).expect("the client is there");
                for answered in answers.into_iter().filter(|answered| answered.held) {
                    session.deliver(answered).expect("the client is there");
                }
            }
            Event::Refused { .. } | Event::ClientGone(_) | Event::ServerGone(_) => {}
        }
    }
}
