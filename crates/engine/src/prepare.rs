//! Statements, bound and planned: compiled once, run many times.

use std::sync::Arc;

use isolde_sql::ast::{self, TableLockMode};
use isolde_sql::catalog::{Catalog, RoutineId, Table, TableId};
use isolde_sql::facts::{Facts, Verb};
use isolde_sql::typed::{
    self, CursorCommand, OutputColumn, QueryBody, Rel, RelSource, RowLocking, SessionCommand, StatementKind, Taken,
};
use isolde_sql::{Diagnostic, SqlError, Type};

use crate::footprint::{ColumnSet, TableSet};
use crate::lock::LockKey;
use crate::plan::{self, Expr, QueryPlan, SelectPlan, Subquery, WithPlan};
use crate::routine::Code;

/// A statement, ready to run against the catalog it was prepared for.
#[derive(Debug)]
pub struct Prepared {
    /// What it means.
    pub statement: Arc<typed::Statement>,
    pub(crate) plan: Plan,
    /// Whether running it may see or change what others see or change: only then is it a step of its own.
    pub(crate) visible: bool,
    /// What it returns is not only what routines that it calls return: a routine that runs it learns something from it.
    pub(crate) tells: bool,
    /// The locks on tables and sequences that it takes before it begins, in order.
    pub(crate) locks: Box<[(LockKey, TableLockMode)]>,
    /// The tables that it may read from its snapshot.
    pub(crate) reads: TableSet,
    /// The tables whose rows it takes in the order in which they lie: there every update of a row it finds matters.
    pub(crate) ordered: TableSet,
    /// It calls a routine.
    pub(crate) calls: bool,
    /// What it was bound from, if it is not part of a routine.
    origin: Option<Arc<Origin>>,
    /// The version of the catalog that it was bound to.
    pub(crate) version: u64,
    /// It has not been bound yet: that is done when it runs.
    pub(crate) late: bool,
    /// Tells statements apart in digests.
    pub(crate) id: u128,
    /// It fails before it reads anything.
    pub(crate) early: Option<Box<SqlError>>,
    /// INSERT, UPDATE and DELETE stop after returning so many rows, because there is an error if there are more.
    pub(crate) rows_max: Option<usize>,
}

/// A statement as it was written, to be bound again when definitions have changed.
#[derive(Debug)]
struct Origin {
    statement: ast::Statement,
    text: Arc<str>,
    params: Vec<Type>,
}

/// How a statement is run.
#[derive(Debug)]
pub(crate) enum Plan {
    Query(LockingPlan),
    Insert(InsertPlan),
    Update(UpdatePlan),
    Delete(DeletePlan),
    Merge(MergePlan),
    /// The arguments.
    Call(Vec<Expr>),
    /// The block's code.
    Do(Arc<Code>),
    /// The query of DECLARE CURSOR.
    Cursor(Arc<Prepared>),
    /// Everything else: transaction control, DDL, SET.
    Other,
}

#[derive(Debug)]
pub(crate) struct LockingPlan {
    pub(crate) query: QueryPlan,
    pub(crate) locking: Vec<RowLocking>,
    /// Per relation, the table it is.
    pub(crate) tables: Vec<Option<TableId>>,
    pub(crate) columns: Arc<[OutputColumn]>,
    /// A cursor wants to know where its rows come from.
    pub(crate) sources: bool,
}

#[derive(Debug)]
pub(crate) struct InsertPlan {
    pub(crate) withs: Option<Arc<[WithPlan]>>,
    pub(crate) table: TableId,
    pub(crate) source: Subquery,
    /// One per column of the table, over the source row.
    pub(crate) values: Vec<Expr>,
    pub(crate) row: RowPlan,
    pub(crate) conflict: Option<ConflictPlan>,
    /// What the command tag says.
    pub(crate) verb: &'static str,
    pub(crate) returning: Vec<Expr>,
    pub(crate) columns: Arc<[OutputColumn]>,
}

