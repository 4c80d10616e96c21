//! The tree in a compact form that shows its shape: `(+ a (* b 2))`.

use isolde_sql::ast::*;

pub(crate) fn statement(statement: &Statement) -> String {
    match &statement.kind {
        StatementKind::Query(q) => query(q),
        StatementKind::Insert(i) => insert(i),
        StatementKind::Update(u) => update(u),
        StatementKind::Delete(d) => delete(d),
        StatementKind::Merge(m) => merge(m),
        StatementKind::CreateTable(t) if !t.likes.is_empty() => node("as-printed", [statement.kind.to_string()]),
        StatementKind::CreateTable(t) => create_table(t),
        StatementKind::CreateIndex(i) => create_index(i),
        StatementKind::CreateSequence(s) => {
            node("create-sequence", [name(&s.name), s.options.to_string().trim().to_string()])
        }
        StatementKind::CreateRoutine(r) => routine(r),
        StatementKind::CreateTrigger(_)
        | StatementKind::DropTrigger(_)
        | StatementKind::SwitchTriggers(_)
        | StatementKind::DeclareCursor(_)
        | StatementKind::Fetch(_)
        | StatementKind::CloseCursor(_) => node("as-printed", [statement.kind.to_string()]),
        StatementKind::CreateType(t) => node("create-type", [format!("{t:?}")]),
        StatementKind::CreateDomain(t) => node("create-domain", [format!("{t:?}")]),
        StatementKind::AlterType(t) => node("alter-type", [format!("{t:?}")]),
        StatementKind::AlterTable(alter) => match &alter.actions[..] {
            [AlterAction::AddConstraint(constraint)] => {
                node("alter-table-add", [name(&alter.table), table_constraint(constraint)])
            }
            _ => node("as-printed", [statement.kind.to_string()]),
        },
        StatementKind::AlterSequence(_)
        | StatementKind::AlterObject(_)
        | StatementKind::CreateView(_)
        | StatementKind::Refresh(_)
        | StatementKind::CreateTableAs(_)
        | StatementKind::CreateSchema(_)
        | StatementKind::SetConstraints(_)
        | StatementKind::Copy(_)
        | StatementKind::Ignored(_) => node("as-printed", [statement.kind.to_string()]),
        StatementKind::Drop(d) => node(
            &format!("drop {:?}", d.object),
            [
                flag(d.if_exists, "if-exists"),
                names(&d.names),
                list(&d.signatures, |s| {
                    s.as_ref().map_or(String::new(), |types| format!("{:?}", list(types, |t| t.to_string())))
                }),
                flag(d.cascade, "cascade"),
            ],
        ),
        StatementKind::Truncate(tables) => {
            node("truncate", [names(&tables.tables), flag(tables.restart, "restart"), flag(tables.cascade, "cascade")])
        }
        StatementKind::LockTable(lock) => {
            node("lock-table", [names(&lock.tables), lock.mode.to_string(), flag(lock.nowait, "nowait")])
        }
        StatementKind::Begin(m) => node("begin", [modes(m)]),
        StatementKind::Commit { chain } => node("commit", [flag(*chain, "chain")]),
        StatementKind::Rollback { chain } => node("rollback", [flag(*chain, "chain")]),
        StatementKind::Savepoint(n) => node("savepoint", [n.name.to_string()]),
        StatementKind::RollbackTo(n) => node("rollback-to", [n.name.to_string()]),
        StatementKind::Release(n) => node("release", [n.name.to_string()]),
        StatementKind::SetTransaction(m) => node("set-transaction", [modes(m)]),
        StatementKind::SetSessionCharacteristics(m) => node("set-session", [modes(m)]),
        StatementKind::Set(s) => node(
            "set",
            [
                flag(s.local, "local"),
                s.name.name.to_string(),
                s.value.as_ref().map_or("default".into(), |v| format!("{v:?}")),
            ],
        ),
        StatementKind::Call { name: n, args, named } => {
            let named = group("named", named, |(n, e)| node(&n.name, [expr(e)]));
            node("call", [name(n), list(args, expr), named])
        }
        StatementKind::Session(command) => node("session", [command.to_string()]),
        StatementKind::Do(body) => node("do", [format!("@{}..{}", body.span.start, body.span.end)]),
    }
}

