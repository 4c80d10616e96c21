//! One delete: what is gone afterwards, what names nothing any more, and what stands in its way.

use super::*;

impl Encoder<'_, '_> {
    /// Says what a delete of one object of a class does; that it goes through, unless the property asks whether it
    /// does.
    pub(super) fn delete(&mut self, class: ClassId, asks_for_refusal: bool) {
        self.cycles = self.find_cycles();
        self.declare_delete(class);
        for root in self.part.destroyed.clone() {
            let reasons = self.reasons_to_destroy(root, class);
            self.define(root, true, reasons);
        }
        for root in self.part.deleted.clone() {
            let reasons = self.reasons_to_delete(root, class);
            self.define(root, false, reasons);
        }
        self.assert_first_step(class);
        let refusals = self.refusals(class);
        let errors = self.errors(class);
        if !asks_for_refusal {
            self.script.assert(Term::or(refusals.0).not(), "not refused");
            self.script.assert(Term::or(errors.0).not(), "not raises");
            return;
        }
        let (refused, raises) = (Term::constant("refused"), Term::constant("raises"));
        for (name, may) in [("refused", refusals.1), ("raises", errors.1)] {
            self.script.function(name, &[], Sort::Bool);
            self.script.assert(Term::constant(name).implies(Term::or(may)), format!("may be {name}"));
        }
        // Whoever declines first ends it. Django has looked before it sends anything; elsewhere it depends.
        self.script.assert(Term::and([refused.clone(), raises.clone()]).not(), "one of them declines");
        let declined = Term::or([refused.clone(), raises]);
        let refuses = if self.schema.semantics == Semantics::Django { refused } else { declined.clone() };
        self.script.assert(Term::or(refusals.0).implies(refuses), "must be refused");
        self.script.assert(Term::or(errors.0).implies(declined), "must be declined");
    }

    fn declare_delete(&mut self, class: ClassId) {
        let sort = self.sort(self.schema.root(class));
        self.script.function(DELETED, &[], sort);
        self.script.assert(self.is(class, Term::constant(DELETED)), "what is deleted");
        for (word, roots) in [("destroyed", &self.part.destroyed), ("deleted", &self.part.deleted)] {
            for root in roots {
                let name = format!("{word}{}", self.schema.model.class(*root).name);
                let sort = self.sorts[root].clone();
                self.script.function(&name, &[sort], Sort::Bool);
            }
        }
        if self.cycles.is_empty() {
            return;
        }
        let rank = self.script.sort(RANK);
        for root in &self.cycles {
            let name = format!("rank{}", self.schema.model.class(*root).name);
            let sort = self.sorts[root].clone();
            self.script.function(&name, &[sort], rank.clone());
        }
        self.script.function("lower", &[rank.clone(), rank.clone()], Sort::Bool);
        let lower = |a: &str, b: &str| Term::apply("lower", [Term::var(a.to_string()), Term::var(b.to_string())]);
        self.script.assert(Term::all([("a", &rank)], lower("a", "a").not()), "ranks are ordered strictly");
        let chain = Term::and([lower("a", "b"), lower("b", "c")]).implies(lower("a", "c"));
        self.script.assert(Term::all([("a", &rank), ("b", &rank), ("c", &rank)], chain), "");
    }

    /// Closure and justification.
    fn define(&mut self, root: ClassId, destroyed: bool, reasons: Vec<Reason>) {
        let sort = self.sort(root);
        let c = Term::var("c");
        let this = if destroyed { self.destroyed(root, &c) } else { self.deleted(root, &c) };
        let closure = Term::and(reasons.iter().map(|reason| reason.applies.clone().implies(self.gone(root, &c))));
        let why = Term::or(reasons.into_iter().map(|reason| reason.justifies));
        let name = self.schema.model.class(root).name.clone();
        self.script.assert(Term::all([("c", &sort)], closure), format!("{name}: what must go"));
        self.script.assert(Term::all([("c", &sort)], this.implies(why)), format!("{name}: what may go"));
    }

