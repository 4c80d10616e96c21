//! Answers that were kept as JSON, read again.
//!
//! Each checker writes documents of its own shape; what a document has tells which it is. So a job can keep the answers
//! of a long search and make a page or a text of them later, on another machine.

use serde::Deserialize;
use serde_json::Value;

use crate::{FORMAT, LevelsReport, ModelReport, ProveReport, Report, SpaceReport};

/// The answer of some checker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Of `isolde explore` and `isolde replay`.
    Explored(Box<Report>),
    /// Of `isolde explore --levels`.
    Leveled(Box<LevelsReport>),
    /// Of `isolde model`.
    Modelled(Box<ModelReport>),
    /// Of `isolde prove`.
    Proved(Box<ProveReport>),
    /// Of `isolde space`.
    Spaced(Box<SpaceReport>),
}

impl Answer {
    /// Reads documents, one after another. The error is a sentence.
    pub fn read(text: &str) -> Result<Vec<Answer>, String> {
        let documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let answers = documents.map(|document| one(document.map_err(|error| format!("not JSON: {error}"))?));
        let answers: Vec<Answer> = answers.collect::<Result<_, String>>()?;
        match answers.is_empty() {
            true => Err("there is no answer in it".into()),
            false => Ok(answers),
        }
    }
}

fn one(document: Value) -> Result<Answer, String> {
    match document.get("format").and_then(Value::as_u64) {
        Some(format) if format == u64::from(FORMAT) => {}
        Some(format) => {
            return Err(format!("format {format} is not known to this version, which reads format {FORMAT}"));
        }
        None => return Err("not an answer that was written with --format json".into()),
    }
    let has = |field: &str| document.get(field).is_some();
    if has("semantics") {
        whole(document).map(Answer::Modelled)
    } else if has("cells") {
        whole(document).map(Answer::Proved)
    } else if has("levels") {
        whole(document).map(Answer::Leveled)
    } else if has("coverage") {
        whole(document).map(Answer::Spaced)
    } else {
        whole(document).map(Answer::Explored)
    }
}

fn whole<T: for<'de> Deserialize<'de>>(document: Value) -> Result<Box<T>, String> {
    serde_json::from_value(document).map(Box::new).map_err(|error| format!("not an answer: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Stats, Verdict};

    #[test]
    fn every_checkers_answer_is_read_again() {
        let explored = Report::new("isolde explore a.sql", "a.sql", Verdict::Violated, Stats::default());
        let modelled = ModelReport::new("isolde model app", "app", "rails");
        let proved = ProveReport::new("isolde prove a.sql", "a.sql");
        let spaced = SpaceReport::new("isolde space A.tla", "A.tla");
        let leveled = LevelsReport::new("isolde explore --levels a.sql", "a.sql", Verdict::Holds);
        let text =
            explored.to_json() + &leveled.to_json() + &modelled.to_json() + &proved.to_json() + &spaced.to_json();
        let answers = [
            Answer::Explored(Box::new(explored)),
            Answer::Leveled(Box::new(leveled)),
            Answer::Modelled(Box::new(modelled)),
            Answer::Proved(Box::new(proved)),
            Answer::Spaced(Box::new(spaced)),
        ];
        assert_eq!(Answer::read(&text), Ok(answers.to_vec()));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let refused = |text: &str| Answer::read(text).expect_err("it is none");
        assert_eq!(refused(""), "there is no answer in it");
        assert_eq!(refused("{}"), "not an answer that was written with --format json");
        assert_eq!(refused(r#"{"format": 7}"#), "format 7 is not known to this version, which reads format 1");
        assert!(refused(r#"{"format": 1}"#).starts_with("not an answer: "));
        assert!(refused("isolde").starts_with("not JSON: "));
    }
}
