-- A thread that rolls back has read but not written; savepoints keep what came before them.
CREATE TABLE t (x int PRIMARY KEY, y int NOT NULL);
INSERT INTO t VALUES (1, 0);
--@ thread a
BEGIN;
UPDATE t SET y = 1;
SAVEPOINT s;
UPDATE t SET y = 2;
ROLLBACK TO s;
COMMIT;
--@ thread b
BEGIN;
UPDATE t SET y = y + 10;
ROLLBACK;
SELECT y FROM t;
--@ invariant never_two
SELECT y < 2 FROM t;
