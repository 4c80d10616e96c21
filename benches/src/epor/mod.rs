//! The programs of EPOR's evaluation (Ghafoor, Mahmood and Siddiqui, *Effective partial order reduction in model
//! checking database applications*, ICST 2016), re-created, with the figures that its tables give.
//!
//! The paper prints two operations of its employee system, `addBonus` and `updateSalary`, with the table they work on,
//! and counts queries: an operation is a thread, addBonus has two queries and updateSalary one. Which operations make
//! up 2 to 6 queries, and what PetClinic was asked, it does not say; ours is in `benches/epor`.

use std::fmt::Write as _;

use isolde_scenario::file::{Include, Included};
use isolde_scenario::{Scenario, ScenarioError};

/// A program, and what was published about it.
#[derive(Clone, Debug)]
pub struct Program {
    /// `employees, 4 dependent`.
    pub name: String,
    /// The scenario.
    pub text: String,
    /// States and milliseconds of EPOR, DPF and the basic approach, where the paper has them.
    pub published: [Option<(u64, u64)>; 3],
}

impl Program {
    /// Set up, ready to run.
    pub fn scenario(&self) -> Result<Scenario, ScenarioError> {
        Scenario::parse("epor.sql", &self.text, &mut include)
    }
}

/// The employee system at 2 to 6 queries, with the paper's input: first dependent, then independent. The figures of
/// Table VI are for a mix of both that is not described; Table V has EPOR's states for either.
pub fn employees() -> Vec<Program> {
    let basic = [(12, 1000), (40, 2000), (122, 25000), (366, 60000), (1096, 130000)];
    let dpf = [(6, 1000), (16, 1000), (38, 15000), (78, 28000), (158, 45000)];
    let epor = [
        [(4, 1000), (23, 3000), (66, 85000), (86, 168000), (93, 189000)],
        [(4, 1000), (18, 2000), (42, 23000), (52, 50000), (69, 70000)],
    ];
    let kinds = ["dependent", "independent"].iter().zip(epor);
    let programs = kinds.flat_map(|(kind, epor)| {
        (2..=6).map(move |queries: usize| Program {
            name: format!("employees, {queries} {kind}"),
            text: employee_text(queries, *kind == "dependent"),
            published: [Some(epor[queries - 2]), Some(dpf[queries - 2]), Some(basic[queries - 2])],
        })
    });
    programs.collect()
}

/// 2: two raises; 3: a bonus and a raise; 4: a bonus and two raises; 5: two bonuses and a raise; 6: two of each.
fn employee_text(queries: usize, dependent: bool) -> String {
    let bonuses = (queries - 1) / 2;
    let raises = queries - 2 * bonuses;
    let mut text = String::from("\\ir employees.sql\n");
    for n in 1..=bonuses {
        let call = match dependent {
            true => format!("CALL add_bonus(12000, {})", 500 * n),
            false => format!("CALL add_bonus_at('{}', 20000, {})", PLACES[n - 1], 500 * n),
        };
        let _ = writeln!(text, "\n--@ thread bonus{n} autocommit\n{call};");
    }
    for n in 1..=raises {
        let place = if dependent { "Texas" } else { PLACES[bonuses + n - 1] };
        let _ = writeln!(text, "\n--@ thread raise{n} autocommit\nCALL update_salary({}, '{place}');", 2000 * n);
    }
    text
}

const PLACES: [&str; 4] = ["California", "Texas", "Norway", "Punjab"];

/// PetClinic as Table IV has it: so many queries, so many of them dependent, each a thread of its own.
pub fn petclinic() -> Vec<Program> {
    /// States and milliseconds.
    type Published = (u64, u64);
    /// Dependent, independent, then EPOR's and DPF's figures.
    const ROWS: [(usize, usize, Published, Published); 11] = [
        (0, 2, (10, 1200), (10, 1000)),
        (2, 0, (12, 1200), (12, 1000)),
        (2, 1, (12, 1400), (14, 1000)),
        (0, 3, (10, 1600), (14, 1000)),
        (0, 4, (22, 4000), (24, 4000)),
        (2, 2, (26, 6000), (29, 5000)),
        (3, 1, (33, 8000), (32, 7000)),
        (2, 3, (50, 19000), (68, 18000)),
        (5, 0, (53, 20000), (70, 19000)),
        (2, 5, (100, 72000), (182, 48000)),
        (5, 2, (111, 74000), (196, 52000)),
    ];
    let program = |(dependent, independent, epor, dpf): (usize, usize, _, _)| {
        let mut text = String::from("\\ir petclinic.sql\n");
        let queries = DEPENDENT[..dependent].iter().chain(&INDEPENDENT[..independent]);
        for (n, query) in queries.enumerate() {
            let _ = writeln!(text, "\n--@ thread t{}\n{query};", n + 1);
        }
        let name = format!("PetClinic, {} queries, {dependent} dependent", dependent + independent);
        Program { name, text, published: [Some(epor), Some(dpf), None] }
    };
    ROWS.into_iter().map(program).collect()
}

/// All about one pet.
const DEPENDENT: [&str; 5] = [
    "UPDATE pets SET name = 'Sammy' WHERE id = 7",
    "SELECT name FROM pets WHERE id = 7",
    "DELETE FROM pets WHERE id = 7",
    "SELECT name FROM pets WHERE owner_id = 6",
    "UPDATE pets SET name = 'Sam', birth_date = '1995-10-04' WHERE id = 7",
];

/// Each about something of its own.
const INDEPENDENT: [&str; 5] = [
    "UPDATE owners SET telephone = '6085550000' WHERE id = 1",
    "INSERT INTO visits VALUES (5, 12, '2016-04-10', 'rabies shot')",
    "SELECT * FROM owners WHERE id = 3",
    "UPDATE pets SET name = 'Slyboots' WHERE id = 13",
    "SELECT * FROM visits WHERE pet_id = 8",
];

fn include(include: Include<'_>) -> Result<Included, String> {
    let text = match include.path {
        "employees.sql" => include_str!("../../epor/employees.sql"),
        "petclinic.sql" => include_str!("../../dpf/petclinic.sql"),
        other => return Err(format!("{other} is no file of these benchmarks")),
    };
    Ok(Included { name: include.path.into(), text: text.into() })
}
