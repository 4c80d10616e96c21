CREATE TABLE t (id int PRIMARY KEY);
INSERT INTO t VALUES (1), (1);

--@ thread a
SELECT id FROM t;
