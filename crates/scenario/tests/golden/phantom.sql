-- Both count two loans and add a third.
CREATE TABLE loan (member int NOT NULL, book text NOT NULL);
INSERT INTO loan VALUES (1, 'Emma'), (1, 'Ulysses');
--@ thread desk
BEGIN;
SELECT count(*) AS n FROM loan WHERE member = 1 \gset
INSERT INTO loan SELECT 1, 'Middlemarch' WHERE :n < 3;
COMMIT;
--@ thread phone
BEGIN;
SELECT count(*) AS n FROM loan WHERE member = 1 \gset
INSERT INTO loan SELECT 1, 'Persuasion' WHERE :n < 3;
COMMIT;
