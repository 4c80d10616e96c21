//! Sets of small numbers: a bit for each.

/// A set of states, or of transitions, of one graph.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct BitSet {
    words: Vec<u64>,
    len: usize,
}

impl BitSet {
    /// None of so many.
    pub fn none(len: usize) -> BitSet {
        BitSet { words: vec![0; len.div_ceil(64)], len }
    }

    /// All of so many.
    pub fn all(len: usize) -> BitSet {
        BitSet::none(len).complement()
    }

    /// Those of so many of which something is true.
    pub fn of(len: usize, mut member: impl FnMut(u32) -> bool) -> BitSet {
        let mut set = BitSet::none(len);
        for id in 0..len as u32 {
            if member(id) {
                set.insert(id);
            }
        }
        set
    }

    /// Of how many this is a subset.
    pub fn universe(&self) -> usize {
        self.len
    }

    /// Whether a number is in it.
    pub fn contains(&self, id: u32) -> bool {
        self.words[id as usize / 64] >> (id % 64) & 1 == 1
    }

    /// Puts a number in; says whether it is new.
    pub fn insert(&mut self, id: u32) -> bool {
        let word = &mut self.words[id as usize / 64];
        let bit = 1 << (id % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Takes a number out; says whether it was there.
    pub fn remove(&mut self, id: u32) -> bool {
        let word = &mut self.words[id as usize / 64];
        let bit = 1 << (id % 64);
        let there = *word & bit != 0;
        *word &= !bit;
        there
    }

    /// How many are in it.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Its members, smallest first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(place, &word)| Ones(word).map(move |bit| place as u32 * 64 + bit))
    }

    /// What is not in it.
    pub fn complement(mut self) -> BitSet {
        for word in &mut self.words {
            *word = !*word;
        }
        // Bits behind the last member stay zero, so that sets can be counted and compared.
        if let (Some(last), rest @ 1..) = (self.words.last_mut(), self.len % 64) {
            *last &= (1 << rest) - 1;
        }
        self
    }

    /// What is in both.
    pub fn and(mut self, other: &BitSet) -> BitSet {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= other);
        self
    }

    /// What is in one of them.
    pub fn or(mut self, other: &BitSet) -> BitSet {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
        self
    }
}

/// The places of the ones in a word.
struct Ones(u64);

impl Iterator for Ones {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let bit = (self.0 != 0).then(|| self.0.trailing_zeros())?;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_every_length_have_no_bits_behind_their_end() {
        for len in 0..200 {
            assert_eq!(BitSet::all(len).count(), len);
            assert_eq!(BitSet::all(len).complement(), BitSet::none(len));
            let odd = BitSet::of(len, |id| id % 2 == 1);
            assert_eq!(odd.iter().collect::<Vec<_>>(), (0..len as u32).filter(|id| id % 2 == 1).collect::<Vec<_>>());
            assert_eq!(odd.clone().or(&odd.clone().complement()), BitSet::all(len));
            assert!(odd.clone().and(&odd.complement()).is_empty());
        }
    }

    #[test]
    fn what_is_put_in_can_be_taken_out() {
        let mut set = BitSet::none(70);
        assert!(set.insert(69) && !set.insert(69) && set.contains(69));
        assert!(set.remove(69) && !set.remove(69) && set.is_empty());
    }
}
