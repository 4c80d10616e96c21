//! Which statements a counterexample needs.
//!
//! Each statement that has run is left out in turn, the last one first, and the smaller scenario is searched: if the
//! same property is broken there, for the same reason, by a run that is no longer, then the statement stays out. The
//! reason is the explanation, word for word, so a statement that it names is never left out.

use isolde_explore::Schedule;
use isolde_sql::Span;
use isolde_sql::typed::StatementKind;

use super::shortest::{Budget, Wanted};
use crate::backend::Backend;
use crate::check::follow;
use crate::checker::Finding;
use crate::embedded_check::without_trouble;
use crate::property::{Explained, Property};
use crate::scenario::{Scenario, Submission, Thread};
use crate::system::{Choice, ScenarioSystem};

/// The statements that can be left out, all of them at once, in the order of the file.
pub(super) fn not_needed(system: ScenarioSystem<'_>, shown: &Finding) -> Vec<Span> {
    if on_engine(system, shown).needs_all_threads() {
        return Vec::new();
    }
    let reason = reason(system, shown, &shown.schedule);
    let ran = without_trouble(follow(system.without(shown.absent), &shown.schedule)).end;
    let mut smaller = system.scenario.clone();
    let mut spans = Vec::new();
    let mut budget = Budget::new(system);
    for (thread, client) in ran.clients.iter().enumerate() {
        if shown.absent.contains(thread) {
            continue;
        }
        for statement in (0..client.progress.next).rev() {
            let submission = &system.scenario.threads[thread].statements[statement];
            // What comes later may be gone already; what comes earlier is still there, at its place.
            if budget.is_spent() || !can_go(&smaller.threads[thread], statement) {
                continue;
            }
            let tried = without(&smaller, thread, statement);
            if survives(ScenarioSystem { scenario: &tried, ..system }, shown, &reason, &mut budget) {
                smaller = tried;
                spans.push(submission.prepared.statement.span);
            }
        }
    }
    spans.sort();
    spans
}

fn without(scenario: &Scenario, thread: usize, statement: usize) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.threads[thread].statements.remove(statement);
    scenario
}

/// Whether the property is still broken, and for the same reason.
fn survives(system: ScenarioSystem<'_>, shown: &Finding, reason: &Explained, budget: &mut Budget) -> bool {
    let system = ScenarioSystem { absent: shown.absent, ..system };
    let steps_max = shown.schedule.steps.len();
    let wanted = Wanted { property: Some(&shown.violation.name), like: None, steps_max };
    budget.shortest(system, wanted).is_some_and(|finding| {
        finding.violation.headline == shown.violation.headline
            && self::reason(system, &finding, &finding.schedule) == *reason
    })
}

fn reason(system: ScenarioSystem<'_>, finding: &Finding, schedule: &Schedule<Choice>) -> Explained {
    let run = without_trouble(follow(system.without(finding.absent), schedule));
    without_trouble(on_engine(system, finding).explain(&run))
}

/// The property that is broken.
fn on_engine<'p>(_: ScenarioSystem<'p>, finding: &Finding) -> &'p dyn Property<ScenarioSystem<'p>> {
    finding.property.on()
}

/// Whether a thread without this statement is still what its author might have written: transactions stay as they are,
/// and no variable is used that nobody sets.
fn can_go(thread: &Thread, statement: usize) -> bool {
    let is_work = |submission: &Submission| {
        matches!(
            submission.prepared.statement.kind,
            StatementKind::Query(_)
                | StatementKind::Insert(_)
                | StatementKind::Update(_)
                | StatementKind::Delete(_)
                | StatementKind::Merge(_)
                | StatementKind::Call(..)
                | StatementKind::Do(_)
        )
    };
    let Some(submission) = thread.statements.get(statement) else { return false };
    let sets = submission.gset.as_deref().unwrap_or_default();
    let used = thread.statements[statement + 1..].iter().any(|later| later.params.iter().any(|p| sets.contains(p)));
    is_work(submission) && !used && thread.statements.iter().filter(|s| is_work(s)).count() > 1
}
