-- A cycle that needs three: each reads what the next one writes.
CREATE TABLE light (name text PRIMARY KEY, lit boolean NOT NULL);
INSERT INTO light VALUES ('a', false), ('b', false), ('c', false);
CREATE PROCEDURE turn_on(mine text, other text) LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (SELECT lit FROM light WHERE name = other) THEN
    UPDATE light SET lit = true WHERE name = mine;
  END IF;
END $$;
--@ thread a
CALL turn_on('a', 'b');
--@ thread b
CALL turn_on('b', 'c');
--@ thread c
CALL turn_on('c', 'a');
--@ final not_all
SELECT NOT bool_and(lit) FROM light;