#[derive(Debug)]
pub(crate) struct ConflictPlan {
    pub(crate) arbiters: Vec<usize>,
    /// DO UPDATE, over the existing row (rel 0) and EXCLUDED (rel 1).
    pub(crate) update: Option<ConflictUpdatePlan>,
}

#[derive(Debug)]
pub(crate) struct ConflictUpdatePlan {
    /// Column and value.
    pub(crate) set: Vec<(usize, Expr)>,
    pub(crate) filter: Option<Expr>,
}

#[derive(Debug)]
pub(crate) struct UpdatePlan {
    pub(crate) withs: Option<Arc<[WithPlan]>>,
    pub(crate) table: TableId,
    pub(crate) select: SelectPlan,
    pub(crate) set: Vec<(usize, Expr)>,
    /// The columns of `set`.
    pub(crate) set_columns: ColumnSet,
    /// Those of them that it only adds something to.
    pub(crate) added: ColumnSet,
    pub(crate) row: RowPlan,
    pub(crate) returning: Vec<Expr>,
    pub(crate) columns: Arc<[OutputColumn]>,
}

#[derive(Debug)]
pub(crate) struct DeletePlan {
    pub(crate) withs: Option<Arc<[WithPlan]>>,
    pub(crate) table: TableId,
    pub(crate) select: SelectPlan,
    pub(crate) returning: Vec<Expr>,
    pub(crate) columns: Arc<[OutputColumn]>,
}

#[derive(Debug)]
pub(crate) struct MergePlan {
    pub(crate) withs: Option<Arc<[WithPlan]>>,
    pub(crate) table: TableId,
    pub(crate) select: SelectPlan,
    /// The target is read first: see [`plan::reads_target_first`].
    pub(crate) target_first: bool,
    pub(crate) row: RowPlan,
    pub(crate) whens: Vec<MergeWhenPlan>,
}

#[derive(Debug)]
pub(crate) struct MergeWhenPlan {
    pub(crate) matched: bool,
    pub(crate) condition: Option<Expr>,
    pub(crate) action: MergeActionPlan,
}

/// What MERGE does, over the target (rel 0) and the source.
#[derive(Debug)]
pub(crate) enum MergeActionPlan {
    Update(Vec<(usize, Expr)>, ColumnSet),
    Delete,
    Insert(Vec<Expr>),
    Nothing,
}

/// What becomes of a row before it is stored.
#[derive(Debug)]
pub(crate) struct RowPlan {
    /// Generated columns, from the row itself.
    pub(crate) generated: Vec<(usize, Expr)>,
    pub(crate) checks: Vec<CheckPlan>,
    /// CHECK OPTION of views, by the view's name.
    pub(crate) views: Vec<CheckPlan>,
    /// Some index has keys that must be computed.
    pub(crate) special: bool,
}

/// A CHECK, compiled.
#[derive(Debug)]
pub(crate) struct CheckPlan {
    pub(crate) name: Arc<str>,
    pub(crate) expr: Expr,
    /// It calls a routine.
    pub(crate) calls: bool,
}

impl InsertPlan {
    /// Whether it says ON CONFLICT DO UPDATE.
    pub(crate) fn updates_conflicts(&self) -> bool {
        self.conflict.as_ref().is_some_and(|c| c.update.is_some())
    }

    /// The columns that ON CONFLICT DO UPDATE sets.
    pub(crate) fn conflict_columns(&self) -> ColumnSet {
        let update = self.conflict.as_ref().and_then(|c| c.update.as_ref());
        update.map_or(ColumnSet::NONE, |u| u.set.iter().map(|(column, _)| *column).collect())
    }
}

