-- Without a retry the refused thread is left out of the comparison, and a warning says so.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);
--@ option isolation repeatable read
--@ thread alice
BEGIN;
SELECT balance FROM account WHERE id = 1 \gset
UPDATE account SET balance = :balance - 60 WHERE id = 1;
COMMIT;
--@ thread bob
BEGIN;
SELECT balance FROM account WHERE id = 1 \gset
UPDATE account SET balance = :balance - 30 WHERE id = 1;
COMMIT;
