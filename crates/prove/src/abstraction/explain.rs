//! How a proof was looked for, in words.

use std::fmt::Write as _;

use isolde_smt::{Silence, Solver};

use super::{Cube, End, Predicate, Round, Story, Subject};
use crate::Options;
use crate::ir;
use crate::program::Program;

/// How predicate abstraction goes about every procedure and every rule that was asked for.
pub fn explanations(program: &Program, solver: &Solver, options: &Options) -> Result<String, Silence> {
    each(program, options, &mut |subject| {
        let story = subject.prove(solver, &options.limits)?;
        Ok(subject.explain(&story))
    })
}

/// The boolean programs of every procedure and every rule that was asked for, one for each abstraction.
pub fn boolean_programs(program: &Program, solver: &Solver, options: &Options) -> Result<String, Silence> {
    each(program, options, &mut |subject| {
        let story = subject.prove(solver, &options.limits)?;
        let mut text = String::new();
        for (n, round) in story.rounds.iter().enumerate() {
            let _ = match n {
                0 => writeln!(text, "Boolean program 1"),
                _ => writeln!(text, "\nBoolean program {}, after refinement {n}", n + 1),
            };
            text.push_str(&subject.boolean_program(round, solver, options.limits.timeout)?);
        }
        text.push_str(subject.conclusion(&story));
        Ok(text)
    })
}

/// Calls `tell` for each procedure and rule, under a heading.
fn each(
    program: &Program,
    options: &Options,
    tell: &mut dyn FnMut(&Subject<'_>) -> Result<String, Silence>,
) -> Result<String, Silence> {
    let mut text = String::new();
    for id in program.procedures() {
        let name = program.catalog().routine(id).name.clone();
        if options.procedure.as_ref().is_some_and(|wanted| **wanted != *name) {
            continue;
        }
        for rule in
            program.rules.iter().filter(|rule| options.rule.as_ref().is_none_or(|wanted| **wanted == *rule.name))
        {
            let _ = writeln!(text, "{}{name} and {}", if text.is_empty() { "" } else { "\n" }, rule.name);
            let graph = ir::lower(program.catalog(), id);
            let told = match graph.as_ref().map(|graph| Subject::new(program, graph, rule)) {
                Ok(Ok(subject)) => tell(&subject)?,
                Ok(Err(refusal)) => format!("no predicate abstraction: not modelled: {}\n", refusal.what),
                Err(refusal) => format!("no predicate abstraction: not modelled: {}\n", refusal.what),
            };
            text.push_str(&told);
        }
    }
    Ok(text)
}

impl Subject<'_> {
    /// The story of a proof: what was asked, what went wrong, what was learnt.
    pub fn explain(&self, story: &Story) -> String {
        let mut out = String::new();
        for (n, round) in story.rounds.iter().enumerate() {
            self.asked(&mut out, n, round);
            if let Some(path) = &round.path {
                let _ = writeln!(out, "  As far as these predicates tell, the rule can be broken on this way:");
                path.iter().for_each(|clause| {
                    let _ = writeln!(out, "    {}", self.described(&self.clauses.clauses[*clause]));
                });
            }
            if !round.learnt.is_empty() {
                let _ = writeln!(
                    out,
                    "  It cannot happen: written out, with a row for every lookup, there are no rows and arguments for it."
                );
                let _ = writeln!(out, "  What rules it out, and is asked from now on:");
                listed(&mut out, &round.learnt, false);
            }
        }
        self.ended(&mut out, story);
        out
    }

    /// What the last boolean program shows.
    fn conclusion(&self, story: &Story) -> &'static str {
        match story.end {
            End::Safe(_) => "The assertion holds on every way; the invariant was checked.\n",
            End::Feasible(_) => "The assertion fails, on a way that can happen.\n",
            End::Open(_) => "The assertion fails on a way of which it is not known whether it can happen.\n",
        }
    }

    fn asked(&self, out: &mut String, n: usize, round: &Round) {
        let count = round.predicates.len();
        let _ = match n {
            0 => writeln!(out, "Abstraction 1. {count} predicates, of an arbitrary row and the variables:"),
            _ => writeln!(out, "Abstraction {}. {count} predicates, with what was learnt.", n + 1),
        };
        if n == 0 {
            listed(out, &round.predicates, true);
        }
    }

    fn ended(&self, out: &mut String, story: &Story) {
        let _ = match &story.end {
            End::Safe(_) => {
                let _ = writeln!(out, "  The rule is kept on every way. What is known at each place:");
                if let Some(round) = story.rounds.last() {
                    self.known(out, round);
                }
                let steps = self.clauses.clauses.len();
                writeln!(out, "  Checked: put back into the {steps} steps of the procedure, each step follows. Safe.")
            }
            End::Feasible(_) => writeln!(
                out,
                "  It can happen: written out, with a row for every lookup, there are rows and arguments for it. Not safe."
            ),
            End::Open(why) => writeln!(out, "  The loop ends here: {why}."),
        };
    }

    /// What was reached at each cut, in the order of the text.
    fn known(&self, out: &mut String, round: &Round) {
        let mut cuts: Vec<usize> = round.reached.keys().copied().collect();
        cuts.sort_by_key(|cut| (self.line_of(Some(*cut)), *cut));
        for cut in cuts {
            let cubes = round.reached[&cut].iter().map(|cube| said(cube, &round.predicates));
            let cubes: Vec<String> = cubes.collect();
            let _ = writeln!(out, "    L{cut}, line {}: {}", self.line_of(Some(cut)), cubes.join("  or  "));
        }
    }
}

fn said(cube: &Cube, predicates: &[Predicate]) -> String {
    let literals =
        cube.0.iter().map(|(at, holds)| format!("{}{}", if *holds { "" } else { "!" }, predicates[*at].name));
    let literals: Vec<String> = literals.collect();
    if literals.is_empty() { "anything".into() } else { literals.join(" & ") }
}

fn listed(out: &mut String, predicates: &[Predicate], reasons: bool) {
    let width = predicates.iter().map(|p| p.name.len()).max().unwrap_or(0);
    for predicate in predicates {
        let why = if reasons { format!("   ({})", predicate.origin.reason()) } else { String::new() };
        let _ = writeln!(out, "    {:width$}  {}{why}", predicate.name, predicate.text());
    }
}
