-- Two clerks look for a booking that overlaps, and both find none.
CREATE TABLE booking (id serial PRIMARY KEY, room int NOT NULL, starts timestamp NOT NULL, ends timestamp NOT NULL);
CREATE PROCEDURE book(r int, s timestamp, e timestamp) LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM booking WHERE room = r AND starts < e AND ends > s) THEN
    INSERT INTO booking (room, starts, ends) VALUES (r, s, e);
  END IF;
END $$;
--@ thread ann
CALL book(1, '2025-01-01 10:00', '2025-01-01 12:00');
--@ thread ben
CALL book(1, '2025-01-01 11:00', '2025-01-01 13:00');
--@ invariant no_overlap
SELECT NOT EXISTS (SELECT 1 FROM booking a JOIN booking b ON a.room = b.room AND a.id < b.id AND a.starts < b.ends AND a.ends > b.starts);
