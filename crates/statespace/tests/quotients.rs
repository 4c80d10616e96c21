//! VIEW, SYMMETRY and ACTION_CONSTRAINT make the space smaller, and nothing else: on small random specifications the
//! verdicts are those of the whole space, and every behaviour that is shown is one, step by step, as the evaluator sees
//! it.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;

use isolde_report::Behaviour;
use isolde_statespace::check::{self, Answer, Options};
use isolde_statespace::tla::Spec;
use isolde_statespace::tla::spec::Files;

fn check(text: &str, config: &str, ctl: &[&str]) -> Answer {
    let files = Files { name: "M.tla", text, config: Some(("M.cfg", config)) };
    let mut spec = Spec::load(&files, &mut |_| None).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = Options {
        deadlock: None,
        ctl: ctl.iter().map(|text| text.to_string()).collect(),
        invariants: Vec::new(),
        states_max: 100_000,
        coverage: false,
        graph: false,
        command: String::new(),
        path: "M.tla".into(),
    };
    check::check(&mut spec, &options, &mut ()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn verdicts(answer: &Answer) -> Vec<(String, String)> {
    answer.report.properties.iter().map(|asked| (asked.name.clone(), asked.verdict.clone())).collect()
}

/// Whether a behaviour starts in Init and takes steps of Next, asked of a specification that has no other behaviour.
fn assert_behaviour(text: &str, constants: &str, shown: &Behaviour, context: &str) {
    let state = |values: &[String]| {
        let equal: Vec<String> =
            shown.variables.iter().zip(values).map(|(name, value)| format!("{name} = {value}")).collect();
        equal.join(" /\\ ")
    };
    let next = |values: &[String]| {
        let equal: Vec<String> =
            shown.variables.iter().zip(values).map(|(name, value)| format!("{name}' = {value}")).collect();
        equal.join(" /\\ ")
    };
    let mut steps: Vec<(&[String], &[String])> =
        shown.states.windows(2).map(|pair| (&pair[0].values[..], &pair[1].values[..])).collect();
    if let (Some(back), Some(last)) = (shown.back_to, shown.states.last()) {
        steps.push((&last.values, &shown.states[back].values));
    }
    // Values of P are written in the behaviour.
    let body = text.replace("====", "").replace("CONSTANT P", "CONSTANTS P, a, b, c");
    let mut replay = format!("{body}\nReplayInit == Init /\\ {}\n", state(&shown.states[0].values));
    let stutter = shown.variables.join(", ");
    for (place, (from, to)) in steps.iter().enumerate() {
        let (from, to) = (state(from), next(to));
        writeln!(replay, "Take{place} == {from} /\\ {to} /\\ (Next \\/ UNCHANGED <<{stutter}>>)").unwrap();
        writeln!(replay, "Can{place} == ({from}) => ENABLED Take{place}").unwrap();
    }
    let takes: Vec<String> = (0..steps.len()).map(|place| format!("Take{place}")).collect();
    writeln!(replay, "ReplayNext == {}", if takes.is_empty() { "Next".into() } else { takes.join(" \\/ ") }).unwrap();
    replay.push_str("====\n");
    let invariants: Vec<String> = (0..steps.len()).map(|place| format!("Can{place}")).collect();
    let config = format!(
        "{constants}\nINIT ReplayInit\nNEXT ReplayNext\nCHECK_DEADLOCK FALSE\n{}",
        if invariants.is_empty() { String::new() } else { format!("INVARIANTS {}", invariants.join(" ")) }
    );
    let answer = check(&replay, &config, &[]);
    assert!(answer.report.size.initial > 0, "{context}: it does not start in Init\n{shown:#?}\n{text}");
    assert!(verdicts(&answer).iter().all(|(_, verdict)| verdict == "holds"), "{context}: no step\n{shown:#?}\n{text}");
}

fn assert_behaviours(text: &str, constants: &str, answer: &Answer, context: &str) {
    for asked in &answer.report.properties {
        assert!(
            asked.verdict != "fails" || asked.trace.is_some(),
            "{context}: nothing shows that {} fails",
            asked.name
        );
        if let Some(shown) = &asked.trace {
            assert_behaviour(text, constants, shown, context);
        }
    }
}

struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.below(texts.len())]
    }
}

const ALIKE: &str = "CONSTANT P = {a, b, c}";
const NAMED: &str = "CONSTANTS P = {a, b, c} a = a b = b c = c";

