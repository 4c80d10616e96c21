//! An exclusion constraint where two inserts overlap.
//!
//! Look for a booking that overlaps, and insert if there is none: two sessions that both look first both insert. No
//! unique key can say that ranges do not overlap. `EXCLUDE` can:
//!
//! ```text
//! SELECT count(*) FROM booking WHERE room = 1           ALTER TABLE booking ADD EXCLUDE USING gist
//!   AND starts < '12:00' AND ends > '11:00';       ──▶    (room WITH =, tsrange(starts, ends) WITH &&);
//! INSERT INTO booking ...;                              INSERT INTO booking ... ON CONFLICT DO NOTHING;
//! ```
//!
//! The embedded engine has no exclusion constraints, so what it finds here only a server can judge (`--on`).

use isolde_sql::Type;
use isolde_sql::ast::{Expr, ExprKind};
use isolde_sql::catalog::Table;

use super::patch::Edit;
use super::site::Site;
use super::{Candidate, Case, Kind, sql, thread, unique};

pub(super) struct Exclusion;

impl Kind for Exclusion {
    fn name(&self) -> &'static str {
        "exclusion"
    }

    fn is_about_overlap(&self) -> bool {
        false
    }

    fn propose(&self, case: &Case<'_>) -> Vec<Candidate> {
        case.culprits().iter().find_map(|culprit| candidate(case, &culprit.site)).into_iter().collect()
    }
}

fn candidate(case: &Case<'_>, site: &Site<'_>) -> Option<Candidate> {
    let query = site.read()?;
    let table = sql::table(query, case.catalog())?;
    let (filter, alias) = (sql::select(query)?.filter.as_ref(), sql::alias(query));
    let mut equal: Vec<String> = Vec::new();
    let mut others = Vec::new();
    // What the constraint says is what was looked for, and nothing else.
    for condition in sql::conjuncts(filter) {
        match sql::equalities(Some(condition), table, alias).first() {
            Some((column, _)) => equal.push(sql::ident(&table.columns[*column].name)),
            None => others.push(condition),
        }
    }
    let range = range(&others, |e| sql::column(e, table, alias), table)?;
    let inserts = inserts(case, table);
    let (_, defined) = case.definition(&table.name)?;
    let parts: Vec<String> =
        equal.iter().map(|column| format!("{column} WITH =")).chain([format!("{range} WITH &&")]).collect();
    let parts = parts.join(", ");
    // Equality of plain values is no matter of GiST without it.
    let extension = if equal.is_empty() { "" } else { "\nCREATE EXTENSION IF NOT EXISTS btree_gist;" };
    let constraint = format!("ALTER TABLE {} ADD EXCLUDE USING gist ({parts});", sql::ident(&table.name));
    let mut edits = vec![Edit::insert(thread::end_of(defined, case.text()), format!("{extension}\n{constraint}"))];
    let clause = "ON CONFLICT DO NOTHING";
    let refused: Option<Vec<Vec<Edit>>> = inserts
        .iter()
        .map(|insert| {
            unique::insert_first(case, insert, clause).or_else(|| Some(vec![unique::do_nothing(insert, clause)?]))
        })
        .collect();
    edits.extend(refused.filter(|_| !inserts.is_empty())?.concat());
    let lines = case.lines(inserts.iter().map(|insert| insert.span));
    let title = format!("EXCLUDE ({parts}) for {}, {clause} ({lines})", table.name);
    Some(Candidate::new(title, edits).beyond_engine())
}

/// The statements that insert into a table, as written.
fn inserts<'a>(case: &Case<'a>, table: &Table) -> Vec<Site<'a>> {
    let into = |site: &&Site<'a>| unique::insert(site).is_some_and(|insert| insert.table.name.name == table.name);
    case.sites().iter().filter(into).copied().collect()
}

/// The range that these conditions ask to overlap: a column of such a type, or a pair of bounds.
fn range<'e>(conditions: &[&'e Expr], column: impl Fn(&'e Expr) -> Option<usize>, table: &Table) -> Option<String> {
    let compared = |condition: &'e Expr| match &condition.kind {
        ExprKind::Binary(op, left, right) => match (column(left), column(right)) {
            (Some(c), None) => Some((c, &**op)),
            // As if the column came first.
            (None, Some(c)) => Some((c, *FLIPPED.iter().find(|(one, _)| *one == &**op).map(|(_, other)| other)?)),
            _ => None,
        },
        _ => None,
    };
    let name = |c: usize| sql::ident(&table.columns[c].name);
    let compared: Vec<(usize, &str)> = conditions.iter().map(|condition| compared(condition)).collect::<Option<_>>()?;
    let (lower, upper, bounds) = match compared.as_slice() {
        [(c, "&&")] => return matches!(table.columns[*c].ty, Type::Range(_)).then(|| name(*c)),
        // It begins before the other ends, and ends behind its beginning.
        [(a, "<"), (b, ">")] | [(b, ">"), (a, "<")] => (*a, *b, ""),
        [(a, "<="), (b, ">=")] | [(b, ">="), (a, "<=")] => (*a, *b, ", '[]'"),
        _ => return None,
    };
    let make = match table.columns[lower].ty {
        Type::Int4 => "int4range",
        Type::Int8 => "int8range",
        Type::Numeric(_) => "numrange",
        Type::Date => "daterange",
        Type::Timestamp => "tsrange",
        Type::Timestamptz => "tstzrange",
        _ => return None,
    };
    let fits = lower != upper && table.columns[lower].ty == table.columns[upper].ty;
    fits.then(|| format!("{make}({}, {}{bounds})", name(lower), name(upper)))
}

/// Comparisons, and what they are with their sides exchanged.
const FLIPPED: &[(&str, &str)] = &[("<", ">"), (">", "<"), ("<=", ">="), (">=", "<="), ("&&", "&&")];
