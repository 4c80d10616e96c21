//! Queries over the tracked rows.
//!
//! With a handful of slots per table, a query is worked out by trying all combinations: each is a row of the result
//! under a condition. EXISTS is then a disjunction, a count a sum of ones, and a subquery the choice of the combination
//! that is there.

use isolde_smt::{Sort, Term};
use isolde_sql::ast::{JoinKind, SetOperator};
use isolde_sql::builtin::AggregateKind;
use isolde_sql::catalog::{Catalog, TableId};
use isolde_sql::typed::{
    AggregateCall, Expr, ExprKind, From, Grouping, Quantified, Query, QueryBody, Rel, RelSource, Select,
};
use isolde_sql::{Type, Value};

use super::context::Context;
use super::eval::{Evaluator, Level, TOO_MANY, any_equal};
use super::residue::Question;
use super::value::{Sym, sort_of, well_typed};
use super::{Refusal, Result, call};

/// A row of a result, under a condition.
#[derive(Clone, Debug)]
pub struct Answered {
    /// When it is there.
    pub guard: Term,
    /// Its columns.
    pub values: Vec<Sym>,
    /// Its sort keys.
    pub keys: Vec<Sym>,
}

/// A combination of rows under a condition, before anything is selected from it.
pub(crate) type Tuple = (Term, Vec<Option<Vec<Sym>>>);