impl Prepared {
    /// Binds and plans a client's statement. `source` is the text its spans refer to.
    pub(crate) fn new(
        catalog: &Catalog,
        statement: &ast::Statement,
        source: &str,
        params: &[Type],
    ) -> Result<Self, Diagnostic> {
        let text = isolde_sql::bind::one_line(statement.span.of(source));
        let bound = Arc::new(isolde_sql::bind::statement_again(catalog, statement, text, params)?);
        let origin = Origin { statement: statement.clone(), text: bound.text.clone(), params: params.to_vec() };
        let ordered = ordered(catalog, &bound, Taken::Set);
        Ok(Prepared { origin: Some(Arc::new(origin)), ordered, ..Self::plan(catalog, bound) })
    }

    /// A statement that is bound when it runs. Until then it wants those of the catalog's tables that it seems to name.
    pub(crate) fn late(catalog: &Catalog, statement: &ast::Statement, source: &str, params: &[Type]) -> Self {
        let text = isolde_sql::bind::one_line(statement.span.of(source));
        let facts = Facts::of(statement);
        let locks = locked_in_turn(catalog, &statement.kind).unwrap_or_else(|| named_tables(catalog, &facts).collect());
        let kind = StatementKind::Late(facts.verb);
        let typed = typed::Statement { kind, text: text.clone(), span: statement.span };
        let origin = Origin { statement: statement.clone(), text, params: params.to_vec() };
        let plan = Self::plan(catalog, Arc::new(typed));
        Prepared { origin: Some(Arc::new(origin)), locks, late: true, ..plan }
    }

    /// See [`ast::StatementKind::is_bound_under_snapshot`].
    pub(crate) fn is_bound_under_snapshot(&self) -> bool {
        self.origin.as_ref().is_some_and(|o| o.statement.kind.is_bound_under_snapshot())
    }

    /// If it is LOCK TABLE, bound or not: whether it would rather fail than wait.
    pub(crate) fn lock_table(&self) -> Option<bool> {
        match (&self.statement.kind, &self.origin) {
            (StatementKind::LockTable { nowait, .. }, _) => Some(*nowait),
            (_, Some(origin)) if self.late => match &origin.statement.kind {
                ast::StatementKind::LockTable(lock) => Some(lock.nowait),
                _ => None,
            },
            _ => None,
        }
    }

    /// The same statement, bound to other definitions; `None` if it is part of a routine.
    pub(crate) fn again(&self, catalog: &Catalog) -> Option<Result<Self, Diagnostic>> {
        let origin = self.origin.as_ref()?;
        let Origin { statement, text, params } = &**origin;
        let bound = isolde_sql::bind::statement_again(catalog, statement, text.clone(), params);
        Some(bound.map(|bound| Prepared {
            origin: self.origin.clone(),
            rows_max: self.rows_max,
            ordered: ordered(catalog, &bound, Taken::Set),
            ..Self::plan(catalog, Arc::new(bound))
        }))
    }

    /// Plans the query of a cursor: where it is of one table, the cursor knows which row it stands on.
    pub(crate) fn cursor(catalog: &Catalog, statement: Arc<typed::Statement>) -> Self {
        let mut prepared = Self::plan(catalog, statement);
        if let (Plan::Query(plan), StatementKind::Query(query)) = (&mut prepared.plan, &prepared.statement.kind) {
            plan.sources = match &query.body {
                QueryBody::Select(select) => {
                    let plain = select.grouping.is_none() && !select.distinct;
                    !query.locking.is_empty()
                        || (plain && query.with.is_empty() && plan.tables.len() == 1 && plan.tables[0].is_some())
                }
                _ => false,
            };
        }
        prepared
    }

    /// Plans a query that stands inside of a statement, to be run with that statement's snapshot.
    pub(crate) fn inner(catalog: &Catalog, query: &typed::Query, rows_max: Option<usize>) -> Self {
        let kind = StatementKind::Query(query.clone());
        let statement = typed::Statement { kind, text: "".into(), span: isolde_sql::Span::default() };
        Prepared { visible: false, rows_max, ..Self::plan(catalog, Arc::new(statement)) }
    }

