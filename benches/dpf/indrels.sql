-- IndRels: created to test POR with the relation granularity; ours: a table for each thread.
CREATE TABLE t0 (id int PRIMARY KEY, value int);
INSERT INTO t0 VALUES (1, 0);
CREATE TABLE t1 (id int PRIMARY KEY, value int);
INSERT INTO t1 VALUES (1, 0);
CREATE TABLE t2 (id int PRIMARY KEY, value int);
INSERT INTO t2 VALUES (1, 0);

--@ thread t1
UPDATE t0 SET value = 1 WHERE id = 1;
UPDATE t0 SET value = 2 WHERE id = 1;
UPDATE t0 SET value = 3 WHERE id = 1;
UPDATE t0 SET value = 4 WHERE id = 1;
UPDATE t0 SET value = 5 WHERE id = 1;
UPDATE t0 SET value = 6 WHERE id = 1;
UPDATE t0 SET value = 7 WHERE id = 1;
UPDATE t0 SET value = 8 WHERE id = 1;
UPDATE t0 SET value = 9 WHERE id = 1;

--@ thread t2
UPDATE t1 SET value = 1 WHERE id = 1;
UPDATE t1 SET value = 2 WHERE id = 1;
UPDATE t1 SET value = 3 WHERE id = 1;
UPDATE t1 SET value = 4 WHERE id = 1;
UPDATE t1 SET value = 5 WHERE id = 1;
UPDATE t1 SET value = 6 WHERE id = 1;
UPDATE t1 SET value = 7 WHERE id = 1;
UPDATE t1 SET value = 8 WHERE id = 1;
UPDATE t1 SET value = 9 WHERE id = 1;

--@ thread t3
UPDATE t2 SET value = 1 WHERE id = 1;
UPDATE t2 SET value = 2 WHERE id = 1;
UPDATE t2 SET value = 3 WHERE id = 1;
UPDATE t2 SET value = 4 WHERE id = 1;
UPDATE t2 SET value = 5 WHERE id = 1;
UPDATE t2 SET value = 6 WHERE id = 1;
UPDATE t2 SET value = 7 WHERE id = 1;
UPDATE t2 SET value = 8 WHERE id = 1;
UPDATE t2 SET value = 9 WHERE id = 1;
