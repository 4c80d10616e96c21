//! Which databases are ours: a list on this machine.
//!
//! What a server says about a database can be said by anybody: its name, its comment. So what may be dropped is not
//! decided there. A run writes down the name that it is going to create before it creates it, in a directory that only
//! this user can read, and keeps that file locked for as long as it lives. The system releases the lock however the
//! process ends:
//!
//! ```text
//!   a file is there, its lock is free   ⇒   the run is over and could not drop its database
//! ```
//!
//! Without such a directory a run is not written down, and what it leaves if it is killed is left to its owner.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use isolde_wire::secret;

/// What the names of our databases and roles begin with.
const PREFIX: &str = "isolde_";

/// A run that is written down. The file is removed with [`Entry::strike`].
#[derive(Debug)]
pub(crate) struct Entry {
    /// Of the database, and of the role.
    pub(crate) name: String,
    /// What the comment on the database says.
    pub(crate) token: String,
    /// Locked for as long as it is open.
    file: Option<(PathBuf, File)>,
}

/// A name as we make them: our prefix and 128 random bits.
pub(crate) fn is_generated(name: &str) -> bool {
    let digits = name.strip_prefix(PREFIX).unwrap_or_default();
    digits.len() == 32 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl Entry {
    /// Writes down that a database with a new name will be created at this place.
    pub(crate) fn new(place: &str) -> io::Result<Entry> {
        let (name, token) = (format!("{PREFIX}{}", secret::token()?), secret::token()?);
        let file = directory().and_then(|directory| write_down(&directory, &name, &token, place).ok());
        Ok(Entry { name, token, file })
    }

    /// Runs at this place that are over and have not been struck off. Nobody else gets these meanwhile.
    pub(crate) fn abandoned(place: &str) -> Vec<Entry> {
        directory().map(|directory| abandoned_in(&directory, place)).unwrap_or_default()
    }

    /// Nothing is left of the run.
    pub(crate) fn strike(&self) {
        if let Some((path, _)) = &self.file {
            // If it stays, the next run finds nothing to drop, and removes it.
            let _ = fs::remove_file(path);
        }
    }
}

fn write_down(directory: &Path, name: &str, token: &str, place: &str) -> io::Result<(PathBuf, File)> {
    let (path, beside) = (directory.join(name), directory.join(format!(".{name}")));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    // Locked before others can find it.
    file.try_lock().map_err(io::Error::from)?;
    write!(file, "{token}\n{place}\n")?;
    fs::rename(&beside, &path)?;
    Ok((path, file))
}

fn abandoned_in(directory: &Path, place: &str) -> Vec<Entry> {
    let Ok(files) = fs::read_dir(directory) else { return Vec::new() };
    let entry = |path: PathBuf| {
        let name = path.file_name()?.to_str().filter(|name| is_generated(name))?.to_string();
        let mut file = File::open(&path).ok()?;
        file.try_lock().ok()?;
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        let (token, rest) = text.split_once('\n')?;
        (rest.trim_end() == place).then(|| Entry { name, token: token.into(), file: Some((path, file)) })
    };
    files.flatten().filter_map(|file| entry(file.path())).collect()
}

/// The directory of the list, made if it is not there; none if it is not this user's alone.
fn directory() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
    let uid = rustix::process::getuid().as_raw();
    let own = std::env::temp_dir().join(format!("isolde-{uid}"));
    state.map(|state| state.join("isolde")).into_iter().chain([own]).find_map(|directory| private(&directory, uid))
}

/// This directory, if nobody else can read or write it.
fn private(directory: &Path, uid: u32) -> Option<PathBuf> {
    let runs = directory.join("runs");
    if let Some(parent) = directory.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent).ok()?;
    }
    for directory in [directory, &runs] {
        match DirBuilder::new().mode(0o700).create(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return None,
            _ => {}
        }
        // A link of somebody else's leads elsewhere.
        let found = fs::symlink_metadata(directory).ok()?;
        if !found.is_dir() || found.uid() != uid {
            return None;
        }
    }
    (fs::metadata(&runs).ok()?.mode() & 0o077 == 0).then_some(runs)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_names_of_our_making_are_ours() {
        let name = format!("isolde_{}", secret::token().unwrap());
        assert!(is_generated(&name));
        let longer = format!("{name}0");
        let upper = name.to_uppercase();
        for strange in [
            "isolde_x",
            "isolde_APP",
            "isolde_prod2 WITH (FORCE)",
            "isolde_",
            "",
            &longer,
            &upper,
            &name[1..],
            "isolde_0123456789abcdef0123456789abcdeg",
        ] {
            assert!(!is_generated(strange), "{strange}");
        }
    }

    /// Whoever lives is left alone, however often somebody looks; whoever is gone is found once, at its own place.
    #[test]
    fn only_runs_that_are_over_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let name = format!("isolde_{}", secret::token().unwrap());
        let alive = write_down(directory.path(), &name, "token", "here").unwrap();
        assert!(abandoned_in(directory.path(), "here").is_empty());
        drop(alive);
        assert!(abandoned_in(directory.path(), "elsewhere").is_empty());
        let found = abandoned_in(directory.path(), "here");
        assert_eq!((found.len(), &*found[0].name, &*found[0].token), (1, &*name, "token"));
        assert!(abandoned_in(directory.path(), "here").is_empty(), "somebody is dropping it");
        found[0].strike();
        drop(found);
        assert!(abandoned_in(directory.path(), "here").is_empty());
    }

    #[test]
    fn a_directory_that_others_can_read_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let uid = fs::metadata(home.path()).unwrap().uid();
        let directory = home.path().join("isolde");
        let runs = private(&directory, uid).unwrap();
        fs::set_permissions(&runs, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(private(&directory, uid), None);
        assert_eq!(private(&home.path().join("other"), uid + 1), None);
        std::os::unix::fs::symlink(home.path(), home.path().join("link")).unwrap();
        assert_eq!(private(&home.path().join("link"), uid), None);
    }
}