    /// If anything in a cycle goes besides what is deleted, then something goes for a reason that lies outside the
    /// cycle or in what is deleted: that of lowest rank. True of finite data, and it spares a solver an induction.
    fn assert_first_step(&mut self, class: ClassId) {
        let (mut any, mut first) = (Vec::new(), Vec::new());
        let c = Term::var("c");
        for root in self.cycles.clone() {
            let sort = self.sort(root);
            let reasons = self.reasons_to_destroy(root, class).into_iter().chain(self.reasons_to_delete(root, class));
            let direct = Term::or(reasons.map(|reason| reason.first).collect::<Vec<_>>());
            let other = match self.schema.root(class) == root {
                true => c.clone().equal(Term::constant(DELETED)).not(),
                false => Term::True,
            };
            let goes = Term::and([self.gone(root, &c), other]);
            any.push(Term::some([("c", &sort)], goes.clone()));
            first.push(Term::some([("c", &sort)], Term::and([goes, direct])));
        }
        self.script.assert(Term::or(any).implies(Term::or(first)), "what goes first in a cycle");
    }

    fn reasons_to_destroy(&mut self, root: ClassId, class: ClassId) -> Vec<Reason> {
        let c = Term::var("c");
        let mut reasons = Vec::new();
        if self.schema.semantics.has_orm() && self.schema.root(class) == root {
            reasons.push(Reason::plain(c.equal(Term::constant(DELETED))));
        }
        reasons.extend(self.reasons_by_rules(root, &[Action::Destroy, Action::Later]));
        reasons
    }

    fn reasons_to_delete(&mut self, root: ClassId, class: ClassId) -> Vec<Reason> {
        let c = Term::var("c");
        let mut reasons = Vec::new();
        if !self.schema.semantics.has_orm() && self.schema.root(class) == root {
            reasons.push(Reason::plain(c.clone().equal(Term::constant(DELETED))));
        }
        reasons.extend(self.reasons_by_rules(root, &[Action::Delete]));
        for reference in self.part.references.clone() {
            let cascades = self.schema.references[reference.0].database == Some(OnDelete::Cascade);
            if !cascades || self.schema.root(self.schema.child(reference)) != root {
                continue;
            }
            for (target, filled, value) in self.named(reference, &c) {
                let fires = self.fires(reference, target, &filled, &value, &c);
                reasons.push(self.reason(fires, (target, &value), (root, &c)));
            }
        }
        reasons
    }

    fn reasons_by_rules(&mut self, root: ClassId, actions: &[Action]) -> Vec<Reason> {
        let c = Term::var("c");
        let mut reasons = Vec::new();
        for index in self.part.rules.clone() {
            let rule = self.schema.rules[index].clone();
            let owner = self.schema.root(rule.owner);
            if !actions.contains(&rule.action) || !self.part.destroyed.contains(&owner) {
                continue;
            }
            match rule.reach {
                Reach::Children(reference) if self.schema.root(self.schema.child(reference)) == root => {
                    for (target, _, value) in self.named(reference, &c).into_iter().filter(|(t, ..)| *t == owner) {
                        let applies = Term::and([self.applies(index, &c), self.destroyed(target, &value)]);
                        reasons.push(self.reason(applies, (target, &value), (root, &c)));
                    }
                }
                Reach::Parent(reference) if self.schema.target_roots(reference).contains(&root) => {
                    reasons.push(self.reason_from_child(&rule, reference, root));
                }
                _ => {}
            }
        }
        reasons
    }

    /// What belonged to it goes, and takes it along.
    fn reason_from_child(&mut self, rule: &Rule, reference: ReferenceId, root: ClassId) -> Reason {
        let (k, c) = (Term::var("k"), Term::var("c"));
        let owner = self.schema.root(rule.owner);
        let names = self.named(reference, &k).into_iter().filter(|(target, ..)| *target == root);
        let names = Term::or(names.map(|(_, filled, value)| Term::and([filled, value.equal(c.clone())])));
        let applies = Term::and([self.destroyed(owner, &k), self.owns(rule, &k), names, self.meets(rule, &c)]);
        let both = self.reason(applies, (owner, &k), (root, &c));
        let sort = self.sort(owner);
        Reason {
            applies: Term::some([("k", &sort)], both.applies),
            justifies: Term::some([("k", &sort)], both.justifies),
            first: Term::some([("k", &sort)], both.first),
        }
    }

