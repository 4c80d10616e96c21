//! The clauses of a procedure that is cut at its loop heads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use isolde_smt::{Script, Sort, Term};
use isolde_sql::ast::Deferral;
use isolde_sql::catalog::{ForeignKey, Table, TableId};

use super::live::{Thing, live};
use crate::exact::{self, follow};
use crate::ir::{Action, Edge, Graph, Node};
use crate::logic::{Context, Evaluator, Refusal, Result, Sym, choice, sort_of};
use crate::observe::{Observed, lookups};
use crate::plan::{Plan, plan, plan_beside};
use crate::program::{Program, Rule};
use crate::state::{CursorRow, Db, Slot, State};
use crate::step::constraint::valid;
use crate::universal::Universal;

/// A predicate that is not known: what holds at a cut.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub sorts: Vec<Sort>,
    /// The same for people.
    pub about: Vec<String>,
    /// The cut.
    pub node: usize,
}

/// `body` implies `head`, for all values of what the script declares.
#[derive(Clone, Debug)]
pub struct Clause {
    /// What it says, in words.
    pub name: String,
    /// Declarations, and what happens in between.
    pub script: Script,
    /// Predicates that hold before, and that the way is taken.
    pub body: Vec<Term>,
    /// What holds behind.
    pub head: Term,
    /// The cut at which it begins; the start of the procedure if there is none.
    pub from: Option<usize>,
    /// The cut at which it ends; the end of the procedure if there is none.
    pub to: Option<usize>,
}

/// Everything that the predicates must meet.
#[derive(Clone, Debug, Default)]
pub struct Clauses {
    /// The predicates.
    pub predicates: Vec<Predicate>,
    /// The clauses.
    pub clauses: Vec<Clause>,
}

/// The clauses for a procedure and a rule, cut at the heads of loops.
pub fn clauses(program: &Program, graph: &Graph, rule: &Rule, others: &[&Rule]) -> Result<Clauses> {
    clauses_at(program, graph, rule, others, &graph.heads)
}

/// The same, cut at these places, the heads of all loops among them.
pub(crate) fn clauses_at(
    program: &Program,
    graph: &Graph,
    rule: &Rule,
    others: &[&Rule],
    cuts: &[usize],
) -> Result<Clauses> {
    debug_assert!(graph.heads.iter().all(|head| cuts.contains(head)), "no loop is left between two cuts");
    let universal = Universal::of(program.catalog(), &rule.query)
        .ok_or_else(|| Refusal::new("a rule about more than single rows, with loops"))?;
    if !universal.stays_nonempty(graph) {
        return Err(Refusal::new("a rule that wants a row to be there, with loops that delete"));
    }
    let mut ctx = Context::new();
    ctx.functions = false;
    let arbitrary = arbitrary(program, graph, rule, &universal);
    let live = live(graph);
    let looked_up = looked_up(program, graph, &universal);
    let clauses = Clauses::default();
    let others = others.iter().filter_map(|other| Universal::of(program.catalog(), &other.query));
    let others = others.filter(|other| other.observed.is_empty()).collect();
    let mut cutting =
        Cutting { program, graph, rule, universal, others, cuts, arbitrary, looked_up, live, ctx, clauses };
    for cut in cuts {
        cutting.predicate(*cut)?;
    }
    cutting.piece(None)?;
    for cut in cuts {
        cutting.piece(Some(*cut))?;
    }
    Ok(cutting.clauses)
}

/// The places at which a graph can be cut: before each statement in no block with handlers, and at the heads of loops.
pub(crate) fn places(graph: &Graph) -> Vec<usize> {
    let live = live(graph);
    let plain = |node: usize| !live[node].iter().any(|thing| matches!(thing, Thing::Saved(_) | Thing::Error));
    let acts = |node: usize| graph.leaving(node).any(|edge| !matches!(edge.action, Action::Skip));
    let inner = (0..graph.nodes.len()).filter(|node| *node != graph.exit);
    let cut = |node: &usize| *node != graph.entry && acts(*node) && plain(*node);
    inner.filter(|node| graph.heads.contains(node) || cut(node)).collect()
}

