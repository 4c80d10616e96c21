//! From a specification to a [`Program`]: slots for the variables, a guard and assignments for every way to take an
//! action.
//!
//! ```text
//!   TypeOK, or values that were seen ──▶ forms ──▶ slots
//!                                                   │
//!   Next ──▶ act (branches) ──▶ eval (values partly known) ──▶ fit (values into slots) ──▶ instances
//!                     ▲                                        │
//!                     └──── a form grows, once more ◀──────────┘  a value that has no code
//! ```
//!
//! What a variable can be is taken from a conjunct `v \in S` or `v \subseteq S` of an invariant, if S is finite;
//! otherwise from the first states. A constant that turns up later and has no code makes its form grow at once; an
//! integer that leaves its range does so when it happens. What cannot be put this way is left to the evaluator, and the
//! reason is kept.

mod act;
mod build;
mod eval;
mod fit;
mod operators;
mod sym;

pub(crate) use build::apply;

use crate::explore::{Interpreter, Options, explore};
use crate::form::{Form, Forms};
use crate::packed::{Action, Expr as Packed, Instance, Program};
use crate::tla::Spec;
use crate::tla::builtin::Builtin;
use crate::tla::eval::{Env, Look, Partial};
use crate::tla::fault::Fault;
use crate::tla::ir::{Expr, Kind, Level};
use crate::tla::step::Flow;
use build::{and, known};
use eval::Partly;
use fit::{Stop, fit};
use sym::{NoForm, Sym};

/// A specification as a program.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The program. Its invariants and constraint are those that have a packed form.
    pub program: Program,
    /// What its slots mean.
    pub forms: Forms,
    /// The invariants that the program does not have, by number.
    pub other_invariants: Vec<usize>,
    /// Which invariants of the specification those of the program are.
    pub invariants: Vec<usize>,
    /// Whether the program has the constraints.
    pub constrained: bool,
}

/// Why there is no program.
#[derive(Clone, Debug)]
pub enum NotCompiled {
    /// Something has no packed form.
    NoForm(String),
    /// The specification has a mistake.
    Fault(Box<Fault>),
}

impl From<Box<Fault>> for NotCompiled {
    fn from(fault: Box<Fault>) -> NotCompiled {
        NotCompiled::Fault(fault)
    }
}

impl From<NoForm> for NotCompiled {
    fn from(why: NoForm) -> NotCompiled {
        NotCompiled::NoForm(why.0)
    }
}

/// Forms grow at most so often.
const ROUNDS_MAX: usize = 60;
/// Values that have no structure grow to at most so many while they are guessed: what every value could become is more
/// than what it does.
const GUESSED_MAX: usize = 300;
/// So many states are looked at to see what variables can be.
const SEEN_MAX: usize = 400;

/// Compiles a specification.
pub fn compile(spec: &Spec) -> Result<Compiled, NotCompiled> {
    if !spec.symmetry.is_empty() || !spec.action_constraints.is_empty() {
        return Err(NotCompiled::NoForm("SYMMETRY or ACTION_CONSTRAINT".into()));
    }
    if spec.view.is_some() {
        return Err(NotCompiled::NoForm("VIEW".into()));
    }
    compile_with(spec, first_forms(spec)?)
}

/// Compiles a specification whose variables have at least these values.
pub(crate) fn compile_with(spec: &Spec, mut forms: Vec<Form>) -> Result<Compiled, NotCompiled> {
    let initial = initial(spec)?;
    for _ in 0..ROUNDS_MAX {
        let names = spec.variables().iter().map(|(name, _)| name.clone());
        let laid = Forms::new(names.zip(forms.iter().cloned()));
        if !laid.layout.fits() {
            return Err(NotCompiled::NoForm(format!("a state of {} bits", laid.layout.bits)));
        }
        match build(spec, &laid, &initial) {
            Ok(compiled) => return Ok(compiled),
            Err((_, Stop::Widen(Form::Enum(values)))) if values.len() > GUESSED_MAX => {
                return Err(NotCompiled::NoForm("values that do not settle".into()));
            }
            Err((variable, Stop::Widen(form))) if form != forms[variable] => forms[variable] = form,
            Err((_, Stop::Widen(_))) => return Err(NotCompiled::NoForm("values that do not settle".into())),
            Err((_, Stop::NoForm(why))) => return Err(why.into()),
        }
    }
    Err(NotCompiled::NoForm("values that do not settle".into()))
}

fn initial(spec: &Spec) -> Result<Vec<Partial>, Box<Fault>> {
    let mut states = Vec::new();
    if let Some(init) = &spec.init {
        spec.evaluator().initial(init, &mut |state| {
            states.push(state.clone());
            Ok(Flow::Continue(()))
        })?;
    }
    Ok(states)
}

