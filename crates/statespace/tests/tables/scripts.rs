//! Scripts for engines that are not linked, as text. What they find when they are run (720 and 20 states) is checked by
//! hand.

use expect_test::expect_file;
use isolde_statespace::sql::{Dialect, script};

use crate::programs::{hour_clock, mutex};

#[test]
fn spark_goes_level_by_level() {
    expect_file!["golden/HourClock.spark.sql"].assert_eq(&script(&hour_clock(), Dialect::Spark));
    expect_file!["golden/Lock.spark.sql"].assert_eq(&script(&mutex(3), Dialect::Spark));
}

#[test]
fn others_take_one_statement() {
    expect_file!["golden/HourClock.duckdb.sql"].assert_eq(&script(&hour_clock(), Dialect::Duckdb));
    expect_file!["golden/HourClock.postgres.sql"].assert_eq(&script(&hour_clock(), Dialect::Postgres));
    expect_file!["golden/Lock.sqlite.sql"].assert_eq(&script(&mutex(3), Dialect::Sqlite));
}
