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
    let range = range(sql::conjuncts(filter), |e| sql::column(e, table, alias), table)?;
    let equal = sql::equalities(filter, table, alias).into_iter().map(|(c, _)| sql::ident(&table.columns[c].name));
    let mut equal: Vec<String> = equal.collect();
    equal.dedup();
    let inserts = inserts(case, table);
    let (_, defined) = case.definition(&table.name)?;
    let parts: Vec<String> =
        equal.iter().map(|column| format!("{column} WITH =")).chain([format!("{range} WITH &&")]).collect();
    let parts = parts.join(", ");
    // Equality of plain values is no matter of GiST without it.
    let extension = if equal.is_empty() { "" } else { "\nCREATE EXTENSION IF NOT EXISTS btree_gist;" };
    let constraint = format!("ALTER TABLE {} ADD EXCLUDE USING gist ({parts});", sql::ident(&table.name));
    let mut edits = vec![Edit::insert(thread::end_of(defined, case.text()), format!("{extension}\n{constraint}"))];
    let refused: Option<Vec<Edit>> =
        inserts.iter().map(|insert| unique::do_nothing(insert, "ON CONFLICT DO NOTHING")).collect();
    edits.extend(refused.filter(|_| !inserts.is_empty())?);
    let lines = case.lines(inserts.iter().map(|insert| insert.span));
    let title = format!("EXCLUDE ({parts}) for {}, ON CONFLICT DO NOTHING ({lines})", table.name);
    Some(Candidate::new(title, edits).beyond_engine())
}

/// The statements that insert into a table, as written.
fn inserts<'a>(case: &Case<'a>, table: &Table) -> Vec<Site<'a>> {
    let into = |site: &&Site<'a>| unique::insert(site).is_some_and(|insert| insert.table.name.name == table.name);
    case.sites().iter().filter(into).copied().collect()
}

/// The range that conditions ask to overlap: a column of such a type, or a pair of bounds.
fn range<'e>(conditions: Vec<&'e Expr>, column: impl Fn(&'e Expr) -> Option<usize>, table: &Table) -> Option<String> {
    let mut lower = None;
    let mut upper = None;
    for condition in conditions {
        let ExprKind::Binary(op, left, right) = &condition.kind else { continue };
        match (&**op, column(left), column(right)) {
            ("&&", Some(c), None) | ("&&", None, Some(c)) => {
                let is_range = matches!(table.columns[c].ty, Type::Range(_));
                return is_range.then(|| sql::ident(&table.columns[c].name));
            }
            // It begins before the other ends, and ends behind its beginning.
            ("<" | "<=", Some(c), None) | (">" | ">=", None, Some(c)) => lower = lower.or(Some(c)),
            (">" | ">=", Some(c), None) | ("<" | "<=", None, Some(c)) => upper = upper.or(Some(c)),
            _ => {}
        }
    }
    let (lower, upper) = (&table.columns[lower?], &table.columns[upper?]);
    let make = match lower.ty {
        Type::Int4 => "int4range",
        Type::Int8 => "int8range",
        Type::Numeric(_) => "numrange",
        Type::Date => "daterange",
        Type::Timestamp => "tsrange",
        Type::Timestamptz => "tstzrange",
        _ => return None,
    };
    let different = lower.name != upper.name && lower.ty == upper.ty;
    different.then(|| format!("{make}({}, {})", sql::ident(&lower.name), sql::ident(&upper.name)))
}
