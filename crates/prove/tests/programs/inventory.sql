CREATE TABLE item (id int PRIMARY KEY, qty int NOT NULL, reserved int NOT NULL);

CREATE PROCEDURE reserve(i int, n int) LANGUAGE plpgsql AS $$
DECLARE r item%ROWTYPE;
BEGIN
  SELECT * INTO r FROM item WHERE id = i;
  IF NOT FOUND OR n < 0 THEN RAISE EXCEPTION 'no'; END IF;
  IF r.reserved + n <= r.qty THEN
    UPDATE item SET reserved = reserved + n WHERE id = i;
  END IF;
END $$;

CREATE PROCEDURE reserve_wrong(i int, n int) LANGUAGE plpgsql AS $$
DECLARE r item%ROWTYPE;
BEGIN
  SELECT * INTO r FROM item WHERE id = i;
  IF NOT FOUND OR n < 0 THEN RAISE EXCEPTION 'no'; END IF;
  IF r.reserved < r.qty THEN
    UPDATE item SET reserved = reserved + n WHERE id = i;
  END IF;
END $$;

--@ rule within
SELECT bool_and(reserved >= 0 AND reserved <= qty) FROM item;
--! reserve within safe
--! reserve_wrong within unsafe
