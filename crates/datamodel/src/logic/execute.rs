//! One delete, carried out: callbacks in their order, then the row, then what the database does with the rest.
//!
//! ```text
//! destroy(x):  the rules of x in the order of declaration   (children destroyed, deleted, nullified, a refusal)
//!              delete the row of x ──▶ the database: cascade, set null, or an error
//!              what x belonged to, where that goes with it
//! ```
//!
//! A refusal and an error undo everything. An object that is being destroyed already is left alone, so that cycles end
//! (Rails since 5.0). Jobs (`destroy_async`) run when the rest is done. Foreign keys of Django are deferred: they are
//! looked at then, too. Siblings are taken in an [`Order`] that is given.

use std::collections::BTreeSet;

use super::instance::Instance;
use super::schema::{Action, Reach, Rule, Schema, Semantics};
use crate::model::{JoinId, OnDelete, ReferenceId, Side};

/// What became of a delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It went through, and this is left.
    Done(Instance),
    /// The ORM declined, because of this rule, for this object.
    Refused(String),
    /// The database declined.
    Raised(String),
}

/// A statement that the ORM sends to the database in the course of a delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// The row of an object is deleted.
    Delete(usize),
    /// A reference of an object is made to name nothing.
    Nullify(ReferenceId, usize),
    /// The pairs of an object on one side of a join are deleted.
    Separate(JoinId, Side, usize),
}

/// In which order objects of the same association are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they are numbered.
    Up,
    /// The other way round.
    Down,
}

impl Order {
    /// Both.
    pub const ALL: [Order; 2] = [Order::Up, Order::Down];
}

/// Deletes an object.
pub fn delete(schema: &Schema<'_>, before: &Instance, object: usize, order: Order) -> Outcome {
    carry_out(schema, before, object, order).0
}

/// Deletes an object, and says which statements that takes; what the database does by itself is not among them.
pub fn carry_out(schema: &Schema<'_>, before: &Instance, object: usize, order: Order) -> (Outcome, Vec<Statement>) {
    let mut run = Run {
        schema,
        data: before.clone(),
        order,
        destroyed: BTreeSet::new(),
        later: Vec::new(),
        pending: Vec::new(),
        sent: Vec::new(),
    };
    let done = match schema.semantics {
        Semantics::Django => run.refuse_collected(object).and_then(|()| run.destroy(object)),
        Semantics::Sql => run.delete_row(object),
        Semantics::Paper | Semantics::Rails | Semantics::Prisma => run.destroy(object),
    };
    match done.and_then(|()| run.work_off()).and_then(|()| run.look_at_keys()) {
        Ok(()) => (Outcome::Done(run.data), run.sent),
        Err(declined) => (declined, run.sent),
    }
}

struct Run<'a, 'm> {
    schema: &'a Schema<'m>,
    data: Instance,
    order: Order,
    destroyed: BTreeSet<usize>,
    later: Vec<usize>,
    /// References of a row to another that was deleted: the row must go, too, or name nothing.
    pending: Vec<(ReferenceId, usize, usize)>,
    sent: Vec<Statement>,
}

type Went = Result<(), Outcome>;

