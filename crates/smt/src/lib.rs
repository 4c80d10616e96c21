//! Terms over sorts, printed as SMT-LIB 2, and solvers that answer.
//!
//! A question is a [`Script`](https://smt-lib.org): sorts, functions and assertions, kept as values so that it can be looked at,
//! simplified and printed. Who answers it is a program found at run time (`z3`, `cvc5`), spoken to over a pipe.
//!
//! What is *absent*: nothing here knows what the terms mean. A solver that is missing, crashes, does not know or takes too
//! long is an answer of its own, never "unsatisfiable".