/// Processes that are alike, a set of some of them, and at times something that tells one of them apart.
fn symmetric(draw: &mut Draw) -> String {
    let guards = [
        "pc[p] = 0",
        "pc[p] < 2",
        "p \\notin S",
        "p \\in S",
        "pc[p] = 1 /\\ S = {}",
        "\\E q \\in P : q # p /\\ pc[q] = 1",
    ];
    let updates = ["(pc[p] + 1) % 3", "0", "2", "IF p \\in S THEN 0 ELSE 1"];
    let sets = ["S", "S \\cup {p}", "S \\ {p}", "{q \\in P : pc[q] = 1}", "{p}"];
    let mut text = String::from("---- MODULE M ----\nEXTENDS Naturals, FiniteSets, TLC\nCONSTANT P\nVARIABLES pc, S\n");
    text.push_str("Init == pc = [p \\in P |-> 0] /\\ S = {}\n");
    let actions = 1 + draw.below(3);
    for action in 0..actions {
        let (guard, update, set) = (draw.of(&guards), draw.of(&updates), draw.of(&sets));
        writeln!(text, "A{action}(p) == {guard} /\\ pc' = [pc EXCEPT ![p] = {update}] /\\ S' = {set}").unwrap();
    }
    let named: Vec<String> = (0..actions).map(|action| format!("A{action}(p)")).collect();
    writeln!(text, "Next == \\E p \\in P : {}", named.join(" \\/ ")).unwrap();
    let invariants = [
        "Cardinality(S) < 3",
        "\\A p, q \\in P : p = q \\/ pc[p] # 2 \\/ pc[q] # 2",
        "\\A p \\in P : pc[p] < 2",
        "TRUE",
        "pc[CHOOSE p \\in P : TRUE] # 2",
        "\\A p \\in S : pc[p] > 0",
    ];
    let steps = [
        "\\A p \\in P : pc'[p] >= pc[p]",
        "Cardinality(S') >= Cardinality(S)",
        "\\A p \\in P : pc[p] = 2 => pc'[p] = 2",
    ];
    let lives = ["\\A p \\in P : []<>(pc[p] = 0)", "<>(S # {})", "[](S # {} => <>(S = {}))"];
    writeln!(text, "Inv == {}", draw.of(&invariants)).unwrap();
    writeln!(text, "Step == [][{}]_<<pc, S>>", draw.of(&steps)).unwrap();
    writeln!(text, "Live == {}", draw.of(&lives)).unwrap();
    writeln!(text, "Cut == {}", draw.of(&["TRUE", "Cardinality(S') < 3", "\\E p \\in P : pc'[p] # pc[p]"])).unwrap();
    text.push_str("Perms == Permutations(P)\nSpec == Init /\\ [][Next]_<<pc, S>> /\\ WF_<<pc, S>>(Next)\n====\n");
    text
}

#[test]
fn symmetry_changes_no_verdict() {
    let (mut smaller, mut failing) = (0, 0);
    for seed in 0..150 {
        let mut draw = Draw(seed * 7919 + 1);
        let text = symmetric(&mut draw);
        let asked =
            draw.of(&["INVARIANT Inv", "PROPERTY Step", "PROPERTY Live", "INVARIANT Inv\nACTION_CONSTRAINT Cut"]);
        let config = format!("{ALIKE}\nSPECIFICATION Spec\n{asked}\n");
        let ctl = draw.of(&["", "", "AG EF (S = {})"]);
        let ctl: Vec<&str> = [ctl].into_iter().filter(|text| !text.is_empty()).collect();
        let (whole, joined) = (check(&text, &config, &ctl), check(&text, &format!("{config}SYMMETRY Perms\n"), &ctl));
        // The first mistake that is found ends the search: which one it is may depend on the order.
        let wrong = |answer: &Answer| answer.report.verdict.word().to_string();
        assert_eq!(wrong(&whole), wrong(&joined), "seed {seed}\n{config}\n{text}");
        assert_behaviours(&text, NAMED, &joined, &format!("seed {seed}"));
        smaller += usize::from(joined.report.size.states < whole.report.size.states);
        failing += usize::from(wrong(&joined) == "violated");
    }
    assert!(smaller > 30 && failing > 30, "{smaller} are smaller, {failing} fail");
}