    /// Plans a bound statement, whose rows may be taken one by one.
    pub(crate) fn plan(catalog: &Catalog, statement: Arc<typed::Statement>) -> Self {
        let plan = Plan::new(catalog, &statement.kind);
        let (locks, visible) = (crate::lock::needs::locks(catalog, &statement.kind), is_visible(&statement.kind));
        let version = catalog.version();
        let id = isolde_digest::tagged(0x5374, (&statement.text, statement.span));
        let (reads, called) = (reads(catalog, &statement), statement.routines());
        // A routine that is not volatile reads what the statement that calls it sees: from then on, that statement has
        // seen it.
        let looks = match statement.kind {
            StatementKind::Query(_) => called.iter().any(|id| is_stable(catalog, *id)),
            StatementKind::Call(..) => called.iter().any(|id| is_not_volatile(catalog, *id)),
            _ => false,
        };
        let (tells, visible, calls) = (visible, visible || looks, !called.is_empty());
        let (origin, late, rows_max) = (None, false, None);
        let early = plan::early::of_statement(&statement.kind).map(Box::new);
        let ordered = ordered(catalog, &statement, Taken::Sequence);
        Prepared {
            plan,
            visible,
            tells,
            locks,
            reads,
            ordered,
            calls,
            origin,
            version,
            late,
            id,
            early,
            rows_max,
            statement,
        }
    }
}

/// The tables whose order a statement reads.
fn ordered(catalog: &Catalog, statement: &typed::Statement, taken: Taken) -> TableSet {
    let found = statement.order_reads(catalog, taken);
    match found.routines.is_empty() {
        true => found.reads.iter().map(|read| read.table.0 as usize).collect(),
        false => TableSet::ALL,
    }
}

/// The tables that a statement may read from its snapshot. A routine that is not volatile reads from it, too, and may
/// be called by a trigger or a CHECK.
fn reads(catalog: &Catalog, statement: &typed::Statement) -> TableSet {
    let stable = || catalog.routines().any(|(id, _)| is_stable(catalog, id));
    let calls = |table: &Table| !table.triggers.is_empty() || table.checks.iter().any(|check| calls(&check.expr));
    let changes = !matches!(statement.kind, StatementKind::Query(_));
    let calls = !statement.routines().is_empty() || (changes && catalog.tables().any(|table| calls(table)));
    if calls && stable() {
        return TableSet::ALL;
    }
    statement.tables().iter().map(|table| table.0 as usize).collect()
}

/// Whether a routine reads tables as the statement sees them that calls it.
/// Whether the queries of a routine see what the statement that called it sees.
fn is_not_volatile(catalog: &Catalog, routine: RoutineId) -> bool {
    catalog.routine(routine).volatility != ast::Volatility::Volatile
}

fn is_stable(catalog: &Catalog, routine: RoutineId) -> bool {
    catalog.routine(routine).volatility == ast::Volatility::Stable
}

/// Whether a statement may see or change what others see or change. CALL and DO are not visible themselves: the
/// statements inside them are.
fn is_visible(statement: &StatementKind) -> bool {
    match statement {
        StatementKind::Query(query) => {
            let mut drawing = false;
            query.walk(0, &mut |e, _| drawing |= crate::routine::draws(e));
            drawing || !query.locking.is_empty() || !query.tables().is_empty()
        }
        StatementKind::Insert(_) | StatementKind::Update(_) | StatementKind::Delete(_) => true,
        StatementKind::Merge(_) | StatementKind::Late(_) => true,
        StatementKind::Define(_) | StatementKind::Truncate(_) | StatementKind::LockTable { .. } => true,
        StatementKind::SetConstraints(set) => !set.deferred,
        StatementKind::Transaction(_) | StatementKind::Set { .. } => false,
        StatementKind::Session(command) => matches!(command, SessionCommand::Maintain { .. }),
        StatementKind::Cursor(CursorCommand::Declare { query, .. }) => is_visible(&query.kind),
        StatementKind::Call(..) | StatementKind::Do(_) | StatementKind::Cursor(_) => false,
    }
}

