//! What the boolean program can come to.
//!
//! A [`Cube`] is what is known at a cut: of some predicates that they hold, of some that they do not, of the others
//! nothing. From each cube each clause is followed: for every predicate that can be asked behind it, a solver says
//! whether it must hold or must not (the cartesian abstraction; two questions per predicate, one of which the last
//! answer usually spares). Cubes that say more than another of the same cut are covered by it and not followed. There
//! are finitely many, so this ends.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use isolde_smt::{Answer, Deadline, Session, Silence, Solver, Term};

use super::{Predicate, Subject};
use crate::Limits;
use crate::horn::Clause;

/// More cubes of one cut than this are made one, which says what all of them say.
const CUBES_MAX: usize = 12;

/// What is known at a cut: predicates, by position, that hold or do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cube(pub BTreeMap<usize, bool>);

impl Cube {
    /// It says no more than another.
    fn covers(&self, other: &Cube) -> bool {
        self.0.iter().all(|(predicate, holds)| other.0.get(predicate) == Some(holds))
    }

    /// What both say.
    fn common(&self, other: &Cube) -> Cube {
        let both = self.0.iter().filter(|(predicate, holds)| other.0.get(predicate) == Some(holds));
        Cube(both.map(|(predicate, holds)| (*predicate, *holds)).collect())
    }

    /// The cube as a formula over names.
    pub fn formula(&self, predicates: &[Predicate]) -> Term {
        let literal = |(predicate, holds): (&usize, &bool)| {
            let term = predicates[*predicate].term.clone();
            if *holds { term } else { term.not() }
        };
        Term::and(self.0.iter().map(literal))
    }
}

/// What came of following everything.
pub(super) struct Explored {
    /// The cubes of each cut that no other covers.
    pub(super) reached: BTreeMap<usize, Vec<Cube>>,
    /// A way to the error: clauses from the start to the end.
    pub(super) path: Option<Vec<usize>>,
    /// The time was over.
    pub(super) late: bool,
}

/// Follows the boolean program from its start, until the error is reached or nothing new is.
pub(super) fn explore(
    subject: &Subject<'_>,
    predicates: &[Predicate],
    solver: &Solver,
    limits: &Limits,
    deadline: Deadline,
) -> Result<Explored, Silence> {
    let cuts = &subject.cuts;
    let asked = cuts.iter().map(|cut| (*cut, subject.askable(predicates, *cut))).collect();
    let post = Post { subject, predicates, asked, session: solver.start()?, timeout: limits.timeout };
    let mut exploration = Exploration { post, places: Vec::new(), todo: VecDeque::new() };
    let path = exploration.run(deadline)?;
    let late = path.is_none() && deadline.is_over() && !exploration.todo.is_empty();
    let mut reached: BTreeMap<usize, Vec<Cube>> = BTreeMap::new();
    for place in exploration.places.into_iter().filter(|place| !place.covered) {
        if let Some(cut) = place.cut {
            reached.entry(cut).or_default().push(place.cube);
        }
    }
    Ok(Explored { reached, path, late })
}

/// A cube at a cut, and how it was come to.
struct Place {
    /// The cut; the start if there is none.
    cut: Option<usize>,
    cube: Cube,
    /// The place before, and the clause from there.
    before: Option<(usize, usize)>,
    /// Another place says less and stands for it.
    covered: bool,
}

struct Exploration<'s, 'a> {
    post: Post<'s, 'a>,
    places: Vec<Place>,
    todo: VecDeque<usize>,
}

impl Exploration<'_, '_> {
    /// Follows everything; the way to the error, if there is one.
    fn run(&mut self, deadline: Deadline) -> Result<Option<Vec<usize>>, Silence> {
        self.places.push(Place { cut: None, cube: Cube::default(), before: None, covered: false });
        self.todo.push_back(0);
        while let Some(at) = self.todo.pop_front() {
            if self.places[at].covered {
                continue;
            }
            if deadline.is_over() {
                self.todo.push_front(at);
                return Ok(None);
            }
            for number in 0..self.post.subject.clauses.clauses.len() {
                let clause = &self.post.subject.clauses.clauses[number];
                if clause.from != self.places[at].cut {
                    continue;
                }
                let others = self.others(clause.from);
                match self.post.follow(clause, &self.places[at].cube, &others)? {
                    Followed::Nowhere | Followed::Kept => {}
                    Followed::Broken => return Ok(Some(self.path(at, number))),
                    Followed::To(cube) => self.arrive(clause.to, cube, (at, number)),
                }
            }
        }
        Ok(None)
    }

    /// What is known of every row at a cut: one of its cubes holds.
    fn others(&self, cut: Option<usize>) -> Vec<Cube> {
        let here = self.places.iter().filter(|place| place.cut == cut && !place.covered);
        here.map(|place| place.cube.clone()).collect()
    }

