//! The order of the loops, and where each condition is checked.
//!
//! Inner joins are one bag of relations and one bag of conditions: the relation that is cheapest to find given those
//! already bound comes next, the leftmost among equals. Outer joins are fixed points of the order. The conditions
//! behind ON belong to the join, with the right side's steps; a condition of WHERE comes after it, unless it only
//! mentions the side whose rows are all kept: those rows may as well not be there at all.

use isolde_sql::ast::JoinKind;
use isolde_sql::catalog::{Catalog, Table, TableId};
use isolde_sql::typed::{self, From, RelSource, Select};

use super::expr::exprs;
use super::facts::{self, Facts, RelSet, Used, facts};
use super::path::{self, Path};
use super::siread::{self, Siread};
use super::{
    Access, Expr, Item, Nest, RelStep, Source, Step, Subquery, constant_in, equal, estimate, expr, inline, simplify,
};

/// A condition that must hold, with what it depends on.
#[derive(Clone)]
pub(super) struct Condition<'e> {
    pub(super) expr: &'e typed::Expr,
    pub(super) facts: Facts,
}

/// An operand of a bag of inner joins.
enum Operand<'e> {
    Rel(usize),
    /// An outer join.
    Outer(JoinKind, &'e From, &'e From, Vec<Condition<'e>>),
}

/// Plans FROM and WHERE: the nest, and how many hash tables it uses.
pub(super) fn nest(catalog: &Catalog, select: &Select, also_used: &[&typed::Expr]) -> (Nest, usize) {
    let simplified = simplify::select(select);
    let select = simplified.as_ref().unwrap_or(select);
    let mut planner =
        Planner { catalog, select, used: Used::of_select(select, also_used), hashes: 0, single: RelSet::new() };
    let (mut operands, mut conditions) = (Vec::new(), Vec::new());
    if let Some(from) = &select.from {
        flatten(from, &mut operands, &mut conditions);
    }
    conditions.extend(select.filter.iter().flat_map(split));
    let nest = planner.nest(operands, conditions, &RelSet::new(), true);
    (nest, planner.hashes)
}

/// The conjuncts of a condition.
fn split(e: &typed::Expr) -> Vec<Condition<'_>> {
    let mut list = Vec::new();
    facts::conjuncts(e, &mut list);
    list.into_iter().map(|expr| Condition { expr, facts: facts(expr) }).collect()
}

/// Takes inner joins apart.
fn flatten<'e>(from: &'e From, operands: &mut Vec<Operand<'e>>, conditions: &mut Vec<Condition<'e>>) {
    match from {
        From::Rel(rel) => operands.push(Operand::Rel(*rel)),
        From::Join { kind: JoinKind::Inner | JoinKind::Cross, left, right, on } => {
            flatten(left, operands, conditions);
            flatten(right, operands, conditions);
            conditions.extend(on.iter().flat_map(split));
        }
        From::Join { kind, left, right, on } => {
            operands.push(Operand::Outer(*kind, left, right, on.iter().flat_map(split).collect()));
        }
    }
}

/// The relations below a join.
pub(super) fn rels_of(from: &From, rels: &mut RelSet) {
    match from {
        From::Rel(rel) => drop(rels.insert(*rel)),
        From::Join { left, right, .. } => {
            rels_of(left, rels);
            rels_of(right, rels);
        }
    }
}

impl Operand<'_> {
    fn rels(&self) -> RelSet {
        let mut rels = RelSet::new();
        match self {
            Operand::Rel(rel) => drop(rels.insert(*rel)),
            Operand::Outer(_, left, right, _) => {
                rels_of(left, &mut rels);
                rels_of(right, &mut rels);
            }
        }
        rels
    }
}

/// Removes and returns the conditions that `wanted` picks, in order.
fn take<'e>(from: &mut Vec<Condition<'e>>, wanted: impl Fn(&Facts) -> bool) -> Vec<Condition<'e>> {
    let (taken, rest) = std::mem::take(from).into_iter().partition(|c| wanted(&c.facts));
    *from = rest;
    taken
}

