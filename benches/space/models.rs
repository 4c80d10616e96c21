//! What is explored: the specifications, in sizes. The same three are written once more for
//! [Stateright](super::stateright) and for [Spin](super::spin), by hand.

use isolde_statespace::tla::Spec;
use isolde_statespace::tla::spec::Files;

/// A specification with a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// So many counters from 0 to 9.
    Grid(usize),
    /// Peterson's lock for so many processes.
    Lock(usize),
    /// Two-phase commit with so many resource managers.
    Commit(usize),
}

impl Model {
    /// A name for tables.
    pub(crate) fn title(self) -> String {
        match self {
            Model::Grid(n) => format!("grid, {n} counters of 10"),
            Model::Lock(n) => format!("filter lock, {n} processes"),
            Model::Commit(n) => format!("two-phase commit, {n} managers"),
        }
    }

    /// A name that can be an argument, and comes back by [`Model::named`].
    pub(crate) fn name(self) -> String {
        match self {
            Model::Grid(n) => format!("grid:{n}"),
            Model::Lock(n) => format!("lock:{n}"),
            Model::Commit(n) => format!("commit:{n}"),
        }
    }

    /// The model of a name.
    pub(crate) fn named(name: &str) -> Option<Model> {
        let (kind, n) = name.split_once(':')?;
        let n = n.parse().ok()?;
        match kind {
            "grid" => Some(Model::Grid(n)),
            "lock" => Some(Model::Lock(n)),
            "commit" => Some(Model::Commit(n)),
            _ => None,
        }
    }

    /// The name of its module.
    pub(crate) fn module(self) -> &'static str {
        match self {
            Model::Grid(_) => "Grid",
            Model::Lock(_) => "FilterLock",
            Model::Commit(_) => "TwoPhase",
        }
    }

    /// The specification, as it is written.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Model::Grid(_) => include_str!("../../crates/statespace/tests/specs/Grid.tla"),
            Model::Lock(_) => include_str!("../../crates/statespace/tests/specs/FilterLock.tla"),
            Model::Commit(_) => include_str!("../../crates/statespace/tests/specs/TwoPhase.tla"),
        }
    }

    /// Its configuration.
    pub(crate) fn config(self) -> String {
        match self {
            Model::Grid(n) => format!("SPECIFICATION Spec\nCONSTANTS N = {n} Top = 9\nINVARIANT TypeOK\n"),
            Model::Lock(n) => format!("SPECIFICATION Spec\nCONSTANT N = {n}\nINVARIANTS TypeOK Exclusion\n"),
            Model::Commit(n) => {
                let managers: Vec<String> = (1..=n).map(|r| format!("r{r}")).collect();
                let managers = managers.join(", ");
                format!("SPECIFICATION Spec\nCONSTANT RM = {{{managers}}}\nINVARIANTS TypeOK Consistent\n")
            }
        }
    }

    /// The specification, read.
    pub(crate) fn load(self) -> Spec {
        let files = Files { name: "bench.tla", text: self.text(), config: Some(("bench.cfg", &self.config())) };
        Spec::load(&files, &mut |_| None).expect("the specification is right")
    }
}
