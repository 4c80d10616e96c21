//! State spaces as tables: where they are kept, and questions to those that are there.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use isolde_report::{Asked, Behaviour, Passed, SpaceReport, SpaceSize};
use isolde_statespace::ctl::Formula;
use isolde_statespace::keep::{self, Engine, Keeper};
use isolde_statespace::sql::{Dialect, Form, SqlChecker, compose, script};
use isolde_statespace::store::{Store, StoreError, Stored};
use isolde_statespace::tla::Spec;

use crate::complain::Mistake;
use crate::server;

/// What the flags about tables say.
#[derive(Clone, Debug, Args)]
pub(crate) struct Tables {
    /// Put the states into a file of SQLite, or postgres://...
    ///
    /// A file that ends in .duckdb is one of DuckDB, if this program was built with it.
    ///
    /// The tables `state`, `trans` and `action`, with views that have a column for each variable, can be queried by
    /// anybody who knows SQL. On a server they stand in a schema named after the specification. Formulas that were
    /// decided are kept there, too. A space that is there already is not explored again, unless the specification has
    /// changed.
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) db: Option<String>,

    /// Leave the tables there when everything is answered
    #[arg(long, requires = "db")]
    pub(crate) keep: bool,

    /// Who explores: we, or the database in one of two ways
    #[arg(long, value_name = "NAME", default_value = "rust", requires = "db")]
    pub(crate) engine: Engines,

    /// Let the database decide the formulas of --ctl
    ///
    /// By statements on the table of transitions; what is found is kept as labels, in any case. We decide them in
    /// memory otherwise, which is faster.
    #[arg(long, requires = "ctl")]
    pub(crate) ctl_in_sql: bool,

    /// Print a script that explores the specification
    ///
    /// For engines that are not at hand here: spark-sql runs the script on as many machines as it has.
    #[arg(long, value_name = "DIALECT", conflicts_with = "db")]
    #[arg(value_parser = PossibleValuesParser::new(Dialect::ALL.iter().map(|(name, _)| *name)))]
    pub(crate) emit_sql: Option<String>,

    /// Join the space with another file's on shared variables
    #[arg(long, value_name = "FILE", requires = "db")]
    pub(crate) compose: Option<PathBuf>,
}

/// Who explores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engines {
    /// This program
    Rust,
    /// The database, by one recursive query, or by levels if that fails
    #[value(alias = "cte")]
    Sql,
    /// The database, level by level
    Levels,
}

/// A store for the time of a run.
pub(crate) struct Kept {
    pub(crate) store: Store,
    /// A file that is not to be left behind.
    file: Option<PathBuf>,
    keep: bool,
}

impl Tables {
    /// Who is to explore.
    pub(crate) fn engine(&self) -> Engine {
        match self.engine {
            Engines::Rust => Engine::Rust,
            Engines::Sql => Engine::Sql(Form::Closure),
            Engines::Levels => Engine::Sql(Form::Levels),
        }
    }

    /// Who keeps the space of a specification in a store.
    pub(crate) fn keeper<'s>(&self, store: &'s mut Store, spec: &Spec, config: Option<&str>) -> Keeper<'s> {
        let mut keeper = Keeper::new(store, spec, config, self.engine());
        (keeper.whole, keeper.ctl_in_sql) = (self.keep, self.ctl_in_sql);
        keeper
    }

    /// The script that is asked for, if one is.
    pub(crate) fn script(&self, spec: &Spec) -> Result<Option<String>, Mistake> {
        let dialect = Dialect::ALL.iter().find(|(name, _)| Some(*name) == self.emit_sql.as_deref());
        let Some((_, dialect)) = dialect else { return Ok(None) };
        let (program, _) =
            keep::program(spec).map_err(|fault| Mistake::Elsewhere { message: fault.message, hint: fault.hint })?;
        match program.layout.fits_sql() {
            true => Ok(Some(script(&program, *dialect))),
            false => {
                Err(Mistake::new(format!("a state takes {} bits, more than fit into a number", program.layout.bits)))
            }
        }
    }

    /// The store that is meant, if one is.
    pub(crate) fn open(&self, name: &str) -> Result<Option<Kept>, Mistake> {
        let Some(place) = &self.db else {
            return match self.ctl_in_sql {
                true => Err(Mistake::new("--ctl-in-sql needs --db: which database is to decide")),
                false => Ok(None),
            };
        };
        if place.starts_with("postgres://") || place.starts_with("postgresql://") {
            let server = server::parse(place).map_err(Mistake::new)?;
            let store = Store::postgres(server.settings(), &schema(name)).map_err(mistake)?;
            return Ok(Some(Kept { store, file: None, keep: self.keep }));
        }
        let path = PathBuf::from(place);
        let file = (!self.keep && !path.exists()).then(|| path.clone());
        Ok(Some(Kept { store: open_file(&path)?, file, keep: self.keep }))
    }
}

impl Kept {
    /// Leaves the tables, or nothing.
    pub(crate) fn close(mut self) -> Result<(), Mistake> {
        if self.keep {
            return Ok(());
        }
        self.store.discard().map_err(mistake)?;
        drop(self.store);
        match &self.file {
            Some(path) => remove(path),
            None => Ok(()),
        }
    }
}

