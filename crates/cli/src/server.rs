//! Servers: which one a flag means, and what of it may be shown.

use isolde_postgres::reads::Module;
use isolde_postgres::{Home, Trouble};
use isolde_wire::Settings;

use crate::complain::Mistake;

/// A server that was named on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Server(Settings);

/// Reads the value of a flag.
pub(crate) fn parse(url: &str) -> Result<Server, String> {
    Settings::parse(url, |name| std::env::var(name).ok()).map(Server)
}

/// Reads what `--reads` says.
pub(crate) fn module(from: &str) -> Result<Module, String> {
    match from {
        "text" => Ok(Module::Unused),
        "" => Err("it is neither `text` nor a file".into()),
        // The server looks for it, in a directory of its own.
        file => std::path::absolute(file)
            .map(|path| Module::At(path.display().to_string()))
            .map_err(|error| error.to_string()),
    }
}

impl Server {
    /// How to connect to it.
    pub(crate) fn settings(&self) -> &Settings {
        &self.0
    }

    /// A database of our own there, dropped with the value.
    pub(crate) fn home(&self) -> Result<Home, Mistake> {
        Home::create(&self.0).map_err(Mistake::from)
    }
}

impl From<Trouble> for Mistake {
    fn from(trouble: Trouble) -> Mistake {
        Mistake::new(trouble.to_string())
    }
}

/// An argument as it may be shown: a URL without its password.
pub(crate) fn masked(argument: &str) -> String {
    let Some(start) = argument.find("postgres://").or_else(|| argument.find("postgresql://")) else {
        return argument.to_string();
    };
    let (before, url) = argument.split_at(start);
    let login = url.find("//").map_or(0, |at| at + 2);
    let end = url[login..].find('@').map(|at| login + at);
    let colon = end.and_then(|end| url[login..end].find(':').map(|at| login + at));
    let shown = match (colon, end) {
        (Some(colon), Some(end)) => format!("{}:***{}", &url[..colon], &url[end..]),
        _ => url.to_string(),
    };
    format!("{before}{}", without_password_parameter(&shown))
}

/// `?password=...` is another place for it.
fn without_password_parameter(url: &str) -> String {
    let Some(at) = url.find("password=").map(|at| at + "password=".len()) else { return url.to_string() };
    let end = url[at..].find('&').map_or(url.len(), |end| at + end);
    format!("{}***{}", &url[..at], &url[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(masked("--on=postgres://ann:s3@h/db"), "--on=postgres://ann:***@h/db");
        assert_eq!(masked("postgres://ann@h/db?password=s3&x=1"), "postgres://ann@h/db?password=***&x=1");
        assert_eq!(masked("postgresql://h/db"), "postgresql://h/db");
        assert_eq!(masked("bank.sql"), "bank.sql");
    }
}
