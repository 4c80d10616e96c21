//! What would help: a promise about arguments, or a constraint of the schema, proved to be enough.
//!
//! A refuted rule is more useful with the condition that is missing. Two kinds are tried, each by deciding the
//! procedure again with it: plain conditions on the arguments, weakest first, and the constraint that would make the
//! database keep the rule by itself (a CHECK for a rule about rows, UNIQUE for one about pairs, a foreign key for one
//! about children). Nothing is proposed that was not proved.

use isolde_smt::{Silence, Solver};
use isolde_sql::ast::{self, ParamMode};
use isolde_sql::builtin;
use isolde_sql::catalog::{Catalog, ParamDef, RoutineId, Table};
use isolde_sql::print::identifier;
use isolde_sql::typed::{Expr, ExprKind, Query, QueryBody, RelSource, Select};
use isolde_sql::{Type, Value};

use crate::Limits;
use crate::logic::{conjuncts, key_equality};
use crate::portfolio::{Verdict, decide_only};
use crate::program::{Assumption, Program, Rule};
use crate::witness::{emptied, execute};

/// Something that helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// If callers see to this, the rule is kept.
    Promise(String),
    /// With this statement the database keeps the rule.
    Constraint(String),
}

impl Guard {
    /// The condition, or the statement.
    pub fn text(&self) -> &str {
        let (Guard::Promise(text) | Guard::Constraint(text)) = self;
        text
    }
}

/// What helps against a violation: the first promise, and the first constraint.
pub fn guards(
    program: &Program,
    id: RoutineId,
    rule: &Rule,
    solver: &Solver,
    limits: &Limits,
) -> Result<Vec<Guard>, Silence> {
    let mut found = Vec::new();
    for (text, condition) in promises(&program.catalog().routine(id).params) {
        let mut promised = program.clone();
        let procedure = program.catalog().routine(id).name.clone();
        promised.assumptions.push(Assumption { procedure, condition, text: text.as_str().into() });
        if is_safe(&promised, id, rule, solver, limits)? {
            found.push(Guard::Promise(text));
            break;
        }
    }
    for statement in constraints(program.catalog(), rule, &program.source) {
        let Some(stricter) = with(program, &statement) else { continue };
        if is_safe(&stricter, id, rule, solver, limits)? {
            found.push(Guard::Constraint(statement));
            break;
        }
    }
    Ok(found)
}

fn is_safe(program: &Program, id: RoutineId, rule: &Rule, solver: &Solver, limits: &Limits) -> Result<bool, Silence> {
    Ok(matches!(decide_only(program, id, rule, solver, limits)?.verdict, Verdict::Safe(_)))
}

/// The program with empty tables and one constraint more.
fn with(program: &Program, statement: &str) -> Option<Program> {
    let mut database = emptied(program)?;
    let session = database.open_session();
    execute(&mut database, session, statement).ok()?;
    Some(Program { database, ..program.clone() })
}

/// Conditions on the arguments, as text and over the positions of the parameters; weaker ones first.
fn promises(params: &[ParamDef]) -> Vec<(String, Expr)> {
    let inputs: Vec<(usize, &ParamDef)> = params.iter().enumerate().filter(|(_, p)| p.mode != ParamMode::Out).collect();
    let param = |at: usize, ty: Type| Expr { kind: ExprKind::Param(at), ty };
    let number = |ty: Type| Expr { kind: ExprKind::Const(Value::Int(0)), ty };
    let is_number = |ty: Type| matches!(ty.underlying(), Type::Int2 | Type::Int4 | Type::Int8);
    let mut all = Vec::new();
    for (at, p) in &inputs {
        let null = ExprKind::IsNull(Box::new(param(*at, p.ty)), true);
        all.push((format!("{} IS NOT NULL", p.name), Expr { kind: null, ty: Type::Bool }));
    }
    for (i, (at, p)) in inputs.iter().enumerate() {
        for (other, q) in inputs[i + 1..].iter().filter(|(_, q)| q.ty == p.ty) {
            all.extend(
                compared("<>", param(*at, p.ty), param(*other, q.ty)).map(|e| (format!("{} <> {}", p.name, q.name), e)),
            );
        }
    }
    // That amounts are not positive would help as often, and would leave nothing for the procedure to do.
    for op in [">=", ">"] {
        for (at, p) in inputs.iter().filter(|(_, p)| is_number(p.ty)) {
            all.extend(compared(op, param(*at, p.ty), number(p.ty)).map(|e| (format!("{} {op} 0", p.name), e)));
        }
    }
    all
}

fn compared(op: &str, a: Expr, b: Expr) -> Option<Expr> {
    let op = builtin::functions().find(|f| f.name == op && f.args == [Type::Unknown, Type::Unknown])?;
    Some(Expr { kind: ExprKind::Call(op, vec![a, b]), ty: Type::Bool })
}

/// Constraints that say what the rule says.
fn constraints(catalog: &Catalog, rule: &Rule, source: &str) -> Vec<String> {
    let mut all = Vec::new();
    all.extend(check(catalog, rule, source));
    if let Some(select) = forbidden(&rule.query) {
        all.extend(unique(catalog, select));
        all.extend(foreign_key(catalog, select));
    }
    all
}

