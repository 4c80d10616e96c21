-- A final check is about what all threads come to, so none of them is left out, needed or not.
CREATE TABLE counter (n int NOT NULL);
INSERT INTO counter VALUES (0);
--@ thread a
SELECT n FROM counter \gset
UPDATE counter SET n = :n + 1;
--@ thread b
SELECT n FROM counter \gset
UPDATE counter SET n = :n + 1;
--@ thread reader
SELECT 1 FROM counter;
--@ final both_counted
SELECT n = 2 FROM counter;
