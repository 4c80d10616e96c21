//! Servers that want to be spoken to by TLS: scenarios and applications run there as anywhere, and whom to trust is up
//! to the user.
#![allow(clippy::unwrap_used)]

mod both;
mod common;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use isolde_report::Verdict;
use isolde_testkit::{Cluster, skipped};
use isolde_wire::{Connection, Settings};

/// A certificate for localhost, signed by itself.
const CERTIFICATE: &str = "[req]\ndistinguished_name = dn\nx509_extensions = v3\nprompt = no\n[dn]\nCN = localhost\n[v3]\n\
    subjectAltName = DNS:localhost\nbasicConstraints = critical, CA:FALSE\n";

/// The same as openssl makes it if nobody says otherwise: it calls itself an authority.
fn authority() -> String {
    CERTIFICATE.replace("CA:FALSE", "CA:TRUE")
}

/// A server that encrypts, and refuses who does not; `None`, with a line that says why, if that cannot be made.
fn server(certificate: &str, auth: &str) -> Option<(Cluster, u16)> {
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let cluster = Cluster::start_with(port, &["listen_addresses=127.0.0.1"]).unwrap();
    let directory = cluster.socket_directory().to_path_buf();
    if !make_certificate(&directory, certificate) {
        skipped::note("encrypted connections", "there is no openssl to make a certificate with");
        return None;
    }
    let mut control = cluster.connect("postgres", "").unwrap();
    let file = |name: &str| directory.join(name).display().to_string();
    let rules = format!("local all all trust\nhostssl all all 127.0.0.1/32 {auth}\n");
    fs::write(directory.join("data/pg_hba.conf"), rules).unwrap();
    let root = ("ssl_ca_file", file("tls.crt"));
    for (name, value) in
        [root, ("ssl_cert_file", file("tls.crt")), ("ssl_key_file", file("tls.key")), ("ssl", "on".into())]
    {
        control.execute(&format!("ALTER SYSTEM SET {name} = '{value}'")).unwrap();
    }
    control.execute("SELECT pg_reload_conf()").unwrap();
    // The server takes its time to read it again.
    let url = format!("postgres://postgres@localhost:{port}/postgres?sslmode=require");
    let ready = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        match Connection::open(&settings(&url)) {
            Ok(_) => auth == "trust",
            // It asks for a certificate: that is encrypted, too.
            Err(error) => auth != "trust" && !error.to_string().contains("does not encrypt"),
        }
    });
    assert!(ready, "{:?}", Connection::open(&settings(&url)).err());
    Some((cluster, port))
}

