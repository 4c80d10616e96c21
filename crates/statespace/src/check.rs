//! The whole job: a specification explored, everything that is asked of it answered, with behaviours that show what fails.

use std::collections::BTreeMap;

use isolde_report::{Asked, Covered, SpaceReport, SpaceSize};

use crate::ctl::{Checker, Formula};
use crate::explore::{self, Incomplete, Watch, What};
use crate::explored::Explored;
use crate::graph::{Graph, Path, StateId, Walk};
use crate::keep::Keeper;
use crate::live;
use crate::temporal::Meaning;
use crate::tla::Spec;
use crate::tla::eval::Env;
use crate::tla::fault::{Error, Fault};
use crate::tla::ir::{Expr, Level};

/// What is asked, besides what the configuration says.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether a state without steps is a mistake, if this overrides the configuration.
    pub deadlock: Option<bool>,
    /// Formulas of CTL.
    pub ctl: Vec<String>,
    /// Invariants, as expressions.
    pub invariants: Vec<String>,
    /// More states than this are not looked at.
    pub states_max: usize,
    /// Tell how often each action was taken.
    pub coverage: bool,
    /// Keep the transitions, whatever is asked.
    pub graph: bool,
    /// The command, as it was typed.
    pub command: String,
    /// The specification, as it was named.
    pub path: String,
}

/// The answer, and the space for further questions.
#[derive(Debug)]
pub struct Answer {
    /// The answer.
    pub report: SpaceReport,
    /// What was found.
    pub explored: Explored,
}

/// Answers everything.
pub fn check(spec: &mut Spec, options: &Options, watch: &mut dyn Watch) -> Result<Answer, Error> {
    check_kept(spec, options, watch, None)
}

/// Answers everything; what was found before is taken from where it was kept, and what is new is kept there.
pub fn check_kept(
    spec: &mut Spec,
    options: &Options,
    watch: &mut dyn Watch,
    keeper: Option<&mut Keeper<'_>>,
) -> Result<Answer, Error> {
    let questions = Questions::read(spec, options)?;
    let spec = &*spec;
    questions.answer(spec, options, watch, keeper).map_err(|fault| spec.sources.error(&fault))
}

/// Formulas, with their atoms looked up.
struct Questions {
    formulas: Vec<(String, Formula)>,
    atoms: BTreeMap<String, Expr>,
}

impl Questions {
    fn read(spec: &mut Spec, options: &Options) -> Result<Questions, Error> {
        for text in &options.invariants {
            let invariant = spec.expression("--invariant", text, Level::State)?;
            spec.invariants.push((text.clone(), invariant));
        }
        let mut questions = Questions { formulas: Vec::new(), atoms: BTreeMap::new() };
        for text in &options.ctl {
            let formula = Formula::parse(text).map_err(|error| Error {
                file: "--ctl".into(),
                text: text.as_str().into(),
                span: error.span,
                message: error.message,
                hint: None,
            })?;
            for atom in formula.atoms() {
                let expr = spec.expression("--ctl", atom, Level::State)?;
                questions.atoms.entry(atom.to_string()).or_insert(expr);
            }
            questions.formulas.push((text.clone(), formula));
        }
        Ok(questions)
    }

    fn answer(
        &self,
        spec: &Spec,
        options: &Options,
        watch: &mut dyn Watch,
        mut keeper: Option<&mut Keeper<'_>>,
    ) -> Result<Answer, Box<Fault>> {
        let needs_graph = options.graph || keeper.is_some() || !self.formulas.is_empty() || !spec.properties.is_empty();
        let deadlock = options.deadlock.or(spec.check_deadlock).unwrap_or(true);
        let how = explore::Options { deadlock, graph: needs_graph, stop: true, states_max: options.states_max };
        let explored = match keeper.as_deref_mut() {
            Some(keeper) => keeper.explored(spec, &how, watch)?,
            None => Explored::explore(spec, &how, watch)?,
        };
        if let Some((What::Fault(fault), ..)) = &explored.wrong {
            return Err(fault.clone());
        }
        let mut answering =
            Answering { spec, explored: &explored, report: SpaceReport::new(&options.command, &options.path) };
        answering.size();
        answering.safety(deadlock)?;
        answering.warnings();
        if needs_graph {
            answering.branching(self, keeper)?;
            answering.linear()?;
        }
        if options.coverage {
            answering.coverage();
        }
        let mut report = answering.report;
        report.settle();
        Ok(Answer { report, explored })
    }
}

