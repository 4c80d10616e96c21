//! `isolde prove --confirm`: what was refuted, run on a server.

use isolde_postgres::stage::witness::{self, Witness};
use isolde_report::{Confirmation, ProveReport};
use isolde_scenario::file::ScenarioFile;

use crate::complain::Mistake;
use crate::server::Server;

/// Runs every witness of a report on a server, and adds what came of it.
pub(crate) fn confirm(report: &mut ProveReport, file: &ScenarioFile, server: &Server) -> Result<(), Mistake> {
    let rule = |name: &str| {
        let section = file.invariants.iter().chain(&file.rules).find(|section| *section.name == *name);
        section.map_or("", |section| section.statement.ast.span.of(file.sources.text())).to_string()
    };
    let refuted = report.cells.iter().filter_map(|cell| Some((cell.witness.as_ref()?, rule(&cell.rule))));
    let witnesses = refuted.map(|(found, rule)| Witness { rows: found.rows.clone(), call: found.call.clone(), rule });
    let witnesses: Vec<Witness> = witnesses.collect();
    if witnesses.is_empty() {
        return Ok(());
    }
    let (version, differences) = witness::confirm(file, server.settings(), &witnesses)?;
    let found = report.cells.iter_mut().filter_map(|cell| cell.witness.as_mut());
    for (witness, difference) in found.zip(differences) {
        let server = format!("PostgreSQL {}", version.text);
        witness.confirmation = Some(Confirmation { server, confirmed: difference.is_none(), difference });
    }
    Ok(())
}
