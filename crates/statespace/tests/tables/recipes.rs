//! The recipes of the documentation give the answers that it shows. `UPDATE_EXPECT=1` writes what they give.

use std::path::Path;

use isolde_statespace::explore::Options;
use isolde_statespace::keep::{Engine, Keeper};
use isolde_statespace::store::Store;
use isolde_statespace::tla::Spec;
use isolde_statespace::tla::spec::Files;

use crate::rows;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/state-space-recipes.md");

/// As `isolde space Lock.tla --keep` does.
fn explore_lock(store: &mut Store) {
    let (text, config) = (include_str!("../specs/Lock.tla"), include_str!("../specs/Lock.cfg"));
    let files = Files { name: "Lock.tla", text, config: Some(("Lock.cfg", config)) };
    let spec = Spec::load(&files, &mut |_| None).unwrap();
    let options = Options { deadlock: true, graph: true, stop: true, states_max: usize::MAX };
    Keeper::new(store, &spec, Some(config), Engine::Rust).explored(&spec, &options, &mut ()).unwrap();
}

#[test]
fn recipes_give_the_answers_that_are_shown() {
    let mut store = Store::memory().unwrap();
    explore_lock(&mut store);
    store.ask(&isolde_statespace::ctl::Formula::parse(r#"AG EF (pc_p1 = "crit")"#).unwrap()).unwrap();
    let page = std::fs::read_to_string(Path::new(PAGE)).unwrap();
    let mut out = String::new();
    let mut rest = page.as_str();
    let mut recipes = 0;
    while let Some((before, after)) = rest.split_once("```sql\n") {
        let (query, after) = after.split_once("```\n").unwrap();
        let (_, after) = after.strip_prefix("```text\n").expect("an answer follows").split_once("```\n").unwrap();
        let answer: String =
            rows(&mut store, query.trim_end().trim_end_matches(';')).iter().map(|row| format!("{row}\n")).collect();
        out.push_str(&format!("{before}```sql\n{query}```\n```text\n{answer}```\n"));
        rest = after;
        recipes += 1;
    }
    out.push_str(rest);
    assert!(recipes >= 10);
    if out != page && std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(Path::new(PAGE), &out).unwrap();
    } else {
        assert_eq!(out, page);
    }
}
