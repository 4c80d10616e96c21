-- A loop over more columns than it has variables, and over fewer: columns are dropped, variables become NULL.
CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL);
CREATE PROCEDURE more(k int) LANGUAGE plpgsql AS $$
DECLARE x int;
BEGIN
  FOR x IN SELECT a, id FROM t WHERE id >= k LOOP
    UPDATE t SET a = x WHERE id = k;
  END LOOP;
END $$;
CREATE PROCEDURE fewer(k int) LANGUAGE plpgsql AS $$
DECLARE x int; y int := 1;
BEGIN
  FOR x, y IN SELECT a FROM t WHERE id = k LOOP
    UPDATE t SET a = COALESCE(y, -1) WHERE id = k;
  END LOOP;
END $$;
CREATE PROCEDURE none(k int) LANGUAGE plpgsql AS $$
DECLARE x int := 1;
BEGIN
  FOR x IN SELECT a FROM t WHERE id = k LOOP
    NULL;
  END LOOP;
  UPDATE t SET a = -1 WHERE x IS NULL;
END $$;
--@ rule r
SELECT a >= 0 FROM t;
--! more r safe
--! fewer r unsafe
--! none r unsafe
