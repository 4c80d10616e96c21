CREATE TABLE t (n int);

--@ thread a
EXPLAIN SELECT n FROM t;
