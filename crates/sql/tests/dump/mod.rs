//! Typed statements as compact text: `t.0` is a column by relation and position, `^` a query outward, `$1` a slot, `!`
//! an aggregate, `#` a grouping key, `@` an output column.

use std::fmt::Write as _;

use isolde_sql::catalog::Catalog;
use isolde_sql::typed::*;
use isolde_sql::{Type, Value, bind};

/// A statement, and the routines it calls.
pub(crate) fn statement(catalog: &Catalog, statement: &Statement) -> String {
    let mut out = Dump { catalog, text: String::new(), indent: 0 };
    out.statement(statement);
    for id in statement.routines() {
        let def = catalog.routine(id);
        match bind::routine(catalog, def) {
            Ok(routine) => out.routine(&routine),
            Err(error) => out.line(&format!("ERROR {} {}", error.state, error.message)),
        }
    }
    out.text
}

struct Dump<'a> {
    catalog: &'a Catalog,
    text: String,
    indent: usize,
}

impl Dump<'_> {
    fn line(&mut self, text: &str) {
        writeln!(self.text, "{}{text}", "  ".repeat(self.indent)).unwrap();
    }

    fn nested(&mut self, dump: impl FnOnce(&mut Self)) {
        self.indent += 1;
        dump(self);
        self.indent -= 1;
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Query(q) => self.line(&query(q)),
            StatementKind::Insert(insert) => self.insert(insert),
            StatementKind::Update(update) => {
                let set = assignments(&update.set);
                let target = self.table(update.table);
                self.line(&format!("{}update {target} set {set}{}", withs(&update.with), select(&update.select)));
                self.returning(&update.returning);
            }
            StatementKind::Delete(delete) => {
                let target = self.table(delete.table);
                self.line(&format!("{}delete {target}{}", withs(&delete.with), select(&delete.select)));
                self.returning(&delete.returning);
            }
            StatementKind::Merge(merge) => {
                self.line(&format!("{}merge {}{}", withs(&merge.with), self.table(merge.table), select(&merge.select)));
                self.nested(|d| {
                    for when in &merge.whens {
                        let not = if when.matched { "" } else { "not " };
                        let action = match &when.action {
                            MergeAction::Update(set) => format!("set {}", assignments(set)),
                            MergeAction::Insert(values) => format!("insert {}", list(values)),
                            MergeAction::Delete => "delete".into(),
                            MergeAction::Nothing => "nothing".into(),
                        };
                        let condition = optional(" and ", when.condition.as_ref());
                        d.line(&format!("when {not}matched{condition} then {action}"));
                    }
                });
            }
            StatementKind::Define(define) => self.define(define),
            StatementKind::Call(id, args) => {
                self.line(&format!("call {}({})", self.catalog.routine(*id).name, list(args)));
            }
            StatementKind::Do(routine) => self.routine(routine),
            StatementKind::Set { local, name, value } => self.line(&format!("set {name} = {value:?} local={local}")),
            StatementKind::Session(command) => self.line(&format!("{command:?}")),
            StatementKind::SetConstraints(set) => self.line(&format!("{set:?}")),
            StatementKind::Truncate(truncate) => {
                let tables = &truncate.tables;
                let names: Vec<String> = tables.iter().map(|t| self.table(*t)).collect();
                self.line(&format!("truncate {}", names.join(", ")));
            }
            StatementKind::Cursor(cursor) => self.line(&format!("{cursor:?}")),
            StatementKind::Late(verb) => self.line(&format!("late {verb:?}")),
            StatementKind::LockTable { tables, mode, nowait } => {
                let names: Vec<String> = tables.iter().map(|t| self.table(*t)).collect();
                self.line(&format!("lock {} in {mode} nowait={nowait}", names.join(", ")));
            }
            StatementKind::Transaction(transaction) => self.line(&format!("{transaction:?}")),
        }
    }

    fn table(&self, id: isolde_sql::catalog::TableId) -> String {
        self.catalog.table(id).name.to_string()
    }

    fn insert(&mut self, insert: &Insert) {
        let target = self.table(insert.table);
        self.line(&format!("{}insert {target} from {}", withs(&insert.with), query(&insert.source)));
        self.nested(|d| {
            d.line(&format!("values {}", list(&insert.values)));
            if let Some(conflict) = &insert.on_conflict {
                let update = conflict.update.as_ref().map_or("nothing".into(), |u| {
                    format!("set {}{}", assignments(&u.set), optional(" where ", u.filter.as_ref()))
                });
                d.line(&format!("on conflict {:?} do {update}", conflict.arbiters));
            }
        });
        self.returning(&insert.returning);
    }

    fn returning(&mut self, returning: &Option<Returning>) {
        if let Some(returning) = returning {
            self.nested(|d| d.line(&format!("returning {}", list(&returning.exprs))));
        }
    }

    fn edit(&mut self, edit: &Edit) {
        let table = match edit {
            Edit::AddTable(table) => table,
            Edit::Table(edit) => &edit.table,
            Edit::Sequence(_) => return,
            other => return self.line(&format!("{other:?}")),
        };
        self.line(&format!("table {}", table.name));
        self.nested(|d| {
            for c in &table.columns {
                let null = if c.not_null { " not null" } else { "" };
                d.line(&format!("{} {}{null}{}", c.name, c.ty, optional(" default ", c.default.as_ref())));
            }
            table.indexes.iter().for_each(|i| {
                let kind = if i.primary { "primary" } else { "unique" };
                d.line(&format!("{kind} {} {:?}", i.name, i.columns));
            });
            table.checks.iter().for_each(|c| d.line(&format!("check {} {}", c.name, expr(&c.expr))));
            table.foreign_keys.iter().for_each(|k| {
                let to = format!("{:?} -> #{} {:?}", k.columns, k.parent.0, k.parent_columns);
                d.line(&format!("key {} {to} {:?} {:?}", k.name, k.on_delete, k.on_update));
            });
        });
    }

    fn define(&mut self, define: &Define) {
        match define {
            Define::Change(change) if change.edits.is_empty() => self.line("nothing"),
            Define::Change(change) => change.edits.iter().for_each(|edit| self.edit(edit)),
            Define::Routine(def) => self.line(&format!("routine {} {:?}", def.name, def.returns)),
            other => self.line(&format!("{other:?}")),
        }
    }

    fn routine(&mut self, routine: &Routine) {
        self.line(&format!("routine {} {:?}", routine.name, routine.returns));
        let shown = |(i, v): (usize, &Variable)| format!("${i}={} {}", v.name, v.ty);
        let variables: Vec<String> = routine.variables.iter().enumerate().map(shown).collect();
        self.nested(|d| {
            d.line(&variables.join(", "));
            d.stmts(&routine.body);
        });
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        stmts.iter().for_each(|s| self.stmt(&s.kind));
    }

    fn block(&mut self, head: &str, body: &[Stmt]) {
        self.line(head);
        self.nested(|d| d.stmts(body));
    }

    fn stmt(&mut self, stmt: &StmtKind) {
        match stmt {
            StmtKind::Assign(to, value) => self.line(&format!("{} := {}", place(to), expr(value))),
            StmtKind::Sql { statement, into: to } => {
                self.line(&format!("sql{} -- {}", into(to), statement.text));
                self.nested(|d| d.statement(statement));
            }
            StmtKind::Perform(statement) => {
                self.line(&format!("perform -- {}", statement.text));
                self.nested(|d| d.statement(statement));
            }
            StmtKind::Execute { text, into: to, using } => {
                self.line(&format!("execute {}{} using {}", expr(text), into(to), list(using)));
            }
            StmtKind::If { branches, otherwise } => {
                for (i, (condition, body)) in branches.iter().enumerate() {
                    self.block(&format!("{} {}", if i == 0 { "if" } else { "elsif" }, expr(condition)), body);
                }
                if !otherwise.is_empty() {
                    self.block("else", otherwise);
                }
            }
            StmtKind::Try { body, handlers, state, message } => {
                self.block(&format!("try state=${state} message=${message}"), body);
                handlers.iter().for_each(|h| self.block(&format!("catch {:?}", h.catches), &h.body));
            }
            StmtKind::Loop { label, body } => self.block(&format!("loop <{label}>"), body),
            StmtKind::Labelled { label, body } => self.block(&format!("block <{label}>"), body),
            StmtKind::While { label, condition, body } => {
                self.block(&format!("while <{label}> {}", expr(condition)), body);
            }
            StmtKind::ForRange { label, variable, from, to, by, reverse, body } => {
                let by = optional(" by ", by.as_ref());
                let reverse = if *reverse { " reverse" } else { "" };
                let head = format!("for <{label}> ${variable} in{reverse} {}..{}{by}", expr(from), expr(to));
                self.block(&head, body);
            }
            StmtKind::ForQuery { label, into, query, body } => {
                let places: Vec<String> = into.iter().map(place).collect();
                self.line(&format!("for <{label}> {} in -- {}", places.join(", "), query.text));
                self.nested(|d| {
                    d.statement(query);
                    d.stmts(body);
                });
            }
            StmtKind::Exit { label, when } => {
                self.line(&format!("exit <{label}>{}", optional(" when ", when.as_ref())))
            }
            StmtKind::Continue { label, when } => {
                self.line(&format!("continue <{label}>{}", optional(" when ", when.as_ref())));
            }
            StmtKind::Return(value) => self.line(&format!("return{}", optional(" ", value.as_ref()))),
            StmtKind::ReturnNext(values) => self.line(&format!("return next {}", list(values))),
            StmtKind::ReturnQuery(statement) => {
                self.line("return query");
                self.nested(|d| d.statement(statement));
            }
            StmtKind::Raise(raise) => {
                let message = match &raise.message {
                    RaiseMessage::Format(format, args) => format!("{format:?} ({})", list(args)),
                    RaiseMessage::Expr(e) => expr(e),
                    RaiseMessage::Again => "again".into(),
                };
                self.line(&format!("raise {:?} {} {message}", raise.level, raise.state));
            }
            StmtKind::Assert(condition, message) => {
                self.line(&format!("assert {}{}", expr(condition), optional(", ", message.as_ref())));
            }
            StmtKind::RowCount(to) => self.line(&format!("{} := row_count", place(to))),
            StmtKind::StackedDiagnostics(items) => {
                items.iter().for_each(|(to, item)| self.line(&format!("{} := {item}", place(to))));
            }
            StmtKind::Shape(..) | StmtKind::ShapeOf(..) => {}
            StmtKind::CaseNotFound => self.line("case not found"),
            StmtKind::ForExecute { label, text, using, body, .. } => {
                self.block(&format!("for <{label}> execute {} using {}", expr(text), list(using)), body);
            }
            StmtKind::ForCursor { label, cursor, body, .. } => {
                self.block(&format!("for <{label}> in cursor ${cursor}"), body);
            }
            StmtKind::Foreach { label, array, slice, body, .. } => {
                self.block(&format!("foreach <{label}> slice {slice} in {}", expr(array)), body);
            }
            StmtKind::Open(cursor, _) => self.line(&format!("open ${cursor}")),
            StmtKind::Fetch { cursor, into, .. } => {
                self.line(&format!("{} ${cursor}", if into.is_some() { "fetch" } else { "move" }));
            }
            StmtKind::Close(cursor) => self.line(&format!("close ${cursor}")),
            StmtKind::Fail(error) => self.line(&format!("fail {} {}", error.state, error.message)),
            StmtKind::ReturnExecute { text, using } => {
                self.line(&format!("return query execute {} using {}", expr(text), list(using)));
            }
        }
    }
}

