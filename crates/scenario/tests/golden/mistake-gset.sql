CREATE TABLE t (x int PRIMARY KEY);
--@ thread a
DELETE FROM t \gset
