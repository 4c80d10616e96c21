//! What a proof has refuted, seen on a server: rows, a call, and a rule that holds before it and not behind it.
//!
//! No threads and no gates: the set-up is run in a database of its own, its tables are emptied, the rows are inserted,
//! and the rule is asked before and behind the call. Each witness begins with the database as the set-up has left it.

use isolde_scenario::file::ScenarioFile;
use isolde_wire::{Connection, Response, Settings};

use super::setup::{SESSION_OPTIONS, StageError, run_setup, stay_inside};
use crate::{Home, Trouble, Version};

/// A call that is longer at work than this will not end.
const CALL_OPTIONS: &str = "-c statement_timeout=60s";

/// Rows and a call that are said to break a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Statements that insert the rows.
    pub rows: Vec<String>,
    /// The call.
    pub call: String,
    /// The rule: a query every row of which must be true.
    pub rule: String,
}

/// Runs witnesses on a server. Its version, and of each witness what was different there, if anything was.
pub fn confirm(
    file: &ScenarioFile,
    server: &Settings,
    witnesses: &[Witness],
) -> Result<(Version, Vec<Option<String>>), StageError> {
    stay_inside(file)?;
    let mut home = Home::create(server)?;
    run_setup(&mut home.connect(SESSION_OPTIONS)?, file, &mut Default::default())?;
    if witnesses.len() > 1 {
        home.copy()?;
    }
    let mut differences = Vec::new();
    for (at, witness) in witnesses.iter().enumerate() {
        if at > 0 {
            home.return_to_copy()?;
        }
        let mut connection = home.connect(&format!("{SESSION_OPTIONS} {CALL_OPTIONS}"))?;
        differences.push(difference(&mut connection, witness)?);
    }
    Ok((home.version().clone(), differences))
}

/// What is different on the server.
fn difference(connection: &mut Connection, witness: &Witness) -> Result<Option<String>, Trouble> {
    connection.execute(EMPTY)?;
    for row in &witness.rows {
        if let Some(error) = failure(connection, row)? {
            return Ok(Some(format!("the rows cannot be inserted there: {error}")));
        }
    }
    if is_broken(connection, &witness.rule)? {
        return Ok(Some("the rule does not hold before the call there".into()));
    }
    let error = failure(connection, &witness.call)?;
    // A call that fails late may have committed before.
    Ok(match (is_broken(connection, &witness.rule)?, error) {
        (true, _) => None,
        (false, Some(error)) => Some(format!("the call fails there: {error}")),
        (false, None) => Some("the rule holds behind the call there".into()),
    })
}

/// Empties every table.
const EMPTY: &str = "DO $isolde$ DECLARE tables text; BEGIN
    SELECT string_agg(format('%I.%I', nspname, relname), ', ') INTO tables
      FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
     WHERE relkind IN ('r', 'p') AND nspname NOT IN ('pg_catalog', 'information_schema') AND nspname !~ '^pg_(toast|temp)'
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e');
    IF tables IS NOT NULL THEN EXECUTE 'TRUNCATE ' || tables; END IF;
END $isolde$";

/// The error that a statement raises.
fn failure(connection: &mut Connection, statement: &str) -> Result<Option<String>, Trouble> {
    let error = connection.query(statement)?.into_iter().find_map(|response| match response {
        Response::Error(error) => Some(format!("{} ({})", error.message, error.sqlstate)),
        _ => None,
    });
    Ok(error)
}

/// A row of the rule is not true, or it cannot be asked.
fn is_broken(connection: &mut Connection, rule: &str) -> Result<bool, Trouble> {
    let is_true = |row: &isolde_wire::Row| matches!(row.as_slice(), [Some(value)] if value == "t");
    let answer = connection.query(rule)?;
    Ok(answer.iter().any(|response| response.is_error() || !response.rows().iter().all(is_true)))
}
