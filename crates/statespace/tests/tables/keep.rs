//! What is kept, and when it is used again.

use expect_test::expect;
use isolde_statespace::ctl::{Checker, Formula};
use isolde_statespace::graph::BitSet;
use isolde_statespace::packed::{Key, Layout, Shape, SlotKind, VariableLayout};
use isolde_statespace::sql::compose;
use isolde_statespace::store::{Store, StoreError, Subject};

use crate::programs::{hour_clock, mutex, scalar, slot, space};
use crate::{postgres, rows, run};

#[test]
fn what_is_written_is_read() {
    let found = space(&mutex(4));
    for mut store in [Store::memory().unwrap(), postgres()] {
        store.write(&found, &run("s1")).unwrap();
        let held = store.holds("s1", &found.layout).unwrap().unwrap();
        assert_eq!(
            (held.states, held.transitions, held.depth),
            (found.states(), Some(found.graph.transitions()), Some(found.depth()))
        );
        assert!(store.holds("s2", &found.layout).unwrap().is_none(), "another specification");
        assert!(store.holds("s1", &Layout::default()).unwrap().is_none(), "another layout");
        let subject = Subject { layout: &found.layout, actions: &found.actions, ways: &found.ways };
        let back = store.read(&subject).unwrap();
        assert_eq!(back.states(), found.states());
        assert_eq!(back.graph.transitions(), found.graph.transitions());
        for (state, key) in found.keys.iter().enumerate() {
            let there = back.keys.iter().position(|other| other == key).unwrap();
            let ends = |space: &isolde_statespace::space::Space, state: usize| {
                let mut ends: Vec<(String, Key)> = space
                    .graph
                    .edges(state as u32)
                    .map(|edge| (space.step_name(edge), space.keys[space.graph.target(edge) as usize]))
                    .collect();
                ends.sort();
                ends
            };
            assert_eq!(ends(&back, there), ends(&found, state));
        }
    }
}

#[test]
fn labels_are_used_again_until_the_specification_changes() {
    let found = space(&hour_clock());
    let formula = Formula::parse(r"AG EF (hr = 12 /\ mn = 0)").unwrap();
    let mut store = Store::memory().unwrap();
    store.write(&found, &run("s1")).unwrap();
    let mut asked = 0;
    let mut ask = |store: &mut Store| {
        let atom = |text: &str| -> Result<BitSet, StoreError> {
            assert_eq!(text, r"hr = 12 /\ mn = 0");
            asked += 1;
            let layout = &found.layout;
            Ok(BitSet::of(found.states(), |state| {
                let key = found.keys[state as usize];
                layout.slots[0].get(key) == 12 && layout.slots[1].get(key) == 0
            }))
        };
        let labels = store.labels(found.stored_keys(), atom);
        Checker::new(&found.graph, labels).states(&formula).unwrap().count()
    };
    assert_eq!(ask(&mut store), 720);
    assert_eq!(ask(&mut store), 720);
    expect![[r"
        EF (hr = 12 /\ mn = 0)|720
        EF ~EF (hr = 12 /\ mn = 0)|0
        hr = 12 /\ mn = 0|1"]]
    .assert_eq(&rows(&mut store, "SELECT formula, states FROM label ORDER BY formula").join("\n"));
    store.write(&found, &run("s2")).unwrap();
    assert!(rows(&mut store, "SELECT formula FROM label").is_empty());
    assert_eq!(ask(&mut store), 720);
    assert_eq!(asked, 2);
}

#[test]
fn a_store_is_a_file_that_others_can_open() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("states.sqlite");
    Store::sqlite(&path).unwrap().write(&space(&hour_clock()), &run("s1")).unwrap();
    let mut again = Store::sqlite(&path).unwrap();
    assert_eq!(rows(&mut again, "SELECT count(*), max(lvl) FROM state"), ["720|59"]);
    assert_eq!(rows(&mut again, "SELECT hr, mn FROM state_text WHERE k = 43"), ["12|2"]);
}

#[test]
fn what_is_not_ours_is_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("other.sqlite");
    let mut store = Store::sqlite(&path).unwrap();
    store.database().execute("CREATE TABLE customer (id INTEGER)").unwrap();
    let error = store.write(&space(&hour_clock()), &run("s1")).unwrap_err();
    assert_eq!(error.message, "there are tables of somebody else in this database");
    assert_eq!(rows(&mut store, "SELECT count(*) FROM customer"), ["0"]);

    let text = directory.path().join("letter.txt");
    std::fs::write(&text, "Dear Sir or Madam, ".repeat(100)).unwrap();
    let error = Store::sqlite(&text).unwrap_err();
    assert_eq!(error.message, format!("{} is there already and is no SQLite database", text.display()));
}

#[test]
fn a_write_that_fails_leaves_what_was_there() {
    let mut store = Store::memory().unwrap();
    store.write(&space(&mutex(2)), &run("s1")).unwrap();
    let mut broken = space(&hour_clock());
    broken.keys[1] = broken.keys[0];
    store.write(&broken, &run("s2")).unwrap_err();
    assert_eq!(store.held().unwrap().unwrap().run.spec, "s1");
    assert_eq!(rows(&mut store, "SELECT count(*) FROM state"), ["8"]);
    let failing = |_: &str| Err(StoreError::new("no"));
    let found = space(&mutex(2));
    let labels = store.labels(found.stored_keys(), failing);
    Checker::new(&found.graph, labels).states(&Formula::parse("EF p").unwrap()).unwrap_err();
    assert!(rows(&mut store, "SELECT * FROM label").is_empty());
}

