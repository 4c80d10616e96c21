-- Three increments of a counter: any order gives the same.
CREATE TABLE counter (n int NOT NULL);
INSERT INTO counter VALUES (0);

--@ thread clicker x3
UPDATE counter SET n = n + 1;

--@ final all_counted
SELECT n = 3 FROM counter;
