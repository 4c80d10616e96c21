//! Files that are written: whole or not at all, and never onto what the same command reads.
//!
//! A file is written beside its place and renamed when it is complete, so whatever ends the command (a mistake, a full
//! disk, a signal), the older file is still there. What is no ordinary file, such as a pipe or `/dev/stdout`, is
//! written directly.
//!
//! A command [declares](declare) its outputs before it reads anything, and [notes](read) every file that it reads,
//! includes too. A file that would be both is refused, whichever comes first, by what it is and not by how it is
//! spelled: links and `./` are seen through.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::NamedTempFile;

use crate::complain::Mistake;

/// What the command reads and writes.
static FILES: Mutex<Files> = Mutex::new(Files { read: Vec::new(), written: Vec::new() });

struct Files {
    read: Vec<Identity>,
    written: Vec<Identity>,
}

/// A file, whatever it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    /// One that is there.
    Inode(u64, u64),
    /// One that is not there yet, in a directory that is.
    Place(u64, u64, PathBuf),
}

impl Identity {
    /// None for what is no ordinary file, which cannot be lost.
    fn of(path: &Path) -> Option<Identity> {
        match fs::metadata(path) {
            Ok(found) if found.is_file() => Some(Identity::Inode(found.dev(), found.ino())),
            Ok(_) => None,
            Err(_) => {
                let directory = fs::metadata(directory_of(path)).ok()?;
                Some(Identity::Place(directory.dev(), directory.ino(), path.file_name()?.into()))
            }
        }
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Says that a file will be written. A mistake if it was read, or if something else is written there.
pub(crate) fn declare(path: &Path) -> Result<(), Mistake> {
    let Some(identity) = Identity::of(path) else { return Ok(()) };
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    if files.read.contains(&identity) {
        return Err(refused(path));
    }
    if files.written.contains(&identity) {
        let message = format!("two outputs of this command are the same file: {}", path.display());
        return Err(Mistake::Elsewhere { message, hint: Some("give each its own name".into()) });
    }
    files.written.push(identity);
    Ok(())
}

/// Notes that a file is read. A mistake if it will be written.
pub(crate) fn read(path: &Path) -> Result<(), Mistake> {
    let Some(identity) = Identity::of(path) else { return Ok(()) };
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let is_output = files.written.contains(&identity);
    // Noted in any case: what is said about the mistake must not be written there either.
    files.read.push(identity);
    if is_output { Err(refused(path)) } else { Ok(()) }
}

/// Whether a file was read.
fn is_input(path: &Path) -> bool {
    let files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    Identity::of(path).is_some_and(|identity| files.read.contains(&identity))
}

/// The sentence is for both orders.
fn refused(path: &Path) -> Mistake {
    let message = format!("{} is an input of this command, and its output would overwrite it", path.display());
    Mistake::Elsewhere { message, hint: Some("write the output to another file".into()) }
}

/// Writes a whole file, or leaves what is there.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Mistake> {
    if is_input(path) {
        return Err(refused(path));
    }
    replace(path, text)
}

/// The same where an input is to be replaced, because the user says so.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), Mistake> {
    let mut output = Draft::open(path)?;
    output.write_all(text.as_bytes()).and_then(|()| output.put()).map_err(|error| cannot(path, &error))
}

fn cannot(path: &Path, error: &io::Error) -> Mistake {
    Mistake::new(format!("{} cannot be written: {error}", path.display()))
}

/// A file that is being written. What is there stays until this is finished.
pub(crate) enum Draft {
    /// Beside its place, with the name that it will get.
    Beside(NamedTempFile, PathBuf),
    /// No ordinary file.
    Direct(fs::File),
}

impl Draft {
    /// Begins to write a file. Where that cannot be done is said now, and not after hours.
    pub(crate) fn open(path: &Path) -> Result<Draft, Mistake> {
        Draft::begin(path).map_err(|error| cannot(path, &error))
    }

    fn begin(path: &Path) -> io::Result<Draft> {
        let found = fs::metadata(path);
        if found.as_ref().is_ok_and(|found| !found.is_file()) {
            return Ok(Draft::Direct(fs::OpenOptions::new().write(true).open(path)?));
        }
        // A link stays a link: what it leads to is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let mode = match &found {
            Ok(found) => {
                // Whoever may not write it may not replace it either.
                drop(fs::OpenOptions::new().append(true).open(&target)?);
                found.permissions()
            }
            Err(_) => fs::Permissions::from_mode(0o666),
        };
        let name = target.file_name().map(|name| format!(".{}.", name.to_string_lossy())).unwrap_or_default();
        let mut builder = tempfile::Builder::new();
        builder.prefix(&name).suffix(".new").permissions(mode.clone());
        let beside = builder.tempfile_in(directory_of(&target))?;
        if found.is_ok() {
            beside.as_file().set_permissions(mode)?;
        }
        Ok(Draft::Beside(beside, target))
    }

    /// Puts the file into its place, unless it is an input.
    pub(crate) fn finish(self) -> io::Result<()> {
        match &self {
            Draft::Beside(_, target) if is_input(target) => Err(io::Error::other("it is an input of this command")),
            _ => self.put(),
        }
    }

    fn put(self) -> io::Result<()> {
        match self {
            Draft::Beside(file, target) => {
                file.as_file().sync_all()?;
                file.persist(target).map(drop).map_err(|failed| failed.error)
            }
            Draft::Direct(mut file) => file.flush(),
        }
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Draft::Beside(file, _) => file.write(bytes),
            Draft::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Draft::Beside(file, _) => file.flush(),
            Draft::Direct(file) => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("answer.txt");
        fs::write(&path, "older").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut half = Draft::open(&link).unwrap();
        half.write_all(b"half an ans").unwrap();
        drop(half);
        assert_eq!(fs::read_to_string(&path).unwrap(), "older");
        write(&link, "newer").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "newer");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "nothing is left beside it");
        assert!(write(&directory.path().join("no/such/place"), "").is_err());
        write(Path::new("/dev/null"), "gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn inputs_are_known_by_what_they_are() {
        let directory = tempfile::tempdir().unwrap();
        let (input, alias) = (directory.path().join("in.sql"), directory.path().join("alias.sql"));
        fs::write(&input, "SELECT 1").unwrap();
        fs::hard_link(&input, &alias).unwrap();
        read(&input).unwrap();
        assert!(declare(&alias).is_err());
        assert!(declare(&directory.path().join("./in.sql")).is_err());
        let fresh = directory.path().join("fresh.html");
        declare(&fresh).unwrap();
        assert!(declare(&directory.path().join("./fresh.html")).is_err());
        declare(Path::new("/dev/null")).unwrap();
        read(Path::new("/dev/null")).unwrap();
    }
}
