//! The database explores as an explorer does that goes from state to state.

use isolde_statespace::ctl::{Checker, Formula};
use isolde_statespace::packed::{Key, Program};
use isolde_statespace::sql::{Explored, Finding, Form, Options, SqlChecker, Stop, explore, transitions};
use isolde_statespace::store::{Store, StoreError};

use crate::programs::{self, Meaning, hour_clock, meaning, mutex, space, value};
use crate::{postgres, rows, run};

fn explored(store: &mut Store, program: &Program, form: Form) -> Result<Explored, StoreError> {
    explore(store, program, &run("s1"), &mut Options { form, deadlock: false, proceed: &mut |_, _| true })
}

/// Compares everything with the meaning of the program.
fn check(store: &mut Store, program: &Program, form: Form) {
    let found = explored(store, program, form).unwrap();
    match (meaning(program), &found.stop) {
        (Meaning::Wrong { .. }, Some(Stop::Found(..))) => {}
        (Meaning::Wrong { level }, None) => panic!("something goes wrong at level {level}, and was not seen"),
        (Meaning::Space(space), None) => {
            assert_eq!(found.states, space.states());
            assert!(found.depth.is_none_or(|depth| depth == space.depth()), "{found:?}");
            assert_eq!(transitions(store, program).unwrap(), space.graph.transitions());
            let subject =
                isolde_statespace::store::Subject { layout: &space.layout, actions: &space.actions, ways: &space.ways };
            let back = store.read(&subject).unwrap();
            let states = |space: &isolde_statespace::space::Space| {
                let mut states: Vec<(Key, u32)> =
                    space.keys.iter().copied().zip(space.levels.iter().copied()).collect();
                states.sort();
                states
            };
            assert_eq!(states(&back), states(&space));
            assert!(space.keys.iter().all(|&key| holds(program, key)), "an invariant is broken, and was not seen");
        }
        (Meaning::Space(space), Some(Stop::Found(Finding::Invariant(_), trace))) => {
            let (_, end) = trace.last().unwrap();
            assert!(!holds(program, *end));
            let shortest = space.keys.iter().zip(&space.levels).filter(|(key, _)| !holds(program, **key));
            assert_eq!(trace.len() as u32 - 1, *shortest.map(|(_, level)| level).min().unwrap());
            replay(program, trace);
        }
        (Meaning::Space(_), Some(stop)) => panic!("{stop:?}"),
        (Meaning::Wrong { .. }, Some(stop)) => panic!("{stop:?}"),
    }
}

fn holds(program: &Program, key: Key) -> bool {
    program.invariants.iter().all(|(_, invariant)| value(&program.layout, key, invariant) != 0)
}

/// Takes the steps of a trace.
fn replay(program: &Program, trace: &[(Option<usize>, Key)]) {
    assert!(program.initial.contains(&trace[0].1));
    for pair in trace.windows(2) {
        let instance = &program.instances[pair[1].0.unwrap()];
        assert_ne!(value(&program.layout, pair[0].1, &instance.guard), 0);
        let set = |key: Key, (place, expr): &(usize, _)| {
            program.layout.slots[*place].set(key, value(&program.layout, pair[0].1, expr)).unwrap()
        };
        assert_eq!(instance.updates.iter().fold(pair[0].1, set), pair[1].1);
    }
}

const FORMS: [Form; 2] = [Form::Closure, Form::Levels];

#[test]
fn sqlite_finds_what_is_there() {
    for program in [hour_clock(), mutex(3), mutex(5)] {
        for form in FORMS {
            check(&mut Store::memory().unwrap(), &program, form);
        }
    }
}

#[test]
fn postgres_finds_what_is_there() {
    for program in [hour_clock(), mutex(4)] {
        for form in FORMS {
            check(&mut postgres(), &program, form);
        }
    }
}

#[test]
fn sqlite_means_what_expressions_mean() {
    arbtest::arbtest(|u| {
        let program = programs::arbitrary(u)?;
        for form in FORMS {
            check(&mut Store::memory().unwrap(), &program, form);
        }
        Ok(())
    })
    .size_min(128)
    .budget_ms(5_000);
}

#[test]
fn postgres_means_what_expressions_mean() {
    let mut store = postgres();
    arbtest::arbtest(|u| {
        let program = programs::arbitrary(u)?;
        for form in FORMS {
            store
                .begin(
                    &isolde_statespace::store::Subject { layout: &program.layout, actions: &[], ways: &[] },
                    &run("other"),
                )
                .unwrap();
            check(&mut store, &program, form);
        }
        Ok(())
    })
    .size_min(128)
    .budget_ms(8_000);
}

#[test]
fn the_clock_has_720_states() {
    let mut store = Store::memory().unwrap();
    let found = explored(&mut store, &hour_clock(), Form::Levels).unwrap();
    assert_eq!((found.states, found.depth), (720, Some(60)));
    assert_eq!(transitions(&mut store, &hour_clock()).unwrap(), 720);
    let found = explored(&mut Store::memory().unwrap(), &hour_clock(), Form::Closure).unwrap();
    assert_eq!((found.states, found.form), (720, Form::Closure));
}