impl Evaluator<'_> {
    /// The rows of a query, LIMIT and DISTINCT left aside: see [`plain`] and [`first_only`].
    pub fn rows(&mut self, query: &Query) -> Result<Vec<Answered>> {
        if !query.with.is_empty() {
            return Err(Refusal::new("WITH"));
        }
        match &query.body {
            QueryBody::Select(select) => self.select(query, select),
            QueryBody::Values(rows) => rows
                .iter()
                .map(|row| {
                    let evaluated =
                        self.within(Level::default(), &Term::True, |e| row.iter().map(|x| e.expr(x)).collect());
                    Ok(Answered { guard: Term::True, values: evaluated?, keys: Vec::new() })
                })
                .collect(),
            QueryBody::SetOperation { op: SetOperator::Union, left, right, .. } => {
                self.levels.push(Level::default());
                let both = self.rows(left).and_then(|mut rows| {
                    rows.extend(self.rows(right)?);
                    Ok(rows)
                });
                self.levels.pop();
                both
            }
            QueryBody::SetOperation { .. } => Err(Refusal::new("INTERSECT or EXCEPT")),
        }
    }

    fn select(&mut self, query: &Query, select: &Select) -> Result<Vec<Answered>> {
        if !select.windows.is_empty() {
            return Err(Refusal::new("a window function"));
        }
        if !select.expansions.is_empty() {
            return Err(Refusal::new("a function of the select list that yields rows"));
        }
        let tuples = self.tuples(select)?;
        if let Some(grouping) = &select.grouping {
            return self.grouped(query, select, grouping, &tuples);
        }
        let mut rows = Vec::new();
        for (guard, tuple) in tuples {
            let level = Level { rows: tuple, ..Level::default() };
            rows.push(self.projected(query, select, guard, level)?);
        }
        Ok(rows)
    }

    /// What a query over one table makes of one row of it.
    pub(crate) fn row_of(&mut self, query: &Query, target: &(Term, Vec<Sym>)) -> Result<Option<Answered>> {
        let QueryBody::Select(select) = &query.body else { return Err(Refusal::new("a query that is no SELECT")) };
        if !query.with.is_empty() || !select.windows.is_empty() || !select.expansions.is_empty() {
            return Err(Refusal::new("WITH, a window, or a function that yields rows"));
        }
        let tuples = self.tuples_of(select, Some(target))?;
        let row = tuples.into_iter().next();
        row.map(|(guard, rows)| self.projected(query, select, guard, Level { rows, ..Level::default() })).transpose()
    }

    fn projected(&mut self, query: &Query, select: &Select, guard: Term, level: Level) -> Result<Answered> {
        let when = guard.clone();
        let (values, keys) = self.within(level, &when, |e| {
            let values = select.projection.iter().map(|x| projection(e, x)).collect::<Result<Vec<_>>>()?;
            if let Some(level) = e.levels.last_mut() {
                level.outputs.clone_from(&values);
            }
            let keys = query.order_by.iter().map(|key| e.expr(&key.expr)).collect::<Result<Vec<_>>>()?;
            Ok((values, keys))
        })?;
        Ok(Answered { guard, values, keys })
    }

    /// The combinations of rows that FROM and WHERE leave.
    fn tuples(&mut self, select: &Select) -> Result<Vec<Tuple>> {
        self.tuples_of(select, None)
    }

    /// The same, with a row of relation 0 given: the target of UPDATE or DELETE.
    pub(crate) fn tuples_of(&mut self, select: &Select, target: Option<&(Term, Vec<Sym>)>) -> Result<Vec<Tuple>> {
        let nothing = vec![None; select.rels.len()];
        let tuples = match &select.from {
            None => vec![(Term::True, nothing)],
            Some(from) => self.joined(from, select, &nothing, target)?,
        };
        let Some(filter) = &select.filter else { return Ok(tuples) };
        let filtered = tuples.into_iter().map(|(guard, rows)| {
            let level = Level { rows: rows.clone(), ..Level::default() };
            let holds = self.within(level, &guard, |e| e.is_true(filter))?;
            Ok((self.ctx.named_truth(Term::and([guard, holds]), "row"), rows))
        });
        let filtered = filtered.collect::<Result<Vec<_>>>()?;
        Ok(filtered.into_iter().filter(|(guard, _)| *guard != Term::False).collect())
    }

    fn joined(
        &mut self,
        from: &From,
        select: &Select,
        base: &[Option<Vec<Sym>>],
        target: Option<&(Term, Vec<Sym>)>,
    ) -> Result<Vec<Tuple>> {
        match from {
            From::Rel(at) => {
                let rows = match target {
                    Some(target) if *at == 0 => vec![target.clone()],
                    _ => self.relation(&select.rels[*at], base)?,
                };
                let with = |row: Vec<Sym>| {
                    let mut rows = base.to_vec();
                    rows[*at] = Some(row);
                    rows
                };
                Ok(rows.into_iter().map(|(guard, row)| (guard, with(row))).collect())
            }
            From::Join { kind, left, right, on } => {
                let mut tuples = Vec::new();
                let lefts = self.joined(left, select, base, target)?;
                for (guard, rows) in lefts {
                    let mut matched = Vec::new();
                    let rights = self.joined(right, select, &rows, target)?;
                    for (other, both) in rights {
                        let mut holds = Term::and([guard.clone(), other]);
                        if let Some(on) = on {
                            let level = Level { rows: both.clone(), ..Level::default() };
                            let condition = self.within(level, &holds, |e| e.is_true(on))?;
                            holds = self.ctx.named_truth(Term::and([holds, condition]), "join");
                        }
                        matched.push(holds.clone());
                        tuples.push((holds, both));
                    }
                    match kind {
                        JoinKind::Inner | JoinKind::Cross => {}
                        JoinKind::Left => {
                            let alone = Term::and([guard, Term::or(matched).not()]);
                            tuples.push((self.ctx.named_truth(alone, "unmatched"), nulls(right, select, rows)?));
                        }
                        JoinKind::Right | JoinKind::Full => return Err(Refusal::new("RIGHT or FULL JOIN")),
                    }
                }
                Ok(tuples)
            }
        }
    }

    fn relation(&mut self, rel: &Rel, before: &[Option<Vec<Sym>>]) -> Result<Vec<(Term, Vec<Sym>)>> {
        match &rel.source {
            RelSource::Table(id) => {
                let slots = self.state.db.tables.get(id);
                let slots = slots
                    .ok_or_else(|| Refusal::new(format!("{}, which is not tracked", self.catalog.table(*id).name)))?;
                Ok(slots.iter().map(|slot| (slot.alive.clone(), slot.columns.clone())).collect())
            }
            RelSource::Query { query, .. } => {
                plain(query)?;
                let level = Level { rows: before.to_vec(), ..Level::default() };
                let rows = self.within(level, &Term::True, |e| e.rows(query))?;
                Ok(rows.into_iter().map(|row| (row.guard, row.values)).collect())
            }
            RelSource::With { .. } | RelSource::Working { .. } => Err(Refusal::new("WITH")),
            RelSource::Function(..) | RelSource::RowsFrom { .. } | RelSource::Routine(..) => {
                Err(Refusal::new("a function in FROM"))
            }
        }
    }

    /// EXISTS
    pub(super) fn exists(&mut self, query: &Query) -> Result<Sym> {
        first_only(query)?;
        let rows = self.rows(query)?;
        let any = Term::or(rows.into_iter().map(|row| row.guard));
        Ok(Sym::known(self.ctx.named_truth(any, "exists")))
    }

    /// `(SELECT ...)`
    pub(super) fn scalar(&mut self, query: &Query, ty: Type) -> Result<Sym> {
        plain(query)?;
        let rows = self.rows(query)?;
        for (i, row) in rows.iter().enumerate() {
            for other in &rows[i + 1..] {
                self.ctx.fails(TOO_MANY, Term::and([row.guard.clone(), other.guard.clone()]));
            }
        }
        if !is_one_row(query) {
            // Rows that are not tracked may be too many as well.
            self.ctx.may_fail(Some(TOO_MANY), Term::or(rows.iter().map(|row| row.guard.clone())));
        }
        let sort = sort_of(ty).ok_or_else(|| Refusal::new("a row as a value"))?;
        let mut value = Sym::null(&sort);
        for row in rows.iter().rev() {
            value = Sym::ite(
                &row.guard,
                row.values.first().ok_or_else(|| Refusal::new("a query without columns"))?,
                &value,
            );
        }
        Ok(self.ctx.named_sym(value, ty, "scalar"))
    }

    /// `IN (SELECT ...)` and its kin.
    pub(super) fn quantified(&mut self, quantified: &Quantified) -> Result<Sym> {
        first_only(&quantified.query)?;
        let left = quantified.left.iter().map(|e| self.expr(e)).collect::<Result<Vec<_>>>()?;
        let rows = self.rows(&quantified.query)?;
        let mut compared = Vec::new();
        for row in rows {
            let mut columns = Vec::new();
            for (((a, b), op), (expr, column)) in left
                .iter()
                .zip(&row.values)
                .zip(&quantified.ops)
                .zip(quantified.left.iter().zip(&quantified.query.columns))
            {
                columns.push(call::applied(self, op, &[(a.clone(), expr.ty), (b.clone(), column.ty)], Type::Bool)?);
            }
            let is_true = Term::and(columns.iter().map(Sym::is_true));
            let is_false = Term::or(columns.iter().map(Sym::is_false));
            compared.push((row.guard, Sym::condition(is_true, is_false)));
        }
        let sym = match quantified.all {
            false => any_equal(&Sym::truth(true), compared.into_iter(), false),
            true => any_equal(&Sym::truth(false), compared.into_iter(), true),
        };
        Ok(self.ctx.named_sym(sym, Type::Bool, "any"))
    }

    fn grouped(
        &mut self,
        query: &Query,
        select: &Select,
        grouping: &Grouping,
        tuples: &[Tuple],
    ) -> Result<Vec<Answered>> {
        if !grouping.sets.is_empty() || !grouping.masks.is_empty() {
            return Err(Refusal::new("GROUPING SETS"));
        }
        if grouping.keys.is_empty() {
            let level = self.aggregated(select, grouping, tuples, Vec::new())?;
            return self.group_row(query, select, grouping, Term::True, level).map(|row| vec![row]);
        }
        let mut keys = Vec::new();
        for (guard, rows) in tuples {
            let level = Level { rows: rows.clone(), ..Level::default() };
            keys.push(
                self.within(level, guard, |e| grouping.keys.iter().map(|key| e.expr(key)).collect::<Result<Vec<_>>>())?,
            );
        }
        let together = |i: usize, j: usize| Term::and(keys[i].iter().zip(&keys[j]).map(|(a, b)| a.same(b)));
        let mut answered = Vec::new();
        for (i, (guard, _)) in tuples.iter().enumerate() {
            let members = tuples.iter().enumerate().map(|(j, (other, rows))| {
                let member = if i == j { other.clone() } else { Term::and([other.clone(), together(i, j)]) };
                (member, rows.clone())
            });
            let members: Vec<Tuple> = members.collect();
            // A group is shown once, by the first of its rows.
            let earlier = Term::or(members[..i].iter().map(|(member, _)| member.clone()));
            let guard = self.ctx.named_truth(Term::and([guard.clone(), earlier.not()]), "group");
            if guard == Term::False {
                continue;
            }
            let level = self.aggregated(select, grouping, &members, keys[i].clone())?;
            answered.push(self.group_row(query, select, grouping, guard, level)?);
        }
        Ok(answered)
    }

    fn group_row(
        &mut self,
        query: &Query,
        select: &Select,
        grouping: &Grouping,
        guard: Term,
        level: Level,
    ) -> Result<Answered> {
        let guard = match &grouping.having {
            None => guard,
            Some(having) => {
                let holds = self.within(level.clone(), &guard, |e| e.is_true(having))?;
                self.ctx.named_truth(Term::and([guard, holds]), "having")
            }
        };
        self.projected(query, select, guard, level)
    }

    fn aggregated(&mut self, select: &Select, grouping: &Grouping, members: &[Tuple], keys: Vec<Sym>) -> Result<Level> {
        let mut aggregates = Vec::new();
        for call in &grouping.calls {
            aggregates.push(self.aggregate(select, grouping, call, members)?);
        }
        Ok(Level { keys, aggregates, ..Level::default() })
    }

    fn aggregate(
        &mut self,
        select: &Select,
        grouping: &Grouping,
        call: &AggregateCall,
        members: &[Tuple],
    ) -> Result<Sym> {
        let mut items = Vec::new();
        for (guard, rows) in members {
            let level = Level { rows: rows.clone(), ..Level::default() };
            let (counts, argument) = self.within(level, guard, |e| {
                let counts = call.filter.as_ref().map_or(Ok(Term::True), |filter| e.is_true(filter))?;
                Ok((counts, call.args.first().map(|arg| e.expr(arg)).transpose()?))
            })?;
            let guard = self.ctx.named_truth(Term::and([guard.clone(), counts]), "member");
            items.push((guard, argument.unwrap_or_else(|| Sym::truth(true))));
        }
        let there = |(guard, item): &(Term, Sym)| Term::and([guard.clone(), item.null.clone().not()]);
        let count = |items: &[(Term, Sym)]| {
            items.iter().map(|item| there(item).ite(Term::Int(1), Term::Int(0))).fold(Term::Int(0), Term::plus)
        };
        let inexact = call.distinct && matches!(call.aggregate.kind, AggregateKind::Count | AggregateKind::Sum);
        match call.aggregate.kind {
            AggregateKind::CountRows | AggregateKind::Count if !inexact => {
                let rest = self.rest(select, grouping, call, &Sort::Int, "count")?;
                let total = self.ctx.named(count(&items).plus(rest), &Sort::Int, "count");
                Ok(Sym::known(total))
            }
            AggregateKind::Sum if !inexact => self.sum(select, grouping, call, &items, count(&items)),
            AggregateKind::Min | AggregateKind::Max => {
                let max = call.aggregate.kind == AggregateKind::Max;
                let mut best = Sym::null(&sort_of(call.ty).ok_or_else(|| Refusal::new("a row as a value"))?);
                for (guard, item) in &items {
                    let pair = if max { (&best, item) } else { (item, &best) };
                    let better = call::less(self.ctx, pair, call.ty)?.is_true();
                    let first = Term::or([best.null.clone(), better]);
                    let take = Term::and([guard.clone(), item.null.clone().not(), first]);
                    let chosen = Sym::ite(&take, item, &best);
                    best = self.ctx.named_sym(chosen, call.ty, "extreme");
                }
                Ok(best)
            }
            AggregateKind::BoolAnd | AggregateKind::BoolOr => {
                let trues = Term::or(items.iter().map(|(guard, item)| Term::and([guard.clone(), item.is_true()])));
                let falses = Term::or(items.iter().map(|(guard, item)| Term::and([guard.clone(), item.is_false()])));
                let sym = match call.aggregate.kind {
                    AggregateKind::BoolAnd => Sym::condition(Term::and([trues, falses.clone().not()]), falses),
                    _ => Sym::condition(trues.clone(), Term::and([falses, trues.not()])),
                };
                Ok(self.ctx.named_sym(sym, Type::Bool, "all"))
            }
            _ => {
                self.ctx.modulo.insert(call.aggregate.name.to_string());
                self.ctx.any(call.ty, call.aggregate.name)
            }
        }
    }

    fn sum(
        &mut self,
        select: &Select,
        grouping: &Grouping,
        call: &AggregateCall,
        items: &[(Term, Sym)],
        count: Term,
    ) -> Result<Sym> {
        let sort = sort_of(call.ty).ok_or_else(|| Refusal::new("a row as a value"))?;
        let argument = call.args.first().ok_or_else(|| Refusal::new("a sum of nothing"))?;
        let whole = sort_of(argument.ty) == Some(Sort::Int);
        if !matches!(argument.ty.underlying(), Type::Int2 | Type::Int4 | Type::Int8 | Type::Numeric(_)) {
            self.ctx.modulo.insert("sum".into());
            return self.ctx.any(call.ty, "sum");
        }
        let inner = if whole { Sort::Int } else { Sort::Real };
        let zero = if whole { Term::Int(0) } else { Term::Real(0, 0) };
        let parts = items.iter().map(|(guard, item)| {
            Term::and([guard.clone(), item.null.clone().not()]).ite(item.value.clone(), zero.clone())
        });
        let tracked = parts.fold(zero.clone(), Term::plus);
        let others = self.rest(select, grouping, call, &Sort::Int, "count")?;
        let rest = self.rest(select, grouping, call, &inner, "sum")?;
        self.ctx.say(others.clone().same_number(Term::Int(0)).implies(rest.clone().same_number(zero)));
        let total = self.ctx.named(tracked.plus(rest), &inner, "sum");
        let null = self.ctx.named_truth(count.plus(others).same_number(Term::Int(0)), "sum.null");
        let value = if whole && sort == Sort::Real { total.to_real() } else { total };
        let sym = Sym { null, value };
        if call.ty == Type::Int8 {
            let outside = well_typed(&sym, Type::Int8).not();
            self.ctx.fails(isolde_sql::SqlState::NUMERIC_OUT_OF_RANGE, outside);
        }
        Ok(sym)
    }

    /// What the rows contribute that are not tracked.
    fn rest(
        &mut self,
        select: &Select,
        grouping: &Grouping,
        call: &AggregateCall,
        sort: &Sort,
        what: &str,
    ) -> Result<Term> {
        let zero = if *sort == Sort::Real { Term::Real(0, 0) } else { Term::Int(0) };
        if !self.ctx.residues {
            return Ok(zero);
        }
        let single = match (&select.from, select.rels.as_slice()) {
            (Some(From::Rel(0)), [Rel { source: RelSource::Table(table), .. }]) => Some(*table),
            _ => None,
        };
        let value = match single.filter(|_| grouping.keys.is_empty()).and_then(|table| asked(table, select, call)) {
            Some(asked) => {
                let mut key = Vec::new();
                for expr in &asked.key {
                    key.push(
                        self.within(Level { rows: vec![None], ..Level::default() }, &Term::True, |e| e.expr(expr))?,
                    );
                }
                let signature = format!("{what}:{}", asked.signature);
                let question = Question {
                    signature: &signature,
                    columns: &asked.columns,
                    key: &key,
                    mentions: &asked.mentions,
                    sort,
                };
                let rest = self.state.db.rest.get(&asked.table).cloned();
                match rest {
                    Some(rest) => rest.value(self.ctx, &question),
                    None => self.ctx.fresh(sort, "rest"),
                }
            }
            None if grouping.keys.is_empty() => self.ctx.fresh(sort, "rest"),
            None => {
                self.ctx.incomplete.insert("an aggregate per group looks at rows that are not tracked".into());
                zero
            }
        };
        let value = self.ctx.named(value, sort, "rest");
        if what == "count" {
            self.ctx.say(Term::Int(0).at_most(value.clone()));
        }
        Ok(value)
    }
}

