//! What may be said about how much is left: an estimate that moves is no more than a bound.
//!
//! The [estimate](crate::estimate) of a single moment jumps about, because it is a product of guesses on the way to
//! where the search happens to stand. What it says over a while tells more. So the estimates are kept, as numbers of
//! steps that everything would take: of the last three quarters of the work so far, to see whether they rise, and of
//! the second half, to see where they are.
//!
//! ```text
//!   still rising, more than a little    new branches turn up all the time: at most so much is done,
//!                                       by the lowest of them
//!   all within a factor of 3            between so much and so much is done
//!   otherwise                           nothing can be said
//! ```
//!
//! For a search that has no estimate, because it recognises states, it says whether what waits is growing or shrinking.

use std::collections::VecDeque;

use crate::Progress;

/// What may be said about a search under way. Shares are in millionths of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prospect {
    /// No more than this share is done; how much less is not known.
    AtMost(u32),
    /// The share that is done is between these two, as far as can be told.
    Between(u32, u32),
    /// More and more states wait to be explored.
    Growing,
    /// Fewer and fewer states wait to be explored.
    Shrinking,
}

/// What was seen of a search so far, as far as it says something about the rest.
#[derive(Clone, Debug, Default)]
pub struct Outlook {
    samples: VecDeque<Sample>,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    transitions: u64,
    /// Steps that everything would take.
    total: Option<f64>,
    pending: usize,
}

/// Estimates that differ by more say nothing.
const SPREAD_MAX: f64 = 3.0;
/// An estimate that has risen by less is settled.
const RISE_MAX: f64 = 1.5;
/// That no more than nearly everything is done says nothing.
const AT_MOST_MAX: u32 = 800_000;
/// Fewer samples say nothing.
const SAMPLES_MIN: usize = 16;
/// How much what waits must have changed to be called so.
const GROWTH_MIN: f64 = 1.1;

impl Outlook {
    /// Takes in how far the search has come, and says what may be said. Another search begins when the steps begin
    /// anew; that there are a few less than before only means that several workers report.
    pub fn look(&mut self, progress: &Progress) -> Option<Prospect> {
        let Progress { transitions, pending, .. } = *progress;
        let last = self.samples.back().map_or(0, |sample| sample.transitions);
        if transitions < last / 2 {
            self.samples.clear();
        }
        // Often enough, and never too many.
        if self.samples.is_empty() || transitions.saturating_sub(last) > transitions / 256 {
            let total =
                progress.explored_ppm.filter(|ppm| *ppm > 0).map(|ppm| transitions as f64 / f64::from(ppm) * 1e6);
            self.samples.push_back(Sample { transitions, total, pending });
            while self.samples.front().is_some_and(|sample| sample.transitions < transitions / 4) {
                self.samples.pop_front();
            }
        }
        if self.samples.len() < SAMPLES_MIN {
            return None;
        }
        match progress.explored_ppm {
            Some(_) => self.share(transitions),
            None => self.trend(pending),
        }
    }

    fn share(&self, transitions: u64) -> Option<Prospect> {
        let totals = self.samples.iter().filter_map(|sample| sample.total);
        let recent = self.samples.iter().filter(|sample| sample.transitions >= transitions / 2);
        let (least, most) = recent
            .filter_map(|sample| sample.total)
            .fold((f64::INFINITY, 0.0), |(least, most), total| (f64::min(least, total), f64::max(most, total)));
        let (first, last) = (totals.clone().next()?, totals.clone().next_back()?);
        let share = |total: f64| (transitions as f64 / total.max(transitions as f64) * 1e6) as u32;
        if last >= first * RISE_MAX && last >= most / RISE_MAX {
            let bound = share(totals.fold(least, f64::min));
            (bound <= AT_MOST_MAX).then_some(Prospect::AtMost(bound))
        } else if most <= least * SPREAD_MAX {
            Some(Prospect::Between(share(most), share(least)))
        } else {
            None
        }
    }

    fn trend(&self, pending: usize) -> Option<Prospect> {
        let (before, now) = (self.samples.front()?.pending as f64, pending as f64);
        if now > before * GROWTH_MIN {
            Some(Prospect::Growing)
        } else if before > now * GROWTH_MIN {
            Some(Prospect::Shrinking)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said at the end of a search whose estimates of the whole were these, after so many steps each.
    fn said(estimates: impl IntoIterator<Item = (u64, f64)>) -> Option<Prospect> {
        let mut outlook = Outlook::default();
        let looks = estimates.into_iter().map(|(transitions, total)| {
            let explored_ppm = Some((transitions as f64 / total * 1e6) as u32);
            outlook.look(&Progress { transitions, explored_ppm, ..Progress::default() })
        });
        looks.last().flatten()
    }

    #[test]
    fn a_settled_estimate_is_a_range() {
        let said = said((0..100).map(|i| (10_000 + 100 * i, if i % 2 == 0 { 40_000.0 } else { 50_000.0 })));
        assert!(matches!(said, Some(Prospect::Between(397_000..=398_999, 497_000..=498_999))), "{said:?}");
    }

    #[test]
    fn a_rising_estimate_is_a_bound() {
        let said = said((1..200).map(|i| (100 * i, 1000.0 * i as f64)));
        assert!(matches!(said, Some(Prospect::AtMost(395_000..=400_000))), "{said:?}");
    }

    #[test]
    fn a_jumping_estimate_is_not_told() {
        assert_eq!(said((1..200).map(|i| (100 * i, if i % 3 == 0 { 1e5 } else { 1e6 }))), None);
        // Nor one that has hardly begun, nor one of the search before.
        assert_eq!(said([(100, 1000.0), (200, 1000.0)]), None);
        assert_eq!(said((1..200).map(|i| (100 * i, 20_000.0)).chain([(1, 1000.0)])), None);
    }

    #[test]
    fn what_waits_grows_or_shrinks() {
        let said = |pending: fn(u64) -> usize| {
            let mut outlook = Outlook::default();
            let progress = |i| Progress { transitions: 100 * i, pending: pending(i), ..Progress::default() };
            (1..200).map(|i| outlook.look(&progress(i))).last().flatten()
        };
        assert_eq!(said(|i| i as usize), Some(Prospect::Growing));
        assert_eq!(said(|i| 1_000 - 4 * i as usize), Some(Prospect::Shrinking));
        assert_eq!(said(|_| 70), None);
    }
}
