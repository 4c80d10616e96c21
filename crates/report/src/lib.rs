//! Verdicts and traces, as text and as JSON.
