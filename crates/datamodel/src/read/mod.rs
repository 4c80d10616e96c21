//! Readers: the files of an application to a [`DataModel`].
//!
//! Nothing here opens a file. [`wanted`] says which files of a folder matter, the caller hands them over as [`File`]s,
//! and
//! [`read`] makes of them what they are. No file is ever refused: what is not understood becomes a
//! [`Remark`] with its place, and the model is then more generous than the application, not less.
//!
//! ```text
//!   app/models/**/*.rb ─▶ rails ──┐
//!   db/schema.rb, structure.sql ──┤ (schema)
//!   **/models.py ───────▶ django ─┼─▶ DataModel
//!   *.prisma ───────────▶ prisma ─┤
//!   *.sql ──────────────▶ sql ────┘
//! ```

mod django;
mod inflect;
mod prisma;
mod rails;
mod schema;
mod sql;

use std::sync::Arc;

pub(crate) use self::inflect::Inflections;
use crate::model::{DataModel, Framework, Place, Remark};

/// The stack that files are read on. Parsers descend as deep as a text is nested, and a text may be anything.
const STACK_BYTES: usize = 512 << 20;

/// Longer files are left out, with a remark: nobody writes a model of this size, and memory stays bounded.
const FILE_BYTES_MAX: usize = 4 << 20;

/// A dump of a schema may be longer.
const DUMP_BYTES_MAX: usize = 64 << 20;

/// A file of an application.
#[derive(Clone, Debug)]
pub struct File {
    /// Where it is, relative to the application, with `/` between folders.
    pub path: Arc<str>,
    /// What it says.
    pub text: Arc<str>,
}

impl File {
    /// A file with this text.
    pub fn new(path: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        File { path: path.into(), text: text.into() }
    }

    /// A file with these bytes. What is not UTF-8 is read as Latin-1, byte by byte: Ruby and Python allow it, names of
    /// classes and columns are ASCII, and a file that is left out would make others look wrong.
    pub fn from_bytes(path: impl Into<Arc<str>>, bytes: &[u8]) -> Self {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text).to_owned(),
            Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
        };
        File::new(path, text)
    }

    /// A line of it.
    pub(crate) fn at(&self, line: u32) -> Place {
        Place { file: self.path.clone(), line }
    }

    fn ends_with(&self, suffix: &str) -> bool {
        self.path.ends_with(suffix)
    }

    fn is_too_long(&self) -> bool {
        self.text.len() > if self.ends_with(".sql") { DUMP_BYTES_MAX } else { FILE_BYTES_MAX }
    }
}

/// Where the lines of a text begin.
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        Lines(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    /// The line of a byte, from 1.
    pub(crate) fn line(&self, offset: usize) -> u32 {
        1 + u32::try_from(self.0.partition_point(|end| *end < offset)).unwrap_or(u32::MAX - 1)
    }
}

/// How deep brackets are nested: parsers by recursive descent are kept from texts that are nested for no good reason.
pub(crate) fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Brackets nested deeper than this are not looked into.
pub(crate) const NESTING_MAX: usize = 80;

/// Whether a file of an application has anything to say about its data; the caller need not read others.
pub fn wanted(path: &str) -> bool {
    const NEVER: &[&str] =
        &["node_modules", "vendor", "spec", "test", "tests", "features", ".git", "tmp", "log", "dist"];
    if path.split('/').any(|part| NEVER.contains(&part)) {
        return false;
    }
    [".rb", ".py", ".prisma", ".sql"].iter().any(|suffix| path.ends_with(suffix))
}

/// Which framework these files are written for; `None` if they are for none.
pub fn detect(files: &[File]) -> Option<Framework> {
    let any = |test: &dyn Fn(&File) -> bool| files.iter().any(test);
    let is_rails = |file: &File| {
        file.ends_with("config/application.rb") || file.ends_with("db/schema.rb") || rails::is_model_file(&file.path)
    };
    if any(&is_rails) {
        Some(Framework::Rails)
    } else if any(&|file| file.ends_with(".py") && file.text.contains("django")) {
        Some(Framework::Django)
    } else if any(&|file| file.ends_with(".prisma")) {
        Some(Framework::Prisma)
    } else if any(&|file| file.ends_with(".rb")) {
        Some(Framework::Rails)
    } else if any(&|file| file.ends_with(".sql")) {
        Some(Framework::Sql)
    } else {
        None
    }
}

/// Reads an application of this framework. Always gives a model; what was not understood is among its remarks.
pub fn read(framework: Framework, files: &[File]) -> DataModel {
    let mut files: Vec<File> = files.to_vec();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let (long, files): (Vec<File>, Vec<File>) = files.into_iter().partition(File::is_too_long);
    let mut model = with_stack(|| match framework {
        Framework::Rails => rails::read(&files),
        Framework::Django => django::read(&files),
        Framework::Prisma => prisma::read(&files),
        Framework::Sql => sql::read(&files),
    });
    model.remarks.extend(long.iter().map(|file| Remark {
        message: format!("the file is left out: it has {} MiB", file.text.len() >> 20),
        place: file.at(0),
    }));
    model.remarks.sort_by(|a, b| (&a.place, &a.message).cmp(&(&b.place, &b.message)));
    model.remarks.dedup();
    model
}

/// Runs a reader where nesting does not hurt; only as much of the stack is used as is needed. Where that much may not
/// even be asked for, it runs where it is.
fn with_stack(reader: impl Fn() -> DataModel + Sync) -> DataModel {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, &reader);
        match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => reader(),
        }
    })
}
