//! Small applications, each with what is asked of it answered: text in, text out.
//!
//! A folder of `tests/traps` is an application, and `answer.txt` in it (of a Prisma schema, the file of the same name)
//! is what the obligations come to. `UPDATE_GOLDEN=1` writes the answers again.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use isolde_datamodel::check;
use isolde_datamodel::logic::{Limits, Schema, Semantics};
use isolde_datamodel::obligation;
use isolde_datamodel::read::{self, File};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traps")
}

/// The files of an application, as the command reads them.
fn files(root: &Path, at: &Path, found: &mut Vec<File>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true => files(root, &path, found),
            false if read::wanted(&name) => found.push(File::from_bytes(name, &fs::read(&path).unwrap())),
            false => {}
        }
    }
}

/// What the obligations of some files come to.
fn answer(files: &[File]) -> String {
    let framework = read::detect(files).unwrap();
    let model = read::read(framework, files);
    let schema = Schema::new(&model, Semantics::of(framework));
    let found = obligation::obligations(&schema, &common::solver(), Limits::default()).unwrap();
    let mut out = String::new();
    for trouble in &found.troubles {
        out += &format!("{}  {}\n  {}\n  {}\n", trouble.id, trouble.place, trouble.headline, trouble.why);
        for line in trouble.case.before.to_text(&schema).lines() {
            out += &format!("    {line}\n");
        }
        out += &trouble.query.as_ref().map(|query| format!("  query: {query}\n")).unwrap_or_default();
        out += &trouble.remedy.as_ref().map(|remedy| format!("  change: {}\n", remedy.code)).unwrap_or_default();
    }
    out += &found.undecided.iter().map(|text| format!("not decided: {text}\n")).collect::<String>();
    out += &found.decisions.iter().map(|remark| format!("decided: {}\n", remark.message)).collect::<String>();
    out += &format!("proved: {}\n", found.proved);
    out
}

fn compare(golden: &Path, got: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(golden, got).unwrap();
    }
    assert_eq!(fs::read_to_string(golden).unwrap_or_default(), got, "{}", golden.display());
}

#[test]
fn applications_are_answered_as_written_down() {
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("prisma") {
            continue;
        }
        let mut found = Vec::new();
        files(&path, &path, &mut found);
        compare(&path.join("answer.txt"), &answer(&found));
    }
}

#[test]
fn prisma_schemas_are_answered_as_written_down() {
    let mut count = 0;
    for entry in fs::read_dir(folder().join("prisma")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "prisma") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            compare(&path.with_extension("txt"), &answer(&[File::from_bytes(name, &fs::read(&path).unwrap())]));
            count += 1;
        }
    }
    assert!(count > 5);
}

/// The SQL of every example runs on the embedded engine: what does not is not printed, so none is missing.
#[test]
fn the_sql_of_every_example_runs() {
    let mut seen = 0;
    for entry in fs::read_dir(folder()).unwrap().chain(fs::read_dir(folder().join("../apps")).unwrap()) {
        let path = entry.unwrap().path();
        let mut applications = Vec::new();
        if path.is_dir() {
            let mut found = Vec::new();
            files(&path, &path, &mut found);
            match path.ends_with("prisma") {
                true => applications.extend(found.into_iter().map(|file| vec![file])),
                false => applications.push(found),
            }
        }
        for files in applications {
            let framework = read::detect(&files).unwrap();
            let model = read::read(framework, &files);
            let options = check::Options {
                semantics: Semantics::of(framework),
                limits: Limits::default(),
                command: String::new(),
                path: String::new(),
            };
            let report = check::check(&model, &files, None, &common::solver(), &options).unwrap();
            for finding in &report.findings {
                assert!(!finding.example.sql.is_empty(), "{}: {}", path.display(), finding.id);
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "{seen}");
}