/// Key and certificate, owned by whom the server runs as.
fn make_certificate(directory: &Path, text: &str) -> bool {
    let [config, key, certificate] = ["tls.conf", "tls.key", "tls.crt"].map(|name| directory.join(name));
    fs::write(&config, text).unwrap();
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-new", "-x509", "-days", "30", "-nodes", "-newkey", "rsa:2048", "-config"]).arg(&config);
    let made = openssl.arg("-keyout").arg(&key).arg("-out").arg(&certificate).output();
    if !made.is_ok_and(|output| output.status.success()) {
        return false;
    }
    let owner = fs::metadata(directory).unwrap();
    for file in [&key, &certificate] {
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
        chown(file, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
    // Whoever runs the tests reads it, too.
    fs::copy(&certificate, directory.join("root.crt")).unwrap();
    true
}

fn settings(url: &str) -> Settings {
    Settings::parse(url, |_| None).unwrap()
}

#[test]
fn a_server_that_insists_on_encryption_is_spoken_to_by_tls() {
    let Some((cluster, port)) = server(CERTIFICATE, "trust") else { return };
    let root: PathBuf = cluster.socket_directory().join("root.crt");
    let open = |host: &str, more: &str| {
        Connection::open(&settings(&format!("postgres://postgres@{host}:{port}/postgres?{more}")))
    };
    for mode in ["allow", "prefer", "require"] {
        assert!(open("localhost", &format!("sslmode={mode}")).unwrap().is_encrypted(), "{mode}");
    }
    let refused = open("localhost", "sslmode=disable").unwrap_err().to_string();
    assert!(refused.contains("no encryption") || refused.contains("SSL off"), "{refused}");
    let full = format!("sslmode=verify-full&sslrootcert={}", root.display());
    assert!(open("localhost", &full).unwrap().is_encrypted());
    let stranger = open("127.0.0.1", &full).unwrap_err().to_string();
    assert!(stranger.contains("not valid for name"), "{stranger}");
    assert!(open("127.0.0.1", &full.replace("full", "ca")).unwrap().is_encrypted());
    assert!(open("localhost", "sslmode=verify-full").unwrap_err().to_string().contains("sslrootcert"));
    long_answers(&mut open("localhost", "sslmode=require").unwrap());
    explores(&settings(&format!("postgres://postgres@localhost:{port}/postgres?sslmode=require")));
}

/// A certificate that has signed itself and calls itself an authority, as most do, is trusted if it is the root; and
/// its name counts.
#[test]
fn a_certificate_that_is_its_own_root_is_trusted() {
    let Some((cluster, port)) = server(&authority(), "trust") else { return };
    let root = cluster.socket_directory().join("root.crt");
    let open = |host: &str, mode: &str| {
        let more = format!("sslmode={mode}&sslrootcert={}", root.display());
        Connection::open(&settings(&format!("postgres://postgres@{host}:{port}/postgres?{more}")))
    };
    assert!(open("localhost", "verify-full").unwrap().is_encrypted());
    assert!(open("127.0.0.1", "verify-ca").unwrap().is_encrypted());
    let stranger = open("127.0.0.1", "verify-full").unwrap_err().to_string();
    assert!(stranger.contains("not valid for name"), "{stranger}");
    // Another one that says the same about itself is not this one.
    let other = tempfile::tempdir().unwrap();
    assert!(make_certificate(other.path(), &authority()));
    let more = format!("sslmode=verify-full&sslrootcert={}", other.path().join("root.crt").display());
    assert!(Connection::open(&settings(&format!("postgres://postgres@localhost:{port}/postgres?{more}"))).is_err());
}

/// A server that asks for a certificate is shown one.
#[test]
fn certificates_of_clients_are_shown() {
    let Some((cluster, port)) = server(&authority(), "trust clientcert=verify-ca") else { return };
    // What the server trusts is itself, so its own certificate does.
    let [certificate, key] = ["tls.crt", "tls.key"].map(|name| cluster.socket_directory().join(name));
    let open =
        |more: &str| Connection::open(&settings(&format!("postgres://postgres@localhost:{port}/postgres?{more}")));
    assert!(open("sslmode=require").is_err(), "without a certificate nobody is let in");
    let both = format!("sslmode=require&sslcert={}&sslkey={}", certificate.display(), key.display());
    assert!(open(&both).unwrap().is_encrypted());
    let one = open(&format!("sslmode=require&sslcert={}", certificate.display())).unwrap_err().to_string();
    assert!(one.contains("go together"), "{one}");
}

/// More than a record, and more than a buffer.
fn long_answers(connection: &mut Connection) {
    for length in [1, 5_000, 20_000, 300_000] {
        let answer = connection.execute(&format!("SELECT repeat('x', {length})")).unwrap();
        assert_eq!(answer[0].rows()[0][0].as_ref().map(String::len), Some(length));
    }
    let sent = "y".repeat(200_000);
    let answer = connection.execute(&format!("SELECT length('{sent}')")).unwrap();
    assert_eq!(answer[0].rows()[0][0].as_deref(), Some("200000"));
}

fn explores(server: &Settings) {
    let file = both::read(
        "CREATE TABLE account (id int PRIMARY KEY, balance int); INSERT INTO account VALUES (1, 100);
--@ thread alice
SELECT balance AS old FROM account WHERE id = 1 \\gset
UPDATE account SET balance = :old - 60 WHERE id = 1;
--@ thread bob
SELECT balance AS old FROM account WHERE id = 1 \\gset
UPDATE account SET balance = :old - 60 WHERE id = 1;
",
    );
    let mut stage = both::stage_at(&file, server).unwrap();
    assert_eq!(both::gist(&both::check(&file, &mut stage).unwrap()), "violated serial outcome lost update");
    drop(stage);
    if skipped::without("psql", "an application with an encrypted connection") {
        return;
    }
    let thread = |name: &str| {
        let command = "psql -Xqc 'UPDATE counter SET n = n + 1 WHERE id = 1'";
        format!("[[thread]]\nname = \"{name}\"\ncommand = '''{command}'''\n")
    };
    let text = format!("{}{}{}", common::COUNTER, thread("alice"), thread("bob"));
    assert_eq!(common::check_on(server, &text).unwrap().verdict, Verdict::Holds);
}
