CREATE TABLE t (x int PRIMARY KEY);
--@ thread a
SELECT y FROM t;
