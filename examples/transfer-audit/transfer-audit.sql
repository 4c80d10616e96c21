-- An auditor adds up two accounts while money moves between them. The story is in README.md.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
CREATE TABLE report (total int NOT NULL);
INSERT INTO account VALUES (1, 100), (2, 100);

CREATE PROCEDURE audit() LANGUAGE plpgsql AS $$
DECLARE
  savings int;
  checking int;
BEGIN
  SELECT balance INTO savings FROM account WHERE id = 1;
  SELECT balance INTO checking FROM account WHERE id = 2;
  INSERT INTO report VALUES (savings + checking);
END $$;

--@ thread henry
BEGIN;
UPDATE account SET balance = balance - 50 WHERE id = 1;
UPDATE account SET balance = balance + 50 WHERE id = 2;
COMMIT;

--@ thread auditor
CALL audit();
