//! Where a server is, and who we are there.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;

use crate::{Encryption, Mode, Patience};

const PORT: u16 = 5432;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Where the packages of the common systems put their sockets.
const SOCKET_DIRECTORIES: &[&str] = &["/var/run/postgresql", "/tmp"];

/// What it takes to connect. Its `Display` is a URL without the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where the server listens.
    pub place: Place,
    /// The role.
    pub user: String,
    /// Its password, if it has one. Never printed.
    pub password: Option<String>,
    /// The database.
    pub database: String,
    /// Settings of the session: `-c name=value`, as PGOPTIONS has them.
    pub options: String,
    /// What the session calls itself.
    pub application_name: String,
    /// How long to wait for the server to answer at all.
    pub connect_timeout: Duration,
    /// Whether the session is encrypted. Within one machine, at a socket, it never is.
    pub encryption: Encryption,
    /// How long the server is waited for, once there is a session.
    pub patience: Patience,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a host and port.
    Tcp(String, u16),
    /// At a socket in this directory, which is named after the port.
    Unix(PathBuf, u16),
}

impl Settings {
    /// Reads `postgres://user:password@host:port/database?option=value`, filling in what is missing as `psql` does:
    /// from the environment, asked by `variable`, then by default. The error is a sentence without the password.
    pub fn parse(url: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Settings, String> {
        let rest = (url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://")))
            .ok_or("a server is named by a URL: postgres://USER@HOST:PORT/DATABASE")?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        // An @ behind the server's name belongs to a login that was cut at the wrong place.
        let cut = authority.contains(':') && !authority.contains('@') && query.contains('@');
        if database.contains('@') || cut {
            return Err(
                "the login of the URL has a character that must be percent-encoded: / is %2F, ? is %3F, @ is %40"
                    .into(),
            );
        }
        let (login, address) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = login.split_once(':').map_or((login, None), |(u, p)| (u, Some(p)));
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port),
            _ => (address, ""),
        };
        let mut given = Given {
            user: decoded(user)?,
            password: password.map(decoded).transpose()?,
            host: decoded(host.trim_start_matches('[').trim_end_matches(']'))?,
            port: port.to_string(),
            database: decoded(database)?,
            ..Given::default()
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            given.set(key, decoded(value)?)?;
        }
        given.settle(variable)
    }

    /// The same server and role, another database.
    pub fn with_database(&self, database: &str) -> Settings {
        Settings { database: database.to_string(), ..self.clone() }
    }

    /// The same, with these settings of the session.
    pub fn with_options(&self, options: &str) -> Settings {
        let options = [&*self.options, options].into_iter().filter(|o| !o.is_empty()).collect::<Vec<_>>().join(" ");
        Settings { options, ..self.clone() }
    }

    /// The same, waited for so long.
    pub fn with_patience(&self, patience: Patience) -> Settings {
        Settings { patience, ..self.clone() }
    }

    /// The same, under another name.
    pub fn with_application_name(&self, name: &str) -> Settings {
        Settings { application_name: name.to_string(), ..self.clone() }
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let password = if self.password.is_some() { ":***" } else { "" };
        let Settings { user, database, .. } = self;
        match &self.place {
            Place::Tcp(host, port) => write!(f, "postgres://{user}{password}@{host}:{port}/{database}"),
            Place::Unix(directory, port) => {
                write!(f, "postgres://{user}{password}@/{database}?host={}&port={port}", directory.display())
            }
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Settings({self})")
    }
}

/// What a URL says.
#[derive(Default)]
struct Given {
    user: String,
    password: Option<String>,
    host: String,
    port: String,
    database: String,
    options: String,
    application_name: Option<String>,
    connect_timeout: Option<Duration>,
    ssl_mode: String,
    ssl_root: String,
    ssl_certificate: String,
    ssl_key: String,
}

impl Given {
    fn set(&mut self, key: &str, value: String) -> Result<(), String> {
        match key {
            "user" => self.user = value,
            "password" => self.password = Some(value),
            "host" => self.host = value,
            "port" => self.port = value,
            "dbname" => self.database = value,
            "options" => self.options = value,
            "application_name" => self.application_name = Some(value),
            "connect_timeout" => {
                let seconds = value.parse().map_err(|_| "connect_timeout is no number of seconds".to_string())?;
                self.connect_timeout = Some(Duration::from_secs(seconds));
            }
            "sslmode" => self.ssl_mode = value,
            "sslrootcert" => self.ssl_root = value,
            "sslcert" => self.ssl_certificate = value,
            "sslkey" => self.ssl_key = value,
            // For client libraries that pool or cache.
            _ => {}
        }
        Ok(())
    }

