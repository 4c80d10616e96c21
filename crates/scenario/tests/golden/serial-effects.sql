-- Each reads a row that its UPDATE reads again: nothing is lost, and the first read does not count.
CREATE TABLE item (id int PRIMARY KEY, stock int NOT NULL);
INSERT INTO item VALUES (7, 5);
--@ thread ann
BEGIN;
SELECT * FROM item WHERE id = 7;
UPDATE item SET stock = stock - 1 WHERE id = 7 AND stock > 0;
COMMIT;
--@ thread ben
BEGIN;
SELECT * FROM item WHERE id = 7;
UPDATE item SET stock = stock - 1 WHERE id = 7 AND stock > 0;
COMMIT;
