//! Cycles between units: the shortest ones, and of these the one that is easiest to name.
//!
//! A shortest cycle is shortest to explain. Units are few, so we find its length by breadth-first search from each
//! unit, then look at all cycles of that length: between two units there may be several conflicts, and which of them
//! are chosen decides the name. `alice read x, bob wrote x and y, alice wrote x and y` is a lost update if told by x
//! alone, and nothing with a name if told by her reading x and writing y.

use crate::{Anomaly, Conflict, ConflictKind, History, Op};
use std::collections::{BTreeSet, VecDeque};

/// A cycle: each conflict ends in the unit in which the next one begins, and the last in that of the first.
pub struct Cycle<'a> {
    pub(crate) history: &'a History,
    pub(crate) conflicts: Vec<&'a Conflict>,
}

impl<'a> Cycle<'a> {
    /// The conflicts along the cycle.
    pub fn conflicts(&self) -> &[&'a Conflict] {
        &self.conflicts
    }

    /// How many conflicts are of this kind.
    pub fn count(&self, kind: ConflictKind) -> usize {
        self.conflicts.iter().filter(|conflict| conflict.kind == kind).count()
    }

    /// Whether all conflicts are of this kind.
    pub fn all(&self, kind: ConflictKind) -> bool {
        self.count(kind) == self.conflicts.len()
    }

    /// Whether some conflict is of this kind.
    pub fn any(&self, kind: ConflictKind) -> bool {
        self.count(kind) > 0
    }

    /// Whether some read did not see, because of its condition, what another unit wrote.
    pub fn any_predicate(&self) -> bool {
        self.conflicts.iter().any(|conflict| conflict.predicate && conflict.kind == ConflictKind::ReadWrite)
    }

    /// Whether some operation touched what a transaction had written and not yet committed.
    pub fn any_dirty(&self) -> bool {
        self.conflicts.iter().any(|conflict| self.history.is_dirty(conflict))
    }

    /// Whether it consists of two conflicts of these kinds that fit together.
    pub fn pair_of(
        &self,
        first: ConflictKind,
        second: ConflictKind,
        fit: impl Fn(&Conflict, &Conflict) -> bool,
    ) -> bool {
        match self.conflicts[..] {
            [a, b] if (a.kind, b.kind) == (first, second) => fit(a, b),
            [a, b] if (b.kind, a.kind) == (first, second) => fit(b, a),
            _ => false,
        }
    }

    /// The operations of a conflict: the one that must come first, and the other.
    pub fn ops(&self, conflict: &Conflict) -> Option<(&'a Op, &'a Op)> {
        self.history.ends(conflict)
    }

    /// Whether it is a single read of something that was rolled back; then it is no cycle.
    pub fn is_aborted_read(&self) -> bool {
        matches!(self.conflicts[..], [conflict] if self.history.is_aborted_read(conflict))
    }

    /// Whether the values that were overwritten are lost at the end of the run.
    pub fn is_lost(&self, write: &Conflict) -> bool {
        self.history.is_lost(&write.item)
    }

    /// Whether the isolation levels exclude it, so that it cannot be what was observed.
    ///
    /// A transaction that reads from one snapshot sees another one as a whole or not at all, and does not overwrite
    /// what it has not seen. So if all transactions of a cycle are of this kind, two anti-dependencies follow each
    /// other on it (Fekete and others, *Making Snapshot Isolation Serializable*, 2005). Checks of keys look past the
    /// snapshot and are exempt.
    pub fn is_excluded(&self) -> bool {
        let of = |conflict: &Conflict| self.ops(conflict);
        let length = self.conflicts.len();
        let next = |index: usize| self.conflicts[(index + 1) % length];
        let within_snapshots = (0..length).all(|index| {
            let (here, there) = (of(self.conflicts[index]), of(next(index)));
            here.zip(there).is_some_and(|((_, enters), (leaves, _))| {
                enters.transaction == leaves.transaction && self.history.snapshots.contains(&enters.transaction)
            })
        });
        let anti = |conflict: &Conflict| conflict.kind == ConflictKind::ReadWrite;
        let pivot = (0..length).any(|index| anti(self.conflicts[index]) && anti(next(index)));
        length > 1 && within_snapshots && !pivot && !self.conflicts.iter().any(|conflict| conflict.key)
    }

    /// Whether one of its units changes nothing.
    pub fn has_reader_only(&self) -> bool {
        let mut firsts = self.conflicts.iter().filter_map(|conflict| self.ops(conflict));
        firsts.any(|(from, _)| self.history.is_read_only(from.unit))
    }

    /// Lower is told rather: an earlier anomaly of the list, then fewer anti-dependencies, then what happened earlier.
    fn rank(&self) -> impl Ord + use<> {
        let (place, _) = Anomaly::of(self);
        let ends: Vec<_> = self.conflicts.iter().map(|conflict| (conflict.to, conflict.from)).collect();
        let predicates = self.conflicts.iter().filter(|conflict| conflict.predicate).count();
        let remote = self.conflicts.iter().filter(|conflict| !conflict.direct).count();
        (place, self.count(ConflictKind::ReadWrite), predicates, remote, ends)
    }

    /// The same cycle, told from its first read that missed something; from its first conflict if there is none.
    fn told_from_first_read(mut self) -> Self {
        let step = |conflict: &Conflict| self.history.ends(conflict).map(|(from, _)| from.step);
        let first = (0..self.conflicts.len()).min_by_key(|&index| {
            let conflict = self.conflicts[index];
            (conflict.kind != ConflictKind::ReadWrite, step(conflict), index)
        });
        self.conflicts.rotate_left(first.unwrap_or(0));
        self
    }
}

