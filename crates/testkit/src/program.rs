//! Programs, what is observed when they run, and the script that holds both.
//!
//! A [`Program`] is a set-up and a sequence of steps; each step is one statement sent by one session. A session that
//! waits for a lock cannot send anything, so its steps are skipped until it has been answered. A script is a program
//! with, below each step, indented, what was observed:
//!
//! ```text
//! # The second writer waits for the first, and then counts from what it wrote.
//! setup> CREATE TABLE t (id int PRIMARY KEY, n int)
//! setup> INSERT INTO t VALUES (1, 10)
//! s0> BEGIN
//!     BEGIN
//! s0> UPDATE t SET n = n + 1
//!     UPDATE 1
//! s1> UPDATE t SET n = n + 1
//!     waits
//! s0> COMMIT
//!     COMMIT
//!     s1: UPDATE 1
//! s1> SELECT n FROM t
//!     n
//!     12
//!     SELECT 1
//! ```
//!
//! A statement of several lines goes on in lines that begin with `..`. Rows of a statement without `ORDER BY` are shown
//! sorted, since their order means nothing.

use std::fmt;

/// Statements of a few sessions, in the order in which they are sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Run first, by a session of its own; must succeed.
    pub setup: Vec<String>,
    /// How many sessions there are; they are numbered from 0.
    pub sessions: usize,
    /// Session and statement.
    pub steps: Vec<(usize, String)>,
}

/// What happened in one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The fate of the step itself.
    pub outcome: Outcome,
    /// Sessions that had been waiting and were answered because of this step, by number.
    pub released: Vec<(usize, Vec<Response>)>,
}

/// The fate of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It was answered at once.
    Answered(Vec<Response>),
    /// It waits for another session.
    Waits,
    /// It was not sent, because its session still waits.
    Skipped,
}

/// The values of a row in text form; `None` is NULL.
pub type Row = Vec<Option<String>>;

/// One result of a query string.
#[derive(Clone, Debug, PartialEq)]
pub enum Response {
    /// A statement with rows.
    Rows {
        /// The command tag, such as `SELECT 2`.
        tag: String,
        /// The names of the columns.
        columns: Vec<String>,
        /// The rows.
        rows: Vec<Row>,
    },
    /// A statement without rows.
    Done {
        /// The command tag, such as `UPDATE 2`.
        tag: String,
    },
    /// A failure.
    Error {
        /// The five-character code.
        sqlstate: String,
        /// The primary message.
        message: String,
    },
}

impl From<isolde_wire::Response> for Response {
    fn from(response: isolde_wire::Response) -> Response {
        match response {
            isolde_wire::Response::Rows { tag, columns, rows } => Response::Rows { tag, columns, rows },
            isolde_wire::Response::Done { tag } => Response::Done { tag },
            isolde_wire::Response::Error(error) => {
                Response::Error { sqlstate: error.sqlstate, message: unnumbered(&error.message) }
            }
        }
    }
}

impl Program {
    /// Reads a script, ignoring what was observed. The error names the line.
    pub fn parse(script: &str) -> Result<Program, String> {
        let mut program = Program::default();
        for (number, line) in script.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with(['#', ' ', '=', '@']) {
                continue;
            }
            let entry = if let Some(more) = line.strip_prefix("..") {
                program.last_statement().map(|statement| *statement += &format!("\n{}", more.trim_start_matches(' ')))
            } else {
                program.add_line(line)
            };
            entry.ok_or_else(|| format!("line {}: expected `setup>`, `s0>`, `..` or `#`: {line}", number + 1))?;
        }
        Ok(program)
    }

    fn add_line(&mut self, line: &str) -> Option<()> {
        let (who, statement) = line.split_once('>')?;
        let statement = statement.trim().to_string();
        if who == "setup" {
            self.setup.push(statement);
        } else {
            let session: usize = who.strip_prefix('s')?.parse().ok()?;
            self.sessions = self.sessions.max(session + 1);
            self.steps.push((session, statement));
        }
        Some(())
    }

    fn last_statement(&mut self) -> Option<&mut String> {
        self.steps.last_mut().map(|(_, statement)| statement).or(self.setup.last_mut())
    }

    /// The script of this program with what was observed.
    pub fn script(&self, observations: &[Observation]) -> String {
        let mut script = String::new();
        for statement in &self.setup {
            script += &format!("setup> {}\n", statement.replace('\n', "\n.. "));
        }
        for (index, (session, statement)) in self.steps.iter().enumerate() {
            script += &format!("s{session}> {}\n", statement.replace('\n', "\n.. "));
            if let Some(observation) = observations.get(index) {
                script += &indent(&observation.to_string());
            }
        }
        script
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.script(&[]))
    }
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

