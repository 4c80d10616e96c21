//! Facts of a text that our parser does not understand.
//!
//! Only its lexemes are known. Each effect needs a keyword, so an effect whose keyword stands nowhere in the text is
//! excluded; words in comments and quoted names do not count, those in strings do, because the body of a routine is a
//! string. A statement whose first word is not a known one may do anything.

use std::sync::Arc;

use super::effects::KEEPING;
use super::setting::WORDING;
use super::{Effects, Facts, RowOrder, Verb};
use crate::ast::{Expr, ExprKind, LockStrength, Part};
use crate::parse::{self, Lexeme, LexemeKind};

/// First words that decide alone what kind of statement it is.
const VERBS: &[(&str, Verb)] = &[
    ("SELECT", Verb::Select),
    ("VALUES", Verb::Select),
    ("TABLE", Verb::Select),
    ("INSERT", Verb::Insert),
    ("UPDATE", Verb::Update),
    ("DELETE", Verb::Delete),
    ("MERGE", Verb::Merge),
    ("COPY", Verb::Copy),
    ("TRUNCATE", Verb::Truncate),
    ("LOCK", Verb::Lock),
    ("CALL", Verb::Call),
    ("DO", Verb::Do),
    ("BEGIN", Verb::Begin),
    ("START", Verb::Begin),
    ("SAVEPOINT", Verb::Savepoint),
    ("RELEASE", Verb::Release),
    ("SET", Verb::Set),
    ("RESET", Verb::Set),
    ("SHOW", Verb::Show),
    ("EXECUTE", Verb::Execute),
    ("DEALLOCATE", Verb::Deallocate),
    ("DISCARD", Verb::Discard),
    ("DECLARE", Verb::Declare),
    ("FETCH", Verb::Fetch),
    ("MOVE", Verb::Move),
    ("CLOSE", Verb::Close),
    ("LISTEN", Verb::Listen),
    ("UNLISTEN", Verb::Unlisten),
    ("NOTIFY", Verb::Notify),
    ("CREATE", Verb::Define),
    ("ALTER", Verb::Define),
    ("DROP", Verb::Define),
    ("GRANT", Verb::Define),
    ("REVOKE", Verb::Define),
    ("COMMENT", Verb::Define),
    ("REFRESH", Verb::Define),
    ("VACUUM", Verb::Maintain),
    ("ANALYZE", Verb::Maintain),
    ("REINDEX", Verb::Maintain),
    ("CLUSTER", Verb::Maintain),
    ("CHECKPOINT", Verb::Maintain),
];

/// What stands outside of a database, behind CREATE, ALTER or DROP.
const OUTSIDE: &[&str] = &["ROLE", "USER", "GROUP", "DATABASE", "TABLESPACE", "SYSTEM"];

/// The facts of a statement.
pub(super) fn statement(text: &str) -> Facts {
    let lexemes = meant(text);
    let verb = verb(&lexemes);
    let effects = match verb {
        Verb::Other => Effects { outside: outside(&lexemes), ..Effects::any() },
        // A routine that is defined is not run.
        Verb::Define => Effects { defines: true, locks_tables: true, outside: outside(&lexemes), ..Effects::default() },
        _ => mentioned(text, verb),
    };
    let selects_from = lexemes.iter().any(|lexeme| lexeme.is("FROM"));
    Facts { verb, order: order(verb, &lexemes), effects, selects_from, ..Facts::default() }
}

/// What calling a routine does whose body this is.
pub(super) fn body(text: &str) -> Facts {
    Facts { effects: mentioned(text, Verb::Do), ..Facts::default() }
}

/// What calling the routine does that a text defines.
pub(super) fn defined(text: &str) -> Option<Facts> {
    let lexemes = meant(text);
    let after = lexemes.iter().find(|l| !["CREATE", "OR", "REPLACE"].iter().any(|word| l.is(word)))?;
    if !lexemes.first()?.is("CREATE") || !(after.is("FUNCTION") || after.is("PROCEDURE")) {
        return None;
    }
    let rest = &text[after.start..];
    match language(text).is_none_or(|language| ["sql", "plpgsql"].contains(&language.as_str())) {
        true => Some(body(rest)),
        false => Some(Facts { effects: Effects::any(), ..Facts::default() }),
    }
}

/// The language of the routine that a text defines, if it says.
pub(super) fn language(text: &str) -> Option<String> {
    let lexemes = meant(text);
    let name = lexemes.windows(2).find(|pair| pair[0].is("LANGUAGE"))?[1];
    Some(name.inside().unwrap_or(name.text).trim_matches('"').to_lowercase())
}

