-- Procedures that commit on their way, and queries with names.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
CREATE TABLE branch (id int PRIMARY KEY, low int NOT NULL);

-- What is committed half way is there for all to see, even if it is put right later.
CREATE PROCEDURE in_two_steps(a int) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE account SET balance = balance - 10 WHERE id = a;
  COMMIT;
  UPDATE account SET balance = GREATEST(balance, 0) WHERE id = a;
END $$;

CREATE PROCEDURE then_commit(a int) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE account SET balance = balance - 10 WHERE id = a;
  UPDATE account SET balance = GREATEST(balance, 0) WHERE id = a;
  COMMIT;
END $$;

CREATE PROCEDURE taken_back(a int) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE account SET balance = balance - 10 WHERE id = a;
  ROLLBACK;
  UPDATE account SET balance = balance + 1 WHERE id = a;
END $$;

-- The second ROLLBACK comes back to the COMMIT, no further.
CREATE PROCEDURE taken_back_late(a int) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE account SET balance = balance - 10 WHERE id = a;
  COMMIT;
  UPDATE account SET balance = 5 WHERE id = a;
  ROLLBACK;
END $$;

CREATE PROCEDURE fails_late(a int) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE account SET balance = -1 WHERE id = a;
  COMMIT;
  RAISE EXCEPTION 'too late';
END $$;

-- Inside of a block with handlers, COMMIT is an error.
CREATE PROCEDURE handled(a int) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE account SET balance = -1 WHERE id = a;
  COMMIT;
EXCEPTION WHEN OTHERS THEN
  NULL;
END $$;

CREATE PROCEDURE batches(n int) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..n LOOP
    UPDATE account SET balance = balance + 1 WHERE id = i AND balance < 1000;
    COMMIT;
  END LOOP;
END $$;

CREATE PROCEDURE named(a int, x int) LANGUAGE plpgsql AS $$
DECLARE b int;
BEGIN
  WITH rich AS (SELECT id, balance FROM account WHERE balance >= x), mine AS (SELECT balance FROM rich WHERE id = a)
  SELECT balance INTO b FROM mine;
  IF FOUND AND x >= 0 THEN
    UPDATE account SET balance = b - x WHERE id = a;
  END IF;
END $$;

CREATE PROCEDURE named_wrong(a int, x int) LANGUAGE plpgsql AS $$
DECLARE b int;
BEGIN
  WITH mine AS (SELECT balance FROM account WHERE id = a)
  SELECT balance INTO b FROM mine WHERE balance <= x;
  IF FOUND AND x >= 0 THEN
    UPDATE account SET balance = b - x WHERE id = a;
  END IF;
END $$;

--@ rule not_negative
SELECT balance >= 0 FROM account;
--@ rule not_negative_named
WITH low AS (SELECT id FROM account WHERE balance < 0) SELECT NOT EXISTS (SELECT 1 FROM low);
--! in_two_steps not_negative unsafe
--! then_commit not_negative safe
--! taken_back not_negative safe
--! taken_back_late not_negative unsafe
--! fails_late not_negative unsafe
--! handled not_negative safe
--! batches not_negative safe
--! named not_negative safe
--! named not_negative_named safe
--! named_wrong not_negative unsafe
--! named_wrong not_negative_named unsafe