fn place(place: &Place) -> String {
    let field = match &place.field {
        None => String::new(),
        Some(FieldRef::At(at)) => format!(".{at}"),
        Some(FieldRef::Named(name)) => format!(".{name}"),
    };
    format!("${}{field}", place.slot)
}

fn into(into: &Option<Into>) -> String {
    into.as_ref().map_or(String::new(), |i| {
        let places: Vec<String> = i.places.iter().map(place).collect();
        format!(" into{} {}", if i.strict { " strict" } else { "" }, places.join(", "))
    })
}

fn assignments(set: &[(usize, Expr)]) -> String {
    set.iter().map(|(c, e)| format!("{c} = {}", expr(e))).collect::<Vec<_>>().join(", ")
}

fn optional(before: &str, value: Option<&Expr>) -> String {
    value.map_or(String::new(), |e| format!("{before}{}", expr(e)))
}

fn list(exprs: &[Expr]) -> String {
    exprs.iter().map(expr).collect::<Vec<_>>().join(", ")
}

fn withs(withs: &[With]) -> String {
    let with = |w: &With| match &w.body {
        WithBody::Query(q) => format!("with {} ({}) ", w.name, query(q)),
        WithBody::Recursive { first, step, all } => {
            let all = if *all { " all" } else { "" };
            format!("with {} (({}) then{all} ({})) ", w.name, query(first), query(step))
        }
        WithBody::Modify(statement) => format!("with {} {{{}}} ", w.name, statement.text),
    };
    withs.iter().map(with).collect()
}

