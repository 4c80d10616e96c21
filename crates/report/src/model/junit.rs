//! JUnit's XML: a test for each finding, each property, and one for all that was proved.

use super::{Finding, ModelReport};
use crate::graph::escaped;
use crate::{Place, Verdict};

/// One test.
struct Test {
    class: String,
    name: String,
    place: String,
    /// The element inside, with its message and text, unless the test passed.
    element: Option<(&'static str, String, String)>,
}

pub(super) fn write(report: &ModelReport) -> String {
    let tests = tests(report);
    let count = |kind: &str| tests.iter().filter(|t| t.element.as_ref().is_some_and(|(e, ..)| *e == kind)).count();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" \
         errors=\"{}\" skipped=\"{}\">\n",
        text(&format!("isolde model {}", report.path)),
        tests.len(),
        count("failure"),
        count("error"),
        count("skipped"),
    );
    for test in &tests {
        out += &format!("<testcase classname=\"{}\" name=\"{}\"{}", text(&test.class), text(&test.name), test.place);
        match &test.element {
            None => out += "/>\n",
            Some((element, message, body)) => {
                let (message, body) = (text(message), text(body));
                out += &format!(">\n<{element} message=\"{message}\">{body}</{element}>\n</testcase>\n");
            }
        }
    }
    out + "</testsuite>\n</testsuites>\n"
}

fn tests(report: &ModelReport) -> Vec<Test> {
    let mut tests = Vec::new();
    for finding in &report.findings {
        tests.push(about(report, finding, "failure", &finding.headline));
    }
    for finding in &report.known {
        tests.push(about(report, finding, "skipped", "in the baseline"));
    }
    for ignored in &report.ignored {
        tests.push(about(report, &ignored.finding, "skipped", &ignored.reason));
    }
    for property in &report.properties {
        let element = match (property.verdict.as_str(), property.known) {
            ("holds", _) => None,
            (_, true) => Some("skipped"),
            ("fails", _) => Some("failure"),
            _ => Some("error"),
        };
        let element = element.map(|element| (element, property.meaning.clone(), property.text.clone()));
        let (class, name) = ("property".into(), property.name.clone());
        tests.push(Test { class, name, place: attribute(report, property.place.as_ref()), element });
    }
    for undecided in &report.undecided {
        let element = Some(("error", "not decided".into(), undecided.clone()));
        tests.push(Test { class: "obligation".into(), name: undecided.clone(), place: String::new(), element });
    }
    if report.proved > 0 || tests.is_empty() {
        let name = format!("{} obligations are proved for all data", report.proved);
        let element = match &report.verdict {
            Verdict::Inconclusive(reason) if tests.is_empty() => Some(("error", reason.clone(), String::new())),
            _ => None,
        };
        tests.push(Test { class: "obligation".into(), name, place: String::new(), element });
    }
    tests
}

fn about(report: &ModelReport, finding: &Finding, element: &'static str, message: &str) -> Test {
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
    Test {
        class: finding.kind().into(),
        name: finding.id.clone(),
        place: attribute(report, finding.place.as_ref()),
        element: Some((element, message.to_owned(), body)),
    }
}

fn attribute(report: &ModelReport, place: Option<&Place>) -> String {
    place.map(|place| format!(" file=\"{}\" line=\"{}\"", text(&report.file(place)), place.line)).unwrap_or_default()
}

/// As text of XML, which has no control characters.
fn text(text: &str) -> String {
    escaped(&text.chars().filter(|c| !c.is_control() || *c == '\n').collect::<String>())
}
