//! Schemas of applications, dumped by pg_dump: they load unchanged, into the engine and into a server, and are the same
//! in both.
//!
//! `schemas/<name>/schema.sql` is what somebody wrote, `dump.sql` what pg_dump made of it (schema and rows), and
//! `scenario.sql` a scenario on top of the dump.

#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use isolde_engine::{Activity, Database, SessionId};
use isolde_scenario::file::{Include, Included};
use isolde_scenario::{Options, Scenario, check};
use isolde_sql::{SqlError, parse};
use isolde_testkit::{Cluster, Response, Version, skipped, version};
use isolde_wire::Connection;

/// Every schema, with what its scenario comes to and statements that must do the same in both databases.
const SCHEMAS: &[(&str, &str, &[&str])] = &[
    (
        "shop",
        "Violated",
        &[
            "SELECT * FROM public.order_total ORDER BY id",
            "SELECT * FROM public.available ORDER BY product_id",
            "INSERT INTO public.customer (email, name) VALUES ('ANN@example.com', 'Other Ann')",
            "INSERT INTO public.customer (email, name) VALUES ('cy@example.com', 'Cy') RETURNING id, credit, settings",
            "UPDATE public.customer SET credit = credit - 200 WHERE id = 1",
            "INSERT INTO public.address (customer_id, country, street, is_default) VALUES (1, 'FR', 'x', true)",
            "INSERT INTO public.orders (customer_id) VALUES (1)",
            "INSERT INTO public.orders (customer_id, status) VALUES (1, 'placed') RETURNING id, number, status",
            "SELECT what, row_id FROM public.audit ORDER BY id",
            "INSERT INTO public.order_line (order_id, position, product_id, quantity) VALUES (1, 2, 2, 3) RETURNING *",
            "SELECT public.order_sum(1)",
            "UPDATE public.active_product SET price = price * 2 WHERE sku = 'B-1' RETURNING *",
            "INSERT INTO public.product (sku, name, price) VALUES ('N', 'n', -1)",
            "DELETE FROM public.customer WHERE id = 2",
            "INSERT INTO public.category (parent_id, name) VALUES (99, 'orphan')",
            "SELECT tags, attributes ->> 'pages' FROM public.product ORDER BY id",
            "CALL public.reserve(1, 2)",
            "SELECT * FROM public.stock ORDER BY 1, 2",
        ],
    ),
    (
        "ticketing",
        "Violated",
        &[
            "SELECT * FROM box.sold ORDER BY show_id",
            "SELECT id, \"row\", number FROM box.open_ticket ORDER BY id",
            "INSERT INTO box.ticket (show_id, hall_id, \"row\", number) VALUES (1, 10, 1, 1)",
            "INSERT INTO box.ticket (show_id, hall_id, \"row\", number, void) VALUES (1, 10, 1, 1, true) RETURNING id",
            "INSERT INTO box.ticket (show_id, hall_id, \"row\", number) VALUES (1, 10, 9, 9)",
            "CALL box.buy(1, 1)",
            "CALL box.buy(2, 1)",
            "SELECT ticket_id, client_id, amount, fee FROM box.sale",
            "SELECT line FROM box.journal",
            "SELECT box.price_of(1, 'stalls')",
            "UPDATE public.venue SET id = 5 WHERE id = 1",
            "SELECT id, venue_id, name FROM public.hall ORDER BY id",
            "INSERT INTO public.hall (venue_id, name) VALUES (5, 'Studio') RETURNING id",
            "INSERT INTO box.client (email) VALUES ('ANN@x')",
            "DELETE FROM public.venue WHERE id = 5",
        ],
    ),
    (
        "social",
        "Violated",
        &[
            "SELECT * FROM public.timeline ORDER BY 1, 2",
            "SELECT id, followers FROM public.member ORDER BY id",
            "INSERT INTO public.follow (follower_id, followed_id) VALUES (2, 1)",
            "INSERT INTO public.follow (follower_id, followed_id) VALUES (2, 2)",
            "DELETE FROM public.follow WHERE follower_id = 3",
            "SELECT id, followers FROM public.member ORDER BY id",
            "SELECT member_id, kind, payload FROM public.notification ORDER BY id",
            "SELECT public.like_post(1, 1)",
            "SELECT public.like_post(1, 1)",
            "SELECT likes, score FROM public.post ORDER BY id",
            "UPDATE public.visible_post SET deleted = true WHERE id = 3",
            "UPDATE public.visible_post SET body = 'bye' WHERE id = 3",
            "UPDATE public.circle SET size = 3",
            "INSERT INTO public.member (handle, display_name) VALUES ('BOB', 'x')",
            "SELECT public.feed_size(1)",
            "UPDATE public.conversation SET last_message = 77",
            "SELECT tags FROM public.post WHERE 'greeting' = ANY (tags)",
        ],
    ),
];

#[test]
fn dumps_load_and_behave_as_on_the_server() {
    if skipped::without("psql", "that dumps behave as on the server") {
        return;
    }
    for (name, _, statements) in SCHEMAS {
        let mut database = scenario(name).database().clone();
        let cluster = Cluster::shared();
        let on_server = cluster.create_database().unwrap();
        load(cluster.socket_directory(), &on_server, &directory(name).join("dump.sql"));
        let mut server = cluster.connect(&on_server, "").unwrap();
        assert_eq!(tables_of(&database), tables_on(&mut server), "{name}: tables and their columns");
        same_rows(name, &database, &mut server);
        let session = database.open_session();
        for statement in *statements {
            let expected = answer(&mut server, statement);
            let actual = run(&mut database, session, statement);
            assert_eq!(actual, expected, "{name}: {statement}");
        }
        same_rows(name, &database, &mut server);
        drop(server);
        cluster.drop_database(&on_server).unwrap();
    }
}

