//! Fixes that are said to hold do: for every scenario with a bug, the changed file is searched again from its text.
#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use isolde_report::{FixVerdict, Report, Verdict};
use isolde_scenario::file::{FileOptions, Include, Included, SearchKind};
use isolde_scenario::fix::{Tried, try_fixes};
use isolde_scenario::{Options, Scenario, check};

/// Scenarios of the examples and of `tests/fixes`.
fn scenarios() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut directories = vec![crates.join("tests/fixes")];
    directories.extend(std::fs::read_dir(crates.join("../../examples")).unwrap().map(|e| e.unwrap().path()));
    let files = directories.iter().filter(|d| d.is_dir()).flat_map(|d| std::fs::read_dir(d).unwrap());
    let mut files: Vec<PathBuf> = files.map(|e| e.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "sql"));
    files.retain(|path| std::fs::read_to_string(path).unwrap().contains("--@ thread"));
    files.sort();
    files
}

fn load(path: &Path) -> Scenario {
    let name = path.file_name().unwrap().to_str().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let directory = path.parent().unwrap();
    let mut loader = |include: Include<'_>| {
        let text = std::fs::read_to_string(directory.join(include.path)).map_err(|e| e.to_string())?;
        Ok(Included { name: include.path.into(), text })
    };
    Scenario::parse(name, &text, &mut loader).unwrap_or_else(|error| panic!("{error}"))
}

fn explored(scenario: &Scenario, settings: FileOptions) -> Report {
    let options = Options { settings, ..Options::default() };
    check(scenario, &options, &mut |_| ControlFlow::Continue(()))
}

fn fixes(scenario: &Scenario) -> Vec<Tried> {
    let report = explored(scenario, FileOptions::default());
    try_fixes(scenario, &report, &Options::default(), &mut |_| ControlFlow::Continue(()))
}

fn again(tried: &Tried) -> Scenario {
    let mut rest = tried.files[1..].iter().cloned();
    let mut loader = |_: Include<'_>| rest.next().ok_or_else(|| "no more".to_string());
    Scenario::parse(&tried.files[0].name, &tried.files[0].text, &mut loader).unwrap()
}

/// What holds holds again, for the file as it would be written, state by state and interleaving by interleaving.
#[test]
fn what_holds_holds_in_every_search() {
    for path in scenarios() {
        let scenario = load(&path);
        for tried in fixes(&scenario) {
            if tried.fix.verdict != FixVerdict::Holds {
                continue;
            }
            let fixed = again(&tried);
            // Naive search of long runs is not for a test.
            for (search, states_max) in [(SearchKind::Stateful, None), (SearchKind::Stateless, Some(2_000))] {
                let settings = FileOptions { search: Some(search), states_max, ..FileOptions::default() };
                let verdict = explored(&fixed, settings).verdict;
                let fine =
                    verdict == Verdict::Holds || (states_max.is_some() && matches!(verdict, Verdict::Inconclusive(_)));
                assert!(fine, "{}: {}: {verdict:?}", path.display(), tried.fix.title);
            }
        }
    }
}

/// Every fix that was tried for every scenario of `tests/fixes` and the examples, with its verdict and, if it holds,
/// its patch.
#[test]
fn fixes_as_recorded() {
    let mut out = String::new();
    for path in scenarios() {
        let scenario = load(&path);
        let tried = fixes(&scenario);
        if tried.is_empty() {
            continue;
        }
        out.push_str(&format!("## {}\n", scenario.name()));
        for tried in &tried {
            let fix = &tried.fix;
            let remark = match &fix.verdict {
                FixVerdict::Holds => fix.cost.unwrap().to_string(),
                FixVerdict::Fails(reason) | FixVerdict::Undecided(reason) => reason.clone(),
            };
            out.push_str(&format!("{}  [{}] {}: {remark}\n", fix.verdict.words(), fix.kind, fix.title));
            if fix.verdict == FixVerdict::Holds {
                let names = tried.files.iter().flat_map(|f| [format!("--- {}", f.name), format!("+++ {}", f.name)]);
                let names: Vec<String> = names.collect();
                let changed = |line: &&str| line.starts_with(['+', '-']) && !names.iter().any(|name| name == line);
                let lines = fix.patch.lines().filter(changed);
                lines.for_each(|line| out.push_str(&format!("    {line}\n")));
            }
        }
        out.push('\n');
    }
    expect_test::expect_file!["fixes.txt"].assert_eq(&out);
}

