//! Readers: text in, data model out.
//!
//! Each file of `tests/rails`, `tests/django`, `tests/prisma` and `tests/sql` is a small application, with a line
//! `file: PATH` in a comment before each of its files, and a `.txt` beside it says what is read.
//! `UPDATE_GOLDEN=1 cargo test -p isolde-datamodel --test read` writes these anew.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use isolde_datamodel::Framework;
use isolde_datamodel::read::{self, File};

#[test]
fn rails() {
    check_folder(Framework::Rails, "rails", "rb");
}

#[test]
fn django() {
    check_folder(Framework::Django, "django", "py");
}

#[test]
fn prisma() {
    check_folder(Framework::Prisma, "prisma", "prisma");
}

#[test]
fn sql() {
    check_folder(Framework::Sql, "sql", "sql");
}

/// Whatever is cut out of a file or put into it, something is read and nothing panics.
#[test]
fn broken_files() {
    for (framework, folder, extension) in FRAMEWORKS {
        let texts: Vec<String> =
            fixtures(folder, extension).iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        arbtest::arbtest(|u| {
            let mut text = u.choose(&texts)?.clone().into_bytes();
            for _ in 0..u.int_in_range(1..=6)? {
                let at = u.choose_index(text.len().max(1))?.min(text.len());
                match u.int_in_range(0..=4)? {
                    4 => swap_words(&mut text, at, u.choose_index(100)?),
                    0 => text.truncate(at),
                    1 => drop(text.drain(at..(at + u.int_in_range(0..=40)?).min(text.len()))),
                    2 => {
                        let pieces: &[&[u8]] = &[
                            b"(",
                            b"{",
                            b"end\n",
                            b"\"",
                            b"'",
                            b"]",
                            b"#{",
                            b"\xff",
                            b"\0",
                            b"class A < A\n",
                            b"do |x|",
                            b"::",
                            b"\\",
                            b"\n",
                            b"@@",
                            b"-> {",
                        ];
                        text.splice(at..at, u.choose(pieces)?.iter().copied());
                    }
                    _ => {
                        let from = u.choose_index(text.len().max(1))?.min(text.len());
                        let piece = text[from..(from + 30).min(text.len())].to_vec();
                        text.splice(at..at, piece);
                    }
                }
            }
            let files = files(&String::from_utf8_lossy(&text), extension);
            let _ = read::read(framework, &files).to_string();
            Ok(())
        })
        .budget_ms(1500);
    }
}

/// Exchanges the word at a byte with one of those behind it.
fn swap_words(text: &mut Vec<u8>, at: usize, distance: usize) {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let word = |text: &[u8], from: usize| {
        let start = from + text.get(from..)?.iter().position(is_word)?;
        let length = text[start..].iter().position(|byte| !is_word(byte)).unwrap_or(text.len() - start);
        Some(start..start + length)
    };
    let Some(first) = word(text, at) else { return };
    let Some(second) = word(text, first.end + distance) else { return };
    let swapped = [&text[second.clone()], &text[first.end..second.start], &text[first.clone()]].concat();
    text.splice(first.start..second.end, swapped);
}

/// Nesting that no one writes is not followed down to the end of the stack.
#[test]
fn deep_files() {
    for (framework, _, extension) in FRAMEWORKS {
        for (open, close) in [
            ("(", ")"),
            ("[", "]"),
            ("{", "}"),
            ("module A;", "end;"),
            ("-> {", "}"),
            ("not ", ""),
            ("CREATE TABLE a (b ", ")"),
        ] {
            let text = format!("class A < ApplicationRecord\nx = {}1{}\nend\n", open.repeat(3000), close.repeat(3000));
            let path = format!("app/models/a.{extension}");
            let _ = read::read(framework, &[File::new(path, text)]).to_string();
        }
    }
}