    /// A reason that lies in another object; within a cycle, in one of lower rank.
    fn reason(&self, applies: Term, from: (ClassId, &Term), to: (ClassId, &Term)) -> Reason {
        let ranked = self.cycles.contains(&from.0) && self.cycles.contains(&to.0);
        let rank = |(root, x): (ClassId, &Term)| {
            Term::apply(format!("rank{}", self.schema.model.class(root).name), [x.clone()])
        };
        let lower = if ranked { Term::apply("lower", [rank(from), rank(to)]) } else { Term::True };
        // The deleted object is of one root only; a term of another sort cannot be it.
        let is_start = self.script.declared(DELETED).is_some_and(|start| start.result == self.sorts[&from.0]);
        let first = match (ranked, is_start) {
            (false, _) => applies.clone(),
            (true, true) => Term::and([applies.clone(), from.1.clone().equal(Term::constant(DELETED))]),
            (true, false) => Term::False,
        };
        Reason { justifies: Term::and([applies.clone(), lower]), first, applies }
    }

    /// Whether an object is of the class for which a rule is.
    fn owns(&self, rule: &Rule, p: &Term) -> Term {
        let except = rule.except.iter().filter(|class| self.part.classes.contains(class));
        let except: Vec<Term> = except.map(|class| self.is(*class, p.clone()).not()).collect();
        Term::and([self.is(rule.owner, p.clone())].into_iter().chain(except))
    }

    /// Whether an object is one that a rule is about.
    fn meets(&self, rule: &Rule, c: &Term) -> Term {
        let condition = rule.condition.map(|condition| Term::apply(condition_name(condition), [c.clone()]));
        let filled = rule.filled.map(|reference| Term::or(self.named(reference, c).into_iter().map(|(_, f, _)| f)));
        Term::and(condition.into_iter().chain(filled))
    }

    /// Whether a rule about children applies to `c`, once what it names is destroyed: it is about it, and no earlier
    /// rule on the same reference has settled the matter.
    fn applies(&self, index: usize, c: &Term) -> Term {
        let rule = &self.schema.rules[index];
        let Reach::Children(reference) = rule.reach else { return Term::False };
        let owner = self.schema.root(rule.owner);
        let Some((_, filled, p)) = self.named(reference, c).into_iter().find(|(root, ..)| *root == owner) else {
            return Term::False;
        };
        let earlier = |(other, known): &(usize, &Rule)| {
            // Jobs run last, whenever they were declared.
            let first = *other < index || rule.action == Action::Later;
            first && known.reach == rule.reach && known.action.settles() && self.schema.root(known.owner) == owner
        };
        let settled = self.schema.rules.iter().enumerate().filter(earlier).filter(|(i, _)| self.part.rules.contains(i));
        let settled: Vec<Term> =
            settled.map(|(_, known)| Term::and([self.owns(known, &p), self.meets(known, c)]).not()).collect();
        Term::and([filled, self.owns(rule, &p), self.meets(rule, c)].into_iter().chain(settled))
    }

    /// Whether the ORM has settled what becomes of `c` before the row that it names goes, or has not let that row go.
    fn caught(&self, reference: ReferenceId, target: ClassId, p: &Term, c: &Term) -> Term {
        let rules = self.part.rules.iter().map(|index| &self.schema.rules[*index]);
        let settling = rules.filter(|rule| {
            let about = rule.reach == Reach::Children(reference) && self.schema.root(rule.owner) == target;
            about && (rule.action.settles() || matches!(rule.action, Action::Refuse | Action::RefuseOthers))
        });
        let any = Term::or(settling.map(|rule| Term::and([self.owns(rule, p), self.meets(rule, c)])));
        Term::and([self.destroyed(target, p), any])
    }

