//! An exception that users cannot help: told, not thrown.
//!
//! Two people delete the same row; whoever comes second gets what she wanted, and an error. If a procedure raises an
//! exception about what another thread did, `RAISE NOTICE` and `RETURN` tell the same and let the transaction live.

use isolde_sql::SqlState;
use isolde_sql::ast::plpgsql::{Raise, RaiseLevel, Stmt, StmtKind};

use super::patch::Edit;
use super::site::{Code, Site};
use super::{Candidate, Case, Kind, sql};

pub(super) struct TellInsteadOfFailing;

impl Kind for TellInsteadOfFailing {
    fn name(&self) -> &'static str {
        "notice"
    }

    fn is_about_overlap(&self) -> bool {
        false
    }

    fn propose(&self, case: &Case<'_>) -> Vec<Candidate> {
        let failed = case.steps().filter_map(|(_, step)| match &step.reply {
            Some(Err(error)) if error.state == SqlState::RAISE_EXCEPTION => case.site_at(step.pending.span),
            _ => None,
        });
        let Some(procedure) = failed.last().and_then(|site| site.routine).filter(|r| r.procedure) else {
            return Vec::new();
        };
        let own = |site: &&Site<'_>| site.routine.is_some_and(|r| std::ptr::eq(r, procedure));
        let raised: Vec<&Stmt> = case.sites().iter().filter(own).filter_map(exception).collect();
        if raised.is_empty() {
            return Vec::new();
        }
        let lines = case.lines(raised.iter().map(|stmt| stmt.span));
        let edits = raised.iter().flat_map(|stmt| edits(stmt, case.text())).collect();
        vec![Candidate::new(format!("RAISE NOTICE and RETURN instead of an exception ({lines})"), edits)]
    }
}

fn exception<'f>(site: &Site<'f>) -> Option<&'f Stmt> {
    match site.code {
        Code::Stmt(stmt @ Stmt { kind: StmtKind::Raise(Raise { level: RaiseLevel::Exception, .. }), .. }) => Some(stmt),
        _ => None,
    }
}

fn edits(stmt: &Stmt, text: &str) -> Vec<Edit> {
    let written = match &stmt.kind {
        StmtKind::Raise(raise) => raise.level_span,
        _ => None,
    };
    let level = match written {
        Some(word) => Edit::replace(word, "NOTICE"),
        None => Edit::insert(stmt.span.start + "raise".len() as u32, " NOTICE"),
    };
    let blanks = sql::indent(stmt.span.start, text).map_or(" ".to_string(), |blanks| format!("\n{blanks}"));
    vec![level, Edit::insert(stmt.span.end, format!(";{blanks}RETURN"))]
}
