-- A handler inside of BEGIN undoes what failed, also in a thread whose routines commit each statement elsewhere.
CREATE TABLE t (id int PRIMARY KEY, a int);
INSERT INTO t VALUES (2, 20), (3, 30);
CREATE PROCEDURE tries(x int) LANGUAGE plpgsql AS $$ BEGIN
  BEGIN INSERT INTO t VALUES (x, 1);
  EXCEPTION WHEN OTHERS THEN UPDATE t SET a = a + 5 WHERE id = 2; END; END $$;
--@ thread t1 autocommit
BEGIN;
CALL tries(3);
COMMIT;
--@ final one
SELECT count(*) = 1 FROM t WHERE id = 3;