fn node(head: &str, parts: impl IntoIterator<Item = String>) -> String {
    let mut out = format!("({head}");
    for part in parts.into_iter().filter(|p| !p.is_empty()) {
        out.push(' ');
        out.push_str(&part);
    }
    out.push(')');
    out
}

fn list<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    items.iter().map(show).collect::<Vec<_>>().join(" ")
}

fn group<T>(head: &str, items: &[T], show: impl Fn(&T) -> String) -> String {
    if items.is_empty() { String::new() } else { node(head, [list(items, show)]) }
}

fn flag(on: bool, word: &str) -> String {
    if on { word.to_owned() } else { String::new() }
}

fn clause(head: &str, e: &Option<Expr>) -> String {
    e.as_ref().map_or(String::new(), |e| node(head, [expr(e)]))
}

fn name(n: &QualifiedName) -> String {
    match &n.schema {
        Some(schema) => format!("{}.{}", schema.name, n.name.name),
        None => n.name.name.to_string(),
    }
}

fn names(list: &[QualifiedName]) -> String {
    self::list(list, name)
}

fn idents(head: &str, list: &[Ident]) -> String {
    group(head, list, |i| i.name.to_string())
}

fn modes(m: &TransactionModes) -> String {
    let isolation = m.isolation.map_or(String::new(), |i| format!("{i:?}"));
    let read_only = m.read_only.map_or("", |r| if r { "read-only" } else { "read-write" });
    let deferrable = m.deferrable.map_or("", |d| if d { "deferrable" } else { "not-deferrable" });
    [isolation.as_str(), read_only, deferrable].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(" ")
}

fn query(q: &Query) -> String {
    let body = match &q.body {
        QueryBody::Select(s) => select(s),
        QueryBody::Values(rows) => group("values", rows, |row| format!("({})", list(row, expr))),
        QueryBody::SetOperation { op, all, left, right } => {
            let op = format!("{op:?}").to_lowercase();
            node(&format!("{op}{}", if *all { "-all" } else { "" }), [query(left), query(right)])
        }
    };
    let tail = [
        group("with", &q.with, cte),
        group("order-by", &q.order_by, order_key),
        clause(if q.with_ties { "limit-with-ties" } else { "limit" }, &q.limit),
        clause("offset", &q.offset),
        list(&q.locking, locking),
    ];
    if tail.iter().all(String::is_empty) { body } else { node("query", std::iter::once(body).chain(tail)) }
}

fn cte(c: &Cte) -> String {
    let body = match &c.body {
        CteBody::Query(q) => query(q),
        CteBody::Insert(i) => insert(i),
        CteBody::Update(u) => update(u),
        CteBody::Delete(d) => delete(d),
    };
    let hint = c.materialized.map_or("", |m| if m { "materialized" } else { "not-materialized" });
    let columns = idents("columns", &c.columns);
    node(&c.name.name, [flag(c.recursive, "recursive"), hint.to_owned(), columns, body])
}

fn locking(l: &Locking) -> String {
    let wait = match l.wait {
        LockWait::Block => String::new(),
        other => format!("{other:?}"),
    };
    node("for", [format!("{:?}", l.strength), idents("of", &l.of), wait])
}

fn order_key(k: &OrderKey) -> String {
    let nulls = k.nulls_first.map_or("", |first| if first { " nulls-first" } else { " nulls-last" });
    format!("{}{}{nulls}", expr(&k.expr), if k.descending { " desc" } else { "" })
}

fn select(s: &Select) -> String {
    node(
        if s.distinct { "select-distinct" } else { "select" },
        [
            group("distinct-on", &s.distinct_on, expr),
            list(&s.items, item),
            group("from", &s.from, table_ref),
            clause("where", &s.filter),
            group(if s.group_distinct { "group-by-distinct" } else { "group-by" }, &s.group_by, group_item),
            clause("having", &s.having),
            group("window", &s.windows, |(name, spec)| node(&name.name, [window(spec)])),
        ],
    )
}

