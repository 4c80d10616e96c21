CREATE TABLE t (x int);
BEGIN;
INSERT INTO t VALUES (1);
--@ thread a
SELECT x FROM t;