impl fmt::Display for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Outcome::Answered(responses) => responses.iter().try_for_each(|response| writeln!(f, "{response}"))?,
            Outcome::Waits => writeln!(f, "waits")?,
            Outcome::Skipped => writeln!(f, "skipped: busy")?,
        }
        for (session, responses) in &self.released {
            for line in responses.iter().map(Response::to_string).collect::<Vec<_>>().join("\n").lines() {
                writeln!(f, "s{session}: {line}")?;
            }
        }
        Ok(())
    }
}

impl Observation {
    /// Everything that was answered: to the step, and because of it.
    pub fn responses(&self) -> impl Iterator<Item = &Response> {
        let own = if let Outcome::Answered(responses) = &self.outcome { responses.as_slice() } else { &[] };
        own.iter().chain(self.released.iter().flat_map(|(_, responses)| responses))
    }

    /// The same, to be changed.
    pub fn responses_mut(&mut self) -> impl Iterator<Item = &mut Response> {
        let own = if let Outcome::Answered(responses) = &mut self.outcome { responses.as_mut_slice() } else { &mut [] };
        own.iter_mut().chain(self.released.iter_mut().flat_map(|(_, responses)| responses))
    }
}

impl Response {
    /// Is this a failure?
    pub fn is_error(&self) -> bool {
        matches!(self, Response::Error { .. })
    }

    /// The same response with its rows sorted, unless the statement asks for an order.
    pub fn canonical(self, statement: &str) -> Response {
        match self {
            Response::Rows { tag, columns, mut rows } if !orders(statement) => {
                rows.sort();
                Response::Rows { tag, columns, rows }
            }
            other => other,
        }
    }
}

/// Does the statement ask for an order of its rows? One in parentheses, of a subquery, an aggregate or a window, is
/// none of theirs.
fn orders(statement: &str) -> bool {
    let mut depth = 0usize;
    let outside = statement.chars().filter(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    });
    outside.collect::<String>().to_ascii_uppercase().contains("ORDER BY")
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Response::Rows { tag, columns, rows } => {
                writeln!(f, "{}", columns.join(" | "))?;
                for row in rows {
                    let values: Vec<String> = row.iter().map(|value| display_value(value.as_deref())).collect();
                    writeln!(f, "{}", values.join(" | "))?;
                }
                f.write_str(tag)
            }
            Response::Done { tag } => f.write_str(tag),
            Response::Error { sqlstate, message } => write!(f, "ERROR {sqlstate}: {message}"),
        }
    }
}

/// A message without the number of an unnamed cursor, which counts those that a session has opened before.
fn unnumbered(message: &str) -> String {
    const UNNAMED: &str = "<unnamed portal ";
    let Some((before, after)) = message.split_once(UNNAMED) else { return message.to_string() };
    format!("{before}{UNNAMED}N{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// NULL, the text, or the quoted text where it could be mistaken for something else.
fn display_value(value: Option<&str>) -> String {
    match value {
        None => "NULL".to_string(),
        Some(text) if text.is_empty() || text == "NULL" || text.contains(['|', '\n', '"']) => format!("{text:?}"),
        Some(text) => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_script_reads_back() {
        let script = "setup> CREATE TABLE t (id int)\ns1> SELECT *\n.. FROM t\ns0> COMMIT\n";
        let program = Program::parse(&format!("# why\n{script}    COMMIT\n")).unwrap();
        assert_eq!(program.sessions, 2);
        assert_eq!(program.steps[0], (1, "SELECT *\nFROM t".to_string()));
        assert_eq!(program.to_string(), script);
    }

    #[test]
    fn a_bad_line_is_named() {
        let error = Program::parse("setup> SELECT 1\nsessions> 2\n").unwrap_err();
        assert_eq!(error, "line 2: expected `setup>`, `s0>`, `..` or `#`: sessions> 2");
    }

    #[test]
    fn unordered_rows_are_sorted() {
        let rows = |texts: &[&str]| Response::Rows {
            tag: "SELECT 2".into(),
            columns: vec!["a".into()],
            rows: texts.iter().map(|text| vec![Some(text.to_string())]).collect(),
        };
        assert_eq!(rows(&["b", "a"]).canonical("SELECT a FROM t"), rows(&["a", "b"]));
        assert_eq!(rows(&["b", "a"]).canonical("SELECT a FROM t ORDER BY n"), rows(&["b", "a"]));
        let inside = "SELECT a FROM t WHERE n = (SELECT n FROM t ORDER BY n LIMIT 1)";
        assert_eq!(rows(&["b", "a"]).canonical(inside), rows(&["a", "b"]));
    }
}
