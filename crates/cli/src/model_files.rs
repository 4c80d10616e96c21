//! The files that `isolde model` reads.

use std::fs;
use std::path::Path;

use isolde_datamodel::DataModel;
use isolde_datamodel::property::Properties;
use isolde_datamodel::read::{self, File};

use crate::complain::Mistake;
use crate::input;

/// More files than this are no application.
const FILES_MAX: usize = 200_000;

/// An application: its files, and what they declare.
pub(crate) struct Application {
    pub(crate) files: Vec<File>,
    pub(crate) model: DataModel,
    /// What stands before the names of its files, seen from here.
    pub(crate) root: String,
}

/// Reads the folder of an application, or a file.
pub(crate) fn application(path: &Path) -> Result<Application, Mistake> {
    let mut files = Vec::new();
    let root = match path.is_dir() {
        true => {
            gather(path, path, &mut files)?;
            path
        }
        false => {
            files.push(file(path, path.file_name().map(Path::new).unwrap_or(path))?);
            path.parent().unwrap_or(Path::new(""))
        }
    };
    let root = match root.to_string_lossy().trim_end_matches('/') {
        "" | "." => String::new(),
        root => format!("{}/", root.trim_start_matches("./")),
    };
    let Some(framework) = read::detect(&files) else {
        return Err(Mistake::Elsewhere {
            message: format!("{} has no data model that is understood", path.display()),
            hint: Some(
                "name the folder of a Rails or Django application, a Prisma schema or a file of SQL tables".into(),
            ),
        });
    };
    let model = read::read(framework, &files);
    match model.classes.is_empty() {
        true => Err(Mistake::new(format!("{} has no classes", path.display()))),
        false => Ok(Application { files, model, root }),
    }
}

/// The files of a folder that matter, in the order of their names.
fn gather(root: &Path, folder: &Path, files: &mut Vec<File>) -> Result<(), Mistake> {
    let cannot = |error: std::io::Error| Mistake::new(format!("{} cannot be read: {error}", folder.display()));
    let mut entries = fs::read_dir(folder).map_err(cannot)?.collect::<Result<Vec<_>, _>>().map_err(cannot)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let relative = path.strip_prefix(root).unwrap_or(&path).to_path_buf();
        let kind = entry.file_type().map_err(cannot)?;
        // Links are not followed: they may lead round in cycles.
        if kind.is_dir() && read::wanted(&format!("{}/x.rb", relative.display())) {
            gather(root, &path, files)?;
        } else if kind.is_file() && read::wanted(&relative.to_string_lossy()) {
            // A file that is no text has nothing to say about models.
            files.extend(file(&path, &relative).ok().filter(|file| !file.text.contains('\0')));
        }
        if files.len() > FILES_MAX {
            return Err(Mistake::new(format!("{} has too many files to be an application", root.display())));
        }
    }
    Ok(())
}

fn file(path: &Path, name: &Path) -> Result<File, Mistake> {
    let bytes = input::read_bytes(path).map_err(Mistake::new)?;
    Ok(File::from_bytes(name.to_string_lossy().replace('\\', "/"), &bytes))
}

/// The properties of a file.
pub(crate) fn properties(path: &Path, model: &DataModel) -> Result<Properties, Mistake> {
    let text = input::read_text(path).map_err(Mistake::new)?;
    Properties::parse(&text, model).map_err(|error| Mistake::InText {
        file: path.display().to_string(),
        text: text.clone(),
        span: error.span,
        message: error.message,
        hint: error.hint,
    })
}
