-- Nothing that can be done to threads makes this true.
CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL);
INSERT INTO t VALUES (1, 0);

--@ thread a
UPDATE t SET n = n + 1 WHERE id = 1;
--@ thread b
UPDATE t SET n = n + 1 WHERE id = 1;

--@ final nothing_happened
SELECT n = 0 FROM t;
