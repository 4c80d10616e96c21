//! Which crate names which, and that it needs what it names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::check;
use crate::sources::{root, sources};

/// A section of a manifest: the names of its dependencies.
fn dependencies(manifest: &str, section: &str) -> BTreeSet<String> {
    let lines = manifest.lines().skip_while(|line| *line != section).skip(1).take_while(|line| !line.starts_with('['));
    let lines = lines.filter(|line| !line.starts_with('#') && line.contains('='));
    lines
        .filter_map(|line| Some(line.split(['.', ' ', '=']).next()?.to_string()))
        .filter(|name| !name.is_empty())
        .collect()
}

fn manifests() -> BTreeMap<String, String> {
    let folders = fs::read_dir(root().join("crates")).expect("the folder is there");
    let manifests = folders.map(|folder| {
        let path = folder.expect("it can be read").path();
        let name = path.file_name().map(|name| name.to_string_lossy().to_string()).unwrap_or_default();
        (name, fs::read_to_string(path.join("Cargo.toml")).expect("each crate has a manifest"))
    });
    manifests.collect()
}

/// The lines `name: a, b` of the code map.
fn drawn() -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("it is there");
    let block =
        text.split("```text names\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the list is there");
    let line = |line: &str| {
        let (name, others) = line.split_once(':')?;
        let others = others.split(',').map(str::trim).filter(|other| !other.is_empty());
        Some((name.trim().to_string(), others.map(String::from).collect()))
    };
    block.lines().filter_map(line).collect()
}

#[test]
fn crates_name_those_that_are_drawn() {
    let drawn = drawn();
    let mut broken = Vec::new();
    for (name, manifest) in manifests() {
        let ours = dependencies(&manifest, "[dependencies]");
        let ours: BTreeSet<String> = ours.iter().filter_map(|d| Some(d.strip_prefix("isolde-")?.to_string())).collect();
        match drawn.get(&name) {
            Some(known) if *known == ours => {}
            known => broken.push(format!("{name} names {ours:?}; ARCHITECTURE.md says {known:?}")),
        }
    }
    check("an arrow that is not drawn needs a decision", broken);
}

#[test]
fn no_dependency_is_unused() {
    let mut broken = Vec::new();
    for (name, manifest) in manifests() {
        let texts: Vec<String> =
            sources().into_iter().filter(|source| source.of_crate() == name).map(|source| source.text).collect();
        let sections = ["[dependencies]", "[dev-dependencies]"].map(|section| dependencies(&manifest, section));
        for dependency in sections.iter().flatten() {
            let word = dependency.replace('-', "_");
            let named = |text: &String| [format!("{word}::"), format!("use {word}")].iter().any(|by| text.contains(by));
            if !texts.iter().any(named) {
                broken.push(format!("{name} depends on {dependency} and does not name it"));
            }
        }
    }
    check("what is not used is not needed", broken);
}