struct Planner<'p> {
    catalog: &'p Catalog,
    select: &'p Select,
    used: Used,
    hashes: usize,
    /// Relations that have at most one row.
    single: RelSet,
}

impl Planner<'_> {
    /// Plans a bag of inner joins. `bound` are relations whose rows are there already; `once` says that this nest is
    /// the outermost.
    fn nest(
        &mut self,
        mut operands: Vec<Operand<'_>>,
        mut conditions: Vec<Condition<'_>>,
        bound: &RelSet,
        once: bool,
    ) -> Nest {
        let mut implied = equal::gates(&conditions);
        implied.extend(inline::gates(self.select, &conditions));
        // A condition of an outer join that is about its left side alone is checked behind its right side, which is
        // read for it.
        let gates = take(&mut conditions, |f| f.rels.is_empty() && !f.volatile);
        let gates = implied.iter().map(|e| expr(self.catalog, e)).chain(self.compile(gates)).collect();
        let first = if once { self.read_first(&operands, &conditions) } else { Vec::new() };
        let mut nest = Nest { gates, first, steps: Vec::new() };
        let mut bound = bound.clone();
        while !operands.is_empty() {
            let operand = operands.remove(self.next(&operands, &conditions, &bound));
            let rels = operand.rels();
            let item = self.item(operand, &mut conditions, &bound, once && nest.steps.is_empty());
            bound.extend(rels);
            let last = operands.is_empty();
            let here = take(&mut conditions, |f| f.rels.is_subset(&bound) && (last || !f.rels.is_empty()));
            nest.steps.push(Step { item, conditions: self.compile(here) });
        }
        // Without FROM, a volatile condition has no step to stand in.
        nest.gates.extend(self.compile(conditions));
        nest
    }

    /// The tables behind IN that are expected to have more rows than the only one of FROM: they are joined to it, and
    /// the larger one is read first.
    fn read_first(&self, operands: &[Operand<'_>], conditions: &[Condition<'_>]) -> Vec<TableId> {
        let [Operand::Rel(rel)] = *operands else { return Vec::new() };
        let RelSource::Table(own) = &self.select.rels[rel].source else { return Vec::new() };
        let keyed = |c: &Condition<'_>| constant_in::keyed_table(self.catalog, c.expr);
        let tables: Vec<&Table> = conditions.iter().filter_map(keyed).collect();
        if tables.is_empty() || self.path(rel, conditions, &RelSet::new()).cost() < path::SCAN {
            return Vec::new();
        }
        let others: Vec<Condition<'_>> = conditions.iter().filter(|c| keyed(c).is_none()).cloned().collect();
        let rows = estimate::rows(self.catalog.table(*own), rel, &others);
        tables.into_iter().filter(|table| estimate::rows(table, 0, &[]) > rows).map(|table| table.id).collect()
    }

    /// Compiles conditions: what needs no subquery and no routine first, as PostgreSQL orders them by cost.
    fn compile(&self, conditions: Vec<Condition<'_>>) -> Vec<Expr> {
        let (cheap, dear): (Vec<_>, Vec<_>) =
            conditions.into_iter().partition(|c| !c.facts.subquery && !c.facts.volatile);
        cheap.into_iter().chain(dear).map(|c| expr(self.catalog, c.expr)).collect()
    }

    /// The operand to bind next.
    fn next(&self, operands: &[Operand<'_>], conditions: &[Condition<'_>], bound: &RelSet) -> usize {
        let ready = operands.iter().enumerate().filter(|(_, o)| self.needs(o).is_subset(bound));
        let cost = |o: &Operand<'_>| match o {
            Operand::Rel(rel) => {
                let own = self.path(*rel, conditions, bound).cost();
                (own, if own < path::SCAN { 0 } else { -self.opens(*rel, operands, conditions, bound) })
            }
            Operand::Outer(..) => (path::SCAN, 0),
        };
        let first = ready.min_by_key(|(_, o)| cost(o)).map_or(0, |(i, _)| i);
        if bound.is_empty() { self.expected_first(first, operands, conditions) } else { first }
    }

    /// Of two tables that have to be looked through, the one that is expected to have more rows comes first, as with
    /// PostgreSQL; unless one is expected to have but one row, and nothing by which the other could be hashed.
    fn expected_first(&self, first: usize, operands: &[Operand<'_>], conditions: &[Condition<'_>]) -> usize {
        let [Operand::Rel(a), Operand::Rel(b)] = *operands else { return first };
        let (RelSource::Table(left), RelSource::Table(right)) =
            (&self.select.rels[a].source, &self.select.rels[b].source)
        else {
            return first;
        };
        let scans = |rel: usize, bound: &RelSet| self.path(rel, conditions, bound).cost() >= path::SCAN - 1;
        let nothing = RelSet::new();
        if !scans(a, &nothing) || !scans(b, &nothing) || !scans(a, &RelSet::from([b])) || !scans(b, &RelSet::from([a]))
        {
            return first;
        }
        let (left, right) = (self.catalog.table(*left), self.catalog.table(*right));
        let (left, right) = (estimate::rows(left, a, conditions), estimate::rows(right, b, conditions));
        let hashed = self.path(b, conditions, &RelSet::from([a])).cost() < path::SCAN;
        let right_first = match hashed {
            false if left == 1.0 => false,
            false if right == 1.0 => true,
            _ => right > left,
        };
        usize::from(right_first)
    }

    /// How many other operands become cheaper to find once `rel` is bound.
    fn opens(&self, rel: usize, operands: &[Operand<'_>], conditions: &[Condition<'_>], bound: &RelSet) -> i32 {
        let mut with = bound.clone();
        with.insert(rel);
        let cheaper = |o: &&Operand<'_>| match o {
            Operand::Rel(other) if *other != rel => {
                let cost = self.path(*other, conditions, &with).cost();
                cost <= path::INDEX_MAX && cost < self.path(*other, conditions, bound).cost()
            }
            _ => false,
        };
        operands.iter().filter(cheaper).count() as i32
    }

    /// What must be bound before an operand can be.
    fn needs(&self, operand: &Operand<'_>) -> RelSet {
        let own = operand.rels();
        let needed = own.iter().flat_map(|rel| facts::source_rels(&self.select.rels[*rel].source));
        needed.filter(|rel| !own.contains(rel)).collect()
    }

    fn path<'e>(&self, rel: usize, conditions: &[Condition<'e>], bound: &RelSet) -> Path<'e> {
        match self.select.rels[rel].source {
            RelSource::Table(id) => path::choose(self.catalog.table(id), rel, conditions, bound),
            // A source that depends on other rows has no one hash table.
            _ if !facts::source_rels(&self.select.rels[rel].source).is_empty() => Path::scan(),
            _ => path::without_index(rel, conditions, bound),
        }
    }

    fn item(&mut self, operand: Operand<'_>, conditions: &mut Vec<Condition<'_>>, bound: &RelSet, once: bool) -> Item {
        match operand {
            Operand::Rel(rel) => Item::Rel(Box::new(self.rel(rel, conditions, bound, once))),
            Operand::Outer(JoinKind::Full, left, right, on) => self.full(left, right, on, bound),
            Operand::Outer(JoinKind::Right, left, right, on) => self.left(right, left, on, conditions, bound, once),
            Operand::Outer(_, left, right, on) => self.left(left, right, on, conditions, bound, once),
        }
    }

    fn rel(&mut self, rel: usize, conditions: &mut Vec<Condition<'_>>, bound: &RelSet, once: bool) -> RelStep {
        let path = self.path(rel, conditions, bound);
        let siread = match self.select.rels[rel].source {
            RelSource::Table(id) => siread::choose(self.catalog, self.catalog.table(id), rel, conditions, &self.single),
            _ => Siread::Sequential,
        };
        let mut position = 0;
        let (implied, rest): (Vec<_>, Vec<_>) = std::mem::take(conditions).into_iter().partition(|_| {
            position += 1;
            path.uses(position - 1)
        });
        *conditions = rest;
        let only_this = RelSet::from([rel]);
        let is_table = matches!(self.select.rels[rel].source, RelSource::Table(_));
        let filter = take(conditions, |f| is_table && f.local && f.rels == only_this);
        let access = path.access(self.catalog, &mut self.hashes);
        if siread::is_single(&access, &implied, &self.single, rel) {
            self.single.insert(rel);
        }
        // What was found by a key is in the read's key; what any other path implies stays in its filter.
        let keyed = matches!(access, Access::Lookup { .. } | Access::Each { .. });
        let told = filter.iter().chain(implied.iter().filter(|c| !keyed && c.facts.local && c.facts.rels == only_this));
        let told: Vec<&Condition<'_>> = told.collect();
        let read = path::read(rel, &told, self.used.of_rel(rel), once);
        RelStep {
            rel,
            source: self.source(rel),
            access,
            filter: self.compile(filter),
            implied: self.compile(implied),
            read,
            siread,
        }
    }

    fn source(&self, rel: usize) -> Source {
        self.compile_source(&self.select.rels[rel].source)
    }

    fn compile_source(&self, source: &RelSource) -> Source {
        match source {
            RelSource::With { depth, index } => Source::With { depth: *depth, index: *index },
            RelSource::Working { depth, index } => Source::Working { depth: *depth, index: *index },
            RelSource::RowsFrom { parts, ordinality } => Source::RowsFrom {
                parts: parts.iter().map(|part| (self.compile_source(&part.source), part.width)).collect(),
                ordinality: *ordinality,
            },
            RelSource::Table(id) => Source::Table(*id),
            RelSource::Query { query, .. } => Source::Query(Subquery::new(self.catalog, query)),
            RelSource::Function(f, args) => Source::Function(*f, exprs(self.catalog, args)),
            source @ RelSource::Routine(id, args) => Source::Routine {
                id: *id,
                args: exprs(self.catalog, args),
                once: facts::source_rels(source).is_empty(),
            },
        }
    }

    /// `left LEFT JOIN right ON on`
    fn left(
        &mut self,
        left: &From,
        right: &From,
        on: Vec<Condition<'_>>,
        conditions: &mut Vec<Condition<'_>>,
        bound: &RelSet,
        once: bool,
    ) -> Item {
        let (mut operands, mut inner) = (Vec::new(), Vec::new());
        flatten(left, &mut operands, &mut inner);
        let mut with_left = bound.clone();
        rels_of(left, &mut with_left);
        inner.extend(take(conditions, |f| f.rels.is_subset(&with_left) && !f.rels.is_subset(bound)));
        let left = self.nest(operands, inner, bound, once);

        let (mut operands, mut inner) = (Vec::new(), Vec::new());
        flatten(right, &mut operands, &mut inner);
        inner.extend(on);
        let mut right_rels = RelSet::new();
        rels_of(right, &mut right_rels);
        let right = self.nest(operands, inner, &with_left, false);
        Item::Left { left: Box::new(left), right: Box::new(right), right_rels: right_rels.into_iter().collect() }
    }

    fn full(&mut self, left: &From, right: &From, on: Vec<Condition<'_>>, bound: &RelSet) -> Item {
        let mut side = |from: &From| {
            let (mut operands, mut inner) = (Vec::new(), Vec::new());
            flatten(from, &mut operands, &mut inner);
            let mut rels = RelSet::new();
            rels_of(from, &mut rels);
            (Box::new(self.nest(operands, inner, bound, false)), rels.into_iter().collect::<Vec<_>>())
        };
        let (left, left_rels) = side(left);
        let (right, right_rels) = side(right);
        Item::Full { left, right, left_rels, right_rels, on: self.compile(on) }
    }
}