fn query(query: &Query) -> String {
    let mut text = withs(&query.with);
    text += &match &query.body {
        QueryBody::Select(s) => {
            let distinct = match s.distinct_on {
                0 if s.distinct => "distinct ".to_owned(),
                0 => String::new(),
                n => format!("distinct on {n} "),
            };
            format!("select {distinct}{}{}", list(&s.projection), select(s))
        }
        QueryBody::Values(rows) => {
            let rows: Vec<String> = rows.iter().map(|r| format!("({})", list(r))).collect();
            format!("values {}", rows.join(", "))
        }
        QueryBody::SetOperation { op, all, left, right } => {
            let all = if *all { " all" } else { "" };
            format!("({}) {op:?}{all} ({})", self::query(left), self::query(right))
        }
    };
    for key in &query.order_by {
        let nulls = if key.nulls_first != key.descending { " other nulls" } else { "" };
        let descending = if key.descending { " desc" } else { "" };
        write!(text, " order {}{descending}{nulls}", expr(&key.expr)).unwrap();
    }
    text += &optional(if query.with_ties { " limit with ties " } else { " limit " }, query.limit.as_ref());
    text += &optional(" offset ", query.offset.as_ref());
    for lock in &query.locking {
        write!(text, " lock {:?} {:?} {:?}", lock.strength, lock.rels, lock.wait).unwrap();
    }
    text
}

