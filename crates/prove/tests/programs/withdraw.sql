-- The paper's example, with the guard it needs and three that are wrong.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
CREATE TABLE keyless (id int NOT NULL, balance int NOT NULL);

CREATE PROCEDURE right_guard(acc int, amount int) LANGUAGE plpgsql AS $$
DECLARE minimum int := 1000; bal int;
BEGIN
  SELECT balance INTO bal FROM account WHERE id = acc;
  IF amount > 0 AND amount <= 10000 THEN
    IF bal - amount >= minimum THEN
      UPDATE account SET balance = balance - amount WHERE id = acc;
    END IF;
  END IF;
END $$;

CREATE PROCEDURE wrong_guard(acc int, amount int) LANGUAGE plpgsql AS $$
DECLARE bal int;
BEGIN
  SELECT balance INTO bal FROM account WHERE id = acc;
  IF amount > 0 AND amount <= bal THEN
    UPDATE account SET balance = balance - amount WHERE id = acc;
  END IF;
END $$;

-- The paper deletes nothing but its condition speaks about itself: without guard and without update it was still "safe".
CREATE PROCEDURE no_guard(acc int, amount int) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE account SET balance = balance - amount WHERE id = acc;
END $$;

-- Without a key, the row that was read is not the only one that is written.
CREATE PROCEDURE no_key(acc int, amount int) LANGUAGE plpgsql AS $$
DECLARE bal int;
BEGIN
  SELECT balance INTO bal FROM keyless WHERE id = acc;
  IF bal - amount >= 1000 THEN
    UPDATE keyless SET balance = balance - amount WHERE id = acc;
  END IF;
END $$;

-- An account that is not there makes the guard NULL, and what is raised is not raised.
CREATE PROCEDURE null_guard(payer int, acc int, amount int) LANGUAGE plpgsql AS $$
DECLARE bal int;
BEGIN
  SELECT balance INTO bal FROM account WHERE id = payer;
  IF bal - amount < 1000 THEN
    RAISE EXCEPTION 'not enough';
  END IF;
  UPDATE account SET balance = balance - amount WHERE id = acc;
END $$;

--@ rule minimum
SELECT balance >= 1000 FROM account;
--@ rule keyless_minimum
SELECT NOT EXISTS (SELECT 1 FROM keyless WHERE balance < 1000);
--! right_guard minimum safe
--! wrong_guard minimum unsafe
--! no_guard minimum unsafe
--! no_key keyless_minimum unsafe
--! no_key minimum safe
--! null_guard minimum unsafe