/// How many arbitrary rows of each table a predicate is about.
pub(crate) fn arbitrary(
    program: &Program,
    graph: &Graph,
    rule: &Rule,
    universal: &Universal,
) -> BTreeMap<TableId, usize> {
    let everything = plan(program.catalog(), &crate::ir::unroll(graph, 1), &rule.query, 0);
    let each = everything.counts.keys().map(|table| {
        let times = universal.tables.iter().filter(|t| *t == table).count();
        (*table, times.max(1))
    });
    each.collect()
}

/// The lookups of a procedure whose count matters to a rule that counts.
fn looked_up(program: &Program, graph: &Graph, universal: &Universal) -> Vec<Observed> {
    let tables: BTreeSet<TableId> = universal.observed.iter().map(|number| number.table).collect();
    match tables.is_empty() {
        true => Vec::new(),
        false => lookups(graph, &tables, &|table| program.catalog().table(table).name.to_string()),
    }
}

/// What a predicate calls a variable: by its name, and its number if others have the same name.
pub(crate) fn called(graph: &Graph, variable: usize) -> String {
    let name = &graph.variables[variable].name;
    match graph.variables.iter().filter(|other| other.name == *name).count() {
        1 => name.to_string(),
        _ => format!("{name}#{variable}"),
    }
}

/// What a predicate calls one of so many arbitrary rows of a table.
pub(crate) fn called_row(table: &Table, place: usize, count: usize) -> String {
    if count > 1 { format!("{}{}", table.name, place + 1) } else { table.name.to_string() }
}

/// What a predicate calls it that a loop has still to come to a row, and each column that it read of the row.
pub(crate) fn called_pending(cursor: usize, row: &str) -> (String, impl Fn(usize) -> String) {
    let read = format!("that loop {cursor} read of {row}");
    (format!("loop {cursor} comes to {row}"), move |column| format!("column {} {read}", column + 1))
}

struct Cutting<'a> {
    program: &'a Program,
    graph: &'a Graph,
    rule: &'a Rule,
    universal: Universal,
    /// Rules that hold at the start as well.
    others: Vec<Universal>,
    /// Where the graph is cut.
    cuts: &'a [usize],
    /// How many arbitrary rows of each table a predicate is about.
    arbitrary: BTreeMap<TableId, usize>,
    /// Lookups of the procedure, counted.
    looked_up: Vec<Observed>,
    live: Vec<BTreeSet<Thing>>,
    ctx: Context,
    clauses: Clauses,
}

/// The rows of each table that a predicate can be about, the arbitrary ones first.
type Rows = BTreeMap<TableId, Vec<Slot>>;

