//! Looking at every expression of a statement.
//!
//! One traversal, in a shared and a mutable form: [`Expr::walk`] visits an expression and everything below it, queries
//! included, and says how many queries lie between: a [`ExprKind::Column`] seen at depth `d` whose own depth is `d`
//! belongs to the level where the walk began.

use std::collections::BTreeSet;

use super::*;

macro_rules! traversals {
    ($children:ident, $subquery:ident, $exprs:ident, $queries:ident, $from:ident, $source_exprs:ident, $window:ident $(, $m:tt)?) => {
        impl Expr {
            /// Calls `f` with each direct operand; what lies inside a subquery is not one.
            pub fn $children<'a>(&'a $($m)? self, f: &mut dyn FnMut(&'a $($m)? Expr)) {
                use ExprKind as E;
                match &$($m)? self.kind {
                    E::Const(_) | E::Column { .. } | E::WholeRow { .. } | E::Param(_) | E::NamedField(..) => {}
                    E::Group { .. } | E::Aggregated { .. } | E::Windowed(_) | E::Expanded(_) | E::Output(_) => {}
                    E::Scalar(_) | E::ScalarRow(_) | E::Exists(_) => {}
                    E::Field(e, _) | E::Not(e) | E::IsNull(e, _) | E::IsTruth(e, ..) | E::Cast { expr: e, .. } => f(e),
                    E::IsDistinct(a, b, _) => {
                        f(a);
                        f(b);
                    }
                    E::InList(e, list, _) => {
                        f(e);
                        list.into_iter().for_each(f);
                    }
                    E::Case(whens, otherwise) => {
                        for (condition, result) in whens {
                            f(condition);
                            f(result);
                        }
                        if let Some(e) = otherwise {
                            f(e);
                        }
                    }
                    E::Call(_, list) | E::Routine(_, list) | E::And(list) | E::Or(list) => list.into_iter().for_each(f),
                    E::Coalesce(list) | E::Extreme(list, _) | E::Row(list) => list.into_iter().for_each(f),
                    E::Quantified(q) => (&$($m)? q.left).into_iter().for_each(f),
                    E::AnyOf(any) => {
                        f(&$($m)? any.left);
                        f(&$($m)? any.array);
                    }
                }
            }

            /// The query it evaluates, if it is one of the subquery forms.
            pub fn $subquery(&$($m)? self) -> Option<&$($m)? Query> {
                match &$($m)? self.kind {
                    ExprKind::Scalar(q) | ExprKind::ScalarRow(q) | ExprKind::Exists(q) => Some(q),
                    ExprKind::Quantified(q) => Some(&$($m)? q.query),
                    _ => None,
                }
            }
        }

        impl Query {
            /// Calls `f` with each expression of this level, not with those of queries inside it.
            pub fn $exprs<'a>(&'a $($m)? self, f: &mut dyn FnMut(&'a $($m)? Expr)) {
                match &$($m)? self.body {
                    QueryBody::Select(select) => select.$exprs(f),
                    QueryBody::Values(rows) => rows.into_iter().flatten().for_each(&mut *f),
                    QueryBody::SetOperation { .. } => {}
                }
                (&$($m)? self.order_by).into_iter().for_each(|key| f(&$($m)? key.expr));
                (&$($m)? self.limit).into_iter().chain(&$($m)? self.offset).for_each(f);
            }

            /// Calls `f` with the queries directly inside this one: WITH, operands of a set operation, subqueries of
            /// FROM.
            pub fn $queries<'a>(&'a $($m)? self, f: &mut dyn FnMut(&'a $($m)? Query)) {
                for with in &$($m)? self.with {
                    match &$($m)? with.body {
                        WithBody::Query(query) => f(query),
                        WithBody::Recursive { first, step, .. } => {
                            f(first);
                            f(step);
                        }
                        WithBody::Modify(_) => {}
                    }
                }
                match &$($m)? self.body {
                    QueryBody::Select(select) => select.$queries(f),
                    QueryBody::Values(_) => {}
                    QueryBody::SetOperation { left, right, .. } => {
                        f(left);
                        f(right);
                    }
                }
            }
        }

        impl Select {
            /// Calls `f` with each expression of this level.
            pub fn $exprs<'a>(&'a $($m)? self, f: &mut dyn FnMut(&'a $($m)? Expr)) {
                for rel in &$($m)? self.rels {
                    $source_exprs(&$($m)? rel.source, f);
                }
                if let Some(from) = &$($m)? self.from {
                    $from(from, f);
                }
                (&$($m)? self.filter).into_iter().for_each(&mut *f);
                if let Some(grouping) = &$($m)? self.grouping {
                    (&$($m)? grouping.keys).into_iter().for_each(&mut *f);
                    for call in &$($m)? grouping.calls {
                        (&$($m)? call.args).into_iter().chain(&$($m)? call.filter).for_each(&mut *f);
                        (&$($m)? call.order_by).into_iter().for_each(|key| f(&$($m)? key.expr));
                    }
                    (&$($m)? grouping.having).into_iter().for_each(&mut *f);
                }
                (&$($m)? self.windows).into_iter().for_each(|window| $window(window, f));
                for expansion in &$($m)? self.expansions {
                    let (Expansion::Function(_, args) | Expansion::Routine(_, args)) = expansion;
                    args.into_iter().for_each(&mut *f);
                }
                (&$($m)? self.projection).into_iter().for_each(f);
            }

            /// Calls `f` with each subquery of FROM.
            pub fn $queries<'a>(&'a $($m)? self, f: &mut dyn FnMut(&'a $($m)? Query)) {
                for rel in &$($m)? self.rels {
                    match &$($m)? rel.source {
                        RelSource::Query { query, .. } => f(query),
                        RelSource::RowsFrom { parts, .. } => {
                            for part in parts {
                                if let RelSource::Query { query, .. } = &$($m)? part.source {
                                    f(query);
                                }
                            }
                        }
                        _ => {}
                    }
                }
            }
        }

        fn $source_exprs<'a>(source: &'a $($m)? RelSource, f: &mut dyn FnMut(&'a $($m)? Expr)) {
            match source {
                RelSource::Function(_, args) | RelSource::Routine(_, args) => args.into_iter().for_each(f),
                RelSource::RowsFrom { parts, .. } => {
                    parts.into_iter().for_each(|part| $source_exprs(&$($m)? part.source, f));
                }
                _ => {}
            }
        }

        fn $window<'a>(window: &'a $($m)? Window, f: &mut dyn FnMut(&'a $($m)? Expr)) {
            (&$($m)? window.partition_by).into_iter().for_each(&mut *f);
            (&$($m)? window.order_by).into_iter().for_each(|key| f(&$($m)? key.expr));
            for bound in [&$($m)? window.frame.start, &$($m)? window.frame.end] {
                if let FrameBound::Preceding(offset) | FrameBound::Following(offset) = bound {
                    f(&$($m)? offset.distance);
                }
            }
            for (_, call) in &$($m)? window.calls {
                match call {
                    WindowCall::Function { args, .. } => args.into_iter().for_each(&mut *f),
                    WindowCall::Aggregate(call) => {
                        (&$($m)? call.args).into_iter().chain(&$($m)? call.filter).for_each(&mut *f);
                        (&$($m)? call.order_by).into_iter().for_each(|key| f(&$($m)? key.expr));
                    }
                }
            }
        }

        fn $from<'a>(from: &'a $($m)? From, f: &mut dyn FnMut(&'a $($m)? Expr)) {
            if let From::Join { left, right, on, .. } = from {
                $from(left, f);
                $from(right, f);
                on.into_iter().for_each(f);
            }
        }
    };
}

