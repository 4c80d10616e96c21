-- The row that the client needs has been deleted.
CREATE TABLE t (x int PRIMARY KEY);
INSERT INTO t VALUES (1);
--@ thread a
SELECT x FROM t \gset
SELECT :x + 1;
--@ thread b
DELETE FROM t;
