-- Each thread has its own level; BEGIN may name another one.
CREATE TABLE t (x int PRIMARY KEY, y int NOT NULL);
INSERT INTO t VALUES (1, 0);
--@ thread reader
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT y FROM t;
SELECT y FROM t;
COMMIT;
--@ thread writer isolation repeatable read
UPDATE t SET y = y + 1;
