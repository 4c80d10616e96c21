-- A migration makes a column unique while somebody inserts: the index waits for those who write, and they for it.
CREATE TABLE person (id int PRIMARY KEY, email text);
INSERT INTO person VALUES (1, 'ann@example.org');

--@ thread migration
CREATE UNIQUE INDEX person_email ON person (email);
CREATE TABLE audit (person int REFERENCES person);
INSERT INTO audit VALUES (1);

--@ thread app
BEGIN;
INSERT INTO person VALUES (2, 'bob@example.org');
INSERT INTO person VALUES (3, 'bob@example.org');
COMMIT;

--@ final one_of_them
SELECT count(*) <= 3 FROM person;
--@ expect error 23505
