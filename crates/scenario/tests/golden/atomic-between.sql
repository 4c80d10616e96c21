-- Between two transactions of a thread another one may still come, also if transactions are single steps.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);
--@ option atomic on
--@ thread clerk x2
SELECT balance FROM account WHERE id = 1 \gset
BEGIN;
UPDATE account SET balance = :balance - 30 WHERE id = 1;
COMMIT;
