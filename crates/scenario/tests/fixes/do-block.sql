-- Code of an application as a DO block, with a guard that a check by the database would be, and an ASSERT.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100), (2, 50);

--@ thread alice
DO $$
DECLARE total int;
BEGIN
  SELECT sum(balance) INTO total FROM account;
  IF total >= 100 THEN
    UPDATE account SET balance = balance - 100 WHERE id = 1;
  END IF;
END $$;

--@ thread bob
DO $$
DECLARE total int;
BEGIN
  SELECT sum(balance) INTO total FROM account;
  IF total >= 100 THEN
    UPDATE account SET balance = balance - 100 WHERE id = 2;
  END IF;
  SELECT sum(balance) INTO total FROM account;
  ASSERT total >= 0;
END $$;

--@ invariant never_overdrawn
SELECT sum(balance) >= 0 FROM account;