/// Removes a file of SQLite with what stands beside it.
fn remove(path: &Path) -> Result<(), Mistake> {
    for ending in ["-wal", "-shm"] {
        let mut beside = path.as_os_str().to_owned();
        beside.push(ending);
        // They are there only sometimes.
        let _ = fs::remove_file(beside);
    }
    fs::remove_file(path).map_err(|error| Mistake::new(format!("{} cannot be removed: {error}", path.display())))
}

/// The schema of a specification: a name that need not be quoted.
fn schema(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    format!("isolde_{}", name.chars().map(plain).collect::<String>())
}

/// Whether a file is one of SQLite or of DuckDB.
pub(crate) fn is_store(path: &Path) -> bool {
    let mut start = [0; 16];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && (start == *b"SQLite format 3\0" || start[8..12] == *b"DUCK")
}

/// A store in a file: of DuckDB, if it is called so.
fn open_file(path: &Path) -> Result<Store, Mistake> {
    match path.extension().is_some_and(|ending| ending == "duckdb") {
        true => open_duckdb(path),
        false => Store::sqlite(path).map_err(mistake),
    }
}

#[cfg(feature = "duckdb")]
fn open_duckdb(path: &Path) -> Result<Store, Mistake> {
    Store::duckdb(path).map_err(mistake)
}

#[cfg(not(feature = "duckdb"))]
fn open_duckdb(_: &Path) -> Result<Store, Mistake> {
    Err(Mistake::Elsewhere {
        message: "this isolde was built without DuckDB".into(),
        hint: Some("build it with --features duckdb-bundled, or name a file of SQLite".into()),
    })
}

/// What is asked of a store.
pub(crate) struct Questions<'a> {
    pub(crate) file: &'a Path,
    pub(crate) ctl: &'a [String],
    pub(crate) invariants: &'a [String],
    pub(crate) tables: &'a Tables,
    pub(crate) command: String,
}

impl Questions<'_> {
    /// Answers from what is stored.
    pub(crate) fn answer(&self) -> Result<SpaceReport, Mistake> {
        match &self.tables.compose {
            Some(other) => self.composed(other),
            None => self.ask(&mut open_file(self.file)?),
        }
    }

    fn composed(&self, other: &Path) -> Result<SpaceReport, Mistake> {
        let Some(mut kept) = self.tables.open("compose")? else {
            return Err(Mistake::new("--compose needs --db: where the tables of both together go"));
        };
        let composed = compose(&mut kept.store, self.file, other).map_err(mistake)?;
        let mut report = self.ask(&mut kept.store)?;
        report.stats.push(("shared".into(), composed.shared.join(", ")));
        kept.close()?;
        Ok(report)
    }

    fn ask(&self, store: &mut Store) -> Result<SpaceReport, Mistake> {
        let held = store.held().map_err(mistake)?;
        let Some(held) = held.filter(|held| held.complete && held.transitions.is_some()) else {
            return Err(Mistake::Elsewhere {
                message: format!("{} holds no complete state space with its transitions", self.file.display()),
                hint: Some("isolde space SPEC.tla --db FILE --keep makes one".into()),
            });
        };
        let stored = store.stored().map_err(mistake)?;
        let mut report = SpaceReport::new(&self.command, &self.file.display().to_string());
        let initial = stored.levels.iter().filter(|&&level| level == 0).count() as u64;
        report.size = SpaceSize {
            states: held.states as u64,
            initial,
            generated: initial + stored.graph.transitions() as u64,
            depth: held.depth.unwrap_or(0) as u64,
        };
        for text in self.invariants {
            let asked = self.decide(store, &stored, "invariant", text, &format!("AG ({text})"))?;
            report.properties.push(asked);
        }
        for text in self.ctl {
            let asked = self.decide(store, &stored, "ctl", text, text)?;
            report.properties.push(asked);
        }
        report.settle();
        Ok(report)
    }

    fn decide(&self, store: &mut Store, stored: &Stored, kind: &str, name: &str, text: &str) -> Result<Asked, Mistake> {
        let formula = Formula::parse(text).map_err(|error| Mistake::InText {
            file: format!("--{kind}"),
            text: text.to_string(),
            span: error.span,
            message: error.message,
            hint: None,
        })?;
        if self.tables.ctl_in_sql {
            SqlChecker::new(store).states(&formula).map_err(mistake)?;
        }
        let found = store.ask_of(stored, &formula).map_err(mistake)?;
        let (verdict, meaning) = if found.holds { ("holds", "") } else { ("fails", "in a state at the start") };
        let behaviour = || {
            let variables = found.path.first().map(|state| state.values.iter().map(|(name, _)| name.clone()).collect());
            let passed = found.path.iter().map(|state| Passed {
                action: state.step.clone(),
                place: None,
                values: state.values.iter().map(|(_, value)| value.clone()).collect(),
            });
            Behaviour {
                variables: variables.unwrap_or_default(),
                states: passed.collect(),
                back_to: found.back_to,
                stays: false,
            }
        };
        Ok(Asked {
            kind: kind.into(),
            name: name.into(),
            verdict: verdict.into(),
            meaning: meaning.into(),
            trace: (!found.holds).then(behaviour),
        })
    }
}

/// What a store complains of.
pub(crate) fn mistake(error: StoreError) -> Mistake {
    Mistake::Elsewhere { message: error.message, hint: error.hint }
}
