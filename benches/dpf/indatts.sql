-- IndAtts: threads that update values of different attributes; ours: of one row.
CREATE TABLE t (id int PRIMARY KEY, a0 int DEFAULT 0, a1 int DEFAULT 0, a2 int DEFAULT 0, a3 int DEFAULT 0);
INSERT INTO t (id) VALUES (0);

--@ thread t1
UPDATE t SET a0 = 1 WHERE id = 0;
UPDATE t SET a0 = 2 WHERE id = 0;
UPDATE t SET a0 = 3 WHERE id = 0;
UPDATE t SET a0 = 4 WHERE id = 0;
UPDATE t SET a0 = 5 WHERE id = 0;
UPDATE t SET a0 = 6 WHERE id = 0;

--@ thread t2
UPDATE t SET a1 = 1 WHERE id = 0;
UPDATE t SET a1 = 2 WHERE id = 0;
UPDATE t SET a1 = 3 WHERE id = 0;
UPDATE t SET a1 = 4 WHERE id = 0;
UPDATE t SET a1 = 5 WHERE id = 0;
UPDATE t SET a1 = 6 WHERE id = 0;

--@ thread t3
UPDATE t SET a2 = 1 WHERE id = 0;
UPDATE t SET a2 = 2 WHERE id = 0;
UPDATE t SET a2 = 3 WHERE id = 0;
UPDATE t SET a2 = 4 WHERE id = 0;
UPDATE t SET a2 = 5 WHERE id = 0;
UPDATE t SET a2 = 6 WHERE id = 0;

--@ thread t4
UPDATE t SET a3 = 1 WHERE id = 0;
UPDATE t SET a3 = 2 WHERE id = 0;
UPDATE t SET a3 = 3 WHERE id = 0;
UPDATE t SET a3 = 4 WHERE id = 0;
UPDATE t SET a3 = 5 WHERE id = 0;
UPDATE t SET a3 = 6 WHERE id = 0;
