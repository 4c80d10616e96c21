-- A client that goes away in the middle of its transaction leaves nothing behind.
CREATE TABLE t (x int NOT NULL);
INSERT INTO t VALUES (1);
--@ thread a
BEGIN;
UPDATE t SET x = 2;
--@ thread b
UPDATE t SET x = x + 10;
--@ final untouched
SELECT x = 1 FROM t;