#[test]
fn values_are_shown_as_tla_writes_them() {
    let one = || Box::new(Shape::One);
    let dict = vec!["{{1}, {2}}".to_string(), "it's".into()];
    let layout = Layout {
        variables: vec![
            VariableLayout { name: "q".into(), slots: 0..3, shape: Shape::Sequence(one(), 2) },
            VariableLayout {
                name: "r".into(),
                slots: 3..5,
                shape: Shape::Record(vec![("a".into(), Shape::One), ("b".into(), Shape::One)]),
            },
            scalar("k", 5),
            scalar("big", 6),
            scalar("odd", 7),
        ],
        slots: vec![
            slot("Len(q)", 0, 2, 0, SlotKind::Int),
            slot("q[1]", 2, 1, 0, SlotKind::Enum(vec!["\"x\"".into(), "m1".into()])),
            slot("q[2]", 3, 1, 0, SlotKind::Enum(vec!["\"x\"".into(), "m1".into()])),
            slot("r.a", 4, 3, -4, SlotKind::Int),
            slot("r.b", 7, 1, 0, SlotKind::Bool),
            slot("k", 8, 2, 0, SlotKind::Mask(vec!["1".into(), "2".into()])),
            slot("big", 10, 60, 0, SlotKind::Int),
            slot("odd", 70, 1, 0, SlotKind::Dict(0)),
        ],
        bits: 71,
        dicts: vec![dict],
    };
    let mut found = space(&hour_clock());
    found.layout = layout;
    found.keys.truncate(2);
    found.keys[0] = Key(1 | 1 << 2 | 1 << 4 | 3 << 8 | (1 << 59 | 5) << 10 | 1 << 70);
    found.keys[1] = Key(2 | 1 << 3 | 1 << 7);
    found.levels.truncate(2);
    found.graph = isolde_statespace::graph::Graph::new(2, vec![(0, 0, 1)]).unwrap();
    for mut store in [Store::memory().unwrap(), postgres()] {
        store.write(&found, &run("s1")).unwrap();
        assert_eq!(
            rows(&mut store, "SELECT * FROM state_text ORDER BY k"),
            [
                "0|0|<<m1>>|[a |-> -3, b |-> FALSE]|{1, 2}|576460752303423493|it's",
                "1|0|<<\"x\", m1>>|[a |-> -4, b |-> TRUE]|{}|0|{{1}, {2}}",
            ]
        );
        let names = store.database().columns("state_v").unwrap().join(" ");
        assert_eq!(names, "k lvl Len_q q_1 q_2 r_a r_b k_2 big odd");
        let subject = Subject { layout: &found.layout, actions: &found.actions, ways: &found.ways };
        assert_eq!(store.read(&subject).unwrap().keys, found.keys);
    }
}

#[test]
fn a_store_answers_without_its_specification() {
    let mut store = Store::memory().unwrap();
    store.write(&space(&mutex(2)), &run("s1")).unwrap();
    let mut ask = |text: &str| store.ask(&Formula::parse(text).unwrap());
    assert!(ask(r#"AG ~(pc_p1 = "crit" /\ pc_p2 = "crit")"#).unwrap().holds);
    let asked = ask(r#"AG (pc_p1 = "wait" => AF pc_p1 = "crit")"#).unwrap();
    assert!(!asked.holds);
    let shown: Vec<String> = asked
        .path
        .iter()
        .map(|state| format!("{}: {}", state.step.as_deref().unwrap_or("start"), state.values[0].1))
        .collect();
    expect![[r#"
        start: (p1 :> "idle" @@ p2 :> "idle")
        Ask(p = p1): (p1 :> "wait" @@ p2 :> "idle")
        Ask(p = p2): (p1 :> "wait" @@ p2 :> "wait")
        Enter(p = p2): (p1 :> "wait" @@ p2 :> "crit")"#]]
    .assert_eq(&shown.join("\n"));
    assert_eq!(asked.back_to, Some(1));
    let error = ask("EF nothing = 1").unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("conditions are about the columns of the view state_v"));
}

#[test]
fn two_components_meet_in_what_they_share() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    // Both know the hour; each counts its own minutes.
    let clock = |minutes: &str| {
        let mut program = hour_clock();
        program.layout.variables[1].name = minutes.into();
        program.layout.slots[1].name = minutes.into();
        program.initial.truncate(1);
        space(&program)
    };
    Store::sqlite(&path("a.sqlite")).unwrap().write(&clock("a"), &run("a")).unwrap();
    Store::sqlite(&path("b.sqlite")).unwrap().write(&clock("b"), &run("b")).unwrap();
    for mut both in [Store::sqlite(&path("both.sqlite")).unwrap(), postgres()] {
        let composed = compose(&mut both, &path("a.sqlite"), &path("b.sqlite")).unwrap();
        assert_eq!(composed.shared, ["hr"]);
        assert_eq!(composed.states, 12 * 60 * 60, "the minutes are free of each other, the hour strikes for both");
        assert_eq!(composed.transitions, 12 * (59 * 60 * 2 + 1));
        assert_eq!(
            rows(&mut both, "SELECT DISTINCT step FROM trans_v ORDER BY step").join(" "),
            "Hour and Hour Noon and Noon Tick"
        );
        let mut ask = |text: &str| both.ask(&Formula::parse(text).unwrap()).unwrap().holds;
        assert!(ask(r"AG ((a = 59 /\ b = 59) => AX (a = 0 /\ b = 0))"));
        assert!(!ask("AG a = b"));
    }
}
