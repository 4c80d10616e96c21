//! No threads wait for each other in a cycle, unless every one of them is written to try again.
//!
//! Trying again may fail again, as often as one likes: which thread overtakes which is chance. Running out of retries
//! is therefore an abort like any other, told in a warning, and not a violation.
//!
//! Which member of a cycle loses its transaction is chance, too, even where a back-end always chooses the same one. So
//! it is enough that one of them does not try again. Of a program that is only known once it was the victim.

use isolde_sql::SqlState;

use super::{At, Explained, Property, Violation};
use crate::backend::{Backend, Fate, Holds, Runs, Wait};
use crate::graph;
use crate::names;
use crate::trace::RunOf;
use crate::trouble::Trouble;

pub(super) struct Deadlock;

const NAME: &str = "deadlock";

impl<B: Backend> Property<B> for Deadlock {
    fn names(&self, system: B) -> Vec<String> {
        let asked = system.options().deadlock != Some(false);
        if asked { vec![NAME.into()] } else { Vec::new() }
    }

    fn at_state(&self, at: &At<'_, B>) -> Result<Vec<Violation>, Trouble> {
        let system = at.system;
        let members = system.deadlocked(at.state, at.event);
        if system.options().deadlock == Some(false) || !members.iter().any(|&thread| gives_up(at, thread)) {
            return Ok(Vec::new());
        }
        let threads: Vec<&str> = members.iter().map(|&t| system.member(t).name).collect();
        let mut violation = Violation::new(NAME, format!("{} wait for each other.", names::listed(&threads)));
        let again = match system.capabilities().runs {
            Runs::Scenario => "write `retry 1` behind their names",
            Runs::Programs => "write `retries = 1` in their sections",
        };
        violation.remarks.push(format!(
            "PostgreSQL ends one of them with error 40P01. Lock rows in the same order everywhere; or, if these clients \
             try again, {again}."
        ));
        Ok(vec![violation])
    }

    fn explain(&self, run: &RunOf<B>) -> Result<Explained, Trouble> {
        let waits = run.system.waits(run);
        let sentences = waits.chunk_by(|a, b| a.thread == b.thread).map(|waits| sentence(run.system, waits));
        let sentences: Vec<String> = sentences.collect();
        let paragraphs = (!sentences.is_empty()).then(|| sentences.join(" "));
        let graph = (!waits.is_empty()).then(|| graph::of_waits(run, &waits));
        Ok(Explained { anomaly: None, paragraphs: paragraphs.into_iter().collect(), graph })
    }
}

/// Whether a member of a deadlock would not try again.
fn gives_up<B: Backend>(at: &At<'_, B>, thread: usize) -> bool {
    let member = at.system.member(thread);
    let may = member.retries == 0 && !member.expected.contains(&SqlState::DEADLOCK_DETECTED);
    may && match at.system.capabilities().runs {
        Runs::Scenario => true,
        Runs::Programs => {
            let fate = at.system.fate(at.state, thread);
            matches!(fate, Fate::Aborted(error) if error.state == SqlState::DEADLOCK_DETECTED)
        }
    }
}

/// `alice waits for account id = 2 (line 9), which bob has locked (line 8).`
fn sentence<B: Backend>(system: B, waits: &[Wait]) -> String {
    let Wait { thread, item, wants, .. } = &waits[0];
    let line = |place: &Option<isolde_report::Place>| place.as_ref().map(|p| format!(" ({})", names::line_of(p)));
    let holders = waits.iter().map(|wait| {
        let name = system.member(wait.holder).name;
        match &wait.holds {
            Holds::Since(end) => format!("{name} has locked{}", line(&end.place).unwrap_or_default()),
            Holds::Queued => format!("{name} is ahead for"),
            Holds::Somehow => format!("{name} holds"),
        }
    });
    let (holders, line) = (names::listed(&holders.collect::<Vec<_>>()), line(&wants.place).unwrap_or_default());
    let item = item.as_deref().unwrap_or("a lock");
    format!("{} waits for {item}{line}, which {holders}.", system.member(*thread).name)
}