fn group_item(g: &GroupItem) -> String {
    match g {
        GroupItem::Expr(e) => expr(e),
        GroupItem::Empty(_) => "()".into(),
        GroupItem::Rollup(l) => node("rollup", [list(l, expr)]),
        GroupItem::Cube(l) => node("cube", [list(l, expr)]),
        GroupItem::Sets(l) => node("grouping-sets", [list(l, group_item)]),
    }
}

fn window(w: &WindowSpec) -> String {
    let bound = |b: &FrameBound| match b {
        FrameBound::Preceding(e) => node("preceding", [expr(e)]),
        FrameBound::Following(e) => node("following", [expr(e)]),
        other => format!("{other:?}"),
    };
    let frame = |f: &Frame| {
        let exclude = if f.exclude == FrameExclude::NoOthers { String::new() } else { format!("{:?}", f.exclude) };
        node(&format!("{:?}", f.units).to_lowercase(), [bound(&f.start), bound(&f.end), exclude])
    };
    node(
        "window",
        [
            w.base.as_ref().map_or(String::new(), |b| b.name.to_string()),
            group("partition-by", &w.partition_by, expr),
            group("order-by", &w.order_by, order_key),
            w.frame.as_ref().map_or(String::new(), frame),
        ],
    )
}

fn over(o: &Over) -> String {
    match o {
        Over::Name(name) => node("over", [name.name.to_string()]),
        Over::Spec(spec) => node("over", [window(spec)]),
    }
}

fn merge(m: &Merge) -> String {
    let action = |a: &MergeAction| match a {
        MergeAction::Update(set) => node("update", [list(set, assignment)]),
        MergeAction::Delete => "delete".into(),
        MergeAction::Nothing => "nothing".into(),
        MergeAction::Insert { columns, overriding, values } => {
            let values = values.as_ref().map_or("default-values".into(), |v| group("values", v, expr));
            let overriding = overriding.map_or(String::new(), |o| format!("overriding-{o:?}"));
            node("insert", [idents("columns", columns), overriding, values])
        }
    };
    let when = |w: &MergeWhen| {
        let head = if w.matched { "when-matched" } else { "when-not-matched" };
        node(head, [clause("and", &w.condition), action(&w.action)])
    };
    let target = [group("with", &m.with, cte), name(&m.table), alias(&m.alias)];
    let rest = [table_ref(&m.source), node("on", [expr(&m.on)]), list(&m.whens, when)];
    node("merge", target.into_iter().chain(rest))
}

fn item(i: &SelectItem) -> String {
    match i {
        SelectItem::Wildcard(_) => "*".into(),
        SelectItem::QualifiedWildcard(t) => format!("{}.*", t.name),
        SelectItem::Expr { expr: e, alias: None } => expr(e),
        SelectItem::Expr { expr: e, alias: Some(alias) } => node("as", [expr(e), alias.name.to_string()]),
    }
}

fn table_ref(t: &TableRef) -> String {
    let aliased = |what: String, alias: &Option<Alias>| match alias {
        None => what,
        Some(a) => node("as", [what, a.name.name.to_string(), idents("columns", &a.columns)]),
    };
    match t {
        TableRef::Table { name: n, alias } => aliased(name(n), alias),
        TableRef::Subquery { lateral, query: q, alias, .. } => {
            aliased(node(if *lateral { "lateral" } else { "subquery" }, [query(q)]), alias)
        }
        TableRef::Function { name: n, args, alias, .. } => aliased(node(&name(n), [list(args, expr)]), alias),
        TableRef::RowsFrom { functions, ordinality, alias, .. } => {
            let function = |f: &FromFunction| {
                let columns = group("columns", &f.columns, |(n, t)| node(&n.name, [ty(t)]));
                node(&name(&f.name), [list(&f.args, expr), columns])
            };
            aliased(node("rows-from", [list(functions, function), flag(*ordinality, "ordinality")]), alias)
        }
        TableRef::Join { kind, left, right, on, .. } => {
            let on = match on {
                JoinCondition::None => String::new(),
                JoinCondition::On(e) => node("on", [expr(e)]),
                JoinCondition::Using(columns) => idents("using", columns),
                JoinCondition::Natural => "natural".into(),
            };
            node(&format!("{kind:?}-join").to_lowercase(), [table_ref(left), table_ref(right), on])
        }
    }
}

