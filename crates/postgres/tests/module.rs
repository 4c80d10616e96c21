//! The module that tells what is read, built here for the server of the tests, where there are its headers and a
//! compiler.
//!
//! Three claims. The rows that it tells are those that the embedded engine finds. Nothing comes to something else with
//! it: the ends of all runs are found, and verdicts are the same. And more orders are known to be the same, never
//! fewer.

#![allow(clippy::unwrap_used)]

mod both;
#[path = "../../scenario/tests/common/mod.rs"]
mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use both::{check, ends_on_server, gist, read, stage_reading};
use isolde_engine::{Database, RowId};
use isolde_postgres::app::{AppFile, AppStage};
use isolde_postgres::effects;
use isolde_postgres::live::{self, By, Question, Stage};
use isolde_postgres::reads::Module;
use isolde_report::{Report, Verdict};
use isolde_scenario::file::FileOptions;
use isolde_sql::parse;
use isolde_testkit::{Cluster, skipped};

/// The module, built once; `None` where that is not possible, which is said.
fn module() -> Option<&'static Module> {
    static BUILT: OnceLock<Option<Module>> = OnceLock::new();
    let build = || match build() {
        Ok(library) => Some(Module::At(library.display().to_string())),
        Err(why) => {
            skipped::note("the server module isolde_reads", &why);
            None
        }
    };
    BUILT.get_or_init(build).as_ref()
}

/// Not those of the compiler that the server was made with.
const CFLAGS: &str = "CFLAGS=-O2 -Wall -Wextra -Wno-unused-parameter -Werror -fno-strict-aliasing -fwrapv";

fn build() -> Result<PathBuf, String> {
    let mut session = Cluster::shared().connect("postgres", "").unwrap();
    let answer = session.execute("SELECT name, setting FROM pg_config").unwrap();
    let config: BTreeMap<String, String> =
        answer[0].rows().iter().map(|row| (row[0].clone().unwrap(), row[1].clone().unwrap_or_default())).collect();
    let program = Path::new(&config["BINDIR"]).join("pg_config");
    // `./test` may have put them elsewhere.
    let headers = std::env::var("ISOLDE_PG_HEADERS").unwrap_or_else(|_| config["INCLUDEDIR-SERVER"].clone());
    for needed in [&program, &Path::new(&headers).join("postgres.h"), Path::new(&config["PGXS"])] {
        if !needed.exists() {
            return Err(format!("there is no {} (on Debian: postgresql-server-dev-*)", needed.display()));
        }
    }
    // Where the user that runs the server can read it, and gone with it.
    let directory = Cluster::shared().socket_directory().join("module");
    fs::create_dir(&directory).map_err(|error| error.to_string())?;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("module");
    for name in ["isolde_reads.c", "Makefile"] {
        fs::copy(sources.join(name), directory.join(name)).map_err(|error| error.to_string())?;
    }
    let made = Command::new("make")
        .current_dir(&directory)
        .args(["with_llvm=no", CFLAGS, &format!("PG_CONFIG={}", program.display())])
        .arg(format!("includedir_server={headers}"))
        .output()
        .map_err(|error| format!("make: {error}"))?;
    match made.status.success() {
        true => Ok(directory.join("isolde_reads.so")),
        false if Command::new("cc").arg("--version").output().is_err() => Err("there is no C compiler".into()),
        false => panic!("make fails:\n{}", String::from_utf8_lossy(&made.stderr)),
    }
}

const SHOP: &str = "CREATE TABLE item (id int PRIMARY KEY, price int, name text);
CREATE TABLE line (sale int, n int, item int REFERENCES item ON DELETE CASCADE, amount int, PRIMARY KEY (n, sale));
INSERT INTO item SELECT g, g * 10, CASE WHEN g % 2 = 0 THEN 'even' ELSE 'odd' END FROM generate_series(1, 6) g;
INSERT INTO line SELECT g / 3, g, 1 + g % 4, g FROM generate_series(1, 9) g;
";

