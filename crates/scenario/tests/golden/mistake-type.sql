CREATE TABLE t (x int PRIMARY KEY);
--@ thread a
INSERT INTO t VALUES (true);