/// A shortest cycle, or a read of what was rolled back, or `None` if some serial order satisfies all conflicts.
pub(crate) fn shortest(history: &History) -> Option<Cycle<'_>> {
    if let Some(conflict) = history.conflicts.iter().filter(|conflict| history.is_aborted_read(conflict)).min() {
        return Some(Cycle { history, conflicts: vec![conflict] });
    }
    let graph = Graph::new(history);
    let cycles = graph.shortest_cycles();
    let choices_max = CHOICES_MAX / cycles.len().max(1);
    let best = cycles.iter().filter_map(|units| graph.best_along(units, choices_max));
    best.min_by_key(Cycle::rank).map(Cycle::told_from_first_read)
}

/// Between every two units, the conflicts that order them.
struct Graph<'a> {
    history: &'a History,
    between: Vec<Vec<Vec<&'a Conflict>>>,
}

/// Cycles looked at, at most: with many alike, any of them tells the story.
const CYCLES_MAX: usize = 1000;

/// Ways to choose a conflict for each edge of these cycles looked at, at most.
const CHOICES_MAX: usize = 40_000;

impl<'a> Graph<'a> {
    fn new(history: &'a History) -> Self {
        let count = history.units.len();
        let mut between = vec![vec![Vec::new(); count]; count];
        for conflict in history.conflicts.iter().filter(|conflict| !history.is_of_aborted(conflict)) {
            if let Some((from, to)) = history.ends(conflict) {
                between[from.unit.0][to.unit.0].push(conflict);
            }
        }
        // Sorted, so that the order in which conflicts were stated does not decide between two that tell as much.
        between.iter_mut().flatten().for_each(|edge| edge.sort());
        Graph { history, between }
    }

    fn is_before(&self, from: usize, to: usize) -> bool {
        !self.between[from][to].is_empty()
    }

    /// The least number of edges from `start` to every unit; at `start` itself, of a cycle through it.
    fn distances(&self, start: usize) -> Vec<Option<usize>> {
        let mut distances = vec![None; self.between.len()];
        let mut queue = VecDeque::from([(start, 0)]);
        while let Some((unit, distance)) = queue.pop_front() {
            for (next, known) in distances.iter_mut().enumerate() {
                if self.is_before(unit, next) && known.is_none() {
                    *known = Some(distance + 1);
                    queue.push_back((next, distance + 1));
                }
            }
        }
        distances
    }

    /// The cycles of least length, each as the units on it, the lowest first.
    fn shortest_cycles(&self) -> Vec<Vec<usize>> {
        let distances: Vec<_> = (0..self.between.len()).map(|unit| self.distances(unit)).collect();
        let lengths = (0..self.between.len()).filter_map(|unit| distances[unit][unit]);
        let Some(length) = lengths.min() else { return Vec::new() };
        let mut cycles = Vec::new();
        let mut paths: Vec<Vec<usize>> = (0..self.between.len()).rev().map(|start| vec![start]).collect();
        while let Some(path) = paths.pop() {
            let (start, last) = (path[0], path[path.len() - 1]);
            if path.len() == length {
                cycles.extend(self.is_before(last, start).then_some(path));
                if cycles.len() == CYCLES_MAX {
                    break;
                }
                continue;
            }
            for next in (start + 1..self.between.len()).rev() {
                // A shortest cycle meets no unit twice, and `next` must be able to close it in time.
                let in_time = distances[next][start].is_some_and(|left| path.len() + left <= length);
                if self.is_before(last, next) && in_time && !path.contains(&next) {
                    paths.push([path.as_slice(), &[next]].concat());
                }
            }
        }
        cycles
    }

    /// Of the ways to choose a conflict for each edge of a cycle, the best one.
    fn best_along(&self, units: &[usize], choices_max: usize) -> Option<Cycle<'a>> {
        let edges = self.candidates(units, choices_max);
        let choices: usize = edges.iter().map(Vec::len).product();
        let choose = |mut number: usize| {
            let conflicts = edges.iter().map(|edge| {
                let chosen = edge[number % edge.len()];
                number /= edge.len();
                chosen
            });
            Cycle { history: self.history, conflicts: conflicts.collect() }
        };
        (0..choices).map(choose).filter(|cycle| !cycle.is_excluded()).min_by_key(Cycle::rank)
    }

    /// For each edge of a cycle, the conflicts to choose from; if these are too many, those on rows that matter for
    /// other edges too.
    fn candidates(&self, units: &[usize], choices_max: usize) -> Vec<Vec<&'a Conflict>> {
        let length = units.len();
        let edges: Vec<_> = (0..length).map(|i| &self.between[units[i]][units[(i + 1) % length]]).collect();
        let fits = |each: &usize| each.checked_pow(length as u32).is_some_and(|choices| choices <= choices_max);
        let each_max = (1..).take_while(fits).last().unwrap_or(1);
        let narrow = |(index, &edge): (usize, &&Vec<&'a Conflict>)| {
            let mut edge = edge.clone();
            if edge.len() > each_max {
                let others = edges.iter().enumerate().filter(|&(other, _)| other != index);
                let rows: BTreeSet<_> = others.flat_map(|(_, other)| other.iter().map(|c| row(c))).collect();
                edge.sort_by_key(|c| (!rows.contains(&row(c)), c.kind, c.predicate, c.to, c.from));
                edge.truncate(each_max);
            }
            edge
        };
        edges.iter().enumerate().map(narrow).collect()
    }
}

fn row(conflict: &Conflict) -> (&str, u64) {
    (&conflict.item.table, conflict.item.id)
}
