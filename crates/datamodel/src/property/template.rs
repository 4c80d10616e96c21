//! Templates: the questions that the literature asks again and again, by name.

use super::parse::Parser;
use super::{Formula, Mode, Number, PropertyError, Set, Step, VariableId};
use crate::model::ClassId;
use crate::property::Moment;

/// Every template: how it is written, and what it says. To add one: a line here, and a branch in `parse`.
pub const TEMPLATES: &[(&str, &str)] = &[
    ("always related Photo.profile", "every photo has a profile"),
    ("empty allowed Topic.posts", "some topic may have no posts"),
    ("multiple allowed Project.screenshots", "some project may have several screenshots"),
    ("unique pair Bookmark (user, project)", "no two bookmarks agree on both"),
    ("path equality Note.user = Note.project.user", "both paths lead to the same, from every note"),
    ("delete propagates Profile to Photo.profile", "with a profile go the photos that name it"),
    ("no delete propagation Profile to Friend", "with a profile goes no friend"),
    ("no dangling Note.project after Project", "after the delete of a project no note names one that is gone"),
    ("no orphans User.profile after Profile", "after the delete of a profile every user that had one still does"),
];

type Made = (Mode, Option<VariableId>, Formula);

/// A template, if one begins here.
pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Option<Made>, PropertyError> {
    let made = if phrase(parser, &["always", "related"]) {
        let (x, set) = whole_path(parser)?;
        (Mode::Always, None, quantified(Number::All, x, Moment::Before, Formula::Has(Number::Some, set)))
    } else if phrase(parser, &["empty", "allowed"]) {
        let (x, set) = whole_path(parser)?;
        (Mode::Possible, None, quantified(Number::Some, x, Moment::Before, Formula::Has(Number::No, set)))
    } else if phrase(parser, &["multiple", "allowed"]) {
        let (x, set) = whole_path(parser)?;
        let several = not(Formula::Has(Number::Lone, set));
        (Mode::Possible, None, quantified(Number::Some, x, Moment::Before, several))
    } else if phrase(parser, &["unique", "pair"]) {
        (Mode::Always, None, unique_pair(parser)?)
    } else if phrase(parser, &["path", "equality"]) {
        (Mode::Always, None, path_equality(parser)?)
    } else if phrase(parser, &["delete", "propagates"]) {
        let x = deleted(parser, "to")?;
        let (b, set) = whole_path(parser)?;
        let named = Formula::In(only(x), Set { moment: Moment::Before, ..set });
        let goes = implies(named, Formula::Gone(only(b)));
        (Mode::Always, Some(x), quantified(Number::All, b, Moment::Before, goes))
    } else if phrase(parser, &["no", "delete", "propagation"]) {
        let x = deleted(parser, "to")?;
        let class = parser.class()?;
        let b = parser.declare("other", class);
        let stays = implies(not(Formula::Equal(only(b), only(x))), not(Formula::Gone(only(b))));
        (Mode::Always, Some(x), quantified(Number::All, b, Moment::Before, stays))
    } else if phrase(parser, &["no", "dangling"]) {
        let (b, set) = whole_path(parser)?;
        parser.expect("after")?;
        let class = parser.class()?;
        let x = parser.declare("deleted", class);
        let stays = not(Formula::Dangling(Set { moment: Moment::After, ..set }));
        (Mode::Always, Some(x), quantified(Number::All, b, Moment::After, stays))
    } else if phrase(parser, &["no", "orphans"]) {
        let (a, set) = whole_path(parser)?;
        parser.expect("after")?;
        let class = parser.class()?;
        let x = parser.declare("deleted", class);
        let had = Formula::Has(Number::Some, Set { moment: Moment::Before, ..set.clone() });
        let has = Formula::Has(Number::Some, Set { moment: Moment::After, ..set });
        (Mode::Always, Some(x), quantified(Number::All, a, Moment::After, implies(had, has)))
    } else {
        return Ok(None);
    };
    Ok(Some(made))
}

fn phrase(parser: &mut Parser<'_>, words: &[&str]) -> bool {
    let there = words.iter().enumerate().all(|(index, word)| parser.is(index, word));
    // `no dangling: Photo | ...` would be odd, but it is a quantifier.
    let here = there && !parser.is(words.len(), ":");
    if here {
        words.iter().for_each(|word| {
            parser.eat(word);
        });
    }
    here
}

/// `Profile to`: the object that is deleted.
fn deleted(parser: &mut Parser<'_>, then: &str) -> Result<VariableId, PropertyError> {
    let class = parser.class()?;
    parser.expect(then)?;
    parser.in_delete = true;
    Ok(parser.declare("deleted", class))
}

/// `Photo.profile`: a variable for a photo, and its profile.
fn whole_path(parser: &mut Parser<'_>) -> Result<(VariableId, Set), PropertyError> {
    let class = parser.class()?;
    let (start, steps) = path_from(parser, class)?;
    Ok((start, Set { start, steps, moment: Moment::Before }))
}

fn path_from(parser: &mut Parser<'_>, class: ClassId) -> Result<(VariableId, Vec<Step>), PropertyError> {
    if !parser.is(0, ".") {
        parser.expect(".")?;
    }
    let steps = parser.steps(&[class])?;
    Ok((parser.declare("each", class), steps))
}

fn unique_pair(parser: &mut Parser<'_>) -> Result<Formula, PropertyError> {
    let class = parser.class()?;
    let (x, y) = (parser.declare("one", class), parser.declare("other", class));
    parser.expect("(")?;
    let mut same = None;
    loop {
        let step = parser.step_named(class)?;
        let set = |start| Set { start, steps: vec![step.clone()], moment: Moment::Before };
        let agree = and(Formula::Has(Number::Some, set(x)), Formula::Equal(set(x), set(y)));
        same = Some(match same {
            Some(before) => and(before, agree),
            None => agree,
        });
        if !parser.eat(",") {
            break;
        }
    }
    parser.expect(")")?;
    let same = same.expect("the loop runs at least once");
    let body = implies(same, Formula::Equal(only(x), only(y)));
    Ok(quantified(Number::All, x, Moment::Before, quantified(Number::All, y, Moment::Before, body)))
}

fn path_equality(parser: &mut Parser<'_>) -> Result<Formula, PropertyError> {
    let (x, left) = whole_path(parser)?;
    parser.expect("=")?;
    let (y, right) = whole_path(parser)?;
    if parser.variables[x.0].class != parser.variables[y.0].class {
        return Err(parser.complain("both paths must begin with the same class"));
    }
    let equal = Formula::Equal(left, Set { start: x, ..right });
    Ok(quantified(Number::All, x, Moment::Before, equal))
}

fn only(start: VariableId) -> Set {
    Set { start, steps: Vec::new(), moment: Moment::Before }
}

fn quantified(number: Number, variable: VariableId, moment: Moment, body: Formula) -> Formula {
    Formula::Quantified(number, variable, moment, Box::new(body))
}

fn implies(when: Formula, then: Formula) -> Formula {
    Formula::Implies(Box::new(when), Box::new(then))
}

fn and(one: Formula, other: Formula) -> Formula {
    Formula::And(Box::new(one), Box::new(other))
}

fn not(inner: Formula) -> Formula {
    Formula::Not(Box::new(inner))
}
