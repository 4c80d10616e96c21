-- A level is named in three ways, and once where it cannot be replaced.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);
CREATE PROCEDURE audit() LANGUAGE plpgsql AS $$
BEGIN
  SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
  PERFORM count(*) FROM account;
END $$;
--@ thread alice isolation repeatable read
BEGIN;
SELECT balance AS old FROM account WHERE id = 1 \gset
UPDATE account SET balance = :old - 60 WHERE id = 1;
COMMIT;
--@ thread bob retry 1
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT balance AS old FROM account WHERE id = 1 \gset
UPDATE account SET balance = :old - 60 WHERE id = 1;
COMMIT;