traversals!(children, subquery, exprs, queries, join_conditions, source_exprs, window_exprs);
traversals!(
    children_mut,
    subquery_mut,
    exprs_mut,
    queries_mut,
    join_conditions_mut,
    source_exprs_mut,
    window_exprs_mut,
    mut
);

impl Expr {
    /// Calls `f` with this expression and all below it, and with the number of queries entered on the way.
    pub fn walk(&self, depth: u16, f: &mut dyn FnMut(&Expr, u16)) {
        f(self, depth);
        self.children(&mut |child| child.walk(depth, f));
        if let Some(query) = self.subquery() {
            query.walk(depth + 1, f);
        }
    }

    /// The same, to change expressions; `f` says whether to go on below the one it was given.
    pub fn walk_mut(&mut self, depth: u16, f: &mut dyn FnMut(&mut Expr, u16) -> bool) {
        if !f(self, depth) {
            return;
        }
        self.children_mut(&mut |child| child.walk_mut(depth, f));
        if let Some(query) = self.subquery_mut() {
            query.walk_mut(depth + 1, f);
        }
    }

    /// Calls `f` with the source of every relation of the queries inside of it.
    pub fn sources(&self, depth: u16, f: &mut dyn FnMut(&RelSource, u16)) {
        self.children(&mut |child| child.sources(depth, f));
        if let Some(query) = self.subquery() {
            query.sources(depth + 1, f);
        }
    }

