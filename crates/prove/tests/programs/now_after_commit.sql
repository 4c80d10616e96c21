CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
CREATE PROCEDURE p(k int) LANGUAGE plpgsql AS $$
DECLARE a timestamptz := now();
BEGIN
  COMMIT;
  IF now() <> a THEN UPDATE t SET v = -1 WHERE id = k; END IF;
END $$;
--@ rule r
SELECT v >= 0 FROM t;
-- The moment of a transaction is not one that rows and arguments can choose: it is not shown, and not proved either.
--! p r unknown
