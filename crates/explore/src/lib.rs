//! Transition systems and the one loop that searches them.
