-- An aggregate over no rows is NULL, which is not true.
CREATE TABLE t (x int NOT NULL);
INSERT INTO t VALUES (1);
--@ thread a
DELETE FROM t;
--@ invariant positive
SELECT bool_and(x > 0) FROM t;
