//! Whether what the server tells of a run is all that the run has done.
//!
//! Each row that is written is told to the session that writes it, and the answer says whether the statement came to its end. If
//! every statement succeeds or fails as a whole, then what is committed is known by that, and [can be taken back](crate::undo)
//! without a log in the database. What breaks this:
//!
//! - a routine that catches an error: what it had done until then was told, and is undone;
//! - a routine that commits or rolls back by itself, or that says what it does only when it runs;
//! - a transaction that is prepared in one session and committed in another;
//! - TRUNCATE, which tells of no rows;
//! - settings by which one session prints a row in other words than another.
//!
//! All of that is looked for in the texts, with too much suspicion rather than too little; the log is always right.

use isolde_scenario::file::ScenarioFile;
use isolde_sql::bind;
use isolde_wire::{Connection, Response};

use super::setup::mentions;
use crate::Trouble;

/// Words that no thread and no routine may use.
const HIDING: &[&str] = &["truncate", "prepare", "prepared"];
/// Settings by which a row is told in other words.
const WORDING: &[&str] = &[
    "datestyle",
    "intervalstyle",
    "timezone",
    "zone",
    "extra_float_digits",
    "bytea_output",
    "search_path",
    "lc_monetary",
];
/// Words that no routine may use.
const BY_ITSELF: &[&str] = &["commit", "rollback", "execute", "set_config", "truncate", "prepare"];

/// The routines that are not the server's own, nor ours: language, text, and whether they bring settings of their own.
const ROUTINES: &str = "SELECT l.lanname, p.prosrc, p.proconfig IS NOT NULL \
    FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang JOIN pg_namespace n ON n.oid = p.pronamespace \
    WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname NOT IN ('information_schema', 'isolde')";

/// Whether it is. `texts` are those of threads and routines.
pub(super) fn is_all(connection: &mut Connection, file: &ScenarioFile, texts: &[String]) -> Result<bool, Trouble> {
    let by_themselves = file.threads.iter().any(|thread| thread.autocommit);
    if by_themselves || mentions(texts, HIDING) || mentions(texts, WORDING) || texts.iter().any(|text| catches(text)) {
        return Ok(false);
    }
    let routines = connection.execute(ROUTINES)?;
    let is_plain = |row: &isolde_wire::Row| match &row[..] {
        [Some(language), Some(body), Some(settings)] => {
            let understood = matches!(language.as_str(), "plpgsql" | "sql") && settings == "f";
            understood && !catches(body) && !mentions(std::slice::from_ref(body), BY_ITSELF)
        }
        _ => false,
    };
    let blocks =
        file.threads.iter().flat_map(|thread| &thread.body).map(|statement| statement.ast.span.of(file.sources.text()));
    let mut blocks =
        blocks.filter(|text| text.trim_start().get(..2).is_some_and(|word| word.eq_ignore_ascii_case("do")));
    Ok(routines.iter().flat_map(Response::rows).all(is_plain)
        && blocks.all(|block| !mentions(&[block.to_string()], BY_ITSELF)))
}

/// Whether errors are caught in a text: `EXCEPTION WHEN`.
fn catches(text: &str) -> bool {
    let line = bind::one_line(text).to_lowercase();
    let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect();
    words.windows(2).any(|pair| pair == ["exception", "when"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_raises_does_not_catch() {
        assert!(!catches("BEGIN RAISE EXCEPTION 'too far'; END IF; CASE WHEN true"));
        assert!(catches("BEGIN INSERT INTO t VALUES (1); EXCEPTION\n  WHEN unique_violation THEN NULL; END"));
    }
}
