//! Operator precedence, PostgreSQL's own.
//!
//! squawk nests operators nearly as PostgreSQL does, but not quite: `a + b BETWEEN 1 AND 2` becomes
//! `a + (b BETWEEN ...)`, `a || b || c` groups to the right, and `x::int BETWEEN ...` loses its left side to a sibling.
//! The order of operands and operators, however, is always right. So we take just that: a run of sibling expressions is
//! flattened to a list of
//! [`Item`]s, and [`Climb`] puts them together by the table of gram.y:
//!
//! ```text
//!   1 OR   2 AND   3 NOT   4 IS ISNULL NOTNULL   5 < > = <= >= <>   6 BETWEEN IN LIKE ILIKE SIMILAR   7 ESCAPE
//!   8 other operators   9 + -   10 * / %   11 ^   12 AT TIME ZONE   13 COLLATE   14 unary + -   15 ::
//! ```
//! Levels 4 to 7 do not associate: `a < b < c` is a syntax error.

use squawk_lexer::TokenKind;
use squawk_syntax::ast::{self as cst, AstNode};
use squawk_syntax::{SyntaxElement, SyntaxKind as K, SyntaxNode};

use super::expr::Quantifier;
use super::{Lower, Result};
use crate::ast::{Expr, ExprKind, Ident, IsTest};
use crate::error::{Diagnostic, Span};
use crate::refused::Construct;

/// Sibling expressions with nothing between them: one expression, in pieces.
pub(super) type Run = Vec<SyntaxNode>;

/// The expressions directly below a node.
pub(super) fn runs(parent: &impl AstNode) -> Vec<Run> {
    runs_below(parent.syntax())
}

/// The same below a node of any kind.
pub(super) fn runs_below(parent: &SyntaxNode) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut open = false;
    for element in parent.children_with_tokens() {
        match element {
            SyntaxElement::Node(node) if is_expr(node.kind()) => match runs.last_mut() {
                Some(run) if open => run.push(node),
                _ => {
                    runs.push(vec![node]);
                    open = true;
                }
            },
            SyntaxElement::Token(token) if token.kind().is_trivia() => {}
            _ => open = false,
        }
    }
    runs
}

fn is_expr(kind: K) -> bool {
    cst::Expr::can_cast(kind) || kind == K::NON_STANDARD_PARAM
}

/// What stands in a flattened expression.
enum Item {
    Operand(SyntaxNode),
    Cast(cst::Type),
    Op(Op, Span),
}

#[derive(Clone, Debug, PartialEq)]
enum Op {
    And,
    Or,
    Not,
    Is { negated: bool },
    IsDistinct { negated: bool },
    Null { negated: bool },
    Between { symmetric: bool, negated: bool },
    In { negated: bool },
    Like { op: &'static str, negated: bool },
    Escape,
    AtTimeZone,
    Symbol(String),
}

impl Lower {
    /// The expression that a run means.
    pub(super) fn run(&self, run: &Run) -> Result<Expr> {
        let mut items = Vec::new();
        for node in run {
            self.flatten(node, &mut items)?;
        }
        let mut climb = Climb { lower: self, items: items.into_iter().peekable(), end: Span::default() };
        let expr = climb.expr(1)?;
        match climb.items.next() {
            None => Ok(expr),
            Some(item) => Err(self.misplaced(&item)),
        }
    }

    /// The only expression below a node.
    pub(super) fn sole(&self, parent: &impl AstNode) -> Result<Expr> {
        let run = self.need(runs(parent).into_iter().next(), parent)?;
        self.run(&run)
    }

    /// All expressions below a node.
    pub(super) fn exprs(&self, parent: &impl AstNode) -> Result<Vec<Expr>> {
        runs(parent).iter().map(|run| self.run(run)).collect()
    }

    fn misplaced(&self, item: &Item) -> Diagnostic {
        let span = match item {
            Item::Operand(node) => self.span(node),
            Item::Cast(ty) => self.span(ty.syntax()),
            Item::Op(_, span) => *span,
        };
        match item {
            Item::Op(op, _) => Diagnostic::syntax(span, format!("syntax error at or near \"{}\"", op.shown()))
                .hint("operators like this do not chain: put parentheses around one of them"),
            _ => Diagnostic::syntax(span, "syntax error: an operator is missing before this"),
        }
    }

