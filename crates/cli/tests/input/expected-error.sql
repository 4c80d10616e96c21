-- The same, and the file says that it may happen.
CREATE TABLE person (email text PRIMARY KEY);

--@ thread click x2
INSERT INTO person VALUES ('eve@example.org');
--@ expect error unique_violation
