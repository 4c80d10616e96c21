//! PL/pgSQL, one statement a line, indented by two.

use std::fmt::{self, Display, Formatter};

use super::name::{Delimited, Path};
use super::{Clause, ListClause, Quoted, commas, statement};
use crate::ast::plpgsql::{
    Block, Body, Condition, CursorArg, Declaration, DeclarationKind, Direction, Handler, Into, OpenSource, Raise,
    RaiseLevel, RaiseWhat, Stmt, StmtKind, Target,
};
use crate::ast::{Expr, ExprKind, Ident, QualifiedName, Query, TypeName};

impl Display for Body {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.block.fmt(f)
    }
}

impl Display for Block {
    /// Without a semicolon.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        block(f, self, 0)
    }
}

impl Display for Stmt {
    /// Without a semicolon.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        one(f, self, 0)
    }
}

/// The beginning of a line.
fn line(f: &mut Formatter<'_>, depth: usize) -> fmt::Result {
    write!(f, "\n{:blanks$}", "", blanks = 2 * depth)
}

/// Statements, each on its own line, ended by a semicolon.
fn statements(f: &mut Formatter<'_>, list: &[Stmt], depth: usize) -> fmt::Result {
    for stmt in list {
        line(f, depth)?;
        one(f, stmt, depth)?;
        f.write_str(";")?;
    }
    Ok(())
}

fn label(f: &mut Formatter<'_>, label: Option<&Ident>, depth: usize) -> fmt::Result {
    match label {
        Some(label) => {
            write!(f, "<<{label}>>")?;
            line(f, depth)
        }
        None => Ok(()),
    }
}

fn block(f: &mut Formatter<'_>, block: &Block, depth: usize) -> fmt::Result {
    label(f, block.label.as_ref(), depth)?;
    if !block.declarations.is_empty() {
        f.write_str("DECLARE")?;
        for declaration in &block.declarations {
            line(f, depth + 1)?;
            write!(f, "{declaration};")?;
        }
        line(f, depth)?;
    }
    f.write_str("BEGIN")?;
    statements(f, &block.body, depth + 1)?;
    if !block.handlers.is_empty() {
        line(f, depth)?;
        f.write_str("EXCEPTION")?;
    }
    for handler in &block.handlers {
        line(f, depth + 1)?;
        write!(f, "WHEN {} THEN", super::Separated(&handler.conditions, " OR "))?;
        statements(f, &handler.body, depth + 2)?;
    }
    line(f, depth)?;
    f.write_str("END")
}

impl Display for Declaration {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.name)?;
        match &self.kind {
            DeclarationKind::Variable { constant, ty, not_null, default } => {
                let constant = if *constant { "CONSTANT " } else { "" };
                let not_null = if *not_null { " NOT NULL" } else { "" };
                write!(f, "{constant}{}{not_null}{}", VariableType(ty), Clause(":=", default.as_ref()))
            }
            DeclarationKind::Alias(name) => write!(f, "ALIAS FOR {}", Variable(name)),
            DeclarationKind::Cursor { scroll, params, query } => {
                write!(f, "{}CURSOR", scroll_word(*scroll))?;
                if !params.is_empty() {
                    let params: Vec<String> =
                        params.iter().map(|(name, ty)| format!("{name} {}", VariableType(ty))).collect();
                    write!(f, " ({})", commas(&params))?;
                }
                write!(f, " FOR {query}")
            }
        }
    }
}

/// A type behind a variable's name, where some words would begin another kind of declaration.
struct VariableType<'a>(&'a TypeName);

impl Display for VariableType<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const OTHER_DECLARATIONS: [&str; 6] = ["alias", "constant", "cursor", "no", "record", "scroll"];
        match self.0 {
            TypeName::Named(QualifiedName { schema: None, public: None, name })
                if OTHER_DECLARATIONS.contains(&&*name.name) =>
            {
                Delimited(&name.name).fmt(f)
            }
            ty => ty.fmt(f),
        }
    }
}

/// A variable's name, which may be `$1`.
struct Variable<'a>(&'a Ident);

impl Display for Variable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.name.strip_prefix('$') {
            Some(number) if number.bytes().all(|b| b.is_ascii_digit()) => f.write_str(&self.0.name),
            _ => self.0.fmt(f),
        }
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.path.as_slice() {
            [] => {}
            [name] => Variable(name).fmt(f)?,
            [first, rest @ ..] => write!(f, "{}.{}", Variable(first), Path(rest))?,
        }
        self.subscripts.iter().try_for_each(|at| write!(f, "[{at}]"))
    }
}

fn scroll_word(scroll: Option<bool>) -> &'static str {
    match scroll {
        Some(true) => "SCROLL ",
        Some(false) => "NO SCROLL ",
        None => "",
    }
}

/// `(a, b := 2)`, or nothing.
fn cursor_args(args: &[CursorArg]) -> String {
    let shown = args.iter().map(|(name, value)| match name {
        Some(name) => format!("{name} := {value}"),
        None => value.to_string(),
    });
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() { String::new() } else { format!(" ({})", commas(&shown)) }
}

