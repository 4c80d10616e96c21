CREATE TABLE t (n int);
--@ clock 0s 10m 5m
--@ thread a
SELECT n FROM t;
