//! TRUNCATE of tables with triggers.

use isolde_sql::catalog::TableId;
use isolde_sql::typed::Truncate;

use super::Event;
use crate::exec::Executor;
use crate::exec::{Produced, Running, Stop};
use crate::footprint::ColumnSet;

impl Executor<'_> {
    /// Whether TRUNCATE of these tables fires triggers.
    pub(crate) fn truncate_fires(&self, tables: &[TableId]) -> bool {
        let catalog = self.catalog();
        tables.iter().any(|&table| catalog.table(table).triggers.iter().any(|t| t.truncate && t.enabled))
    }

    /// TRUNCATE with triggers, on from where it stands.
    pub(crate) fn truncate_firing(&mut self, truncate: &Truncate, run: &mut Running) -> Result<Produced, Stop> {
        if !run.rows_are_done() {
            let fired = truncate.tables.iter().filter_map(|&table| self.triggers_of(table));
            let fired: Vec<_> = fired.collect();
            for triggers in &fired {
                self.before_statement(triggers, Event::Truncate, ColumnSet::NONE, run)?;
            }
            self.truncate(truncate)?;
            for triggers in &fired {
                self.after_statement(triggers, Event::Truncate, ColumnSet::NONE, run)?;
            }
            run.end_rows();
        }
        self.work_off(run)?;
        Ok(Produced::nothing("TRUNCATE TABLE"))
    }
}
