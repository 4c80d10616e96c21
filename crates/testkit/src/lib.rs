//! Golden runner, generators, mirrored engines, a throw-away PostgreSQL (tests only).