    /// Whether the database has to act on `c`, because the row `p` that it names goes.
    fn fires(&self, reference: ReferenceId, target: ClassId, filled: &Term, p: &Term, c: &Term) -> Term {
        if !self.schema.row_goes(target) {
            return Term::False;
        }
        Term::and([filled.clone(), self.gone(target, p), self.caught(reference, target, p, c).not()])
    }

    /// Whether a reference of `c` is made to name nothing.
    pub(super) fn nulled(&self, reference: ReferenceId, c: &Term) -> Term {
        let mut when = Vec::new();
        for (target, filled, p) in self.named(reference, c) {
            let nullify = self.part.rules.iter().filter(|index| {
                let rule = &self.schema.rules[**index];
                let about = rule.reach == Reach::Children(reference) && self.schema.root(rule.owner) == target;
                about && rule.action == Action::Nullify
            });
            let by_rule = Term::or(nullify.map(|index| self.applies(*index, c)));
            when.push(Term::and([self.destroyed(target, &p), by_rule]));
            if self.schema.references[reference.0].database == Some(OnDelete::SetNull) {
                when.push(self.fires(reference, target, &filled, &p, c));
            }
        }
        Term::or(when)
    }

    /// When the ORM must decline, and when it may.
    fn refusals(&mut self, class: ClassId) -> (Vec<Term>, Vec<Term>) {
        let (mut must, mut may) = (Vec::new(), Vec::new());
        let c = Term::var("c");
        for index in self.part.rules.clone() {
            let rule = self.schema.rules[index].clone();
            let Reach::Children(reference) = rule.reach else { continue };
            if !matches!(rule.action, Action::Refuse | Action::RefuseOthers) {
                continue;
            }
            let root = self.schema.root(self.schema.child(reference));
            let sort = self.sort(root);
            let owner = self.schema.root(rule.owner);
            for (target, _, p) in self.named(reference, &c).into_iter().filter(|(t, ..)| *t == owner) {
                let any = Term::and([self.applies(index, &c), self.destroyed(target, &p)]);
                let staying = Term::and([any.clone(), self.gone(root, &c).not()]);
                let django = self.schema.semantics == Semantics::Django;
                let at_once = (django && rule.action == Action::Refuse) || self.stays_until(index, reference, class);
                let at_end = django && rule.action == Action::RefuseOthers;
                must.push(Term::some([("c", &sort)], if at_once { any.clone() } else { staying.clone() }));
                may.push(Term::some([("c", &sort)], if at_end { staying } else { any }));
            }
        }
        (must, may)
    }

    /// Whether nothing can take along what a rule is about before it looks: only later rules on the same reference do.
    fn stays_until(&self, index: usize, reference: ReferenceId, class: ClassId) -> bool {
        let root = self.schema.root(self.schema.child(reference));
        let later = |(other, rule): (usize, &Rule)| match rule.reach {
            _ if matches!(rule.action, Action::Nullify | Action::Refuse | Action::RefuseOthers) => true,
            Reach::Children(r) if r == reference => other > index || rule.action == Action::Later,
            Reach::Children(r) => self.schema.root(self.schema.child(r)) != root,
            Reach::Parent(r) => !self.schema.target_roots(r).contains(&root),
            Reach::Pairs(..) => true,
        };
        let cascades = |r: &ReferenceId| {
            let here = self.schema.root(self.schema.child(*r)) == root && *r != reference;
            here && self.schema.references[r.0].database == Some(OnDelete::Cascade)
        };
        let rules = self.part.rules.iter().map(|other| (*other, &self.schema.rules[*other]));
        let all_later = rules.into_iter().all(later);
        all_later && !self.part.references.iter().any(cascades) && self.schema.root(class) != root
    }

