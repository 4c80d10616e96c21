//! Answers for continuous integration: [SARIF](sarif) for code scanning, [JUnit's XML](junit) for whoever counts tests.
//!
//! Both formats are written in one place. What is a result and what is a test, each kind of answer says itself; that of
//! a search is said here, for any number of files at once, as these formats have one document for a whole run.

pub(crate) mod junit;
pub(crate) mod sarif;

use crate::{Counterexample, Place, PropertyStatus, Report, Style, Trace, Verdict};
use junit::{Outcome, Suite, Test};
use serde_json::{Value, json};

/// Pages that nobody folds.
const WIDTH: usize = 100;

impl Report {
    /// The answers about some files as SARIF 2.1.0: a result for each counterexample, with its steps as code flow.
    /// `mistakes` are files about which there is no answer, and why.
    pub fn to_sarif(command: &str, reports: &[Report], mistakes: &[(String, String)]) -> String {
        let why: Vec<&str> = mistakes.iter().map(|(_, why)| why.as_str()).collect();
        sarif::document(command, reports.iter().flat_map(results).collect(), &why)
    }

    /// The answers about some files as JUnit's XML: a test for each property of each file, and one for each mistake.
    pub fn to_junit(reports: &[Report], mistakes: &[(String, String)]) -> String {
        let mistaken = mistakes.iter().map(|(file, why)| Test {
            class: file.clone(),
            name: "no answer".into(),
            place: Some((file.clone(), 1)),
            outcome: Outcome::Error(why.lines().next().unwrap_or_default().into(), why.clone()),
        });
        let tests = reports.iter().flat_map(tests).chain(mistaken).collect();
        junit::document(&Suite { name: "isolde explore".into(), tests })
    }

    fn file_of<'r>(&'r self, place: &'r Place) -> &'r str {
        place.file.as_deref().unwrap_or(&self.file)
    }
}

/// A result for each finding, or one that says why there may be some.
fn results(report: &Report) -> Vec<Value> {
    let mut ids: Vec<String> = Vec::new();
    let found = report.counterexamples().map(|counterexample| {
        let id = format!("{}:{}:{}", report.file, counterexample.property, rule(counterexample));
        let same = ids.iter().filter(|known| **known == id).count();
        ids.push(id.clone());
        // Findings of one kind are told apart by their order.
        let id = if same == 0 { id } else { format!("{id}:{}", same + 1) };
        result(report, counterexample, &id)
    });
    let found: Vec<Value> = found.collect();
    let vague = match &report.verdict {
        Verdict::Inconclusive(reason) if found.is_empty() => Some(inconclusive(report, reason)),
        _ => None,
    };
    found.into_iter().chain(vague).collect()
}

fn inconclusive(report: &Report, reason: &str) -> Value {
    let message = format!("Nothing bad was found, but not everything was looked at: {reason}.");
    let id = format!("inconclusive:{}", report.file);
    let mut result = sarif::result("inconclusive", "warning", &message, &id);
    result["locations"] = json!([sarif::location(&report.file, 0)]);
    result
}

fn rule(counterexample: &Counterexample) -> String {
    counterexample.anomaly.as_deref().unwrap_or(&counterexample.property).replace(' ', "-")
}

fn result(report: &Report, counterexample: &Counterexample, id: &str) -> Value {
    let location = |place: &Place| sarif::location(report.file_of(place), place.line);
    let mut result = sarif::result(&rule(counterexample), "error", &message(counterexample), id);
    let first = counterexample.trace.steps.iter().find_map(|step| step.place.as_ref());
    result["locations"] = json!([first.map_or_else(|| sarif::location(&report.file, 0), location)]);
    let steps = flow(&counterexample.trace, location);
    if !steps.is_empty() {
        result["codeFlows"] = json!([{ "threadFlows": [{ "locations": steps }] }]);
    }
    result
}

/// What happens, why, and what helps.
fn message(counterexample: &Counterexample) -> String {
    let mut out = counterexample.summary.iter().map(|summary| format!("{summary} ")).collect::<String>();
    out += &counterexample.headline;
    if let Some(anomaly) = &counterexample.anomaly {
        out += &format!(" ({anomaly})");
    }
    for paragraph in &counterexample.explanation {
        out += &format!(" {paragraph}");
    }
    if let Some(fix) = counterexample.fixes.iter().find(|fix| fix.verdict.helps()) {
        out += &format!(" Fix that was tried: {}.", fix.title);
    }
    out
}

/// The steps that stand in a file, in the order they happen.
fn flow(trace: &Trace, location: impl Fn(&Place) -> Value) -> Vec<Value> {
    let steps = trace.steps.iter().filter_map(|step| {
        let mut at = location(step.place.as_ref()?);
        let thread = trace.threads.get(step.thread).map(String::as_str).unwrap_or_default();
        at["message"] = json!({ "text": format!("{thread}: {}", step.statement) });
        Some(at)
    });
    let numbered = steps.enumerate();
    numbered.map(|(order, at)| json!({ "location": at, "executionOrder": order + 1 })).collect()
}