    fn settle(self, variable: impl Fn(&str) -> Option<String>) -> Result<Settings, String> {
        let or = |given: String, name: &str| if given.is_empty() { variable(name) } else { Some(given) };
        let port = match or(self.port, "PGPORT") {
            None => PORT,
            // What stands there may be a password that was not encoded.
            Some(port) => port.parse().map_err(|_| "the port is no port: a number up to 65535".to_string())?,
        };
        let host = or(self.host, "PGHOST").unwrap_or_else(|| default_host(port));
        let place = match host.starts_with('/') {
            true => Place::Unix(host.into(), port),
            false => Place::Tcp(host, port),
        };
        let mode = or(self.ssl_mode, "PGSSLMODE").map_or(Ok(Mode::default()), |name| {
            let known = Mode::ALL.iter().find(|(known, _)| *known == name).map(|(_, mode)| *mode);
            let names = Mode::ALL.map(|(name, _)| name).join(", ");
            known.ok_or_else(|| format!("sslmode is one of {names}"))
        })?;
        let root = or(self.ssl_root, "PGSSLROOTCERT").map(PathBuf::from);
        let certificate = or(self.ssl_certificate, "PGSSLCERT").map(PathBuf::from);
        let key = or(self.ssl_key, "PGSSLKEY").map(PathBuf::from);
        let user = or(self.user, "PGUSER").or_else(|| variable("USER")).unwrap_or_else(|| "postgres".into());
        Ok(Settings {
            place,
            password: self.password.or_else(|| variable("PGPASSWORD")),
            database: or(self.database, "PGDATABASE").unwrap_or_else(|| user.clone()),
            user,
            options: self.options,
            application_name: self.application_name.unwrap_or_else(|| "isolde".into()),
            connect_timeout: self.connect_timeout.unwrap_or(CONNECT_TIMEOUT),
            encryption: Encryption { mode, root, certificate, key },
            patience: Patience::default(),
        })
    }
}

/// A socket if there is one, this machine otherwise.
fn default_host(port: u16) -> String {
    let there = |directory: &&&str| PathBuf::from(directory).join(format!(".s.PGSQL.{port}")).exists();
    SOCKET_DIRECTORIES.iter().find(there).map_or_else(|| "localhost".into(), ToString::to_string)
}

fn decoded(text: &str) -> Result<String, String> {
    let text =
        percent_decode_str(text).decode_utf8().map_err(|_| "the URL is not UTF-8 where it is percent-encoded")?;
    Ok(text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Settings, String> {
        Settings::parse(url, |name| (name == "USER").then(|| "ann".to_string()))
    }

    #[test]
    fn urls_are_read_and_printed_without_the_password() {
        let shown = |url: &str| parse(url).map(|s| s.to_string());
        let full = shown("postgres://bob:s%40crt@db.example:6000/shop?sslmode=disable&pool=3");
        assert_eq!(full.as_deref(), Ok("postgres://bob:***@db.example:6000/shop"));
        let socket = shown("postgres:///shop?host=/run/pg&port=7");
        assert_eq!(socket.as_deref(), Ok("postgres://ann@/shop?host=/run/pg&port=7"));
        let encoded = shown("postgresql://%2Frun%2Fpg/shop");
        assert_eq!(encoded.as_deref(), Ok("postgres://ann@/shop?host=/run/pg&port=5432"));
        assert_eq!(shown("postgres://x@[::1]:5433").as_deref(), Ok("postgres://x@::1:5433/x"));
        assert_eq!(parse("postgres://bob:s%40crt@h/shop").ok().and_then(|s| s.password).as_deref(), Some("s@crt"));
    }

    #[test]
    fn encryption_is_asked_for_as_with_libpq() {
        let encryption = |url: &str| parse(url).map(|settings| settings.encryption);
        assert_eq!(encryption("postgres://h/x"), Ok(Encryption::default()));
        let full = Encryption { mode: Mode::VerifyFull, root: Some("/ca.pem".into()), ..Encryption::default() };
        assert_eq!(encryption("postgres://h/x?sslmode=verify-full&sslrootcert=/ca.pem"), Ok(full));
        let own = encryption("postgres://h/x?sslcert=/me.crt&sslkey=/me.key");
        assert_eq!(own.map(|own| (own.certificate, own.key)), Ok((Some("/me.crt".into()), Some("/me.key".into()))));
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        assert!(parse("mysql://x").is_err_and(|e| e.contains("postgres://")));
        assert!(parse("postgres://h/x?sslmode=maybe").is_err_and(|e| e.contains("verify-full")));
        assert!(parse("postgres://h:x/y").is_err_and(|e| e.contains("no port")));
    }

    /// Whatever is wrong with a URL: the password is not in what is said about it.
    #[test]
    fn errors_do_not_show_the_password() {
        let urls = [
            "postgres://bob:s3cret",
            "postgres://bob:s3cret/db",
            "postgres://bob:s3cret@h:s3cret/db",
            "postgres://bob:x/s3cret@h/db",
            "postgres://bob:1?s3cret@h/db",
            "postgres://bob:1?sslmode=s3cret@h/db",
            "postgres://h/db?connect_timeout=s3cret",
            "postgres://h/db?sslmode=s3cret",
            "mysql://bob:s3cret@h/db",
        ];
        for url in urls {
            let error = parse(url).expect_err(url);
            assert!(!error.contains("s3cret"), "{url}: {error}");
        }
        assert!(parse("postgres://bob:s3cret@h/db").is_ok_and(|s| !format!("{s} {s:?}").contains("s3cret")));
    }
}
