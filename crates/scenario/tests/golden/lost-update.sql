-- Application code reads with \gset and writes what it computed. The second write forgets the first.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);
--@ thread alice
SELECT balance FROM account WHERE id = 1 \gset
UPDATE account SET balance = :balance - 60 WHERE id = 1;
--@ thread bob
SELECT balance AS b FROM account WHERE id = 1 \gset my_
UPDATE account SET balance = :my_b - 30 WHERE id = 1;
