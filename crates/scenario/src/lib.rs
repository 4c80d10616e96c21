//! Scenario files as systems to explore; properties and the serial oracle.

mod error;
pub mod file;

pub use error::ScenarioError;
