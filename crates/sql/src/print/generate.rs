//! Random trees, for the tests.
//!
//! Only trees that the parser itself builds: no AND inside AND, no minus before a number (that is a negative number).
//! The first choice of every list is the smallest, which is what an exhausted source of randomness picks.

use std::sync::Arc;

use arbtest::arbitrary::{Result, Unstructured};

use crate::ast::plpgsql::*;
use crate::ast::*;
use crate::error::Span;
use crate::types::Type;

type U<'a, 'b> = &'a mut Unstructured<'b>;

const NAMES: [&str; 12] =
    ["a", "account", "select", "loop", "Mixed", "two words", "quo\"te", "ünï", "next", "_x$1", "values", "left"];
const STRINGS: [&str; 6] = ["", "it's", "back\\slash", "new\nline", "$$ BEGIN; END $$", "日本%"];
const OPERATORS: [&str; 15] = ["+", "-", "*", "/", "%", "^", "||", "=", "<>", "<", ">=", "~~", "~~*", "~", "&"];

fn here() -> Span {
    Span::default()
}

fn list<T>(u: U, max: usize, mut one: impl FnMut(U) -> Result<T>) -> Result<Vec<T>> {
    (0..u.int_in_range(1..=max)?).map(|_| one(u)).collect()
}

fn some<T>(u: U, one: impl FnOnce(U) -> Result<T>) -> Result<Option<T>> {
    if u.ratio(1, 3)? { one(u).map(Some) } else { Ok(None) }
}

pub(super) fn ident(u: U) -> Result<Ident> {
    Ok(Ident { name: (*u.choose(&NAMES)?).into(), span: here() })
}

fn qualified(u: U) -> Result<QualifiedName> {
    let schema = if u.ratio(1, 8)? {
        Some(Ident { name: (*u.choose(&["other", "public"])?).into(), span: here() })
    } else {
        None
    };
    Ok(QualifiedName::new(schema, ident(u)?))
}

fn string(u: U) -> Result<Arc<str>> {
    Ok((*u.choose(&STRINGS)?).into())
}

fn ty(u: U) -> Result<TypeName> {
    let known = [
        Type::Int4,
        Type::Text,
        Type::Bool,
        Type::Int2,
        Type::Int8,
        Type::Numeric(None),
        Type::Numeric(Some((10, 2))),
        Type::Float8,
        Type::Varchar(None),
        Type::Varchar(Some(5)),
        Type::Date,
        Type::Timestamp,
        Type::Timestamptz,
        Type::Interval,
        Type::Uuid,
    ];
    Ok(TypeName::Known(*u.choose(&known)?, here()))
}

pub(super) fn expr(u: U, depth: usize) -> Result<Expr> {
    let kind = if depth == 0 { leaf(u)? } else { node(u, depth - 1)? };
    Ok(Expr { kind, span: here() })
}

fn boxed(u: U, depth: usize) -> Result<Box<Expr>> {
    expr(u, depth).map(Box::new)
}

fn leaf(u: U) -> Result<ExprKind> {
    Ok(match u.int_in_range(0..=7)? {
        0 => ExprKind::Null,
        1 => ExprKind::Bool(u.arbitrary()?),
        2 => ExprKind::Integer(*u.choose(&[0, 1, -1, i64::MAX, i64::MIN, 42])?),
        3 => ExprKind::Decimal((*u.choose(&["1.50", "1e10", ".5", "-2.5", "99999999999999999999"])?).into()),
        4 => ExprKind::String(string(u)?),
        5 => ExprKind::Param(u.int_in_range(1..=3)?),
        _ => ExprKind::Name(list(u, 3, ident)?),
    })
}

