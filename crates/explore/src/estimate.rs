//! How much of a search is done, as far as that can be told from where it stands.
//!
//! A depth-first search stands on a path. At each place of the path some branches are done, one is being followed, some
//! are still to be tried. How large the last are is not known; the best guess is that they are like the others there.
//! So from the deepest place upwards, where `work` is the steps taken below the branches that are done:
//!
//! ```text
//!   size of a place = (work + sizes of the branches being followed) * (branches taken + branches left) / branches taken
//! ```
//!
//! and the share that is done is all work over the size of the first place. (The recursive estimator of Kilby, Slaney,
//! Thiébaux and Walsh: Estimating Search Tree Size, AAAI 2006; several workers follow several branches at once, so here
//! the sizes of branches are summed.) No size is below the work done in it, so the share is never above 1; when nothing
//! is left it is 1.
//!
//! It is a guess. A [reduction](crate::dpor) learns of branches as it goes, so early on it knows of too few and the
//! share is too large; later branches are smaller than earlier ones, because much of them was seen, and then it is too
//! small. What can be relied on is said by the tests beside this crate: within a factor of 2 at half time. A caller who
//! shows it should wait until it has settled.

use std::collections::BTreeMap;

/// A place on a path, and what was done there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Names the place among all those at its depth, on whatever path.
    pub(crate) id: usize,
    /// Steps taken below branches that are done, by whoever is on this path.
    pub(crate) work: u64,
    /// The same by those who were here and have left.
    pub(crate) work_before: u64,
    /// Branches that are done or being followed.
    pub(crate) taken: usize,
    /// Branches that nobody has begun.
    pub(crate) left: usize,
}

/// What is known of one place from all paths through it.
struct Known {
    place: Place,
    above: Option<usize>,
    /// Of the branches being followed: how large they are, and how much is done of them.
    size: f64,
    done: f64,
}

/// The share that is done of the search that stands on these paths, all of which begin at the same place.
pub(crate) fn share_done(paths: &[&[Place]]) -> f64 {
    let (size, done) = match paths {
        [path] => path.iter().rev().fold((0.0, 0.0), |below, place| around(place, below)),
        _ => together(paths),
    };
    // Before the first step nothing is known, and nothing is done; with no place left, everything is.
    if paths.iter().all(|path| path.is_empty()) {
        1.0
    } else if size > 0.0 {
        done / size
    } else {
        0.0
    }
}

/// Size of a place and what is done of it, from those of the branches being followed.
fn around(place: &Place, (size, done): (f64, f64)) -> (f64, f64) {
    let work = (place.work + place.work_before) as f64;
    let taken = place.taken.max(1) as f64;
    ((work + size) * (taken + place.left as f64) / taken, work + done)
}

/// The same for several paths: each place counts once, from the deepest to the first.
fn together(paths: &[&[Place]]) -> (f64, f64) {
    let mut known: BTreeMap<(usize, usize), Known> = BTreeMap::new();
    for path in paths {
        for (depth, place) in path.iter().enumerate() {
            let above = depth.checked_sub(1).map(|above| path[above].id);
            match known.get_mut(&(depth, place.id)) {
                None => {
                    known.insert((depth, place.id), Known { place: *place, above, size: 0.0, done: 0.0 });
                }
                Some(Known { place: known, .. }) => {
                    known.work += place.work;
                    // They were not looked at in the same moment; what was taken later says more.
                    known.work_before = known.work_before.max(place.work_before);
                    known.left = if place.taken > known.taken { place.left } else { known.left };
                    known.taken = known.taken.max(place.taken);
                }
            }
        }
    }
    let mut first = (0.0, 0.0);
    while let Some(((depth, _), Known { place, above, size, done })) = known.pop_last() {
        let (size, done) = around(&place, (size, done));
        let parent = above.and_then(|above| known.get_mut(&(depth.wrapping_sub(1), above)));
        match parent {
            Some(parent) => {
                parent.size += size;
                parent.done += done;
            }
            None => first = (first.0 + size, first.1 + done),
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(id: usize, work: u64, taken: usize, left: usize) -> Place {
        Place { id, work, work_before: 0, taken, left }
    }

    #[test]
    fn nothing_left_is_all_done() {
        assert_eq!(share_done(&[&[]]), 1.0);
        assert_eq!(share_done(&[&[], &[]]), 1.0);
        assert_eq!(share_done(&[&[place(0, 10, 3, 0), place(1, 5, 2, 0)]]), 1.0);
    }

    #[test]
    fn what_is_left_is_like_what_is_done() {
        // One of four branches is done.
        assert_eq!(share_done(&[&[place(0, 10, 1, 3)]]), 0.25);
        // Of the second branch half is done: it is as large as the first.
        assert_eq!(share_done(&[&[place(0, 10, 2, 2), place(1, 5, 1, 1)]]), 15.0 / 40.0);
        assert_eq!(share_done(&[&[place(0, 0, 0, 4)]]), 0.0);
    }

    /// Two workers in the second and third of four branches, of which half is done each.
    #[test]
    fn places_on_several_paths_count_once() {
        let (root, here, there) = (place(0, 5, 3, 1), place(1, 5, 1, 1), place(2, 5, 1, 1));
        let share = share_done(&[&[root, here], &[root, there]]);
        assert_eq!(share, 20.0 / 40.0);
        // A worker that has nothing to do is nowhere.
        assert_eq!(share_done(&[&[root, here], &[]]), share_done(&[&[root, here]]));
    }
}
