-- The look is a count, and somebody else's code inserts too.
CREATE TABLE tag (name text NOT NULL);

CREATE PROCEDURE add_tag(given text) LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
  SELECT count(*) INTO n FROM tag WHERE name = given;
  IF n = 0 THEN
    INSERT INTO tag VALUES (given);
  END IF;
END $$;

--@ thread a
CALL add_tag('new');
--@ thread b
CALL add_tag('new');

--@ final once
SELECT count(*) = 1 FROM tag;