    /// Evaluating it reads no table and runs no routine: it depends on variables and the row at hand only.
    pub fn is_local(&self) -> bool {
        let mut reach = Reach::default();
        reach.expr(self);
        reach.is_local()
    }

    /// Whether two expressions compute the same from the same row: what GROUP BY and DISTINCT compare.
    /// Subqueries are never the same.
    pub fn same_as(&self, other: &Expr) -> bool {
        if self.ty != other.ty || !same_head(&self.kind, &other.kind) {
            return false;
        }
        let (mut mine, mut others) = (Vec::new(), Vec::new());
        self.children(&mut |e| mine.push(e));
        other.children(&mut |e| others.push(e));
        mine.len() == others.len() && mine.iter().zip(&others).all(|(a, b)| a.same_as(b))
    }
}

/// Equal but for their operands.
fn same_head(a: &ExprKind, b: &ExprKind) -> bool {
    use ExprKind as E;
    match (a, b) {
        // Printed rather than compared: 1.0 and 1.00 are equal numbers, but not the same constant.
        (E::Const(a), E::Const(b)) => format!("{a:?}") == format!("{b:?}"),
        (E::Column { depth, rel, col }, E::Column { depth: d, rel: r, col: c }) => (depth, rel, col) == (d, r, c),
        (E::WholeRow { depth, rel }, E::WholeRow { depth: d, rel: r }) => (depth, rel) == (d, r),
        (E::Param(a), E::Param(b)) | (E::Output(a), E::Output(b)) => a == b,
        (E::Windowed(a), E::Windowed(b)) | (E::Expanded(a), E::Expanded(b)) => a == b,
        (E::Field(_, a), E::Field(_, b)) => a == b,
        (E::NamedField(a, x), E::NamedField(b, y)) => a == b && x == y,
        (E::Group { depth, key }, E::Group { depth: d, key: k }) => (depth, key) == (d, k),
        (E::Aggregated { depth, call }, E::Aggregated { depth: d, call: c }) => (depth, call) == (d, c),
        (E::Call(a, _), E::Call(b, _)) => std::ptr::eq(*a, *b),
        (E::Routine(a, _), E::Routine(b, _)) => a == b,
        (E::IsNull(_, a), E::IsNull(_, b)) | (E::IsDistinct(.., a), E::IsDistinct(.., b)) => a == b,
        (E::InList(.., a), E::InList(.., b)) | (E::Extreme(_, a), E::Extreme(_, b)) => a == b,
        (E::IsTruth(_, a, x), E::IsTruth(_, b, y)) => a == b && x == y,
        (E::Case(_, a), E::Case(_, b)) => a.is_some() == b.is_some(),
        (E::Cast { explicit: a, .. }, E::Cast { explicit: b, .. }) => a == b,
        (E::And(_), E::And(_)) | (E::Or(_), E::Or(_)) | (E::Not(_), E::Not(_)) => true,
        (E::Coalesce(_), E::Coalesce(_)) | (E::Row(_), E::Row(_)) => true,
        _ => false,
    }
}

