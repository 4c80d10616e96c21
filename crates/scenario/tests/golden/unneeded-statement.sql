-- The audit rows and the greeting have nothing to do with what goes wrong.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
CREATE TABLE audit (who text, what text);
INSERT INTO account VALUES (1, 100);
--@ thread alice
INSERT INTO audit VALUES ('alice', 'begins');
SELECT balance FROM account WHERE id = 1 \gset
UPDATE account SET balance = :balance - 60 WHERE id = 1;
--@ thread bob
SELECT 'good morning' AS greeting \gset
SELECT balance FROM account WHERE id = 1 \gset
UPDATE account SET balance = :balance - 30 WHERE id = 1;
INSERT INTO audit VALUES ('bob', 'ends');
