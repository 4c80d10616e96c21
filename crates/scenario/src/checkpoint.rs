//! A search of a scenario, set aside, as text: to go on with it later, with nothing lost.

use std::collections::BTreeSet;

use isolde_explore::digest_of;
use serde::{Deserialize, Serialize};

use crate::file::FileOptions;
use crate::system::ScenarioSystem;

/// Where a search was stopped by a limit or an interrupt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Tells scenarios and settings apart.
    of: String,
    /// What was known by then, besides what is counted.
    warnings: BTreeSet<String>,
    skipped: BTreeSet<String>,
    endless: Option<String>,
    /// Where the search was.
    search: isolde_explore::Checkpoint,
}

impl Checkpoint {
    pub(crate) fn new(
        system: ScenarioSystem<'_>,
        settings: &FileOptions,
        search: isolde_explore::Checkpoint,
    ) -> Checkpoint {
        let (warnings, skipped) = (BTreeSet::new(), BTreeSet::new());
        Checkpoint { of: mark(system, settings), warnings, skipped, endless: None, search }
    }

    pub(crate) fn noting(
        self,
        warnings: &BTreeSet<String>,
        skipped: &BTreeSet<String>,
        endless: Option<&str>,
    ) -> Checkpoint {
        Checkpoint {
            warnings: warnings.clone(),
            skipped: skipped.clone(),
            endless: endless.map(ToString::to_string),
            ..self
        }
    }

    /// Adds what was known when the search was stopped.
    pub(crate) fn add_to(
        &self,
        warnings: &mut BTreeSet<String>,
        skipped: &mut BTreeSet<String>,
        endless: &mut Option<String>,
    ) {
        warnings.extend(self.warnings.iter().cloned());
        skipped.extend(self.skipped.iter().cloned());
        *endless = endless.take().or_else(|| self.endless.clone());
    }

    /// Where the search was, if it was of this scenario with these settings.
    pub(crate) fn search(
        &self,
        system: ScenarioSystem<'_>,
        settings: &FileOptions,
    ) -> Result<&isolde_explore::Checkpoint, String> {
        match self.of == mark(system, settings) {
            true => Ok(&self.search),
            false => Err("the checkpoint is of another scenario, or of a search with other settings".into()),
        }
    }

    /// The checkpoint as text.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a checkpoint has only string keys")
    }

    /// Reads what [`Checkpoint::to_json`] wrote.
    pub fn from_json(text: &str) -> Result<Checkpoint, String> {
        serde_json::from_str(text).map_err(|error| format!("this is no checkpoint: {error}"))
    }
}

/// The scenario with its settings, except those that decide only when to stop and how many work.
fn mark(system: ScenarioSystem<'_>, settings: &FileOptions) -> String {
    let settings = FileOptions { jobs: None, states_max: None, ..settings.clone() };
    format!("{:032x}", digest_of(&(system.scenario.sources.text(), format!("{settings:?}"))))
}
