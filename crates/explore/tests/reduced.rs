//! Stateful search with reduction finds every end that a search of all states finds, on random programs: threads that read
//! and write variables, wait for values in a loop, take locks in any order, queue for them, and are killed when they
//! wait for each other in a circle.

#![allow(clippy::unwrap_used)]

mod toys;

use arbtest::arbitrary::{Result, Unstructured};
use arbtest::arbtest;
use isolde_explore::{Matching, Search, Strategy, Summary, System, Visit, digest_of, on_leaf};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow::Continue;

/// What a thread does, one instruction a step.
#[derive(Clone, Copy, Debug)]
enum Instruction {
    /// Remembers a variable.
    Read(usize),
    /// Stores a value.
    Write(usize, u8),
    /// Stores what was read last, plus one.
    Copy(usize),
    /// Goes round until a variable has a value.
    Await(usize, u8),
    /// Starts from the beginning while what was read last is this.
    Again(u8),
    Lock(usize),
    Unlock(usize),
    /// Touches nothing that is shared.
    Think,
}

#[derive(Debug)]
struct Program {
    threads: Vec<Vec<Instruction>>,
    /// Whether events are put in classes.
    classes: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Memory {
    values: [u8; 3],
    /// For each lock, its holder and then those who wait for it.
    queues: [Vec<usize>; 2],
    places: Vec<Place>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Place {
    next: usize,
    read: u8,
    /// The lock that it waits for, or has just been given.
    waits: Option<usize>,
    killed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Turn {
    Step(usize),
    Kill(usize),
}

/// What a step touched.
#[derive(Clone, Debug, Default, Hash)]
struct Touched {
    reads: u8,
    writes: u8,
    /// A bit for each lock.
    locks: u8,
}

impl Program {
    fn random(u: &mut Unstructured) -> Result<Program> {
        let threads = u.int_in_range(2..=3)?;
        let length = if threads == 2 { 6 } else { 4 };
        let mut program = Vec::new();
        for _ in 0..threads {
            let count = u.int_in_range(1..=length)?;
            program.push((0..count).map(|_| Program::instruction(u)).collect::<Result<_>>()?);
        }
        Ok(Program { threads: program, classes: u.arbitrary()? })
    }

    fn instruction(u: &mut Unstructured) -> Result<Instruction> {
        let variable = u.int_in_range(0..=2)?;
        let value = u.int_in_range(0..=2)?;
        let lock = u.int_in_range(0..=1)?;
        Ok(match u.int_in_range(0..=11)? {
            0 | 1 => Instruction::Read(variable),
            2 | 3 => Instruction::Write(variable, value),
            4 => Instruction::Copy(variable),
            5 => Instruction::Await(variable, value),
            6 => Instruction::Again(value),
            7..=9 => Instruction::Lock(lock),
            10 => Instruction::Unlock(lock),
            _ => Instruction::Think,
        })
    }

    fn instruction_of(&self, memory: &Memory, thread: usize) -> Option<Instruction> {
        let place = &memory.places[thread];
        self.threads[thread].get(place.next).filter(|_| !place.killed).copied()
    }

    fn is_blocked(memory: &Memory, thread: usize) -> bool {
        memory.places[thread].waits.is_some_and(|lock| memory.queues[lock][0] != thread)
    }

    /// The threads that wait for each other in a circle.
    fn circle(memory: &Memory) -> Vec<usize> {
        let next = |thread: usize| {
            let lock = memory.places[thread].waits?;
            Some(memory.queues[lock][0]).filter(|&holder| holder != thread)
        };
        let reaches_itself = |start: usize| {
            let mut at = start;
            (0..memory.places.len()).any(|_| match next(at) {
                Some(to) => {
                    at = to;
                    to == start
                }
                None => false,
            })
        };
        (0..memory.places.len()).filter(|&thread| reaches_itself(thread)).collect()
    }

    fn leave(memory: &mut Memory, thread: usize) -> u8 {
        let mut left = 0;
        for (lock, queue) in memory.queues.iter_mut().enumerate() {
            if queue.contains(&thread) {
                queue.retain(|&t| t != thread);
                left |= 1 << lock;
            }
        }
        memory.places[thread].waits = None;
        left
    }
}

impl System for Program {
    type State = Memory;
    type Step = Turn;
    type Event = Touched;

    fn initial(&self) -> Memory {
        Memory { values: [0; 3], queues: [vec![], vec![]], places: vec![Place::default(); self.threads.len()] }
    }

    fn enabled(&self, memory: &Memory, steps: &mut Vec<Turn>) {
        let can_step = |&t: &usize| self.instruction_of(memory, t).is_some() && !Program::is_blocked(memory, t);
        steps.extend((0..self.threads.len()).filter(can_step).map(Turn::Step));
        steps.extend(Program::circle(memory).into_iter().map(Turn::Kill));
    }

    fn execute(&self, memory: &mut Memory, turn: &Turn) -> Touched {
        let thread = match *turn {
            Turn::Step(thread) => thread,
            Turn::Kill(thread) => {
                memory.places[thread].killed = true;
                Program::leave(memory, thread);
                return Touched { locks: u8::MAX, ..Touched::default() };
            }
        };
        let mut touched = Touched::default();
        let resumed = memory.places[thread].waits.take();
        let place = &mut memory.places[thread];
        place.next += 1;
        match self.threads[thread][place.next - 1] {
            Instruction::Read(x) => {
                place.read = memory.values[x];
                touched.reads = 1 << x;
            }
            Instruction::Write(x, value) => {
                memory.values[x] = value;
                touched.writes = 1 << x;
            }
            Instruction::Copy(x) => {
                memory.values[x] = (place.read + 1) % 3;
                touched.writes = 1 << x;
            }
            Instruction::Await(x, value) => {
                touched.reads = 1 << x;
                if memory.values[x] != value {
                    place.next -= 1;
                }
            }
            Instruction::Again(value) => {
                if place.read == value {
                    place.next = 0;
                    place.read = (value + 1) % 3;
                }
            }
            Instruction::Lock(lock) => {
                touched.locks = 1 << lock;
                let queue = &mut memory.queues[lock];
                if resumed.is_none() && !queue.contains(&thread) {
                    queue.push(thread);
                    if queue[0] != thread {
                        place.waits = Some(lock);
                        place.next -= 1;
                    }
                }
            }
            Instruction::Unlock(lock) => {
                if memory.queues[lock].first() == Some(&thread) {
                    memory.queues[lock].remove(0);
                    touched.locks = 1 << lock;
                }
            }
            Instruction::Think => {}
        }
        if memory.places[thread].next == self.threads[thread].len() {
            touched.locks |= Program::leave(memory, thread);
        }
        touched
    }

    fn digest(&self, memory: &Memory) -> Option<u128> {
        Some(digest_of(memory))
    }

    fn thread(&self, turn: &Turn) -> u64 {
        match *turn {
            Turn::Step(thread) | Turn::Kill(thread) => thread as u64,
        }
    }

    fn dependent(&self, one: &Touched, other: &Touched) -> bool {
        let meet = |a: &Touched, b: &Touched| a.writes & (b.reads | b.writes) != 0;
        let killed = |a: &Touched| a.locks == u8::MAX;
        meet(one, other) || meet(other, one) || one.locks & other.locks != 0 || killed(one) || killed(other)
    }

    fn class(&self, event: &Touched) -> Option<u128> {
        self.classes.then(|| digest_of(event))
    }
}

fn ends<S: System<State: Ord>>(system: &S, strategy: Strategy) -> (BTreeSet<S::State>, Summary) {
    let mut ends = BTreeSet::new();
    let search = Search { strategy, matching: Matching::Digest, ..Search::default() };
    let summary = search.run(
        system,
        &mut on_leaf(|at: &Visit<S>| {
            ends.insert(at.state.clone());
            Continue(())
        }),
    );
    assert!(summary.is_complete());
    (ends, summary)
}

#[test]
fn every_end_is_found() {
    let mut total: BTreeMap<&str, u64> = BTreeMap::new();
    arbtest(|u| {
        let program = Program::random(u)?;
        let (all, plain) = ends(&program, Strategy::Depth);
        let (found, reduced) = ends(&program, Strategy::Reduced);
        assert_eq!(found, all, "{program:?}");
        assert!(reduced.states_seen <= plain.states_seen && reduced.leaves == plain.leaves);
        *total.entry("plain").or_default() += plain.states_seen;
        *total.entry("reduced").or_default() += reduced.states_seen;
        *total.entry("ends").or_default() += reduced.leaves;
        Ok(())
    })
    .budget_ms(4_000);
    assert!(total["reduced"] * 10 < total["plain"] * 9, "hardly anything is reduced: {total:?}");
}

#[test]
fn threads_that_never_meet_need_one_run() {
    for threads in 1..=5 {
        let system = toys::Counters { threads, steps: 4 };
        let (_, summary) = ends(&system, Strategy::Reduced);
        let steps = threads as u64 * 4;
        assert_eq!((summary.states_seen, summary.transitions, summary.races), (steps + 1, steps, 0));
    }
}

#[test]
fn where_everything_depends_on_everything_nothing_is_left_out() {
    for seats in 2..=4 {
        let system = toys::Philosophers { seats };
        let ((all, plain), (found, reduced)) = (ends(&system, Strategy::Depth), ends(&system, Strategy::Reduced));
        assert_eq!((found, reduced.states_seen), (all, plain.states_seen));
    }
    for gives_way in [false, true] {
        let system = toys::Peterson { gives_way };
        let ((_, plain), (_, reduced)) = (ends(&system, Strategy::Depth), ends(&system, Strategy::Reduced));
        assert_eq!(reduced.states_seen, plain.states_seen);
    }
}

/// One thread goes round and touches nothing; the other must still be tried.
#[test]
fn a_cycle_ignores_nobody() {
    use Instruction::{Await, Think, Write};
    let program = Program { threads: vec![vec![Await(0, 1)], vec![Think, Write(0, 1)]], classes: true };
    let (found, summary) = ends(&program, Strategy::Reduced);
    assert_eq!((found.len(), summary.leaves), (1, 1));
    let for_ever = Program { threads: vec![vec![Await(0, 2)], vec![Think, Write(0, 1)]], classes: true };
    assert_eq!(ends(&for_ever, Strategy::Reduced).1.leaves, 0);
}