/// Statements whose conditions are about one table each: the same rows must be found by both.
const SAME: &[&str] = &[
    "SELECT * FROM item WHERE id = 3",
    "SELECT * FROM item WHERE id = 99",
    "SELECT sum(price) FROM item",
    "SELECT count(*) FROM item WHERE price BETWEEN 20 AND 40",
    "SELECT id FROM item WHERE name = 'even' ORDER BY price DESC",
    "SELECT id FROM item WHERE name LIKE 'o%' AND price <> 10 OR id = 2",
    "SELECT * FROM line WHERE n = 4 AND sale = 1",
    "SELECT sale, sum(amount) FROM line WHERE amount > 3 GROUP BY sale HAVING sum(amount) > 5",
    "SELECT * FROM item WHERE price > 30 FOR UPDATE",
    "SELECT * FROM item WHERE name = 'odd' FOR SHARE",
    "UPDATE item SET price = price + 1 WHERE name = 'odd'",
    "UPDATE item SET name = 'none' WHERE price > 1000",
    "UPDATE line SET amount = 0 WHERE item = 2",
    "DELETE FROM line WHERE amount > 7",
    "DELETE FROM line WHERE item IN (1, 3) AND n < 5",
    "INSERT INTO item SELECT id + 100, price, name FROM item WHERE name = 'even'",
    "SELECT (SELECT max(price) FROM item WHERE name = 'even') + 1",
    "WITH gone AS (DELETE FROM line WHERE n = 2 RETURNING amount) SELECT sum(amount) FROM gone",
    "SELECT name FROM item WHERE id < 3 UNION ALL SELECT name FROM item WHERE id > 5",
];

/// Statements of which the engine says more than it found.
const FEWER: &[&str] = &[
    "SELECT count(*) FROM line WHERE amount > (SELECT min(price) FROM item WHERE id > 4) - 45",
    "SELECT count(*) FROM item LEFT JOIN line ON line.item = item.id WHERE price < 35",
];

/// Rows that statements found, by table and statement, known by their keys.
type FoundRows = BTreeMap<String, BTreeSet<u64>>;

#[test]
fn the_rows_told_are_those_that_the_engine_finds() {
    let Some(module) = module() else { return };
    for statement in SAME {
        let text = format!("{SHOP}--@ thread t\n{statement};\n");
        assert_eq!(told(&text, module), found_by_engine(statement), "{statement}");
    }
    for statement in FEWER {
        let (told, found) = (told(&format!("{SHOP}--@ thread t\n{statement};\n"), module), found_by_engine(statement));
        assert!(told.iter().all(|(table, rows)| rows.is_subset(&found[table])), "{statement}: {told:?} {found:?}");
    }
}

/// Runs the one statement of a scenario on a server.
fn told(text: &str, module: &Module) -> FoundRows {
    let file = read(text);
    let mut stage = stage_reading(&file, module);
    stage.restart().unwrap();
    let parts = stage.step(0).unwrap();
    let mut rows = FoundRows::new();
    for look in parts.iter().flat_map(|part| part.touched.reads.iter().chain(&part.touched.locks)) {
        let found = look.found.iter().flat_map(|found| &found.rows).map(|RowId(row)| *row);
        let name = stage.catalog().table(look.table).name.to_string();
        assert!(look.found.is_some() || look.by != By::Scan, "nothing is told of {name}:\n{text}");
        if look.by == By::Scan {
            rows.entry(name).or_default().extend(found);
        }
    }
    rows
}

/// Runs a statement on the engine.
fn found_by_engine(statement: &str) -> FoundRows {
    let mut database = Database::new();
    let session = database.open_session();
    let mut rows = FoundRows::new();
    let text = format!("{SHOP}{statement};");
    let script = parse::script(&text).unwrap();
    for (at, parsed) in script.iter().enumerate() {
        let before = database.clone();
        let prepared = database.prepare(parsed, &text, &[]).unwrap();
        if database.submit(session, &prepared, &[]).is_some() {
            continue;
        }
        loop {
            let step = database.step(session);
            for read in step.footprint.reads.iter().filter(|_| at + 1 == script.len()) {
                let table = before.catalog().table(read.table);
                let columns = &table.primary_key().unwrap().columns;
                let data = before.committed().table(read.table);
                let entry = rows.entry(table.name.to_string()).or_default();
                for (_, tuple) in data.iter().filter(|(row, _)| read.matched.iter().any(|(matched, _)| matched == row))
                {
                    let RowId(number) = effects::number(read.table, columns.iter().map(|&c| &tuple.values[c]));
                    entry.insert(number);
                }
            }
            if step.reply.is_some() {
                break;
            }
        }
    }
    rows
}

/// Runs of one program that are worth the time.
const RUNS_MAX: u64 = 150;

#[test]
fn the_reduction_loses_nothing() {
    let Some(module) = module() else { return };
    let mut compared = 0;
    for seed in common::seeds("ISOLDE_SERVER_SEEDS", 12) {
        let text = common::generate(seed).to_string();
        compared += usize::from(loses_nothing(&text, module));
    }
    assert!(compared > 0, "all programs have too many runs");
}

/// Compares the ends of all runs with those of the reduction; false if there are too many runs.
fn loses_nothing(text: &str, module: &Module) -> bool {
    let scenario = common::scenario(text);
    let tables: Vec<&str> = scenario.database().catalog().tables().map(|table| &*table.name).collect();
    let file = read(text);
    let mut stage = stage_reading(&file, module);
    let Some(all) = ends_on_server(&mut stage, &tables, false, RUNS_MAX).unwrap() else { return false };
    let reduced = ends_on_server(&mut stage, &tables, true, RUNS_MAX).unwrap().unwrap();
    assert_eq!(all, reduced, "{text}");
    true
}

