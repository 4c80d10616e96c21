-- Errors that may be raised or not: both ways count.
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent, n int NOT NULL);
CREATE TABLE flag (id int PRIMARY KEY, bad boolean NOT NULL);

-- Whether somebody stands in the way of the new keys depends on the order of rows.
CREATE PROCEDURE shift_keys() LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    UPDATE flag SET id = id + 1;
  EXCEPTION WHEN unique_violation THEN
    UPDATE flag SET bad = true;
  END;
END $$;

-- That the parent is missing is not seen from the tables that the rule is about.
CREATE PROCEDURE adopt(c int, p int) LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    INSERT INTO child VALUES (c, p, 1);
  EXCEPTION WHEN foreign_key_violation THEN
    INSERT INTO child VALUES (c, NULL, -1);
  END;
END $$;

CREATE PROCEDURE adopt_well(c int, p int) LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    INSERT INTO child VALUES (c, p, 1);
  EXCEPTION WHEN foreign_key_violation THEN
    INSERT INTO child VALUES (c, NULL, 0);
  END;
END $$;

--@ rule never_bad
SELECT NOT bad FROM flag;
--@ rule not_negative
SELECT n >= 0 FROM child;
--! shift_keys never_bad unsafe
--! adopt not_negative unsafe
--! adopt_well not_negative safe
