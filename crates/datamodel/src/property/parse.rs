//! From text to properties of a model: grammar and names in one pass, so that a mistake is told where it stands.
//!
//! ```text
//! file      = { [NAME ":"] property | "assume" formula }
//! property  = ["possible"] ["after" "delete" NAME ":" CLASS "|"] formula | ["possible"] template
//! formula   = QUANTIFIER NAME {"," NAME} ":" ["old"] CLASS "|" formula | or {("implies" | "iff") formula}
//! or        = and {"or" and}        and = not {"and" not}        not = "not" not | atom
//! atom      = "(" formula ")" | "refused" | "raises" | ("some" | "no" | "one" | "lone") path
//!           | "gone" path | "dangling" path | path ("=" | "!=" | "in" | "not in" | "is") (path | CLASS)
//! path      = ["old"] NAME {"." NAME}
//! ```

use std::ops::Range;

use super::scan::{self, Token};
use super::{
    Formula, Mode, Moment, Number, Properties, Property, PropertyError, Set, Step, Variable, VariableId, Way, template,
};
use crate::model::{ClassId, DataModel, Path, ReferenceId, Target};

/// Reads a file.
pub(super) fn properties(text: &str, model: &DataModel) -> Result<Properties, PropertyError> {
    let tokens = scan::tokens(text)?;
    let mut parser =
        Parser { text, model, tokens: &tokens, at: 0, variables: Vec::new(), scope: Vec::new(), in_delete: false };
    let mut found = Properties::default();
    while parser.peek(0).is_some() {
        match parser.eat("assume") {
            true => {
                let assumption = parser.property(true)?;
                found.assumptions.push(assumption);
            }
            false => {
                let property = parser.property(false)?;
                found.list.push(property);
            }
        }
    }
    Ok(found)
}

type Parsed<T> = Result<T, PropertyError>;

pub(super) struct Parser<'a> {
    text: &'a str,
    model: &'a DataModel,
    tokens: &'a [Token<'a>],
    at: usize,
    pub(super) variables: Vec<Variable>,
    scope: Vec<VariableId>,
    pub(super) in_delete: bool,
}

const WORDS: &[&str] = &[
    "all", "some", "no", "one", "lone", "and", "or", "not", "implies", "iff", "in", "is", "old", "gone", "dangling",
    "refused", "raises", "after", "delete", "possible", "assume",
];

impl<'a> Parser<'a> {
    fn property(&mut self, assumed: bool) -> Parsed<Property> {
        (self.variables, self.scope, self.in_delete) = (Vec::new(), Vec::new(), false);
        let name = self.label();
        let start = self.here().start;
        let possible = !assumed && self.eat("possible");
        let mode = if possible { Mode::Possible } else { Mode::Always };
        let mut made = Property {
            name: String::new(),
            text: String::new(),
            line: 1 + self.text[..start].matches('\n').count() as u32,
            mode,
            delete: None,
            formula: Formula::Refused,
            variables: Vec::new(),
        };
        if let Some((mode, delete, formula)) = template::parse(self)? {
            (made.delete, made.formula) = (delete, formula);
            made.mode = if possible { Mode::Possible } else { mode };
        } else {
            if !assumed && self.is(0, "after") && self.is(1, "delete") {
                self.at += 2;
                made.delete = Some(self.deleted()?);
            }
            made.formula = self.formula()?;
        }
        let end = self.tokens.get(self.at.wrapping_sub(1)).map_or(start, |token| token.span.end);
        made.text = self.text[start..end].split_whitespace().collect::<Vec<_>>().join(" ");
        made.name = name.unwrap_or_else(|| made.text.clone());
        made.variables = std::mem::take(&mut self.variables);
        Ok(made)
    }

    fn label(&mut self) -> Option<String> {
        let label = self.peek(0).filter(|token| token.is_word() && !WORDS.contains(&token.text))?;
        self.is(1, ":").then(|| {
            self.at += 2;
            label.text.to_string()
        })
    }

    fn deleted(&mut self) -> Parsed<VariableId> {
        let name = self.name("the name of the object that is deleted")?;
        self.expect(":")?;
        let class = self.class()?;
        self.expect("|")?;
        self.in_delete = true;
        Ok(self.declare(name, class))
    }

    pub(super) fn declare(&mut self, name: &str, class: ClassId) -> VariableId {
        let id = VariableId(self.variables.len());
        self.variables.push(Variable { name: name.into(), class });
        self.scope.push(id);
        id
    }

    pub(super) fn now(&self) -> Moment {
        if self.in_delete { Moment::After } else { Moment::Before }
    }

    fn formula(&mut self) -> Parsed<Formula> {
        let left = self.disjunction()?;
        if self.eat("implies") || self.eat("=>") {
            return Ok(Formula::Implies(Box::new(left), Box::new(self.formula()?)));
        }
        if self.eat("iff") || self.eat("<=>") {
            return Ok(Formula::Iff(Box::new(left), Box::new(self.formula()?)));
        }
        Ok(left)
    }

