//! Whether what the server tells of a run is all that the run has done.
//!
//! Each row that is written is told to the session that writes it, and the answer says whether the statement came to
//! its end. If every statement succeeds or fails as a whole, then what is committed is known by that, and [can be taken
//! back](crate::undo) without a log in the database. What breaks this:
//!
//! - a routine that catches an error: what it had done until then was told, and is undone;
//! - a routine that commits or rolls back by itself, or that says what it does only when it runs;
//! - a transaction that is prepared in one session and committed in another;
//! - TRUNCATE, which tells of no rows;
//! - settings by which one session prints a row in other words than another.
//!
//! All of that is known from the statements, with too much suspicion rather than too little where one is not
//! understood; the log is always right.

use isolde_scenario::file::ScenarioFile;
use isolde_sql::facts::{Effects, Facts};
use isolde_wire::{Connection, Response};

use crate::Trouble;

/// The routines that are not the server's own, nor ours: language, text, and whether they bring settings of their own.
const ROUTINES: &str = "SELECT l.lanname, p.prosrc, p.proconfig IS NOT NULL \
    FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang JOIN pg_namespace n ON n.oid = p.pronamespace \
    WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname NOT IN ('information_schema', 'isolde')";

/// Whether it is. `effects` are those of threads and of the routines of the file.
pub(super) fn is_all(connection: &mut Connection, file: &ScenarioFile, effects: Effects) -> Result<bool, Trouble> {
    let by_themselves = file.threads.iter().any(|thread| thread.autocommit);
    if by_themselves || hides(effects) {
        return Ok(false);
    }
    let routines = connection.execute(ROUTINES)?;
    let is_plain = |row: &isolde_wire::Row| match &row[..] {
        [Some(language), Some(body), Some(settings)] => {
            settings == "f" && !hides(Facts::of_body(language, body).effects)
        }
        _ => false,
    };
    Ok(routines.iter().flat_map(Response::rows).all(is_plain))
}

/// Whether what is told may differ from what is done.
fn hides(effects: Effects) -> bool {
    let Effects { catches, ends, executes, truncates, two_phase, rewords, .. } = effects;
    catches || ends || executes || truncates || two_phase || rewords
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_raises_does_not_catch() {
        let hides = |body: &str| hides(Facts::of_body("plpgsql", body).effects);
        assert!(!hides("BEGIN IF CASE WHEN true THEN true END THEN RAISE EXCEPTION 'EXCEPTION WHEN'; END IF; END"));
        assert!(hides("BEGIN INSERT INTO t VALUES (1); EXCEPTION\n  WHEN unique_violation THEN NULL; END"));
    }
}
