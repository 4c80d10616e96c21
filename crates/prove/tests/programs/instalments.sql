-- What a loop keeps in a variable is what is left in the row; percentages, row by row.
CREATE TABLE debt (id int PRIMARY KEY, amount int NOT NULL, paid int NOT NULL);
CREATE TABLE emp (id int PRIMARY KEY, sal int NOT NULL);

CREATE PROCEDURE instalments(d int, x int) LANGUAGE plpgsql AS $$
DECLARE rest int;
BEGIN
  IF x IS NULL OR x <= 0 THEN RAISE EXCEPTION 'no'; END IF;
  SELECT amount - paid INTO rest FROM debt WHERE id = d;
  WHILE rest >= x LOOP
    UPDATE debt SET paid = paid + x WHERE id = d;
    rest := rest - x;
  END LOOP;
END $$;

CREATE PROCEDURE instalments_wrong(d int, x int) LANGUAGE plpgsql AS $$
DECLARE rest int;
BEGIN
  IF x IS NULL OR x <= 0 THEN RAISE EXCEPTION 'no'; END IF;
  SELECT amount - paid INTO rest FROM debt WHERE id = d;
  WHILE rest > 0 LOOP
    UPDATE debt SET paid = paid + x WHERE id = d;
    rest := rest - x;
  END LOOP;
END $$;

CREATE PROCEDURE percentage_each(p int) LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  IF p < 0 OR p > 10 THEN RAISE EXCEPTION 'no'; END IF;
  FOR r IN SELECT id, sal FROM emp WHERE sal BETWEEN 0 AND 7273 LOOP
    UPDATE emp SET sal = r.sal * (100 + p) / 100 WHERE id = r.id;
  END LOOP;
END $$;

CREATE PROCEDURE percentage_each_wrong(p int) LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  IF p < 0 OR p > 10 THEN RAISE EXCEPTION 'no'; END IF;
  FOR r IN SELECT id, sal FROM emp WHERE sal BETWEEN 0 AND 7274 LOOP
    UPDATE emp SET sal = r.sal * (100 + p) / 100 WHERE id = r.id;
  END LOOP;
END $$;

--@ rule within
SELECT paid <= amount FROM debt;
--@ rule at_most
SELECT sal <= 8000 FROM emp;
--! instalments within safe
--! instalments_wrong within unsafe
--! percentage_each at_most safe
--! percentage_each_wrong at_most unsafe
