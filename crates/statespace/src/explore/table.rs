//! Which states are known.
//!
//! Nearly every step leads to a state that is known already, so what counts is how fast that is seen. The cells hold
//! the states themselves: one look into memory says whether it is the same state, and exactly, since a state is an
//! integer. Open addressing, linear probing, at most three quarters full; ten million states of 64 bits take 134
//! megabytes.
//!
//! Looks into a large table wait for memory. [`Table::look`] takes many at once, none of which depends on another, so
//! that the processor waits for all of them together.

use super::Word;

/// States, and their numbers if they are asked for.
#[derive(Debug)]
pub(super) struct Table<W> {
    /// A state, or [`Word::FREE`].
    cells: Vec<W>,
    /// The number of the state in each cell; none, if nobody asks.
    numbers: Vec<u32>,
    numbered: bool,
    /// The number of the one state that looks like a free cell.
    like_free: Option<u32>,
    count: usize,
}

const CELLS_MIN: usize = 1024;

impl<W: Word> Table<W> {
    /// An empty table; whether it is to know the numbers of states.
    pub(super) fn new(numbered: bool) -> Table<W> {
        let mut table = Table { cells: Vec::new(), numbers: Vec::new(), numbered, like_free: None, count: 0 };
        table.clear(CELLS_MIN);
        table
    }

    /// Which of these are certainly known; of the others, most are not.
    pub(super) fn look(&self, steps: &[(u32, W)], known: &mut Vec<bool>) {
        let mask = self.cells.len() - 1;
        let at_home = |state: W| (self.cells[state.mixed() as usize & mask] == state) & (state != W::FREE);
        known.clear();
        known.extend(steps.iter().map(|(_, state)| at_home(*state)));
    }

    /// Whether a state is known.
    pub(super) fn has(&self, state: W) -> bool {
        match state == W::FREE {
            true => self.like_free.is_some(),
            false => self.cells[self.cell(state)] == state,
        }
    }

    /// The number of a state.
    pub(super) fn number(&self, state: W) -> Option<u32> {
        if state == W::FREE {
            return self.like_free;
        }
        let cell = self.cell(state);
        (self.cells[cell] == state).then(|| self.numbers[cell])
    }

    /// Puts in the state that comes next; all of them are in this list, by number.
    pub(super) fn insert(&mut self, states: &[W]) {
        let Some((&state, before)) = states.split_last() else { return };
        if (self.count + 1) * 4 > self.cells.len() * 3 {
            self.fill(self.cells.len() * 2, before);
        }
        self.place(state, before.len() as u32);
    }

    /// Makes a new table of these states.
    pub(super) fn rebuild(&mut self, states: &[W]) {
        self.fill(self.cells.len(), states);
    }

    fn fill(&mut self, cells: usize, states: &[W]) {
        self.clear(cells);
        for (number, state) in states.iter().enumerate() {
            self.place(*state, number as u32);
        }
    }

    fn clear(&mut self, cells: usize) {
        // What was there goes first: two tables at once would be the peak of all memory.
        (self.cells, self.numbers) = (Vec::new(), Vec::new());
        self.cells = vec![W::FREE; cells];
        self.numbers = vec![0; if self.numbered { cells } else { 0 }];
        (self.count, self.like_free) = (0, None);
    }

    /// Where a state is, or would be.
    fn cell(&self, state: W) -> usize {
        let mask = self.cells.len() - 1;
        let mut at = state.mixed() as usize & mask;
        while self.cells[at] != state && self.cells[at] != W::FREE {
            at = (at + 1) & mask;
        }
        at
    }

    fn place(&mut self, state: W, number: u32) {
        self.count += 1;
        if state == W::FREE {
            self.like_free = Some(number);
            return;
        }
        let cell = self.cell(state);
        self.cells[cell] = state;
        if self.numbered {
            self.numbers[cell] = number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also the state that looks like a free cell, and with more states than there were cells.
    #[test]
    fn what_was_put_in_is_there() {
        let all: Vec<u64> = (0..3000u64).map(|n| n * n).chain([u64::FREE]).collect();
        let mut table = Table::new(true);
        for end in 0..all.len() {
            assert!(!table.has(all[end]));
            table.insert(&all[..=end]);
        }
        for (number, state) in all.iter().enumerate() {
            assert_eq!(table.number(*state), Some(number as u32));
        }
        assert!(!table.has(2) && table.number(2).is_none());
    }
}
