//! Findings that a team knows already: a file that lists them sets them aside.

use std::path::PathBuf;

use clap::Args;
use isolde_report::Baseline;

use crate::complain::Mistake;
use crate::{input, output};

/// Which baseline to compare with, and where to write one.
#[derive(Args, Clone, Debug)]
pub(crate) struct Baselines {
    /// Set aside the findings that this file lists
    ///
    /// A team starts with what is there (--write-baseline) and is told of new findings only. Entries that are not
    /// needed any more are named.
    #[arg(long, value_name = "FILE", help_heading = "Teams")]
    baseline: Option<PathBuf>,

    /// Write the present findings as a baseline
    #[arg(long, value_name = "FILE", help_heading = "Teams")]
    write_baseline: Option<PathBuf>,
}

impl Baselines {
    /// The baseline to compare with. Declares the one to write; it may be the same file, brought up to date.
    pub(crate) fn read(&self) -> Result<Option<Baseline>, Mistake> {
        if let Some(path) = self.write_baseline.as_deref().filter(|_| !self.updates()) {
            output::declare(path)?;
        }
        let Some(path) = &self.baseline else { return Ok(None) };
        let text = input::read_text(path).map_err(|message| Mistake::Elsewhere {
            message,
            hint: Some(format!("--write-baseline {} writes one", path.display())),
        })?;
        Ok(Some(Baseline::parse(&text)))
    }

    /// Writes a baseline, if one is asked for.
    pub(crate) fn write(&self, text: impl FnOnce() -> String) -> Result<(), Mistake> {
        let put = if self.updates() { output::replace } else { output::write };
        self.write_baseline.as_deref().map_or(Ok(()), |path| put(path, &text()))
    }

    fn updates(&self) -> bool {
        self.write_baseline.is_some() && self.write_baseline == self.baseline
    }
}