fn insert(i: &Insert) -> String {
    let source = match &i.source {
        InsertSource::DefaultValues => "default-values".into(),
        InsertSource::Query(q) => query(q),
    };
    let conflict = i.on_conflict.as_ref().map_or(String::new(), |c| {
        let target = match &c.target {
            None => String::new(),
            Some(ConflictTarget::Columns(columns)) => idents("columns", columns),
            Some(ConflictTarget::Index { keys, filter }) => node("index", [list(keys, expr), clause("where", filter)]),
            Some(ConflictTarget::Constraint(name)) => node("constraint", [name.name.to_string()]),
        };
        let action = c
            .update
            .as_ref()
            .map_or("nothing".into(), |u| node("update", [list(&u.set, assignment), clause("where", &u.filter)]));
        node("on-conflict", [target, action])
    });
    node(
        "insert",
        [
            group("with", &i.with, cte),
            name(&i.table),
            alias(&i.alias),
            idents("columns", &i.columns),
            i.overriding.map_or(String::new(), |o| format!("overriding-{o:?}")),
            source,
            conflict,
            group("returning", &i.returning, item),
        ],
    )
}

fn alias(a: &Option<Ident>) -> String {
    a.as_ref().map_or(String::new(), |a| node("as", [a.name.to_string()]))
}

fn subscript(s: &Subscript) -> String {
    let bound = |e: &Option<Expr>| e.as_ref().map_or(":".into(), expr);
    match s {
        Subscript::At(at) => expr(at),
        Subscript::Slice(from, to) => node("slice", [bound(from), bound(to)]),
    }
}

fn assignment(a: &Assignment) -> String {
    node(":=", [a.column.name.to_string(), list(&a.subscripts, subscript), expr(&a.value)])
}

fn update(u: &Update) -> String {
    node(
        "update",
        [
            group("with", &u.with, cte),
            name(&u.table),
            alias(&u.alias),
            list(&u.set, assignment),
            group("from", &u.from, table_ref),
            clause("where", &u.filter),
            group("returning", &u.returning, item),
        ],
    )
}

fn delete(d: &Delete) -> String {
    node(
        "delete",
        [
            group("with", &d.with, cte),
            name(&d.table),
            alias(&d.alias),
            group("using", &d.using, table_ref),
            clause("where", &d.filter),
            group("returning", &d.returning, item),
        ],
    )
}

fn create_table(t: &CreateTable) -> String {
    let column = |c: &ColumnDef| node(&c.name.name, [ty(&c.ty), list(&c.constraints, column_constraint)]);
    node(
        "create-table",
        [
            flag(t.if_not_exists, "if-not-exists"),
            name(&t.name),
            list(&t.columns, column),
            list(&t.constraints, table_constraint),
        ],
    )
}

fn column_constraint(c: &ColumnConstraint) -> String {
    let kind = match &c.kind {
        ColumnConstraintKind::Null => "null".into(),
        ColumnConstraintKind::NotNull => "not-null".into(),
        ColumnConstraintKind::Default(e) => node("default", [expr(e)]),
        ColumnConstraintKind::Identity(identity) => {
            node("identity", [flag(identity.always, "always"), identity.options.to_string().trim().to_string()])
        }
        ColumnConstraintKind::Generated(e) => node("generated", [expr(e)]),
        ColumnConstraintKind::Check(e) => node("check", [expr(e)]),
        ColumnConstraintKind::PrimaryKey => "primary-key".into(),
        ColumnConstraintKind::Unique => "unique".into(),
        ColumnConstraintKind::References(r) => references(r),
    };
    named(&c.name, with_options(kind, &c.options))
}