fn select(select: &Select) -> String {
    let mut text = String::new();
    if let Some(tree) = &select.from {
        write!(text, " from {}", from(select, tree)).unwrap();
    }
    text += &optional(" where ", select.filter.as_ref());
    if let Some(grouping) = &select.grouping {
        write!(text, " group [{}]", list(&grouping.keys)).unwrap();
        if !grouping.sets.is_empty() {
            write!(text, " sets {:?}", grouping.sets).unwrap();
        }
        if !grouping.masks.is_empty() {
            write!(text, " masks {:?}", grouping.masks).unwrap();
        }
        for call in &grouping.calls {
            let distinct = if call.distinct { "distinct " } else { "" };
            let filter = optional(" filter ", call.filter.as_ref());
            write!(text, " {}({distinct}{}){filter}", call.aggregate.name, list(&call.args)).unwrap();
        }
        text += &optional(" having ", grouping.having.as_ref());
    }
    for window in &select.windows {
        let key = |k: &OrderKey| format!("{}{}", expr(&k.expr), if k.descending { " desc" } else { "" });
        let order: Vec<String> = window.order_by.iter().map(key).collect();
        let call = |(n, call): &(usize, WindowCall)| match call {
            WindowCall::Function { function, args, .. } => format!("%{n}={}({})", function.name, list(args)),
            WindowCall::Aggregate(call) => format!("%{n}={}({})", call.aggregate.name, list(&call.args)),
        };
        let calls: Vec<String> = window.calls.iter().map(call).collect();
        let (partition, order) = (list(&window.partition_by), order.join(", "));
        write!(text, " window [{partition}] [{order}] {:?} {}", window.frame.units, calls.join(" ")).unwrap();
    }
    for expansion in &select.expansions {
        match expansion {
            Expansion::Function(function, args) => write!(text, " expand {function:?}({})", list(args)).unwrap(),
            Expansion::Routine(id, args) => write!(text, " expand routine{}({})", id.0, list(args)).unwrap(),
        }
    }
    text
}

fn from(select: &Select, tree: &From) -> String {
    match tree {
        From::Rel(rel) => {
            let r = &select.rels[*rel];
            source(r, &r.source)
        }
        From::Join { kind, left, right, on } => {
            let on = optional(" on ", on.as_ref());
            format!("({} {kind:?} {}{on})", from(select, left), from(select, right))
        }
    }
}

