-- A worker that was slow writes after its lease has gone to another. The story is in README.md.
CREATE TABLE lease (job int PRIMARY KEY, worker text, expires timestamptz NOT NULL);
CREATE TABLE result (job int NOT NULL, worker text NOT NULL);
INSERT INTO lease VALUES (1, NULL, now());

CREATE PROCEDURE work(number int, me text) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE lease SET worker = me, expires = now() + interval '1 minute' WHERE job = number AND expires <= now();
  IF FOUND THEN
    INSERT INTO result VALUES (number, me);
    UPDATE lease SET expires = 'infinity' WHERE job = number;
  END IF;
END $$;

--@ clock 0s 1m

--@ thread ann autocommit
CALL work(1, 'ann');

--@ thread ben autocommit
CALL work(1, 'ben');

--@ invariant done_once
SELECT count(*) <= 1 FROM result;
