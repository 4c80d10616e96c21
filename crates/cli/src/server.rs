//! Servers: which one a flag means, and what of it may be shown.

use isolde_postgres::reads::Module;
use isolde_postgres::stage::StageError;
use isolde_postgres::{Home, Trouble};
use isolde_wire::Settings;

use crate::complain::Mistake;
use crate::plain;
use crate::watch::{self, Watch};

/// A server that was named on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Server(Settings);

/// Reads the value of a flag.
pub(crate) fn parse(url: &str) -> Result<Server, String> {
    let settings = Settings::parse(url, |name| std::env::var(name).ok())?;
    Ok(Server(settings.with_patience(watch::patience(None))))
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

    /// The same server, for work that this watch ends, too.
    pub(crate) fn watched(&self, watch: &Watch) -> Server {
        Server(self.0.with_patience(watch.patience()))
    }

    /// A database of our own there, dropped with the value.
    pub(crate) fn home(&self) -> Result<Home, Mistake> {
        Home::create(&self.0).map_err(Mistake::from)
    }
}

impl From<Trouble> for Mistake {
    fn from(trouble: Trouble) -> Mistake {
        match trouble {
            Trouble::Fault(why) => Mistake::Fault(why),
            Trouble::Interrupted | Trouble::Stuck { .. } | Trouble::Nondeterministic { .. } => {
                Mistake::Fault(trouble.to_string())
            }
            Trouble::Usage(sentence) | Trouble::Server(sentence) => Mistake::new(sentence),
        }
    }
}

impl From<StageError> for Mistake {
    fn from(error: StageError) -> Mistake {
        match error {
            StageError::File(error) => error.into(),
            StageError::Trouble(trouble) => trouble.into(),
        }
    }
}

/// An argument as it may be shown: a URL without its password. What is malformed is hidden rather too far.
pub(crate) fn masked(argument: &str) -> String {
    let shown = match plain::secret(argument) {
        Some(range) => format!("{}***{}", &argument[..range.start], &argument[range.end..]),
        None => argument.to_string(),
    };
    without_password_parameter(&shown)
}

/// `?password=...` is another place for it.
fn without_password_parameter(url: &str) -> String {
    const KEY: &str = "password=";
    let mut parts = url.split(KEY);
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |before, part| {
        let end = part.find(['&', ' ']).unwrap_or(part.len());
        format!("{before}{KEY}***{}", &part[end..])
    })
}

/// A message of the command line's parser, which quotes what was typed, without passwords.
pub(crate) fn masked_message(message: &str, arguments: impl Iterator<Item = String>) -> String {
    let mut message = message.to_string();
    for argument in arguments {
        // What is quoted may be the value of a flag alone.
        let parts = [argument.as_str(), argument.split_once('=').map_or("", |(_, value)| value)];
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let shown = masked(part);
            if shown != part {
                message = message.replace(part, &shown);
            }
        }
    }
    message
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
        assert_eq!(masked("postgre://ann:p@ss/w?rd@h/db"), "postgre://ann:***@h/db");
        assert_eq!(masked("host=h password=s3 user=ann"), "host=h password=*** user=ann");
        assert_eq!(masked("postgres://h?password=s3&sslpassword=s4"), "postgres://h?password=***&sslpassword=***");
    }
}