    /// Appends the operands and operators of `node`, in the order of the text.
    fn flatten(&self, node: &SyntaxNode, items: &mut Vec<Item>) -> Result<()> {
        let mut pending = vec![SyntaxElement::Node(node.clone())];
        while let Some(element) = pending.pop() {
            match element {
                SyntaxElement::Node(node) if is_composite(&node) => {
                    let mut parts = between(self, &node, items)?;
                    parts.reverse();
                    pending.append(&mut parts);
                }
                SyntaxElement::Node(node) if is_expr(node.kind()) => items.push(Item::Operand(node)),
                SyntaxElement::Node(node) => match cst::Type::cast(node.clone()) {
                    Some(ty) => items.push(Item::Cast(ty)),
                    None => self.operator_node(&node, items)?,
                },
                SyntaxElement::Token(token) if token.kind().is_trivia() => {}
                // Its collation follows.
                SyntaxElement::Token(token) if token.kind() == K::COLLATE_KW => {}
                SyntaxElement::Token(token) => {
                    let span = self.token_span(&token);
                    items.push(Item::Op(token_operator(token.kind(), token.text(), span)?, span));
                }
            }
        }
        Ok(())
    }

    fn operator_node(&self, node: &SyntaxNode, items: &mut Vec<Item>) -> Result<()> {
        let span = self.span(node);
        let op = match node.kind() {
            K::COLON_COLON => return Ok(()), // its type follows
            K::IS_NOT => Op::Is { negated: true },
            K::IS_DISTINCT_FROM => Op::IsDistinct { negated: false },
            K::IS_NOT_DISTINCT_FROM => Op::IsDistinct { negated: true },
            K::NOT_IN => Op::In { negated: true },
            K::NOT_LIKE => Op::Like { op: "~~", negated: true },
            K::NOT_ILIKE => Op::Like { op: "~~*", negated: true },
            K::SIMILAR_TO => Op::Like { op: "similar to", negated: false },
            K::NOT_SIMILAR_TO => Op::Like { op: "similar to", negated: true },
            K::AT_TIME_ZONE => Op::AtTimeZone,
            K::CUSTOM_OP => symbol(&node.text().to_string(), span)?,
            K::OPERATOR_CALL => {
                let text = node.text().to_string();
                let inner = text.split_once('(').map_or("", |(_, rest)| rest.trim().trim_end_matches(')').trim());
                symbol(inner.rsplit('.').next().unwrap_or(inner).trim(), span)?
            }
            K::COLLATION_REF => return self.collation(&node.text().to_string(), span),
            kind => return Err(Diagnostic::unsupported(span, Construct::OTHER.of(super::words(kind)))),
        };
        items.push(Item::Op(op, span));
        Ok(())
    }
}

impl Lower {
    /// Text is compared by its bytes, which is what these collations say.
    pub(super) fn collation(&self, name: &str, span: Span) -> Result<()> {
        let bare = name.rsplit('.').next().unwrap_or(name).trim().trim_matches('"');
        match bare {
            "C" | "POSIX" | "default" | "ucs_basic" => Ok(()),
            other => Err(Diagnostic::unsupported(span, Construct::COLLATION.of(other))
                .hint("text is ordered by its bytes: COLLATE \"C\"")),
        }
    }
}

/// Nodes that only group operands and operators.
fn is_composite(node: &SyntaxNode) -> bool {
    match node.kind() {
        K::BIN_EXPR | K::PREFIX_EXPR | K::POSTFIX_EXPR | K::BETWEEN_EXPR | K::COLLATE => true,
        K::CAST_EXPR => node.children().any(|c| c.kind() == K::COLON_COLON),
        _ => false,
    }
}

/// The parts of a composite node. `[NOT] BETWEEN [SYMMETRIC]` is one operator, so its words are taken together here.
fn between(lower: &Lower, node: &SyntaxNode, items: &mut Vec<Item>) -> Result<Vec<SyntaxElement>> {
    let parts: Vec<SyntaxElement> = node.children_with_tokens().collect();
    if node.kind() != K::BETWEEN_EXPR {
        return Ok(parts);
    }
    let has = |kind: K| parts.iter().any(|p| p.kind() == kind);
    let (negated, symmetric) = (has(K::NOT_KW), has(K::SYMMETRIC));
    let (mut span, mut rest) = (lower.span(node), Vec::new());
    let mut seen = false;
    for part in parts {
        match (&part, part.kind()) {
            (_, K::NOT_KW | K::SYMMETRIC | K::ASYMMETRIC) => {}
            (SyntaxElement::Token(token), K::BETWEEN_KW) => {
                span = lower.token_span(token);
                seen = true;
            }
            // The target stands before the keyword and is flattened first.
            (SyntaxElement::Node(target), _) if !seen => lower.flatten(target, items)?,
            _ => rest.push(part),
        }
    }
    items.push(Item::Op(Op::Between { symmetric, negated }, span));
    Ok(rest)
}

fn token_operator(kind: K, text: &str, span: Span) -> Result<Op> {
    Ok(match kind {
        K::AND_KW => Op::And,
        K::OR_KW => Op::Or,
        K::NOT_KW => Op::Not,
        K::IS_KW => Op::Is { negated: false },
        K::IN_KW => Op::In { negated: false },
        K::LIKE_KW => Op::Like { op: "~~", negated: false },
        K::ILIKE_KW => Op::Like { op: "~~*", negated: false },
        K::ISNULL_KW => Op::Null { negated: false },
        K::NOTNULL_KW => Op::Null { negated: true },
        K::ESCAPE_KW => Op::Escape,
        K::OVERLAPS_KW => Op::Symbol("overlaps".to_owned()),
        _ => symbol(text, span)?,
    })
}

/// Stands for NOT where squawk does not expect it; as long as the word itself, so that places stay right.
const NOT_DISGUISED: &str = "!#!";

/// squawk refuses the second line of `x BETWEEN 1 AND 2 \n AND NOT y`. With an operator in place of NOT the order of
/// operands is the same, and that is all we take. `None` if there is nothing to disguise.
pub(super) fn disguise_not(text: &str) -> Option<String> {
    if !text.to_ascii_lowercase().contains("between") {
        return None;
    }
    let mut disguised = text.to_owned();
    let (mut at, mut after_connective) = (0, false);
    for token in squawk_lexer::tokenize(text) {
        let end = at + token.len as usize;
        let word = text.get(at..end).unwrap_or("");
        if after_connective && word.eq_ignore_ascii_case("not") {
            disguised.replace_range(at..end, NOT_DISGUISED);
        }
        let trivia =
            matches!(token.kind, TokenKind::Whitespace | TokenKind::LineComment | TokenKind::BlockComment { .. });
        if !trivia {
            after_connective = word.eq_ignore_ascii_case("and") || word.eq_ignore_ascii_case("or");
        }
        at = end;
    }
    (disguised != text).then_some(disguised)
}

/// `= ANY ((SELECT ...) UNION ...)` as `IN`, and `<> ALL` as `NOT IN`, which mean the same: squawk reads parentheses in
/// parentheses there and not behind ANY. Every other character keeps its place.
pub(super) fn disguise_any(text: &str) -> Option<String> {
    let mut disguised = text.to_owned();
    let mut last: [(usize, usize); 3] = [(0, 0); 3];
    let mut at = 0;
    for token in squawk_lexer::tokenize(text) {
        let end = at + token.len as usize;
        let trivia =
            matches!(token.kind, TokenKind::Whitespace | TokenKind::LineComment | TokenKind::BlockComment { .. });
        if !trivia {
            let [op, word, open] = last.map(|(from, to)| text.get(from..to).unwrap_or(""));
            if open == "(" && text.get(at..end) == Some("(") {
                let is = |name: &str| word.eq_ignore_ascii_case(name);
                let (from, to) = (last[0].0, last[1].1);
                let word = match op {
                    "=" if is("any") || is("some") => Some("IN"),
                    ">" if is("all") && text.get(from.wrapping_sub(1)..from) == Some("<") => Some("NOT IN"),
                    _ => None,
                };
                if let Some(word) = word {
                    let from = from - usize::from(op == ">");
                    disguised.replace_range(from..to, &format!("{word:>width$}", width = to - from));
                }
            }
            last = [last[1], last[2], (at, end)];
        }
        at = end;
    }
    (disguised != text && disguised.len() == text.len()).then_some(disguised)
}

/// Operators of types that we do not have: text search, geometry, networks.
const FOREIGN_OPERATORS: &[&str] = &[
    "@?", "@@", "@@@", "<->", "##", "~=", "<<=", ">>=", "|>>", "<<|", "&<|", "|&>", "?#", "?-", "?||", "?-|", "<^",
    ">^", "@-@",
];

fn symbol(text: &str, span: Span) -> Result<Op> {
    if text == NOT_DISGUISED {
        return Ok(Op::Not);
    }
    if FOREIGN_OPERATORS.contains(&text) {
        return Err(Diagnostic::unsupported(span, Construct::OPERATOR.of(text)));
    }
    Ok(Op::Symbol(if text == "!=" { "<>".to_owned() } else { text.to_owned() }))
}

impl Op {
    /// The operator as it is written.
    fn shown(&self) -> &str {
        match self {
            Op::And => "AND",
            Op::Or => "OR",
            Op::Not => "NOT",
            Op::Is { .. } | Op::IsDistinct { .. } => "IS",
            Op::Null { negated: false } => "ISNULL",
            Op::Null { negated: true } => "NOTNULL",
            Op::Between { .. } => "BETWEEN",
            Op::In { .. } => "IN",
            Op::Like { op: "~~", .. } => "LIKE",
            Op::Like { op: "similar to", .. } => "SIMILAR",
            Op::Escape => "ESCAPE",
            Op::AtTimeZone => "AT",
            Op::Like { .. } => "ILIKE",
            Op::Symbol(symbol) => symbol,
        }
    }

