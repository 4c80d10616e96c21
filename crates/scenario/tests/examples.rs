//! Every example comes out as its README says: each line `isolde explore FILE # verdict: what` is a claim.
#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;
use std::path::Path;

use isolde_report::{Report, Verdict};
use isolde_scenario::{Options, Scenario, check, file};

fn explore(path: &Path, name: &str) -> Report {
    let text = std::fs::read_to_string(path).unwrap();
    let scenario = Scenario::parse(name, &text, &mut file::no_includes).unwrap_or_else(|e| panic!("{e}"));
    check(&scenario, &Options::default(), &mut |_| ControlFlow::Continue(()))
}

/// What a claim may name: the property, the anomaly, the error.
fn described(report: &Report) -> String {
    match &report.counterexample {
        None => String::new(),
        Some(c) => format!("{} {} {}", c.property, c.anomaly.as_deref().unwrap_or(""), c.headline),
    }
}

#[test]
fn examples_come_out_as_their_stories_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut claims = 0;
    let mut wrong = Vec::new();
    let mut stories: Vec<_> = std::fs::read_dir(root.join("examples")).unwrap().map(|e| e.unwrap().path()).collect();
    stories.sort();
    for story in stories {
        let Ok(readme) = std::fs::read_to_string(story.join("README.md")) else { continue };
        for line in readme.lines() {
            let Some((file, claim)) = line.strip_prefix("isolde explore ").and_then(|l| l.split_once('#')) else {
                continue;
            };
            let (file, claim) = (file.trim(), claim.trim());
            if file.contains(' ') {
                continue;
            }
            claims += 1;
            let report = explore(&root.join(file), file);
            let (verdict, what) = claim.split_once(':').map_or((claim, ""), |(v, w)| (v, w.trim()));
            let said = described(&report);
            let detail = match report.verdict {
                Verdict::Inconclusive(ref reason) => reason.clone(),
                _ => said.clone(),
            };
            let named = what.split_whitespace().filter(|w| w.len() > 3 || w.chars().any(|c| c.is_ascii_digit()));
            let named: Vec<&str> = named.collect();
            if report.verdict.word() != verdict || !(named.is_empty() || named.iter().any(|w| said.contains(w))) {
                wrong.push(format!("{file}: claimed `{claim}`, got `{}: {detail}`", report.verdict.word()));
            }
        }
    }
    assert!(claims >= 20, "only {claims} claims found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
