//! Data models to decide: the five applications of a paper, and one that is generated.

use std::path::Path;

use isolde_datamodel::read::{self, File};
use isolde_datamodel::{DataModel, Framework};

/// An application of Nijjar and Bultan (ASE 2012), with its ten properties.
pub(crate) struct Application {
    /// What it is called.
    pub(crate) name: String,
    /// Which properties hold, as the paper says.
    pub(crate) paper: Vec<bool>,
    /// Which hold under Rails as it is.
    pub(crate) rails: Vec<bool>,
    /// Its models.
    pub(crate) model: DataModel,
    /// Its properties.
    pub(crate) properties: String,
}

/// The five applications.
pub(crate) fn applications() -> Vec<Application> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apps");
    let read = |path: &Path| std::fs::read_to_string(path).expect("the applications are in the repository");
    let verdicts = read(&folder.join("verdicts.txt"));
    let truths = |letters: &str| letters.chars().map(|letter| letter == 'y').collect();
    let mut found = Vec::new();
    for line in verdicts.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let (Some(name), Some(paper), Some(rails)) = (words.next(), words.next(), words.next()) else { continue };
        let app = folder.join(name);
        let models = std::fs::read_dir(app.join("app/models")).expect("an application has models");
        let mut paths: Vec<_> = models.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.push(app.join("config/application.rb"));
        let file = |path: &std::path::PathBuf| {
            let name = path.strip_prefix(&app).unwrap_or(path).to_string_lossy().into_owned();
            File::new(name, read(path))
        };
        found.push(Application {
            name: name.into(),
            paper: truths(paper),
            rails: truths(rails),
            model: read::read(Framework::Rails, &paths.iter().map(file).collect::<Vec<_>>()),
            properties: read(&app.join("paper.props")),
        });
    }
    found
}

/// Numbers that look random, and are the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % sides
    }

    fn percent(&mut self, chance: usize) -> bool {
        self.roll(100) < chance
    }
}

/// Classes of an area.
const AREA: usize = 10;

/// A Rails application as large applications are: classes in areas of ten, each belonging to one that came before in
/// its area, so that chains of deletes are a few classes long; further relations lead to the first class of another
/// area, or from a class to itself. Of what has many, half destroys, some delete rows, cut off or refuse, and a quarter
/// says nothing; across areas, hardly anything destroys. Some have conditions, one class is polymorphic, a third of the
/// columns has a foreign key.
pub(crate) fn large(classes: usize, associations: usize) -> Vec<File> {
    let mut dice = Dice(2012);
    let mut bodies: Vec<String> = vec![String::new(); classes];
    let mut tables: Vec<String> = vec![String::new(); classes];
    let mut keys = String::new();
    let mut count = 1;
    let mut relate = |dice: &mut Dice, child: usize, parent: usize, name: &str| {
        let optional = dice.percent(30);
        let belongs = if optional { ", optional: true" } else { "" };
        bodies[child] += &format!("  belongs_to :{name}, class_name: \"Thing{parent}\"{belongs}\n");
        let far = child / AREA != parent / AREA;
        let dependent = match dice.roll(100) {
            10..50 if far && optional => ", dependent: :nullify",
            10..50 if far => "",
            0..50 => ", dependent: :destroy",
            50..60 => ", dependent: :delete_all",
            60..70 if optional => ", dependent: :nullify",
            70..75 => ", dependent: :restrict_with_error",
            _ => "",
        };
        let condition = if dice.percent(3) { ", -> { where(active: true) }" } else { "" };
        bodies[parent] += &format!(
            "  has_many :{name}_things{child}{condition}, class_name: \"Thing{child}\", foreign_key: :{name}_id{dependent}\n"
        );
        let null = if optional || dice.percent(20) { "" } else { ", null: false" };
        tables[child] += &format!("    t.bigint \"{name}_id\"{null}\n");
        if dice.percent(33) {
            let on_delete = match dice.roll(4) {
                0 => ", on_delete: :cascade",
                1 if optional => ", on_delete: :nullify",
                _ => "",
            };
            keys +=
                &format!("  add_foreign_key \"thing{child}s\", \"thing{parent}s\", column: \"{name}_id\"{on_delete}\n");
        }
    };
    for child in 1..classes {
        let first = child / AREA * AREA;
        let near = if child == first { 0 } else { first + dice.roll(child - first) };
        relate(&mut dice, child, near, "owner");
        count += 2;
    }
    let mut extra = 0;
    while count + 2 <= associations {
        let child = 1 + dice.roll(classes - 1);
        let parent = if dice.percent(10) { child } else { dice.roll(child) / AREA * AREA };
        relate(&mut dice, child, parent, &format!("other{extra}"));
        extra += 1;
        count += 2;
    }
    let mut files = vec![File::new(
        "app/models/note.rb",
        "class Note < ApplicationRecord\n  belongs_to :subject, polymorphic: true\nend\n",
    )];
    let mut schema = String::from(
        "ActiveRecord::Schema[7.1].define(version: 1) do\n  create_table \"notes\" do |t|\n    t.bigint \"subject_id\"\n    t.string \"subject_type\"\n  end\n",
    );
    for (index, (body, table)) in bodies.iter().zip(&tables).enumerate() {
        let notes = if index == 0 { "  has_many :notes, as: :subject, dependent: :destroy\n" } else { "" };
        let text = format!("class Thing{index} < ApplicationRecord\n{body}{notes}end\n");
        files.push(File::new(format!("app/models/thing{index}.rb"), text));
        schema += &format!("  create_table \"thing{index}s\" do |t|\n{table}  end\n");
    }
    files.push(File::new("db/schema.rb", schema + &keys + "end\n"));
    let config = "module Large\n  class Application < Rails::Application\n    config.load_defaults 7.1\n  end\nend\n";
    files.push(File::new("config/application.rb", config));
    files
}
