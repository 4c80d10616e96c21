-- Transactions as single steps: nothing can come between the read and the write.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);
--@ option atomic on
--@ thread clerk x2
BEGIN;
SELECT balance FROM account WHERE id = 1 \gset
UPDATE account SET balance = :balance - 30 WHERE id = 1;
COMMIT;
--@ final nothing_lost
SELECT balance = 40 FROM account;
