CREATE TABLE counter (n int NOT NULL);
INSERT INTO counter VALUES (0);