/// Programs in which rows are met by other columns than their keys, change what others look for, come and go.
const MEETINGS: &[&str] = &[
    "CREATE TABLE t (id int PRIMARY KEY, a int, b int); INSERT INTO t VALUES (1, 5, 0), (2, 6, 0);
--@ thread one
UPDATE t SET b = b + 1 WHERE a = 5; UPDATE t SET a = 5 WHERE id = 2;
--@ thread two
UPDATE t SET b = b * 2 WHERE a = 6; UPDATE t SET a = 6 WHERE id = 1;
",
    "CREATE TABLE t (id int PRIMARY KEY, a int, b int); INSERT INTO t VALUES (1, 5, 0), (2, 6, 0);
--@ thread one
BEGIN; UPDATE t SET a = 6 WHERE a = 5; COMMIT;
--@ thread two
BEGIN; UPDATE t SET b = 7 WHERE a = 6; COMMIT;
--@ thread three
UPDATE t SET a = 5 WHERE b = 7;
",
    "CREATE TABLE t (id int PRIMARY KEY, a int, b int); INSERT INTO t VALUES (1, 5, 0), (2, 6, 0);
--@ thread one isolation repeatable read
BEGIN; SELECT sum(b) FROM t WHERE a = 5; SELECT sum(b) FROM t WHERE a = 6; UPDATE t SET b = b + 1 WHERE a = 6; COMMIT;
--@ thread two
UPDATE t SET b = 3 WHERE id = 2;
--@ thread three
UPDATE t SET a = 6 WHERE id = 1;
",
    "CREATE TABLE t (id int PRIMARY KEY, a int, b int); INSERT INTO t VALUES (1, 5, 0), (2, 6, 0);
CREATE INDEX ON t (b);
--@ thread one
UPDATE t SET a = 9 WHERE id = (SELECT id FROM t ORDER BY b, id LIMIT 1);
--@ thread two
UPDATE t SET b = 4 WHERE id = 1; DELETE FROM t WHERE a = 9;
",
    "CREATE TABLE t (id int PRIMARY KEY, a int); CREATE TABLE u (id int PRIMARY KEY, t int, c int);
INSERT INTO t VALUES (1, 5), (2, 6); INSERT INTO u VALUES (1, 1, 0), (2, 2, 0);
--@ thread one
UPDATE u SET c = c + 1 FROM t WHERE t.id = u.t AND t.a = 5;
--@ thread two
UPDATE t SET a = 5 WHERE id = 2; UPDATE u SET t = 1 WHERE c = 0;
--@ thread three
UPDATE u SET c = 8 WHERE id = 2;
",
    "CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t VALUES (1, 5), (2, 6);
--@ thread one
UPDATE t SET id = 3 WHERE id = 1; UPDATE t SET a = 1 WHERE id = 3;
--@ thread two
UPDATE t SET a = a * 2 WHERE a = 5;
--@ thread three
INSERT INTO t SELECT max(id) + 1, 0 FROM t WHERE a > 5;
",
];

#[test]
fn rows_that_are_met_by_other_columns_are_met() {
    let Some(module) = module() else { return };
    for text in MEETINGS {
        for module in [module, &Module::Unused] {
            assert!(loses_nothing(text, module), "too many runs:\n{text}");
        }
    }
}

#[test]
fn examples_come_to_the_same_with_it_and_without() {
    let Some(module) = module() else { return };
    let mut fewer = 0;
    for path in examples() {
        let text = fs::read_to_string(&path).unwrap();
        let (with, without) = (on_server(&text, module), on_server(&text, &Module::Unused));
        assert_eq!(gist(&with), gist(&without), "{}", path.display());
        if with.verdict == Verdict::Holds {
            assert!(with.stats.ends <= without.stats.ends, "{}: {} runs", path.display(), with.stats.ends);
            fewer += usize::from(with.stats.ends < without.stats.ends);
        }
    }
    eprintln!("{fewer} examples with fewer runs");
}

fn examples() -> Vec<PathBuf> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let directories = fs::read_dir(directory).unwrap().filter_map(|entry| fs::read_dir(entry.unwrap().path()).ok());
    let mut files: Vec<PathBuf> = directories.flatten().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "sql"));
    files.retain(|path| {
        let text = fs::read_to_string(path).unwrap();
        text.contains("--@ thread") && !text.contains("\\i schema.inc")
    });
    files.sort();
    files
}

