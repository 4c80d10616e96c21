-- The invariant is wrong before anything has run.
CREATE TABLE t (x int NOT NULL);
INSERT INTO t VALUES (1);
--@ thread a
UPDATE t SET x = 2;
--@ invariant positive
SELECT x > 1 FROM t;
