//! Which states are known: numbers, found by the hash of the state that they stand for.
//!
//! The states themselves are in a list; this holds four bytes for each, so ten million states of 64 bits take some two hundred
//! megabytes in all. Open addressing, linear probing, at most three quarters full.

/// Numbers of states.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// A number plus one; 0 is free.
    cells: Vec<u32>,
    count: usize,
}

impl Table {
    /// The number for which it is true.
    pub(super) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        if self.cells.is_empty() {
            return None;
        }
        let mask = self.cells.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.cells[at] {
                0 => return None,
                cell if is(cell - 1) => return Some(cell - 1),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Puts in a number that is not there; `hash_of` tells the hash of every number.
    pub(super) fn insert(&mut self, hash: u64, number: u32, hash_of: impl Fn(u32) -> u64) {
        if (self.count + 1) * 4 > self.cells.len() * 3 {
            self.grow((self.cells.len() * 2).max(1024), number, hash_of);
        }
        self.place(hash, number);
        self.count += 1;
    }

    /// Makes a new table of all numbers below a count.
    pub(super) fn rebuild(&mut self, count: usize, hash_of: impl Fn(u32) -> u64) {
        self.count = count;
        self.grow(self.cells.len().max(1024), count as u32, hash_of);
    }

    fn grow(&mut self, cells: usize, count: u32, hash_of: impl Fn(u32) -> u64) {
        self.cells = Vec::new();
        self.cells = vec![0; cells];
        for number in 0..count {
            self.place(hash_of(number), number);
        }
    }

    fn place(&mut self, hash: u64, number: u32) {
        let mask = self.cells.len() - 1;
        let mut at = hash as usize & mask;
        while self.cells[at] != 0 {
            at = (at + 1) & mask;
        }
        self.cells[at] = number + 1;
    }
}
