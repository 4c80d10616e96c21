//! A run of an application as an isolation spec.
//!
//! What an application computes between its statements is not seen, but of one run all that it computed is in what it
//! sent. So the run can be written down with constants: the tables and rows it started from, a session for each
//! connection, a step for each statement that was held, one permutation:
//!
//! ```text
//!   session ann    step ann_1 { BEGIN; SELECT stock FROM shop_item WHERE id = 1; }   ...
//!   session ben    step ben_1 { BEGIN; SELECT stock FROM shop_item WHERE id = 1; }   ...
//!   permutation ann_1 ben_1 ann_2 ben_2 ... look
//! ```
//!
//! It needs neither the application nor Isolde: PostgreSQL's own tester runs it. What is written has been run on the
//! server, and [`Written::same_end`] says whether that came to the same rows. (A default that asks for the time will
//! not.)

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use isolde_report::StepKind;
use isolde_scenario::spec::{Draft, DraftSession, Spec, table};
use isolde_sql::facts::{Facts, Verb};
use isolde_wire::Response;

use super::data::Data;
use super::skeleton::{Line, sent, set_up};
use crate::live::Part;
use crate::stage::StageError;
use crate::{Home, Trouble, spec};

/// A spec that was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its text.
    pub text: String,
    /// It came to the same rows as the application.
    pub same_end: bool,
}

/// A run that is to be written down.
pub(super) struct Case<'c> {
    /// Where it comes from.
    pub(super) file: &'c str,
    /// The names of the threads.
    pub(super) names: &'c [String],
    /// What each step of the schedule did.
    pub(super) steps: &'c [Vec<Part>],
    /// The isolation level of transactions that ask for none, as it is written in options.
    pub(super) level: Option<&'static str>,
}

/// The tables that a run has changed, as queries, and as they are printed.
pub(super) struct End {
    queries: String,
    printed: String,
}

impl Case<'_> {
    /// What the run has led to. The database stands at its end.
    pub(super) fn look(&self, data: &mut Data) -> Result<End, Trouble> {
        let mut end = End { queries: String::new(), printed: String::new() };
        for name in data.changed_tables()? {
            let query = format!("SELECT * FROM {name} ORDER BY 1;");
            for response in data.control()?.execute(&query)? {
                if let Response::Rows { columns, rows, .. } = response {
                    let texts = |row: isolde_wire::Row| row.into_iter().map(Option::unwrap_or_default).collect();
                    table(&columns, &rows.into_iter().map(texts).collect::<Vec<_>>(), &mut end.printed);
                }
            }
            end.queries += &query;
        }
        if end.queries.is_empty() {
            end.queries = "SELECT 'nothing has changed' AS tables;".into();
        }
        Ok(end)
    }

    /// Writes the spec, and runs it once. The database stands as it was set up.
    pub(super) fn write(&self, data: &mut Data, end: &End) -> Result<Result<Written, String>, Trouble> {
        let texts = self.parts().flat_map(|part| part.before.iter().map(String::as_str).chain([sent(part)]));
        let mentioned = texts.collect::<Vec<_>>().join("\n");
        let made = set_up(data, &mentioned)?;
        let mut draft = Draft {
            about: format!("{}: found by isolde; for isolationtester, or: isolde spec THIS_FILE --on URL", self.file),
            setup: made.lines.iter().filter_map(Line::statement).map(|statement| format!("{statement};")).collect(),
            teardown: made.teardown.join(" "),
            ..Draft::default()
        };
        if draft.teardown.is_empty() {
            draft.teardown = "SELECT 'nothing to take away';".into();
        }
        self.sessions(&mut draft);
        let steps = vec![("look".to_string(), end.queries.clone())];
        draft.sessions.push(DraftSession { name: "looker".into(), steps, ..DraftSession::default() });
        draft.order.push("look".into());
        let text = match draft.write() {
            Ok(text) => text,
            Err(why) => return Ok(Err(why)),
        };
        let spec = match Spec::parse("counterexample.spec", &text) {
            Ok(spec) => spec,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let home = Home::create(data.home().server())?;
        Ok(match spec::run(home.settings(), &spec, &mut |_| ControlFlow::Continue(())) {
            Err(StageError::Trouble(trouble)) => return Err(trouble),
            Err(StageError::File(error)) => Err(error.to_string()),
            Ok(run) => match run.gave_up {
                Some(why) => Err(format!("the order of its steps cannot be had from outside: {why}")),
                None => Ok(Written { same_end: run.output.contains(&end.printed), text }),
            },
        })
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.steps.iter().flatten()
    }

    /// One session for each connection, one step for what was sent at once.
    fn sessions(&self, draft: &mut Draft) {
        let mut sessions: BTreeMap<(usize, usize), DraftSession> = BTreeMap::new();
        let mut taken: BTreeSet<String> = ["looker".to_string()].into();
        for parts in self.steps {
            for said in parts.chunk_by(|a, b| (a.thread, a.connection) == (b.thread, b.connection)) {
                let Some((thread, connection)) = said.first().and_then(|part| Some((part.thread, part.connection?)))
                else {
                    continue;
                };
                // What goes on by itself, and what ends a deadlock, is the server's business.
                let texts: Vec<String> = (said.iter())
                    .filter(|part| matches!(part.kind, StepKind::Statement | StepKind::Commit))
                    .flat_map(|part| part.before.iter().map(String::as_str).chain([sent(part)]))
                    .map(|text| format!("{};", text.trim_end_matches(';')))
                    .collect();
                if texts.is_empty() {
                    continue;
                }
                let session = sessions.entry((thread, connection)).or_insert_with(|| {
                    let name = &self.names[thread];
                    let numbered = if connection == 0 { name.clone() } else { format!("{name}_{}", connection + 1) };
                    let name = if taken.insert(numbered.clone()) { numbered } else { format!("{numbered}_again") };
                    let setup = self
                        .level
                        .map(|level| format!("SET default_transaction_isolation = '{}';", level.replace('\\', "")));
                    DraftSession { name, setup: setup.unwrap_or_default(), ..DraftSession::default() }
                });
                let step = format!("{}_s{}", session.name, session.steps.len() + 1);
                session.steps.push((step.clone(), texts.join(" ")));
                draft.order.push(step);
            }
        }
        for session in sessions.values_mut() {
            // A transaction that was ended without anybody noticing, or not at all, would keep its tables from being
            // dropped.
            if session.steps.iter().fold(false, |open, (_, text)| leaves_open(text, open)) {
                let step = format!("{}_ends", session.name);
                session.steps.push((step.clone(), "ROLLBACK;".into()));
                draft.order.push(step);
            }
        }
        draft.sessions.extend(sessions.into_values());
    }
}

/// Whether a transaction is open after these statements.
fn leaves_open(text: &str, open: bool) -> bool {
    Facts::of_script(text).iter().fold(open, |open, facts| match facts.verb {
        Verb::Begin => true,
        Verb::Commit | Verb::Rollback | Verb::PrepareTransaction => false,
        _ => open,
    })
}
