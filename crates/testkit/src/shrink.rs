//! Smaller programs that still show a difference.
//!
//! A generated program of thirty steps that ends in a difference usually needs five of them. Shrinking removes steps
//! for as long as the difference remains: half of them at first, then smaller and smaller runs, at last single steps
//! until none can go. Then statements of the set-up, from the last to the first.

use crate::program::Program;

/// The smallest program found for which `differs` still holds. It must hold for `program`.
pub fn shrink(program: &Program, mut differs: impl FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let mut run = best.steps.len().div_ceil(2).max(1);
    loop {
        let smaller = without_runs(&best, run, &mut differs);
        let progress = smaller.steps.len() < best.steps.len();
        best = smaller;
        if run == 1 && !progress {
            return without_setup(best, &mut differs);
        }
        run = (run / 2).max(1);
    }
}

/// Tries to remove each statement of the set-up.
fn without_setup(mut best: Program, differs: &mut impl FnMut(&Program) -> bool) -> Program {
    for index in (0..best.setup.len()).rev() {
        let mut candidate = best.clone();
        candidate.setup.remove(index);
        if differs(&candidate) {
            best = candidate;
        }
    }
    best
}

/// Tries to remove each run of `length` steps, from the end to the beginning.
fn without_runs(program: &Program, length: usize, differs: &mut impl FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let mut end = best.steps.len();
    while end > 0 {
        let start = end.saturating_sub(length);
        let mut candidate = best.clone();
        candidate.steps.drain(start..end);
        if differs(&candidate) {
            best = candidate;
        }
        end = start;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    /// Steps 3 and 17 matter, in this order; everything else goes.
    #[test]
    fn only_what_matters_is_left() {
        let mut program = generate::concurrent(7);
        while program.steps.len() < 20 {
            program.steps.push((0, "SELECT 1".into()));
        }
        program.steps[3] = (0, "first".into());
        program.steps[17] = (1, "second".into());
        let differs = |candidate: &Program| {
            let texts: Vec<&str> = candidate.steps.iter().map(|(_, text)| text.as_str()).collect();
            texts.contains(&"first") && texts.contains(&"second")
        };
        let small = shrink(&program, differs);
        assert_eq!(small.steps, vec![(0, "first".to_string()), (1, "second".to_string())]);
    }
}
