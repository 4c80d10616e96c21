-- Two transfers in opposite directions.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100), (2, 100);
--@ thread ann
BEGIN;
UPDATE account SET balance = balance - 10 WHERE id = 1;
UPDATE account SET balance = balance + 10 WHERE id = 2;
COMMIT;
--@ thread ben
BEGIN;
UPDATE account SET balance = balance - 20 WHERE id = 2;
UPDATE account SET balance = balance + 20 WHERE id = 1;
COMMIT;