impl Plan {
    fn new(catalog: &Catalog, statement: &StatementKind) -> Plan {
        let compile = |exprs: &[typed::Expr]| exprs.iter().map(|e| plan::expr(catalog, e)).collect::<Vec<_>>();
        match statement {
            StatementKind::Query(q) => Plan::Query(LockingPlan {
                query: plan::query(catalog, q),
                locking: q.locking.clone(),
                tables: tables_of(q),
                columns: q.columns.clone().into(),
                sources: false,
            }),
            StatementKind::Insert(insert) => {
                let (returning, columns) = returning(catalog, insert.returning.as_ref());
                Plan::Insert(InsertPlan {
                    withs: withs(catalog, &insert.with),
                    verb: insert.verb,
                    table: insert.table,
                    source: Subquery::new(catalog, &insert.source),
                    values: compile(&insert.values),
                    row: RowPlan::new(catalog, insert.table).through(catalog, &insert.view_checks),
                    conflict: insert.on_conflict.as_ref().map(|c| ConflictPlan {
                        arbiters: c.arbiters.clone(),
                        update: c.update.as_ref().map(|u| ConflictUpdatePlan {
                            set: assignments(catalog, &u.set),
                            filter: u.filter.as_ref().map(|f| plan::expr(catalog, f)),
                        }),
                    }),
                    returning,
                    columns,
                })
            }
            StatementKind::Update(update) => {
                let mut used: Vec<&typed::Expr> = update.set.iter().map(|(_, e)| e).collect();
                used.extend(update.returning.iter().flat_map(|r| &r.exprs));
                let carried = crate::carried::by_update(catalog, update);
                used.extend(&carried);
                let (returning, columns) = returning(catalog, update.returning.as_ref());
                Plan::Update(UpdatePlan {
                    withs: withs(catalog, &update.with),
                    table: update.table,
                    select: plan::select(catalog, &update.select, &used),
                    set: assignments(catalog, &update.set),
                    set_columns: set_columns(catalog, update.table, &update.set),
                    added: crate::carried::added_by(catalog, update),
                    row: RowPlan::new(catalog, update.table).through(catalog, &update.view_checks),
                    returning,
                    columns,
                })
            }
            StatementKind::Delete(delete) => {
                let carried = crate::carried::by_delete(catalog, delete.table);
                let returned = delete.returning.iter().flat_map(|r| &r.exprs);
                let used: Vec<&typed::Expr> = returned.chain(&carried).collect();
                let (returning, columns) = returning(catalog, delete.returning.as_ref());
                let select = plan::select(catalog, &delete.select, &used);
                Plan::Delete(DeletePlan {
                    withs: withs(catalog, &delete.with),
                    table: delete.table,
                    select,
                    returning,
                    columns,
                })
            }
            StatementKind::Merge(merge) => Plan::Merge(merge_plan(catalog, merge)),
            StatementKind::Call(_, args) => Plan::Call(compile(args)),
            StatementKind::Cursor(CursorCommand::Declare { query, .. }) => {
                Plan::Cursor(Arc::new(Prepared::cursor(catalog, query.clone())))
            }
            StatementKind::Do(routine) => Plan::Do(Arc::new(Code::compile(catalog, routine))),
            _ => Plan::Other,
        }
    }

    /// The WITH queries of the statement, if it has any.
    pub(crate) fn withs(&self) -> Option<Arc<[WithPlan]>> {
        match self {
            Plan::Query(plan) if plan.query.withs.is_empty() => None,
            Plan::Query(plan) => Some(plan.query.withs.clone().into()),
            Plan::Insert(plan) => plan.withs.clone(),
            Plan::Update(plan) => plan.withs.clone(),
            Plan::Delete(plan) => plan.withs.clone(),
            Plan::Merge(plan) => plan.withs.clone(),
            Plan::Call(_) | Plan::Do(_) | Plan::Cursor(_) | Plan::Other => None,
        }
    }

