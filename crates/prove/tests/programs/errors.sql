-- Handlers: rows go back to what they were, variables do not.
CREATE TABLE stock (id int PRIMARY KEY, n int NOT NULL CHECK (n >= 0), sold int NOT NULL);
CREATE TABLE sale (id int PRIMARY KEY, stock int NOT NULL, n int NOT NULL);

CREATE PROCEDURE sell(i int, k int) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE stock SET n = n - k, sold = sold + k WHERE id = i;
EXCEPTION WHEN check_violation THEN
  RAISE NOTICE 'not enough';
END $$;

CREATE PROCEDURE sell_partly(i int, k int) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE stock SET sold = sold + k WHERE id = i;
  BEGIN
    UPDATE stock SET n = n - k WHERE id = i;
  EXCEPTION WHEN check_violation THEN
    RAISE NOTICE 'not enough';
  END;
END $$;

CREATE PROCEDURE once(s int, i int, k int) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO sale VALUES (s, i, k);
  UPDATE stock SET n = n - k, sold = sold + k WHERE id = i;
EXCEPTION
  WHEN unique_violation THEN NULL;
END $$;

CREATE PROCEDURE divided(i int, k int) LANGUAGE plpgsql AS $$
DECLARE x int := 0;
BEGIN
  BEGIN
    x := 100 / k;
  EXCEPTION WHEN division_by_zero THEN
    x := 1;
  END;
  IF x = 0 AND k = 0 THEN
    UPDATE stock SET sold = sold + 1 WHERE id = i;
  END IF;
END $$;

CREATE FUNCTION half(x int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  RETURN x / 2;
END $$;

CREATE PROCEDURE sell_half(i int, k int) LANGUAGE plpgsql AS $$
DECLARE h int;
BEGIN
  h := half(k);
  CALL sell(i, h + half(k + 1));
END $$;

--@ rule nothing_lost
SELECT n + sold = 100 FROM stock;
--! sell nothing_lost safe
--! sell_partly nothing_lost unsafe
--! once nothing_lost safe
--! divided nothing_lost safe
--! half nothing_lost safe
--! sell_half nothing_lost safe
