//! Procedures that are safe alone and not together.

#![allow(clippy::unwrap_used)]

mod support;

use isolde_prove::Limits;
use isolde_prove::interference::interference;
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
    let found = together("withdraw", "withdraw").unwrap();
    assert_eq!(found.outcome, "false");
    assert!(found.scenario.contains("--@ thread two\nCALL withdraw("), "{}", found.scenario);
    assert!(together("withdraw", "at_once").is_some());
    assert!(together("locked", "locked").is_none());
    assert!(together("at_once", "withdraw").is_none());
}
