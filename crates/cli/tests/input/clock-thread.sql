CREATE TABLE t (n int);
--@ clock 1 week
--@ thread a
SELECT n FROM t;