fn node(u: U, depth: usize) -> Result<ExprKind> {
    let negated = u.arbitrary()?;
    Ok(match u.int_in_range(0..=18)? {
        0 => leaf(u)?,
        1..=4 => {
            let op = *u.choose(&OPERATORS)?;
            ExprKind::Binary(op.into(), boxed(u, depth)?, boxed(u, depth)?)
        }
        5 => ExprKind::And(chain(u, depth, |kind| matches!(kind, ExprKind::And(_)))?),
        6 => ExprKind::Or(chain(u, depth, |kind| matches!(kind, ExprKind::Or(_)))?),
        7 => ExprKind::Not(boxed(u, depth)?),
        8 => {
            let test = *u.choose(&[IsTest::Null, IsTest::True, IsTest::False, IsTest::Unknown])?;
            ExprKind::Is { expr: boxed(u, depth)?, test, negated }
        }
        9 => ExprKind::IsDistinct { left: boxed(u, depth)?, right: boxed(u, depth)?, negated },
        10 => {
            let (expr, low, high) = (boxed(u, depth)?, boxed(u, depth)?, boxed(u, depth)?);
            ExprKind::Between { expr, low, high, symmetric: u.arbitrary()?, negated }
        }
        11 => ExprKind::InList { expr: boxed(u, depth)?, list: list(u, 3, |u| expr(u, depth))?, negated },
        12 => ExprKind::InQuery { expr: boxed(u, depth)?, query: Box::new(query(u, depth)?), negated },
        13 => {
            let op = (*u.choose(&["=", "<>", "<"])?).into();
            // The parser does not know `ANY ((SELECT ...) UNION ...)`.
            let query = Box::new(simple_query(u, depth)?);
            ExprKind::Quantified { expr: boxed(u, depth)?, op, all: u.arbitrary()?, query }
        }
        14 => match u.arbitrary()? {
            true => ExprKind::Exists(Box::new(query(u, depth)?)),
            false => ExprKind::Subquery(Box::new(query(u, depth)?)),
        },
        15 => ExprKind::Call(Box::new(call(u, depth)?)),
        16 => ExprKind::Case {
            operand: some(u, |u| boxed(u, depth))?,
            whens: list(u, 2, |u| Ok((expr(u, depth)?, expr(u, depth)?)))?,
            otherwise: some(u, |u| boxed(u, depth))?,
        },
        17 => ExprKind::Cast(boxed(u, depth)?, ty(u)?),
        _ => signed(u, depth)?,
    })
}

fn signed(u: U, depth: usize) -> Result<ExprKind> {
    let operand = boxed(u, depth)?;
    Ok(match (u.int_in_range(0..=2)?, &operand.kind) {
        (0, ExprKind::Integer(_) | ExprKind::Decimal(_)) => ExprKind::Row(vec![*operand]),
        (0, _) => ExprKind::Unary("-".into(), operand),
        (1, _) => ExprKind::Row(vec![*operand, expr(u, depth)?]),
        _ => ExprKind::Field(operand, ident(u)?),
    })
}

fn chain(u: U, depth: usize, is_same: impl Fn(&ExprKind) -> bool) -> Result<Vec<Expr>> {
    let mut list = vec![expr(u, depth)?, expr(u, depth)?];
    list.extend(some(u, |u| expr(u, depth))?);
    for item in &mut list {
        if is_same(&item.kind) {
            item.kind = ExprKind::Bool(true);
        }
    }
    Ok(list)
}

fn call(u: U, depth: usize) -> Result<Call> {
    let names = ["f", "coalesce", "count", "Mixed", "greatest", "substring", "now"];
    let mut name = QualifiedName::bare(Ident { name: (*u.choose(&names)?).into(), span: here() });
    if &*name.name.name == "f" && u.arbitrary()? {
        name.schema = Some(Ident { name: "pg_catalog".into(), span: here() });
    }
    let is_aggregate = matches!(&*name.name.name, "f" | "count");
    let star = &*name.name.name == "count" && u.arbitrary()?;
    let args = if star { Vec::new() } else { list(u, 3, |u| expr(u, depth))? };
    let named = if &*name.name.name == "f" && u.ratio(1, 3)? { vec![(ident(u)?, expr(u, depth)?)] } else { Vec::new() };
    let distinct = is_aggregate && !star && named.is_empty() && u.arbitrary()?;
    let order_by = if distinct { list(u, 2, |u| order_key(u, depth))? } else { Vec::new() };
    let filter = if is_aggregate { some(u, |u| expr(u, depth))? } else { None };
    Ok(Call { name, args, named, star, distinct, order_by, filter, within_group: Vec::new(), over: None })
}