    /// A MERGE that does nothing whatever it finds.
    pub(crate) fn is_idle_merge(&self) -> bool {
        let idle = |when: &MergeWhenPlan| matches!(when.action, MergeActionPlan::Nothing);
        matches!(self, Plan::Merge(plan) if plan.whens.iter().all(idle))
    }

    /// Whether a query changes rows after all.
    pub(crate) fn modifies_in_with(&self) -> bool {
        matches!(self, Plan::Query(plan) if plan.query.withs.iter().any(|w| matches!(w, WithPlan::Modify { .. })))
    }

    /// The verb of the command tag, and the columns of the result.
    pub(crate) fn result(&self) -> (&'static str, Arc<[OutputColumn]>) {
        match self {
            Plan::Query(plan) => ("SELECT", plan.columns.clone()),
            Plan::Insert(plan) => (plan.verb, plan.columns.clone()),
            Plan::Update(plan) => ("UPDATE", plan.columns.clone()),
            Plan::Delete(plan) => ("DELETE", plan.columns.clone()),
            Plan::Merge(_) => ("MERGE", Arc::default()),
            Plan::Call(_) => ("CALL", Arc::default()),
            Plan::Do(_) => ("DO", Arc::default()),
            Plan::Cursor(_) => ("DECLARE CURSOR", Arc::default()),
            Plan::Other => ("", Arc::default()),
        }
    }
}

/// The tables that a statement names, each once, as they are locked before it is bound: none if the first is not there.
fn named_tables(catalog: &Catalog, facts: &Facts) -> impl Iterator<Item = (LockKey, TableLockMode)> {
    let writes = matches!(facts.verb, Verb::Insert | Verb::Update | Verb::Delete | Verb::Merge);
    let mut found: Vec<(TableId, TableLockMode)> = Vec::new();
    for used in &facts.tables {
        let mode = if writes && used.written { TableLockMode::RowExclusive } else { TableLockMode::AccessShare };
        match catalog.find_table(used.name.schema.as_deref(), &used.name.name) {
            Some(table) => match found.iter_mut().find(|(id, _)| *id == table.id) {
                Some((_, known)) => *known = mode.max(*known),
                None => found.push((table.id, mode)),
            },
            None if found.is_empty() => break,
            None => {}
        }
    }
    found.into_iter().map(|(id, mode)| (LockKey::Table(id), mode))
}

/// A statement that locks the tables of a list one after the other, and looks for each only then: those in front of the
/// first that does not exist.
pub(crate) fn locked_in_turn(catalog: &Catalog, kind: &ast::StatementKind) -> Option<Box<[(LockKey, TableLockMode)]>> {
    let (names, mode) = match kind {
        ast::StatementKind::Truncate(truncate) => (&truncate.tables, TableLockMode::AccessExclusive),
        ast::StatementKind::LockTable(lock) => (&lock.tables, lock.mode),
        ast::StatementKind::Drop(drop) if drop.object == ast::DropObject::Table && !drop.if_exists => {
            (&drop.names, TableLockMode::AccessExclusive)
        }
        _ => return None,
    };
    let found = |name: &ast::QualifiedName| catalog.find_table(name.schema.as_ref().map(|s| &*s.name), &name.name.name);
    Some(names.iter().map_while(found).map(|table| (LockKey::Table(table.id), mode)).collect())
}

fn withs(catalog: &Catalog, with: &[typed::With]) -> Option<Arc<[WithPlan]>> {
    (!with.is_empty()).then(|| plan::withs(catalog, with).into())
}

