CREATE TABLE t (n int);

--@ thread a
INSERT INTO t VALUES (1);

--@ invariant small
SELECT n FROM t;