impl Query {
    /// Calls `f` with every expression in it, and with the number of queries entered on the way.
    pub fn walk(&self, depth: u16, f: &mut dyn FnMut(&Expr, u16)) {
        self.exprs(&mut |e| e.walk(depth, f));
        self.queries(&mut |q| q.walk(depth + 1, f));
    }

    /// The same, to change expressions.
    pub fn walk_mut(&mut self, depth: u16, f: &mut dyn FnMut(&mut Expr, u16) -> bool) {
        self.exprs_mut(&mut |e| e.walk_mut(depth, f));
        self.queries_mut(&mut |q| q.walk_mut(depth + 1, f));
    }

    /// Calls `f` with the source of every relation in it, and with the number of queries entered on the way.
    pub fn sources(&self, depth: u16, f: &mut dyn FnMut(&RelSource, u16)) {
        if let QueryBody::Select(select) = &self.body {
            select.rels.iter().for_each(|rel| f(&rel.source, depth));
        }
        self.exprs(&mut |e| e.sources(depth, f));
        self.queries(&mut |q| q.sources(depth + 1, f));
    }

    /// The tables it reads itself; routines it calls may read more.
    pub fn tables(&self) -> BTreeSet<TableId> {
        let mut reach = Reach::default();
        reach.query(self);
        reach.tables
    }

    /// It reads no table and runs no routine.
    pub fn is_local(&self) -> bool {
        let mut reach = Reach::default();
        reach.query(self);
        reach.is_local()
    }
}

impl Expr {
    /// The routines that it calls.
    pub fn routines(&self, routines: &mut BTreeSet<RoutineId>) {
        let mut reach = Reach::default();
        reach.expr(self);
        routines.append(&mut reach.routines);
    }
}

impl Select {
    /// A select from nowhere: `SELECT` with only a select list.
    pub fn is_bare(&self) -> bool {
        self.rels.is_empty() && self.filter.is_none() && self.grouping.is_none() && self.expansions.is_empty()
    }
}

impl Statement {
    /// Whether running it reads or writes a table, or runs a routine that may.
    pub fn reads_tables(&self) -> bool {
        match &self.kind {
            StatementKind::Query(query) => !query.is_local(),
            StatementKind::Insert(_) | StatementKind::Update(_) | StatementKind::Delete(_) => true,
            StatementKind::Merge(_) => true,
            StatementKind::Define(_) | StatementKind::Truncate(_) | StatementKind::LockTable { .. } => true,
            StatementKind::SetConstraints(_) => true,
            StatementKind::Call(..) | StatementKind::Do(_) | StatementKind::Cursor(_) => true,
            StatementKind::Late(_) => true,
            StatementKind::Transaction(_) | StatementKind::Set { .. } => false,
            StatementKind::Session(command) => matches!(command, SessionCommand::Execute { .. }),
        }
    }

    /// The tables it names itself, read or written; routines it calls may touch more.
    pub fn tables(&self) -> BTreeSet<TableId> {
        let mut reach = Reach::default();
        reach.statement(self);
        reach.tables
    }

    /// The routines it calls itself.
    pub fn routines(&self) -> BTreeSet<RoutineId> {
        let mut reach = Reach::default();
        reach.statement(self);
        reach.routines
    }
}

/// What evaluation can touch.
#[derive(Default)]
struct Reach {
    tables: BTreeSet<TableId>,
    routines: BTreeSet<RoutineId>,
}

impl Reach {
    fn is_local(&self) -> bool {
        self.tables.is_empty() && self.routines.is_empty()
    }