#[test]
fn scenarios_on_dumps_are_explored() {
    for (name, verdict, _) in SCHEMAS {
        let report = check(&scenario(name), &Options::default(), &mut |_| ControlFlow::Continue(()));
        let found = format!("{:?}", report.verdict);
        assert!(found.starts_with(verdict), "{name}: {found}");
    }
}

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas").join(name)
}

fn scenario(name: &str) -> Scenario {
    let directory = directory(name);
    let text = std::fs::read_to_string(directory.join("scenario.sql")).unwrap();
    let mut loader = |include: Include<'_>| {
        let path = directory.join(include.path);
        let text = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
        Ok(Included { name: include.path.to_string(), text })
    };
    Scenario::parse("scenario.sql", &text, &mut loader).unwrap_or_else(|e| panic!("{name}: {e:?}"))
}

fn load(socket: &Path, database: &str, dump: &Path) {
    let arguments = ["-q", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", database, "-h"];
    let status = Command::new("psql").args(arguments).arg(socket).arg("-f").arg(dump).output().unwrap();
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
}

/// `table: column type [not null], ...`, sorted.
fn tables_of(database: &Database) -> Vec<String> {
    let mut tables: Vec<String> = (database.catalog().tables())
        .map(|table| {
            let columns =
                table.columns.iter().map(|c| format!("{} {}", c.name, if c.not_null { "not null" } else { "" }));
            let schema = table.schema.as_deref().unwrap_or("public");
            format!("{schema}.{}: {}", table.name, columns.collect::<Vec<_>>().join(","))
        })
        .collect();
    tables.sort();
    tables
}

fn tables_on(server: &mut Connection) -> Vec<String> {
    let query = "SELECT n.nspname || '.' || c.relname || ': ' || string_agg(a.attname || ' ' || \
                 CASE WHEN a.attnotnull THEN 'not null' ELSE '' END, ',' ORDER BY a.attnum) \
                 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                 JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
                 WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
                 GROUP BY n.nspname, c.relname";
    let mut tables: Vec<String> = match &server.query(query).unwrap()[..] {
        [isolde_wire::Response::Rows { rows, .. }] => rows.iter().map(|row| row[0].clone().unwrap()).collect(),
        other => panic!("{other:?}"),
    };
    tables.sort();
    tables
}

/// Every table has the same rows, whatever their order; moments, which depend on the clock, are left out.
fn same_rows(name: &str, database: &Database, server: &mut Connection) {
    for table in database.catalog().tables() {
        let timeless = |ty: isolde_sql::Type| !ty.to_string().starts_with("timestamp");
        let columns = table.columns.iter().filter(|c| timeless(c.ty)).map(|c| format!("\"{}\"", c.name));
        let schema = table.schema.as_deref().unwrap_or("public");
        let columns = columns.collect::<Vec<_>>().join(", ");
        let query = format!("SELECT {columns} FROM {schema}.\"{}\"", table.name);
        let mut expected = answer(server, &query);
        let mut copy = database.clone();
        let session = copy.open_session();
        let mut actual = run(&mut copy, session, &query);
        expected.sort();
        actual.sort();
        assert_eq!(actual, expected, "{name}: {query}");
    }
}

/// What a server answers: rows as text, then the tag; or the error.
fn answer(server: &mut Connection, statement: &str) -> Vec<String> {
    match server.query(statement).unwrap().pop().map(Response::from) {
        Some(Response::Rows { tag, rows, .. }) => {
            let show = |row: &Vec<Option<String>>| {
                row.iter().map(|v| v.clone().unwrap_or_else(|| "NULL".into())).collect::<Vec<_>>().join("|")
            };
            rows.iter().map(show).chain([tag]).collect()
        }
        Some(Response::Done { tag }) => vec![tag],
        Some(Response::Error { mut sqlstate, mut message }) => {
            let version = server.parameter("server_version").and_then(Version::parse);
            version::in_words_of_the_reference(version, &mut sqlstate, &mut message);
            vec![format!("{:?}", Some(Response::Error { sqlstate, message }))]
        }
        None => vec![format!("{:?}", None::<Response>)],
    }
}

fn run(database: &mut Database, session: SessionId, statement: &str) -> Vec<String> {
    let reply = (|| {
        let parsed = parse::statement(parse::Fragment { text: statement, offset: 0 }).map_err(SqlError::from)?;
        let prepared = database.prepare_in(session, &parsed, statement, &[]).map_err(SqlError::from)?;
        if let Some(reply) = database.submit(session, &prepared, &[]) {
            return reply;
        }
        loop {
            assert!(!matches!(database.activity(session), Activity::Blocked(_)), "{statement} waits");
            if let Some(reply) = database.step(session).reply {
                return reply;
            }
        }
    })();
    match reply {
        Ok(result) => {
            let show = |row: &isolde_sql::Row| {
                let text = |v: &isolde_sql::Value| if v.is_null() { "NULL".into() } else { v.to_string() };
                row.iter().map(text).collect::<Vec<_>>().join("|")
            };
            result.rows.iter().map(show).chain([result.tag.to_string()]).collect()
        }
        Err(e) => {
            let response = Response::Error { sqlstate: e.state.to_string(), message: e.message.to_string() };
            vec![format!("{:?}", Some(response))]
        }
    }
}
