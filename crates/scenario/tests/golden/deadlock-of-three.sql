-- Each of three philosophers has one fork and waits for the next; the fourth has nothing to do with it.
CREATE TABLE fork (id int PRIMARY KEY, used int NOT NULL);
INSERT INTO fork VALUES (1, 0), (2, 0), (3, 0), (4, 0);
--@ thread plato
BEGIN;
UPDATE fork SET used = used + 1 WHERE id = 1;
UPDATE fork SET used = used + 1 WHERE id = 2;
COMMIT;
--@ thread zeno
UPDATE fork SET used = used + 1 WHERE id = 4;
--@ thread kant
BEGIN;
UPDATE fork SET used = used + 1 WHERE id = 2;
UPDATE fork SET used = used + 1 WHERE id = 3;
COMMIT;
--@ thread hegel
BEGIN;
UPDATE fork SET used = used + 1 WHERE id = 3;
SELECT used FROM fork WHERE id = 1 FOR UPDATE;
COMMIT;