fn build(spec: &Spec, forms: &Forms, initial: &[Partial]) -> Result<Compiled, (usize, Stop)> {
    let none = |why: NoForm| (0, Stop::NoForm(why));
    let mut slot = 0;
    let now: Vec<Sym> = forms.forms.iter().map(|form| Sym::read(form, &mut slot)).collect();
    let mut partly = Partly::new(spec.definitions(), spec.evaluator(), &forms.layout.slots, now);
    let mut program = Program { layout: forms.layout.clone(), ..Program::default() };
    for state in initial {
        let key = forms.encode(state).map_err(|variable| (variable, wider(forms, state, variable)))?;
        program.initial.push(key);
    }
    let branches = match &spec.next {
        Some(next) => act::branches(&mut partly, next).map_err(none)?,
        None => Vec::new(),
    };
    for branch in branches {
        if known(&branch.guard) == Some(0) {
            continue;
        }
        let mut updates = Vec::new();
        let mut in_range = Vec::new();
        for (variable, ((form, value), layout)) in
            forms.forms.iter().zip(&branch.next).zip(&forms.layout.variables).enumerate()
        {
            let mut slot = layout.slots.start;
            fit(value, form, &forms.layout.slots, &mut slot, &mut updates, &mut in_range)
                .map_err(|stop| (variable, stop))?;
        }
        // What a slot means already need not be said.
        updates.retain(|(slot, value)| *value != Packed::Slot(*slot));
        let action = number(&mut program.actions, spec.action(branch.definition));
        program.instances.push(Instance {
            action,
            binding: branch.binding,
            guard: branch.guard,
            updates,
            defined: and(branch.defined),
            in_range: and(in_range),
        });
    }
    let mut compiled = Compiled {
        program,
        forms: forms.clone(),
        other_invariants: Vec::new(),
        invariants: Vec::new(),
        constrained: true,
    };
    predicates(spec, &mut partly, &mut compiled);
    Ok(compiled)
}

/// Invariants and constraints, as far as they have a packed form and a meaning everywhere.
fn predicates(spec: &Spec, partly: &mut Partly<'_>, compiled: &mut Compiled) {
    let mut packed = |expr: &Expr| {
        partly.defined.clear();
        partly.path.clear();
        let truth = partly.truth(expr, eval::Env::default(), false);
        truth.ok().filter(|_| partly.defined.is_empty())
    };
    for (index, (name, invariant)) in spec.invariants.iter().enumerate() {
        match packed(invariant) {
            Some(truth) => {
                compiled.program.invariants.push((name.clone(), truth));
                compiled.invariants.push(index);
            }
            None => compiled.other_invariants.push(index),
        }
    }
    let constraints: Option<Vec<Packed>> = spec.constraints.iter().map(packed).collect();
    compiled.constrained = constraints.is_some();
    if let Some(constraints) = constraints.filter(|constraints| !constraints.is_empty()) {
        compiled.program.constraint = Some(and(constraints));
    }
}

/// An expression about a state, packed.
pub fn predicate(spec: &Spec, forms: &Forms, expr: &Expr) -> Option<Packed> {
    let mut slot = 0;
    let now: Vec<Sym> = forms.forms.iter().map(|form| Sym::read(form, &mut slot)).collect();
    let mut partly = Partly::new(spec.definitions(), spec.evaluator(), &forms.layout.slots, now);
    let truth = partly.truth(expr, eval::Env::default(), false);
    truth.ok().filter(|_| partly.defined.is_empty())
}

fn number(actions: &mut Vec<Action>, action: Action) -> usize {
    actions.iter().position(|known| *known == action).unwrap_or_else(|| {
        actions.push(action);
        actions.len() - 1
    })
}

fn wider(forms: &Forms, state: &Partial, variable: usize) -> Stop {
    let value = state.get(variable).and_then(Option::as_ref);
    match value.and_then(|value| forms.forms[variable].clone().with(value)) {
        Some(form) => Stop::Widen(form),
        None => Stop::NoForm(NoForm("a value that has no form".into())),
    }
}

/// What variables can be: as an invariant says, or as they were seen.
fn first_forms(spec: &Spec) -> Result<Vec<Form>, NotCompiled> {
    let mut forms: Vec<Option<Form>> = vec![None; spec.variables().len()];
    for (_, invariant) in &spec.invariants {
        declared(spec, invariant, &mut forms);
    }
    if forms.iter().any(Option::is_none) {
        let mut interpreter = Interpreter::new(spec)?;
        let options = Options { deadlock: false, graph: false, stop: false, states_max: SEEN_MAX };
        explore(&mut interpreter, &options, &mut ())?;
        for (variable, form) in forms.iter_mut().enumerate().filter(|(_, form)| form.is_none()) {
            *form = Form::of_values(interpreter.seen(variable));
        }
    }
    let missing = forms.iter().position(Option::is_none);
    match (forms.into_iter().collect(), missing) {
        (Some(forms), _) => Ok(forms),
        (None, missing) => {
            let name = missing.map_or("", |variable| spec.variables()[variable].0.as_str());
            Err(NotCompiled::NoForm(format!("the values of `{name}`")))
        }
    }
}

/// `v \in S` and `v \subseteq S` among the conjuncts.
fn declared(spec: &Spec, expr: &Expr, forms: &mut [Option<Form>]) {
    match &*expr.kind {
        Kind::And(parts) => parts.iter().for_each(|part| declared(spec, part, forms)),
        Kind::Defined(id, arguments) if arguments.is_empty() => {
            declared(spec, &spec.definitions()[*id].body, forms);
        }
        Kind::Builtin(builtin @ (Builtin::In | Builtin::SubsetEq), sides) => {
            let Kind::Variable(variable) = &*sides[0].kind else { return };
            if spec.level(&sides[1]) != Level::Constant {
                return;
            }
            let Ok(set) = spec.evaluator().eval(&sides[1], Env::default(), Look::state(&[])) else { return };
            let form = match builtin {
                Builtin::In => Form::of_set(&set),
                _ => set.elements().ok().filter(|elements| elements.len() <= 62).map(Form::Mask),
            };
            forms[*variable] = forms[*variable].take().or(form);
        }
        _ => (),
    }
}
