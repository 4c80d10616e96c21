//! Properties as formulas: paths as sets, moments, multiplicities.
//!
//! A path of references alone leads to at most one object of each sort, and becomes terms with guards: `p.profile.user`
//! is `user(profile(p))`, if both are filled. Only where a path goes the other way, or through a join, is there a
//! quantifier.

use super::*;
use crate::model::Path;
use crate::property::{Formula, Moment, Number, Set, Way};

/// Values of a property's variables.
type Values = Vec<Term>;

/// An object that a path may lead to: of which root, when, and which.
type Point = (ClassId, Term, Term);

impl Encoder<'_, '_> {
    /// The formula of a property.
    pub(super) fn property(&mut self, property: &Property) -> Term {
        let mut values: Values = vec![Term::constant(DELETED); property.variables.len()];
        self.formula(property, &property.formula, &mut values)
    }

    fn formula(&mut self, property: &Property, formula: &Formula, values: &mut Values) -> Term {
        match formula {
            Formula::Not(inner) => self.formula(property, inner, values).not(),
            Formula::And(a, b) => Term::and([self.formula(property, a, values), self.formula(property, b, values)]),
            Formula::Or(a, b) => Term::or([self.formula(property, a, values), self.formula(property, b, values)]),
            Formula::Implies(a, b) => {
                let a = self.formula(property, a, values);
                a.implies(self.formula(property, b, values))
            }
            Formula::Iff(a, b) => {
                let a = self.formula(property, a, values);
                a.iff(self.formula(property, b, values))
            }
            Formula::Quantified(number, variable, moment, body) => {
                let class = property.variables[variable.0].class;
                let root = self.schema.root(class);
                let hint = property.variables[variable.0].name.clone();
                self.count(*number, root, &hint, &mut |encoder, x| {
                    values[variable.0] = x.clone();
                    let there = encoder.exists(class, *moment, &x);
                    (there, encoder.formula(property, body, values))
                })
            }
            Formula::Has(number, set) => self.has(property, *number, set, values),
            Formula::Equal(a, b) => self.equal(property, a, b, values),
            Formula::In(a, b) => self.contained(property, a, b, values),
            Formula::Gone(set) => self.each(property, set, values, |encoder, root, y| encoder.gone(root, y)),
            Formula::Dangling(set) => {
                self.each(property, set, values, |encoder, root, y| encoder.gone(root, y).not()).not()
            }
            Formula::Torn(join) => {
                let declared = self.schema.model.join(*join);
                let (left, right) = (self.schema.root(declared.left), self.schema.root(declared.right));
                let (l, r) = (self.name("l"), self.name("r"));
                let (x, y) = (Term::var(l.clone()), Term::var(r.clone()));
                let gone = Term::or([self.gone(left, &x), self.gone(right, &y)]);
                let sorts = (self.sort(left), self.sort(right));
                Term::some([(l, &sorts.0), (r, &sorts.1)], Term::and([self.pair_stays(*join, &x, &y), gone]))
            }
            Formula::Is(set, class) => {
                self.each(property, set, values, |encoder, root, y| match encoder.schema.root(*class) == root {
                    true => encoder.is(*class, y.clone()),
                    false => Term::False,
                })
            }
            Formula::Refused => Term::constant("refused"),
            Formula::Raises => Term::constant("raises"),
        }
    }

    fn exists(&self, class: ClassId, moment: Moment, x: &Term) -> Term {
        let there = self.is(class, x.clone());
        match moment {
            Moment::Before => there,
            Moment::After => Term::and([there, self.gone(self.schema.root(class), x).not()]),
        }
    }

    /// For so many objects of a root: `body` says whether one is looked at, and what must be true of it.
    fn count(
        &mut self,
        number: Number,
        root: ClassId,
        hint: &str,
        body: &mut dyn FnMut(&mut Self, Term) -> (Term, Term),
    ) -> Term {
        let sort = self.sort(root);
        let x = self.name(hint);
        let (there, holds) = body(self, Term::var(x.clone()));
        let both = Term::and([there.clone(), holds.clone()]);
        let some = |both: Term| Term::some([(x.clone(), &sort)], both);
        match number {
            Number::All => Term::all([(x, &sort)], there.implies(holds)),
            Number::Some => some(both),
            Number::No => some(both).not(),
            Number::One | Number::Lone => {
                let y = self.name(hint);
                let (there, holds) = body(self, Term::var(y.clone()));
                let two = Term::and([both.clone(), there, holds]);
                let same = Term::var(x.clone()).equal(Term::var(y.clone()));
                let lone = Term::all([(x.clone(), &sort), (y, &sort)], two.implies(same));
                if number == Number::Lone { lone } else { Term::and([some(both), lone]) }
            }
        }
    }

    /// The roots of what a path leads to.
    fn roots(&self, property: &Property, set: &Set) -> Vec<ClassId> {
        let classes = match set.steps.last() {
            Some(step) => step.targets.clone(),
            None => vec![property.variables[set.start.0].class],
        };
        let roots: BTreeSet<ClassId> = classes.into_iter().map(|class| self.schema.root(class)).collect();
        roots.into_iter().collect()
    }