fn named(n: &Option<Ident>, what: String) -> String {
    n.as_ref().map_or(what.clone(), |n| format!("{}={what}", n.name))
}

fn references(r: &References) -> String {
    let action = |head: &str, a: ReferentialAction| match a {
        ReferentialAction::NoAction => String::new(),
        a => format!("{head}={a:?}"),
    };
    node(
        "references",
        [
            name(&r.table),
            idents("columns", &r.columns),
            flag(r.match_full, "match-full"),
            action("delete", r.on_delete),
            idents("delete-columns", &r.on_delete_columns),
            action("update", r.on_update),
        ],
    )
}

fn table_constraint(c: &TableConstraint) -> String {
    let kind = match &c.kind {
        TableConstraintKind::Check(e) => node("check", [expr(e)]),
        TableConstraintKind::PrimaryKey(columns) => idents("primary-key", columns),
        TableConstraintKind::Unique(columns) => idents("unique", columns),
        TableConstraintKind::ForeignKey(columns, r) => node("foreign-key", [idents("columns", columns), references(r)]),
    };
    named(&c.name, with_options(kind, &c.options))
}

fn with_options(kind: String, options: &ConstraintOptions) -> String {
    let index = options.using_index.as_ref().map_or(String::new(), |i| format!("using-index={}", i.name));
    let parts = [
        options.deferral.to_string().trim().to_string(),
        flag(options.not_valid, "not-valid"),
        flag(options.nulls_not_distinct, "nulls-not-distinct"),
        index,
    ];
    match parts.iter().all(String::is_empty) {
        true => kind,
        false => node("constraint", [kind].into_iter().chain(parts)),
    }
}

fn create_index(i: &CreateIndex) -> String {
    node(
        if i.unique { "create-unique-index" } else { "create-index" },
        [
            flag(i.if_not_exists, "if-not-exists"),
            i.name.as_ref().map_or(String::new(), |n| n.name.to_string()),
            node("on", [name(&i.table), list(&i.keys, expr)]),
            flag(i.nulls_not_distinct, "nulls-not-distinct"),
            clause("where", &i.filter),
        ],
    )
}

fn routine(r: &CreateRoutine) -> String {
    let param = |p: &Param| {
        let mode = match p.mode {
            ParamMode::In => String::new(),
            other => format!("{other:?} ").to_lowercase(),
        };
        let n = p.name.as_ref().map_or("_", |n| &n.name);
        node(&format!("{mode}{n}"), [ty(&p.ty), clause("default", &p.default)])
    };
    let returns = match &r.returns {
        Returns::Nothing => String::new(),
        Returns::Value(t) => node("returns", [ty(t)]),
        Returns::SetOf(t) => node("returns-setof", [ty(t)]),
        Returns::Table(columns) => group("returns-table", columns, |(n, t)| node(&n.name, [ty(t)])),
    };
    let body = match &r.body {
        RoutineBody::PlPgSql(body) => node("plpgsql", [format!("@{}..{}", body.span.start, body.span.end)]),
        RoutineBody::Sql(statements) => group("sql", statements, statement),
    };
    node(
        &format!(
            "{}{}",
            if r.or_replace { "replace-" } else { "create-" },
            if r.procedure { "procedure" } else { "function" }
        ),
        [name(&r.name), group("params", &r.params, param), returns, body],
    )
}

pub(crate) fn ty(t: &TypeName) -> String {
    match t {
        TypeName::Array(element, _) => format!("{}[]", ty(element)),
        TypeName::Known(t, _) => format!("{t}").replace(' ', "-"),
        TypeName::Serial(bytes, _) => format!("serial{bytes}"),
        TypeName::Reference { path, row, .. } => {
            format!(
                "{}%{}",
                path.iter().map(|i| &*i.name).collect::<Vec<_>>().join("."),
                if *row { "ROWTYPE" } else { "TYPE" }
            )
        }
        TypeName::Named(n) => format!("named:{}", name(n)),
    }
}

