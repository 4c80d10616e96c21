//! Small systems with known numbers of states and runs.

#![allow(dead_code)] // Each test file uses some of them.

pub(crate) mod looping;
pub(crate) mod program;

use isolde_explore::{System, digest_of};

/// Threads that each take a number of steps and never meet.
///
/// With k threads of n steps: (n+1)^k states, k·n·(n+1)^(k-1) transitions, (kn)! / n!^k runs.
pub(crate) struct Counters {
    pub(crate) threads: usize,
    pub(crate) steps: u8,
}

impl System for Counters {
    type State = Vec<u8>;
    type Step = usize;
    type Event = (usize, u8);

    fn initial(&self) -> Vec<u8> {
        vec![0; self.threads]
    }

    fn enabled(&self, state: &Vec<u8>, steps: &mut Vec<usize>) {
        steps.extend((0..self.threads).filter(|&thread| state[thread] < self.steps));
    }

    fn execute(&self, state: &mut Vec<u8>, &thread: &usize) -> (usize, u8) {
        state[thread] += 1;
        (thread, state[thread])
    }

    fn digest(&self, state: &Vec<u8>) -> Option<u128> {
        Some(digest_of(state))
    }

    fn dependent(&self, first: &(usize, u8), second: &(usize, u8)) -> bool {
        first.0 == second.0
    }
}

/// A producer and a consumer of `items` items, with a buffer for `capacity` of them.
///
/// States are the pairs (made, taken) with 0 <= made - taken <= capacity; with capacity >= items the runs are counted
/// by the Catalan numbers.
pub(crate) struct Buffer {
    pub(crate) items: u8,
    pub(crate) capacity: u8,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Producer,
    Consumer,
}

impl System for Buffer {
    type State = (u8, u8);
    type Step = Side;
    type Event = ();

    fn initial(&self) -> (u8, u8) {
        (0, 0)
    }

    fn enabled(&self, &(made, taken): &(u8, u8), steps: &mut Vec<Side>) {
        if made < self.items && made - taken < self.capacity {
            steps.push(Side::Producer);
        }
        if taken < made {
            steps.push(Side::Consumer);
        }
    }

    fn execute(&self, state: &mut (u8, u8), side: &Side) {
        match side {
            Side::Producer => state.0 += 1,
            Side::Consumer => state.1 += 1,
        }
    }

    fn digest(&self, state: &(u8, u8)) -> Option<u128> {
        Some(digest_of(state))
    }

    fn name(&self, side: &Side) -> String {
        format!("{side:?}").to_lowercase()
    }

    // The consumer cannot act at the start, so the provided method would not know it.
    fn parse(&self, token: &str) -> Option<Side> {
        [Side::Producer, Side::Consumer].into_iter().find(|side| self.name(side) == token)
    }
}

/// Philosophers around a table who take the left fork, then the right one, eat, and put both back, for ever.
pub(crate) struct Philosophers {
    pub(crate) seats: usize,
}

/// How many forks each philosopher holds: none, the left one, or both.
pub(crate) type Table = Vec<u8>;

impl Philosophers {
    fn fork_is_free(&self, table: &Table, fork: usize) -> bool {
        // Fork i lies left of philosopher i and right of philosopher i - 1.
        let neighbour = (fork + self.seats - 1) % self.seats;
        table[fork] == 0 && table[neighbour] < 2
    }
}

impl System for Philosophers {
    type State = Table;
    type Step = usize;
    type Event = ();

    fn initial(&self) -> Table {
        vec![0; self.seats]
    }

    fn enabled(&self, table: &Table, steps: &mut Vec<usize>) {
        steps.extend((0..self.seats).filter(|&seat| match table[seat] {
            0 => self.fork_is_free(table, seat),
            1 => self.fork_is_free(table, (seat + 1) % self.seats),
            _ => true,
        }));
    }

    fn execute(&self, table: &mut Table, &seat: &usize) {
        table[seat] = (table[seat] + 1) % 3;
    }

    fn digest(&self, table: &Table) -> Option<u128> {
        Some(digest_of(table))
    }
}

/// Peterson's algorithm for mutual exclusion, or a careless variant that forgets to give way.
pub(crate) struct Peterson {
    pub(crate) gives_way: bool,
}

#[derive(Clone, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Door {
    /// 0: sets its flag; 1: gives the turn away; 2: waits; 3: inside.
    pub(crate) place: [u8; 2],
    pub(crate) flag: [bool; 2],
    pub(crate) turn: usize,
}

impl System for Peterson {
    type State = Door;
    type Step = usize;
    type Event = ();

    fn initial(&self) -> Door {
        Door::default()
    }

    fn enabled(&self, door: &Door, steps: &mut Vec<usize>) {
        steps.extend((0..2).filter(|&me| {
            let other = 1 - me;
            door.place[me] != 2 || !door.flag[other] || door.turn == me
        }));
    }

    fn execute(&self, door: &mut Door, &me: &usize) {
        match door.place[me] {
            0 => door.flag[me] = true,
            1 if self.gives_way => door.turn = 1 - me,
            1 => door.turn = me,
            2 => {}
            _ => door.flag[me] = false,
        }
        door.place[me] = (door.place[me] + 1) % 4;
    }

    fn digest(&self, door: &Door) -> Option<u128> {
        Some(digest_of(door))
    }
}

/// A clock that goes round for ever.
pub(crate) struct Clock {
    pub(crate) hours: u32,
}

impl System for Clock {
    type State = u32;
    type Step = char;
    type Event = u32;

    fn initial(&self) -> u32 {
        0
    }

    fn enabled(&self, _: &u32, steps: &mut Vec<char>) {
        steps.push('t');
    }

    fn execute(&self, hour: &mut u32, _: &char) -> u32 {
        *hour = (*hour + 1) % self.hours;
        *hour
    }

    fn digest(&self, hour: &u32) -> Option<u128> {
        Some(u128::from(*hour))
    }
}
