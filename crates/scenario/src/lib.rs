//! Scenario files as systems to explore; properties and the serial oracle.
