-- Two withdrawals without a transaction around them: read, then write.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);

--@ thread alice
SELECT balance AS old FROM account WHERE id = 1 \gset
UPDATE account SET balance = :old - 60 WHERE id = 1;

--@ thread bob
SELECT balance AS old FROM account WHERE id = 1 \gset
UPDATE account SET balance = :old - 30 WHERE id = 1;