impl Cutting<'_> {
    /// The table that a loop runs over.
    fn cursor_table(&self, cursor: usize) -> Result<(TableId, Vec<isolde_sql::Type>)> {
        use isolde_sql::typed::{QueryBody, RelSource};
        let opened = self.graph.edges.iter().find_map(|edge| match &edge.action {
            Action::Open(mark, query) if *mark == cursor => Some(query),
            _ => None,
        });
        let single = opened.and_then(|query| match &query.body {
            QueryBody::Select(select) if select.grouping.is_none() => match select.rels.as_slice() {
                [rel] => match rel.source {
                    RelSource::Table(table) => Some((table, query.columns.iter().map(|c| c.ty).collect())),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        });
        single
            .ok_or_else(|| Refusal::new("a loop over a query of several tables, to be proved for any number of rounds"))
    }

    fn predicate(&mut self, head: usize) -> Result<()> {
        let (mut sorts, mut about) = (Vec::new(), Vec::new());
        let mut put = |sort: Sort, what: String| {
            sorts.push(sort);
            about.push(what);
        };
        for thing in &self.live[head] {
            match thing {
                Thing::Variable(variable) => {
                    let name = called(self.graph, *variable);
                    let ty = self.graph.variables[*variable].ty;
                    let sort = sort_of(ty).ok_or_else(|| Refusal::new("a variable that is a row"))?;
                    put(Sort::Bool, format!("{name} is null"));
                    put(sort, name);
                }
                Thing::Cursor(_) => {}
                Thing::Saved(_) | Thing::Error => {
                    return Err(Refusal::new(
                        "a loop inside of a block with handlers, to be proved for any number of rounds",
                    ));
                }
            }
        }
        for (table, count) in &self.arbitrary {
            let table = self.program.catalog().table(*table).clone();
            for n in 0..*count {
                let row = called_row(&table, n, *count);
                put(Sort::Bool, format!("{row} exists"));
                for column in &table.columns {
                    put(Sort::Bool, format!("{row}.{} is null", column.name));
                    put(
                        sort_of(column.ty).ok_or_else(|| Refusal::new("a column that is a row"))?,
                        format!("{row}.{}", column.name),
                    );
                }
                let of_rule = self.universal.observed.iter().filter(|_| self.universal.tables.contains(&table.id));
                for number in of_rule {
                    put(Sort::Bool, format!("{} is null", number.name));
                    put(sort_of(number.expr.ty).unwrap_or(Sort::Int), number.name.clone());
                }
                for thing in &self.live[head] {
                    let Thing::Cursor(cursor) = thing else { continue };
                    let (of, types) = self.cursor_table(*cursor)?;
                    if of == table.id {
                        let (comes, read) = called_pending(*cursor, &row);
                        put(Sort::Bool, comes);
                        for (column, ty) in types.into_iter().enumerate() {
                            let read = read(column);
                            put(Sort::Bool, format!("{read} is null"));
                            put(sort_of(ty).ok_or_else(|| Refusal::new("a column that is a row"))?, read);
                        }
                    }
                }
            }
        }
        for number in self.counted_at(head) {
            put(Sort::Int, number.name.clone());
        }
        let name = format!("inv{head}");
        self.clauses.predicates.push(Predicate { name, sorts, about, node: head });
        Ok(())
    }

    /// The lookups that are counted at a cut: those by variables that are still read behind it.
    fn counted_at(&self, cut: usize) -> Vec<&Observed> {
        let known = |number: &&Observed| {
            number.variables().into_iter().all(|variable| self.live[cut].contains(&Thing::Variable(variable)))
        };
        self.looked_up.iter().filter(known).collect()
    }

    /// The clauses for everything between one cut and the next.
    fn piece(&mut self, from: Option<usize>) -> Result<()> {
        let (piece, ends) = piece(self.graph, self.cuts, from.unwrap_or(self.graph.entry));
        let arbitrary = self.arbitrary.clone();
        // The arbitrary rows come on top of those that are looked up; the rule asks for its own.
        let beside = arbitrary.iter().filter(|(table, _)| !self.universal.tables.contains(table));
        let beside = beside.map(|(table, count)| (*table, *count)).collect();
        let plan = plan_beside(self.program.catalog(), &piece, self.universal.planned(&self.rule.query), &beside);
        if let Some(why) = plan.incomplete.iter().next() {
            return Err(Refusal::new(why.clone()));
        }
        debug_assert!(arbitrary.iter().all(|(table, count)| plan.counts.get(table) >= Some(count)), "rows for all");
        let (start, mut body) = match from {
            None => (self.entry(&plan)?, Vec::new()),
            Some(head) => self.at_head(head, &plan, &arbitrary)?,
        };
        let sinks: Vec<usize> = ends.keys().copied().collect();
        let (reached, _) = follow(&mut self.ctx, self.program, &piece, &start, &sinks)?;
        if let Some(why) = self.ctx.incomplete.iter().next() {
            return Err(Refusal::new(why.clone()));
        }
        let known: BTreeMap<TableId, Vec<usize>> =
            start.db.tables.iter().map(|(table, slots)| (*table, slots.iter().map(|s| s.id).collect())).collect();
        let told = (self.ctx.script.clone(), self.ctx.groups.clone());
        for (sink, (when, state)) in reached {
            (self.ctx.script, self.ctx.groups) = told.clone();
            let (state, rows) = self.rechosen(state, &known, &arbitrary)?;
            let head = match ends[&sink] {
                Some(head) => self.atom(head, &state, &rows, &BTreeMap::new())?,
                None => kept(&mut self.ctx, self.program, &self.universal, &state, &rows)?,
            };
            let line = |node: usize| self.program.line(self.graph.nodes[node].span);
            let what = |cut: usize| if self.graph.heads.contains(&cut) { "the loop in line" } else { "line" };
            let begin = from.map_or("the start".to_string(), |cut| format!("{} {}", what(cut), line(cut)));
            let end = ends[&sink].map_or("the end".to_string(), |cut| format!("{} {}", what(cut), line(cut)));
            let mut conditions = std::mem::take(&mut body);
            conditions.push(when);
            let script = std::mem::take(&mut self.ctx.script);
            self.clauses.clauses.push(Clause {
                name: format!("from {begin} to {end}"),
                script,
                body: conditions.clone(),
                head,
                from,
                to: ends[&sink],
            });
            conditions.pop();
            body = conditions;
        }
        self.ctx.script = Script::default();
        self.ctx.groups.clear();
        Ok(())
    }

    /// The state at the start: the rule holds of all tracked rows.
    fn entry(&mut self, plan: &Plan) -> Result<State> {
        let start = exact::start(&mut self.ctx, self.program, self.graph, plan)?;
        let mut facts = self.universal.unbroken(&mut self.ctx, self.program, &start)?;
        for other in &self.others {
            facts.extend(other.unbroken(&mut self.ctx, self.program, &start)?);
        }
        facts.into_iter().for_each(|fact| self.ctx.say(fact));
        Ok(start)
    }

    /// Any state at a loop head: of each tracked row, the predicate holds.
    fn at_head(
        &mut self,
        head: usize,
        plan: &Plan,
        arbitrary: &BTreeMap<TableId, usize>,
    ) -> Result<(State, Vec<Term>)> {
        let catalog = self.program.catalog();
        let db = Db::any(&mut self.ctx, catalog, &plan.counts)?;
        let mut variables = Vec::new();
        for (at, variable) in self.graph.variables.iter().enumerate() {
            variables.push(match self.live[head].contains(&Thing::Variable(at)) {
                true => self.ctx.any(variable.ty, &variable.name)?,
                false => Sym::null(&sort_of(variable.ty).ok_or_else(|| Refusal::new("a variable that is a row"))?),
            });
        }
        let mut cursors = BTreeMap::new();
        for thing in self.live[head].clone() {
            let Thing::Cursor(cursor) = thing else { continue };
            let (table, types) = self.cursor_table(cursor)?;
            let mut rows = Vec::new();
            for slot in db.slots(table) {
                let pending = self.ctx.fresh(&Sort::Bool, "pending");
                let values = types.iter().map(|ty| self.ctx.any(*ty, "read")).collect::<Result<Vec<_>>>()?;
                rows.push(CursorRow { slot: Some(slot.id), pending, values });
            }
            cursors.insert(cursor, rows);
        }
        let state = State { cursors, ..State::new(variables, db) };
        for table in plan.counts.keys() {
            let table = catalog.table(*table).clone();
            let mut evaluator = Evaluator { ctx: &mut self.ctx, catalog, state: &state, levels: Vec::new() };
            // A deferred foreign key is checked at the end, so that it may not hold here.
            let holds = |fk: &ForeignKey| fk.deferral == Deferral::NotDeferrable && plan.is_closed(table.id, fk);
            let facts = valid(&mut evaluator, &table, &holds)?;
            facts.into_iter().for_each(|fact| self.ctx.say(fact));
        }
        let body = self.all_rows(head, &state, arbitrary)?;
        Ok((state, body))
    }

    /// The predicate, for the arbitrary rows and with each other tracked row in their place.
    fn all_rows(&mut self, head: usize, state: &State, arbitrary: &BTreeMap<TableId, usize>) -> Result<Vec<Term>> {
        let rows = &state.db.tables;
        let mut atoms = vec![self.atom(head, state, rows, &BTreeMap::new())?];
        for (table, count) in arbitrary {
            let slots = state.db.slots(*table).len();
            for other in 0..slots {
                for place in 0..*count {
                    if other == place {
                        continue;
                    }
                    // Two places never hold the same row: they change places.
                    let instead = BTreeMap::from([((*table, place), other), ((*table, other), place)]);
                    atoms.push(self.atom(head, state, rows, &instead)?);
                }
            }
        }
        atoms.dedup();
        Ok(atoms)
    }

    /// The predicate of a loop head, about a state; `instead` says which slot stands where another would.
    fn atom(
        &mut self,
        head: usize,
        state: &State,
        rows: &Rows,
        instead: &BTreeMap<(TableId, usize), usize>,
    ) -> Result<Term> {
        let mut terms = Vec::new();
        for thing in &self.live[head] {
            if let Thing::Variable(variable) = thing {
                let sym = &state.variables[*variable];
                terms.extend([sym.null.clone(), sym.value.clone()]);
            }
        }
        let catalog = self.program.catalog();
        for (table, count) in &self.arbitrary {
            for place in 0..*count {
                let at = instead.get(&(*table, place)).copied().unwrap_or(place);
                let slot = &rows[table][at];
                terms.push(slot.alive.clone());
                terms.extend(slot.columns.iter().flat_map(|sym| [sym.null.clone(), sym.value.clone()]));
                if self.universal.tables.contains(table) {
                    let numbers = self.universal.numbers(&mut self.ctx, catalog, state, slot)?;
                    terms.extend(numbers.into_iter().flat_map(|sym| [sym.null, sym.value]));
                }
                for thing in &self.live[head] {
                    let Thing::Cursor(cursor) = thing else { continue };
                    let (of, types) = self.cursor_table(*cursor)?;
                    if of == *table {
                        terms.extend(pending(state, *cursor, slot.id, &types)?);
                    }
                }
            }
        }
        let counted: Vec<Observed> = self.counted_at(head).into_iter().cloned().collect();
        for number in counted {
            terms.push(number.value(&mut self.ctx, catalog, state, None)?.value);
        }
        Ok(Term::apply(format!("inv{head}"), terms))
    }

    /// The state with arbitrary rows chosen anew: those that were, or rows that were inserted meanwhile. What is
    /// counted is still counted among all.
    fn rechosen(
        &mut self,
        mut state: State,
        known: &BTreeMap<TableId, Vec<usize>>,
        arbitrary: &BTreeMap<TableId, usize>,
    ) -> Result<(State, Rows)> {
        let mut rows = Rows::new();
        for (table, count) in arbitrary {
            let slots = state.db.slots(*table).to_vec();
            let new: Vec<Slot> = slots.iter().filter(|s| !known[table].contains(&s.id)).cloned().collect();
            let mut chosen: Vec<Slot> = slots.iter().take(*count).cloned().collect();
            if !new.is_empty() {
                let mut choices = Vec::new();
                for place in chosen.iter_mut() {
                    let which = choice(&mut self.ctx, new.len() + 1);
                    for (n, slot) in new.iter().enumerate() {
                        let is = which.clone().equal(Term::Int(n as i128 + 1));
                        place.alive = is.clone().ite(slot.alive.clone(), place.alive.clone());
                        let columns = place.columns.iter().zip(&slot.columns).map(|(old, new)| Sym::ite(&is, new, old));
                        place.columns = columns.collect();
                        for rows in state.cursors.values_mut() {
                            // A row that came later is not in what a loop runs over.
                            for row in rows.iter_mut().filter(|row| row.slot == Some(place.id)) {
                                row.pending = Term::and([row.pending.clone(), is.clone().not()]);
                            }
                        }
                    }
                    choices.push(which);
                }
                for (i, a) in choices.iter().enumerate() {
                    for b in &choices[i + 1..] {
                        let both = Term::and([a.clone().equal(b.clone()), Term::Int(0).less(a.clone())]);
                        self.ctx.say(both.not());
                    }
                }
            }
            rows.insert(*table, chosen);
        }
        Ok((state, rows))
    }
}

/// The rule holds of the arbitrary rows.
pub(crate) fn kept(
    ctx: &mut Context,
    program: &Program,
    universal: &Universal,
    state: &State,
    arbitrary: &BTreeMap<TableId, Vec<Slot>>,
) -> Result<Term> {
    let mut combinations: Vec<Vec<Slot>> = vec![Vec::new()];
    for table in &universal.tables {
        let slots = arbitrary.get(table).map_or(&[][..], Vec::as_slice);
        let longer = slots
            .iter()
            .flat_map(|slot| combinations.iter().map(|some| [some.as_slice(), std::slice::from_ref(slot)].concat()));
        combinations = longer.collect();
    }
    let mut broken = Vec::new();
    for rows in &combinations {
        let rows: Vec<&Slot> = rows.iter().collect();
        broken.push(universal.broken(ctx, program, state, &rows, false)?);
    }
    Ok(Term::or(broken).not())
}

/// Whether a loop has still to come to a row, and what it read of it.
fn pending(state: &State, cursor: usize, slot: usize, types: &[isolde_sql::Type]) -> Result<Vec<Term>> {
    let row = state.cursors.get(&cursor).and_then(|rows| rows.iter().find(|row| row.slot == Some(slot)));
    let Some(row) = row else {
        // A row that the query left out is not to come; what was not read can be anything.
        let mut terms = vec![Term::False];
        for ty in types {
            let nothing = Sym::null(&sort_of(*ty).ok_or_else(|| Refusal::new("a column that is a row"))?);
            terms.extend([nothing.null, nothing.value]);
        }
        return Ok(terms);
    };
    let values = row.values.iter().flat_map(|sym| [sym.null.clone(), sym.value.clone()]);
    Ok([row.pending.clone()].into_iter().chain(values).collect())
}

/// The part of a graph from one cut to the next ones: its ends are copies of cuts, or the exit (`None`).
pub(crate) fn piece(graph: &Graph, cuts: &[usize], from: usize) -> (Graph, BTreeMap<usize, Option<usize>>) {
    let mut nodes: Vec<Node> = graph.nodes.clone();
    let mut ends: BTreeMap<usize, Option<usize>> = BTreeMap::from([(graph.exit, None)]);
    let mut copies = BTreeMap::new();
    for cut in cuts {
        nodes.push(graph.nodes[*cut].clone());
        copies.insert(*cut, nodes.len() - 1);
        ends.insert(nodes.len() - 1, Some(*cut));
    }
    let cut = |to: usize| copies.get(&to).copied().unwrap_or(to);
    let (mut edges, mut seen, mut todo): (Vec<Edge>, BTreeSet<usize>, Vec<usize>) =
        (Vec::new(), BTreeSet::new(), vec![from]);
    while let Some(node) = todo.pop() {
        if !seen.insert(node) || ends.contains_key(&node) {
            continue;
        }
        for edge in graph.leaving(node) {
            let edge = Edge { to: cut(edge.to), on_error: edge.on_error.map(cut), ..edge.clone() };
            todo.extend([Some(edge.to), edge.on_error].into_iter().flatten());
            edges.push(edge);
        }
    }
    // Which cursor runs over what is said by the edge that opens it, wherever that is.
    let opens = graph.edges.iter().filter(|edge| matches!(edge.action, Action::Open(..)));
    let missing: Vec<Edge> = opens.filter(|open| !seen.contains(&open.from)).cloned().collect();
    for open in missing {
        nodes.push(graph.nodes[open.from].clone());
        nodes.push(graph.nodes[open.to].clone());
        let (source, target) = (nodes.len() - 2, nodes.len() - 1);
        edges.push(Edge { from: source, to: target, on_error: None, ..open });
    }
    (Graph { nodes, edges, entry: from, heads: Vec::new(), ..graph.clone() }, ends)
}

/// The clauses in the language of solvers, with options under which Spacer's answers can be checked.
impl fmt::Display for Clauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for option in ["fp.xform.inline_eager", "fp.xform.inline_linear", "fp.xform.slice"] {
            writeln!(f, "(set-option :{option} false)")?;
        }
        for predicate in &self.predicates {
            let sorts: Vec<String> = predicate.sorts.iter().map(Sort::to_string).collect();
            writeln!(f, "; {}: {}", predicate.name, predicate.about.join(", "))?;
            writeln!(f, "(declare-fun {} ({}) Bool)", predicate.name, sorts.join(" "))?;
        }
        for clause in &self.clauses {
            writeln!(f, "; {}", clause.name)?;
            f.write_str("(assert (forall (")?;
            for function in &clause.script.functions {
                write!(f, "({} {}) ", isolde_smt::quoted(&function.name), function.result)?;
            }
            f.write_str(") (=> (and true")?;
            clause.body.iter().try_for_each(|atom| write!(f, " {atom}"))?;
            clause.script.assertions.iter().try_for_each(|assertion| write!(f, "\n  {}", assertion.term))?;
            writeln!(f, ")\n  {})))", clause.head)?;
        }
        Ok(())
    }
}