impl Run<'_, '_> {
    fn destroy(&mut self, x: usize) -> Went {
        if !self.data.objects[x].is_there || !self.destroyed.insert(x) {
            return Ok(());
        }
        let rules: Vec<Rule> = self.schema.rules_of(self.data.objects[x].class).cloned().collect();
        let named = self.data.objects[x].references.clone();
        for rule in &rules {
            match rule.reach {
                Reach::Children(reference) => self.apply(rule, reference, x)?,
                Reach::Pairs(join, side) => {
                    self.sent.push(Statement::Separate(join, side, x));
                    self.separate(join, Some(side), x);
                }
                Reach::Parent(_) => {}
            }
        }
        self.delete_row(x)?;
        for rule in &rules {
            let Reach::Parent(reference) = rule.reach else { continue };
            let parent = named.get(&reference).copied().filter(|parent| self.meets(rule, *parent));
            match (parent, rule.action) {
                (Some(parent), Action::Destroy) => self.destroy(parent)?,
                (Some(parent), Action::Later) => self.later.push(parent),
                (Some(parent), Action::Delete) => self.delete_row(parent)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn meets(&self, rule: &Rule, object: usize) -> bool {
        let object = &self.data.objects[object];
        rule.condition.is_none_or(|condition| object.conditions.contains(&condition))
            && rule.filled.is_none_or(|reference| object.references.contains_key(&reference))
    }

    fn apply(&mut self, rule: &Rule, reference: ReferenceId, x: usize) -> Went {
        let mut children = self.data.naming(reference, x);
        children.retain(|child| self.meets(rule, *child));
        if self.order == Order::Down {
            children.reverse();
        }
        match rule.action {
            Action::Destroy => children.into_iter().try_for_each(|child| self.destroy(child)),
            Action::Later => {
                self.later.extend(children);
                Ok(())
            }
            Action::Delete => children.into_iter().try_for_each(|child| self.delete_row(child)),
            Action::Nullify => children.into_iter().try_for_each(|child| {
                self.sent.push(Statement::Nullify(reference, child));
                self.nullify(reference, child)
            }),
            // Django has looked before it began.
            Action::Refuse | Action::RefuseOthers if self.schema.semantics == Semantics::Django => Ok(()),
            Action::Refuse | Action::RefuseOthers => match children.first() {
                Some(child) => Err(Outcome::Refused(self.about(reference, *child))),
                None => Ok(()),
            },
        }
    }

    fn about(&self, reference: ReferenceId, child: usize) -> String {
        let (name, column) = (self.data.name(self.schema, child), &self.schema.model.reference(reference).name);
        format!("{name} names it as its {column}")
    }

    fn nullify(&mut self, reference: ReferenceId, child: usize) -> Went {
        if self.schema.references[reference.0].not_null {
            return Err(Outcome::Raised(format!("{}, and that cannot be null", self.about(reference, child))));
        }
        self.data.objects[child].references.remove(&reference);
        Ok(())
    }

    fn separate(&mut self, join: JoinId, side: Option<Side>, x: usize) {
        self.data.pairs.retain(|(j, left, right)| {
            let near = match side {
                Some(Side::Left) => *left == x,
                Some(Side::Right) => *right == x,
                None => *left == x || *right == x,
            };
            *j != join || !near
        });
    }

    /// One statement to the database, with what the database makes of it.
    fn delete_row(&mut self, x: usize) -> Went {
        if !self.data.objects[x].is_there {
            return Ok(());
        }
        self.sent.push(Statement::Delete(x));
        self.remove(x)?;
        if self.schema.semantics == Semantics::Django { Ok(()) } else { self.look_at_keys() }
    }

    fn look_at_keys(&mut self) -> Went {
        let pending = std::mem::take(&mut self.pending);
        let still = |(reference, child, gone): &&(ReferenceId, usize, usize)| {
            self.data.objects[*child].is_there && self.data.objects[*child].references.get(reference) == Some(gone)
        };
        match pending.iter().find(still) {
            Some((reference, child, _)) => Err(Outcome::Raised(self.about(*reference, *child))),
            None => Ok(()),
        }
    }

    fn remove(&mut self, x: usize) -> Went {
        if !std::mem::replace(&mut self.data.objects[x].is_there, false) {
            return Ok(());
        }
        if !self.schema.row_goes(self.data.objects[x].class) {
            return Ok(());
        }
        for (index, stored) in self.schema.references.iter().enumerate() {
            let reference = ReferenceId(index);
            let Some(action) = stored.database else { continue };
            for child in self.data.naming(reference, x) {
                match action {
                    OnDelete::Cascade => self.remove(child)?,
                    OnDelete::SetNull => self.nullify(reference, child)?,
                    OnDelete::Restrict => return Err(Outcome::Raised(self.about(reference, child))),
                    OnDelete::NoAction | OnDelete::SetDefault => self.pending.push((reference, child, x)),
                }
            }
        }
        for (index, join) in self.schema.model.joins.iter().enumerate() {
            let id = JoinId(index);
            let has = self.data.pairs.iter().any(|(j, left, right)| *j == id && (*left == x || *right == x));
            match join.on_delete {
                Some(OnDelete::Cascade) => self.separate(id, None, x),
                Some(_) if has && self.schema.semantics != Semantics::Paper => {
                    return Err(Outcome::Raised(format!("a row of {} names it", join.name)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn work_off(&mut self) -> Went {
        while let Some(job) = self.later.pop() {
            self.destroy(job)?;
        }
        Ok(())
    }

    /// Django collects everything that goes before it deletes anything, and looks at what protects it then.
    fn refuse_collected(&mut self, x: usize) -> Went {
        let (mut collected, mut queue) = (BTreeSet::from([x]), vec![x]);
        let mut others = Vec::new();
        while let Some(at) = queue.pop() {
            let rules: Vec<Rule> = self.schema.rules_of(self.data.objects[at].class).cloned().collect();
            for rule in rules {
                let Reach::Children(reference) = rule.reach else { continue };
                for child in self.data.naming(reference, at) {
                    match rule.action {
                        Action::Destroy if collected.insert(child) => queue.push(child),
                        Action::Refuse => return Err(Outcome::Refused(self.about(reference, child))),
                        Action::RefuseOthers => others.push((reference, child)),
                        _ => {}
                    }
                }
            }
        }
        match others.into_iter().find(|(_, child)| !collected.contains(child)) {
            Some((reference, child)) => Err(Outcome::Refused(self.about(reference, child))),
            None => Ok(()),
        }
    }
}
