CREATE TABLE emp (id int PRIMARY KEY, sal int NOT NULL);

-- Example 2 of the paper, where the bound is off by one: 7901 breaks it.
CREATE PROCEDURE raise_all() LANGUAGE plpgsql AS $$
BEGIN
  UPDATE emp SET sal = sal + 100 WHERE sal <= 7901;
END $$;

CREATE PROCEDURE raise_capped() LANGUAGE plpgsql AS $$
BEGIN
  UPDATE emp SET sal = sal + 100 WHERE sal <= 7900;
END $$;

CREATE PROCEDURE raise_least() LANGUAGE sql AS $$
  UPDATE emp SET sal = LEAST(sal + 100, 8000);
$$;

CREATE PROCEDURE percentage(p int) LANGUAGE plpgsql AS $$
BEGIN
  IF p < 0 OR p > 10 THEN RAISE EXCEPTION 'no'; END IF;
  UPDATE emp SET sal = sal * (100 + p) / 100 WHERE sal <= 7273;
END $$;

CREATE PROCEDURE percentage_wrong(p int) LANGUAGE plpgsql AS $$
BEGIN
  IF p < 0 OR p > 10 THEN RAISE EXCEPTION 'no'; END IF;
  UPDATE emp SET sal = sal * (100 + p) / 100 WHERE sal <= 7274;
END $$;

--@ rule at_most
SELECT sal <= 8000 FROM emp;
--! raise_all at_most unsafe
--! raise_capped at_most safe
--! raise_least at_most safe
--! percentage at_most safe
--! percentage_wrong at_most unsafe