/// `SELECT psi FROM t`: CHECK (psi).
fn check(catalog: &Catalog, rule: &Rule, source: &str) -> Option<String> {
    let QueryBody::Select(select) = &rule.query.body else { return None };
    let ([rel], None, None) = (select.rels.as_slice(), &select.filter, &select.grouping) else { return None };
    let RelSource::Table(table) = rel.source else { return None };
    let ast::StatementKind::Query(query) = &rule.ast.kind else { return None };
    let ast::QueryBody::Select(written) = &query.body else { return None };
    let [ast::SelectItem::Expr { expr, .. }] = written.items.as_slice() else { return None };
    Some(format!("ALTER TABLE {} ADD CHECK ({})", identifier(&catalog.table(table).name), expr.span.of(source)))
}

/// `SELECT NOT EXISTS (...)`: what must not be.
fn forbidden(rule: &Query) -> Option<&Select> {
    let QueryBody::Select(select) = &rule.body else { return None };
    let [Expr { kind: ExprKind::Not(inner), .. }] = select.projection.as_slice() else { return None };
    let ExprKind::Exists(query) = &inner.kind else { return None };
    match &query.body {
        QueryBody::Select(select) => Some(select),
        _ => None,
    }
}

/// Two rows of one table that agree in some columns: UNIQUE. If the rule is about some rows only, a unique index over
/// these: a constraint on all rows would forbid what the rule allows.
fn unique(catalog: &Catalog, select: &Select) -> Option<String> {
    let [a, b] = select.rels.as_slice() else { return None };
    let (RelSource::Table(table), RelSource::Table(other)) = (&a.source, &b.source) else { return None };
    let parts = select.filter.as_ref().map(conjuncts)?;
    let columns: Vec<usize> = parts.iter().filter_map(|part| twins(part)).collect();
    if table != other || columns.is_empty() {
        return None;
    }
    let table = catalog.table(*table);
    let mut of_rows: [Vec<String>; 2] = [Vec::new(), Vec::new()];
    for part in parts.iter().filter(|part| twins(part).is_none() && !is_other_row(part)) {
        let (rel, text) = about_one(table, part)?;
        of_rows.get_mut(usize::from(rel))?.push(text);
    }
    of_rows.iter_mut().for_each(|texts| texts.sort());
    let names: Vec<String> = columns.iter().map(|c| identifier(&table.columns[*c].name)).collect();
    let (name, names) = (identifier(&table.name), names.join(", "));
    let [first, second] = &of_rows;
    match first.is_empty() {
        _ if first != second => None,
        true => Some(format!("ALTER TABLE {name} ADD UNIQUE ({names})")),
        false => Some(format!("CREATE UNIQUE INDEX ON {name} ({names}) WHERE {}", first.join(" AND "))),
    }
}

/// `a.column <> b.column`, or one less than the other: they are two rows.
fn is_other_row(expr: &Expr) -> bool {
    let ExprKind::Call(op, args) = &expr.kind else { return false };
    matches!(op.name, "<>" | "<" | ">")
        && matches!(
            args.as_slice(),
            [
                Expr { kind: ExprKind::Column { depth: 0, rel: r, col: a }, .. },
                Expr { kind: ExprKind::Column { depth: 0, rel: s, col: b }, .. },
            ] if r != s && a == b
        )
}

/// A condition that is a column, or that it is not: of which of the rows, and as text.
fn about_one(table: &Table, expr: &Expr) -> Option<(u16, String)> {
    match &expr.kind {
        ExprKind::Column { depth: 0, rel, col } => Some((*rel, identifier(&table.columns[usize::from(*col)].name))),
        ExprKind::Not(inner) => about_one(table, inner).map(|(rel, text)| (rel, format!("NOT {text}"))),
        _ => None,
    }
}

/// `a.column = b.column`, the same one.
fn twins(expr: &Expr) -> Option<usize> {
    let ExprKind::Call(op, args) = &expr.kind else { return None };
    match args.as_slice() {
        [
            Expr { kind: ExprKind::Column { depth: 0, rel: r, col: a }, .. },
            Expr { kind: ExprKind::Column { depth: 0, rel: s, col: b }, .. },
        ] => (op.name == "=" && r != s && a == b).then_some(usize::from(*a)),
        _ => None,
    }
}

/// A row without its parent: a foreign key.
fn foreign_key(catalog: &Catalog, select: &Select) -> Option<String> {
    let [child] = select.rels.as_slice() else { return None };
    let RelSource::Table(child) = child.source else { return None };
    let inner = select.filter.as_ref().map(conjuncts)?.into_iter().find_map(|part| match &part.kind {
        ExprKind::Not(inner) => match &inner.kind {
            ExprKind::Exists(query) => match &query.body {
                QueryBody::Select(inner) => Some(inner),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    })?;
    let [parent] = inner.rels.as_slice() else { return None };
    let RelSource::Table(parent) = parent.source else { return None };
    let (key, points) = inner.filter.as_ref().map(conjuncts)?.into_iter().find_map(key_equality)?;
    let ExprKind::Column { depth: 1, rel: 0, col } = points.kind else { return None };
    let (child, parent) = (catalog.table(child), catalog.table(parent));
    Some(format!(
        "ALTER TABLE {} ADD FOREIGN KEY ({}) REFERENCES {} ({})",
        identifier(&child.name),
        identifier(&child.columns[usize::from(col)].name),
        identifier(&parent.name),
        identifier(&parent.columns[key].name)
    ))
}