fn order_key(u: U, depth: usize) -> Result<OrderKey> {
    Ok(OrderKey { expr: expr(u, depth)?, descending: u.arbitrary()?, nulls_first: some(u, |u| u.arbitrary())? })
}

pub(super) fn query(u: U, depth: usize) -> Result<Query> {
    let with = match depth > 0 && u.ratio(1, 6)? {
        true => list(u, 2, |u| cte(u, depth - 1))?,
        false => Vec::new(),
    };
    let body = body(u, depth)?;
    let is_select = matches!(body, QueryBody::Select(_));
    let tail = u.ratio(1, 3)?;
    Ok(Query {
        with,
        body,
        order_by: if tail { list(u, 2, |u| order_key(u, depth.saturating_sub(1)))? } else { Vec::new() },
        limit: if tail { some(u, |u| expr(u, 0))? } else { None },
        with_ties: false,
        offset: if tail { some(u, |u| expr(u, 0))? } else { None },
        locking: if tail && is_select { list(u, 2, locking)? } else { Vec::new() },
        span: here(),
    })
}

fn cte(u: U, depth: usize) -> Result<Cte> {
    let columns = some(u, |u| list(u, 2, ident))?.unwrap_or_default();
    let body = CteBody::Query(Box::new(query(u, depth)?));
    Ok(Cte { name: ident(u)?, columns, body, recursive: false, materialized: some(u, |u| u.arbitrary())? })
}

fn body(u: U, depth: usize) -> Result<QueryBody> {
    let below = depth.saturating_sub(1);
    Ok(match u.int_in_range(0..=5)? {
        4 => QueryBody::Values(list(u, 2, |u| list(u, 2, |u| expr(u, below)))?),
        5 if depth > 0 => QueryBody::SetOperation {
            op: *u.choose(&[SetOperator::Union, SetOperator::Intersect, SetOperator::Except])?,
            all: u.arbitrary()?,
            left: Box::new(operand(u, below)?),
            right: Box::new(operand(u, below)?),
        },
        _ => QueryBody::Select(Box::new(select(u, below)?)),
    })
}

/// Without WITH: the parser wants it at the top.
fn operand(u: U, depth: usize) -> Result<Query> {
    Ok(Query { with: Vec::new(), ..query(u, depth)? })
}

fn group_item(u: U, depth: usize) -> Result<GroupItem> {
    Ok(match u.int_in_range(0..=9)? {
        0 => GroupItem::Rollup(list(u, 2, |u| expr(u, 0))?),
        1 => GroupItem::Cube(list(u, 2, |u| expr(u, 0))?),
        2 if depth > 0 => GroupItem::Sets(list(u, 2, |u| group_item(u, depth - 1))?),
        3 => GroupItem::Empty(here()),
        _ => GroupItem::Expr(expr(u, depth)?),
    })
}

/// A query that is one SELECT.
fn simple_query(u: U, depth: usize) -> Result<Query> {
    Ok(Query {
        with: Vec::new(),
        body: QueryBody::Select(Box::new(select(u, depth)?)),
        order_by: Vec::new(),
        limit: None,
        with_ties: false,
        offset: None,
        locking: Vec::new(),
        span: here(),
    })
}

fn select(u: U, depth: usize) -> Result<Select> {
    Ok(Select {
        distinct: u.ratio(1, 6)?,
        distinct_on: Vec::new(),
        items: list(u, 3, |u| select_item(u, depth))?,
        from: some(u, |u| list(u, 2, |u| table_ref(u, depth)))?.unwrap_or_default(),
        filter: some(u, |u| expr(u, depth))?,
        group_by: some(u, |u| list(u, 2, |u| group_item(u, depth)))?.unwrap_or_default(),
        group_distinct: false,
        having: some(u, |u| expr(u, depth))?,
        windows: Vec::new(),
        span: here(),
    })
}

