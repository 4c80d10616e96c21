//! Loops inside loops.
//!
//! A [`Run`] holds one slot per relation. Each step of a nest puts rows into its slot, one after the other, checks what
//! can be checked now and lets the next step run; after the last step the sink sees all slots filled. An outer join
//! runs its right nest for each row of its left one and, if nothing came of it, once more with no rows.

use std::ops::ControlFlow;
use std::rc::Rc;

use isolde_sql::Row;
use isolde_sql::budget::spend;
use smallvec::SmallVec;

use super::scan::HashTable;
use super::{Candidate, Flow, GO_ON, Level};
use crate::eval::{Context, Env, Interrupt, RelRow, all_true};
use crate::plan::{Expr, Item, Nest, SelectPlan, Step};

/// What is called with every joined row.
pub(super) type Sink<'s> = dyn FnMut(&mut Context<'_>, &mut Run<'_>) -> Flow + 's;

/// One execution of a select.
pub(super) struct Run<'r> {
    /// The row of each relation, as far as the loops have come.
    pub(super) slots: SmallVec<[RelRow; 2]>,
    pub(super) plan: &'r SelectPlan,
    pub(super) level: Level<'r>,
    /// Each relation has exactly this row.
    pub(super) fixed: Option<&'r Candidate>,
    pub(super) hashes: Vec<Option<Rc<HashTable>>>,
    /// The rows of routines that are called once.
    pub(super) kept: Vec<(usize, Rc<[Row]>)>,
}

impl<'r> Run<'r> {
    pub(super) fn new(plan: &'r SelectPlan, level: Level<'r>) -> Run<'r> {
        let empty = |nulls: &Row| RelRow { missing: true, ..RelRow::new(nulls.clone()) };
        Run {
            slots: plan.nulls.iter().map(empty).collect(),
            plan,
            level,
            fixed: None,
            hashes: vec![None; plan.hashes],
            kept: Vec::new(),
        }
    }

    /// A run in which every relation has one row, that of the candidate.
    pub(super) fn fixed(plan: &'r SelectPlan, candidate: &'r Candidate, level: Level<'r>) -> Run<'r> {
        Run { fixed: Some(candidate), ..Run::new(plan, level) }
    }

    /// The rows bound so far.
    pub(super) fn env(&self) -> Env<'_> {
        Env::new(&self.slots).within(self.level.outer).cached(self.level.cache).extended(self.level.extra)
    }

    /// Calls `sink` with every joined row that satisfies all conditions.
    pub(super) fn rows(&mut self, ctx: &mut Context<'_>, sink: &mut Sink<'_>) -> Result<(), Interrupt> {
        let nest = &self.plan.nest;
        self.nest(ctx, nest, sink).map(drop)
    }

    fn nest(&mut self, ctx: &mut Context<'_>, nest: &Nest, sink: &mut Sink<'_>) -> Flow {
        if !self.holds(ctx, &nest.gates)? {
            return GO_ON;
        }
        if !nest.first.is_empty() && !self.siread_first(ctx, &nest.first)? {
            return GO_ON;
        }
        self.steps(ctx, &nest.steps, sink)
    }

    /// Runs the first of some steps, which runs the others.
    fn steps(&mut self, ctx: &mut Context<'_>, steps: &[Step], sink: &mut Sink<'_>) -> Flow {
        let Some((step, rest)) = steps.split_first() else { return sink(ctx, self) };
        match &step.item {
            Item::Rel(rel) => self.rel(ctx, rel, &mut |ctx, run| run.bound(ctx, step, rest, sink)),
            Item::Left { left, right, right_rels } => self.nest(ctx, left, &mut |ctx, run| {
                let mut matched = false;
                let flow = run.nest(ctx, right, &mut |ctx, run| {
                    matched = true;
                    run.bound(ctx, step, rest, sink)
                })?;
                if matched || flow.is_break() {
                    return Ok(flow);
                }
                run.unbind(right_rels);
                run.bound(ctx, step, rest, sink)
            }),
            Item::Full { left, right, left_rels, right_rels, on } => {
                let sides = Sides { left, right, left_rels, right_rels, on };
                self.full(ctx, &sides, &mut |ctx, run| run.bound(ctx, step, rest, sink))
            }
        }
    }

    /// Goes on behind a step whose rows are bound.
    fn bound(&mut self, ctx: &mut Context<'_>, step: &Step, rest: &[Step], sink: &mut Sink<'_>) -> Flow {
        spend(1)?;
        if !self.holds(ctx, &step.conditions)? {
            return GO_ON;
        }
        self.steps(ctx, rest, sink)
    }

    /// Whether all conditions hold for what is bound.
    pub(super) fn holds(&self, ctx: &mut Context<'_>, conditions: &[Expr]) -> Result<bool, Interrupt> {
        if conditions.is_empty() { Ok(true) } else { all_true(ctx, &self.env(), conditions) }
    }

    /// Leaves relations without a row.
    fn unbind(&mut self, rels: &[usize]) {
        for &rel in rels {
            self.slots[rel] = RelRow { missing: true, ..RelRow::new(self.plan.nulls[rel].clone()) };
        }
    }

    /// A full join: every pair that matches, then what is left over on both sides.
    fn full(&mut self, ctx: &mut Context<'_>, sides: &Sides<'_>, sink: &mut Sink<'_>) -> Flow {
        let rights = self.collect(ctx, sides.right, sides.right_rels)?;
        let mut matched = vec![false; rights.len()];
        let flow = self.nest(ctx, sides.left, &mut |ctx, run| {
            let mut found = false;
            for (rows, matched) in rights.iter().zip(&mut matched) {
                spend(1)?;
                run.bind(sides.right_rels, rows);
                if run.holds(ctx, sides.on)? {
                    (found, *matched) = (true, true);
                    if sink(ctx, run)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            if found {
                return GO_ON;
            }
            run.unbind(sides.right_rels);
            sink(ctx, run)
        })?;
        if flow.is_break() {
            return Ok(flow);
        }
        self.unbind(sides.left_rels);
        for (rows, _) in rights.iter().zip(&matched).filter(|(_, matched)| !**matched) {
            self.bind(sides.right_rels, rows);
            if sink(ctx, self)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        GO_ON
    }

    fn collect(&mut self, ctx: &mut Context<'_>, nest: &Nest, rels: &[usize]) -> Result<Vec<Vec<RelRow>>, Interrupt> {
        let mut rows = Vec::new();
        let flow = self.nest(ctx, nest, &mut |_, run| {
            rows.push(rels.iter().map(|rel| run.slots[*rel].clone()).collect());
            GO_ON
        });
        flow.map(|_| rows)
    }

    fn bind(&mut self, rels: &[usize], rows: &[RelRow]) {
        for (rel, row) in rels.iter().zip(rows) {
            self.slots[*rel] = row.clone();
        }
    }
}

/// The parts of a full join.
struct Sides<'p> {
    left: &'p Nest,
    right: &'p Nest,
    left_rels: &'p [usize],
    right_rels: &'p [usize],
    on: &'p [Expr],
}
