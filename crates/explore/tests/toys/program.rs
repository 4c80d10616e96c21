//! Small concurrent programs: shared variables, locks that make others wait, deadlocks that cost a victim.

use arbtest::arbitrary::{Result, Unstructured};
use isolde_explore::{System, digest_of};
use std::collections::BTreeSet;

/// What a thread does, one operation after another.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) threads: Vec<Vec<Op>>,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// Looks at a variable, and remembers what it saw.
    Read(u8),
    /// Writes a number that nobody else writes.
    Write(u8),
    /// Adds one, without looking.
    Add(u8),
    /// Goes on only if the variable is not zero; otherwise ends.
    Need(u8),
    /// Takes a lock, or waits for it. A newcomer may overtake those who wait.
    Lock(u8),
    Unlock(u8),
    /// Takes a lock if it is free.
    TryLock(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Act {
    Step(usize),
    Victim(usize),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct World {
    pub(crate) variables: Vec<u64>,
    pub(crate) holders: Vec<Option<usize>>,
    pub(crate) threads: Vec<Local>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Local {
    pub(crate) at: usize,
    pub(crate) waits: Option<u8>,
    pub(crate) seen: Vec<u64>,
    pub(crate) killed: bool,
}

/// What a step touched.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Touched {
    pub(crate) thread: usize,
    pub(crate) reads: BTreeSet<u8>,
    pub(crate) writes: BTreeSet<u8>,
    pub(crate) adds: BTreeSet<u8>,
    pub(crate) locks: BTreeSet<u8>,
    /// The threads of a deadlock.
    pub(crate) cycle: BTreeSet<usize>,
}

pub(crate) const VARIABLES: u8 = 3;
pub(crate) const LOCKS: u8 = 2;

impl Program {
    pub(crate) fn random(u: &mut Unstructured) -> Result<Program> {
        let count = u.int_in_range(2..=4)?;
        let longest = [0, 0, 4, 3, 2][count];
        let threads = (0..count).map(|_| {
            let length = u.int_in_range(1..=longest)?;
            (0..length).map(|_| Op::random(u)).collect::<Result<Vec<_>>>()
        });
        Ok(Program { threads: threads.collect::<Result<_>>()? })
    }

    fn waits_for(&self, world: &World, thread: usize) -> Option<usize> {
        world.threads[thread].waits.and_then(|lock| world.holders[lock as usize])
    }

    /// The threads that wait for each other in a cycle with this one.
    fn cycle(&self, world: &World, thread: usize) -> Option<BTreeSet<usize>> {
        let mut members = BTreeSet::from([thread]);
        let mut next = self.waits_for(world, thread)?;
        while next != thread {
            if !members.insert(next) {
                return None;
            }
            next = self.waits_for(world, next)?;
        }
        Some(members)
    }

    fn end(&self, world: &mut World, thread: usize, touched: &mut Touched) {
        for lock in 0..LOCKS {
            if world.holders[lock as usize] == Some(thread) {
                world.holders[lock as usize] = None;
                touched.locks.insert(lock);
            }
        }
        touched.locks.extend(world.threads[thread].waits.take());
        world.threads[thread].at = self.threads[thread].len();
    }
}

impl Op {
    fn random(u: &mut Unstructured) -> Result<Op> {
        let variable = u.int_in_range(0..=VARIABLES - 1)?;
        let lock = u.int_in_range(0..=LOCKS - 1)?;
        Ok(match u.int_in_range(0..=9)? {
            0 | 1 => Op::Read(variable),
            2 | 3 => Op::Write(variable),
            4 => Op::Add(variable),
            5 => Op::Need(variable),
            6 | 7 => Op::Lock(lock),
            8 => Op::Unlock(lock),
            _ => Op::TryLock(lock),
        })
    }
}

impl System for Program {
    type State = World;
    type Step = Act;
    type Event = Touched;

    fn initial(&self) -> World {
        World {
            variables: vec![0; VARIABLES as usize],
            holders: vec![None; LOCKS as usize],
            threads: vec![Local::default(); self.threads.len()],
        }
    }

    fn enabled(&self, world: &World, steps: &mut Vec<Act>) {
        let threads = 0..self.threads.len();
        steps.extend(
            threads
                .clone()
                .filter(|&t| {
                    let local = &world.threads[t];
                    local.at < self.threads[t].len() && self.waits_for(world, t).is_none()
                })
                .map(Act::Step),
        );
        steps.extend(threads.filter(|&t| self.cycle(world, t).is_some()).map(Act::Victim));
    }

    fn execute(&self, world: &mut World, act: &Act) -> Touched {
        let (Act::Step(thread) | Act::Victim(thread)) = *act;
        let mut touched = Touched { thread, ..Touched::default() };
        if let Act::Victim(_) = act {
            touched.cycle = self.cycle(world, thread).unwrap();
            world.threads[thread].killed = true;
            self.end(world, thread, &mut touched);
            return touched;
        }
        let op = self.threads[thread][world.threads[thread].at];
        let at = world.threads[thread].at;
        world.threads[thread].at += 1;
        match op {
            Op::Read(x) => {
                touched.reads.insert(x);
                let value = world.variables[x as usize];
                world.threads[thread].seen.push(value);
            }
            Op::Write(x) => {
                touched.writes.insert(x);
                world.variables[x as usize] = (thread * 10 + at + 100) as u64;
            }
            Op::Add(x) => {
                touched.adds.insert(x);
                world.variables[x as usize] += 1;
            }
            Op::Need(x) => {
                touched.reads.insert(x);
                if world.variables[x as usize] == 0 {
                    self.end(world, thread, &mut touched);
                }
            }
            Op::Lock(m) => {
                touched.locks.insert(m);
                world.threads[thread].waits = None;
                match world.holders[m as usize] {
                    Some(holder) if holder != thread => {
                        world.threads[thread].at = at;
                        world.threads[thread].waits = Some(m);
                    }
                    _ => world.holders[m as usize] = Some(thread),
                }
            }
            Op::Unlock(m) => {
                if world.holders[m as usize] == Some(thread) {
                    touched.locks.insert(m);
                    world.holders[m as usize] = None;
                }
            }
            Op::TryLock(m) => {
                touched.locks.insert(m);
                let free = world.holders[m as usize].is_none_or(|holder| holder == thread);
                world.threads[thread].seen.push(u64::from(free));
                if free {
                    world.holders[m as usize] = Some(thread);
                }
            }
        }
        if world.threads[thread].at == self.threads[thread].len() {
            self.end(world, thread, &mut touched);
        }
        touched
    }

    fn digest(&self, world: &World) -> Option<u128> {
        Some(digest_of(world))
    }

    fn thread(&self, act: &Act) -> u64 {
        let (Act::Step(thread) | Act::Victim(thread)) = *act;
        thread as u64
    }

    fn dependent(&self, a: &Touched, b: &Touched) -> bool {
        let one_way = |a: &Touched, b: &Touched| {
            !a.writes.is_disjoint(&b.reads)
                || !a.writes.is_disjoint(&b.adds)
                || !a.adds.is_disjoint(&b.reads)
                || a.cycle.contains(&b.thread)
        };
        !a.writes.is_disjoint(&b.writes) || !a.locks.is_disjoint(&b.locks) || one_way(a, b) || one_way(b, a)
    }
}
