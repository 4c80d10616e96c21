-- The result is written only by the worker that still has the lease, in the transaction that ends the lease.
CREATE TABLE lease (job int PRIMARY KEY, worker text, expires timestamptz NOT NULL);
CREATE TABLE result (job int NOT NULL, worker text NOT NULL);
INSERT INTO lease VALUES (1, NULL, now());

CREATE PROCEDURE take_lease(number int, me text) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE lease SET worker = me, expires = now() + interval '1 minute' WHERE job = number AND expires <= now();
END $$;

CREATE PROCEDURE deliver(number int, me text) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE lease SET expires = 'infinity' WHERE job = number AND worker = me AND expires < 'infinity';
  IF FOUND THEN
    INSERT INTO result VALUES (number, me);
  END IF;
END $$;

-- A worker that loses its lease half way has no place in a serial order; that is how leases work.
--@ option serial off
--@ clock 0s 1m

--@ thread ann
CALL take_lease(1, 'ann');
CALL deliver(1, 'ann');

--@ thread ben
CALL take_lease(1, 'ben');
CALL deliver(1, 'ben');

--@ invariant done_once
SELECT count(*) <= 1 FROM result;
