CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);

-- A fee, taken several times from everybody who has it.
CREATE PROCEDURE fees(n int, fee int) LANGUAGE plpgsql AS $$
DECLARE i int := 0;
BEGIN
  IF fee IS NULL OR fee < 0 THEN RAISE EXCEPTION 'no'; END IF;
  WHILE i < n LOOP
    UPDATE account SET balance = balance - fee WHERE balance >= fee;
    i := i + 1;
  END LOOP;
END $$;

CREATE PROCEDURE fees_wrong(n int, fee int) LANGUAGE plpgsql AS $$
DECLARE i int := 0;
BEGIN
  IF fee IS NULL OR fee < 0 THEN RAISE EXCEPTION 'no'; END IF;
  WHILE i < n LOOP
    UPDATE account SET balance = balance - fee WHERE balance >= i;
    i := i + 1;
  END LOOP;
END $$;

-- Paying in instalments: the balance is read again each time, or once.
CREATE PROCEDURE pay(acc int, x int, n int) LANGUAGE plpgsql AS $$
DECLARE b int;
BEGIN
  FOR i IN 1..n LOOP
    SELECT balance INTO b FROM account WHERE id = acc;
    IF b >= x THEN
      UPDATE account SET balance = balance - x WHERE id = acc;
    END IF;
  END LOOP;
END $$;

CREATE PROCEDURE pay_stale(acc int, x int, n int) LANGUAGE plpgsql AS $$
DECLARE b int;
BEGIN
  SELECT balance INTO b FROM account WHERE id = acc;
  FOR i IN 1..n LOOP
    IF b >= x THEN
      UPDATE account SET balance = balance - x WHERE id = acc;
    END IF;
  END LOOP;
END $$;

-- All money to one account: what the loop needs to know is about other rows than the one it writes.
CREATE PROCEDURE sweep(target int) LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  FOR r IN SELECT id FROM account LOOP
    UPDATE account SET balance = balance + (SELECT balance FROM account WHERE id = r.id) WHERE id = target AND id <> r.id;
    UPDATE account SET balance = 0 WHERE id = r.id AND id <> target;
  END LOOP;
END $$;

CREATE PROCEDURE drain(acc int) LANGUAGE plpgsql AS $$
DECLARE b int;
BEGIN
  LOOP
    SELECT balance INTO b FROM account WHERE id = acc;
    EXIT WHEN NOT FOUND OR b < 10;
    UPDATE account SET balance = balance - 10 WHERE id = acc;
  END LOOP;
END $$;

--@ rule not_negative
SELECT balance >= 0 FROM account;
--! fees not_negative safe
--! fees_wrong not_negative unsafe
--! pay not_negative safe
--! pay_stale not_negative unsafe
--! sweep not_negative safe
--! drain not_negative safe