    fn expr(&mut self, expr: &Expr) {
        if let ExprKind::Routine(id, _) = &expr.kind {
            self.routines.insert(*id);
        }
        expr.children(&mut |child| self.expr(child));
        if let Some(query) = expr.subquery() {
            self.query(query);
        }
    }

    fn with(&mut self, with: &[With]) {
        for with in with {
            match &with.body {
                WithBody::Query(query) => self.query(query),
                WithBody::Recursive { first, step, .. } => {
                    self.query(first);
                    self.query(step);
                }
                WithBody::Modify(statement) => self.statement(statement),
            }
        }
    }

    fn query(&mut self, query: &Query) {
        self.with(&query.with);
        if let QueryBody::Select(select) = &query.body {
            self.rels(select);
        }
        query.exprs(&mut |e| self.expr(e));
        query.queries(&mut |q| self.query(q));
    }

    fn rels(&mut self, select: &Select) {
        for rel in &select.rels {
            match &rel.source {
                RelSource::Table(id) => drop(self.tables.insert(*id)),
                RelSource::Routine(id, _) => drop(self.routines.insert(*id)),
                RelSource::RowsFrom { parts, .. } => {
                    for part in parts {
                        if let RelSource::Routine(id, _) = &part.source {
                            self.routines.insert(*id);
                        }
                    }
                }
                RelSource::Query { .. } | RelSource::Function(..) => {}
                RelSource::With { .. } | RelSource::Working { .. } => {}
            }
        }
        for expansion in &select.expansions {
            if let Expansion::Routine(id, _) = expansion {
                self.routines.insert(*id);
            }
        }
    }

    fn select(&mut self, select: &Select) {
        self.rels(select);
        select.exprs(&mut |e| self.expr(e));
        select.queries(&mut |q| self.query(q));
    }

    fn exprs<'a>(&mut self, exprs: impl IntoIterator<Item = &'a Expr>) {
        exprs.into_iter().for_each(|e| self.expr(e));
    }

    fn returning(&mut self, returning: &Option<Returning>) {
        self.exprs(returning.iter().flat_map(|r| &r.exprs));
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Query(query) => self.query(query),
            StatementKind::Insert(insert) => {
                self.with(&insert.with);
                self.tables.insert(insert.table);
                self.query(&insert.source);
                self.exprs(&insert.values);
                if let Some(update) = insert.on_conflict.as_ref().and_then(|c| c.update.as_ref()) {
                    self.exprs(update.set.iter().map(|(_, e)| e).chain(&update.filter));
                }
                self.returning(&insert.returning);
            }
            StatementKind::Update(update) => {
                self.with(&update.with);
                self.tables.insert(update.table);
                self.select(&update.select);
                self.exprs(update.set.iter().map(|(_, e)| e));
                self.returning(&update.returning);
            }
            StatementKind::Delete(delete) => {
                self.with(&delete.with);
                self.tables.insert(delete.table);
                self.select(&delete.select);
                self.returning(&delete.returning);
            }
            StatementKind::Merge(merge) => {
                self.with(&merge.with);
                self.tables.insert(merge.table);
                self.select(&merge.select);
                self.exprs(merge.whens.iter().flat_map(MergeWhen::exprs));
            }
            StatementKind::Call(id, args) => {
                self.routines.insert(*id);
                self.exprs(args);
            }
            StatementKind::LockTable { tables, .. } => self.tables.extend(tables),
            StatementKind::Truncate(truncate) => self.tables.extend(&truncate.tables),
            StatementKind::Cursor(CursorCommand::Declare { query, .. }) => self.statement(query),
            StatementKind::Cursor(_) => {}
            StatementKind::SetConstraints(_) => {}
            StatementKind::Define(_) | StatementKind::Transaction(_) => {}
            StatementKind::Set { .. } | StatementKind::Do(_) | StatementKind::Late(_) => {}
            StatementKind::Session(SessionCommand::Prepare { prepared, .. }) => self.statement(&prepared.statement),
            StatementKind::Session(_) => {}
        }
    }
}