/// A counter that the view does not see: it looks at nothing but `x`, so states that look the same have the same
/// future.
fn viewed(draw: &mut Draw) -> String {
    let mut text = String::from("---- MODULE M ----\nEXTENDS Naturals\nVARIABLES x, n\nInit == x = 0 /\\ n = 0\n");
    let counts = ["(n + 1) % 5", "n", "0", "x"];
    let actions = 1 + draw.below(3);
    for action in 0..actions {
        let (from, to, count) = (draw.below(4), draw.below(4), draw.of(&counts));
        let (from, to) = match draw.below(3) {
            0 => ("TRUE".to_string(), "(x + 1) % 4".to_string()),
            1 => (format!("x = {from}"), format!("{to}")),
            _ => (format!("x > {from}"), "x - 1".to_string()),
        };
        writeln!(text, "A{action} == {from} /\\ x' = {to} /\\ n' = {count}").unwrap();
    }
    let named: Vec<String> = (0..actions).map(|action| format!("A{action}")).collect();
    writeln!(text, "Next == {}", named.join(" \\/ ")).unwrap();
    writeln!(text, "Step == [][{}]_<<x, n>>", draw.of(&["x' # x", "x' < 3", "x' > x \\/ x' = 0"])).unwrap();
    writeln!(text, "Live == {}", draw.of(&["[]<>(x = 0)", "<>(x = 2)", "<>[](x # 1)", "[](x = 1 => <>(x = 3))"]))
        .unwrap();
    writeln!(text, "Inv == {}", draw.of(&["x < 3", "x # 2", "TRUE"])).unwrap();
    text.push_str("View == x\nSpec == Init /\\ [][Next]_<<x, n>> /\\ WF_<<x, n>>(Next /\\ x' # x)\n====\n");
    text
}

#[test]
fn a_view_of_what_matters_changes_no_verdict() {
    let (mut smaller, mut failing, mut unknown) = (0, 0, 0);
    for seed in 0..300 {
        let mut draw = Draw(seed * 104_729 + 3);
        let text = viewed(&mut draw);
        let asked = draw.of(&["INVARIANT Inv", "PROPERTY Step", "PROPERTY Live", "PROPERTY Live"]);
        let config = format!("SPECIFICATION Spec\n{asked}\nCHECK_DEADLOCK FALSE\n");
        let ctl = draw.of(&["", "AG EF (x = 0)", "AF (x = 2)"]);
        let ctl: Vec<&str> = [ctl].into_iter().filter(|text| !text.is_empty()).collect();
        let (whole, joined) = (check(&text, &config, &ctl), check(&text, &format!("{config}VIEW View\n"), &ctl));
        for (expected, found) in verdicts(&whole).into_iter().zip(verdicts(&joined)) {
            // A lasso of the view that never closes is nothing that is known.
            let open = found.1 == "unknown" || expected.1 == "unknown";
            unknown += usize::from(open);
            assert!(open || expected == found, "seed {seed}: {expected:?} {found:?}\n{config}\n{text}");
            failing += usize::from(found.1 == "fails");
        }
        assert_behaviours(&text, "", &joined, &format!("seed {seed}"));
        smaller += usize::from(joined.report.size.states < whole.report.size.states);
    }
    assert!(smaller > 50 && failing > 50 && unknown < 100, "{smaller} are smaller, {failing} fail, {unknown} unknown");
}

/// What a constraint leaves out is no part of the space, and its invariants are checked; a start has nothing before it.
#[test]
fn a_start_that_a_constraint_leaves_out_is_a_behaviour() {
    let text = "---- MODULE M ----\nEXTENDS Naturals\nVARIABLE x\nInit == x \\in {0, 5}\nNext == x' = x\nC == x < 3\nInv == x # 5\n====\n";
    for constraint in ["CONSTRAINT C", "CONSTRAINT C\nVIEW x\n"] {
        let answer = check(text, &format!("INIT Init\nNEXT Next\nINVARIANT Inv\n{constraint}"), &[]);
        let shown = answer.report.properties[0].trace.as_ref().unwrap();
        assert_eq!((answer.report.properties[0].verdict.as_str(), shown.states.len()), ("fails", 1));
        assert_eq!(shown.states[0].values, ["5"]);
    }
}

/// Of two states that look the same, the second breaks the invariant: it is seen, although the first stands for it.
#[test]
fn invariants_are_checked_in_every_state_that_a_step_leads_to() {
    let text = "---- MODULE M ----\nEXTENDS Naturals\nVARIABLES x, n\nInit == x = 0 /\\ n = 0\nNext == x' = 1 - x /\\ n' = n + 1\nInv == n < 2\n====\n";
    let answer = check(text, "INIT Init\nNEXT Next\nINVARIANT Inv\nVIEW x\n", &[]);
    let shown = answer.report.properties[0].trace.as_ref().unwrap();
    assert_eq!(answer.report.properties[0].verdict, "fails");
    assert_behaviour(text, "", shown, "a view of less than matters");
}