    /// When the database must decline, and when it may.
    fn errors(&mut self, class: ClassId) -> (Vec<Term>, Vec<Term>) {
        let (mut must, mut may) = (Vec::new(), Vec::new());
        let c = Term::var("c");
        for reference in self.part.references.clone() {
            let root = self.schema.root(self.schema.child(reference));
            let sort = self.sort(root);
            let stored = self.schema.references[reference.0].clone();
            let mut bad = Vec::new();
            for (target, filled, p) in self.named(reference, &c) {
                if matches!(stored.database, Some(OnDelete::NoAction | OnDelete::Restrict | OnDelete::SetDefault)) {
                    bad.push(self.fires(reference, target, &filled, &p, &c));
                }
            }
            let (left, emptied) =
                (Term::or(bad), if stored.not_null { self.nulled(reference, &c) } else { Term::False });
            let stays = self.gone(root, &c).not();
            must.push(Term::some(
                [("c", &sort)],
                Term::and([Term::or([left.clone(), emptied.clone()]), stays.clone()]),
            ));
            // Foreign keys of Django are looked at when everything is done.
            let is_late = self.schema.semantics == Semantics::Django && stored.database != Some(OnDelete::Restrict)
                || self.goes_after(reference, class);
            let left = if is_late { Term::and([left, stays]) } else { left };
            may.push(Term::some([("c", &sort)], Term::or([left, emptied])));
        }
        for join in self.part.joins.clone() {
            let Some(_) = self.schema.model.join(join).on_delete.filter(|action| *action != OnDelete::Cascade) else {
                continue;
            };
            if self.schema.semantics == Semantics::Paper {
                continue;
            }
            let (l, r) = (Term::var("l"), Term::var("r"));
            let (left, right) = (self.schema.model.join(join).left, self.schema.model.join(join).right);
            let (left, right) = (self.schema.root(left), self.schema.root(right));
            let pair = Term::apply(join_name(self.schema, join), [l.clone(), r.clone()]);
            let bad_left = Term::and([self.gone(left, &l), self.separates(join, Side::Left, &l).not()]);
            let bad_right = Term::and([self.gone(right, &r), self.separates(join, Side::Right, &r).not()]);
            let bad = Term::and([pair, Term::or([bad_left, bad_right])]);
            let apart = Term::or([self.separates(join, Side::Left, &l), self.separates(join, Side::Right, &r)]);
            let sorts = (self.sort(left), self.sort(right));
            let some = |body| Term::some([("l", &sorts.0), ("r", &sorts.1)], body);
            must.push(some(Term::and([bad.clone(), apart.not()])));
            may.push(some(bad));
        }
        (must, may)
    }

    /// Whether what a reference names goes only with the one object that names it, and so after its row.
    fn goes_after(&self, reference: ReferenceId, class: ClassId) -> bool {
        let is_unique =
            |unique: &super::super::schema::Unique| unique.references == [reference] && unique.condition.is_none();
        let targets = self.schema.target_roots(reference);
        let leads_there = |rule: &Rule| match rule.reach {
            _ if matches!(rule.action, Action::Nullify | Action::Refuse | Action::RefuseOthers) => false,
            Reach::Children(other) => targets.contains(&self.schema.root(self.schema.child(other))),
            Reach::Parent(other) => {
                other != reference && self.schema.target_roots(other).iter().any(|root| targets.contains(root))
            }
            Reach::Pairs(..) => false,
        };
        let cascades = |other: &ReferenceId| {
            let there = targets.contains(&self.schema.root(self.schema.child(*other)));
            there && self.schema.references[other.0].database == Some(OnDelete::Cascade)
        };
        self.schema.unique.iter().any(is_unique)
            && !targets.contains(&self.schema.root(class))
            && !self.part.rules.iter().any(|index| leads_there(&self.schema.rules[*index]))
            && !self.part.references.iter().any(cascades)
    }