/// Macros and loops that multiply are not followed for ever.
#[test]
fn explosions_end() {
    let mut text = String::from("class A < ApplicationRecord\n  m\n");
    text.push_str(&"  [1, 2, 3, 4, 5, 6, 7, 8, 9].each { |x| ".repeat(12));
    text.push_str("has_many :x");
    text.push_str(&" }".repeat(12));
    text.push_str("\nend\nmodule M; def m; m; m; m; has_many :z; end; end");
    let model = read::read(Framework::Rails, &[File::new("app/models/a.rb", text)]);
    assert!(model.remarks.iter().any(|remark| remark.message.contains("too far")), "{model}");
}

/// As large as large applications get: it is read at once.
#[test]
fn large_applications() {
    let class = |n: usize| {
        let mut text = format!("class Thing{n} < ApplicationRecord\n  include Shared\n");
        for k in 1..4 {
            let other = (n * 7 + k * 31) % 400;
            text += &format!("  belongs_to :thing{other}\n  validates :thing{other}, uniqueness: {{ scope: :name }}\n");
            text +=
                &format!("  has_many :others{k}, class_name: \"Thing{}\", dependent: :destroy\n", (other + k) % 400);
            text += &format!("  has_many :further{k}, through: :others{k}, source: :others{k}\n");
        }
        File::new(format!("app/models/thing{n}.rb"), text + "end\n")
    };
    let mut files: Vec<File> = (0..400).map(class).collect();
    let shared = "module Shared\n extend ActiveSupport::Concern\n included { has_many :notes, as: :subject }\nend\nclass Note < ApplicationRecord; belongs_to :subject, polymorphic: true; end";
    files.push(File::new("app/models/concerns/shared.rb", shared));
    let started = std::time::Instant::now();
    let model = read::read(Framework::Rails, &files);
    assert_eq!(model.classes.len(), 401);
    assert!(model.associations.len() > 3_000, "{}", model.associations.len());
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    eprintln!("{} associations in {:?}", model.associations.len(), started.elapsed());
}

/// A model that refers to itself in every way ends.
#[test]
fn cycles_end() {
    let text = "
class A < B; include M; has_many :as, through: :as; has_many :bs, through: :cs; has_many :cs, through: :bs; m; end
class B < A; include M; end
module M; include M; include N; extend ActiveSupport::Concern; included do include N; has_many :as, through: :x; end; end
module N; include M; def self.included(base) base.include M; end; def m; has_many :z; m; end; end
class C < ApplicationRecord; include M; m; end";
    let model = read::read(Framework::Rails, &[File::new("app/models/a.rb", text)]);
    assert_eq!(model.classes.len(), 2, "{model}");
}

const FRAMEWORKS: [(Framework, &str, &str); 4] = [
    (Framework::Rails, "rails", "rb"),
    (Framework::Django, "django", "py"),
    (Framework::Prisma, "prisma", "prisma"),
    (Framework::Sql, "sql", "sql"),
];

fn fixtures(folder: &str, extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

/// Cuts a fixture into its files.
fn files(text: &str, extension: &str) -> Vec<File> {
    let mut files: Vec<(String, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        let marker = line.trim_start_matches(['#', '-', '/', ' ']).strip_prefix("file: ");
        match (marker, files.last_mut()) {
            (Some(path), _) => files.push((path.trim().to_owned(), String::new())),
            (None, Some((_, body))) => body.push_str(line),
            (None, None) => {}
        }
    }
    if files.is_empty() {
        files.push((format!("a.{extension}"), text.to_owned()));
    }
    files.into_iter().map(|(path, body)| File::new(path, body)).collect()
}

fn check_folder(framework: Framework, folder: &str, extension: &str) {
    let mut wrong = Vec::new();
    for path in fixtures(folder, extension) {
        let got = read::read(framework, &files(&fs::read_to_string(&path).unwrap(), extension)).to_string();
        let golden = path.with_extension("txt");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&golden, &got).unwrap();
        } else if fs::read_to_string(&golden).unwrap_or_default() != got {
            wrong.push(format!("{}:\n{got}", golden.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