fn tests(report: &Report) -> Vec<Test> {
    let reason = match &report.verdict {
        Verdict::Inconclusive(reason) => reason.clone(),
        _ => "the search ended before it could be decided".into(),
    };
    let headlines = |name: &str| {
        let broken = report.counterexamples().filter(|counterexample| counterexample.property == name);
        broken.map(|counterexample| counterexample.headline.as_str()).collect::<Vec<_>>().join(" ")
    };
    let outcome = |name: &str, status: PropertyStatus| match (status, &report.counterexample) {
        (PropertyStatus::Violated, _) => Outcome::Failure(headlines(name), report.to_text(Style::plain(WIDTH))),
        (PropertyStatus::Undecided, Some(_)) => {
            Outcome::Skipped("not decided: the search ended with what it found".into(), String::new())
        }
        (PropertyStatus::Undecided, None) => Outcome::Error(reason.clone(), String::new()),
        (PropertyStatus::Skipped, _) => Outcome::Skipped("not looked at".into(), report.warnings.join("\n")),
        (PropertyStatus::Holds, _) => Outcome::Passed,
    };
    let test = |name: &str, status| Test {
        class: report.file.clone(),
        name: name.into(),
        place: Some((report.file.clone(), 1)),
        outcome: outcome(name, status),
    };
    report.properties.iter().map(|property| test(&property.name, property.status)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PropertyResult, Stats, StepKind, StepResult, TraceStep};

    fn violated() -> Report {
        let step = |thread, line| TraceStep {
            thread,
            kind: StepKind::Statement,
            statement: "SELECT 1 < 2".into(),
            place: Some(Place { file: None, line }),
            result: StepResult::Done { tag: String::new() },
            changes: Vec::new(),
            notes: Vec::new(),
        };
        let mut report = Report::new("isolde explore a.sql", "a.sql", Verdict::Violated, Stats::default());
        report.properties = vec![
            PropertyResult { name: "serial outcome".into(), by: None, status: PropertyStatus::Violated },
            PropertyResult { name: "no <errors>".into(), by: None, status: PropertyStatus::Undecided },
        ];
        let trace =
            Trace { threads: vec!["a".into(), "b".into()], steps: vec![step(0, 8), step(1, 9)], tables: vec![] };
        report.counterexample = Some(Counterexample {
            property: "serial outcome".into(),
            summary: None,
            headline: "No serial order ends like this.".into(),
            serially: Vec::new(),
            anomaly: Some("lost update".into()),
            schedule: "ab".into(),
            trace,
            explanation: vec!["a read before b wrote.".into()],
            graph: None,
            not_needed: Default::default(),
            fixes: Vec::new(),
            replay: String::new(),
            confirmation: None,
        });
        report
    }

    #[test]
    fn sarif_has_a_result_with_its_steps() {
        let holds = Report::new("isolde explore b.sql", "b.sql", Verdict::Holds, Stats::default());
        let vague = Report::new("c", "c.sql", Verdict::Inconclusive("time".into()), Stats::default());
        let document = Report::to_sarif("isolde explore", &[violated(), holds, vague], &[]);
        let document: Value = serde_json::from_str(&document).expect("SARIF is JSON");
        let results = document["runs"][0]["results"].as_array().expect("a run has results");
        assert_eq!(results.len(), 2, "{document:#}");
        assert_eq!(results[0]["ruleId"], "lost-update");
        assert_eq!(results[0]["locations"][0]["physicalLocation"]["region"]["startLine"], 8);
        let flow = &results[0]["codeFlows"][0]["threadFlows"][0]["locations"];
        assert_eq!(flow[1]["location"]["message"]["text"], "b: SELECT 1 < 2");
        assert_eq!(results[1]["level"], "warning");
    }

    #[test]
    fn junit_has_a_test_for_each_property() {
        let xml = Report::to_junit(&[violated()], &[]);
        assert!(xml.contains("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"1\""), "{xml}");
        assert!(xml.contains("name=\"no &lt;errors&gt;\""), "{xml}");
    }

    #[test]
    fn what_could_not_be_checked_is_no_success() {
        let mistakes = [("gone.sql".to_string(), "there is no file gone.sql".to_string())];
        let document: Value =
            serde_json::from_str(&Report::to_sarif("isolde explore", &[], &mistakes)).expect("SARIF is JSON");
        let invocation = &document["runs"][0]["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], false);
        assert_eq!(invocation["toolExecutionNotifications"][0]["message"]["text"], "there is no file gone.sql");
        let xml = Report::to_junit(&[], &mistakes);
        assert!(xml.contains("tests=\"1\" failures=\"0\" errors=\"1\""), "{xml}");
    }
}
