-- Cash from a machine, after "(Towards) A Symbolic Model Checker for Database Programs": an account must keep a minimum balance of
-- 1000. The first procedure has the paper's guard, the second forgets the minimum, the third reads an account that may not be there.
--   isolde prove examples/atm/withdraw.sql
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);

CREATE PROCEDURE withdraw(acc int, amount int) LANGUAGE plpgsql AS $$
DECLARE
  minimum int := 1000;
  bal int;
BEGIN
  SELECT balance INTO bal FROM account WHERE id = acc;
  IF amount > 0 AND amount <= 10000 THEN
    IF bal - amount >= minimum THEN
      UPDATE account SET balance = balance - amount WHERE id = acc;
    END IF;
  END IF;
END $$;

CREATE PROCEDURE withdraw_all(acc int, amount int) LANGUAGE plpgsql AS $$
DECLARE
  bal int;
BEGIN
  SELECT balance INTO bal FROM account WHERE id = acc;
  IF amount > 0 AND amount <= 10000 THEN
    IF amount <= bal THEN
      UPDATE account SET balance = balance - amount WHERE id = acc;
    END IF;
  END IF;
END $$;

CREATE PROCEDURE withdraw_or_raise(acc int, amount int) LANGUAGE plpgsql AS $$
DECLARE
  bal int;
BEGIN
  SELECT balance INTO STRICT bal FROM account WHERE id = acc;
  IF amount <= 0 OR bal - amount < 1000 THEN
    RAISE EXCEPTION 'not enough money';
  END IF;
  UPDATE account SET balance = bal - amount WHERE id = acc;
END $$;

--@ rule minimum_balance
SELECT balance >= 1000 FROM account;