fn select_item(u: U, depth: usize) -> Result<SelectItem> {
    Ok(match u.int_in_range(0..=6)? {
        0 => SelectItem::Wildcard(here()),
        1 => SelectItem::QualifiedWildcard(ident(u)?),
        _ => SelectItem::Expr { expr: expr(u, depth)?, alias: some(u, ident)? },
    })
}

fn alias(u: U) -> Result<Alias> {
    Ok(Alias { name: ident(u)?, columns: some(u, |u| list(u, 2, ident))?.unwrap_or_default() })
}

fn table_ref(u: U, depth: usize) -> Result<TableRef> {
    if depth == 0 {
        return Ok(TableRef::Table { name: qualified(u)?, alias: some(u, alias)? });
    }
    let below = depth - 1;
    Ok(match u.int_in_range(0..=4)? {
        0 | 1 => TableRef::Table { name: qualified(u)?, alias: some(u, alias)? },
        2 => {
            let query = Box::new(query(u, below)?);
            TableRef::Subquery { lateral: u.arbitrary()?, query, alias: Some(alias(u)?), span: here() }
        }
        3 => {
            let name = QualifiedName::bare(Ident { name: "generate_series".into(), span: here() });
            TableRef::Function { name, args: list(u, 2, |u| expr(u, below))?, alias: some(u, alias)?, span: here() }
        }
        _ => {
            let (kind, on) = join_kind(u, below)?;
            let (left, right) = (Box::new(table_ref(u, below)?), Box::new(table_ref(u, below)?));
            TableRef::Join { kind, left, right, on, span: here() }
        }
    })
}

fn join_kind(u: U, depth: usize) -> Result<(JoinKind, JoinCondition)> {
    let kind = *u.choose(&[JoinKind::Cross, JoinKind::Inner, JoinKind::Left, JoinKind::Right, JoinKind::Full])?;
    let on = match (kind, u.int_in_range(0..=2)?) {
        (JoinKind::Cross, _) => JoinCondition::None,
        (_, 0) => JoinCondition::Using(list(u, 2, ident)?),
        (_, 1) => JoinCondition::Natural,
        _ => JoinCondition::On(expr(u, depth)?),
    };
    Ok((kind, on))
}

fn locking(u: U) -> Result<Locking> {
    let strengths = [LockStrength::Update, LockStrength::NoKeyUpdate, LockStrength::Share, LockStrength::KeyShare];
    Ok(Locking {
        strength: *u.choose(&strengths)?,
        of: some(u, |u| list(u, 2, ident))?.unwrap_or_default(),
        wait: *u.choose(&[LockWait::Block, LockWait::NoWait, LockWait::SkipLocked])?,
        span: here(),
    })
}

pub(super) fn statement(u: U, depth: usize) -> Result<Statement> {
    let returning = some(u, |u| list(u, 2, |u| select_item(u, depth)))?.unwrap_or_default();
    let kind = match u.int_in_range(0..=4)? {
        0 => StatementKind::Query(Box::new(query(u, depth)?)),
        1 => StatementKind::Insert(Box::new(Insert {
            with: Vec::new(),
            table: qualified(u)?,
            alias: some(u, ident)?,
            columns: some(u, |u| list(u, 3, ident))?.unwrap_or_default(),
            overriding: None,
            source: insert_source(u, depth)?,
            on_conflict: some(u, |u| on_conflict(u, depth))?,
            returning,
        })),
        2 => StatementKind::Update(Box::new(Update {
            with: some(u, |u| list(u, 2, |u| cte(u, depth)))?.unwrap_or_default(),
            table: qualified(u)?,
            alias: some(u, ident)?,
            set: list(u, 2, |u| assignment(u, depth))?,
            from: some(u, |u| list(u, 2, |u| table_ref(u, depth)))?.unwrap_or_default(),
            filter: some(u, |u| expr(u, depth))?,
            returning,
        })),
        3 => StatementKind::Delete(Box::new(Delete {
            with: Vec::new(),
            table: qualified(u)?,
            alias: some(u, ident)?,
            using: some(u, |u| list(u, 2, |u| table_ref(u, depth)))?.unwrap_or_default(),
            filter: some(u, |u| expr(u, depth))?,
            returning,
        })),
        _ => StatementKind::Call { name: qualified(u)?, args: list(u, 3, |u| expr(u, depth))?, named: Vec::new() },
    };
    Ok(Statement { kind, span: here() })
}

