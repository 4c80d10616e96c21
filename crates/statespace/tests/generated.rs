//! Specifications made up at random: the program and the evaluator find the same states by the same steps, or both
//! complain.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use arbtest::arbitrary::{Result, Unstructured};
use isolde_statespace::compile::compile;
use isolde_statespace::explore::{Fast, Options, Stepper, Trouble};
use isolde_statespace::explored::Explored;
use isolde_statespace::packed::Key;
use isolde_statespace::tla::Spec;
use isolde_statespace::tla::spec::Files;
use isolde_statespace::tla::step::Flow;

/// Expressions of some depth, by kind. `n` is a number 0..3, `b` a boolean, `s` a set of 1..3, `f` a function of 1..3
/// to 0..3, `q` a sequence.
struct Writer<'a, 'b> {
    from: &'a mut Unstructured<'b>,
}

impl Writer<'_, '_> {
    fn pick(&mut self, of: &[&'static str]) -> Result<&'static str> {
        self.from.choose(of).copied()
    }

    fn int(&mut self, depth: usize) -> Result<String> {
        if depth == 0 {
            return Ok(self.pick(&["n", "0", "1", "2", "f[1]", "f[3]", "Len(q)", "Cardinality(s)", "i"])?.into());
        }
        Ok(match self.from.int_in_range(0..=6)? {
            0 => format!("(({} + {}) % 4)", self.int(depth - 1)?, self.int(depth - 1)?),
            1 => format!("(IF {} THEN {} ELSE {})", self.bool(depth - 1)?, self.int(depth - 1)?, self.int(depth - 1)?),
            2 => format!("f[1 + (({}) % 3)]", self.int(depth - 1)?),
            3 => format!("Cardinality({})", self.set(depth - 1)?),
            4 => format!("(CHOOSE k \\in 0..3 : k = 3 \\/ k > {})", self.int(depth - 1)?),
            5 => format!("(LET m == {} IN (m * m) % 4)", self.int(depth - 1)?),
            _ => self.int(0)?,
        })
    }

    fn bool(&mut self, depth: usize) -> Result<String> {
        if depth == 0 {
            return Ok(self.pick(&["b", "TRUE", "1 \\in s", "n = 2", "q = <<>>", "s = {}", "i \\in s"])?.into());
        }
        Ok(match self.from.int_in_range(0..=8)? {
            0 => format!("({} /\\ {})", self.bool(depth - 1)?, self.bool(depth - 1)?),
            1 => format!("({} \\/ {})", self.bool(depth - 1)?, self.bool(depth - 1)?),
            2 => format!("~({})", self.bool(depth - 1)?),
            3 => format!("{} < {}", self.int(depth - 1)?, self.int(depth - 1)?),
            4 => format!("{} = {}", self.int(depth - 1)?, self.int(depth - 1)?),
            5 => format!("({}) \\in ({})", self.int(depth - 1)?, self.set(depth - 1)?),
            6 => format!("(\\A j \\in {} : f[j] <= {})", self.set(depth - 1)?, self.int(depth - 1)?),
            7 => format!("({}) \\subseteq ({})", self.set(depth - 1)?, self.set(depth - 1)?),
            _ => format!("(q # <<>> => Head(q) # {})", self.int(depth - 1)?),
        })
    }

    fn set(&mut self, depth: usize) -> Result<String> {
        if depth == 0 {
            return Ok(self.pick(&["s", "{}", "{1}", "{2, 3}", "1..3", "{i}"])?.into());
        }
        Ok(match self.from.int_in_range(0..=5)? {
            0 => format!("(({}) \\cup ({}))", self.set(depth - 1)?, self.set(depth - 1)?),
            1 => format!("(({}) \\cap ({}))", self.set(depth - 1)?, self.set(depth - 1)?),
            2 => format!("(({}) \\ ({}))", self.set(depth - 1)?, self.set(depth - 1)?),
            3 => format!("{{j \\in 1..3 : f[j] < {}}}", self.int(depth - 1)?),
            4 => format!("{{1 + (f[j] % 3) : j \\in {}}}", self.set(depth - 1)?),
            _ => format!("(IF {} THEN {} ELSE {})", self.bool(depth - 1)?, self.set(depth - 1)?, self.set(depth - 1)?),
        })
    }

    fn action(&mut self) -> Result<String> {
        let guard = self.bool(2)?;
        let n = match self.from.int_in_range(0..=2)? {
            0 => "n' = n".to_string(),
            1 => format!("n' = {}", self.int(2)?),
            _ => "n' \\in {0, i}".to_string(),
        };
        let b = if self.from.arbitrary()? { "b' = b".to_string() } else { format!("b' = ({})", self.bool(1)?) };
        let s = if self.from.arbitrary()? { "s' = s".to_string() } else { format!("s' = {}", self.set(2)?) };
        let f = match self.from.int_in_range(0..=2)? {
            0 => "UNCHANGED f".to_string(),
            1 => format!("f' = [f EXCEPT ![1 + (({}) % 3)] = {}]", self.int(1)?, self.int(1)?),
            _ => format!("f' = [f EXCEPT ![i] = (@ + {}) % 4]", self.int(1)?),
        };
        let q = match self.from.int_in_range(0..=3)? {
            0 => format!("Len(q) < 2 /\\ q' = Append(q, {})", self.int(1)?),
            1 => "q # <<>> /\\ q' = Tail(q)".to_string(),
            _ => "q' = q".to_string(),
        };
        Ok(format!("{guard} /\\ {n} /\\ {b} /\\ {s} /\\ {f} /\\ {q}"))
    }

    fn module(&mut self) -> Result<String> {
        let mut text =
            String::from("---- MODULE M ----\nEXTENDS Integers, FiniteSets, Sequences\nVARIABLES n, b, s, f, q\n");
        text += "Init == n = 0 /\\ b = FALSE /\\ s \\in {{}, {1, 2}} /\\ f = [j \\in 1..3 |-> 0] /\\ q = <<>>\n";
        for name in ["A", "B", "C"] {
            text += &format!("{name}(i) == {}\n", self.action()?);
        }
        text += "Next == \\E i \\in 1..3 : A(i) \\/ B(i) \\/ C(i)\n====\n";
        Ok(text)
    }
}

fn load(text: &str) -> Spec {
    let files = Files { name: "M.tla", text, config: Some(("M.cfg", "INIT Init NEXT Next")) };
    Spec::load(&files, &mut |_| None).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn states(explored: &Explored) -> BTreeSet<String> {
    (0..explored.count() as u32).map(|state| format!("{:?}", explored.values(state))).collect()
}

/// More states than this are not looked at.
const STATES_MAX: usize = 300;

#[test]
fn the_program_and_the_evaluator_agree() {
    let mut compiled = 0;
    arbtest::arbtest(|from| {
        let text = Writer { from }.module()?;
        let spec = load(&text);
        let options = Options { deadlock: false, graph: true, stop: false, states_max: STATES_MAX };
        let ours = Explored::explore(&spec, &options, &mut ());
        let theirs = Explored::by_evaluation(&spec, &options, &mut ());
        let (Ok(ours), Ok(theirs)) = (ours, theirs) else { return Ok(()) };
        // Both stop in the middle of a level when there are too many, not at the same place.
        if theirs.incomplete.is_some() || ours.incomplete.is_some() {
            assert_eq!(theirs.incomplete, ours.incomplete, "{text}");
            return Ok(());
        }
        compiled += usize::from(ours.not_compiled.is_none());
        assert_eq!(ours.wrong.is_some(), theirs.wrong.is_some(), "{text}");
        if ours.wrong.is_none() {
            assert_eq!((ours.generated, ours.depth()), (theirs.generated, theirs.depth()), "{text}");
            assert_eq!(states(&ours), states(&theirs), "{text}");
        }
        Ok(())
    })
    .budget_ms(4000);
    assert!(compiled > 10, "{compiled} were compiled: the generator makes nothing of interest");
}

/// In any state at all, reachable or not, the program takes the steps that the evaluator takes.
#[test]
fn steps_agree_in_any_state() {
    arbtest::arbtest(|from| {
        let text = Writer { from: &mut *from }.module()?;
        let spec = load(&text);
        let Ok(compiled) = compile(&spec) else { return Ok(()) };
        let forms = compiled.forms.clone();
        let mut fast = Fast::<u128>::new(&spec, compiled).unwrap();
        let evaluator = spec.evaluator();
        for _ in 0..5 {
            let bits = Key(u128::from(from.arbitrary::<u64>()?) & ((1 << forms.layout.bits.min(127)) - 1));
            // Codes beyond the last value, and elements beyond the end of a sequence, are no state.
            let values = forms.decode(bits);
            let Ok(key) = forms.encode(&values) else { continue };
            let mut found = Vec::new();
            let ours: BTreeSet<String> = match fast.steps(key.0, &mut found) {
                Ok(()) => found.iter().map(|(_, next)| format!("{:?}", forms.decode(Key(*next)))).collect(),
                Err(Trouble::Narrow) => continue,
                Err(Trouble::Fault(_)) => BTreeSet::from(["a mistake".to_string()]),
            };
            let mut theirs = BTreeSet::new();
            let done = evaluator.steps(spec.next.as_ref().unwrap(), &values, &mut |_, next| {
                theirs.insert(format!("{next:?}"));
                Ok(Flow::Continue(()))
            });
            if done.is_err() {
                theirs = BTreeSet::from(["a mistake".to_string()]);
            }
            assert_eq!(ours, theirs, "{values:?}\n{text}");
        }
        Ok(())
    })
    .budget_ms(3000);
}