    /// How tightly it binds between two operands.
    fn level(&self) -> u8 {
        match self {
            Op::Or => 1,
            Op::And => 2,
            Op::Not => 3,
            Op::Is { .. } | Op::IsDistinct { .. } | Op::Null { .. } => 4,
            Op::Between { .. } | Op::In { .. } | Op::Like { .. } => 6,
            Op::Escape => 7,
            Op::AtTimeZone => 12,
            Op::Symbol(s) => match s.as_str() {
                "<" | ">" | "=" | "<=" | ">=" | "<>" => 5,
                "+" | "-" => 9,
                "*" | "/" | "%" => 10,
                "^" => 11,
                _ => 8,
            },
        }
    }
}

/// Precedence climbing over the items.
struct Climb<'a> {
    lower: &'a Lower,
    items: std::iter::Peekable<std::vec::IntoIter<Item>>,
    /// Where the last item stood.
    end: Span,
}

impl Climb<'_> {
    /// An expression whose operators all bind at least as tightly as `min`.
    fn expr(&mut self, min: u8) -> Result<Expr> {
        let mut left = self.prefix()?;
        let mut unassociative = None;
        while let Some(item) = self.items.peek() {
            let Item::Op(op, _) = item else {
                if matches!(item, Item::Cast(_)) {
                    left = self.cast(left)?;
                    continue;
                }
                return Err(self.lower.misplaced(item));
            };
            let level = op.level();
            if level < min || matches!(op, Op::Not | Op::Escape) {
                break;
            }
            if unassociative == Some(level) {
                return Err(self.lower.misplaced(item));
            }
            left = self.infix(left, level)?;
            unassociative = ((4..=6).contains(&level) && ends_in_operand(&left.kind)).then_some(level);
        }
        Ok(left)
    }

    fn cast(&mut self, value: Expr) -> Result<Expr> {
        let Some(Item::Cast(ty)) = self.items.next() else { return Ok(value) };
        let span = value.span.to(self.lower.span(ty.syntax()));
        self.lower.cast(value, &ty, span)
    }

    fn prefix(&mut self) -> Result<Expr> {
        let Some(item) = self.items.next() else {
            return Err(Diagnostic::syntax(self.end, "syntax error: an operand is missing"));
        };
        match item {
            Item::Operand(node) => {
                self.end = self.lower.span(&node);
                self.lower.operand(&node)
            }
            Item::Cast(ty) => Err(self.lower.misplaced(&Item::Cast(ty))),
            Item::Op(op, span) => self.unary(op, span),
        }
    }

    fn unary(&mut self, op: Op, span: Span) -> Result<Expr> {
        self.end = span;
        let sign = matches!(&op, Op::Symbol(s) if s == "-" || s == "+");
        let operand = match op {
            Op::Not => self.expr(3)?,
            Op::Symbol(_) if sign => self.tight()?,
            Op::Symbol(_) => self.expr(9)?,
            _ => return Err(self.lower.misplaced(&Item::Op(op, span))),
        };
        let span = span.to(operand.span);
        let kind = match (op, operand) {
            (Op::Symbol(s), operand) if sign => signed(&s, operand),
            (Op::Symbol(s), operand) => ExprKind::Unary(s.into(), Box::new(operand)),
            (_, operand) => ExprKind::Not(Box::new(operand)),
        };
        Ok(Expr { kind, span })
    }

    /// The operand of a sign: only `::` binds more tightly.
    fn tight(&mut self) -> Result<Expr> {
        let mut operand = self.prefix()?;
        while matches!(self.items.peek(), Some(Item::Cast(_))) {
            operand = self.cast(operand)?;
        }
        Ok(operand)
    }

    fn infix(&mut self, left: Expr, level: u8) -> Result<Expr> {
        let Some(Item::Op(op, at)) = self.items.next() else { return Ok(left) };
        self.end = at;
        let (start, left) = (left.span, Box::new(left));
        let kind = match op {
            Op::And | Op::Or => self.junction(*left, op == Op::And, level)?,
            Op::Not => return Err(self.lower.misplaced(&Item::Op(op, at))),
            Op::Null { negated } => ExprKind::Is { expr: left, test: IsTest::Null, negated },
            Op::Is { negated } => {
                let test = self.is_test()?;
                ExprKind::Is { expr: left, test, negated }
            }
            Op::IsDistinct { negated } => {
                ExprKind::IsDistinct { left, right: Box::new(self.expr(level + 1)?), negated }
            }
            Op::Between { symmetric, negated } => {
                let low = Box::new(self.expr(level + 1)?);
                match self.items.next() {
                    Some(Item::Op(Op::And, _)) => {}
                    Some(item) => return Err(self.lower.misplaced(&item)),
                    None => return Err(Diagnostic::syntax(at, "syntax error: BETWEEN needs AND")),
                }
                let high = Box::new(self.expr(level + 1)?);
                ExprKind::Between { expr: left, low, high, symmetric, negated }
            }
            Op::In { negated } => self.membership(left, negated)?,
            Op::Like { op, negated } => {
                let like = self.like(left, op, level)?;
                if negated {
                    let span = start.to(self.end);
                    ExprKind::Not(Box::new(Expr { kind: like, span }))
                } else {
                    like
                }
            }
            Op::Escape => return Err(self.lower.misplaced(&Item::Op(op, at))),
            Op::AtTimeZone => {
                let zone = self.expr(level + 1)?;
                let name = Ident { name: "timezone".into(), span: at };
                super::call::plain(name, vec![zone, *left])
            }
            Op::Symbol(symbol) => self.binary(left, symbol, level)?,
        };
        Ok(Expr { span: start.to(self.end).to(last(&kind)), kind })
    }

    /// `left LIKE right [ESCAPE escape]`; SIMILAR TO becomes a regular expression.
    fn like(&mut self, left: Box<Expr>, op: &str, level: u8) -> Result<ExprKind> {
        let similar = op == "similar to";
        let mut kind = self.binary(left, if similar { "~".to_owned() } else { op.to_owned() }, level)?;
        let escape = match self.items.peek() {
            Some(Item::Op(Op::Escape, _)) => {
                let Some(Item::Op(_, at)) = self.items.next() else { return Ok(kind) };
                Some((self.expr(8)?, at))
            }
            _ => None,
        };
        if let ExprKind::Binary(_, _, right) = &mut kind {
            let (name, at) = match (&escape, similar) {
                (Some((_, at)), true) => ("similar_to_escape", *at),
                (None, true) => ("similar_to_escape", right.span),
                (Some((_, at)), false) => ("like_escape", *at),
                (None, false) => return Ok(kind),
            };
            let span = right.span;
            let pattern = std::mem::replace(&mut **right, Expr { kind: ExprKind::Null, span });
            let args = std::iter::once(pattern).chain(escape.map(|(e, _)| e)).collect();
            **right = Expr { kind: super::call::plain(Ident { name: name.into(), span: at }, args), span };
        }
        Ok(kind)
    }

    fn junction(&mut self, left: Expr, and: bool, level: u8) -> Result<ExprKind> {
        let right = self.expr(level + 1)?;
        Ok(match (left.kind, and) {
            (ExprKind::And(mut list), true) => {
                list.push(right);
                ExprKind::And(list)
            }
            (ExprKind::Or(mut list), false) => {
                list.push(right);
                ExprKind::Or(list)
            }
            (kind, true) => ExprKind::And(vec![Expr { kind, span: left.span }, right]),
            (kind, false) => ExprKind::Or(vec![Expr { kind, span: left.span }, right]),
        })
    }

    /// `left op right`, or `left op ANY (query)`.
    fn binary(&mut self, left: Box<Expr>, op: String, level: u8) -> Result<ExprKind> {
        if let Some(Item::Operand(node)) = self.items.peek()
            && let Some((all, quantifier)) = self.lower.quantifier(node)?
        {
            self.end = self.lower.span(node);
            self.items.next();
            return Ok(match quantifier {
                Quantifier::Query(query) => ExprKind::Quantified { expr: left, op: op.into(), all, query },
                Quantifier::Array(array) => ExprKind::AnyOf { expr: left, op: op.into(), all, array },
            });
        }
        let right = Box::new(self.expr(level + 1)?);
        Ok(ExprKind::Binary(op.into(), left, right))
    }

    fn membership(&mut self, left: Box<Expr>, negated: bool) -> Result<ExprKind> {
        match self.items.next() {
            Some(Item::Operand(node)) => {
                self.end = self.lower.span(&node);
                self.lower.membership(left, &node, negated)
            }
            Some(item) => Err(self.lower.misplaced(&item)),
            None => Err(Diagnostic::syntax(self.end, "syntax error: IN needs a list or a query")),
        }
    }

    fn is_test(&mut self) -> Result<IsTest> {
        let Some(Item::Operand(node)) = self.items.next() else {
            return Err(Diagnostic::syntax(self.end, "syntax error: IS needs NULL, TRUE, FALSE or UNKNOWN"));
        };
        self.end = self.lower.span(&node);
        match node.text().to_string().to_ascii_lowercase().as_str() {
            "null" => Ok(IsTest::Null),
            "true" => Ok(IsTest::True),
            "false" => Ok(IsTest::False),
            "unknown" => Ok(IsTest::Unknown),
            "document" => Err(Diagnostic::unsupported(self.end, Construct::IS_DOCUMENT)),
            other => Err(Diagnostic::syntax(self.end, format!("syntax error at or near \"{other}\""))),
        }
    }
}