fn insert_source(u: U, depth: usize) -> Result<InsertSource> {
    if u.ratio(1, 5)? { Ok(InsertSource::DefaultValues) } else { Ok(InsertSource::Query(Box::new(query(u, depth)?))) }
}

fn assignment(u: U, depth: usize) -> Result<Assignment> {
    let value = match u.ratio(1, 5)? {
        true => Expr { kind: ExprKind::Default, span: here() },
        false => expr(u, depth)?,
    };
    Ok(Assignment { column: ident(u)?, subscripts: Vec::new(), value })
}

fn on_conflict(u: U, depth: usize) -> Result<OnConflict> {
    let target = match u.int_in_range(0..=1)? {
        0 => ConflictTarget::Columns(list(u, 2, ident)?),
        _ => ConflictTarget::Constraint(ident(u)?),
    };
    let update = some(u, |u| {
        Ok(ConflictUpdate { set: list(u, 2, |u| assignment(u, depth))?, filter: some(u, |u| expr(u, depth))? })
    })?;
    Ok(OnConflict { target: Some(target), update, span: here() })
}

pub(super) fn block(u: U, depth: usize) -> Result<Block> {
    let (label, declarations) = (some(u, ident)?, some(u, |u| list(u, 3, declaration))?.unwrap_or_default());
    Ok(Block {
        label,
        declare: (!declarations.is_empty()).then(here),
        begin: here(),
        declarations,
        body: stmts(u, depth)?,
        handlers: some(u, |u| list(u, 2, |u| handler(u, depth)))?.unwrap_or_default(),
        span: here(),
    })
}

fn declaration(u: U) -> Result<Declaration> {
    let kind = match u.int_in_range(0..=3)? {
        0 | 1 => DeclarationKind::Variable {
            constant: u.arbitrary()?,
            ty: variable_type(u)?,
            not_null: u.arbitrary()?,
            default: some(u, |u| expr(u, 1))?,
        },
        2 => DeclarationKind::Alias(Ident { name: "$1".into(), span: here() }),
        _ => DeclarationKind::Cursor {
            scroll: u.arbitrary()?,
            params: some(u, |u| list(u, 2, |u| Ok((ident(u)?, variable_type(u)?))))?.unwrap_or_default(),
            query: Box::new(query(u, 1)?),
        },
    };
    Ok(Declaration { name: ident(u)?, kind })
}

fn variable_type(u: U) -> Result<TypeName> {
    Ok(match u.int_in_range(0..=3)? {
        0 => ty(u)?,
        1 => TypeName::Known(Type::Record, here()),
        2 => TypeName::Reference { path: vec![ident(u)?], row: true, span: here() },
        _ => TypeName::Reference { path: list(u, 2, ident)?, row: false, span: here() },
    })
}

fn handler(u: U, depth: usize) -> Result<Handler> {
    Ok(Handler { conditions: list(u, 2, condition)?, body: stmts(u, depth)?, span: here() })
}

fn condition(u: U) -> Result<Condition> {
    Ok(match u.int_in_range(0..=2)? {
        0 => Condition::Others,
        1 => Condition::Named(Ident { name: "unique_violation".into(), span: here() }),
        _ => Condition::State("40001".into(), here()),
    })
}

fn stmts(u: U, depth: usize) -> Result<Vec<Stmt>> {
    (0..u.int_in_range(0..=3)?).map(|_| Ok(Stmt { kind: stmt(u, depth)?, span: here() })).collect()
}

fn target(u: U) -> Result<Target> {
    Ok(Target { path: list(u, 2, ident)?, subscripts: Vec::new(), span: here() })
}

fn into(u: U) -> Result<Into> {
    Ok(Into { strict: u.arbitrary()?, targets: list(u, 2, target)? })
}

