//! Random programs: threads that read and write variables, wait for values in a loop, take locks in any order, queue
//! for them, and are killed when they wait for each other in a cycle.

use arbtest::arbitrary::{Result, Unstructured};
use isolde_explore::{System, digest_of};

/// What a thread does, one instruction a step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instruction {
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
pub(crate) struct Program {
    pub(crate) threads: Vec<Vec<Instruction>>,
    /// Whether events are put in classes.
    pub(crate) classes: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Memory {
    pub(crate) values: [u8; 3],
    /// For each lock, its holder and then those who wait for it.
    pub(crate) queues: [Vec<usize>; 2],
    pub(crate) places: Vec<Place>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) next: usize,
    pub(crate) read: u8,
    /// The lock that it waits for, or has just been given.
    pub(crate) waits: Option<usize>,
    pub(crate) killed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Turn {
    Step(usize),
    Kill(usize),
}

/// What a step touched.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Touched {
    reads: u8,
    writes: u8,
    /// A bit for each lock.
    locks: u8,
}

impl Program {
    pub(crate) fn random(u: &mut Unstructured) -> Result<Program> {
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

    /// The threads that wait for each other in a cycle.
    fn cycle(memory: &Memory) -> Vec<usize> {
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
        steps.extend(Program::cycle(memory).into_iter().map(Turn::Kill));
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