fn source(r: &Rel, s: &RelSource) -> String {
    match s {
        RelSource::With { depth, index } => format!("with{}{index} {}", "^".repeat(*depth as usize), r.alias),
        RelSource::Working { depth, index } => {
            format!("working{}{index} {}", "^".repeat(*depth as usize), r.alias)
        }
        RelSource::RowsFrom { parts, ordinality } => {
            let parts: Vec<String> = parts.iter().map(|part| source(r, &part.source)).collect();
            format!("rows [{}] ordinality={ordinality}", parts.join(", "))
        }
        RelSource::Table(_) => r.alias.to_string(),
        RelSource::Query { query: q, lateral } => {
            format!("{}({}) {}", if *lateral { "lateral " } else { "" }, query(q), r.alias)
        }
        RelSource::Function(function, args) => format!("{function:?}({}) {}", list(args), r.alias),
        RelSource::Routine(id, args) => format!("routine{}({}) {}", id.0, list(args), r.alias),
    }
}

fn value(value: &Value, ty: Type) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Text(text) => format!("'{text}'"),
        Value::Int(n) => n.to_string(),
        other => format!("{other}:{ty}"),
    }
}

/// An expression.
pub(crate) fn expr(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Const(v) => value(v, e.ty),
        ExprKind::Column { depth, rel, col } => format!("{}{rel}.{col}", "^".repeat(*depth as usize)),
        ExprKind::WholeRow { depth, rel } => format!("{}{rel}.*", "^".repeat(*depth as usize)),
        ExprKind::Param(slot) => format!("${slot}"),
        ExprKind::Field(row, at) => format!("{}.{at}", expr(row)),
        ExprKind::NamedField(slot, name) => format!("${slot}.{name}"),
        ExprKind::Group { depth, key } => format!("{}#{key}", "^".repeat(*depth as usize)),
        ExprKind::Aggregated { depth, call } => format!("{}!{call}", "^".repeat(*depth as usize)),
        ExprKind::Windowed(n) => format!("%{n}"),
        ExprKind::Expanded(n) => format!("*{n}"),
        ExprKind::Output(n) => format!("@{n}"),
        ExprKind::Call(f, args) => match &args[..] {
            [a, b] if !f.name.starts_with(char::is_alphabetic) => format!("({} {} {})", expr(a), f.name, expr(b)),
            _ => format!("{}({})", f.name, list(args)),
        },
        ExprKind::Routine(id, args) => format!("routine{}({})", id.0, list(args)),
        ExprKind::And(l) => format!("({})", l.iter().map(expr).collect::<Vec<_>>().join(" and ")),
        ExprKind::Or(l) => format!("({})", l.iter().map(expr).collect::<Vec<_>>().join(" or ")),
        ExprKind::Not(a) => format!("not {}", expr(a)),
        ExprKind::IsNull(a, negated) => format!("{} is{} null", expr(a), if *negated { " not" } else { "" }),
        ExprKind::IsTruth(a, t, negated) => format!("{} is{} {t:?}", expr(a), if *negated { " not" } else { "" }),
        ExprKind::IsDistinct(a, b, negated) => {
            format!("{} is{} distinct from {}", expr(a), if *negated { " not" } else { "" }, expr(b))
        }
        ExprKind::InList(a, l, negated) => {
            format!("{}{} in ({})", expr(a), if *negated { " not" } else { "" }, list(l))
        }
        ExprKind::Case(whens, otherwise) => {
            let whens: Vec<String> = whens.iter().map(|(c, r)| format!("{} -> {}", expr(c), expr(r))).collect();
            format!("case({}{})", whens.join(", "), optional(", else ", otherwise.as_deref()))
        }
        ExprKind::Coalesce(l) => format!("coalesce({})", list(l)),
        ExprKind::Extreme(l, greatest) => format!("{}({})", if *greatest { "greatest" } else { "least" }, list(l)),
        ExprKind::Cast { expr: a, explicit } => format!("{}{}{}", expr(a), if *explicit { "::" } else { ":" }, e.ty),
        ExprKind::Row(l) => format!("row({})", list(l)),
        ExprKind::Scalar(q) => format!("({})", query(q)),
        ExprKind::ScalarRow(q) => format!("row({})", query(q)),
        ExprKind::Exists(q) => format!("exists ({})", query(q)),
        ExprKind::AnyOf(any) => {
            let kind = if any.all { "all" } else { "any" };
            format!("{} {} {kind} ({})", expr(&any.left), any.op.name, expr(&any.array))
        }
        ExprKind::Quantified(q) => {
            let ops: Vec<&str> = q.ops.iter().map(|o| o.name).collect();
            let kind = if q.all { "all" } else { "any" };
            format!("[{}] {} {kind} ({})", list(&q.left), ops.join(" "), query(&q.query))
        }
    }
}