impl Display for Direction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Direction::Forward(None) => f.write_str("FORWARD ALL"),
            Direction::Backward(None) => f.write_str("BACKWARD ALL"),
            Direction::Forward(Some(n)) if matches!(n.kind, ExprKind::Integer(1)) => f.write_str("NEXT"),
            Direction::Backward(Some(n)) if matches!(n.kind, ExprKind::Integer(1)) => f.write_str("PRIOR"),
            Direction::Forward(Some(n)) => write!(f, "FORWARD {n}"),
            Direction::Backward(Some(n)) => write!(f, "BACKWARD {n}"),
            Direction::Absolute(n) => write!(f, "ABSOLUTE {n}"),
            Direction::Relative(n) => write!(f, "RELATIVE {n}"),
        }
    }
}

impl Display for Into {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "INTO {}{}", if self.strict { "STRICT " } else { "" }, commas(&self.targets))
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Others => f.write_str("others"),
            Condition::Named(name) if matches!(&*name.name, "others" | "sqlstate") => Delimited(&name.name).fmt(f),
            Condition::Named(name) => name.fmt(f),
            Condition::State(code, _) => write!(f, "SQLSTATE {}", Quoted(code)),
        }
    }
}

impl Display for Handler {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "WHEN {} THEN", super::Separated(&self.conditions, " OR "))?;
        statements(f, &self.body, 1)
    }
}

/// One statement, its first line already indented.
fn one(f: &mut Formatter<'_>, stmt: &Stmt, depth: usize) -> fmt::Result {
    match &stmt.kind {
        StmtKind::Block(inner) => block(f, inner, depth),
        StmtKind::Assign(target, value) => write!(f, "{target} := {value}"),
        StmtKind::Sql(sql, into) => statement::statement(f, &sql.kind, into.as_ref()),
        StmtKind::Perform(query) => perform(f, query),
        StmtKind::Execute { text, into, using } => {
            write!(f, "EXECUTE {text}")?;
            if let Some(into) = into {
                write!(f, " {into}")?;
            }
            write!(f, "{}", ListClause("USING", using))
        }
        StmtKind::If(branches, otherwise) => if_statement(f, branches, otherwise.as_deref(), depth),
        StmtKind::Case { operand, whens, otherwise } => {
            write!(f, "CASE")?;
            if let Some(operand) = operand {
                write!(f, " {operand}")?;
            }
            for (values, body) in whens {
                line(f, depth + 1)?;
                write!(f, "WHEN {} THEN", commas(values))?;
                statements(f, body, depth + 2)?;
            }
            if let Some(body) = otherwise {
                line(f, depth + 1)?;
                f.write_str("ELSE")?;
                statements(f, body, depth + 2)?;
            }
            line(f, depth)?;
            f.write_str("END CASE")
        }
        StmtKind::Loop(name, body) => {
            label(f, name.as_ref(), depth)?;
            loop_body(f, body, depth)
        }
        StmtKind::While(name, condition, body) => {
            label(f, name.as_ref(), depth)?;
            write!(f, "WHILE {condition} ")?;
            loop_body(f, body, depth)
        }
        StmtKind::ForRange { label: name, variable, reverse, from, to, by, body } => {
            label(f, name.as_ref(), depth)?;
            let reverse = if *reverse { "REVERSE " } else { "" };
            let from = NotFirst(from, &["reverse"]).to_string();
            // `1...5` would be read as `1 .. .5`.
            let dots = if from.ends_with('.') { " .. " } else { ".." };
            write!(f, "FOR {variable} IN {reverse}{from}{dots}{to}{} ", Clause("BY", by.as_ref()))?;
            loop_body(f, body, depth)
        }
        StmtKind::ForQuery { label: name, targets, query, body } => {
            label(f, name.as_ref(), depth)?;
            write!(f, "FOR {} IN {query} ", commas(targets))?;
            loop_body(f, body, depth)
        }
        StmtKind::ForCursor { label: name, targets, cursor, args, body } => {
            label(f, name.as_ref(), depth)?;
            write!(f, "FOR {} IN {cursor}{} ", commas(targets), cursor_args(args))?;
            loop_body(f, body, depth)
        }
        StmtKind::ForExecute { label: name, targets, text, using, body } => {
            label(f, name.as_ref(), depth)?;
            write!(f, "FOR {} IN EXECUTE {text}{} ", commas(targets), ListClause("USING", using))?;
            loop_body(f, body, depth)
        }
        StmtKind::Foreach { label: name, targets, slice, array, body } => {
            label(f, name.as_ref(), depth)?;
            let slice = if *slice == 0 { String::new() } else { format!(" SLICE {slice}") };
            write!(f, "FOREACH {}{slice} IN ARRAY {array} ", commas(targets))?;
            loop_body(f, body, depth)
        }
        StmtKind::Open { cursor, scroll, source } => match source {
            OpenSource::Bound(args) => write!(f, "OPEN {cursor}{}", cursor_args(args)),
            OpenSource::Query(query) => write!(f, "OPEN {cursor} {}FOR {query}", scroll_word(*scroll)),
            OpenSource::Execute(text, using) => {
                let using = ListClause("USING", using);
                write!(f, "OPEN {cursor} {}FOR EXECUTE {text}{using}", scroll_word(*scroll))
            }
        },
        StmtKind::Fetch { cursor, direction, into: Some(into) } => {
            write!(f, "FETCH {direction} FROM {cursor} INTO {}", commas(into))
        }
        StmtKind::Fetch { cursor, direction, into: None } => write!(f, "MOVE {direction} FROM {cursor}"),
        StmtKind::Close(cursor) => write!(f, "CLOSE {cursor}"),
        StmtKind::Exit(name, condition) => exit(f, "EXIT", name.as_ref(), condition.as_ref()),
        StmtKind::Continue(name, condition) => exit(f, "CONTINUE", name.as_ref(), condition.as_ref()),
        StmtKind::Return(None) => f.write_str("RETURN"),
        StmtKind::Return(Some(value)) => write!(f, "RETURN {}", NotFirst(value, &["next", "query"])),
        StmtKind::ReturnNext(value) => write!(f, "RETURN{}", Clause("NEXT", value.as_ref()).or_bare()),
        StmtKind::ReturnQuery(query) => write!(f, "RETURN QUERY {query}"),
        StmtKind::ReturnExecute { text, using } => {
            write!(f, "RETURN QUERY EXECUTE {text}{}", ListClause("USING", using))
        }
        StmtKind::Raise(raise) => raise.fmt(f),
        StmtKind::Assert(condition, message) => {
            write!(f, "ASSERT {condition}")?;
            match message {
                Some(message) => write!(f, ", {message}"),
                None => Ok(()),
            }
        }
        StmtKind::GetDiagnostics { stacked, items } => {
            let items: Vec<String> = items.iter().map(|(target, item)| format!("{target} = {item}")).collect();
            write!(f, "GET {}DIAGNOSTICS {}", if *stacked { "STACKED " } else { "" }, commas(&items))
        }
        StmtKind::Null => f.write_str("NULL"),
    }
}