fn projection(evaluator: &mut Evaluator<'_>, expr: &Expr) -> Result<Sym> {
    match (&expr.kind, sort_of(expr.ty)) {
        // EXISTS (SELECT t ...): what is selected does not matter.
        (ExprKind::WholeRow { .. }, None) => Ok(Sym::truth(true)),
        _ => evaluator.expr(expr),
    }
}

/// It aggregates all rows into one.
fn is_one_row(query: &Query) -> bool {
    matches!(&query.body, QueryBody::Select(s) if s.grouping.as_ref().is_some_and(|g| g.keys.is_empty()))
}

/// What an aggregate over one table asks about: rows that agree with a key, and what else is said about them.
struct Asked<'a> {
    table: TableId,
    columns: Vec<usize>,
    key: Vec<&'a Expr>,
    mentions: Vec<usize>,
    signature: String,
}

/// Takes the filter of an aggregate apart; nothing if it depends on more than the row and a key.
fn asked<'a>(table: TableId, select: &'a Select, call: &'a AggregateCall) -> Option<Asked<'a>> {
    let mut pairs: Vec<(usize, &Expr)> = Vec::new();
    let mut others = Vec::new();
    for conjunct in select.filter.as_ref().map(conjuncts).unwrap_or_default() {
        match key_equality(conjunct) {
            Some(pair) => pairs.push(pair),
            None if is_own(conjunct) => others.push(format!("{conjunct:?}")),
            None => return None,
        }
    }
    let parts: Vec<&Expr> = call.args.iter().chain(&call.filter).collect();
    if !parts.iter().all(|part| is_own(part)) {
        return None;
    }
    pairs.sort_by_key(|(column, _)| *column);
    let columns: Vec<usize> = pairs.iter().map(|(column, _)| *column).collect();
    if columns.windows(2).any(|pair| pair[0] == pair[1]) {
        return None;
    }
    others.sort();
    let mut mentions = columns.clone();
    let mut mention = |expr: &Expr| {
        expr.walk(0, &mut |e, depth| {
            if let ExprKind::Column { depth: d, col, .. } = e.kind
                && d == depth
            {
                mentions.push(usize::from(col));
            }
        });
    };
    parts.iter().for_each(|part| mention(part));
    select.filter.iter().for_each(&mut mention);
    let signature = format!("{}:{columns:?}:{others:?}:{:?}:{:?}", table.0, call.args, call.filter);
    Some(Asked { table, columns, key: pairs.into_iter().map(|(_, e)| e).collect(), mentions, signature })
}

