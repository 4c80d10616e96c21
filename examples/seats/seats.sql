-- "Any free seat" gives two passengers the same one. The story is in README.md.
CREATE TABLE seat (no int PRIMARY KEY, passenger text);
CREATE TABLE ticket (seat_no int NOT NULL REFERENCES seat, passenger text NOT NULL);
INSERT INTO seat VALUES (11, NULL), (12, NULL);

CREATE PROCEDURE book(who text) LANGUAGE plpgsql AS $$
DECLARE free int;
BEGIN
  SELECT no INTO free FROM seat WHERE passenger IS NULL ORDER BY no LIMIT 1;
  IF FOUND THEN
    UPDATE seat SET passenger = who WHERE no = free;
    INSERT INTO ticket VALUES (free, who);
  END IF;
END $$;

--@ thread frank
CALL book('frank');

--@ thread grace
CALL book('grace');

--@ invariant no_seat_sold_twice
SELECT NOT EXISTS (SELECT seat_no FROM ticket GROUP BY seat_no HAVING count(*) > 1);
