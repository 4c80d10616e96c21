-- Two sessions write to the same two rows, each in its own order.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100), (2, 100);

--@ thread jack
BEGIN;
UPDATE account SET balance = balance - 10 WHERE id = 1;
UPDATE account SET balance = balance + 10 WHERE id = 2;
COMMIT;

--@ thread kate
BEGIN;
UPDATE account SET balance = balance - 25 WHERE id = 2;
UPDATE account SET balance = balance + 25 WHERE id = 1;
COMMIT;