    fn has(&mut self, property: &Property, number: Number, set: &Set, values: &Values) -> Term {
        let roots = self.roots(property, set);
        let some = match self.points(property, set, set.steps.len(), values) {
            Some(points) => Term::or(points.into_iter().map(|(_, when, _)| when)),
            None => {
                Term::or(roots.iter().map(|root| self.some_member(property, set, *root, values)).collect::<Vec<_>>())
            }
        };
        match number {
            Number::All | Number::Some => some,
            Number::No => some.not(),
            Number::Lone => self.lone(property, set, &roots, values),
            Number::One => Term::and([some, self.lone(property, set, &roots, values)]),
        }
    }

    fn some_member(&mut self, property: &Property, set: &Set, root: ClassId, values: &Values) -> Term {
        let y = self.name("y");
        let member = self.member(property, set, set.steps.len(), root, &Term::var(y.clone()), values);
        Term::some([(y, &self.sort(root))], member)
    }

    fn lone(&mut self, property: &Property, set: &Set, roots: &[ClassId], values: &Values) -> Term {
        let mut terms = Vec::new();
        for (index, one) in roots.iter().enumerate() {
            for other in &roots[index..] {
                let (y, z) = (self.name("y"), self.name("z"));
                let in_one = self.member(property, set, set.steps.len(), *one, &Term::var(y.clone()), values);
                let in_other = self.member(property, set, set.steps.len(), *other, &Term::var(z.clone()), values);
                let same = if one == other { Term::var(y.clone()).equal(Term::var(z.clone())) } else { Term::False };
                let sorts = (self.sort(*one), self.sort(*other));
                terms.push(Term::all([(y, &sorts.0), (z, &sorts.1)], Term::and([in_one, in_other]).implies(same)));
            }
        }
        Term::and(terms)
    }

    fn equal(&mut self, property: &Property, a: &Set, b: &Set, values: &Values) -> Term {
        let points = (self.points(property, a, a.steps.len(), values), self.points(property, b, b.steps.len(), values));
        if let (Some([(ra, ga, va)]), Some([(rb, gb, vb)])) = (points.0.as_deref(), points.1.as_deref())
            && ra == rb
        {
            let same = Term::and([ga.clone(), gb.clone()]).implies(va.clone().equal(vb.clone()));
            return Term::and([ga.clone().iff(gb.clone()), same]);
        }
        Term::and([self.contained(property, a, b, values), self.contained(property, b, a, values)])
    }

    fn contained(&mut self, property: &Property, a: &Set, b: &Set, values: &Values) -> Term {
        self.each(property, a, values, |encoder, root, y| encoder.member(property, b, b.steps.len(), root, y, values))
    }

    /// Something is true of all members.
    fn each(
        &mut self,
        property: &Property,
        set: &Set,
        values: &Values,
        mut holds: impl FnMut(&mut Self, ClassId, &Term) -> Term,
    ) -> Term {
        if let Some(points) = self.points(property, set, set.steps.len(), values) {
            return Term::and(
                points.into_iter().map(|(root, when, y)| when.implies(holds(self, root, &y))).collect::<Vec<_>>(),
            );
        }
        let mut terms = Vec::new();
        for root in self.roots(property, set) {
            let y = self.name("y");
            let member = self.member(property, set, set.steps.len(), root, &Term::var(y.clone()), values);
            let holds = holds(self, root, &Term::var(y.clone()));
            terms.push(Term::all([(y, &self.sort(root))], member.implies(holds)));
        }
        Term::and(terms)
    }

    /// The objects at the end of the first `steps` steps, if each is a column.
    fn points(&self, property: &Property, set: &Set, steps: usize, values: &Values) -> Option<Vec<Point>> {
        let Some(last) = steps.checked_sub(1) else {
            let root = self.schema.root(property.variables[set.start.0].class);
            return Some(vec![(root, Term::True, values[set.start.0].clone())]);
        };
        let step = &set.steps[last];
        let columns: Option<Vec<(ClassId, ReferenceId)>> =
            step.ways.iter().map(|(class, way)| Some((*class, self.column(*way)?))).collect();
        let mut found = Vec::new();
        for (root, when, x) in self.points(property, set, last, values)? {
            for (class, reference) in columns.iter().flatten().filter(|(class, _)| self.schema.root(*class) == root) {
                let of_class = if step.ways.len() > 1 { self.is(*class, x.clone()) } else { Term::True };
                for (target, filled, y) in self.named_at(*reference, set.moment, &x) {
                    found.push((target, Term::and([when.clone(), of_class.clone(), filled]), y));
                }
            }
        }
        columns.map(|_| found)
    }

    fn column(&self, way: Way) -> Option<ReferenceId> {
        match way {
            Way::Reference(reference) => Some(reference),
            Way::Association(id) if self.schema.model.association(id).condition.is_some() => None,
            Way::Association(id) => match self.schema.path(id) {
                Path::Own(reference) => Some(*reference),
                _ => None,
            },
        }
    }