struct Answering<'a> {
    spec: &'a Spec,
    explored: &'a Explored,
    report: SpaceReport,
}

impl Answering<'_> {
    fn size(&mut self) {
        self.report.size = SpaceSize {
            states: self.explored.count() as u64,
            initial: self.explored.initial() as u64,
            generated: self.explored.generated,
            depth: self.explored.depth() as u64,
        };
        if self.explored.count() == 0 {
            self.report.warnings.push("no state satisfies Init: everything holds, of nothing".into());
        }
    }

    /// Invariants and deadlocks, which the search itself has looked at.
    fn safety(&mut self, deadlock: bool) -> Result<(), Box<Fault>> {
        let wrong = self.explored.wrong.as_ref();
        let open = wrong.is_some() || self.explored.incomplete.is_some();
        for (index, (name, _)) in self.spec.invariants.iter().enumerate() {
            let failed = matches!(wrong, Some((What::Invariant(broken), ..)) if *broken == index);
            self.asked_of_search("invariant", name, failed, open, "is false in the last state")?;
        }
        if deadlock {
            let failed = matches!(wrong, Some((What::Deadlock, ..)));
            self.asked_of_search("no", "deadlock", failed, open, "no step is possible in the last state")?;
        }
        Ok(())
    }

    fn asked_of_search(
        &mut self,
        kind: &str,
        name: &str,
        failed: bool,
        open: bool,
        meaning: &str,
    ) -> Result<(), Box<Fault>> {
        let mut asked = Asked {
            kind: kind.into(),
            name: name.into(),
            verdict: "holds".into(),
            meaning: String::new(),
            trace: None,
        };
        if let (true, Some((_, state, beyond))) = (failed, &self.explored.wrong) {
            asked.verdict = "fails".into();
            asked.meaning = meaning.into();
            asked.trace = Some(self.explored.behaviour_to(self.spec, *state, beyond.as_ref())?);
        } else if open {
            asked.verdict = "unknown".into();
            asked.meaning = self.why_open();
        }
        self.report.properties.push(asked);
        Ok(())
    }

    fn why_open(&self) -> String {
        match self.explored.incomplete {
            Some(Incomplete::States) => "there are more states than --states-max allows".into(),
            Some(Incomplete::Interrupted) => "the search was stopped before everything was looked at".into(),
            None => "the search ended at the first mistake".into(),
        }
    }

    fn warnings(&mut self) {
        if !self.spec.properties.is_empty() && !self.spec.constraints.is_empty() {
            self.report.warnings.push(
                "a state constraint cuts behaviours off: a property that promises something may hold only because of that".into(),
            );
        }
        if !self.spec.properties.is_empty() && !self.spec.symmetry.is_empty() {
            self.report.warnings.push(
                "symmetry joins states: a property about single processes may hold or fail only because of that".into(),
            );
        }
    }

    fn open(&mut self, kind: &str, name: &str) {
        self.report.properties.push(Asked {
            kind: kind.into(),
            name: name.into(),
            verdict: "unknown".into(),
            meaning: self.why_open(),
            trace: None,
        });
    }

    fn graph(&self) -> Option<&Graph> {
        let complete = self.explored.wrong.is_none() && self.explored.incomplete.is_none();
        self.explored.graph.as_ref().filter(|_| complete)
    }

    fn branching(&mut self, questions: &Questions, mut keeper: Option<&mut Keeper<'_>>) -> Result<(), Box<Fault>> {
        if self.explored.graph.is_none() || self.graph().is_none() {
            questions.formulas.iter().for_each(|(text, _)| self.open("ctl", text));
            return Ok(());
        }
        let mut answers = Vec::new();
        if let Some(graph) = self.graph() {
            let labels = |text: &str| match questions.atoms.get(text) {
                Some(expr) => self.explored.label(self.spec, expr),
                None => Err(Fault::new(Default::default(), format!("`{text}` is not known"))),
            };
            if let Some(keeper) = keeper.as_deref_mut() {
                keeper.decide(questions.formulas.iter().map(|(_, formula)| formula), self.explored, &labels)?;
            }
            let mut checker = Checker::new(graph, Keeper::labels(keeper, self.explored, labels));
            for (text, formula) in &questions.formulas {
                let initial = 0..self.explored.initial() as StateId;
                let failing = checker.failing(formula, initial)?;
                let shown = match failing {
                    Some(state) => Some(checker.explain(formula, state)?),
                    None => None,
                };
                answers.push((text.clone(), shown));
            }
        }
        for (text, shown) in answers {
            let mut asked =
                Asked { kind: "ctl".into(), name: text, verdict: "holds".into(), meaning: String::new(), trace: None };
            if let Some(evidence) = shown {
                asked.verdict = "fails".into();
                asked.meaning = "in a state at the start".into();
                asked.trace = Some(self.told(&evidence.path())?);
            }
            self.report.properties.push(asked);
        }
        Ok(())
    }

    fn told(&self, path: &Path) -> Result<isolde_report::Behaviour, Box<Fault>> {
        let mut behaviour = self.explored.path(self.spec, path)?;
        let end = path.end();
        behaviour.stays =
            path.back_to.is_none() && self.explored.graph.as_ref().is_some_and(|graph| graph.is_dead(end));
        Ok(behaviour)
    }

    fn linear(&mut self) -> Result<(), Box<Fault>> {
        if self.graph().is_none() {
            self.spec.properties.iter().for_each(|(name, _)| self.open("property", name));
            return Ok(());
        }
        let mut answers = Vec::new();
        if let Some(graph) = self.graph() {
            let meaning = Meaning::new(self.spec, self.explored, graph);
            let mut fairness = Vec::new();
            for condition in &self.spec.fairness {
                meaning.fairness(condition, Env::default(), &mut fairness)?;
            }
            let initial: Vec<StateId> = (0..self.explored.initial() as StateId).collect();
            for (name, property) in &self.spec.properties {
                let formula = meaning.formula(property, Env::default())?;
                let broken = live::violation(graph, &initial, &fairness, &formula);
                answers.push((name.clone(), property.at, broken, initial.clone()));
            }
        }
        for (name, at, broken, initial) in answers {
            let mut asked =
                Asked { kind: "property".into(), name, verdict: "holds".into(), meaning: String::new(), trace: None };
            match broken.map_err(|large| Fault::new(at, large.to_string()))? {
                None => (),
                Some(path) => {
                    asked.verdict = "fails".into();
                    asked.meaning = "this behaviour breaks it".into();
                    asked.trace = Some(self.told(&self.begun_at_start(path, &initial))?);
                }
            }
            self.report.properties.push(asked);
        }
        Ok(())
    }

    /// The path, with a way to where it begins.
    fn begun_at_start(&self, path: Path, initial: &[StateId]) -> Path {
        let Some(&first) = path.states.first() else { return path };
        let Some(graph) = self.graph() else { return path };
        if initial.contains(&first) {
            return path;
        }
        match Walk::shortest(graph, initial.iter().copied(), |_| true, |state| state == first) {
            Some(way) => {
                let shift = way.edges.len();
                let back_to = path.back_to.map(|back| back + shift);
                let mut joined = way.then(Path { back_to: None, ..path });
                joined.back_to = back_to;
                joined
            }
            None => path,
        }
    }

    /// How often each action was taken; those that can never be, too.
    fn coverage(&mut self) {
        let mut counts: BTreeMap<(String, usize, String), (u64, u64)> = BTreeMap::new();
        for action in self.spec.actions() {
            counts.insert((action.file, action.line, action.name), (0, 0));
        }
        for (index, way) in self.explored.ways.iter().enumerate() {
            let (taken, new) = self.explored.taken.get(index).copied().unwrap_or_default();
            let action = &self.explored.actions[way.action];
            let count = counts.entry((action.file.clone(), action.line, action.name.clone())).or_default();
            *count = (count.0 + taken, count.1 + new);
        }
        self.report.coverage = counts
            .into_iter()
            .map(|((file, line, action), (taken, new))| Covered { action, place: format!("{file}:{line}"), taken, new })
            .collect();
    }
}
