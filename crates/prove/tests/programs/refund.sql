CREATE TABLE payment (id int PRIMARY KEY, amount int NOT NULL, refunded int NOT NULL);
CREATE TABLE log (id int PRIMARY KEY, payment int NOT NULL, before int NOT NULL, delta int NOT NULL, after int NOT NULL);

CREATE PROCEDURE refund_any(p int, x int) LANGUAGE plpgsql AS $$
DECLARE r payment%ROWTYPE;
BEGIN
  SELECT * INTO STRICT r FROM payment WHERE id = p;
  IF r.refunded + x > r.amount THEN RAISE EXCEPTION 'too much'; END IF;
  UPDATE payment SET refunded = refunded + x WHERE id = p;
END $$;

CREATE PROCEDURE refund(p int, x int) LANGUAGE plpgsql AS $$
DECLARE r payment%ROWTYPE;
BEGIN
  IF x IS NULL OR x <= 0 THEN RAISE EXCEPTION 'no'; END IF;
  SELECT * INTO STRICT r FROM payment WHERE id = p;
  IF r.refunded + x > r.amount THEN RAISE EXCEPTION 'too much'; END IF;
  UPDATE payment SET refunded = refunded + x WHERE id = p;
END $$;

CREATE PROCEDURE logged(l int, p int, x int) LANGUAGE plpgsql AS $$
DECLARE old int;
BEGIN
  SELECT refunded INTO STRICT old FROM payment WHERE id = p;
  UPDATE payment SET refunded = refunded + x WHERE id = p;
  INSERT INTO log VALUES (l, p, old, x, old + x);
END $$;

CREATE PROCEDURE logged_late(l int, p int, x int) LANGUAGE plpgsql AS $$
DECLARE old int; new int;
BEGIN
  UPDATE payment SET refunded = refunded + x WHERE id = p;
  SELECT refunded INTO STRICT old FROM payment WHERE id = p;
  UPDATE payment SET refunded = refunded WHERE id = p RETURNING refunded INTO new;
  INSERT INTO log VALUES (l, p, old, x, new);
END $$;

--@ rule within
SELECT refunded >= 0 AND refunded <= amount FROM payment;
--@ rule log_adds_up
SELECT after = before + delta FROM log;
--! refund_any within unsafe
--! refund within safe
--! logged log_adds_up safe
--! logged_late log_adds_up unsafe