    /// Whether `y` is at the end of the first `steps` steps.
    fn member(
        &mut self,
        property: &Property,
        set: &Set,
        steps: usize,
        root: ClassId,
        y: &Term,
        values: &Values,
    ) -> Term {
        if let Some(points) = self.points(property, set, steps, values) {
            let here = points.into_iter().filter(|(r, ..)| *r == root);
            return Term::or(here.map(|(_, when, x)| Term::and([when, x.equal(y.clone())])));
        }
        let last = steps - 1;
        let step = &set.steps[last];
        let several = step.ways.len() > 1;
        let mut any = Vec::new();
        for (class, way) in step.ways.clone() {
            let from = self.schema.root(class);
            let of_class = |encoder: &Self, x: &Term| if several { encoder.is(class, x.clone()) } else { Term::True };
            if let Some(points) = self.points(property, set, last, values) {
                for (_, when, x) in points.into_iter().filter(|(r, ..)| *r == from) {
                    let related = self.related(way, set.moment, (from, &x), (root, y));
                    any.push(Term::and([when, of_class(self, &x), related]));
                }
                continue;
            }
            let m = self.name("m");
            let middle = Term::var(m.clone());
            let before = self.member(property, set, last, from, &middle, values);
            let related = self.related(way, set.moment, (from, &middle), (root, y));
            let body = Term::and([before, of_class(self, &middle), related]);
            any.push(Term::some([(m, &self.sort(from))], body));
        }
        Term::or(any)
    }

    /// What a reference of `x` may name at a moment. A row that is gone has no columns.
    fn named_at(&self, reference: ReferenceId, moment: Moment, x: &Term) -> Vec<Point> {
        let named = self.named(reference, x);
        if moment == Moment::Before {
            return named;
        }
        let root = self.schema.root(self.schema.child(reference));
        let still = Term::and([self.gone(root, x).not(), self.nulled(reference, x).not()]);
        named.into_iter().map(|(target, when, y)| (target, Term::and([when, still.clone()]), y)).collect()
    }

    fn names(&self, reference: ReferenceId, moment: Moment, x: &Term, y: (ClassId, &Term)) -> Term {
        let named = self.named_at(reference, moment, x).into_iter().filter(|(root, ..)| *root == y.0);
        Term::or(named.map(|(_, when, value)| Term::and([when, value.equal(y.1.clone())])))
    }

    /// Whether a way leads from one object to another.
    fn related(&mut self, way: Way, moment: Moment, x: (ClassId, &Term), y: (ClassId, &Term)) -> Term {
        let id = match way {
            Way::Reference(reference) => return self.names(reference, moment, x.1, y),
            Way::Association(id) => id,
        };
        let association = self.schema.model.association(id);
        let related = match self.schema.path(id).clone() {
            Path::Own(reference) => self.names(reference, moment, x.1, y),
            Path::Inverse(reference) if self.schema.root(self.schema.child(reference)) == y.0 => {
                self.names(reference, moment, y.1, x)
            }
            Path::Inverse(_) => Term::False,
            Path::Join(join, side) => {
                let (l, r) = if side == Side::Left { (x, y) } else { (y, x) };
                let declared = self.schema.model.join(join);
                let fits = self.schema.root(declared.left) == l.0 && self.schema.root(declared.right) == r.0;
                match (fits, moment) {
                    (false, _) => Term::False,
                    (true, Moment::Before) => Term::apply(join_name(self.schema, join), [l.1.clone(), r.1.clone()]),
                    (true, Moment::After) => self.pair_stays(join, l.1, r.1),
                }
            }
            Path::Through(first, last) => self.through(first, last, moment, x, y),
            Path::Unknown => {
                let fits = association.target.is_some_and(|target| self.schema.root(target) == y.0);
                if fits { Term::apply(unknown_name(id), [x.1.clone(), y.1.clone()]) } else { Term::False }
            }
        };
        let condition = association.condition.as_ref().and_then(|text| self.schema.condition(y.0, text));
        let meets = condition.map(|condition| Term::apply(condition_name(condition), [y.1.clone()]));
        Term::and([related].into_iter().chain(meets))
    }

    fn through(
        &mut self,
        first: AssociationId,
        last: AssociationId,
        moment: Moment,
        x: (ClassId, &Term),
        y: (ClassId, &Term),
    ) -> Term {
        let (first, last) = (Way::Association(first), Way::Association(last));
        if let Some(reference) = self.column(first) {
            let named = self.named_at(reference, moment, x.1).into_iter();
            let ways: Vec<Point> = named.collect();
            return Term::or(
                ways.into_iter()
                    .map(|(root, when, m)| Term::and([when, self.related(last, moment, (root, &m), y)]))
                    .collect::<Vec<_>>(),
            );
        }
        let roots: BTreeSet<ClassId> =
            first.targets(self.schema.model).into_iter().map(|class| self.schema.root(class)).collect();
        let mut any = Vec::new();
        for root in roots {
            let m = self.name("m");
            let middle = Term::var(m.clone());
            let body = Term::and([
                self.related(first, moment, x, (root, &middle)),
                self.related(last, moment, (root, &middle), y),
            ]);
            any.push(Term::some([(m, &self.sort(root))], body));
        }
        Term::or(any)
    }
}