    /// Whether the ORM removes the pairs of an object before its row goes.
    fn separates(&self, join: JoinId, side: Side, x: &Term) -> Term {
        let rules = self.part.rules.iter().map(|index| &self.schema.rules[*index]);
        let pairs = rules.filter(|rule| rule.reach == Reach::Pairs(join, side));
        Term::or(pairs.map(|rule| Term::and([self.destroyed(self.schema.root(rule.owner), x), self.owns(rule, x)])))
    }

    /// Whether a pair is still there after the delete.
    pub(super) fn pair_stays(&self, join: JoinId, l: &Term, r: &Term) -> Term {
        let declared = self.schema.model.join(join);
        let (left, right) = (self.schema.root(declared.left), self.schema.root(declared.right));
        let mut leaves = vec![self.separates(join, Side::Left, l), self.separates(join, Side::Right, r)];
        if declared.on_delete == Some(OnDelete::Cascade) {
            let goes = |root, x: &Term| if self.schema.row_goes(root) { self.gone(root, x) } else { Term::False };
            leaves.extend([goes(left, l), goes(right, r)]);
        }
        Term::and([Term::apply(join_name(self.schema, join), [l.clone(), r.clone()]), Term::or(leaves).not()])
    }

    pub(super) fn destroyed(&self, root: ClassId, x: &Term) -> Term {
        self.removed("destroyed", &self.part.destroyed, root, x)
    }

    pub(super) fn deleted(&self, root: ClassId, x: &Term) -> Term {
        self.removed("deleted", &self.part.deleted, root, x)
    }

    fn removed(&self, word: &str, roots: &BTreeSet<ClassId>, root: ClassId, x: &Term) -> Term {
        match roots.contains(&root) {
            true => Term::apply(format!("{word}{}", self.schema.model.class(root).name), [x.clone()]),
            false => Term::False,
        }
    }

    /// Whether an object is gone after the delete.
    pub(super) fn gone(&self, root: ClassId, x: &Term) -> Term {
        Term::or([self.destroyed(root, x), self.deleted(root, x)])
    }

    /// The roots between which the rules of this part go round.
    fn find_cycles(&self) -> BTreeSet<ClassId> {
        let mut edges: BTreeSet<(ClassId, ClassId)> = BTreeSet::new();
        for rule in self.part.rules.iter().map(|index| &self.schema.rules[*index]) {
            if !matches!(rule.action, Action::Destroy | Action::Later | Action::Delete) {
                continue;
            }
            let owner = self.schema.root(rule.owner);
            match rule.reach {
                Reach::Children(reference) => {
                    edges.insert((owner, self.schema.root(self.schema.child(reference))));
                }
                Reach::Parent(reference) => {
                    edges.extend(self.schema.target_roots(reference).into_iter().map(|target| (owner, target)));
                }
                Reach::Pairs(..) => {}
            }
        }
        for reference in &self.part.references {
            if self.schema.references[reference.0].database == Some(OnDelete::Cascade) {
                let child = self.schema.root(self.schema.child(*reference));
                edges.extend(self.schema.target_roots(*reference).into_iter().map(|target| (target, child)));
            }
        }
        let gone: BTreeSet<ClassId> = self.part.destroyed.union(&self.part.deleted).copied().collect();
        edges.retain(|(from, to)| gone.contains(from) && gone.contains(to));
        let reaches = |from: ClassId| {
            let (mut seen, mut queue) = (BTreeSet::new(), vec![from]);
            while let Some(at) = queue.pop() {
                queue.extend(edges.iter().filter(|(a, b)| *a == at && seen.insert(*b)).map(|(_, b)| *b));
            }
            seen
        };
        gone.into_iter().filter(|root| reaches(*root).contains(root)).collect()
    }
}

/// Why an object goes.
struct Reason {
    /// Then it does.
    applies: Term,
    /// Then this explains it.
    justifies: Term,
    /// It does not lie within the cycle, unless in the object that is deleted.
    first: Term,
}

impl Reason {
    fn plain(term: Term) -> Reason {
        Reason { applies: term.clone(), justifies: term, first: Term::False }
    }
}