pub(crate) fn expr(e: &Expr) -> String {
    let not = |negated: bool, head: &str| if negated { format!("not-{head}") } else { head.to_owned() };
    match &e.kind {
        ExprKind::Null => "null".into(),
        ExprKind::Bool(b) => b.to_string(),
        ExprKind::Integer(n) => n.to_string(),
        ExprKind::Decimal(d) => format!("{d}d"),
        ExprKind::String(s) => format!("{s:?}"),
        ExprKind::Default => "default".into(),
        ExprKind::Name(path) => path.iter().map(|i| &*i.name).collect::<Vec<_>>().join("."),
        ExprKind::WholeRow(t) => node("whole-row", [t.name.to_string()]),
        ExprKind::Param(n) => format!("${n}"),
        ExprKind::Unary(op, a) => node(&format!("unary{op}"), [expr(a)]),
        ExprKind::Binary(op, a, b) => node(op, [expr(a), expr(b)]),
        ExprKind::And(list) => group("and", list, expr),
        ExprKind::Or(list) => group("or", list, expr),
        ExprKind::Not(a) => node("not", [expr(a)]),
        ExprKind::Is { expr: a, test, negated } => {
            node(&not(*negated, "is"), [expr(a), format!("{test:?}").to_lowercase()])
        }
        ExprKind::IsDistinct { left, right, negated } => node(&not(*negated, "distinct"), [expr(left), expr(right)]),
        ExprKind::Between { expr: a, low, high, symmetric, negated } => node(
            &not(*negated, if *symmetric { "between-symmetric" } else { "between" }),
            [expr(a), expr(low), expr(high)],
        ),
        ExprKind::InList { expr: a, list: l, negated } => node(&not(*negated, "in"), [expr(a), list(l, expr)]),
        ExprKind::InQuery { expr: a, query: q, negated } => node(&not(*negated, "in-query"), [expr(a), query(q)]),
        ExprKind::Quantified { expr: a, op, all, query: q } => {
            node(&format!("{op}-{}", if *all { "all" } else { "any" }), [expr(a), query(q)])
        }
        ExprKind::AnyOf { expr: a, op, all, array } => {
            node(&format!("{op}-{}-of", if *all { "all" } else { "any" }), [expr(a), expr(array)])
        }
        ExprKind::Exists(q) => node("exists", [query(q)]),
        ExprKind::Subquery(q) => node("subquery", [query(q)]),
        ExprKind::SubqueryColumn(q, n) => node("subquery-column", [n.to_string(), query(q)]),
        ExprKind::Grouping(l) => node("grouping", [list(l, expr)]),
        ExprKind::Call(c) => call(c),
        ExprKind::Case { operand, whens, otherwise } => node(
            "case",
            [
                operand.as_ref().map_or(String::new(), |o| expr(o)),
                list(whens, |(a, b)| node("when", [expr(a), expr(b)])),
                otherwise.as_ref().map_or(String::new(), |o| node("else", [expr(o)])),
            ],
        ),
        ExprKind::Cast(a, t) => node("cast", [expr(a), ty(t)]),
        ExprKind::Row(list) => node("row", [self::list(list, expr)]),
        ExprKind::Field(a, field) => node("field", [expr(a), field.name.to_string()]),
        ExprKind::Array(list) => node("array", [self::list(list, expr)]),
        ExprKind::ArrayQuery(q) => node("array-query", [query(q)]),
        ExprKind::Subscript(a, subscripts) => node("subscript", [expr(a), self::list(subscripts, subscript)]),
    }
}

fn call(c: &Call) -> String {
    node(
        &format!("{}()", name(&c.name)),
        [
            flag(c.star, "*"),
            flag(c.distinct, "distinct"),
            list(&c.args, expr),
            list(&c.named, |(n, e)| format!("{}=>{}", n.name, expr(e))),
            group("order-by", &c.order_by, order_key),
            group("within-group", &c.within_group, order_key),
            clause("filter", &c.filter),
            c.over.as_ref().map_or(String::new(), over),
        ],
    )
}
