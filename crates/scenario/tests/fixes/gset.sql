-- A read and a write by an application that opens no transaction.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);

--@ thread alice
SELECT balance AS old FROM account WHERE id = 1 \gset
UPDATE account SET balance = :old - 60 WHERE id = 1;

--@ thread bob
SELECT balance FROM account WHERE id = 1 \gset my_
UPDATE account SET balance = :my_balance - 30 WHERE id = 1;
