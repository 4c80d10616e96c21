//! The whole job: a specification explored, everything that is asked of it answered, with behaviours that show what
//! fails.

use std::collections::BTreeMap;

use isolde_report::{Asked, Covered, SpaceReport, SpaceSize};

use crate::ctl::{Checker, Formula};
use crate::explore::{self, Incomplete, Watch, What};
use crate::explored::Explored;
use crate::graph::{Graph, Path, StateId, Walk};
use crate::joined;
use crate::keep::Keeper;
use crate::live;
use crate::temporal::Meaning;
use crate::tla::Spec;
use crate::tla::eval::{Env, Partial};
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
    let warning = without_symmetry(spec, &questions);
    if warning.is_some() {
        spec.symmetry.clear();
    }
    let spec = &*spec;
    let mut answer = questions.answer(spec, options, watch, keeper).map_err(|fault| spec.sources.error(&fault))?;
    answer.report.warnings.extend(warning);
    Ok(answer)
}

/// Why symmetry is not made use of: it must make no difference to what is asked.
fn without_symmetry(spec: &Spec, questions: &Questions) -> Option<String> {
    if spec.symmetry.is_empty() {
        return None;
    }
    let not_used = |why: String| Some(format!("SYMMETRY is not used, all states are looked at: {why}"));
    if let Some((name, _)) = spec.properties.iter().find(|(_, property)| joined::safety(spec, property).is_none()) {
        return not_used(format!("`{name}` is about more than single states and steps"));
    }
    if !questions.formulas.is_empty() {
        return not_used("a formula of CTL is about more than single states".into());
    }
    let expr = joined::asymmetry(spec)?;
    let (line, _) = spec.sources.line(expr.at);
    let (text, file) = (spec.sources.text(expr.at), spec.sources.name(expr.at));
    not_used(format!("`{text}` ({file} line {line}) may tell values apart that it permutes"))
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
        // Where there is no state yet, or we give up, no behaviour shows it.
        if let Some((What::Fault(fault), state, beyond)) = &explored.wrong
            && (fault.is_limit || state.is_none() && beyond.is_none())
        {
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
        if let Some((What::Fault(fault), ..)) = wrong {
            let (line, column) = self.spec.sources.line(fault.at);
            let place = format!("{}:{line}:{column}", self.spec.sources.name(fault.at));
            let text = self.spec.sources.text(fault.at).lines().next().unwrap_or("");
            let hint = fault.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            let meaning = format!("{}{hint}: `{text}`, evaluated in the last state", fault.message);
            self.asked_of_search("evaluation of", &place, true, open, &meaning)?;
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
        if self.spec.view.is_some() && self.explored.graph.is_some() {
            self.report.warnings.push(
                "VIEW joins states that look the same: what holds of properties and formulas rests on their having the same future"
                    .into(),
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
                let path = evidence.path();
                match self.explored.is_joined() {
                    false => asked.trace = Some(self.told(&path)?),
                    true => self.show(&mut asked, joined::walked(self.spec, self.explored, &path)?)?,
                }
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
                if self.explored.is_joined() {
                    answers.push((name.clone(), property.at, Ok(None), Vec::new()));
                    continue;
                }
                let formula = meaning.formula(property, Env::default())?;
                let broken = live::violation(graph, &initial, &fairness, &formula);
                answers.push((name.clone(), property.at, broken, initial.clone()));
            }
        }
        for (place, (name, at, broken, initial)) in answers.into_iter().enumerate() {
            let mut asked =
                Asked { kind: "property".into(), name, verdict: "holds".into(), meaning: String::new(), trace: None };
            if self.explored.is_joined() {
                self.linear_joined(&mut asked, &self.spec.properties[place].1)?;
                self.report.properties.push(asked);
                continue;
            }
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

    /// The same where states are joined to classes: what fails is shown by a behaviour, or not known to fail.
    fn linear_joined(&self, asked: &mut Asked, property: &Expr) -> Result<(), Box<Fault>> {
        let Some(graph) = self.graph() else { return Ok(()) };
        if let Some(parts) = joined::safety(self.spec, property) {
            if let Some((state, beyond)) = joined::broken(self.spec, self.explored, graph, &parts)? {
                asked.verdict = "fails".into();
                asked.meaning = "this behaviour breaks it".into();
                asked.trace = Some(self.explored.behaviour_to(self.spec, state, beyond.as_ref())?);
            }
            return Ok(());
        }
        let meaning = Meaning::new(self.spec, self.explored, graph);
        let mut fairness = Vec::new();
        for condition in &self.spec.fairness {
            meaning.fairness(condition, Env::default(), &mut fairness)?;
        }
        let formula = meaning.formula(property, Env::default())?;
        let initial: Vec<StateId> = (0..self.explored.initial() as StateId).collect();
        let broken = live::violation(graph, &initial, &fairness, &formula);
        if let Some(path) = broken.map_err(|large| Fault::new(property.at, large.to_string()))? {
            let path = self.begun_at_start(path, &initial);
            asked.verdict = "fails".into();
            asked.meaning = "this behaviour breaks it".into();
            let behaviour = joined::confirmed(self.spec, self.explored, &path, property)?;
            self.show(asked, behaviour)?;
        }
        Ok(())
    }

    /// Shows what fails by a behaviour; if there is none, it is not known to fail.
    fn show(&self, asked: &mut Asked, found: Option<(Vec<Partial>, Option<usize>)>) -> Result<(), Box<Fault>> {
        match found {
            Some((states, back_to)) => {
                let mut behaviour = self.explored.behaviour(self.spec, &states)?;
                behaviour.back_to = back_to;
                asked.trace = Some(behaviour);
            }
            None => {
                asked.verdict = "unknown".into();
                asked.meaning = "it fails in the view, and no behaviour was found that breaks it".into();
            }
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
