-- Whoever comes second violates the key, and nobody catches it.
CREATE TABLE person (email text PRIMARY KEY);

--@ thread click x2
INSERT INTO person VALUES ('eve@example.org');
