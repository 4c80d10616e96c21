CREATE TABLE t (x int PRIMARY KEY);
--@ thread a
SELECT max(x) AS biggest FROM t \gset
DELETE FROM t WHERE x = :bigest;