fn stmt(u: U, depth: usize) -> Result<StmtKind> {
    let Some(below) = depth.checked_sub(1) else { return simple_stmt(u) };
    Ok(match u.int_in_range(0..=7)? {
        0 => simple_stmt(u)?,
        1 => StmtKind::Block(block(u, below)?),
        2 => StmtKind::If(list(u, 3, |u| Ok((expr(u, 2)?, stmts(u, below)?)))?, some(u, |u| stmts(u, below))?),
        3 => StmtKind::Case {
            operand: some(u, |u| expr(u, 2))?,
            whens: list(u, 2, |u| Ok((list(u, 2, |u| expr(u, 2))?, stmts(u, below)?)))?,
            otherwise: some(u, |u| stmts(u, below))?,
        },
        4 => StmtKind::Loop(some(u, ident)?, stmts(u, below)?),
        5 => StmtKind::While(some(u, ident)?, expr(u, 2)?, stmts(u, below)?),
        6 => StmtKind::ForRange {
            label: some(u, ident)?,
            variable: ident(u)?,
            reverse: u.arbitrary()?,
            from: expr(u, 1)?,
            to: expr(u, 1)?,
            by: some(u, |u| expr(u, 1))?,
            body: stmts(u, below)?,
        },
        _ => StmtKind::ForQuery {
            label: some(u, ident)?,
            targets: list(u, 2, target)?,
            query: Box::new(Statement { kind: StatementKind::Query(Box::new(query(u, 1)?)), span: here() }),
            body: stmts(u, below)?,
        },
    })
}

fn simple_stmt(u: U) -> Result<StmtKind> {
    Ok(match u.int_in_range(0..=13)? {
        0 => StmtKind::Null,
        1 | 2 => StmtKind::Assign(target(u)?, expr(u, 2)?),
        3 | 4 => StmtKind::Sql(Box::new(procedure_sql(u)?), some(u, into)?),
        5 => StmtKind::Perform(Box::new(simple_query(u, 1)?)),
        6 => StmtKind::Execute {
            text: expr(u, 1)?,
            into: some(u, into)?,
            using: some(u, |u| list(u, 2, |u| expr(u, 1)))?.unwrap_or_default(),
        },
        7 => StmtKind::Exit(some(u, ident)?, some(u, |u| expr(u, 1))?),
        8 => StmtKind::Continue(some(u, ident)?, some(u, |u| expr(u, 1))?),
        9 => StmtKind::Return(some(u, |u| expr(u, 2))?),
        10 => StmtKind::ReturnNext(some(u, |u| expr(u, 1))?),
        11 => StmtKind::ReturnQuery(Box::new(Statement {
            kind: StatementKind::Query(Box::new(query(u, 1)?)),
            span: here(),
        })),
        12 => StmtKind::Assert(expr(u, 1)?, some(u, |u| expr(u, 1))?),
        _ => StmtKind::Raise(raise(u)?),
    })
}

/// A statement that starts with a word, as PL/pgSQL demands: no `(SELECT ...) UNION ...`.
fn procedure_sql(u: U) -> Result<Statement> {
    let mut statement = statement(u, 1)?;
    if matches!(statement.kind, StatementKind::Query(_)) {
        statement.kind = StatementKind::Query(Box::new(simple_query(u, 1)?));
    }
    Ok(statement)
}

fn raise(u: U) -> Result<Raise> {
    let levels = [RaiseLevel::Exception, RaiseLevel::Notice, RaiseLevel::Debug];
    let level = *u.choose(&levels)?;
    let what = match u.int_in_range(0..=2)? {
        0 => RaiseWhat::Format("it's % and 100%%".into(), vec![expr(u, 1)?]),
        1 => RaiseWhat::Condition(condition(u)?),
        _ => RaiseWhat::Nothing,
    };
    let using = match matches!(what, RaiseWhat::Nothing) || u.arbitrary()? {
        true => vec![(Arc::from("HINT"), expr(u, 1)?), (Arc::from("MESSAGE"), expr(u, 1)?)],
        false => Vec::new(),
    };
    Ok(Raise { level, level_span: None, what, using })
}