/// The parts of a condition that must all be true.
pub(crate) fn conjuncts(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::And(parts) => parts.iter().flat_map(conjuncts).collect(),
        _ => vec![expr],
    }
}

/// `column = something else`, where the column is of relation 0 and the other side does not depend on the row.
pub(crate) fn key_equality(expr: &Expr) -> Option<(usize, &Expr)> {
    let ExprKind::Call(builtin, args) = &expr.kind else { return None };
    let [a, b] = args.as_slice() else { return None };
    let column = |e: &Expr| match e.kind {
        ExprKind::Column { depth: 0, rel: 0, col } => Some(usize::from(col)),
        _ => None,
    };
    match (builtin.name, column(a), column(b)) {
        ("=", Some(column), None) if is_foreign(b) => Some((column, b)),
        ("=", None, Some(column)) if is_foreign(a) => Some((column, a)),
        _ => None,
    }
}

/// It does not depend on the row at hand, nor on any table.
pub(crate) fn is_foreign(expr: &Expr) -> bool {
    let mut foreign = true;
    expr.walk(0, &mut |e, depth| match e.kind {
        ExprKind::Column { depth: d, .. } | ExprKind::WholeRow { depth: d, .. } if d == depth => foreign = false,
        _ if e.subquery().is_some() => foreign = false,
        _ => {}
    });
    foreign
}

