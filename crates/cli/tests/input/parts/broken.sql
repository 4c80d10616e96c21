CREATE TABLE counter (n int NOT NULL);
INSERT INTO counter (m) VALUES (0);
