-- A seat in a show is reserved unless it is; the key has two columns.
CREATE TABLE reservation (show int NOT NULL, seat int NOT NULL, who text NOT NULL);
CREATE TABLE mail (who text NOT NULL);

CREATE PROCEDURE reserve(given_show int, given_seat int, guest text) LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM reservation WHERE show = given_show AND seat = given_seat) THEN
    INSERT INTO reservation VALUES (given_show, given_seat, guest);
    INSERT INTO mail VALUES (guest);
  ELSE
    RAISE NOTICE 'taken';
  END IF;
END $$;

--@ thread ann
CALL reserve(1, 11, 'ann');
--@ thread ben
CALL reserve(1, 11, 'ben');

--@ invariant once
SELECT NOT EXISTS (SELECT FROM reservation GROUP BY show, seat HAVING count(*) > 1);
