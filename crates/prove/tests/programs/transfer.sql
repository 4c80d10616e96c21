CREATE TABLE account (id int PRIMARY KEY, branch int NOT NULL, balance int NOT NULL);
CREATE TABLE branch (id int PRIMARY KEY, total bigint NOT NULL);

CREATE PROCEDURE transfer(src int, dst int, amount int) LANGUAGE plpgsql AS $$
DECLARE b int;
BEGIN
  IF amount <= 0 THEN RAISE EXCEPTION 'amount must be positive'; END IF;
  SELECT balance INTO STRICT b FROM account WHERE id = src;
  IF b < amount THEN RAISE EXCEPTION 'not enough'; END IF;
  UPDATE account SET balance = balance - amount WHERE id = src;
  UPDATE account SET balance = balance + amount WHERE id = dst;
END $$;

CREATE PROCEDURE transfer_negative(src int, dst int, amount int) LANGUAGE plpgsql AS $$
DECLARE b int;
BEGIN
  SELECT balance INTO STRICT b FROM account WHERE id = src;
  IF b < amount THEN RAISE EXCEPTION 'not enough'; END IF;
  UPDATE account SET balance = balance - amount WHERE id = src;
  UPDATE account SET balance = balance + amount WHERE id = dst;
END $$;

-- The total of a branch is the sum of its accounts.
CREATE PROCEDURE move(src int, dst int, amount int) LANGUAGE plpgsql AS $$
DECLARE a account%ROWTYPE; b account%ROWTYPE;
BEGIN
  SELECT * INTO STRICT a FROM account WHERE id = src;
  SELECT * INTO STRICT b FROM account WHERE id = dst;
  IF a.branch <> b.branch THEN RAISE EXCEPTION 'other branch'; END IF;
  UPDATE account SET balance = balance - amount WHERE id = src;
  UPDATE account SET balance = balance + amount WHERE id = dst;
END $$;

CREATE PROCEDURE move_absolute(src int, dst int, amount int) LANGUAGE plpgsql AS $$
DECLARE a account%ROWTYPE; b account%ROWTYPE;
BEGIN
  SELECT * INTO STRICT a FROM account WHERE id = src;
  SELECT * INTO STRICT b FROM account WHERE id = dst;
  IF a.branch <> b.branch THEN RAISE EXCEPTION 'other branch'; END IF;
  UPDATE account SET balance = a.balance - amount WHERE id = src;
  UPDATE account SET balance = b.balance + amount WHERE id = dst;
END $$;

--@ rule not_negative
SELECT balance >= 0 FROM account;
--@ rule branch_total
SELECT total = (SELECT COALESCE(SUM(balance), 0) FROM account a WHERE a.branch = b.id) FROM branch b;
--! transfer not_negative safe
--! transfer_negative not_negative unsafe
--! move branch_total safe
--! move_absolute branch_total unsafe
