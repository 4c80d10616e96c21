CREATE TABLE event (id int PRIMARY KEY, cap int NOT NULL);
CREATE TABLE booking (id int PRIMARY KEY, event int NOT NULL REFERENCES event, who text NOT NULL);

CREATE PROCEDURE book(b int, e int, who text) LANGUAGE plpgsql AS $$
DECLARE n bigint; c int;
BEGIN
  SELECT cap INTO STRICT c FROM event WHERE id = e;
  SELECT count(*) INTO n FROM booking WHERE event = e;
  IF n < c THEN
    INSERT INTO booking VALUES (b, e, who);
  END IF;
END $$;

CREATE PROCEDURE book_wrong(b int, e int, who text) LANGUAGE plpgsql AS $$
DECLARE n bigint; c int;
BEGIN
  SELECT cap INTO STRICT c FROM event WHERE id = e;
  SELECT count(*) INTO n FROM booking WHERE event = e;
  IF n <= c THEN
    INSERT INTO booking VALUES (b, e, who);
  END IF;
END $$;

CREATE PROCEDURE cancel(b int) LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM booking WHERE id = b;
END $$;

CREATE PROCEDURE shrink(e int, c int) LANGUAGE plpgsql AS $$
BEGIN
  IF c >= (SELECT count(*) FROM booking WHERE event = e) THEN
    UPDATE event SET cap = c WHERE id = e;
  END IF;
END $$;

--@ rule within_capacity
SELECT cap >= (SELECT count(*) FROM booking b WHERE b.event = e.id) FROM event e;
--! book within_capacity safe
--! book_wrong within_capacity unsafe
--! cancel within_capacity safe
--! shrink within_capacity safe