/// The cursor that a text declares, and whether its query asks for an order.
pub(super) fn declared(text: &str) -> Option<(Arc<str>, RowOrder)> {
    let lexemes = meant(text);
    let [first, name, ..] = lexemes.as_slice() else { return None };
    let order = if asks_order(&lexemes) { RowOrder::Asked } else { RowOrder::Any };
    first.is("DECLARE").then_some((name.folded()?.into(), order))
}

/// What a text may do that is put together when it runs: its constant parts tell, if the first of them says what it is.
pub(super) fn dynamic(text: &Expr) -> Effects {
    let mut constants = Vec::new();
    text.walk(&mut |part| {
        if let Part::Expr(Expr { kind: ExprKind::String(constant), .. }) = part {
            constants.push(constant.clone());
        }
    });
    if let ExprKind::String(whole) = &text.kind {
        return Effects::of_all(&Facts::of_script(whole));
    }
    let first = constants.first().map_or(Verb::Other, |first| verb(&meant(first)));
    match first.is_planned() {
        true => constants.iter().fold(Effects::default(), |all, constant| all.or(mentioned(constant, first))),
        false => Effects::any(),
    }
}

/// Whether a command with this tag changes something outside of the database.
pub(super) fn is_outside(tag: &str) -> bool {
    outside(&meant(tag))
}

fn outside(lexemes: &[Lexeme<'_>]) -> bool {
    let [first, second, rest @ ..] = lexemes else { return false };
    let changes = ["CREATE", "ALTER", "DROP"].iter().any(|word| first.is(word));
    changes && OUTSIDE.iter().any(|word| second.is(word)) && !rest.first().is_some_and(|third| third.is("MAPPING"))
}

fn meant(text: &str) -> Vec<Lexeme<'_>> {
    parse::lexemes(text).filter(Lexeme::counts).collect()
}

