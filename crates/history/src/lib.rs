//! Transactions observed, their dependency graph, the anomaly's name and why.