    /// A cube at a cut. If it is new, whatever used what is known of all rows there is looked at again.
    fn arrive(&mut self, cut: Option<usize>, cube: Cube, before: (usize, usize)) {
        let here: Vec<usize> =
            (0..self.places.len()).filter(|at| self.places[*at].cut == cut && !self.places[*at].covered).collect();
        if here.iter().any(|at| self.places[*at].cube.covers(&cube)) {
            return;
        }
        let cube = match here.len() < CUBES_MAX {
            true => cube,
            false => here.iter().fold(cube, |all, at| all.common(&self.places[*at].cube)),
        };
        for at in here {
            self.places[at].covered = cube.covers(&self.places[at].cube);
            if !self.places[at].covered && !self.todo.contains(&at) && self.post.looks_at_others(cut) {
                self.todo.push_back(at);
            }
        }
        self.places.push(Place { cut, cube, before: Some(before), covered: false });
        self.todo.push_back(self.places.len() - 1);
    }

    /// The clauses from the start to a place, and one more.
    fn path(&self, at: usize, last: usize) -> Vec<usize> {
        let mut path = vec![last];
        let mut at = at;
        while let Some((before, clause)) = self.places[at].before {
            path.push(clause);
            at = before;
        }
        path.reverse();
        path
    }
}

/// What a clause leads to.
enum Followed {
    /// It cannot be taken.
    Nowhere,
    /// To the end, with the rule kept.
    Kept,
    /// To the end, where the rule may be broken.
    Broken,
    /// To a cut.
    To(Cube),
}

/// The solver, and what it is asked.
struct Post<'s, 'a> {
    subject: &'s Subject<'a>,
    predicates: &'s [Predicate],
    /// For each cut, what can be asked there.
    asked: BTreeMap<usize, Vec<usize>>,
    session: Session,
    timeout: Duration,
}

impl Post<'_, '_> {
    /// Some clause from a cut is about more rows than the arbitrary one.
    fn looks_at_others(&self, cut: Option<usize>) -> bool {
        let mut leaving = self.subject.clauses.clauses.iter().filter(|clause| clause.from == cut);
        leaving.any(|clause| self.subject.atoms(clause).0.len() > 1)
    }

    fn follow(&mut self, clause: &Clause, cube: &Cube, others: &[Cube]) -> Result<Followed, Silence> {
        self.session.tell("(push 1)\n");
        self.session.tell(&clause.script.to_string());
        let (atoms, conditions) = self.subject.atoms(clause);
        let mut known: Vec<Term> = conditions.into_iter().cloned().collect();
        let anyone = Term::or(others.iter().map(|cube| cube.formula(self.predicates)));
        for (n, atom) in atoms.into_iter().enumerate() {
            let holds = if n == 0 { cube.formula(self.predicates) } else { anyone.clone() };
            known.push(self.subject.said_of(&holds, atom));
        }
        known.iter().for_each(|term| self.session.tell(&format!("(assert {term})\n")));
        let followed = match clause.to {
            None => match self.is_impossible(&clause.head.clone().not())? {
                true => Followed::Kept,
                false => Followed::Broken,
            },
            Some(cut) => self.behind(clause, cut)?,
        };
        self.session.tell("(pop 1)\n");
        Ok(followed)
    }

    /// What must hold behind a clause, and what must not.
    fn behind(&mut self, clause: &Clause, cut: usize) -> Result<Followed, Silence> {
        let asked = self.asked.get(&cut).cloned().unwrap_or_default();
        let say = |at: &usize| self.subject.said_of(&self.predicates[*at].term, &clause.head);
        let terms: Vec<Term> = asked.iter().map(say).collect();
        // An example shows of each predicate that it can hold, or that it need not.
        let example = match self.session.check(self.timeout) {
            Ok(Answer::Unsat) => return Ok(Followed::Nowhere),
            Ok(Answer::Sat) => self.session.values(&terms, self.timeout).ok(),
            Err(Silence::Unknown) => None,
            Err(silence) => return Err(silence),
        };
        let mut cube = Cube::default();
        for (n, (predicate, term)) in asked.iter().zip(&terms).enumerate() {
            let seen = example.as_ref().and_then(|values| values[n].atom()).map(|word| word == "true");
            for holds in [true, false] {
                let denied = if holds { term.clone().not() } else { term.clone() };
                if seen != Some(!holds) && self.is_impossible(&denied)? {
                    cube.0.insert(*predicate, holds);
                    break;
                }
            }
        }
        Ok(Followed::To(cube))
    }

    /// Nothing meets what is known and this. What the solver does not know is possible.
    fn is_impossible(&mut self, term: &Term) -> Result<bool, Silence> {
        self.session.tell(&format!("(push 1)\n(assert {term})\n"));
        let answer = self.session.check(self.timeout);
        self.session.tell("(pop 1)\n");
        match answer {
            Ok(answer) => Ok(answer == Answer::Unsat),
            Err(Silence::Unknown) => Ok(false),
            Err(silence) => Err(silence),
        }
    }
}