#[test]
fn what_was_interrupted_is_gone_on_with() {
    for mut store in [Store::memory().unwrap(), postgres()] {
        let mut stop_at = |level: usize| {
            let mut proceed = |depth, _| depth < level;
            let mut options = Options { form: Form::Levels, deadlock: false, proceed: &mut proceed };
            explore(&mut store, &hour_clock(), &run("s1"), &mut options).unwrap()
        };
        let first = stop_at(20);
        assert_eq!((first.states, first.depth, first.stop), (240, Some(20), Some(Stop::Interrupted)));
        assert_eq!(stop_at(40).states, 480);
        let last = stop_at(usize::MAX);
        assert_eq!((last.states, last.depth, last.stop), (720, Some(60), None));
        assert!(store.held().unwrap().unwrap().complete);
    }
}

#[test]
fn a_value_that_does_not_fit_is_an_error_with_a_trace() {
    let mut program = hour_clock();
    // Hours go on to 13, which has a code; and to 17, which has none.
    program.instances.truncate(2);
    let plus = programs::binary(
        isolde_statespace::packed::Binary::Add,
        isolde_statespace::packed::Expr::Slot(0),
        isolde_statespace::packed::Expr::Const(1),
    );
    program.instances[1].guard = programs::eq(1, 59);
    program.instances[1].in_range =
        programs::binary(isolde_statespace::packed::Binary::Le, plus, isolde_statespace::packed::Expr::Const(16));
    program.invariants.clear();
    program.initial.truncate(1);
    for mut store in [Store::memory().unwrap(), postgres()] {
        for form in FORMS {
            let found = explored(&mut store, &program, form).unwrap();
            let Some(Stop::Found(Finding::Trouble(isolde_statespace::sql::Trouble::OutOfRange(1)), trace)) = found.stop
            else {
                panic!("{found:?}");
            };
            assert_eq!(trace.len(), 16 * 60);
            replay(&program, &trace);
            assert_eq!(rows(&mut store, "SELECT count(*) FROM state WHERE k < 0"), ["0"]);
        }
    }
}

#[test]
fn a_deadlock_is_found_at_its_level() {
    let mut program = hour_clock();
    program.instances.pop();
    let mut store = Store::memory().unwrap();
    let mut options = Options { form: Form::Levels, deadlock: true, proceed: &mut |_, _| true };
    let found = explore(&mut store, &program, &run("s1"), &mut options).unwrap();
    let Some(Stop::Found(Finding::Deadlock, trace)) = found.stop else { panic!("{found:?}") };
    assert_eq!(trace.len(), 60, "from 12:00 to 12:59");
    replay(&program, &trace);
}

#[test]
fn labels_made_by_sql_are_those_of_rust() {
    let mut postgres = postgres();
    let formulas = [
        "EF v0 = 1",
        "EX v0 = 1",
        "EG v0 # 1",
        "AG EF d0 = 0",
        "AF v0 = 0",
        "E[v0 = 0 U d1 = 2]",
        "A[v0 = 0 W d0 = 1]",
        "AX (v0 = 0 => EG d1 = 0)",
        "E[d0 = 0 R d1 = 0]",
        "~EX TRUE",
    ];
    arbtest::arbtest(|u| {
        let program = programs::arbitrary(u)?;
        let Meaning::Space(found) = meaning(&program) else { return Ok(()) };
        let formula = Formula::parse(u.choose(&formulas)?).unwrap();
        let on_server = u.ratio(1, 8)?;
        let mut memory = Store::memory().unwrap();
        let store = if on_server { &mut postgres } else { &mut memory };
        store.write(&found, &run("s1")).unwrap();
        let table = SqlChecker::new(store).states(&formula).unwrap();
        let mut by_sql: Vec<i64> =
            store.database().rows(&format!("SELECT k FROM {table}")).unwrap().iter().map(|row| row[0].int()).collect();
        let atom = |text: &str| {
            let (name, rest) = text.split_once(' ').unwrap();
            let (sign, number) = rest.split_once(' ').unwrap();
            let slot = program.layout.slots.iter().find(|slot| slot.name == name).unwrap();
            let is =
                |state: u32| (slot.get(found.keys[state as usize]) == number.parse::<i64>().unwrap()) == (sign == "=");
            Ok::<_, std::convert::Infallible>(isolde_statespace::graph::BitSet::of(found.states(), is))
        };
        let mut by_rust: Vec<i64> = Checker::new(&found.graph, atom)
            .states(&formula)
            .unwrap()
            .iter()
            .map(|state| found.keys[state as usize].to_sql())
            .collect();
        by_sql.sort();
        by_rust.sort();
        assert_eq!(by_sql, by_rust, "{formula}");
        let holds = SqlChecker::new(store).holds(&formula).unwrap();
        assert_eq!(holds, found.initial().iter().all(|&state| by_rust.contains(&found.keys[state as usize].to_sql())));
        Ok(())
    })
    .size_min(128)
    .budget_ms(6_000);
}

#[test]
fn large_states_are_refused_with_what_to_do() {
    let mut program = hour_clock();
    program.layout.bits = 64;
    let error = explored(&mut Store::memory().unwrap(), &program, Form::Closure).unwrap_err();
    assert_eq!(error.message, "a state takes 64 bits, and the database can explore only what fits into 63");
    assert_eq!(space(&mutex(2)).states(), 8);
}
