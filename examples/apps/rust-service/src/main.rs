//! Who is on call. `POST /leave/NAME` takes somebody off call, if somebody else stays.
//!
//! Each worker has a connection of its own. The transaction is REPEATABLE READ, so what it reads is consistent, and still
//! both can leave: each sees the other one stay. With `ISOLATION=serializable` the database notices, and the service
//! tries again.

use std::sync::Arc;
use std::{env, thread};

use postgres::error::SqlState;
use postgres::{Client, Error, IsolationLevel, NoTls};
use tiny_http::{Request, Response, Server};

const WORKERS: usize = 4;
const ATTEMPTS: usize = 5;

fn main() {
    let port = env::var("PORT").expect("PORT says where to listen");
    let url = env::var("DATABASE_URL").expect("DATABASE_URL says where the database is");
    let server = Arc::new(Server::http(format!("127.0.0.1:{port}")).expect("the port is free"));
    let workers: Vec<_> = (0..WORKERS)
        .map(|_| {
            let (server, url) = (server.clone(), url.clone());
            thread::spawn(move || work(&server, &url))
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().expect("a worker does not panic"));
}

fn work(server: &Server, url: &str) {
    let mut client = Client::connect(url, NoTls).expect("the database is there");
    while let Ok(request) = server.recv() {
        answer(&mut client, request);
    }
}

fn answer(client: &mut Client, request: Request) {
    let name = request.url().strip_prefix("/leave/").unwrap_or_default().to_string();
    let (status, text) = match leave_until_done(client, &name) {
        Ok(true) => (200, "enjoy your evening\n".to_string()),
        Ok(false) => (409, "nobody else is on call\n".to_string()),
        Err(error) => (500, format!("{error}\n")),
    };
    // Who does not wait for the answer does not get it.
    let _ = request.respond(Response::from_string(text).with_status_code(status));
}

/// Tries again when the database could not serialize the transaction.
fn leave_until_done(client: &mut Client, name: &str) -> Result<bool, Error> {
    let mut attempts = 1;
    loop {
        match leave(client, name) {
            Err(error) if error.code() == Some(&SqlState::T_R_SERIALIZATION_FAILURE) && attempts < ATTEMPTS => {
                attempts += 1;
            }
            done => return done,
        }
    }
}

fn leave(client: &mut Client, name: &str) -> Result<bool, Error> {
    let level = match env::var("ISOLATION").as_deref() {
        Ok("serializable") => IsolationLevel::Serializable,
        _ => IsolationLevel::RepeatableRead,
    };
    let mut transaction = client.build_transaction().isolation_level(level).start()?;
    let others: i64 =
        transaction.query_one("SELECT count(*) FROM doctor WHERE on_call AND name <> $1", &[&name])?.get(0);
    if others == 0 {
        return Ok(false);
    }
    transaction.execute("UPDATE doctor SET on_call = false WHERE name = $1", &[&name])?;
    transaction.commit()?;
    Ok(true)
}
