-- Loops over the rows of a table.
CREATE TABLE emp (id int PRIMARY KEY, sal int NOT NULL);

CREATE PROCEDURE raise_each(inc int) LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  FOR r IN SELECT id, sal FROM emp LOOP
    IF r.sal + inc <= 8000 THEN
      UPDATE emp SET sal = r.sal + inc WHERE id = r.id;
    END IF;
  END LOOP;
END $$;

CREATE PROCEDURE raise_each_wrong(inc int) LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  FOR r IN SELECT id, sal FROM emp LOOP
    IF r.sal <= 8000 THEN
      UPDATE emp SET sal = r.sal + inc WHERE id = r.id;
    END IF;
  END LOOP;
END $$;

CREATE PROCEDURE clamp_each(inc int) LANGUAGE plpgsql AS $$
DECLARE r record; s int;
BEGIN
  FOR r IN SELECT id, sal FROM emp LOOP
    s := r.sal + inc;
    IF s > 8000 THEN s := 8000; END IF;
    UPDATE emp SET sal = s WHERE id = r.id;
  END LOOP;
END $$;

--@ rule at_most
SELECT sal <= 8000 FROM emp;
--! raise_each at_most safe
--! raise_each_wrong at_most unsafe
--! clamp_each at_most safe
