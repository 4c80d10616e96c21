-- The read takes the lock that the write needs: the second thread waits, and sees what the first has left.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);
--@ thread clerk x3
BEGIN;
SELECT balance FROM account WHERE id = 1 FOR UPDATE \gset
UPDATE account SET balance = :balance - 30 WHERE id = 1;
COMMIT;
--@ final nothing_lost
SELECT balance = 10 FROM account;