impl<T: Display> Clause<'_, T> {
    /// The word alone where there is nothing behind it.
    fn or_bare(&self) -> String {
        match self.1 {
            Some(_) => self.to_string(),
            None => format!(" {}", self.0),
        }
    }
}

/// An expression in a place where these words, coming first, would mean something else.
struct NotFirst<'a>(&'a Expr, &'static [&'static str]);

impl Display for NotFirst<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        let word = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$')).next();
        match word.is_some_and(|word| self.1.contains(&word)) {
            true => write!(f, "({text})"),
            false => f.write_str(&text),
        }
    }
}

/// The query with PERFORM for its SELECT.
fn perform(f: &mut Formatter<'_>, query: &Query) -> fmt::Result {
    let text = query.to_string();
    match text.strip_prefix("SELECT") {
        Some(rest) => write!(f, "PERFORM{rest}"),
        None => write!(f, "PERFORM * FROM ({text}) AS performed"),
    }
}

fn if_statement(
    f: &mut Formatter<'_>,
    branches: &[(Expr, Vec<Stmt>)],
    otherwise: Option<&[Stmt]>,
    depth: usize,
) -> fmt::Result {
    for (index, (condition, body)) in branches.iter().enumerate() {
        if index > 0 {
            line(f, depth)?;
            f.write_str("ELS")?;
        }
        write!(f, "IF {condition} THEN")?;
        statements(f, body, depth + 1)?;
    }
    if let Some(body) = otherwise {
        line(f, depth)?;
        f.write_str("ELSE")?;
        statements(f, body, depth + 1)?;
    }
    line(f, depth)?;
    f.write_str("END IF")
}

fn loop_body(f: &mut Formatter<'_>, body: &[Stmt], depth: usize) -> fmt::Result {
    f.write_str("LOOP")?;
    statements(f, body, depth + 1)?;
    line(f, depth)?;
    f.write_str("END LOOP")
}

fn exit(f: &mut Formatter<'_>, word: &str, label: Option<&Ident>, condition: Option<&Expr>) -> fmt::Result {
    f.write_str(word)?;
    if let Some(label) = label {
        write!(f, " {label}")?;
    }
    write!(f, "{}", Clause("WHEN", condition))
}

impl Display for Raise {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("RAISE")?;
        match &self.what {
            RaiseWhat::Again => return Ok(()),
            RaiseWhat::Nothing => write!(f, " {}", self.level)?,
            RaiseWhat::Condition(condition) => write!(f, " {} {condition}", self.level)?,
            RaiseWhat::Format(format, args) => {
                write!(f, " {} {}", self.level, Quoted(format))?;
                args.iter().try_for_each(|arg| write!(f, ", {arg}"))?;
            }
        }
        let options: Vec<String> = self.using.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        write!(f, "{}", ListClause("USING", &options))
    }
}

impl Display for RaiseLevel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RaiseLevel::Debug => "DEBUG",
            RaiseLevel::Log => "LOG",
            RaiseLevel::Info => "INFO",
            RaiseLevel::Notice => "NOTICE",
            RaiseLevel::Warning => "WARNING",
            RaiseLevel::Exception => "EXCEPTION",
        })
    }
}
