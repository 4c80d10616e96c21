CREATE TABLE t (n int);

--@ thread a
INSERT INTO t VALUES ('it''s);
SELECT n FROM t;
