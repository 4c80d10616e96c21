//! The programs of Database PathFinder's evaluation (Gligoric and Majumdar, *Model checking database applications*,
//! TACAS 2013), re-created, with the figures that its Figure 2 gives.
//!
//! The paper's sources are not published: it names seven kernels and four applications and says in a sentence what each
//! does. [`kernels`] and the files in `benches/dpf` follow these sentences, in sizes that give a naive search about as
//! many states as it had there. Statements are transactions of their own, as everywhere in the paper.

pub mod kernels;

use isolde_scenario::file::{Include, Included};
use isolde_scenario::{Scenario, ScenarioError};

/// A program, and what was published about it.
#[derive(Clone, Debug)]
pub struct Program {
    /// As in the paper.
    pub name: &'static str,
    /// The scenario.
    pub text: String,
    /// The paper's figures.
    pub published: Published,
}

/// Figure 2 of the paper: Naïve, Relation, Cell.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// States.
    pub states: [u64; 3],
    /// Milliseconds under full hashing and replay, full and rollback, incremental and replay, incremental and rollback.
    /// Zero where the text of the table that we have lost a column.
    pub ms: [[u64; 3]; 4],
    /// States and milliseconds with the database in the model checker's own memory, where that came to an end.
    pub in_memory: Option<(u64, u64)>,
}

/// Kernels and applications, in the order of the paper; `quick` makes all of them small.
pub fn programs(quick: bool) -> Vec<Program> {
    let kernels = kernels::KERNELS.iter().map(|kernel| Program {
        name: kernel.name,
        text: kernel.text(if quick { kernel.quick } else { kernel.shape }),
        published: kernel.published,
    });
    let applications = APPLICATIONS.iter().map(|(name, text, published)| Program {
        name,
        text: if quick { shrunk(text) } else { text.to_string() },
        published: *published,
    });
    kernels.chain(applications).collect()
}

impl Program {
    /// Set up, ready to run.
    pub fn scenario(&self) -> Result<Scenario, ScenarioError> {
        Scenario::parse(&format!("{}.sql", self.name), &self.text, &mut include)
    }
}

/// Fewer rows, as the first line of a file says how many, and the first two threads only.
fn shrunk(text: &str) -> String {
    let text = text.replace("SELECT 145000 AS", "SELECT 1000 AS").replace("SELECT 150000 AS", "SELECT 1000 AS");
    text.split("--@ thread").take(3).collect::<Vec<_>>().join("--@ thread")
}

fn include(include: Include<'_>) -> Result<Included, String> {
    match include.path {
        "petclinic.sql" => {
            Ok(Included { name: include.path.into(), text: include_str!("../../dpf/petclinic.sql").into() })
        }
        other => Err(format!("{other} is no file of these benchmarks")),
    }
}

const APPLICATIONS: &[(&str, &str, Published)] = &[
    (
        "OpenMRS",
        include_str!("../../dpf/openmrs.sql"),
        Published {
            states: [33855, 2193, 1625],
            ms: [[53513, 3201, 3082], [145881, 3121, 3137], [53482, 2634, 3095], [149579, 3098, 3109]],
            in_memory: None,
        },
    ),
    (
        "PetClinic1",
        include_str!("../../dpf/petclinic-1.sql"),
        Published {
            states: [39571, 10919, 5646],
            ms: [[107225, 20334, 14223], [94448, 18188, 13343], [106107, 20976, 14682], [93750, 18714, 14056]],
            in_memory: None,
        },
    ),
    (
        "PetClinic2",
        include_str!("../../dpf/petclinic-2.sql"),
        Published {
            states: [1234, 458, 451],
            ms: [[4549, 3359, 3589], [3709, 2785, 3005], [4647, 3495, 3657], [3599, 2822, 2976]],
            in_memory: None,
        },
    ),
    (
        "RiskIt",
        include_str!("../../dpf/riskit.sql"),
        Published {
            states: [706, 276, 203],
            ms: [[1012343, 615514, 391515], [1050192, 632422, 397537], [26447, 25969, 25805], [26509, 25982, 26635]],
            in_memory: None,
        },
    ),
    (
        "UCOM",
        include_str!("../../dpf/ucom.sql"),
        Published {
            states: [1152, 433, 416],
            ms: [[173510, 39289, 39262], [177845, 41901, 41631], [12102, 9439, 9545], [11999, 9426, 9883]],
            in_memory: None,
        },
    ),
];