/// Whether another operator of the same level would compete for the last operand; behind `IS NULL` or `IN (...)` it
/// cannot.
fn ends_in_operand(kind: &ExprKind) -> bool {
    use ExprKind::*;
    !matches!(kind, Is { .. } | InList { .. } | InQuery { .. } | Quantified { .. } | AnyOf { .. })
}

/// `-5` is a literal, as PostgreSQL's parser has it; other operands keep their sign as an operator.
fn signed(sign: &str, operand: Expr) -> ExprKind {
    match operand.kind {
        ExprKind::Integer(n) if sign == "-" => ExprKind::Integer(-n),
        ExprKind::Decimal(text) if sign == "-" && !text.starts_with('-') => {
            let text = format!("-{text}");
            text.parse().map_or_else(|_| ExprKind::Decimal(text.into()), ExprKind::Integer)
        }
        kind @ (ExprKind::Integer(_) | ExprKind::Decimal(_)) if sign == "+" => kind,
        kind => ExprKind::Unary(sign.into(), Box::new(Expr { kind, span: operand.span })),
    }
}

/// Where the last operand of a node ends.
fn last(kind: &ExprKind) -> Span {
    match kind {
        ExprKind::Binary(_, _, right)
        | ExprKind::IsDistinct { right, .. }
        | ExprKind::Between { high: right, .. }
        | ExprKind::Not(right) => right.span,
        ExprKind::And(list) | ExprKind::Or(list) => list.last().map_or(Span::default(), |e| e.span),
        ExprKind::Is { expr, .. } | ExprKind::InList { expr, .. } | ExprKind::InQuery { expr, .. } => expr.span,
        ExprKind::Quantified { expr, .. } | ExprKind::AnyOf { expr, .. } => expr.span,
        _ => Span::default(),
    }
}
