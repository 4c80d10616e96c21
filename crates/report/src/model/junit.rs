//! A test for each finding, each property, and one for all that was proved.

use super::{Finding, ModelReport};
use crate::ci::junit::{self, Outcome, Suite, Test};
use crate::{Place, Verdict};

pub(super) fn write(report: &ModelReport) -> String {
    junit::document(&Suite { name: format!("isolde model {}", report.path), tests: tests(report) })
}

fn tests(report: &ModelReport) -> Vec<Test> {
    let mut tests = Vec::new();
    for finding in &report.findings {
        tests.push(about(report, finding, Outcome::Failure(finding.headline.clone(), body(finding))));
    }
    for finding in &report.known {
        tests.push(about(report, finding, Outcome::Skipped("in the baseline".into(), body(finding))));
    }
    for ignored in &report.ignored {
        let outcome = Outcome::Skipped(ignored.reason.clone(), body(&ignored.finding));
        tests.push(about(report, &ignored.finding, outcome));
    }
    for property in &report.properties {
        let (message, body) = (property.meaning.clone(), property.text.clone());
        let outcome = match (property.verdict.as_str(), property.known) {
            ("holds", _) => Outcome::Passed,
            (_, true) => Outcome::Skipped(message, body),
            ("fails", _) => Outcome::Failure(message, body),
            _ => Outcome::Error(message, body),
        };
        let (class, name) = ("property".into(), property.name.clone());
        tests.push(Test { class, name, place: place(report, property.place.as_ref()), outcome });
    }
    for undecided in &report.undecided {
        let outcome = Outcome::Error("not decided".into(), undecided.clone());
        tests.push(Test { class: "obligation".into(), name: undecided.clone(), place: None, outcome });
    }
    if report.proved > 0 || tests.is_empty() {
        let name = format!("{} obligations are proved for all data", report.proved);
        let outcome = match &report.verdict {
            Verdict::Inconclusive(reason) if tests.is_empty() => Outcome::Error(reason.clone(), String::new()),
            _ => Outcome::Passed,
        };
        tests.push(Test { class: "obligation".into(), name, place: None, outcome });
    }
    tests
}

fn about(report: &ModelReport, finding: &Finding, outcome: Outcome) -> Test {
    let place = place(report, finding.place.as_ref());
    Test { class: finding.kind().into(), name: finding.id.clone(), place, outcome }
}

fn body(finding: &Finding) -> String {
    let mut body = format!("{}\n{}\n", finding.headline, finding.why);
    for line in &finding.example.before {
        body += &format!("before  {line}\n");
    }
    for line in finding.example.delete.iter() {
        body += &format!("delete  {line}\n");
    }
    for line in &finding.example.after {
        body += &format!("after   {line}\n");
    }
    if let Some(change) = &finding.change {
        body += &format!("change  {}\n", change.code);
    }
    body
}

fn place(report: &ModelReport, place: Option<&Place>) -> Option<(String, u32)> {
    place.map(|place| (report.file(place).to_string(), place.line))
}
