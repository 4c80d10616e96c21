//! The same violation with fewer switches between the threads: easier to read, and to believe.
//!
//! Each attempt is a run on the server, so there are few of them: blocks of one thread's steps are moved next to each
//! other, the first that still breaks the property is kept, and so on until nothing helps.

/// Runs that may be spent on it.
pub(super) const ATTEMPTS: usize = 24;

/// Schedules with fewer switches than this one, made by moving one block of steps next to one of the same thread.
pub(super) fn simpler(schedule: &[usize]) -> Vec<Vec<usize>> {
    let blocks: Vec<&[usize]> = schedule.chunk_by(|a, b| a == b).collect();
    let mut found: Vec<Vec<usize>> = Vec::new();
    for from in 0..blocks.len() {
        let same = (0..blocks.len()).filter(|&to| to != from && blocks[to][0] == blocks[from][0]);
        for to in same {
            let mut order: Vec<&[usize]> = blocks.clone();
            let block = order.remove(from);
            let place = if from < to { to - 1 } else { to + 1 };
            order.insert(place, block);
            let moved = order.concat();
            if switches(&moved) < switches(schedule) && !found.contains(&moved) {
                found.push(moved);
            }
        }
    }
    found.sort_by_key(|candidate| switches(candidate));
    found
}

/// How often the next step is another thread's.
pub(super) fn switches(schedule: &[usize]) -> usize {
    schedule.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_move_together() {
        assert_eq!(switches(&[0, 1, 0, 1]), 3);
        let simpler = simpler(&[0, 1, 0, 1]);
        assert!(simpler.contains(&vec![0, 0, 1, 1]) && simpler.contains(&vec![0, 1, 1, 0]));
        assert!(simpler.iter().all(|schedule| switches(schedule) < 3));
    }
}