    fn disjunction(&mut self) -> Parsed<Formula> {
        let mut left = self.conjunction()?;
        while self.eat("or") {
            left = Formula::Or(Box::new(left), Box::new(self.conjunction()?));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Parsed<Formula> {
        let mut left = self.negation()?;
        while self.eat("and") || self.eat("&") {
            left = Formula::And(Box::new(left), Box::new(self.negation()?));
        }
        Ok(left)
    }

    fn negation(&mut self) -> Parsed<Formula> {
        match self.eat("not") || self.eat("!") {
            true => Ok(Formula::Not(Box::new(self.negation()?))),
            false => self.atom(),
        }
    }

    fn atom(&mut self) -> Parsed<Formula> {
        if self.eat("(") {
            let inner = self.formula()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if let Some(number) = self.number() {
            let quantifier = self.peek(1).is_some_and(Token::is_word) && (self.is(2, ":") || self.is(2, ","));
            self.at += 1;
            return match (quantifier, number) {
                (true, _) => self.quantified(number),
                (false, Number::All) => Err(self.wrong("a variable and its class", Some("write all p: Photo | ..."))),
                (false, _) => Ok(Formula::Has(number, self.set()?)),
            };
        }
        for (word, formula) in [("refused", Formula::Refused), ("raises", Formula::Raises)] {
            if self.is(0, word) {
                self.only_after_a_delete(word)?;
                self.at += 1;
                return Ok(formula);
            }
        }
        for (word, formula) in [("gone", Formula::Gone as fn(Set) -> Formula), ("dangling", Formula::Dangling)] {
            if self.is(0, word) {
                self.only_after_a_delete(word)?;
                self.at += 1;
                return Ok(formula(self.set()?));
            }
        }
        self.comparison()
    }

    fn only_after_a_delete(&self, word: &str) -> Parsed<()> {
        match self.in_delete {
            true => Ok(()),
            false => Err(PropertyError {
                message: format!("`{word}` speaks about a delete, and there is none"),
                span: self.here(),
                hint: Some("begin with after delete x: Class |".into()),
            }),
        }
    }

    fn number(&self) -> Option<Number> {
        Some(match self.peek(0)?.text {
            "all" => Number::All,
            "some" => Number::Some,
            "no" => Number::No,
            "one" => Number::One,
            "lone" => Number::Lone,
            _ => return None,
        })
    }

    fn quantified(&mut self, number: Number) -> Parsed<Formula> {
        let mut names = vec![self.name("a variable")?];
        while self.eat(",") {
            names.push(self.name("a variable")?);
        }
        self.expect(":")?;
        let moment = if self.eat("old") { Moment::Before } else { self.now() };
        let class = self.class()?;
        self.expect("|")?;
        let known = self.scope.len();
        let variables: Vec<VariableId> = names.into_iter().map(|name| self.declare(name, class)).collect();
        let body = self.formula()?;
        self.scope.truncate(known);
        let wrap = |body, variable: &VariableId| Formula::Quantified(number, *variable, moment, Box::new(body));
        Ok(variables.iter().rev().fold(body, wrap))
    }

    fn comparison(&mut self) -> Parsed<Formula> {
        let left = self.set()?;
        if self.eat("=") {
            return Ok(Formula::Equal(left, self.set()?));
        }
        if self.eat("!=") {
            return Ok(Formula::Not(Box::new(Formula::Equal(left, self.set()?))));
        }
        if self.eat("in") {
            return Ok(Formula::In(left, self.set()?));
        }
        if self.is(0, "not") && self.is(1, "in") {
            self.at += 2;
            return Ok(Formula::Not(Box::new(Formula::In(left, self.set()?))));
        }
        if self.eat("is") {
            return Ok(Formula::Is(left, self.class()?));
        }
        Err(self.wrong("=, !=, in, not in or is", None))
    }

    fn set(&mut self) -> Parsed<Set> {
        let moment = if self.eat("old") { Moment::Before } else { self.now() };
        let span = self.here();
        let name = self.name("a variable")?;
        let named = |id: &VariableId| *self.variables[id.0].name == *name;
        let Some(start) = self.scope.iter().copied().rev().find(named) else {
            let known: Vec<&str> = self.scope.iter().map(|id| &*self.variables[id.0].name).collect();
            let hint = (!known.is_empty()).then(|| format!("there is {}", known.join(", ")));
            return Err(PropertyError { message: format!("there is no variable {name}"), span, hint });
        };
        let steps = self.steps(&[self.variables[start.0].class])?;
        Ok(Set { start, steps, moment })
    }

    /// `.photos.tags`, from objects of these classes.
    pub(super) fn steps(&mut self, from: &[ClassId]) -> Parsed<Vec<Step>> {
        let mut classes = from.to_vec();
        let mut steps = Vec::new();
        while self.eat(".") {
            let span = self.here();
            let name = self.name("the name of an association")?;
            let step = self.step(&classes, name, span)?;
            classes = step.targets.clone();
            steps.push(step);
        }
        Ok(steps)
    }

    /// A step from a class, without a dot.
    pub(super) fn step_named(&mut self, class: ClassId) -> Parsed<Step> {
        let span = self.here();
        let name = self.name("the name of an association")?;
        self.step(&[class], name, span)
    }

    fn step(&self, classes: &[ClassId], name: &str, span: Range<usize>) -> Parsed<Step> {
        let ways: Vec<(ClassId, Way)> =
            classes.iter().filter_map(|class| Some((*class, self.way(*class, name)?))).collect();
        let mut targets: Vec<ClassId> = ways.iter().flat_map(|(_, way)| way.targets(self.model)).collect();
        targets.sort();
        targets.dedup();
        // A way that leads nobody knows where is one; what is asked about it is then not known either.
        if !ways.is_empty() {
            return Ok(Step { ways, targets });
        }
        if classes.is_empty() {
            let message = format!("nothing is known of what {name} is to be looked for in");
            return Err(PropertyError { message, span, hint: None });
        }
        let owners: Vec<&str> = classes.iter().map(|class| &*self.model.class(*class).name).collect();
        let message = format!("{} has nothing called {name}", owners.join(" or "));
        let mut known: Vec<&str> = classes
            .iter()
            .flat_map(|class| self.model.associations_of(*class))
            .map(|id| &*self.model.association(id).name)
            .collect();
        known.sort_unstable();
        known.dedup();
        let hint = match known.is_empty() {
            true => "it declares no associations".to_string(),
            false => format!("it has {}", known.join(", ")),
        };
        Err(PropertyError { message, span, hint: Some(hint) })
    }

    fn way(&self, class: ClassId, name: &str) -> Option<Way> {
        if let Some(id) = self.model.association_named(class, name) {
            return Some(Way::Association(id));
        }
        let own = |r: &crate::Reference| {
            self.model.is_a(class, r.child) && (*r.name == *name || r.column.as_deref() == Some(name))
        };
        self.model.references.iter().position(own).map(|index| Way::Reference(ReferenceId(index)))
    }

    /// A class by name.
    pub(super) fn class(&mut self) -> Parsed<ClassId> {
        let span = self.here();
        let name = self.name("a class")?;
        if let Some(class) = self.model.class_named(name) {
            return Ok(class);
        }
        let close =
            |known: &&crate::Class| known.name.eq_ignore_ascii_case(name) || known.name.ends_with(&format!("::{name}"));
        let hint = self.model.classes.iter().find(close).map(|class| format!("there is {}", class.name));
        Err(PropertyError { message: format!("there is no class {name}"), span, hint })
    }

    pub(super) fn name(&mut self, what: &str) -> Parsed<&'a str> {
        match self.peek(0) {
            Some(token) if token.is_word() => {
                self.at += 1;
                Ok(token.text)
            }
            _ => Err(self.wrong(what, None)),
        }
    }

    pub(super) fn expect(&mut self, text: &str) -> Parsed<()> {
        match self.eat(text) {
            true => Ok(()),
            false => Err(self.wrong(&format!("`{text}`"), None)),
        }
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let there = self.is(0, text);
        self.at += usize::from(there);
        there
    }

    pub(super) fn is(&self, ahead: usize, text: &str) -> bool {
        self.peek(ahead).is_some_and(|token| token.text == text)
    }

    fn peek(&self, ahead: usize) -> Option<&'a Token<'a>> {
        self.tokens.get(self.at + ahead)
    }

    fn here(&self) -> Range<usize> {
        self.peek(0).map_or(self.text.len()..self.text.len(), |token| token.span.clone())
    }

    /// A mistake just before this place.
    pub(super) fn complain(&self, message: &str) -> PropertyError {
        let span = self.tokens.get(self.at.wrapping_sub(1)).map_or(self.here(), |token| token.span.clone());
        PropertyError { message: message.into(), span, hint: None }
    }

    fn wrong(&self, expected: &str, hint: Option<&str>) -> PropertyError {
        let found = self.peek(0).map_or("the end".to_string(), |token| format!("`{}`", token.text));
        let message = format!("{expected} is expected here, not {found}");
        PropertyError { message, span: self.here(), hint: hint.map(Into::into) }
    }
}

impl Way {
    /// The classes of what it leads to.
    pub fn targets(self, model: &DataModel) -> Vec<ClassId> {
        self.targets_within(model, model.associations.len())
    }

    /// A path through associations may come back to itself; it is followed no further than there are associations.
    fn targets_within(self, model: &DataModel, steps: usize) -> Vec<ClassId> {
        let of_reference = |id: ReferenceId| match &model.reference(id).target {
            Target::Class(class) => vec![*class],
            Target::Any(classes) => classes.clone(),
        };
        match self {
            Way::Reference(id) => of_reference(id),
            Way::Association(id) => match (&model.association(id).path, model.association(id).target) {
                (Path::Own(reference), _) => of_reference(*reference),
                (_, Some(target)) => vec![target],
                (Path::Through(_, last), None) if steps > 0 => Way::Association(*last).targets_within(model, steps - 1),
                (_, None) => Vec::new(),
            },
        }
    }
}
