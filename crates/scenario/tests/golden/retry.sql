-- Repeatable read refuses the second writer; with one retry both get through.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);
--@ option isolation repeatable read
--@ thread alice retry 1
BEGIN;
SELECT balance FROM account WHERE id = 1 \gset
UPDATE account SET balance = :balance - 60 WHERE id = 1;
COMMIT;
--@ thread bob retry 1
BEGIN;
SELECT balance FROM account WHERE id = 1 \gset
UPDATE account SET balance = :balance - 30 WHERE id = 1;
COMMIT;
--@ final nothing_lost
SELECT balance = 10 FROM account;
