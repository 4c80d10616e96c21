CREATE TABLE t (n int);

--@ thread a
SELECT n, rank() OVER (ORDER BY n) FROM t;
