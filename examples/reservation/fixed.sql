-- Whoever buys takes the seat in the statement that asks whether it is still held.
CREATE TABLE seat (id int PRIMARY KEY, holder text NOT NULL, held_until timestamptz NOT NULL, sold boolean NOT NULL);
CREATE TABLE ticket (seat int NOT NULL REFERENCES seat, owner text NOT NULL);
INSERT INTO seat VALUES (7, 'alice', now() + interval '10 minutes', false);

CREATE PROCEDURE buy(place int, customer text) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE seat SET sold = true WHERE id = place AND holder = customer AND held_until > now() AND NOT sold;
  IF FOUND THEN
    INSERT INTO ticket VALUES (place, customer);
  END IF;
END $$;

CREATE PROCEDURE reserve(place int, customer text) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE seat SET holder = customer, held_until = now() + interval '10 minutes'
  WHERE id = place AND held_until <= now() AND NOT sold;
END $$;

--@ clock 0s 10m

--@ thread alice autocommit
CALL buy(7, 'alice');

--@ thread bob autocommit
CALL reserve(7, 'bob');
CALL buy(7, 'bob');

--@ invariant sold_once
SELECT count(*) <= 1 FROM ticket;
