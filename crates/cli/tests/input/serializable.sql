CREATE TABLE t (n int);

--@ thread a isolation serializable
SELECT n FROM t;
