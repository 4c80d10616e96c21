//! JUnit's XML.

use crate::graph::escaped;

/// Tests that belong together.
pub(crate) struct Suite {
    pub(crate) name: String,
    pub(crate) tests: Vec<Test>,
}

/// One test.
pub(crate) struct Test {
    pub(crate) class: String,
    pub(crate) name: String,
    /// A file and a line of it.
    pub(crate) place: Option<(String, u32)>,
    pub(crate) outcome: Outcome,
}

/// What became of a test; with a message and more text, unless it passed.
pub(crate) enum Outcome {
    Passed,
    Failure(String, String),
    Error(String, String),
    Skipped(String, String),
}

impl Outcome {
    /// The name of the element that says so, and what it says.
    fn element(&self) -> Option<(&'static str, &str, &str)> {
        match self {
            Outcome::Passed => None,
            Outcome::Failure(message, body) => Some(("failure", message, body)),
            Outcome::Error(message, body) => Some(("error", message, body)),
            Outcome::Skipped(message, body) => Some(("skipped", message, body)),
        }
    }
}

/// A document with one suite.
pub(crate) fn document(Suite { name, tests }: &Suite) -> String {
    let is = |test: &Test, kind: &str| test.outcome.element().is_some_and(|(element, ..)| element == kind);
    let count = |kind: &str| tests.iter().filter(|test| is(test, kind)).count();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" \
         errors=\"{}\" skipped=\"{}\">\n",
        text(name),
        tests.len(),
        count("failure"),
        count("error"),
        count("skipped"),
    );
    for test in tests {
        let place = test.place.as_ref();
        let place = place.map(|(file, line)| format!(" file=\"{}\" line=\"{line}\"", text(file))).unwrap_or_default();
        out += &format!("<testcase classname=\"{}\" name=\"{}\"{place}", text(&test.class), text(&test.name));
        match test.outcome.element() {
            None => out += "/>\n",
            Some((element, message, body)) => {
                let (message, body) = (text(message), text(body));
                out += &format!(">\n<{element} message=\"{message}\">{body}</{element}>\n</testcase>\n");
            }
        }
    }
    out + "</testsuite>\n</testsuites>\n"
}

/// As text of XML, which has no control characters.
fn text(text: &str) -> String {
    escaped(&text.chars().filter(|c| !c.is_control() || *c == '\n').collect::<String>())
}