/// It depends on the row at hand alone.
fn is_own(expr: &Expr) -> bool {
    let mut own = true;
    expr.walk(0, &mut |e, depth| match e.kind {
        ExprKind::Column { depth: d, .. } if d == depth => {}
        ExprKind::Column { .. } | ExprKind::Param(_) | ExprKind::Group { .. } | ExprKind::Aggregated { .. } => {
            own = false
        }
        _ if e.subquery().is_some() => own = false,
        _ => {}
    });
    own
}

/// Whether a condition on relation 0 leaves at most one row of a table.
pub fn pins_unique_key(catalog: &Catalog, table: TableId, filter: Option<&Expr>) -> bool {
    let pinned: Vec<usize> =
        filter.map(conjuncts).unwrap_or_default().into_iter().filter_map(key_equality).map(|(c, _)| c).collect();
    let keys = catalog.table(table).indexes.iter().filter(|index| index.is_key());
    keys.map(|index| &index.columns).any(|columns| columns.iter().all(|column| pinned.contains(column)))
}

/// All rows of the query count, as they are.
pub(crate) fn plain(query: &Query) -> Result<()> {
    let aggregated =
        matches!(&query.body, QueryBody::Select(s) if s.grouping.as_ref().is_some_and(|g| g.keys.is_empty()));
    let distinct = matches!(&query.body, QueryBody::Select(s) if s.distinct || s.distinct_on > 0);
    let union = matches!(&query.body, QueryBody::SetOperation { all: false, .. });
    match query {
        _ if query.offset.is_some() => Err(Refusal::new("OFFSET")),
        _ if query.limit.is_some() && !aggregated => Err(Refusal::new("LIMIT here")),
        _ if distinct && !aggregated => Err(Refusal::new("DISTINCT here")),
        _ if union => Err(Refusal::new("UNION without ALL here")),
        _ => Ok(()),
    }
}