fn verb(lexemes: &[Lexeme<'_>]) -> Verb {
    let mut rest = lexemes.iter().skip_while(|lexeme| lexeme.text == "(");
    let (Some(first), second) = (rest.next(), rest.next()) else { return Verb::Other };
    let then = |word: &str| second.is_some_and(|second| second.is(word));
    if first.is("WITH") {
        return with(lexemes);
    }
    match () {
        () if first.is("PREPARE") && then("TRANSACTION") => Verb::PrepareTransaction,
        () if first.is("PREPARE") => Verb::Prepare,
        () if first.is("COMMIT") && then("PREPARED") => Verb::CommitPrepared,
        () if first.is("ROLLBACK") && then("PREPARED") => Verb::RollbackPrepared,
        () if first.is("COMMIT") || first.is("END") => Verb::Commit,
        () if first.is("ROLLBACK") || first.is("ABORT") => match lexemes.iter().any(|lexeme| lexeme.is("TO")) {
            true => Verb::RollbackTo,
            false => Verb::Rollback,
        },
        () if first.is("SET") && (then("TRANSACTION") || lexemes.iter().any(|l| l.is("CHARACTERISTICS"))) => {
            Verb::SetTransaction
        }
        () if first.is("SELECT") && at_top(lexemes).any(|lexeme| lexeme.is("INTO")) => Verb::Define,
        () => VERBS.iter().find(|(word, _)| first.is(word)).map_or(Verb::Other, |(_, verb)| *verb),
    }
}

/// The verb behind WITH: the first one outside of parentheses.
fn with(lexemes: &[Lexeme<'_>]) -> Verb {
    let verbs = [Verb::Select, Verb::Insert, Verb::Update, Verb::Delete, Verb::Merge];
    let found = at_top(lexemes).skip(1).find_map(|lexeme| VERBS.iter().find(|(word, _)| lexeme.is(word)));
    found.map(|(_, verb)| *verb).filter(|verb| verbs.contains(verb)).unwrap_or(Verb::Other)
}

/// The lexemes outside of parentheses.
fn at_top<'l, 'a>(lexemes: &'l [Lexeme<'a>]) -> impl Iterator<Item = &'l Lexeme<'a>> {
    let mut depth = 0i32;
    lexemes.iter().filter(move |lexeme| {
        match lexeme.text {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            _ => return depth == 0,
        }
        false
    })
}

fn order(verb: Verb, lexemes: &[Lexeme<'_>]) -> RowOrder {
    let returns = lexemes.iter().any(|lexeme| lexeme.is("RETURNING"));
    let last = || lexemes.iter().rev().find_map(Lexeme::folded);
    match verb {
        Verb::Select if asks_order(lexemes) => RowOrder::Asked,
        Verb::Select => RowOrder::Any,
        Verb::Insert | Verb::Update | Verb::Delete | Verb::Merge if returns => RowOrder::Any,
        Verb::Fetch => last().map_or(RowOrder::Any, |name| RowOrder::Cursor(name.into())),
        Verb::Execute => match lexemes.get(1).and_then(Lexeme::folded) {
            Some(name) => RowOrder::Prepared(name.into()),
            None => RowOrder::Any,
        },
        _ => RowOrder::None,
    }
}

/// ORDER BY outside of parentheses, apart from those around the whole.
fn asks_order(lexemes: &[Lexeme<'_>]) -> bool {
    let mut inside = lexemes;
    while let [first, middle @ .., last] = inside
        && (first.text, last.text) == ("(", ")")
        && is_closed(middle)
    {
        inside = middle;
    }
    let top: Vec<&Lexeme<'_>> = at_top(inside).collect();
    top.windows(2).any(|pair| pair[0].is("ORDER") && pair[1].is("BY"))
}

/// Whether parentheses pair up in it: `) UNION (` does not.
fn is_closed(lexemes: &[Lexeme<'_>]) -> bool {
    let mut depth = 0i32;
    lexemes.iter().all(|lexeme| {
        depth += i32::from(lexeme.text == "(") - i32::from(lexeme.text == ")");
        depth >= 0
    })
}

/// The effects whose keywords stand in a text, strings included.
fn mentioned(text: &str, verb: Verb) -> Effects {
    let mut names = parse::names(text);
    let runs = matches!(verb, Verb::Do);
    // What the first word says is said by the verb.
    if !runs && !names.is_empty() {
        names.remove(0);
    }
    let has = |words: &[&str]| words.iter().any(|word| names.iter().any(|name| name == word));
    let defines = has(&["create", "alter", "drop", "refresh", "reindex", "cluster", "grant", "revoke", "comment"]);
    let sets = has(&["set_config"]) || verb == Verb::Set || (runs && has(&["set", "reset"]) && parts(text));
    let truncates = has(&["truncate"]) || verb == Verb::Truncate;
    Effects {
        queries: !(verb.is_about_transactions() || matches!(verb, Verb::Set | Verb::Show)),
        defines,
        truncates,
        catches: has(&["exception"]) && has(&["when"]),
        ends: runs && has(&["commit", "rollback"]),
        executes: runs && has(&["execute"]),
        keeps: sets
            || has(KEEPING)
            || has(&["temp", "temporary", "hold"])
            || (runs && has(&["listen", "unlisten", "prepare", "discard", "deallocate"]))
            || matches!(verb, Verb::Listen | Verb::Unlisten | Verb::Prepare | Verb::Discard | Verb::Deallocate),
        deallocates: has(&["deallocate", "discard"]) || matches!(verb, Verb::Deallocate | Verb::Discard),
        two_phase: matches!(verb, Verb::PrepareTransaction | Verb::CommitPrepared | Verb::RollbackPrepared)
            || (runs && has(&["prepared", "prepare"])),
        rewords: sets && (has(WORDING) || has(&["zone", "names", "schema"])),
        serializable: has(&["serializable"]),
        sets_level: has(&["isolation", "transaction_isolation", "default_transaction_isolation"]),
        locks_tables: defines || truncates || has(&["lock"]) || matches!(verb, Verb::Lock | Verb::Maintain),
        locks_rows: has(&["for"]).then_some(LockStrength::Update),
        opens_ordered: runs && has(&["open", "cursor"]) && has(&["order"]),
        outside: false,
    }
}

/// Whether SET stands where a statement of a routine begins, and not in an UPDATE.
fn parts(text: &str) -> bool {
    const BEFORE: &[&str] = &[";", "begin", "then", "else", "loop"];
    let mut texts = vec![text];
    while let Some(text) = texts.pop() {
        let lexemes = meant(text);
        let starts = |at: usize| match at.checked_sub(1) {
            None => true,
            Some(before) => BEFORE.iter().any(|word| lexemes[before].text.eq_ignore_ascii_case(word)),
        };
        if (0..lexemes.len()).any(|at| (lexemes[at].is("SET") || lexemes[at].is("RESET")) && starts(at)) {
            return true;
        }
        texts.extend(lexemes.iter().filter(|l| l.kind == LexemeKind::Text).filter_map(Lexeme::inside));
    }
    false
}
