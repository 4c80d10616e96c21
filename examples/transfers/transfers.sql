-- Two transfers in opposite directions wait for each other. The story is in README.md.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100), (2, 100);

CREATE PROCEDURE transfer(source int, target int, amount int) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE account SET balance = balance - amount WHERE id = source;
  UPDATE account SET balance = balance + amount WHERE id = target;
END $$;

--@ thread jack
CALL transfer(1, 2, 10);

--@ thread kate
CALL transfer(2, 1, 25);

--@ final nothing_lost
SELECT sum(balance) = 200 FROM account;
