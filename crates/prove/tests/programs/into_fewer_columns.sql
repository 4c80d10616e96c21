CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
CREATE PROCEDURE p(k int) LANGUAGE plpgsql AS $$
DECLARE a int; b int := 5;
BEGIN
  SELECT v INTO a, b FROM t WHERE id = k;
  UPDATE t SET v = COALESCE(b, -1) WHERE id = k;
END $$;
--@ rule r
SELECT v >= 0 FROM t;
--! p r unsafe
