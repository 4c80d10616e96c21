-- Three clerks and a statistician; two clerks are enough to lose a withdrawal.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);
--@ thread clerk x3
SELECT balance FROM account WHERE id = 1 \gset
UPDATE account SET balance = :balance - 10 WHERE id = 1;
--@ thread statistician
SELECT count(*) FROM account;
SELECT max(id) FROM account;