fn on_server(text: &str, module: &Module) -> Report {
    let file = read(text);
    check(&file, &mut stage_reading(&file, module)).unwrap_or_else(|trouble| panic!("{trouble}\n{text}"))
}

/// Two threads, and how many runs are needed for them with the module and without.
fn runs(setup: &str, one: &str, two: &str) -> (u64, u64) {
    let module = module().unwrap();
    let text = format!("{setup}\n--@ thread one\n{one};\n--@ thread two\n{two};\n");
    let (with, without) = (on_server(&text, module), on_server(&text, &Module::Unused));
    assert_eq!(gist(&with), gist(&without), "{text}");
    (with.stats.ends, without.stats.ends)
}

#[test]
fn rows_known_apart_need_no_orders() {
    if module().is_none() {
        return;
    }
    let item = "UPDATE item SET price = price + 1 WHERE name";
    assert_eq!(runs(SHOP, &format!("{item} = 'even'"), &format!("{item} = 'odd'")), (1, 2));
    let join = "SELECT amount FROM line LEFT JOIN item ON item.id = line.item WHERE line.sale = 0 FOR UPDATE OF line";
    assert_eq!(runs(SHOP, join, "UPDATE line SET amount = 0 WHERE n = 9"), (1, 2));
    // It may be the row that both want.
    assert_eq!(runs(SHOP, &format!("{item} = 'even'"), &format!("{item} LIKE '%n'")), (2, 2));
    // It becomes one.
    assert_eq!(runs(SHOP, &format!("{item} = 'even'"), "UPDATE item SET name = 'even' WHERE id = 1"), (2, 2));
    assert_eq!(runs(SHOP, &format!("{item} = 'even'"), "INSERT INTO item VALUES (7, 1, 'even')"), (2, 2));
}

#[test]
fn a_text_that_is_not_understood_reads_its_tables() {
    if module().is_none() {
        return;
    }
    let strange = "SELECT id, ts_rank(to_tsvector('simple', name), 'even') FROM item WHERE id < 3";
    assert_eq!(runs(SHOP, strange, "UPDATE line SET amount = 0 WHERE n = 9"), (1, 2));
    assert_eq!(runs(SHOP, strange, "UPDATE item SET name = '' WHERE id = 5"), (1, 2));
    assert_eq!(runs(SHOP, strange, "UPDATE item SET name = '' WHERE id = 2"), (2, 2));
    assert_eq!(runs(SHOP, strange, "INSERT INTO item VALUES (0, 1, 'even')"), (2, 2));
    let strange = "UPDATE item SET name = ts_headline('simple', name, 'even') WHERE id = 2";
    assert_eq!(runs(SHOP, strange, "UPDATE item SET price = 0 WHERE id = 1"), (1, 2));
    assert_eq!(runs(SHOP, strange, "UPDATE item SET price = 0 WHERE id = 2"), (2, 2));
    // It draws from a sequence, and that is not told.
    let setup = format!("{SHOP}CREATE SEQUENCE s;");
    let strange = "SELECT nextval('s'), ts_rank(to_tsvector('simple', 'a'), 'even')";
    assert_eq!(runs(&setup, strange, "UPDATE item SET price = 0 WHERE id = 1"), (2, 2));
}

/// Two commands of psql, one after the other each.
const APP: &str = r#"
time_limit = 60
[database]
url = ""
setup_sql = "CREATE TABLE item (id int PRIMARY KEY, price int, name text); INSERT INTO item VALUES (1, 1, 'pen'), (2, 2, 'cup')"
[[thread]]
name = "one"
command = "psql -qX -c \"UPDATE item SET price = price + 1 WHERE name = 'pen'\""
[[thread]]
name = "two"
command = "psql -qX -c \"UPDATE item SET price = price + 1 WHERE name = 'cup'\""
"#;

#[test]
fn sessions_of_applications_tell_it_too() {
    let Some(module) = module() else { return };
    if skipped::without("psql", "applications with the server module") {
        return;
    }
    let runs = |module: &Module| {
        let file = AppFile::parse("app.toml", APP).unwrap_or_else(|error| panic!("{error}"));
        let server = Cluster::shared().settings("postgres");
        let mut stage = AppStage::reading(file, PathBuf::from("."), &server, module).unwrap();
        let question = Question {
            command: String::new(),
            file: "app.toml".into(),
            settings: FileOptions::default(),
            invariants: Vec::new(),
            finals: Vec::new(),
            replay: &|schedule| schedule.to_string(),
            clock: None,
        };
        let report = live::check(&mut stage, &question, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(report.verdict, Verdict::Holds);
        (report.stats.ends, stage.describe().contains("isolde_reads"))
    };
    assert_eq!((runs(module), runs(&Module::Unused)), ((1, true), (2, false)));
}
