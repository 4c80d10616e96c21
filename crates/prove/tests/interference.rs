//! Procedures that are safe alone and not together.

#![allow(clippy::unwrap_used)]

mod support;

use isolde_prove::Limits;
use isolde_prove::interference::{Together, interference};
use isolde_smt::Solver;

const TEXT: &str = "
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
CREATE PROCEDURE withdraw(acc int, amount int) LANGUAGE plpgsql AS $$
DECLARE b int;
BEGIN
  SELECT balance INTO b FROM account WHERE id = acc;
  IF amount > 0 AND b >= amount THEN
    UPDATE account SET balance = balance - amount WHERE id = acc;
  END IF;
END $$;
CREATE PROCEDURE locked(acc int, amount int) LANGUAGE plpgsql AS $$
DECLARE b int;
BEGIN
  SELECT balance INTO b FROM account WHERE id = acc FOR UPDATE;
  IF amount > 0 AND b >= amount THEN
    UPDATE account SET balance = balance - amount WHERE id = acc;
  END IF;
END $$;
CREATE PROCEDURE at_once(acc int, amount int) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE account SET balance = balance - amount WHERE id = acc AND amount > 0 AND balance >= amount;
END $$;
CREATE PROCEDURE dynamic() LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE 'UPDATE account SET balance = 0';
END $$;
--@ rule not_negative
SELECT balance >= 0 FROM account;
";

#[test]
fn two_withdrawals_are_one_too_many() {
    let Ok(solver) = Solver::from_environment() else {
        eprintln!("skipped: there is no solver (install z3)");
        return;
    };
    let loaded = support::load(TEXT);
    let id = |name: &str| loaded.program.catalog().routines_by_name(name).next().unwrap().0;
    let rule = &loaded.program.rules[0];
    let together = |a, b| interference(&loaded.program, (id(a), id(b)), rule, &solver, &Limits::default()).unwrap();
    let Together::Found(found) = together("withdraw", "withdraw") else { panic!("two withdrawals") };
    assert_eq!(found.outcome, "false");
    assert!(found.scenario.contains("--@ thread two\nCALL withdraw("), "{}", found.scenario);
    assert!(matches!(together("withdraw", "at_once"), Together::Found(_)));
    assert_eq!(together("locked", "locked"), Together::Nothing);
    assert_eq!(together("at_once", "withdraw"), Together::Nothing);
    // What is not modelled is said, with its place.
    let Together::Open(refusal) = together("withdraw", "dynamic") else { panic!("EXECUTE is not modelled") };
    assert_eq!(refusal.what, "not modelled: dynamic SQL (EXECUTE)");
    assert_eq!(loaded.program.line(refusal.span.unwrap()), 25);
}
