-- Counts inside of loops, and loops inside of loops.
CREATE TABLE event (id int PRIMARY KEY, cap int NOT NULL);
CREATE TABLE booking (id int PRIMARY KEY, event int NOT NULL);
CREATE TABLE team (id int PRIMARY KEY, bonus int NOT NULL);
CREATE TABLE member (id int PRIMARY KEY, team int NOT NULL, pay int NOT NULL);

CREATE PROCEDURE book_many(first int, e int, k int) LANGUAGE plpgsql AS $$
DECLARE n bigint; c int;
BEGIN
  SELECT cap INTO STRICT c FROM event WHERE id = e;
  SELECT count(*) INTO n FROM booking WHERE event = e;
  IF n + k <= c THEN
    FOR i IN 1..k LOOP
      INSERT INTO booking VALUES (first + i, e);
    END LOOP;
  END IF;
END $$;

CREATE PROCEDURE book_many_wrong(first int, e int, k int) LANGUAGE plpgsql AS $$
DECLARE n bigint; c int;
BEGIN
  SELECT cap INTO STRICT c FROM event WHERE id = e;
  SELECT count(*) INTO n FROM booking WHERE event = e;
  IF n + k <= c + 1 THEN
    FOR i IN 1..k LOOP
      INSERT INTO booking VALUES (first + i, e);
    END LOOP;
  END IF;
END $$;

CREATE PROCEDURE pay_bonus() LANGUAGE plpgsql AS $$
DECLARE t record; m record;
BEGIN
  FOR t IN SELECT id, bonus FROM team LOOP
    FOR m IN SELECT id, pay FROM member WHERE team = t.id LOOP
      IF t.bonus > 0 AND m.pay + t.bonus <= 9000 THEN
        UPDATE member SET pay = m.pay + t.bonus WHERE id = m.id;
      END IF;
    END LOOP;
  END LOOP;
END $$;

CREATE PROCEDURE pay_bonus_wrong() LANGUAGE plpgsql AS $$
DECLARE t record; m record;
BEGIN
  FOR t IN SELECT id, bonus FROM team LOOP
    FOR m IN SELECT id, pay FROM member WHERE team = t.id LOOP
      IF t.bonus > 0 AND m.pay <= 9000 THEN
        UPDATE member SET pay = m.pay + t.bonus WHERE id = m.id;
      END IF;
    END LOOP;
  END LOOP;
END $$;

--@ rule within_capacity
SELECT cap >= (SELECT count(*) FROM booking b WHERE b.event = e.id) FROM event e;
--@ rule at_most
SELECT pay <= 9000 FROM member;
--! book_many within_capacity safe
--! book_many_wrong within_capacity unsafe
--! pay_bonus at_most safe
--! pay_bonus_wrong at_most unsafe
