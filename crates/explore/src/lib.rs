//! Transition systems and the one loop that searches them.
//!
//! Two workers share a counter. Each reads it, adds one and writes the sum back: two steps, and the other worker may
//! act between them. Can the counter end at one although two workers incremented it? A [`System`] says what there is
//! to explore with three methods: where it starts, which steps are possible, and what a step does.
//!
//! ```
//! use isolde_explore::{Search, Strategy, System, Visit, on_leaf};
//! use std::ops::ControlFlow;
//!
//! struct Increments;
//!
//! #[derive(Clone, Default)]
//! struct Shop {
//!     counter: u32,
//!     read: [Option<u32>; 2], // what each worker has read
//!     done: [bool; 2],
//! }
//!
//! impl System for Increments {
//!     type State = Shop;
//!     type Step = usize; // which worker acts
//!     type Event = ();
//!
//!     fn initial(&self) -> Shop {
//!         Shop::default()
//!     }
//!
//!     fn enabled(&self, shop: &Shop, steps: &mut Vec<usize>) {
//!         steps.extend((0..2).filter(|&worker| !shop.done[worker]));
//!     }
//!
//!     fn execute(&self, shop: &mut Shop, &worker: &usize) {
//!         match shop.read[worker] {
//!             None => shop.read[worker] = Some(shop.counter),
//!             Some(read) => {
//!                 shop.counter = read + 1;
//!                 shop.done[worker] = true;
//!             }
//!         }
//!     }
//! }
//!
//! // Breadth first, so that the first counterexample is a shortest one.
//! let search = Search { strategy: Strategy::Breadth, ..Search::default() };
//! let mut counterexample = None;
//! let summary = search.run(&Increments, &mut on_leaf(|at: &Visit<Increments>| {
//!     if at.state.counter == 2 {
//!         return ControlFlow::Continue(());
//!     }
//!     counterexample = Some(at.schedule().line(at.system));
//!     ControlFlow::Break(())
//! }));
//! assert_eq!(counterexample.as_deref(), Some("0 1 0 1")); // both read before either writes
//! assert!(!summary.is_complete()); // we stopped it, so it proves nothing about the rest
//!
//! // All six interleavings: four of them lose an increment.
//! let mut lost = 0;
//! let summary = Search::default().run(&Increments, &mut on_leaf(|at: &Visit<Increments>| {
//!     lost += u32::from(at.state.counter != 2);
//!     ControlFlow::Continue(())
//! }));
//! assert!(summary.is_complete());
//! assert_eq!((summary.leaves, lost), (6, 4));
//! ```
//!
//! # How it is built
//!
//! There is one loop, in `search.rs`: take a step from the frontier, execute it, show the result to the [`Visitor`],
//! ask for the steps that are enabled next, and give them to the frontier. What varies is data:
//!
//! * the *frontier* decides which step comes next ([`Strategy`]: depth first, breadth first, one run of each class of
//!   equivalent ones, random walks; [`replay`] is one more, which reads its choices from a [`Schedule`]);
//! * *matching* decides whether a state that was seen before is explored again ([`Matching`]);
//! * *limits* decide when to give up ([`Limits`]), and a search that gave up says so ([`Completeness`]).
//!
//! Absent on purpose: this crate knows no database, reads no clock and prints nothing. It starts threads only where it
//! is asked to, by [`Search::run_jobs`]. A caller
//! that wants a time limit or a progress bar answers [`Visitor::progress`].

mod dpor;
mod estimate;
mod frontier;
mod graph;
mod outlook;
mod schedule;
mod search;
mod system;
mod visit;

pub use dpor::Reduction;
pub use dpor::checkpoint::{Checkpoint, Mismatch};
pub use frontier::Restore;
pub use isolde_digest::{Digester, digest_of};
pub use outlook::{Outlook, Prospect};
pub use schedule::{NotEnabled, ParseError, ParseProblem, Schedule, replay};
pub use search::{Completeness, Done, Limit, Limits, Matching, Search, Strategy, Summary, Times};
pub use system::{System, Undo};
pub use visit::{Progress, Visit, Visitor, on_leaf, on_state};