fn merge_plan(catalog: &Catalog, merge: &typed::Merge) -> MergePlan {
    let used: Vec<&typed::Expr> = merge.whens.iter().flat_map(typed::MergeWhen::exprs).collect();
    let action = |action: &typed::MergeAction| match action {
        typed::MergeAction::Update(set) => {
            MergeActionPlan::Update(assignments(catalog, set), set_columns(catalog, merge.table, set))
        }
        typed::MergeAction::Insert(values) => {
            MergeActionPlan::Insert(values.iter().map(|e| plan::expr(catalog, e)).collect())
        }
        typed::MergeAction::Delete => MergeActionPlan::Delete,
        typed::MergeAction::Nothing => MergeActionPlan::Nothing,
    };
    let when = |when: &typed::MergeWhen| MergeWhenPlan {
        matched: when.matched,
        condition: when.condition.as_ref().map(|e| plan::expr(catalog, e)),
        action: action(&when.action),
    };
    MergePlan {
        withs: withs(catalog, &merge.with),
        table: merge.table,
        select: plan::select(catalog, &merge.select, &used),
        target_first: plan::reads_target_first(catalog, &merge.select),
        row: RowPlan::new(catalog, merge.table),
        whens: merge.whens.iter().map(when).collect(),
    }
}

fn tables_of(query: &typed::Query) -> Vec<Option<TableId>> {
    let QueryBody::Select(select) = &query.body else { return Vec::new() };
    let table = |rel: &Rel| if let RelSource::Table(table) = rel.source { Some(table) } else { None };
    select.rels.iter().map(table).collect()
}

fn assignments(catalog: &Catalog, set: &[(usize, typed::Expr)]) -> Vec<(usize, Expr)> {
    set.iter().map(|(column, e)| (*column, plan::expr(catalog, e))).collect()
}

/// Whether an expression calls a routine.
fn calls(e: &typed::Expr) -> bool {
    let mut found = false;
    e.walk(0, &mut |e, _| found |= matches!(e.kind, typed::ExprKind::Routine(..)));
    found
}

impl RowPlan {
    /// For a table.
    pub(crate) fn new(catalog: &Catalog, table: TableId) -> RowPlan {
        let table = catalog.table(table);
        let named =
            |name: &Arc<str>, e| CheckPlan { name: name.clone(), expr: plan::expr(catalog, e), calls: calls(e) };
        let generated = table.columns.iter().enumerate();
        let generated = generated.filter_map(|(i, c)| Some((i, plan::expr(catalog, &c.generated.as_ref()?.expr))));
        RowPlan {
            generated: generated.collect(),
            checks: table.checks.iter().map(|c| named(&c.name, &c.expr)).collect(),
            views: Vec::new(),
            special: table.indexes.iter().any(|i| i.special.is_some()),
        }
    }

    /// The same through views that have CHECK OPTION.
    fn through(mut self, catalog: &Catalog, views: &[typed::ViewCheck]) -> RowPlan {
        let check = |v: &typed::ViewCheck| CheckPlan {
            name: v.view.clone(),
            expr: plan::expr(catalog, &v.condition),
            calls: false,
        };
        self.views = views.iter().map(check).collect();
        self
    }
}

/// The columns that are set, and those that follow from them.
fn set_columns(catalog: &Catalog, table: TableId, set: &[(usize, typed::Expr)]) -> ColumnSet {
    let generated = catalog.table(table).columns.iter().enumerate().filter(|(_, c)| c.generated.is_some());
    set.iter().map(|(c, _)| *c).chain(generated.map(|(i, _)| i)).collect()
}

fn returning(catalog: &Catalog, returning: Option<&typed::Returning>) -> (Vec<Expr>, Arc<[OutputColumn]>) {
    match returning {
        Some(r) => (r.exprs.iter().map(|e| plan::expr(catalog, e)).collect(), r.columns.clone().into()),
        None => (Vec::new(), Arc::default()),
    }
}
