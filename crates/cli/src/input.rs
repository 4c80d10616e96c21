//! Files: scenarios and what they include. The only place that reads any.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use isolde_scenario::file::{Include, Included};

use crate::complain::Mistake;
use crate::output;

/// A larger file is not a scenario somebody wrote.
const BYTES_MAX: u64 = 64 << 20;

/// Reads a scenario file; `-` is standard input.
pub(crate) fn read(path: &Path) -> Result<Included, Mistake> {
    let (name, text) = match path.to_str() {
        Some("-") => {
            ("<stdin>".into(), bytes_of("standard input", io::stdin()).and_then(|b| decode("standard input", b)))
        }
        _ => (path.display().to_string(), read_text(path)),
    };
    let text = text.map_err(|message| Mistake::Elsewhere { message, hint: hint(path) })?;
    Ok(Included { name, text })
}

/// Reads a file that a scenario includes: `\i` from the working directory, `\ir` from the directory of the file it
/// stands in, as psql does.
pub(crate) fn include(include: Include<'_>) -> Result<Included, String> {
    let path = match include.relative_to.map(Path::new).and_then(Path::parent) {
        Some(directory) => directory.join(include.path),
        None => PathBuf::from(include.path),
    };
    Ok(Included { name: path.display().to_string(), text: read_text(&path)? })
}

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    decode(&path.display().to_string(), read_bytes(path)?)
}

/// The bytes of a file.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, String> {
    output::read(path).map_err(|mistake| mistake.sentence())?;
    let name = path.display();
    let metadata = fs::metadata(path).map_err(|error| cannot_read(path, &error))?;
    if metadata.is_dir() {
        return Err(format!("{name} is a directory"));
    }
    let file = fs::File::open(path).map_err(|error| cannot_read(path, &error))?;
    bytes_of(&name.to_string(), file)
}

fn cannot_read(path: &Path, error: &io::Error) -> String {
    let name = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => format!("there is no file {name}"),
        io::ErrorKind::PermissionDenied => format!("{name} may not be read: permission denied"),
        _ => format!("{name} cannot be read: {error}"),
    }
}

fn bytes_of(name: &str, source: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    source.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| format!("{name} cannot be read: {error}"))?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(format!("{name} is larger than {} MiB, which is no scenario", BYTES_MAX >> 20));
    }
    Ok(bytes)
}

/// Text in UTF-8, without a byte order mark.
fn decode(name: &str, bytes: Vec<u8>) -> Result<String, String> {
    if bytes.contains(&0) {
        return Err(format!("{name} is not a text file: it contains null bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("{name} is not in UTF-8: line {line} has a byte that does not belong there")
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text))
}

/// What may have been meant by a path that is no scenario.
fn hint(path: &Path) -> Option<String> {
    if path.is_dir() {
        let mut files: Vec<PathBuf> =
            fs::read_dir(path).ok()?.filter_map(|entry| Some(entry.ok()?.path())).filter(|p| is_sql(p)).collect();
        files.sort();
        return match files.first() {
            Some(first) => Some(format!("name the files in it, such as {}", first.display())),
            None => Some("name a scenario file".into()),
        };
    }
    let with_extension = path.with_extension("sql");
    (!is_sql(path) && with_extension.is_file()).then(|| format!("there is {}", with_extension.display()))
}

fn is_sql(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sql")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_utf8_without_nulls_or_marks() {
        assert_eq!(decode("f", b"a\xef\xbb\xbf".to_vec()), Ok("a\u{feff}".to_string()));
        assert_eq!(decode("f", b"\xef\xbb\xbfa".to_vec()), Ok("a".to_string()));
        assert_eq!(decode("f", b"a\0".to_vec()), Err("f is not a text file: it contains null bytes".to_string()));
        let latin1 = decode("f", b"a\nb\n\xe9".to_vec());
        assert_eq!(latin1, Err("f is not in UTF-8: line 3 has a byte that does not belong there".to_string()));
    }
}
