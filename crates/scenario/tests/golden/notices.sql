-- What RAISE says is seen by the client.
CREATE TABLE t (x int NOT NULL);
INSERT INTO t VALUES (1);
--@ thread a
DO $$
DECLARE v int;
BEGIN
  SELECT x INTO v FROM t;
  RAISE NOTICE 'x is %', v;
  SELECT x INTO v FROM t;
  RAISE WARNING 'now x is %', v;
END $$;
--@ thread b
UPDATE t SET x = x + 1;
