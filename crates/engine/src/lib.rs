//! The database as a value: catalog, MVCC, locks, planner, executor, sessions.