/// Every story with a bug has a fix that holds.
#[test]
fn every_bug_of_the_examples_has_a_fix() {
    for path in scenarios().into_iter().filter(|path| path.components().any(|c| c.as_os_str() == "examples")) {
        let scenario = load(&path);
        let report = explored(&scenario, FileOptions::default());
        if report.verdict == Verdict::Violated {
            let held = fixes(&scenario).iter().filter(|tried| tried.fix.verdict == FixVerdict::Holds).count();
            assert!(held > 0, "{}", path.display());
        }
    }
}

/// The same violation has the same fixes.
#[test]
fn fixes_are_the_same_every_time() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scenario = load(&crates.join("../../examples/withdraw/withdraw.sql"));
    let patches = |tried: Vec<Tried>| tried.into_iter().map(|t| t.fix).collect::<Vec<_>>();
    assert_eq!(patches(fixes(&scenario)), patches(fixes(&scenario)));
}

/// What the author of an example did to correct it is among what is found: lines of its `fixed.sql` that a fix adds
/// too.
#[test]
fn what_the_authors_did_is_found() {
    let corrections: &[(&str, &[&str])] = &[
        ("bonus/bonus-dependent.sql", &["FROM company WHERE salary < max_salary FOR UPDATE;", "--@ thread bonus"]),
        ("doctors/doctors.sql", &["FROM doctor WHERE on_call ORDER BY name FOR UPDATE;", "repeatable read retry 1"]),
        ("limit/limit.sql", &["FROM member WHERE id = who FOR UPDATE;"]),
        // The author also locks the row first. Without that lock the editor is told that the row is gone, which counts
        // as giving up.
        ("openmrs/openmrs.sql", &["RAISE NOTICE", "RETURN;"]),
        (
            "oversell/oversell.sql",
            &["UPDATE item SET stock = stock - n WHERE id = wanted AND stock >= n;", "IF FOUND THEN"],
        ),
        // The author deletes in silence; we tell.
        ("petclinic-delete/petclinic-delete.sql", &[]),
        ("petclinic-hibernate/petclinic-hibernate.sql", &["FROM pet WHERE id = given FOR UPDATE;"]),
        ("seats/seats.sql", &["ORDER BY no LIMIT 1 FOR UPDATE SKIP LOCKED;"]),
        ("signup/signup.sql", &["(email text NOT NULL UNIQUE);", "ON CONFLICT (email) DO NOTHING;", "IF FOUND THEN"]),
        ("transfer-audit/transfer-audit.sql", &["--@ thread auditor isolation repeatable read"]),
        ("transfers/transfers.sql", &["FROM account WHERE id IN (source, target) ORDER BY id FOR UPDATE;"]),
        ("voucher/voucher.sql", &["WHERE code = given AND NOT used;", "IF FOUND THEN"]),
        ("withdraw/withdraw.sql", &["FROM account WHERE id = acc FOR UPDATE;"]),
    ];
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (file, lines) in corrections {
        let path = examples.join(file);
        let author = std::fs::read_to_string(path.with_file_name("fixed.sql")).unwrap();
        lines.iter().for_each(|line| assert!(author.contains(line), "{file}: {line}"));
        let held = fixes(&load(&path)).into_iter().filter(|tried| tried.fix.verdict == FixVerdict::Holds);
        let ours: Vec<String> = held.map(|tried| tried.files[0].text.clone()).collect();
        assert!(ours.iter().any(|text| lines.iter().all(|line| text.contains(line))), "{file}");
    }
}