/// Only the first row of the query counts, or that there is one.
pub(crate) fn first_only(query: &Query) -> Result<()> {
    let limit = match query.limit.as_ref().map(|limit| &limit.kind) {
        None | Some(ExprKind::Const(Value::Null)) => true,
        Some(ExprKind::Const(Value::Int(n))) => *n >= 1,
        Some(_) => false,
    };
    match query {
        _ if query.offset.is_some() => Err(Refusal::new("OFFSET")),
        _ if !limit => Err(Refusal::new("a LIMIT that is no positive constant")),
        _ if matches!(&query.body, QueryBody::Select(s) if s.distinct_on > 0) => Err(Refusal::new("DISTINCT ON")),
        _ => Ok(()),
    }
}

/// The rows of an outer join's other side that are not there.
fn nulls(from: &From, select: &Select, mut rows: Vec<Option<Vec<Sym>>>) -> Result<Vec<Option<Vec<Sym>>>> {
    match from {
        From::Rel(at) => {
            let columns = select.rels[*at].columns.iter().map(|(_, ty)| {
                sort_of(*ty).map(|sort| Sym::null(&sort)).ok_or_else(|| Refusal::new("a row as a value"))
            });
            rows[*at] = Some(columns.collect::<Result<Vec<_>>>()?);
            Ok(rows)
        }
        From::Join { left, right, .. } => {
            let rows = nulls(left, select, rows)?;
            nulls(right, select, rows)
        }
    }
}

/// A choice among so many: the number of the chosen one.
pub(crate) fn choice(ctx: &mut Context, count: usize) -> Term {
    let chosen = ctx.fresh(&Sort::Int, "choice");
    let last = Term::Int(count as i128 - 1);
    ctx.say(Term::and([Term::Int(0).at_most(chosen.clone()), chosen.clone().at_most(last)]));
    chosen
}
